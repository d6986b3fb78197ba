/*
 * pairs_level.c -- channels of row-major images side by side in bfloat16, for one
 * level.
 */
#include "kernel/blocked/blocked.h"
#include "kernel/vec/simd.h"

#include "base/convert.h"

void CFX_LEVEL_NAME(cfx_blocked_pair_rows)(void *y, const float *a,
                                           const float *b, int64_t n);

void CFX_LEVEL_NAME(cfx_blocked_pair_rows)(void *y_, const float *a,
                                           const float *b, int64_t n)
{
    uint32_t *y = y_;

    CFX_SIMD
    for (int64_t i = 0; i < n; i++)
        y[i] = cfx_float_to_bfloat(a[i]) | (uint32_t)cfx_float_to_bfloat(b[i])
                                               << 16;
}
