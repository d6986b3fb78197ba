/*
 * python_number -- arithmetic on Python's numbers, by Python's rules.
 *
 * Bools count as ints, an int and a float make a float, division and modulo
 * round down. Ints have 64 bits here: what would not fit is an error. Extents
 * that are symbols give extents again, or floats that are not known, for which
 * NaN stands; relations between them are questions to the shape environment.
 *
 * These stand before the operators on tensors that share their names: what
 * binds two numbers is not a call on tensors.
 */
#include <math.h>

#include "base/util.h"
#include "op/infer.h"

enum number_op {
    ADD,
    SUB,
    MUL,
    TRUEDIV,
    FLOORDIV,
    MOD,
    POW,
    MAX,
    MIN,
    AND,
    OR,
    XOR,
    LSHIFT,
    RSHIFT,
    EQ,
    NE,
    LT,
    LE,
    GT,
    GE
};

static cfx_status zero_division(cfx_call *call)
{
    return cfx_call_fail(call, CFX_EINVAL,
                         "ZeroDivisionError: division or modulo by zero");
}

static cfx_status unsupported(cfx_call *call, cfx_value a, cfx_value b)
{
    return cfx_call_fail(call, CFX_EUNSUPPORTED,
                         "unsupported operand types: '%s' and '%s'",
                         cfx_kind_name(a.kind), cfx_kind_name(b.kind));
}

/* ---- Ints ---- */

/* base ** exponent for an exponent of at least 0. */
static bool pow_ints(int64_t *out, int64_t base, int64_t exponent)
{
    int64_t result = 1;
    while (exponent > 0) {
        if (exponent & 1 && !cfx_mul_int(&result, result, base))
            return false;
        exponent >>= 1;
        if (exponent && !cfx_mul_int(&base, base, base))
            return false;
    }
    *out = result;
    return true;
}

static int64_t floordiv_ints(int64_t a, int64_t b)
{
    int64_t q = a / b;
    return a % b && (a % b < 0) != (b < 0) ? q - 1 : q;
}

static int64_t mod_ints(int64_t a, int64_t b)
{
    if (b == -1)
        return 0;
    int64_t r = a % b;
    return r && (r < 0) != (b < 0) ? r + b : r;
}

static bool shift_left(int64_t *out, int64_t a, int64_t n)
{
    if (!a) {
        *out = 0;
        return true;
    }
    return n < 63 && cfx_mul_int(out, a, (int64_t)1 << n);
}

/* The sign bit comes in from the left, whatever the compiler's >> does. */
static int64_t shift_right(int64_t a, int64_t n)
{
    if (n > 63)
        n = 63;
    return a < 0 ? ~(~a >> n) : a >> n;
}

static cfx_status divide_ints(cfx_call *call, enum number_op op, int64_t a,
                              int64_t b)
{
    if (!b)
        return zero_division(call);
    if (op == TRUEDIV)
        return cfx_call_return_take(
            call, cfx_float((double)((long double)a / (long double)b)));
    if (op == MOD)
        return cfx_call_return_take(call, cfx_int(mod_ints(a, b)));
    if (a == INT64_MIN && b == -1)
        return cfx_infer_overflow(call);
    return cfx_call_return_take(call, cfx_int(floordiv_ints(a, b)));
}

static cfx_status shift_ints(cfx_call *call, enum number_op op, int64_t a,
                             int64_t n)
{
    int64_t v;
    if (n < 0)
        return cfx_call_fail(call, CFX_EINVAL, "negative shift count");
    if (op == RSHIFT)
        return cfx_call_return_take(call, cfx_int(shift_right(a, n)));
    return shift_left(&v, a, n) ? cfx_call_return_take(call, cfx_int(v))
                                : cfx_infer_overflow(call);
}

static cfx_status power_ints(cfx_call *call, int64_t a, int64_t b)
{
    int64_t v;
    if (b < 0)
        return a ? cfx_call_return_take(call,
                                        cfx_float(pow((double)a, (double)b)))
                 : zero_division(call);
    return pow_ints(&v, a, b) ? cfx_call_return_take(call, cfx_int(v))
                              : cfx_infer_overflow(call);
}

static cfx_status int_op(cfx_call *call, enum number_op op, int64_t a,
                         int64_t b)
{
    int64_t v = 0;
    bool fits = true;
    switch (op) {
    case ADD: fits = cfx_add_int(&v, a, b); break;
    case SUB: fits = cfx_sub_int(&v, a, b); break;
    case MUL: fits = cfx_mul_int(&v, a, b); break;
    case POW: return power_ints(call, a, b);
    case AND: v = a & b; break;
    case OR: v = a | b; break;
    case XOR: v = a ^ b; break;
    case LSHIFT:
    case RSHIFT: return shift_ints(call, op, a, b);
    default: return divide_ints(call, op, a, b);
    }
    return fits ? cfx_call_return_take(call, cfx_int(v))
                : cfx_infer_overflow(call);
}

/* ---- Floats ---- */

/* Python's a % b and a // b: the remainder has b's sign, and the quotient is
 * that of the rest, rounded. */
static double mod_floats(double a, double b, double *quotient)
{
    double r = fmod(a, b), q = (a - r) / b;
    if (r != 0) {
        if ((r < 0) != (b < 0)) {
            r += b;
            q -= 1;
        }
    } else {
        r = copysign(0, b);
    }
    if (q != 0) {
        double whole = floor(q);
        *quotient = q - whole > 0.5 ? whole + 1 : whole;
    } else {
        *quotient = copysign(0, a / b);
    }
    return r;
}

static cfx_status float_op(cfx_call *call, enum number_op op, double a,
                           double b)
{
    double q, r;
    switch (op) {
    case ADD: return cfx_call_return_take(call, cfx_float(a + b));
    case SUB: return cfx_call_return_take(call, cfx_float(a - b));
    case MUL: return cfx_call_return_take(call, cfx_float(a * b));
    case POW:
        if (a == 0 && b < 0)
            return zero_division(call);
        r = pow(a, b);
        if (isnan(r) && !isnan(a) && !isnan(b))
            return cfx_call_fail(call, CFX_EUNSUPPORTED,
                                 "a complex result is not supported");
        if (isinf(r) && isfinite(a) && isfinite(b))
            return cfx_call_fail(call, CFX_EINVAL,
                                 "OverflowError: the result is too large");
        return cfx_call_return_take(call, cfx_float(r));
    case TRUEDIV:
        return b != 0 ? cfx_call_return_take(call, cfx_float(a / b))
                      : zero_division(call);
    case FLOORDIV:
    case MOD:
        if (b == 0)
            return zero_division(call);
        r = mod_floats(a, b, &q);
        return cfx_call_return_take(call, cfx_float(op == MOD ? r : q));
    default: return unsupported(call, call->in[0], call->in[1]);
    }
}

/* ---- Extents that are symbols ---- */

/* A float of an extent, which decides on no shape, and is not known. */
static cfx_status unknown_float(cfx_call *call)
{
    return call->env ? cfx_call_return_take(call, cfx_float((double)NAN))
                     : unsupported(call, call->in[0], call->in[1]);
}

/* a ** b; for an exponent below 0 that is a float. Exponents that are symbols
 * have no form. */
static cfx_status power_dims(cfx_call *call, cfx_dim a, cfx_dim b)
{
    cfx_dim d = cfx_dim_int(1);
    if (!cfx_dim_is_int(b))
        return unsupported(call, call->in[0], call->in[1]);
    if (cfx_dim_value(b) < 0)
        return unknown_float(call);
    for (int64_t i = cfx_dim_value(b); i > 0 && !cfx_dim_is_bad(d); i--)
        d = cfx_dim_mul(call->env, d, a);
    return cfx_dim_is_bad(d) ? cfx_infer_overflow(call)
                             : cfx_call_return_take(call, cfx_value_of_dim(d));
}

/* a << b and a >> b: products and quotients by powers of two. */
static cfx_status shift_dims(cfx_call *call, enum number_op op, cfx_dim a,
                             cfx_dim b)
{
    if (!cfx_dim_is_int(b))
        return unsupported(call, call->in[0], call->in[1]);
    if (cfx_dim_value(b) < 0)
        return cfx_call_fail(call, CFX_EINVAL, "negative shift count");
    if (cfx_dim_value(b) > 61)
        return cfx_infer_overflow(call);
    cfx_dim by = cfx_dim_int((int64_t)1 << cfx_dim_value(b));
    cfx_dim d = op == LSHIFT ? cfx_dim_mul(call->env, a, by)
                             : cfx_dim_floordiv(call->env, a, by);
    return cfx_dim_is_bad(d) ? cfx_infer_overflow(call)
                             : cfx_call_return_take(call, cfx_value_of_dim(d));
}

/* One of the two is a float. */
static cfx_status mixed_op(cfx_call *call, enum number_op op, cfx_value b)
{
    if (op > POW)
        return unsupported(call, call->in[0], call->in[1]);
    if ((op == TRUEDIV || op == FLOORDIV || op == MOD) &&
        b.kind == CFX_FLOAT && b.u.f == 0)
        return zero_division(call);
    return unknown_float(call);
}

static cfx_status dim_op(cfx_call *call, enum number_op op, cfx_dim a,
                         cfx_dim b)
{
    cfx_shape_env *env = call->env;
    cfx_dim d;
    switch (op) {
    case ADD: d = cfx_dim_add(env, a, b); break;
    case SUB: d = cfx_dim_sub(env, a, b); break;
    case MUL: d = cfx_dim_mul(env, a, b); break;
    case POW: return power_dims(call, a, b);
    case LSHIFT:
    case RSHIFT: return shift_dims(call, op, a, b);
    case TRUEDIV:
    case FLOORDIV:
    case MOD:
        if (cfx_dim_is(b, 0))
            return zero_division(call);
        if (op == TRUEDIV)
            return unknown_float(call);
        d = op == MOD ? cfx_dim_mod(env, a, b) : cfx_dim_floordiv(env, a, b);
        break;
    case MAX: d = cfx_dim_max(env, a, b); break;
    case MIN: d = cfx_dim_min(env, a, b); break;
    default: return unsupported(call, call->in[0], call->in[1]);
    }
    return cfx_dim_is_bad(d) ? cfx_infer_overflow(call)
                             : cfx_call_return_take(call, cfx_value_of_dim(d));
}

static bool dims_relate(cfx_shape_env *env, enum number_op op, cfx_dim a,
                        cfx_dim b)
{
    switch (op) {
    case EQ: return cfx_dim_eq(env, a, b);
    case NE: return cfx_dim_ne(env, a, b);
    case LT: return cfx_dim_lt(env, a, b);
    case LE: return cfx_dim_le(env, a, b);
    case GT: return cfx_dim_lt(env, b, a);
    default: return cfx_dim_le(env, b, a);
    }
}

/* ---- Two numbers ---- */

static bool is_symbol(cfx_value v)
{
    return v.kind == CFX_SYMINT;
}

static bool is_float(cfx_value v)
{
    return v.kind == CFX_FLOAT;
}

static bool is_complex(cfx_value v)
{
    return v.kind == CFX_COMPLEX;
}

static cfx_status arithmetic(cfx_call *call, enum number_op op, cfx_value a,
                             cfx_value b)
{
    bool both_bool = a.kind == CFX_BOOL_VALUE && b.kind == CFX_BOOL_VALUE;
    if (is_complex(a) || is_complex(b))
        return unsupported(call, a, b);
    if (is_symbol(a) || is_symbol(b))
        return is_float(a) || is_float(b)
                   ? mixed_op(call, op, b)
                   : dim_op(call, op, cfx_value_dim(a), cfx_value_dim(b));
    if (is_float(a) || is_float(b))
        return float_op(call, op, cfx_value_number(a), cfx_value_number(b));
    cfx_status st = int_op(call, op, a.u.i, b.u.i);
    if (!st && both_bool && op >= AND && op <= XOR)
        call->result = cfx_bool(call->result.u.i);
    return st;
}

static cfx_status arithmetic_infer(cfx_call *call)
{
    return arithmetic(call, (enum number_op)call->op->code, call->in[0],
                      call->in[1]);
}

/* Ints of 64 bits have their place in a long double. */
static bool numbers_relate(enum number_op op, long double a, long double b)
{
    switch (op) {
    case EQ: return a == b;
    case NE: return a != b;
    case LT: return a < b;
    case LE: return a <= b;
    case GT: return a > b;
    default: return a >= b;
    }
}

static long double wide(cfx_value v)
{
    return is_float(v) ? (long double)v.u.f : (long double)v.u.i;
}

static bool is_unknown(cfx_value v)
{
    return is_float(v) && isnan(v.u.f);
}

static cfx_status relate(cfx_call *call, enum number_op op, cfx_value a,
                         cfx_value b, bool *out)
{
    if (is_complex(a) || is_complex(b))
        return unsupported(call, a, b);
    if (!is_symbol(a) && !is_symbol(b)) {
        if (call->meta && call->env && (is_unknown(a) || is_unknown(b)))
            return cfx_call_fail(call, CFX_EUNSUPPORTED,
                                 "the result depends on the numbers");
        *out = numbers_relate(op, wide(a), wide(b));
        return CFX_OK;
    }
    if (is_float(a) || is_float(b))
        return unsupported(call, a, b);
    *out = dims_relate(call->env, op, cfx_value_dim(a), cfx_value_dim(b));
    return CFX_OK;
}

static cfx_status relation_infer(cfx_call *call)
{
    bool holds = false;
    cfx_status st = relate(call, (enum number_op)call->op->code, call->in[0],
                           call->in[1], &holds);
    return st ? st : cfx_call_return_take(call, cfx_bool(holds));
}

#define NUMBERS_(name, code_, flags_, aliases_, infer_, doc_)                 \
    const cfx_op cfx_op__number_##name = {                                    \
        .schema = "number_" #name "(Scalar self, Scalar other) -> Scalar",    \
        .aliases = aliases_,                                                  \
        .doc = doc_,                                                          \
        .flags = flags_,                                                      \
        .code = code_,                                                        \
        .infer = infer_,                                                      \
    };
#define NUMBERS(name, code_, ...) NUMBERS_(name, code_, 0, __VA_ARGS__)
#define COMMUTING(name, code_, ...)                                           \
    NUMBERS_(name, code_, CFX_OP_COMMUTES, __VA_ARGS__)

COMMUTING(add, ADD, "operator.add operator.iadd", arithmetic_infer,
          "The sum of two numbers.")
NUMBERS(sub, SUB, "operator.sub operator.isub", arithmetic_infer,
        "The difference of two numbers.")
COMMUTING(mul, MUL, "operator.mul operator.imul", arithmetic_infer,
          "The product of two numbers.")
NUMBERS(truediv, TRUEDIV, "operator.truediv operator.itruediv",
        arithmetic_infer, "The quotient of two numbers, a float.")
NUMBERS(floordiv, FLOORDIV,
        "operator.floordiv operator.ifloordiv torch.sym_floordiv",
        arithmetic_infer, "The quotient of two numbers, rounded down.")
NUMBERS(mod, MOD, "operator.mod operator.imod", arithmetic_infer,
        "What is left by number_floordiv; it has the sign of the divisor.")
NUMBERS(pow, POW, "operator.pow operator.ipow builtins.pow", arithmetic_infer,
        "One number to the power of another.")
COMMUTING(and, AND, "operator.and_ operator.iand", arithmetic_infer,
          "The bits that two ints share.")
COMMUTING(or, OR, "operator.or_ operator.ior", arithmetic_infer,
          "The bits of either of two ints.")
COMMUTING(xor, XOR, "operator.xor operator.ixor", arithmetic_infer,
          "The bits of just one of two ints.")
NUMBERS(lshift, LSHIFT, "operator.lshift operator.ilshift", arithmetic_infer,
        "The bits of an int, moved up.")
NUMBERS(rshift, RSHIFT, "operator.rshift operator.irshift", arithmetic_infer,
        "The bits of an int, moved down.")
COMMUTING(eq, EQ, "operator.eq", relation_infer, "Are two numbers equal?")
COMMUTING(ne, NE, "operator.ne", relation_infer, "Are two numbers unequal?")
NUMBERS(lt, LT, "operator.lt", relation_infer, "Is a number less?")
NUMBERS(le, LE, "operator.le", relation_infer, "Is a number not more?")
NUMBERS(gt, GT, "operator.gt", relation_infer, "Is a number more?")
NUMBERS(ge, GE, "operator.ge", relation_infer, "Is a number not less?")

/* ---- The greatest and the least ---- */

/* The first of those that are equal, as it was given. */
static cfx_status extreme(cfx_call *call, enum number_op op, cfx_value a,
                          cfx_value b, cfx_value *out)
{
    bool better = false;
    cfx_status st;
    if (is_symbol(a) || is_symbol(b)) {
        if (is_float(a) || is_float(b))
            return unsupported(call, a, b);
        st = dim_op(call, op, cfx_value_dim(a), cfx_value_dim(b));
        *out = call->result;
        return st;
    }
    st = relate(call, op == MAX ? GT : LT, b, a, &better);
    *out = better ? b : a;
    return st;
}

/* An argument, or an item of the only one, a list. */
static cfx_value candidate(const cfx_call *call, int i)
{
    return call->schema->params[0].list ? cfx_call_item(call, 0, i)
                                        : call->in[i];
}

static cfx_status extreme_infer(cfx_call *call)
{
    int n = call->schema->params[0].list ? cfx_call_len(call, 0)
                                         : call->schema->nparams;
    cfx_status st = CFX_OK;
    if (!n)
        return cfx_call_fail(call, CFX_EINVAL, "the list is empty");
    cfx_value best = candidate(call, 0);
    for (int i = 1; !st && i < n; i++)
        st = extreme(call, (enum number_op)call->op->code, best,
                     candidate(call, i), &best);
    return st ? st : cfx_call_return_take(call, best);
}

#define EXTREME(name, code_, doc_)                                            \
    static const cfx_op name##_of_list = {                                    \
        .schema = "number_" #name ".list(Scalar[] items) -> Scalar",          \
        .aliases = "builtins." #name,                                         \
        .doc = doc_,                                                          \
        .code = code_,                                                        \
        .infer = extreme_infer,                                               \
    };                                                                        \
    static const cfx_op name##_of_3 = {                                       \
        .schema = "number_" #name ".three(Scalar self, Scalar other, "        \
                  "Scalar third) -> Scalar",                                  \
        .aliases = "builtins." #name,                                         \
        .doc = doc_,                                                          \
        .code = code_,                                                        \
        .infer = extreme_infer,                                               \
        .next = &name##_of_list,                                              \
    };                                                                        \
    const cfx_op cfx_op__number_##name = {                                    \
        .schema = "number_" #name "(Scalar self, Scalar other) -> Scalar",    \
        .aliases = "builtins." #name " torch.sym_" #name,                     \
        .doc = doc_,                                                          \
        .code = code_,                                                        \
        .infer = extreme_infer,                                               \
        .next = &name##_of_3,                                                 \
    };

EXTREME(max, MAX, "The greatest of several numbers.")
EXTREME(min, MIN, "The least of several numbers.")

/* ---- Sums and products of lists ---- */

static cfx_status fold(cfx_call *call, enum number_op op, cfx_value start,
                       int k)
{
    cfx_value total = start;
    cfx_status st = CFX_OK;
    for (int i = 0, n = cfx_call_len(call, k); !st && i < n; i++) {
        st = arithmetic(call, op, total, cfx_call_item(call, k, i));
        total = call->result;
    }
    return st ? st : cfx_call_return_take(call, total);
}

static cfx_status sum_infer(cfx_call *call)
{
    return fold(call, ADD, call->in[1], 0);
}

static cfx_status prod_infer(cfx_call *call)
{
    return fold(call, MUL, call->in[1], 0);
}

const cfx_op cfx_op__number_sum = {
    .schema = "number_sum(Scalar[] items, Scalar start=0) -> Scalar",
    .aliases = "builtins.sum torch.sym_sum",
    .doc = "The sum of a list of numbers.",
    .infer = sum_infer,
};

const cfx_op cfx_op__number_prod = {
    .schema = "number_prod(Scalar[] items, *, Scalar start=1) -> Scalar",
    .aliases = "math.prod",
    .doc = "The product of a list of numbers.",
    .infer = prod_infer,
};
