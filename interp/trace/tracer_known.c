/*
 * tracer_known -- what a tracer knows of its proxies: metas, if it was given
 * any, and the answers to questions about them.
 */
#include "interp/trace/tracer_impl.h"
#include "nn/module_impl.h"
#include "tensor/storage.h"

/* ---- Known values ---- */

cfx_value cfx_tracer__known(const cfx_tracer *t, const cfx_node *n)
{
    cfx_value v = cfx_node_meta(n, "tensor_meta");
    if (!v.kind)
        v = cfx_node_meta(n, "val");
    if (!v.kind && n->op == CFX_GET_ATTR && t->root &&
        cfx_module_fetch_attr(&v, t->root, n->target->text, NULL))
        v = CFX_NOTHING;
    if (n->op != CFX_GET_ATTR || v.kind)
        return v;
    cfx_tensor *constant = cfx_tracer__constant(t, n->target->text);
    return constant ? cfx_value_of_tensor(constant) : CFX_NOTHING;
}

/* Make a tensor's meta, without its numbers. */
static cfx_status forget(cfx_tracer *t, cfx_value v, cfx_value *out)
{
    cfx_tensor *meta;
    if (v.kind != CFX_TENSOR || cfx_tensor_is_meta(v.u.tensor)) {
        *out = cfx_value_ref(v);
        return CFX_OK;
    }
    cfx_status st = cfx_tensor__meta_like(&meta, t->base.ctx, v.u.tensor,
                                          &t->base.error);
    *out = st ? CFX_NOTHING : cfx_value_of_tensor(meta);
    return st;
}

/* Maps arguments to what is known of them. */
struct knowing {
    cfx_tracer *t;
    bool lacks; /* nothing is known of some argument */
};

static cfx_status to_meta(void *user, cfx_value v, cfx_value *out)
{
    struct knowing *k = user;
    cfx_tracer *t = k->t;
    if (v.kind == CFX_NODE)
        v = v.u.node && v.u.node->graph == t->graph
                ? cfx_tracer__known(t, v.u.node)
                : CFX_NOTHING;
    *out = cfx_none();
    k->lacks = k->lacks || !v.kind;
    return k->lacks ? CFX_OK : forget(t, v, out);
}

static cfx_status give_meta(cfx_tracer *t, cfx_node *n, cfx_value v)
{
    bool tensors = v.kind == CFX_TENSOR ||
                   (cfx_value_is_seq(v) && v.u.seq->len &&
                    v.u.seq->item[0].kind == CFX_TENSOR);
    if (v.kind == CFX_NONE || v.kind == CFX_MODULE)
        return CFX_OK;
    return cfx_node_set_meta(n, tensors ? "tensor_meta" : "val", v,
                             &t->base.error);
}

/* Make the call of a function, method or module in the meta scope. */
static cfx_status call_meta(cfx_tracer *t, cfx_module *m,
                            const cfx_unbound_call *c, cfx_value *out)
{
    cfx_scope *s = &t->self->meta;
    return m ? cfx_scope_call_module(
                   s, m, NULL,
                   (cfx_args){c->args, c->nargs, c->kwargs, c->nkwargs}, out)
             : cfx_scope_call_target(
                   s, c->target,
                   (cfx_args){c->args, c->nargs, c->kwargs, c->nkwargs}, out);
}

/* A result that depends on data stays unknown; a shape mismatch is an error. */
cfx_status cfx_tracer__infer(cfx_tracer *t, cfx_node *n, cfx_module *m,
                             const cfx_unbound_call *c)
{
    cfx_scope *s = &t->self->meta;
    size_t total = c->nargs + 2 * c->nkwargs;
    cfx_value out = CFX_NOTHING;
    cfx_status st = CFX_OK;
    struct knowing k = {t, false};
    if (!t->self->infers || (!m && !c->target))
        return CFX_OK;
    cfx_value *v = cfx_calloc(t->base.ctx, total + 1, sizeof(*v));
    if (!v)
        return cfx_no_memory(&t->base.error);
    for (size_t i = 0; i < total && !st && !k.lacks; i++)
        st = cfx_value_map(&v[i], t->base.ctx,
                           i < c->nargs ? c->args[i] : c->kwargs[i - c->nargs],
                           to_meta, &k, &t->base.error);
    cfx_unbound_call known_call = *c;
    known_call.args = v;
    known_call.kwargs = v + c->nargs;
    if (!st && !k.lacks)
        st = call_meta(t, m, &known_call, &out);
    if (!st && !k.lacks)
        st = give_meta(t, n, out);
    else if (s->error.code && s->error.code != CFX_EUNSUPPORTED)
        cfx_fail_from(&t->base.error, &s->error);
    else if (st == CFX_EUNSUPPORTED)
        st = CFX_OK;
    cfx_error_clear(&s->error);
    if (out.kind)
        cfx_value_unref(out);
    for (size_t i = 0; i < total; i++)
        cfx_value_unref(v[i]);
    cfx_free(t->base.ctx, v, (total + 1) * sizeof(*v));
    return st;
}

static const char control_flow[] =
    "symbolically traced variables cannot be used as inputs to control flow";

/* ---- Questions ---- */

static cfx_status refuse_len(cfx_scope *s)
{
    return cfx_fail(
        &s->error, CFX_EUNSUPPORTED,
        "'len' is not supported in symbolic tracing by default. If you want this call to be recorded, please wrap it (cfx_wrap)");
}

static cfx_status refuse_iteration(cfx_scope *s)
{
    return cfx_fail(
        &s->error, CFX_EUNSUPPORTED,
        "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args or **kwargs function argument. Take items by cfx_nth or cfx_unpack");
}

static cfx_status answer_len(cfx_scope *s, cfx_value v, cfx_value *out)
{
    if (cfx_value_is_seq(v))
        *out = cfx_int(v.u.seq->len);
    else if (v.kind == CFX_TENSOR && v.u.tensor->rank &&
             cfx_dim_is_int(v.u.tensor->shape[0]))
        *out = cfx_int(cfx_dim_value(v.u.tensor->shape[0]));
    return out->kind == CFX_INT ? CFX_OK : refuse_len(s);
}

static cfx_status answer_items(cfx_scope *s, cfx_value proxy, cfx_value v,
                               cfx_value *out)
{
    if (!cfx_value_is_seq(v))
        return refuse_iteration(s);
    uint32_t n = v.u.seq->len;
    cfx_value *item = cfx_calloc(s->ctx, n + 1, sizeof(*item));
    if (!item)
        return cfx_no_memory(&s->error);
    for (uint32_t i = 0; i < n; i++)
        item[i] = cfx_nth(s, proxy, i);
    if (!cfx_scope_failed(s))
        *out = cfx_tuple_new(s->ctx, n, item);
    cfx_free(s->ctx, item, (n + 1) * sizeof(*item));
    if (!out->kind)
        return cfx_no_memory(&s->error);
    return s->error.code;
}

cfx_status cfx_tracer__ask(cfx_scope *s, cfx_question question, cfx_value v,
                           cfx_value *out)
{
    const cfx_tracer *t = (cfx_tracer *)s;
    bool ours = v.kind == CFX_NODE && v.u.node && v.u.node->graph == t->graph;
    cfx_value is = ours ? cfx_tracer__known(t, v.u.node) : CFX_NOTHING;
    *out = CFX_NOTHING;
    switch (question) {
    case CFX_ASK_META:
        if (is.kind == CFX_TENSOR)
            *out = cfx_value_ref(is);
        return CFX_OK;
    case CFX_ASK_LEN: return answer_len(s, is, out);
    case CFX_ASK_ITEMS: return answer_items(s, v, is, out);
    case CFX_ASK_TRUTH: break;
    }
    if (is.kind != CFX_BOOL_VALUE && is.kind != CFX_INT)
        return cfx_fail(&s->error, CFX_EUNSUPPORTED, "%s", control_flow);
    *out = cfx_bool(is.u.i != 0);
    return CFX_OK;
}
