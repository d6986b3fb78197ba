/*
 * quantized_vec.h -- vectors of int32 and of bytes, for one level: what the kernels
 * of quantized numbers need besides vec.h.
 *
 *     fours_of(p), weights_of(p)  four bytes for all lanes, and fours for each
 *     dot(s, x, w)                s + the products of the bytes of each lane
 *     numbers_of(p)               bytes for all lanes as both factors of dot without
 *                                 `dots`
 *     fours_of_pixels(p, n, order_of_pixels())
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
 * `dots` says that the processor has an instruction for dot.
 */
#ifndef CFX_QUANTIZED_VEC_H
#define CFX_QUANTIZED_VEC_H

#include <math.h>

#include "base/context_impl.h"
#include "kernel/blocked/quantized.h"
#include "kernel/vec/vec.h"

/* Fours of bytes: as they are, or as 16 bits of the even and of the odd ones. */
#if CFX_LEVEL_IS(avx512)
typedef __m512i vi;
typedef struct fours {
    vi all, odd;
} fours;

CFX_FORCE_INLINE vi vi_load(const void *p)
{
    return _mm512_loadu_si512(p);
}

CFX_FORCE_INLINE fours fours_of(const bool dots, const uint8_t *p)
{
    int32_t quad;

    memcpy(&quad, p, sizeof(quad));
    vi x = _mm512_set1_epi32(quad);
    return dots ? (fours){x, x}
                : (fours){_mm512_and_si512(x, _mm512_set1_epi16(0xff)),
                          _mm512_srli_epi16(x, 8)};
}

CFX_FORCE_INLINE fours weights_of(const bool dots, const int8_t *p)
{
    vi w = vi_load(p);

    return dots ? (fours){w, w}
                : (fours){_mm512_srai_epi16(_mm512_slli_epi16(w, 8), 8),
                          _mm512_srai_epi16(w, 8)};
}

CFX_FORCE_INLINE fours numbers_of(const uint8_t *p)
{
    vi x = vi_load(p);

    return (fours){_mm512_and_si512(x, _mm512_set1_epi16(0xff)),
                   _mm512_srli_epi16(x, 8)};
}

CFX_FORCE_INLINE vi dot(const bool dots, vi s, fours x, fours w)
{
    if (dots) {
        /* The compiler has a function for it only where all code may use it. */
        __asm__("vpdpbusd %2, %1, %0" : "+v"(s) : "v"(x.all), "v"(w.all));
        return s;
    }
    return _mm512_add_epi32(s,
                            _mm512_add_epi32(_mm512_madd_epi16(x.all, w.all),
                                             _mm512_madd_epi16(x.odd, w.odd)));
}

CFX_FORCE_INLINE vf vf_of_vi(vi x)
{
    return _mm512_cvtepi32_ps(x);
}

CFX_FORCE_INLINE vi vi_of_vf(vf x)
{
    return _mm512_cvtps_epi32(x);
}

CFX_FORCE_INLINE vi vi_sum(vi a, vi b)
{
    return _mm512_add_epi32(a, b);
}

CFX_FORCE_INLINE vi vi_bits(vf x)
{
    return _mm512_castps_si512(x);
}

CFX_FORCE_INLINE vf vf_of_bits(vi x)
{
    return _mm512_castsi512_ps(x);
}

CFX_FORCE_INLINE vi vi_add(vi x, int32_t n)
{
    return _mm512_add_epi32(x, _mm512_set1_epi32(n));
}

CFX_FORCE_INLINE vi vi_within(vi x, int32_t lo, int32_t hi)
{
    return _mm512_min_epi32(_mm512_max_epi32(x, _mm512_set1_epi32(lo)),
                            _mm512_set1_epi32(hi));
}

CFX_FORCE_INLINE void store_bytes(uint8_t *p, vi x)
{
    _mm_storeu_si128((__m128i *)(void *)p, _mm512_cvtepi32_epi8(x));
}

enum { GROUP = 4 };
typedef __m512i vg;

CFX_FORCE_INLINE vg group_of(const bool full, const int n, const vi *x,
                             int zero_point, cfx_quantized_range r)
{
    const vi zero = _mm512_set1_epi16((short)zero_point);
    const vi order = _mm512_set_epi32(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1,
                                      12, 8, 4, 0);
    vi a = _mm512_packs_epi32(x[0], x[n > 1 ? 1 : 0]);
    vi b = _mm512_packs_epi32(x[n > 2 ? 2 : 0], x[n > 3 ? 3 : 0]);

    if (full)
        return _mm512_permutexvar_epi32(order, _mm512_packus_epi16(a, b));
    a = _mm512_packus_epi16(_mm512_adds_epi16(a, zero),
                            _mm512_adds_epi16(b, zero));
    a = _mm512_max_epu8(a, _mm512_set1_epi8((char)r.lo));
    a = _mm512_min_epu8(a, _mm512_set1_epi8((char)r.hi));
    return _mm512_permutexvar_epi32(order, a);
}

CFX_FORCE_INLINE void store_group(uint8_t *y, const int n, vg x)
{
    _mm512_mask_storeu_epi8(y, ~0ULL >> (GROUP - n) * CFX_BLOCK, x);
}

CFX_FORCE_INLINE void store_pixel(uint8_t *y, vg x, const int i)
{
    const __m128i one = i == 0   ? _mm512_castsi512_si128(x)
                        : i == 1 ? _mm512_extracti32x4_epi32(x, 1)
                        : i == 2 ? _mm512_extracti32x4_epi32(x, 2)
                                 : _mm512_extracti32x4_epi32(x, 3);

    _mm_storeu_si128((__m128i *)(void *)y, one);
}

CFX_FORCE_INLINE vf vf_of_bytes(const uint8_t *p)
{
    const __m128i x = _mm_loadu_si128((const __m128i *)(const void *)p);

    return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(x));
}

#define DOTS_NEED CFX_FEATURE_AVX512_VNNI

/* Bytes that other bytes choose, if the processor can. */
#define MOVES_NEED CFX_FEATURE_AVX512_VBMI

/* Those of a table of 128. The compiler has a function for neither. */
CFX_FORCE_INLINE vi choose(vi x, vi low, vi high)
{
    __asm__("vpermi2b %2, %1, %0" : "+v"(x) : "v"(low), "v"(high));
    return x;
}

CFX_FORCE_INLINE vi reorder(vi x, vi order)
{
    __asm__("vpermb %1, %2, %0" : "=v"(x) : "v"(x), "v"(order));
    return x;
}

/* Those of a table of 256. */
CFX_FORCE_INLINE vi lookup(const vi *table, vi x)
{
    return _mm512_mask_blend_epi8(_mm512_movepi8_mask(x),
                                  choose(x, table[0], table[1]),
                                  choose(x, table[2], table[3]));
}

/* The order of fours_of_pixels: byte 4 c + p is byte 16 p + c. */
CFX_FORCE_INLINE vi order_of_pixels(void)
{
    const vi lane = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4,
                                     3, 2, 1, 0);

    return _mm512_add_epi32(
        _mm512_mullo_epi32(lane, _mm512_set1_epi32(0x01010101)),
        _mm512_set1_epi32(0x30201000));
}

/* Pixels of 16 channels that follow each other. */
CFX_FORCE_INLINE fours fours_of_pixels(const void *p, int64_t n, vi order)
{
    const __mmask64 there = n < 4 ? (1ULL << n * CFX_BLOCK) - 1 : ~0ULL;
    const vi x = reorder(_mm512_maskz_loadu_epi8(there, p), order);

    return (fours){x, x};
}

/* Like fours_of_pixels, but only bytes whose bits are set in `there` are read; the
 * others are those of `outside`. */
CFX_FORCE_INLINE fours fours_within(const void *p, uint64_t there, vi outside,
                                    vi order)
{
    const vi x = reorder(_mm512_mask_loadu_epi8(outside, there, p), order);

    return (fours){x, x};
}

/* The bytes of three pixels as the last three of a four. */
CFX_FORCE_INLINE fours a_byte_later(fours x)
{
    const vi later = _mm512_slli_epi32(x.all, 8);

    return (fours){later, later};
}
#elif CFX_LEVEL_IS(avx2)
/* clang 14 has no name for the feature. */
#if !defined(__clang__) && __GNUC__ >= 11
#define HAVE_VEX_DOTS
#endif
typedef __m256i vi;
typedef struct fours {
    vi all, odd;
} fours;

CFX_FORCE_INLINE vi vi_load(const void *p)
{
    return _mm256_loadu_si256(p);
}

CFX_FORCE_INLINE fours fours_of(const bool dots, const uint8_t *p)
{
    int32_t quad;

    memcpy(&quad, p, sizeof(quad));
    vi x = _mm256_set1_epi32(quad);
    return dots ? (fours){x, x}
                : (fours){_mm256_and_si256(x, _mm256_set1_epi16(0xff)),
                          _mm256_srli_epi16(x, 8)};
}

CFX_FORCE_INLINE fours weights_of(const bool dots, const int8_t *p)
{
    vi w = vi_load(p);

    return dots ? (fours){w, w}
                : (fours){_mm256_srai_epi16(_mm256_slli_epi16(w, 8), 8),
                          _mm256_srai_epi16(w, 8)};
}

CFX_FORCE_INLINE fours numbers_of(const uint8_t *p)
{
    vi x = vi_load(p);

    return (fours){_mm256_and_si256(x, _mm256_set1_epi16(0xff)),
                   _mm256_srli_epi16(x, 8)};
}

CFX_FORCE_INLINE vi dot(const bool dots, vi s, fours x, fours w)
{
#if defined(HAVE_VEX_DOTS)
    if (dots) {
        /* As above; without its prefix it would be that of AVX-512. */
        __asm__("%{vex%} vpdpbusd %2, %1, %0"
                : "+x"(s)
                : "x"(x.all), "x"(w.all));
        return s;
    }
#endif
    (void)dots;
    return _mm256_add_epi32(s,
                            _mm256_add_epi32(_mm256_madd_epi16(x.all, w.all),
                                             _mm256_madd_epi16(x.odd, w.odd)));
}

CFX_FORCE_INLINE vf vf_of_vi(vi x)
{
    return _mm256_cvtepi32_ps(x);
}

CFX_FORCE_INLINE vi vi_of_vf(vf x)
{
    return _mm256_cvtps_epi32(x);
}

CFX_FORCE_INLINE vi vi_sum(vi a, vi b)
{
    return _mm256_add_epi32(a, b);
}

CFX_FORCE_INLINE vi vi_bits(vf x)
{
    return _mm256_castps_si256(x);
}

CFX_FORCE_INLINE vf vf_of_bits(vi x)
{
    return _mm256_castsi256_ps(x);
}

CFX_FORCE_INLINE vi vi_add(vi x, int32_t n)
{
    return _mm256_add_epi32(x, _mm256_set1_epi32(n));
}

CFX_FORCE_INLINE vi vi_within(vi x, int32_t lo, int32_t hi)
{
    return _mm256_min_epi32(_mm256_max_epi32(x, _mm256_set1_epi32(lo)),
                            _mm256_set1_epi32(hi));
}

CFX_FORCE_INLINE void store_bytes(uint8_t *p, vi x)
{
    __m128i y = _mm_packus_epi32(_mm256_castsi256_si128(x),
                                 _mm256_extracti128_si256(x, 1));

    _mm_storel_epi64((__m128i *)(void *)p, _mm_packus_epi16(y, y));
}

enum { GROUP = 2 };
typedef __m256i vg;

CFX_FORCE_INLINE vg group_of(const bool full, const int n, const vi *x,
                             int zero_point, cfx_quantized_range r)
{
    const vi zero = _mm256_set1_epi16((short)zero_point);
    const vi order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    vi a = _mm256_packs_epi32(x[0], x[1]);
    vi b = n > 1 ? _mm256_packs_epi32(x[2], x[3]) : a;

    if (full)
        return _mm256_permutevar8x32_epi32(_mm256_packus_epi16(a, b), order);
    a = _mm256_packus_epi16(_mm256_adds_epi16(a, zero),
                            _mm256_adds_epi16(b, zero));
    a = _mm256_max_epu8(a, _mm256_set1_epi8((char)r.lo));
    a = _mm256_min_epu8(a, _mm256_set1_epi8((char)r.hi));
    return _mm256_permutevar8x32_epi32(a, order);
}

CFX_FORCE_INLINE void store_pixel(uint8_t *y, vg x, const int i)
{
    _mm_storeu_si128((__m128i *)(void *)y, i ? _mm256_extracti128_si256(x, 1)
                                             : _mm256_castsi256_si128(x));
}

CFX_FORCE_INLINE void store_group(uint8_t *y, const int n, vg x)
{
    if (n > 1)
        _mm256_storeu_si256((__m256i *)(void *)y, x);
    else
        store_pixel(y, x, 0);
}

CFX_FORCE_INLINE vf vf_of_bytes(const uint8_t *p)
{
    const __m128i x = _mm_loadl_epi64((const __m128i *)(const void *)p);

    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(x));
}

#if defined(HAVE_VEX_DOTS)
#define DOTS_NEED CFX_FEATURE_AVX_VNNI
#endif
#elif CFX_LEVEL_IS(neon)
typedef int32x4_t vi;
typedef struct fours {
    int16x8_t all, odd;
} fours;

CFX_FORCE_INLINE vi vi_load(const void *p)
{
    return vreinterpretq_s32_s8(vld1q_s8(p));
}

CFX_FORCE_INLINE fours fours_of(const bool dots, const uint8_t *p)
{
    uint32_t quad;

    (void)dots;
    memcpy(&quad, p, sizeof(quad));
    uint16x8_t x = vreinterpretq_u16_u32(vdupq_n_u32(quad));
    return (fours){vreinterpretq_s16_u16(vandq_u16(x, vdupq_n_u16(0xff))),
                   vreinterpretq_s16_u16(vshrq_n_u16(x, 8))};
}

CFX_FORCE_INLINE fours weights_of(const bool dots, const int8_t *p)
{
    int16x8_t w = vreinterpretq_s16_s8(vld1q_s8(p));

    (void)dots;
    return (fours){vshrq_n_s16(vshlq_n_s16(w, 8), 8), vshrq_n_s16(w, 8)};
}

CFX_FORCE_INLINE fours numbers_of(const uint8_t *p)
{
    uint16x8_t x = vreinterpretq_u16_u8(vld1q_u8(p));

    return (fours){vreinterpretq_s16_u16(vandq_u16(x, vdupq_n_u16(0xff))),
                   vreinterpretq_s16_u16(vshrq_n_u16(x, 8))};
}

CFX_FORCE_INLINE vi dot(const bool dots, vi s, fours x, fours w)
{
    vi low = vmull_s16(vget_low_s16(x.all), vget_low_s16(w.all));
    vi high = vmull_s16(vget_high_s16(x.all), vget_high_s16(w.all));

    (void)dots;
    low = vmlal_s16(low, vget_low_s16(x.odd), vget_low_s16(w.odd));
    high = vmlal_s16(high, vget_high_s16(x.odd), vget_high_s16(w.odd));
    return vaddq_s32(s, vpaddq_s32(low, high));
}

CFX_FORCE_INLINE vf vf_of_vi(vi x)
{
    return vcvtq_f32_s32(x);
}

CFX_FORCE_INLINE vi vi_of_vf(vf x)
{
    return vcvtnq_s32_f32(x);
}

CFX_FORCE_INLINE vi vi_sum(vi a, vi b)
{
    return vaddq_s32(a, b);
}

CFX_FORCE_INLINE vi vi_bits(vf x)
{
    return vreinterpretq_s32_f32(x);
}

CFX_FORCE_INLINE vf vf_of_bits(vi x)
{
    return vreinterpretq_f32_s32(x);
}

CFX_FORCE_INLINE vi vi_add(vi x, int32_t n)
{
    return vaddq_s32(x, vdupq_n_s32(n));
}

CFX_FORCE_INLINE vi vi_within(vi x, int32_t lo, int32_t hi)
{
    return vminq_s32(vmaxq_s32(x, vdupq_n_s32(lo)), vdupq_n_s32(hi));
}

CFX_FORCE_INLINE void store_bytes(uint8_t *p, vi x)
{
    int16x4_t y = vmovn_s32(x);
    uint8x8_t z = vreinterpret_u8_s8(vmovn_s16(vcombine_s16(y, y)));
    uint32_t quad = vget_lane_u32(vreinterpret_u32_u8(z), 0);

    memcpy(p, &quad, sizeof(quad));
}

enum { GROUP = 1 };
typedef uint8x16_t vg;

CFX_FORCE_INLINE vg group_of(const bool full, const int n, const vi *x,
                             int zero_point, cfx_quantized_range r)
{
    const int16x8_t zero = vdupq_n_s16((int16_t)zero_point);
    int16x8_t a = vcombine_s16(vqmovn_s32(x[0]), vqmovn_s32(x[1]));
    int16x8_t b = vcombine_s16(vqmovn_s32(x[2]), vqmovn_s32(x[3]));
    uint8x16_t c = vcombine_u8(vqmovun_s16(vqaddq_s16(a, zero)),
                               vqmovun_s16(vqaddq_s16(b, zero)));

    (void)n;
    if (full)
        return c;
    return vminq_u8(vmaxq_u8(c, vdupq_n_u8((uint8_t)r.lo)),
                    vdupq_n_u8((uint8_t)r.hi));
}

CFX_FORCE_INLINE void store_pixel(uint8_t *y, vg x, const int i)
{
    (void)i;
    vst1q_u8(y, x);
}

CFX_FORCE_INLINE void store_group(uint8_t *y, const int n, vg x)
{
    store_pixel(y, x, n - 1);
}

CFX_FORCE_INLINE vf vf_of_bytes(const uint8_t *p)
{
    uint32_t quad;

    memcpy(&quad, p, sizeof(quad));
    uint8x8_t x = vreinterpret_u8_u32(vdup_n_u32(quad));
    return vcvtq_f32_u32(vmovl_u16(vget_low_u16(vmovl_u8(x))));
}
#else
typedef int32_t vi;
typedef struct fours {
    int16_t number[CFX_QUAD];
} fours;

CFX_FORCE_INLINE vi vi_load(const void *p)
{
    vi x;

    memcpy(&x, p, sizeof(x));
    return x;
}

CFX_FORCE_INLINE fours fours_of(const bool dots, const uint8_t *p)
{
    (void)dots;
    return (fours){{p[0], p[1], p[2], p[3]}};
}

CFX_FORCE_INLINE fours weights_of(const bool dots, const int8_t *p)
{
    (void)dots;
    return (fours){{p[0], p[1], p[2], p[3]}};
}

CFX_FORCE_INLINE fours numbers_of(const uint8_t *p)
{
    return fours_of(false, p);
}

CFX_FORCE_INLINE vi dot(const bool dots, vi s, fours x, fours w)
{
    (void)dots;
    for (int i = 0; i < CFX_QUAD; i++)
        s = (vi)((uint32_t)s + (uint32_t)(x.number[i] * w.number[i]));
    return s;
}

CFX_FORCE_INLINE vf vf_of_vi(vi x)
{
    return (float)x;
}

CFX_FORCE_INLINE vi vi_of_vf(vf x)
{
    return x > -0x1p31F ? (vi)lrintf(x) : INT32_MIN;
}

CFX_FORCE_INLINE vi vi_sum(vi a, vi b)
{
    return (vi)((uint32_t)a + (uint32_t)b);
}

CFX_FORCE_INLINE vi vi_bits(vf x)
{
    return vi_load(&x);
}

CFX_FORCE_INLINE vf vf_of_bits(vi x)
{
    return vf_load((const float *)&x);
}

CFX_FORCE_INLINE vi vi_add(vi x, int32_t n)
{
    return (vi)((uint32_t)x + (uint32_t)n);
}

CFX_FORCE_INLINE vi vi_within(vi x, int32_t lo, int32_t hi)
{
    return (x > lo ? x : lo) < hi ? (x > lo ? x : lo) : hi;
}

CFX_FORCE_INLINE void store_bytes(uint8_t *p, vi x)
{
    *p = (uint8_t)x;
}

enum { GROUP = 1 };
typedef struct vg {
    uint8_t byte[CFX_BLOCK];
} vg;

CFX_FORCE_INLINE vg group_of(const bool full, const int n, const vi *x,
                             int zero_point, cfx_quantized_range r)
{
    vg y;

    (void)full;
    (void)n;
    for (int c = 0; c < CFX_BLOCK; c++) {
        const int most = r.hi - zero_point;
        const int at = (x[c] < most ? x[c] : most) < r.lo - zero_point
                           ? r.lo
                           : (x[c] < most ? x[c] : most) + zero_point;
        y.byte[c] = (uint8_t)(at > r.hi ? r.hi : at);
    }
    return y;
}

CFX_FORCE_INLINE void store_pixel(uint8_t *y, vg x, const int i)
{
    (void)i;
    memcpy(y, &x, sizeof(x));
}

CFX_FORCE_INLINE void store_group(uint8_t *y, const int n, vg x)
{
    store_pixel(y, x, n - 1);
}

CFX_FORCE_INLINE vf vf_of_bytes(const uint8_t *p)
{
    return *p;
}
#endif

#if !defined(DOTS_NEED)
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
