/*
 * quantized_level.c -- tiles of products of uint8 with int8, for one level.
 *
 * A tile of sums stays in registers. Each step broadcasts four channels of each
 * pixel and multiplies them by the fours of all output channels. Where the
 * processor has no instruction for that, the numbers are widened to 16 bits:
 * products of 8 bits that are added in 16 would saturate.
 */
#include "kernel/blocked/quantized.h"
#include "kernel/blocked/quantized_vec.h"
#include "kernel/int64.h"

/* Vectors in a block; pixels of tiles with 1, 2 and 4 blocks, at most. With 14
 * pixels of 2 blocks the compiler keeps some sums in memory. */
enum { BV = CFX_BLOCK / VF };
#if CFX_LEVEL_IS(avx512)
enum { P1 = 14, P2 = 12, P4 = 6 };
#elif CFX_LEVEL_IS(plain)
enum { P1 = 4, P2 = 0, P4 = 0 };
#else
enum { P1 = 6, P2 = 0, P4 = 0 };
#endif

/* ---- The end of a tile ---- */

/* The sums of a vector of channels, which lie `step` apart, to the pixels of y. */
static void finish(const cfx_quantized_tile *t, int64_t at, const vi *s,
                   int step, char *y, int64_t y_pixel)
{
    const scaling k = scaling_at(&t->end, at);
    const int zero_point = t->end.zero_point;
    const int64_t pixels = t->pixels; /* which y might be, to the compiler */

    if (t->end.rounds)
        for (int64_t p = 0; p < pixels; p++)
            store_bytes((uint8_t *)y + p * y_pixel,
                        nearest(scaled(&k, s[p * step]), zero_point));
    else
        for (int64_t p = 0; p < pixels; p++)
            vf_store((float *)(void *)(y + p * y_pixel),
                     scaled(&k, s[p * step]));
}

/* A block, or the first n of its channels. */
static void finish_block(const cfx_quantized_tile *t, int block, const vi *s,
                         int step)
{
    const int64_t size = t->end.rounds ? 1 : sizeof(float);
    int64_t n = t->columns - block * CFX_BLOCK;
    char *y = t->y + block * t->y_block, *to = y;
    int64_t y_pixel = t->y_pixel;
    float last[P1][CFX_BLOCK];

    if (n < CFX_BLOCK) {
        to = (char *)last;
        y_pixel = sizeof(last[0]);
    }
    for (int v = 0; v < BV; v++)
        finish(t, block * CFX_BLOCK + v * VF, s + v, step, to + v * VF * size,
               y_pixel);
    for (int64_t p = 0; n < CFX_BLOCK && p < t->pixels; p++)
        memcpy(y + p * t->y_pixel, last[p], (size_t)(n * size));
}

/* ---- Products ---- */

CFX_FORCE_INLINE void tile(const bool dots, const int pixels, const int blocks,
                           const cfx_quantized_tile *t)
{
    enum { STEP = CFX_BLOCK * CFX_QUAD, AHEAD = 16 };
    const int nv = blocks * BV;
    const int8_t *w = t->w;
    vi s[P1][4 * BV];

    CFX_UNROLL
    for (int v = 0; v < nv; v++) {
        CFX_UNROLL
        for (int p = 0; p < pixels; p++)
            s[p][v] = vi_load(t->end.offset + v * VF);
    }
    for (int64_t i = 0; i < t->n[0]; i++) {
        for (int64_t j = 0; j < t->n[1]; j++) {
            for (int64_t k = 0; k < t->n[2]; k++) {
                const uint8_t *x = t->x + i * t->x_at[0] + j * t->x_at[1] +
                                   k * t->x_at[2];
                for (int64_t n = t->quads; n > 0; n--) {
                    fours wv[4 * BV];
                    CFX_UNROLL
                    for (int v = 0; v < nv; v++) {
                        const int8_t *at = w + v / BV * t->w_block +
                                           v % BV * VF * CFX_QUAD;
                        wv[v] = weights_of(dots, at);
                        if (VF > 1 && v % BV == 0)
                            CFX_PREFETCH(at + AHEAD * STEP);
                    }
                    CFX_UNROLL
                    for (int p = 0; p < pixels; p++) {
                        fours xv = fours_of(dots, x + p * t->x_pixel);
                        CFX_UNROLL
                        for (int v = 0; v < nv; v++)
                            s[p][v] = dot(dots, s[p][v], xv, wv[v]);
                    }
                    x += CFX_QUAD;
                    w += STEP;
                }
            }
        }
    }
    if (t->end.rounds && t->columns >= blocks * CFX_BLOCK) {
        const cfx_quantized_sum *sum = t->end.sum;
        const int64_t y_pixel = t->y_pixel, y_block = t->y_block;
        const int zero_point = t->end.zero_point;
        uint8_t *y = (uint8_t *)t->y;
        CFX_UNROLL
        for (int v = 0; v < nv; v++) {
            const scaling k = scaling_at(&t->end, v * VF);
            uint8_t *to = y + v / BV * y_block + v % BV * VF;
            if (sum) {
                const cfx_quantized_sum e = *sum;
                const uint8_t *from = e.b + (to - e.y);
                CFX_UNROLL
                for (int p = 0; p < pixels; p++) {
                    vi a = nearest(scaled(&k, s[p][v]), zero_point);
                    store_bytes(to + p * y_pixel,
                                sum_of(&e, vf_of_vi(a),
                                       vf_of_bytes(from + p * y_pixel)));
                }
                continue;
            }
            CFX_UNROLL
            for (int p = 0; p < pixels; p++)
                store_bytes(to + p * y_pixel,
                            nearest(scaled(&k, s[p][v]), zero_point));
        }
        return;
    }
    /* In memory, so that the loops over them need not be unrolled. */
    vi sums[P1 * 4 * BV];
    CFX_UNROLL
    for (int p = 0; p < pixels; p++) {
        CFX_UNROLL
        for (int v = 0; v < nv; v++)
            sums[p * nv + v] = s[p][v];
    }
    for (int b = 0; b < blocks; b++)
        finish_block(t, b, sums + b * BV, nv);
}

/* clang-format off */
#define CASE(dots, p, b) case p: tile(dots, p, b, t); break;
#define UP_TO_4(d, b) CASE(d, 1, b) CASE(d, 2, b) CASE(d, 3, b) CASE(d, 4, b)
#define UP_TO_6(d, b) UP_TO_4(d, b) CASE(d, 5, b) CASE(d, 6, b)
#define UP_TO_12(d, b) UP_TO_6(d, b) CASE(d, 7, b) CASE(d, 8, b) \
    CASE(d, 9, b) CASE(d, 10, b) CASE(d, 11, b) CASE(d, 12, b)
#define UP_TO_14(d, b) UP_TO_12(d, b) CASE(d, 13, b) CASE(d, 14, b)
/* clang-format on */

#define TILES(name, dots, cases, blocks)                                      \
    static void name(const cfx_quantized_tile *t)                             \
    {                                                                         \
        switch (t->pixels) {                                                  \
            cases(dots, blocks) default : break;                              \
        }                                                                     \
    }

#if CFX_LEVEL_IS(avx512)
#define ALL_TILES(name, dots)                                                 \
    TILES(name##_1, dots, UP_TO_14, 1)                                        \
    TILES(name##_2, dots, UP_TO_12, 2)                                        \
    TILES(name##_4, dots, UP_TO_6, 4)                                         \
    static void name(const cfx_quantized_tile *t)                             \
    {                                                                         \
        if (t->blocks == 4)                                                   \
            name##_4(t);                                                      \
        else if (t->blocks == 2)                                              \
            name##_2(t);                                                      \
        else                                                                  \
            name##_1(t);                                                      \
    }
#elif CFX_LEVEL_IS(plain)
#define ALL_TILES(name, dots) TILES(name, dots, UP_TO_4, 1)
#else
#define ALL_TILES(name, dots) TILES(name, dots, UP_TO_6, 1)
#endif

ALL_TILES(wide_tile, false)
#if CFX_LEVEL_IS(avx512) || CFX_LEVEL_IS(avx2)
ALL_TILES(dots_tile, true)
#else
#define dots_tile wide_tile
#endif

extern const struct cfx_quantized_elements CFX_LEVEL_NAME(
    cfx_quantized_elements);
extern const struct cfx_quantized_windows CFX_LEVEL_NAME(
    cfx_quantized_windows);
extern const struct cfx_quantized_kernels CFX_LEVEL_NAME(
    cfx_quantized_kernels);

const struct cfx_quantized_kernels CFX_LEVEL_NAME(cfx_quantized_kernels) = {
    .pixels = {[1] = P1, [2] = P2, [4] = P4},
    .has_dots = has_dots,
    .tile = {wide_tile, dots_tile},
    .elements = &CFX_LEVEL_NAME(cfx_quantized_elements),
    .windows = &CFX_LEVEL_NAME(cfx_quantized_windows),
};
