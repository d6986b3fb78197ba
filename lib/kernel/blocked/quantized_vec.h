/*
 * quantized_vec.h -- vectors of int32 and of bytes, for one level: what the kernels
 * of quantized numbers need besides vec.h.
 *
 *     dot(how, s, x, w)           s + products of the bytes of each lane. BYTES and
 *                                 WIDE take PARTS(how) calls, one for each part of
 *                                 the factors; each adds to s
 *     pixel_factor(how, part, p)  four bytes, the same for all lanes
 *     weight_factor(how, part, p) four bytes for each lane
 *     byte_factor(part, p)        likewise, uint8, for products by BYTES: it may be
 *                                 both factors
 *     factor_of_pixels(p, n, order_of_pixels())
 *                                 the bytes of each channel of n <= 4 pixels, 0 past
 *                                 n; only with MOVES_NEED, as lookup and
 *                                 a_byte_later
 *     vf_of_bytes(p)              VF bytes as floats
 *     store_bytes(p, v)           the lowest byte of each lane
 *     group_of(full, n, x, zero_point, r)
 *                                 n <= GROUP pixels of a block as bytes: x[n][BV] plus
 *                                 the zero point, in the range r; `full`: that is 0,
 *                                 and the range is that of bytes
 *     store_group(p, n, g), store_pixel(p, g, i)      all of them, or one
 *     nearest(x, z)               x rounded, halves to even, plus z
 *     vi_of_vf(x)                 the same without z, the least number if it is less
 *     vb_zero(), vb_load(p), vb_store(p, x), vb_max(x, y)     a block of bytes
 *
 * A product of bytes is computed by DOTS, an instruction that the processor may have,
 * or in 16 bits. x is widened to them when it is read (BYTES), or before (WIDE).
 */
#ifndef CFX_QUANTIZED_VEC_H
#define CFX_QUANTIZED_VEC_H

#include <math.h>

#include "base/context_impl.h"
#include "kernel/blocked/quantized.h"
#include "kernel/vec/vec.h"

enum { BYTES, DOTS, WIDE };

#if CFX_LEVEL_IS(avx512)
#include "kernel/blocked/quantized_avx512.h"
#elif CFX_LEVEL_IS(avx2)
#include "kernel/blocked/quantized_avx2.h"
#elif CFX_LEVEL_IS(neon)
#include "kernel/blocked/quantized_neon.h"
#else
#include "kernel/blocked/quantized_plain.h"
#endif

#if CFX_LEVEL_IS(avx512) || CFX_LEVEL_IS(avx2)
#define PARTS(how) ((how) == DOTS ? 1 : 2)

CFX_FORCE_INLINE factors pixel_factor(const int how, const int part,
                                      const uint8_t *p)
{
    int32_t four;

    memcpy(&four, p + (how == WIDE ? part * CFX_QUAD : 0), sizeof(four));
    return how == BYTES ? bytes_of(part, vi_set1(four)) : vi_set1(four);
}

CFX_FORCE_INLINE factors weight_factor(const int how, const int part,
                                       const int8_t *p)
{
    return how == DOTS ? vi_load(p) : signed_bytes_of(part, vi_load(p));
}

CFX_FORCE_INLINE factors byte_factor(const int part, const uint8_t *p)
{
    return bytes_of(part, vi_load(p));
}
#else
#define PARTS(how) 1
#endif

#if defined(DOTS_NEED)
#define HAVE_DOTS
#else
#define DOTS_NEED CFX_FEATURE_NEVER
#endif

/* ---- Blocks of bytes ---- */

#if CFX_LEVEL_IS(avx512) || CFX_LEVEL_IS(avx2)
typedef __m128i vb;

CFX_FORCE_INLINE vb vb_zero(void)
{
    return _mm_setzero_si128();
}

CFX_FORCE_INLINE vb vb_load(const void *p)
{
    return _mm_loadu_si128((const __m128i *)p);
}

CFX_FORCE_INLINE void vb_store(void *p, vb x)
{
    _mm_storeu_si128((__m128i *)p, x);
}

CFX_FORCE_INLINE vb vb_max(vb x, vb y)
{
    return _mm_max_epu8(x, y);
}
#else
typedef struct vb {
    uint8_t byte[CFX_BLOCK];
} vb;

CFX_FORCE_INLINE vb vb_zero(void)
{
    return (vb){{0}};
}

CFX_FORCE_INLINE vb vb_load(const void *p)
{
    vb x;

    memcpy(&x, p, sizeof(x));
    return x;
}

CFX_FORCE_INLINE void vb_store(void *p, vb x)
{
    memcpy(p, &x, sizeof(x));
}

CFX_FORCE_INLINE vb vb_max(vb x, vb y)
{
    for (int i = 0; i < CFX_BLOCK; i++)
        x.byte[i] = x.byte[i] > y.byte[i] ? x.byte[i] : y.byte[i];
    return x;
}
#endif

/* ---- At every level ---- */

/* a * b + c, rounded once at every level. */
CFX_FORCE_INLINE vf multiply_add(vf a, vf b, vf c)
{
#if CFX_LEVEL_IS(plain)
    return fmaf(a, b, c);
#else
    return vf_fma(a, b, c);
#endif
}

/* The integer that is nearest to x, halves to even, in int32: that of -2^22..2^22
 * is the fraction of x + 1.5 * 2^23. */
enum { NEAREST_BITS = 0x4b400000 };
CFX_FORCE_INLINE vi nearest(vf x, int zero_point)
{
    return vi_add(vi_bits(vf_add(x, vf_set1(0x1.8p23F))),
                  zero_point - NEAREST_BITS);
}

/* nearest(x, zero_point) in a range, as a float. It takes the units of products and
 * of integers, since others are busy with conversions. */
CFX_FORCE_INLINE vf vf_nearest(vf x, int zero_point, cfx_quantized_range r)
{
    const int32_t to_bits = NEAREST_BITS - zero_point;
    const vi y = vi_within(vi_bits(vf_add(x, vf_set1(0x1.8p23F))),
                           r.lo + to_bits, r.hi + to_bits);

    return multiply_add(vf_of_bits(y), vf_set1(1),
                        vf_set1((float)zero_point - 0x1.8p23F));
}

/* NaN becomes lo. */
CFX_FORCE_INLINE vf in_range(vf x, float lo, float hi)
{
    return vf_min(vf_max_number(x, vf_set1(lo)), vf_set1(hi));
}

/* A sum of two terms before it is clamped and rounded. */
CFX_FORCE_INLINE vf add_terms(const cfx_quantized_sum *s, vf a, vf b)
{
    vf v = multiply_add(b, vf_set1(s->scale[1]), vf_set1(s->bias));

    return multiply_add(a, vf_set1(s->scale[0]), v);
}

/* A sum as integers, with its zero point. */
CFX_FORCE_INLINE vi sum_of(const cfx_quantized_sum *s, vf a, vf b)
{
    return nearest(in_range(add_terms(s, a, b), s->lo, s->hi), s->zero_point);
}

/* Vectors in a block. */
enum { BV = CFX_BLOCK / VF };
/* Pixels that are rounded together, at most. */
enum { MOST = 14 };

/* The scale, bias and range of a vector of channels. */
typedef struct scaling {
    vf scale, bias, lo, hi;
} scaling;

/* Of the vector that begins with channel `at`. */
CFX_FORCE_INLINE scaling scaling_at(const cfx_quantized_end *e, int64_t at)
{
    return (scaling){vf_load(e->scale + at),
                     e->bias ? vf_load(e->bias + at) : vf_zero(),
                     vf_set1(e->lo), vf_set1(e->hi)};
}

/* The result of sums before it is clamped and rounded. */
CFX_FORCE_INLINE vf scale_sums(const scaling *k, vi s)
{
    return multiply_add(vf_of_vi(s), k->scale, k->bias);
}

/* The result clamped. */
CFX_FORCE_INLINE vf scaled(const scaling *k, vi s)
{
    return vf_min(vf_max(scale_sums(k, s), k->lo), k->hi);
}

/* The vectors of n pixels of a block of sums, scaled; they lie `step` apart. Each
 * step is done for all of them, since its result is ready some cycles later. */
CFX_FORCE_INLINE void scale_pixels(const scaling *k, const int n, const vi *s,
                                   const int step, vf *y)
{
    CFX_UNROLL
    for (int i = 0; i < n * BV; i++)
        y[i] = vf_of_vi(s[i / BV * step + i % BV]);
    CFX_UNROLL
    for (int i = 0; i < n * BV; i++)
        y[i] = multiply_add(y[i], k[i % BV].scale, k[i % BV].bias);
}

CFX_FORCE_INLINE void clamp_pixels(const scaling *k, const int n, vf *y)
{
    CFX_UNROLL
    for (int i = 0; i < n * BV; i++)
        y[i] = vf_min(vf_max(y[i], k->lo), k->hi);
}

/* Scale the sums of n pixels and round them to x. They are clamped here unless they
 * fit into int32: then group_of clamps them as bytes. */
CFX_FORCE_INLINE void round_pixels(const scaling *k, const bool fits,
                                   const int n, const vi *s, const int step,
                                   vi *x)
{
    vf y[MOST * BV];

    scale_pixels(k, n, s, step, y);
    if (!fits)
        clamp_pixels(k, n, y);
    CFX_UNROLL
    for (int i = 0; i < n * BV; i++)
        x[i] = vi_of_vf(y[i]);
}

/* Store the pixels of a block, x[pixels][BV], side by side. */
CFX_FORCE_INLINE void store_pixels(const bool full, const int pixels,
                                   const vi *x, int zero_point,
                                   cfx_quantized_range r, uint8_t *y)
{
    CFX_UNROLL
    for (int p = 0; p < pixels; p += GROUP) {
        const int n = pixels - p < GROUP ? pixels - p : GROUP;
        store_group(y + p * CFX_BLOCK, n,
                    group_of(full, n, x + p * BV, zero_point, r));
    }
}

#endif
