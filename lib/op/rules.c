/*
 * rules -- shared rules of pointwise operators.
 */
#include "op/rules.h"

#include "op/list.h"
#include "op/op_impl.h"

/* ---- infer ---- */

static cfx_dtype own_type(const cfx_call *call)
{
    return (cfx_dtype)cfx_call__tensor_at(call, 0)->dtype;
}

cfx_status cfx_unary_same(cfx_call *call)
{
    return cfx_infer_pointwise(call, 0, 1, own_type(call));
}

cfx_status cfx_unary_like(cfx_call *call)
{
    return cfx_infer_like(call, cfx_call__tensor_at(call, 0), own_type(call));
}

cfx_status cfx_unary_only_float(cfx_call *call)
{
    cfx_status st = cfx_infer_need_float(call, own_type(call));
    return st ? st : cfx_unary_same(call);
}

cfx_status cfx_unary_no_bool(cfx_call *call)
{
    if (own_type(call) == CFX_BOOL)
        return cfx_infer_refuse(call, CFX_BOOL);
    return cfx_unary_same(call);
}

cfx_status cfx_unary_float(cfx_call *call)
{
    return cfx_infer_pointwise(call, 0, 1, cfx_infer_float_type(call, 0, 1));
}

cfx_status cfx_unary_bool(cfx_call *call)
{
    return cfx_infer_pointwise(call, 0, 1, CFX_BOOL);
}

cfx_status cfx_unary_whole(cfx_call *call)
{
    if (cfx_dtype_is_float(own_type(call)))
        return cfx_infer_refuse(call, own_type(call));
    return cfx_unary_same(call);
}

cfx_status cfx_unary_float_no_bool(cfx_call *call)
{
    if (own_type(call) == CFX_BOOL)
        return cfx_infer_refuse(call, CFX_BOOL);
    return cfx_unary_float(call);
}

cfx_status cfx_binary_only_float(cfx_call *call)
{
    cfx_status st = cfx_infer_need_float(call, cfx_infer_type(call, 0, 2));
    return st ? st : cfx_binary_same(call);
}

cfx_status cfx_binary_same(cfx_call *call)
{
    cfx_dtype type = cfx_infer_type(call, 0, 2);
    if (!cfx_pointwise_has((cfx_pw)call->op->code, type))
        return cfx_infer_refuse(call, type);
    return cfx_infer_pointwise(call, 0, 2, type);
}

cfx_status cfx_binary_float(cfx_call *call)
{
    return cfx_infer_pointwise(call, 0, 2, cfx_infer_float_type(call, 0, 2));
}

cfx_status cfx_binary_bool(cfx_call *call)
{
    return cfx_infer_pointwise(call, 0, 2, CFX_BOOL);
}

cfx_status cfx_binary_alpha(cfx_call *call, int k, cfx_dtype type,
                            bool subtract)
{
    cfx_value alpha = cfx_call_value(call, k);
    if (alpha.kind == CFX_COMPLEX && !cfx_dtype_is_complex(type))
        return cfx_call_fail(
            call, CFX_EDTYPE,
            "For non-complex input tensors, argument alpha must not be a complex number.");
    if (cfx_dtypes[type].category >= CFX_CAT_FLOAT)
        return CFX_OK;
    if (alpha.kind == CFX_FLOAT)
        return cfx_call_fail(
            call, CFX_EDTYPE,
            "For integral input tensors, argument alpha must not be a floating point number.");
    if (subtract && alpha.kind == CFX_INT)
        alpha.u.i = (int64_t)(0 - (uint64_t)alpha.u.i);
    return cfx_list_check_number(call, alpha, type);
}

/* ---- cost ---- */

#define COST(steps, transcendental)                                           \
    void cfx_cost_##steps##_##transcendental(const cfx_call *call,            \
                                             cfx_cost *cost)                  \
    {                                                                         \
        cfx_cost_pointwise(call, cost, steps, transcendental);                \
    }
COST(0, 0)
COST(1, 0)
COST(1, 1)
COST(2, 1)
COST(3, 1)
COST(3, 2)
COST(4, 2)
COST(4, 3)

/* ---- loop ---- */

bool cfx_unary_loop(const cfx_call *call, cfx_loop *out)
{
    return cfx_loop_of(call, out, (cfx_pw)call->op->code,
                       (cfx_dtype)call->out[0]->dtype, 1);
}

bool cfx_binary_loop(const cfx_call *call, cfx_loop *out)
{
    cfx_pw code = (cfx_pw)call->op->code;
    cfx_dtype type = cfx_binary_type(call, code);
    return cfx_pointwise_has(code, type) &&
           cfx_loop_of(call, out, code, type, 2);
}

/* ---- run ---- */

cfx_status cfx_unary_params(cfx_call *call, const double *params)
{
    return cfx_loop_run(call, (cfx_pw)call->op->code,
                        (cfx_dtype)call->out[0]->dtype, call->in, 1, params);
}

/* Comparisons compute in the promoted type of their operands. */
cfx_dtype cfx_binary_type(const cfx_call *call, cfx_pw code)
{
    return cfx_pointwise_is_bool(code) || call->inplace
               ? cfx_infer_type(call, 0, 2)
               : (cfx_dtype)call->out[0]->dtype;
}

cfx_status cfx_binary_run(cfx_call *call)
{
    cfx_loop l;
    return cfx_binary_loop(call, &l)
               ? cfx_loop_run(call, (cfx_pw)l.code, l.type, l.in, 2, NULL)
               : cfx_infer_refuse(
                     call, cfx_binary_type(call, (cfx_pw)call->op->code));
}
