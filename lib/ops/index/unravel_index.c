/*
 * unravel_index -- places in a row of elements as coordinates.
 *
 * shape   for each extent of `shape` a tensor like the indices; they are views
 *         of one tensor, in which they stand along the last axis.
 * cost    that of the operators it consists of.
 */
#include "op/composite.h"
#include "op/infer.h"

CFX_PARAMS(params, INDICES, SHAPE);

static bool check(cfx_scope *s, const cfx_call *call)
{
    cfx_dtype type = (cfx_dtype)cfx_call_tensor(call, INDICES)->dtype;
    if (cfx_dtypes[type].category != CFX_CAT_INT)
        cfx_scope_fail(s, CFX_EDTYPE,
                       "expected 'indices' to be integer dtype, but got %s",
                       cfx_dtypes[type].name);
    for (int i = 0; i < cfx_call_len(call, SHAPE); i++)
        if (!cfx_dim_le(s->env, cfx_dim_int(0), cfx_call_dim(call, SHAPE, i)))
            cfx_scope_fail(s, CFX_EINVAL,
                           "'shape' cannot have negative values");
    if (cfx_call_len(call, SHAPE) > CFX_MAX_RANK)
        cfx_scope_fail(s, CFX_EUNSUPPORTED, "takes a shape of at most %d axes",
                       CFX_MAX_RANK);
    return !cfx_scope_failed(s);
}

/* Numbers as a vector of int64. */
static cfx_value vector(cfx_scope *s, int n, const cfx_value *number)
{
    cfx_value item[CFX_MAX_RANK];
    cfx_value none = cfx_list_of(s, CFX_TUPLE, 0, NULL);
    for (int i = 0; i < n; i++)
        item[i] = CFX_CALL(s, "torch.full", none, number[i]);
    return CFX_CALL(s, "torch.stack",
                    cfx_list_of(s, CFX_TUPLE, (size_t)n, item));
}

/* The distances of neighbours along each axis divide the indices, the extents
 * leave remainders. */
static cfx_value unravel_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value extent[CFX_MAX_RANK], step[CFX_MAX_RANK];
    int n = cfx_call_len(call, SHAPE);
    if (!check(s, call) || !n)
        return cfx_list_of(s, CFX_TUPLE, 0, NULL);
    for (int i = n; i-- > 0;) {
        extent[i] = cfx_call_item(call, SHAPE, i);
        step[i] = i == n - 1 ? cfx_int(1)
                             : cfx_int_mul(s, step[i + 1], extent[i + 1]);
    }
    cfx_value y = CFX_CALL(s, "torch.unsqueeze", cfx_call_value(call, INDICES),
                           cfx_int(-1));
    y = CFX_CALL(s, "torch.floor_divide", y, vector(s, n, step));
    y = CFX_CALL(s, "torch.remainder", y, vector(s, n, extent));
    return CFX_CALL(s, "torch.unbind", y, cfx_int(-1));
}

static cfx_status unravel_with(cfx_call *call, const cfx_scope_class *class_)
{
    cfx_scope s;
    cfx_scope_init(&s, class_, call->ctx, call->env);
    cfx_value v = unravel_build(&s, call);
    cfx_status st = CFX_OK;
    if (cfx_scope_failed(&s))
        st = cfx_call_fail(call, s.error.code, "%s", s.error.text);
    else
        st = cfx_call_return_take(call, cfx_value_ref(v));
    cfx_scope_release(&s);
    return st;
}

static cfx_status unravel_infer(cfx_call *call)
{
    return unravel_with(call, &cfx_composite__meta);
}

static void unravel_cost(const cfx_call *call, cfx_cost *cost)
{
    cfx_composite_cost(call, cost, unravel_build);
}

static cfx_status unravel_run(cfx_call *call)
{
    return unravel_with(call, &cfx_composite__eager);
}

const cfx_op cfx_op__unravel_index = {
    .schema = "unravel_index(Tensor indices, SymInt[1] shape) -> Tensor[]",
    .params = params,
    .aliases = "torch. torch.functional.unravel_index",
    .doc = "Places in a row of elements as coordinates.",
    .flags = CFX_OP_OWN_RESULT,
    .infer = unravel_infer,
    .cost = unravel_cost,
    .run = unravel_run,
};
