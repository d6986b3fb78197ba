/*
 * quantized_level.c -- tiles of products of uint8 with int8, for one level.
 *
 * A tile of sums stays in registers. Each step broadcasts four channels of each
 * pixel and multiplies them by the weights of these channels, of all output channels.
 * Where the processor has no instruction for that, both are widened to 16 bits: two
 * products of bytes may not fit into 16. The pixels are widened once if a convolution
 * reads them often.
 */
#include "base/util.h"
#include "kernel/blocked/quantized.h"
#include "kernel/blocked/quantized_vec.h"
#include "kernel/int64.h"

/* Pixels of tiles with 1, 2 and 4 blocks, at most. */
#if CFX_LEVEL_IS(avx512)
enum { P1 = 14, P2 = 14, P4 = 6 };
#elif CFX_LEVEL_IS(plain)
enum { P1 = 4, P2 = 0, P4 = 0 };
#else
enum { P1 = 6, P2 = 0, P4 = 0 };
#endif

/* ---- The end of a tile ---- */

/* Like round_pixels, with the pixels of `other` added, which lie `gap` bytes apart. */
CFX_FORCE_INLINE void add_pixels(const cfx_quantized_end *e,
                                 const cfx_quantized_sum *sum,
                                 const scaling *k, const int n, const vi *s,
                                 const int step, const uint8_t *other,
                                 int64_t gap, vi *x)
{
    vf y[MOST * BV];

    scale_pixels(k, n, s, step, y);
    if (!e->fits)
        clamp_pixels(k, n, y);
    CFX_UNROLL
    for (int i = 0; i < n * BV; i++) {
        const vf a = vf_nearest(y[i], e->zero_point, e->a_range);
        const vf b = vf_of_bytes(other + i / BV * gap + i % BV * VF);
        y[i] = add_terms(sum, a, b);
    }
    if (!e->fits) {
        CFX_UNROLL
        for (int i = 0; i < n * BV; i++)
            y[i] = in_range(y[i], sum->lo, sum->hi);
    }
    CFX_UNROLL
    for (int i = 0; i < n * BV; i++)
        x[i] = vi_of_vf(y[i]);
}

/* Bytes of all channels of a block, whose pixels in y lie `gap` apart, and those of
 * the sums `step`. */
CFX_FORCE_INLINE void finish_bytes(const cfx_quantized_tile *t,
                                   const int block, const int pixels,
                                   const vi *s, const int step,
                                   const int64_t gap)
{
    const cfx_quantized_end *e = &t->end;
    const cfx_quantized_sum sum = e->sum ? *e->sum : (cfx_quantized_sum){0};
    const bool adds = e->sum; /* y might be all this, to the compiler */
    const int zero_point = adds ? sum.zero_point : e->zero_point;
    const cfx_quantized_range range = e->y_range;
    uint8_t *y = (uint8_t *)t->y + block * t->y_block;
    scaling k[BV];
    vi x[MOST * BV];

    for (int v = 0; v < BV; v++)
        k[v] = scaling_at(e, block * CFX_BLOCK + v * VF);
    if (adds)
        add_pixels(e, &sum, k, pixels, s, step, sum.b + (y - sum.y), gap, x);
    else
        round_pixels(k, e->fits, pixels, s, step, x);
    if (gap == CFX_BLOCK && e->full) {
        store_pixels(true, pixels, x, zero_point, range, y);
        return;
    }
    if (gap == CFX_BLOCK) {
        store_pixels(false, pixels, x, zero_point, range, y);
        return;
    }
    CFX_UNROLL
    for (int p = 0; p < pixels; p += GROUP) {
        const int n = pixels - p < GROUP ? pixels - p : GROUP;
        const vg g = group_of(false, n, x + p * BV, zero_point, range);
        CFX_UNROLL
        for (int i = 0; i < n; i++)
            store_pixel(y + (p + i) * gap, g, i);
    }
}

/* Floats of all channels of the blocks. */
CFX_FORCE_INLINE void finish_floats(const cfx_quantized_tile *t,
                                    const int block, const int pixels,
                                    const vi *s, const int step)
{
    const int64_t gap = t->y_pixel;
    char *y = t->y + block * t->y_block;
    scaling k[BV];

    for (int v = 0; v < BV; v++)
        k[v] = scaling_at(&t->end, block * CFX_BLOCK + v * VF);
    CFX_UNROLL
    for (int p = 0; p < pixels; p++) {
        CFX_UNROLL
        for (int v = 0; v < BV; v++)
            vf_store((float *)(void *)(y + p * gap) + v * VF,
                     scaled(&k[v], s[p * step + v]));
    }
}

/* Floats, or the first n channels of a block. */
static void finish_rows(const cfx_quantized_tile *t, int block, const vi *s,
                        int step)
{
    const cfx_quantized_end *e = &t->end;
    const int64_t n = cfx_min64(t->columns - block * CFX_BLOCK, CFX_BLOCK);
    const int64_t pixels = t->pixels, y_pixel = t->y_pixel;
    const bool rounds = e->rounds;
    char *y = t->y + block * t->y_block;
    scaling k[BV];

    for (int v = 0; v < BV; v++)
        k[v] = scaling_at(e, block * CFX_BLOCK + v * VF);
    for (int64_t p = 0; p < pixels; p++, y += y_pixel, s += step) {
        float one[CFX_BLOCK];
        vi x[BV];
        if (rounds) {
            round_pixels(k, false, 1, s, BV, x);
            store_pixel((uint8_t *)one,
                        group_of(false, 1, x, e->zero_point, e->y_range), 0);
            memcpy(y, one, (size_t)n);
            continue;
        }
        for (int v = 0; v < BV; v++)
            vf_store(one + v * VF, scaled(&k[v], s[v]));
        if (n == CFX_BLOCK)
            memcpy(y, one, sizeof(one));
        else
            memcpy(y, one, (size_t)n * sizeof(float));
    }
}

/* ---- Products ---- */

/* Add the products of a part of four channels of all pixels. */
CFX_FORCE_INLINE void add_part(const int how, const int part, const int pixels,
                               const int blocks, const cfx_quantized_tile *t,
                               const uint8_t *x, const int8_t *w,
                               vi s[P1][4 * BV])
{
    factors wv[4 * BV];

    CFX_UNROLL
    for (int v = 0; v < blocks * BV; v++)
        wv[v] = weight_factor(
            how, part, w + v / BV * t->w_block + v % BV * VF * CFX_QUAD);
    CFX_UNROLL
    for (int p = 0; p < pixels; p++) {
        const factors xv = pixel_factor(how, part, x + p * t->x_pixel);
        CFX_UNROLL
        for (int v = 0; v < blocks * BV; v++)
            s[p][v] = dot(how, s[p][v], xv, wv[v]);
    }
}

CFX_FORCE_INLINE void tile(const int how, const int pixels, const int blocks,
                           const cfx_quantized_tile *t)
{
    enum { STEP = CFX_BLOCK * CFX_QUAD, AHEAD = 16 };
    const int nv = blocks * BV, x_step = CFX_QUAD * (how == WIDE ? 2 : 1);
    const int64_t next_step = t->next_step;
    const int8_t *w = t->w, *next = t->next;
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
                CFX_PREFETCH_FAR(next);
                CFX_PREFETCH_FAR(next + CFX_LINE);
                next += next_step;
                for (int64_t n = t->quads; n > 0; n--) {
                    CFX_UNROLL
                    for (int b = 0; b < blocks; b++)
                        if (VF > 1)
                            CFX_PREFETCH(w + b * t->w_block + AHEAD * STEP);
                    add_part(how, 0, pixels, blocks, t, x, w, s);
                    if (PARTS(how) > 1) {
                        add_part(how, 1, pixels, blocks, t, x, w, s);
                    }
                    x += x_step;
                    w += STEP;
                }
            }
        }
    }
    const bool whole = t->columns >= blocks * CFX_BLOCK;
    if (whole && !t->end.rounds) {
        CFX_UNROLL
        for (int b = 0; b < blocks; b++)
            finish_floats(t, b, pixels, s[0] + b * BV, 4 * BV);
        return;
    }
    if (whole) {
        const int64_t gap = t->y_pixel;
        CFX_UNROLL
        for (int b = 0; b < blocks; b++)
            if (gap == CFX_BLOCK) /* known to the compiler in this copy */
                finish_bytes(t, b, pixels, s[0] + b * BV, 4 * BV, CFX_BLOCK);
            else
                finish_bytes(t, b, pixels, s[0] + b * BV, 4 * BV, gap);
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
        finish_rows(t, b, sums + b * BV, nv);
}

/* clang-format off */
#define CASE(how, p, b) case p: tile(how, p, b, t); break;
#define UP_TO_4(how, b) CASE(how, 1, b) CASE(how, 2, b) CASE(how, 3, b) CASE(how, 4, b)
#define UP_TO_6(how, b) UP_TO_4(how, b) CASE(how, 5, b) CASE(how, 6, b)
#define UP_TO_14(how, b) UP_TO_6(how, b) CASE(how, 7, b) CASE(how, 8, b) \
    CASE(how, 9, b) CASE(how, 10, b) CASE(how, 11, b) CASE(how, 12, b) \
    CASE(how, 13, b) CASE(how, 14, b)
/* clang-format on */

#define TILES(name, how, cases, blocks)                                       \
    static void name(const cfx_quantized_tile *t)                             \
    {                                                                         \
        switch (t->pixels) {                                                  \
            cases(how, blocks) default : break;                               \
        }                                                                     \
    }

#if CFX_LEVEL_IS(avx512)
#define ALL_TILES(name, how)                                                  \
    TILES(name##_1, how, UP_TO_14, 1)                                         \
    TILES(name##_2, how, UP_TO_14, 2)                                         \
    TILES(name##_4, how, UP_TO_6, 4)                                          \
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
#define ALL_TILES(name, how) TILES(name, how, UP_TO_4, 1)
#else
#define ALL_TILES(name, how) TILES(name, how, UP_TO_6, 1)
#endif

ALL_TILES(byte_tile, BYTES)
#if defined(HAVE_DOTS)
ALL_TILES(dots_tile, DOTS)
#else
#define dots_tile byte_tile
#endif

#if CFX_LEVEL_IS(avx512) || CFX_LEVEL_IS(avx2)
ALL_TILES(widened_tile, WIDE)

static void widen_four(const uint8_t *x, uint8_t *y)
{
    const uint16_t wide[CFX_QUAD] = {x[0], x[2], x[1], x[3]};

    memcpy(y, wide, sizeof(wide));
}

static void widen_bytes(const uint8_t *x, uint8_t *y, int64_t n)
{
    enum { STEP = 16 };
    const __m128i low = _mm_set1_epi16(0xff);
    int64_t i = 0;

    for (; i + STEP <= n; i += STEP) {
        const __m128i v = vb_load(x + i);
        const __m128i even = _mm_and_si128(v, low), odd = _mm_srli_epi16(v, 8);
        vb_store(y + 2 * i, _mm_unpacklo_epi32(even, odd));
        vb_store(y + 2 * i + STEP, _mm_unpackhi_epi32(even, odd));
    }
    for (; i < n; i += CFX_QUAD)
        widen_four(x + i, y + 2 * i);
}
#define HAVE_WIDE
#endif

extern const struct cfx_quantized_elements CFX_LEVEL_NAME(
    cfx_quantized_elements);
extern const struct cfx_quantized_windows CFX_LEVEL_NAME(
    cfx_quantized_windows);
extern const struct cfx_quantized_kernels CFX_LEVEL_NAME(
    cfx_quantized_kernels);

const struct cfx_quantized_kernels CFX_LEVEL_NAME(cfx_quantized_kernels) = {
    .pixels = {[1] = P1, [2] = P2, [4] = P4},
    .dots = DOTS_NEED,
    .tile = {byte_tile, dots_tile},
#if defined(HAVE_WIDE)
    .wide_tile = widened_tile,
    .widen = widen_bytes,
#endif
    .elements = &CFX_LEVEL_NAME(cfx_quantized_elements),
    .windows = &CFX_LEVEL_NAME(cfx_quantized_windows),
};
