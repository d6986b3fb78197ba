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

/* Vectors in a block; pixels of tiles with 1, 2 and 4 blocks, at most. */
enum { BV = CFX_BLOCK / VF };
#if CFX_LEVEL_IS(avx512)
enum { P1 = 14 };
#elif CFX_LEVEL_IS(plain)
enum { P1 = 4 };
#else
enum { P1 = 6 };
#endif

/* ---- The end of a tile ---- */

CFX_FORCE_INLINE vf scaled(const cfx_quantized_end *e, int at, vi s)
{
    vf b = e->bias ? vf_load(e->bias + at) : vf_zero();
    vf y = multiply_add(vf_of_vi(s), vf_load(e->scale + at), b);

    return in_range(y, e->lo, e->hi);
}

/* The sums s of a block, to y. */
CFX_FORCE_INLINE void store_block(const cfx_quantized_end *e, int block,
                                  const vi *s, char *y)
{
    CFX_UNROLL
    for (int v = 0; v < BV; v++) {
        vf f = scaled(e, block * CFX_BLOCK + v * VF, s[v]);
        if (e->rounds)
            store_bytes((uint8_t *)y + v * VF, nearest(f, e->zero_point));
        else
            vf_store((float *)(void *)y + v * VF, f);
    }
}

CFX_FORCE_INLINE void store(const cfx_quantized_tile *t, int p, int block,
                            const vi *s)
{
    int64_t n = t->columns - block * CFX_BLOCK;
    char *y = t->y + p * t->y_pixel + block * t->y_block;
    float last[CFX_BLOCK];

    if (n >= CFX_BLOCK) {
        store_block(&t->end, block, s, y);
    } else {
        store_block(&t->end, block, s, (char *)last);
        memcpy(y, last, (size_t)n * (t->end.rounds ? 1 : sizeof(float)));
    }
}

/* ---- Products ---- */

CFX_FORCE_INLINE void tile(const bool dots, const int pixels, const int blocks,
                           const cfx_quantized_tile *t)
{
    enum { STEP = CFX_BLOCK * CFX_QUAD };
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
                    for (int v = 0; v < nv; v++)
                        wv[v] = weights_of(dots, w + v / BV * t->w_block +
                                                     v % BV * VF * CFX_QUAD);
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
    CFX_UNROLL
    for (int p = 0; p < pixels; p++) {
        CFX_UNROLL
        for (int b = 0; b < blocks; b++)
            store(t, p, b, s[p] + b * BV);
    }
}

/* clang-format off */
#define CASE(dots, p, b) case p: tile(dots, p, b, t); break;
#define UP_TO_4(d, b) CASE(d, 1, b) CASE(d, 2, b) CASE(d, 3, b) CASE(d, 4, b)
#define UP_TO_6(d, b) UP_TO_4(d, b) CASE(d, 5, b) CASE(d, 6, b)
#define UP_TO_14(d, b) UP_TO_6(d, b) CASE(d, 7, b) CASE(d, 8, b) \
    CASE(d, 9, b) CASE(d, 10, b) CASE(d, 11, b) \
    CASE(d, 12, b) CASE(d, 13, b) CASE(d, 14, b)
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
    TILES(name##_2, dots, UP_TO_14, 2)                                        \
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
extern const struct cfx_quantized_kernels CFX_LEVEL_NAME(
    cfx_quantized_kernels);

const struct cfx_quantized_kernels CFX_LEVEL_NAME(cfx_quantized_kernels) = {
    .has_dots = has_dots,
    .tile = {wide_tile, dots_tile},
    .elements = &CFX_LEVEL_NAME(cfx_quantized_elements),
};
