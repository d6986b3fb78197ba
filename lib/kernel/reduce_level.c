/*
 * reduce_level.c -- the accumulation loops of this level.
 */
#include "kernel/reduce.h"

#include "kernel/math_f32.h"
#include "kernel/simd.h"

/* As many rows go into a sum of the narrow type. */
enum { BLOCK_ROWS = 64 };

#define T float
#define W double
#define M(f) f##_f32
#define EXP(x) exp_f32(x)
#define POW(x, p) powf(x, p)
#define LOW -INFINITY
#define HIGH INFINITY
#include "kernel/reduce_loops.h"

#define T double
#define W double
#define M(f) f##_f64
#define EXP(x) exp(x)
#define POW(x, p) pow(x, p)
#define LOW -INFINITY
#define HIGH INFINITY
#include "kernel/reduce_loops.h"

/* Exponentials and powers are asked of floats only. */
#define T int64_t
#define W int64_t
#define M(f) f##_i64
#define EXP(x) (x)
#define POW(x, p) (x)
#define LOW INT64_MIN
#define HIGH INT64_MAX
#include "kernel/reduce_loops.h"

#define ROW(type, suffix) \
    [CFX_W_##type] = { \
        [CFX_ACC_SUM] = SUM_##suffix, [CFX_ACC_PROD] = PROD_##suffix, \
        [CFX_ACC_MAX] = MAX_##suffix, [CFX_ACC_MIN] = MIN_##suffix, \
        [CFX_ACC_NONZERO] = NONZERO_##suffix, \
        [CFX_ACC_SUMSQ] = SUMSQ_##suffix, \
        [CFX_ACC_SUMABS] = SUMABS_##suffix, \
        [CFX_ACC_MAXABS] = MAXABS_##suffix, \
        [CFX_ACC_MINABS] = MINABS_##suffix, \
        [CFX_ACC_SUMPOW] = SUMPOW_##suffix, \
        [CFX_ACC_SQDIFF] = SQDIFF_##suffix, \
        [CFX_ACC_SUMEXP] = SUMEXP_##suffix, \
    },

extern const struct cfx_reduce_kernels CFX_LEVEL_NAME(cfx_reduce_kernels);
const struct cfx_reduce_kernels CFX_LEVEL_NAME(cfx_reduce_kernels) = {
    .acc = { ROW(F32, f32) ROW(F64, f64) ROW(I64, i64) },
    .fold = { ROW(F32, fold_f32) ROW(F64, fold_f64) ROW(I64, fold_i64) },
    .better = { better_f32, better_f64, better_i64 },
};
