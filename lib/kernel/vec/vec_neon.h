/*
 * vec_neon.h -- vec.h for 64-bit ARM.
 */
#include <arm_neon.h>

enum { VF = 4, VD = 2 };
typedef float32x4_t vf;
typedef float64x2_t vd;

#define VEC_FUNCTIONS(v, V, T, f)                                             \
    CFX_FORCE_INLINE v v##_load(const T *p)                                   \
    {                                                                         \
        return vld1q_##f(p);                                                  \
    }                                                                         \
    CFX_FORCE_INLINE void v##_store(T *p, v x)                                \
    {                                                                         \
        vst1q_##f(p, x);                                                      \
    }                                                                         \
    CFX_FORCE_INLINE v v##_load_mask(const T *p, uint32_t bits)               \
    {                                                                         \
        T t[V] = {0};                                                         \
        for (int i = 0; i < V; i++)                                           \
            if (bits >> i & 1)                                                \
                t[i] = p[i];                                                  \
        return vld1q_##f(t);                                                  \
    }                                                                         \
    CFX_FORCE_INLINE v v##_load_n(const T *p, int64_t n)                      \
    {                                                                         \
        return v##_load_mask(p, (1U << n) - 1U);                              \
    }                                                                         \
    CFX_FORCE_INLINE void v##_store_n(T *p, int64_t n, v x)                   \
    {                                                                         \
        T t[V];                                                               \
        vst1q_##f(t, x);                                                      \
        for (int64_t i = 0; i < n; i++)                                       \
            p[i] = t[i];                                                      \
    }                                                                         \
    CFX_FORCE_INLINE v v##_set1(T x)                                          \
    {                                                                         \
        return vdupq_n_##f(x);                                                \
    }                                                                         \
    CFX_FORCE_INLINE v v##_zero(void)                                         \
    {                                                                         \
        return vdupq_n_##f(0);                                                \
    }                                                                         \
    CFX_FORCE_INLINE v v##_add(v a, v b)                                      \
    {                                                                         \
        return vaddq_##f(a, b);                                               \
    }                                                                         \
    CFX_FORCE_INLINE v v##_sub(v a, v b)                                      \
    {                                                                         \
        return vsubq_##f(a, b);                                               \
    }                                                                         \
    CFX_FORCE_INLINE v v##_mul(v a, v b)                                      \
    {                                                                         \
        return vmulq_##f(a, b);                                               \
    }                                                                         \
    CFX_FORCE_INLINE v v##_div(v a, v b)                                      \
    {                                                                         \
        return vdivq_##f(a, b);                                               \
    }                                                                         \
    CFX_FORCE_INLINE v v##_max(v a, v b)                                      \
    {                                                                         \
        return vmaxq_##f(a, b);                                               \
    }                                                                         \
    CFX_FORCE_INLINE v v##_min(v a, v b)                                      \
    {                                                                         \
        return vminq_##f(a, b);                                               \
    }                                                                         \
    CFX_FORCE_INLINE v v##_fma(v a, v b, v c)                                 \
    {                                                                         \
        return vfmaq_##f(c, a, b);                                            \
    }                                                                         \
    CFX_FORCE_INLINE T v##_sum(v x)                                           \
    {                                                                         \
        return vaddvq_##f(x);                                                 \
    }

VEC_FUNCTIONS(vf, VF, float, f32)
VEC_FUNCTIONS(vd, VD, double, f64)
#undef VEC_FUNCTIONS

/* The largest element; there is no NaN. */
CFX_FORCE_INLINE float vf_largest(vf x)
{
    return vmaxvq_f32(x);
}

/* p[0], p[step], p[2 * step], ... */
CFX_FORCE_INLINE vf vf_load_step(const float *p, int step)
{
    float t[VF] = {p[0], p[step], p[2 * step], p[3 * step]};

    return vld1q_f32(t);
}

/* The greater; b if a is NaN. */
CFX_FORCE_INLINE vf vf_max_number(vf a, vf b)
{
    return vmaxnmq_f32(a, b);
}

CFX_FORCE_INLINE vf vf_max_nan(vf a, vf b)
{
    return vmaxq_f32(a, b); /* its result is NaN if an operand is */
}

CFX_FORCE_INLINE vf vf_low_bf16(vf x)
{
    return vreinterpretq_f32_u32(vshlq_n_u32(vreinterpretq_u32_f32(x), 16));
}

CFX_FORCE_INLINE vf vf_load_bf16(const void *p)
{
    return vreinterpretq_f32_u32(vshlq_n_u32(vmovl_u16(vld1_u16(p)), 16));
}

CFX_FORCE_INLINE void vf_store_bf16(void *p, vf x)
{
    uint32x4_t bits = vreinterpretq_u32_f32(x);
    uint32x4_t odd = vandq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(1));
    uint32x4_t sum = vaddq_u32(bits, vaddq_u32(odd, vdupq_n_u32(0x7fff)));

    sum = vbslq_u32(vceqq_f32(x, x), sum, vdupq_n_u32(0x7fc00000));
    vst1_u16(p, vshrn_n_u32(sum, 16));
}

CFX_FORCE_INLINE vf vf_of_int8(vf x, int k)
{
    int32x4_t high = vshlq_s32(vreinterpretq_s32_f32(x),
                               vdupq_n_s32(24 - 8 * k));

    return vcvtq_f32_s32(vshrq_n_s32(high, 24));
}

/* The four bits, put into the mantissa of the power of two in which the lowest of
 * them is 1, add their number to it: no shift and no conversion. Those that lie
 * beyond the mantissa are shifted first. */
CFX_FORCE_INLINE vf vf_of_int4(vf x, int k)
{
    uint32x4_t bits = vreinterpretq_u32_f32(x);

    if (k > 4) {
        bits = vshrq_n_u32(bits, 20);
        k -= 5;
    }
    uint32_t power = (uint32_t)(127 + 23 - 4 * k) << 23;
    bits = vbslq_u32(vdupq_n_u32(15U << 4 * k), bits, vdupq_n_u32(power));
    return vsubq_f32(vreinterpretq_f32_u32(bits),
                     vdupq_n_f32((float)(1 << (23 - 4 * k)) + 8));
}

CFX_FORCE_INLINE vf vf_high_bf16(vf x)
{
    return vreinterpretq_f32_u32(
        vandq_u32(vreinterpretq_u32_f32(x), vdupq_n_u32(0xffff0000U)));
}

/* 2^n is a product of two factors: one alone may have no exponent. */
CFX_FORCE_INLINE vf vf_scale(vf x, vf n)
{
    uint32x4_t k = vreinterpretq_u32_f32(
        vaddq_f32(n, vdupq_n_f32(0x1.8p23f + 254)));
    uint32x4_t half = vshrq_n_u32(k, 1), rest = vsubq_u32(k, half);

    x = vmulq_f32(x, vreinterpretq_f32_u32(vshlq_n_u32(half, 23)));
    return vmulq_f32(x, vreinterpretq_f32_u32(vshlq_n_u32(rest, 23)));
}
