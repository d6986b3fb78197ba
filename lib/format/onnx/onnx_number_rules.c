/*
 * onnx_number_rules -- how operators compute one number of a shape.
 *
 * A rule is false where its result is no int by a constant. numbers.c then
 * leaves the node to the operator's rule for tensors.
 */
#include <math.h>

#include "format/onnx/onnx_numbers.h"

/* ---- Ints, symbolic or not ---- */

static cfx_value plus(onnx_node *n, cfx_value a, cfx_value b)
{
    return cfx_int_add(n->s, a, b);
}

static cfx_value times(onnx_node *n, cfx_value a, int64_t k)
{
    return k == 1 ? a : cfx_int_mul(n->s, a, cfx_int(k));
}

static cfx_value minus(onnx_node *n, cfx_value a, cfx_value b)
{
    return plus(n, a, times(n, b, -1));
}

static cfx_value larger(onnx_node *n, cfx_value a, cfx_value b)
{
    return CFX_CALL(n->s, "torch.sym_max", a, b);
}

static cfx_value smaller(onnx_node *n, cfx_value a, cfx_value b)
{
    return CFX_CALL(n->s, "torch.sym_min", a, b);
}

static cfx_value magnitude(onnx_node *n, cfx_value a)
{
    return CFX_CALL(n->s, "operator.abs", a);
}

static cfx_dim extent(onnx_node *n, cfx_value v)
{
    return cfx_value_dim(onnx_meta(n->s, v));
}

static void bounds(onnx_node *n, cfx_value v, int64_t *min, int64_t *max)
{
    cfx_dim_bounds(n->importer->r.env, extent(n, v), min, max);
}

static bool is_at_least(onnx_node *n, cfx_value v, int64_t least)
{
    int64_t min, max;

    bounds(n, v, &min, &max);
    return min >= least;
}

static bool is_same(onnx_node *n, cfx_value a, cfx_value b)
{
    return cfx_dim_known_eq(n->importer->r.env, extent(n, a), extent(n, b));
}

/* The quotient rounded to zero; b >= 1. */
static cfx_value quotient(onnx_node *n, cfx_value a, cfx_value b)
{
    cfx_value zero = cfx_int(0);

    if (is_at_least(n, a, 0))
        return cfx_int_floordiv(n->s, a, b);
    return minus(n, cfx_int_floordiv(n->s, larger(n, a, zero), b),
                 cfx_int_floordiv(n->s, larger(n, times(n, a, -1), zero), b));
}

/* A bool: is v >= 1? */
static onnx_fraction is_positive(onnx_node *n, cfx_value v)
{
    int64_t min, max;

    bounds(n, v, &min, &max);
    if (min >= 1 || max < 1)
        return onnx_whole(cfx_int(min >= 1));
    cfx_value is = smaller(n, cfx_int(1), larger(n, cfx_int(0), v));
    return (onnx_fraction){is, 1, v};
}

/* Two fractions as numerators of a common divisor; false if that is too large. */
static bool align(onnx_node *n, const onnx_fraction *a, const onnx_fraction *b,
                  cfx_value *x, cfx_value *y, int64_t *divisor)
{
    bool same = a->divisor == b->divisor;

    *x = same ? a->v : times(n, a->v, b->divisor);
    *y = same ? b->v : times(n, b->v, a->divisor);
    *divisor = same ? a->divisor : a->divisor * b->divisor;
    return *divisor <= ONNX_MAX_DIVISOR;
}

static bool pair(onnx_node *n, onnx_pair_fn *fn, const onnx_fraction *a,
                 const onnx_fraction *b, onnx_fraction *out)
{
    cfx_value x, y;

    *out = onnx_whole(CFX_NOTHING);
    if (!align(n, a, b, &x, &y, &out->divisor))
        return false;
    out->v = fn(n, x, y);
    return true;
}

bool onnx_evaluate(onnx_node *n, const onnx_known *how, const onnx_operands *x,
                   onnx_fraction *out)
{
    bool ok = true;

    if (how->each)
        return how->each(n, x, out);
    *out = *x->item[0];
    for (size_t i = 1; i < x->count && ok; i++) {
        onnx_fraction so_far = *out;
        ok = x->item[i] && pair(n, how->pair, &so_far, x->item[i], out);
    }
    return ok;
}

/* ---- Arithmetic ---- */

static bool each_mul(onnx_node *n, const onnx_operands *x, onnx_fraction *out)
{
    *out = onnx_whole(cfx_int_mul(n->s, x->item[0]->v, x->item[1]->v));
    out->divisor = x->item[0]->divisor * x->item[1]->divisor;
    return out->divisor <= ONNX_MAX_DIVISOR;
}

static bool each_div(onnx_node *n, const onnx_operands *x, onnx_fraction *out)
{
    cfx_value a = x->item[0]->v, b = x->item[1]->v;

    if (b.kind == CFX_INT && b.u.i < 0 && b.u.i > -ONNX_MAX_DIVISOR) {
        a = times(n, a, -1);
        b = cfx_int(-b.u.i);
    }
    if (!is_at_least(n, b, 1))
        return false;
    if (!cfx_dtype_is_float(x->type)) {
        *out = onnx_whole(quotient(n, a, b));
        return true;
    }
    if (b.kind != CFX_INT || b.u.i > ONNX_MAX_DIVISOR)
        return false;
    *out = onnx_whole(times(n, a, x->item[1]->divisor));
    out->divisor = x->item[0]->divisor * b.u.i;
    return out->divisor <= ONNX_MAX_DIVISOR;
}

static bool each_mod(onnx_node *n, const onnx_operands *x, onnx_fraction *out)
{
    bool fmod = onnx_attr_int(n, "fmod", 0);
    cfx_value a = x->item[0]->v, b = x->item[1]->v;

    if (cfx_dtype_is_float(x->type) || !is_at_least(n, b, 1) ||
        (fmod && !is_at_least(n, a, 0)))
        return false;
    *out = onnx_whole(CFX_CALL(n->s, "operator.mod", a, b));
    return true;
}

static bool each_pow(onnx_node *n, const onnx_operands *x, onnx_fraction *out)
{
    cfx_value exponent = x->item[1]->v;

    *out = onnx_whole(cfx_int(1));
    if (exponent.kind != CFX_INT || x->item[1]->divisor != 1 ||
        exponent.u.i < 0 || exponent.u.i > 8)
        return false;
    for (int64_t i = 0; i < exponent.u.i && out->divisor <= ONNX_MAX_DIVISOR;
         i++) {
        out->v = cfx_int_mul(n->s, out->v, x->item[0]->v);
        out->divisor *= x->item[0]->divisor;
    }
    return out->divisor <= ONNX_MAX_DIVISOR;
}

static bool each_neg(onnx_node *n, const onnx_operands *x, onnx_fraction *out)
{
    *out = *x->item[0];
    out->v = times(n, out->v, -1);
    return true;
}

static bool each_abs(onnx_node *n, const onnx_operands *x, onnx_fraction *out)
{
    *out = *x->item[0];
    out->v = magnitude(n, out->v);
    return true;
}

static bool floor_of(onnx_node *n, cfx_value v, int64_t divisor,
                     onnx_fraction *out)
{
    *out = onnx_whole(
        divisor == 1 ? v : cfx_int_floordiv(n->s, v, cfx_int(divisor)));
    return true;
}

static bool each_floor(onnx_node *n, const onnx_operands *x,
                       onnx_fraction *out)
{
    return floor_of(n, x->item[0]->v, x->item[0]->divisor, out);
}

static bool each_ceil(onnx_node *n, const onnx_operands *x, onnx_fraction *out)
{
    int64_t divisor = x->item[0]->divisor;

    return floor_of(n, plus(n, x->item[0]->v, cfx_int(divisor - 1)), divisor,
                    out);
}

/* The square root of a square that is known. */
static bool each_sqrt(onnx_node *n, const onnx_operands *x, onnx_fraction *out)
{
    cfx_value of = x->item[0]->v;
    int64_t v = of.kind == CFX_INT ? of.u.i : -1;
    int64_t root = v < 0 || v > 1 << 30 ? 0 : (int64_t)sqrt((double)v);

    (void)n;
    *out = onnx_whole(cfx_int(root));
    return x->item[0]->divisor == 1 && root * root == v;
}

static bool each_cast(onnx_node *n, const onnx_operands *x, onnx_fraction *out)
{
    cfx_dtype to;

    *out = *x->item[0];
    if (!onnx_dtype(&to, onnx_attr_int(n, "to", 0)))
        return false;
    if (to == CFX_BOOL && x->type != CFX_BOOL)
        *out = is_positive(n, magnitude(n, out->v));
    else if ((to == CFX_I64 || to == CFX_I32) && out->divisor != 1)
        *out = onnx_whole(quotient(n, out->v, cfx_int(out->divisor)));
    return to == CFX_BOOL || to == CFX_I64 || to == CFX_I32 || to == CFX_F32 ||
           to == CFX_F64;
}

/* ---- Comparisons and choices ---- */

/* Is a - b + more >= 1? */
static bool compare(onnx_node *n, const onnx_fraction *a,
                    const onnx_fraction *b, int64_t more, onnx_fraction *out)
{
    onnx_fraction difference;

    if (!pair(n, minus, a, b, &difference))
        return false;
    *out = is_positive(n, plus(n, difference.v, cfx_int(more)));
    return true;
}

static bool each_gt(onnx_node *n, const onnx_operands *x, onnx_fraction *out)
{
    return compare(n, x->item[0], x->item[1], 0, out);
}

static bool each_ge(onnx_node *n, const onnx_operands *x, onnx_fraction *out)
{
    return compare(n, x->item[0], x->item[1], 1, out);
}

static bool each_lt(onnx_node *n, const onnx_operands *x, onnx_fraction *out)
{
    return compare(n, x->item[1], x->item[0], 0, out);
}

static bool each_le(onnx_node *n, const onnx_operands *x, onnx_fraction *out)
{
    return compare(n, x->item[1], x->item[0], 1, out);
}

static bool each_eq(onnx_node *n, const onnx_operands *x, onnx_fraction *out)
{
    onnx_fraction d;

    if (!pair(n, minus, x->item[0], x->item[1], &d))
        return false;
    /* Bounds do not show that 1 - |d| is less than 1. */
    bool differ = is_at_least(n, d.v, 1) ||
                  is_at_least(n, times(n, d.v, -1), 1);
    *out = differ ? onnx_whole(cfx_int(0))
                  : is_positive(n, minus(n, cfx_int(1), magnitude(n, d.v)));
    return true;
}

static bool each_not(onnx_node *n, const onnx_operands *x, onnx_fraction *out)
{
    cfx_value one = cfx_int(1);

    *out = onnx_whole(minus(n, one, x->item[0]->v));
    if (x->item[0]->over.kind)
        out->over = minus(n, one, x->item[0]->over);
    return true;
}

/* b + (a - b) * c; where the choice is that of the larger or the smaller, this
 * one. */
static bool each_where(onnx_node *n, const onnx_operands *x,
                       onnx_fraction *out)
{
    const onnx_fraction *c = x->item[0];
    cfx_value a, b;

    if (c->v.kind == CFX_INT) {
        *out = *x->item[c->v.u.i ? 1 : 2];
        return true;
    }
    *out = onnx_whole(CFX_NOTHING);
    if (!align(n, x->item[1], x->item[2], &a, &b, &out->divisor))
        return false;
    cfx_value d = minus(n, a, b), back = minus(n, b, a);
    for (int64_t more = 0; c->over.kind && more > -2; more--) {
        cfx_value by = plus(n, c->over, cfx_int(more));
        if (is_same(n, d, by) || is_same(n, back, by)) {
            out->v = is_same(n, d, by) ? larger(n, a, b) : smaller(n, a, b);
            return true;
        }
    }
    out->v = plus(n, b, cfx_int_mul(n->s, d, c->v));
    return true;
}

static bool each_clip(onnx_node *n, const onnx_operands *x, onnx_fraction *out)
{
    const onnx_fraction *least = x->item[1], *most = x->item[2];
    onnx_fraction so_far = *x->item[0];
    bool ok = n->opset >= 11;

    *out = so_far;
    if (least && ok)
        ok = pair(n, larger, &so_far, least, out);
    so_far = *out;
    if (most && ok)
        ok = pair(n, smaller, &so_far, most, out);
    return ok;
}

/* ---- The table ---- */

static const struct {
    const char *op;
    onnx_known how;
} known[] = {
    {"Add", {.pair = plus}},
    {"Sum", {.pair = plus}},
    {"Sub", {.pair = minus}},
    {"Max", {.pair = larger}},
    {"Min", {.pair = smaller}},
    {"And", {.pair = smaller}},
    {"Or", {.pair = larger}},
    {"Mul", {.each = each_mul}},
    {"Div", {.each = each_div}},
    {"Mod", {.each = each_mod}},
    {"Pow", {.each = each_pow}},
    {"Neg", {.each = each_neg}},
    {"Abs", {.each = each_abs}},
    {"Sqrt", {.each = each_sqrt}},
    {"Clip", {.each = each_clip}},
    {"Floor", {.each = each_floor, .rounds = true}},
    {"Ceil", {.each = each_ceil, .rounds = true}},
    {"Cast", {.each = each_cast, .type = ONNX_CAST, .rounds = true}},
    {"Greater", {.each = each_gt, .type = ONNX_BOOLEAN}},
    {"GreaterOrEqual", {.each = each_ge, .type = ONNX_BOOLEAN}},
    {"Less", {.each = each_lt, .type = ONNX_BOOLEAN}},
    {"LessOrEqual", {.each = each_le, .type = ONNX_BOOLEAN}},
    {"Equal", {.each = each_eq, .type = ONNX_BOOLEAN}},
    {"Not", {.each = each_not, .type = ONNX_BOOLEAN}},
    {"Where", {.each = each_where, .type = ONNX_OF_SECOND}},
    {"Identity", {.data = 1}},
    {"Reshape", {.data = 1}},
    {"Flatten", {.data = 1}},
    {"Transpose", {.data = 1}},
    {"Unsqueeze", {.data = 1}},
    {"Squeeze", {.data = 1}},
    {"Expand", {.data = 1}},
    {"Tile", {.data = 1}},
    {"Split", {.data = 1}},
    {"Slice", {.data = 1}},
    {"Gather", {.data = 1}},
    {"GatherElements", {.data = 1}},
    {"GatherND", {.data = 1}},
    {"Concat", {.data = 255}},
    {"Scatter", {.data = 5}},
    {"ScatterElements", {.data = 5}},
    {"ScatterND", {.data = 5}},
    {"ReduceSum", {.pair = plus, .probes = true, .changed = 1}},
    {"CumSum", {.pair = plus, .probes = true, .changed = 1}},
    {"ReduceMax", {.pair = larger, .probes = true, .changed = 1}},
    {"ReduceMin", {.pair = smaller, .probes = true, .changed = -1}},
    {"ReduceProd",
     {.each = each_mul, .probes = true, .base = 1, .changed = 2}},
};

const onnx_known *onnx_find_known(const char *op)
{
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (!strcmp(known[i].op, op))
            return &known[i].how;
    return NULL;
}
