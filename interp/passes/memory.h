/*
 * memory.h -- which nodes may share memory, and whether it is written to. Not
 * installed.
 *
 * Nodes are put into classes: the result of a call is in the class of each
 * input that it may be a view of, or that it writes to. All parameters and
 * buffers are in one class, since two names may stand for one tensor, and with
 * them what the graph of a child gives. Inputs of the graph are taken to be
 * apart.
 */
#ifndef CFX_PASSES_MEMORY_H
#define CFX_PASSES_MEMORY_H

#include <cfx/pass.h>

typedef struct cfx_memory {
    cfx_context *ctx;
    uint32_t ids;
    uint32_t *up;         /* by id: towards the class's root; [ids]: state */
    bool *written;        /* by root */
    cfx_effects *effects; /* by id */
} cfx_memory;

/* Ask every node. Release it also on failure. */
cfx_status cfx_memory__init(cfx_memory *m, const cfx_graph *g, cfx_error *err);
void cfx_memory__release(cfx_memory *m);

/* The class of a node's result, a number up to ids; that of the state. */
uint32_t cfx_memory__class(cfx_memory *m, uint32_t id);
CFX_INLINE uint32_t cfx_memory__state(cfx_memory *m)
{
    return cfx_memory__class(m, m->ids);
}

/* Does any node write to memory that n's result may be in? */
CFX_INLINE bool cfx_memory__is_written(cfx_memory *m, const cfx_node *n)
{
    return m->written[cfx_memory__class(m, n->id)];
}

/* Does n run a module, or a graph, that changes its own state? */
bool cfx_memory__writes_state(const cfx_memory *m, const cfx_node *n);

/*
 * Pairs of nodes that must keep their order though no value passes from one to
 * the other: a write, and what reads or writes the same memory before and
 * after it. No more of them than there are inputs of nodes. Release it also on
 * failure; a zeroed one is allowed.
 */
typedef struct cfx_order_pair {
    cfx_node *before, *after;
} cfx_order_pair;

typedef struct cfx_order_pairs {
    cfx_context *ctx;
    cfx_order_pair *item;
    size_t n, room;
} cfx_order_pairs;

cfx_status cfx_memory__order(cfx_order_pairs *out, const cfx_graph *g,
                             cfx_error *err);
void cfx_order_pairs__release(cfx_order_pairs *p);

/* Does n write to its i-th input? */
CFX_INLINE bool cfx_effects__writes(const cfx_effects *e, uint32_t i)
{
    return e->input_writes >> (i < 31 ? i : 31) & 1;
}
CFX_INLINE bool cfx_effects__views(const cfx_effects *e, uint32_t i)
{
    return e->input_views >> (i < 31 ? i : 31) & 1;
}

#endif
