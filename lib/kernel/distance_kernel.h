/*
 * distance_kernel.h -- p-norms of the differences of rows.
 */
#ifndef CFX_DISTANCE_H
#define CFX_DISTANCE_H

#include "kernel/kernel.h"

/*
 * y[b, i, j] is the p-norm of row i of x1 less row j of x2, of
 * x1 (batch, n1, m), x2 (batch, n2, m), y (batch, n1, n2), all row-major and of
 * one type, f32 or f64; p >= 0 may be infinite.
 */
typedef struct cfx_distance {
    cfx_dtype dtype;
    const void *x1, *x2;
    void *y;
    int64_t batch, n1, n2, m;
    double p;
    /* Only pairs above the diagonal, in sequence: y has n1 * (n1 - 1) / 2
     * elements, batch is 1, x2 is x1. */
    bool above;
} cfx_distance;

void cfx_distance_run(cfx_context *ctx, const cfx_distance *d);

#endif
