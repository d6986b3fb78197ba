/*
 * quantized_elements_level.c -- sums, rounding and means of uint8, for one level.
 */
#include "kernel/blocked/quantized.h"
#include "kernel/blocked/quantized_vec.h"
#include "kernel/int64.h"
#include "kernel/vec/simd.h"

/* ---- Sums ---- */

CFX_FORCE_INLINE void add_vector(const cfx_quantized_sum *s, const uint8_t *a,
                                 const uint8_t *b, uint8_t *y)
{
    vf v = multiply_add(vf_of_bytes(b), vf_set1(s->scale[1]),
                        vf_set1(s->bias));

    v = multiply_add(vf_of_bytes(a), vf_set1(s->scale[0]), v);
    store_bytes(y, nearest(in_range(v, s->lo, s->hi), s->zero_point));
}

static void add(const cfx_quantized_sum *s, int64_t from, int64_t to)
{
    uint8_t a[VF] = {0}, b[VF] = {0}, y[VF];
    int64_t i = from;

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

CFX_FORCE_INLINE void quantize_vector(const cfx_quantized_image *m, vf x,
                                      uint8_t *y)
{
    vf v = in_range(vf_mul(x, vf_set1(m->scale)), m->lo, m->hi);

    store_bytes(y, nearest(v, m->zero_point));
}

static void quantize(const cfx_quantized_image *m, const float *x, uint8_t *y,
                     int64_t n)
{
    uint8_t last[VF];
    int64_t i = 0;

    for (; i + VF <= n; i += VF)
        quantize_vector(m, vf_load(x + i), y + i);
    if (i < n) {
        quantize_vector(m, vf_load_n(x + i, n - i), last);
        memcpy(y + i, last, (size_t)(n - i));
    }
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

extern const struct cfx_quantized_elements CFX_LEVEL_NAME(
    cfx_quantized_elements);

const struct cfx_quantized_elements CFX_LEVEL_NAME(cfx_quantized_elements) = {
    .add = add,
    .quantize = quantize,
    .mean = mean,
};
