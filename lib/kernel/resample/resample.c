/*
 * resample.c -- interpolation.
 *
 * Along each axis, output i is a weighted sum of some inputs side by side; the
 * inputs and their weights are worked out once (`axis`). The inner axis is done
 * first: a row of x becomes a row as wide as y. Such rows are kept for as long
 * as the next outputs need them, and mixed along the outer axes.
 */
#include "kernel/resample/resample.h"

#include <math.h>
#include <string.h>

#include "kernel/vec/simd.h"
#include "base/convert.h"
#include "kernel/int64.h"

/* The inputs of the outputs along one axis. */
typedef struct axis {
    int64_t in, out, taps; /* taps: the most inputs one output reads */
    const int64_t *first;  /* index of the first input, for each output */
    const int64_t *count;
    const double *weight; /* taps for each output */
} axis;

typedef struct resampling {
    const cfx_resample *r;
    axis a[3];
    size_t slot; /* bytes of one kept row */
    size_t priv; /* bytes for each worker */
    char *work;  /* of the workers */
} resampling;

static size_t align(size_t n)
{
    return (n + 63) & ~(size_t)63;
}

/* ---- Weights ---- */

/* PyTorch works these out in the type that it interpolates in. */
static double as(const cfx_resample *r, double x)
{
    return r->dtype == CFX_F64 ? x : (double)(float)x;
}

static double step_of(const cfx_resample *r, int a)
{
    bool corners = r->align_corners && r->mode >= CFX_RESAMPLE_LINEAR;

    if (corners)
        return r->out[a] > 1 ? as(r, as(r, (double)(r->in[a] - 1)) /
                                         (double)(r->out[a] - 1))
                             : 0;
    if (r->scale[a] > 0)
        return as(r, 1 / r->scale[a]);
    return as(r, (double)r->in[a] / (double)r->out[a]);
}

/* The input coordinate of output i. */
static double source_of(const cfx_resample *r, double step, int64_t i)
{
    double at;

    if (r->align_corners)
        return as(r, step * (double)i);
    /* PyTorch's compiler fuses the two, which shows at places of some 100. */
    at = r->mode >= CFX_RESAMPLE_LINEAR
             ? as(r, fma(step, (double)i + 0.5, -0.5))
             : as(r, as(r, step * ((double)i + 0.5)) - 0.5);
    return at < 0 && r->mode != CFX_RESAMPLE_CUBIC ? 0 : at;
}

/* Keys' cubic with parameter a, at distance x. */
static double cubic(double x, double a)
{
    x = fabs(x);
    if (x <= 1)
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

static double triangle(double x)
{
    x = fabs(x);
    return x < 1 ? 1 - x : 0;
}

/* A place far beyond all extents stays one, as an integer. */
static int64_t whole(double at)
{
    const double far = 1e15;

    return at > far     ? (int64_t)far
           : at > -far  ? (int64_t)at
           : at <= -far ? -(int64_t)far
                        : 0;
}

static int64_t nearest(const cfx_resample *r, double step, int a, int64_t i)
{
    double at;

    if (r->mode == CFX_RESAMPLE_NEAREST)
        at = as(r, step * (double)i);
    else
        at = as(r, source_of(r, step, i) + 0.5);
    return cfx_max64(0, cfx_min64(whole(floor(at)), r->in[a] - 1));
}

static void weigh_linear(const cfx_resample *r, int a, double at,
                         int64_t *first, int64_t *count, double *w)
{
    double part;

    *first = cfx_min64(whole(at), r->in[a] - 1);
    part = as(r, at - (double)*first);
    part = part < 0 ? 0 : part > 1 ? 1 : part;
    *count = *first + 1 < r->in[a] ? 2 : 1;
    w[0] = *count == 2 ? as(r, 1 - part) : 1;
    w[1] = *count == 2 ? part : 0;
}

/* Inputs beyond the edge are those at the edge. */
static void weigh_cubic(const cfx_resample *r, int a, double at,
                        int64_t *first, int64_t *count, double *w)
{
    int64_t i = whole(floor(at)), n = r->in[a];
    double part = as(r, at - (double)i);

    *first = cfx_max64(0, cfx_min64(i - 1, n - 1));
    *count = cfx_max64(0, cfx_min64(i + 2, n - 1)) - *first + 1;
    for (int k = 0; k < 4; k++)
        w[k] = 0;
    for (int k = 0; k < 4; k++) {
        int64_t to = cfx_max64(0, cfx_min64(i - 1 + k, n - 1)) - *first;
        w[to] += cubic(part + 1 - k, -0.75);
    }
}

/* The scale of the filter, and its support. */
static double support_of(const cfx_resample *r, double step)
{
    return (r->mode == CFX_RESAMPLE_CUBIC ? 2 : 1) * (step >= 1 ? step : 1);
}

/* Inputs beyond the end have no weight. */
static void weigh_antialias(const cfx_resample *r, int a, double step,
                            int64_t i, int64_t taps, int64_t *first,
                            int64_t *count, double *w)
{
    double center = step * ((double)i + 0.5), support = support_of(r, step);
    double shrink = step >= 1 ? 1 / step : 1, sum = 0;

    *first = cfx_min64(cfx_max64(whole(center - support + 0.5), 0),
                       r->in[a] - 1);
    *count = cfx_min64(whole(center + support + 0.5), r->in[a]) - *first;
    *count = cfx_min64(cfx_max64(*count, 1), taps);
    for (int64_t k = 0; k < taps; k++)
        w[k] = 0;
    for (int64_t k = 0; k < *count; k++) {
        double x = ((double)(k + *first) - center + 0.5) * shrink;
        w[k] = r->mode == CFX_RESAMPLE_CUBIC ? cubic(x, -0.5) : triangle(x);
        sum += w[k];
    }
    for (int64_t k = 0; k < *count && sum != 0; k++)
        w[k] /= sum;
}

static int64_t taps_of(const cfx_resample *r, int a)
{
    if (r->antialias && r->mode >= CFX_RESAMPLE_LINEAR)
        return cfx_min64(whole(ceil(support_of(r, step_of(r, a)))) * 2 + 1,
                         cfx_max64(r->in[a], 1));
    return r->mode == CFX_RESAMPLE_CUBIC    ? 4
           : r->mode == CFX_RESAMPLE_LINEAR ? 2
                                            : 1;
}

static size_t axis_size(const cfx_resample *r, int a)
{
    return align((size_t)r->out[a] * (16 + (size_t)taps_of(r, a) * 8));
}

/* Fill the table of an axis at `at`. */
static axis make_axis(const cfx_resample *r, int a, char *at)
{
    int64_t n = r->out[a], taps = taps_of(r, a);
    int64_t *first = (int64_t *)(void *)at, *count = first + n;
    double *weight = (double *)(void *)(count + n), step = step_of(r, a);

    for (int64_t i = 0; i < n; i++) {
        double *w = weight + i * taps;

        if (r->mode < CFX_RESAMPLE_LINEAR) {
            first[i] = nearest(r, step, a, i);
            count[i] = 1;
            w[0] = 1;
        } else if (r->antialias) {
            weigh_antialias(r, a, step, i, taps, &first[i], &count[i], w);
        } else if (r->mode == CFX_RESAMPLE_LINEAR) {
            weigh_linear(r, a, source_of(r, step, i), &first[i], &count[i], w);
        } else {
            weigh_cubic(r, a, source_of(r, step, i), &first[i], &count[i], w);
        }
    }
    return (axis){r->in[a], n, taps, first, count, weight};
}

/* ---- Rows ---- */

/* The rows of x that a worker holds, as wide as y. */
typedef struct slots {
    int64_t *held; /* by slot: which row it has */
    char *slot, *sum;
} slots;

static slots slots_of(const resampling *s, int worker)
{
    int64_t n = s->a[0].taps * s->a[1].taps;
    char *work = s->work + s->priv * (size_t)worker;
    slots k = {.held = (int64_t *)(void *)work};

    k.slot = work + align((size_t)n * sizeof(*k.held));
    k.sum = k.slot + s->slot * (size_t)n;
    for (int64_t i = 0; i < n; i++)
        k.held[i] = -1;
    return k;
}

#define IN_PLACE 1
#define T float
#define C float
#define LOAD(x) (x)
#define SAVE(x) (x)
#define NAME(name) name##_f32
#include "kernel/resample/resample_rows.h"
#undef T
#undef C
#undef NAME

#define T double
#define C double
#define NAME(name) name##_f64
#include "kernel/resample/resample_rows.h"
#undef T
#undef C
#undef LOAD
#undef SAVE
#undef NAME
#undef IN_PLACE

#define IN_PLACE 0
#define T uint16_t
#define C float
#define LOAD(x) cfx_half_to_float(x)
#define SAVE(x) cfx_float_to_half(x)
#define NAME(name) name##_f16
#include "kernel/resample/resample_rows.h"
#undef LOAD
#undef SAVE
#undef NAME

#define LOAD(x) cfx_bf16_to_f32(x)
#define SAVE(x) cfx_float_to_bfloat(x)
#define NAME(name) name##_bf16
#include "kernel/resample/resample_rows.h"

/* ---- The nearest, of any type: elements are moved as they are ---- */

#define PICK(T)                                                               \
    static void pick_##T(T *y, const T *x, const axis *a)                     \
    {                                                                         \
        for (int64_t i = 0; i < a->out; i++)                                  \
            y[i] = x[a->first[i]];                                            \
    }

PICK(uint8_t)
PICK(uint16_t)
PICK(uint32_t)
PICK(uint64_t)

static void pick_row(void *y, const void *x, const axis *a, size_t size)
{
    switch (size) {
    case 1: pick_uint8_t(y, x, a); break;
    case 2: pick_uint16_t(y, x, a); break;
    case 4: pick_uint32_t(y, x, a); break;
    default: pick_uint64_t(y, x, a); break;
    }
}

static void nearest_piece(void *arg, int64_t begin, int64_t end, int worker)
{
    const resampling *s = arg;
    const axis *a = s->a;
    size_t size = cfx_dtype_size(s->r->dtype);
    size_t in = (size_t)a[2].in * size, out = (size_t)a[2].out * size;
    int64_t rows = a[0].out * a[1].out, last = -1;

    (void)worker;
    for (int64_t r = begin; r < end; r++) {
        int64_t o = r % rows,
                from = (r / rows * a[0].in + a[0].first[o / a[1].out]) *
                           a[1].in +
                       a[1].first[o % a[1].out];
        char *y = (char *)s->r->y + (size_t)r * out;

        if (from == last)
            memcpy(y, y - out, out);
        else
            pick_row(y, (const char *)s->r->x + (size_t)from * in, &a[2],
                     size);
        last = from;
    }
}

/* ---- The whole ---- */

static cfx_resample with_three_axes(const cfx_resample *r)
{
    cfx_resample t = *r;
    int lead = 3 - r->spatial;

    t.spatial = 3;
    for (int a = 0; a < 3; a++) {
        t.in[a] = a < lead ? 1 : r->in[a - lead];
        t.out[a] = a < lead ? 1 : r->out[a - lead];
        t.scale[a] = a < lead ? 1 : r->scale[a - lead];
    }
    return t;
}

static size_t private_size(const cfx_resample *r, size_t *slot)
{
    *slot = align((size_t)r->out[2] * (r->dtype == CFX_F64 ? 8 : 4));
    if (r->mode < CFX_RESAMPLE_LINEAR)
        return 0;
    return (*slot + 8) * (size_t)(taps_of(r, 0) * taps_of(r, 1)) + *slot + 64;
}

size_t cfx_resample_workspace(const cfx_context *ctx, const cfx_resample *r)
{
    cfx_resample t = with_three_axes(r);
    size_t slot;

    return axis_size(&t, 0) + axis_size(&t, 1) + axis_size(&t, 2) +
           align(private_size(&t, &slot)) * (size_t)cfx_context_threads(ctx);
}

void cfx_resample_run(cfx_context *ctx, const cfx_resample *r, void *workspace)
{
    cfx_resample t = with_three_axes(r);
    resampling s = {.r = &t, .work = workspace};
    cfx_parallel_fn *fn = nearest_piece;
    int64_t grain;

    if (t.planes * t.out[0] * t.out[1] * t.out[2] == 0)
        return;
    for (int a = 0; a < 3; a++) {
        s.a[a] = make_axis(&t, a, s.work);
        s.work += axis_size(&t, a);
    }
    s.priv = align(private_size(&t, &s.slot));
    if (t.mode >= CFX_RESAMPLE_LINEAR)
        fn = t.dtype == CFX_F64    ? rows_f64
             : t.dtype == CFX_F16  ? rows_f16
             : t.dtype == CFX_BF16 ? rows_bf16
                                   : rows_f32;
    /* Long runs of rows, since neighbours share what they read. */
    grain = cfx_max64(16, 65536 / t.out[2]);
    cfx_parallel_for(ctx, t.planes * t.out[0] * t.out[1], grain, fn, &s);
}
