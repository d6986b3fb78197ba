/*
 * retrace -- replace nodes by values or by traced code.
 */
#include "interp/rewrite/retrace.h"

#include <string.h>

/* ---- Values in place of nodes ---- */

/* Return the tuple's item that operator.getitem takes; else absent. */
static cfx_value item_of(const cfx_node *user, const cfx_node *n, cfx_value v)
{
    if (!cfx_value_is_seq(v) || user->op != CFX_CALL_FUNCTION ||
        !cfx_node_is(user, "getitem") || user->nargs != 2 ||
        user->args[0].kind != CFX_NODE || user->args[0].u.node != n ||
        user->args[1].kind != CFX_INT)
        return CFX_NOTHING;
    int64_t i = user->args[1].u.i, len = v.u.seq->len;
    i += i < 0 ? len : 0;
    return i >= 0 && i < len ? v.u.seq->item[i] : CFX_NOTHING;
}

/* Let an item stand for the getitem node that takes it. */
static cfx_status take_item(cfx_pass_call *p, cfx_node *user, cfx_node *with)
{
    cfx_status st = cfx_node__keep_meta(with, user, p->err);
    if (!st)
        st = cfx_node_replace_all_uses_with(user, with, NULL, NULL, p->err);
    return st ? st : cfx_graph_erase_node(p->graph, user, p->err);
}

/* Map the args and kwargs of a user, with v for n. */
static cfx_status map_args(cfx_value *out, cfx_pass_call *p,
                           const cfx_node_map *map, const cfx_value *args,
                           size_t n)
{
    cfx_value all = cfx_tuple_new(p->ctx, n, args);
    if (!all.kind)
        return cfx_no_memory(p->err);
    cfx_status st = cfx_node_map_value(out, map, all, p->err);
    cfx_value_unref(all);
    return st;
}

static cfx_status rewrite_user(cfx_pass_call *p, cfx_node *user, cfx_node *n,
                               cfx_value v)
{
    cfx_node_map map;
    cfx_value args = CFX_NOTHING, kwargs = CFX_NOTHING;
    cfx_status st = CFX_OK;
    cfx_node_map_init(&map, p->graph);
    for (uint32_t i = 0; i < user->ninputs && !st; i++) {
        cfx_node *in = cfx_node_input(user, i);
        st = cfx_node_map_set(&map, in, in == n ? v : cfx_value_of_node(in),
                              p->err);
    }
    if (!st)
        st = map_args(&args, p, &map, user->args, user->nargs);
    if (!st)
        st = map_args(&kwargs, p, &map, user->kwargs,
                      2 * (size_t)user->nkwargs);
    if (!st)
        st = cfx_node_set_args(user, args.u.seq->item, args.u.seq->len,
                               p->err);
    if (!st)
        st = cfx_node_set_kwargs(user, kwargs.u.seq->item,
                                 kwargs.u.seq->len / 2, p->err);
    cfx_value_unref(args);
    cfx_value_unref(kwargs);
    cfx_node_map_release(&map);
    return st;
}

/* An item that is a tuple goes to the users of the node that takes it. */
static cfx_status take_tuple(cfx_pass_call *p, cfx_node *user, cfx_value item)
{
    cfx_status st = cfx_node__substitute(p, user, item);
    return st ? st : cfx_graph_erase_node(p->graph, user, p->err);
}

/* Recurses as deep as tuples nest in v. */
cfx_status cfx_node__substitute(cfx_pass_call *p, cfx_node *n, cfx_value v)
{
    cfx_status st = CFX_OK;
    while (n->first_user && !st) {
        cfx_node *user = n->first_user->user;
        cfx_value item = item_of(user, n, v);
        st = item.kind == CFX_NODE    ? take_item(p, user, item.u.node)
             : item.kind == CFX_TUPLE ? take_tuple(p, user, item)
                                      : rewrite_user(p, user, n, v);
        p->changed += !st;
    }
    return st;
}

/* ---- Code in place of nodes ---- */

static bool never(void *user, const cfx_module *m, const char *path)
{
    (void)user;
    (void)m;
    (void)path;
    return false;
}

static cfx_status open_tracer(cfx_retracer *r)
{
    const cfx_trace_options o = {
        .size = sizeof(o),
        .is_leaf = never,
        .no_places = true,
        .infer = r->infer,
    };
    if (r->open)
        return CFX_OK;
    cfx_status st = cfx_tracer_init(&r->tracer, r->p->graph, &o, r->p->err);
    r->open = !st;
    return st;
}

void cfx_retracer__release(cfx_retracer *r)
{
    if (r->open)
        cfx_tracer_release(&r->tracer);
    r->open = false;
}

static cfx_node *first_after(cfx_pass_call *p, cfx_node *before)
{
    return before ? cfx_node_next(before) : cfx_graph_first(p->graph);
}

/* Erase the nodes that were made before a failure. */
static cfx_status undo(cfx_pass_call *p, cfx_node *before, cfx_node *n)
{
    cfx_status st = CFX_OK;
    for (cfx_node *at; !st && (at = cfx_node_prev(n)) != before;)
        st = cfx_graph_erase_node(p->graph, at, p->err);
    return st;
}

static bool is_node(void *user, cfx_value v)
{
    return v.kind == CFX_NODE && v.u.node == user;
}

/* Let a new node come from n. An item of the value v of n comes from what takes
 * it. */
static cfx_status inherit(cfx_pass_call *p, cfx_node *at, const cfx_node *n,
                          cfx_value v)
{
    if (v.kind == CFX_NODE && v.u.node == at)
        return cfx_node__keep_meta(at, n, p->err);
    cfx_status st = cfx_node_inherit(at, n, p->err);
    return st || v.kind == CFX_NODE || !cfx_value_any(v, is_node, at)
               ? st
               : cfx_node_set_meta(at, "from_node", CFX_NOTHING, p->err);
}

/* Replace n by the value v, which is owned. */
static cfx_status replace_node(cfx_pass_call *p, cfx_node *before, cfx_node *n,
                               cfx_value v)
{
    cfx_status st = CFX_OK;
    for (cfx_node *at = first_after(p, before); at != n && !st;
         at = cfx_node_next(at)) {
        st = inherit(p, at, n, v);
        p->changed++;
    }
    if (!st && v.kind == CFX_NODE)
        st = cfx_node_replace_all_uses_with(n, v.u.node, NULL, NULL, p->err);
    else if (!st)
        st = cfx_node__substitute(p, n, v);
    if (!st)
        st = cfx_graph_erase_node(p->graph, n, p->err);
    p->changed += !st;
    return st;
}

static bool is_final(cfx_status st)
{
    return st == CFX_ENOMEM || st == CFX_ECANCEL || st == CFX_ELIMIT ||
           st == CFX_EUNDECIDED;
}

/* Trace fn and keep its value; absent: n stays. */
static cfx_status trace(cfx_retracer *r, const cfx_node *n, cfx_retrace_fn *fn,
                        void *user, cfx_value *out)
{
    cfx_scope *s = &r->tracer.base;
    size_t frame = cfx_scope_enter(s);
    cfx_value v = fn(s, n, user);
    *out = CFX_NOTHING;
    cfx_status st = cfx_scope_status(s, &r->why);
    if (!st && v.kind != CFX_NONE)
        *out = cfx_keep(v);
    cfx_scope_leave(s, frame, cfx_none());
    return is_final(st) ? cfx_fail_from(r->p->err, &r->why) : CFX_OK;
}

cfx_status cfx_retracer__node(cfx_retracer *r, cfx_node *n, cfx_retrace_fn *fn,
                              void *user, cfx_node **next, bool *done)
{
    cfx_pass_call *p = r->p;
    cfx_node *before = cfx_node_prev(n), *after = cfx_node_next(n);
    cfx_value v = CFX_NOTHING;
    *next = after;
    *done = false;
    r->why = (cfx_error){0};
    cfx_status st = open_tracer(r);
    if (st)
        return st;
    cfx_insert_point at = cfx_graph_inserting_before(p->graph, n);
    st = trace(r, n, fn, user, &v);
    cfx_graph_restore(p->graph, at);
    if (cfx_scope_failed(&r->tracer.base))
        cfx_retracer__release(r);
    if (!v.kind) {
        cfx_status undone = undo(p, before, n);
        return st ? st : undone;
    }
    st = replace_node(p, before, n, v);
    cfx_value_unref(v);
    *next = first_after(p, before);
    *done = true;
    return st;
}
