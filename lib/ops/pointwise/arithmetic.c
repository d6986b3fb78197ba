/*
 * arithmetic -- other operators on two or three tensors: powers, rounded
 * quotients, bits, logic, clamps.
 *
 * shape   that of all, broadcast.
 * type    the promoted type, with the exceptions told below.
 * cost    the steps of the formula for each element of the result.
 */
#include <math.h>
#include <string.h>

#include "op/list.h"
#include "op/op_impl.h"
#include "op/rules.h"

CFX_PARAMS(params, SELF, OTHER, ROUNDING_MODE, ALPHA, EXPONENT, MIN, MAX,
           TENSOR1, TENSOR2, VALUE, END, WEIGHT);

/* `code` over the first n arguments, where the type has it. */
static bool loop_code(const cfx_call *call, cfx_loop *out, cfx_pw code,
                      cfx_dtype type, int n)
{
    return cfx_loop_of(call, out, code, type, n) &&
           cfx_pointwise_has(code, type);
}

/* Run the loop of a call, or refuse its type. */
static cfx_status run_loop(cfx_call *call)
{
    cfx_loop l;
    return call->op->loop(call, &l)
               ? cfx_loop_run(call, (cfx_pw)l.code, l.type, l.in, l.n, NULL)
               : cfx_infer_refuse(call, l.type);
}

/* ---- Two arguments of one type ---- */

/* Both must be of one type. */
static cfx_status heaviside_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    const cfx_tensor *y = cfx_call_tensor(call, OTHER);
    if (x->dtype != y->dtype)
        return cfx_call_fail(
            call, CFX_EDTYPE,
            "heaviside is not yet implemented for tensors with different dtypes.");
    return cfx_binary_same(call);
}

#define TWO(name, list, code_, more_, infer_, cost_, aliases_, inplace_,      \
            doc_)                                                             \
    const cfx_op cfx_op__##name = {                                           \
        .schema = #name "(" list ") -> Tensor",                               \
        .params = params,                                                     \
        .aliases = "torch. Tensor. " aliases_,                                \
        .inplace_aliases = inplace_,                                          \
        .doc = doc_,                                                          \
        .flags = CFX_OP_POINTWISE | CFX_OP_INPLACE | more_,                   \
        .code = CFX_PW_##code_,                                               \
        .infer = infer_,                                                      \
        .cost = cost_,                                                        \
        .loop = cfx_binary_loop,                                              \
        .run = cfx_binary_run,                                                \
    };

#define TENSORS(name, code_, more_, infer_, cost_, aliases_, doc_)            \
    TWO(name, CFX_TWO_TENSORS, code_, more_, infer_, cost_, aliases_, NULL,   \
        doc_)

TENSORS(atan2, ATAN2, 0, cfx_binary_float, cfx_cost_1_1,
        "torch.arctan2 Tensor.arctan2 aten.",
        "The angle of a point given as (y, x).")
TENSORS(fmax, FMAX, CFX_OP_COMMUTES, cfx_binary_same, cfx_cost_0_0, "aten.",
        "The greater of two, passing over NaN.")
TENSORS(fmin, FMIN, CFX_OP_COMMUTES, cfx_binary_same, cfx_cost_0_0, "aten.",
        "The lesser of two, passing over NaN.")
TENSORS(hypot, HYPOT, 0, cfx_binary_only_float, cfx_cost_1_1, "aten.",
        "The length of (x, y).")
TENSORS(heaviside, HEAVISIDE, 0, heaviside_infer, cfx_cost_0_0, "aten.",
        "0 or 1, as the element's sign, and of 0 another's element.")
TENSORS(logaddexp, LOGADDEXP, CFX_OP_COMPLEX, cfx_binary_same, cfx_cost_4_3,
        "aten.", "log(exp(x) + exp(y)).")
TENSORS(logical_and, LOGICAL_AND, CFX_OP_COMMUTES | CFX_OP_COMPLEX,
        cfx_binary_bool, cfx_cost_0_0, "aten.", "Are both nonzero?")
TENSORS(logical_or, LOGICAL_OR, CFX_OP_COMMUTES | CFX_OP_COMPLEX,
        cfx_binary_bool, cfx_cost_0_0, "aten.", "Is either nonzero?")
TENSORS(logical_xor, LOGICAL_XOR, CFX_OP_COMMUTES | CFX_OP_COMPLEX,
        cfx_binary_bool, cfx_cost_0_0, "aten.", "Is just one nonzero?")

TWO(fmod, CFX_NUMBER_SECOND, FMOD, 0, cfx_binary_same, cfx_cost_1_1,
    ".Tensor" CFX_TT " .Scalar" CFX_TS, NULL,
    "What is left of a division, with the dividend's sign.")
TWO(copysign, CFX_NUMBER_SECOND, COPYSIGN, 0, cfx_binary_float, cfx_cost_0_0,
    ".Tensor" CFX_TT " .Scalar" CFX_TS, NULL,
    "The magnitude of one with the sign of another.")
TWO(remainder, CFX_ONE_NUMBER, REMAINDER, 0, cfx_binary_same, cfx_cost_1_1,
    "operator.mod Tensor.__mod__ .Tensor" CFX_TT " .Scalar" CFX_TS
    " .Scalar_Tensor" CFX_ST,
    "operator.imod Tensor.__imod__",
    "What is left of a division, with the divisor's sign.")
TWO(floor_divide, CFX_TWO_NUMBERS, DIV_FLOOR, 0, cfx_binary_same, cfx_cost_1_1,
    "operator.floordiv Tensor.__floordiv__ aten. .Scalar(Tensor|Scalar,Scalar)",
    "operator.ifloordiv Tensor.__ifloordiv__ aten.floor_divide_.Tensor",
    "The quotient, rounded down.")
TWO(xlogy, CFX_ONE_NUMBER, XLOGY, 0, cfx_binary_float, cfx_cost_2_1,
    ".Tensor" CFX_TT " .Scalar_Other" CFX_TS " .Scalar_Self" CFX_ST
    " aten.special_xlogy.default" CFX_TT
    " aten.special_xlogy.other_scalar" CFX_TS
    " aten.special_xlogy.self_scalar" CFX_ST,
    NULL, "x * log(y), and 0 where x is 0.")

/* Python's `name` is __`name`__ and __i`name`__ in ATen, too. */
#define BITWISE(name, python, code_, more_, aliases_, doc_)                   \
    TWO(name, CFX_ONE_NUMBER, code_, more_, cfx_binary_same, cfx_cost_1_0,    \
        "Tensor.__" python "__ .Tensor" CFX_TT " .Scalar_Tensor" CFX_ST       \
        " aten.__" python "__.Tensor" CFX_TT " aten.__" python                \
        "__.Scalar" CFX_TS " " aliases_,                                      \
        "operator.i" python " Tensor.__i" python "__ aten.__i" python         \
        "__.Tensor" CFX_TT " aten.__i" python "__.Scalar" CFX_TS,             \
        doc_)

BITWISE(bitwise_and, "and", BITWISE_AND, CFX_OP_COMMUTES,
        "operator.and_ Tensor.__rand__ .Scalar" CFX_TS,
        "The bits that both have.")
BITWISE(bitwise_or, "or", BITWISE_OR, CFX_OP_COMMUTES,
        "operator.or_ Tensor.__ror__ .Scalar" CFX_TS,
        "The bits that either has.")
BITWISE(bitwise_xor, "xor", BITWISE_XOR, CFX_OP_COMMUTES,
        "operator.xor Tensor.__rxor__ .Scalar" CFX_TS,
        "The bits that just one has.")
BITWISE(bitwise_left_shift, "lshift", SHIFT_LEFT, 0,
        "operator.lshift .Tensor_Scalar" CFX_TS,
        "The bits, moved to the left.")
BITWISE(bitwise_right_shift, "rshift", SHIFT_RIGHT, 0,
        "operator.rshift .Tensor_Scalar" CFX_TS,
        "The bits, moved to the right; the sign stays.")

/* ---- div, with its rounding ---- */

/* The state of a call. */
struct div {
    cfx_pw code;
};

static cfx_status read_mode(cfx_call *call, cfx_pw *code)
{
    const char *mode = cfx_call_str(call, ROUNDING_MODE);
    *code = !mode                    ? CFX_PW_DIV
            : !strcmp(mode, "trunc") ? CFX_PW_DIV_TRUNC
                                     : CFX_PW_DIV_FLOOR;
    if (mode && strcmp(mode, "trunc") && strcmp(mode, "floor"))
        return cfx_call_fail(
            call, CFX_EINVAL,
            "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '%s'",
            mode);
    return CFX_OK;
}

static cfx_status div_infer(cfx_call *call)
{
    struct div *d = call->state;
    cfx_status st = read_mode(call, &d->code);
    if (!st && !cfx_pointwise_has(d->code, cfx_infer_float_type(call, 0, 2)))
        st = cfx_infer_refuse(call, cfx_infer_float_type(call, 0, 2));
    if (st)
        return st;
    return d->code == CFX_PW_DIV
               ? cfx_binary_float(call)
               : cfx_infer_pointwise(call, 0, 2, cfx_infer_type(call, 0, 2));
}

static bool div_loop(const cfx_call *call, cfx_loop *out)
{
    const struct div *d = call->state;
    cfx_dtype type = d->code == CFX_PW_DIV ? cfx_infer_float_type(call, 0, 2)
                                           : cfx_infer_type(call, 0, 2);
    return loop_code(call, out, d->code, type, 2);
}

const cfx_op cfx_op__div = {
    .schema = "div.Tensor_mode(" CFX_TWO_NUMBERS
              ", *, str? rounding_mode=None) -> Tensor",
    .params = params,
    .aliases =
        "torch. torch.divide Tensor. Tensor.divide .Tensor .Scalar(Tensor|Scalar,Scalar) aten. .Scalar_mode(Tensor|Scalar,Scalar)",
    .doc = "The quotient, rounded as asked.",
    .flags = CFX_OP_POINTWISE | CFX_OP_INPLACE | CFX_OP_COMPLEX,
    .state_size = sizeof(struct div),
    .infer = div_infer,
    .cost = cfx_cost_1_1,
    .loop = div_loop,
    .run = run_loop,
};

/* ---- rsub: other - alpha * self ---- */

static bool rsub_loop(const cfx_call *call, cfx_loop *out)
{
    cfx_value alpha = cfx_call_value(call, ALPHA);
    bool complex = alpha.kind == CFX_COMPLEX;
    if (alpha.kind == CFX_FLOAT)
        alpha.u.f = -alpha.u.f;
    else if (!complex)
        alpha.u.i = (int64_t)(0 - (uint64_t)alpha.u.i);
    cfx_loop_of(call, out, complex ? CFX_PW_ADDCMUL : CFX_PW_ADD_SCALED,
                (cfx_dtype)call->out[0]->dtype, 0);
    out->in[out->n++] = cfx_call_value(call, OTHER);
    out->in[out->n++] = cfx_call_value(call, SELF);
    out->in[out->n++] = alpha;
    if (complex)
        out->in[out->n++] = cfx_int(-1);
    return true;
}

static cfx_status rsub_infer(cfx_call *call)
{
    cfx_dtype type = cfx_infer_type(call, 0, 2);
    cfx_status st = type == CFX_BOOL
                        ? cfx_infer_refuse(call, type)
                        : cfx_binary_alpha(call, ALPHA, type, true);
    return st ? st : cfx_infer_pointwise(call, 0, 2, type);
}

static const cfx_variant rsub_variants[] = {
    {"aten.rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
     NULL},
    {NULL, NULL},
};

const cfx_op cfx_op__rsub = {
    .schema = "rsub.Tensor(" CFX_NUMBER_SECOND
              ", *, Scalar alpha=1) -> Tensor",
    .params = params,
    .aliases = "torch. Tensor.__rsub__ aten." CFX_TT " .Scalar" CFX_TS,
    .variants = rsub_variants,
    .doc = "other - alpha * self.",
    .flags = CFX_OP_POINTWISE | CFX_OP_COMPLEX,
    .infer = rsub_infer,
    .cost = cfx_cost_1_0,
    .loop = rsub_loop,
    .run = cfx_loop_call,
};

/* ---- pow ---- */

/* Integers to a negative integer are refused where that is known. */
static cfx_status pow_infer(cfx_call *call)
{
    cfx_dtype type = cfx_infer_type(call, 0, 2);
    cfx_value e = cfx_call_value(call, EXPONENT);
    if (cfx_dtypes[type].category < CFX_CAT_FLOAT && e.kind == CFX_INT &&
        e.u.i < 0)
        return cfx_call_fail(
            call, CFX_EINVAL,
            "Integers to negative integer powers are not allowed.");
    if (type == CFX_BOOL && e.kind != CFX_TENSOR)
        type = CFX_BOOL;
    if (e.kind == CFX_COMPLEX && cfx_infer_type(call, 0, 1) == CFX_F16)
        return cfx_call_fail(
            call, CFX_EDTYPE,
            "float16 has no complex powers; convert it to float32 first");
    return cfx_infer_pointwise(call, 0, e.kind == CFX_TENSOR ? 2 : 1, type);
}

static bool is_number(cfx_value v, double n)
{
    return v.kind != CFX_TENSOR && cfx_value_number(v) == n;
}

static bool pow_loop(const cfx_call *call, cfx_loop *out)
{
    cfx_value e = cfx_call_value(call, EXPONENT);
    cfx_dtype type = cfx_infer_type(call, 0, 2);
    if (type == CFX_BOOL)
        type = CFX_I64;
    cfx_pw code = e.kind == CFX_TENSOR
                      ? CFX_PW_POW
                      : cfx_pointwise_power(cfx_value_number(e), type);
    return loop_code(call, out, code, type, code == CFX_PW_POW ? 2 : 1);
}

static void pow_cost(const cfx_call *call, cfx_cost *cost)
{
    cfx_cost_pointwise(call, cost, 1,
                       !is_number(cfx_call_value(call, EXPONENT), 2));
}

const cfx_op cfx_op__pow = {
    .schema =
        "pow.Tensor_Tensor(Tensor/Scalar self, Tensor/Scalar exponent) -> Tensor",
    .params = params,
    .aliases =
        "torch. Tensor. Tensor.__pow__ operator.pow torch._tensor.pow aten." CFX_TT
        " .Tensor_Scalar" CFX_TS " .Scalar" CFX_ST,
    .inplace_aliases = "operator.ipow Tensor.__ipow__ aten.pow_.Tensor" CFX_TT
                       " aten.pow_.Scalar" CFX_TS,
    .doc = "The first to the power of the second.",
    .flags = CFX_OP_POINTWISE | CFX_OP_INPLACE | CFX_OP_COMPLEX,
    .infer = pow_infer,
    .cost = pow_cost,
    .loop = pow_loop,
    .run = run_loop,
};

/* ---- clamp ---- */

/* Bounds that are None are no arguments; one at least must be there. Tensor
 * bounds take part in the broadcast and in the type. */
static cfx_status clamp_infer(cfx_call *call)
{
    cfx_dtype type = cfx_infer_type(call, 0, 3);
    if (!cfx_call_has(call, MIN) && !cfx_call_has(call, MAX))
        return cfx_call_fail(
            call, CFX_EINVAL,
            "At least one of 'min' or 'max' must not be None");
    if (type == CFX_BOOL)
        return cfx_infer_refuse(call, type);
    cfx_status st = cfx_list_check_whole(call, 1, 3, type);
    return st ? st : cfx_infer_pointwise(call, 0, 3, type);
}

static bool clamp_loop(const cfx_call *call, cfx_loop *out)
{
    cfx_dtype type = cfx_infer_type(call, 0, 3);
    bool min = cfx_call_has(call, MIN), max = cfx_call_has(call, MAX);
    cfx_pw code = min && max ? CFX_PW_CLAMP
                  : min      ? CFX_PW_MAXIMUM
                             : CFX_PW_MINIMUM;
    cfx_loop_of(call, out, code, type, 0);
    out->in[out->n++] = cfx_call_value(call, SELF);
    if (min)
        out->in[out->n++] = cfx_call_value(call, MIN);
    if (max)
        out->in[out->n++] = cfx_call_value(call, MAX);
    return true;
}

#define CLAMP(symbol, schema_, aliases_, next_)                               \
    const cfx_op symbol = {                                                   \
        .schema = schema_,                                                    \
        .params = params,                                                     \
        .aliases = aliases_,                                                  \
        .doc = "Each element, kept between two bounds.",                      \
        .flags = CFX_OP_POINTWISE | CFX_OP_INPLACE,                           \
        .infer = clamp_infer,                                                 \
        .cost = cfx_cost_0_0,                                                 \
        .loop = clamp_loop,                                                   \
        .run = cfx_loop_call,                                                 \
        .next = next_,                                                        \
    };

/* clang-format off */
static CLAMP(clamp_tensor,
    "clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor",
    "torch. torch.clip Tensor. Tensor.clip .Tensor", NULL)
CLAMP(cfx_op__clamp,
    "clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor",
    "torch. torch.clip Tensor. Tensor.clip aten.",
    &clamp_tensor)
    /* clang-format on */

    /* With one bound: the schema has None for the other. */
    static cfx_status clamp_one_infer(cfx_call *call)
{
    cfx_dtype type = cfx_infer_type(call, 0, 2);
    cfx_status st = cfx_list_check_whole(call, 1, 2, type);
    return st ? st : cfx_binary_same(call);
}

#define CLAMP_ONE(name, bound, code_)                                         \
    static bool name##_loop(const cfx_call *call, cfx_loop *out)              \
    {                                                                         \
        return loop_code(call, out, code_, cfx_infer_type(call, 0, 2), 2);    \
    }                                                                         \
    const cfx_op cfx_op__##name = {                                           \
        .schema = #name "(Tensor self, Tensor|Scalar " bound ") -> Tensor",   \
        .params = params,                                                     \
        .aliases = "torch. Tensor. aten." CFX_TS " .Tensor" CFX_TT,           \
        .doc = "Each element, kept from passing a bound.",                    \
        .flags = CFX_OP_POINTWISE | CFX_OP_INPLACE,                           \
        .code = code_,                                                        \
        .infer = clamp_one_infer,                                             \
        .cost = cfx_cost_0_0,                                                 \
        .loop = name##_loop,                                                  \
        .run = run_loop,                                                      \
    };

CLAMP_ONE(clamp_min, "min", CFX_PW_MAXIMUM)
CLAMP_ONE(clamp_max, "max", CFX_PW_MINIMUM)

/* ---- Three arguments ---- */

static cfx_status three_infer(cfx_call *call)
{
    cfx_dtype type = cfx_infer_type(call, 0, 3);
    if (!cfx_pointwise_has((cfx_pw)call->op->code, type))
        return cfx_infer_refuse(call, type);
    cfx_status st = cfx_list_check_factor(call, cfx_call_value(call, VALUE),
                                          type);
    return st ? st : cfx_infer_pointwise(call, 0, 3, type);
}

static bool addcmul_loop(const cfx_call *call, cfx_loop *out)
{
    return loop_code(call, out, (cfx_pw)call->op->code,
                     cfx_infer_type(call, 0, 3), 4);
}

static void three_cost(const cfx_call *call, cfx_cost *cost)
{
    bool lerp = call->op->code == CFX_PW_LERP;
    bool scaled = lerp || cfx_call_double(call, VALUE) != 1;
    cfx_cost_pointwise(call, cost, 2 + scaled,
                       call->op->code == CFX_PW_ADDCDIV);
}

#define ADDC(name, code_, doc_)                                               \
    const cfx_op cfx_op__##name = {                                           \
        .schema = #name "(Tensor self, Tensor tensor1, Tensor tensor2, *, "   \
                        "Scalar value=1) -> Tensor",                          \
        .params = params,                                                     \
        .aliases = "torch. Tensor. aten.",                                    \
        .doc = doc_,                                                          \
        .flags = CFX_OP_POINTWISE | CFX_OP_INPLACE | CFX_OP_COMPLEX,          \
        .code = code_,                                                        \
        .infer = three_infer,                                                 \
        .cost = three_cost,                                                   \
        .loop = addcmul_loop,                                                 \
        .run = run_loop,                                                      \
    };

ADDC(addcmul, CFX_PW_ADDCMUL, "self + value * tensor1 * tensor2.")
ADDC(addcdiv, CFX_PW_ADDCDIV, "self + value * tensor1 / tensor2.")

/* There is no promotion between tensors. */
static cfx_status lerp_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    for (int k = END; x && k <= WEIGHT; k++) {
        const cfx_tensor *t = cfx_call_tensor(call, k);
        if (t && t->dtype != x->dtype)
            return cfx_call_fail(call, CFX_EDTYPE,
                                 "expected dtype %s for '%s' but got dtype %s",
                                 cfx_dtypes[x->dtype].name,
                                 cfx_call__param_name(call, k),
                                 cfx_dtypes[t->dtype].name);
    }
    for (int k = END; x && k <= WEIGHT; k++) {
        cfx_status st = cfx_list_check_factor(call, cfx_call_value(call, k),
                                              (cfx_dtype)x->dtype);
        if (st)
            return st;
    }
    return three_infer(call);
}

static bool lerp_loop(const cfx_call *call, cfx_loop *out)
{
    return loop_code(call, out, CFX_PW_LERP, cfx_infer_type(call, 0, 2), 3);
}

const cfx_op cfx_op__lerp = {
    .schema = "lerp(Tensor self, Tensor end, Tensor|Scalar weight) -> Tensor",
    .params = params,
    .aliases =
        "torch. Tensor. .Tensor(Tensor,Tensor,Tensor) .Scalar(Tensor,Tensor,Scalar)",
    .doc = "self + weight * (end - self).",
    .flags = CFX_OP_POINTWISE | CFX_OP_INPLACE | CFX_OP_COMPLEX,
    .code = CFX_PW_LERP,
    .infer = lerp_infer,
    .cost = three_cost,
    .loop = lerp_loop,
    .run = run_loop,
};
