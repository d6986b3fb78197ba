/*
 * order.h -- nodes that must keep their order. Not installed.
 */
#ifndef CFX_PASSES_ORDER_H
#define CFX_PASSES_ORDER_H

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
    size_t n, room;
} cfx_order_pairs;

cfx_status cfx_order_pairs__find(cfx_order_pairs *out, const cfx_graph *g,
                                 cfx_error *err);
void cfx_order_pairs__release(cfx_order_pairs *p);

#endif
