/*
 * random.c -- arrays of random numbers.
 *
 * Numbers are made in blocks of doubles or ints and converted to their type.
 */
#include "kernel/random_kernel.h"

#include <math.h>

#include "base/stop.h"
#include "base/util.h"
#include "kernel/pointwise/pointwise_kernel.h"

enum { GRAIN = 8192, BLOCK = 512 };

#define TWO_PI 6.283185307179586477

typedef struct job {
    char *y;
    size_t size;
    cfx_dtype dtype;
    cfx_convert_fn *convert;
    uint64_t key;
    double a, b; /* parameters of the distribution */
    int64_t low;
    uint64_t span;
    float yes, no;
} job;

static double uniform(const job *j, int64_t i)
{
    return cfx_random_uniform(cfx_random_bits(j->key, (uint64_t)i));
}

/* ---- Choices ---- */

static void choose(void *arg, int64_t begin, int64_t end, int worker)
{
    const job *j = arg;
    float *y = (void *)j->y;

    (void)worker;
    for (int64_t i = begin; i < end; i++)
        y[i] = uniform(j, i) < j->a ? j->yes : j->no;
}

void cfx_random_choice(cfx_context *ctx, float *y, int64_t n, cfx_random r,
                       double share, float yes, float no)
{
    job j = {.y = (void *)y, .key = r.key, .a = share, .yes = yes, .no = no};

    cfx_parallel_for(ctx, n, GRAIN, choose, &j);
}

/* ---- Numbers ---- */

static void run(cfx_context *ctx, job *j, cfx_dtype dtype, cfx_dtype from,
                void *y, int64_t n, cfx_parallel_fn *fn)
{
    j->y = y;
    j->size = cfx_dtype_size(dtype);
    j->dtype = dtype;
    j->convert = cfx_context_kernels(ctx)->pointwise->convert[dtype][from];
    cfx_parallel_for(ctx, n, GRAIN, fn, j);
}

static void put(const job *j, int64_t at, const void *block, int64_t n)
{
    j->convert(j->y + (size_t)at * j->size, 1, block, 1, n);
}

static int64_t block_at(int64_t begin, int64_t end)
{
    return end - begin < BLOCK ? end - begin : BLOCK;
}

/*
 * A number of 53 random bits may be rounded up to the end in a shorter type,
 * which is excluded; so no more bits are taken than the type holds.
 */
static double shortened(cfx_dtype dtype, double u)
{
    double unit = (double)(INT64_C(1) << cfx_dtypes[dtype].digits);

    return floor(u * unit) / unit;
}

static void fill_uniform(void *arg, int64_t begin, int64_t end, int worker)
{
    const job *j = arg;
    double block[BLOCK];

    (void)worker;
    for (; begin < end; begin += BLOCK) {
        int64_t n = block_at(begin, end);

        for (int64_t i = 0; i < n; i++)
            block[i] = j->a + (j->b - j->a) *
                                  shortened(j->dtype, uniform(j, begin + i));
        put(j, begin, block, n);
    }
}

void cfx_random_uniforms(cfx_context *ctx, cfx_dtype dtype, void *y, int64_t n,
                         cfx_random r, double low, double high)
{
    job j = {.key = r.key, .a = low, .b = high};

    run(ctx, &j, dtype, CFX_F64, y, n, fill_uniform);
}

/* By Box and Muller, from two uniform numbers each. */
static void fill_normal(void *arg, int64_t begin, int64_t end, int worker)
{
    const job *j = arg;
    double block[BLOCK];

    (void)worker;
    for (; begin < end; begin += BLOCK) {
        int64_t n = block_at(begin, end);

        for (int64_t i = 0; i < n; i++) {
            double u = 1 - uniform(j, 2 * (begin + i));
            double v = uniform(j, 2 * (begin + i) + 1);

            block[i] = j->a + j->b * sqrt(-2 * log(u)) * cos(TWO_PI * v);
        }
        put(j, begin, block, n);
    }
}

void cfx_random_normals(cfx_context *ctx, cfx_dtype dtype, void *y, int64_t n,
                        cfx_random r, double mean, double deviation)
{
    job j = {.key = r.key, .a = mean, .b = deviation};

    run(ctx, &j, dtype, CFX_F64, y, n, fill_normal);
}

static void fill_int(void *arg, int64_t begin, int64_t end, int worker)
{
    const job *j = arg;
    int64_t block[BLOCK];

    (void)worker;
    for (; begin < end; begin += BLOCK) {
        int64_t n = block_at(begin, end);

        for (int64_t i = 0; i < n; i++) {
            uint64_t bits = cfx_random_bits(j->key, (uint64_t)(begin + i));

            block[i] = (int64_t)((uint64_t)j->low +
                                 (j->span ? bits % j->span : bits));
        }
        put(j, begin, block, n);
    }
}

void cfx_random_ints(cfx_context *ctx, cfx_dtype dtype, void *y, int64_t n,
                     cfx_random r, int64_t low, int64_t high)
{
    job j = {.key = r.key, .low = low, .span = (uint64_t)high - (uint64_t)low};

    run(ctx, &j, dtype, CFX_I64, y, n, fill_int);
}

/* Each place takes one of those that are left. */
void cfx_random_order(cfx_context *ctx, int64_t *y, int64_t n, cfx_random r)
{
    for (int64_t i = 0; i < n && !cfx_context_stops_at(ctx, i); i++)
        y[i] = i;
    for (int64_t i = n - 1; i > 0 && !cfx_context_stops_at(ctx, i); i--) {
        uint64_t bits = cfx_random_bits(r.key, (uint64_t)i);
        int64_t k = (int64_t)(bits % (uint64_t)(i + 1)), t = y[i];

        y[i] = y[k];
        y[k] = t;
    }
}
