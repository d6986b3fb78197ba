/*
 * int64.h -- minimum, maximum, and quotients that are rounded up.
 */
#ifndef CFX_INT64_H
#define CFX_INT64_H

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

#endif
