/*
 * windows_level.c -- a window of each channel, for one level: filters of one
 * channel, maxima and means.
 *
 * The lanes of a vector are channels. The results of some pixels stay in registers
 * while the window passes.
 */
#include <math.h>

#include "kernel/blocked/finish.h"
#include "kernel/int64.h"

/* Vectors in a block; pixels at a time. */
enum { BV = CFX_BLOCK / VF };
#if CFX_LEVEL_IS(avx512)
enum { PIXELS = 14 };
#elif CFX_LEVEL_IS(plain)
enum { PIXELS = 4 };
#else
enum { PIXELS = 6 };
#endif

typedef enum kind { PRODUCTS, MAXIMUM, MEAN } kind;

CFX_FORCE_INLINE vf first_value(const kind what, const cfx_blocked_row *r,
                                int v)
{
    if (what == MAXIMUM)
        return vf_set1(-INFINITY);
    return what == PRODUCTS && r->end.bias ? vf_load(r->end.bias + v * VF)
                                           : vf_zero();
}

CFX_FORCE_INLINE vf last_value(const kind what, const cfx_blocked_row *r, vf s,
                               int64_t at)
{
    if (what == MEAN)
        return vf_mul(s, vf_set1(r->scale));
    if (what == PRODUCTS && r->end.add)
        s = vf_add(s, vf_load(r->end.add + at));
    return what == PRODUCTS ? finish(s, &r->end) : s;
}

/* Pixels of a row whose sums an activation reads from the first cache, where y may
 * not be. */
enum { BUFFERED = 128 };

/* The memory that the sums of a row are written to: y, or if an activation follows,
 * the buffer. */
CFX_FORCE_INLINE float *sums_of(const cfx_blocked_row *r, float *buffer)
{
    return r->end.activation && r->pixels <= BUFFERED ? buffer : r->y;
}

CFX_FORCE_INLINE void activate_row(const cfx_blocked_row *r, const float *sums)
{
    if (r->end.activation)
        activate(&r->end, r->y, sums, r->pixels * CFX_BLOCK);
}

/* `what` and `pixels` are constants where this is called. */
CFX_FORCE_INLINE void window(const kind what, const int pixels,
                             const cfx_blocked_row *r, float *y, int64_t first)
{
    const float *from = r->x + first * r->x_pixel;
    vf s[PIXELS][BV];

    CFX_UNROLL
    for (int v = 0; v < BV; v++) {
        vf b = first_value(what, r, v);
        CFX_UNROLL
        for (int p = 0; p < pixels; p++)
            s[p][v] = b;
    }
    for (int64_t i = 0; i < r->n[0]; i++) {
        const float *x = from + i * r->x_at[0];
        const float *w = what == PRODUCTS ? r->w + i * r->w_row : NULL;
        for (int64_t k = 0; k < r->n[1]; k++) {
            CFX_UNROLL
            for (int v = 0; v < BV; v++) {
                vf wv = what == PRODUCTS ? vf_load(w + k * CFX_BLOCK + v * VF)
                                         : vf_zero();
                CFX_UNROLL
                for (int p = 0; p < pixels; p++) {
                    vf xv = vf_load(x + p * r->x_pixel + v * VF);
                    s[p][v] = what == PRODUCTS  ? vf_fma(xv, wv, s[p][v])
                              : what == MAXIMUM ? vf_max_nan(s[p][v], xv)
                                                : vf_add(s[p][v], xv);
                }
            }
            x += r->x_at[1];
        }
    }
    CFX_UNROLL
    for (int p = 0; p < pixels; p++) {
        CFX_UNROLL
        for (int v = 0; v < BV; v++) {
            int64_t at = (first + p) * CFX_BLOCK + v * VF;
            vf_store(y + at, last_value(what, r, s[p][v], at));
        }
    }
}

/* clang-format off */
#define CASE(what, p) case p: window(what, p, r, y, at); break;
#define UP_TO_4(w) CASE(w, 1) CASE(w, 2) CASE(w, 3) CASE(w, 4)
#define UP_TO_6(w) UP_TO_4(w) CASE(w, 5) CASE(w, 6)
#define UP_TO_14(w) UP_TO_6(w) CASE(w, 7) CASE(w, 8) CASE(w, 9) CASE(w, 10) \
    CASE(w, 11) CASE(w, 12) CASE(w, 13) CASE(w, 14)
#if CFX_LEVEL_IS(avx512)
#define CASES UP_TO_14
#elif CFX_LEVEL_IS(plain)
#define CASES UP_TO_4
#else
#define CASES UP_TO_6
#endif
/* clang-format on */

#define TILE(name, what)                                                      \
    static void name(const cfx_blocked_row *r, float *y, int64_t at,          \
                     int64_t end)                                             \
    {                                                                         \
        switch (end - at) {                                                   \
            CASES(what) default : break;                                      \
        }                                                                     \
    }

TILE(products, PRODUCTS)
TILE(maxima, MAXIMUM)
TILE(means, MEAN)

/* Cut a row into tiles of almost the same length. */
CFX_FORCE_INLINE void cut(const cfx_blocked_row *r, float *y,
                          void (*tile)(const cfx_blocked_row *, float *,
                                       int64_t, int64_t))
{
    int64_t n = cfx_ceil_div(r->pixels, PIXELS), at = 0;

    for (int64_t i = 1; i < n; i++) {
        int64_t end = i * r->pixels / n;
        tile(r, y, at, end);
        at = end;
    }
    tile(r, y, at, r->pixels);
}

/* ---- Spans ---- */

/* Pixels of a span's tiles. */
#if CFX_LEVEL_IS(avx512) || CFX_LEVEL_IS(neon)
enum { WIDE = 14, NARROW = 7 };
#elif CFX_LEVEL_IS(avx2)
enum { WIDE = 7, NARROW = 3 };
#else
enum { WIDE = 4, NARROW = 2 };
#endif

/* Some pixels of a span, from `at` on. Each number of x is read once a row, for all
 * windows that have it. Of several pixels that reach over an edge, each has a column
 * in x. */
CFX_FORCE_INLINE void stretch(const kind what, const int columns,
                              const int stride, const int pixels,
                              const bool over_edge, const cfx_blocked_row *r,
                              float *y, int64_t at, int v)
{
    const int reach = (pixels - 1) * stride + columns;
    int64_t left = r->left + at * stride;
    vf s[WIDE], w[5];

    CFX_UNROLL
    for (int p = 0; p < pixels; p++)
        s[p] = first_value(what, r, v);
    for (int64_t i = 0; i < r->n[0]; i++) {
        const float *x = r->x + (i * r->x_at[0] + left * CFX_BLOCK + v * VF);
        CFX_UNROLL
        for (int k = 0; k < columns && what == PRODUCTS; k++)
            w[k] = vf_load(r->w + i * r->w_row + k * CFX_BLOCK + v * VF);
        CFX_UNROLL
        for (int j = 0; j < reach; j++) {
            bool near = j < columns - 1 || j > reach - columns;
            if (over_edge && near && (left + j < 0 || left + j >= r->width))
                continue;
            vf xv = vf_load(x + j * CFX_BLOCK);
            CFX_UNROLL
            for (int k = 0; k < columns; k++) {
                int p = (j - k) / stride;
                if (j < k || (j - k) % stride || p >= pixels)
                    continue;
                s[p] = what == PRODUCTS ? vf_fma(xv, w[k], s[p])
                                        : vf_max_nan(s[p], xv);
            }
        }
    }
    CFX_UNROLL
    for (int p = 0; p < pixels; p++) {
        int64_t to = (at + p) * CFX_BLOCK + v * VF;
        vf_store(y + to, last_value(what, r, s[p], to));
    }
}

CFX_FORCE_INLINE void block_stretch(const kind what, const int columns,
                                    const int stride, const int pixels,
                                    const cfx_blocked_row *r, float *y,
                                    int64_t at)
{
    int64_t left = r->left + at * stride;
    int64_t end = left + (pixels - 1) * stride + columns;

    if (left < 0 || end > r->width)
        for (int v = 0; v < BV; v++)
            stretch(what, columns, stride, pixels, true, r, y, at, v);
    else
        for (int v = 0; v < BV; v++)
            stretch(what, columns, stride, pixels, false, r, y, at, v);
}

/* May pixels at..at+n be one tile: does each window have a column in x? */
CFX_FORCE_INLINE bool reach_x(const cfx_blocked_row *r, int columns,
                              int stride, int64_t at, int64_t n)
{
    return r->left + at * stride > -columns &&
           r->left + (at + n - 1) * stride < r->width;
}

/* The last tile begins earlier, and computes some pixels again, unless that would
 * add twice. */
CFX_FORCE_INLINE void span(const kind what, const int columns,
                           const int stride, const cfx_blocked_row *r)
{
    float buffer[BUFFERED * CFX_BLOCK];
    float *y = what == PRODUCTS ? sums_of(r, buffer) : r->y;
    bool again = !r->end.add;
    int64_t n = r->pixels;

    for (int64_t at = 0; at < n;) {
        int64_t wide = again ? cfx_min64(at, n - WIDE) : at;
        int64_t narrow = again ? cfx_min64(at, n - NARROW) : at;
        if (wide >= 0 && wide + WIDE <= n &&
            reach_x(r, columns, stride, wide, WIDE)) {
            block_stretch(what, columns, stride, WIDE, r, y, wide);
            at = wide + WIDE;
        } else if (narrow >= 0 && narrow + NARROW <= n &&
                   reach_x(r, columns, stride, narrow, NARROW)) {
            block_stretch(what, columns, stride, NARROW, r, y, narrow);
            at = narrow + NARROW;
        } else {
            block_stretch(what, columns, stride, 1, r, y, at++);
        }
    }
    if (what == PRODUCTS)
        activate_row(r, y);
}

#define SPAN(name, what, columns, stride)                                     \
    static void name(const cfx_blocked_row *r)                                \
    {                                                                         \
        span(what, columns, stride, r);                                       \
    }

SPAN(products_3_1, PRODUCTS, 3, 1)
SPAN(products_3_2, PRODUCTS, 3, 2)
SPAN(products_5_1, PRODUCTS, 5, 1)
SPAN(products_5_2, PRODUCTS, 5, 2)
SPAN(maxima_3_2, MAXIMUM, 3, 2)

typedef void span_fn(const cfx_blocked_row *r);

static span_fn *find_span(bool w, int64_t columns, int64_t stride)
{
    static const struct {
        bool w;
        int64_t columns, stride;
        span_fn *run;
    } all[] = {{true, 3, 1, products_3_1},
               {true, 3, 2, products_3_2},
               {true, 5, 1, products_5_1},
               {true, 5, 2, products_5_2},
               {false, 3, 2, maxima_3_2}};

    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        if (all[i].w == w && all[i].columns == columns &&
            all[i].stride == stride)
            return all[i].run;
    return NULL;
}

/* ---- Rows ---- */

static void depthwise(const cfx_blocked_row *r)
{
    float buffer[BUFFERED * CFX_BLOCK], *y = sums_of(r, buffer);

    cut(r, y, products);
    activate_row(r, y);
}

static void max(const cfx_blocked_row *r)
{
    cut(r, r->y, maxima);
}

static void mean(const cfx_blocked_row *r)
{
    cut(r, r->y, means);
}

extern const struct cfx_windows_kernels CFX_LEVEL_NAME(cfx_windows_kernels);

const struct cfx_windows_kernels CFX_LEVEL_NAME(cfx_windows_kernels) = {
    .span = find_span,
    .depthwise = depthwise,
    .max = max,
    .mean = mean,
};
