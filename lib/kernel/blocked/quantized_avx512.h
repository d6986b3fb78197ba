/*
 * quantized_avx512.h -- quantized_vec.h for AVX-512.
 */
typedef __m512i vi;
typedef vi factors;

CFX_FORCE_INLINE vi vi_load(const void *p)
{
    return _mm512_loadu_si512(p);
}

CFX_FORCE_INLINE vi vi_set1(int32_t x)
{
    return _mm512_set1_epi32(x);
}

/* The even or the odd bytes, uint8 or int8, widened to 16 bits. */
CFX_FORCE_INLINE vi bytes_of(const int part, vi x)
{
    return part ? _mm512_srli_epi16(x, 8)
                : _mm512_and_si512(x, _mm512_set1_epi16(0xff));
}

CFX_FORCE_INLINE vi signed_bytes_of(const int part, vi x)
{
    return _mm512_srai_epi16(part ? x : _mm512_slli_epi16(x, 8), 8);
}

CFX_FORCE_INLINE vi dot(const int how, vi s, factors x, factors w)
{
    if (how == DOTS) {
        /* The compiler has a function for it only where all code may use it. */
        __asm__("vpdpbusd %2, %1, %0" : "+v"(s) : "v"(x), "v"(w));
        return s;
    }
    s = _mm512_add_epi32(s, _mm512_madd_epi16(x, w));
    /* Else compilers add products to products, which do not fit into registers. */
    __asm__("" : "+v"(s));
    return s;
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

/* The order of factor_of_pixels: byte 4 c + p is byte 16 p + c. */
CFX_FORCE_INLINE vi order_of_pixels(void)
{
    const vi lane = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4,
                                     3, 2, 1, 0);

    return _mm512_add_epi32(
        _mm512_mullo_epi32(lane, _mm512_set1_epi32(0x01010101)),
        _mm512_set1_epi32(0x30201000));
}

/* Pixels of 16 channels that follow each other. */
CFX_FORCE_INLINE factors factor_of_pixels(const void *p, int64_t n, vi order)
{
    const __mmask64 there = n < 4 ? (1ULL << n * CFX_BLOCK) - 1 : ~0ULL;

    return reorder(_mm512_maskz_loadu_epi8(there, p), order);
}

/* Like factor_of_pixels, but only bytes whose bits are set in `there` are read; the
 * others are those of `outside`. */
CFX_FORCE_INLINE factors factor_within(const void *p, uint64_t there,
                                       vi outside, vi order)
{
    return reorder(_mm512_mask_loadu_epi8(outside, there, p), order);
}

/* The bytes of three pixels as the last three of a four. */
CFX_FORCE_INLINE factors a_byte_later(factors x)
{
    return _mm512_slli_epi32(x, 8);
}
