/*
 * norm.c -- softmax and normalizations over the threads of a context.
 *
 * Rows of f32 and f64 are worked on in place; those of 16 bits go block by
 * block through a buffer of f32, several times where it takes several passes.
 */
#include "kernel/norm/norm_kernel.h"

#include <math.h>

#include "base/stop.h"
#include "kernel/int64.h"
#include "kernel/reduce/reduce_kernel.h"

enum {
    BLOCK = 1024, /* elements converted at a time */
    GRAIN = 8192, /* elements that are worth another thread */
    ROWS = 64,    /* of channels-last arrays, a piece of work */
    LANES = CFX_NORM_LANES
};

typedef struct job {
    const cfx_norm_rows *k;
    bool direct; /* dtype is what the loops take */
    size_t size; /* of an element */
    cfx_convert_fn *load, *store;
    cfx_convert_fn *narrow;    /* f64 to what the loops take */
    cfx_convert_fn *get, *put; /* statistics, to and from f64 */
    size_t stat_size;
    const char *x;
    char *y;
    const char *weight, *bias;
    const char *mean_in, *var_in;
    char *mean, *rstd;
    double eps;
    int64_t n, inner, channels, groups, strips, rows;
    cfx_softmax_row row;
} job;

static job make_job(cfx_context *ctx, cfx_dtype dtype, cfx_dtype stat, void *y,
                    const void *x)
{
    const cfx_kernels *kernels = cfx_context_kernels(ctx);
    cfx_convert_fn *const(*convert)[CFX_NDTYPES] = kernels->pointwise->convert;
    bool f64 = dtype == CFX_F64;
    cfx_dtype type = f64 ? CFX_F64 : CFX_F32;

    return (job){
        .k = f64 ? &kernels->norm->f64 : &kernels->norm->f32,
        .direct = dtype == type,
        .size = cfx_dtype_size(dtype),
        .load = convert[type][dtype],
        .store = convert[dtype][type],
        .narrow = convert[type][CFX_F64],
        .get = convert[CFX_F64][stat],
        .put = convert[stat][CFX_F64],
        .stat_size = cfx_dtype_size(stat),
        .x = x,
        .y = y,
        .inner = 1,
    };
}

static void run(cfx_context *ctx, job *j, int64_t units, int64_t work,
                cfx_parallel_fn *fn)
{
    if (work > 0)
        cfx_parallel_for(ctx, units, work < GRAIN ? GRAIN / work : 1, fn, j);
}

/* Elements from `at` on, in place or converted; NULL stays NULL. */
static const void *load(const job *j, void *buffer, const char *x, int64_t at,
                        int64_t n)
{
    if (!x)
        return NULL;
    x += at * (int64_t)j->size;
    if (j->direct)
        return x;
    j->load(buffer, 1, x, 1, n);
    return buffer;
}

/* The destination of results for y from `at` on; then call store. */
static void *target(const job *j, void *buffer, int64_t at)
{
    return j->direct ? j->y + at * (int64_t)j->size : buffer;
}

static void store(const job *j, const void *buffer, int64_t at, int64_t n)
{
    if (!j->direct)
        j->store(j->y + at * (int64_t)j->size, 1, buffer, 1, n);
}

/* The number of elements that one step handles, of n. */
static int64_t step(const job *j, int64_t n)
{
    return j->direct ? n : cfx_min64(n, BLOCK);
}

static double stat(const job *j, const char *p, int64_t i, double otherwise)
{
    double v = otherwise;

    if (p)
        j->get(&v, 1, p + i * (int64_t)j->stat_size, 1, 1);
    return v;
}

static void put_stat(const job *j, char *p, int64_t i, double v)
{
    if (p)
        j->put(p + i * (int64_t)j->stat_size, 1, &v, 1, 1);
}

/* ---- Softmax ---- */

/* A row of 16-bit elements, `inner` apart, in three passes. */
static void softmax_blocks(const job *j, char *y, const char *x)
{
    int64_t step_bytes = j->inner * (int64_t)j->size;
    float v[BLOCK];
    double max = -INFINITY, sum = 0;

    for (int pass = 0; pass < 3; pass++)
        for (int64_t i = 0; i < j->n; i += BLOCK) {
            int64_t m = cfx_min64(j->n - i, BLOCK);

            if (cfx_context_stops_at(j->row.ctx, i))
                return;
            j->load(v, 1, x + i * step_bytes, j->inner, m);
            if (pass == 0)
                max = fmax(max, j->k->max(v, m));
            else if (pass == 1)
                sum += j->k->exp_sum(v, v, m, max);
            else if (j->row.log)
                j->k->linear(v, v, m, 1, -max - log(sum));
            else {
                j->k->exp_sum(v, v, m, max);
                j->k->linear(v, v, m, 1 / sum, 0);
            }
            if (pass == 2)
                j->store(y + i * step_bytes, j->inner, v, 1, m);
        }
}

static void softmax_row(const job *j, int64_t r)
{
    int64_t at = r * j->n * (int64_t)j->size;

    if (j->direct)
        j->k->softmax(j->y + at, j->x + at, &j->row);
    else
        softmax_blocks(j, j->y + at, j->x + at);
}

static void softmax_strip(const job *j, int64_t unit)
{
    int64_t first = unit % j->strips * LANES;
    int64_t lanes = cfx_min64(j->inner - first, LANES);
    int64_t at = (unit / j->strips * j->n * j->inner + first) *
                 (int64_t)j->size;

    if (j->direct) {
        j->k->softmax_lanes(j->y + at, j->x + at, j->inner, j->n, lanes,
                            j->row.log);
        return;
    }
    for (int64_t i = 0; i < lanes; i++, at += (int64_t)j->size)
        softmax_blocks(j, j->y + at, j->x + at);
}

static void run_softmax(void *arg, int64_t begin, int64_t end, int worker)
{
    const job *j = arg;

    (void)worker;
    for (; begin < end; begin++)
        if (j->inner == 1)
            softmax_row(j, begin);
        else
            softmax_strip(j, begin);
}

static void softmax(cfx_context *ctx, cfx_dtype dtype, void *y, const void *x,
                    int64_t outer, int64_t n, int64_t inner, bool log_)
{
    job j = make_job(ctx, dtype, dtype, y, x);

    j.n = n;
    j.inner = inner;
    j.strips = (inner + LANES - 1) / LANES;
    j.row = (cfx_softmax_row){
        .ctx = ctx, .n = n, .seen = n, .scale = 1, .log = log_};
    run(ctx, &j, outer * j.strips, n * cfx_min64(inner, LANES), run_softmax);
}

void cfx_kernel_softmax(cfx_context *ctx, cfx_dtype dtype, void *y,
                        const void *x, int64_t outer, int64_t n, int64_t inner)
{
    softmax(ctx, dtype, y, x, outer, n, inner, false);
}

void cfx_kernel_log_softmax(cfx_context *ctx, cfx_dtype dtype, void *y,
                            const void *x, int64_t outer, int64_t n,
                            int64_t inner)
{
    softmax(ctx, dtype, y, x, outer, n, inner, true);
}

/* ---- Statistics of a row ---- */

/* Mean, and 1 / sqrt(variance + eps), of n elements. */
static void measure(const job *j, int64_t at, int64_t n, double *mean,
                    double *rstd)
{
    float buffer[BLOCK];
    double count = 0, m2 = 0, m, part, d;

    *mean = 0;
    for (int64_t i = 0; i < n; i += step(j, n)) {
        double c = (double)cfx_min64(step(j, n), n - i);

        j->k->moments(load(j, buffer, j->x, at + i, (int64_t)c), (int64_t)c,
                      &m, &part);
        d = m - *mean;
        m2 += part + d * d * count * c / (count + c);
        *mean += d * c / (count + c);
        count += c;
    }
    *rstd = 1 / sqrt(m2 / (double)n + j->eps);
}

/* ---- Layer and RMS normalization ---- */

static void normalize_row(const job *j, int64_t at, double mean, double rstd)
{
    float v[BLOCK], w[BLOCK], b[BLOCK];

    for (int64_t i = 0; i < j->n; i += step(j, j->n)) {
        int64_t n = cfx_min64(step(j, j->n), j->n - i);

        j->k->affine(target(j, v, at + i), load(j, v, j->x, at + i, n), n,
                     mean, rstd, load(j, w, j->weight, i, n),
                     load(j, b, j->bias, i, n));
        store(j, v, at + i, n);
    }
}

static void run_layer_norm(void *arg, int64_t begin, int64_t end, int worker)
{
    const job *j = arg;

    (void)worker;
    for (; begin < end; begin++) {
        double mean, rstd;

        measure(j, begin * j->n, j->n, &mean, &rstd);
        normalize_row(j, begin * j->n, mean, rstd);
        put_stat(j, j->mean, begin, mean);
        put_stat(j, j->rstd, begin, rstd);
    }
}

void cfx_kernel_layer_norm(cfx_context *ctx, cfx_dtype dtype, void *y,
                           const void *x, int64_t outer, int64_t n,
                           const void *weight, const void *bias, double eps,
                           void *mean, void *rstd)
{
    job j = make_job(ctx, dtype, dtype, y, x);

    j.n = n;
    j.weight = weight;
    j.bias = bias;
    j.eps = eps;
    j.mean = mean;
    j.rstd = rstd;
    run(ctx, &j, outer, n, run_layer_norm);
}

static void run_rms_norm(void *arg, int64_t begin, int64_t end, int worker)
{
    const job *j = arg;

    (void)worker;
    for (; begin < end; begin++) {
        float v[BLOCK];
        int64_t at = begin * j->n;
        double sum = 0;

        for (int64_t i = 0; i < j->n; i += step(j, j->n)) {
            int64_t n = cfx_min64(step(j, j->n), j->n - i);

            sum += j->k->sumsq(load(j, v, j->x, at + i, n), n);
        }
        normalize_row(j, at, 0, 1 / sqrt(sum / (double)j->n + j->eps));
    }
}

void cfx_kernel_rms_norm(cfx_context *ctx, cfx_dtype dtype, void *y,
                         const void *x, int64_t outer, int64_t n,
                         const void *weight, double eps)
{
    job j = make_job(ctx, dtype, dtype, y, x);

    j.n = n;
    j.weight = weight;
    j.eps = eps;
    run(ctx, &j, outer, n, run_rms_norm);
}

/* ---- Group and batch normalization ---- */

/* y = x * mul + add for n elements from `at` on. */
static void linear(const job *j, int64_t at, int64_t n, double mul, double add)
{
    float v[BLOCK];

    for (int64_t i = 0; i < n; i += step(j, n)) {
        int64_t m = cfx_min64(step(j, n), n - i);

        j->k->linear(target(j, v, at + i), load(j, v, j->x, at + i, m), m, mul,
                     add);
        store(j, v, at + i, m);
    }
}

static void run_group_norm(void *arg, int64_t begin, int64_t end, int worker)
{
    const job *j = arg;
    int64_t channels = j->channels / j->groups, n = channels * j->inner;

    (void)worker;
    for (; begin < end; begin++) {
        int64_t first = begin % j->groups * channels;
        double mean, rstd;

        measure(j, begin * n, n, &mean, &rstd);
        put_stat(j, j->mean, begin, mean);
        put_stat(j, j->rstd, begin, rstd);
        for (int64_t c = 0; c < channels; c++) {
            double mul = rstd * stat(j, j->weight, first + c, 1);

            linear(j, begin * n + c * j->inner, j->inner, mul,
                   stat(j, j->bias, first + c, 0) - mean * mul);
        }
    }
}

void cfx_kernel_group_norm(cfx_context *ctx, cfx_dtype dtype, void *y,
                           const void *x, int64_t batch, int64_t channels,
                           int64_t inner, int64_t groups, const void *weight,
                           const void *bias, double eps, void *mean,
                           void *rstd)
{
    job j = make_job(ctx, dtype, dtype, y, x);

    j.channels = channels;
    j.inner = inner;
    j.groups = groups;
    j.weight = weight;
    j.bias = bias;
    j.eps = eps;
    j.mean = mean;
    j.rstd = rstd;
    run(ctx, &j, batch * groups, channels / groups * inner, run_group_norm);
}

/* A channel's factor and term. */
static double channel_mul(const job *j, int64_t c)
{
    return stat(j, j->weight, c, 1) / sqrt(stat(j, j->var_in, c, 1) + j->eps);
}
static double channel_add(const job *j, int64_t c, double mul)
{
    return stat(j, j->bias, c, 0) - stat(j, j->mean_in, c, 0) * mul;
}

static void run_planes(void *arg, int64_t begin, int64_t end, int worker)
{
    const job *j = arg;

    (void)worker;
    for (; begin < end; begin++) {
        double mul = channel_mul(j, begin % j->channels);

        linear(j, begin * j->inner, j->inner, mul,
               channel_add(j, begin % j->channels, mul));
    }
}

/* Channels-last: ROWS rows of LANES channels are a unit. */
static void run_lanes(void *arg, int64_t begin, int64_t end, int worker)
{
    const job *j = arg;

    (void)worker;
    for (; begin < end; begin++) {
        int64_t c0 = begin % j->strips * LANES, r0 = begin / j->strips * ROWS;
        int64_t lanes = cfx_min64(j->channels - c0, LANES);
        int64_t last = cfx_min64(r0 + ROWS, j->rows);
        double wide[2][LANES], mul[LANES], add[LANES];
        float v[LANES];

        for (int64_t i = 0; i < lanes; i++) {
            wide[0][i] = channel_mul(j, c0 + i);
            wide[1][i] = channel_add(j, c0 + i, wide[0][i]);
        }
        j->narrow(mul, 1, wide[0], 1, lanes);
        j->narrow(add, 1, wide[1], 1, lanes);
        for (int64_t r = r0; r < last; r++) {
            int64_t at = r * j->channels + c0;

            j->k->linear_lanes(target(j, v, at), load(j, v, j->x, at, lanes),
                               lanes, mul, add);
            store(j, v, at, lanes);
        }
    }
}

void cfx_kernel_batch_norm(cfx_context *ctx, cfx_dtype dtype, cfx_dtype stats,
                           void *y, const void *x, int64_t batch,
                           int64_t channels, int64_t inner, const void *mean,
                           const void *var, const void *weight,
                           const void *bias, double eps)
{
    job j = make_job(ctx, dtype, stats, y, x);

    j.channels = channels;
    j.inner = inner;
    j.mean_in = mean;
    j.var_in = var;
    j.weight = weight;
    j.bias = bias;
    j.eps = eps;
    if (inner > 1) {
        run(ctx, &j, batch * channels, inner, run_planes);
        return;
    }
    j.rows = batch * inner;
    j.strips = (channels + LANES - 1) / LANES;
    run(ctx, &j, (j.rows + ROWS - 1) / ROWS * j.strips,
        ROWS * cfx_min64(channels, LANES), run_lanes);
}

void cfx_channel_stats(cfx_context *ctx, cfx_dtype dtype, cfx_dtype stats,
                       const void *x, int64_t batch, int64_t channels,
                       int64_t inner, double correction, void *mean, void *var)
{
    int64_t shape[] = {batch, channels, inner};
    cfx_iter it;

    cfx_iter_begin(&it, 3, shape);
    cfx_iter_out(&it, var, stats, (int64_t[]){0, 1, 0});
    cfx_iter_in(&it, x, dtype, 3, shape, NULL);
    cfx_reduce_var_mean(ctx, CFX_RED_VAR, dtype, &it, correction, mean);
}
