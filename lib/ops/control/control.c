/*
 * control -- operators whose arguments are graphs: cond, while_loop, map, scan
 * and the wrappers, as torch.export writes them.
 *
 * shape   cond: both branches are propagated; the result is what holds for
 *         both. while_loop: what is carried keeps its type. map, scan: one
 *         round is propagated, and stacked.
 * cost    that of the graphs, each once: how often a loop runs is not known.
 *
 * Their graphs run in the scope that the call is made in, so that each class of
 * scope gives them its meaning. The results of a graph tell how to go on: where
 * they are numbers, they decide; where they are metas, nothing is computed and
 * one round is enough.
 */
#include "ops/control/control.h"

#include <stdio.h>
#include <string.h>

#include "op/infer.h"
#include "op/scope_impl.h"

/* ---- Graphs ---- */

cfx_status cfx_scope_call_graph(cfx_scope *s, cfx_call *call, int k,
                                const cfx_value *args, size_t n,
                                cfx_value *out)
{
    const cfx_unbound_call c = {.args = args, .nargs = n};
    cfx_value f = cfx_call_value(call, k);
    if (f.kind != CFX_MODULE)
        return cfx_call_fail(
            call, CFX_EINVAL, "argument '%s' must be a graph, not %s",
            cfx_call__param_name(call, k), cfx_kind_name((cfx_kind)f.kind));
    return s->hook.call_graph(s, f.u.module, NULL, &c, NULL, out);
}

cfx_status cfx_control__call(control *c, int k, const cfx_value *args,
                             size_t n, cfx_value *out)
{
    return cfx_scope_call_graph(c->s, c->call, k, args, n, out);
}

cfx_status cfx_control__truth(control *c, cfx_value v, const char *what,
                              bool *known, bool *out)
{
    *known = true;
    if (v.kind == CFX_BOOL_VALUE) {
        *out = v.u.i != 0;
        return CFX_OK;
    }
    if (v.kind != CFX_TENSOR)
        return cfx_call_fail(c->call, CFX_EINVAL,
                             "Expected %s to be bool or tensor, but got %s",
                             what, cfx_kind_name((cfx_kind)v.kind));
    const cfx_tensor *t = v.u.tensor;
    cfx_dim n = cfx_infer_numel(c->call->env, t->rank, t->shape);
    if (!cfx_dim_eq(c->call->env, n, cfx_dim_int(1))) {
        char type[128];
        cfx_tensor_format_type(t, type, sizeof(type));
        return cfx_call_fail(
            c->call, CFX_EINVAL,
            "Expected %s to be bool or single-element tensor, but got %s",
            what, type);
    }
    *known = !cfx_tensor_is_meta(t);
    if (*known)
        *out = cfx_element_double((cfx_dtype)t->dtype, t->data) != 0;
    return CFX_OK;
}

/* ---- Rows of values ---- */

cfx_status cfx_control__row(control *c, control_row *row, size_t n)
{
    row->n = n;
    row->v = cfx_calloc(c->s->ctx, n + 1, sizeof(*row->v));
    return row->v ? CFX_OK : cfx_no_memory(c->call->err);
}

void cfx_control__row_release(control *c, control_row *row)
{
    for (size_t i = 0; row->v && i < row->n; i++)
        cfx_value_unref(row->v[i]);
    cfx_free(c->s->ctx, row->v, (row->n + 1) * sizeof(*row->v));
    *row = (control_row){.n = 0};
}

/* ---- What holds for both ---- */

static void describe(cfx_value v, char *buf, size_t size)
{
    if (v.kind == CFX_TENSOR)
        cfx_tensor_format_type(v.u.tensor, buf, size);
    else if (v.kind == CFX_INT)
        snprintf(buf, size, "%lld", (long long)v.u.i);
    else
        snprintf(buf, size, "%s", cfx_kind_name((cfx_kind)v.kind));
}

static cfx_status differ(const control_merge *m, cfx_value a, cfx_value b)
{
    char x[128], y[128];
    describe(a, x, sizeof(x));
    describe(b, y, sizeof(y));
    return cfx_call_fail(m->c->call, CFX_ESHAPE, "%s gives %s, %s gives %s",
                         m->a, x, m->b, y);
}

static cfx_status merge_dims(const control_merge *m, cfx_dim a, cfx_dim b,
                             cfx_dim *out, bool *ok)
{
    cfx_shape_env *env = m->c->call->env;
    *out = a;
    *ok = m->same ? cfx_dim_eq(env, a, b) : cfx_dim_known_eq(env, a, b);
    if (*ok || m->same || !env)
        return CFX_OK;
    *ok = true;
    *out = cfx_dim_unbacked(env);
    return cfx_dim_is_bad(*out) ? cfx_no_memory(m->c->call->err) : CFX_OK;
}

static cfx_status merge_tensors(const control_merge *m, cfx_value a,
                                cfx_value b, cfx_value *out)
{
    const cfx_tensor *x = a.u.tensor, *y = b.u.tensor;
    cfx_dim shape[CFX_MAX_RANK];
    cfx_tensor *t;
    bool ok = x->dtype == y->dtype && x->rank == y->rank, alike = ok;
    cfx_status st = CFX_OK;
    for (int i = 0; ok && !st && i < x->rank; i++) {
        st = merge_dims(m, x->shape[i], y->shape[i], &shape[i], &ok);
        alike = alike && cfx_dim_same(shape[i], y->shape[i]) &&
                cfx_dim_same(x->stride[i], y->stride[i]);
    }
    if (st || !ok)
        return st ? st : differ(m, a, b);
    st = cfx_tensor_meta(&t, m->c->s->ctx, (cfx_dtype)x->dtype, x->rank, shape,
                         alike ? x->stride : NULL, m->c->call->err);
    if (!st)
        *out = cfx_value_of_tensor(t);
    return st;
}

static cfx_status merge_ints(const control_merge *m, cfx_value a, cfx_value b,
                             cfx_value *out)
{
    bool ok, may_be_less = (a.kind == CFX_INT && a.u.i < 0) ||
                           (b.kind == CFX_INT && b.u.i < 0);
    cfx_dim d;
    cfx_status st = merge_dims(m, cfx_value_dim(a), cfx_value_dim(b), &d, &ok);
    /* An extent of unknown range is at least 0. */
    if (!st && (!ok || (may_be_less && !cfx_dim_same(d, cfx_value_dim(a)))))
        st = differ(m, a, b);
    *out = cfx_value_of_dim(d);
    return st;
}

static cfx_status merge_seqs(const control_merge *m, cfx_value a, cfx_value b,
                             cfx_value *out)
{
    const cfx_seq *x = a.u.seq, *y = b.u.seq;
    control_row row;
    if (x->len != y->len)
        return cfx_call_fail(m->c->call, CFX_EINVAL,
                             "%s gives %u values, %s gives %u", m->a, x->len,
                             m->b, y->len);
    cfx_status st = cfx_control__row(m->c, &row, x->len);
    for (uint32_t i = 0; !st && i < x->len; i++)
        st = cfx_control__merge(m, x->item[i], y->item[i], &row.v[i]);
    if (!st) {
        *out = cfx_seq_new(m->c->s->ctx, (cfx_kind)a.kind, row.n, row.v,
                           x->type);
        if (!out->kind)
            st = cfx_no_memory(m->c->call->err);
    }
    cfx_control__row_release(m->c, &row);
    return st;
}

/* The depth is bounded by CFX_MAX_DEPTH. */
cfx_status cfx_control__merge(const control_merge *m, cfx_value a, cfx_value b,
                              cfx_value *out)
{
    bool ints = (a.kind == CFX_INT || a.kind == CFX_SYMINT) &&
                (b.kind == CFX_INT || b.kind == CFX_SYMINT);
    if (ints)
        return merge_ints(m, a, b, out);
    if (a.kind == CFX_TENSOR && b.kind == CFX_TENSOR)
        return merge_tensors(m, a, b, out);
    if (cfx_value_is_seq(a) && cfx_value_is_seq(b))
        return merge_seqs(m, a, b, out);
    if (!cfx_value_equal(a, b))
        return differ(m, a, b);
    *out = cfx_value_ref(a);
    return CFX_OK;
}

/* ---- cond ---- */

static cfx_status both_branches(control *c, const cfx_seq *operands,
                                cfx_value *out)
{
    control_merge m = {c, "true_fn", "false_fn", false};
    cfx_value a = CFX_NOTHING, b = CFX_NOTHING;
    cfx_status st = cfx_control__call(c, TRUE_FN, operands->item,
                                      operands->len, &a);
    if (!st)
        st = cfx_control__call(c, FALSE_FN, operands->item, operands->len, &b);
    if (!st)
        st = cfx_control__merge(&m, a, b, out);
    cfx_value_unref(a);
    cfx_value_unref(b);
    return st;
}

cfx_status cfx_control__cond(control *c, cfx_value *out)
{
    const cfx_seq *operands = list_of(c, OPERANDS);
    bool known, pred = false;
    cfx_status st = cfx_control__truth(c, cfx_call_value(c->call, PRED),
                                       "pred", &known, &pred);
    if (st)
        return st;
    return known ? cfx_control__call(c, pred ? TRUE_FN : FALSE_FN,
                                     operands->item, operands->len, out)
                 : both_branches(c, operands, out);
}

/* ---- Graphs that are only wrapped ---- */

/* The graph of invoke_subgraph is its first or its second argument. */
cfx_status cfx_control__wrap(control *c, cfx_value *out)
{
    static const int graphs[] = {WRAPPED, SUBGRAPH, IDENTIFIER};
    const cfx_seq *operands = list_of(c, OPERANDS);
    bool wrapped = cfx_call_place(c->call, WRAPPED) >= 0;
    for (int i = 0; i < 3; i++)
        if (cfx_call_value(c->call, graphs[i]).kind == CFX_MODULE)
            return cfx_control__call(c, graphs[i], operands->item,
                                     operands->len, out);
    return cfx_control__call(c, wrapped ? WRAPPED : IDENTIFIER, NULL, 0, out);
}

/* ---- The operators ---- */

#define CONTROL(name, rule, schema_, aliases_, doc_, ...)                     \
    static cfx_status name##_call(cfx_scope *s, cfx_call *call,               \
                                  cfx_value *out)                             \
    {                                                                         \
        control c = {s, call};                                                \
        return cfx_control__##rule(&c, out);                                  \
    }                                                                         \
    const cfx_op cfx_op__##name = {.schema = schema_,                         \
                                   .params = cfx_control_params,              \
                                   .aliases = aliases_,                       \
                                   .doc = doc_,                               \
                                   .call_graphs = name##_call,                \
                                   __VA_ARGS__}

/* A round for each slice of the first tensor. */
static cfx_dim slices(const cfx_call *call)
{
    cfx_value xs = cfx_call_len(call, XS) ? cfx_call_item(call, XS, 0)
                                          : cfx_none();
    return xs.kind == CFX_TENSOR && xs.u.tensor->rank ? xs.u.tensor->shape[0]
                                                      : cfx_dim_int(1);
}

CONTROL(cond, cond,
        "cond(any pred, any true_fn, any false_fn, any[] operands=[]) -> any",
        "torch.ops.higher_order.cond torch.cond",
        "What one of two graphs gives.", .flags = CFX_OP_ONE_GRAPH);
CONTROL(
    while_loop, while_loop,
    "while_loop(any cond_fn, any body_fn, any[] carried_inputs, any[] additional_inputs=[]) -> any",
    "torch.ops.higher_order.while_loop",
    "Repeat a graph on what it gave, as long as another gives true.", );
CONTROL(map_impl, map, "map_impl(any f, any[] xs, any[] pos_args=[]) -> any",
        "torch.ops.higher_order.map_impl torch.ops.higher_order.map",
        "What a graph gives for each slice of tensors, stacked.",
        .rounds = slices);
CONTROL(
    scan, scan,
    "scan(any combine_fn, any[] init, any[] xs, any[] additional_inputs=[]) -> any",
    "torch.ops.higher_order.scan",
    "A graph that goes over the slices of tensors and carries values.",
    .rounds = slices);
CONTROL(
    associative_scan, associative_scan,
    "associative_scan(any combine_fn, any[] xs, any[] additional_inputs=[]) -> any",
    "torch.ops.higher_order.associative_scan",
    "All results of combining slices of tensors from the first on.",
    .rounds = slices);
CONTROL(
    wrap_with_set_grad_enabled, wrap,
    "wrap_with_set_grad_enabled(bool enabled, any wrapped, any[*] operands=[]) -> any",
    "torch.ops.higher_order.wrap_with_set_grad_enabled",
    "Call a graph; there are no gradients to switch.", .flags = CFX_OP_WRAPS);
CONTROL(
    wrap_with_autocast, autocast,
    "wrap_with_autocast(str device_type, ScalarType? dtype, bool enabled, bool? cache_enabled, any wrapped, any[*] operands=[]) -> any",
    "torch.ops.higher_order.wrap_with_autocast",
    "Call a graph with autocast on or off.", .flags = CFX_OP_WRAPS);
CONTROL(
    invoke_subgraph, wrap,
    "invoke_subgraph(any subgraph, any identifier, any[*] operands=[]) -> any",
    "torch.ops.higher_order.invoke_subgraph",
    "Call a graph that stands in several places.", .flags = CFX_OP_WRAPS);

bool cfx_control__may_inline(const cfx_target *t, const cfx_value *args,
                             size_t nargs)
{
    int k = cfx_param_find(t->schema, "enabled", strlen("enabled"));
    bool casts = t->op == &cfx_op__wrap_with_autocast &&
                 ((size_t)k >= nargs || args[k].kind != CFX_BOOL_VALUE ||
                  args[k].u.i);
    return t->op->flags & CFX_OP_WRAPS && !casts;
}
