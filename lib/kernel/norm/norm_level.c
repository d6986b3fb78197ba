/*
 * norm_level.c -- softmax and normalization of rows, at this level.
 */
#include "kernel/norm/norm.h"

#include <string.h>

#include "base/stop.h"
#include "kernel/int64.h"
#include "kernel/vec/math_f32.h"
#include "kernel/vec/simd.h"
#include "kernel/vec/vec.h"

/* Elements whose sum is taken in their own type. */
enum { BLOCK = 4096 };

/* Is the rest of a row, from element i on, left out? */
CFX_INLINE bool stops(const cfx_softmax_row *row, int64_t i)
{
    return row->n > CFX_STOP_BLOCK && cfx_context_stops_at(row->ctx, i);
}

#define T float
#define V 32
#define M(f) f##_f32
#define EXP(x) exp_f32(x)
#define LOG(x) log_f32(x)
#include "kernel/norm/norm_loops.h"

#define T double
#define V 16
#define M(f) f##_f64
#define EXP(x) exp(x)
#define LOG(x) log(x)
#include "kernel/norm/norm_loops.h"

#define ROWS(type)                                                            \
    {                                                                         \
        .softmax = softmax_##type, .softmax_lanes = softmax_lanes_##type,     \
        .max = max_##type, .exp_sum = exp_sum_##type,                         \
        .moments = moments_##type, .sumsq = sumsq_##type,                     \
        .affine = affine_##type, .linear = linear_##type,                     \
        .linear_lanes = linear_lanes_##type,                                  \
    }

extern const struct cfx_norm_kernels CFX_LEVEL_NAME(cfx_norm_kernels);
const struct cfx_norm_kernels CFX_LEVEL_NAME(cfx_norm_kernels) = {
    .f32 = ROWS(f32),
    .f64 = ROWS(f64),
};
