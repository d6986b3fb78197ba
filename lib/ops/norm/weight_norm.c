/*
 * weight_norm -- directions times lengths: v / |v| * g.
 *
 * shape   that of v; g has its extent along `dim`, and 1 along the others.
 * cost    that of the operators it consists of.
 */
#include "op/composite.h"
#include "op/infer.h"

CFX_PARAMS(params, V, G, DIM);

/* The norm over all axes but `dim`; over all where it is -1. */
static cfx_value weight_norm_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value v = cfx_call_value(call, V), g = cfx_call_value(call, G);
    cfx_value axes[CFX_MAX_RANK];
    int64_t dim = cfx_call_value(call, DIM).u.i;
    int rank = v.u.tensor->rank;
    size_t n = 0;
    for (int i = 0; i < rank; i++)
        if (i != dim)
            axes[n++] = cfx_int(i);
    cfx_value norm = CFX_CALL(s, "torch.norm", v, cfx_float(2),
                              cfx_list_of(s, CFX_TUPLE, n, axes),
                              cfx_bool(dim >= 0));
    return CFX_CALL(s, "torch.mul", v, CFX_CALL(s, "torch.div", g, norm));
}

CFX_COMPOSITE(weight_norm)

const cfx_op cfx_op___weight_norm = {
    .schema = "_weight_norm(Tensor v, Tensor g, int dim=0) -> Tensor",
    .params = params,
    .aliases = "torch. aten.",
    .doc = "The directions of one tensor with the lengths of another.",
    .infer = weight_norm_infer,
    .cost = weight_norm_cost,
    .run = weight_norm_run,
};
