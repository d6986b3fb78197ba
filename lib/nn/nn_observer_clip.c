/*
 * nn_observer_clip -- the part of a histogram that an observer keeps: a percentage of
 * the numbers, or the part that loses the least information.
 *
 * PyTorch has neither observer. Both have the histogram of HistogramObserver.
 */
#include <math.h>

#include "nn/nn_observer.h"

static double sum_of(const float *h, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (double)h[i];
    return sum;
}

/* ---- Percentiles ---- */

void cfx_observer__percentile(const cfx_histogram *h, double percentage,
                              float *min, float *max)
{
    double width = ((double)h->max - (double)h->min) / (double)h->n;
    double cut = sum_of(h->bin, h->n) * (100 - percentage) / 200, below = 0;
    int64_t low = 0, high = h->n;
    while (low < h->n - 1 && below + (double)h->bin[low] <= cut)
        below += (double)h->bin[low++];
    below = 0;
    while (high > low + 1 && below + (double)h->bin[high - 1] <= cut)
        below += (double)h->bin[--high];
    *min = low ? (float)(h->min + (double)low * width) : h->min;
    *max = high < h->n ? (float)(h->min + (double)high * width) : h->max;
}

/* ---- Entropy ---- */

/* A histogram whose bin of 0 has the numbers of the next one: zeros are many after a relu,
 * and every scale has an integer for them. */
typedef struct counts {
    const cfx_histogram *h;
    int64_t zero;
    double total;
} counts;

static double count_at(const counts *c, int64_t i)
{
    int64_t beside = i + 1 < c->h->n ? i + 1 : i - 1;
    return (double)c->h->bin[i == c->zero && beside >= 0 ? beside : i];
}

static double count_in(const counts *c, int64_t from, int64_t to)
{
    double sum = 0;
    for (int64_t i = from; i < to; i++)
        sum += count_at(c, i);
    return sum;
}

/* The Kullback-Leibler divergence of bins low..high, with what lies beyond them in the
 * first and the last one, from the same bins in `levels` steps, each of which spreads its
 * numbers evenly over its bins that have any. */
static double divergence(const counts *c, int64_t low, int64_t high,
                         int64_t levels)
{
    const double least = 1e-9; /* of a probability */
    double before = count_in(c, 0, low), behind = count_in(c, high, c->h->n);
    double inside = c->total - before - behind, sum = 0;
    for (int64_t k = 0; k < levels; k++) {
        int64_t from = low + k * (high - low) / levels;
        int64_t to = low + (k + 1) * (high - low) / levels, some = 0;
        for (int64_t i = from; i < to; i++)
            some += count_at(c, i) > 0;
        double q = count_in(c, from, to) / inside / (double)(some ? some : 1);
        for (int64_t i = from; i < to; i++) {
            double p = count_at(c, i) + (i == low ? before : 0) +
                       (i == high - 1 ? behind : 0);
            double by = count_at(c, i) > 0 ? fmax(q, least) : least;
            if (p > 0)
                sum += p / c->total * log(p / c->total / by);
        }
    }
    return sum;
}

static int64_t bin_at(const cfx_histogram *h, double x)
{
    double at = (x - (double)h->min) / ((double)h->max - (double)h->min);
    return (int64_t)fmin(fmax(floor(at * (double)h->n), 0), (double)h->n);
}

/* Ranges that reach as far below 0 as above it, or to the end of the histogram. */
void cfx_observer__entropy(const cfx_histogram *h, int64_t levels, float *min,
                           float *max)
{
    enum { STEPS = 128 };
    double most = fmax(fabs((double)h->min), fabs((double)h->max));
    double best = INFINITY;
    counts c = {.h = h, .zero = h->min < h->max ? bin_at(h, 0) : -1};
    c.total = count_in(&c, 0, h->n);
    *min = h->min;
    *max = h->max;
    for (int i = STEPS; i > 0 && h->min < h->max; i--) {
        double reach = most * i / STEPS;
        int64_t low = bin_at(h, -reach), high = bin_at(h, reach);
        if (high - low < levels || !(count_in(&c, low, high) > c.total / 2))
            break;
        double d = divergence(&c, low, high, levels);
        if (!(d < best))
            continue;
        best = d;
        *min = (float)fmax((double)h->min, -reach);
        *max = (float)fmin((double)h->max, reach);
    }
}
