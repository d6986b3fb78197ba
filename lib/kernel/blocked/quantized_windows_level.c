/*
 * quantized_windows_level.c -- windows of each channel of uint8, for one level:
 * maxima, and products with filters of one channel.
 *
 * Products are computed in floats, which are exact: a sum of CFX_QUANTIZED_TAPS
 * products is less than 2^24.
 */
#include "kernel/blocked/quantized.h"
#include "kernel/blocked/quantized_vec.h"
#include "kernel/vec/simd.h"

/* Vectors in a block; pixels at a time. */
enum { BV = CFX_BLOCK / VF };
#if CFX_LEVEL_IS(avx512)
enum { PIXELS = 8 };
#elif CFX_LEVEL_IS(plain)
enum { PIXELS = 2 };
#else
enum { PIXELS = 4 };
#endif

/* ---- Maxima ---- */

static void max(const cfx_quantized_row *r)
{
    for (int64_t p = 0; p < r->pixels; p++) {
        const uint8_t *x = r->x + p * r->x_pixel;
        uint8_t most[CFX_BLOCK] = {0};
        for (int64_t i = 0; i < r->n[0]; i++) {
            for (int64_t k = 0; k < r->n[1]; k++) {
                const uint8_t *at = x + i * r->x_at[0] + k * r->x_at[1];
                CFX_SIMD
                for (int c = 0; c < CFX_BLOCK; c++)
                    most[c] = at[c] > most[c] ? at[c] : most[c];
            }
        }
        memcpy(r->y + p * r->y_pixel, most, CFX_BLOCK);
    }
}

/* ---- Products ---- */

CFX_FORCE_INLINE void products(const cfx_quantized_row *r, int64_t first,
                               const int pixels)
{
    const uint8_t *x = r->x + first * r->x_pixel;
    char *y = r->y + first * r->y_pixel;
    vf s[PIXELS][BV];

    for (int p = 0; p < pixels; p++)
        for (int v = 0; v < BV; v++)
            s[p][v] = vf_zero();
    for (int64_t i = 0; i < r->n[0]; i++) {
        for (int64_t k = 0; k < r->n[1]; k++) {
            const uint8_t *at = x + i * r->x_at[0] + k * r->x_at[1];
            const float *w = r->w + i * r->w_row + k * CFX_BLOCK;
            CFX_UNROLL
            for (int v = 0; v < BV; v++) {
                vf wv = vf_load(w + v * VF);
                CFX_UNROLL
                for (int p = 0; p < pixels; p++)
                    s[p][v] = vf_fma(vf_of_bytes(at + p * r->x_pixel + v * VF),
                                     wv, s[p][v]);
            }
        }
    }
    for (int v = 0; v < BV; v++) {
        const scaling c = scaling_at(&r->end, v * VF);
        const vi offset = vi_load(r->end.offset + v * VF);
        for (int p = 0; p < pixels; p++) {
            vf f = scaled(&c, vi_sum(vi_of_vf(s[p][v]), offset));
            if (r->end.rounds)
                store_bytes((uint8_t *)y + p * r->y_pixel + v * VF,
                            nearest(f, r->end.zero_point));
            else
                vf_store((float *)(void *)(y + p * r->y_pixel) + v * VF, f);
        }
    }
}

static void depthwise(const cfx_quantized_row *r)
{
    int64_t p = 0;

    for (; p + PIXELS <= r->pixels; p += PIXELS)
        products(r, p, PIXELS);
    if (PIXELS > 4 && p + 4 <= r->pixels) {
        products(r, p, 4);
        p += 4;
    }
    for (; p + 2 <= r->pixels; p += 2)
        products(r, p, 2);
    if (p < r->pixels)
        products(r, p, 1);
}

extern const struct cfx_quantized_windows CFX_LEVEL_NAME(
    cfx_quantized_windows);

const struct cfx_quantized_windows CFX_LEVEL_NAME(cfx_quantized_windows) = {
    .max = max,
    .depthwise = depthwise,
};
