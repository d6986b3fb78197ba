/*
 * retrace.h -- replace a node by a value, or by the nodes that code over values
 * records. Not installed.
 */
#ifndef CFX_PASSES_RETRACE_H
#define CFX_PASSES_RETRACE_H

#include <cfx/pass.h>
#include <cfx/tracer.h>

#include "graph/graph_impl.h"

/* Replace n by a value (a literal, a tuple of nodes, ...) in all its users. For
 * a tuple or list, operator.getitem nodes are replaced by the item. Adds the
 * number of users to p->changed; n then has none. */
cfx_status cfx_node__substitute(cfx_pass_call *p, cfx_node *n, cfx_value v);

/* Code that computes the value of n from its arguments. Returns None if it
 * cannot. */
typedef cfx_value cfx_retrace_fn(cfx_scope *s, const cfx_node *n, void *user);

typedef struct cfx_retracer {
    cfx_pass_call *p;
    bool infer; /* new nodes get metas, about which code may ask */
    bool open;  /* the tracer is initialized */
    cfx_tracer tracer;
    cfx_error why; /* why the last node was not replaced; code 0: fn returned
                      None */
} cfx_retracer;

/*
 * Trace fn before n and replace n by its result. If that fails, or fn returns
 * None, n stays and *done is false. *next is the first new node, or the node
 * after n. Fails with CFX_ENOMEM, CFX_ECANCEL, CFX_ELIMIT. Release it
 * afterwards.
 */
cfx_status cfx_retracer__node(cfx_retracer *r, cfx_node *n, cfx_retrace_fn *fn,
                              void *user, cfx_node **next, bool *done);
/* Replace the call of a module by the nodes of its forward. */
cfx_status cfx_retracer__inline(cfx_retracer *r, cfx_node *n, cfx_node **next,
                                bool *done);
void cfx_retracer__release(cfx_retracer *r);

#endif
