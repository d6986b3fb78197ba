/*
 * vec_avx512.h -- vec.h for AVX-512 (F, BW, DQ, VL).
 */
#include <immintrin.h>

enum { VF = 16, VD = 8 };
typedef __m512 vf;
typedef __m512d vd;

#define VEC_FUNCTIONS(v, V, T, MASK, ps)                                      \
    CFX_FORCE_INLINE MASK v##_bits(int64_t n)                                 \
    {                                                                         \
        return (MASK)((1U << n) - 1U);                                        \
    }                                                                         \
    CFX_FORCE_INLINE v v##_load(const T *p)                                   \
    {                                                                         \
        return _mm512_loadu_##ps(p);                                          \
    }                                                                         \
    CFX_FORCE_INLINE void v##_store(T *p, v x)                                \
    {                                                                         \
        _mm512_storeu_##ps(p, x);                                             \
    }                                                                         \
    CFX_FORCE_INLINE v v##_load_n(const T *p, int64_t n)                      \
    {                                                                         \
        return _mm512_maskz_loadu_##ps(v##_bits(n), p);                       \
    }                                                                         \
    CFX_FORCE_INLINE void v##_store_n(T *p, int64_t n, v x)                   \
    {                                                                         \
        _mm512_mask_storeu_##ps(p, v##_bits(n), x);                           \
    }                                                                         \
    CFX_FORCE_INLINE v v##_load_mask(const T *p, uint32_t bits)               \
    {                                                                         \
        return _mm512_maskz_loadu_##ps((MASK)bits, p);                        \
    }                                                                         \
    CFX_FORCE_INLINE v v##_set1(T x)                                          \
    {                                                                         \
        return _mm512_set1_##ps(x);                                           \
    }                                                                         \
    CFX_FORCE_INLINE v v##_zero(void)                                         \
    {                                                                         \
        return _mm512_setzero_##ps();                                         \
    }                                                                         \
    CFX_FORCE_INLINE v v##_add(v a, v b)                                      \
    {                                                                         \
        return _mm512_add_##ps(a, b);                                         \
    }                                                                         \
    CFX_FORCE_INLINE v v##_sub(v a, v b)                                      \
    {                                                                         \
        return _mm512_sub_##ps(a, b);                                         \
    }                                                                         \
    CFX_FORCE_INLINE v v##_mul(v a, v b)                                      \
    {                                                                         \
        return _mm512_mul_##ps(a, b);                                         \
    }                                                                         \
    CFX_FORCE_INLINE v v##_div(v a, v b)                                      \
    {                                                                         \
        return _mm512_div_##ps(a, b);                                         \
    }                                                                         \
    CFX_FORCE_INLINE v v##_max(v a, v b)                                      \
    {                                                                         \
        return _mm512_max_##ps(a, b);                                         \
    }                                                                         \
    CFX_FORCE_INLINE v v##_min(v a, v b)                                      \
    {                                                                         \
        return _mm512_min_##ps(a, b);                                         \
    }                                                                         \
    CFX_FORCE_INLINE v v##_fma(v a, v b, v c)                                 \
    {                                                                         \
        return _mm512_fmadd_##ps(a, b, c);                                    \
    }                                                                         \
    CFX_FORCE_INLINE T v##_sum(v x)                                           \
    {                                                                         \
        return _mm512_reduce_add_##ps(x);                                     \
    }

VEC_FUNCTIONS(vf, VF, float, __mmask16, ps)
VEC_FUNCTIONS(vd, VD, double, __mmask8, pd)
#undef VEC_FUNCTIONS

/* The largest element; there is no NaN. */
CFX_FORCE_INLINE float vf_largest(vf x)
{
    return _mm512_reduce_max_ps(x);
}

/* The greater; b if a is NaN. */
CFX_FORCE_INLINE vf vf_max_number(vf a, vf b)
{
    return _mm512_max_ps(a, b);
}

CFX_FORCE_INLINE vf vf_max_nan(vf a, vf b)
{
    __mmask16 nan = _mm512_cmp_ps_mask(b, b, _CMP_UNORD_Q);

    return _mm512_mask_mov_ps(_mm512_max_ps(b, a), nan, b);
}

/* p[0], p[step], p[2 * step], ... */
CFX_FORCE_INLINE vf vf_load_step(const float *p, int step)
{
    __m512i i = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13,
                                  14, 15);

    return _mm512_i32gather_ps(_mm512_mullo_epi32(i, _mm512_set1_epi32(step)),
                               p, 4);
}

CFX_FORCE_INLINE vf vf_low_bf16(vf x)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_castps_si512(x), 16));
}

CFX_FORCE_INLINE vf vf_load_bf16(const void *p)
{
    __m512i bits = _mm512_cvtepu16_epi32(_mm256_loadu_si256(p));

    return _mm512_castsi512_ps(_mm512_slli_epi32(bits, 16));
}

CFX_FORCE_INLINE void vf_store_bf16(void *p, vf x)
{
    __m512i bits = _mm512_castps_si512(x), high = _mm512_srli_epi32(bits, 16);
    __m512i odd = _mm512_and_si512(high, _mm512_set1_epi32(1));
    __m512i sum = _mm512_add_epi32(
        bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
    __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);

    sum = _mm512_mask_mov_epi32(sum, nan, _mm512_set1_epi32(0x7fc00000));
    sum = _mm512_srli_epi32(sum, 16);
    _mm256_storeu_si256(p, _mm512_cvtepi32_epi16(sum));
}

/* The bits, put into the mantissa of the power of two in which the lowest of them is
 * 1, add their number to it: no shift and no conversion. Those that lie beyond the
 * mantissa are shifted first. */
CFX_FORCE_INLINE vf vf_of_int8(vf x, int k)
{
    __m512i bits = _mm512_castps_si512(x);

    if (k > 1) {
        bits = _mm512_srli_epi32(bits, 16);
        k -= 2;
    }
    /* The power, and the sign, which is turned: 128 is added. */
    __m512i other = _mm512_set1_epi32((127 + 23 - 8 * k) << 23 | 128 << 8 * k);
    __m512i mask = _mm512_set1_epi32(255 << 8 * k);
    bits = _mm512_ternarylogic_epi32(bits, mask, other, 0x6a); /* a & b ^ c */
    return _mm512_sub_ps(_mm512_castsi512_ps(bits),
                         _mm512_set1_ps((float)(1 << (23 - 8 * k)) + 128));
}

/* The lowest four bits of each lane are looked up: no conversion. */
CFX_FORCE_INLINE vf vf_of_int4(vf x, int k)
{
    __m512i bits = _mm512_srl_epi32(_mm512_castps_si512(x),
                                    _mm_cvtsi32_si128(4 * k));

    return _mm512_permutexvar_ps(bits,
                                 _mm512_setr_ps(-8, -7, -6, -5, -4, -3, -2, -1,
                                                0, 1, 2, 3, 4, 5, 6, 7));
}

CFX_FORCE_INLINE vf vf_high_bf16(vf x)
{
    return _mm512_castsi512_ps(_mm512_and_si512(
        _mm512_castps_si512(x), _mm512_set1_epi32(-(1 << 16))));
}

CFX_FORCE_INLINE vf vf_scale(vf x, vf n)
{
    return _mm512_scalef_ps(x, n);
}
