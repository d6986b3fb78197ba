/*
 * quantized_avx2.h -- quantized_vec.h for AVX2.
 */
/* clang 14 has no name for the feature. */
#if !defined(__clang__) && __GNUC__ >= 11
#define HAVE_VEX_DOTS
#endif
typedef __m256i vi;
typedef vi factors;

CFX_FORCE_INLINE vi vi_load(const void *p)
{
    return _mm256_loadu_si256(p);
}

CFX_FORCE_INLINE vi vi_set1(int32_t x)
{
    return _mm256_set1_epi32(x);
}

/* The even or the odd bytes, uint8 or int8, widened to 16 bits. */
CFX_FORCE_INLINE vi bytes_of(const int part, vi x)
{
    return part ? _mm256_srli_epi16(x, 8)
                : _mm256_and_si256(x, _mm256_set1_epi16(0xff));
}

CFX_FORCE_INLINE vi signed_bytes_of(const int part, vi x)
{
    return _mm256_srai_epi16(part ? x : _mm256_slli_epi16(x, 8), 8);
}

CFX_FORCE_INLINE vi dot(const int how, vi s, factors x, factors w)
{
#if defined(HAVE_VEX_DOTS)
    if (how == DOTS) {
        /* The intrinsic would need AVX-VNNI in the whole file; without {vex} the
         * assembler takes AVX-512's encoding. */
        __asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(s) : "x"(x), "x"(w));
        return s;
    }
#endif
    (void)how;
    s = _mm256_add_epi32(s, _mm256_madd_epi16(x, w));
    /* Else compilers add products to products, which do not fit into registers. */
    __asm__("" : "+x"(s));
    return s;
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
