/*
 * packed.h -- products of row-major matrices with packed weights.
 *
 * y(rows, columns) = x(rows, depth) w + bias + add, clamped, with an activation.
 * A packed weight is (columns / 16, depth, 16): the weights of 16 columns lie side
 * by side, columns past the last are zeros. It serves every level of instructions.
 * All are float32, or the weight is bfloat16 in pairs, (columns / 16, depth / 2, 16,
 * 2), or int8 in fours, (columns / 16, depth / 4, 16, 4), and each column of the
 * product has a scale.
 */
#ifndef CFX_KERNEL_PACKED_H
#define CFX_KERNEL_PACKED_H

#include "kernel/blocked/blocked.h"

typedef struct cfx_packed_product {
    int64_t rows, columns, depth;
    cfx_blocked_numbers numbers; /* depth is a multiple of what 4 bytes hold */
    const float *x, *w;          /* w: or pairs or fours */
    cfx_blocked_epilogue end; /* bias: one for each column; scale: and block */
    float *y;                 /* may be `end.add` */
} cfx_packed_product;

/* Scratch bytes; the pointers of `p` are not looked at. Never fails. */
size_t cfx_packed_workspace(const cfx_packed_product *p);
/* Compute it on the threads of the context. Never fails. */
void cfx_packed_run(cfx_context *ctx, const cfx_packed_product *p,
                    void *workspace);

#endif
