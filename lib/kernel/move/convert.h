/*
 * convert.h -- an element of one type as another, without branches.
 *
 * Floats out of the range of an integer type become the smallest 32-bit (for
 * int64: 64-bit) number, truncated to the width; in C this is undefined.
 */
#ifndef CFX_CONVERT_H
#define CFX_CONVERT_H

#include <stdint.h>

#include <cfx/compiler.h>

CFX_INLINE float f32_of_f16(uint16_t h)
{
    /* Exponent and fraction at their places in a float, whose exponent is then
     * 112 too small; subnormals come right by the same product. */
    union { uint32_t u; float f; } x = {.u = (uint32_t)(h & 0x7fff) << 13};

    x.f *= 0x1p112f;
    x.u |= x.f >= 65536 ? 0x7f800000u : 0;
    x.u |= (uint32_t)(h & 0x8000) << 16;
    return x.f;
}

CFX_INLINE uint16_t f16_of_f32(float f)
{
    union { float f; uint32_t u; } x = {.f = f}, small;
    uint32_t u = x.u & 0x7fffffff, normal, h;

    /* Rounded to even at bit 13, and the exponent moved by 112. */
    normal = (u + 0xfff + (u >> 13 & 1) - (112u << 23)) >> 13;
    /* The last place of 0.5 is that of subnormals: adding it rounds them. */
    x.u = u;
    small.f = x.f + 0.5f;
    h = u < 113u << 23 ? small.u - 0x3f000000 : normal;
    h = u >= 0x477ff000 ? 0x7c00 : h;
    h = u > 0x7f800000 ? 0x7e00 : h;
    x.f = f;
    return (uint16_t)(h | (x.u >> 16 & 0x8000));
}

CFX_INLINE float f32_of_bf16(uint16_t h)
{
    return (union { uint32_t u; float f; }){.u = (uint32_t)h << 16}.f;
}

CFX_INLINE uint16_t bf16_of_f32(float f)
{
    uint32_t u = (union { float f; uint32_t u; }){.f = f}.u;
    uint32_t rounded = (u + 0x7fff + (u >> 16 & 1)) >> 16;

    return (uint16_t)(f != f ? 0x7fc0 : rounded);
}

CFX_INLINE int32_t i32_of_f32(float x)
{
    return (int32_t)(x >= -0x1p31f && x < 0x1p31f ? x : -0x1p31f);
}
CFX_INLINE int32_t i32_of_f64(double x)
{
    return (int32_t)(x >= -0x1p31 && x < 0x1p31 ? x : -0x1p31);
}
CFX_INLINE int64_t i64_of_f32(float x)
{
    return (int64_t)(x >= -0x1p63f && x < 0x1p63f ? x : -0x1p63f);
}
CFX_INLINE int64_t i64_of_f64(double x)
{
    return (int64_t)(x >= -0x1p63 && x < 0x1p63 ? x : -0x1p63);
}
CFX_INLINE int64_t i64_of_int(int64_t x) { return x; }

#endif
