/*
 * pool_kernel.h -- pooling over windows of one to three spatial axes.
 *
 * x is (planes, in...), y is (planes, out...), both row-major: batch and
 * channels are one axis here. Arrays hold one number for each spatial axis,
 * outermost first. How far ceil_mode goes follows from `out`. No scratch
 * memory is needed.
 */
#ifndef CFX_KERNEL_POOL_H
#define CFX_KERNEL_POOL_H

#include "kernel/kernel.h"

enum { CFX_POOL_MAX_SPATIAL = 3 };

typedef struct cfx_pool {
    cfx_dtype dtype; /* of x and y; any but bool */
    int spatial;     /* 1, 2 or 3 */
    int64_t planes;
    int64_t in[CFX_POOL_MAX_SPATIAL], out[CFX_POOL_MAX_SPATIAL];
    int64_t kernel[CFX_POOL_MAX_SPATIAL], stride[CFX_POOL_MAX_SPATIAL];
    int64_t pad[CFX_POOL_MAX_SPATIAL];
    int64_t dilation[CFX_POOL_MAX_SPATIAL]; /* of max pooling only */
    const void *x;
    void *y;
    int64_t *indices; /* max pooling: where in its plane each maximum lies,
                         or NULL */
    /* Average pooling: padding counts as elements; what to divide by in place
     * of the number of elements, where not 0. */
    bool count_include_pad;
    int64_t divisor;
} cfx_pool;

/* The first maximum of each window; a NaN is the maximum. Padding is less
 * than everything. Never fails. */
void cfx_max_pool(cfx_context *ctx, const cfx_pool *p);

/* Integers are divided as C divides them. Never fails. */
void cfx_avg_pool(cfx_context *ctx, const cfx_pool *p);

/* Window i of an axis goes from floor(i * in / out) to before
 * ceil((i + 1) * in / out); kernel, stride and pad are not looked at. Never
 * fail. */
void cfx_adaptive_max_pool(cfx_context *ctx, const cfx_pool *p);
void cfx_adaptive_avg_pool(cfx_context *ctx, const cfx_pool *p);

#endif
