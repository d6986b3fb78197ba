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

/* Add to vector v of pixels from `first` on, scale and bound it. */
CFX_FORCE_INLINE void finish_values(const kind what, const cfx_blocked_row *r,
                                    const int pixels, int64_t first, int v,
                                    vf *s)
{
    const bool narrow = r->end.add_narrow;
    const bounds b = bounds_of(&r->end);
    const float *add = r->end.add;

    if (what == MAXIMUM)
        return;
    if (what == PRODUCTS && add) {
        add += first * cfx_blocked_lanes(narrow);
        CFX_UNROLL
        for (int p = 0; p < pixels; p++)
            s[p] = vf_add(
                s[p],
                load_block(narrow, add + p * cfx_blocked_lanes(narrow), v));
    }
    CFX_UNROLL
    for (int p = 0; p < pixels; p++)
        s[p] = what == MEAN ? vf_mul(s[p], vf_set1(r->scale))
                            : finish(s[p], b);
}

/* Pixels of a row whose sums an activation reads from the first cache, where y may
 * not be. */
enum { BUFFERED = 112 };

/* Store vector v of pixels from `first` on: in `sums`, if an activation follows, or
 * in y. */
CFX_FORCE_INLINE void put(const cfx_blocked_row *r, float *sums,
                          const int pixels, int64_t first, int v, const vf *s)
{
    const bool converts = r->end.converts;
    float *y = sums ? sums : r->y;

    if (sums || !r->end.narrow) {
        y += first * CFX_BLOCK + v * VF;
        CFX_UNROLL
        for (int p = 0; p < pixels; p++)
            vf_store(y + p * CFX_BLOCK, s[p]);
        return;
    }
    y += first * cfx_blocked_lanes(true);
    CFX_UNROLL
    for (int p = 0; p < pixels; p++)
        store_narrow(converts, y + p * cfx_blocked_lanes(true), v, s[p]);
}

/* Compute a part of a row; `sums` as in put(). */
typedef void cut_fn(const cfx_blocked_row *r, float *sums);

/* Compute a row with `cut`; the sums of BUFFERED pixels at a time are activated. The
 * windows of pixels lie `step` apart in x, or in a span, where step is 0, `stride`
 * columns. */
CFX_NOINLINE
static void run_activated(const cfx_blocked_row *r, cut_fn *cut, int64_t step,
                          int stride)
{
    float sums[BUFFERED * CFX_BLOCK];
    cfx_blocked_row part = *r;

    for (int64_t left = r->pixels; left > 0; left -= part.pixels) {
        part.pixels = left < BUFFERED ? left : BUFFERED;
        cut(&part, sums);
        activate(&r->end, part.y, sums, part.pixels * CFX_BLOCK);
        part.x += part.pixels * step;
        part.left += part.pixels * stride;
        part.y += part.pixels * cfx_blocked_lanes(r->end.narrow);
        if (part.end.add)
            part.end.add += part.pixels * cfx_blocked_lanes(r->end.add_narrow);
    }
}

CFX_FORCE_INLINE void run_row(const cfx_blocked_row *r, cut_fn *cut,
                              int64_t step, int stride)
{
    if (r->end.activation)
        run_activated(r, cut, step, stride);
    else
        cut(r, NULL);
}

/* `what`, `narrow` (of x) and `pixels` are constants where this is called. */
CFX_FORCE_INLINE void window(const kind what, const bool narrow,
                             const int pixels, const cfx_blocked_row *r,
                             float *sums, int64_t first)
{
    const float *from = r->x + first * r->x_pixel;
    vf s[BV][PIXELS];

    CFX_UNROLL
    for (int v = 0; v < BV; v++) {
        vf b = first_value(what, r, v);
        CFX_UNROLL
        for (int p = 0; p < pixels; p++)
            s[v][p] = b;
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
                    vf xv = load_block(narrow, x + p * r->x_pixel, v);
                    s[v][p] = what == PRODUCTS  ? vf_fma(xv, wv, s[v][p])
                              : what == MAXIMUM ? vf_max_nan(s[v][p], xv)
                                                : vf_add(s[v][p], xv);
                }
            }
            x += r->x_at[1];
        }
    }
    CFX_UNROLL
    for (int v = 0; v < BV; v++) {
        finish_values(what, r, pixels, first, v, s[v]);
        put(r, sums, pixels, first, v, s[v]);
    }
}

/* clang-format off */
#define CASE(what, x, p) case p: window(what, x, p, r, sums, at); break;
#define UP_TO_4(w, x) CASE(w, x, 1) CASE(w, x, 2) CASE(w, x, 3) CASE(w, x, 4)
#define UP_TO_6(w, x) UP_TO_4(w, x) CASE(w, x, 5) CASE(w, x, 6)
#define UP_TO_14(w, x) UP_TO_6(w, x) CASE(w, x, 7) CASE(w, x, 8) \
    CASE(w, x, 9) CASE(w, x, 10) CASE(w, x, 11) CASE(w, x, 12) \
    CASE(w, x, 13) CASE(w, x, 14)
#if CFX_LEVEL_IS(avx512)
#define CASES UP_TO_14
#elif CFX_LEVEL_IS(plain)
#define CASES UP_TO_4
#else
#define CASES UP_TO_6
#endif
/* clang-format on */

/* Cut a row into tiles of almost the same length. */
CFX_FORCE_INLINE void cut(const cfx_blocked_row *r, float *sums,
                          void (*tile)(const cfx_blocked_row *, float *,
                                       int64_t, int64_t))
{
    int64_t n = cfx_ceil_div(r->pixels, PIXELS), at = 0;

    for (int64_t i = 1; i < n; i++) {
        int64_t end = i * r->pixels / n;
        tile(r, sums, at, end);
        at = end;
    }
    tile(r, sums, at, r->pixels);
}

#define ROW(name, what, narrow)                                               \
    static void name##_tile(const cfx_blocked_row *r, float *sums,            \
                            int64_t at, int64_t end)                          \
    {                                                                         \
        switch (end - at) {                                                   \
            CASES(what, narrow) default : break;                              \
        }                                                                     \
    }                                                                         \
    static void name##_cut(const cfx_blocked_row *r, float *sums)             \
    {                                                                         \
        cut(r, sums, name##_tile);                                            \
    }                                                                         \
    static void name(const cfx_blocked_row *r)                                \
    {                                                                         \
        run_row(r, name##_cut, r->x_pixel, 0);                                \
    }

ROW(products, PRODUCTS, false)
ROW(maxima, MAXIMUM, false)
ROW(means, MEAN, false)
ROW(narrow_products, PRODUCTS, true)
ROW(narrow_maxima, MAXIMUM, true)
ROW(narrow_means, MEAN, true)

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
CFX_FORCE_INLINE void stretch(const kind what, const bool narrow,
                              const int columns, const int stride,
                              const int pixels, const bool over_edge,
                              const cfx_blocked_row *r, float *sums,
                              int64_t at, int v)
{
    const int64_t lanes = cfx_blocked_lanes(narrow);
    const int reach = (pixels - 1) * stride + columns;
    int64_t left = r->left + at * stride;
    vf s[WIDE], w[5];

    CFX_UNROLL
    for (int p = 0; p < pixels; p++)
        s[p] = first_value(what, r, v);
    for (int64_t i = 0; i < r->n[0]; i++) {
        const float *x = r->x + (i * r->x_at[0] + left * lanes);
        CFX_UNROLL
        for (int k = 0; k < columns && what == PRODUCTS; k++)
            w[k] = vf_load(r->w + i * r->w_row + k * CFX_BLOCK + v * VF);
        CFX_UNROLL
        for (int j = 0; j < reach; j++) {
            bool near = j < columns - 1 || j > reach - columns;
            if (over_edge && near && (left + j < 0 || left + j >= r->width))
                continue;
            vf xv = load_block(narrow, x + j * lanes, v);
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
    finish_values(what, r, pixels, at, v, s);
    put(r, sums, pixels, at, v, s);
}

CFX_FORCE_INLINE void block_stretch(const kind what, const bool narrow,
                                    const int columns, const int stride,
                                    const int pixels, const cfx_blocked_row *r,
                                    float *sums, int64_t at)
{
    int64_t left = r->left + at * stride;
    int64_t end = left + (pixels - 1) * stride + columns;

    if (left < 0 || end > r->width)
        for (int v = 0; v < BV; v++)
            stretch(what, narrow, columns, stride, pixels, true, r, sums, at,
                    v);
    else
        for (int v = 0; v < BV; v++)
            stretch(what, narrow, columns, stride, pixels, false, r, sums, at,
                    v);
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
CFX_FORCE_INLINE void span(const kind what, const bool narrow,
                           const int columns, const int stride,
                           const cfx_blocked_row *r, float *sums)
{
    bool again = !r->end.add;
    int64_t n = r->pixels;

    for (int64_t at = 0; at < n;) {
        int64_t wide = again ? cfx_min64(at, n - WIDE) : at;
        int64_t few = again ? cfx_min64(at, n - NARROW) : at;
        if (wide >= 0 && wide + WIDE <= n &&
            reach_x(r, columns, stride, wide, WIDE)) {
            block_stretch(what, narrow, columns, stride, WIDE, r, sums, wide);
            at = wide + WIDE;
        } else if (few >= 0 && few + NARROW <= n &&
                   reach_x(r, columns, stride, few, NARROW)) {
            block_stretch(what, narrow, columns, stride, NARROW, r, sums, few);
            at = few + NARROW;
        } else {
            block_stretch(what, narrow, columns, stride, 1, r, sums, at++);
        }
    }
}

#define SPAN(name, what, columns, stride, narrow)                             \
    static void name##_cut(const cfx_blocked_row *r, float *sums)             \
    {                                                                         \
        span(what, narrow, columns, stride, r, sums);                         \
    }                                                                         \
    static void name(const cfx_blocked_row *r)                                \
    {                                                                         \
        run_row(r, name##_cut, 0, stride);                                    \
    }

/* kind, columns, stride, x is bfloat16 */
/* clang-format off */
#define SPANS(F)                                                              \
    F(PRODUCTS, 3, 1, false) F(PRODUCTS, 3, 2, false)                         \
    F(PRODUCTS, 5, 1, false) F(PRODUCTS, 5, 2, false)                         \
    F(MAXIMUM, 2, 2, false) F(MAXIMUM, 3, 2, false)                           \
    F(PRODUCTS, 3, 1, true) F(PRODUCTS, 3, 2, true)                           \
    F(PRODUCTS, 5, 1, true) F(PRODUCTS, 5, 2, true)                           \
    F(MAXIMUM, 2, 2, true) F(MAXIMUM, 3, 2, true)
/* clang-format on */

#define DEFINE(what, columns, stride, narrow)                                 \
    SPAN(what##_##columns##_##stride##_##narrow, what, columns, stride, narrow)
#define ROW_OF_TABLE(what, columns, stride, narrow)                           \
    {what, columns, stride, narrow, what##_##columns##_##stride##_##narrow},

SPANS(DEFINE)

static cfx_blocked_row_fn *find_span(bool w, int64_t columns, int64_t stride,
                                     bool narrow_x)
{
    static const struct {
        kind what;
        int64_t columns, stride;
        bool narrow;
        cfx_blocked_row_fn *run;
    } all[] = {SPANS(ROW_OF_TABLE)};
    kind what = w ? PRODUCTS : MAXIMUM;

    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        if (all[i].what == what && all[i].columns == columns &&
            all[i].stride == stride && all[i].narrow == narrow_x)
            return all[i].run;
    return NULL;
}

extern const struct cfx_windows_kernels CFX_LEVEL_NAME(cfx_windows_kernels);

const struct cfx_windows_kernels CFX_LEVEL_NAME(cfx_windows_kernels) = {
    .span = find_span,
    .depthwise = {products, narrow_products},
    .max = {maxima, narrow_maxima},
    .mean = {means, narrow_means},
};
