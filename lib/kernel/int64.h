/*
 * int64.h -- minimum, maximum, quotients that are rounded up, and products.
 */
#ifndef CFX_INT64_H
#define CFX_INT64_H

#include <stdbool.h>
#include <stdint.h>

#include <cfx/compiler.h>

CFX_INLINE int64_t cfx_min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}
CFX_INLINE int64_t cfx_max64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* a / b of positive numbers, rounded up; and that times b. */
CFX_INLINE int64_t cfx_ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}
CFX_INLINE int64_t cfx_round_up(int64_t a, int64_t b)
{
    return cfx_ceil_div(a, b) * b;
}

/* The product of n factors, none of which is negative; INT64_MAX if it is larger. */
CFX_INLINE int64_t cfx_product64(int n, const int64_t *factor)
{
    int64_t all = 1;
    bool fits = true;

    for (int i = 0; i < n; i++) {
        if (factor[i] == 0)
            return 0;
        fits = fits && !__builtin_mul_overflow(all, factor[i], &all);
    }
    return fits ? all : INT64_MAX;
}

#endif
