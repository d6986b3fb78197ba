/*
 * dead_code -- erase nodes without users or effects.
 *
 * A queue holds the graphs of children, each at most once; swept ones stay in
 * it, marked, until the end.
 */
#include "graph/effects_seen.h"
#include "graph/graph_impl.h"
#include "nn/module_impl.h"

#include <cfx/graph_module.h>

typedef struct sweeping {
    const cfx_dce_options *o;
    cfx_graph *first, *last; /* the queue */
    size_t nerased;
    cfx_effects_seen seen;
} sweeping;

static void enqueue(sweeping *s, cfx_graph *g)
{
    if (g->queued)
        return;
    g->queued = true;
    g->queue = NULL;
    if (s->last)
        s->last->queue = g;
    else
        s->first = g;
    s->last = g;
}

static cfx_status is_needed(sweeping *s, const cfx_node *n, bool *needed,
                            cfx_error *err)
{
    cfx_effects e;
    *needed = n->nusers || n->op == CFX_PLACEHOLDER || n->op == CFX_OUTPUT;
    if (*needed)
        return CFX_OK;
    if (s->o->is_impure) {
        *needed = s->o->is_impure(s->o->user, n);
        return CFX_OK;
    }
    cfx_status st = cfx_effects_seen__find(&s->seen, n, &e, err);
    if (s->o->drop_random)
        e.random = false;
    *needed = !st && cfx_effects_any(&e);
    return st;
}

/* The graph of the module that a node names. */
static cfx_graph *graph_named(const cfx_node *n)
{
    cfx_value v;
    if ((n->op != CFX_GET_ATTR && n->op != CFX_CALL_MODULE) ||
        !n->graph->owner ||
        cfx_module_fetch_attr(&v, n->graph->owner, n->target->text, NULL))
        return NULL;
    return v.kind == CFX_MODULE ? v.u.module->graph : NULL;
}

static cfx_status sweep(sweeping *s, cfx_graph *g, cfx_error *err)
{
    cfx_status st = cfx_graph_lint(g, err);
    cfx_node *before;
    const cfx_node *ahead = g->last;
    for (int i = 0; i < CFX_NODES_AHEAD && ahead; i++)
        ahead = ahead->prev;
    for (cfx_node *n = cfx_graph_last(g); n && !st; n = before) {
        bool needed;
        before = cfx_node_prev(n);
        if (ahead) {
            cfx_node__prefetch(ahead, -CFX_NODES_FOLLOW);
            ahead = ahead->prev;
        }
        st = is_needed(s, n, &needed, err);
        if (st)
            break;
        if (!needed) {
            st = cfx_graph_erase_node(g, n, err);
            s->nerased++;
        } else if (!s->o->keep_children) {
            cfx_graph *child = graph_named(n);
            if (child)
                enqueue(s, child);
        }
    }
    return st;
}

cfx_status cfx_graph_eliminate_dead_code(cfx_graph *g,
                                         const cfx_dce_options *o,
                                         size_t *nerased, cfx_error *err)
{
    static const cfx_dce_options none = {.size = sizeof(none)};
    sweeping s = {.o = o ? o : &none};
    cfx_status st = CFX_OK;
    enqueue(&s, g);
    for (cfx_graph *at = g; at && !st; at = at->queue)
        st = sweep(&s, at, err);
    for (cfx_graph *at = s.first, *next; at; at = next) {
        next = at->queue;
        at->queue = NULL;
        at->queued = false;
    }
    if (nerased)
        *nerased = s.nerased;
    return st;
}
