/*
 * block_activation.h -- activations of the graph that become a part of the call
 * before them. Not installed.
 */
#ifndef CFX_PASSES_LOWER_ACTIVATION_H
#define CFX_PASSES_LOWER_ACTIVATION_H

#include <cfx/pass.h>

#include "op/activation_table.h"

/* True if n calls an activation of cfx_activations, as a module or a function,
 * on one tensor, in place or not, and its numbers are literals. */
bool cfx_activation__find(const cfx_pass_call *p, const cfx_node *n,
                          cfx_activation_call *out);

/* Set the keyword arguments `activation`, `scalars` and `algorithm` of a node,
 * without those that have their defaults. */
cfx_status cfx_activation__set(cfx_pass_call *p, cfx_node *n,
                               const cfx_activation_call *a);

#endif
