/*
 * gemm_int.c -- matrix products of integers: plain loops over rows of c.
 *
 * Sums are taken modulo 2 to the bits of the type, for which signed and
 * unsigned numbers are the same.
 */
#include "kernel/gemm/gemm_int.h"

#include "base/stop.h"
#include "kernel/int64.h"
#include "kernel/partition.h"

typedef struct int_product {
    const cfx_context *ctx;
    const cfx_gemm *g;
    int64_t block; /* steps of k whose rows of b stay in L2 */
} int_product;

#define ROWS(T, WIDE)                                                         \
    static void add_step_##T(T *c, T x, const T *b, int64_t b_col, int64_t n) \
    {                                                                         \
        if (b_col == 1)                                                       \
            for (int64_t j = 0; j < n; j++)                                   \
                c[j] = (T)(c[j] + (WIDE)x * b[j]);                            \
        else                                                                  \
            for (int64_t j = 0; j < n; j++)                                   \
                c[j] = (T)(c[j] + (WIDE)x * b[j * b_col]);                    \
    }                                                                         \
                                                                              \
    static void rows_##T(void *arg, int64_t begin, int64_t end, int worker)   \
    {                                                                         \
        const int_product *p = arg;                                           \
        const cfx_gemm *g = p->g;                                             \
        const T *a = g->a, *b = g->b, *bias = g->bias, *rb = g->row_bias;     \
                                                                              \
        (void)worker;                                                         \
        for (int64_t i = begin; i < end && !g->accumulate; i++)               \
            for (int64_t j = 0; j < g->n; j++)                                \
                ((T *)g->c)[i * g->c_row + j] =                               \
                    (T)((WIDE)(bias ? bias[j] : 0) + (rb ? rb[i] : 0));       \
        for (int64_t k0 = 0; k0 < g->k; k0 += p->block)                       \
            for (int64_t i = begin; i < end && !cfx_context_stops(p->ctx);    \
                 i++)                                                         \
                for (int64_t k = k0; k < g->k && k < k0 + p->block; k++)      \
                    add_step_##T((T *)g->c + i * g->c_row,                    \
                                 a[i * g->a_row + k * g->a_col],              \
                                 b + k * g->b_row, g->b_col, g->n);           \
    }

ROWS(uint8_t, uint32_t)
ROWS(uint16_t, uint32_t)
ROWS(uint32_t, uint32_t)
ROWS(uint64_t, uint64_t)

void cfx_gemm_int(const cfx_context *ctx, cfx_context *pool, const cfx_gemm *g)
{
    int64_t b_row = g->n * (int64_t)cfx_dtype_size(g->dtype);
    int_product t = {ctx, g, ctx->caches.l2 / 4 / cfx_max64(b_row, 1) + 1};
    double row = (double)g->n * (double)g->k + 1;
    int64_t grain = row > 65536 ? 1 : (int64_t)(65536 / row) + 1;
    cfx_parallel_fn *fn;

    switch (cfx_dtype_size(g->dtype)) {
    case 1: fn = rows_uint8_t; break;
    case 2: fn = rows_uint16_t; break;
    case 4: fn = rows_uint32_t; break;
    default: fn = rows_uint64_t; break;
    }
    if (pool)
        cfx_parallel_for(pool, g->m, grain, fn, &t);
    else
        fn(&t, 0, g->m, 0);
}
