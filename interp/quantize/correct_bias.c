/*
 * correct_bias -- add to the biases of layers what quantizing takes from the mean of
 * their results, channel by channel (Nagel et al., "Data-Free Quantization Through
 * Weight Equalization and Bias Correction", 2019).
 *
 * A run of the prepared graph computes each layer twice: with values in float, which go
 * on, and with what the observers make of them.
 */
#include <cfx/interp.h>
#include <cfx/ops.h>

#include <string.h>

#include "base/util.h"
#include "graph/graph_impl.h"
#include "interp/passes/pass_impl.h"
#include "interp/quantize/quantize_impl.h"

/* Arguments of a layer. */
enum { INPUT, WEIGHT, BIAS };

typedef struct layer {
    cfx_node *n;
    int outer;     /* axes of the result after its channels */
    cfx_value sum; /* f64[channels]: float less quantized; or absent */
    int64_t count; /* of the elements of a channel */
} layer;

typedef struct corrector {
    cfx_module *gm;
    cfx_context *ctx;
    uint32_t ids, *at;    /* by node id: the index of a layer, + 1 */
    cfx_value *quantized; /* by id of an observer's call; or absent */
    layer *layer;
    size_t n, cap;
    cfx_error *err;
} corrector;

/* ---- Layers ---- */

static cfx_module *observer_of(const corrector *c, const cfx_node *n)
{
    cfx_module *m = n && n->op == CFX_CALL_MODULE && n->ninputs == 1
                        ? cfx_module_at(c->gm, n->target->text)
                        : NULL;
    return m && cfx_module_is_observer(m) ? m : NULL;
}

/* Is the bias, if there is one, a parameter? */
static bool has_plain_bias(const corrector *c, const cfx_node *n)
{
    const cfx_node *bias = n->nargs > BIAS ? cfx_value__node(n->args[BIAS])
                                           : NULL;
    return n->nargs <= BIAS
               ? n->nkwargs == 0
               : n->args[BIAS].kind == CFX_NONE ||
                     (bias && cfx_quantize__parameter(c->gm, bias));
}

static cfx_status find_layer(corrector *c, cfx_node *n)
{
    static const char *const names[] = {"linear",           "conv1d",
                                        "conv2d",           "conv3d",
                                        "conv_transpose1d", "conv_transpose2d",
                                        "conv_transpose3d", "convolution"};
    size_t i = 0, count = sizeof(names) / sizeof(*names);
    while (i < count && !cfx_node_is(n, names[i]))
        i++;
    const cfx_node *w = i < count && n->nargs > WEIGHT
                            ? cfx_value__node(n->args[WEIGHT])
                            : NULL;
    const cfx_tensor *t = observer_of(c, w) ? cfx_quantize__parameter(
                                                  c->gm, cfx_node_input(w, 0))
                                            : NULL;
    if (!t || t->rank < 2 || !has_plain_bias(c, n))
        return CFX_OK;
    if (cfx_grow(c->ctx, c->layer, c->cap, c->n + 1, c->err))
        return CFX_ENOMEM;
    c->layer[c->n++] = (layer){.n = n, .outer = t->rank - 2};
    c->at[n->id] = (uint32_t)c->n;
    return CFX_OK;
}

/* ---- What observers make of a value ---- */

/* One scale for each row of a matrix: the channels, or the groups in them. */
static cfx_value round_rows(cfx_scope *s, const cfx_module *m, cfx_value x,
                            const cfx_value *args)
{
    cfx_value axis = cfx_attr(m, "ch_axis"), group = cfx_attr(m, "group_size");
    bool grouped = group.kind == CFX_INT;
    cfx_value first = cfx_int(0), rest = cfx_int(-1);
    cfx_value y = cfx_transpose(s, x, first, axis);
    cfx_value shape = grouped ? cfx_list(s, rest, group)
                              : cfx_list(s, cfx_size(s, y, 0), rest);
    cfx_value rows = cfx_reshape(s, y, shape);
    rows = cfx_quantize_per_channel(s, rows, args[0], args[1], first, args[2],
                                    args[3], args[4]);
    rows = cfx_dequantize_per_channel(s, rows, args[0], args[1], first,
                                      args[2], args[3], args[4]);
    return cfx_transpose(s, cfx_reshape_as(s, rows, y), first, axis);
}

static cfx_status round_value(const corrector *c, cfx_module *m, cfx_value x,
                              cfx_value *out)
{
    cfx_tensor *scale, *zero;
    cfx_quant_range r;
    cfx_scope s;
    const cfx_state *rounded = cfx_module_state(m, CFX_QUANTIZE_ROUNDED);
    cfx_status st = cfx_observer_range(m, &r, c->err);
    if (!st && !cfx_observer_has_seen(m) && cfx_module_state(m, "min_val"))
        st = cfx_quantize__observe(m, x.u.tensor, c->err);
    if (!st)
        st = cfx_observer_qparams(m, &scale, &zero, c->err);
    if (st)
        return st;
    const cfx_value args[] = {cfx_value_of_tensor(scale),
                              cfx_value_of_tensor(zero), cfx_int(r.least),
                              cfx_int(r.most), cfx_value_of_dtype(r.dtype)};
    cfx_scope_init(&s, &cfx_eager_class, c->ctx, NULL);
    x = rounded ? cfx_value_of_tensor(rounded->tensor) : x;
    if (cfx_attr(m, "ch_axis").kind == CFX_INT) {
        x = round_rows(&s, m, x, args);
    } else {
        x = cfx_quantize_per_tensor(&s, x, args[0], args[1], args[2], args[3],
                                    args[4]);
        x = cfx_dequantize_per_tensor(&s, x, args[0], args[1], args[2],
                                      args[3], args[4]);
    }
    st = cfx_scope_status(&s, c->err);
    *out = st ? CFX_NOTHING : cfx_keep(x);
    cfx_scope_release(&s);
    cfx_tensor_unref(scale);
    cfx_tensor_unref(zero);
    return st;
}

/* ---- Runs ---- */

typedef struct runner {
    cfx_interp base;
    corrector *c;
} runner;

static const cfx_interp_class runner_class;

static cfx_status runner_call_module(cfx_interp *it, const cfx_call *call,
                                     cfx_value *out)
{
    const corrector *c = ((const runner *)it)->c;
    const cfx_node *n = call->node;
    cfx_module *m = observer_of(c, n);
    if (!m || call->nargs != 1 || call->args[0].kind != CFX_TENSOR)
        return CFX_SUPER(&runner_class, call_module)(it, call, out);
    bool is_constant = cfx_quantize__parameter(c->gm, cfx_node_input(n, 0));
    cfx_value *to = &c->quantized[n->id];
    cfx_status st = CFX_OK;
    if (!to->kind || !is_constant) {
        cfx_value_unref(*to);
        *to = CFX_NOTHING;
        st = round_value(c, m, call->args[0], to);
    }
    *out = st ? CFX_NOTHING : cfx_value_ref(call->args[0]);
    return st;
}

/* Add the differences of a layer's results to its sums. */
static cfx_status add_errors(const corrector *c, layer *l, cfx_value exact,
                             cfx_value rounded)
{
    cfx_scope s;
    int64_t axis = exact.u.tensor->rank - 1 - l->outer;
    cfx_scope_init(&s, &cfx_eager_class, c->ctx, NULL);
    cfx_value d = cfx_transpose(&s, cfx_sub(&s, exact, rounded), cfx_int(axis),
                                cfx_int(0));
    d = cfx_flatten(&s, cfx_unsqueeze(&s, d, cfx_int(1)),
                    .start_dim = cfx_int(1));
    d = cfx_sum(&s, d, .dim = cfx_int(1),
                .dtype = cfx_value_of_dtype(CFX_F64));
    if (l->sum.kind)
        d = cfx_add(&s, d, l->sum);
    cfx_status st = cfx_scope_status(&s, c->err);
    if (!st) {
        d = cfx_keep(d);
        cfx_value_unref(l->sum);
        l->sum = d;
        l->count += cfx_tensor_numel(exact.u.tensor) /
                    cfx_tensor_numel(d.u.tensor);
    }
    cfx_scope_release(&s);
    return st;
}

/* The layer of quantized values. */
static cfx_status run_rounded(cfx_interp *it, const cfx_call *call,
                              cfx_value *out)
{
    enum { MOST = 16 };
    const corrector *c = ((const runner *)it)->c;
    cfx_value args[MOST];
    cfx_call changed = *call;
    if (call->nargs > MOST)
        return cfx_interp_fail(it, CFX_EUNSUPPORTED,
                               "a layer has %u arguments", call->nargs);
    memcpy(args, call->args, call->nargs * sizeof(*args));
    for (int i = INPUT; i <= WEIGHT; i++) {
        const cfx_node *n = cfx_value__node(call->node->args[i]);
        if (n && c->quantized[n->id].kind)
            args[i] = c->quantized[n->id];
    }
    changed.args = args;
    return CFX_SUPER(&runner_class, call_function)(it, &changed, out);
}

static cfx_status runner_call_function(cfx_interp *it, const cfx_call *call,
                                       cfx_value *out)
{
    const corrector *c = ((const runner *)it)->c;
    cfx_value rounded = CFX_NOTHING;
    cfx_status st = CFX_SUPER(&runner_class, call_function)(it, call, out);
    uint32_t at = call->node ? c->at[call->node->id] : 0;
    if (st || !at || out->kind != CFX_TENSOR ||
        !cfx_tensor_numel(out->u.tensor))
        return st;
    st = run_rounded(it, call, &rounded);
    if (!st)
        st = add_errors(c, &c->layer[at - 1], *out, rounded);
    if (st) {
        cfx_value_unref(*out);
        *out = CFX_NOTHING;
    }
    cfx_value_unref(rounded);
    return st;
}

static const cfx_interp_class runner_class = {
    .size = sizeof(cfx_interp_class),
    .name = "bias_runner",
    .super = &cfx_interp_base,
    .call_function = runner_call_function,
    .call_module = runner_call_module,
};

static cfx_status run_all(corrector *c, const cfx_quant_data *data)
{
    runner r = {.c = c};
    cfx_status st = cfx_interp_init(&r.base, &runner_class, c->gm, c->err);
    if (!st)
        st = cfx_quantize__run_batches(&r.base, data, NULL, c->err);
    cfx_interp_release(&r.base);
    return st;
}

/* ---- Biases ---- */

static const char *name_of(const layer *l)
{
    const cfx_node *n = l->n->nargs > BIAS ? cfx_value__node(l->n->args[BIAS])
                                           : NULL;
    return n ? n->target->text : "_bias";
}

/* The bias, or zeros, plus the mean error of each channel. */
static cfx_status new_bias(const corrector *c, const layer *l, cfx_value *out)
{
    const cfx_node *n = l->n->nargs > BIAS ? cfx_value__node(l->n->args[BIAS])
                                           : NULL;
    cfx_scope s;
    cfx_scope_init(&s, &cfx_eager_class, c->ctx, NULL);
    cfx_value v = cfx_div(&s, l->sum, cfx_int(l->count));
    if (n)
        v = cfx_add(&s, v,
                    cfx_value_of_tensor(cfx_quantize__parameter(c->gm, n)));
    v = cfx_contiguous(&s, cfx_to(&s, v, cfx_value_of_dtype(CFX_F32)));
    cfx_status st = cfx_scope_status(&s, c->err);
    *out = st ? CFX_NOTHING : cfx_keep(v);
    cfx_scope_release(&s);
    return st;
}

static cfx_status set_bias(const corrector *c, cfx_pass_call *p,
                           const layer *l)
{
    cfx_value v;
    if (!l->sum.kind)
        return CFX_OK;
    cfx_status st = new_bias(c, l, &v);
    if (st)
        return st;
    cfx_insert_point at = cfx_graph_inserting_before(p->graph, l->n);
    cfx_node *n = cfx_pass_add_tensor(p, name_of(l), v.u.tensor);
    cfx_graph_restore(p->graph, at);
    cfx_value_unref(v);
    if (!n)
        return p->err->code;
    p->changed++;
    st = cfx_node_inherit(n, l->n, p->err);
    if (st)
        return st;
    return l->n->nargs > BIAS
               ? cfx_node_update_arg(l->n, BIAS, cfx_value_of_node(n), p->err)
               : cfx_node_update_kwarg(l->n, "bias", cfx_value_of_node(n),
                                       p->err);
}

static cfx_status set_all(corrector *c)
{
    cfx_error own = {.code = CFX_OK};
    cfx_pass_call p;
    cfx_status st = cfx_pass__begin(&p, c->gm, &own, c->err);
    for (size_t i = 0; i < c->n && !st; i++)
        st = set_bias(c, &p, &c->layer[i]);
    return st ? st : cfx_graph_eliminate_dead_code(p.graph, NULL, NULL, p.err);
}

static void release(corrector *c)
{
    for (size_t i = 0; i < c->n; i++)
        cfx_value_unref(c->layer[i].sum);
    for (uint32_t i = 0; c->quantized && i < c->ids; i++)
        cfx_value_unref(c->quantized[i]);
    cfx_free(c->ctx, c->layer, c->cap * sizeof(*c->layer));
    cfx_free(c->ctx, c->quantized, c->ids * sizeof(*c->quantized));
    cfx_free(c->ctx, c->at, c->ids * sizeof(*c->at));
}

cfx_status cfx_quantize_correct_bias(cfx_module *gm,
                                     const cfx_quant_data *data,
                                     cfx_error *err)
{
    cfx_error own = {.code = CFX_OK};
    const cfx_graph *graph = cfx_graph_module_graph(gm);
    corrector c = {.gm = gm,
                   .ctx = cfx_module_context(gm),
                   .ids = cfx_graph_ids(graph),
                   .err = err ? err : &own};
    c.at = cfx_calloc(c.ctx, c.ids, sizeof(*c.at));
    c.quantized = cfx_calloc(c.ctx, c.ids, sizeof(*c.quantized));
    cfx_status st = c.at && c.quantized ? CFX_OK : cfx_no_memory(c.err);
    for (cfx_node *n = cfx_graph_first(graph); n && !st; n = cfx_node_next(n))
        st = find_layer(&c, n);
    if (!st)
        st = run_all(&c, data);
    if (!st)
        st = set_all(&c);
    release(&c);
    return st;
}
