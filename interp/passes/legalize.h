/*
 * legalize.h -- put nodes behind what they use. Not installed.
 */
#ifndef CFX_PASSES_LEGALIZE_H
#define CFX_PASSES_LEGALIZE_H

#include <cfx/pass.h>

#include "interp/passes/order.h"

/* The pass, with pairs that must come in this order besides. Fails with
 * CFX_EGRAPH, CFX_ENOMEM. */
cfx_status cfx_legalize__with(cfx_pass_call *p, const cfx_order_pairs *pairs);

#endif
