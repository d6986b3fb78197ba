/*
 * norm_kernel.h -- softmax and normalizations, each in as few passes as it takes.
 *
 * All arrays are row-major without gaps, of one float type (`dtype`: f16, bf16,
 * f32, f64), weights and statistics too unless said otherwise; 16-bit types are
 * computed in f32. y may be x. Weights and biases may be NULL: 1 and 0.
 */
#ifndef CFX_NORM_H
#define CFX_NORM_H

#include "kernel/kernel.h"
#include "kernel/pointwise/pointwise_kernel.h"

/* Along the middle axis of (outer, n, inner). */
void cfx_kernel_softmax(cfx_context *ctx, cfx_dtype dtype, void *y,
                        const void *x, int64_t outer, int64_t n,
                        int64_t inner);
void cfx_kernel_log_softmax(cfx_context *ctx, cfx_dtype dtype, void *y,
                            const void *x, int64_t outer, int64_t n,
                            int64_t inner);

/* (x - mean) / sqrt(var + eps) * weight + bias over the n of (outer, n), where
 * weight and bias have n elements. mean and rstd, of `outer` elements, are
 * written where not NULL. */
void cfx_kernel_layer_norm(cfx_context *ctx, cfx_dtype dtype, void *y,
                           const void *x, int64_t outer, int64_t n,
                           const void *weight, const void *bias, double eps,
                           void *mean, void *rstd);

/* x / sqrt(mean(x^2) + eps) * weight over the n of (outer, n). */
void cfx_kernel_rms_norm(cfx_context *ctx, cfx_dtype dtype, void *y,
                         const void *x, int64_t outer, int64_t n,
                         const void *weight, double eps);

/* Like layer_norm over the channels of a group, of (batch, channels, inner);
 * weight and bias are per channel. groups divides channels. Instance norm is
 * groups == channels. mean and rstd, where not NULL, are (batch, groups). */
void cfx_kernel_group_norm(cfx_context *ctx, cfx_dtype dtype, void *y,
                           const void *x, int64_t batch, int64_t channels,
                           int64_t inner, int64_t groups, const void *weight,
                           const void *bias, double eps, void *mean,
                           void *rstd);

/* (x - mean) / sqrt(var + eps) * weight + bias with given statistics of each
 * channel, of (batch, channels, inner); channels-last is inner == 1. The
 * statistics and weights are of type `stat`, which may be f32 where x has 16
 * bits. */
void cfx_kernel_batch_norm(cfx_context *ctx, cfx_dtype dtype, cfx_dtype stat,
                           void *y, const void *x, int64_t batch,
                           int64_t channels, int64_t inner, const void *mean,
                           const void *var, const void *weight,
                           const void *bias, double eps);

/* The mean and the variance (divided by batch * inner - correction) of each
 * channel of (batch, channels, inner), of type `stat`. */
void cfx_channel_stats(cfx_context *ctx, cfx_dtype dtype, cfx_dtype stat,
                       const void *x, int64_t batch, int64_t channels,
                       int64_t inner, double correction, void *mean,
                       void *var);

/* ---- Levels ---- */

enum { CFX_NORM_LANES = 256, CFX_EXP_LANES = 16 };

typedef struct cfx_softmax_row {
    const cfx_context *ctx; /* asked whether to stop */
    int64_t n;              /* columns of y that are written */
    int64_t seen;           /* columns that count; the rest becomes 0 */
    double scale;
    const void *mask; /* n numbers, or NULL */
    bool log;
    bool empty_is_0; /* where all that count are -inf; else NaN */
} cfx_softmax_row;

/* The loops over contiguous rows of f32 or f64. y may be x. */
typedef struct cfx_norm_rows {
    void (*softmax)(void *y, const void *x, const cfx_softmax_row *row);
    /* (n, lanes) with rows `stride` apart, lanes <= CFX_NORM_LANES. */
    void (*softmax_lanes)(void *y, const void *x, int64_t stride, int64_t n,
                          int64_t lanes, bool log);
    double (*max)(const void *x, int64_t n); /* passes over NaN */
    /* y = exp(x - shift), and their sum. */
    double (*exp_sum)(void *y, const void *x, int64_t n, double shift);
    /* Mean, and sum of squared distances from it. */
    void (*moments)(const void *x, int64_t n, double *mean, double *m2);
    double (*sumsq)(const void *x, int64_t n);
    /* y = (x - mean) * rstd * w + b, with arrays w and b, or NULL. */
    void (*affine)(void *y, const void *x, int64_t n, double mean, double rstd,
                   const void *w, const void *b);
    /* y = x * mul + add; and with arrays. */
    void (*linear)(void *y, const void *x, int64_t n, double mul, double add);
    void (*linear_lanes)(void *y, const void *x, int64_t n, const void *mul,
                         const void *add);
} cfx_norm_rows;

struct cfx_norm_kernels {
    cfx_norm_rows f32, f64;
    /* x = exp(x - the largest of its row), and factor = 1 / their sum, 0 where all
     * are -inf, of `rows` rows that lie `row` elements apart. Row i has first + i
     * numbers, but at most `seen`; those after them become 0, up to a multiple of
     * CFX_EXP_LANES. */
    void (*exp_rows)(float *x, int64_t row, int64_t rows, int64_t first,
                     int64_t seen, float *factor);
};

#endif
