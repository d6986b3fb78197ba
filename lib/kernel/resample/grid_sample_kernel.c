/*
 * grid_sample.c -- images sampled at the places that a grid names.
 *
 * A place is turned, once for all channels, into the elements it reads and
 * their weights: 1, 4, 8 or 16 of them.
 */
#include <math.h>
#include <string.h>

#include "base/convert.h"
#include "kernel/resample/resample.h"

enum { MAX_READS = 16 };

/* The inputs of one output, for any channel. */
typedef struct reads {
    int count;
    int64_t at[MAX_READS];
    double weight[MAX_READS];
} reads;

/* ---- Coordinates ---- */

/* From -1..1 to elements. */
static double unnormalize(const cfx_grid_sample *g, double x, int64_t n)
{
    if (g->align_corners)
        return (x + 1) / 2 * (double)(n - 1);
    return ((x + 1) * (double)n - 1) / 2;
}

static double clip(double x, int64_t n)
{
    return !(x > 0) ? 0 : x > (double)(n - 1) ? (double)(n - 1) : x;
}

/* Mirrored at the first and last element, or at their outer edges. */
static double reflect(double x, double low, double high)
{
    double span = high - low, part;

    if (span <= 0)
        return 0;
    x = fabs(x - low);
    part = fmod(x, span);
    return fmod(floor(x / span), 2) == 0 ? part + low : span - part + low;
}

/* A coordinate after padding; what is not finite is far outside. */
static double place(const cfx_grid_sample *g, double x, int64_t n)
{
    if (g->padding == CFX_GRID_BORDER)
        x = clip(x, n);
    else if (g->padding == CFX_GRID_REFLECTION)
        x = clip(g->align_corners ? reflect(x, 0, (double)(n - 1))
                                  : reflect(x, -0.5, (double)n - 0.5),
                 n);
    return fabs(x) < 0x1p31 ? x : -100;
}

/* ---- Reads ---- */

static void add_read(const cfx_grid_sample *g, reads *r, const int64_t *i,
                     double weight)
{
    int64_t at = 0;

    for (int a = 0; a < g->spatial; a++) {
        if (i[a] < 0 || i[a] >= g->in[a])
            return;
        at = at * g->in[a] + i[a];
    }
    r->at[r->count] = at;
    r->weight[r->count++] = weight;
}

static void read_nearest(const cfx_grid_sample *g, const double *x, reads *r)
{
    int64_t i[3];

    for (int a = 0; a < g->spatial; a++)
        i[a] = (int64_t)nearbyint(place(g, x[a], g->in[a]));
    add_read(g, r, i, 1);
}

static void read_linear(const cfx_grid_sample *g, const double *x, reads *r)
{
    int64_t low[3], i[3];
    double part[3];

    for (int a = 0; a < g->spatial; a++) {
        double at = place(g, x[a], g->in[a]);
        low[a] = (int64_t)floor(at);
        part[a] = at - (double)low[a];
    }
    for (int corner = 0; corner < 1 << g->spatial; corner++) {
        double weight = 1;
        for (int a = 0; a < g->spatial; a++) {
            int up = corner >> (g->spatial - 1 - a) & 1;
            i[a] = low[a] + up;
            weight *= up ? part[a] : 1 - part[a];
        }
        add_read(g, r, i, weight);
    }
}

static double cubic(double x)
{
    const double a = -0.75;

    x = fabs(x);
    if (x <= 1)
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
}

static void read_cubic(const cfx_grid_sample *g, const double *x, reads *r)
{
    double low[2], part[2];

    for (int a = 0; a < 2; a++) {
        double at = fabs(x[a]) < 0x1p31 ? x[a] : -100;
        low[a] = floor(at);
        part[a] = at - low[a];
    }
    for (int u = 0; u < 4; u++)
        for (int v = 0; v < 4; v++) {
            int64_t i[2] = {(int64_t)place(g, low[0] + u - 1, g->in[0]),
                            (int64_t)place(g, low[1] + v - 1, g->in[1])};
            add_read(g, r, i, cubic(part[0] + 1 - u) * cubic(part[1] + 1 - v));
        }
}

static void read_at(const cfx_grid_sample *g, const double *x, reads *r)
{
    r->count = 0;
    if (g->mode == CFX_GRID_NEAREST)
        read_nearest(g, x, r);
    else if (g->mode == CFX_GRID_BILINEAR)
        read_linear(g, x, r);
    else
        read_cubic(g, x, r);
}

/* ---- Outputs ---- */

static int64_t volume(int spatial, const int64_t *n)
{
    int64_t v = 1;

    for (int a = 0; a < spatial; a++)
        v *= n[a];
    return v;
}

/* Outputs begin..end of all images, each in all channels. */
#define SAMPLE(name, T, C, LOAD, SAVE)                                        \
    static void sample_##name(void *arg, int64_t begin, int64_t end,          \
                              int worker)                                     \
    {                                                                         \
        const cfx_grid_sample *g = arg;                                       \
        int64_t in = volume(g->spatial, g->in);                               \
        int64_t out = volume(g->spatial, g->out);                             \
                                                                              \
        (void)worker;                                                         \
        for (int64_t i = begin; i < end; i++) {                               \
            const T *grid = (const T *)g->grid + i * g->spatial;              \
            const T *x = (const T *)g->x + i / out * g->channels * in;        \
            T *y = (T *)g->y + i / out * g->channels * out + i % out;         \
            double at[3];                                                     \
            reads r;                                                          \
                                                                              \
            for (int a = 0; a < g->spatial; a++)                              \
                at[a] = (double)(C)unnormalize(                               \
                    g, (double)LOAD(grid[g->spatial - 1 - a]), g->in[a]);     \
            read_at(g, at, &r);                                               \
            for (int64_t c = 0; c < g->channels; c++, x += in, y += out) {    \
                C sum = 0;                                                    \
                for (int k = 0; k < r.count; k++)                             \
                    sum += (C)r.weight[k] * LOAD(x[r.at[k]]);                 \
                *y = SAVE(sum);                                               \
            }                                                                 \
        }                                                                     \
    }

#define ITSELF(x) (x)
SAMPLE(f32, float, float, ITSELF, ITSELF)
SAMPLE(f64, double, double, ITSELF, ITSELF)
SAMPLE(f16, uint16_t, float, cfx_half_to_float, cfx_float_to_half)
SAMPLE(bf16, uint16_t, float, cfx_bf16_to_f32, cfx_float_to_bfloat)

void cfx_grid_sample_run(cfx_context *ctx, const cfx_grid_sample *g)
{
    cfx_grid_sample t = *g;
    cfx_parallel_fn *fn = t.dtype == CFX_F64    ? sample_f64
                          : t.dtype == CFX_F16  ? sample_f16
                          : t.dtype == CFX_BF16 ? sample_bf16
                                                : sample_f32;

    cfx_parallel_for(ctx, t.batch * volume(t.spatial, t.out),
                     4096 / (t.channels + 16) + 1, fn, &t);
}
