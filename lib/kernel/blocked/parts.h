/*
 * parts.h -- convolutions computed part by part, for callers that fuse two of them.
 */
#ifndef CFX_BLOCKED_PARTS_H
#define CFX_BLOCKED_PARTS_H

#include "kernel/blocked/blocked.h"
#include "kernel/partition.h"

/* ---- Dense convolutions ---- */

/* A convolution after cfx_blocked_begin: copies of x and w that it needs exist. */
typedef struct cfx_blocked_work {
    const cfx_context *ctx;
    const struct cfx_blocked_kernels *k;
    cfx_blocked_conv c;
    int64_t width;   /* of a row of x, with padding */
    int64_t w_image; /* stride of the weights from image to image */
} cfx_blocked_work;

/* Pixels from..to of `blocks` blocks of an image. y is where pixel `from` of the first
 * block goes; y_block is the stride between blocks. */
typedef struct cfx_blocked_part {
    int64_t image, block, blocks;
    int64_t from, to;
    float *y;
    int64_t y_block;
} cfx_blocked_part;

/* Prepare the work on all threads, in a workspace of cfx_blocked_conv_workspace bytes.
 * In work->c each group of an image counts as an image, and an image whose windows are
 * single pixels may count as one long row. */
void cfx_blocked_begin(cfx_context *ctx, const cfx_blocked_conv *c,
                       void *workspace, cfx_blocked_work *work);
/* Compute a part on this thread. */
void cfx_blocked_compute(const cfx_blocked_work *work,
                         const cfx_blocked_part *part);
/* The blocks of a tile; the multiply-adds of one pixel of a block. */
int64_t cfx_blocked_unit(const cfx_blocked_work *work);
int64_t cfx_blocked_depth(const cfx_blocked_work *work);

/* Should tasks be ordered by rows? If all weights stay in L2. */
bool cfx_blocked_by_rows(const cfx_blocked_work *work);

/* ---- Depthwise convolutions and pooling ---- */

typedef struct cfx_windows_work {
    const cfx_context *ctx;
    cfx_blocked_row_fn *const *row; /* [x is bfloat16] */
    cfx_blocked_row_fn *span;       /* of whole rows; or NULL */
    cfx_blocked_conv c;
    int64_t x_lanes, y_lanes, add_lanes; /* units of 4 bytes in a pixel */
    int64_t
        width; /* of rows, which are copied with padding; 0: they are not */
    bool mean, count_padding;
    int64_t divisor; /* of a mean; 0: the elements of the window */
} cfx_windows_work;

/* One block of a blocked image, from row `top` on. Its rows include `left` columns of
 * padding. */
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
