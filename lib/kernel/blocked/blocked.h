/*
 * blocked.h -- convolutions and pooling of images in the layout nChw16c.
 *
 * A blocked image is (batch, channels / 16, height, width, 16): the 16 channels of
 * a block are contiguous, so that one vector load reads them whatever the window.
 * The last block is padded with zeros. Packed weights have one of these layouts:
 *
 *     (out / 16, in / 16, kernel..., 16 in, 16 out)   x is blocked; `in` counts
 *                                                     the channels of a group
 *     (out / 16, in, kernel..., 16 out)               x is row-major
 *     (channels / 16, kernel..., 16)                  depthwise
 *     (batch, channels / 16, kernel..., 16)           depthwise, a filter for each
 *                                                     image
 *
 * The layouts are the same at every instruction level. Elements are float32. The
 * first two layouts may be bfloat16, with the weights of two input channels
 * interleaved, as dot-product instructions read them: (..., 8 in, 16 out, 2 in) and
 * (out / 16, in / 2, kernel..., 16 out, 2 in), padded with zeros.
 *
 * A blocked image may be bfloat16, too. Pointers are float * all the same, and
 * strides count units of 4 bytes: a block of 16 bfloat16 channels is 8 units.
 *
 * Post-operations are applied to each result in this order: bias, addition of
 * another image, then either clamping to lo..hi or an activation.
 */
#ifndef CFX_KERNEL_BLOCKED_H
#define CFX_KERNEL_BLOCKED_H

#include "kernel/kernel.h"
#include "kernel/pointwise/pointwise_kernel.h"

enum { CFX_BLOCK = 16 };

/* Post-operations, applied while the result is in the L1 cache. */
typedef struct cfx_blocked_epilogue {
    const float *bias;  /* by channel, padded to whole blocks; or NULL */
    const float *scale; /* of integer weights: factors of the sums by channel,
                           padded to whole blocks, for each group */
    const float *zero;  /* of integer weights: their zero points, packed as a
                           weight whose depth is the groups; or NULL */
    const float *add;   /* an image like y; or NULL */
    bool add_narrow;    /* `add` is bfloat16 */
    bool narrow;        /* y is bfloat16 */
    bool converts;      /* the processor has an instruction that converts to
                           bfloat16 */
    float lo, hi;       /* -INFINITY, INFINITY: not clamped; NaN stays NaN */
    cfx_loop_fn *activation; /* applied in place; or NULL */
    const double *params;    /* its 3 parameters */
} cfx_blocked_epilogue;

/* The types of x and w in a product. */
typedef enum cfx_blocked_type {
    CFX_BLOCKED_FLOAT, /* float32 by float32 */
    CFX_BLOCKED_MIXED, /* float32 by bfloat16, two weights in 4 bytes */
    CFX_BLOCKED_PAIRS, /* bfloat16 by bfloat16, two channels at a time
                          (vdpbf16ps) */
    CFX_BLOCKED_INT8,  /* float32 by int8, four weights in 4 bytes */
    CFX_BLOCKED_INT4   /* float32 by int4, eight weights in 4 bytes */
} cfx_blocked_type;

/* Units of 4 bytes in a block. */
CFX_INLINE int64_t cfx_blocked_lanes(bool narrow)
{
    return narrow ? CFX_BLOCK / 2 : CFX_BLOCK;
}

/* CFX_BLOCKED_PAIRS if the processor has vdpbf16ps, else CFX_BLOCKED_MIXED. */
cfx_blocked_type cfx_blocked_bfloat16(const cfx_context *ctx);

/* Arrays of two are height and width. `pad` is the padding at the top and the
 * left; that at the bottom and the right follows from `out`. */
typedef struct cfx_blocked_conv {
    int64_t batch;
    int64_t groups;                /* each of whole blocks; 0: one group */
    int64_t in_channels;           /* of a row-major x; 0: x is blocked */
    int64_t in_blocks, out_blocks; /* of all groups */
    int64_t
        filling; /* padding channels of x's last block, which are skipped */
    int64_t in[2], out[2], kernel[2], stride[2], pad[2], dilation[2];
    cfx_blocked_type type;
    const float *x, *w;
    bool narrow_x;         /* x is a blocked image of bfloat16 */
    bool filter_per_image; /* depthwise, a filter for each image */
    const float *scale; /* (batch, in_blocks, 16): factors of the channels of
                              a blocked x, of one group; or NULL */
    bool has_scale;     /* `scale` will be given: for workspaces */
    cfx_blocked_epilogue end;
    float *y; /* blocked; may be `end.add` */
} cfx_blocked_conv;

/* Scratch bytes; the pointers of `c` are not looked at. Never fails. */
size_t cfx_blocked_conv_workspace(const cfx_blocked_conv *c);
/* y = clamp((x scale) * w + bias + add). Never fails. */
void cfx_blocked_conv_run(cfx_context *ctx, const cfx_blocked_conv *c,
                          void *workspace);
/* A depthwise convolution; in_blocks == out_blocks. */
void cfx_blocked_depthwise(cfx_context *ctx, const cfx_blocked_conv *c);

/* y = second(first(x)), where `second` is depthwise: rows of the intermediate image
 * are consumed while they are in cache, and it is never stored. first->y, second->x
 * and `add` of both are ignored; first->groups is at most 1. Never fails. */
size_t cfx_blocked_pair_workspace(const cfx_context *ctx,
                                  const cfx_blocked_conv *first,
                                  const cfx_blocked_conv *second);
void cfx_blocked_pair(cfx_context *ctx, const cfx_blocked_conv *first,
                      const cfx_blocked_conv *second, void *workspace);

/* The maximum of each window (NaN if it has one), and its mean: the sum divided by
 * `divisor`, or, if that is 0, by the number of elements of the window, with those in
 * the padding if count_include_pad. `w` and `end` are ignored, except the type of y;
 * in_blocks == out_blocks. Never fail. */
void cfx_blocked_max_pool(cfx_context *ctx, const cfx_blocked_conv *c);
void cfx_blocked_avg_pool(cfx_context *ctx, const cfx_blocked_conv *c,
                          bool count_include_pad, int64_t divisor);

/* ---- Levels ---- */

/* A tile of y: some pixels of some blocks, whose sums are in registers. Strides are
 * in units of 4 bytes. A sum starts from bias + add and runs over n[0] blocks (or
 * channels, if x is row-major), n[1] rows and n[2] columns of the window, and `steps`
 * elements of w, except the last `skip` in the last block; consecutive elements of x
 * are x_step apart. With integer weights n[2] counts the groups, each of whose sums
 * has its own scale; if they have zero points, x_sums has the negative sum of each
 * group of each pixel of x. */
typedef struct cfx_blocked_tile {
    cfx_blocked_type type;
    int64_t pixels, blocks;
    int64_t n[3], steps, skip;
    const float *x, *w, *x_sums;
    int64_t x_pixel, x_at[3], x_step, x_sums_pixel;
    int64_t w_block, w_at[2]; /* w is without gaps from n[2] on */
    bool
        split; /* even and odd steps may have separate accumulators; false for a
                   slice of a sum, so that slicing does not change the order */
    int64_t ahead;      /* prefetch distance of the weights, into L1 */
    const float *next;  /* prefetched into L2 meanwhile, */
    int64_t next_lines; /* so many cache lines for each column of the window */
    cfx_blocked_epilogue end; /* its pointers are those of this tile */
    int64_t bias_block, scale_block, zero_block, add_pixel, add_block;
    float *y;
    int64_t y_pixel, y_block;
} cfx_blocked_tile;

/* `pixels` outputs of one block in a row of y. The caller leaves out the rows of the
 * window that are outside of x; its columns are inside, except in a span, whose
 * windows may extend past the left and right edges of x. */
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

/* pixels[b]: the most pixels of a tile of b blocks, for b = 1, 2, 4; 0: there is no
 * such tile. */
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

/* Kernels of one channel at a time: depthwise products, maximum, scaled sum. `span`
 * returns the kernel for rows of windows of `columns` columns and the stride: of
 * products if w, else of maxima; NULL: there is none. */
typedef void cfx_blocked_row_fn(const cfx_blocked_row *r);
struct cfx_windows_kernels {
    cfx_blocked_row_fn *(*span)(bool w, int64_t columns, int64_t stride,
                                bool narrow_x);
    /* By whether x is bfloat16. */
    cfx_blocked_row_fn *depthwise[2], *max[2], *mean[2];
};

#endif
