/*
 * reduce_level.c -- the accumulation loops of this level.
 */
#include "kernel/reduce/reduce_kernel.h"

#include "kernel/vec/math_f32.h"
#include "kernel/vec/simd.h"
#include "kernel/vec/vec.h"

enum {
    BLOCK_ROWS = 64, /* rows that go into a sum of the narrow type */
    ROW_LANES = 32,  /* columns that a short row is read as */
    SHORT_ROW = 24,  /* columns so few that rows are taken side by side */
    ROWS_BESIDE = 16
};

/* Combine two numbers. NaN is tested in a step of its own, since compilers do
 * not vectorize conditions joined by "or". */
#define COMBINE(T, suffix)                                                    \
    CFX_INLINE T add_##suffix(T a, T b)                                       \
    {                                                                         \
        return a + b;                                                         \
    }                                                                         \
    CFX_INLINE T mul_##suffix(T a, T b)                                       \
    {                                                                         \
        return a * b;                                                         \
    }                                                                         \
    CFX_INLINE T greater_##suffix(T a, T b)                                   \
    {                                                                         \
        const T m = a > b ? a : b;                                            \
        return a != a ? a : m;                                                \
    }                                                                         \
    CFX_INLINE T less_##suffix(T a, T b)                                      \
    {                                                                         \
        const T m = a < b ? a : b;                                            \
        return a != a ? a : m;                                                \
    }

COMBINE(float, f32)
COMBINE(double, f64)
COMBINE(int64_t, i64)

#define T float
#define W double
#define M(f) f##_f32
#define MW(f) f##_f64
#define EXP(x) exp_f32(x)
#define POW(x, p) powf(x, p)
#define LOW -INFINITY
#define HIGH INFINITY
#include "kernel/reduce/reduce_loops.h"

#define T double
#define W double
#define M(f) f##_f64
#define MW(f) f##_f64
#define EXP(x) exp(x)
#define POW(x, p) pow(x, p)
#define LOW -INFINITY
#define HIGH INFINITY
#include "kernel/reduce/reduce_loops.h"

/* Exponentials and powers are asked of floats only. */
#define T int64_t
#define W int64_t
#define M(f) f##_i64
#define MW(f) f##_i64
#define EXP(x) (x)
#define POW(x, p) (x)
#define LOW INT64_MIN
#define HIGH INT64_MAX
#include "kernel/reduce/reduce_loops.h"

/* ---- Rows of few floats ---- */

/* Rows that are added side by side, and vectors of a row. */
enum { BESIDE = 4, ROW_VECTORS = CFX_ACC_FEW / VF };

/* s[0] = the sum of `rows` rows. */
CFX_FORCE_INLINE void sum_rows(vf s[BESIDE][ROW_VECTORS], const float *x,
                               int64_t stride, int64_t rows)
{
    CFX_UNROLL
    for (int i = 0; i < BESIDE; i++) {
        CFX_UNROLL
        for (int v = 0; v < ROW_VECTORS; v++)
            s[i][v] = vf_zero();
    }
    for (; rows >= BESIDE; rows -= BESIDE) {
        CFX_UNROLL
        for (int i = 0; i < BESIDE; i++, x += stride) {
            CFX_UNROLL
            for (int v = 0; v < ROW_VECTORS; v++)
                s[i][v] = vf_add(s[i][v], vf_load(x + v * VF));
        }
    }
    for (; rows > 0; rows--, x += stride) {
        CFX_UNROLL
        for (int v = 0; v < ROW_VECTORS; v++)
            s[0][v] = vf_add(s[0][v], vf_load(x + v * VF));
    }
    CFX_UNROLL
    for (int v = 0; v < ROW_VECTORS; v++)
        s[0][v] = vf_add(vf_add(s[0][v], s[1][v]), vf_add(s[2][v], s[3][v]));
}

static void sum_few(double *acc, const float *x, int64_t stride, int64_t rows,
                    bool fresh)
{
    for (; rows > 0; rows -= BLOCK_ROWS, x += BLOCK_ROWS * stride) {
        vf s[BESIDE][ROW_VECTORS];
        float part[CFX_ACC_FEW];

        sum_rows(s, x, stride, rows < BLOCK_ROWS ? rows : BLOCK_ROWS);
        for (int v = 0; v < ROW_VECTORS; v++)
            vf_store(part + v * VF, s[0][v]);
        for (int i = 0; i < CFX_ACC_FEW; i++)
            acc[i] = fresh ? part[i] : acc[i] + part[i];
        fresh = false;
    }
}

#define ROW(type, suffix)                                                     \
    [CFX_W_##type] = {                                                        \
        [CFX_ACC_SUM] = SUM_##suffix,                                         \
        [CFX_ACC_PROD] = PROD_##suffix,                                       \
        [CFX_ACC_MAX] = MAX_##suffix,                                         \
        [CFX_ACC_MIN] = MIN_##suffix,                                         \
        [CFX_ACC_NONZERO] = NONZERO_##suffix,                                 \
        [CFX_ACC_SUMSQ] = SUMSQ_##suffix,                                     \
        [CFX_ACC_SUMABS] = SUMABS_##suffix,                                   \
        [CFX_ACC_MAXABS] = MAXABS_##suffix,                                   \
        [CFX_ACC_MINABS] = MINABS_##suffix,                                   \
        [CFX_ACC_SUMPOW] = SUMPOW_##suffix,                                   \
        [CFX_ACC_SQDIFF] = SQDIFF_##suffix,                                   \
        [CFX_ACC_SUMEXP] = SUMEXP_##suffix,                                   \
    },

extern const struct cfx_reduce_kernels CFX_LEVEL_NAME(cfx_reduce_kernels);
const struct cfx_reduce_kernels CFX_LEVEL_NAME(cfx_reduce_kernels) = {
    .acc = {ROW(F32, f32) ROW(F64, f64) ROW(I64, i64)},
    .sum_few = sum_few,
    .fold = {ROW(F32, fold_f32) ROW(F64, fold_f64) ROW(I64, fold_i64)},
    .rows = {ROW(F32, rows_f32) ROW(F64, rows_f64) ROW(I64, rows_i64)},
    .better = {better_f32, better_f64, better_i64},
};
