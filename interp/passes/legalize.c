/*
 * legalize -- topologically sort the graph.
 */
#include <cfx/pass.h>

#include "interp/split/split_order.h"

static cfx_status legalize_run(cfx_pass_call *p)
{
    const cfx_order_pairs none = {0};
    return cfx_graph__sort(p->graph, &none, &p->changed, p->err);
}

const cfx_pass cfx_pass__legalize = {
    .abi = CFX_ABI(cfx_pass),
    .schema = "legalize()",
    .doc = "Sort nodes topologically, keeping the order of sorted graphs.",
    .run = legalize_run,
};
