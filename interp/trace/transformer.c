/*
 * transformer -- the interpreter whose values are nodes of a new graph.
 *
 * Each hook records the call that it gets. If the call has the target of the
 * node that is run, the new node keeps name, type and meta, except for facts
 * about values that may have changed. A graph that is called in a tracing scope
 * and is not a leaf is walked by the same hooks, except that its placeholders
 * take the arguments.
 */
#include <cfx/transformer.h>

#include "interp/trace/tracer_impl.h"
#include "interp/walk/interp_impl.h"
#include "nn/module_impl.h"

static cfx_tracer *tracer_of(const cfx_interp *it)
{
    assert(it->scope->hook.record_call);
    return (cfx_tracer *)it->scope;
}

/* Move the scope's error to the run's. */
static cfx_status move_error(cfx_interp *it)
{
    return cfx_scope_status(it->scope, it->err);
}

static bool is_fact(const char *key)
{
    static const char *const facts[] = {"tensor_meta", "val", "example_value",
                                        "type"};
    for (size_t i = 0; i < sizeof(facts) / sizeof(*facts); i++)
        if (!strcmp(key, facts[i]))
            return true;
    return false;
}

/* Copy the meta and type of the node that another one replaces; with `facts`
 * also what is known of the value. */
static cfx_status copy_meta(cfx_tracer *t, cfx_node *n, const cfx_node *from,
                            bool facts)
{
    cfx_error *err = &t->base.error;
    cfx_status st = CFX_OK;
    const cfx_seq *meta = from->meta.kind == CFX_DICT ? from->meta.u.seq
                                                      : NULL;
    if (from->type)
        st = cfx_node_set_type(n, from->type->text, err);
    for (uint32_t i = 0; meta && i < meta->len && !st; i += 2) {
        const char *key = meta->item[i].u.str->text;
        if ((facts || !is_fact(key)) && !(t->self->infers && is_fact(key)))
            st = cfx_node_set_meta(n, key, meta->item[i + 1], err);
    }
    return st;
}

/* Infer the meta of the result if those of the arguments are known. */
static void infer(cfx_tracer *t, cfx_node *n, cfx_module *m,
                  const cfx_call *call)
{
    cfx_unbound_call c = {.args = call->args,
                          .nargs = call->nargs,
                          .kwargs = call->kwargs,
                          .nkwargs = call->nkwargs};
    const char *name = n->target->text;
    if (!t->self->infers || n->op == CFX_PLACEHOLDER ||
        n->op == CFX_GET_ATTR || n->op == CFX_OUTPUT)
        return;
    if (!m)
        c.target = n->op == CFX_CALL_METHOD
                       ? cfx_find_method(t->base.ctx, name)
                       : cfx_find_function(t->base.ctx, name);
    cfx_tracer__infer(t, n, m, &c);
}

/* Record a call; `m` is the module of a call_module. */
static cfx_status record(cfx_interp *it, const cfx_call *call, cfx_opcode op,
                         const char *target, cfx_module *m, cfx_value *out)
{
    cfx_tracer *t = tracer_of(it);
    const cfx_node *from = call->node;
    bool same = from && from->op == op && call->target.u.str == from->target;
    *out = cfx_tracer__new_node(t, op, target, call->args, call->nargs,
                                call->kwargs, call->nkwargs,
                                same ? from->name : NULL);
    if (!cfx_scope_failed(it->scope) && same)
        copy_meta(t, out->u.node, from,
                  op == CFX_PLACEHOLDER || op == CFX_GET_ATTR ||
                      op == CFX_OUTPUT);
    if (!cfx_scope_failed(it->scope))
        infer(t, out->u.node, m, call);
    return move_error(it);
}

static cfx_status transformer_placeholder(cfx_interp *it, const cfx_call *call,
                                          cfx_value *out)
{
    return record(it, call, CFX_PLACEHOLDER, call->target.u.str->text, NULL,
                  out);
}

/* Translate a path of the walked module to one of the tracer's root. */
static cfx_status transformer_get_attr(cfx_interp *it, const cfx_call *call,
                                       cfx_value *out)
{
    cfx_tracer *t = tracer_of(it);
    cfx_buf path;
    cfx_buf_init(&path, t->base.ctx);
    cfx_status st = cfx_tracer__path(t, it->module, call->target.u.str->text,
                                     &path);
    if (!st)
        st = record(it, call, CFX_GET_ATTR, path.s, NULL, out);
    cfx_buf_release(&path);
    return st ? move_error(it) : CFX_OK;
}

static cfx_status call_spelled(cfx_interp *it, const cfx_call *call,
                               cfx_opcode op, cfx_value *out)
{
    return record(it, call, op, call->target.u.str->text, NULL, out);
}

static cfx_status transformer_call_function(cfx_interp *it,
                                            const cfx_call *call,
                                            cfx_value *out)
{
    return call_spelled(it, call, CFX_CALL_FUNCTION, out);
}

static cfx_status transformer_call_method(cfx_interp *it, const cfx_call *call,
                                          cfx_value *out)
{
    return call_spelled(it, call, CFX_CALL_METHOD, out);
}

/* Record a leaf here, with the node's name; the tracer goes into other
 * modules. */
static cfx_status transformer_call_module(cfx_interp *it, const cfx_call *call,
                                          cfx_value *out)
{
    cfx_tracer *t = tracer_of(it);
    const char *target = call->target.u.str->text;
    cfx_module *m = cfx_module_at(it->module, target);
    cfx_unbound_call c = {.args = call->args,
                          .nargs = call->nargs,
                          .kwargs = call->kwargs,
                          .nkwargs = call->nkwargs};
    cfx_buf path;
    if (!m)
        return cfx_interp_fail(
            it, CFX_ENAME, "Node referenced nonexistent target %s", target);
    cfx_buf_init(&path, t->base.ctx);
    cfx_status st = cfx_tracer__path(t, m, "", &path);
    const char *at = cfx_buf_str(&path);
    if (!st)
        st = cfx_tracer__is_leaf(t, m, at)
                 ? record(it, call, CFX_CALL_MODULE, at, m, out)
                 : it->scope->hook.record_module(it->scope, m, target, &c,
                                                 out);
    cfx_buf_release(&path);
    return st ? move_error(it) : CFX_OK;
}

static cfx_status transformer_output(cfx_interp *it, const cfx_call *call,
                                     cfx_value *out)
{
    return record(it, call, CFX_OUTPUT, "output", NULL, out);
}

const cfx_interp_class cfx_transformer_class = {
    .size = sizeof(cfx_interp_class),
    .name = "transformer",
    .super = &cfx_interp_base,
    .placeholder = transformer_placeholder,
    .get_attr = transformer_get_attr,
    .call_function = transformer_call_function,
    .call_method = transformer_call_method,
    .call_module = transformer_call_module,
    .output = transformer_output,
};

/* The class for inlined graphs: placeholders take the arguments, and the
 * output's value is the result. */
static const cfx_interp_class inline_class = {
    .size = sizeof(cfx_interp_class),
    .name = "inline",
    .super = &cfx_interp_base,
    .get_attr = transformer_get_attr,
    .call_function = transformer_call_function,
    .call_method = transformer_call_method,
    .call_module = transformer_call_module,
};

cfx_status cfx_tracer__call_graph(cfx_scope *s, cfx_module *m,
                                  const char *path, const cfx_unbound_call *c,
                                  const cfx_value *in, cfx_value *out)
{
    return cfx_walks__call_graph(&inline_class, s, m, path, c, in, out);
}

/* ---- Init and release ---- */

cfx_status cfx_transformer_init(cfx_transformer *t,
                                const cfx_interp_class *cls, cfx_module *gm,
                                const cfx_trace_options *options,
                                cfx_error *err)
{
    cfx_trace_options o = {.size = sizeof(o)};
    cfx_interp_options with = {.size = sizeof(with), .scope = &t->tracer.base};
    if (options)
        o = *options;
    if (!o.is_leaf)
        o.is_leaf = cfx_tracer__every_module;
    cfx_status st = cfx_graph_new(&t->graph, cfx_module_context(gm), err);
    if (!st)
        st = cfx_tracer__init_on(&t->tracer, t->graph, gm, &o, true, err);
    if (!st)
        st = cfx_interp_init_with(&t->base, cls, gm, &with, err);
    if (st)
        cfx_transformer_release(t);
    return st;
}

void cfx_transformer_release(cfx_transformer *t)
{
    cfx_interp_release(&t->base);
    cfx_tracer_release(&t->tracer);
    cfx_graph_free(t->graph);
    t->graph = NULL;
}

cfx_status cfx_transform(cfx_transformer *t, cfx_module **out, cfx_error *err)
{
    cfx_value result;
    *out = NULL;
    if (!t->graph)
        return cfx_fail(err, CFX_EINVAL, "a transformer gives one module");
    cfx_status st = cfx_interp_run(&t->base, NULL, 0, &result, err);
    if (st)
        return st;
    cfx_graph *g = t->graph;
    t->graph = NULL;
    return cfx_tracer__module_take(out, &t->tracer, g,
                                   t->tracer.self->o.class_name
                                       ? t->tracer.self->o.class_name
                                       : cfx_module_class_name(t->base.module),
                                   err);
}
