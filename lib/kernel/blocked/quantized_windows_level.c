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

/* Pixels at a time. */
#if CFX_LEVEL_IS(avx512)
enum { PIXELS = 8 };
#elif CFX_LEVEL_IS(plain)
enum { PIXELS = 2 };
#else
enum { PIXELS = 4 };
#endif

/* ---- Maxima ---- */

CFX_FORCE_INLINE void max_of(const cfx_quantized_rows *rows, const int64_t n,
                             const int64_t m)
{
    const cfx_quantized_rows r = *rows; /* that writing y cannot change */

    for (int64_t p = 0; p < r.pixels; p++) {
        const uint8_t *x = r.x + p * r.x_pixel;
        vb most = vb_zero();
        for (int64_t i = 0; i < n; i++) {
            for (int64_t k = 0; k < m; k++)
                most = vb_max(most,
                              vb_load(x + i * r.x_at[0] + k * r.x_at[1]));
        }
        vb_store(r.y + p * r.y_pixel, most);
    }
}

static void max(const cfx_quantized_rows *r)
{
    if (r->n[0] == 3 && r->n[1] == 3)
        max_of(r, 3, 3);
    else if (r->n[0] == 2 && r->n[1] == 2)
        max_of(r, 2, 2);
    else
        max_of(r, r->n[0], r->n[1]);
}

/* ---- Products ---- */

/* Sums to pixels of y, which have no gaps. */
CFX_FORCE_INLINE void finish(const cfx_quantized_rows *r, vi s[][BV], char *y,
                             const int pixels)
{
    const cfx_quantized_end *e = &r->end;
    scaling k[BV];

    for (int v = 0; v < BV; v++)
        k[v] = scaling_at(e, v * VF);
    if (!e->rounds) {
        CFX_UNROLL
        for (int i = 0; i < pixels * BV; i++)
            vf_store((float *)(void *)y + i * VF,
                     scaled(&k[i % BV], s[i / BV][i % BV]));
        return;
    }
    vi x[PIXELS * BV];
    round_pixels(k, e->fits, pixels, s[0], BV, x);
    if (e->full)
        store_pixels(true, pixels, x, e->zero_point, e->y_range, (uint8_t *)y);
    else
        store_pixels(false, pixels, x, e->zero_point, e->y_range,
                     (uint8_t *)y);
}

CFX_FORCE_INLINE void products(const cfx_quantized_rows *r, int64_t first,
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
    vi sums[PIXELS][BV];
    CFX_UNROLL
    for (int i = 0; i < pixels * BV; i++)
        sums[i / BV][i % BV] = vi_sum(vi_of_vf(s[i / BV][i % BV]),
                                      vi_load(r->end.offset + i % BV * VF));
    finish(r, sums, y, pixels);
}

#if defined(MOVES_NEED)
CFX_FORCE_INLINE void dots(const cfx_quantized_rows *r, int64_t first,
                           const int pixels)
{
    const vi order = order_of_pixels();
    vi s[PIXELS][BV];

    CFX_UNROLL
    for (int p = 0; p < pixels; p++)
        s[p][0] = vi_load(r->end.offset);
    for (int64_t k = 0; k < r->n[1]; k += CFX_QUAD) {
        const uint8_t *x = r->x + first * r->x_pixel + k * CFX_BLOCK;
        const int8_t *w = r->w + k * CFX_BLOCK;
        for (int64_t i = 0; i < r->n[0]; i++) {
            const factors wv = factor_of_pixels(w, r->n[1] - k, order);
            CFX_UNROLL
            for (int p = 0; p < pixels; p++)
                s[p][0] = dot(
                    DOTS, s[p][0],
                    factor_of_pixels(x + p * r->x_pixel, r->n[1] - k, order),
                    wv);
            x += r->x_at[0];
            w += r->w_row;
        }
    }
    finish(r, s, r->y + first * r->y_pixel, pixels);
}

/* Filters of three rows and columns. Where their windows are neighbours, four pixels
 * of x are those of two of y, and the weights of the second begin a byte later. */
typedef struct three {
    factors w[3][2];
} three;

static three three_of(const cfx_quantized_rows *r)
{
    three f;

    for (int i = 0; i < 3; i++) {
        f.w[i][0] = factor_of_pixels(r->w + i * r->w_row, 3,
                                     order_of_pixels());
        f.w[i][1] = a_byte_later(f.w[i][0]);
    }
    return f;
}

/* Pixels from `first` on of a row whose windows have the rows x. */
CFX_FORCE_INLINE void dots_of_three(const cfx_quantized_rows *r,
                                    const three *f, const uint8_t *const *x,
                                    const vi outside, const bool neighbours,
                                    int64_t first, const int pixels)
{
    const vi order = order_of_pixels();
    const int64_t left = first == 0 ? r->left * CFX_BLOCK : 0;
    const int64_t right = first + pixels == r->pixels ? r->right * CFX_BLOCK
                                                      : 0;
    const int step = neighbours ? 2 : 1;
    vi s[PIXELS][BV];

    CFX_UNROLL
    for (int p = 0; p < pixels; p++)
        s[p][0] = vi_load(r->end.offset);
    CFX_UNROLL
    for (int i = 0; i < 3; i++) {
        CFX_UNROLL
        for (int p = 0; p < pixels; p += step) {
            const uint8_t *at = x[i] + (first + p) * r->x_pixel;
            const int n = neighbours && p + 1 < pixels ? 4 : 3;
            uint64_t there = ~0ULL >> (4 - n) * CFX_BLOCK;
            if (p == 0)
                there &= ~0ULL << left;
            if (p + step >= pixels)
                there &= ~0ULL >> ((4 - n) * CFX_BLOCK + right);
            const factors xv = p == 0 || p + step >= pixels
                                   ? factor_within(at, there, outside, order)
                                   : factor_of_pixels(at, n, order);
            s[p][0] = dot(DOTS, s[p][0], xv, f->w[i][0]);
            if (n == 4)
                s[p + 1][0] = dot(DOTS, s[p + 1][0], xv, f->w[i][1]);
        }
    }
    finish(r, s, r->y + first * r->y_pixel, pixels);
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
#define ROWS(name, some, prepare, each, advance)                              \
    static void name(const cfx_quantized_rows *row)                           \
    {                                                                         \
        cfx_quantized_rows copy = *row;                                       \
        const cfx_quantized_rows *r = &copy;                                  \
        prepare;                                                              \
                                                                              \
        for (int64_t i = 0; i < r->rows; i++) {                               \
            each;                                                             \
            int64_t p = 0;                                                    \
            for (; p + PIXELS <= r->pixels; p += PIXELS)                      \
                some(r, p, PIXELS);                                           \
            switch (r->pixels - p) {                                          \
                CASES(some) default : break;                                  \
            }                                                                 \
            advance;                                                          \
            copy.y += r->y_row;                                               \
        }                                                                     \
    }

ROWS(depthwise, products, (void)0, (void)0, copy.x += r->x_row)
#if defined(MOVES_NEED)
#define DOTS_OF_PIXELS_NEED (DOTS_NEED | MOVES_NEED)
ROWS(rows_of_dots, dots, (void)0, (void)0, copy.x += r->x_row)

/* The rows of the windows of a row of y, from the first column on, which may be
 * outside. */
CFX_FORCE_INLINE void rows_of_windows(const cfx_quantized_rows *r,
                                      const uint8_t **x)
{
    for (int i = 0; i < 3; i++) {
        const int64_t at = r->top + i * r->x_at[0];
        x[i] = at >= 0 && at < r->plane ? r->x + at : r->outside;
        x[i] -= r->left * CFX_BLOCK;
    }
}

#define NEIGHBOURS(r, first, pixels)                                          \
    dots_of_three(r, &f, x, outside, true, first, pixels)
#define STRIDED(r, first, pixels)                                             \
    dots_of_three(r, &f, x, outside, false, first, pixels)
#define PREPARE                                                               \
    const three f = three_of(r);                                              \
    const vi outside = vi_load(r->outside)
#define ROWS_OF_X                                                             \
    const uint8_t *x[3];                                                      \
    rows_of_windows(r, x)
ROWS(neighbours, NEIGHBOURS, PREPARE, ROWS_OF_X, copy.top += r->x_row)
ROWS(strided, STRIDED, PREPARE, ROWS_OF_X, copy.top += r->x_row)

static void rows_of_three(const cfx_quantized_rows *r)
{
    if (r->x_pixel == CFX_BLOCK)
        neighbours(r);
    else
        strided(r);
}
#else
#define rows_of_dots NULL
#define rows_of_three NULL
#define DOTS_OF_PIXELS_NEED CFX_FEATURE_NEVER
#endif

extern const struct cfx_quantized_windows CFX_LEVEL_NAME(
    cfx_quantized_windows);

const struct cfx_quantized_windows CFX_LEVEL_NAME(cfx_quantized_windows) = {
    .max = max,
    .depthwise = depthwise,
    .depthwise_dots = rows_of_dots,
    .depthwise_three = rows_of_three,
    .dots = DOTS_OF_PIXELS_NEED,
};
