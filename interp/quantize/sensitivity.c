/*
 * sensitivity -- quantize one pattern at a time, and rank the patterns by the
 * signal-to-noise ratio of the outputs.
 *
 * Each pattern is prepared, calibrated and converted in a copy of its own, so
 * that its observers see what they would see if nothing else were quantized.
 */
#include <cfx/compare.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "interp/quantize/quantize_impl.h"

/* ---- Patterns ---- */

static bool is_named(const cfx_quant_pattern *row, const cfx_node *n)
{
    return !strcmp(row->node, n->name) ||
           (row->activation && !strcmp(row->activation, n->name));
}

static cfx_status add_pattern(cfx_quant_patterns *to, cfx_context *ctx,
                              const cfx_node *n, cfx_error *err)
{
    if (cfx_grow(ctx, to->row, to->cap, to->n + 1, err))
        return CFX_ENOMEM;
    cfx_quant_pattern *row = &to->row[to->n];
    *row = (cfx_quant_pattern){.snr = NAN};
    cfx_status st = cfx_quant__copy_name(ctx, &row->node, n->name, err);
    to->n += !st;
    return st;
}

void cfx_quant_patterns_release(cfx_quant_patterns *patterns, cfx_context *ctx)
{
    for (size_t i = 0; i < patterns->n; i++) {
        cfx_quant__free_name(ctx, patterns->row[i].node);
        cfx_quant__free_name(ctx, patterns->row[i].activation);
    }
    cfx_free(ctx, patterns->row, patterns->cap * sizeof(*patterns->row));
    *patterns = (cfx_quant_patterns){0};
}

/* ---- The quantizer that leaves patterns in float ---- */

static cfx_status annotate_by(cfx_quantizer *q, const cfx_quantizer *by,
                              const cfx_node *n, cfx_quant_mark *mark)
{
    q->err = by->err;
    return cfx_quantizer_class_with(q->cls,
                                    offsetof(cfx_quantizer_class, annotate))
        ->annotate(q, n, mark);
}

static cfx_status partial_annotate(cfx_quantizer *q, const cfx_node *n,
                                   cfx_quant_mark *mark)
{
    const cfx_quantizer_partial *p = (const cfx_quantizer_partial *)q;
    cfx_status st = annotate_by(p->of, q, n, mark);
    for (size_t i = 0; i < p->patterns->n && !st; i++)
        if (p->patterns->row[i].keep_float &&
            is_named(&p->patterns->row[i], n))
            *mark = (cfx_quant_mark){.reason = p->reason};
    return st;
}

const cfx_quantizer_class cfx_quantizer_partial_class = {
    .size = sizeof(cfx_quantizer_class),
    .name = "partial",
    .super = &cfx_quantizer_base,
    .annotate = partial_annotate,
};

/* ---- The quantizer that finds patterns ---- */

typedef struct finder {
    cfx_quantizer base;
    cfx_quantizer *of;
    cfx_quant_patterns *patterns;
    cfx_context *ctx;
} finder;

/* Is n the activation of a pattern that was found? Nodes come in the order of
 * the graph, and other nodes may stand between the two. */
static cfx_quant_pattern *fused_into(const finder *f, const cfx_node *n,
                                     const cfx_quant_mark *mark)
{
    if (!mark->fused)
        return NULL;
    const cfx_node *x = cfx_node_input(n, 0);
    for (size_t i = f->patterns->n; i-- > 0;) {
        cfx_quant_pattern *row = &f->patterns->row[i];
        if (!row->activation && !strcmp(row->node, x->name))
            return row;
    }
    return NULL;
}

static cfx_status finder_annotate(cfx_quantizer *q, const cfx_node *n,
                                  cfx_quant_mark *mark)
{
    finder *f = (finder *)q;
    cfx_status st = annotate_by(f->of, q, n, mark);
    if (st || (!mark->input && !mark->weight && !mark->output))
        return st;
    cfx_quant_pattern *before = fused_into(f, n, mark);
    return before ? cfx_quant__copy_name(f->ctx, &before->activation, n->name,
                                         q->err)
                  : add_pattern(f->patterns, f->ctx, n, q->err);
}

static const cfx_quantizer_class finder_class = {
    .size = sizeof(cfx_quantizer_class),
    .name = "finder",
    .super = &cfx_quantizer_base,
    .annotate = finder_annotate,
};

/* ---- Runs ---- */

typedef struct ranking {
    const cfx_module *gm;
    cfx_quantizer *q;
    const cfx_quant_data *data;
    cfx_value *expected; /* the float outputs of each batch */
    cfx_error *err;
} ranking;

/* Run a module on each batch. The outputs go to `keep`, or are compared with
 * the expected ones, which adds to `by`, or are dropped. */
static cfx_status run_all(const ranking *r, cfx_module *gm, cfx_value *keep,
                          cfx_difference *by)
{
    static const cfx_tolerance exact = {.given = true};
    cfx_interp it = {0};
    cfx_status st = cfx_interp_init(&it, &cfx_interp_base, gm, r->err);
    for (size_t i = 0; i < r->data->n && !st; i++) {
        const cfx_value *inputs;
        size_t n;
        cfx_value out = CFX_NOTHING;
        cfx_difference d = {.differs = false};
        st = r->data->batch(r->data->user, i, &inputs, &n, r->err);
        if (!st)
            st = cfx_interp_run(&it, inputs, n, &out, r->err);
        if (!st && by)
            st = cfx_value_compare(&d, r->expected[i], out, &exact, r->err);
        if (by) {
            by->signal += d.signal;
            by->noise += d.noise;
        }
        if (keep)
            keep[i] = out;
        else
            cfx_value_unref(out);
    }
    cfx_interp_release(&it);
    return st;
}

static cfx_status prepare_copy(const ranking *r, cfx_module **copy,
                               cfx_quantizer *q)
{
    const cfx_value *inputs;
    size_t n;
    cfx_status st = cfx_module_copy(copy, r->gm, r->err);
    if (!st)
        st = r->data->batch(r->data->user, 0, &inputs, &n, r->err);
    if (!st)
        st = cfx_quantize_prepare(*copy, q, inputs, n, NULL, r->err);
    return st;
}

/* All patterns but one are kept in float. */
static cfx_status measure_pattern(const ranking *r,
                                  cfx_quant_patterns *patterns, size_t at)
{
    cfx_quantizer_partial alone = {.of = r->q, .patterns = patterns};
    cfx_difference by = {.differs = false};
    cfx_module *copy = NULL;
    for (size_t i = 0; i < patterns->n; i++)
        patterns->row[i].keep_float = i != at;
    cfx_quantizer_init(&alone.base, &cfx_quantizer_partial_class);
    cfx_status st = prepare_copy(r, &copy, &alone.base);
    if (!st)
        st = run_all(r, copy, NULL, NULL);
    if (!st)
        st = cfx_quantize_convert(copy, NULL, r->err);
    if (!st)
        st = run_all(r, copy, NULL, &by);
    if (st)
        cfx_fail_at(r->err, "quantizing %%%s alone", patterns->row[at].node);
    patterns->row[at].snr = cfx_difference_snr(&by);
    cfx_module_unref(copy);
    return st;
}

/* ---- The ranking ---- */

static cfx_status find_patterns(const ranking *r, cfx_quant_patterns *patterns)
{
    finder f = {
        .of = r->q, .patterns = patterns, .ctx = cfx_module_context(r->gm)};
    cfx_module *copy = NULL;
    cfx_quantizer_init(&f.base, &finder_class);
    cfx_status st = prepare_copy(r, &copy, &f.base);
    cfx_module_unref(copy);
    if (!st && !patterns->n)
        st = cfx_fail(r->err, CFX_EINVAL, "the quantizer %s marks no node",
                      r->q->cls->name);
    return st;
}

static cfx_status run_float(const ranking *r)
{
    cfx_module *copy = NULL;
    cfx_difference d;
    cfx_status st = cfx_module_copy(&copy, r->gm, r->err);
    if (!st)
        st = run_all(r, copy, r->expected, NULL);
    if (!st)
        st = cfx_value_compare(&d, r->expected[0], r->expected[0], NULL,
                               r->err);
    if (!st && !d.floats)
        st = cfx_fail(
            r->err, CFX_EINVAL,
            "the outputs have no floating-point elements, so that patterns have no signal-to-noise ratio");
    cfx_module_unref(copy);
    return st;
}

static int by_snr(const void *x, const void *y)
{
    const cfx_quant_pattern *a = x, *b = y;
    if (isnan(a->snr) != isnan(b->snr))
        return isnan(a->snr) ? -1 : 1;
    if (a->snr < b->snr || a->snr > b->snr)
        return a->snr < b->snr ? -1 : 1;
    return strcmp(a->node, b->node);
}

cfx_status cfx_quantize_sensitivity(cfx_quant_patterns *patterns,
                                    const cfx_module *gm, cfx_quantizer *q,
                                    const cfx_quant_data *data, cfx_error *err)
{
    cfx_error own = {.code = CFX_OK};
    cfx_context *ctx = cfx_module_context(gm);
    ranking r = {gm, q, data, NULL, err ? err : &own};
    if (!data->n)
        return cfx_fail(r.err, CFX_EINVAL, "there is no calibration data");
    r.expected = cfx_calloc(ctx, data->n, sizeof(*r.expected));
    cfx_status st = r.expected ? run_float(&r) : cfx_no_memory(r.err);
    if (!st)
        st = find_patterns(&r, patterns);
    for (size_t i = 0; i < patterns->n && !st; i++)
        st = measure_pattern(&r, patterns, i);
    for (size_t i = 0; i < patterns->n; i++)
        patterns->row[i].keep_float = false;
    if (!st)
        qsort(patterns->row, patterns->n, sizeof(*patterns->row), by_snr);
    for (size_t i = 0; r.expected && i < data->n; i++)
        cfx_value_unref(r.expected[i]);
    cfx_free(ctx, r.expected, data->n * sizeof(*r.expected));
    return st;
}
