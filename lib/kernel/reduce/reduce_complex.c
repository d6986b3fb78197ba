/*
 * reduce_complex.c -- products of complex numbers, and scans that multiply them
 * or add their exponentials. Sums and means are those of their parts.
 *
 * All is computed in complex128.
 */
#include <complex.h>
#include <math.h>
#include <stdbool.h>

#include "base/stop.h"
#include "kernel/reduce/reduce_kernel.h"

/* <complex.h> would take the name of the unit. */
#undef I

#define T double _Complex
#define P double
#define M(f) f##_c128
#define X(f) f
#define CX(f) c##f
#include "kernel/vec/math_complex.h"

typedef T join_fn(T, T);

static T read(cfx_dtype dtype, const char *p)
{
    double part[2];

    cfx_element_complex(dtype, p, part);
    return M(make)(part[0], part[1]);
}

static void write(cfx_dtype dtype, char *p, T v)
{
    cfx_element_set_complex(dtype, p, (double[]){M(re)(v), M(im)(v)});
}

/* Where row i of (outer, n, inner) begins, in elements. */
static int64_t row_at(int64_t i, int64_t n, int64_t inner)
{
    return i / inner * n * inner + i % inner;
}

void cfx_reduce_complex_prod(cfx_context *ctx, cfx_dtype dtype, void *y,
                             const void *x, int64_t outer, int64_t n,
                             int64_t inner)
{
    int64_t size = (int64_t)cfx_dtype_size(dtype);

    for (int64_t i = 0; i < outer * inner && !cfx_context_stops(ctx); i++) {
        const char *p = (const char *)x + row_at(i, n, inner) * size;
        T product = 1;

        for (int64_t k = 0; k < n && !cfx_context_stops_at(ctx, k); k++)
            product = M(mul)(product, read(dtype, p + k * inner * size));
        write(dtype, (char *)y + i * size, product);
    }
}

void cfx_cumulate_complex(cfx_context *ctx, cfx_scan op, cfx_dtype dtype,
                          void *y, const void *x, int64_t outer, int64_t n,
                          int64_t inner)
{
    join_fn *join = op == CFX_SCAN_PROD ? M(mul) : M(logaddexp);
    int64_t size = (int64_t)cfx_dtype_size(dtype);

    for (int64_t i = 0; i < outer * inner && !cfx_context_stops(ctx); i++) {
        int64_t at = row_at(i, n, inner);
        T so_far = 0;

        for (int64_t k = 0; k < n && !cfx_context_stops_at(ctx, k); k++) {
            int64_t p = (at + k * inner) * size;
            T v = read(dtype, (const char *)x + p);

            so_far = k ? join(so_far, v) : v;
            write(dtype, (char *)y + p, so_far);
        }
    }
}
