/*
 * limits -- peak rates of the machine and its BLAS, to compare with cfx.
 */
#include <stdlib.h>

#include "bench.h"

#ifdef HAVE_CBLAS
#include <cblas.h>
#endif
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* ---- Products ---- */

#ifdef HAVE_CBLAS

#pragma weak openblas_set_num_threads
void openblas_set_num_threads(int n);

typedef struct product {
    const int64_t *mnk;
    float *x, *w, *y;
} product;

/* The product of a linear layer: y(m, n) = x(m, k) w(n, k)^T. */
static bool multiply(void *arg)
{
    const product *p = arg;
    int m = (int)p->mnk[0], n = (int)p->mnk[1], k = (int)p->mnk[2];

    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, n, k, 1, p->x, k,
                p->w, k, 0, p->y, n);
    return true;
}

static float *numbers(int64_t n)
{
    float *x = malloc((size_t)n * sizeof(*x));

    for (int64_t i = 0; x && i < n; i++)
        x[i] = (float)(i % 17) - 8;
    return x;
}

double bench_sgemm(const int64_t mnk[3], int threads, bench_time time)
{
    product p = {mnk, numbers(mnk[0] * mnk[2]), numbers(mnk[1] * mnk[2]),
                 numbers(mnk[0] * mnk[1])};
    double took = 0;

    if (openblas_set_num_threads && p.x && p.w && p.y) {
        openblas_set_num_threads(threads);
        took = bench_measure(multiply, &p, time);
        openblas_set_num_threads(1); /* as cfx needs it */
    }
    free(p.x);
    free(p.w);
    free(p.y);
    return took;
}

#else

double bench_sgemm(const int64_t mnk[3], int threads, bench_time time)
{
    (void)mnk;
    (void)threads;
    (void)time;
    return 0;
}

#endif

/* ---- Memory ---- */

enum { FLOATS = 16 << 20, PIECE = 64 << 10 };

typedef struct stream {
    cfx_context *ctx;
    float *y;
    const float *a, *b; /* b: NULL for a copy */
    bool past;          /* with non-temporal stores */
} stream;

static void stream_piece(void *arg, int64_t begin, int64_t end, int worker)
{
    const stream *s = arg;
    const float *a = s->a, *b = s->b;
    float *y = s->y;

    (void)worker;
#if defined(__SSE2__)
    if (s->past) {
        for (int64_t i = begin; i < end; i += 4) {
            __m128 v = _mm_loadu_ps(a + i);
            _mm_stream_ps(y + i, b ? _mm_add_ps(v, _mm_loadu_ps(b + i)) : v);
        }
        _mm_sfence();
        return;
    }
#endif
    if (b)
        for (int64_t i = begin; i < end; i++)
            y[i] = a[i] + b[i];
    else
        for (int64_t i = begin; i < end; i++)
            y[i] = a[i];
}

static bool stream_once(void *arg)
{
    stream *s = arg;

    cfx_parallel_for(s->ctx, FLOATS, PIECE, stream_piece, s);
    return true;
}

double bench_bandwidth(cfx_context *ctx, int reads, bench_time time)
{
    const size_t size = FLOATS * sizeof(float);
    float *x[3];
    double best = 0;
    bool ok = true;

    for (int i = 0; i < 3; i++) {
        x[i] = cfx_block_alloc(ctx, size);
        ok &= x[i] != NULL;
        for (int64_t j = 0; x[i] && j < FLOATS; j++)
            x[i][j] = 1;
    }
    for (int past = 0; ok && past < 2; past++) {
        stream s = {ctx, x[0], x[1], reads > 1 ? x[2] : NULL, past};
        double rate = (double)(reads + 1) * (double)size /
                      bench_measure(stream_once, &s, time);
        best = rate > best ? rate : best;
    }
    for (int i = 0; i < 3; i++)
        cfx_block_free(ctx, x[i], size);
    return best;
}
