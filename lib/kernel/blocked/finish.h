/*
 * finish.h -- the end of a blocked convolution's sums, for one level.
 */
#ifndef CFX_BLOCKED_FINISH_H
#define CFX_BLOCKED_FINISH_H

#include "kernel/blocked/blocked.h"
#include "kernel/vec/vec.h"

/* The bounds of an epilogue, in registers: stores of results might change them in
 * memory, as far as the compiler knows. */
typedef struct bounds {
    vf lo, hi;
} bounds;

CFX_FORCE_INLINE bounds bounds_of(const cfx_blocked_epilogue *e)
{
    return (bounds){vf_set1(e->lo), vf_set1(e->hi)};
}

CFX_FORCE_INLINE vf finish(vf s, bounds b)
{
    /* As in PyTorch, NaN passes: max and min give their second argument. */
    return vf_min(b.hi, vf_max(b.lo, s));
}

/* ---- Blocks of either type ---- */

/* Vector v of the block at p. */
CFX_FORCE_INLINE vf load_block(bool narrow, const float *p, int v)
{
    return narrow ? vf_load_bf16((const uint16_t *)p + v * VF)
                  : vf_load(p + v * VF);
}

#if CFX_LEVEL_IS(avx512)
CFX_FORCE_INLINE void convert_store(void *p, vf x)
{
    __m256i y;
    /* The compiler has a function for it only where all code may use it. */
    __asm__("vcvtneps2bf16 %1, %0" : "=v"(y) : "v"(x));
    _mm256_storeu_si256(p, y);
}

/* Convert and store two vectors that lie side by side, by one instruction each. */
CFX_FORCE_INLINE void convert_store_two(void *p, vf x, vf x1)
{
    __m512i y;
    __asm__("vcvtne2ps2bf16 %1, %2, %0" : "=v"(y) : "v"(x), "v"(x1));
    _mm512_storeu_si512(p, y);
}
#else
#define convert_store vf_store_bf16

CFX_FORCE_INLINE void convert_store_two(uint16_t *p, vf x, vf x1)
{
    vf_store_bf16(p, x);
    vf_store_bf16(p + VF, x1);
}
#endif

/* Store the block's vector v at p as bfloat16. */
CFX_FORCE_INLINE void store_narrow(bool converts, float *p, int v, vf x)
{
    uint16_t *to = (uint16_t *)p + v * VF;

    if (converts)
        convert_store(to, x);
    else
        vf_store_bf16(to, x);
}

/* Results of the n sums, whole blocks, which may be y's and are overwritten. */
CFX_FORCE_INLINE void activate(const cfx_blocked_epilogue *e, float *y,
                               float *sums, int64_t n)
{
    const void *in[] = {sums};

    e->activation(e->narrow ? sums : y, in, n, e->params);
    for (int i = 0; i < n / VF && e->narrow; i++)
        store_narrow(e->converts, y, i, vf_load(sums + (int64_t)i * VF));
}

#endif
