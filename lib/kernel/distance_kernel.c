/*
 * distance_kernel -- p-norms of differences of rows.
 *
 * A piece of work is a block of results: up to CHUNK rows of x1 with as many of
 * x2 as the level compares at once. These are packed, PART elements of each at a
 * time, and sums of the parts are added.
 */
#include "kernel/distance_kernel.h"

#include <math.h>
#include <string.h>

#include "base/stop.h"
#include "kernel/int64.h"

enum {
    CHUNK = 256,
    PART = 128,  /* elements of the rows that are packed at once */
    WIDEST = 32, /* rows of x2 */
    GRAIN = 1 << 15
};

typedef struct job {
    const cfx_context *ctx;
    const cfx_distance *d;
    const struct cfx_distance_type *type;
    cfx_distance_fn *sums;
    int64_t chunks, strips;
} job;

static cfx_distance_kind kind_of(double p)
{
    return p == 0     ? CFX_DISTANCE_UNEQUAL
           : p == 1   ? CFX_DISTANCE_ABSOLUTE
           : p == 2   ? CFX_DISTANCE_SQUARES
           : isinf(p) ? CFX_DISTANCE_GREATEST
                      : CFX_DISTANCE_POWERS;
}

/* A block of results: rows i..i + rows of x1, j..j + columns of x2. */
typedef struct block {
    int64_t batch, i, rows, j, columns;
} block;

/* The index in y of the result of rows i of x1 and 0 of x2; with `above`, which stores
 * columns from i + 1 on, of where it would be. */
static int64_t place(const cfx_distance *d, int64_t batch, int64_t i)
{
    return d->above ? i * d->n1 - i * (i + 3) / 2 - 1
                    : (batch * d->n1 + i) * d->n2;
}

#define BLOCK(T)                                                              \
    static void pack_##T(T *to, const T *x, const block *b, int64_t m,        \
                         int64_t n, int64_t width)                            \
    {                                                                         \
        for (int64_t k = 0; k < width; k++) {                                 \
            int64_t row = k < b->columns ? k : b->columns - 1;                \
            for (int64_t e = 0; e < n; e++)                                   \
                to[e * width + k] = x[row * m + e];                           \
        }                                                                     \
    }                                                                         \
    static void finish_##T(const cfx_distance *d, const block *b,             \
                           const T *sum, int64_t width)                       \
    {                                                                         \
        cfx_distance_kind kind = kind_of(d->p);                               \
        for (int64_t i = b->i; i < b->i + b->rows; i++, sum += width) {       \
            T *y = (T *)d->y + place(d, b->batch, i) + b->j;                  \
            int64_t first = d->above && i >= b->j ? i + 1 - b->j : 0;         \
            for (int64_t k = first; k < b->columns; k++)                      \
                y[k] = kind == CFX_DISTANCE_SQUARES ? (T)sqrt(sum[k])         \
                       : kind == CFX_DISTANCE_POWERS                          \
                           ? (T)pow(sum[k], 1 / d->p)                         \
                           : sum[k];                                          \
        }                                                                     \
    }                                                                         \
    static void run_##T(const job *j, const block *b)                         \
    {                                                                         \
        enum { WIDTH = WIDEST * 4 / (int)sizeof(T) };                         \
        _Alignas(64) T packed[PART * WIDTH], sum[CHUNK * WIDTH];              \
        const cfx_distance *d = j->d;                                         \
        const T *x1 = (const T *)d->x1 + (b->batch * d->n1 + b->i) * d->m;    \
        const T *x2 = (const T *)d->x2 + (b->batch * d->n2 + b->j) * d->m;    \
        int64_t width = j->type->width;                                       \
        memset(sum, 0, (size_t)(b->rows * width) * sizeof(T));                \
        for (int64_t e = 0; e < d->m && !cfx_context_stops(j->ctx);           \
             e += PART) {                                                     \
            int64_t n = cfx_min64(d->m - e, PART);                            \
            pack_##T(packed, x2 + e, b, d->m, n, width);                      \
            j->sums(sum, x1 + e, d->m, b->rows, packed, n, d->p);             \
        }                                                                     \
        finish_##T(d, b, sum, width);                                         \
    }

BLOCK(float)
BLOCK(double)

static void run_blocks(void *arg, int64_t begin, int64_t end, int worker)
{
    const job *j = arg;
    const cfx_distance *d = j->d;

    (void)worker;
    for (; begin < end; begin++) {
        int64_t width = j->type->width, rest = begin / j->strips;
        block b = {.batch = rest / j->chunks,
                   .i = rest % j->chunks * CHUNK,
                   .j = begin % j->strips * width};
        b.rows = cfx_min64(CHUNK, d->n1 - b.i);
        b.columns = cfx_min64(width, d->n2 - b.j);
        if (d->above && b.i >= b.j + b.columns - 1)
            continue;
        if (d->dtype == CFX_F64)
            run_double(j, &b);
        else
            run_float(j, &b);
    }
}

void cfx_distance_run(cfx_context *ctx, const cfx_distance *d)
{
    const struct cfx_distance_kernels *k = cfx_context_kernels(ctx)->distance;
    job j = {.ctx = ctx, .d = d};

    if (!d->batch || !d->n1 || !d->n2)
        return;
    j.type = d->dtype == CFX_F64 ? &k->f64 : &k->f32;
    j.sums = j.type->sums[kind_of(d->p)];
    j.chunks = cfx_ceil_div(d->n1, CHUNK);
    j.strips = cfx_ceil_div(d->n2, j.type->width);
    int64_t each = cfx_min64(d->n1, CHUNK) * j.type->width * (d->m + 1);
    cfx_parallel_for(ctx, d->batch * j.chunks * j.strips, GRAIN / each + 1,
                     run_blocks, &j);
}
