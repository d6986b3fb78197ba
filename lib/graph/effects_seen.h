/*
 * effects_seen.h -- a cache of effects by call signature. Not installed.
 *
 * For passes that query all nodes of a graph. Nodes may be erased meanwhile,
 * but not edited or added.
 *
 *     cfx_effects_seen seen = {0};
 *     for (n = cfx_graph_first(g); n && !st; n = cfx_node_next(n))
 *         st = cfx_effects_seen__find(&seen, n, &e, err);
 */
#ifndef CFX_EFFECTS_SEEN_H
#define CFX_EFFECTS_SEEN_H

#include <cfx/graph.h>

enum { CFX_EFFECTS_SEEN = 32, CFX_KEY_VALUES = 8 };

/* The parts of a call that its effects depend on. */
typedef struct cfx_call_key {
    const cfx_string *target; /* NULL: none */
    uint8_t op, n;            /* n values: args, keys and values of kwargs */
    uint32_t nargs;
    uint8_t kind[CFX_KEY_VALUES];
    uint64_t bits[CFX_KEY_VALUES]; /* of a node: the index of the input */
} cfx_call_key;

typedef struct cfx_effects_seen {
    int depth; /* of the graph among those that call it */
    cfx_call_key key[CFX_EFFECTS_SEEN];
    cfx_effects effects[CFX_EFFECTS_SEEN];
} cfx_effects_seen;

/* Like cfx_node_effects; a call with a cached key is not bound again. */
cfx_status cfx_effects_seen__find(cfx_effects_seen *seen, const cfx_node *n,
                                  cfx_effects *out, cfx_error *err);

#endif
