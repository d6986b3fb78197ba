/*
 * binary -- two tensors in, broadcast against each other; one out.
 *
 * shape   that of both, broadcast.
 * type    the promoted type of both; of a division a float; of a comparison
 *         bool.
 * cost    the steps of the formula for each element of the result.
 *
 * A number may stand for either in arithmetic, for the second in comparisons.
 */
#include "op/rules.h"

/* ---- add and sub: self + alpha * other ---- */

CFX_PARAMS(params, SELF, OTHER, ALPHA);

static bool is_one(cfx_value v)
{
    return cfx_value_number(v) == 1;
}

static cfx_status scaled_infer(cfx_call *call)
{
    cfx_dtype type = cfx_infer_type(call, 0, 2);
    if (call->op->code == CFX_PW_SUB && type == CFX_BOOL)
        return cfx_call_fail(
            call, CFX_EDTYPE,
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator instead.");
    cfx_status st = cfx_binary_alpha(call, ALPHA, type,
                                     call->op->code == CFX_PW_SUB);
    return st ? st : cfx_infer_pointwise(call, 0, 2, type);
}

static bool scaled_loop(const cfx_call *call, cfx_loop *out)
{
    cfx_dtype type = cfx_binary_type(call, CFX_PW_ADD);
    cfx_value alpha = cfx_call_value(call, ALPHA);
    bool sub = call->op->code == CFX_PW_SUB;
    cfx_loop_of(call, out, (cfx_pw)call->op->code, type, 2);
    if (is_one(alpha))
        return true;
    /* A complex number is not negated: self + sign * other * alpha. */
    if (alpha.kind == CFX_COMPLEX) {
        out->code = CFX_PW_ADDCMUL;
        out->in[out->n++] = alpha;
        out->in[out->n++] = cfx_int(sub ? -1 : 1);
        return true;
    }
    /* For bools `or`; with alpha 0 the first. */
    if (type == CFX_BOOL) {
        out->code = CFX_PW_ADD;
        out->in[1] = out->in[alpha.u.i != 0];
        return true;
    }
    if (alpha.kind == CFX_FLOAT)
        alpha.u.f = sub ? -alpha.u.f : alpha.u.f;
    else if (sub)
        alpha.u.i = (int64_t)(0 - (uint64_t)alpha.u.i);
    out->code = CFX_PW_ADD_SCALED;
    out->in[out->n++] = alpha;
    return true;
}

static void scaled_cost(const cfx_call *call, cfx_cost *cost)
{
    cfx_cost_pointwise(call, cost, is_one(cfx_call_value(call, ALPHA)) ? 1 : 2,
                       0);
}

/* ATen's takes alpha by its place too. */
static const cfx_variant add_variants[] = {
    {"aten.add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
     NULL},
    {NULL, NULL},
};

const cfx_op cfx_op__add = {
    .schema = "add.Tensor(" CFX_TWO_NUMBERS ", *, Scalar alpha=1) -> Tensor",
    .params = params,
    .aliases =
        "torch. Tensor. Tensor.__add__ Tensor.__radd__ operator.add aten. .Scalar(Tensor|Scalar,Scalar)",
    .inplace_aliases = "operator.iadd Tensor.__iadd__",
    .variants = add_variants,
    .doc = "self + alpha * other.",
    .flags = CFX_OP_POINTWISE | CFX_OP_INPLACE | CFX_OP_COMMUTES |
             CFX_OP_COMPLEX,
    .code = CFX_PW_ADD,
    .infer = scaled_infer,
    .cost = scaled_cost,
    .loop = scaled_loop,
    .run = cfx_loop_call,
};

/* ATen's takes alpha by its place too. */
static const cfx_variant sub_variants[] = {
    {"aten.sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
     NULL},
    {NULL, NULL},
};

const cfx_op cfx_op__sub = {
    .schema = "sub.Tensor(" CFX_TWO_NUMBERS ", *, Scalar alpha=1) -> Tensor",
    .params = params,
    .aliases =
        "torch. torch.subtract Tensor. Tensor.subtract Tensor.__sub__ operator.sub aten. .Scalar(Tensor|Scalar,Scalar)",
    .inplace_aliases = "operator.isub Tensor.__isub__",
    .variants = sub_variants,
    .doc = "self - alpha * other.",
    .flags = CFX_OP_POINTWISE | CFX_OP_INPLACE | CFX_OP_COMPLEX,
    .code = CFX_PW_SUB,
    .infer = scaled_infer,
    .cost = scaled_cost,
    .loop = scaled_loop,
    .run = cfx_loop_call,
};

/* ---- The others ---- */

#define BINARY_RUN(name, overload, list, code_, more_, infer_, cost_,         \
                   aliases_, inplace_, doc_, loop_, run_)                     \
    const cfx_op cfx_op__##name = {                                           \
        .schema = #name overload "(" list ") -> Tensor",                      \
        .params = params,                                                     \
        .aliases = aliases_,                                                  \
        .inplace_aliases = inplace_,                                          \
        .doc = doc_,                                                          \
        .flags = CFX_OP_POINTWISE | CFX_OP_INPLACE | more_,                   \
        .code = CFX_PW_##code_,                                               \
        .infer = infer_,                                                      \
        .cost = cost_,                                                        \
        .loop = loop_,                                                        \
        .run = run_,                                                          \
    };
#define BINARY(name, overload, list, code_, more_, ...)                       \
    BINARY_RUN(name, overload, list, code_, more_, __VA_ARGS__,               \
               cfx_binary_loop, cfx_binary_run)

/* Python multiplies a tensor by a number from either side, and divides a number
 * by a tensor as reciprocal() * number: both round a number in other places. */
static bool number_first_loop(const cfx_call *call, cfx_loop *out)
{
    cfx_value self = cfx_call_value(call, SELF);
    cfx_value other = cfx_call_value(call, OTHER);
    if (!cfx_binary_loop(call, out))
        return false;
    if (self.kind == CFX_TENSOR || other.kind != CFX_TENSOR)
        return true;
    out->code = call->op->code == CFX_PW_MUL ? CFX_PW_MUL : CFX_PW_RDIV;
    out->in[0] = other;
    out->in[1] = self;
    return true;
}

static cfx_status number_first_run(cfx_call *call)
{
    cfx_loop l;
    return number_first_loop(call, &l)
               ? cfx_loop_run(call, (cfx_pw)l.code, l.type, l.in, 2, NULL)
               : cfx_binary_run(call);
}

BINARY_RUN(
    mul, ".Tensor", CFX_TWO_NUMBERS, MUL, CFX_OP_COMMUTES | CFX_OP_COMPLEX,
    cfx_binary_same, cfx_cost_1_0,
    "torch. torch.multiply Tensor. Tensor.multiply Tensor.__mul__ Tensor.__rmul__ operator.mul .Tensor .Scalar(Tensor|Scalar,Scalar)",
    "operator.imul Tensor.__imul__", "The product.", number_first_loop,
    number_first_run)
BINARY_RUN(
    true_divide, ".Tensor", CFX_TWO_NUMBERS, DIV, CFX_OP_COMPLEX,
    cfx_binary_float, cfx_cost_1_1,
    "torch. Tensor. Tensor.__truediv__ Tensor.__div__ operator.truediv .Tensor .Scalar(Tensor|Scalar,Scalar)",
    "operator.itruediv Tensor.__itruediv__", "The quotient, a float.",
    number_first_loop, number_first_run)
BINARY(maximum, "", CFX_TWO_TENSORS, MAXIMUM, CFX_OP_COMMUTES, cfx_binary_same,
       cfx_cost_0_0, "torch. Tensor. aten.", NULL,
       "The greater of two; NaN if either is.")
BINARY(minimum, "", CFX_TWO_TENSORS, MINIMUM, CFX_OP_COMMUTES, cfx_binary_same,
       cfx_cost_0_0, "torch. Tensor. aten.", NULL,
       "The lesser of two; NaN if either is.")

#define COMPARE(name, code_, more_, aliases_, doc_)                           \
    BINARY(name, ".Tensor", CFX_NUMBER_SECOND, code_, more_, cfx_binary_bool, \
           cfx_cost_0_0,                                                      \
           "torch. Tensor. Tensor.__" #name "__ operator. aten." CFX_TT       \
           " .Scalar" CFX_TS aliases_,                                        \
           NULL, doc_)

COMPARE(eq, EQ, CFX_OP_COMMUTES | CFX_OP_COMPLEX, "", "Are they equal?")
COMPARE(ne, NE, CFX_OP_COMMUTES | CFX_OP_COMPLEX,
        " torch.not_equal Tensor.not_equal", "Are they not equal?")
COMPARE(lt, LT, 0, " torch.less Tensor.less", "Is the first less?")
COMPARE(le, LE, 0, " torch.less_equal Tensor.less_equal",
        "Is the first not more?")
COMPARE(gt, GT, 0, " torch.greater Tensor.greater", "Is the first more?")
COMPARE(ge, GE, 0, " torch.greater_equal Tensor.greater_equal",
        "Is the first not less?")
