/*
 * reduce_kernel.h -- many elements to one: sums, extremes, norms; and scans.
 *
 * A reduction is an iterator (iter.h) over the extents of the *input*, whose
 * output has stride 0 along the axes that are reduced:
 *
 *     // y[2] = sum of x[2][3] over axis 1
 *     cfx_iter_begin(&it, 2, (int64_t[]){2, 3});
 *     cfx_iter_out(&it, y, CFX_F32, (int64_t[]){1, 0});
 *     cfx_iter_in(&it, x, CFX_F32, 2, (int64_t[]){2, 3}, NULL);
 *     cfx_reduce(ctx, CFX_RED_SUM, CFX_F32, &it, 0);
 *
 * Sums of floats are kept in f64 every few thousand elements, so that the error
 * does not grow with their number; those of integers in i64. Results do not
 * depend on the number of threads. Where nothing is reduced (an extent of 0)
 * the result is that of the empty set: 0 for sums, 1 for products, NaN for
 * means; for extremes, which have none, the caller must have refused.
 */
#ifndef CFX_REDUCE_H
#define CFX_REDUCE_H

#include "kernel/iter.h"
#include "kernel/kernel.h"
#include "kernel/pointwise/pointwise_kernel.h"

/*
 * The reductions: RED(name, types), with the types of pointwise.def. What is
 * computed in is `dtype`, the type of the result before it is stored: sum of
 * integers i64, mean of integers the default float; ALL and ANY are of bool.
 */
/* clang-format off */
#define CFX_REDUCTIONS(RED) \
    RED(SUM) RED(PROD) RED(MEAN) RED(MAX) RED(MIN) RED(ANY) RED(ALL) \
    RED(COUNT_NONZERO) \
    RED(VAR)       /* param: correction */ \
    RED(STD)       /* param: correction */ \
    RED(SUMSQ)     /* sum of squares */ \
    RED(NORM1)     /* sum of |x| */ \
    RED(NORM2)     /* sqrt of SUMSQ */ \
    RED(NORMINF)   /* max |x| */ \
    RED(NORMNINF)  /* min |x| */ \
    RED(NORM)      /* sum(|x|^param)^(1/param) */ \
    RED(LOGSUMEXP)
/* clang-format on */

typedef enum cfx_red {
#define RED(name) CFX_RED_##name,
    CFX_REDUCTIONS(RED)
#undef RED
        CFX_RED_COUNT
} cfx_red;

/* Reduce input 1 of the iterator into operand 0. NaN comes through MAX, MIN. */
void cfx_reduce(cfx_context *ctx, cfx_red op, cfx_dtype dtype, cfx_iter *it,
                double param);

/* VAR or STD into operand 0 and the mean into `mean`, of the same type and
 * strides as operand 0 (torch.var_mean). */
void cfx_reduce_var_mean(cfx_context *ctx, cfx_red op, cfx_dtype dtype,
                         cfx_iter *it, double correction, void *mean);

/* The product of complex numbers along the middle axis of row-major (outer, n,
 * inner). */
void cfx_reduce_complex_prod(cfx_context *ctx, cfx_dtype dtype, void *y,
                             const void *x, int64_t outer, int64_t n,
                             int64_t inner);

/*
 * The first place of the largest (or smallest) element along the middle axis
 * of x, row-major (outer, n, inner) of any dtype, n > 0. NaN is larger and
 * smaller than all. `index` and `value` are row-major (outer, inner), i64 and
 * the type of x; either may be NULL.
 */
void cfx_kernel_argmax(cfx_context *ctx, cfx_dtype dtype, bool smallest,
                       int64_t *index, void *value, const void *x,
                       int64_t outer, int64_t n, int64_t inner);

/* Scans along the middle axis of row-major (outer, n, inner). y may be x. */
typedef enum cfx_scan {
    CFX_SCAN_SUM,
    CFX_SCAN_PROD,
    CFX_SCAN_MAX,
    CFX_SCAN_MIN,
    CFX_SCAN_LOGSUMEXP
} cfx_scan;

/* x and y are of type dtype. For MAX and MIN `index` (i64) takes the place of
 * each running extreme, the last among equals as in PyTorch, where not NULL. */
void cfx_cumulate(cfx_context *ctx, cfx_scan op, cfx_dtype dtype, void *y,
                  int64_t *index, const void *x, int64_t outer, int64_t n,
                  int64_t inner);

/* PROD and LOGSUMEXP of complex numbers; a sum is that of their parts. */
void cfx_cumulate_complex(cfx_context *ctx, cfx_scan op, cfx_dtype dtype,
                          void *y, const void *x, int64_t outer, int64_t n,
                          int64_t inner);

/* ---- Levels ---- */

/* Reductions are computed in f32, f64, or for all others i64. */
typedef enum cfx_wide {
    CFX_W_F32,
    CFX_W_F64,
    CFX_W_I64,
    CFX_W_COUNT
} cfx_wide;

/* The accumulations of the inner loops; reduce.c derives the other results. */
typedef enum cfx_acc {
    CFX_ACC_SUM,
    CFX_ACC_PROD,
    CFX_ACC_MAX,
    CFX_ACC_MIN,
    CFX_ACC_NONZERO,
    CFX_ACC_SUMSQ,
    CFX_ACC_SUMABS,
    CFX_ACC_MAXABS,
    CFX_ACC_MINABS,
    CFX_ACC_SUMPOW, /* |x|^param */
    CFX_ACC_SQDIFF, /* (x - shift)^2 */
    CFX_ACC_SUMEXP, /* exp(x - shift) */
    CFX_ACC_COUNT
} cfx_acc;

/* The most lanes; and so few, as blocked images have them, that the accumulators
 * are registers. */
enum { CFX_ACC_LANES = 1024, CFX_ACC_FEW = 16 };

/*
 * acc[j] = acc[j] + f(x[r * stride + j]) for r < rows, j < lanes <=
 * CFX_ACC_LANES, where + is what the operation does; `fresh`: acc[j] counts for
 * nothing before. acc is f64 for floats, else i64. `shift` holds one number a
 * lane, of the type of x, for those that use it; else NULL. rows > 0.
 */
typedef void cfx_acc_fn(void *acc, const void *x, int64_t stride, int64_t rows,
                        int64_t lanes, const void *shift, double param,
                        bool fresh);

/* A cfx_acc_fn that sums CFX_ACC_FEW lanes of floats. */
typedef void cfx_sum_few_fn(double *acc, const float *x, int64_t stride,
                            int64_t rows, bool fresh);

/* Bring `lanes` accumulators, a multiple of `to`, down to `to`: those with the
 * same place modulo `to` become one. */
typedef void cfx_fold_fn(void *acc, int64_t lanes, int64_t to);

/* out[r] = the sum, likewise, of n elements at x + r * stride, for few n. */
typedef void cfx_rows_fn(void *out, const void *x, int64_t stride,
                         int64_t rows, int64_t n, double param);

/* If x[j] is better than best[j], store it, and r in index[j]. */
typedef void cfx_better_fn(void *best, int64_t *index, const void *x,
                           int64_t r, int64_t lanes, bool smallest);

struct cfx_reduce_kernels {
    cfx_acc_fn *acc[CFX_W_COUNT][CFX_ACC_COUNT];
    cfx_sum_few_fn *sum_few;
    cfx_fold_fn *fold[CFX_W_COUNT][CFX_ACC_COUNT];
    cfx_rows_fn *rows[CFX_W_COUNT][CFX_ACC_COUNT];
    cfx_better_fn *better[CFX_W_COUNT];
};

#endif
