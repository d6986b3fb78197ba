/*
 * parts.h -- parts of convolutions, of which each is computed where its caller
 * wants it.
 */
#ifndef CFX_BLOCKED_PARTS_H
#define CFX_BLOCKED_PARTS_H

#include "kernel/blocked/blocked.h"
#include "kernel/blocked/rows.h"

/* ---- A convolution of all channels ---- */

/* A convolution whose x and w are ready: their copies have been made. */
typedef struct cfx_blocked_work {
    const cfx_context *ctx;
    const struct cfx_blocked_kernels *k;
    cfx_blocked_conv c;
    int64_t width;   /* columns of a row of x, with the padding */
    int64_t w_image; /* from the weights of an image to the next one's */
} cfx_blocked_work;

/* Pixels from..to of some blocks of an image. Pixel `from` of the first block is
 * written to y, and the blocks lie y_block apart. */
typedef struct cfx_blocked_part {
    int64_t image, block, blocks;
    int64_t from, to;
    float *y;
    int64_t y_block;
} cfx_blocked_part;

/* Make copies in the workspace, as large as cfx_blocked_conv_workspace says, on all
 * threads. A group of an image is an image of its own from here on, and the pixels
 * of an image may be one row. */
void cfx_blocked_begin(cfx_context *ctx, const cfx_blocked_conv *c,
                       void *workspace, cfx_blocked_work *work);
/* Compute a part on this thread. */
void cfx_blocked_compute(const cfx_blocked_work *work,
                         const cfx_blocked_part *part);
/* The blocks that a tile of such a convolution has, and the multiply-adds of a pixel
 * of one of them. */
int64_t cfx_blocked_unit(const cfx_blocked_work *work);
int64_t cfx_blocked_depth(const cfx_blocked_work *work);

/* If all weights stay in the second cache, pieces are counted by rows. */
cfx_blocked_spot cfx_blocked_spot_of(const cfx_blocked_work *work, int64_t i,
                                     int64_t chunks, int64_t groups);

/* ---- Windows of each channel ---- */

typedef struct cfx_windows_work {
    const cfx_context *ctx;
    cfx_blocked_row_fn *const *row; /* by whether x is bfloat16 */
    cfx_blocked_row_fn *span;       /* for whole rows; or NULL */
    cfx_blocked_conv c;
    int64_t x_lanes, y_lanes, add_lanes; /* of a pixel */
    int64_t width; /* of a row that is copied with its padding; 0: none is */
    bool mean, count_padding;
    int64_t divisor; /* of a mean; 0: the elements of the window */
} cfx_windows_work;

/* A plane of an image in blocks, from row `top` on; `left` columns of padding are
 * part of its rows. */
typedef struct cfx_windows_plane {
    const float *x;
    int64_t plane, width, left, top;
} cfx_windows_plane;

void cfx_depthwise_begin(const cfx_context *ctx, const cfx_blocked_conv *c,
                         cfx_windows_work *work);
/* Compute rows o..end of a plane on this thread. */
void cfx_windows_compute(const cfx_windows_work *work,
                         const cfx_windows_plane *in, int64_t o, int64_t end);

#endif
