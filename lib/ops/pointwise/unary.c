/*
 * unary -- one tensor in, one out, element by element.
 *
 * shape   that of the argument.
 * cost    the steps of the formula for each element.
 *
 * Operators of the first list keep the type of their argument, the second give
 * floats for integers, the third bools. COMPLEX ones take complex numbers.
 */
#include <math.h>

#include "op/rules.h"

/* It is the power 2, an integer, and so of bools one too. */
CFX_PARAMS(params, SELF, DECIMALS);

static cfx_status square_infer(cfx_call *call)
{
    cfx_dtype own = (cfx_dtype)cfx_call_tensor(call, SELF)->dtype;
    return cfx_infer_pointwise(call, 0, 1, own == CFX_BOOL ? CFX_I64 : own);
}

/* The formula is computed in the result's type, or, where that is bool, in the
 * argument's. Integers are their own floor. */
static bool unary_loop(const cfx_call *call, cfx_loop *out)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF), *y = call->out[0];
    cfx_pw code = (cfx_pw)call->op->code;
    bool own = cfx_pointwise_is_bool(code) ||
               cfx_dtype_is_complex((cfx_dtype)x->dtype);
    cfx_dtype type = (cfx_dtype)(own ? x->dtype : y->dtype);
    cfx_loop_of(call, out, code, type, 1);
    if (!cfx_pointwise_has(code, type))
        out->code = CFX_LOOP_COPY;
    return true;
}

#define UNARY_(name, more_, code_, infer_, cost_, doc_)                       \
    const cfx_op cfx_op__##name = {                                           \
        .schema = #name "(Tensor self) -> Tensor",                            \
        .params = params,                                                     \
        .aliases = "torch. Tensor. aten.",                                    \
        .doc = doc_,                                                          \
        .flags = CFX_OP_POINTWISE | CFX_OP_INPLACE | more_,                   \
        .code = CFX_PW_##code_,                                               \
        .infer = infer_,                                                      \
        .cost = cost_,                                                        \
        .loop = unary_loop,                                                   \
        .run = cfx_loop_call,                                                 \
    };

#define UNARY(name, ...) UNARY_(name, 0, __VA_ARGS__)
#define COMPLEX(name, ...) UNARY_(name, CFX_OP_COMPLEX, __VA_ARGS__)

COMPLEX(square, SQUARE, square_infer, cfx_cost_1_0,
        "The square of each element.")
UNARY(floor, FLOOR, cfx_unary_no_bool, cfx_cost_1_0, "Round down.")
UNARY(ceil, CEIL, cfx_unary_no_bool, cfx_cost_1_0, "Round up.")
UNARY(frac, FRAC, cfx_unary_only_float, cfx_cost_1_0, "The fractional part.")

COMPLEX(exp, EXP, cfx_unary_float, cfx_cost_1_1, "e to each element.")
COMPLEX(exp2, EXP2, cfx_unary_float, cfx_cost_1_1, "2 to each element.")
COMPLEX(expm1, EXPM1, cfx_unary_float, cfx_cost_1_1, "exp(x) - 1.")
COMPLEX(log, LOG, cfx_unary_float, cfx_cost_1_1, "The natural logarithm.")
COMPLEX(log2, LOG2, cfx_unary_float, cfx_cost_1_1, "The binary logarithm.")
COMPLEX(log10, LOG10, cfx_unary_float, cfx_cost_1_1, "The decimal logarithm.")
COMPLEX(log1p, LOG1P, cfx_unary_float, cfx_cost_1_1, "log(1 + x).")
COMPLEX(sqrt, SQRT, cfx_unary_float, cfx_cost_1_1, "The square root.")
COMPLEX(rsqrt, RSQRT, cfx_unary_float, cfx_cost_1_1,
        "One over the square root.")
COMPLEX(reciprocal, RECIPROCAL, cfx_unary_float, cfx_cost_1_1,
        "One over each element.")
COMPLEX(sin, SIN, cfx_unary_float, cfx_cost_1_1, "The sine.")
COMPLEX(cos, COS, cfx_unary_float, cfx_cost_1_1, "The cosine.")
COMPLEX(tan, TAN, cfx_unary_float, cfx_cost_1_1, "The tangent.")
COMPLEX(sinh, SINH, cfx_unary_float, cfx_cost_1_1, "The hyperbolic sine.")
COMPLEX(cosh, COSH, cfx_unary_float, cfx_cost_1_1, "The hyperbolic cosine.")

COMPLEX(isnan, ISNAN, cfx_unary_bool, cfx_cost_0_0, "Is it not a number?")
COMPLEX(isinf, ISINF, cfx_unary_bool, cfx_cost_0_0, "Is it infinite?")
COMPLEX(isfinite, ISFINITE, cfx_unary_bool, cfx_cost_0_0,
        "Is it neither infinite nor NaN?")
UNARY(isposinf, ISPOSINF, cfx_unary_bool, cfx_cost_0_0, "Is it plus infinity?")
UNARY(isneginf, ISNEGINF, cfx_unary_bool, cfx_cost_0_0,
      "Is it minus infinity?")
UNARY(signbit, SIGNBIT, cfx_unary_bool, cfx_cost_0_0,
      "Is its sign negative, be it that of 0?")
COMPLEX(logical_not, LOGICAL_NOT, cfx_unary_bool, cfx_cost_0_0, "Is it zero?")

/* Operators with additional aliases. */
#define UNARY_ALSO_(name, more_, code_, infer_, cost_, aliases_, inplace_,    \
                    doc_)                                                     \
    const cfx_op cfx_op__##name = {                                           \
        .schema = #name "(Tensor self) -> Tensor",                            \
        .params = params,                                                     \
        .aliases = aliases_,                                                  \
        .inplace_aliases = inplace_,                                          \
        .doc = doc_,                                                          \
        .flags = CFX_OP_POINTWISE | CFX_OP_INPLACE | more_,                   \
        .code = CFX_PW_##code_,                                               \
        .infer = infer_,                                                      \
        .cost = cost_,                                                        \
        .loop = unary_loop,                                                   \
        .run = cfx_loop_call,                                                 \
    };

#define UNARY_ALSO(name, ...) UNARY_ALSO_(name, 0, __VA_ARGS__)
#define COMPLEX_ALSO(name, ...) UNARY_ALSO_(name, CFX_OP_COMPLEX, __VA_ARGS__)
#define ACTIVATION(name, ...)                                                 \
    UNARY_ALSO_(name, CFX_OP_COMPLEX | CFX_OP_ACTIVATION, __VA_ARGS__)

/* A complex number's is real. */
static cfx_status abs_infer(cfx_call *call)
{
    cfx_dtype type = (cfx_dtype)cfx_call_tensor(call, SELF)->dtype;
    if (!cfx_dtype_is_complex(type))
        return cfx_unary_no_bool(call);
    return call->inplace
               ? cfx_call_fail(
                     call, CFX_EDTYPE,
                     "In-place abs is not supported for complex tensors.")
               : cfx_infer_pointwise(call, 0, 1, cfx_dtype_real(type));
}

COMPLEX_ALSO(
    abs, ABS, abs_infer, cfx_cost_1_0,
    "torch. torch.absolute Tensor. Tensor.absolute Tensor.__abs__ operator.abs builtins.abs aten.",
    NULL, "The magnitude.")
static cfx_status sign_infer(cfx_call *call)
{
    cfx_dtype type = (cfx_dtype)cfx_call_tensor(call, SELF)->dtype;
    return cfx_dtype_is_complex(type)
               ? cfx_call_fail(
                     call, CFX_EDTYPE,
                     "Unlike NumPy, torch.sign doesn't return the sign of complex tensors. Use torch.sgn.")
               : cfx_unary_same(call);
}

UNARY_ALSO(sign, SIGN, sign_infer, cfx_cost_0_0, "torch. Tensor. aten.", NULL,
           "-1, 0 or 1, as the element's sign.")
COMPLEX_ALSO(
    sgn, SIGN, cfx_unary_same, cfx_cost_0_0, "torch. Tensor. aten.", NULL,
    "The sign; of a complex number that of magnitude 1 with its angle.")
COMPLEX_ALSO(
    neg, NEG, cfx_unary_no_bool, cfx_cost_1_0,
    "torch. torch.negative Tensor. Tensor.negative Tensor.__neg__ operator.neg aten.",
    NULL, "The negative.")
UNARY_ALSO(trunc, TRUNC, cfx_unary_no_bool, cfx_cost_1_0,
           "torch. torch.fix Tensor. Tensor.fix aten.", NULL,
           "Round towards zero.")
UNARY_ALSO(
    bitwise_not, BITWISE_NOT, cfx_unary_whole, cfx_cost_1_0,
    "torch. Tensor. Tensor.__invert__ operator.invert operator.inv aten.",
    NULL, "The complement of the bits; of a bool, its negation.")
ACTIVATION(tanh, TANH, cfx_unary_float, cfx_cost_1_1,
           "torch. torch.nn.functional. Tensor. aten.", NULL,
           "The hyperbolic tangent.")
ACTIVATION(sigmoid, SIGMOID, cfx_unary_float, cfx_cost_4_2,
           "torch. torch.nn.functional. torch.special.expit Tensor. aten.",
           NULL, "1 / (1 + exp(-x)).")
COMPLEX_ALSO(asin, ASIN, cfx_unary_float, cfx_cost_1_1,
             "torch. torch.arcsin Tensor. Tensor.arcsin aten.", NULL,
             "The arc sine.")
COMPLEX_ALSO(acos, ACOS, cfx_unary_float, cfx_cost_1_1,
             "torch. torch.arccos Tensor. Tensor.arccos aten.", NULL,
             "The arc cosine.")
COMPLEX_ALSO(atan, ATAN, cfx_unary_float, cfx_cost_1_1,
             "torch. torch.arctan Tensor. Tensor.arctan aten.", NULL,
             "The arc tangent.")
COMPLEX_ALSO(asinh, ASINH, cfx_unary_float, cfx_cost_1_1,
             "torch. torch.arcsinh Tensor. Tensor.arcsinh aten.", NULL,
             "The area hyperbolic sine.")
COMPLEX_ALSO(acosh, ACOSH, cfx_unary_float, cfx_cost_1_1,
             "torch. torch.arccosh Tensor. Tensor.arccosh aten.", NULL,
             "The area hyperbolic cosine.")
COMPLEX_ALSO(atanh, ATANH, cfx_unary_float, cfx_cost_1_1,
             "torch. torch.arctanh Tensor. Tensor.arctanh aten.", NULL,
             "The area hyperbolic tangent.")
UNARY_ALSO(erf, ERF, cfx_unary_float, cfx_cost_1_1, "torch. Tensor. aten.",
           NULL, "The error function.")
UNARY_ALSO(lgamma, LGAMMA, cfx_unary_float, cfx_cost_1_1,
           "torch. torch.special.gammaln Tensor. aten.", NULL,
           "The logarithm of the gamma function's magnitude.")
UNARY_ALSO(erfc, ERFC, cfx_unary_float, cfx_cost_1_1, "torch. Tensor. aten.",
           NULL, "One less the error function.")

/* ---- round, perhaps to so many decimals ---- */

static cfx_status round_decimals_run(cfx_call *call)
{
    const cfx_tensor *y = call->out[0];
    int64_t n = cfx_call_int(call, DECIMALS);
    double param[] = {pow(10, fabs((double)n)), n < 0};
    cfx_iter it;
    cfx_loop_out(&it, y);
    cfx_loop_in(&it, cfx_call_tensor(call, SELF));
    cfx_pointwise(call->ctx, CFX_PW_ROUND_DECIMALS, (cfx_dtype)y->dtype, &it,
                  param);
    return CFX_OK;
}

static const cfx_op round_decimals = {
    .schema = "round.decimals(Tensor self, *, int decimals) -> Tensor",
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc = "Round to so many decimals, ties to even.",
    .flags = CFX_OP_POINTWISE | CFX_OP_INPLACE,
    .infer = cfx_unary_only_float,
    .cost = cfx_cost_1_0,
    .run = round_decimals_run,
};

const cfx_op cfx_op__round = {
    .schema = "round(Tensor self) -> Tensor",
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc = "Round to the nearest, ties to even.",
    .flags = CFX_OP_POINTWISE | CFX_OP_INPLACE,
    .code = CFX_PW_ROUND,
    .infer = cfx_unary_no_bool,
    .cost = cfx_cost_1_0,
    .loop = unary_loop,
    .run = cfx_loop_call,
    .next = &round_decimals,
};
