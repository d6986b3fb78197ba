/*
 * conv_core.h -- the parts of convolution: geometry, methods, level kernels.
 *
 * conv.c picks one of the methods below by the shape alone, so that results do
 * not depend on the threads. Each has its workspace beside it. All but the
 * integer ones see floats of 32 or 64 bits only; conv.c converts the others.
 */
#ifndef CFX_KERNEL_CONV_CORE_H
#define CFX_KERNEL_CONV_CORE_H

#include "kernel/conv/conv_kernel.h"
#include "kernel/gemm/gemm.h"
#include "kernel/gemm/gemm_core.h"

/* A convolution with three spatial axes, whatever it had. */
typedef struct cfx_conv3 {
    const cfx_context *ctx; /* asked whether to stop */
    cfx_conv c;
    size_t size;                 /* of an element */
    int64_t group_in, group_out; /* channels of one group */
    int64_t taps;                /* elements of the window */
    int64_t in_len, out_len;     /* elements of one channel */
} cfx_conv3;

cfx_conv3 cfx_conv3_make(const cfx_context *ctx, const cfx_conv *c);

CFX_INLINE const void *cfx_conv_at(const void *p, int64_t i, size_t size)
{
    return p ? (const char *)p + i * (int64_t)size : NULL;
}

/* ---- Methods ---- */

/* A window of one element and stride 1, or one that is all of x: a product of
 * w and x as they lie. */
bool cfx_conv_is_product(const cfx_conv3 *c);
size_t cfx_conv_product_workspace(const cfx_context *ctx, const cfx_conv3 *c);
void cfx_conv_product(cfx_context *ctx, const cfx_conv3 *c, void *work);

/* A depthwise convolution, with one or more output channels for each input
 * channel; two spatial axes or one. */
bool cfx_conv_is_depthwise(const cfx_conv3 *c);
size_t cfx_conv_depthwise_workspace(const cfx_context *ctx,
                                    const cfx_conv3 *c);
void cfx_conv_depthwise(cfx_context *ctx, const cfx_conv3 *c, void *work);

/* 3x3 windows of stride 1 over float planes, by Winograd's F(4x4, 3x3). */
bool cfx_conv_is_winograd(const cfx_conv3 *c);
size_t cfx_conv_winograd_workspace(const cfx_context *ctx, const cfx_conv3 *c);
void cfx_conv_winograd(cfx_context *ctx, const cfx_conv3 *c, void *work);

/* Any: a product of w with the windows as columns, which are made a block at
 * a time. */
size_t cfx_conv_windows_workspace(const cfx_context *ctx, const cfx_conv3 *c);
void cfx_conv_windows(cfx_context *ctx, const cfx_conv3 *c, void *work);

/* For the transposed convolution: y, one channel, becomes the bias (NULL: 0)
 * plus columns(taps, in_len), scattered to their windows in the order of the
 * taps. Floats. */
void cfx_conv_spread(const cfx_conv3 *c, void *y, const void *columns,
                     const void *bias);

/* Integers, which wrap around; both directions. */
void cfx_conv_int(cfx_context *ctx, const cfx_conv3 *c);
void cfx_conv_transpose_int(cfx_context *ctx, const cfx_conv3 *c);

/* ---- Levels ---- */

/* The windows of `batch` images as columns: column j is output j % out_len of
 * image j / out_len, row k is tap k % taps of channel k / taps. Rows of x along
 * the innermost axis may be split in `phases`, one after another of phase_len
 * elements each: phase f holds elements f, f + phases, ... */
typedef struct cfx_conv_tap {
    int64_t shift[2]; /* from output * stride to where it reads, outer axes */
    int64_t q, phase; /* the same along the innermost axis: in the phase */
    int64_t len;      /* elements of that phase */
} cfx_conv_tap;

typedef struct cfx_conv_columns {
    const void *x;
    const cfx_conv_tap *tap;            /* `taps` of them */
    int64_t image, channel, plane, row; /* distances, in elements */
    int64_t phases, phase_len;
    int64_t in[3], out[3], stride[3];
    int64_t out_len, taps;
} cfx_conv_columns;

/* Columns of a plane, and as much of another as one strip of rows is. */
typedef struct cfx_conv_strip {
    const void *x, *w;
    void *y, *rows; /* rows: scratch, of row_len * phases for each */
    double bias;
    int64_t in_h, in_w, out_w;
    int64_t x_row, y_row; /* from one row to the next */
    int64_t kernel_h, kernel_w, stride_h, stride_w;
    int64_t pad_h, pad_w, dilation_h, dilation_w;
    int64_t begin, end; /* rows of y */
    int64_t row_len;    /* of one phase of a padded row; whole vectors */
} cfx_conv_strip;

/* The kernels of one type. */
typedef struct cfx_conv_type {
    /* Rows k0..k0+kn of columns j0..j0+jn, as panels of b (gemm_core.h). */
    void (*columns)(const cfx_conv_columns *c, void *panels, int64_t k0,
                    int64_t kn, int64_t j0, int64_t jn);
    void (*depthwise)(const cfx_conv_strip *s);
    /* y[f][i] = x[i * phases + f], `y_len` for each phase, 0 past x_len. */
    void (*split)(void *y, int64_t y_len, int64_t phases, const void *x,
                  int64_t x_len);
    int lanes;
} cfx_conv_type;

struct cfx_winograd_kernels;

struct cfx_conv_kernels {
    cfx_conv_type f32, f64;
    const struct cfx_winograd_kernels *winograd;
};

CFX_INLINE const cfx_conv_type *cfx_conv_type_of(const cfx_context *ctx,
                                                 const cfx_conv3 *c)
{
    const struct cfx_conv_kernels *k = cfx_context_kernels(ctx)->conv;

    return c->size == 4 ? &k->f32 : &k->f64;
}

CFX_INLINE const cfx_gemm_type *cfx_gemm_type_of(const cfx_context *ctx,
                                                 size_t size)
{
    const struct cfx_gemm_kernels *k = cfx_context_kernels(ctx)->gemm;

    return size == 4 ? &k->f32 : &k->f64;
}

#endif
