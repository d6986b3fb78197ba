/*
 * legalize.h -- topologically sort a graph. Not installed.
 */
#ifndef CFX_PASSES_LEGALIZE_H
#define CFX_PASSES_LEGALIZE_H

#include <cfx/pass.h>

#include "interp/passes/order.h"

/* Run the pass with additional pairs of nodes that must keep their order. Fails
 * with CFX_EGRAPH, CFX_ENOMEM. */
cfx_status cfx_legalize__with(cfx_pass_call *p, const cfx_order_pairs *pairs);

#endif
