/*
 * smooth -- move the range of channels from what layers read to their weights (Xiao et
 * al., "SmoothQuant: Accurate and Efficient Post-Training Quantization for Large Language
 * Models", 2022).
 *
 * A norm whose result only linear layers read divides channel j by
 *
 *     s[j] = sqrt(max |x[j]| / max |w[j]|)
 *
 * by its own weight and bias, and the layers multiply the columns j of their weights by
 * s[j]. The layers give what they gave, and one scale serves all channels better.
 */
#include <cfx/interp.h>
#include <cfx/ops.h>

#include "base/util.h"
#include "graph/graph_impl.h"
#include "interp/passes/pass_impl.h"
#include "interp/rewrite/affine.h"
#include "interp/quantize/quantize_impl.h"

typedef struct smoother {
    cfx_module *gm;
    cfx_context *ctx;
    uint32_t ids;
    bool *is_norm;   /* by node id */
    cfx_value *most; /* by node id: f32[channels], or absent: no data yet */
    cfx_error *err;
} smoother;

/* ---- Norms ---- */

/* Arguments of layers and norms. */
enum { INPUT, WEIGHT };

static cfx_value arg(const cfx_node *n, const char *name)
{
    const cfx_schema *schema = cfx_pass__signature(n);
    return schema ? cfx_pass__arg(n, schema, name) : CFX_NOTHING;
}

/* The parameter of a rank that an argument is; or NULL. */
static cfx_tensor *parameter(const smoother *s, cfx_value v, int rank)
{
    const cfx_node *n = cfx_value__node(v);
    cfx_tensor *t = n ? cfx_quantize__parameter(s->gm, n) : NULL;
    return t && t->rank == rank && t->dtype == CFX_F32 ? t : NULL;
}

/* Does a linear layer multiply the value by a parameter? */
static bool is_layer(const smoother *s, const cfx_node *n, const cfx_node *x)
{
    return cfx_node_is(n, "linear") && n->nargs > WEIGHT &&
           cfx_value__node(n->args[INPUT]) == x &&
           cfx_value__node(n->args[WEIGHT]) != x &&
           parameter(s, n->args[WEIGHT], 2);
}

/* A norm over the last axis, with a weight, that layers read and nothing else. */
static bool is_smooth(const smoother *s, const cfx_node *n)
{
    if (!n->nusers ||
        !(cfx_node_is(n, "layer_norm") || cfx_node_is(n, "rms_norm")) ||
        !parameter(s, arg(n, "weight"), 1))
        return false;
    cfx_value bias = arg(n, "bias");
    bool fits = !bias.kind || bias.kind == CFX_NONE || parameter(s, bias, 1);
    for (const cfx_use *u = n->first_user; u && fits; u = u->next)
        fits = is_layer(s, u->user, n);
    return fits;
}

/* ---- Ranges of channels ---- */

typedef struct ranger {
    cfx_interp base;
    smoother *s;
} ranger;

static const cfx_interp_class ranger_class;

/* The greatest magnitude of each item of the last axis, or those of `most`. */
static cfx_value widened(cfx_scope *s, cfx_value x, cfx_value most)
{
    cfx_value rows = cfx_list(s, cfx_int(-1), cfx_size(s, x, -1));
    x = cfx_amax(s, cfx_abs(s, cfx_reshape(s, x, rows)), .dim = cfx_int(0));
    return most.kind ? cfx_maximum(s, x, most) : x;
}

static cfx_status widen(smoother *m, uint32_t id, cfx_value x)
{
    cfx_scope s;
    cfx_scope_init(&s, &cfx_eager_class, m->ctx, NULL);
    x = widened(&s, x, m->most[id]);
    cfx_status st = cfx_scope_status(&s, m->err);
    if (!st) {
        x = cfx_keep(x);
        cfx_value_unref(m->most[id]);
        m->most[id] = x;
    }
    cfx_scope_release(&s);
    return st;
}

static cfx_status ranger_run_node(cfx_interp *it, const cfx_node *n,
                                  cfx_value *out)
{
    smoother *s = ((ranger *)it)->s;
    cfx_status st = CFX_SUPER(&ranger_class, run_node)(it, n, out);
    if (st || !s->is_norm[n->id] || out->kind != CFX_TENSOR ||
        !cfx_tensor_numel(out->u.tensor))
        return st;
    st = widen(s, n->id, *out);
    if (st) {
        cfx_value_unref(*out);
        *out = CFX_NOTHING;
    }
    return st;
}

static const cfx_interp_class ranger_class = {
    .size = sizeof(cfx_interp_class),
    .name = "ranger",
    .super = &cfx_interp_base,
    .run_node = ranger_run_node,
};

static cfx_status find_ranges(smoother *s, const cfx_quant_data *data)
{
    ranger r = {.s = s};
    cfx_status st = cfx_interp_init(&r.base, &ranger_class, s->gm, s->err);
    if (!st)
        st = cfx_quantize__run_batches(&r.base, data, NULL, s->err);
    cfx_interp_release(&r.base);
    return st;
}

/* ---- Rewriting ---- */

/* The factor of each channel: 1 where either range is 0. */
static cfx_value factors(cfx_scope *s, const smoother *m, const cfx_node *n)
{
    cfx_value w = CFX_NOTHING, one = cfx_float(1);
    for (const cfx_use *u = n->first_user; u; u = u->next)
        w = widened(
            s, cfx_value_of_tensor(parameter(m, u->user->args[WEIGHT], 2)), w);
    cfx_value by = cfx_sqrt(s, cfx_div(s, m->most[n->id], w));
    cfx_value plain = cfx_logical_and(s, cfx_isfinite(s, by),
                                      cfx_gt(s, by, cfx_float(1e-5)));
    return cfx_where(s, plain, by, one);
}

/* Let a node read a new parameter in place of another. */
static cfx_status put(cfx_pass_call *p, cfx_node *n, cfx_node *old,
                      cfx_value v)
{
    cfx_insert_point at = cfx_graph_inserting_before(p->graph, n);
    cfx_node *new = cfx_pass_add_tensor(p, old->target->text, v.u.tensor);
    cfx_graph_restore(p->graph, at);
    if (!new || cfx_node_inherit(new, old, p->err))
        return p->err->code;
    p->changed++;
    return cfx_node_replace_input_with(n, old, new, p->err);
}

static cfx_status scale_parameter(const smoother *m, cfx_pass_call *p,
                                  cfx_node *n, cfx_value of, cfx_value by,
                                  bool divides)
{
    cfx_node *old = cfx_value__node(of);
    cfx_scope s;
    if (!old)
        return CFX_OK;
    cfx_scope_init(&s, &cfx_eager_class, m->ctx, NULL);
    cfx_value v = cfx_value_of_tensor(cfx_quantize__parameter(m->gm, old));
    v = divides ? cfx_div(&s, v, by) : cfx_mul(&s, v, by);
    v = cfx_contiguous(&s, v);
    cfx_status st = cfx_scope_status(&s, m->err);
    if (!st)
        st = put(p, n, old, v);
    cfx_scope_release(&s);
    return st;
}

static cfx_status smooth_norm(const smoother *m, cfx_pass_call *p, cfx_node *n)
{
    cfx_scope s;
    cfx_scope_init(&s, &cfx_eager_class, m->ctx, NULL);
    cfx_value by = factors(&s, m, n);
    cfx_status st = cfx_scope_status(&s, m->err);
    if (!st)
        st = scale_parameter(m, p, n, arg(n, "weight"), by, true);
    if (!st)
        st = scale_parameter(m, p, n, arg(n, "bias"), by, true);
    /* Edits of a user change the list of users. */
    for (cfx_node *x = cfx_node_next(n); x && !st; x = cfx_node_next(x))
        if (is_layer(m, x, n))
            st = scale_parameter(m, p, x, x->args[WEIGHT], by, false);
    cfx_scope_release(&s);
    return st;
}

static cfx_status smooth_all(const smoother *m)
{
    cfx_error own = {.code = CFX_OK};
    cfx_pass_call p;
    cfx_status st = cfx_pass__begin(&p, m->gm, &own, m->err);
    for (cfx_node *n = cfx_graph_first(p.graph), *next; n && !st; n = next) {
        next = cfx_node_next(n);
        if (n->id < m->ids && m->is_norm[n->id] && m->most[n->id].kind)
            st = smooth_norm(m, &p, n);
    }
    if (!st)
        st = cfx_graph_eliminate_dead_code(p.graph, NULL, NULL, p.err);
    return st ? st
              : cfx_graph_module_delete_all_unused_state(m->gm, NULL, p.err);
}

static cfx_status lower(cfx_module *gm, const cfx_quant_data *data,
                        cfx_error *err)
{
    const cfx_value *inputs;
    size_t n;
    cfx_status st = data->batch(data->user, 0, &inputs, &n, err);
    return st ? st : cfx_quantize__lower(gm, inputs, n, err);
}

cfx_status cfx_quantize_smooth(cfx_module *gm, const cfx_quant_data *data,
                               cfx_error *err)
{
    cfx_error own = {.code = CFX_OK};
    smoother s = {
        .gm = gm, .ctx = cfx_module_context(gm), .err = err ? err : &own};
    if (!data->n)
        return cfx_fail(s.err, CFX_EINVAL, "there is no calibration data");
    cfx_status st = lower(gm, data, s.err);
    if (st)
        return st;
    const cfx_graph *graph = cfx_graph_module_graph(gm);
    s.ids = cfx_graph_ids(graph);
    s.is_norm = cfx_calloc(s.ctx, s.ids, sizeof(*s.is_norm));
    s.most = cfx_calloc(s.ctx, s.ids, sizeof(*s.most));
    st = s.is_norm && s.most ? CFX_OK : cfx_no_memory(s.err);
    for (const cfx_node *n = cfx_graph_first(graph); n && !st;
         n = cfx_node_next(n))
        s.is_norm[n->id] = is_smooth(&s, n);
    if (!st)
        st = find_ranges(&s, data);
    if (!st)
        st = smooth_all(&s);
    for (uint32_t i = 0; s.most && i < s.ids; i++)
        cfx_value_unref(s.most[i]);
    cfx_free(s.ctx, s.most, s.ids * sizeof(*s.most));
    cfx_free(s.ctx, s.is_norm, s.ids * sizeof(*s.is_norm));
    return st;
}
