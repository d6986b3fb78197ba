/*
 * blocked_level.c -- tiles of products with packed weights, for one level.
 *
 * A tile of y stays in registers for the whole sum. Each step broadcasts a number
 * of each pixel and multiplies it by the vectors of all blocks.
 */
#include "kernel/blocked/finish.h"
#include "kernel/int64.h"
#include "kernel/vec/vec.h"

/* Vectors in a block; pixels of tiles with 1, 2 and 4 blocks. */
enum { BV = CFX_BLOCK / VF };
#if CFX_LEVEL_IS(avx512)
enum { P1 = 14, P2 = 14, P4 = 6 };
#elif CFX_LEVEL_IS(avx2)
enum { P1 = 6, P2 = 0, P4 = 0 };
#elif CFX_LEVEL_IS(neon)
enum { P1 = 6, P2 = 0, P4 = 0 };
#else
enum { P1 = 4, P2 = 0, P4 = 0 };
#endif

/* ---- The end of a tile ---- */

/* A block's pixels lie side by side, or a pixel's blocks do. */
static void activate_tile(const cfx_blocked_tile *t)
{
    if (t->y_pixel == CFX_BLOCK) {
        for (int64_t b = 0; b < t->blocks; b++)
            activate(&t->end, t->y + b * t->y_block, t->pixels * CFX_BLOCK);
    } else {
        for (int64_t p = 0; p < t->pixels; p++)
            activate(&t->end, t->y + p * t->y_pixel, t->blocks * CFX_BLOCK);
    }
}

/* ---- Products ---- */

CFX_FORCE_INLINE void tile(const int pixels, const int blocks,
                           const cfx_blocked_tile *t)
{
    const int nv = blocks * BV;
    vf s[P1][4 * BV];

    CFX_UNROLL
    for (int v = 0; v < nv; v++) {
        vf b = t->end.bias ? vf_load(t->end.bias + v * VF) : vf_zero();
        CFX_UNROLL
        for (int p = 0; p < pixels; p++) {
            s[p][v] = b;
            if (t->end.add)
                s[p][v] = vf_add(b,
                                 vf_load(t->end.add + p * t->add_pixel +
                                         v / BV * t->add_block + v % BV * VF));
        }
    }
    for (int64_t i = 0; i < t->n[0]; i++) {
        for (int64_t j = 0; j < t->n[1]; j++) {
            const float *w = t->w + i * t->w_at[0] + j * t->w_at[1];
            for (int64_t k = 0; k < t->n[2]; k++) {
                const float *x = t->x + i * t->x_at[0] + j * t->x_at[1] +
                                 k * t->x_at[2];
                for (int64_t n = t->steps; n > 0; n--) {
                    vf wv[4 * BV];
                    CFX_UNROLL
                    for (int v = 0; v < nv; v++) {
                        const float *at = w + v / BV * t->w_block +
                                          v % BV * VF;
                        wv[v] = vf_load(at);
                        if (VF > 1 && v % BV == 0)
                            CFX_PREFETCH(at + t->ahead);
                    }
                    CFX_UNROLL
                    for (int p = 0; p < pixels; p++) {
                        vf xv = vf_set1(x[p * t->x_pixel]);
                        CFX_UNROLL
                        for (int v = 0; v < nv; v++)
                            s[p][v] = vf_fma(xv, wv[v], s[p][v]);
                    }
                    x += t->x_step;
                    w += CFX_BLOCK;
                }
            }
        }
    }
    CFX_UNROLL
    for (int p = 0; p < pixels; p++) {
        CFX_UNROLL
        for (int v = 0; v < nv; v++) {
            vf_store(t->y + p * t->y_pixel + v / BV * t->y_block + v % BV * VF,
                     finish(s[p][v], &t->end));
        }
    }
}

/* clang-format off */
#define CASE(p, blocks) case p: tile(p, blocks, t); break;
#define UP_TO_4(b) CASE(1, b) CASE(2, b) CASE(3, b) CASE(4, b)
#define UP_TO_6(b) UP_TO_4(b) CASE(5, b) CASE(6, b)
#define UP_TO_14(b) UP_TO_6(b) CASE(7, b) CASE(8, b) CASE(9, b) \
    CASE(10, b) CASE(11, b) \
    CASE(12, b) CASE(13, b) CASE(14, b)
/* clang-format on */

#define TILES(name, cases, blocks)                                            \
    static void name(const cfx_blocked_tile *t)                               \
    {                                                                         \
        switch (t->pixels) {                                                  \
            cases(blocks) default : break;                                    \
        }                                                                     \
    }

#if CFX_LEVEL_IS(avx512)
TILES(tiles_1, UP_TO_14, 1)
TILES(tiles_2, UP_TO_14, 2)
TILES(tiles_4, UP_TO_6, 4)
#elif CFX_LEVEL_IS(plain)
TILES(tiles_1, UP_TO_4, 1)
#else
TILES(tiles_1, UP_TO_6, 1)
#endif

static void any_tile(const cfx_blocked_tile *t)
{
#if CFX_LEVEL_IS(avx512)
    if (t->blocks == 4)
        tiles_4(t);
    else if (t->blocks == 2)
        tiles_2(t);
    else
#endif
        tiles_1(t);
    if (t->end.activation)
        activate_tile(t);
}

extern const struct cfx_blocked_winograd_kernels CFX_LEVEL_NAME(
    cfx_blocked_winograd_kernels);
extern const struct cfx_blocked_kernels CFX_LEVEL_NAME(cfx_blocked_kernels);

const struct cfx_blocked_kernels CFX_LEVEL_NAME(cfx_blocked_kernels) = {
    .pixels = {[1] = P1, [2] = P2, [4] = P4},
    .tile = any_tile,
    .winograd = &CFX_LEVEL_NAME(cfx_blocked_winograd_kernels),
};
