/*
 * conv_kernel.h -- convolutions over one to three spatial axes.
 *
 * x is (batch, in_channels, in...), y is (batch, out_channels, out...), both
 * row-major. w is (out_channels, in_channels / groups, kernel...), and for the
 * transposed convolution (in_channels, out_channels / groups, kernel...).
 * Arrays hold one number for each spatial axis, outermost first.
 *
 * Outside of x are zeros. `pad` is the padding before; that after follows from
 * `out`, so that it may differ.
 */
#ifndef CFX_KERNEL_CONV_H
#define CFX_KERNEL_CONV_H

#include "kernel/kernel.h"

enum { CFX_CONV_MAX_SPATIAL = 3 };

typedef struct cfx_conv {
    cfx_dtype dtype; /* of x, w, bias and y; any but bool */
    int spatial;     /* 1, 2 or 3 */
    int64_t batch, in_channels, out_channels, groups;
    int64_t in[CFX_CONV_MAX_SPATIAL], out[CFX_CONV_MAX_SPATIAL];
    int64_t kernel[CFX_CONV_MAX_SPATIAL], stride[CFX_CONV_MAX_SPATIAL];
    int64_t pad[CFX_CONV_MAX_SPATIAL], dilation[CFX_CONV_MAX_SPATIAL];
    const void *x, *w;
    const void *bias; /* out_channels values, or NULL */
    void *y;          /* overlaps none of the others */
} cfx_conv;

/* Scratch bytes; the pointers of `c` are not looked at. Never fails. */
size_t cfx_conv_workspace(const cfx_context *ctx, const cfx_conv *c);

/* The name of the way that cfx_conv_run takes if it needs fewer operations than
 * the sum below has ("winograd"); NULL: it has as many. */
const char *cfx_conv_algorithm(const cfx_conv *c);

/* y[o] = bias + sum over i and the window of x[i] w[o][i]. Never fails. */
void cfx_conv_run(cfx_context *ctx, const cfx_conv *c, void *workspace);

/* The transposed convolution: `in` has the extents of x, `out` those of y
 * (with output_padding), and each x is scattered over the window at in *
 * stride - pad. */
size_t cfx_conv_transpose_workspace(const cfx_context *ctx, const cfx_conv *c);
void cfx_conv_transpose_run(cfx_context *ctx, const cfx_conv *c,
                            void *workspace);

#endif
