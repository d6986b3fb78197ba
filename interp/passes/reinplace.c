/*
 * reinplace -- let calls write their result into an argument that is not used
 * later, as torch.fx's reinplace pass.
 *
 * y = f(x) becomes y = f_(x) if the operator has this form, and
 *
 * - x and y have the same type, shape and strides without zeros, according to
 *   meta `tensor_meta` (run shape propagation first);
 * - x occurs once among the arguments, and no other argument may share its
 *   memory;
 * - no value that may share x's memory is used later (by the graph's result at
 *   the latest), is an input of the graph, or is a parameter or buffer.
 *
 * torch.fx also turns scatters of views into copies to them; graphs here have
 * no such scatters.
 */
#include <cfx/pass.h>

#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "graph/aliases.h"
#include "graph/graph_impl.h"
#include "interp/rewrite/affine.h"
#include "interp/rewrite/binding.h"

typedef struct reinplacer {
    cfx_pass_call *p;
    cfx_graph_kinds kinds;
    cfx_aliases aliases;
} reinplacer;

/* ---- One call ---- */

struct inplace_form {
    const cfx_target *target;
    int count;
    char name[128]; /* name of the method or function that writes */
    bool method;
};

static cfx_status find_inplace_form(void *user, const cfx_target *t,
                                    const cfx_bound *b)
{
    struct inplace_form *w = user;
    w->count++;
    w->target = t;
    if (!(t->op->flags & CFX_OP_INPLACE) || b->inplace ||
        b->in[0].kind != CFX_NODE)
        w->count = 2;
    return CFX_OK;
}

static bool same_layout(const cfx_tensor *a, const cfx_tensor *b)
{
    if (!a || !b || a->dtype != b->dtype || a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (!cfx_dim_same(a->shape[i], b->shape[i]) ||
            !cfx_dim_same(a->stride[i], b->stride[i]) ||
            cfx_dim_is(a->stride[i], 0))
            return false;
    return true;
}

/* Counts how often x occurs in the arguments. */
struct count {
    const cfx_node *x;
    int n;
};

static cfx_status count_node(void *user, cfx_value v)
{
    struct count *c = user;
    c->n += v.kind == CFX_NODE && v.u.node == c->x;
    return CFX_OK;
}

/* True if x occurs once and no other argument may share its memory. */
static bool stands_alone(reinplacer *r, const cfx_node *n, const cfx_node *x)
{
    struct count c = {x, 0};
    uint32_t of = cfx_aliases__set(&r->aliases, x);
    for (uint32_t i = 0; i < n->nargs; i++)
        cfx_value_visit(n->args[i], count_node, &c);
    for (uint32_t i = 0; i < n->nkwargs; i++)
        cfx_value_visit(n->kwargs[2 * i + 1], count_node, &c);
    for (uint32_t i = 0; i < n->ninputs; i++) {
        const cfx_node *in = cfx_node_input(n, i);
        if (in != x && cfx_aliases__set(&r->aliases, in) == of)
            return false;
    }
    return c.n == 1;
}

/* Return the argument that n can write to, or NULL. */
static cfx_node *reusable_argument(reinplacer *r, const cfx_node *n)
{
    if (!n->nargs || n->args[0].kind != CFX_NODE)
        return NULL;
    cfx_node *x = n->args[0].u.node;
    cfx_aliases *a = &r->aliases;
    uint32_t set = cfx_aliases__set(a, x);
    if (cfx_aliases__is(a, set, CFX_ALIAS_OUTLIVES) ||
        a->last_use[set] > a->life.place[n->id] ||
        !same_layout(cfx_node__known_tensor(x), cfx_node__known_tensor(n)) ||
        !stands_alone(r, n, x) || cfx_effects_any(cfx_aliases__effects(a, n)))
        return NULL;
    return x;
}

/* True if the node's arguments bind to its in-place form. */
static cfx_status binds_to(reinplacer *r, const cfx_node *n,
                           const struct inplace_form *w, bool *yes)
{
    const cfx_target *t = w->method ? cfx_find_method(r->p->ctx, w->name)
                                    : cfx_find_function(r->p->ctx, w->name);
    cfx_bound b = {0};
    cfx_status st = t ? cfx_bind(&b, r->p->ctx, t,
                                 (cfx_args){n->args, n->nargs, n->kwargs,
                                            n->nkwargs},
                                 NULL)
                      : CFX_ENAME;
    *yes = !st && b.target->op == w->target->op && b.inplace;
    cfx_bound_release(&b);
    return st == CFX_ENOMEM ? cfx_no_memory(r->p->err) : CFX_OK;
}

/* relu(x) becomes relu_(x); relu(x, inplace=False) sets inplace=True. */
static cfx_status write_in_place(reinplacer *r, cfx_node *n,
                                 struct inplace_form *w, bool *done)
{
    const cfx_target *t = w->target;
    const cfx_schema *schema = t->variant ? t->variant : t->schema;
    cfx_error *err = r->p->err;
    *done = cfx_pass__arg(n, schema, "inplace").kind != CFX_ABSENT;
    if (*done)
        return cfx_pass__set_arg(r->p, n, schema, "inplace", cfx_bool(true));
    size_t len = cfx_op_call_name(t->op, true, &w->method, w->name,
                                  sizeof(w->name));
    if (!len || len >= sizeof(w->name))
        return CFX_OK;
    cfx_status st = binds_to(r, n, w, done);
    return st || !*done
               ? st
               : cfx_node_set_op(
                     n, w->method ? CFX_CALL_METHOD : CFX_CALL_FUNCTION,
                     w->name, err);
}

static cfx_status rewrite(reinplacer *r, cfx_node *n)
{
    struct inplace_form w = {.count = 0};
    bool done;
    cfx_node *x = reusable_argument(r, n);
    if (!x)
        return CFX_OK;
    cfx_status st = cfx_node__candidates(&r->kinds, n, find_inplace_form, &w,
                                         r->p->err);
    if (st || w.count != 1)
        return st;
    st = write_in_place(r, n, &w, &done);
    if (!st && done)
        cfx_aliases__join(&r->aliases, n, x);
    r->p->changed += !st && done;
    return st;
}

static cfx_status reinplacer_init(reinplacer *r, cfx_pass_call *p)
{
    r->p = p;
    cfx_status st = cfx_graph_kinds__init(&r->kinds, p->graph, false, p->err);
    return st ? st : cfx_aliases__init(&r->aliases, p->graph, p->err);
}

static void reinplacer_release(reinplacer *r)
{
    cfx_graph_kinds__release(&r->kinds);
    cfx_aliases__release(&r->aliases);
}

static cfx_status reinplace_run(cfx_pass_call *p)
{
    reinplacer r = {.p = p};
    cfx_status st = reinplacer_init(&r, p);
    for (cfx_node *n = st ? NULL : cfx_graph_first(p->graph); n && !st;
         n = cfx_node_next(n))
        if (n->op == CFX_CALL_FUNCTION || n->op == CFX_CALL_METHOD)
            st = rewrite(&r, n);
    reinplacer_release(&r);
    return st;
}

const cfx_pass cfx_pass__reinplace = {
    .abi = CFX_ABI(cfx_pass),
    .schema = "reinplace()",
    .doc =
        "Let calls write their result into an argument that is not used later, where meta tensor_meta shows that it fits.",
    .run = reinplace_run,
};
