/*
 * kernel_data.h -- what the tests of kernels share: contexts of every level
 * and number of threads, arrays of small random numbers, and comparison.
 *
 * Numbers are multiples of 1/4 in [-2, 2], so that short sums are exact in
 * every type and most results can be compared exactly.
 */
#ifndef KERNEL_DATA_H
#define KERNEL_DATA_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cfx/context.h>
#include <cfx/dtype.h>

#include "base/context_impl.h"
#include "base/util.h"
#include "tests/unit/unit.h"

/* The contexts that a case runs in; the first is the reference. */
enum { MAX_CONTEXTS = 12 };

typedef struct contexts {
    int count;
    cfx_context *ctx[MAX_CONTEXTS];
} contexts;

/* Every level that this processor has, with 1, 2 and 3 threads each, for usual, small and
 * large caches; with 2 threads without products of bytes. */
CFX_INLINE void contexts_init(contexts *c)
{
    static const cfx_cpu cpus[] = {CFX_CPU_PLAIN, CFX_CPU_NEON, CFX_CPU_AVX2,
                                   CFX_CPU_AVX512};
    static const cfx_caches caches[] = {{32 << 10, 1 << 20, 32 << 20},
                                        {16 << 10, 128 << 10, 2 << 20},
                                        {256 << 10, 16 << 20, 256 << 20}};

    c->count = 0;
    for (size_t i = 0; i < sizeof(cpus) / sizeof(cpus[0]); i++) {
        for (int threads = 1; threads <= 3; threads++) {
            cfx_options o = {
                .size = sizeof(o), .threads = threads, .cpu = cpus[i]};
            cfx_context *ctx;

            if (cfx_context_new(&ctx, &o, NULL))
                break;
            if (cfx_context_cpu(ctx) != cpus[i]) {
                cfx_context_free(ctx);
                break;
            }
            ctx->caches = caches[threads - 1];
            if (threads == 2)
                ctx->features &= ~(unsigned)(CFX_FEATURE_AVX_VNNI |
                                             CFX_FEATURE_AVX512_VNNI);
            c->ctx[c->count++] = ctx;
        }
    }
    ck_assert_int_ge(c->count, 3);
}

CFX_INLINE void contexts_release(contexts *c)
{
    for (int i = 0; i < c->count; i++)
        cfx_context_free(c->ctx[i]);
}

/* ---- Random numbers ---- */

typedef struct dice {
    uint64_t key, at;
} dice;

CFX_INLINE int64_t dice_throw(dice *d, int64_t least, int64_t most)
{
    uint64_t r = cfx_random_bits(d->key, d->at++);

    return least + (int64_t)(r % (uint64_t)(most - least + 1));
}

/* Is it a real type that kernels compute in? */
CFX_INLINE bool is_computed(cfx_dtype t)
{
    return !(1 << t & CFX_STORED_TYPES) && !cfx_dtype_is_complex(t);
}

/* One of these types, each in its turn. */
CFX_INLINE cfx_dtype computed_type(int i)
{
    cfx_dtype t = CFX_BOOL;

    for (int k = -1;; t = (cfx_dtype)((t + 1) % CFX_NDTYPES))
        if (is_computed(t) && ++k == i)
            return t;
}

/* Memory of exactly n elements, so that a sanitizer sees what is beyond. */
CFX_INLINE void *array_new(cfx_dtype t, int64_t n)
{
    void *p = malloc((size_t)n * cfx_dtype_size(t) + (n == 0));

    ck_assert_ptr_nonnull(p);
    return p;
}

CFX_INLINE void *array_random(dice *d, cfx_dtype t, int64_t n)
{
    char *p = array_new(t, n);
    size_t size = cfx_dtype_size(t);

    for (int64_t i = 0; i < n; i++) {
        int64_t x = dice_throw(d, -8, 8);
        if (cfx_dtype_is_float(t))
            cfx_element_set_double(t, p + (size_t)i * size, (double)x / 4);
        else
            cfx_element_set_int(t, p + (size_t)i * size,
                                t == CFX_U8 ? x + 8 : x);
    }
    return p;
}

/* Scratch memory filled with a pattern that gives NaN where it is used before
 * it is written. */
CFX_INLINE void *array_scratch(size_t size)
{
    void *p = aligned_alloc(64, (size + 63 + (size == 0)) / 64 * 64);

    ck_assert_ptr_nonnull(p);
    memset(p, 0xff, size);
    return p;
}

/* ---- Comparison ---- */

CFX_INLINE double array_at(cfx_dtype t, const void *p, int64_t i)
{
    return cfx_element_double(t,
                              (const char *)p + (size_t)i * cfx_dtype_size(t));
}

/* Half of the last place of sums rounded once, with room for a few more. */
CFX_INLINE double rounding(cfx_dtype t)
{
    return t == CFX_F64    ? 1e-13
           : t == CFX_F32  ? 2e-6
           : t == CFX_F16  ? 1e-3
           : t == CFX_BF16 ? 8e-3
                           : 0;
}

/* `got` has the numbers of `want`, within a part `tol` of the largest. */
CFX_INLINE void assert_array(cfx_dtype t, const void *got, const double *want,
                             int64_t n, double tol, const char *what)
{
    double most = 1;

    for (int64_t i = 0; i < n; i++)
        if (fabs(want[i]) > most && !isinf(want[i]))
            most = fabs(want[i]);
    for (int64_t i = 0; i < n; i++) {
        double x = array_at(t, got, i);
        if (x == want[i] || (isnan(x) && isnan(want[i])))
            continue;
        assert_each_msg(fabs(x - want[i]) <= tol * most,
                        "%s: element %lld of %lld is %.9g, not %.9g", what,
                        (long long)i, (long long)n, x, want[i]);
    }
}

CFX_INLINE void assert_same_bits(const void *a, const void *b, size_t size,
                                 const char *what)
{
    ck_assert_msg(size == 0 || memcmp(a, b, size) == 0,
                  "%s: bits differ with the number of threads", what);
}

/* The levels have different sums, the thread counts of a level the same. */
CFX_INLINE bool same_level(const contexts *c, int i)
{
    return i > 0 &&
           cfx_context_cpu(c->ctx[i]) == cfx_context_cpu(c->ctx[i - 1]);
}

#endif
