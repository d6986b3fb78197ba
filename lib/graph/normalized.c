/*
 * normalized -- arguments bound to the callee's signature.
 */
#include "graph/graph_impl.h"
#include "nn/module_impl.h"
#include "op/op_impl.h"

/* The first signature of a chain that the call binds to; NULL: none. */
static cfx_status find_signature(const cfx_node *n, const cfx_schema **out,
                                 cfx_error *err)
{
    const cfx_target *t;
    cfx_bound b = {0};
    *out = NULL;
    cfx_status st = cfx_target__find(&t, n->graph->ctx, n->target->text,
                                     n->op == CFX_CALL_METHOD, NULL);
    if (!st)
        st = cfx_bind(&b, n->graph->ctx, t,
                      (cfx_args){n->args, n->nargs, n->kwargs, n->nkwargs},
                      NULL);
    if (!st)
        *out = b.target->variant;
    cfx_bound_release(&b);
    return st == CFX_ENOMEM ? cfx_no_memory(err) : CFX_OK;
}

static cfx_status signature_of(const cfx_node *n, const cfx_schema **out,
                               cfx_error *err)
{
    const cfx_module *m = n->graph->owner;
    *out = NULL;
    if (n->op == CFX_CALL_FUNCTION || n->op == CFX_CALL_METHOD)
        return find_signature(n, out, err);
    if (n->op == CFX_CALL_MODULE && m)
        m = cfx_module_at(m, n->target->text);
    if (n->op == CFX_CALL_MODULE && m && !m->graph)
        *out = m->forward;
    return CFX_OK;
}

/* The Python name of a parameter: functions of torch use `input` for ATen's
 * `self`. */
static const char *python_name(const cfx_node *n, const cfx_param *p)
{
    const char *target = n->target->text;
    bool function = n->op == CFX_CALL_FUNCTION &&
                    !strncmp(target, "torch.", 6) &&
                    strncmp(target, "torch.ops.", 10);
    return function && !strcmp(p->name, "self") ? "input" : p->name;
}

/* The first `npositional` bound values as args, the others as kwargs. */
static cfx_status write(const cfx_node *n, const cfx_schema *s,
                        const cfx_value *in, int npositional, cfx_value *args,
                        cfx_value *kwargs, cfx_error *err)
{
    cfx_context *ctx = n->graph->ctx;
    cfx_value pair[2 * CFX_MAX_PARAMS];
    size_t nkwargs = 0;
    bool ok = true;
    for (int k = npositional; k < s->nparams; k++, nkwargs++) {
        const char *name = python_name(n, &s->params[k]);
        pair[2 * nkwargs] = cfx_str_new(ctx, name, strlen(name));
        pair[2 * nkwargs + 1] = in[k];
        ok = ok && pair[2 * nkwargs].kind;
    }
    if (ok) {
        *args = cfx_tuple_new(ctx, (size_t)npositional, in);
        *kwargs = cfx_dict_new(ctx, nkwargs, pair);
    }
    for (size_t i = 0; i < nkwargs; i++)
        cfx_value_unref(pair[2 * i]);
    if (args->kind && kwargs->kind)
        return CFX_OK;
    cfx_value_unref(*args);
    cfx_value_unref(*kwargs);
    *args = *kwargs = CFX_NOTHING;
    return cfx_no_memory(err);
}

cfx_status cfx_node_normalized_arguments(const cfx_node *n, bool only_kwargs,
                                         cfx_value *args, cfx_value *kwargs,
                                         cfx_error *err)
{
    const cfx_schema *s;
    cfx_bound b = {0};
    *args = *kwargs = CFX_NOTHING;
    cfx_status st = signature_of(n, &s, err);
    if (st || !s)
        return st;
    st = cfx_bind_schema(&b, n->graph->ctx, s,
                         (cfx_args){n->args, n->nargs, n->kwargs, n->nkwargs},
                         NULL);
    int npositional = s->nparams;
    if (npositional > (int)n->nargs)
        npositional = (int)n->nargs;
    if (!st)
        st = write(n, s, b.in, only_kwargs ? 0 : npositional, args, kwargs,
                   err);
    else
        st = st == CFX_ENOMEM ? cfx_no_memory(err) : CFX_OK;
    cfx_bound_release(&b);
    return st;
}
