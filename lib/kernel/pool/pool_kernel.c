/*
 * pool.c -- pooling: rows of outputs, spread over the threads.
 */
#include "kernel/pool/pool_kernel.h"

#include <string.h>

#include "kernel/pool/pool_core.h"

static cfx_pool3 make_pool3(const cfx_pool *p)
{
    cfx_pool3 r = {.p = *p, .in_len = 1, .out_len = 1};
    int lead = 3 - p->spatial;

    r.p.spatial = 3;
    for (int i = 0; i < 3; i++) {
        bool none = i < lead;
        int from = none ? 0 : i - lead;

        r.p.in[i] = none ? 1 : p->in[from];
        r.p.out[i] = none ? 1 : p->out[from];
        r.p.kernel[i] = none ? 1 : p->kernel[from];
        r.p.stride[i] = none ? 1 : p->stride[from];
        r.p.pad[i] = none ? 0 : p->pad[from];
        r.p.dilation[i] = none ? 1 : p->dilation[from];
        r.in_len *= r.p.in[i];
        r.out_len *= r.p.out[i];
    }
    r.rows = r.p.out[0] * r.p.out[1];
    return r;
}

typedef struct pooling {
    cfx_pool3 p;
    cfx_pool_rows_fn *rows;
} pooling;

static void rows_piece(void *arg, int64_t begin, int64_t end, int worker)
{
    const pooling *p = arg;

    (void)worker;
    p->rows(&p->p, begin, end);
}

/* `window` is about how many elements one output reads. */
static void run(cfx_context *ctx, const cfx_pool3 *p, cfx_pool_rows_fn *rows,
                double window)
{
    pooling t = {*p, rows};
    double cost = (double)p->p.out[2] * window + 16;

    if (p->out_len > 0)
        cfx_parallel_for(ctx, p->p.planes * p->rows,
                         cost > 65536 ? 1 : (int64_t)(65536 / cost) + 1,
                         rows_piece, &t);
}

static double volume(const int64_t n[3])
{
    return (double)n[0] * (double)n[1] * (double)n[2];
}

void cfx_max_pool(cfx_context *ctx, const cfx_pool *pool)
{
    const struct cfx_pool_kernels *k = cfx_context_kernels(ctx)->pool;
    cfx_pool3 p = make_pool3(pool);
    bool wide = (p.p.kernel[2] - 1) * p.p.dilation[2] >= CFX_POOL_REACH;

    run(ctx, &p,
        pool->indices || wide ? k->max_indices[pool->dtype]
                              : k->max[pool->dtype],
        volume(p.p.kernel));
}

void cfx_avg_pool(cfx_context *ctx, const cfx_pool *pool)
{
    cfx_pool3 p = make_pool3(pool);

    run(ctx, &p, cfx_context_kernels(ctx)->pool->avg[pool->dtype],
        volume(p.p.kernel));
}

static void run_adaptive(cfx_context *ctx, const cfx_pool3 *p,
                         cfx_pool_rows_fn *rows)
{
    run(ctx, p, rows, volume(p->p.in) / (volume(p->p.out) + 1) + 1);
}

void cfx_adaptive_max_pool(cfx_context *ctx, const cfx_pool *pool)
{
    cfx_pool3 p = make_pool3(pool);

    run_adaptive(ctx, &p,
                 cfx_context_kernels(ctx)->pool->adaptive_max[pool->dtype]);
}

/* Copy some planes, all of whose windows have one element. */
static void planes_piece(void *arg, int64_t begin, int64_t end, int worker)
{
    const cfx_pool3 *p = arg;
    int64_t plane = p->in_len * (int64_t)cfx_dtype_size(p->p.dtype);

    (void)worker;
    memcpy((char *)p->p.y + begin * plane,
           (const char *)p->p.x + begin * plane,
           (size_t)((end - begin) * plane));
}

void cfx_adaptive_avg_pool(cfx_context *ctx, const cfx_pool *pool)
{
    cfx_pool3 p = make_pool3(pool);

    if (!memcmp(p.p.in, p.p.out, sizeof(p.p.in))) {
        if (p.in_len > 0)
            cfx_parallel_for(ctx, p.p.planes, 65536 / p.in_len + 1,
                             planes_piece, &p);
        return;
    }

    run_adaptive(ctx, &p,
                 cfx_context_kernels(ctx)->pool->adaptive_avg[pool->dtype]);
}
