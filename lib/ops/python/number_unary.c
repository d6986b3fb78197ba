/*
 * number_unary -- one number in, one out: signs, conversions, and the
 * functions of Python's math.
 *
 * NaN stands for a float that is not known, as that of an extent that is a
 * symbol; the int that is made of it is a symbol again, as item() gives one.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/util.h"
#include "op/infer.h"
#include "ops/index/indexing.h"

static cfx_status unsupported(cfx_call *call)
{
    return cfx_call_fail(call, CFX_EUNSUPPORTED, "bad operand type: '%s'",
                         cfx_kind_name(call->in[0].kind));
}

/* A float of an extent that is a symbol. */
static cfx_status unknown_float(cfx_call *call)
{
    return call->env ? cfx_call_return_take(call, cfx_float((double)NAN))
                     : unsupported(call);
}

/* ---- Signs and bits ---- */

static cfx_status neg_infer(cfx_call *call)
{
    cfx_value v = call->in[0];
    if (v.kind == CFX_FLOAT)
        return cfx_call_return_take(call, cfx_float(-v.u.f));
    if (v.kind == CFX_SYMINT)
        return cfx_call_return_take(
            call, cfx_value_of_dim(cfx_dim_neg(call->env, v.u.dim)));
    if (v.kind == CFX_COMPLEX)
        return unsupported(call);
    return v.u.i == INT64_MIN ? cfx_infer_overflow(call)
                              : cfx_call_return_take(call, cfx_int(-v.u.i));
}

static cfx_status pos_infer(cfx_call *call)
{
    cfx_value v = call->in[0];
    if (v.kind == CFX_BOOL_VALUE)
        v = cfx_int(v.u.i);
    return cfx_call_return_take(call, cfx_value_ref(v));
}

static cfx_status abs_infer(cfx_call *call)
{
    cfx_value v = call->in[0];
    cfx_dim zero = cfx_dim_int(0);
    if (v.kind == CFX_FLOAT)
        return cfx_call_return_take(call, cfx_float(fabs(v.u.f)));
    if (v.kind == CFX_COMPLEX)
        return unsupported(call);
    if (v.kind == CFX_SYMINT)
        return cfx_dim_known_le(call->env, zero, v.u.dim)
                   ? cfx_call_return_take(call, v)
                   : cfx_call_return_take(
                         call, cfx_value_of_dim(cfx_dim_max(
                                   call->env, v.u.dim,
                                   cfx_dim_neg(call->env, v.u.dim))));
    if (v.u.i == INT64_MIN)
        return cfx_infer_overflow(call);
    return cfx_call_return_take(call, cfx_int(v.u.i < 0 ? -v.u.i : v.u.i));
}

static cfx_status invert_infer(cfx_call *call)
{
    cfx_value v = call->in[0];
    if (v.kind == CFX_INT || v.kind == CFX_BOOL_VALUE)
        return cfx_call_return_take(call, cfx_int(~v.u.i));
    if (v.kind == CFX_SYMINT)
        return cfx_call_return_take(
            call, cfx_value_of_dim(
                      cfx_dim_sub(call->env, cfx_dim_int(-1), v.u.dim)));
    return unsupported(call);
}

#define NUMBER(name, aliases_, infer_, doc_)                                  \
    const cfx_op cfx_op__number_##name = {                                    \
        .schema = "number_" #name "(Scalar self) -> Scalar",                  \
        .aliases = aliases_,                                                  \
        .doc = doc_,                                                          \
        .infer = infer_,                                                      \
    };

NUMBER(neg, "operator.neg", neg_infer, "A number with the other sign.")
NUMBER(pos, "operator.pos operator.index", pos_infer, "The number itself.")
NUMBER(abs, "operator.abs builtins.abs", abs_infer,
       "The magnitude of a number.")
NUMBER(invert, "operator.invert operator.inv", invert_infer,
       "The complement of an int's bits.")

/* ---- Conversions ---- */

static cfx_status float_to_int(cfx_call *call, double f)
{
    cfx_dim n;
    if (isnan(f) && call->meta && call->env) {
        cfx_status st = cfx_infer_unknown_extent(call, &n);
        return st ? st : cfx_call_return_take(call, cfx_value_of_dim(n));
    }
    if (isnan(f) || isinf(f))
        return cfx_call_fail(call, CFX_EINVAL,
                             "cannot convert float %s to integer",
                             isnan(f) ? "NaN" : "infinity");
    if (!(f >= -0x1p63 && f < 0x1p63))
        return cfx_infer_overflow(call);
    return cfx_call_return_take(call, cfx_int((int64_t)f));
}

static cfx_status text_to_number(cfx_call *call, bool to_int)
{
    const char *text = call->in[0].u.str->text;
    char *end;
    double f = cfx_strtod(text, &end);
    if (to_int && strspn(text, "+-0123456789") != strlen(text))
        end = (char *)(uintptr_t)text;
    if (end == text || *end)
        return cfx_call_fail(call, CFX_EINVAL,
                             "could not convert string to number: '%s'", text);
    if (to_int && !(f >= -0x1p63 && f < 0x1p63))
        return cfx_infer_overflow(call);
    return cfx_call_return_take(call, to_int ? cfx_int(strtoll(text, NULL, 10))
                                             : cfx_float(f));
}

static cfx_status int_infer(cfx_call *call)
{
    cfx_value v = call->in[0];
    if (v.kind == CFX_FLOAT)
        return float_to_int(call, trunc(v.u.f));
    if (v.kind == CFX_STR)
        return text_to_number(call, true);
    if (v.kind == CFX_COMPLEX)
        return unsupported(call);
    return cfx_call_return_take(call,
                                v.kind == CFX_SYMINT ? v : cfx_int(v.u.i));
}

static cfx_status float_infer(cfx_call *call)
{
    cfx_value v = call->in[0];
    if (v.kind == CFX_STR)
        return text_to_number(call, false);
    if (v.kind == CFX_COMPLEX)
        return unsupported(call);
    return v.kind == CFX_SYMINT
               ? unknown_float(call)
               : cfx_call_return_take(call, cfx_float(cfx_value_number(v)));
}

static const cfx_op int_of_str = {
    .schema = "number_int.str(str self) -> Scalar",
    .aliases = "builtins.int",
    .doc = "The int that a text shows.",
    .infer = int_infer,
};

const cfx_op cfx_op__number_int = {
    .schema = "number_int(Scalar self) -> Scalar",
    .aliases = "builtins.int torch.sym_int math.trunc",
    .doc = "A number without its fraction, as an int.",
    .infer = int_infer,
    .next = &int_of_str,
};

static const cfx_op float_of_str = {
    .schema = "number_float.str(str self) -> Scalar",
    .aliases = "builtins.float",
    .doc = "The float that a text shows.",
    .infer = float_infer,
};

const cfx_op cfx_op__number_float = {
    .schema = "number_float(Scalar self) -> Scalar",
    .aliases = "builtins.float torch.sym_float",
    .doc = "A number as a float.",
    .infer = float_infer,
    .next = &float_of_str,
};

/* ---- Rounding ---- */

static cfx_status floor_infer(cfx_call *call)
{
    cfx_value v = call->in[0];
    if (v.kind == CFX_FLOAT)
        return float_to_int(call, call->op->code ? ceil(v.u.f) : floor(v.u.f));
    return int_infer(call);
}

const cfx_op cfx_op__number_floor = {
    .schema = "number_floor(Scalar self) -> Scalar",
    .aliases = "math.floor",
    .doc = "The greatest int that is not more.",
    .infer = floor_infer,
};

const cfx_op cfx_op__number_ceil = {
    .schema = "number_ceil(Scalar self) -> Scalar",
    .aliases = "math.ceil",
    .doc = "The least int that is not less.",
    .code = 1,
    .infer = floor_infer,
};

/* Rounds to the decimal that printf would show, as Python does; whatever the
 * locale's decimal point is. */
static double round_decimals(double f, int64_t n)
{
    char text[512], *to = text, *end;
    if (n > 323 || !isfinite(f) || (n >= 0 && fabs(f) >= 0x1p52))
        return f;
    if (n < -308)
        return 0 * f;
    if (n < 0) {
        double unit = pow(10, (double)-n);
        return nearbyint(f / unit) * unit;
    }
    snprintf(text, sizeof(text), "%.*f", (int)n, f);
    for (const char *from = text; *from; from++) {
        bool point = *from != '-' && (*from < '0' || *from > '9');
        if (!point || to[-1] != '.')
            *to++ = (char)(point ? '.' : *from);
    }
    *to = '\0';
    return cfx_strtod(text, &end);
}

/* To a multiple of 10^n, ties to the even one. */
static cfx_status round_int(cfx_call *call, int64_t v, int64_t n)
{
    int64_t unit = 1;
    if (n < -18)
        return cfx_call_return_take(call, cfx_int(0));
    for (int64_t i = 0; i > n; i--)
        unit *= 10;
    if (unit > 1 && (v > INT64_MAX - unit || v < INT64_MIN + unit))
        return cfx_infer_overflow(call);
    int64_t rest = v % unit, down = v - rest;
    if (rest < 0) {
        rest += unit;
        down -= unit;
    }
    bool up = rest > unit - rest || (rest == unit - rest && (down / unit) % 2);
    return cfx_call_return_take(call, cfx_int(up ? down + unit : down));
}

static cfx_status round_infer(cfx_call *call)
{
    cfx_value v = call->in[0];
    bool decimals = cfx_call_has(call, 1);
    int64_t n = decimals ? cfx_call_int(call, 1) : 0;
    if (v.kind == CFX_COMPLEX)
        return unsupported(call);
    if (v.kind == CFX_SYMINT)
        return n >= 0 ? cfx_call_return_take(call, v) : unsupported(call);
    if (v.kind != CFX_FLOAT)
        return round_int(call, v.u.i, n < 0 ? n : 0);
    return decimals ? cfx_call_return_take(call,
                                           cfx_float(round_decimals(v.u.f, n)))
                    : float_to_int(call, nearbyint(v.u.f));
}

const cfx_op cfx_op__number_round = {
    .schema = "number_round(Scalar number, int? ndigits=None) -> Scalar",
    .aliases = "builtins.round",
    .doc = "A number rounded to so many decimals, ties to even.",
    .infer = round_infer,
};

/* ---- math ---- */

/* Python raises for arguments outside of the domain, among them the poles of
 * logarithms. */
static cfx_status function_of(cfx_call *call, double (*f)(double x),
                              bool has_pole)
{
    cfx_value v = call->in[0];
    if (v.kind == CFX_COMPLEX)
        return unsupported(call);
    if (v.kind == CFX_SYMINT)
        return unknown_float(call);
    double x = cfx_value_number(v), y = f(x);
    if (isnan(y) && !isnan(x))
        return cfx_call_fail(call, CFX_EINVAL, "math domain error");
    if (isinf(y) && isfinite(x))
        return cfx_call_fail(call, CFX_EINVAL,
                             has_pole ? "math domain error"
                                      : "math range error");
    return cfx_call_return_take(call, cfx_float(y));
}

#define MATH_(name, has_pole, more, doc_)                                     \
    static cfx_status math_##name##_infer(cfx_call *call)                     \
    {                                                                         \
        return function_of(call, name, has_pole);                             \
    }                                                                         \
    const cfx_op cfx_op__math_##name = {                                      \
        .schema = "math_" #name "(Scalar self) -> Scalar",                    \
        .aliases = "math." #name more,                                        \
        .doc = doc_,                                                          \
        .infer = math_##name##_infer,                                         \
    };
#define MATH(name, doc) MATH_(name, false, "", doc)

MATH_(sqrt, false, " torch.sym_sqrt torch._sym_sqrt",
      "The square root of a number.")
MATH(exp, "e to a number.")
MATH_(log2, true, "", "The binary logarithm of a number.")
MATH_(log10, true, "", "The decimal logarithm of a number.")
MATH(sin, "The sine of a number.")
MATH(cos, "The cosine of a number.")
MATH(tan, "The tangent of a number.")
MATH(asin, "The arc sine of a number.")
MATH(acos, "The arc cosine of a number.")
MATH(atan, "The arc tangent of a number.")
MATH(sinh, "The hyperbolic sine of a number.")
MATH(cosh, "The hyperbolic cosine of a number.")
MATH(tanh, "The hyperbolic tangent of a number.")
MATH(fabs, "The magnitude of a number, as a float.")
MATH(erf, "The error function of a number.")
MATH(expm1, "e to a number, less 1.")
MATH(log1p, "The logarithm of 1 and a number.")

static cfx_status log_infer(cfx_call *call)
{
    cfx_status st = function_of(call, log, true);
    if (st || !cfx_call_has(call, 1))
        return st;
    if (call->in[1].kind == CFX_SYMINT)
        return unknown_float(call);
    double base = cfx_call_double(call, 1), below = log(base);
    if (!(base > 0 || isnan(base)) || below == 0)
        return cfx_call_fail(call, CFX_EINVAL, "math domain error");
    return cfx_call_return_take(call, cfx_float(call->result.u.f / below));
}

const cfx_op cfx_op__math_log = {
    .schema = "math_log(Scalar self, Scalar? base=None) -> Scalar",
    .aliases = "math.log",
    .doc = "The logarithm of a number, natural or to a base.",
    .infer = log_infer,
};

static cfx_status math_pow_infer(cfx_call *call)
{
    if (call->in[0].kind == CFX_SYMINT || call->in[1].kind == CFX_SYMINT)
        return unknown_float(call);
    double a = cfx_call_double(call, 0), b = cfx_call_double(call, 1);
    double y = pow(a, b);
    if ((isnan(y) && !isnan(a) && !isnan(b)) || (a == 0 && b < 0))
        return cfx_call_fail(call, CFX_EINVAL, "math domain error");
    if (isinf(y) && isfinite(a) && isfinite(b))
        return cfx_call_fail(call, CFX_EINVAL, "math range error");
    return cfx_call_return_take(call, cfx_float(y));
}

const cfx_op cfx_op__math_pow = {
    .schema = "math_pow(Scalar self, Scalar exponent) -> Scalar",
    .aliases = "math.pow",
    .doc = "One number to the power of another, as a float.",
    .infer = math_pow_infer,
};
