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

/* ---- 8-bit floats ---- */

/* Round to even, without the sign. `most` is the code of the largest number,
 * `over` that of greater ones, `nan` that of NaN. */
CFX_INLINE uint8_t cfx_float_to_float8(float f, int mantissa_bits, int bias,
                                       uint32_t most, uint32_t over,
                                       uint32_t nan)
{
    const int shift = 23 - mantissa_bits;
    const uint32_t rebias = (uint32_t)(127 - bias) << 23;
    /* A float whose ulp is that of subnormal numbers: the addition rounds. */
    const uint32_t magic = (uint32_t)(128 - bias + shift) << 23;
    uint32_t u = cfx_float_bits(f) & UINT32_C(0x7fffffff);
    uint32_t even = (UINT32_C(1) << (shift - 1)) - 1 + (u >> shift & 1);
    uint32_t normal = (u - rebias + even) >> shift;
    uint32_t subnormal = cfx_float_bits(cfx_bits_float(u) +
                                        cfx_bits_float(magic)) -
                         magic;
    uint32_t code = u < rebias + (UINT32_C(1) << 23) ? subnormal : normal;

    code = code > most ? over : code;
    code = u >= UINT32_C(0x7f800000) ? over : code;
    return (uint8_t)(u > UINT32_C(0x7f800000) ? nan : code);
}

/* With a negative zero. PyTorch saturates float8_e4m3fn, infinity, too. */
CFX_INLINE uint8_t cfx_float_to_signed8(float f, int mantissa_bits, int bias,
                                        uint32_t most, uint32_t over)
{
    return (uint8_t)(cfx_float_to_float8(f, mantissa_bits, bias, most, over,
                                         0x7f) |
                     (cfx_float_bits(f) >> 24 & 0x80));
}

/* "fnuz": no infinity and no negative zero, whose code is that of NaN. */
CFX_INLINE uint8_t cfx_float_to_fnuz8(float f, int mantissa_bits, int bias)
{
    uint8_t code = cfx_float_to_float8(f, mantissa_bits, bias, 0x7f, 0x80,
                                       0x80);
    uint32_t sign = code ? cfx_float_bits(f) >> 24 & 0x80 : 0;

    return (uint8_t)(code | sign);
}

/* A number by cfx_half_to_float's method; codes of infinity and NaN are not
 * told apart. */
CFX_INLINE float cfx_float8_to_float(uint8_t code, int mantissa_bits, int bias)
{
    uint32_t magnitude = (uint32_t)(code & 0x7f) << (23 - mantissa_bits);
    float scale = cfx_bits_float((uint32_t)(254 - bias) << 23);
    float f = cfx_bits_float(magnitude) * scale;

    return cfx_bits_float(cfx_float_bits(f) | (uint32_t)(code & 0x80) << 24);
}

CFX_INLINE float cfx_e4m3fn_to_float(uint8_t code)
{
    uint32_t nan = (code & 0x7f) == 0x7f ? UINT32_C(0x7fc00000) : 0;

    return cfx_bits_float(cfx_float_bits(cfx_float8_to_float(code, 3, 7)) |
                          nan);
}

CFX_INLINE float cfx_e5m2_to_float(uint8_t code)
{
    return cfx_half_to_float((uint16_t)(code << 8));
}

CFX_INLINE float cfx_fnuz8_to_float(uint8_t code, int mantissa_bits, int bias)
{
    float f = cfx_float8_to_float(code, mantissa_bits, bias);

    return cfx_bits_float(code == 0x80 ? UINT32_C(0x7fc00000)
                                       : cfx_float_bits(f));
}

/* A power of two, without a sign or zero. */
CFX_INLINE float cfx_e8m0_to_float(uint8_t code)
{
    uint32_t bits = code ? (uint32_t)code << 23 : UINT32_C(0x400000);

    return cfx_bits_float(code == 0xff ? UINT32_C(0x7fc00000) : bits);
}

/* Round to the nearer power of two; of two equally near ones, a subnormal number
 * takes the lower. Infinity becomes NaN. */
CFX_INLINE uint8_t cfx_float_to_e8m0(float f)
{
    uint32_t u = cfx_float_bits(f) & UINT32_C(0x7fffffff), code = u >> 23;
    uint32_t half = UINT32_C(0x400000) + (code == 0);

    return (uint8_t)(code + (code < 0xff && (u & UINT32_C(0x7fffff)) >= half));
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
#define CFX_READ_F8E4M3FN(e) cfx_e4m3fn_to_float(e)
#define CFX_READ_F8E4M3FNUZ(e) cfx_fnuz8_to_float(e, 3, 8)
#define CFX_READ_F8E5M2(e) cfx_e5m2_to_float(e)
#define CFX_READ_F8E5M2FNUZ(e) cfx_fnuz8_to_float(e, 2, 16)
#define CFX_READ_F8E8M0FNU(e) cfx_e8m0_to_float(e)
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
#define CFX_WRITE_F8E4M3FN(v)                                                 \
    cfx_float_to_signed8((float)(v), 3, 7, 0x7e, 0x7e)
#define CFX_WRITE_F8E4M3FNUZ(v) cfx_float_to_fnuz8((float)(v), 3, 8)
#define CFX_WRITE_F8E5M2(v) cfx_float_to_signed8((float)(v), 2, 15, 0x7b, 0x7c)
#define CFX_WRITE_F8E5M2FNUZ(v) cfx_float_to_fnuz8((float)(v), 2, 16)
#define CFX_WRITE_F8E8M0FNU(v) cfx_float_to_e8m0((float)(v))
#define CFX_WRITE_F16(v) cfx_float_to_half((float)(v))
#define CFX_WRITE_BF16(v) cfx_float_to_bfloat((float)(v))
#define CFX_WRITE_F32(v) ((float)(v))
#define CFX_WRITE_F64(v) ((double)(v))
#define CFX_WRITE_C64(v) ((float _Complex)(v))
#define CFX_WRITE_C128(v) ((double _Complex)(v))

#endif
