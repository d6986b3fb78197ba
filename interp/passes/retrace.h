/*
 * retrace.h -- put something else in place of a node: a value, or the nodes
 * that code over values writes. Not installed.
 */
#ifndef CFX_PASSES_RETRACE_H
#define CFX_PASSES_RETRACE_H

#include <cfx/pass.h>
#include <cfx/tracer.h>

/* Put a value (a literal, a tuple of nodes, ...) in place of n in all its
 * users; of a tuple or list, operator.getitem gives way to the item. Counts the
 * users in p->changed; n then has no users. */
cfx_status cfx_node__substitute(cfx_pass_call *p, cfx_node *n, cfx_value v);

/* `to` stands for `from`: its provenance, type, and what is known of its value.
 */
cfx_status cfx_node__keep_meta(cfx_node *to, const cfx_node *from,
                               cfx_error *err);

/* Code that computes what n gives, in terms of n's arguments. None: it does not
 * know how. */
typedef cfx_value cfx_retrace_fn(cfx_scope *s, const cfx_node *n, void *user);

typedef struct cfx_retracer {
    cfx_pass_call *p;
    bool open;        /* the tracer is ready */
    cfx_tracer tracer;
    cfx_error why;    /* why the last node stayed; code 0: it did not know */
} cfx_retracer;

/*
 * Write down what fn does, before n, and let its result take n's place. Where
 * it cannot be traced, or does not know how, n stays as it is, and *done is
 * false. *next is the first of the new nodes, or the node after n. Fails with
 * CFX_ENOMEM, CFX_ECANCEL, CFX_ELIMIT. Release it in the end.
 */
cfx_status cfx_retracer__node(cfx_retracer *r, cfx_node *n, cfx_retrace_fn *fn,
                       void *user, cfx_node **next, bool *done);
void cfx_retracer__release(cfx_retracer *r);

#endif
