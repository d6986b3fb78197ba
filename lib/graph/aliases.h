/*
 * aliases.h -- which values share memory, who writes to it, and how long it is
 * needed. Not installed.
 *
 * Values that may share memory are in one alias set: a value is in that of each
 * value that its node reads and that it may be a view of. All parameters and
 * buffers are in one set, that of the state, since two names may stand for one
 * tensor. Inputs of the graph are taken to be apart. All that follows from the
 * effects of the nodes (cfx/effects.h), and so it holds for all shapes: values
 * of one set may share memory, values of two sets never do. A memory plan
 * (cfx/memory_plan.h) tells what they share for given shapes, in blocks that
 * have a size.
 *
 * Time is the place of a node in the graph, counted from 1.
 */
#ifndef CFX_ALIASES_H
#define CFX_ALIASES_H

#include <cfx/graph.h>

/* ---- Lifetimes of values ---- */

/* By id: the place of a node; and the place of the node that reads its value
 * last, its own if none does. 0 where there is no such node. */
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
    CFX_ALIAS_RETURNED = 2, /* the result may lie there */
    CFX_ALIAS_OUTLIVES = 4  /* it is the caller's, or state */
};

/* Disjoint sets of the numbers from 0 on, by union and find. A set is called by
 * its least number. A zeroed one with a context is empty. */
typedef struct cfx_alias_sets {
    cfx_context *ctx;
    struct cfx_alias_item {
        uint32_t up;    /* towards the least of the set */
        uint32_t flags; /* of the set that is called so */
    } *item;
    size_t n, cap;
} cfx_alias_sets;

void cfx_alias_sets__release(cfx_alias_sets *s);
/* Add so many sets of one number each. */
cfx_status cfx_alias_sets__add(cfx_alias_sets *s, size_t count,
                               cfx_error *err);
uint32_t cfx_alias_sets__find(cfx_alias_sets *s, uint32_t i);
/* Make one of two sets. */
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
    cfx_alias_sets sets;  /* of ids; the number life.ids is the state */
    cfx_effects *effects; /* by id */
    uint32_t *last_use;   /* by set: of all values in it, the last */
} cfx_aliases;

/* Ask every node what it does. Nodes that are made later have no entry. Release
 * it also on failure; a zeroed one is allowed. */
cfx_status cfx_aliases__init(cfx_aliases *a, const cfx_graph *g,
                             cfx_error *err);
void cfx_aliases__release(cfx_aliases *a);

/* As cfx_aliases__init; the graph is nested so deep in those that call it. */
cfx_status cfx_aliases__init_at(cfx_aliases *a, const cfx_graph *g, int depth,
                                cfx_error *err);

/* The set of a node's value, and that of the state: numbers up to life.ids. */
CFX_INLINE uint32_t cfx_aliases__set(cfx_aliases *a, const cfx_node *n)
{
    return cfx_alias_sets__find(&a->sets, n->id);
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

/* From now on the values of two nodes share memory. */
void cfx_aliases__join(cfx_aliases *a, const cfx_node *x, const cfx_node *y);

/* Does n write to its i-th input? May its value be a view of it? */
CFX_INLINE bool cfx_effects__writes(const cfx_effects *e, uint32_t i)
{
    return e->input_writes >> (i < 31 ? i : 31) & 1;
}
CFX_INLINE bool cfx_effects__views(const cfx_effects *e, uint32_t i)
{
    return e->input_views >> (i < 31 ? i : 31) & 1;
}

#endif
