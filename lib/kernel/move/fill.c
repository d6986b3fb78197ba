/*
 * fill.c -- arrays whose elements follow from their place.
 */
#include "kernel/pointwise/pointwise_kernel.h"

enum { GRAIN = 16384, BLOCK = 512 };

typedef struct job {
    cfx_convert_fn *convert;
    char *y;
    size_t size;
    bool integer;
    int64_t n, istart, istep;
    double start, step, end;
    bool both_ends;
} job;

static double value(const job *j, int64_t i)
{
    if (j->both_ends && i >= j->n / 2)
        return j->end - j->step * (double)(j->n - 1 - i);
    return j->start + j->step * (double)i;
}

static void fill(void *arg, int64_t begin, int64_t end, int worker)
{
    const job *j = arg;

    (void)worker;
    for (; begin < end; begin += BLOCK) {
        int64_t n = end - begin < BLOCK ? end - begin : BLOCK;
        union {
            double d[BLOCK];
            int64_t i[BLOCK];
        } block;

        for (int64_t i = 0; i < n; i++)
            if (j->integer)
                block.i[i] = (int64_t)((uint64_t)j->istart +
                                       (uint64_t)j->istep *
                                           (uint64_t)(begin + i));
            else
                block.d[i] = value(j, begin + i);
        j->convert(j->y + (size_t)begin * j->size, 1, &block, 1, n);
    }
}

static void run(cfx_context *ctx, job *j, void *y, cfx_dtype dtype)
{
    j->convert =
        cfx_context_kernels(ctx)
            ->pointwise->convert[dtype][j->integer ? CFX_I64 : CFX_F64];
    j->y = y;
    j->size = cfx_dtype_size(dtype);
    cfx_parallel_for(ctx, j->n, GRAIN, fill, j);
}

void cfx_fill_arange(cfx_context *ctx, void *y, cfx_dtype dtype, int64_t n,
                     double first, double step)
{
    run(ctx, &(job){.n = n, .start = first, .step = step}, y, dtype);
}

void cfx_fill_arange_int(cfx_context *ctx, void *y, cfx_dtype dtype, int64_t n,
                         int64_t first, int64_t step)
{
    run(ctx, &(job){.n = n, .integer = true, .istart = first, .istep = step},
        y, dtype);
}

void cfx_fill_linspace(cfx_context *ctx, void *y, cfx_dtype dtype, int64_t n,
                       double first, double end)
{
    double step = n > 1 ? (end - first) / (double)(n - 1) : 0;

    run(ctx,
        &(job){.n = n,
               .start = first,
               .step = step,
               .end = n > 1 ? end : first,
               .both_ends = true},
        y, dtype);
}
