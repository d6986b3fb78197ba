/*
 * distance_kernel -- p-norms of differences of rows.
 *
 * A row of results is one piece of work. Sums are made in double, so that the
 * order of the elements does not matter to a float.
 */
#include "kernel/distance_kernel.h"

#include <math.h>

#include "base/stop.h"

/* The term added for one difference, and the resulting norm. */
#define DISTANCE(T)                                                           \
    static double distance_##T(const T *a, const T *b, int64_t m, double p)   \
    {                                                                         \
        double sum = 0;                                                       \
        for (int64_t k = 0; k < m; k++) {                                     \
            double d = fabs((double)a[k] - (double)b[k]);                     \
            if (p == 2)                                                       \
                sum += d * d;                                                 \
            else if (p == 1)                                                  \
                sum += d;                                                     \
            else if (p == 0)                                                  \
                sum += d != 0;                                                \
            else if (isinf(p))                                                \
                sum = d > sum ? d : sum;                                      \
            else                                                              \
                sum += pow(d, p);                                             \
        }                                                                     \
        return p == 2                         ? sqrt(sum)                     \
               : p == 0 || p == 1 || isinf(p) ? sum                           \
                                              : pow(sum, 1 / p);              \
    }                                                                         \
    static void row_##T(const cfx_context *ctx, const cfx_distance *d,        \
                        int64_t batch, int64_t i)                             \
    {                                                                         \
        const T *a = (const T *)d->x1 + (batch * d->n1 + i) * d->m;           \
        const T *b = (const T *)d->x2 + batch * d->n2 * d->m;                 \
        T *y = (T *)d->y + (d->above ? i * d->n1 - i * (i + 3) / 2 - 1        \
                                     : (batch * d->n1 + i) * d->n2);          \
        for (int64_t j = d->above ? i + 1 : 0;                                \
             j < d->n2 && !cfx_context_stops(ctx); j++)                       \
            y[j] = (T)distance_##T(a, b + j * d->m, d->m, d->p);              \
    }

DISTANCE(float)
DISTANCE(double)

typedef struct job {
    const cfx_context *ctx;
    const cfx_distance *d;
} job;

static void run_rows(void *arg, int64_t begin, int64_t end, int worker)
{
    const job *j = arg;
    const cfx_distance *d = j->d;
    (void)worker;
    for (int64_t r = begin; r < end; r++)
        (d->dtype == CFX_F64 ? row_double : row_float)(j->ctx, d, r / d->n1,
                                                       r % d->n1);
}

void cfx_distance_run(cfx_context *ctx, const cfx_distance *d)
{
    enum { GRAIN = 1 << 14 };
    job j = {ctx, d};
    int64_t each = d->n2 * (d->m + 1) + 1;
    if (d->batch && d->n1)
        cfx_parallel_for(ctx, d->batch * d->n1,
                         each < GRAIN ? GRAIN / each : 1, run_rows, &j);
}
