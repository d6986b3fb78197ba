/*
 * gemm -- cfx's own kernels for matrix products, compared with the BLAS.
 *
 *     bench-gemm [-t THREADS] [-s SECONDS] [-k TYPE] [-c]
 *
 * Prints, for each type and size m x n x k of a linear layer, the time of cfx's
 * own kernels of the level in $CFX_CPU, that of the BLAS for the pieces that cfx
 * cuts, and their ratio: above 1, the BLAS is faster. The two run alternately for
 * SECONDS (default 1), and the fastest run of each counts. -c measures processor
 * time. BLAS_MIN in lib/kernel/gemm/gemm_level.c comes from this.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cfx/ops.h>
#include <cfx/scope.h>

#include "base/context_impl.h"
#include "bench.h"
#include "kernel/gemm/gemm_blas.h"

static const int64_t sizes[][3] = {
    {1, 1024, 1024},    {4, 1024, 1024},  {8, 1024, 1024},  {16, 1024, 1024},
    {32, 1024, 1024},   {64, 1024, 1024}, {128, 3072, 768}, {128, 768, 3072},
    {1024, 16, 1024},   {1024, 64, 1024}, {16, 16, 16},     {32, 32, 32},
    {64, 64, 64},       {128, 128, 128},  {256, 256, 256},  {512, 512, 512},
    {1024, 1024, 1024}, {128, 128, 64},   {128, 64, 128},   {100, 300, 50}};

static const cfx_dtype types[] = {CFX_F32, CFX_F64, CFX_C64, CFX_C128};

typedef struct subject {
    cfx_context *ctx; /* does not use the BLAS */
    cfx_tensor *x, *w;
    cfx_gemm g;
    void *work;
    cfx_error err;
} subject;

/* A matrix of small numbers. */
static bool make_matrix(subject *s, cfx_tensor **out, cfx_dtype t,
                        int64_t rows, int64_t cols)
{
    const int64_t shape[] = {rows, cols};
    if (cfx_tensor_new(out, s->ctx, t, 2, shape, &s->err))
        return false;
    for (int64_t i = 0; i < rows * cols; i++)
        cfx_element_set_double(
            t, (char *)(*out)->data + (size_t)i * cfx_dtype_size(t),
            (double)(i % 17) - 8);
    return true;
}

static void release(subject *s)
{
    cfx_tensor_unref(s->x);
    cfx_tensor_unref(s->w);
    free(s->g.c);
    free(s->work);
}

static bool prepare(subject *s, cfx_dtype t, const int64_t mnk[3])
{
    const int64_t m = mnk[0], n = mnk[1], k = mnk[2];
    const size_t c_size = (size_t)(m * n) * cfx_dtype_size(t);
    if (!make_matrix(s, &s->x, t, m, k) || !make_matrix(s, &s->w, t, n, k) ||
        posix_memalign(&s->g.c, 64, c_size))
        return false;
    s->g = cfx_gemm_linear(t, m, n, k, s->x->data, s->w->data, NULL, s->g.c);
    return cfx_dtype_is_complex(t) ||
           !posix_memalign(&s->work, 64,
                           cfx_gemm_workspace(s->ctx, &s->g) + 64);
}

/* Complex products of cfx's own are several calls of kernels. */
static bool run_own(void *arg)
{
    subject *s = arg;
    cfx_scope scope;
    if (s->work) {
        cfx_gemm_run(s->ctx, &s->g, s->work);
        return true;
    }
    cfx_scope_init(&scope, &cfx_eager_class, s->ctx, NULL);
    cfx_linear(&scope, cfx_value_of_tensor(s->x), cfx_value_of_tensor(s->w));
    const bool ok = !cfx_scope_status(&scope, &s->err);
    cfx_scope_release(&scope);
    return ok;
}

static bool run_blas(void *arg)
{
    subject *s = arg;
    cfx_gemm_blas_run(s->ctx, s->ctx, &s->g, false);
    return true;
}

/* The fastest of runs for `time`; after it, the lesser of that and *best. */
static bool improve(double *best, bool (*run)(void *), subject *s,
                    bench_time time)
{
    const double took = bench_measure(run, s, time);
    if (took > 0 && (*best <= 0 || took < *best))
        *best = took;
    return took > 0;
}

static bool measure(cfx_context *ctx, cfx_dtype t, const int64_t mnk[3],
                    bench_time time)
{
    enum { ROUNDS = 10 };
    subject s = {.ctx = ctx};
    double own = 0, blas = 0;
    bool ok = prepare(&s, t, mnk);
    time.seconds /= 2 * ROUNDS;
    for (int i = 0; ok && i < ROUNDS; i++)
        ok = improve(&own, run_own, &s, time) &&
             improve(&blas, run_blas, &s, time);
    if (ok)
        printf("%-10s %6lld %6lld %6lld %10.4f %10.4f %7.2f\n",
               cfx_dtypes[t].name, (long long)mnk[0], (long long)mnk[1],
               (long long)mnk[2], 1e3 * own, 1e3 * blas, own / blas);
    else
        fprintf(stderr, "bench-gemm: %s\n", s.err.text);
    fflush(stdout);
    release(&s);
    return ok;
}

int main(int argc, char **argv)
{
    cfx_options options = {.size = sizeof(options), .threads = 1};
    bench_time time = {1, 0, false};
    const char *only = "";
    cfx_context *ctx;
    cfx_error err;
    bool ok = true;
    int c;

    while ((c = getopt(argc, argv, "t:s:k:c")) != -1) {
        switch (c) {
        case 't': options.threads = atoi(optarg); break;
        case 's': time.seconds = atof(optarg); break;
        case 'k': only = optarg; break;
        case 'c': time.processor = true; break;
        default: return 2;
        }
    }
    if (cfx_context_new(&ctx, &options, &err)) {
        fprintf(stderr, "bench-gemm: %s\n", err.text);
        return 1;
    }
    ctx->blas = false;
    printf("%s, threads: %d\n%-10s %6s %6s %6s %10s %10s %7s\n",
           cfx_cpu_name(cfx_context_cpu(ctx)), cfx_context_threads(ctx),
           "type", "m", "n", "k", "own ms", "BLAS ms", "ratio");
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        for (size_t j = 0; ok && j < sizeof(sizes) / sizeof(sizes[0]); j++)
            if (strstr(cfx_dtypes[types[i]].name, only))
                ok = measure(ctx, types[i], sizes[j], time);
    cfx_context_free(ctx);
    return !ok;
}
