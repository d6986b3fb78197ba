/*
 * norm_level.c -- softmax and normalization of rows, at this level.
 */
#include "kernel/norm/norm_kernel.h"

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
#define EXP(x) exp_negative_f32(x)
#define LOG(x) log_f32(x)
#include "kernel/norm/norm_loops.h"

#define T double
#define V 16
#define M(f) f##_f64
#define EXP(x) exp(x)
#define LOG(x) log(x)
#include "kernel/norm/norm_loops.h"

/* ---- Rows of exponentials ---- */

/* The largest of n numbers, a multiple of VF; NaN is passed over. */
CFX_INLINE float largest(const float *x, int64_t n)
{
    vf most = vf_set1(-INFINITY);

    for (int64_t i = 0; i < n; i += VF)
        most = vf_max(vf_load(x + i), most);
    return vf_largest(most);
}

/* x = exp(x - shift); returns the sum. */
CFX_INLINE float exponentials(float *x, int64_t n, float shift)
{
    vf sum = vf_zero();

    for (int64_t i = 0; i < n; i += CFX_EXP_LANES) {
        CFX_SIMD
        for (int j = 0; j < CFX_EXP_LANES; j++)
            x[i + j] = exp_negative_f32(x[i + j] - shift);
        for (int j = 0; j < CFX_EXP_LANES; j += VF)
            sum = vf_add(sum, vf_load(x + i + j));
    }
    return vf_sum(sum);
}

/* The maxima come first: a row's exponentials would wait for its own. */
static void exp_rows(float *x, int64_t row, int64_t rows, int64_t first,
                     int64_t seen, float *factor)
{
    int64_t all = cfx_round_up(seen, CFX_EXP_LANES);

    for (int64_t i = 0; i < rows; i++) {
        int64_t n = cfx_min64(first + i, seen);
        int64_t whole = cfx_round_up(n, CFX_EXP_LANES);
        for (int64_t j = n; j < whole; j++)
            x[i * row + j] = -INFINITY;
        factor[i] = largest(x + i * row, whole);
    }
    for (int64_t i = 0; i < rows; i++, x += row) {
        int64_t whole = cfx_round_up(cfx_min64(first + i, seen),
                                     CFX_EXP_LANES);
        float shift = factor[i] == -INFINITY ? 0 : factor[i];
        float sum = exponentials(x, whole, shift);
        if (whole < all)
            memset(x + whole, 0, (size_t)(all - whole) * sizeof(float));
        factor[i] = sum == 0 ? 0 : 1 / sum;
    }
}

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
    .exp_rows = exp_rows,
};
