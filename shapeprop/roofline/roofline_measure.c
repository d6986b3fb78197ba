/*
 * roofline_measure -- time nodes with an interpreter that reads the clock
 * before and after each.
 *
 * The cost of reading the clock is measured and subtracted. Releasing values
 * after their last use is not part of a node's time, but of that of the run.
 */
#include <stdlib.h>

#include "base/context_impl.h"
#include "shapeprop/roofline/roofline_impl.h"

enum { WARM_UP = 2, LEAST_RUNS = 5, MOST_RUNS = 100 };

typedef struct timing {
    cfx_interp base;
    uint32_t *row_of; /* by node id */
    double *seconds;  /* of the current run, by row */
    double clock;     /* seconds to read the clock */
} timing;

static double now(void)
{
    return 1e-9 * (double)cfx_clock_ns();
}

static double clock_seconds(void)
{
    double least = 1;
    for (int i = 0; i < 1000; i++) {
        double start = now(), s = now() - start;
        least = s < least ? s : least;
    }
    return least;
}

static cfx_status timing_run_node(cfx_interp *it, const cfx_node *n,
                                  cfx_value *out);

static const cfx_interp_class timing_class = {
    .size = sizeof(cfx_interp_class),
    .name = "timing",
    .super = &cfx_interp_base,
    .run_node = timing_run_node,
};

static cfx_status timing_run_node(cfx_interp *it, const cfx_node *n,
                                  cfx_value *out)
{
    timing *t = (timing *)it;
    double start = now();
    cfx_status st = CFX_SUPER(&timing_class, run_node)(it, n, out);
    double s = now() - start - t->clock;
    t->seconds[t->row_of[n->id]] = s > 0 ? s : 0;
    return st;
}

/* ---- Samples ---- */

/* Samples of one row are contiguous; those of whole runs come last. */
typedef struct samples {
    cfx_roofline *r;
    double *s;
    int runs;
    size_t size;
} samples;

static double *sample(const samples *s, size_t row, int run)
{
    return &s->s[row * (size_t)s->runs + (size_t)run];
}

static int by_size(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static double median(const samples *s, size_t row)
{
    double *first = sample(s, row, 0);
    qsort(first, (size_t)s->runs, sizeof(*first), by_size);
    int middle = s->runs / 2;
    return s->runs % 2 ? first[middle]
                       : 0.5 * (first[middle - 1] + first[middle]);
}

static void set_medians(const samples *s)
{
    cfx_roofline *r = s->r;
    for (size_t i = 0; i < r->nnodes; i++)
        r->node[i].seconds = median(s, i);
    r->run_seconds = median(s, r->nnodes);
    r->runs = s->runs;
    cfx_roofline__add_up(r);
}

/* ---- Runs ---- */

static cfx_status run_once(timing *t, const cfx_value *inputs, size_t ninputs,
                           double *seconds, cfx_error *err)
{
    cfx_value result = CFX_NOTHING;
    double start = now();
    cfx_status st = cfx_interp_run(&t->base, inputs, ninputs, &result, err);
    *seconds = now() - start;
    cfx_value_unref(result);
    return st;
}

typedef void progress_fn(void *user, size_t done, size_t total);

static cfx_status run_all(timing *t, samples *s, const cfx_value *inputs,
                          size_t ninputs, int runs, progress_fn *progress,
                          void *user, cfx_error *err)
{
    cfx_roofline *r = s->r;
    double whole = 0;
    cfx_status st = CFX_OK;
    for (int i = 0; i < WARM_UP && !st; i++)
        st = run_once(t, inputs, ninputs, &whole, err);
    if (st)
        return st;
    double fit = whole > 0 ? 1 / whole : MOST_RUNS;
    s->runs = runs               ? runs
              : fit < LEAST_RUNS ? LEAST_RUNS
              : fit > MOST_RUNS  ? MOST_RUNS
                                 : (int)fit;
    s->size = (r->nnodes + 1) * (size_t)s->runs * sizeof(double);
    s->s = cfx_alloc(r->ctx, s->size);
    if (!s->s)
        return cfx_no_memory(err);
    for (int i = 0; i < s->runs && !st; i++) {
        st = run_once(t, inputs, ninputs, sample(s, r->nnodes, i), err);
        for (size_t k = 0; k < r->nnodes; k++)
            *sample(s, k, i) = t->seconds[k];
        if (progress)
            progress(user, (size_t)i + 1, (size_t)s->runs);
    }
    return st;
}

cfx_status cfx_roofline_measure(cfx_roofline *r, const cfx_value *inputs,
                                size_t ninputs, int runs,
                                progress_fn *progress, void *user,
                                cfx_error *err)
{
    const struct cfx_cost_self *self = r->self->costs.self;
    timing t = {.row_of = self->row_of, .clock = clock_seconds()};
    samples s = {.r = r};
    t.seconds = cfx_calloc(r->ctx, r->nnodes + 1, sizeof(double));
    cfx_status st = t.seconds
                        ? cfx_interp_init(&t.base, &timing_class, r->gm, err)
                        : cfx_no_memory(err);
    if (!st)
        st = run_all(&t, &s, inputs, ninputs, runs, progress, user, err);
    if (!st)
        set_medians(&s);
    cfx_interp_release(&t.base);
    cfx_free(r->ctx, s.s, s.size);
    cfx_free(r->ctx, t.seconds, (r->nnodes + 1) * sizeof(double));
    return st;
}
