/*
 * convert.h -- conversion of single numbers, as in PyTorch. Not installed.
 *
 * There are no branches on values, so that compilers vectorize the loops of
 * copy.c.
 */
#ifndef CFX_TENSOR_CONVERT_H
#define CFX_TENSOR_CONVERT_H

#include <cfx/dtype.h>

CFX_INLINE uint32_t cfx_float_bits(float f)
{
    union { float f; uint32_t u; } x = {.f = f};
    return x.u;
}

CFX_INLINE float cfx_bits_float(uint32_t u)
{
    union { uint32_t u; float f; } x = {.u = u};
    return x.f;
}

/*
 * Exponent and mantissa, shifted to their place in a float, are the number
 * divided by 2^112, for subnormal numbers, too. Infinity and NaN become at
 * least 65536, and then get the exponent of all ones.
 */
CFX_INLINE float cfx_half_to_float(uint16_t h)
{
    float f = cfx_bits_float((uint32_t)(h & 0x7fff) << 13) * 0x1p112f;
    uint32_t special = f >= 65536.0f ? UINT32_C(0x7f800000) : 0;

    return cfx_bits_float(cfx_float_bits(f) | special |
                          (uint32_t)(h & 0x8000) << 16);
}

CFX_INLINE uint16_t cfx_float_to_half(float f)
{
    uint32_t bits = cfx_float_bits(f), u = bits & UINT32_C(0x7fffffff);
    /* Rebias the exponent and round to even; a carry beyond 65504 gives
     * infinity. */
    uint32_t normal = (u - UINT32_C(0x38000000) + 0xfff + (u >> 13 & 1)) >> 13;
    /* The ulp of 0.5f is that of subnormal halves: the addition rounds. */
    uint32_t small = u < UINT32_C(0x38800000) ? u : 0;
    uint32_t subnormal = cfx_float_bits(cfx_bits_float(small) + 0.5f) -
                         UINT32_C(0x3f000000);
    uint32_t nan = 0x7e00 | (u >> 13 & 0x3ff);
    uint32_t h = u < UINT32_C(0x38800000) ? subnormal : normal;

    h = u >= UINT32_C(0x47800000) ? 0x7c00 : h;
    h = u > UINT32_C(0x7f800000) ? nan : h;
    return (uint16_t)(h | (bits >> 16 & 0x8000));
}

CFX_INLINE uint16_t cfx_float_to_bfloat(float f)
{
    uint32_t u = cfx_float_bits(f);
    uint32_t even = (u + 0x7fff + (u >> 16 & 1)) >> 16;

    return (uint16_t)((u & UINT32_C(0x7fffffff)) > UINT32_C(0x7f800000)
                          ? 0x7fc0 : even);
}

/*
 * Truncate. Values out of range, and NaN, give the least integer, like x86 and
 * PyTorch, but without undefined behaviour.
 */
CFX_INLINE int32_t cfx_float_to_i32(float f)
{
    return (int32_t)(f >= -0x1p31f && f < 0x1p31f ? f : -0x1p31f);
}
CFX_INLINE int64_t cfx_float_to_i64(float f)
{
    return (int64_t)(f >= -0x1p63f && f < 0x1p63f ? f : -0x1p63f);
}
CFX_INLINE int32_t cfx_double_to_i32(double f)
{
    return (int32_t)(f > -0x1.00000002p31 && f < 0x1p31 ? f : -0x1p31);
}
CFX_INLINE int64_t cfx_double_to_i64(double f)
{
    return (int64_t)(f >= -0x1p63 && f < 0x1p63 ? f : -0x1p63);
}

#endif
