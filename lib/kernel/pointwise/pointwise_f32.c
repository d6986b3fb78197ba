/*
 * pointwise_f32.c -- the loops of pointwise.def in float.
 */
#include "kernel/pointwise/pointwise_table.h"

#include "kernel/special/special.h"
#include "kernel/vec/math_f32.h"
#include "kernel/vec/simd.h"
#include "kernel/vec/vec.h"

enum { TRIG_BLOCK = 256 };

/* Sine and cosine: a block with an argument that is too large for the vector
 * function goes through the C library as a whole. */
static void trig_block(float *y, const float *x, int64_t n, uint32_t quarter,
                       float (*exact)(float))
{
    int large = 0;

    CFX_SIMD
    for (int64_t i = 0; i < n; i++)
        large |= fabsf(x[i]) >= trig_limit;
    if (large) {
        for (int64_t i = 0; i < n; i++)
            y[i] = exact(x[i]);
        return;
    }
    CFX_SIMD
    for (int64_t i = 0; i < n; i++)
        y[i] = x[i] == 0 && !quarter ? x[i] : trig_f32(x[i], quarter);
}

static void trig(float *y, const float *x, int64_t n, uint32_t quarter,
                 float (*exact)(float))
{
    for (int64_t i = 0; i < n; i += TRIG_BLOCK)
        trig_block(y + i, x + i, n - i < TRIG_BLOCK ? n - i : TRIG_BLOCK,
                   quarter, exact);
}

static unsigned SIN_f32(void *y, const void *const *in, int64_t n,
                        const double *params)
{
    (void)params;
    trig(y, in[0], n, 0, sinf);
    return 0;
}

static unsigned COS_f32(void *y, const void *const *in, int64_t n,
                        const double *params)
{
    (void)params;
    trig(y, in[0], n, 1, cosf);
    return 0;
}

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
    [CFX_PW_SIN] = SIN_f32, [CFX_PW_COS] = COS_f32,                           \
    [CFX_PW_SIGMOID] = SIGMOID_f32, [CFX_PW_SILU] = SILU_f32,                 \
    [CFX_PW_HARDSWISH] = HARDSWISH_f32,
#define PUT(v) (v)
#define PW_FLOAT LOOP
#define PW_OWN SKIP
#define PW_NUM LOOP
#define PW_INT SKIP
#define PW_BITS SKIP
#define PW_ALL LOOP
#define PW_HALF LOOP
#include "kernel/pointwise/pointwise_loops.h"
