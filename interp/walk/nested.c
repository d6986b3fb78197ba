/*
 * nested -- GraphModules that are called while a graph runs.
 *
 * The outermost interpreter of a scope keeps one interpreter per called
 * GraphModule, prepared at the first call. A call from C in a scope where
 * nothing runs keeps them until it returns.
 */
#include "interp/walk/interp_impl.h"

#include "graph/graph_impl.h"
#include "nn/module_impl.h"
#include "op/scope_impl.h"

/* One GraphModule, prepared. */
struct nested {
    cfx_interp it;
    cfx_module *key; /* a reference */
    bool busy;       /* it is running: its module called itself */
};

/* ---- The walks of a scope ---- */

static void free_nested(struct nested *n)
{
    cfx_context *ctx = n->key->ctx;
    cfx_interp_release(&n->it);
    cfx_module_unref(n->key);
    cfx_free(ctx, n, sizeof(*n));
}

void cfx_walks__init(cfx_walks *w, cfx_context *ctx)
{
    w->depth = 0;
    cfx_map_init(&w->by_module, ctx);
}

void cfx_walks__release(cfx_walks *w)
{
    for (size_t i = 0; i < w->by_module.cap; i++)
        if (w->by_module.entry[i].key)
            free_nested(w->by_module.entry[i].v.p);
    cfx_map_release(&w->by_module);
}

static cfx_status new_nested(struct nested **out, const cfx_interp_class *cls,
                             cfx_scope *s, cfx_module *m)
{
    cfx_interp_options options = {.size = sizeof(options), .scope = s};
    struct nested *n = cfx_calloc(m->ctx, 1, sizeof(*n));
    if (!n)
        return cfx_no_memory(&s->error);
    n->key = cfx_module_ref(m);
    cfx_status st = cfx_interp__init_nested(&n->it, cls, m, &options, true,
                                            &s->error);
    if (st)
        free_nested(n);
    else
        *out = n;
    return st;
}

/* Find or create the prepared walk of a module; *own: the caller must free
 * it. */
static cfx_status find_nested(struct nested **out, bool *own, cfx_walks *w,
                              const cfx_interp_class *cls, cfx_scope *s,
                              cfx_module *m)
{
    cfx_map_entry *e = cfx_map_get(&w->by_module, (const char *)&m, sizeof(m));
    struct nested *n = e ? e->v.p : NULL;
    *own = n && n->busy;
    if (n && !n->busy) {
        *out = n;
        return CFX_OK;
    }
    cfx_status st = new_nested(&n, cls, s, m);
    if (!st && !*own) {
        e = cfx_map_put(&w->by_module, (const char *)&n->key, sizeof(m), NULL);
        if (!e) {
            free_nested(n);
            return cfx_no_memory(&s->error);
        }
        e->v.p = n;
    }
    *out = n;
    return st;
}

/* ---- Arguments ---- */

cfx_status cfx_params__find(cfx_params *p, const cfx_graph *g, cfx_error *err)
{
    cfx_context *ctx = cfx_graph_context(g);
    for (const cfx_node *n = cfx_graph_first(g); n; n = cfx_node_next(n)) {
        if (n->op != CFX_PLACEHOLDER)
            continue;
        if (cfx_grow(ctx, p->node, p->cap, p->n + 1, err))
            return CFX_ENOMEM;
        p->node[p->n++] = n;
    }
    return CFX_OK;
}

void cfx_params__release(cfx_params *p, cfx_context *ctx)
{
    cfx_free(ctx, p->node, p->cap * sizeof(*p->node));
    *p = (cfx_params){.n = 0};
}

/* Binds arguments as a generated forward does. */
typedef struct binder {
    cfx_scope *s;
    const cfx_value *args, *kwargs;
    size_t nargs, nkwargs;
    const cfx_params *params;
    cfx_value *in;     /* one per placeholder */
    cfx_value made[2]; /* of `*args` and `**kwargs` */
    size_t rest;       /* 1 + that of the placeholder `**kwargs` */
} binder;

static const char *param(const binder *b, size_t k)
{
    return b->params->node[k]->target->text;
}

static cfx_status bind_positional(binder *b)
{
    size_t at = 0;
    for (size_t k = 0; k < b->params->n; k++) {
        const char *name = param(b, k);
        if (name[0] == '*' && name[1] == '*') {
            b->rest = k + 1;
        } else if (name[0] == '*') {
            b->made[0] = cfx_tuple_new(b->s->ctx, b->nargs - at, b->args + at);
            b->in[k] = b->made[0];
            at = b->nargs;
            if (!b->made[0].kind)
                return cfx_no_memory(&b->s->error);
        } else if (at < b->nargs) {
            b->in[k] = b->args[at++];
        }
    }
    return at == b->nargs
               ? CFX_OK
               : cfx_fail(
                     &b->s->error, CFX_EINVAL,
                     "forward() takes %zu positional arguments but %zu were given",
                     at, b->nargs);
}

/* Return the index of the placeholder of that name, or their number. Keywords
 * are mostly in the order of the parameters, so the search begins at `from`. */
static size_t find_param(const binder *b, const char *name, size_t from)
{
    for (size_t i = 0; i < b->params->n; i++) {
        size_t k = (from + i) % b->params->n;
        if (!strcmp(param(b, k), name))
            return k;
    }
    return b->params->n;
}

/* Bind keywords by name. Those without a parameter are added to `other`; *left
 * counts them. */
static cfx_status bind_keywords(binder *b, cfx_value *other, size_t *left)
{
    size_t next = 0;
    *left = 0;
    for (size_t i = 0; i < b->nkwargs; i++) {
        if (b->kwargs[2 * i].kind != CFX_STR)
            return cfx_fail(&b->s->error, CFX_EINVAL,
                            "forward() keywords must be strings");
        const char *name = b->kwargs[2 * i].u.str->text;
        size_t k = find_param(b, name, next);
        if (k < b->params->n && b->in[k].kind)
            return cfx_fail(&b->s->error, CFX_EINVAL,
                            "forward() got multiple values for argument '%s'",
                            name);
        if (k < b->params->n) {
            b->in[k] = b->kwargs[2 * i + 1];
            next = k + 1;
        } else if (b->rest) {
            other[2 * *left] = b->kwargs[2 * i];
            other[2 * (*left)++ + 1] = b->kwargs[2 * i + 1];
        } else {
            return cfx_fail(
                &b->s->error, CFX_EINVAL,
                "forward() got an unexpected keyword argument '%s'", name);
        }
    }
    return CFX_OK;
}

static cfx_status bind_rest(binder *b)
{
    cfx_context *ctx = b->s->ctx;
    size_t left, size = (2 * b->nkwargs + 1) * sizeof(cfx_value);
    cfx_value *other = cfx_alloc(ctx, size);
    if (!other)
        return cfx_no_memory(&b->s->error);
    cfx_status st = bind_keywords(b, other, &left);
    if (!st && b->rest) {
        b->made[1] = cfx_dict_new(ctx, left, other);
        b->in[b->rest - 1] = b->made[1];
        st = b->made[1].kind ? CFX_OK : cfx_no_memory(&b->s->error);
    }
    cfx_free(ctx, other, size);
    return st;
}

static cfx_status bind(binder *b, const cfx_params *params)
{
    b->params = params;
    b->in = cfx_calloc(b->s->ctx, b->params->n + 1, sizeof(*b->in));
    if (!b->in)
        return cfx_no_memory(&b->s->error);
    cfx_status st = bind_positional(b);
    return st || (!b->nkwargs && !b->rest) ? st : bind_rest(b);
}

static void release(binder *b)
{
    for (int i = 0; i < 2; i++)
        cfx_value_unref(b->made[i]);
    cfx_free(b->s->ctx, b->in, (b->params->n + 1) * sizeof(*b->in));
}

/* ---- The call ---- */

static cfx_status run(cfx_scope *s, struct nested *n, const cfx_value *in,
                      cfx_value *out)
{
    n->busy = true;
    n->it.scope = s;
    cfx_status st = cfx_interp__run_bound(&n->it, in, out, &s->error);
    n->busy = false;
    return st;
}

/* Run with bound arguments, or with those that `b` binds. */
static cfx_status run_in(cfx_walks *w, const cfx_interp_class *cls,
                         cfx_scope *s, cfx_module *m, binder *b,
                         const cfx_value *in, cfx_value *out)
{
    struct nested *n = NULL;
    bool own;
    if (w->depth >= CFX_MAX_NESTED_RUNS)
        return cfx_fail(
            &s->error, CFX_EGRAPH,
            "GraphModules call each other to a depth of more than %d",
            CFX_MAX_NESTED_RUNS);
    cfx_status st = find_nested(&n, &own, w, cls, s, m);
    if (st)
        return st;
    w->depth++;
    if (b)
        st = bind(b, &n->it.self->params);
    if (!st)
        st = run(s, n, b ? b->in : in, out);
    if (b)
        release(b);
    w->depth--;
    if (own)
        free_nested(n);
    return st;
}

static cfx_status run_graph(const cfx_interp_class *cls, cfx_scope *s,
                            cfx_module *m, binder *b, const cfx_value *in,
                            cfx_value *out)
{
    cfx_walks own;
    cfx_walks *w = s->walks;
    if (w)
        return run_in(w, cls, s, m, b, in, out);
    cfx_walks__init(&own, s->ctx);
    s->walks = &own;
    cfx_status st = run_in(&own, cls, s, m, b, in, out);
    s->walks = NULL;
    cfx_walks__release(&own);
    return st;
}

/* Let a scope class with a module hook handle the call. The graph is not
 * prepared, so it may be one that cannot be. */
static cfx_status give_to_class(cfx_scope *s, cfx_module *m, const char *path,
                                binder *b, cfx_value *out)
{
    cfx_params params = {.n = 0};
    cfx_status st = cfx_params__find(&params, m->graph, &s->error);
    if (!st) {
        st = bind(b, &params);
        if (!st)
            st = s->hook.call_module(s, m, path, b->in, out);
        release(b);
    }
    cfx_params__release(&params, s->ctx);
    return st;
}

/* A module that an operator gets as an argument need not be a GraphModule. */
cfx_status cfx_walks__call_graph(const cfx_interp_class *cls, cfx_scope *s,
                                 cfx_module *m, const char *path,
                                 const cfx_unbound_call *c,
                                 const cfx_value *in, cfx_value *out)
{
    if (!c)
        return run_graph(cls, s, m, NULL, in, out);
    binder b = {.s = s,
                .args = c->args,
                .nargs = c->nargs,
                .kwargs = c->kwargs,
                .nkwargs = c->nkwargs};
    if (!m->graph)
        return cfx_scope_call_module(
            s, m, path, (cfx_args){c->args, c->nargs, c->kwargs, c->nkwargs},
            out);
    if (s->hook.call_module != cfx_scope_base.call_module)
        return give_to_class(s, m, path, &b, out);
    return run_graph(cls, s, m, &b, NULL, out);
}

/* The interpreter takes one value for each placeholder. */
static cfx_status run_taking(cfx_interp *it, const cfx_params *params,
                             binder *b, cfx_value *result, cfx_error *err)
{
    cfx_status st = bind(b, params);
    for (size_t k = 0; k < params->n && !st; k++)
        cfx_value_ref(b->in[k]);
    if (st)
        cfx_fail_from(err, &b->s->error);
    else
        st = cfx_interp_run_take(it, b->in, params->n, result, err);
    release(b);
    return st;
}

cfx_status cfx_graph_module_call(cfx_module *gm, cfx_args a, cfx_value *result,
                                 cfx_error *err)
{
    cfx_interp it = {0};
    cfx_params params = {.n = 0};
    *result = cfx_none();
    cfx_error_clear(err);
    cfx_status st = cfx_interp_init(&it, &cfx_interp_base, gm, err);
    if (!st)
        st = cfx_params__find(&params, gm->graph, err);
    binder b = {.s = it.scope,
                .args = a.args,
                .nargs = a.nargs,
                .kwargs = a.kwargs,
                .nkwargs = a.nkwargs};
    if (!st)
        st = run_taking(&it, &params, &b, result, err);
    cfx_params__release(&params, cfx_module_context(gm));
    cfx_interp_release(&it);
    return st;
}
