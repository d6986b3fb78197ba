/*
 * lowering.h -- passes that rewrite node by node to blocked images: the walk, and facts
 * about nodes. Not installed.
 */
#ifndef CFX_PASSES_LOWERING_H
#define CFX_PASSES_LOWERING_H

#include "interp/passes/lower/frozen.h"
#include "graph/graph_impl.h"
#include "interp/rewrite/affine.h"
#include "interp/rewrite/retrace.h"
#include "ops/blocked/blocked_ops.h"

typedef struct cfx_lowering {
    cfx_pass_call *p;
    cfx_frozen frozen; /* constants and aliases of the graph as it was */
    cfx_retracer retracer;
    cfx_node_map blocked; /* to_blocked of a node */
    /* The to_blocked made last, and the node whose value it has. */
    cfx_node *made, *made_of;
} cfx_lowering;

/* Call `begin` (which may be NULL), then `node` for each node of the graph as it was;
 * *next is the node that the walk goes on with. Neither is called if it is not known
 * which parameters the graph writes to. */
cfx_status cfx_lowering__run(cfx_pass_call *p,
                             cfx_status (*begin)(cfx_lowering *l),
                             cfx_status (*node)(cfx_lowering *l, cfx_node *n,
                                                cfx_node **next));

/* Was the graph's value of n written to? */
bool cfx_lower__is_written(cfx_lowering *l, const cfx_node *n);
/* The argument of a parameter, by the first overload that has the parameter. */
cfx_value cfx_lower__arg(const cfx_node *n, const char *name);
/* A module's attribute, or the argument of a function; absent if neither. */
cfx_value cfx_lower__setting(const cfx_pass_call *p, const cfx_node *n,
                             const char *name);
/* Move the call x = g(y, c) behind n = f(x, ...), which becomes g(f(y, ...), c). Other
 * positional arguments of n that are calls of g are replaced by their first arguments, too. */
cfx_status cfx_lower__put_after(cfx_lowering *l, cfx_node *n, cfx_node *x);
/* The channels of an image (N, C, H, W); 0: they are not known. */
int64_t cfx_lower__channels(const cfx_node *n);
/* The argument of from_blocked; NULL if n is another call. */
cfx_node *cfx_lower__form(const cfx_node *n);
/* Is n the mean over height and width of an image? */
bool cfx_lower__is_mean(const cfx_pass_call *p, const cfx_node *n);
/* The images that n concatenates by their channels; NULL: n is another call. */
const cfx_seq *cfx_lower__joined(const cfx_pass_call *p, const cfx_node *n);

#endif
