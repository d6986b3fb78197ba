/*
 * pool_level.c -- pooling of rows, for one level.
 */
#include <math.h>

#include "base/convert.h"
#include "kernel/int64.h"
#include "kernel/pool/pool_core.h"
#include "kernel/vec/simd.h"
#include "kernel/vec/vec.h"

/* Elements of a row of the input that are held at a time. */
enum { HELD = 2 * CFX_POOL_REACH };

/* The outer coordinates and the plane of row r. */
typedef struct place {
    int64_t plane, o[2];
} place;

static place place_of(const cfx_pool3 *p, int64_t r)
{
    int64_t row = r % p->rows;

    return (place){r / p->rows, {row / p->p.out[1], row % p->p.out[1]}};
}

/* The taps along `axis` that fall into the input, for output o: *first is where
 * the first of them reads. */
static int64_t taps_inside(const cfx_pool *p, int axis, int64_t o,
                           int64_t dilation, int64_t *first)
{
    int64_t start = o * p->stride[axis] - p->pad[axis];
    int64_t skip = start < 0 ? (-start + dilation - 1) / dilation : 0;
    int64_t n = p->kernel[axis] - skip;

    *first = start + skip * dilation;
    if (*first + (n - 1) * dilation >= p->in[axis])
        n = (p->in[axis] - *first + dilation - 1) / dilation;
    return cfx_max64(n, 0);
}

/* The divisor of average pooling along one axis. */
static int64_t counted(const cfx_pool *p, int axis, int64_t o)
{
    int64_t begin = o * p->stride[axis] - p->pad[axis];
    int64_t end = cfx_min64(begin + p->kernel[axis],
                            p->in[axis] + p->pad[axis]);

    if (p->count_include_pad)
        return end - begin;
    return cfx_min64(end, p->in[axis]) - cfx_max64(begin, 0);
}

static int64_t adaptive_begin(const cfx_pool *p, int axis, int64_t o)
{
    return o / p->out[axis] * p->in[axis] +
           o % p->out[axis] * p->in[axis] / p->out[axis];
}

static int64_t adaptive_end(const cfx_pool *p, int axis, int64_t o)
{
    return ((o + 1) * p->in[axis] + p->out[axis] - 1) / p->out[axis];
}

/* Elements are of type T and computed in C; S is what they are summed in. */
#define T float
#define C float
#define S float
#define LOAD(x) (x)
#define SAVE(x) (x)
#define LEAST (-INFINITY)
#define IS_NAN(x) ((x) != (x))
#define NAME(name) name##_f32
#include "kernel/pool/pool_level.h"
#undef T
#undef C
#undef S
#undef NAME

#define T double
#define C double
#define S double
#define NAME(name) name##_f64
#include "kernel/pool/pool_level.h"
#undef T
#undef C
#undef S
#undef LOAD
#undef SAVE
#undef NAME

#define T uint16_t
#define C float
#define S float
#define LOAD(x) cfx_half_to_float(x)
#define SAVE(x) cfx_float_to_half(x)
#define NAME(name) name##_f16
#include "kernel/pool/pool_level.h"
#undef LOAD
#undef SAVE
#undef NAME

#define LOAD(x) cfx_bf16_to_f32(x)
#define SAVE(x) cfx_float_to_bfloat(x)
#define NAME(name) name##_bf16
#include "kernel/pool/pool_level.h"
#undef T
#undef C
#undef S
#undef LOAD
#undef SAVE
#undef LEAST
#undef IS_NAN
#undef NAME

#define LOAD(x) (x)
#define SAVE(x) ((T)(x))
#define IS_NAN(x) 0
#define S int64_t

#define T uint8_t
#define C uint8_t
#define LEAST 0
#define NAME(name) name##_u8
#include "kernel/pool/pool_level.h"
#undef T
#undef C
#undef LEAST
#undef NAME

#define T int8_t
#define C int8_t
#define LEAST INT8_MIN
#define NAME(name) name##_i8
#include "kernel/pool/pool_level.h"
#undef T
#undef C
#undef LEAST
#undef NAME

#define T int16_t
#define C int16_t
#define LEAST INT16_MIN
#define NAME(name) name##_i16
#include "kernel/pool/pool_level.h"
#undef T
#undef C
#undef LEAST
#undef NAME

#define T int32_t
#define C int32_t
#define LEAST INT32_MIN
#define NAME(name) name##_i32
#include "kernel/pool/pool_level.h"
#undef T
#undef C
#undef LEAST
#undef NAME

#define T int64_t
#define C int64_t
#define LEAST INT64_MIN
#define NAME(name) name##_i64
#include "kernel/pool/pool_level.h"

/* ---- Averages over whole planes ---- */

/* The sum of n numbers side by side, in four vectors. */
#define PLANE_SUM(name, T, VEC, VL, v)                                        \
    static T name(const T *x, int64_t n)                                      \
    {                                                                         \
        VEC s[4] = {v##_zero(), v##_zero(), v##_zero(), v##_zero()};          \
                                                                              \
        for (; n >= 4 * VL; n -= 4 * VL, x += 4 * VL) {                       \
            CFX_UNROLL                                                        \
            for (int i = 0; i < 4; i++)                                       \
                s[i] = v##_add(s[i], v##_load(x + i * VL));                   \
        }                                                                     \
        for (; n >= VL; n -= VL, x += VL)                                     \
            s[0] = v##_add(s[0], v##_load(x));                                \
        if (n > 0)                                                            \
            s[1] = v##_add(s[1], v##_load_n(x, n));                           \
        return v##_sum(v##_add(v##_add(s[0], s[1]), v##_add(s[2], s[3])));    \
    }

PLANE_SUM(plane_sum_f32, float, vf, VF, vf)
PLANE_SUM(plane_sum_f64, double, vd, VD, vd)

#define PLANE_AVG(name, T)                                                    \
    static void plane_or_##name(const cfx_pool3 *p, int64_t begin,            \
                                int64_t end)                                  \
    {                                                                         \
        const T *x = p->p.x;                                                  \
                                                                              \
        if (p->out_len != 1) {                                                \
            name(p, begin, end);                                              \
            return;                                                           \
        }                                                                     \
        for (int64_t i = begin; i < end; i++)                                 \
            ((T *)p->p.y)[i] = plane_sum_##T##_(x + i * p->in_len,            \
                                                p->in_len) /                  \
                               (T)p->in_len;                                  \
    }

#define plane_sum_float_ plane_sum_f32
#define plane_sum_double_ plane_sum_f64
PLANE_AVG(adaptive_avg_f32, float)
PLANE_AVG(adaptive_avg_f64, double)

#define BY_TYPE(name)                                                         \
    {                                                                         \
        [CFX_U8] = name##_u8, [CFX_I8] = name##_i8, [CFX_I16] = name##_i16,   \
        [CFX_I32] = name##_i32, [CFX_I64] = name##_i64,                       \
        [CFX_F16] = name##_f16, [CFX_BF16] = name##_bf16,                     \
        [CFX_F32] = name##_f32, [CFX_F64] = name##_f64                        \
    }

#define adaptive_sum_u8 adaptive_avg_u8
#define adaptive_sum_i8 adaptive_avg_i8
#define adaptive_sum_i16 adaptive_avg_i16
#define adaptive_sum_i32 adaptive_avg_i32
#define adaptive_sum_i64 adaptive_avg_i64
#define adaptive_sum_f16 adaptive_avg_f16
#define adaptive_sum_bf16 adaptive_avg_bf16
#define adaptive_sum_f32 plane_or_adaptive_avg_f32
#define adaptive_sum_f64 plane_or_adaptive_avg_f64

extern const struct cfx_pool_kernels CFX_LEVEL_NAME(cfx_pool_kernels);

const struct cfx_pool_kernels CFX_LEVEL_NAME(cfx_pool_kernels) = {
    .max = BY_TYPE(max),
    .max_indices = BY_TYPE(max_indices),
    .avg = BY_TYPE(avg),
    .adaptive_max = BY_TYPE(adaptive_max),
    .adaptive_avg = BY_TYPE(adaptive_sum),
};
