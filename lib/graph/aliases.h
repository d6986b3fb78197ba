/*
 * aliases.h -- alias sets, writes and lifetimes of values. Not installed.
 *
 * Values that may share memory are in one alias set: a possible view is in the
 * set of its base. All parameters and buffers are in one set, the state, since
 * two names may denote one tensor. Inputs of the graph are assumed not to
 * alias. Sets follow from the effects of the nodes (cfx/effects.h), and so
 * hold for all shapes: values of different sets never share memory. A memory
 * plan (cfx/memory_plan.h) computes the sharing for given shapes, in blocks of
 * known size.
 *
 * A pass edits the graph while it asks. Nodes that were made after the analysis
 * share one set, of which the worst is assumed: it is written to, returned, and
 * belongs to the caller.
 *
 * Time is the position of a node in the graph, from 1.
 */
#ifndef CFX_ALIASES_H
#define CFX_ALIASES_H

#include <cfx/graph.h>

/* ---- Lifetimes of values ---- */

/* By id: the position of a node, and of the last node that reads its value
 * (its own if none does). 0 for ids without a node. */
typedef struct cfx_lifetimes {
    cfx_context *ctx;
    uint32_t ids;
    uint32_t *place, *last_use;
} cfx_lifetimes;

/* Release it also on failure; a zeroed one is allowed. */
cfx_status cfx_lifetimes__init(cfx_lifetimes *l, const cfx_graph *g,
                               cfx_error *err);
void cfx_lifetimes__release(cfx_lifetimes *l);

/* ---- Alias sets ---- */

enum {
    CFX_ALIAS_WRITTEN = 1,  /* something writes to its memory */
    CFX_ALIAS_RETURNED = 2, /* the graph may return it */
    CFX_ALIAS_OUTLIVES = 4  /* it belongs to the caller or the state */
};

/* Union-find over the numbers from 0. A set is named by its least number. A
 * zeroed struct with a context is empty. */
typedef struct cfx_alias_sets {
    cfx_context *ctx;
    struct cfx_alias_item {
        uint32_t up;    /* parent; smaller */
        uint32_t flags; /* of the set with this name */
    } * item;
    size_t n, cap;
} cfx_alias_sets;

void cfx_alias_sets__release(cfx_alias_sets *s);
/* Add `count` sets of one number each. */
cfx_status cfx_alias_sets__add(cfx_alias_sets *s, size_t count,
                               cfx_error *err);
uint32_t cfx_alias_sets__find(cfx_alias_sets *s, uint32_t i);
/* Merge two sets. */
void cfx_alias_sets__join(cfx_alias_sets *s, uint32_t i, uint32_t k);
/* The flags of the set that i is in. */
CFX_INLINE uint32_t *cfx_alias_sets__flags(cfx_alias_sets *s, uint32_t i)
{
    return &s->item[cfx_alias_sets__find(s, i)].flags;
}

/* ---- The values of a graph ---- */

typedef struct cfx_aliases {
    cfx_context *ctx;
    cfx_lifetimes life;
    cfx_alias_sets sets;  /* of ids, the state and all later nodes */
    cfx_effects *effects; /* by id; of later nodes: every effect */
    uint32_t *last_use;   /* by set: last use of any value in it */
    bool apart;           /* cfx_aliases__init_apart */
} cfx_aliases;

/* Compute the effects and sets of all nodes. Release it also on failure; a zeroed one
 * is allowed. */
cfx_status cfx_aliases__init(cfx_aliases *a, const cfx_graph *g,
                             cfx_error *err);
void cfx_aliases__release(cfx_aliases *a);

/* Like cfx_aliases__init, but what get_attr nodes give is not in the state's set:
 * for callers that know which tensors share memory. */
cfx_status cfx_aliases__init_apart(cfx_aliases *a, const cfx_graph *g,
                                   cfx_error *err);

/* cfx_aliases__init for a graph at that nesting depth. */
cfx_status cfx_aliases__init_at(cfx_aliases *a, const cfx_graph *g, int depth,
                                cfx_error *err);

/* Was n made after the analysis? */
CFX_INLINE bool cfx_aliases__is_later(const cfx_aliases *a, const cfx_node *n)
{
    return n->id >= a->life.ids;
}

/* The number of a node in the tables: its id, those of later nodes are one. */
CFX_INLINE uint32_t cfx_aliases__number(const cfx_aliases *a,
                                        const cfx_node *n)
{
    return cfx_aliases__is_later(a, n) ? a->life.ids + 1 : n->id;
}

CFX_INLINE const cfx_effects *cfx_aliases__effects(const cfx_aliases *a,
                                                   const cfx_node *n)
{
    return &a->effects[cfx_aliases__number(a, n)];
}

/* The set of a node's value, or of the state. Tables by set have cfx_aliases__len
 * entries. */
CFX_INLINE uint32_t cfx_aliases__set(cfx_aliases *a, const cfx_node *n)
{
    return cfx_alias_sets__find(&a->sets, cfx_aliases__number(a, n));
}
CFX_INLINE size_t cfx_aliases__len(const cfx_aliases *a)
{
    return (size_t)a->life.ids + 2;
}
CFX_INLINE uint32_t cfx_aliases__state(cfx_aliases *a)
{
    return cfx_alias_sets__find(&a->sets, a->life.ids);
}

/* Has a set one of these flags? */
CFX_INLINE bool cfx_aliases__is(const cfx_aliases *a, uint32_t set,
                                uint32_t flags)
{
    return a->sets.item[set].flags & flags;
}

/* Does any node write to memory that n's value may lie in? */
CFX_INLINE bool cfx_aliases__is_written(cfx_aliases *a, const cfx_node *n)
{
    return cfx_aliases__is(a, cfx_aliases__set(a, n), CFX_ALIAS_WRITTEN);
}

/* Let the values of two nodes alias from now on. */
void cfx_aliases__join(cfx_aliases *a, const cfx_node *x, const cfx_node *y);

/* Does n write to its i-th input? May its value be a view of that? */
CFX_INLINE bool cfx_effects__writes(const cfx_effects *e, uint32_t i)
{
    return e->input_writes >> (i < 31 ? i : 31) & 1;
}
CFX_INLINE bool cfx_effects__views(const cfx_effects *e, uint32_t i)
{
    return e->input_views >> (i < 31 ? i : 31) & 1;
}

#endif
