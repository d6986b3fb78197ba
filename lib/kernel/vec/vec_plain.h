/*
 * vec_plain.h -- vec.h in C: vectors of one lane.
 */
enum { VF = 1, VD = 1 };
typedef float vf;
typedef double vd;

#define VEC_FUNCTIONS(v, T)                                                   \
    CFX_FORCE_INLINE v v##_load(const T *p)                                   \
    {                                                                         \
        return *p;                                                            \
    }                                                                         \
    CFX_FORCE_INLINE void v##_store(T *p, v x)                                \
    {                                                                         \
        *p = x;                                                               \
    }                                                                         \
    CFX_FORCE_INLINE v v##_load_n(const T *p, int64_t n)                      \
    {                                                                         \
        return n ? *p : 0;                                                    \
    }                                                                         \
    CFX_FORCE_INLINE void v##_store_n(T *p, int64_t n, v x)                   \
    {                                                                         \
        if (n)                                                                \
            *p = x;                                                           \
    }                                                                         \
    CFX_FORCE_INLINE v v##_load_mask(const T *p, uint32_t bits)               \
    {                                                                         \
        return bits & 1 ? *p : 0;                                             \
    }                                                                         \
    CFX_FORCE_INLINE v v##_set1(T x)                                          \
    {                                                                         \
        return x;                                                             \
    }                                                                         \
    CFX_FORCE_INLINE v v##_zero(void)                                         \
    {                                                                         \
        return 0;                                                             \
    }                                                                         \
    CFX_FORCE_INLINE v v##_add(v a, v b)                                      \
    {                                                                         \
        return a + b;                                                         \
    }                                                                         \
    CFX_FORCE_INLINE v v##_sub(v a, v b)                                      \
    {                                                                         \
        return a - b;                                                         \
    }                                                                         \
    CFX_FORCE_INLINE v v##_mul(v a, v b)                                      \
    {                                                                         \
        return a * b;                                                         \
    }                                                                         \
    CFX_FORCE_INLINE v v##_div(v a, v b)                                      \
    {                                                                         \
        return a / b;                                                         \
    }                                                                         \
    CFX_FORCE_INLINE v v##_max(v a, v b)                                      \
    {                                                                         \
        return a > b ? a : b;                                                 \
    }                                                                         \
    CFX_FORCE_INLINE v v##_min(v a, v b)                                      \
    {                                                                         \
        return a < b ? a : b;                                                 \
    }                                                                         \
    CFX_FORCE_INLINE v v##_fma(v a, v b, v c)                                 \
    {                                                                         \
        return a * b + c;                                                     \
    }                                                                         \
    CFX_FORCE_INLINE T v##_sum(v x)                                           \
    {                                                                         \
        return x;                                                             \
    }

VEC_FUNCTIONS(vf, float)
VEC_FUNCTIONS(vd, double)
#undef VEC_FUNCTIONS

/* The largest element. */
CFX_FORCE_INLINE float vf_largest(vf x)
{
    return x;
}

CFX_FORCE_INLINE vf vf_load_step(const float *p, int step)
{
    (void)step;
    return *p;
}

/* The greater; b if a is NaN. */
CFX_FORCE_INLINE vf vf_max_number(vf a, vf b)
{
    return a > b ? a : b;
}

CFX_FORCE_INLINE vf vf_max_nan(vf a, vf b)
{
    return b > a || b != b ? b : a;
}

CFX_FORCE_INLINE vf vf_low_bf16(vf x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof(bits));
    bits <<= 16;
    memcpy(&x, &bits, sizeof(bits));
    return x;
}

CFX_FORCE_INLINE vf vf_load_bf16(const void *p)
{
    uint16_t bits;

    memcpy(&bits, p, sizeof(bits));
    return cfx_bits_float((uint32_t)bits << 16);
}

CFX_FORCE_INLINE void vf_store_bf16(void *p, vf x)
{
    uint16_t bits = cfx_float_to_bfloat(x);

    memcpy(p, &bits, sizeof(bits));
}

CFX_FORCE_INLINE vf vf_of_int8(vf x, int k)
{
    int8_t bytes[4];

    memcpy(bytes, &x, sizeof(bytes));
    return bytes[k];
}

CFX_FORCE_INLINE vf vf_of_int4(vf x, int k)
{
    uint8_t bytes[4];

    memcpy(bytes, &x, sizeof(bytes));
    return (vf)((bytes[k / 2] >> 4 * (k % 2) & 15) - 8);
}

CFX_FORCE_INLINE vf vf_high_bf16(vf x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof(bits));
    bits &= 0xffff0000U;
    memcpy(&x, &bits, sizeof(bits));
    return x;
}

/* 2^n is a product of two factors: one alone may have no exponent. */
CFX_FORCE_INLINE vf vf_scale(vf x, vf n)
{
    float sum = n + (0x1.8p23f + 254), factor;
    uint32_t k, part;

    memcpy(&k, &sum, sizeof(k));
    part = k >> 1 << 23;
    memcpy(&factor, &part, sizeof(factor));
    x *= factor;
    part = (k - (k >> 1)) << 23;
    memcpy(&factor, &part, sizeof(factor));
    return x * factor;
}
