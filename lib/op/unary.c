/*
 * unary -- one tensor in, one out, element by element.
 *
 * shape   that of the argument.
 * cost    the steps of the formula for each element.
 *
 * Those of the first list keep the type of their argument, those of the second
 * give floats for integers, those of the third bools.
 */
#include <math.h>

#include "kernel/pointwise.h"
#include "op/infer.h"
#include "op/loop.h"

static cfx_status same_infer(cfx_call *call)
{
    return cfx_infer_pointwise(call, 0, 1,
                               (cfx_dtype)cfx_call_tensor(call, 0)->dtype);
}

/* For those that have no meaning for some types. */
static cfx_status refuse(cfx_call *call)
{
    return cfx_call_fail(call, CFX_EDTYPE, "not implemented for %s",
                         cfx_dtypes[cfx_call_tensor(call, 0)->dtype].name);
}

static cfx_status number_infer(cfx_call *call)
{
    bool is_bool = cfx_call_tensor(call, 0)->dtype == CFX_BOOL;
    return is_bool ? refuse(call) : same_infer(call);
}

static cfx_status only_float_infer(cfx_call *call)
{
    cfx_dtype type = (cfx_dtype)cfx_call_tensor(call, 0)->dtype;
    return cfx_dtype_is_float(type) ? same_infer(call) : refuse(call);
}

static cfx_status float_infer(cfx_call *call)
{
    return cfx_infer_pointwise(call, 0, 1, cfx_infer_float_type(call, 0, 1));
}

static cfx_status bool_infer(cfx_call *call)
{
    return cfx_infer_pointwise(call, 0, 1, CFX_BOOL);
}

static void one_cost(const cfx_call *call, cfx_cost *cost)
{
    cfx_cost_pointwise(call, cost, 1, 0);
}

static void transcendental_cost(const cfx_call *call, cfx_cost *cost)
{
    cfx_cost_pointwise(call, cost, 1, 1);
}

static void no_cost(const cfx_call *call, cfx_cost *cost)
{
    cfx_cost_pointwise(call, cost, 0, 0);
}

/* The formula is computed in the result's type, or, where that is bool, in the
 * argument's. Integers are their own floor. */
static cfx_status unary_run(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, 0), *y = call->out[0];
    cfx_pw code = (cfx_pw)call->op->code;
    cfx_dtype type = (cfx_dtype)(cfx_pointwise_is_bool(code) ? x->dtype
                                                             : y->dtype);
    if (cfx_pointwise_has(code, type))
        return cfx_loop_run(call, code, type, call->in, 1, NULL);
    cfx_iter it;
    cfx_loop_out(&it, y);
    cfx_loop_in(&it, x);
    cfx_copy(call->ctx, &it);
    return CFX_OK;
}

#define UNARY(name, code_, infer_, cost_, doc_)                               \
    const cfx_op cfx_op__##name = {                                           \
        .schema = #name "(Tensor self) -> Tensor",                            \
        .aliases = "torch." #name " Tensor." #name " aten." #name ".default", \
        .doc = doc_,                                                          \
        .flags = CFX_OP_POINTWISE | CFX_OP_INPLACE,                           \
        .code = CFX_PW_##code_,                                               \
        .infer = infer_,                                                      \
        .cost = cost_,                                                        \
        .run = unary_run,                                                     \
    };

UNARY(sign, SIGN, same_infer, no_cost, "-1, 0 or 1, as the element's sign.")
UNARY(square, SQUARE, same_infer, one_cost, "The square of each element.")
UNARY(floor, FLOOR, same_infer, one_cost, "Round down.")
UNARY(ceil, CEIL, same_infer, one_cost, "Round up.")
UNARY(frac, FRAC, only_float_infer, one_cost, "What is behind the point.")

UNARY(exp, EXP, float_infer, transcendental_cost, "e to each element.")
UNARY(exp2, EXP2, float_infer, transcendental_cost, "2 to each element.")
UNARY(expm1, EXPM1, float_infer, transcendental_cost, "exp(x) - 1.")
UNARY(log, LOG, float_infer, transcendental_cost, "The natural logarithm.")
UNARY(log2, LOG2, float_infer, transcendental_cost, "The binary logarithm.")
UNARY(log10, LOG10, float_infer, transcendental_cost,
      "The decimal logarithm.")
UNARY(log1p, LOG1P, float_infer, transcendental_cost, "log(1 + x).")
UNARY(sqrt, SQRT, float_infer, transcendental_cost, "The square root.")
UNARY(rsqrt, RSQRT, float_infer, transcendental_cost,
      "One over the square root.")
UNARY(reciprocal, RECIPROCAL, float_infer, transcendental_cost,
      "One over each element.")
UNARY(sin, SIN, float_infer, transcendental_cost, "The sine.")
UNARY(cos, COS, float_infer, transcendental_cost, "The cosine.")
UNARY(tan, TAN, float_infer, transcendental_cost, "The tangent.")
UNARY(sinh, SINH, float_infer, transcendental_cost, "The hyperbolic sine.")
UNARY(cosh, COSH, float_infer, transcendental_cost, "The hyperbolic cosine.")
UNARY(lgamma, LGAMMA, float_infer, transcendental_cost,
      "The logarithm of the gamma function's magnitude.")

UNARY(isnan, ISNAN, bool_infer, no_cost, "Is it not a number?")
UNARY(isinf, ISINF, bool_infer, no_cost, "Is it infinite?")
UNARY(isfinite, ISFINITE, bool_infer, no_cost,
      "Is it neither infinite nor NaN?")
UNARY(isposinf, ISPOSINF, bool_infer, no_cost, "Is it plus infinity?")
UNARY(isneginf, ISNEGINF, bool_infer, no_cost, "Is it minus infinity?")
UNARY(logical_not, LOGICAL_NOT, bool_infer, no_cost, "Is it zero?")

/* Those that have other names too. */
#define UNARY_ALSO(name, code_, infer_, cost_, aliases_, inplace_, doc_) \
    const cfx_op cfx_op__##name = {                                      \
        .schema = #name "(Tensor self) -> Tensor",                       \
        .aliases = aliases_,                                             \
        .inplace_aliases = inplace_,                                     \
        .doc = doc_,                                                     \
        .flags = CFX_OP_POINTWISE | CFX_OP_INPLACE,                      \
        .code = CFX_PW_##code_,                                          \
        .infer = infer_,                                                 \
        .cost = cost_,                                                   \
        .run = unary_run,                                                \
    };

UNARY_ALSO(abs, ABS, same_infer, one_cost,
           "torch.abs torch.absolute Tensor.abs Tensor.absolute "
           "Tensor.__abs__ operator.abs builtins.abs aten.abs.default",
           NULL, "The magnitude.")
UNARY_ALSO(neg, NEG, number_infer, one_cost,
           "torch.neg torch.negative Tensor.neg Tensor.negative "
           "Tensor.__neg__ operator.neg aten.neg.default",
           NULL, "The negative.")
UNARY_ALSO(trunc, TRUNC, same_infer, one_cost,
           "torch.trunc torch.fix Tensor.trunc Tensor.fix aten.trunc.default",
           NULL, "Round towards zero.")
UNARY_ALSO(bitwise_not, BITWISE_NOT, same_infer, one_cost,
           "torch.bitwise_not Tensor.bitwise_not Tensor.__invert__ "
           "operator.invert operator.inv aten.bitwise_not.default",
           NULL, "The complement of the bits; of a bool, its negation.")
UNARY_ALSO(tanh, TANH, float_infer, transcendental_cost,
           "torch.tanh torch.nn.functional.tanh Tensor.tanh "
           "aten.tanh.default",
           NULL, "The hyperbolic tangent.")
UNARY_ALSO(sigmoid, SIGMOID, float_infer, transcendental_cost,
           "torch.sigmoid torch.nn.functional.sigmoid torch.expit "
           "Tensor.sigmoid aten.sigmoid.default",
           NULL, "1 / (1 + exp(-x)).")
UNARY_ALSO(asin, ASIN, float_infer, transcendental_cost,
           "torch.asin torch.arcsin Tensor.asin Tensor.arcsin "
           "aten.asin.default",
           NULL, "The arc sine.")
UNARY_ALSO(acos, ACOS, float_infer, transcendental_cost,
           "torch.acos torch.arccos Tensor.acos Tensor.arccos "
           "aten.acos.default",
           NULL, "The arc cosine.")
UNARY_ALSO(atan, ATAN, float_infer, transcendental_cost,
           "torch.atan torch.arctan Tensor.atan Tensor.arctan "
           "aten.atan.default",
           NULL, "The arc tangent.")
UNARY_ALSO(asinh, ASINH, float_infer, transcendental_cost,
           "torch.asinh torch.arcsinh Tensor.asinh Tensor.arcsinh "
           "aten.asinh.default",
           NULL, "The area hyperbolic sine.")
UNARY_ALSO(acosh, ACOSH, float_infer, transcendental_cost,
           "torch.acosh torch.arccosh Tensor.acosh Tensor.arccosh "
           "aten.acosh.default",
           NULL, "The area hyperbolic cosine.")
UNARY_ALSO(atanh, ATANH, float_infer, transcendental_cost,
           "torch.atanh torch.arctanh Tensor.atanh Tensor.arctanh "
           "aten.atanh.default",
           NULL, "The area hyperbolic tangent.")
UNARY_ALSO(erf, ERF, float_infer, transcendental_cost,
           "torch.erf Tensor.erf aten.erf.default", NULL,
           "The error function.")
UNARY_ALSO(erfc, ERFC, float_infer, transcendental_cost,
           "torch.erfc Tensor.erfc aten.erfc.default", NULL,
           "One less the error function.")

/* ---- round, perhaps to so many decimals ---- */

static cfx_status round_decimals_run(cfx_call *call)
{
    const cfx_tensor *y = call->out[0];
    int64_t n = cfx_call_int(call, 1);
    double param[] = {pow(10, (double)(n < 0 ? -n : n)), n < 0};
    cfx_iter it;
    cfx_loop_out(&it, y);
    cfx_loop_in(&it, cfx_call_tensor(call, 0));
    cfx_pointwise(call->ctx, CFX_PW_ROUND_DECIMALS, (cfx_dtype)y->dtype, &it,
                  param);
    return CFX_OK;
}

static const cfx_op round_decimals = {
    .schema = "round.decimals(Tensor self, *, int decimals) -> Tensor",
    .aliases = "torch.round Tensor.round aten.round.decimals",
    .doc = "Round to so many decimals, ties to even.",
    .flags = CFX_OP_POINTWISE | CFX_OP_INPLACE,
    .infer = only_float_infer,
    .cost = one_cost,
    .run = round_decimals_run,
};

const cfx_op cfx_op__round = {
    .schema = "round(Tensor self) -> Tensor",
    .aliases = "torch.round Tensor.round aten.round.default",
    .doc = "Round to the nearest, ties to even.",
    .flags = CFX_OP_POINTWISE | CFX_OP_INPLACE,
    .code = CFX_PW_ROUND,
    .infer = same_infer,
    .cost = one_cost,
    .run = unary_run,
    .next = &round_decimals,
};
