/*
 * blocked_quantized_functions -- functions of uint8 that stand for floats, whose results are
 * uint8 too: a table of one function, and layer_norm.
 *
 * shape   that of self. quantized_lookup: the table has 256 elements.
 *         quantized_layer_norm: weight and bias have an element for each of the last
 *         axis.
 * cost    quantized_lookup: none. quantized_layer_norm: a product and two sums an
 *         element, then two products, three additions, rounding and two bounds, of
 *         float32.
 */
#include "kernel/blocked/quantized.h"
#include "op/op_cost.h"
#include "op/op_impl.h"
#include "ops/blocked/blocked_range.h"

CFX_PARAMS(params, SELF, TABLE, WEIGHT, BIAS, EPS, ZERO_POINT, QUANT_MIN,
           QUANT_MAX);

/* A vector of `n` elements. */
static cfx_status check_vector(const cfx_call *call, int param, cfx_dtype type,
                               cfx_dim n)
{
    const cfx_tensor *t = cfx_call_tensor(call, param);
    cfx_status st = cfx_blocked_check_type(call, param, type);
    return st || (t->rank == 1 && cfx_dim_eq(call->env, t->shape[0], n))
               ? st
               : cfx_call_fail(
                     call, CFX_ESHAPE,
                     "%s has another shape than its elements are read from",
                     cfx_call__param_name(call, param));
}

/* ---- quantized_lookup ---- */

static cfx_status lookup_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_status st = cfx_blocked_check_type(call, SELF, CFX_U8);
    if (!st)
        st = check_vector(call, TABLE, CFX_U8, cfx_dim_int(256));
    return st ? st : cfx_call_out(call, CFX_U8, x->rank, x->shape);
}

static cfx_status lookup_run(cfx_call *call)
{
    cfx_tensor *y = call->out[0];
    cfx_quantized_lookup_run(call->ctx, cfx_call_tensor(call, TABLE)->data,
                             cfx_call_tensor(call, SELF)->data, y->data,
                             cfx_tensor_numel(y));
    return CFX_OK;
}

const cfx_op cfx_op__quantized_lookup = {
    .schema = "quantized_lookup(Tensor self, Tensor table) -> Tensor",
    .params = params,
    .aliases =
        "torch.ops.cfx.quantized_lookup.default torch.ops.cfx.quantized_lookup",
    .doc = "The element of a table of 256 bytes that each byte chooses.",
    .infer = lookup_infer,
    .flags = CFX_OP_COPIES_TO_CONTIGUOUS,
    .run = lookup_run,
};

/* ---- quantized_layer_norm ---- */

static cfx_status norm_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_status st = cfx_blocked_check_type(call, SELF, CFX_U8);
    if (!st)
        st = cfx_blocked_check_range(call, ZERO_POINT, QUANT_MIN, QUANT_MAX);
    if (st)
        return st;
    if (x->rank < 1)
        return cfx_call_fail(call, CFX_ESHAPE, "the input has no axis");
    cfx_dim n = x->shape[x->rank - 1];
    if (!(cfx_call_double(call, EPS) > 0))
        return cfx_call_fail(call, CFX_EINVAL, "eps is not positive");
    if (!cfx_dim_le(call->env, n, cfx_dim_int(CFX_QUANTIZED_COLUMNS)))
        return cfx_call_fail(call, CFX_EUNSUPPORTED,
                             "rows of at most %d elements are supported",
                             CFX_QUANTIZED_COLUMNS);
    st = check_vector(call, WEIGHT, CFX_F32, n);
    if (!st)
        st = check_vector(call, BIAS, CFX_F32, n);
    return st ? st : cfx_call_out(call, CFX_U8, x->rank, x->shape);
}

static void norm_cost(const cfx_call *call, cfx_cost *cost)
{
    cfx_dim n = cfx_cost_numel(call, call->out[0]);
    cost->ops = cfx_dim_mul(call->env, n, cfx_dim_int(11));
    cost->dtype = CFX_F32;
}

static cfx_status norm_run(cfx_call *call)
{
    const cfx_tensor *y = call->out[0];
    const cfx_blocked_range r = cfx_blocked_range_of(call, ZERO_POINT,
                                                     QUANT_MIN, QUANT_MAX);
    int64_t columns = cfx_tensor_size(y, y->rank - 1);
    const cfx_quantized_norm m = {
        .rows = columns ? cfx_tensor_numel(y) / columns : 0,
        .columns = columns,
        .weight = cfx_call_tensor(call, WEIGHT)->data,
        .bias = cfx_call_tensor(call, BIAS)->data,
        .eps = cfx_call_double(call, EPS),
        .lo = r.lo,
        .hi = r.hi,
        .zero_point = r.zero_point,
        .x = cfx_call_tensor(call, SELF)->data,
        .y = y->data,
    };
    cfx_quantized_norm_run(call->ctx, &m);
    return CFX_OK;
}

const cfx_op cfx_op__quantized_layer_norm = {
    .schema =
        "quantized_layer_norm(Tensor self, Tensor weight, Tensor bias, float eps, int zero_point, int quant_min=0, int quant_max=255) -> Tensor",
    .params = params,
    .aliases =
        "torch.ops.cfx.quantized_layer_norm.default torch.ops.cfx.quantized_layer_norm",
    .doc =
        "self minus the mean of its row, divided by the root of its variance plus eps, times weight plus bias, rounded, plus a zero point, clamped.",
    .infer = norm_infer,
    .cost = norm_cost,
    .flags = CFX_OP_COPIES_TO_CONTIGUOUS,
    .run = norm_run,
};
