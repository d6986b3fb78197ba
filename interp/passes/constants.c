/*
 * constants -- values of nodes that depend on parameters, buffers and literals
 * only.
 */
#include "interp/passes/constants.h"

void cfx_constants__init(cfx_constants *k, cfx_pass_call *p)
{
    k->p = p;
    cfx_node_map_init(&k->value, p->graph);
    cfx_scope_init(&k->scope, &cfx_eager_class, p->ctx, NULL);
}

void cfx_constants__release(cfx_constants *k)
{
    cfx_node_map_release(&k->value);
    cfx_scope_release(&k->scope);
}

bool cfx_constants__is_known(const cfx_constants *k, const cfx_node *n)
{
    const char *target = n->target->text;
    return n->op == CFX_CALL_FUNCTION
               ? cfx_find_function(k->p->ctx, target) != NULL
           : n->op == CFX_CALL_METHOD
               ? cfx_find_method(k->p->ctx, target) != NULL
               : true;
}

/* ---- A call ---- */

static cfx_status fetch_weight(cfx_constants *k, const cfx_node *n)
{
    cfx_tensor *t;
    cfx_status st = CFX_OK;
    if (cfx_node_map_get(&k->value, n).kind)
        return st;
    st = cfx_pass_weight(k->p, n->target->text, &t);
    return st ? st
              : cfx_node_map_set(&k->value, n, cfx_value_of_tensor(t),
                                 k->p->err);
}

/* Weights are only loaded when something is computed with them. */
static cfx_status fetch_inputs(cfx_constants *k, const cfx_node *n)
{
    cfx_status st = CFX_OK;
    for (uint32_t i = 0; i < n->ninputs && !st; i++) {
        const cfx_node *in = cfx_node_input(n, i);
        if (in->op == CFX_GET_ATTR)
            st = fetch_weight(k, in);
    }
    return st;
}

/* Make a tuple, owned by the scope, of args or kwargs with values for nodes. */
static cfx_value fetch_args(cfx_constants *k, const cfx_value *args, size_t n)
{
    cfx_scope *s = &k->scope;
    cfx_value whole = cfx_tuple_new(s->ctx, n, args), out = CFX_NOTHING;
    if (!whole.kind) {
        cfx_no_memory(&s->error);
        return cfx_none();
    }
    if (cfx_node_map_value(&out, &k->value, whole, &s->error))
        out = CFX_NOTHING;
    cfx_value_unref(whole);
    return out.kind ? cfx_scope_take(s, out) : cfx_none();
}

static cfx_value call_module(cfx_constants *k, const cfx_node *n,
                             const cfx_seq *args, const cfx_seq *kwargs)
{
    cfx_scope *s = &k->scope;
    cfx_value out = cfx_none();
    const char *path = n->target->text;
    cfx_module *m = cfx_module_at(k->p->gm, path);
    if (!m)
        return cfx_scope_fail(s, CFX_ENAME,
                              "Node referenced nonexistent target %s", path);
    if (cfx_scope_call_module(
            s, m, path,
            (cfx_args){args->item, args->len, kwargs->item, kwargs->len / 2},
            &out))
        return cfx_none();
    return cfx_scope_take(s, out);
}

static cfx_value call(cfx_constants *k, const cfx_node *n)
{
    cfx_scope *s = &k->scope;
    cfx_value args = fetch_args(k, n->args, n->nargs);
    cfx_value kwargs = fetch_args(k, n->kwargs, 2 * (size_t)n->nkwargs);
    if (cfx_scope_failed(s))
        return cfx_none();
    const cfx_seq *a = args.u.seq, *kw = kwargs.u.seq;
    const char *target = n->target->text;
    if (n->op == CFX_CALL_MODULE)
        return call_module(k, n, a, kw);
    return n->op == CFX_CALL_METHOD
               ? cfx_call_method(
                     s, target,
                     (cfx_args){a->item, a->len, kw->item, kw->len / 2})
               : cfx_call_function(
                     s, target,
                     (cfx_args){a->item, a->len, kw->item, kw->len / 2});
}

cfx_status cfx_constants__compute(cfx_constants *k, const cfx_node *n)
{
    cfx_error why = {0};
    cfx_status st = fetch_inputs(k, n);
    if (st)
        return st;
    size_t frame = cfx_scope_enter(&k->scope);
    cfx_value v = call(k, n);
    st = cfx_scope_status(&k->scope, &why);
    if (!st)
        st = cfx_node_map_set(&k->value, n, v, &why);
    cfx_scope_leave(&k->scope, frame, cfx_none());
    return st ? cfx_fail_from(k->p->err, &why) : CFX_OK;
}

/* ---- Few nodes ---- */

enum { NODES = 32 };

/* Nodes that are needed, each after those that need it. */
typedef struct needed {
    const cfx_node *node[NODES];
    size_t n;
} needed;

static const cfx_node *unknown_input(const cfx_constants *k, const cfx_node *n)
{
    for (uint32_t i = 0; i < n->ninputs; i++) {
        const cfx_node *in = cfx_node_input(n, i);
        if (!cfx_node_map_get(&k->value, in).kind)
            return in;
    }
    return NULL;
}

static cfx_status compute(cfx_constants *k, const cfx_node *n)
{
    return n->op == CFX_GET_ATTR ? fetch_weight(k, n)
                                 : cfx_constants__compute(k, n);
}

/* Compute stack.node[0] after what it needs; *known is false if it needs another
 * node than constants, or too many. `done` gets the computed nodes. */
static cfx_status compute_all(cfx_constants *k, needed *stack, needed *done,
                              cfx_constants_test *is_constant, void *user,
                              bool *known)
{
    cfx_status st = CFX_OK;
    *known = true;
    while (stack->n && *known && !st) {
        const cfx_node *n = stack->node[stack->n - 1];
        const cfx_node *in = unknown_input(k, n);
        *known = done->n < NODES && stack->n < NODES && is_constant(user, n);
        if (!*known)
            break;
        if (in) {
            stack->node[stack->n++] = in;
            continue;
        }
        st = compute(k, n);
        done->node[done->n++] = n;
        stack->n--;
    }
    return st;
}

cfx_status cfx_constants__find(cfx_constants *k, const cfx_node *n,
                               cfx_constants_test *is_constant, void *user,
                               cfx_value *out)
{
    needed stack = {{n}, 1}, done = {{NULL}, 0};
    bool known;
    cfx_status st = compute_all(k, &stack, &done, is_constant, user, &known);
    *out = st || !known ? CFX_NOTHING
                        : cfx_value_ref(cfx_node_map_get(&k->value, n));
    for (size_t i = 0; i < done.n; i++)
        cfx_node_map_set(&k->value, done.node[i], CFX_NOTHING, NULL);
    return st;
}
