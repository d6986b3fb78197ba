/*
 * aliases -- sets of values that may share memory, and lifetimes.
 */
#include "graph/aliases.h"

#include "base/util.h"
#include "graph/effects_seen.h"

/* ---- Lifetimes ---- */

cfx_status cfx_lifetimes__init(cfx_lifetimes *l, const cfx_graph *g,
                               cfx_error *err)
{
    size_t n = (size_t)cfx_graph_ids(g) + 1;
    uint32_t at = 0;
    *l = (cfx_lifetimes){.ctx = cfx_graph_context(g), .ids = cfx_graph_ids(g)};
    l->place = cfx_calloc(l->ctx, n, sizeof(*l->place));
    l->last_use = cfx_calloc(l->ctx, n, sizeof(*l->last_use));
    if (!l->place || !l->last_use)
        return cfx_no_memory(err);
    for (const cfx_node *node = cfx_graph_first(g); node;
         node = cfx_node_next(node)) {
        l->place[node->id] = l->last_use[node->id] = ++at;
        for (uint32_t i = 0; i < node->ninputs; i++)
            l->last_use[cfx_node_input(node, i)->id] = at;
    }
    return CFX_OK;
}

void cfx_lifetimes__release(cfx_lifetimes *l)
{
    if (!l->ctx)
        return;
    size_t n = (size_t)l->ids + 1;
    cfx_free(l->ctx, l->place, n * sizeof(*l->place));
    cfx_free(l->ctx, l->last_use, n * sizeof(*l->last_use));
    *l = (cfx_lifetimes){0};
}

/* ---- Alias sets ---- */

void cfx_alias_sets__release(cfx_alias_sets *s)
{
    if (s->ctx)
        cfx_free(s->ctx, s->item, s->cap * sizeof(*s->item));
    *s = (cfx_alias_sets){0};
}

cfx_status cfx_alias_sets__add(cfx_alias_sets *s, size_t count, cfx_error *err)
{
    if (s->n + count > UINT32_MAX)
        return cfx_no_memory(err);
    if (cfx_grow(s->ctx, s->item, s->cap, s->n + count, err))
        return CFX_ENOMEM;
    for (; count; count--, s->n++)
        s->item[s->n] = (struct cfx_alias_item){.up = (uint32_t)s->n};
    return CFX_OK;
}

uint32_t cfx_alias_sets__find(cfx_alias_sets *s, uint32_t i)
{
    while (s->item[i].up != i)
        i = s->item[i].up = s->item[s->item[i].up].up;
    return i;
}

void cfx_alias_sets__join(cfx_alias_sets *s, uint32_t i, uint32_t k)
{
    i = cfx_alias_sets__find(s, i);
    k = cfx_alias_sets__find(s, k);
    uint32_t least = i < k ? i : k, other = i < k ? k : i;
    s->item[other].up = least;
    s->item[least].flags |= s->item[other].flags;
}

/* ---- The values of a graph ---- */

static void add_node(cfx_aliases *a, const cfx_node *n)
{
    const cfx_effects *e = &a->effects[n->id];
    if (n->op == CFX_PLACEHOLDER)
        *cfx_alias_sets__flags(&a->sets, n->id) |= CFX_ALIAS_OUTLIVES;
    if ((n->op == CFX_GET_ATTR && !a->apart) || e->state_views)
        cfx_alias_sets__join(&a->sets, n->id, a->life.ids);
    if (e->state_writes)
        *cfx_alias_sets__flags(&a->sets, a->life.ids) |= CFX_ALIAS_WRITTEN;
    for (uint32_t i = 0; i < n->ninputs; i++) {
        uint32_t in = cfx_node_input(n, i)->id;
        if (cfx_effects__writes(e, i))
            *cfx_alias_sets__flags(&a->sets, in) |= CFX_ALIAS_WRITTEN;
        if (cfx_effects__views(e, i))
            cfx_alias_sets__join(&a->sets, n->id, in);
        if (n->op == CFX_OUTPUT)
            *cfx_alias_sets__flags(&a->sets, in) |= CFX_ALIAS_RETURNED;
    }
}

/* `seen` takes some kilobytes, and graphs nest. */
static cfx_status add_nodes(cfx_aliases *a, const cfx_graph *g, int depth,
                            cfx_error *err)
{
    cfx_effects_seen *seen = cfx_calloc(a->ctx, 1, sizeof(*seen));
    cfx_status st = seen ? CFX_OK : cfx_no_memory(err);
    if (seen)
        seen->depth = depth;
    for (const cfx_node *n = cfx_graph_first(g); n && !st;
         n = cfx_node_next(n)) {
        st = cfx_effects_seen__find(seen, n, &a->effects[n->id], err);
        if (!st)
            add_node(a, n);
    }
    cfx_free(a->ctx, seen, sizeof(*seen));
    return st;
}

static void find_last_uses(cfx_aliases *a)
{
    for (uint32_t id = 0; id < a->life.ids; id++) {
        uint32_t *last = &a->last_use[cfx_alias_sets__find(&a->sets, id)];
        if (a->life.last_use[id] > *last)
            *last = a->life.last_use[id];
    }
}

static void assume_worst_of_later(cfx_aliases *a)
{
    uint32_t later = a->life.ids + 1;
    a->sets.item[later].flags = CFX_ALIAS_WRITTEN | CFX_ALIAS_RETURNED |
                                CFX_ALIAS_OUTLIVES;
    a->last_use[later] = UINT32_MAX;
    a->effects[later] = (cfx_effects){UINT32_MAX, UINT32_MAX, UINT32_MAX,
                                      UINT32_MAX, true,       true,
                                      true,       true};
}

static cfx_status init(cfx_aliases *a, const cfx_graph *g, int depth,
                       bool apart, cfx_error *err)
{
    cfx_context *ctx = cfx_graph_context(g);
    *a = (cfx_aliases){.ctx = ctx, .sets.ctx = ctx, .apart = apart};
    cfx_status st = cfx_lifetimes__init(&a->life, g, err);
    size_t n = cfx_aliases__len(a);
    if (!st)
        st = cfx_alias_sets__add(&a->sets, n, err);
    a->effects = cfx_calloc(ctx, n, sizeof(*a->effects));
    a->last_use = cfx_calloc(ctx, n, sizeof(*a->last_use));
    if (st || !a->effects || !a->last_use)
        return cfx_no_memory(err);
    *cfx_alias_sets__flags(&a->sets, a->life.ids) |= CFX_ALIAS_OUTLIVES;
    assume_worst_of_later(a);
    st = add_nodes(a, g, depth, err);
    if (!st)
        find_last_uses(a);
    return st;
}

cfx_status cfx_aliases__init_at(cfx_aliases *a, const cfx_graph *g, int depth,
                                cfx_error *err)
{
    return init(a, g, depth, false, err);
}

cfx_status cfx_aliases__init_apart(cfx_aliases *a, const cfx_graph *g,
                                   cfx_error *err)
{
    return init(a, g, 0, true, err);
}

cfx_status cfx_aliases__init(cfx_aliases *a, const cfx_graph *g,
                             cfx_error *err)
{
    return cfx_aliases__init_at(a, g, 0, err);
}

void cfx_aliases__release(cfx_aliases *a)
{
    if (!a->ctx)
        return;
    size_t n = cfx_aliases__len(a);
    cfx_free(a->ctx, a->effects, n * sizeof(*a->effects));
    cfx_free(a->ctx, a->last_use, n * sizeof(*a->last_use));
    cfx_alias_sets__release(&a->sets);
    cfx_lifetimes__release(&a->life);
    *a = (cfx_aliases){0};
}

void cfx_aliases__join(cfx_aliases *a, const cfx_node *x, const cfx_node *y)
{
    uint32_t i = cfx_aliases__set(a, x), k = cfx_aliases__set(a, y);
    uint32_t last = a->last_use[i > k ? i : k];
    cfx_alias_sets__join(&a->sets, i, k);
    i = cfx_aliases__set(a, x);
    if (last > a->last_use[i])
        a->last_use[i] = last;
}
