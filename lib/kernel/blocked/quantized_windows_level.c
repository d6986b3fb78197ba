/*
 * quantized_windows_level.c -- windows of each channel of uint8, for one level:
 * maxima, and products with filters of one channel.
 *
 * Products are computed in floats, which are exact: a sum of CFX_QUANTIZED_TAPS
 * products is less than 2^24. Where the processor multiplies fours of bytes, these
 * are neighbours in a row.
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
        vb most = vb_zero();
        for (int64_t i = 0; i < r->n[0]; i++) {
            for (int64_t k = 0; k < r->n[1]; k++) {
                const uint8_t *at = x + i * r->x_at[0] + k * r->x_at[1];
                most = vb_max(most, vb_load(at));
            }
        }
        vb_store(r->y + p * r->y_pixel, most);
    }
}

/* ---- Products ---- */

/* The sums of vector v of the channels to pixels of y. */
CFX_FORCE_INLINE void finish(const cfx_quantized_row *r, int v, const vi *s,
                             char *y, const int pixels)
{
    const scaling c = scaling_at(&r->end, v * VF);

    if (r->end.rounds) {
        CFX_UNROLL
        for (int p = 0; p < pixels; p++)
            store_bytes((uint8_t *)y + p * r->y_pixel + v * VF,
                        nearest(scaled(&c, s[p]), r->end.zero_point));
        return;
    }
    CFX_UNROLL
    for (int p = 0; p < pixels; p++)
        vf_store((float *)(void *)(y + p * r->y_pixel) + v * VF,
                 scaled(&c, s[p]));
}

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
            const float *w = r->w_float + i * r->w_row + k * CFX_BLOCK;
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
        const vi offset = vi_load(r->end.offset + v * VF);
        vi sums[PIXELS];
        CFX_UNROLL
        for (int p = 0; p < pixels; p++)
            sums[p] = vi_sum(vi_of_vf(s[p][v]), offset);
        finish(r, v, sums, y, pixels);
    }
}

#if defined(HAVE_BYTE_MOVES)
CFX_FORCE_INLINE void dots(const cfx_quantized_row *r, int64_t first,
                           const int pixels)
{
    const vi order = order_of_pixels();
    vi s[PIXELS];

    CFX_UNROLL
    for (int p = 0; p < pixels; p++)
        s[p] = vi_load(r->end.offset);
    for (int64_t k = 0; k < r->n[1]; k += CFX_QUAD) {
        const uint8_t *x = r->x + first * r->x_pixel + k * CFX_BLOCK;
        const int8_t *w = r->w + k * CFX_BLOCK;
        for (int64_t i = 0; i < r->n[0]; i++) {
            const fours wv = fours_of_pixels(w, r->n[1] - k, order);
            CFX_UNROLL
            for (int p = 0; p < pixels; p++)
                s[p] = dot(
                    true, s[p],
                    fours_of_pixels(x + p * r->x_pixel, r->n[1] - k, order),
                    wv);
            x += r->x_at[0];
            w += r->w_row;
        }
    }
    finish(r, 0, s, r->y + first * r->y_pixel, pixels);
}
#endif

/* clang-format off */
#define CASE(some, n) case n: some(r, p, n); break;
#if CFX_LEVEL_IS(plain)
#define CASES(some) CASE(some, 1)
#elif CFX_LEVEL_IS(avx512)
#define CASES(some) CASE(some, 1) CASE(some, 2) CASE(some, 3) \
    CASE(some, 4) CASE(some, 5) CASE(some, 6) CASE(some, 7)
#else
#define CASES(some) CASE(some, 1) CASE(some, 2) CASE(some, 3)
#endif
/* clang-format on */

/* The copy is no memory that a result may change. */
#define ROW(name, some)                                                       \
    static void name(const cfx_quantized_row *row)                            \
    {                                                                         \
        const cfx_quantized_row copy = *row, *r = &copy;                      \
        int64_t p = 0;                                                        \
                                                                              \
        for (; p + PIXELS <= r->pixels; p += PIXELS)                          \
            some(r, p, PIXELS);                                               \
        switch (r->pixels - p) {                                              \
            CASES(some) default : break;                                      \
        }                                                                     \
    }

ROW(depthwise, products)
#if defined(HAVE_BYTE_MOVES)
ROW(row_of_dots, dots)

static bool has_row_of_dots(void)
{
    return has_dots() && has_byte_moves();
}
#else
#define row_of_dots NULL
#define has_row_of_dots NULL
#endif

extern const struct cfx_quantized_windows CFX_LEVEL_NAME(
    cfx_quantized_windows);

const struct cfx_quantized_windows CFX_LEVEL_NAME(cfx_quantized_windows) = {
    .max = max,
    .depthwise = depthwise,
    .depthwise_dots = row_of_dots,
    .has_depthwise_dots = has_row_of_dots,
};
