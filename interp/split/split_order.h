/*
 * split_order.h -- the order of nodes: pairs that must keep it, and sorting. Not
 * installed.
 */
#ifndef CFX_ORDER_H
#define CFX_ORDER_H

#include <cfx/graph.h>

/*
 * Pairs of nodes that must keep their order although no value connects them: a
 * write, and the accesses to the same memory before and after it. There are no
 * more pairs than node inputs. Release it also on failure; a zeroed one is
 * allowed.
 */
typedef struct cfx_order_pair {
    cfx_node *before, *after;
} cfx_order_pair;

typedef struct cfx_order_pairs {
    cfx_context *ctx;
    cfx_order_pair *item;
    size_t n, cap;
} cfx_order_pairs;

cfx_status cfx_order_pairs__find(cfx_order_pairs *out, const cfx_graph *g,
                                 cfx_error *err);
void cfx_order_pairs__release(cfx_order_pairs *p);

/* Topologically sort a graph so that each pair keeps its order; *moved counts
 * the nodes that are moved. Fails with CFX_EGRAPH for cycles, CFX_ENOMEM. */
cfx_status cfx_graph__sort(cfx_graph *g, const cfx_order_pairs *pairs,
                           size_t *moved, cfx_error *err);

#endif
