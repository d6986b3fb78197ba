/*
 * pointwise_f32.c -- the loops of pointwise.def in float.
 */
#include "kernel/pointwise/pointwise_table.h"

#include "kernel/special/special.h"
#include "kernel/vec/math_f32.h"
#include "kernel/vec/math_f32_wide.h"
#include "kernel/vec/simd.h"
#include "kernel/vec/vec.h"

/*
 * Loops by blocks: one with an argument that is too hard for the vector function goes
 * through the C library as a whole. `hard`, `easy` and `exact` are expressions of
 * element a of the first input, and b of the second.
 */
enum { BLOCK = 256 };

#define BY_BLOCKS(name, inputs, hard, easy, exact)                            \
    static unsigned name(void *y_, const void *const *in, int64_t n,          \
                         const double *params)                                \
    {                                                                         \
        float *y = y_;                                                        \
        ARRAYS_##inputs;                                                      \
        (void)params;                                                         \
        for (int64_t at = 0; at < n; at += BLOCK) {                           \
            int64_t stop = n - at < BLOCK ? n : at + BLOCK;                   \
            int is_hard = 0;                                                  \
            CFX_SIMD                                                          \
            for (int64_t i = at; i < stop; i++) {                             \
                READ_##inputs;                                                \
                is_hard |= hard;                                              \
            }                                                                 \
            if (is_hard) {                                                    \
                for (int64_t i = at; i < stop; i++) {                         \
                    READ_##inputs;                                            \
                    y[i] = exact;                                             \
                }                                                             \
                continue;                                                     \
            }                                                                 \
            CFX_SIMD                                                          \
            for (int64_t i = at; i < stop; i++) {                             \
                READ_##inputs;                                                \
                y[i] = easy;                                                  \
            }                                                                 \
        }                                                                     \
        return 0;                                                             \
    }

#define ARRAYS_1 const float *x0 = in[0]
#define ARRAYS_2 ARRAYS_1, *x1 = in[1]
#define READ_1 const float a = x0[i]
#define READ_2 READ_1, b = x1[i]

#define TRIG(name, easy, exact)                                               \
    BY_BLOCKS(name, 1, fabsf(a) >= trig_limit, easy(a), exact(a))

TRIG(SIN_f32, sin_f32, sinf)
TRIG(COS_f32, cos_f32, cosf)
TRIG(TAN_f32, tan_f32, tanf)

/* A function of a, b and the remainder fmod(a, b). */
#define MODULO(name, made_of)                                                 \
    BY_BLOCKS(name, 2, is_hard_fmod(a, b), made_of(a, b, fmod_within(a, b)),  \
              made_of(a, b, fmodf(a, b)))

CFX_INLINE float fmod_of_f32(float x, float y, float r)
{
    (void)x, (void)y;
    return r;
}

MODULO(FMOD_f32, fmod_of_f32)
MODULO(REMAINDER_f32, remainder_of_f32)
MODULO(DIV_FLOOR_f32, div_floor_of_f32)

#undef ARRAYS_1
#undef ARRAYS_2
#undef READ_1
#undef READ_2

/* ---- Gates ---- */

/* 1 + e^-x. NaN passes the limits, since min and max give their second
 * argument then. */
CFX_FORCE_INLINE vf one_plus_exp(vf x)
{
    const vf one = vf_set1(1), magic = vf_set1(round_magic);
    vf c = vf_max(vf_set1(-104), vf_min(vf_set1(104), x));
    vf n = vf_sub(vf_fma(c, vf_set1(-log2_e), magic), magic);
    vf r = vf_fma(n, vf_set1(-ln2_hi), vf_sub(vf_zero(), c));
    vf q = vf_set1(0x1.6a2156p-10f); /* as exp_rest */

    r = vf_fma(n, vf_set1(-ln2_lo), r);
    q = vf_fma(q, r, vf_set1(0x1.123b9cp-7f));
    q = vf_fma(q, r, vf_set1(0x1.5558fcp-5f));
    q = vf_fma(q, r, vf_set1(0x1.555490p-3f));
    q = vf_fma(q, r, vf_set1(0x1.fffffcp-2f));
    q = vf_fma(vf_fma(q, r, one), r, one);
    return vf_add(vf_scale(q, n), one);
}

CFX_FORCE_INLINE vf sigmoid(vf x)
{
    return vf_div(vf_set1(1), one_plus_exp(x));
}

CFX_FORCE_INLINE vf silu(vf x)
{
    return vf_div(x, one_plus_exp(x));
}

CFX_FORCE_INLINE vf hardswish(vf x)
{
    vf c = vf_add(x, vf_set1(3));

    c = vf_min(vf_set1(6), vf_max(vf_zero(), c));
    return vf_mul(x, vf_mul(c, vf_set1((float)(1.0 / 6))));
}

#define OWN(name, function)                                                   \
    static unsigned name(void *y_, const void *const *in, int64_t n,          \
                         const double *params)                                \
    {                                                                         \
        const float *x = in[0];                                               \
        float *y = y_;                                                        \
        int64_t i = 0;                                                        \
        (void)params;                                                         \
        for (; i + VF <= n; i += VF)                                          \
            vf_store(y + i, function(vf_load(x + i)));                        \
        vf_store_n(y + i, n - i, function(vf_load_n(x + i, n - i)));          \
        return 0;                                                             \
    }

OWN(SIGMOID_f32, sigmoid)
OWN(SILU_f32, silu)
OWN(HARDSWISH_f32, hardswish)

#define T float
#define C float
#define M(f) f##_f32
#define TABLE CFX_PW_TABLE(f32)
#define TABLE_MORE                                                            \
    [CFX_PW_SIN] = SIN_f32, [CFX_PW_COS] = COS_f32, [CFX_PW_TAN] = TAN_f32,   \
    [CFX_PW_FMOD] = FMOD_f32, [CFX_PW_REMAINDER] = REMAINDER_f32,             \
    [CFX_PW_DIV_FLOOR] = DIV_FLOOR_f32, [CFX_PW_SIGMOID] = SIGMOID_f32,       \
    [CFX_PW_SILU] = SILU_f32, [CFX_PW_HARDSWISH] = HARDSWISH_f32,
#define PUT(v) (v)
#define PW_FLOAT LOOP
#define PW_OWN SKIP
#define PW_OWN_NUM SKIP
#define PW_NUM LOOP
#define PW_INT SKIP
#define PW_BITS SKIP
#define PW_ALL LOOP
#define PW_HALF LOOP
#include "kernel/pointwise/pointwise_loops.h"
