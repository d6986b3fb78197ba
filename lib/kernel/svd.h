/*
 * svd.h -- singular values.
 */
#ifndef CFX_SVD_H
#define CFX_SVD_H

#include "kernel/kernel.h"

/*
 * The singular values of a matrix, in falling order, from its k rows or its k
 * columns, whichever are fewer: `a` holds them, each n >= k numbers without
 * gaps, and is overwritten. False where one is not a number; where one is
 * infinite the values are not numbers.
 */
bool cfx_singular_values(const cfx_context *ctx, double *a, int64_t k,
                         int64_t n, double *values);

#endif
