/*
 * reduce_level.c -- the accumulation loops of this level.
 */
#include "kernel/reduce/reduce.h"

#include "kernel/vec/math_f32.h"
#include "kernel/vec/simd.h"

enum {
    BLOCK_ROWS = 64, /* rows that go into a sum of the narrow type */
    ROW_LANES = 32   /* columns that a short row is read as */
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
    .fold = {ROW(F32, fold_f32) ROW(F64, fold_f64) ROW(I64, fold_i64)},
    .rows = {ROW(F32, rows_f32) ROW(F64, rows_f64) ROW(I64, rows_i64)},
    .better = {better_f32, better_f64, better_i64},
};
