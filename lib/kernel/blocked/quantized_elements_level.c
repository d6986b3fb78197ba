/*
 * quantized_elements_level.c -- sums, rounding and means of uint8, for one level.
 */
#include "kernel/blocked/quantized.h"
#include "kernel/blocked/quantized_vec.h"
#include "kernel/int64.h"
#include "kernel/vec/simd.h"

/* Elements that are rounded together, where all fit into int32. */
enum { MANY = GROUP * CFX_BLOCK };

/* ---- Sums ---- */

CFX_FORCE_INLINE void add_vector(const cfx_quantized_sum *s, const uint8_t *a,
                                 const uint8_t *b, uint8_t *y)
{
    store_bytes(y, sum_of(s, vf_of_bytes(a), vf_of_bytes(b)));
}

CFX_FORCE_INLINE void add_many(const cfx_quantized_sum *s,
                               cfx_quantized_range r, const uint8_t *a,
                               const uint8_t *b, uint8_t *y)
{
    vi v[MANY / VF];

    CFX_UNROLL
    for (int i = 0; i < MANY / VF; i++)
        v[i] = vi_of_vf(
            add_terms(s, vf_of_bytes(a + i * VF), vf_of_bytes(b + i * VF)));
    store_pixels(false, GROUP, v, s->zero_point, r, y);
}

static void add(const cfx_quantized_sum *sum, int64_t from, int64_t to)
{
    const cfx_quantized_sum copy = *sum, *s = &copy; /* which y is not */
    const cfx_quantized_range r = cfx_quantized__range_of(s->lo, s->hi,
                                                          s->zero_point);
    const bool fits = cfx_quantized__sum_fits(s);
    uint8_t a[VF] = {0}, b[VF] = {0}, y[VF];
    int64_t i = from;

    for (; fits && i + MANY <= to; i += MANY)
        add_many(s, r, s->a + i, s->b + i, s->y + i);
    for (; i + VF <= to; i += VF)
        add_vector(s, s->a + i, s->b + i, s->y + i);
    if (i < to) {
        memcpy(a, s->a + i, (size_t)(to - i));
        memcpy(b, s->b + i, (size_t)(to - i));
        add_vector(s, a, b, y);
        memcpy(s->y + i, y, (size_t)(to - i));
    }
}

/* ---- Floats ---- */

CFX_FORCE_INLINE void quantize_vector(const cfx_quantized_floats *m, vf x,
                                      uint8_t *y)
{
    vf v = in_range(vf_mul(x, vf_set1(m->scale)), m->lo, m->hi);

    store_bytes(y, nearest(v, m->zero_point));
}

static void quantize(const cfx_quantized_floats *f, const float *x, uint8_t *y,
                     int64_t n)
{
    const cfx_quantized_floats copy = *f, *m = &copy; /* which y is not */
    uint8_t last[VF];
    int64_t i = 0;

    for (; i + VF <= n; i += VF)
        quantize_vector(m, vf_load(x + i), y + i);
    if (i < n) {
        quantize_vector(m, vf_load_n(x + i, n - i), last);
        memcpy(y + i, last, (size_t)(n - i));
    }
}

CFX_FORCE_INLINE vf dequantize_vector(const cfx_quantized_floats *m,
                                      const uint8_t *y)
{
    return vf_mul(vf_sub(vf_of_bytes(y), vf_set1((float)m->zero_point)),
                  vf_set1(m->scale));
}

static void dequantize(const cfx_quantized_floats *f, const uint8_t *y,
                       float *x, int64_t n)
{
    const cfx_quantized_floats m = *f;
    uint8_t last[VF] = {0};
    int64_t i = 0;

    for (; i + VF <= n; i += VF)
        vf_store(x + i, dequantize_vector(&m, y + i));
    if (i < n) {
        memcpy(last, y + i, (size_t)(n - i));
        vf_store_n(x + i, n - i, dequantize_vector(&m, last));
    }
}

static void dequantize_block(const cfx_quantized_floats *f, const uint8_t *y,
                             int64_t row, float *x, int64_t rows, int64_t n)
{
    const cfx_quantized_floats m = *f;
    uint8_t last[CFX_BLOCK];

    memset(last, m.zero_point, sizeof(last));
    for (int64_t i = 0; i < rows; i++, y += row, x += CFX_BLOCK) {
        const uint8_t *from = y;
        if (n < CFX_BLOCK)
            from = memcpy(last, y, (size_t)n);
        for (int v = 0; v < CFX_BLOCK; v += VF)
            vf_store(x + v, dequantize_vector(&m, from + v));
    }
}

CFX_FORCE_INLINE void fours_side_by_side(const uint8_t *x, int64_t row,
                                         uint8_t *y, const int64_t step,
                                         int64_t n)
{
    CFX_SIMD
    for (int64_t i = 0; i < n; i++) {
        y[i * step] = x[i];
        y[i * step + 1] = x[row + i];
        y[i * step + 2] = x[2 * row + i];
        y[i * step + 3] = x[3 * row + i];
    }
}

static void interleave(const uint8_t *x, int64_t row, uint8_t *y, int64_t step,
                       int64_t n)
{
    if (step == CFX_QUAD)
        fours_side_by_side(x, row, y, CFX_QUAD, n);
    else
        fours_side_by_side(x, row, y, step, n);
}

/* ---- Means ---- */

static void mean(const cfx_quantized_mean *m, int64_t plane)
{
    const uint8_t *x = m->x + plane * m->pixels * CFX_BLOCK;
    int32_t sum[CFX_BLOCK] = {0};

    for (int64_t p = 0; p < m->pixels; p++, x += CFX_BLOCK) {
        CFX_SIMD
        for (int c = 0; c < CFX_BLOCK; c++)
            sum[c] += x[c];
    }
    for (int v = 0; v < CFX_BLOCK; v += VF) {
        vf y = multiply_add(vf_of_vi(vi_load(sum + v)), vf_set1(m->scale),
                            vf_set1(m->bias));
        store_bytes(m->y + plane * CFX_BLOCK + v,
                    nearest(in_range(y, m->lo, m->hi), m->zero_point));
    }
}

/* ---- Functions ---- */

static void lookup_each(const uint8_t *table, const uint8_t *x, uint8_t *y,
                        int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = table[x[i]];
}

#if defined(MOVES_NEED)
static void lookup_moving(const uint8_t *table, const uint8_t *x, uint8_t *y,
                          int64_t n)
{
    const vi parts[] = {vi_load(table), vi_load(table + 64),
                        vi_load(table + 128), vi_load(table + 192)};
    int64_t i = 0;

    for (; i + 64 <= n; i += 64)
        _mm512_storeu_si512(y + i, lookup(parts, vi_load(x + i)));
    lookup_each(table, x + i, y + i, n - i);
}
#else
#define lookup_moving lookup_each
#define MOVES_NEED CFX_FEATURE_NEVER
#endif

/* x times k plus c, times weight plus bias. */
CFX_FORCE_INLINE void norm_vector(const cfx_quantized_norm *m, vf k, vf c,
                                  const uint8_t *x, vf weight, vf bias,
                                  uint8_t *y)
{
    vf v = multiply_add(vf_of_bytes(x), k, c);

    v = in_range(multiply_add(v, weight, bias), m->lo, m->hi);
    store_bytes(y, nearest(v, m->zero_point));
}

/* Like norm_vector, for MANY elements; all results fit into int32. */
CFX_FORCE_INLINE void norm_many(const cfx_quantized_norm *m, vf k, vf c,
                                const uint8_t *x, const float *weight,
                                const float *bias, uint8_t *y)
{
    vi v[MANY / VF];

    CFX_UNROLL
    for (int i = 0; i < MANY / VF; i++) {
        const vf a = multiply_add(vf_of_bytes(x + i * VF), k, c);
        v[i] = vi_of_vf(
            multiply_add(a, vf_load(weight + i * VF), vf_load(bias + i * VF)));
    }
    store_pixels(false, GROUP, v, m->zero_point, m->range, y);
}

/* The sum of n bytes, and that of their squares. */
CFX_FORCE_INLINE void sums_of(const uint8_t *x, int64_t n, int32_t *sum,
                              int32_t *squares)
{
    enum { STEP = VF * CFX_QUAD };
    static const uint8_t ones[CFX_QUAD] = {1, 1, 1, 1};
    int32_t each[2][VF] = {{0}};
    vi s = vi_load(each[0]), q = vi_load(each[1]);
    int64_t i = 0;

    for (; i + STEP <= n; i += STEP) {
        CFX_UNROLL
        for (int part = 0; part < PARTS(BYTES); part++) {
            const factors v = byte_factor(part, x + i);
            s = dot(BYTES, s, v, pixel_factor(BYTES, part, ones));
            q = dot(BYTES, q, v, v);
        }
    }
    memcpy(each[0], &s, sizeof(s));
    memcpy(each[1], &q, sizeof(q));
    *sum = *squares = 0;
    for (int j = 0; j < VF; j++) {
        *sum += each[0][j];
        *squares += each[1][j];
    }
    for (; i < n; i++) {
        *sum += x[i];
        *squares += x[i] * x[i];
    }
}

/* Sums of integers are exact, so that all levels round the same numbers. */
static void norm(const cfx_quantized_norm *m, int64_t row)
{
    const uint8_t *x = m->x + row * m->columns;
    const float *weight = m->weight, *bias = m->bias;
    uint8_t *y = m->y + row * m->columns, last[VF] = {0};
    const double n = (double)m->columns;
    int32_t sum, squares;
    int64_t i = 0;

    sums_of(x, m->columns, &sum, &squares);
    const double mean = sum / n, variance = n * squares - (double)sum * sum;
    const double scale = 1 / sqrt(variance / (n * n) + m->eps);
    const vf k = vf_set1((float)scale), c = vf_set1((float)(-mean * scale));
    for (; m->fits && i + MANY <= m->columns; i += MANY)
        norm_many(m, k, c, x + i, weight + i, bias + i, y + i);
    for (; i + VF <= m->columns; i += VF)
        norm_vector(m, k, c, x + i, vf_load(weight + i), vf_load(bias + i),
                    y + i);
    if (i < m->columns) {
        const int64_t left = m->columns - i;
        memcpy(last, x + i, (size_t)left);
        norm_vector(m, k, c, last, vf_load_n(weight + i, left),
                    vf_load_n(bias + i, left), last);
        memcpy(y + i, last, (size_t)left);
    }
}

/* ---- Columns ---- */

static void center(uint8_t *w, int64_t quads, int factor, int32_t *offset)
{
    enum { STEP = CFX_BLOCK * CFX_QUAD };
    static const uint8_t ones[CFX_QUAD] = {1, 1, 1, 1};
    int32_t sum[CFX_BLOCK] = {0};
    vi s[BV];

    for (int v = 0; v < BV; v++)
        s[v] = vi_load(sum + v * VF);
    CFX_SIMD
    for (int64_t i = 0; i < quads * STEP; i++)
        w[i] ^= 0x80;
    for (int64_t i = 0; i < quads; i++, w += STEP) {
        for (int v = 0; v < BV; v++) {
            const int8_t *at = (const int8_t *)w + v * VF * CFX_QUAD;
            CFX_UNROLL
            for (int part = 0; part < PARTS(BYTES); part++)
                s[v] = dot(BYTES, s[v], pixel_factor(BYTES, part, ones),
                           weight_factor(BYTES, part, at));
        }
    }
    for (int v = 0; v < BV; v++)
        memcpy(sum + v * VF, &s[v], sizeof(s[v]));
    for (int i = 0; i < CFX_BLOCK; i++)
        offset[i] = factor * sum[i];
}

/* ---- Rows ---- */

static void scale_row(const cfx_quantized_row_end *end, float x_scale,
                      int zero_point, float *y)
{
    const int64_t n = end->columns;
    const int32_t *sums = end->sums;
    const float *scale = end->scale, *bias = end->bias;
    const float zero = (float)zero_point;

    CFX_SIMD
    for (int64_t i = 0; i < n; i++)
        y[i] = (y[i] - zero * (float)sums[i]) * (x_scale * scale[i]);
    CFX_SIMD
    for (int64_t i = 0; bias && i < n; i++)
        y[i] += bias[i];
}

static bool are_below(const float *x, float limit, int64_t n)
{
    int large = 0;

    CFX_SIMD
    for (int64_t i = 0; i < n; i++)
        large |= !(fabsf(x[i]) < limit);
    return !large;
}

extern const struct cfx_quantized_elements CFX_LEVEL_NAME(
    cfx_quantized_elements);

const struct cfx_quantized_elements CFX_LEVEL_NAME(cfx_quantized_elements) = {
    .add = add,
    .scale_row = scale_row,
    .quantize = quantize,
    .interleave = interleave,
    .dequantize = dequantize,
    .dequantize_block = dequantize_block,
    .mean = mean,
    .lookup = {lookup_each, lookup_moving},
    .moves = MOVES_NEED,
    .norm = norm,
    .center = center,
    .are_below = are_below,
};
