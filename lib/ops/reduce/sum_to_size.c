/*
 * sum_to_size -- the sum over the axes along which a shape was broadcast.
 *
 * shape   the given extents.
 * cost    that of a sum.
 */
#include "op/composite.h"
#include "op/infer.h"

CFX_PARAMS(params, SELF, SIZE);

/* Is an axis summed that shall have extent 1? If it has that already, it is not,
 * and bools and small integers keep their type. Other types are the same either
 * way. */
static bool is_summed(cfx_scope *s, const cfx_tensor *t, int axis)
{
    cfx_dim extent = t->shape[axis];
    if (cfx_dim_is_int(extent))
        return !cfx_dim_is(extent, 1);
    return cfx_dtype_is_float((cfx_dtype)t->dtype) || t->dtype == CFX_I64 ||
           cfx_dim_le(s->env, cfx_dim_int(2), extent);
}

static cfx_value sum_to_size_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value x = cfx_call_value(call, SELF), dim[CFX_MAX_RANK];
    cfx_value size = cfx_call_value(call, SIZE);
    const cfx_tensor *t = x.u.tensor;
    int n = cfx_call_len(call, SIZE), lead = t->rank - n;
    size_t sums = 0;
    bool fits = lead >= 0;
    for (int i = 0; fits && i < t->rank; i++) {
        cfx_dim to = i < lead
                         ? cfx_dim_int(1)
                         : cfx_value_dim(cfx_call_item(call, SIZE, i - lead));
        if (i < lead || (cfx_dim_is(to, 1) && is_summed(s, t, i)))
            dim[sums++] = cfx_int(i);
        else
            fits = cfx_dim_eq(s->env, to, t->shape[i]);
    }
    if (!fits)
        return cfx_scope_fail(s, CFX_ESHAPE,
                              "size is not expandable to the tensor's");
    if (!n) /* of bool and small integers an int64 */
        return CFX_CALL(s, "torch.sum", x);
    if (sums)
        x = CFX_CALL(s, "torch.sum", x, cfx_list_of(s, CFX_TUPLE, sums, dim),
                     cfx_bool(true));
    return lead ? CFX_CALL(s, "torch.reshape", x, size) : x;
}

CFX_COMPOSITE(sum_to_size)

const cfx_op cfx_op__sum_to_size = {
    .schema = "sum_to_size(Tensor self, SymInt[] size) -> Tensor",
    .params = params,
    .aliases = "Tensor. aten.",
    .doc = "The sum over the axes along which a shape was broadcast.",
    .flags = CFX_OP_COMPLEX,
    .infer = sum_to_size_infer,
    .cost = sum_to_size_cost,
    .run = sum_to_size_run,
};
