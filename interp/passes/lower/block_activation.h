/*
 * block_activation.h -- activations of the graph that become a part of the call
 * before them. Not installed.
 */
#ifndef CFX_PASSES_LOWER_ACTIVATION_H
#define CFX_PASSES_LOWER_ACTIVATION_H

#include <cfx/pass.h>

#include "op/fused_activation.h"

/* A call of an operator with CFX_OP_ACTIVATION. */
typedef struct cfx_activation_call {
    const cfx_schema *schema;              /* the operator's */
    double number[CFX_ACTIVATION_SCALARS]; /* its numbers, in order */
    int n;                                 /* those up to the last that differs
                                             from its default */
    const char *algorithm;                 /* NULL: the default */
} cfx_activation_call;

/* True if n calls such an operator, as a module or a function, on one tensor, in
 * place or not, and its other arguments are literals. */
bool cfx_activation__find(const cfx_pass_call *p, const cfx_node *n,
                          cfx_activation_call *out);

/* True if n clamps a tensor to literal bounds, as a module or a function, in place or
 * not: relu, relu6, hardtanh, clamp. One that it lacks is infinite. */
bool cfx_activation__clamps(const cfx_pass_call *p, const cfx_node *n,
                            double *lo, double *hi);

/* Set the keyword arguments `activation`, `scalars` and `algorithm` of a node,
 * without those that have their defaults. */
cfx_status cfx_activation__set(cfx_pass_call *p, cfx_node *n,
                               const cfx_activation_call *a);

#endif
