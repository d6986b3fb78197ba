/*
 * lowering -- what block_channels and lower_quantized share.
 */
#include "interp/passes/lower/lowering.h"

#include <string.h>

#include "op/op_impl.h"

cfx_status cfx_lowering__run(cfx_pass_call *p,
                             cfx_status (*begin)(cfx_lowering *l),
                             cfx_status (*node)(cfx_lowering *l, cfx_node *n,
                                                cfx_node **next))
{
    cfx_lowering l = {.p = p, .retracer.p = p};
    cfx_node_map_init(&l.blocked, p->graph);
    cfx_status st = cfx_frozen__init(&l.frozen, p);
    bool known = !st && !l.frozen.uses.unknown;
    if (known && begin)
        st = begin(&l);
    for (cfx_node *n = known ? cfx_graph_first(p->graph) : NULL, *next;
         n && !st; n = next) {
        next = cfx_node_next(n);
        if (cfx_frozen__has(&l.frozen, n))
            st = node(&l, n, &next);
    }
    cfx_retracer__release(&l.retracer);
    cfx_node_map_release(&l.blocked);
    cfx_frozen__release(&l.frozen);
    return st;
}

bool cfx_lower__is_written(cfx_lowering *l, const cfx_node *n)
{
    return cfx_frozen__has(&l->frozen, n) &&
           cfx_aliases__is_written(&l->frozen.aliases, n);
}

cfx_value cfx_lower__arg(const cfx_node *n, const char *name)
{
    const cfx_target *t = cfx_node__targets(n);
    for (; t; t = t->next) {
        const cfx_schema *schema = t->variant ? t->variant : t->schema;
        if (cfx_param_find(schema, name, strlen(name)) >= 0)
            return cfx_pass__arg(n, schema, name);
    }
    return CFX_NOTHING;
}

cfx_value cfx_lower__setting(const cfx_pass_call *p, const cfx_node *n,
                             const char *name)
{
    const cfx_module *m = cfx_pass__module(p, n);
    return m ? cfx_attr(m, name) : cfx_lower__arg(n, name);
}

int64_t cfx_lower__channels(const cfx_node *n)
{
    const cfx_tensor *t = cfx_node__known_tensor(n);
    return t && t->rank == 4 && cfx_dim_is_int(t->shape[1])
               ? cfx_dim_value(t->shape[1])
               : 0;
}

cfx_node *cfx_lower__form(const cfx_node *n)
{
    return cfx_node_is(n, "from_blocked") ? cfx_node__arg(n, 0) : NULL;
}

static bool is_int(cfx_value v, int64_t n)
{
    return v.kind == CFX_INT && v.u.i == n;
}

/* Is v a and b, in any order, or one integer that is both? */
static bool has_both(cfx_value v, int64_t a, int64_t b)
{
    if (!cfx_value_is_seq(v) || v.u.seq->len != 2)
        return a == b && is_int(v, a);
    const cfx_value *item = v.u.seq->item;
    return (is_int(item[0], a) && is_int(item[1], b)) ||
           (is_int(item[0], b) && is_int(item[1], a));
}

bool cfx_lower__is_mean(const cfx_pass_call *p, const cfx_node *n)
{
    if (cfx_pass__calls(p, n, "adaptive_avg_pool2d"))
        return has_both(cfx_lower__setting(p, n, "output_size"), 1, 1);
    if (!cfx_node_is(n, "mean") ||
        !cfx_value_is_none(cfx_lower__arg(n, "dtype")))
        return false;
    cfx_value axes = cfx_lower__arg(n, "dim");
    return has_both(axes, 2, 3) || has_both(axes, -2, -1);
}

const cfx_seq *cfx_lower__joined(const cfx_pass_call *p, const cfx_node *n)
{
    if (!cfx_node_is(n, "cat") || !cfx_lower__channels(n) || !n->nargs ||
        !cfx_value_is_seq(n->args[0]) || !n->args[0].u.seq->len)
        return NULL;
    cfx_value axis = cfx_lower__setting(p, n, "dim");
    return is_int(axis, 1) || is_int(axis, -3) ? n->args[0].u.seq : NULL;
}

/* Replace the arguments of n that call the target of x by the first arguments of these
 * calls. */
static cfx_status pass_by(cfx_pass_call *p, cfx_node *n, const cfx_node *x)
{
    cfx_status st = CFX_OK;
    for (size_t i = 0; i < n->nargs && !st; i++) {
        const cfx_node *in = cfx_value__node(n->args[i]);
        if (in && in->op == x->op && in->target == x->target)
            st = cfx_node_update_arg(n, i, in->args[0], p->err);
    }
    return st ? st : cfx_node__forget_known(n, p->err);
}

cfx_status cfx_lower__put_after(cfx_lowering *l, cfx_node *n, cfx_node *x)
{
    cfx_pass_call *p = l->p;
    cfx_value args[] = {cfx_value_of_node(n), x->args[1]};
    cfx_insert_point at = cfx_graph_inserting_after(p->graph, n);
    cfx_node *z = cfx_graph_call_function(p->graph, x->target->text,
                                          cfx_args_of(args, 2), p->err);
    cfx_graph_restore(p->graph, at);
    if (!z)
        return p->err->code;
    cfx_status st = cfx_node__keep_meta(z, n, p->err);
    if (!st)
        st = cfx_node_replace_all_uses_with(n, z, NULL, NULL, p->err);
    if (!st)
        st = cfx_node_update_arg(z, 0, args[0], p->err);
    if (!st)
        st = pass_by(p, n, x);
    p->changed += 2;
    return st;
}
