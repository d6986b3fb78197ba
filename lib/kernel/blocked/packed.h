/*
 * packed.h -- products of row-major matrices with packed weights.
 *
 * y(rows, columns) = x(rows, depth) w + bias + add, clamped, with an activation.
 * A packed weight is (columns / 16, depth, 16): the weights of 16 columns lie side
 * by side, columns past the last are zeros. It serves every level of instructions.
 * All are float32, or the weight is bfloat16 in pairs, (columns / 16, depth / 2, 16,
 * 2), int8 in fours, (columns / 16, depth / 4, 16, 4), or int4 in eights, (columns /
 * 16, depth / 8, 16, 4 bytes), the lower half of a byte first, 8 added. Of integers,
 * each column has a scale for each of some groups of the depth, (columns / 16,
 * groups, 16).
 */
#ifndef CFX_KERNEL_PACKED_H
#define CFX_KERNEL_PACKED_H

#include "kernel/blocked/blocked.h"

typedef struct cfx_packed_product {
    int64_t rows, columns, depth;
    int64_t groups; /* of integers; else 1 */
    cfx_blocked_numbers
        numbers;              /* a group is a multiple of what 4 bytes hold */
    const float *x, *w;       /* w: or what 4 bytes hold */
    cfx_blocked_epilogue end; /* bias: one for each column */
    float *y;                 /* may be `end.add` */
} cfx_packed_product;

/* Scratch bytes; the pointers of `p` are not looked at. Never fails. */
size_t cfx_packed_workspace(const cfx_packed_product *p);
/* Compute it on the threads of the context. Never fails. */
void cfx_packed_run(cfx_context *ctx, const cfx_packed_product *p,
                    void *workspace);

/* A table whose rows are the columns of a packed weight of integers. */
typedef struct cfx_packed_table {
    int64_t rows, depth, groups;
    cfx_blocked_numbers numbers; /* CFX_BLOCKED_INT8 or CFX_BLOCKED_INT4 */
    const void *w;
    const float *scale;
} cfx_packed_table;

/* y(n, depth) = the rows of the table that the index names, of type int32 or int64.
 * An index out of range gives false, and *bad the first one that is; y is then
 * undefined. */
bool cfx_packed_rows(cfx_context *ctx, const cfx_packed_table *t, float *y,
                     cfx_dtype type, const void *index, int64_t n,
                     int64_t *bad);

#endif
