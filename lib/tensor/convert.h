/*
 * convert.h -- one number from one type to another, as PyTorch does it. Not
 * installed.
 *
 * Everything here is without branches that depend on the number, so that the
 * loops of copy.c become vector code.
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
 * The exponent and mantissa, moved to where a float has them, are the number
 * divided by 2^112, for subnormal numbers too; infinity and NaN come out as
 * 65536 and more, and are given the exponent that says so.
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
    /* Rebias the exponent and round to even; a carry out of 65504 makes
     * infinity by itself. */
    uint32_t normal = (u - UINT32_C(0x38000000) + 0xfff + (u >> 13 & 1)) >> 13;
    /* The unit of 0.5f is that of subnormal halves: the addition rounds. */
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
 * Towards zero. What does not fit, and NaN, gives the least integer: what
 * processors answer, and so what PyTorch prints, but here it is defined.
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
