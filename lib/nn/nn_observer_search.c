/*
 * nn_observer_search -- the part of a histogram that quantizes best: PyTorch's
 * non-linear search for the least L2 norm of the error.
 *
 * From the whole range, the end with more bins below the next quantile moves
 * inwards, until the error grows. The error takes the numbers of a bin as
 * spread evenly over it. Tensors of PyTorch are float32 here and its Python
 * numbers double; a number that meets a tensor is rounded to float32.
 */
#include <math.h>

#include <cfx/ops.h>

#include "nn/nn_observer.h"
#include "op/composite.h"

struct search {
    cfx_context *ctx;
    const float *histogram;
    float *sum;       /* running sums of it */
    cfx_tensor *norm; /* the error of each bin */
    int64_t n;
    double width; /* of a bin */
    double levels;
};

/* The integral of density * x^2 from begin to end. */
static float norm_of(float begin, float end, float density)
{
    return density * ((end * end * end - begin * begin * begin) / 3);
}

/* The floor of a quotient of floats, as PyTorch computes it. */
static float floor_div(float a, float b)
{
    if (b == 0)
        return a / b;
    float mod = fmodf(a, b), div = (a - mod) / b;
    if (mod != 0 && (b < 0) != (mod < 0))
        div -= 1;
    if (div == 0)
        return copysignf(0, a / b);
    float floored = floorf(div);
    return div - floored > 0.5f ? floored + 1 : floored;
}

static float bin_of(const struct search *s, float x, float width)
{
    float bin = floor_div(x, width), last = (float)(s->levels - 1);
    return bin < 0 ? 0 : bin > last ? last : bin;
}

/* The error of one bin, for integers that begin at bin `start` and have
 * `level` as their distance. */
static float error_of(const struct search *s, int64_t bin, int64_t start,
                      double level)
{
    float width = (float)level, half = (float)(level / 2);
    float begin = (float)(bin - start) * (float)s->width;
    float end = begin + (float)s->width;
    float first = bin_of(s, begin, width), last = bin_of(s, end, width);
    float center = (first + 0.5f) * width;
    float density = s->histogram[bin] / (float)s->width;
    float norm = 0 + norm_of(begin - center, half, density);
    norm += (last - first - 1) * norm_of(-half, half, density);
    center = last * width + half;
    return norm + norm_of(-half, end - center, density);
}

/* The error for the range of bins start..end. */
static cfx_status total_error(const struct search *s, int64_t start,
                              int64_t end, double *out, cfx_error *err)
{
    double level = s->width * (double)(end - start + 1) / s->levels;
    float *norm = s->norm->data;
    cfx_scope scope;
    *out = 0;
    if (level == 0)
        return CFX_OK;
    for (int64_t i = 0; i < s->n; i++)
        norm[i] = error_of(s, i, start, level);
    cfx_scope_init(&scope, &cfx_composite__eager, s->ctx, NULL);
    cfx_value sum = cfx_sum(&scope, cfx_value_of_tensor(s->norm));
    cfx_status st = cfx_scope_status(&scope, err);
    if (!st)
        *out = (double)*(const float *)sum.u.tensor->data;
    cfx_scope_release(&scope);
    return st;
}

static void sum_up(struct search *s, double *total)
{
    double sum = 0;
    for (int64_t i = 0; i < s->n; i++) {
        sum += (double)s->histogram[i];
        s->sum[i] = (float)sum;
    }
    *total = (double)(float)sum;
}

/* A range that the search looks at. */
struct part {
    int64_t start, end;
    double alpha, beta; /* its quantiles */
};

/* Move one end to the next quantile. */
static struct part step(const struct search *s, struct part p, double total)
{
    const double granularity = 1e-5;
    double alpha = p.alpha + granularity, beta = p.beta - granularity;
    float low = (float)(alpha * total), high = (float)(beta * total);
    int64_t l = p.start, r = p.end;
    while (l < p.end && s->sum[l] < low)
        l++;
    while (r > p.start && s->sum[r] > high)
        r--;
    if (l - p.start > p.end - r)
        return (struct part){l, p.end, alpha, p.beta};
    return (struct part){p.start, r, p.alpha, beta};
}

static cfx_status search(const struct search *s, double total,
                         struct part *best, cfx_error *err)
{
    struct part p = {0, s->n - 1, 0, 1};
    double least = INFINITY, norm;
    *best = p;
    while (p.alpha < p.beta) {
        struct part next = step(s, p, total);
        p.alpha = next.alpha;
        p.beta = next.beta;
        if (next.start == p.start && next.end == p.end)
            continue;
        cfx_status st = total_error(s, next.start, next.end, &norm, err);
        if (st)
            return st;
        if (norm > least)
            break;
        least = norm;
        *best = p = next;
    }
    return CFX_OK;
}

cfx_status cfx_observer__search(cfx_context *ctx, const float *histogram,
                                int64_t n, float min, float max, double levels,
                                float *new_min, float *new_max, cfx_error *err)
{
    struct search s = {.ctx = ctx,
                       .histogram = histogram,
                       .n = n,
                       .width = ((double)max - (double)min) / (double)n,
                       .levels = levels};
    cfx_tensor *sums = NULL;
    struct part best;
    double total;
    cfx_status st = cfx_tensor_new(&s.norm, ctx, CFX_F32, 1, &n, err);
    if (!st)
        st = cfx_tensor_new(&sums, ctx, CFX_F32, 1, &n, err);
    if (!st) {
        s.sum = sums->data;
        sum_up(&s, &total);
        st = search(&s, total, &best, err);
    }
    if (!st) {
        float width = (max - min) / (float)n;
        *new_max = min + width * (float)(best.end + 1);
        *new_min = min + width * (float)best.start;
    }
    cfx_tensor_unref(s.norm);
    cfx_tensor_unref(sums);
    return st;
}
