/*
 * packed.h -- products of row-major matrices with packed weights.
 *
 * y(rows, columns) = x(rows, depth) w, with the post-operations of blocked.h. Packed
 * weights have one of these layouts, the same at every instruction level, padded with
 * zeros to whole blocks of 16 columns:
 *
 *     float32    (columns / 16, depth, 16)
 *     bfloat16   (columns / 16, depth / 2, 16, 2)
 *     int8       (columns / 16, depth / 4, 16, 4)
 *     int4       (columns / 16, depth / 8, 16, 8), as 4 bytes: two weights in a byte,
 *                the first in its low half, each plus 8
 *
 * Integer weights have scales (columns / 16, groups, 16): one for each column and each
 * group of consecutive rows of w. Their zero points, if they have any, are packed as a
 * weight of the same type whose depth is the groups, rounded up.
 */
#ifndef CFX_KERNEL_PACKED_H
#define CFX_KERNEL_PACKED_H

#include "kernel/blocked/blocked.h"

typedef struct cfx_packed_product {
    int64_t rows, columns, depth;
    int64_t
        groups; /* of integer weights, of a multiple of 4 rows (int8) or 8 (int4);
                       else 1 */
    cfx_blocked_type type;
    bool has_zero; /* end.zero will be given: for workspaces */
    const float *x, *w;
    cfx_blocked_epilogue end; /* channels are columns */
    float *y;                 /* may be `end.add` */
} cfx_packed_product;

/* Scratch bytes; the pointers of `p` are not looked at. Never fails. */
size_t cfx_packed_workspace(const cfx_packed_product *p);
/* Compute it on the threads of the context. Never fails. */
void cfx_packed_run(cfx_context *ctx, const cfx_packed_product *p,
                    void *workspace);

/* A lookup table: row i is column i of a packed weight of integers. */
typedef struct cfx_packed_table {
    int64_t rows, depth, groups;
    cfx_blocked_type type; /* CFX_BLOCKED_INT8 or CFX_BLOCKED_INT4 */
    const void *w;
    const float *scale;
    const void *zero; /* or NULL */
} cfx_packed_table;

/* y(n, depth): the rows of the table at the n indices, of type int32 or int64. Returns
 * false if one is out of range; *bad is the first, and y is undefined. */
bool cfx_packed_rows(cfx_context *ctx, const cfx_packed_table *t, float *y,
                     cfx_dtype type, const void *index, int64_t n,
                     int64_t *bad);

#endif
