/*
 * pointwise_f32.c -- the loops of pointwise.def in float.
 */
#include "kernel/pointwise/pointwise_table.h"

#include "kernel/special/special.h"
#include "kernel/vec/math_f32.h"
#include "kernel/vec/simd.h"

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

#define T float
#define C float
#define M(f) f##_f32
#define TABLE CFX_PW_TABLE(f32)
#define TABLE_MORE [CFX_PW_SIN] = SIN_f32, [CFX_PW_COS] = COS_f32,
#define PUT(v) (v)
#define PW_FLOAT LOOP
#define PW_TRIG SKIP
#define PW_NUM LOOP
#define PW_INT SKIP
#define PW_BITS SKIP
#define PW_ALL LOOP
#define PW_HALF LOOP
#include "kernel/pointwise/pointwise_loops.h"
