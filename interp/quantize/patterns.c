/*
 * patterns -- the patterns that a quantizer marks, and a quantizer that leaves
 * some of them in float.
 */
#include <math.h>
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

static void release_pattern(cfx_quant_pattern *row, cfx_context *ctx)
{
    cfx_quant__free_name(ctx, row->node);
    cfx_quant__free_name(ctx, row->activation);
}

void cfx_quant_patterns_release(cfx_quant_patterns *patterns, cfx_context *ctx)
{
    for (size_t i = 0; i < patterns->n; i++)
        release_pattern(&patterns->row[i], ctx);
    cfx_free(ctx, patterns->row, patterns->cap * sizeof(*patterns->row));
    *patterns = (cfx_quant_patterns){0};
}

/* ---- The quantizer that leaves patterns in float ---- */

cfx_status cfx_quantizer__annotate_by(cfx_quantizer *q,
                                      const cfx_quantizer *by,
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
    cfx_status st = cfx_quantizer__annotate_by(p->of, q, n, mark);
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
    cfx_status st = cfx_quantizer__annotate_by(f->of, q, n, mark);
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

/* Drop the patterns that stay float in spite of their marks. The rows of both
 * are in the order of the graph. */
static void drop_float(cfx_quant_patterns *patterns,
                       const cfx_quant_report *report, cfx_context *ctx)
{
    size_t kept = 0, at = 0;
    for (size_t i = 0; i < patterns->n; i++) {
        cfx_quant_pattern *row = &patterns->row[i];
        size_t k = at;
        while (k < report->n && strcmp(report->row[k].node, row->node) != 0)
            k++;
        if (k < report->n) {
            at = k;
            release_pattern(row, ctx);
        } else {
            patterns->row[kept++] = *row;
        }
    }
    patterns->n = kept;
}

cfx_status cfx_quantize__find_patterns(cfx_quant_patterns *patterns,
                                       cfx_module *gm, cfx_quantizer *q,
                                       const cfx_quant_data *data,
                                       cfx_error *err)
{
    cfx_context *ctx = cfx_module_context(gm);
    finder f = {.of = q, .patterns = patterns, .ctx = ctx};
    cfx_quant_report report = {0};
    const cfx_value *inputs;
    size_t n;
    cfx_quantizer_init(&f.base, &finder_class);
    cfx_status st = data->batch(data->user, 0, &inputs, &n, err);
    if (!st)
        st = cfx_quantize_prepare(gm, &f.base, inputs, n, &report, err);
    if (!st)
        drop_float(patterns, &report, ctx);
    cfx_quant_report_release(&report, ctx);
    if (!st && !patterns->n)
        st = cfx_fail(err, CFX_EINVAL, "the quantizer %s marks no node",
                      q->cls->name);
    return st;
}
