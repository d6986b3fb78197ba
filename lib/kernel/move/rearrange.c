/*
 * rearrange.c -- triangles, and what masks pick out.
 */
#include "kernel/move/index_kernel.h"

#include <math.h>
#include <string.h>

#include "base/convert.h"
#include "base/stop.h"
#include "kernel/int64.h"

enum { GRAIN = 16384 /* elements that are worth another thread */ };

/* ---- Triangles ---- */

typedef struct triangle_job {
    char *y;
    const char *x;
    size_t size;
    int64_t rows, cols, diagonal;
    bool upper;
} triangle_job;

static void run_triangle(void *arg, int64_t begin, int64_t end, int worker)
{
    const triangle_job *j = arg;

    (void)worker;
    for (; begin < end; begin++) {
        size_t at = (size_t)(begin * j->cols) * j->size;
        /* The first column past the diagonal (upper: the first on it). */
        int64_t edge = begin % j->rows + j->diagonal + !j->upper;
        size_t left, all = (size_t)j->cols * j->size;
        char *y = j->y + at;

        edge = edge < 0 ? 0 : cfx_min64(edge, j->cols);
        left = (size_t)edge * j->size;
        if (y != j->x + at)
            memcpy(y, j->x + at, all);
        memset(j->upper ? y : y + left, 0, j->upper ? left : all - left);
    }
}

void cfx_triangle(cfx_context *ctx, size_t size, bool upper, void *y,
                  const void *x, int64_t batch, int64_t rows, int64_t cols,
                  int64_t diagonal)
{
    triangle_job j = {
        .y = y,
        .x = x,
        .size = size,
        .rows = rows,
        .cols = cols,
        .upper = upper,
        /* Beyond these nothing changes, and nothing can overflow. */
        .diagonal = diagonal < -rows ? -rows : cfx_min64(diagonal, cols),
    };

    if (cols > 0)
        cfx_parallel_for(ctx, batch * rows, cols < GRAIN ? GRAIN / cols : 1,
                         run_triangle, &j);
}

/* ---- Masks ---- */

static bool is_set(cfx_dtype dtype, const void *x, int64_t i)
{
    switch (dtype) {
    case CFX_F16:
    case CFX_BF16: return (((const uint16_t *)x)[i] & 0x7fff) != 0;
    case CFX_F32: return ((const float *)x)[i] != 0;
    case CFX_F64: return ((const double *)x)[i] != 0;
    case CFX_C64: return ((const float _Complex *)x)[i] != 0;
    case CFX_C128: return ((const double _Complex *)x)[i] != 0;
    case CFX_I64: return ((const int64_t *)x)[i] != 0;
    case CFX_I32: return ((const int32_t *)x)[i] != 0;
    case CFX_I16: return ((const int16_t *)x)[i] != 0;
    default: return ((const uint8_t *)x)[i] != 0;
    }
}

int64_t cfx_nonzero_count(cfx_context *ctx, cfx_dtype dtype, const void *x,
                          int64_t n)
{
    int64_t count = 0;

    for (int64_t i = 0; i < n && !cfx_context_stops_at(ctx, i); i++)
        count += is_set(dtype, x, i);
    return count;
}

void cfx_kernel_nonzero(cfx_context *ctx, cfx_dtype dtype, int64_t *y,
                        const void *x, int rank, const int64_t *shape)
{
    int64_t at[CFX_ITER_RANK] = {0}, n = 1;

    for (int i = 0; i < rank; i++)
        n *= shape[i];
    for (int64_t i = 0; i < n && !cfx_context_stops_at(ctx, i); i++) {
        if (is_set(dtype, x, i))
            for (int k = 0; k < rank; k++)
                *y++ = at[k];
        for (int k = rank - 1; k >= 0; k--) {
            if (++at[k] < shape[k])
                break;
            at[k] = 0;
        }
    }
}

void cfx_kernel_masked_select(cfx_context *ctx, size_t size, void *y_,
                              const void *x_, const uint8_t *mask, int64_t n)
{
    char *y = y_;
    const char *x = x_;

    for (int64_t i = 0; i < n && !cfx_context_stops_at(ctx, i); i++, x += size)
        if (mask[i]) {
            memcpy(y, x, size);
            y += size;
        }
}

bool cfx_kernel_masked_scatter(cfx_context *ctx, size_t size, void *y_,
                               const uint8_t *mask, const void *src_,
                               int64_t nsrc, int64_t n)
{
    char *y = y_;
    const char *src = src_;

    for (int64_t i = 0; i < n && !cfx_context_stops_at(ctx, i); i++, y += size)
        if (mask[i]) {
            if (nsrc-- <= 0)
                return false;
            memcpy(y, src, size);
            src += size;
        }
    return true;
}

/* ---- Search ---- */

typedef struct search_job {
    int64_t *y;
    const void *sorted, *value;
    cfx_dtype dtype;
    int64_t n, count;
    bool shared, right;
} search_job;

/* Binary search for the index at which v keeps n elements sorted. NaN, which cannot be
 * compared, is skipped, as in PyTorch. The next half is selected without a branch. */
#define SEARCH(name, T, as_number)                                            \
    static void name(const search_job *j, int64_t begin, int64_t end)         \
    {                                                                         \
        const bool right = j->right;                                          \
        for (; begin < end; begin++) {                                        \
            int64_t first = j->shared ? 0 : begin / j->count * j->n;          \
            const T *x = (const T *)j->sorted + first;                        \
            const T v = ((const T *)j->value)[begin];                         \
            int64_t lo = 0, hi = j->n;                                        \
            while (lo < hi) {                                                 \
                int64_t mid = lo + (hi - lo) / 2;                             \
                bool above = right ? as_number(v) < as_number(x[mid])         \
                                   : as_number(x[mid]) >= as_number(v);       \
                lo = above ? lo : mid + 1;                                    \
                hi = above ? mid : hi;                                        \
            }                                                                 \
            j->y[begin] = lo;                                                 \
        }                                                                     \
    }

#define ITSELF(x) (x)
SEARCH(search_i64, int64_t, ITSELF)
SEARCH(search_i32, int32_t, ITSELF)
SEARCH(search_i16, int16_t, ITSELF)
SEARCH(search_i8, int8_t, ITSELF)
SEARCH(search_u8, uint8_t, ITSELF)
SEARCH(search_f32, float, ITSELF)
SEARCH(search_f64, double, ITSELF)
SEARCH(search_f16, uint16_t, cfx_half_to_float)
SEARCH(search_bf16, uint16_t, cfx_bf16_to_f32)

static void run_search(void *arg, int64_t begin, int64_t end, int worker)
{
    const search_job *j = arg;

    (void)worker;
    switch (j->dtype) {
    case CFX_I64: search_i64(j, begin, end); break;
    case CFX_I32: search_i32(j, begin, end); break;
    case CFX_I16: search_i16(j, begin, end); break;
    case CFX_I8: search_i8(j, begin, end); break;
    case CFX_U8:
    case CFX_BOOL: search_u8(j, begin, end); break;
    case CFX_F32: search_f32(j, begin, end); break;
    case CFX_F64: search_f64(j, begin, end); break;
    case CFX_F16: search_f16(j, begin, end); break;
    default: search_bf16(j, begin, end); break;
    }
}

void cfx_kernel_searchsorted(cfx_context *ctx, cfx_dtype dtype, int64_t *y,
                             const void *sorted, const void *value,
                             int64_t outer, int64_t n, int64_t count,
                             bool shared, bool right)
{
    search_job j = {
        .y = y,
        .sorted = sorted,
        .value = value,
        .dtype = dtype,
        .n = n,
        .count = count,
        .shared = shared,
        .right = right,
    };

    cfx_parallel_for(ctx, outer * count, 1024, run_search, &j);
}
