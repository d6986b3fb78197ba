/*
 * vec_avx2.h -- vec.h for AVX2 with FMA.
 */
#include <immintrin.h>

enum { VF = 8, VD = 4 };
typedef __m256 vf;
typedef __m256d vd;

CFX_FORCE_INLINE __m256i vf_lanes(int64_t n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n),
                              _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

CFX_FORCE_INLINE __m256i vd_lanes(int64_t n)
{
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(n),
                              _mm256_setr_epi64x(0, 1, 2, 3));
}

CFX_FORCE_INLINE __m256i vf_lanes_of(uint32_t bits)
{
    __m256i b = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);

    return _mm256_cmpeq_epi32(
        _mm256_and_si256(_mm256_set1_epi32((int)bits), b), b);
}

CFX_FORCE_INLINE __m256i vd_lanes_of(uint32_t bits)
{
    __m256i b = _mm256_setr_epi64x(1, 2, 4, 8);

    return _mm256_cmpeq_epi64(
        _mm256_and_si256(_mm256_set1_epi64x((int64_t)bits), b), b);
}

#define VEC_FUNCTIONS(v, V, T, ps)                                            \
    CFX_FORCE_INLINE v v##_load(const T *p)                                   \
    {                                                                         \
        return _mm256_loadu_##ps(p);                                          \
    }                                                                         \
    CFX_FORCE_INLINE void v##_store(T *p, v x)                                \
    {                                                                         \
        _mm256_storeu_##ps(p, x);                                             \
    }                                                                         \
    CFX_FORCE_INLINE v v##_load_n(const T *p, int64_t n)                      \
    {                                                                         \
        return _mm256_maskload_##ps(p, v##_lanes(n));                         \
    }                                                                         \
    CFX_FORCE_INLINE void v##_store_n(T *p, int64_t n, v x)                   \
    {                                                                         \
        _mm256_maskstore_##ps(p, v##_lanes(n), x);                            \
    }                                                                         \
    CFX_FORCE_INLINE v v##_load_mask(const T *p, uint32_t bits)               \
    {                                                                         \
        return _mm256_maskload_##ps(p, v##_lanes_of(bits));                   \
    }                                                                         \
    CFX_FORCE_INLINE v v##_set1(T x)                                          \
    {                                                                         \
        return _mm256_set1_##ps(x);                                           \
    }                                                                         \
    CFX_FORCE_INLINE v v##_zero(void)                                         \
    {                                                                         \
        return _mm256_setzero_##ps();                                         \
    }                                                                         \
    CFX_FORCE_INLINE v v##_add(v a, v b)                                      \
    {                                                                         \
        return _mm256_add_##ps(a, b);                                         \
    }                                                                         \
    CFX_FORCE_INLINE v v##_sub(v a, v b)                                      \
    {                                                                         \
        return _mm256_sub_##ps(a, b);                                         \
    }                                                                         \
    CFX_FORCE_INLINE v v##_mul(v a, v b)                                      \
    {                                                                         \
        return _mm256_mul_##ps(a, b);                                         \
    }                                                                         \
    CFX_FORCE_INLINE v v##_div(v a, v b)                                      \
    {                                                                         \
        return _mm256_div_##ps(a, b);                                         \
    }                                                                         \
    CFX_FORCE_INLINE v v##_max(v a, v b)                                      \
    {                                                                         \
        return _mm256_max_##ps(a, b);                                         \
    }                                                                         \
    CFX_FORCE_INLINE v v##_min(v a, v b)                                      \
    {                                                                         \
        return _mm256_min_##ps(a, b);                                         \
    }                                                                         \
    CFX_FORCE_INLINE v v##_fma(v a, v b, v c)                                 \
    {                                                                         \
        return _mm256_fmadd_##ps(a, b, c);                                    \
    }

VEC_FUNCTIONS(vf, VF, float, ps)
VEC_FUNCTIONS(vd, VD, double, pd)
#undef VEC_FUNCTIONS

CFX_FORCE_INLINE float vf_sum(vf x)
{
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(x),
                          _mm256_extractf128_ps(x, 1));

    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

/* The largest element; there is no NaN. */
CFX_FORCE_INLINE float vf_largest(vf x)
{
    __m128 m = _mm_max_ps(_mm256_castps256_ps128(x),
                          _mm256_extractf128_ps(x, 1));

    m = _mm_max_ps(m, _mm_movehl_ps(m, m));
    return _mm_cvtss_f32(_mm_max_ss(m, _mm_movehdup_ps(m)));
}

CFX_FORCE_INLINE double vd_sum(vd x)
{
    __m128d s = _mm_add_pd(_mm256_castpd256_pd128(x),
                           _mm256_extractf128_pd(x, 1));

    return _mm_cvtsd_f64(_mm_add_sd(s, _mm_unpackhi_pd(s, s)));
}

/* p[0], p[step], p[2 * step], ... */
CFX_FORCE_INLINE vf vf_load_step(const float *p, int step)
{
    __m256i i = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);

    return _mm256_i32gather_ps(
        p, _mm256_mullo_epi32(i, _mm256_set1_epi32(step)), 4);
}

/* The greater; b if a is NaN. */
CFX_FORCE_INLINE vf vf_max_number(vf a, vf b)
{
    return _mm256_max_ps(a, b);
}

CFX_FORCE_INLINE vf vf_max_nan(vf a, vf b)
{
    __m256 nan = _mm256_cmp_ps(b, b, _CMP_UNORD_Q);

    return _mm256_blendv_ps(_mm256_max_ps(b, a), b, nan);
}

CFX_FORCE_INLINE vf vf_low_bf16(vf x)
{
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(x), 16));
}

CFX_FORCE_INLINE vf vf_load_bf16(const void *p)
{
    __m256i bits = _mm256_cvtepu16_epi32(_mm_loadu_si128(p));

    return _mm256_castsi256_ps(_mm256_slli_epi32(bits, 16));
}

CFX_FORCE_INLINE void vf_store_bf16(void *p, vf x)
{
    __m256i bits = _mm256_castps_si256(x), high = _mm256_srli_epi32(bits, 16);
    __m256i odd = _mm256_and_si256(high, _mm256_set1_epi32(1));
    __m256i sum = _mm256_add_epi32(
        bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
    __m256 nan = _mm256_cmp_ps(x, x, _CMP_UNORD_Q);

    sum = _mm256_blendv_epi8(sum, _mm256_set1_epi32(0x7fc00000),
                             _mm256_castps_si256(nan));
    sum = _mm256_srli_epi32(sum, 16);
    _mm_storeu_si128(p, _mm_packus_epi32(_mm256_castsi256_si128(sum),
                                         _mm256_extracti128_si256(sum, 1)));
}

/* The bits, put into the mantissa of the power of two in which the lowest of them is
 * 1, add their number to it: no shift and no conversion. Those that lie beyond the
 * mantissa are shifted first. */
CFX_FORCE_INLINE vf vf_of_int8(vf x, int k)
{
    __m256i bits = _mm256_castps_si256(x);

    if (k > 1) {
        bits = _mm256_srli_epi32(bits, 16);
        k -= 2;
    }
    /* The power, and the sign, which is turned: 128 is added. */
    __m256i other = _mm256_set1_epi32((127 + 23 - 8 * k) << 23 | 128 << 8 * k);
    bits = _mm256_and_si256(bits, _mm256_set1_epi32(255 << 8 * k));
    bits = _mm256_xor_si256(bits, other);
    return _mm256_sub_ps(_mm256_castsi256_ps(bits),
                         _mm256_set1_ps((float)(1 << (23 - 8 * k)) + 128));
}

/* As in vf_of_int8. */
CFX_FORCE_INLINE vf vf_of_int4(vf x, int k)
{
    __m256i bits = _mm256_castps_si256(x);

    if (k > 4) {
        bits = _mm256_srli_epi32(bits, 20);
        k -= 5;
    }
    __m256i power = _mm256_set1_epi32((127 + 23 - 4 * k) << 23);
    bits = _mm256_and_si256(bits, _mm256_set1_epi32(15 << 4 * k));
    return _mm256_sub_ps(_mm256_castsi256_ps(_mm256_or_si256(bits, power)),
                         _mm256_set1_ps((float)(1 << (23 - 4 * k)) + 8));
}

CFX_FORCE_INLINE vf vf_high_bf16(vf x)
{
    return _mm256_castsi256_ps(_mm256_and_si256(
        _mm256_castps_si256(x), _mm256_set1_epi32(-(1 << 16))));
}

/* 2^n is a product of two factors: one alone may have no exponent. */
CFX_FORCE_INLINE vf vf_scale(vf x, vf n)
{
    __m256i k = _mm256_castps_si256(
        _mm256_add_ps(n, _mm256_set1_ps(0x1.8p23f + 254)));
    __m256i half = _mm256_srli_epi32(k, 1);
    __m256i rest = _mm256_sub_epi32(k, half);

    x = _mm256_mul_ps(x, _mm256_castsi256_ps(_mm256_slli_epi32(half, 23)));
    return _mm256_mul_ps(x, _mm256_castsi256_ps(_mm256_slli_epi32(rest, 23)));
}
