/*
 * shrink -- hardshrink, softshrink, and others with a few numbers as arguments:
 * logsigmoid, logit, nan_to_num.
 *
 * shape   that of the argument.
 * cost    the steps of the formula for each element.
 */
#include "op/infer.h"
#include "op/rules.h"

/* Row-major results, whatever the argument's strides. */
static cfx_status plain_float_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, 0);
    if (!cfx_dtype_is_float((cfx_dtype)x->dtype))
        return cfx_infer_refuse(call, (cfx_dtype)x->dtype);
    return cfx_call_out(call, (cfx_dtype)x->dtype, x->rank, x->shape);
}

/* ---- Towards 0 ---- */

static cfx_status lambda_run(cfx_call *call)
{
    double params[3] = {cfx_call_double(call, 1)};
    return cfx_unary_params(call, params);
}

static cfx_status softshrink_infer(cfx_call *call)
{
    double lambda = cfx_call_double(call, 1);
    if (!(lambda >= 0) && !cfx_infer_is_unknown(call, lambda))
        return cfx_call_fail(
            call, CFX_EINVAL,
            "lambda must be greater or equal to 0, but found to be %g.",
            lambda);
    return cfx_unary_only_float(call);
}

const cfx_op cfx_op__hardshrink = {
    .schema = "hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor",
    .aliases = "torch. torch.nn.functional. Tensor. aten.",
    .doc = "x, or 0 where it is between -lambd and lambd.",
    .flags = CFX_OP_POINTWISE,
    .code = CFX_PW_HARDSHRINK,
    .infer = cfx_unary_only_float,
    .run = lambda_run,
};

const cfx_op cfx_op__softshrink = {
    .schema = "softshrink(Tensor self, Scalar lambd=0.5) -> Tensor",
    .aliases = "torch.nn.functional. aten.",
    .doc = "x moved towards 0 by lambd, at most to 0.",
    .flags = CFX_OP_POINTWISE,
    .code = CFX_PW_SOFTSHRINK,
    .infer = softshrink_infer,
    .cost = cfx_cost_1_0,
    .run = lambda_run,
};

const cfx_op cfx_op__tanhshrink = {
    .schema = "tanhshrink(Tensor input) -> Tensor",
    .aliases = "torch.nn.functional.",
    .doc = "x - tanh(x).",
    .flags = CFX_OP_POINTWISE | CFX_OP_COMPLEX,
    .code = CFX_PW_TANHSHRINK,
    .infer = cfx_unary_float_no_bool,
    .cost = cfx_cost_2_1,
    .loop = cfx_unary_loop,
    .run = cfx_loop_call,
};

const cfx_op cfx_op__softsign = {
    .schema = "softsign(Tensor input) -> Tensor",
    .aliases = "torch.nn.functional.",
    .doc = "x / (1 + abs(x)).",
    .flags = CFX_OP_POINTWISE | CFX_OP_COMPLEX,
    .code = CFX_PW_SOFTSIGN,
    .infer = cfx_unary_float_no_bool,
    .cost = cfx_cost_3_1,
    .loop = cfx_unary_loop,
    .run = cfx_loop_call,
};

const cfx_op cfx_op__log_sigmoid = {
    .schema = "log_sigmoid(Tensor self) -> Tensor",
    .aliases = "torch.nn.functional.logsigmoid torch._C._nn.log_sigmoid aten.",
    .doc = "The logarithm of sigmoid(x).",
    .flags = CFX_OP_POINTWISE,
    .code = CFX_PW_LOGSIGMOID,
    .infer = plain_float_infer,
    .cost = cfx_cost_4_2,
    .loop = cfx_unary_loop,
    .run = cfx_loop_call,
};

/* ---- logit, nan_to_num ---- */

static cfx_status logit_run(cfx_call *call)
{
    double params[3] = {cfx_call_has(call, 1) ? cfx_call_double(call, 1) : -1};
    return cfx_unary_params(call, params);
}

const cfx_op cfx_op__logit = {
    .schema = "logit(Tensor self, float? eps=None) -> Tensor",
    .aliases = "torch. Tensor. aten.",
    .doc = "log(x / (1 - x)), x first kept between eps and 1 - eps.",
    .flags = CFX_OP_POINTWISE | CFX_OP_INPLACE,
    .code = CFX_PW_LOGIT,
    .infer = cfx_unary_float,
    .cost = cfx_cost_3_2,
    .run = logit_run,
};

static cfx_status nan_to_num_run(cfx_call *call)
{
    cfx_dtype type = (cfx_dtype)call->out[0]->dtype;
    if (!cfx_dtype_is_float(type))
        return cfx_tensor_copy(call->out[0], cfx_call_tensor(call, 0),
                               call->err);
    double most = cfx_dtypes[type].largest;
    double params[3] = {
        cfx_call_has(call, 1) ? cfx_call_double(call, 1) : 0,
        cfx_call_has(call, 2) ? cfx_call_double(call, 2) : most,
        cfx_call_has(call, 3) ? cfx_call_double(call, 3) : -most,
    };
    return cfx_unary_params(call, params);
}

const cfx_op cfx_op__nan_to_num = {
    .schema =
        "nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor",
    .aliases = "torch. Tensor. aten.",
    .doc = "Numbers in place of NaN and the infinities.",
    .flags = CFX_OP_POINTWISE | CFX_OP_INPLACE,
    .code = CFX_PW_NAN_TO_NUM,
    .infer = cfx_unary_like,
    .run = nan_to_num_run,
};
