/*
 * pool_core.h -- rows of outputs, shared by pool.c and the level kernels.
 *
 * A row is all outputs along the innermost axis at one index of the others, in
 * one plane; row r is row r % rows of plane r / rows. Every kernel computes
 * rows begin..end independently.
 */
#ifndef CFX_KERNEL_POOL_CORE_H
#define CFX_KERNEL_POOL_CORE_H

#include "kernel/pool/pool_kernel.h"

/* A pooling with three spatial axes, whatever it had. */
typedef struct cfx_pool3 {
    cfx_pool p;
    int64_t rows;            /* out[0] * out[1] */
    int64_t in_len, out_len; /* elements of one plane */
} cfx_pool3;

typedef void cfx_pool_rows_fn(const cfx_pool3 *p, int64_t begin, int64_t end);

struct cfx_pool_kernels {
    /* By dtype; NULL for bool. */
    cfx_pool_rows_fn *max[CFX_NDTYPES];
    cfx_pool_rows_fn *max_indices[CFX_NDTYPES]; /* with or without them */
    cfx_pool_rows_fn *avg[CFX_NDTYPES];
    cfx_pool_rows_fn *adaptive_max[CFX_NDTYPES];
    cfx_pool_rows_fn *adaptive_avg[CFX_NDTYPES];
};

/* The most that `max` can hold of one row of a window: (kernel - 1) * dilation
 * + 1 along the innermost axis. Larger ones are for max_indices. */
enum { CFX_POOL_REACH = 512 };

#endif
