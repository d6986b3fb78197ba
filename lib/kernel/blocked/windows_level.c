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

/* `what` and `pixels` are constants where this is called. */
CFX_FORCE_INLINE void window(const kind what, const int pixels,
                             const cfx_blocked_row *r, int64_t first)
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
            vf_store(r->y + at, last_value(what, r, s[p][v], at));
        }
    }
}

/* clang-format off */
#define CASE(what, p) case p: window(what, p, r, at); break;
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
    static void name(const cfx_blocked_row *r, int64_t at, int64_t end)       \
    {                                                                         \
        switch (end - at) {                                                   \
            CASES(what) default : break;                                      \
        }                                                                     \
    }

TILE(products, PRODUCTS)
TILE(maxima, MAXIMUM)
TILE(means, MEAN)

/* Cut a row into tiles of almost the same length. */
CFX_FORCE_INLINE void cut(const cfx_blocked_row *r,
                          void (*tile)(const cfx_blocked_row *, int64_t,
                                       int64_t))
{
    int64_t n = cfx_ceil_div(r->pixels, PIXELS), at = 0;

    for (int64_t i = 1; i < n; i++) {
        int64_t end = i * r->pixels / n;
        tile(r, at, end);
        at = end;
    }
    tile(r, at, r->pixels);
}

static void depthwise(const cfx_blocked_row *r)
{
    cut(r, products);
    if (r->end.activation)
        activate(&r->end, r->y, r->pixels * CFX_BLOCK);
}

static void max(const cfx_blocked_row *r)
{
    cut(r, maxima);
}

static void mean(const cfx_blocked_row *r)
{
    cut(r, means);
}

extern const struct cfx_windows_kernels CFX_LEVEL_NAME(cfx_windows_kernels);

const struct cfx_windows_kernels CFX_LEVEL_NAME(cfx_windows_kernels) = {
    .depthwise = depthwise,
    .max = max,
    .mean = mean,
};
