/*
 * regions.c -- boxes in images: those that overlap, and the pixels in them.
 *
 * Bins are computed in the type of the images, step by step as torchvision
 * does, so that a sample at an edge is on its side of it.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "kernel/resample/regions_kernel.h"

/* ---- Boxes that overlap ---- */

/* A box that is taken, and the rest of those in `order`. */
typedef struct suppression {
    const cfx_nms *k;
    int64_t box, rest;
} suppression;

#define SUPPRESS(name, T)                                                     \
    static void suppress_##name(void *arg, int64_t begin, int64_t end,        \
                                int worker)                                   \
    {                                                                         \
        const suppression *s = arg;                                           \
        const cfx_nms *k = s->k;                                              \
        const T *a = (const T *)k->boxes + 4 * s->box;                        \
        T area = (a[2] - a[0]) * (a[3] - a[1]);                               \
                                                                              \
        (void)worker;                                                         \
        for (int64_t i = begin; i < end; i++) {                               \
            int64_t other = k->order[s->rest + i];                            \
            const T *b = (const T *)k->boxes + 4 * other;                     \
            T wide = (a[2] < b[2] ? a[2] : b[2]) -                            \
                     (a[0] < b[0] ? b[0] : a[0]);                             \
            T high = (a[3] < b[3] ? a[3] : b[3]) -                            \
                     (a[1] < b[1] ? b[1] : a[1]);                             \
            T both = (wide > 0 ? wide : 0) * (high > 0 ? high : 0);           \
            T all = area + (b[2] - b[0]) * (b[3] - b[1]) - both;              \
            if ((double)(both / all) > k->threshold)                          \
                k->dropped[other] = 1;                                        \
        }                                                                     \
    }

SUPPRESS(f32, float)
SUPPRESS(f64, double)

int64_t cfx_nms_run(cfx_context *ctx, const cfx_nms *k)
{
    cfx_parallel_fn *fn = k->dtype == CFX_F64 ? suppress_f64 : suppress_f32;
    int64_t kept = 0;

    memset(k->dropped, 0, (size_t)k->n);
    for (int64_t i = 0; i < k->n; i++) {
        suppression s = {k, k->order[i], i + 1};
        if (k->dropped[s.box])
            continue;
        k->kept[kept++] = s.box;
        cfx_parallel_for(ctx, k->n - s.rest, 8192, fn, &s);
    }
    return kept;
}

/* ---- Regions ---- */

int64_t cfx_regions_bad(const cfx_regions *k)
{
    for (int64_t i = 0; i < k->n; i++) {
        double r[5];
        for (int j = 0; j < 5; j++)
            r[j] = k->dtype == CFX_F64 ? ((const double *)k->rois)[5 * i + j]
                                       : ((const float *)k->rois)[5 * i + j];
        if (!(r[0] > -1 && r[0] < (double)k->batch))
            return i;
        for (int j = 1; j < 5; j++)
            if (!(fabs(r[j] * k->scale) < 0x1p30))
                return i;
    }
    return -1;
}

/* The bins of a region along one axis, and their samples. */
typedef struct bins {
    double start, size; /* of the first bin, and of each */
    double samples;     /* of each bin */
} bins;

/* The samples begin..end of a bin that lie in an image of n pixels, or one
 * more on either side. */
static void visible(const bins *b, int64_t bin, int64_t n, int64_t *begin,
                    int64_t *end)
{
    double from = b->start + (double)bin * b->size;
    double step = b->size / b->samples;
    double first = floor((-1 - from) / step - 1.5);
    double last = ceil(((double)n - from) / step + 1.5);

    *begin = step > 0 && first > 0 ? (int64_t)fmin(first, b->samples) : 0;
    *end = (int64_t)(step > 0 ? fmax(fmin(last, b->samples), 0) : b->samples);
}

/* A place along an axis: two pixels and the weight of the second. */
typedef struct tap {
    int64_t low, high;
    double part;
} tap;

/* False if the place is outside of the image. */
static bool tap_at(double at, int64_t n, tap *out)
{
    if (at < -1 || at > (double)n)
        return false;
    if (at < 0)
        at = 0;
    out->low = (int64_t)at;
    out->high = out->low + 1;
    if (out->low >= n - 1) {
        out->low = out->high = n - 1;
        at = (double)out->low;
    }
    out->part = at - (double)out->low;
    return true;
}

/* Results begin..end of all regions, each in all channels. */
#define ALIGN(name, T)                                                        \
    static bins bins_##name(const cfx_regions *k, const T *roi, int axis)     \
    {                                                                         \
        T scale = (T)k->scale, half = k->aligned ? (T)0.5 : 0;                \
        T start = roi[2 - axis] * scale - half;                               \
        T length = roi[4 - axis] * scale - half - start;                      \
        if (!k->aligned && length < 1)                                        \
            length = 1;                                                       \
        T size = length / (T)k->out[axis];                                    \
        double samples = k->sampling_ratio > 0 ? (double)k->sampling_ratio    \
                                               : fmax(ceil((double)size), 0); \
        return (bins){(double)start, (double)size, samples};                  \
    }                                                                         \
                                                                              \
    static T sample_##name(const bins *b, int64_t bin, int64_t i)             \
    {                                                                         \
        T start = (T)b->start, size = (T)b->size;                             \
        return start + (T)bin * size +                                        \
               ((T)i + (T)0.5) * size / (T)b->samples;                        \
    }                                                                         \
                                                                              \
    static void add_##name(const cfx_regions *k, const tap *v, const tap *u,  \
                           const T *x, T *y)                                  \
    {                                                                         \
        T low = (T)v->part, left = (T)u->part;                                \
        T w[4] = {(1 - low) * (1 - left), (1 - low) * left, low * (1 - left), \
                  low * left};                                                \
        const T *above = x + v->low * k->in[1],                               \
                *below = x + v->high * k->in[1];                              \
        int64_t plane = k->in[0] * k->in[1], out = k->out[0] * k->out[1];     \
        for (int64_t c = 0; c < k->channels; c++)                             \
            y[c * out] += w[0] * above[c * plane + u->low] +                  \
                          w[1] * above[c * plane + u->high] +                 \
                          w[2] * below[c * plane + u->low] +                  \
                          w[3] * below[c * plane + u->high];                  \
    }                                                                         \
                                                                              \
    static void bin_##name(const cfx_regions *k, const T *roi,                \
                           const int64_t *bin, T *y)                          \
    {                                                                         \
        int64_t out = k->out[0] * k->out[1], begin[2], end[2];                \
        const T *x = (const T *)k->x +                                        \
                     (int64_t)roi[0] * k->channels * k->in[0] * k->in[1];     \
        bins b[2];                                                            \
        tap v, u;                                                             \
        for (int a = 0; a < 2; a++) {                                         \
            b[a] = bins_##name(k, roi, a);                                    \
            visible(&b[a], bin[a], k->in[a], &begin[a], &end[a]);             \
        }                                                                     \
        for (int64_t c = 0; c < k->channels; c++)                             \
            y[c * out] = 0;                                                   \
        for (int64_t i = begin[0]; i < end[0]; i++) {                         \
            if (!tap_at(sample_##name(&b[0], bin[0], i), k->in[0], &v))       \
                continue;                                                     \
            for (int64_t j = begin[1]; j < end[1]; j++)                       \
                if (tap_at(sample_##name(&b[1], bin[1], j), k->in[1], &u))    \
                    add_##name(k, &v, &u, x, y);                              \
        }                                                                     \
        T count = (T)fmax(b[0].samples * b[1].samples, 1);                    \
        for (int64_t c = 0; c < k->channels; c++)                             \
            y[c * out] /= count;                                              \
    }                                                                         \
                                                                              \
    static void align_##name(void *arg, int64_t begin, int64_t end,           \
                             int worker)                                      \
    {                                                                         \
        const cfx_regions *k = arg;                                           \
        int64_t out = k->out[0] * k->out[1];                                  \
                                                                              \
        (void)worker;                                                         \
        for (int64_t i = begin; i < end; i++) {                               \
            int64_t bin[2] = {i % out / k->out[1], i % k->out[1]};            \
            bin_##name(k, (const T *)k->rois + i / out * 5, bin,              \
                       (T *)k->y + i / out * k->channels * out + i % out);    \
        }                                                                     \
    }

ALIGN(f32, float)
ALIGN(f64, double)

void cfx_roi_align_run(cfx_context *ctx, const cfx_regions *k)
{
    cfx_regions t = *k;

    cfx_parallel_for(ctx, k->n * k->out[0] * k->out[1],
                     1024 / (k->channels + 16) + 1,
                     k->dtype == CFX_F64 ? align_f64 : align_f32, &t);
}

/* ---- Maxima ---- */

/* The pixels begin..end of a bin along an axis of n pixels. */
static void pixels(double from, double to, int64_t bin, int64_t count,
                   int64_t n, bool wide, int64_t *range)
{
    double length = fmax(to - from + 1, 1);
    double size = wide ? length / (double)count
                       : (double)((float)length / (float)count);
    for (int i = 0; i < 2; i++) {
        double edge = wide ? (double)(bin + i) * size
                           : (double)((float)(bin + i) * (float)size);
        edge = (i ? ceil(edge) : floor(edge)) + from;
        range[i] = (int64_t)fmin(fmax(edge, 0), (double)n);
    }
}

#define POOL(name, T, LEAST, ROUND, WIDE)                                     \
    static void pool_##name(void *arg, int64_t begin, int64_t end,            \
                            int worker)                                       \
    {                                                                         \
        const cfx_regions *k = arg;                                           \
        int64_t out = k->out[0] * k->out[1], plane = k->in[0] * k->in[1];     \
        T scale = (T)k->scale;                                                \
                                                                              \
        (void)worker;                                                         \
        for (int64_t i = begin; i < end; i++) {                               \
            int64_t bin[2] = {i % out / k->out[1], i % k->out[1]}, r[2][2];   \
            const T *roi = (const T *)k->rois + i / out / k->channels * 5;    \
            const T *x = (const T *)k->x + ((int64_t)roi[0] * k->channels +   \
                                            i / out % k->channels) *          \
                                               plane;                         \
            for (int a = 0; a < 2; a++)                                       \
                pixels((double)ROUND(roi[2 - a] * scale),                     \
                       (double)ROUND(roi[4 - a] * scale), bin[a], k->out[a],  \
                       k->in[a], WIDE, r[a]);                                 \
            T most = r[0][1] > r[0][0] && r[1][1] > r[1][0] ? LEAST : 0;      \
            int64_t at = -1;                                                  \
            for (int64_t v = r[0][0]; v < r[0][1]; v++)                       \
                for (int64_t u = r[1][0]; u < r[1][1]; u++)                   \
                    if (x[v * k->in[1] + u] > most) {                         \
                        at = v * k->in[1] + u;                                \
                        most = x[at];                                         \
                    }                                                         \
            ((T *)k->y)[i] = most;                                            \
            k->argmax[i] = (int32_t)at;                                       \
        }                                                                     \
    }

POOL(f32, float, -FLT_MAX, roundf, false)
POOL(f64, double, -DBL_MAX, round, true)

void cfx_roi_pool_run(cfx_context *ctx, const cfx_regions *k)
{
    cfx_regions t = *k;

    cfx_parallel_for(ctx, k->n * k->channels * k->out[0] * k->out[1], 64,
                     k->dtype == CFX_F64 ? pool_f64 : pool_f32, &t);
}
