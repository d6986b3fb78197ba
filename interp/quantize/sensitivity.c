/*
 * sensitivity -- quantize one pattern at a time, and rank the patterns by the
 * signal-to-noise ratio of the outputs.
 *
 * The model is calibrated and converted once. For each batch a run without any
 * quantization keeps all values; then a run for each pattern quantizes the values
 * that this one reads and gives, and computes only the nodes behind them.
 */
#include <cfx/compare.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/class.h"
#include "base/util.h"
#include "graph/aliases.h"
#include "interp/quantize/quantize_impl.h"

/* ---- Runs of a converted model with a part of its quantization ---- */

/* By node id. The nodes that quantize and dequantize a value belong to the last one
 * of them, which users read. */
typedef struct switches {
    cfx_context *ctx;
    uint32_t ids;
    const cfx_quantized **of;
    bool *on;         /* of the last one: the value is quantized */
    bool *is_written; /* its memory is written to in place */
} switches;

typedef struct selective {
    cfx_interp base;
    const switches *switches;
    const cfx_interp *full; /* a run without quantization; or NULL */
    bool *differs;          /* by id: from the value of `full` */
} selective;

static const cfx_interp_class selective_class;

static cfx_value known_value(const cfx_interp *it, const cfx_node *n)
{
    return cfx_value_ref(cfx_interp_env(it, n));
}

/* The value that is not quantized. */
static cfx_value unquantized(selective *s, const cfx_node *n,
                             const cfx_quantized *q)
{
    if (n != q->with)
        return cfx_none();
    if (q->parameter)
        return cfx_value_of_tensor(cfx_tensor_ref(q->parameter));
    s->differs[n->id] = s->differs[q->from->id];
    return known_value(&s->base, q->from);
}

static bool is_affected(const selective *s, const cfx_node *n)
{
    bool affected = !s->full || n->op == CFX_OUTPUT ||
                    s->switches->is_written[n->id] || s->switches->of[n->id];
    for (uint32_t i = 0; i < n->ninputs && !affected; i++)
        affected = s->differs[cfx_node_input(n, i)->id];
    return affected;
}

static cfx_status selective_run_node(cfx_interp *it, const cfx_node *n,
                                     cfx_value *out)
{
    selective *s = (selective *)it;
    const cfx_quantized *q = s->switches->of[n->id];
    s->differs[n->id] = false;
    if (q && !s->switches->on[q->with->id]) {
        *out = unquantized(s, n, q);
        return CFX_OK;
    }
    s->differs[n->id] = is_affected(s, n);
    if (!s->differs[n->id]) {
        *out = known_value(s->full, n);
        return CFX_OK;
    }
    return CFX_SUPER(&selective_class, run_node)(it, n, out);
}

static void selective_release(cfx_interp *it)
{
    selective *s = (selective *)it;
    if (s->switches)
        cfx_free(s->switches->ctx, s->differs, s->switches->ids);
    s->differs = NULL;
    CFX_SUPER(&selective_class, release)(it);
}

static const cfx_interp_class selective_class = {
    .size = sizeof(cfx_interp_class),
    .name = "selective",
    .super = &cfx_interp_base,
    .run_node = selective_run_node,
    .release = selective_release,
};

static cfx_status selective_init(selective *s, cfx_module *gm,
                                 const switches *by, const cfx_interp *full,
                                 cfx_error *err)
{
    const cfx_interp_options how = {.size = sizeof(how), .keep_values = true};
    s->switches = by;
    s->full = full;
    s->differs = cfx_calloc(by->ctx, by->ids, 1);
    if (!s->differs)
        return cfx_no_memory(err);
    cfx_status st = cfx_interp_init_with(&s->base, &selective_class, gm, &how,
                                         err);
    if (st && !s->base.self) {
        cfx_free(by->ctx, s->differs, by->ids);
        s->differs = NULL;
    }
    return st;
}

/* ---- Switches ---- */

static void switches_release(switches *s)
{
    cfx_free(s->ctx, s->of, s->ids * sizeof(*s->of));
    cfx_free(s->ctx, s->on, s->ids);
    cfx_free(s->ctx, s->is_written, s->ids);
}

static cfx_status find_writes(switches *s, const cfx_graph *g, cfx_error *err)
{
    cfx_aliases aliases = {0};
    cfx_status st = cfx_aliases__init(&aliases, g, err);
    for (const cfx_node *n = cfx_graph_first(g); n && !st;
         n = cfx_node_next(n))
        s->is_written[n->id] = cfx_aliases__is_written(&aliases, n);
    cfx_aliases__release(&aliases);
    return st;
}

static cfx_status switches_init(switches *s, cfx_module *gm,
                                const cfx_quantized_list *made, cfx_error *err)
{
    const cfx_graph *g = cfx_graph_module_graph(gm);
    s->ctx = cfx_module_context(gm);
    s->ids = cfx_graph_ids(g);
    s->of = cfx_calloc(s->ctx, s->ids, sizeof(*s->of));
    s->on = cfx_calloc(s->ctx, s->ids, 1);
    s->is_written = cfx_calloc(s->ctx, s->ids, 1);
    if (!s->of || !s->on || !s->is_written)
        return cfx_no_memory(err);
    for (size_t i = 0; i < made->n; i++) {
        const cfx_quantized *q = &made->item[i];
        for (const cfx_node *n = q->first; n; n = cfx_node_next(n)) {
            s->of[n->id] = q;
            if (n == q->with)
                break;
        }
    }
    return find_writes(s, g, err);
}

/* Does a node of the pattern read or give that value? */
static bool is_of(const cfx_quantized *q, const cfx_node *n,
                  const cfx_node *activation)
{
    const cfx_node *last = activation ? activation : n;
    for (uint32_t i = 0; i < n->ninputs; i++)
        if (cfx_node_input(n, i) == q->with)
            return true;
    return q->from == last;
}

/* Quantize the values of one pattern, or NULL: none. */
static void set_pattern(switches *s, const cfx_quantized_list *made,
                        const cfx_graph *g, const cfx_quant_pattern *row)
{
    const cfx_node *n = row ? cfx_graph_find(g, row->node) : NULL;
    const cfx_node *activation = row && row->activation
                                     ? cfx_graph_find(g, row->activation)
                                     : NULL;
    for (size_t i = 0; i < made->n; i++)
        s->on[made->item[i].with->id] = false;
    for (size_t i = 0; i < made->n && n; i++)
        if (is_of(&made->item[i], n, activation))
            s->on[made->item[i].with->id] = true;
}

/* ---- The ranking ---- */

typedef struct ranking {
    cfx_module *gm; /* calibrated, then converted */
    const cfx_quant_data *sample;
    cfx_quant_patterns *patterns;
    cfx_difference *by; /* of each pattern */
    cfx_quantized_list made;
    switches switches;
    cfx_error *err;
} ranking;

static cfx_status check_outputs(cfx_value out, cfx_error *err)
{
    cfx_difference d;
    cfx_status st = cfx_value_compare(&d, out, out, NULL, err);
    if (!st && !d.floats)
        st = cfx_fail(
            err, CFX_EINVAL,
            "the outputs have no floating-point elements, so that patterns have no signal-to-noise ratio");
    return st;
}

static cfx_status measure_pattern(ranking *r, cfx_interp *it, size_t at,
                                  const cfx_value *inputs, size_t n,
                                  cfx_value expected)
{
    static const cfx_tolerance exact = {.given = true};
    cfx_difference d = {.differs = false};
    cfx_value out = CFX_NOTHING;
    set_pattern(&r->switches, &r->made, it->graph, &r->patterns->row[at]);
    cfx_status st = cfx_interp_run(it, inputs, n, &out, r->err);
    if (!st)
        st = cfx_value_compare(&d, expected, out, &exact, r->err);
    if (st)
        cfx_fail_at(r->err, "quantizing %%%s alone",
                    r->patterns->row[at].node);
    r->by[at].signal += d.signal;
    r->by[at].noise += d.noise;
    cfx_value_unref(out);
    return st;
}

static cfx_status measure_batch(ranking *r, size_t batch, selective *full,
                                selective *part)
{
    const cfx_value *inputs;
    size_t n;
    cfx_value expected = CFX_NOTHING;
    cfx_status st = r->sample->batch(r->sample->user, batch, &inputs, &n,
                                     r->err);
    set_pattern(&r->switches, &r->made, full->base.graph, NULL);
    if (!st)
        st = cfx_interp_run(&full->base, inputs, n, &expected, r->err);
    if (!st)
        st = check_outputs(expected, r->err);
    for (size_t i = 0; i < r->patterns->n && !st; i++)
        st = measure_pattern(r, &part->base, i, inputs, n, expected);
    cfx_value_unref(expected);
    return st;
}

static cfx_status measure(ranking *r)
{
    selective full = {0}, part = {0};
    cfx_status st = switches_init(&r->switches, r->gm, &r->made, r->err);
    if (!st)
        st = selective_init(&full, r->gm, &r->switches, NULL, r->err);
    if (!st)
        st = selective_init(&part, r->gm, &r->switches, &full.base, r->err);
    for (size_t i = 0; i < r->sample->n && !st; i++)
        st = measure_batch(r, i, &full, &part);
    cfx_interp_release(&full.base);
    cfx_interp_release(&part.base);
    switches_release(&r->switches);
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

static cfx_status rank(ranking *r)
{
    cfx_quant_patterns *p = r->patterns;
    cfx_context *ctx = cfx_module_context(r->gm);
    r->by = cfx_calloc(ctx, p->n, sizeof(*r->by));
    cfx_status st = r->by ? measure(r) : cfx_no_memory(r->err);
    for (size_t i = 0; i < p->n && !st; i++)
        p->row[i].snr = cfx_difference_snr(&r->by[i]);
    if (!st)
        qsort(p->row, p->n, sizeof(*p->row), by_snr);
    cfx_free(ctx, r->by, p->n * sizeof(*r->by));
    return st;
}

cfx_status cfx_quantize_sensitivity(cfx_quant_patterns *patterns,
                                    const cfx_module *gm, cfx_quantizer *q,
                                    const cfx_quant_data *data, cfx_error *err)
{
    cfx_error own = {.code = CFX_OK};
    cfx_context *ctx = cfx_module_context(gm);
    ranking r = {.sample = data->sample ? data->sample : data,
                 .patterns = patterns,
                 .err = err ? err : &own};
    if (!data->n)
        return cfx_fail(r.err, CFX_EINVAL, "there is no calibration data");
    cfx_status st = cfx_module_copy(&r.gm, gm, r.err);
    if (!st)
        st = cfx_quantize__find_patterns(patterns, r.gm, q, data, r.err);
    if (!st)
        st = cfx_quantize_calibrate(r.gm, data, r.err);
    if (!st)
        st = cfx_quantize__convert_with(r.gm, NULL, &r.made, r.err);
    if (!st)
        st = rank(&r);
    cfx_quantized_list__release(&r.made, ctx);
    cfx_module_unref(r.gm);
    return st;
}
