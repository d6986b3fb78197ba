/*
 * tracer_node -- how a tracer makes nodes: their arguments, names and
 * provenance.
 */
#include <stdio.h>

#include "interp/trace/tracer_impl.h"
#include "nn/module_impl.h"

/* ---- Paths ---- */

cfx_status cfx_tracer__path(cfx_tracer *t, const cfx_module *m,
                            const char *name, cfx_buf *buf)
{
    const cfx_module *at = m;
    size_t len = strlen(name), n;
    for (; at && at != t->root; at = at->parent)
        len += strlen(at->name) + 1;
    if (!at)
        return cfx_fail(&t->base.error, CFX_ENAME,
                        *name ? "parameter is not a member of this module"
                              : "module is not installed as a submodule");
    cfx_buf_clear(buf);
    if (!cfx_buf_reserve(buf, len + 1))
        return cfx_no_memory(&t->base.error);
    cfx_buf_repeat(buf, '.', len);
    n = strlen(name);
    memcpy(buf->s + len - n, name, n);
    size_t end = len - n;
    for (at = m; at != t->root; at = at->parent) {
        n = strlen(at->name);
        end -= n + 1;
        memcpy(buf->s + end, at->name, n);
    }
    /* A module's path ends in a dot that must be removed. */
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
        return cfx_no_memory(&t->base.error);
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
    for (cfx_module *m = t->root; m && !st; m = cfx_module_next(m, t->root))
        for (size_t i = 0; i < m->nstate && !st; i++) {
            bool added;
            cfx_tensor **key = cfx_arena_alloc(&self->arena, sizeof(*key));
            if (!key) {
                st = cfx_no_memory(&t->base.error);
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
                st = cfx_no_memory(&t->base.error);
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

cfx_tensor *cfx_tracer__constant(const cfx_tracer *t, const char *name)
{
    const cfx_map_entry *e = cfx_map_get(&t->self->constants, name,
                                         strlen(name));
    return e ? e->v.p : NULL;
}

/* Give a tensor that the root does not have the first free name. */
static cfx_status add_constant(cfx_tracer *t, cfx_tensor *tensor,
                               const char **name)
{
    struct cfx_tracer_self *self = t->self;
    char text[48];
    size_t n = self->constants.len;
    do
        snprintf(text, sizeof(text), "_tensor_constant%zu", n++);
    while (is_taken(t, text) || cfx_tracer__constant(t, text));
    *name = cfx_arena_strdup(&self->arena, text, strlen(text));
    if (!*name)
        return cfx_no_memory(&t->base.error);
    if (!self->exclusive) {
        if (!t->root)
            return cfx_fail(
                &t->base.error, CFX_EUNSUPPORTED,
                "a tensor among the arguments needs a module that owns the graph and can keep it");
        cfx_status st = cfx_module_set(t->root, text, tensor, &t->base.error);
        if (st)
            return st;
    }
    cfx_map_entry *e = cfx_map_put(&self->constants, *name, strlen(*name),
                                   NULL);
    if (!e)
        return cfx_no_memory(&t->base.error);
    e->v.p = cfx_tensor_ref(tensor);
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
                        "a tensor without data cannot be a constant");
    st = add_constant(t, tensor, name);
    cfx_tensor **key = st ? NULL : cfx_arena_alloc(&self->arena, sizeof(*key));
    if (st)
        return st;
    if (key) {
        *key = tensor;
        e = cfx_map_put(&self->states, (const char *)key, sizeof(*key), NULL);
    }
    if (!e)
        return cfx_no_memory(&t->base.error);
    e->v.p = (void *)*name;
    return CFX_OK;
}

/* ---- Making nodes ---- */

cfx_node *cfx_tracer__make(cfx_tracer *t, cfx_opcode op, const char *target,
                           const cfx_value *args, size_t nargs,
                           const cfx_value *kwargs, size_t nkwargs,
                           const char *name)
{
    cfx_node *n = cfx_graph_create_node(
        t->graph, op, target, (cfx_args){args, nargs, kwargs, nkwargs}, name,
        NULL, &t->base.error);
    return n && !set_provenance(t, n) ? n : NULL;
}

/* Map an argument as torch.fx's create_arg does. */
static cfx_status map_arg(void *user, cfx_value v, cfx_value *out)
{
    cfx_tracer *t = user;
    const char *name = NULL;
    cfx_buf path;
    *out = v;
    if (v.kind == CFX_NODE && (!v.u.node || v.u.node->graph != t->graph))
        return cfx_fail(
            &t->base.error, CFX_EGRAPH,
            "Found multiple different tracers: %s is a proxy of another one",
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
    cfx_node *n = st ? NULL
                     : cfx_tracer__make(t, CFX_GET_ATTR, name, NULL, 0, NULL,
                                        0, NULL);
    cfx_buf_release(&path);
    *out = n ? cfx_value_of_node(n) : CFX_NOTHING;
    return n ? CFX_OK : t->base.error.code;
}

/* True if the value cannot be stored in an argument as it is. */
static bool is_odd(void *user, cfx_value v)
{
    const cfx_tracer *t = user;
    return v.kind == CFX_TENSOR || v.kind == CFX_MODULE ||
           (v.kind == CFX_NODE && (!v.u.node || v.u.node->graph != t->graph));
}

/* Map n values into a new array if any needs it; else *out is `v`. */
static cfx_status map_args(cfx_tracer *t, const cfx_value *v, size_t n,
                           const cfx_value **out)
{
    cfx_status st = CFX_OK;
    bool plain = true;
    *out = v;
    for (size_t i = 0; i < n && plain; i++)
        plain = !cfx_value_any(v[i], is_odd, t);
    if (plain)
        return CFX_OK;
    cfx_value *copy = cfx_calloc(t->base.ctx, n, sizeof(*copy));
    if (!copy)
        return cfx_no_memory(&t->base.error);
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

cfx_value cfx_tracer__new_node(cfx_tracer *t, cfx_opcode op,
                               const char *target, const cfx_value *args,
                               size_t nargs, const cfx_value *kwargs,
                               size_t nkwargs, const char *name)
{
    const cfx_value *a = args, *k = kwargs;
    cfx_node *n = NULL;
    if (cfx_scope_failed(&t->base))
        return cfx_none();
    cfx_status st = map_args(t, args, nargs, &a);
    if (!st)
        st = map_args(t, kwargs, 2 * nkwargs, &k);
    if (!st)
        n = cfx_tracer__make(t, op, target, a, nargs, k, nkwargs, name);
    else
        cfx_fail(&t->base.error, st, "%s", cfx_status_name(st));
    release_args(t, a, args, nargs);
    release_args(t, k, kwargs, 2 * nkwargs);
    return n ? cfx_value_of_node(n) : cfx_none();
}

cfx_value cfx_tracer_create(cfx_tracer *t, cfx_opcode op, const char *target,
                            cfx_args a)
{
    return cfx_tracer__new_node(t, op, target, a.args, a.nargs, a.kwargs,
                                a.nkwargs, NULL);
}

cfx_value cfx_tracer__placeholder(cfx_tracer *t, const char *target,
                                  cfx_value init, cfx_value meta)
{
    cfx_value v = cfx_tracer_create(
        t, CFX_PLACEHOLDER, target,
        cfx_args_of(&init, init.kind != CFX_ABSENT));
    if (v.kind == CFX_NODE && meta.kind)
        cfx_node_set_meta(v.u.node, "tensor_meta", meta, &t->base.error);
    return v;
}
