/*
 * convert.h -- conversion of single numbers, as in PyTorch. Not installed.
 *
 * There are no branches on values, so that compilers vectorize loops over them.
 */
#ifndef CFX_CONVERT_H
#define CFX_CONVERT_H

#include <cfx/dtype.h>

CFX_INLINE uint32_t cfx_float_bits(float f)
{
    union {
        float f;
        uint32_t u;
    } x = {.f = f};
    return x.u;
}

CFX_INLINE float cfx_bits_float(uint32_t u)
{
    union {
        uint32_t u;
        float f;
    } x = {.u = u};
    return x.f;
}

/* ---- 16-bit floats ---- */

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
    uint32_t subnormal = cfx_float_bits(cfx_bits_float(u) + 0.5f) -
                         UINT32_C(0x3f000000);
    uint32_t h = u < UINT32_C(0x38800000) ? subnormal : normal;

    h = u >= UINT32_C(0x47800000) ? 0x7c00 : h;
    h = u > UINT32_C(0x7f800000) ? 0x7e00 : h;
    return (uint16_t)(h | (bits >> 16 & 0x8000));
}

CFX_INLINE uint16_t cfx_float_to_bfloat(float f)
{
    uint32_t u = cfx_float_bits(f);
    uint32_t even = (u + 0x7fff + (u >> 16 & 1)) >> 16;

    return (uint16_t)(f != f ? 0x7fc0 : even);
}

/* ---- Integers ---- */

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
    return (int32_t)(f >= -0x1p31 && f < 0x1p31 ? f : -0x1p31);
}
CFX_INLINE int64_t cfx_double_to_i64(double f)
{
    return (int64_t)(f >= -0x1p63 && f < 0x1p63 ? f : -0x1p63);
}
/* A complex number is converted by its real part. */
CFX_INLINE int32_t cfx_complex_to_i32(double _Complex c)
{
    return cfx_double_to_i32((double)c);
}
CFX_INLINE int64_t cfx_complex_to_i64(double _Complex c)
{
    return cfx_double_to_i64((double)c);
}
CFX_INLINE int64_t cfx_int_to_i64(int64_t i)
{
    return i;
}
CFX_INLINE int64_t cfx_unsigned_to_i64(uint64_t i)
{
    return (int64_t)i;
}
/* Like int64 below 2^63, where negative numbers wrap. */
CFX_INLINE uint64_t cfx_double_to_u64(double f)
{
    bool high = f >= 0x1p63 && f < 0x1p64;

    return (uint64_t)cfx_double_to_i64(high ? f - 0x1p63 : f) +
           (high ? UINT64_C(1) << 63 : 0);
}
CFX_INLINE uint64_t cfx_complex_to_u64(double _Complex c)
{
    return cfx_double_to_u64((double)c);
}
CFX_INLINE uint64_t cfx_int_to_u64(int64_t i)
{
    return (uint64_t)i;
}
CFX_INLINE uint64_t cfx_unsigned_to_u64(uint64_t i)
{
    return i;
}

/* Integers wrap. Floats become small integers by way of 32 bits, but uint8 of
 * double by way of 64. So does PyTorch, and it shows in what does not fit. */
#define CFX_TO_U8(v)                                                          \
    _Generic((v), float                                                       \
             : cfx_float_to_i32, double                                       \
             : cfx_double_to_i64, uint64_t                                    \
             : cfx_unsigned_to_i64, float _Complex                            \
             : cfx_complex_to_i64, double _Complex                            \
             : cfx_complex_to_i64, default                                    \
             : cfx_int_to_i64)(v)
#define CFX_TO_I32(v)                                                         \
    _Generic((v), float                                                       \
             : cfx_float_to_i32, double                                       \
             : cfx_double_to_i32, uint64_t                                    \
             : cfx_unsigned_to_i64, float _Complex                            \
             : cfx_complex_to_i32, double _Complex                            \
             : cfx_complex_to_i32, default                                    \
             : cfx_int_to_i64)(v)
#define CFX_TO_I64(v)                                                         \
    _Generic((v), float                                                       \
             : cfx_float_to_i64, double                                       \
             : cfx_double_to_i64, uint64_t                                    \
             : cfx_unsigned_to_i64, float _Complex                            \
             : cfx_complex_to_i64, double _Complex                            \
             : cfx_complex_to_i64, default                                    \
             : cfx_int_to_i64)(v)
#define CFX_TO_U64(v)                                                         \
    _Generic((v), float                                                       \
             : cfx_double_to_u64, double                                      \
             : cfx_double_to_u64, uint64_t                                    \
             : cfx_unsigned_to_u64, float _Complex                            \
             : cfx_complex_to_u64, double _Complex                            \
             : cfx_complex_to_u64, default                                    \
             : cfx_int_to_u64)(v)

/* ---- Each type of dtype.def ---- */

/* An element as a number. */
#define CFX_READ_BOOL(e) ((e) != 0)
#define CFX_READ_U8(e) (e)
#define CFX_READ_I8(e) (e)
#define CFX_READ_I16(e) (e)
#define CFX_READ_I32(e) (e)
#define CFX_READ_I64(e) (e)
#define CFX_READ_U16(e) (e)
#define CFX_READ_U32(e) ((int64_t)(e))
#define CFX_READ_U64(e) (e)
#define CFX_READ_F16(e) cfx_half_to_float(e)
#define CFX_READ_BF16(e) cfx_bf16_to_f32(e)
#define CFX_READ_F32(e) (e)
#define CFX_READ_F64(e) (e)
#define CFX_READ_C64(e) (e)
#define CFX_READ_C128(e) (e)

/* A number, of any of C's types, as an element. */
#define CFX_WRITE_BOOL(v) ((uint8_t)((v) != 0))
#define CFX_WRITE_U8(v) ((uint8_t)CFX_TO_U8(v))
#define CFX_WRITE_I8(v) ((int8_t)CFX_TO_I32(v))
#define CFX_WRITE_I16(v) ((int16_t)CFX_TO_I32(v))
#define CFX_WRITE_I32(v) ((int32_t)CFX_TO_I32(v))
#define CFX_WRITE_I64(v) CFX_TO_I64(v)
#define CFX_WRITE_U16(v) ((uint16_t)CFX_TO_I32(v))
#define CFX_WRITE_U32(v) ((uint32_t)CFX_TO_I64(v))
#define CFX_WRITE_U64(v) CFX_TO_U64(v)
#define CFX_WRITE_F16(v) cfx_float_to_half((float)(v))
#define CFX_WRITE_BF16(v) cfx_float_to_bfloat((float)(v))
#define CFX_WRITE_F32(v) ((float)(v))
#define CFX_WRITE_F64(v) ((double)(v))
#define CFX_WRITE_C64(v) ((float _Complex)(v))
#define CFX_WRITE_C128(v) ((double _Complex)(v))

#endif
