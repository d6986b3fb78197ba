/*
 * tracer -- the scope that writes calls down.
 *
 * Each hook ends in create(), the one place where nodes are made: it turns
 * tensors among arguments into get_attr nodes, and leaves with the node where
 * it comes from. Whatever fails has failed the scope.
 */
#include "graph/graph_impl.h"
#include "interp/tracer_impl.h"

#include <stdio.h>

#include <cfx/text.h>

#include "nn/module_impl.h"
#include "op/op_impl.h"

static cfx_tracer *downcast(cfx_scope *s)
{
    assert(s->cls->spelled);
    return (cfx_tracer *)s;
}

static cfx_status no_memory(cfx_tracer *t)
{
    return cfx_fail(&t->base.error, CFX_ENOMEM, "out of memory");
}

static const char control_flow[] =
    "symbolically traced variables cannot be used as inputs to control flow";

/* ---- Paths ---- */

cfx_status cfx_tracer__path(cfx_tracer *t, const cfx_module *m,
                            const char *name, cfx_buf *buf)
{
    const cfx_module *at = m;
    size_t len = strlen(name), n;
    for (; at && at != t->root; at = at->parent)
        len += strlen(at->name) + 1;
    if (!at)
        return cfx_fail(&t->base.error, CFX_ENAME, *name
                            ? "parameter is not a member of this module"
                            : "module is not installed as a submodule");
    cfx_buf_clear(buf);
    if (!cfx_buf_reserve(buf, len + 1))
        return no_memory(t);
    cfx_buf_repeat(buf, '.', len);
    n = strlen(name);
    memcpy(buf->s + len - n, name, n);
    size_t end = len - n;
    for (at = m; at != t->root; at = at->parent) {
        n = strlen(at->name);
        end -= n + 1;
        memcpy(buf->s + end, at->name, n);
    }
    /* A module's path has one dot too many. */
    if (!*name && len)
        buf->s[len - 1] = '\0';
    return CFX_OK;
}

/* ---- Provenance ---- */

static cfx_status set_text_meta(cfx_tracer *t, cfx_node *n, const char *key,
                                const char *text)
{
    cfx_value v = cfx_str_new(t->base.ctx, text, strlen(text));
    if (!v.kind)
        return no_memory(t);
    cfx_status st = cfx_node_set_meta(n, key, v, &t->base.error);
    cfx_value_unref(v);
    return st;
}

static cfx_status set_place(cfx_tracer *t, cfx_node *n)
{
    const cfx_scope *s = &t->base;
    trace_place at = t->self->place;
    char text[512];
    if (!at.held)
        at = (trace_place){s->file, s->function, s->line, false};
    if (!at.file || t->self->o.no_places)
        return CFX_OK;
    snprintf(text, sizeof(text), "File: %s:%d in %s", at.file, at.line,
             at.function);
    return set_text_meta(t, n, "stack_trace", text);
}

static cfx_status set_provenance(cfx_tracer *t, cfx_node *n)
{
    const cfx_node *from = t->base.node;
    cfx_error *err = &t->base.error;
    if (from && from->graph != t->graph)
        return cfx_node_inherit(n, from, err);
    cfx_status st = set_place(t, n);
    if (!st && t->self->stack.kind)
        st = cfx_node_set_meta(n, "nn_module_stack", t->self->stack, err);
    return st;
}

/* ---- Tensors that become attributes ---- */

static cfx_status note_states(cfx_tracer *t)
{
    struct cfx_tracer_self *self = t->self;
    cfx_buf path;
    cfx_status st = CFX_OK;
    cfx_buf_init(&path, t->base.ctx);
    for (cfx_module *m = t->root; m && !st;
         m = cfx_module_next(m, t->root))
        for (size_t i = 0; i < m->nstate && !st; i++) {
            bool added;
            cfx_tensor **key = cfx_arena_alloc(&self->arena, sizeof(*key));
            if (!key) {
                st = no_memory(t);
                break;
            }
            *key = m->state[i].tensor;
            st = cfx_tracer__path(t, m, m->state[i].name, &path);
            cfx_map_entry *e = st ? NULL
                                  : cfx_map_put(&self->states,
                                                (const char *)key,
                                                sizeof(*key), &added);
            if (!st && e && added)
                e->v.p = cfx_arena_strdup(&self->arena, path.s,
                                          strlen(path.s));
            if (!st && (!e || !e->v.p))
                st = no_memory(t);
        }
    cfx_buf_release(&path);
    self->states_known = !st;
    return st;
}

static bool is_taken(const cfx_tracer *t, const char *name)
{
    return t->root && (cfx_module_state(t->root, name) ||
                       cfx_module_child(t->root, name));
}

/* A tensor that the root has not gets the first free name. */
static cfx_status add_constant(cfx_tracer *t, cfx_tensor *tensor,
                               const char **name)
{
    struct cfx_tracer_self *self = t->self;
    char text[48];
    size_t n = self->nconstants;
    do
        snprintf(text, sizeof(text), "_tensor_constant%zu", n++);
    while (is_taken(t, text));
    if (self->nconstants == self->cap) {
        size_t cap = self->cap ? 2 * self->cap : 4;
        void *p = cfx_realloc(t->base.ctx, self->constant,
                              self->cap * sizeof(*self->constant),
                              cap * sizeof(*self->constant));
        if (!p)
            return no_memory(t);
        self->constant = p;
        self->cap = cap;
    }
    *name = cfx_arena_strdup(&self->arena, text, strlen(text));
    if (!*name)
        return no_memory(t);
    if (!self->anew) {
        if (!t->root)
            return cfx_fail(&t->base.error, CFX_EUNSUPPORTED,
                            "a tensor among the arguments needs a module that "
                            "owns the graph and can keep it");
        cfx_status st = cfx_module_set(t->root, text, tensor,
                                       &t->base.error);
        if (st)
            return st;
    }
    self->constant[self->nconstants++] =
        (trace_constant){*name, cfx_tensor_ref(tensor)};
    return CFX_OK;
}

static cfx_status name_tensor(cfx_tracer *t, cfx_tensor *tensor,
                              const char **name)
{
    struct cfx_tracer_self *self = t->self;
    cfx_status st = self->states_known ? CFX_OK : note_states(t);
    if (st)
        return st;
    cfx_map_entry *e = cfx_map_get(&self->states, (const char *)&tensor,
                                   sizeof(tensor));
    if (e) {
        *name = e->v.p;
        return CFX_OK;
    }
    if (cfx_tensor_is_meta(tensor))
        return cfx_fail(&t->base.error, CFX_EUNSUPPORTED,
                        "a tensor without numbers cannot be a constant");
    st = add_constant(t, tensor, name);
    cfx_tensor **key = st ? NULL : cfx_arena_alloc(&self->arena,
                                                   sizeof(*key));
    if (st)
        return st;
    if (key) {
        *key = tensor;
        e = cfx_map_put(&self->states, (const char *)key, sizeof(*key), NULL);
    }
    if (!e)
        return no_memory(t);
    e->v.p = (void *)*name;
    return CFX_OK;
}

/* ---- Making nodes ---- */

static cfx_node *make(cfx_tracer *t, cfx_opcode op, const char *target,
                      const cfx_value *args, size_t nargs,
                      const cfx_value *kwargs, size_t nkwargs,
                      const char *name)
{
    cfx_node *n = cfx_graph_create_node(t->graph, op, target, args, nargs,
                                        kwargs, nkwargs, name, NULL,
                                        &t->base.error);
    return n && !set_provenance(t, n) ? n : NULL;
}

/* What an argument becomes: torch.fx's create_arg. */
static cfx_status map_arg(void *user, cfx_value v, cfx_value *out)
{
    cfx_tracer *t = user;
    const char *name = NULL;
    cfx_buf path;
    *out = v;
    if (v.kind == CFX_NODE && (!v.u.node || v.u.node->graph != t->graph))
        return cfx_fail(&t->base.error, CFX_EGRAPH, "Found multiple different "
                        "tracers: %s is a proxy of another one",
                        v.u.node ? v.u.node->name : "a parameter");
    if (v.kind != CFX_TENSOR && v.kind != CFX_MODULE) {
        *out = cfx_value_ref(v);
        return CFX_OK;
    }
    cfx_buf_init(&path, t->base.ctx);
    cfx_status st = v.kind == CFX_TENSOR
                        ? name_tensor(t, v.u.tensor, &name)
                        : cfx_tracer__path(t, v.u.module, "", &path);
    if (!st && !name)
        name = cfx_buf_str(&path);
    cfx_node *n = st ? NULL : make(t, CFX_GET_ATTR, name, NULL, 0, NULL, 0,
                                 NULL);
    cfx_buf_release(&path);
    *out = n ? cfx_value_of_node(n) : CFX_NOTHING;
    return n ? CFX_OK : t->base.error.code;
}

static cfx_status stop_at_odd(void *user, cfx_value v)
{
    const cfx_tracer *t = user;
    bool plain = v.kind != CFX_TENSOR && v.kind != CFX_MODULE &&
                 (v.kind != CFX_NODE ||
                  (v.u.node && v.u.node->graph == t->graph));
    return plain ? CFX_OK : CFX_EINVAL;
}

/* Map n values into a new array, where any needs it; else *out is `v`. */
static cfx_status map_args(cfx_tracer *t, const cfx_value *v, size_t n,
                           const cfx_value **out)
{
    cfx_status st = CFX_OK;
    bool plain = true;
    *out = v;
    for (size_t i = 0; i < n && plain; i++)
        plain = !cfx_value_visit(v[i], stop_at_odd, t);
    if (plain)
        return CFX_OK;
    cfx_value *copy = cfx_calloc(t->base.ctx, n, sizeof(*copy));
    if (!copy)
        return no_memory(t);
    for (size_t i = 0; i < n && !st; i++)
        st = cfx_value_map(&copy[i], t->base.ctx, v[i], map_arg, t,
                           &t->base.error);
    *out = copy;
    return st;
}

static void release_args(cfx_tracer *t, const cfx_value *mapped,
                         const cfx_value *v, size_t n)
{
    if (mapped == v)
        return;
    for (size_t i = 0; i < n; i++)
        cfx_value_unref(mapped[i]);
    cfx_free(t->base.ctx, (cfx_value *)mapped, n * sizeof(*mapped));
}

cfx_value cfx_tracer__create(cfx_tracer *t, cfx_opcode op, const char *target,
                             const cfx_value *args, size_t nargs,
                             const cfx_value *kwargs, size_t nkwargs,
                             const char *name)
{
    const cfx_value *a = args, *k = kwargs;
    cfx_node *n = NULL;
    if (cfx_scope_failed(&t->base))
        return cfx_none();
    cfx_status st = map_args(t, args, nargs, &a);
    if (!st)
        st = map_args(t, kwargs, 2 * nkwargs, &k);
    if (!st)
        n = make(t, op, target, a, nargs, k, nkwargs, name);
    else
        cfx_fail(&t->base.error, st, "%s", cfx_status_name(st));
    release_args(t, a, args, nargs);
    release_args(t, k, kwargs, 2 * nkwargs);
    return n ? cfx_value_of_node(n) : cfx_none();
}

cfx_value cfx_tracer_create(cfx_tracer *t, cfx_opcode op, const char *target,
                            const cfx_value *args, size_t nargs,
                            const cfx_value *kwargs, size_t nkwargs)
{
    return cfx_tracer__create(t, op, target, args, nargs, kwargs, nkwargs,
                              NULL);
}

cfx_value cfx_tracer__placeholder(cfx_tracer *t, const char *target,
                                  cfx_value init, cfx_value meta)
{
    cfx_value v = cfx_tracer_create(t, CFX_PLACEHOLDER, target, &init,
                                    init.kind != CFX_ABSENT, NULL, 0);
    if (v.kind == CFX_NODE && meta.kind)
        cfx_node_set_meta(v.u.node, "tensor_meta", meta, &t->base.error);
    return v;
}

/* ---- What is known of a proxy ---- */

/* A meta, number or tuple of them; absent if nothing is known. Borrowed. */
static cfx_value known(const cfx_tracer *t, const cfx_node *n)
{
    cfx_value v = cfx_node_meta(n, "tensor_meta");
    if (!v.kind)
        v = cfx_node_meta(n, "val");
    if (!v.kind && n->op == CFX_GET_ATTR && t->root &&
        cfx_module_fetch_attr(&v, t->root, n->target.u.str->text, NULL))
        v = CFX_NOTHING;
    for (size_t i = 0; n->op == CFX_GET_ATTR && !v.kind &&
                       i < t->self->nconstants; i++)
        if (!strcmp(t->self->constant[i].name, n->target.u.str->text))
            v = cfx_value_of_tensor(t->self->constant[i].tensor);
    return v;
}

/* A tensor without its numbers. */
static cfx_status forget(cfx_tracer *t, cfx_value v, cfx_value *out)
{
    cfx_tensor *meta;
    if (v.kind != CFX_TENSOR || cfx_tensor_is_meta(v.u.tensor)) {
        *out = cfx_value_ref(v);
        return CFX_OK;
    }
    const cfx_tensor *x = v.u.tensor;
    cfx_status st = cfx_tensor_meta(&meta, t->base.ctx, (cfx_dtype)x->dtype,
                                    x->rank, x->shape, x->stride,
                                    &t->base.error);
    *out = st ? CFX_NOTHING : cfx_value_of_tensor(meta);
    return st;
}

static cfx_status to_meta(void *user, cfx_value v, cfx_value *out)
{
    cfx_tracer *t = user;
    if (v.kind == CFX_NODE)
        v = v.u.node && v.u.node->graph == t->graph ? known(t, v.u.node)
                                                    : CFX_NOTHING;
    *out = CFX_NOTHING;
    /* CFX_EUSER: not known, which is no failure. */
    return v.kind ? forget(t, v, out) : CFX_EUSER;
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

/* Make the call in the meta scope: a function or method, or a module. */
static cfx_status call_meta(cfx_tracer *t, cfx_module *m,
                            const cfx_spelling *c, cfx_value *out)
{
    cfx_scope *s = &t->self->meta;
    return m ? cfx_module_call(s, m, NULL, c->args, c->nargs, c->kwargs,
                               c->nkwargs, out)
             : cfx_scope_call_target(s, c->target, c->args, c->nargs,
                                     c->kwargs, c->nkwargs, out);
}

/* The result's meta, where those of all arguments are known. What only numbers
 * tell stays unknown; a shape that does not fit is an error here. */
static cfx_status infer(cfx_tracer *t, cfx_node *n, cfx_module *m,
                        const cfx_spelling *c)
{
    cfx_scope *s = &t->self->meta;
    size_t total = c->nargs + 2 * c->nkwargs;
    cfx_value out = CFX_NOTHING;
    cfx_status st = CFX_OK;
    cfx_value *v = cfx_calloc(t->base.ctx, total + 1, sizeof(*v));
    if (!v)
        return no_memory(t);
    for (size_t i = 0; i < total && !st; i++)
        st = cfx_value_map(&v[i], t->base.ctx,
                           i < c->nargs ? c->args[i]
                                        : c->kwargs[i - c->nargs],
                           to_meta, t, &t->base.error);
    cfx_spelling known_call = *c;
    known_call.args = v;
    known_call.kwargs = v + c->nargs;
    if (!st)
        st = call_meta(t, m, &known_call, &out);
    if (!st)
        st = give_meta(t, n, out);
    else if (s->error.code && s->error.code != CFX_EUNSUPPORTED)
        cfx_fail(&t->base.error, st, "%s", s->error.text);
    else if (st == CFX_EUSER || st == CFX_EUNSUPPORTED)
        st = CFX_OK;
    s->error.code = CFX_OK;
    s->error.text[0] = '\0';
    if (out.kind)
        cfx_value_unref(out);
    for (size_t i = 0; i < total; i++)
        cfx_value_unref(v[i]);
    cfx_free(t->base.ctx, v, (total + 1) * sizeof(*v));
    return st;
}

/* ---- Calls of functions and methods ---- */

static cfx_status stop_at_node(void *user, cfx_value v)
{
    (void)user;
    return v.kind == CFX_NODE ? CFX_EINVAL : CFX_OK;
}

static bool has_proxy(const cfx_spelling *c)
{
    for (size_t i = 0; i < c->nargs; i++)
        if (cfx_value_visit(c->args[i], stop_at_node, NULL))
            return true;
    for (size_t i = 0; i < c->nkwargs; i++)
        if (cfx_value_visit(c->kwargs[2 * i + 1], stop_at_node, NULL))
            return true;
    return false;
}

/* Bring another scope's error here. */
static cfx_status passed(cfx_tracer *t, cfx_scope *from, cfx_status st)
{
    if (st)
        cfx_fail(&t->base.error, st, "%s", from->error.text);
    from->error.code = CFX_OK;
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

/* Arguments that fit no signature are an error at once, not in each run. */
static cfx_status check(cfx_tracer *t, const cfx_spelling *c)
{
    cfx_bound b = {0};
    cfx_status st = cfx_bind(&b, t->base.ctx, c->target, c->args, c->nargs,
                             c->kwargs, c->nkwargs, &t->base.error);
    if (!st && t->self->o.check_mutable && writes(&b))
        st = cfx_fail(&t->base.error, CFX_EUNSUPPORTED,
                      "Tried to trace mutable operation %s. FX only supports "
                      "functional code, so operations that mutate operands "
                      "in-place (e.g. via `out` arguments) are not supported",
                      b.target->schema->text);
    cfx_bound_release(&b);
    return st;
}

/* An extent that is known, where that is asked for. */
static bool known_size(const cfx_tracer *t, const cfx_spelling *c,
                       cfx_value *out)
{
    if (!t->self->o.known_sizes || !c->method || strcmp(c->name, "size") ||
        c->nargs != 2 || c->nkwargs || c->args[0].kind != CFX_NODE ||
        c->args[1].kind != CFX_INT ||
        c->args[0].u.node->graph != t->graph)
        return false;
    cfx_value v = known(t, c->args[0].u.node);
    int64_t axis = c->args[1].u.i;
    if (v.kind != CFX_TENSOR || axis < -v.u.tensor->rank ||
        axis >= v.u.tensor->rank)
        return false;
    axis += axis < 0 ? v.u.tensor->rank : 0;
    *out = cfx_value_of_dim(v.u.tensor->shape[axis]);
    return true;
}

static cfx_status tracer_spelled(cfx_scope *s, const cfx_spelling *c,
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
        return passed(t, &t->self->eager,
                      cfx_scope_call_target(&t->self->eager, c->target,
                                            c->args, c->nargs, c->kwargs,
                                            c->nkwargs, out));
    cfx_status st = check(t, c);
    if (st)
        return st;
    *out = cfx_tracer_create(t, c->method ? CFX_CALL_METHOD
                                          : CFX_CALL_FUNCTION,
                             c->name, c->args, c->nargs, c->kwargs,
                             c->nkwargs);
    if (!cfx_scope_failed(s) && t->self->infers)
        infer(t, out->u.node, NULL, c);
    return s->error.code;
}

/* ---- Parameters ---- */

static cfx_status tracer_get_attr(cfx_scope *s, cfx_module *m,
                                  const char *name, cfx_value *out)
{
    cfx_tracer *t = downcast(s);
    struct cfx_tracer_self *self = t->self;
    const cfx_state *state = cfx_module_state(m, name);
    cfx_map_entry *e = NULL;
    cfx_buf path;
    *out = cfx_none();
    if (!state)
        return cfx_fail(&s->error, CFX_ENAME, "%s has no parameter '%s'",
                        m->class_name, name);
    if (!state->tensor)
        return CFX_OK;
    cfx_buf_init(&path, s->ctx);
    cfx_status st = cfx_tracer__path(t, m, name, &path);
    if (!st && self->anew)
        e = cfx_map_get(&self->attrs, path.s, strlen(path.s));
    cfx_node *n = e && !((cfx_node *)e->v.p)->erased ? e->v.p : NULL;
    if (!st && !n) {
        n = make(t, CFX_GET_ATTR, path.s, NULL, 0, NULL, 0, NULL);
        e = n && self->anew
                ? cfx_map_put(&self->attrs, n->target.u.str->text,
                              n->target.u.str->len, NULL)
                : NULL;
        if (e)
            e->v.p = n;
        else if (n && self->anew)
            st = no_memory(t);
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

/* The stack with one more entry, in a new dict. */
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
        return no_memory(t);
    unsigned long long calls = e->v.u++;
    snprintf(key, sizeof(key), calls ? "%s@%llu" : "%s", path, calls);
    /* Deeper modules keep the stack of those around them. */
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
    cfx_value all = deep ? cfx_value_ref(self->stack)
                    : pair.kind ? cfx_dict_new(ctx, n / 2 + 1, item)
                                : CFX_NOTHING;
    cfx_value_unref(pair);
    cfx_value_unref(name);
    cfx_value_unref(part[0]);
    cfx_value_unref(part[1]);
    if (!all.kind)
        return no_memory(t);
    self->stack = all;
    return CFX_OK;
}

static void pop_module(cfx_tracer *t, cfx_value before)
{
    cfx_value_unref(t->self->stack);
    t->self->stack = before;
}

static cfx_status record_module(cfx_tracer *t, cfx_module *m,
                                const char *path, const cfx_spelling *c,
                                cfx_value *out)
{
    *out = cfx_tracer_create(t, CFX_CALL_MODULE, path, c->args, c->nargs,
                             c->kwargs, c->nkwargs);
    if (!cfx_scope_failed(&t->base) && t->self->infers)
        infer(t, out->u.node, m, c);
    return t->base.error.code;
}

/* Trace through a module. Where the library's own call something, the place is
 * the call of the module. */
static cfx_status trace_module(cfx_tracer *t, cfx_module *m,
                               const cfx_spelling *c, cfx_value *out)
{
    cfx_scope *s = &t->base;
    trace_place before = t->self->place;
    if (!before.held && cfx_module_type__is_builtin(m->type))
        t->self->place = (trace_place){s->file, s->function, s->line, true};
    const struct cfx_node *around = s->node;
    cfx_status st = cfx_module__forward(s, m, c, out);
    s->node = around;
    t->self->place = before;
    return st;
}

static cfx_status tracer_spelled_module(cfx_scope *s, cfx_module *m,
                                        const char *path,
                                        const cfx_spelling *c,
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

/* ---- Questions ---- */

static cfx_status refuse_len(cfx_scope *s)
{
    return cfx_fail(&s->error, CFX_EUNSUPPORTED, "'len' is not supported in "
                    "symbolic tracing by default. If you want this call to be "
                    "recorded, please wrap it (cfx_wrap)");
}

static cfx_status refuse_iteration(cfx_scope *s)
{
    return cfx_fail(&s->error, CFX_EUNSUPPORTED, "Proxy object cannot be "
                    "iterated. This can be attempted when the Proxy is used in "
                    "a loop or as a *args or **kwargs function argument. Take "
                    "items by cfx_nth or cfx_unpack");
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
        return no_memory(downcast(s));
    for (uint32_t i = 0; i < n; i++)
        item[i] = cfx_nth(s, proxy, i);
    if (!cfx_scope_failed(s))
        *out = cfx_tuple_new(s->ctx, n, item);
    cfx_free(s->ctx, item, (n + 1) * sizeof(*item));
    if (!out->kind)
        return no_memory(downcast(s));
    return s->error.code;
}

static cfx_status tracer_ask(cfx_scope *s, cfx_question question, cfx_value v,
                             cfx_value *out)
{
    const cfx_tracer *t = downcast(s);
    bool ours = v.kind == CFX_NODE && v.u.node && v.u.node->graph == t->graph;
    cfx_value is = ours ? known(t, v.u.node) : CFX_NOTHING;
    *out = CFX_NOTHING;
    switch (question) {
    case CFX_ASK_META:
        if (is.kind == CFX_TENSOR)
            *out = cfx_value_ref(is);
        return CFX_OK;
    case CFX_ASK_LEN:
        return answer_len(s, is, out);
    case CFX_ASK_ITEMS:
        return answer_items(s, v, is, out);
    case CFX_ASK_TRUTH:
        break;
    }
    if (is.kind != CFX_BOOL_VALUE && is.kind != CFX_INT)
        return cfx_fail(&s->error, CFX_EUNSUPPORTED, "%s", control_flow);
    *out = cfx_bool(is.u.i != 0);
    return CFX_OK;
}

const cfx_scope_class cfx_tracer_class = {
    .size = sizeof(cfx_scope_class),
    .name = "tracer",
    .get_attr = tracer_get_attr,
    .spelled = tracer_spelled,
    .spelled_module = tracer_spelled_module,
    .ask = tracer_ask,
};

/* ---- Life ---- */

cfx_status cfx_tracer__init(cfx_tracer *t, cfx_graph *graph, cfx_module *root,
                            const cfx_trace_options *options, bool anew,
                            cfx_error *err)
{
    cfx_context *ctx = cfx_graph_context(graph);
    struct cfx_tracer_self *self = cfx_calloc(ctx, 1, sizeof(*self));
    if (!self)
        return cfx_fail(err, CFX_ENOMEM, "out of memory");
    if (options)
        self->o = *options;
    const cfx_scope_class *cls = self->o.cls;
    self->anew = anew;
    self->infers = self->o.nmetas > 0;
    t->graph = graph;
    t->root = root;
    t->self = self;
    cfx_arena_init(&self->arena, ctx);
    cfx_map_init(&self->attrs, ctx);
    cfx_map_init(&self->states, ctx);
    cfx_map_init(&self->calls, ctx);
    cfx_scope_init(&t->base, cls ? cls : &cfx_tracer_class, ctx, self->o.env);
    cfx_scope_init(&self->eager, &cfx_eager_class, ctx, NULL);
    cfx_scope_init(&self->meta, &cfx_meta_class, ctx, self->o.env);
    return CFX_OK;
}

cfx_status cfx_tracer_init(cfx_tracer *t, cfx_graph *graph,
                           const cfx_trace_options *options, cfx_error *err)
{
    cfx_module *root = options ? options->root : NULL;
    return cfx_tracer__init(t, graph,
                            root ? root : cfx_graph_owning_module(graph),
                            options, false, err);
}

void cfx_tracer_release(cfx_tracer *t)
{
    struct cfx_tracer_self *self = t->self;
    if (!self)
        return;
    cfx_context *ctx = t->base.ctx;
    for (size_t i = 0; i < self->nconstants; i++)
        cfx_tensor_unref(self->constant[i].tensor);
    cfx_free(ctx, self->constant, self->cap * sizeof(*self->constant));
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
    if (v.u.node->type.kind)
        return cfx_scope_fail(s, CFX_EINVAL, "Tried to annotate a value that "
                              "already had a type on it! Existing type is %s "
                              "and new type is %s. This could happen if you "
                              "tried to annotate a function parameter value "
                              "(in which case you should use the type slot on "
                              "the function signature) or you called annotate "
                              "on the same value twice",
                              v.u.node->type.u.str->text, type);
    cfx_node_set_type(v.u.node, type, &s->error);
    return v;
}
