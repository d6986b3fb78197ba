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

/* ---- Levels ---- */

typedef enum cfx_distance_kind {
    CFX_DISTANCE_UNEQUAL,  /* p = 0 */
    CFX_DISTANCE_ABSOLUTE, /* 1 */
    CFX_DISTANCE_SQUARES,  /* 2 */
    CFX_DISTANCE_GREATEST, /* infinite */
    CFX_DISTANCE_POWERS,
    CFX_DISTANCE_KINDS
} cfx_distance_kind;

/* Add the terms of m elements to sum(rows, width), of rows of a that are `step`
 * apart, less the columns of b(m, width). */
typedef void cfx_distance_fn(void *sum, const void *a, int64_t step,
                             int64_t rows, const void *b, int64_t m, double p);

struct cfx_distance_kernels {
    struct cfx_distance_type {
        int64_t width;
        cfx_distance_fn *sums[CFX_DISTANCE_KINDS];
    } f32, f64;
};

#endif
