/*
 * reduce_complex.c -- products of complex numbers. Their sums and means are
 * those of their parts.
 */
#include <string.h>

#include "base/stop.h"
#include "kernel/reduce/reduce.h"

typedef struct complex_number {
    double re, im;
} complex_number;

static complex_number read(cfx_dtype dtype, const char *p)
{
    double part[2];

    cfx_element_complex(dtype, p, part);
    return (complex_number){part[0], part[1]};
}

void cfx_reduce_complex_prod(cfx_context *ctx, cfx_dtype dtype, void *y,
                             const void *x, int64_t outer, int64_t n,
                             int64_t inner)
{
    int64_t size = (int64_t)cfx_dtype_size(dtype);

    for (int64_t i = 0; i < outer * inner && !cfx_context_stops(ctx); i++) {
        const char *p = (const char *)x +
                        (i / inner * n * inner + i % inner) * size;
        complex_number product = {1, 0};

        for (int64_t k = 0; k < n && !cfx_context_stops_at(ctx, k); k++) {
            complex_number a = product, b = read(dtype, p + k * inner * size);
            product.re = a.re * b.re - a.im * b.im;
            product.im = a.re * b.im + a.im * b.re;
        }
        cfx_element_set_complex(dtype, (char *)y + i * size,
                                (double[]){product.re, product.im});
    }
}
