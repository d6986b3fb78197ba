/*
 * elementary -- functions of numbers that are made of others: deg2rad, sinc,
 * logaddexp2, entr, isclose, ...
 *
 * shape   that of the arguments, broadcast.
 * type    floating, which of integers is float32.
 * cost    that of the operators they consist of.
 */
#include <math.h>

#include "op/composite.h"
#include "op/infer.h"
#include "op/rules.h"

CFX_PARAMS(params, SELF, OTHER, EXPONENT, RTOL, ATOL, EQUAL_NAN, WEIGHT);

#define IN(k) cfx_call_value(call, k)

static cfx_value num(double v)
{
    return cfx_float(v);
}

static cfx_value to(cfx_scope *s, cfx_value x, cfx_dtype type)
{
    return x.kind == CFX_TENSOR
               ? CFX_CALL(s, "Tensor.to", x, cfx_value_of_dtype(type))
               : x;
}

/* Argument k, in float32 where the result is of 16 bits: it is rounded once. */
static cfx_value wide(cfx_scope *s, const cfx_call *call, int k,
                      cfx_dtype type)
{
    return to(s, IN(k), cfx_dtype_size(type) == 2 ? CFX_F32 : type);
}

/* y, or `otherwise` where x is not a number. */
static cfx_value where_number(cfx_scope *s, cfx_value x, cfx_value y)
{
    return CFX_CALL(s, "torch.where", CFX_CALL(s, "torch.isnan", x), x, y);
}

/* ---- One argument ---- */

static cfx_value deg2rad_build(cfx_scope *s, const cfx_call *call)
{
    return CFX_CALL(s, "torch.mul", IN(SELF), num(M_PI / 180));
}

static cfx_value rad2deg_build(cfx_scope *s, const cfx_call *call)
{
    return CFX_CALL(s, "torch.mul", IN(SELF), num(180 / M_PI));
}

static cfx_value sinc_build(cfx_scope *s, const cfx_call *call)
{
    cfx_dtype type = cfx_infer_float_type(call, 0, 1);
    cfx_value x = wide(s, call, 0, type);
    cfx_value angle = CFX_CALL(s, "torch.mul", x, num(M_PI));
    cfx_value y = CFX_CALL(s, "torch.div", CFX_CALL(s, "torch.sin", angle),
                           angle);
    cfx_value none = CFX_CALL(s, "torch.eq", x, cfx_int(0));
    return to(s, CFX_CALL(s, "torch.where", none, num(1), y), type);
}

static cfx_value entr_build(cfx_scope *s, const cfx_call *call)
{
    cfx_dtype type = cfx_infer_float_type(call, 0, 1);
    cfx_value x = wide(s, call, 0, type);
    cfx_value y = CFX_CALL(s, "torch.mul", CFX_CALL(s, "torch.neg", x),
                           CFX_CALL(s, "torch.log", x));
    cfx_value zero = CFX_CALL(s, "torch.eq", x, cfx_int(0));
    cfx_value less = CFX_CALL(s, "torch.lt", x, cfx_int(0));
    y = CFX_CALL(s, "torch.where", zero, num(0), y);
    y = CFX_CALL(s, "torch.where", less, num(-INFINITY), y);
    return to(s, y, type);
}

/* (1 + erf(x / sqrt(2))) / 2, which below -1 loses digits. */
static cfx_value ndtr_build(cfx_scope *s, const cfx_call *call)
{
    cfx_dtype type = cfx_infer_float_type(call, 0, 1);
    cfx_value x = wide(s, call, 0, type);
    cfx_value t = CFX_CALL(s, "torch.mul", x, num(M_SQRT1_2));
    cfx_value low = CFX_CALL(s, "torch.erfc", CFX_CALL(s, "torch.neg", t));
    cfx_value high = CFX_CALL(s, "torch.add", CFX_CALL(s, "torch.erf", t),
                              num(1));
    cfx_value y = CFX_CALL(s, "torch.where",
                           CFX_CALL(s, "torch.lt", x, num(-1)), low, high);
    return to(s, CFX_CALL(s, "torch.mul", y, num(0.5)), type);
}

static cfx_value isreal_build(cfx_scope *s, const cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    if (cfx_dtype_is_complex((cfx_dtype)x->dtype))
        return CFX_CALL(s, "torch.eq", CFX_CALL(s, "torch.imag", IN(SELF)),
                        cfx_int(0));
    cfx_value key[] = {cfx_str(s, "dtype"), cfx_value_of_dtype(CFX_BOOL)};
    return cfx_call_function(s, "torch.ones_like",
                             (cfx_args){(cfx_value[]){IN(SELF)}, 1, key, 1});
}

/* ---- Two arguments ---- */

static cfx_value ldexp_build(cfx_scope *s, const cfx_call *call)
{
    return CFX_CALL(s, "torch.mul", IN(SELF),
                    CFX_CALL(s, "torch.pow", num(2), IN(OTHER)));
}

/* The greater, and what the other adds; infinities of one sign have no
 * difference. */
static cfx_value logaddexp2_build(cfx_scope *s, const cfx_call *call)
{
    cfx_dtype type = cfx_infer_type(call, 0, 2);
    if (!cfx_dtype_is_float(type))
        return cfx_scope_fail(s, CFX_EDTYPE,
                              "logaddexp2: not implemented for %s",
                              cfx_dtypes[type].name);
    cfx_value a = wide(s, call, 0, type), b = wide(s, call, 1, type);
    cfx_value most = CFX_CALL(s, "torch.maximum", a, b);
    cfx_value far = CFX_CALL(s, "torch.abs", CFX_CALL(s, "torch.sub", a, b));
    cfx_value more = CFX_CALL(s, "torch.exp2", CFX_CALL(s, "torch.neg", far));
    more = CFX_CALL(s, "torch.mul", CFX_CALL(s, "torch.log1p", more),
                    num(1 / M_LN2));
    cfx_value same = CFX_CALL(s, "torch.logical_and",
                              CFX_CALL(s, "torch.eq", a, b),
                              CFX_CALL(s, "torch.isinf", a));
    return to(s,
              CFX_CALL(s, "torch.where", same, a,
                       CFX_CALL(s, "torch.add", most, more)),
              type);
}

/* 0 where a is, unless b is not a number. */
static cfx_value xlog1py_build(cfx_scope *s, const cfx_call *call)
{
    cfx_dtype type = cfx_infer_float_type(call, 0, 2);
    cfx_value a = wide(s, call, 0, type), b = wide(s, call, 1, type);
    if (b.kind != CFX_TENSOR)
        b = CFX_CALL(s, "torch.full_like", a, b);
    cfx_value y = CFX_CALL(s, "torch.mul", a, CFX_CALL(s, "torch.log1p", b));
    if (a.kind != CFX_TENSOR)
        a = CFX_CALL(s, "torch.full_like", b, a);
    y = CFX_CALL(s, "torch.where", CFX_CALL(s, "torch.eq", a, cfx_int(0)),
                 num(0), y);
    return to(s, where_number(s, b, y), type);
}

static cfx_value float_power_build(cfx_scope *s, const cfx_call *call)
{
    cfx_dtype type = cfx_dtype_is_complex(cfx_infer_type(call, 0, 2))
                         ? CFX_C128
                         : CFX_F64;
    return CFX_CALL(s, "torch.pow", to(s, IN(SELF), type),
                    to(s, IN(EXPONENT), type));
}

/* |a - b| <= atol + |rtol * b|, or equal. */
static cfx_value isclose_build(cfx_scope *s, const cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    const cfx_tensor *y = cfx_call_tensor(call, OTHER);
    cfx_value rtol = IN(RTOL), atol = IN(ATOL);
    bool whole = cfx_dtypes[x->dtype].category < CFX_CAT_FLOAT;
    if (x->dtype != y->dtype)
        return cfx_scope_fail(s, CFX_EDTYPE, "isclose: %s did not match %s",
                              cfx_dtypes[x->dtype].name,
                              cfx_dtypes[y->dtype].name);
    if (!(rtol.u.f >= 0) || !(atol.u.f >= 0))
        return cfx_scope_fail(
            s, CFX_EINVAL,
            "isclose: %s must be greater than or equal to zero, but got %g",
            rtol.u.f >= 0 ? "atol" : "rtol",
            rtol.u.f >= 0 ? atol.u.f : rtol.u.f);
    cfx_value close = CFX_CALL(s, "torch.eq", IN(SELF), IN(OTHER));
    if (cfx_call_bool(call, EQUAL_NAN) && !whole)
        close = CFX_CALL(s, "torch.logical_or", close,
                         CFX_CALL(s, "torch.logical_and",
                                  CFX_CALL(s, "torch.isnan", IN(SELF)),
                                  CFX_CALL(s, "torch.isnan", IN(OTHER))));
    if (rtol.u.f == 0 && atol.u.f == 0)
        return close;
    cfx_value b = whole ? to(s, IN(OTHER), CFX_F32) : IN(OTHER);
    cfx_value allowed = CFX_CALL(s, "torch.abs",
                                 CFX_CALL(s, "torch.mul", b, rtol));
    allowed = CFX_CALL(s, "torch.add", allowed, atol);
    cfx_value error = CFX_CALL(s, "torch.abs",
                               CFX_CALL(s, "torch.sub", IN(SELF), b));
    cfx_value near = CFX_CALL(s, "torch.logical_and",
                              CFX_CALL(s, "torch.isfinite", error),
                              CFX_CALL(s, "torch.le", error, allowed));
    return CFX_CALL(s, "torch.logical_or", close, near);
}

/* prelu whose weight broadcasts: what prelu is in graphs of ATen. */
static cfx_value _prelu_kernel_build(cfx_scope *s, const cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    const cfx_tensor *w = cfx_call_tensor(call, WEIGHT);
    if (x->dtype != w->dtype || !cfx_dtype_is_float((cfx_dtype)x->dtype))
        return cfx_scope_fail(
            s, CFX_EDTYPE,
            "_prelu_kernel: expected two tensors of one floating type, but got %s and %s",
            cfx_dtypes[x->dtype].name, cfx_dtypes[w->dtype].name);
    cfx_value low = CFX_CALL(s, "torch.mul", IN(SELF), IN(WEIGHT));
    return CFX_CALL(s, "torch.where",
                    CFX_CALL(s, "torch.gt", IN(SELF), cfx_int(0)), IN(SELF),
                    low);
}

/* The buffer is exp(-|x|), which the gradient needs. */
static cfx_value log_sigmoid_forward_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value x = IN(SELF), y;
    y = CFX_CALL(s, "torch.nn.functional.logsigmoid", x);
    cfx_value far = CFX_CALL(s, "torch.neg", CFX_CALL(s, "torch.abs", x));
    far = CFX_CALL(s, "torch.exp", far);
    return cfx_tuple(s, y, CFX_CALL(s, "Tensor.contiguous", far));
}

/* ---- Descriptors ---- */

#define ELEMENTARY(name, list, flags_, aliases_, doc_)                        \
    CFX_COMPOSITE(name)                                                       \
    const cfx_op cfx_op__##name = {                                           \
        .schema = #name "(" list ") -> Tensor",                               \
        .params = params,                                                     \
        .aliases = aliases_,                                                  \
        .doc = doc_,                                                          \
        .flags = flags_,                                                      \
        .infer = name##_infer,                                                \
        .cost = name##_cost,                                                  \
        .run = name##_run,                                                    \
    };

ELEMENTARY(deg2rad, "Tensor self", CFX_OP_INPLACE, "torch. Tensor. aten.",
           "Degrees in radians.")
ELEMENTARY(rad2deg, "Tensor self", CFX_OP_INPLACE, "torch. Tensor. aten.",
           "Radians in degrees.")
ELEMENTARY(sinc, "Tensor self", CFX_OP_INPLACE | CFX_OP_COMPLEX,
           "torch. Tensor. aten.", "sin(pi x) / (pi x), which of 0 is 1.")
ELEMENTARY(entr, "Tensor self", 0,
           "torch.special.entr aten.special_entr.default",
           "-x log(x), which of 0 is 0.")
ELEMENTARY(
    ndtr, "Tensor self", 0,
    "torch.special.ndtr torch._C._special.special_ndtr aten.special_ndtr.default",
    "The normal distribution's cumulative probability.")
ELEMENTARY(isreal, "Tensor self", CFX_OP_COMPLEX, "torch. Tensor. aten.",
           "Has it no imaginary part?")
ELEMENTARY(ldexp, CFX_TWO_TENSORS, CFX_OP_INPLACE | CFX_OP_COMPLEX,
           "torch. Tensor. .Tensor aten.", "x times 2 to y.")
ELEMENTARY(logaddexp2, CFX_TWO_TENSORS, 0, "torch. Tensor. aten.",
           "The binary logarithm of 2 to x plus 2 to y.")
ELEMENTARY(xlog1py, CFX_ONE_NUMBER, 0,
           "torch.special.xlog1py aten.special_xlog1py.default" CFX_TT
           " aten.special_xlog1py.other_scalar" CFX_TS
           " aten.special_xlog1py.self_scalar" CFX_ST,
           "x log(1 + y), which is 0 where x is.")
ELEMENTARY(float_power, "Tensor/Scalar self, Tensor/Scalar exponent",
           CFX_OP_COMPLEX,
           "torch. Tensor. .Tensor_Tensor" CFX_TT " .Tensor_Scalar" CFX_TS
           " .Scalar" CFX_ST,
           "A power, computed in float64.")
ELEMENTARY(isclose,
           CFX_TWO_TENSORS
           ", float rtol=1e-05, float atol=1e-08, bool equal_nan=False",
           CFX_OP_COMPLEX, "torch. Tensor. aten.",
           "Do two tensors hold nearly the same?")
ELEMENTARY(_prelu_kernel, "Tensor self, Tensor weight", 0, "torch. aten.",
           "x, or x * weight where x is not above 0.")

CFX_COMPOSITE(log_sigmoid_forward)
const cfx_op cfx_op__log_sigmoid_forward = {
    .schema = "log_sigmoid_forward(Tensor self) -> (Tensor, Tensor)",
    .params = params,
    .aliases = "aten.",
    .doc = "The logarithm of sigmoid(x), and exp(-|x|).",
    .infer = log_sigmoid_forward_infer,
    .cost = log_sigmoid_forward_cost,
    .run = log_sigmoid_forward_run,
};
