/*
 * tracer -- the scope that records calls.
 *
 * Each hook ends in cfx_tracer__new_node, the only function that makes nodes:
 * tensors among arguments become get_attr nodes, and the node gets its
 * provenance. Every failure fails the scope.
 */
#include "interp/trace/tracer_impl.h"

#include <stdio.h>

#include "graph/graph_impl.h"
#include "nn/module_impl.h"
#include "op/op_impl.h"

static cfx_tracer *downcast(cfx_scope *s)
{
    assert(s->hook.record_call);
    return (cfx_tracer *)s;
}

/* ---- Calls of functions and methods ---- */

static bool is_node(void *user, cfx_value v)
{
    (void)user;
    return v.kind == CFX_NODE;
}

static bool has_proxy(const cfx_unbound_call *c)
{
    for (size_t i = 0; i < c->nargs; i++)
        if (cfx_value_any(c->args[i], is_node, NULL))
            return true;
    for (size_t i = 0; i < c->nkwargs; i++)
        if (cfx_value_any(c->kwargs[2 * i + 1], is_node, NULL))
            return true;
    return false;
}

/* Move another scope's error to this one. */
static cfx_status move_error(cfx_tracer *t, cfx_scope *from, cfx_status st)
{
    if (st)
        cfx_fail_from(&t->base.error, &from->error);
    cfx_error_clear(&from->error);
    return st;
}

static bool writes(const cfx_bound *b)
{
    const cfx_schema *s = b->target->schema;
    bool found = b->inplace;
    for (int k = 0; k < s->nparams && !found; k++)
        found = s->params[k].writes && !cfx_value_is_none(b->in[k]);
    return found;
}

/* Fail at once if the arguments fit no signature, rather than in each run. */
static cfx_status check(cfx_tracer *t, const cfx_unbound_call *c)
{
    cfx_bound b = {0};
    cfx_status st = cfx_bind(
        &b, t->base.ctx, c->target,
        (cfx_args){c->args, c->nargs, c->kwargs, c->nkwargs}, &t->base.error);
    if (!st && t->self->o.check_mutable && writes(&b))
        st = cfx_fail(
            &t->base.error, CFX_EUNSUPPORTED,
            "Tried to trace mutable operation %s. FX only supports functional code, so operations that mutate operands in-place (e.g. via `out` arguments) are not supported",
            b.target->schema->text);
    cfx_bound_release(&b);
    return st;
}

/* With `known_sizes`, return a known extent instead of a node. */
static bool known_size(const cfx_tracer *t, const cfx_unbound_call *c,
                       cfx_value *out)
{
    if (!t->self->o.known_sizes || !c->method || strcmp(c->name, "size") ||
        c->nargs != 2 || c->nkwargs || c->args[0].kind != CFX_NODE ||
        c->args[1].kind != CFX_INT || c->args[0].u.node->graph != t->graph)
        return false;
    cfx_value v = cfx_tracer__known(t, c->args[0].u.node);
    int64_t axis = c->args[1].u.i;
    if (v.kind != CFX_TENSOR || axis < -v.u.tensor->rank ||
        axis >= v.u.tensor->rank)
        return false;
    axis += axis < 0 ? v.u.tensor->rank : 0;
    *out = cfx_value_of_dim(v.u.tensor->shape[axis]);
    return true;
}

static cfx_status tracer_record_call(cfx_scope *s, const cfx_unbound_call *c,
                                     cfx_value *out)
{
    cfx_tracer *t = downcast(s);
    *out = cfx_none();
    if (cfx_scope_failed(s))
        return s->error.code;
    if (known_size(t, c, out))
        return CFX_OK;
    if (!has_proxy(c) &&
        !(c->target->op->flags & (CFX_OP_RANDOM | CFX_OP_EFFECT)))
        return move_error(
            t, &t->self->eager,
            cfx_scope_call_target(
                &t->self->eager, c->target,
                (cfx_args){c->args, c->nargs, c->kwargs, c->nkwargs}, out));
    cfx_status st = check(t, c);
    if (st)
        return st;
    *out = cfx_tracer_create(
        t, c->method ? CFX_CALL_METHOD : CFX_CALL_FUNCTION, c->name,
        (cfx_args){c->args, c->nargs, c->kwargs, c->nkwargs});
    if (!cfx_scope_failed(s))
        cfx_tracer__infer(t, out->u.node, NULL, c);
    return s->error.code;
}

/* ---- Parameters ---- */

static cfx_status tracer_get_attr(cfx_scope *s, cfx_module *m,
                                  const char *name, cfx_value *out)
{
    cfx_tracer *t = downcast(s);
    struct cfx_tracer_self *self = t->self;
    cfx_map_entry *e = NULL;
    cfx_buf path;
    cfx_status st = CFX_SCOPE_SUPER(&cfx_tracer_class, get_attr)(s, m, name,
                                                                 out);
    if (st || out->kind != CFX_TENSOR)
        return st;
    *out = cfx_none();
    cfx_buf_init(&path, s->ctx);
    st = cfx_tracer__path(t, m, name, &path);
    if (!st && self->exclusive)
        e = cfx_map_get(&self->attrs, path.s, strlen(path.s));
    cfx_node *n = e && !((cfx_node *)e->v.p)->erased ? e->v.p : NULL;
    if (!st && !n) {
        n = cfx_tracer__make(t, CFX_GET_ATTR, path.s, NULL, 0, NULL, 0, NULL);
        e = n && self->exclusive ? cfx_map_put(&self->attrs, n->target->text,
                                               n->target->len, NULL)
                                 : NULL;
        if (e)
            e->v.p = n;
        else if (n && self->exclusive)
            st = cfx_no_memory(&t->base.error);
    }
    cfx_buf_release(&path);
    if (!st && n)
        *out = cfx_value_of_node(n);
    return s->error.code;
}

/* ---- Modules ---- */

bool cfx_tracer__is_leaf(const cfx_tracer *t, const cfx_module *m,
                         const char *path)
{
    const cfx_trace_options *o = &t->self->o;
    if (o->is_leaf)
        return o->is_leaf(o->user, m, path);
    return cfx_module_type__is_builtin(m->type) && !m->type->container &&
           strcmp(m->type->schema, "Sequential()") && !m->graph;
}

bool cfx_tracer__every_module(void *user, const cfx_module *m,
                              const char *path)
{
    (void)user;
    (void)m;
    (void)path;
    return true;
}

/* Copy the module stack with one more entry. */
static cfx_status push_module(cfx_tracer *t, const cfx_module *m,
                              const char *path, cfx_value *before)
{
    struct cfx_tracer_self *self = t->self;
    cfx_context *ctx = t->base.ctx;
    char key[512];
    cfx_value item[2 * CFX_MAX_DEPTH + 4], part[2] = {{0}}, name = {0};
    size_t n = self->stack.kind ? self->stack.u.seq->len : 0;
    *before = self->stack;
    const char *kept = cfx_arena_strdup(&self->arena, path, strlen(path));
    cfx_map_entry *e = kept ? cfx_map_put(&self->calls, kept, strlen(kept),
                                          NULL)
                            : NULL;
    if (!e)
        return cfx_no_memory(&t->base.error);
    unsigned long long calls = e->v.u++;
    snprintf(key, sizeof(key), calls ? "%s@%llu" : "%s", path, calls);
    /* Deeper modules keep the stack of the modules around them. */
    bool deep = n + 2 > sizeof(item) / sizeof(*item);
    name = cfx_str_new(ctx, key, strlen(key));
    part[0] = cfx_str_new(ctx, path, strlen(path));
    part[1] = cfx_str_new(ctx, m->class_name, strlen(m->class_name));
    bool ok = name.kind && part[0].kind && part[1].kind;
    for (size_t i = 0; i < n && !deep; i++)
        item[i] = self->stack.u.seq->item[i];
    item[deep ? 0 : n] = name;
    cfx_value pair = ok ? cfx_tuple_new(ctx, 2, part) : CFX_NOTHING;
    item[deep ? 1 : n + 1] = pair;
    cfx_value all = deep        ? cfx_value_ref(self->stack)
                    : pair.kind ? cfx_dict_new(ctx, n / 2 + 1, item)
                                : CFX_NOTHING;
    cfx_value_unref(pair);
    cfx_value_unref(name);
    cfx_value_unref(part[0]);
    cfx_value_unref(part[1]);
    if (!all.kind)
        return cfx_no_memory(&t->base.error);
    self->stack = all;
    return CFX_OK;
}

static void pop_module(cfx_tracer *t, cfx_value before)
{
    cfx_value_unref(t->self->stack);
    t->self->stack = before;
}

static cfx_status record_module(cfx_tracer *t, cfx_module *m, const char *path,
                                const cfx_unbound_call *c, cfx_value *out)
{
    *out = cfx_tracer_create(
        t, CFX_CALL_MODULE, path,
        (cfx_args){c->args, c->nargs, c->kwargs, c->nkwargs});
    if (!cfx_scope_failed(&t->base))
        cfx_tracer__infer(t, out->u.node, m, c);
    return t->base.error.code;
}

/* Trace through a module. Calls made by the library's own modules have the call
 * of the module as their place. */
static cfx_status trace_module(cfx_tracer *t, cfx_module *m,
                               const cfx_unbound_call *c, cfx_value *out)
{
    cfx_scope *s = &t->base;
    trace_place before = t->self->place;
    if (!before.held && cfx_module_type__is_builtin(m->type))
        t->self->place = (trace_place){s->file, s->function, s->line, true};
    const struct cfx_node *around = s->node;
    cfx_status st = cfx_module__forward_unbound(s, m, c, out);
    s->node = around;
    t->self->place = before;
    return st;
}

static cfx_status tracer_record_module(cfx_scope *s, cfx_module *m,
                                       const char *path,
                                       const cfx_unbound_call *c,
                                       cfx_value *out)
{
    cfx_tracer *t = downcast(s);
    cfx_value before;
    cfx_buf buf;
    (void)path;
    *out = cfx_none();
    if (cfx_scope_failed(s))
        return s->error.code;
    cfx_buf_init(&buf, s->ctx);
    cfx_status st = cfx_tracer__path(t, m, "", &buf);
    if (!st)
        st = push_module(t, m, cfx_buf_str(&buf), &before);
    if (!st) {
        st = m != t->root && cfx_tracer__is_leaf(t, m, cfx_buf_str(&buf))
                 ? record_module(t, m, cfx_buf_str(&buf), c, out)
                 : trace_module(t, m, c, out);
        pop_module(t, before);
    }
    cfx_buf_release(&buf);
    return st;
}

const cfx_scope_class cfx_tracer_class = {
    .size = sizeof(cfx_scope_class),
    .name = "tracer",
    .super = &cfx_scope_base,
    .call_graph = cfx_tracer__call_graph,
    .get_attr = tracer_get_attr,
    .record_call = tracer_record_call,
    .record_module = tracer_record_module,
    .ask = cfx_tracer__ask,
};

/* ---- Init and release ---- */

cfx_status cfx_tracer__init_on(cfx_tracer *t, cfx_graph *graph,
                               cfx_module *root,
                               const cfx_trace_options *options,
                               bool exclusive, cfx_error *err)
{
    cfx_context *ctx = cfx_graph_context(graph);
    struct cfx_tracer_self *self = cfx_calloc(ctx, 1, sizeof(*self));
    if (!self)
        return cfx_no_memory(err);
    if (options)
        self->o = *options;
    const cfx_scope_class *cls = self->o.cls;
    self->exclusive = exclusive;
    self->infers = self->o.nmetas > 0 || self->o.infer;
    t->graph = graph;
    t->root = root;
    t->self = self;
    cfx_arena_init(&self->arena, ctx);
    cfx_map_init(&self->attrs, ctx);
    cfx_map_init(&self->states, ctx);
    cfx_map_init(&self->calls, ctx);
    cfx_map_init(&self->constants, ctx);
    cfx_scope_init(&t->base, cls ? cls : &cfx_tracer_class, ctx, self->o.env);
    cfx_scope_init(&self->eager, &cfx_eager_class, ctx, NULL);
    cfx_scope_init(&self->meta, &cfx_meta_class, ctx, self->o.env);
    return CFX_OK;
}

cfx_status cfx_tracer_init(cfx_tracer *t, cfx_graph *graph,
                           const cfx_trace_options *options, cfx_error *err)
{
    cfx_module *root = options ? options->root : NULL;
    return cfx_tracer__init_on(t, graph,
                               root ? root : cfx_graph_owning_module(graph),
                               options, false, err);
}

void cfx_tracer_release(cfx_tracer *t)
{
    struct cfx_tracer_self *self = t->self;
    if (!self)
        return;
    cfx_context *ctx = t->base.ctx;
    for (size_t i = 0; i < self->constants.cap; i++)
        if (self->constants.entry[i].key)
            cfx_tensor_unref(self->constants.entry[i].v.p);
    cfx_map_release(&self->constants);
    cfx_value_unref(self->stack);
    cfx_map_release(&self->attrs);
    cfx_map_release(&self->states);
    cfx_map_release(&self->calls);
    cfx_arena_release(&self->arena);
    cfx_scope_release(&self->eager);
    cfx_scope_release(&self->meta);
    cfx_scope_release(&t->base);
    cfx_free(ctx, self, sizeof(*self));
    t->self = NULL;
}

/* ---- Names and types ---- */

cfx_value cfx_named(cfx_scope *s, const char *name, cfx_value v)
{
    if (!cfx_scope_failed(s) && v.kind == CFX_NODE && v.u.node)
        cfx_graph__rename_new(v.u.node, name, &s->error);
    return v;
}

cfx_value cfx_annotate(cfx_scope *s, cfx_value v, const char *type)
{
    if (cfx_scope_failed(s) || v.kind != CFX_NODE || !v.u.node)
        return v;
    if (v.u.node->type)
        return cfx_scope_fail(
            s, CFX_EINVAL,
            "Tried to annotate a value that already had a type on it! Existing type is %s and new type is %s. This could happen if you tried to annotate a function parameter value (in which case you should use the type slot on the function signature) or you called annotate on the same value twice",
            v.u.node->type->text, type);
    cfx_node_set_type(v.u.node, type, &s->error);
    return v;
}
