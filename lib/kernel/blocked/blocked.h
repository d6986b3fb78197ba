/*
 * blocked.h -- convolutions and pooling over channels in blocks of 16.
 *
 * A blocked image is (batch, channels / 16, height, width, 16): the channels of a
 * block lie side by side, so that a vector of them is one load, whatever the
 * window. Channels past the last are zeros. A packed weight is
 *
 *     (out / 16, in / 16, kernel..., 16 in, 16 out)   for a blocked x; in: of
 *                                                     a group
 *     (out / 16, in, kernel..., 16 out)               for a row-major x
 *     (channels / 16, kernel..., 16)                  one filter a channel
 *     (batch, channels / 16, kernel..., 16)           one a channel and image
 *
 * It serves every level of instructions. All are float32, but the first two forms
 * may be bfloat16, with the weights of two input channels side by side: (..., 8 in,
 * 16 out, 2 in), and (out / 16, in / 2, kernel..., 16 out, 2 in), where those of a
 * channel past the last are zeros. A result is clamped to lo..hi behind bias and `add`, or an activation
 * is applied.
 *
 * A blocked image may be bfloat16 too: its pairs of channels are what pairs of
 * weights are multiplied by. The pointers are to floats anyway, and distances are in
 * units of their 4 bytes, of which a block then has 8.
 */
#ifndef CFX_KERNEL_BLOCKED_H
#define CFX_KERNEL_BLOCKED_H

#include "kernel/kernel.h"
#include "kernel/pointwise/pointwise_kernel.h"

enum { CFX_BLOCK = 16 };

/* Added to each result, the range that it is then clamped to, and the function
 * that is applied last, while the result is in the first cache. */
typedef struct cfx_blocked_epilogue {
    const float *bias;  /* one for each channel, in whole blocks; or NULL */
    const float *scale; /* of integer weights: factors of the sums, in whole
                           blocks for each group */
    const float *add;   /* as y; or NULL */
    bool add_narrow;    /* `add` is bfloat16 */
    bool narrow;        /* y is bfloat16 */
    bool converts;      /* the processor has an instruction for that */
    float lo, hi;       /* -INFINITY, INFINITY: not clamped; NaN stays NaN */
    cfx_loop_fn *activation; /* of the context's level, in place; or NULL */
    const double *params;    /* its 3 parameters */
} cfx_blocked_epilogue;

/* What is multiplied. A pair is two numbers of bfloat16 in 4 bytes. */
typedef enum cfx_blocked_numbers {
    CFX_BLOCKED_FLOAT, /* floats */
    CFX_BLOCKED_MIXED, /* floats by weights in pairs */
    CFX_BLOCKED_PAIRS, /* pairs, whose two products are added at once */
    CFX_BLOCKED_INT8,  /* floats by int8, of which four are 4 bytes */
    CFX_BLOCKED_INT4   /* floats by int4, of which eight are 4 bytes */
} cfx_blocked_numbers;

/* Units of 4 bytes in a block. */
CFX_INLINE int64_t cfx_blocked_lanes(bool narrow)
{
    return narrow ? CFX_BLOCK / 2 : CFX_BLOCK;
}

/* How weights of bfloat16 are multiplied: by pairs where the processor has an
 * instruction for it. */
cfx_blocked_numbers cfx_blocked_bfloat16(const cfx_context *ctx);

/* Two spatial axes, the outer first. Outside of x are zeros; `pad` is the padding
 * in front, that behind follows from `out`. */
typedef struct cfx_blocked_conv {
    int64_t batch;
    int64_t groups;                /* of whole blocks; 0: one */
    int64_t in_channels;           /* of a row-major x; 0: x has in_blocks */
    int64_t in_blocks, out_blocks; /* of all groups */
    int64_t filling; /* zeros among the channels of x's last block, left out */
    int64_t in[2], out[2], kernel[2], stride[2], pad[2], dilation[2];
    cfx_blocked_numbers numbers;
    const float *x, *w;    /* w: or pairs */
    bool narrow_x;         /* x is blocked, of bfloat16 */
    bool filter_per_image; /* w has filters of one channel for each image */
    const float *scale;    /* of each channel of an x in blocks, (batch,
                              in_blocks, 16), for one group; or NULL */
    bool has_scale;        /* the same before the pointers are known */
    cfx_blocked_epilogue end;
    float *y; /* blocked; may be `end.add` */
} cfx_blocked_conv;

/* Scratch bytes; the pointers of `c` are not looked at. Never fails. */
size_t cfx_blocked_conv_workspace(const cfx_blocked_conv *c);
/* y = clamp((x scale) * w + bias + add). Never fails. */
void cfx_blocked_conv_run(cfx_context *ctx, const cfx_blocked_conv *c,
                          void *workspace);
/* The same with a filter for each channel; in_blocks == out_blocks. */
void cfx_blocked_depthwise(cfx_context *ctx, const cfx_blocked_conv *c);

/* y = `second`, which has a filter for each channel, of the results of `first`, which
 * are not stored: first->y and second->x are not looked at, nor is `add` of either;
 * first->groups is at most 1. Never fails. */
size_t cfx_blocked_pair_workspace(const cfx_context *ctx,
                                  const cfx_blocked_conv *first,
                                  const cfx_blocked_conv *second);
void cfx_blocked_pair(cfx_context *ctx, const cfx_blocked_conv *first,
                      const cfx_blocked_conv *second, void *workspace);

/* The maximum of each window, NaN if there is one, and the mean. `w` is not looked
 * at, nor `end` but for the type of y; in_blocks == out_blocks. A mean is the sum divided by
 * `divisor`, or, where that is 0, by the elements of the window, with those of
 * the padding if they count. Never fail. */
void cfx_blocked_max_pool(cfx_context *ctx, const cfx_blocked_conv *c);
void cfx_blocked_avg_pool(cfx_context *ctx, const cfx_blocked_conv *c,
                          bool count_include_pad, int64_t divisor);

/* ---- Levels ---- */

/* A tile of y: some pixels of some blocks. Distances are in elements of 4 bytes, a
 * float or a pair, and all point to either. The sum begins with bias + add and
 * goes over n[0] blocks or channels, n[1] rows and n[2] columns of the window, and
 * `steps` elements of w, without the last `skip` in the last block; those of x lie
 * x_step apart. With integer weights n[2] are groups, each of whose sums is
 * multiplied by its own scale. */
typedef struct cfx_blocked_tile {
    cfx_blocked_numbers numbers;
    int64_t pixels, blocks;
    int64_t n[3], steps, skip;
    const float *x, *w;
    int64_t x_pixel, x_at[3], x_step;
    int64_t w_block, w_at[2]; /* w is without gaps from n[2] on */
    bool split; /* even and odd steps of a pixel may have sums of their own: no
                   slice of a sum does, whose order would change */
    int64_t ahead; /* from the weights in use to those that are brought near */
    const float *next;  /* what is fetched into the second cache meanwhile, */
    int64_t next_lines; /* so many lines for each column of the window */
    cfx_blocked_epilogue end; /* pointers to what belongs to the tile */
    int64_t bias_block, scale_block, add_pixel, add_block;
    float *y;
    int64_t y_pixel, y_block;
} cfx_blocked_tile;

/* A row of y of one block: `pixels` outputs whose windows lie inside of x from
 * column to column (rows outside are left out by the caller). Windows of a span may
 * reach over the edges of x. */
typedef struct cfx_blocked_row {
    int64_t pixels;
    int64_t left,
        width;    /* of a span: the first window's first column, which may
                            lie before x, and the columns from x on */
    int64_t n[2]; /* rows and columns of the window */
    const float *x, *w;
    int64_t x_pixel, x_at[2], w_row;
    float scale; /* of a mean */
    cfx_blocked_epilogue end;
    float *y;
} cfx_blocked_row;

struct cfx_blocked_winograd_kernels; /* winograd.h */

/* The most pixels of a tile with 1, 2 and 4 blocks; 0: no such tile. */
struct cfx_blocked_kernels {
    int pixels[5];
    unsigned pairs; /* features that CFX_BLOCKED_PAIRS needs */
    void (*tile)(const cfx_blocked_tile *t);
    /* y = each of n blocks of x times its own factor */
    void (*scale)(float *y, const float *x, const float *factor, int64_t n);
    /* n blocks of x times the block of factors */
    void (*scale_channels)(float *y, const float *x, const float *factor,
                           int64_t n);
    /* y = n pairs of a and b in bfloat16 */
    void (*pair_rows)(void *y, const float *a, const float *b, int64_t n);
    const struct cfx_blocked_winograd_kernels *winograd;
};

/* For each channel: the products of a window, its maximum, its scaled sum. `span`
 * gives the function for spans of windows of so many columns that lie `stride`
 * apart: products with `w`, or maxima; or NULL. */
typedef void cfx_blocked_row_fn(const cfx_blocked_row *r);
struct cfx_windows_kernels {
    cfx_blocked_row_fn *(*span)(bool w, int64_t columns, int64_t stride,
                                bool narrow_x);
    /* By whether x is bfloat16. */
    cfx_blocked_row_fn *depthwise[2], *max[2], *mean[2];
};

#endif
