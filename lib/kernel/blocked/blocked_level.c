/*
 * blocked_level.c -- tiles of products with packed weights, for one level.
 *
 * A tile of y stays in registers for the whole sum. Each step broadcasts a number
 * of each pixel and multiplies it by the vectors of all blocks.
 */
#include "kernel/blocked/finish.h"
#include "base/context_impl.h"
#include "base/util.h"
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
/* Blocks of all pixels of a tile. */
enum { MOST_BLOCKS = P2 ? 2 * P2 : P1 };

/* ---- The end of a tile ---- */

/* The memory that a tile's sums are written to: y, or if an activation reads them
 * again, `sums`, which stays in the first cache. A block's pixels lie side by side, or
 * a pixel's blocks do. */
typedef struct target {
    float *y;
    int64_t pixel, block;
} target;

/* Do a block's pixels lie side by side? */
CFX_FORCE_INLINE bool has_rows(const cfx_blocked_tile *t)
{
    return t->y_pixel == cfx_blocked_lanes(t->end.narrow);
}

CFX_FORCE_INLINE target target_of(const cfx_blocked_tile *t, float *sums,
                                  int pixels, int blocks)
{
    if (!t->end.activation)
        return (target){t->y, t->y_pixel, t->y_block};
    if (has_rows(t))
        return (target){sums, CFX_BLOCK, pixels * CFX_BLOCK};
    return (target){sums, blocks * CFX_BLOCK, CFX_BLOCK};
}

static void activate_tile(const cfx_blocked_tile *t, float *sums)
{
    int64_t row = t->pixels * CFX_BLOCK, pixel = t->blocks * CFX_BLOCK;

    if (has_rows(t)) {
        for (int64_t b = 0; b < t->blocks; b++)
            activate(&t->end, t->y + b * t->y_block, sums + b * row, row);
    } else {
        for (int64_t p = 0; p < t->pixels; p++)
            activate(&t->end, t->y + p * t->y_pixel, sums + p * pixel, pixel);
    }
}

/* ---- Products ---- */

/* s + the products of the pairs x and w. */
#if CFX_LEVEL_IS(avx512)
#define PAIRS_NEED CFX_FEATURE_AVX512_BF16
CFX_FORCE_INLINE vf pairs(vf x, vf w, vf s)
{
    /* gcc has the intrinsic only where all code of the file may use the instruction. */
    __asm__("vdpbf16ps %2, %1, %0" : "+v"(s) : "v"(x), "v"(w));
    return s;
}
#else
#define PAIRS_NEED CFX_FEATURE_NEVER
CFX_FORCE_INLINE vf pairs(vf x, vf w, vf s)
{
    (void)x, (void)w;
    return s;
}
#endif

/* How many factors a step has. */
CFX_FORCE_INLINE int parts_of(const cfx_blocked_type type)
{
    return type == CFX_BLOCKED_INT4    ? 8
           : type == CFX_BLOCKED_INT8  ? 4
           : type == CFX_BLOCKED_MIXED ? 2
                                       : 1;
}

/* Part `part` of the factors w of a step. */
CFX_FORCE_INLINE vf factor(const cfx_blocked_type type, int part, vf w)
{
    if (type == CFX_BLOCKED_INT4)
        return vf_of_int4(w, part);
    if (type == CFX_BLOCKED_INT8)
        return vf_of_int8(w, part);
    if (type != CFX_BLOCKED_MIXED)
        return w;
    return part ? vf_high_bf16(w) : vf_low_bf16(w);
}

/* Vector v of bias + add for pixel p. */
CFX_FORCE_INLINE vf addend(const cfx_blocked_tile *t, int p, int v)
{
    int64_t at = v / BV * t->bias_block + v % BV * VF;
    vf b = t->end.bias ? vf_load(t->end.bias + at) : vf_zero();

    if (!t->end.add)
        return b;
    return vf_add(
        b, load_block(t->end.add_narrow,
                      t->end.add + p * t->add_pixel + v / BV * t->add_block,
                      v % BV));
}

/* Write the results s to y as bfloat16. */
CFX_FORCE_INLINE void store_tile(bool converts, const int pixels,
                                 const int blocks, vf (*s)[4 * BV],
                                 const cfx_blocked_tile *t)
{
    const bounds b = bounds_of(&t->end);

    CFX_UNROLL
    for (int p = 0; p < pixels; p++) {
        CFX_UNROLL
        for (int v = 0; v < blocks * BV; v++)
            store_narrow(converts, t->y + p * t->y_pixel + v / BV * t->y_block,
                         v % BV, finish(s[p][v], b));
    }
}

/* store_tile where a vector is a block, and the pixels of a block lie side by side. */
CFX_FORCE_INLINE void store_rows(const int pixels, const int blocks,
                                 vf (*s)[4 * BV], const cfx_blocked_tile *t)
{
    const bounds b = bounds_of(&t->end);

    CFX_UNROLL
    for (int n = 0; n < blocks; n++) {
        float *y = t->y + n * t->y_block;
        CFX_UNROLL
        for (int p = 0; p + 1 < pixels; p += 2)
            convert_store_two((void *)(y + p * (CFX_BLOCK / 2)),
                              finish(s[p][n], b), finish(s[p + 1][n], b));
        if (pixels % 2)
            store_narrow(true, y + (pixels - 1) * (CFX_BLOCK / 2), 0,
                         finish(s[pixels - 1][n], b));
    }
}

/* Write the results s of a tile; those of integers are never narrow. */
CFX_FORCE_INLINE void store(const int pixels, const int blocks,
                            vf (*s)[4 * BV], const bool integers, float *sums,
                            const cfx_blocked_tile *t)
{
    const target to = target_of(t, sums, pixels, blocks);
    const bounds b = bounds_of(&t->end);

    if (!integers && t->end.narrow && !t->end.activation) {
        if (t->end.converts && BV == 1 && has_rows(t))
            store_rows(pixels, blocks, s, t);
        else if (t->end.converts)
            store_tile(true, pixels, blocks, s, t);
        else
            store_tile(false, pixels, blocks, s, t);
        return;
    }
    CFX_UNROLL
    for (int p = 0; p < pixels; p++) {
        CFX_UNROLL
        for (int v = 0; v < blocks * BV; v++) {
            vf_store(to.y + p * to.pixel + v / BV * to.block + v % BV * VF,
                     finish(s[p][v], b));
        }
    }
    if (t->end.activation)
        activate_tile(t, sums);
}

/* Vector v of the scales of group k. */
CFX_FORCE_INLINE vf scale_of(const cfx_blocked_tile *t, int64_t k, int v)
{
    return vf_load(t->end.scale + v / BV * t->scale_block + k * CFX_BLOCK +
                   v % BV * VF);
}

/* Vector v of the zero points of group k. */
CFX_FORCE_INLINE vf zero_of(const cfx_blocked_type type,
                            const cfx_blocked_tile *t, int64_t k, int v)
{
    const int64_t parts = parts_of(type);

    return factor(type, (int)(k % parts),
                  vf_load(t->end.zero + v / BV * t->zero_block +
                          k / parts * CFX_BLOCK + v % BV * VF));
}

/* Bring the pixels of the next plane near. */
CFX_FORCE_INLINE void fetch_pixels(const int pixels, const float *x,
                                   int64_t x_pixel)
{
    CFX_UNROLL
    for (int p = 0; p < pixels; p++)
        CFX_PREFETCH(x + p * x_pixel);
}

/* Are integers summed, whose groups have scales? */
CFX_FORCE_INLINE bool is_grouped(const cfx_blocked_type type)
{
    return type == CFX_BLOCKED_INT8 || type == CFX_BLOCKED_INT4;
}

/* The sums of few pixels would wait for the one before. Those of half a block of one pixel
 * do, unless each second step has sums of its own. */
CFX_FORCE_INLINE int chains_of(const cfx_blocked_type type, const int pixels,
                               const int blocks)
{
    return is_grouped(type) && pixels * blocks <= 4 ? 2 : 1;
}

CFX_FORCE_INLINE bool splits_steps(const cfx_blocked_type type,
                                   const int pixels)
{
    return VF > 1 && BV > 1 && pixels == 1 && !is_grouped(type);
}

/* Sums of a tile: even parts or steps, and odd ones. */
typedef vf (*tile_sums)[P1][4 * BV];

/* Two steps of half a block of one pixel. */
CFX_FORCE_INLINE void two_steps(const cfx_blocked_type type,
                                const cfx_blocked_tile *t, const float *x,
                                const float *w, tile_sums s)
{
    CFX_PREFETCH(w + t->ahead);
    CFX_PREFETCH(w + t->ahead + CFX_BLOCK);
    CFX_UNROLL
    for (int v = 0; v < BV; v++) {
        vf even = vf_load(w + v * VF);
        vf odd = vf_load(w + v * VF + CFX_BLOCK);
        CFX_UNROLL
        for (int h = 0; h < parts_of(type); h++) {
            s[0][0][v] = vf_fma(vf_set1(x[h]), factor(type, h, even),
                                s[0][0][v]);
            s[1][0][v] = vf_fma(vf_set1(x[h + t->x_step]),
                                factor(type, h, odd), s[1][0][v]);
        }
    }
}

/* Strides of a step, as in a tile. */
typedef struct strides {
    int64_t x_pixel, x_step, w_block, ahead;
} strides;

CFX_FORCE_INLINE void one_step(const cfx_blocked_type type, const int pixels,
                               const int blocks, const strides st,
                               const float *x, const float *w, tile_sums s)
{
    const int nv = blocks * BV, chains = chains_of(type, pixels, blocks);
    vf wv[4 * BV];

    CFX_UNROLL
    for (int v = 0; v < nv; v++) {
        const float *at = w + v / BV * st.w_block + v % BV * VF;
        wv[v] = vf_load(at);
        if (VF > 1 && v % BV == 0)
            CFX_PREFETCH(at + st.ahead);
    }
    CFX_UNROLL
    for (int h = 0; h < parts_of(type); h++) {
        vf f[4 * BV];
        CFX_UNROLL
        for (int v = 0; v < nv; v++)
            f[v] = factor(type, h, wv[v]);
        CFX_UNROLL
        for (int p = 0; p < pixels; p++) {
            vf xv = vf_set1(x[p * st.x_pixel + h]);
            vf *sum = s[h % chains][p];
            CFX_UNROLL
            for (int v = 0; v < nv; v++)
                sum[v] = type == CFX_BLOCKED_PAIRS ? pairs(xv, f[v], sum[v])
                                                   : vf_fma(xv, f[v], sum[v]);
        }
    }
}

/* n steps. Returns the weights after them. */
CFX_FORCE_INLINE const float *run_steps(const cfx_blocked_type type,
                                        const int pixels, const int blocks,
                                        const strides st,
                                        const cfx_blocked_tile *t, int64_t n,
                                        const float *x, const float *w,
                                        tile_sums s)
{
    for (; splits_steps(type, pixels) && t->split && n > 1; n -= 2) {
        two_steps(type, t, x, w, s);
        x += 2 * st.x_step;
        w += 2 * CFX_BLOCK;
    }
    for (; n > 0; n--) {
        one_step(type, pixels, blocks, st, x, w, s);
        x += st.x_step;
        w += CFX_BLOCK;
    }
    return w;
}

/* Subtract the products with the zero points of group k. */
CFX_FORCE_INLINE void subtract_zeros(const cfx_blocked_type type,
                                     const int pixels, const int blocks,
                                     const cfx_blocked_tile *t, int64_t k,
                                     tile_sums s)
{
    CFX_UNROLL
    for (int v = 0; v < blocks * BV; v++) {
        vf zero = zero_of(type, t, k, v);
        CFX_UNROLL
        for (int p = 0; p < pixels; p++)
            s[0][p][v] = vf_fma(vf_set1(t->x_sums[p * t->x_sums_pixel + k]),
                                zero, s[0][p][v]);
    }
}

/* Add the sums of group k, times its scales, to y, and begin those of the next. */
CFX_FORCE_INLINE void end_group(const cfx_blocked_type type, const int pixels,
                                const int blocks, const cfx_blocked_tile *t,
                                int64_t k, tile_sums s, vf (*y)[4 * BV])
{
    const int chains = chains_of(type, pixels, blocks);

    if (t->x_sums)
        subtract_zeros(type, pixels, blocks, t, k, s);
    CFX_UNROLL
    for (int v = 0; v < blocks * BV; v++) {
        vf scale = scale_of(t, k, v);
        CFX_UNROLL
        for (int p = 0; p < pixels; p++) {
            vf sum = chains > 1 ? vf_add(s[0][p][v], s[1][p][v]) : s[0][p][v];
            y[p][v] = vf_fma(sum, scale, y[p][v]);
            s[0][p][v] = s[1][p][v] = vf_zero();
        }
    }
}

/* Do pixels of floats lie side by side, as mostly? Then their addresses are constant
 * offsets. */
CFX_FORCE_INLINE bool are_neighbours(const cfx_blocked_type type,
                                     const int pixels, const int blocks,
                                     const cfx_blocked_tile *t)
{
    return VF > 1 && type == CFX_BLOCKED_FLOAT && pixels * blocks * BV > 4 &&
           t->x_pixel == CFX_BLOCK && t->x_step == 1;
}

/* And is there one row and column in the window, whose weights lie side by side, too? */
CFX_FORCE_INLINE bool is_pointwise(const cfx_blocked_type type,
                                   const int pixels, const int blocks,
                                   const cfx_blocked_tile *t)
{
    return are_neighbours(type, pixels, blocks, t) && t->n[1] == 1 &&
           t->n[2] == 1 && t->steps == CFX_BLOCK &&
           t->w_at[0] == CFX_BLOCK * CFX_BLOCK;
}

/* sum_tile where is_pointwise. Addresses are constant offsets, and few instructions come
 * between planes: others would take execution units from the multiply-adds. */
CFX_FORCE_INLINE void sum_planes(const int pixels, const int blocks,
                                 const cfx_blocked_tile *t, tile_sums s)
{
    const float *x = t->x, *w = t->w, *next = t->next;
    const int64_t plane = t->x_at[0], lines = t->next_lines;
    const strides st = {CFX_BLOCK, 1, t->w_block, t->ahead};

    for (int64_t i = t->n[0]; i > 0; i--) {
        int64_t n = i > 1 ? CFX_BLOCK : CFX_BLOCK - t->skip;
        const float *at = x;
        for (int64_t k = lines; k > 0; k--) {
            CFX_PREFETCH_FAR(next);
            next += CFX_LINE / sizeof(float);
        }
        x += plane;
        fetch_pixels(pixels, i > 1 ? x : at, CFX_BLOCK);
        for (; n > 0; n--) {
            one_step(CFX_BLOCKED_FLOAT, pixels, blocks, st, at++, w, s);
            w += CFX_BLOCK;
        }
    }
}

/* All sums of a tile; y: of all groups. */
CFX_FORCE_INLINE void sum_tile(const cfx_blocked_type type, const int pixels,
                               const int blocks, const strides st,
                               const cfx_blocked_tile *t, tile_sums s,
                               vf (*y)[4 * BV])
{
    /* Pixels of the next plane are prefetched: planes lie too far apart for the
     * processor to do it by itself. It does for row-major images, whose pixels lie
     * side by side. Where a tile has one vector for each pixel, prefetching costs more
     * than it saves. */
    const bool fetches_x = blocks * BV > 1 && !is_grouped(type) &&
                           st.x_pixel >= CFX_BLOCK / 2;
    const float *next = t->next;

    for (int64_t i = 0; i < t->n[0]; i++) {
        const int64_t skip = i + 1 < t->n[0] ? 0 : t->skip;
        for (int64_t j = 0; j < t->n[1]; j++) {
            const float *w = t->w + i * t->w_at[0] + j * t->w_at[1];
            for (int64_t k = 0; k < t->n[2]; k++) {
                const float *x = t->x + i * t->x_at[0] + j * t->x_at[1] +
                                 k * t->x_at[2];
                for (int64_t n = t->next_lines; n > 0; n--) {
                    CFX_PREFETCH_FAR(next);
                    next += CFX_LINE / sizeof(float);
                }
                if (fetches_x && k == 0 && i + 1 < t->n[0])
                    fetch_pixels(pixels, x + t->x_at[0], st.x_pixel);
                w = run_steps(type, pixels, blocks, st, t, t->steps - skip, x,
                              w, s);
                if (is_grouped(type))
                    end_group(type, pixels, blocks, t, k, s, y);
                w += skip * CFX_BLOCK;
            }
        }
    }
}

CFX_FORCE_INLINE void tile(const cfx_blocked_type type, const int pixels,
                           const int blocks, const cfx_blocked_tile *t)
{
    const bool grouped = is_grouped(type);
    float sums[MOST_BLOCKS * CFX_BLOCK];
    vf s[2][P1][4 * BV], y[P1][4 * BV];

    CFX_UNROLL
    for (int v = 0; v < blocks * BV; v++) {
        CFX_UNROLL
        for (int p = 0; p < pixels; p++) {
            y[p][v] = addend(t, p, v);
            s[0][p][v] = grouped ? vf_zero() : y[p][v];
            s[1][p][v] = vf_zero();
        }
    }
    if (is_pointwise(type, pixels, blocks, t))
        sum_planes(pixels, blocks, t, s);
    else if (are_neighbours(type, pixels, blocks, t))
        sum_tile(type, pixels, blocks,
                 (strides){CFX_BLOCK, 1, t->w_block, t->ahead}, t, s, y);
    else
        sum_tile(type, pixels, blocks,
                 (strides){t->x_pixel, t->x_step, t->w_block, t->ahead}, t, s,
                 y);
    if (splits_steps(type, pixels)) {
        CFX_UNROLL
        for (int v = 0; v < BV; v++)
            s[0][0][v] = vf_add(s[0][0][v], s[1][0][v]);
    }
    store(pixels, blocks, grouped ? y : s[0], grouped, sums, t);
}

/* clang-format off */
#define CASE(type, p, b) case p: tile(type, p, b, t); break;
#define UP_TO_4(n, b) CASE(n, 1, b) CASE(n, 2, b) CASE(n, 3, b) CASE(n, 4, b)
#define UP_TO_6(n, b) UP_TO_4(n, b) CASE(n, 5, b) CASE(n, 6, b)
#define UP_TO_14(n, b) UP_TO_6(n, b) CASE(n, 7, b) CASE(n, 8, b) \
    CASE(n, 9, b) CASE(n, 10, b) CASE(n, 11, b) \
    CASE(n, 12, b) CASE(n, 13, b) CASE(n, 14, b)
/* clang-format on */

#define TILES(name, type, cases, blocks)                                      \
    static void name(const cfx_blocked_tile *t)                               \
    {                                                                         \
        switch (t->pixels) {                                                  \
            cases(type, blocks) default : break;                              \
        }                                                                     \
    }

#if CFX_LEVEL_IS(avx512)
#define ALL_TILES(name, type)                                                 \
    TILES(name##_1, type, UP_TO_14, 1)                                        \
    TILES(name##_2, type, UP_TO_14, 2)                                        \
    TILES(name##_4, type, UP_TO_6, 4)                                         \
    static void name(const cfx_blocked_tile *t)                               \
    {                                                                         \
        if (t->blocks == 4)                                                   \
            name##_4(t);                                                      \
        else if (t->blocks == 2)                                              \
            name##_2(t);                                                      \
        else                                                                  \
            name##_1(t);                                                      \
    }
#elif CFX_LEVEL_IS(plain)
#define ALL_TILES(name, type) TILES(name, type, UP_TO_4, 1)
#else
#define ALL_TILES(name, type) TILES(name, type, UP_TO_6, 1)
#endif

ALL_TILES(float_tile, CFX_BLOCKED_FLOAT)
ALL_TILES(mixed_tile, CFX_BLOCKED_MIXED)
ALL_TILES(int8_tile, CFX_BLOCKED_INT8)
ALL_TILES(int4_tile, CFX_BLOCKED_INT4)
#if CFX_LEVEL_IS(avx512)
ALL_TILES(pairs_tile, CFX_BLOCKED_PAIRS)
#else
#define pairs_tile mixed_tile
#endif

/* ---- A window of 3x3 ---- */

#if CFX_LEVEL_IS(avx512)
/* Most first convolutions. A window has few steps in each row: those of all rows are
 * written out. With one block, a number that two pixels share is read once; with more,
 * no register is left for it, and the compiler must not know that it is the same. */
CFX_FORCE_INLINE void window_tile(const int pixels, const int blocks,
                                  const int stride, const cfx_blocked_tile *t)
{
    enum { KERNEL = 3 };
    float sums[MOST_BLOCKS * CFX_BLOCK];
    vf s[P1][4 * BV];

    CFX_UNROLL
    for (int p = 0; p < pixels; p++) {
        CFX_UNROLL
        for (int v = 0; v < blocks; v++)
            s[p][v] = addend(t, p, v);
    }
    for (int64_t i = 0; i < t->n[0]; i++) {
        CFX_UNROLL
        for (int j = 0; j < KERNEL; j++) {
            const float *x = t->x + i * t->x_at[0] + j * t->x_at[1];
            const float *w = t->w + i * t->w_at[0] + j * t->w_at[1];
            CFX_UNROLL
            for (int k = 0; k < KERNEL; k++) {
                vf f[4];
                CFX_UNROLL
                for (int v = 0; v < blocks; v++)
                    f[v] = vf_load(w + v * t->w_block + k * CFX_BLOCK);
                if (blocks > 1)
                    __asm__("" : "+r"(x));
                CFX_UNROLL
                for (int p = 0; p < pixels; p++) {
                    vf xv = vf_set1(x[p * stride + k]);
                    CFX_UNROLL
                    for (int v = 0; v < blocks; v++)
                        s[p][v] = vf_fma(xv, f[v], s[p][v]);
                }
            }
        }
    }
    store(pixels, blocks, s, false, sums, t);
}

#define WINDOW_TILE(blocks, stride)                                           \
    static void window_tile_##blocks##_##stride(const cfx_blocked_tile *t)    \
    {                                                                         \
        window_tile(P##blocks, blocks, stride, t);                            \
    }

WINDOW_TILE(1, 1)
WINDOW_TILE(1, 2)
WINDOW_TILE(2, 1)
WINDOW_TILE(2, 2)
WINDOW_TILE(4, 1)
WINDOW_TILE(4, 2)

static void rows_tile(const cfx_blocked_tile *t)
{
    /* by blocks and stride */
    static void (*const whole[][3])(const cfx_blocked_tile *) = {
        [1] = {NULL, window_tile_1_1, window_tile_1_2},
        [2] = {NULL, window_tile_2_1, window_tile_2_2},
        [4] = {NULL, window_tile_4_1, window_tile_4_2}};
    static const int most[] = {[1] = P1, [2] = P2, [4] = P4};
    bool is_window = (t->x_pixel == 1 || t->x_pixel == 2) && t->x_step == 1 &&
                     t->steps == 3 && t->n[1] == 3 && t->n[2] == 1;

    if (is_window && t->pixels == most[t->blocks])
        whole[t->blocks][t->x_pixel](t);
    else
        float_tile(t);
}
#else
#define rows_tile float_tile
#endif

static void any_tile(const cfx_blocked_tile *t)
{
    switch (t->type) {
    case CFX_BLOCKED_FLOAT: rows_tile(t); break;
    case CFX_BLOCKED_MIXED: mixed_tile(t); break;
    case CFX_BLOCKED_PAIRS: pairs_tile(t); break;
    case CFX_BLOCKED_INT8: int8_tile(t); break;
    case CFX_BLOCKED_INT4: int4_tile(t); break;
    }
}

/* ---- Scaling ---- */

static void scale(float *y, const float *x, const float *factor, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        vf f = vf_set1(factor[i]);
        for (int v = 0; v < CFX_BLOCK; v += VF) {
            int64_t at = i * CFX_BLOCK + v;
            vf_store(y + at, vf_mul(vf_load(x + at), f));
        }
    }
}

static void scale_channels(float *y, const float *x, const float *factor,
                           int64_t n)
{
    for (int v = 0; v < CFX_BLOCK; v += VF) {
        vf f = vf_load(factor + v);
        for (int64_t at = v; at < n * CFX_BLOCK; at += CFX_BLOCK)
            vf_store(y + at, vf_mul(vf_load(x + at), f));
    }
}

extern const struct cfx_blocked_winograd_kernels CFX_LEVEL_NAME(
    cfx_blocked_winograd_kernels);
void CFX_LEVEL_NAME(cfx_blocked_pair_rows)(void *y, const float *a,
                                           const float *b, int64_t n);
extern const struct cfx_blocked_kernels CFX_LEVEL_NAME(cfx_blocked_kernels);

const struct cfx_blocked_kernels CFX_LEVEL_NAME(cfx_blocked_kernels) = {
    .pixels = {[1] = P1, [2] = P2, [4] = P4},
    .pairs = PAIRS_NEED,
    .tile = any_tile,
    .scale = scale,
    .scale_channels = scale_channels,
    .pair_rows = CFX_LEVEL_NAME(cfx_blocked_pair_rows),
    .winograd = &CFX_LEVEL_NAME(cfx_blocked_winograd_kernels),
};
