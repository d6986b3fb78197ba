/*
 * post_ops.h -- the post-operations of calls with packed weights, and what of the graph
 * becomes one. Not installed.
 */
#ifndef CFX_PASSES_LOWER_POST_OPS_H
#define CFX_PASSES_LOWER_POST_OPS_H

#include <cfx/pass.h>

enum { CFX_POST_OP_ARGS = 7 };

/* A post-operation: the name of an operator, and its arguments after the first. */
typedef struct cfx_post_op_call {
    const char *name;
    cfx_value arg[CFX_POST_OP_ARGS];
    int n;
} cfx_post_op_call;

/* If n calls an operator with CFX_OP_ACTIVATION, as a module or a function, on one
 * tensor, in place or not, and its other arguments are literals: describe it,
 * without the last arguments that have their defaults. */
bool cfx_post_op__read(const cfx_pass_call *p, const cfx_node *n,
                       cfx_post_op_call *out);

/* True if n clamps a tensor to literal bounds, as a module or a function, in place or
 * not: relu, relu6, hardtanh, clamp. One that it lacks is infinite. */
bool cfx_post_op__clamps(const cfx_pass_call *p, const cfx_node *n, double *lo,
                         double *hi);

/* The post-operation of n with this name, a tuple; absent: n has none. */
cfx_value cfx_post_op__find(const cfx_node *n, const char *name);
/* Can the kernel of n apply `name` after those that n has? */
bool cfx_post_op__fits(const cfx_node *n, const char *name);
/* Append one that fits. */
cfx_status cfx_post_op__append(cfx_pass_call *p, cfx_node *n,
                               const cfx_post_op_call *op);

/* Tell why n is not fused into y, which computes x: others read x, or y applies too
 * much. */
void cfx_post_op__missed(cfx_pass_call *p, const cfx_node *n,
                         const cfx_node *x, const cfx_node *y);

#endif
