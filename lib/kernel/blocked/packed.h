/*
 * packed.h -- products of row-major matrices with packed weights.
 *
 * y(rows, columns) = x(rows, depth) w + bias + add, clamped, with an activation.
 * A packed weight is (columns / 16, depth, 16): the weights of 16 columns lie side
 * by side, columns past the last are zeros. It serves every level of instructions.
 * All are float32.
 */
#ifndef CFX_KERNEL_PACKED_H
#define CFX_KERNEL_PACKED_H

#include "kernel/blocked/blocked.h"

typedef struct cfx_packed_product {
    int64_t rows, columns, depth;
    const float *x, *w;
    cfx_blocked_epilogue end; /* bias: one for each column */
    float *y;                 /* may be `end.add` */
} cfx_packed_product;

/* Compute it on the threads of the context. Never fails. */
void cfx_packed_run(cfx_context *ctx, const cfx_packed_product *p);

#endif
