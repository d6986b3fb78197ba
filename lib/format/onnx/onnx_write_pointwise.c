/*
 * onnx_write_pointwise -- arithmetic, comparisons, activations and casts as ONNX.
 *
 * ONNX promotes no types: arguments are converted to the type in which torch
 * computes.
 */
#include "format/onnx/onnx_write.h"

/* The first argument in the type of the result. */
static const char *self_as_result(onnx_writer *w)
{
    return onnx_put_as(w, onnx_put_self_arg(w), onnx_put_result_type(w));
}

static const char *result_scalar(onnx_writer *w, double v)
{
    return onnx_put_scalar(w, v, onnx_put_result_type(w));
}

/* ---- Operators that are one of ONNX ---- */

/* The type in which two arguments are compared. */
static cfx_dtype common_type(onnx_writer *w, cfx_value a, cfx_value b)
{
    const cfx_tensor *x = onnx_put_meta(w, a), *y = onnx_put_meta(w, b);
    cfx_dtype type = CFX_F32;

    if (x && y) {
        /* One without axes counts as a number. */
        bool alike = cfx_dtypes[x->dtype].category ==
                     cfx_dtypes[y->dtype].category;
        type = alike && !x->rank != !y->rank
                   ? (cfx_dtype)(x->rank ? x->dtype : y->dtype)
                   : cfx_dtype_promote((cfx_dtype)x->dtype,
                                       (cfx_dtype)y->dtype);
    } else if (x || y) {
        cfx_value number = x ? b : a;
        type = (cfx_dtype)(x ? x->dtype : y->dtype);
        if (number.kind == CFX_FLOAT && !cfx_dtype_is_float(type))
            type = CFX_F32;
        else if (number.kind == CFX_INT && type == CFX_BOOL)
            type = CFX_I64;
    }
    return type;
}

/* Argument i, as a letter of onnx_pairs.def tells. */
static const char *operand(onnx_writer *w, int i, char type)
{
    const cfx_value *in = w->call->in;

    w->asked |= (uint32_t)1 << i;
    switch (type) {
    case 'b': return onnx_put_as(w, in[i], CFX_BOOL);
    case 'c': return onnx_put_as(w, in[i], common_type(w, in[0], in[1]));
    case 'n':
    case 'r': return onnx_put_as(w, in[i], onnx_put_result_type(w));
    default: return onnx_put_value(w, in[i]);
    }
}

Onnx__NodeProto *onnx_put_pair(onnx_writer *w, const char *op, const char *out,
                               const char *inputs)
{
    const cfx_tensor *x = onnx_put_meta(w, w->call->in[0]);
    const char *in[ONNX_PUT_MAX] = {0};

    if (*inputs == 'f' && (!x || !cfx_dtype_is_float((cfx_dtype)x->dtype)))
        onnx_put_fail(w, "ONNX's %s is of floats", op);
    if (*inputs == 'n' && onnx_put_result_type(w) == CFX_BOOL)
        onnx_put_fail(w, "ONNX has no arithmetic of bools");
    for (int i = 0; inputs[i]; i++)
        in[i] = operand(w, i, inputs[i]);
    return onnx_put_node(w, op, out, in);
}

void onnx_write_pair(onnx_writer *w)
{
    const onnx_pair *p = w->pair;

    if (*p->inputs == 'w' && !cfx_dtype_is_float(onnx_put_result_type(w))) {
        onnx_write_identity(w);
        return;
    }
    Onnx__NodeProto *n = onnx_put_pair(w, p->onnx, onnx_put_name(w),
                                       p->inputs);
    for (int i = 0; i < ONNX_PAIR_ATTRS && p->attr[i].name; i++)
        onnx_put_attr_float(
            w, n, p->attr[i].name,
            onnx_put_number(w, p->attr[i].param, p->attr[i].usual));
}

void onnx_write_identity(onnx_writer *w)
{
    onnx_put_alias(w, onnx_put_self_value(w));
}

/* At inference nothing is dropped. */
void onnx_write_dropout(onnx_writer *w)
{
    onnx_put_settled(w);
    if (onnx_put_int(w, "training", 0) && onnx_put_number(w, "p", 0.5) != 0)
        onnx_put_fail(w, "it drops by chance; call eval() before");
    else
        onnx_write_identity(w);
}

/* ---- Activations ---- */

void onnx_write_rsqrt(onnx_writer *w)
{
    const char *root = ONNX_PUT(w, "Sqrt", NULL, self_as_result(w));

    ONNX_RESULT(w, "Reciprocal", root);
}

void onnx_write_square(onnx_writer *w)
{
    const char *x = onnx_put_self_value(w);

    ONNX_RESULT(w, "Mul", x, x);
}

void onnx_write_silu(onnx_writer *w)
{
    const char *x = self_as_result(w);

    ONNX_RESULT(w, "Mul", x, ONNX_PUT(w, "Sigmoid", NULL, x));
}

/* x/2 (1 + erf(x / sqrt 2)), or x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).
 */
void onnx_write_gelu(onnx_writer *w)
{
    const char *x = self_as_result(w), *y;

    if (onnx_put_is(w, "approximate", "tanh")) {
        const char *cube = ONNX_PUT(w, "Mul", NULL,
                                    ONNX_PUT(w, "Mul", NULL, x, x), x);
        cube = ONNX_PUT(w, "Mul", NULL, cube, result_scalar(w, 0.044715));
        y = ONNX_PUT(w, "Add", NULL, x, cube);
        y = ONNX_PUT(w, "Mul", NULL, y, result_scalar(w, 0.7978845608028654));
        y = ONNX_PUT(w, "Tanh", NULL, y);
    } else {
        y = ONNX_PUT(w, "Mul", NULL, x, result_scalar(w, 0.7071067811865476));
        y = ONNX_PUT(w, "Erf", NULL, y);
    }
    y = ONNX_PUT(w, "Add", NULL, y, result_scalar(w, 1));
    x = ONNX_PUT(w, "Mul", NULL, x, result_scalar(w, 0.5));
    ONNX_RESULT(w, "Mul", x, y);
}

void onnx_write_hardsigmoid(onnx_writer *w)
{
    Onnx__NodeProto *n = onnx_put_pair(w, "HardSigmoid", onnx_put_name(w),
                                       "r");

    onnx_put_attr_float(w, n, "alpha", 1 / 6.0);
    onnx_put_attr_float(w, n, "beta", 0.5);
}

/* ONNX broadcasts the slopes along the last axes; torch's are of channels. */
void onnx_write_prelu(onnx_writer *w)
{
    const cfx_tensor *x = onnx_put_self(w, "self");
    const cfx_tensor *slope = onnx_put_self(w, "weight");
    const char *s = onnx_put_input(w, "weight");
    int64_t shape[CFX_MAX_RANK];

    if (x && slope && slope->rank == 1 && x->rank > 2) {
        for (int i = 0; i < x->rank - 1; i++)
            shape[i] = i ? 1 : -1;
        s = ONNX_PUT(w, "Reshape", NULL, s,
                     onnx_put_ints(w, (size_t)x->rank - 1, shape));
    }
    ONNX_RESULT(w, "PRelu", onnx_put_input(w, "self"), s);
}

/* relu6, hardtanh, clamp: bounds of several names, numbers or tensors. */
void onnx_write_clamp(onnx_writer *w)
{
    cfx_value low = onnx_put_arg(w, "min"), high = onnx_put_arg(w, "max");
    cfx_dtype type = onnx_put_result_type(w);
    const char *x = self_as_result(w), *least, *most;

    if (low.kind == CFX_NONE)
        low = onnx_put_arg(w, "min_val");
    if (high.kind == CFX_NONE)
        high = onnx_put_arg(w, "max_val");
    if (low.kind == CFX_NONE && high.kind == CFX_NONE) {
        low = cfx_int(0); /* relu6 has none */
        high = cfx_int(6);
    }
    least = onnx_put_as(w, low, type);
    most = onnx_put_as(w, high, type);
    /* Clip is fused with QuantizeLinear; elsewhere it may lose NaN. */
    if (low.kind != CFX_NODE && high.kind != CFX_NODE &&
        onnx_put_is_quantized_next(w->node)) {
        ONNX_RESULT(w, "Clip", x, least, most);
        return;
    }
    if (least && *least)
        x = ONNX_PUT(w, "Max", most && *most ? NULL : onnx_put_name(w), x,
                     least);
    if (most && *most)
        ONNX_RESULT(w, "Min", x, most);
}

/* ---- Arithmetic ---- */

/* self + alpha * other */
static const char *with_alpha(onnx_writer *w, const char *name)
{
    bool alone = onnx_put_number(w, "alpha", 1) == 1;
    cfx_dtype type = onnx_put_result_type(w);
    const char *v = onnx_put_as(w, onnx_put_arg(w, name), type);

    return alone ? v
                 : ONNX_PUT(w, "Mul", NULL, v,
                            onnx_put_as(w, onnx_put_arg(w, "alpha"), type));
}

void onnx_write_add(onnx_writer *w)
{
    if (onnx_put_result_type(w) == CFX_BOOL)
        onnx_put_fail(w, "ONNX has no arithmetic of bools");
    ONNX_RESULT(w, w->onnx, self_as_result(w), with_alpha(w, "other"));
}

void onnx_write_rsub(onnx_writer *w)
{
    const char *other = onnx_put_as(w, onnx_put_arg(w, "other"),
                                    onnx_put_result_type(w));

    ONNX_RESULT(w, "Sub", other, with_alpha(w, "self"));
}

void onnx_write_div(onnx_writer *w)
{
    bool is_float = cfx_dtype_is_float(onnx_put_result_type(w));
    bool down = onnx_put_is(w, "rounding_mode", "floor");
    bool none = onnx_put_arg(w, "rounding_mode").kind == CFX_NONE;

    if (none || (!is_float && !down))
        onnx_put_pair(w, "Div", onnx_put_name(w), "nn");
    else if (down)
        onnx_write_floor_divide(w);
    else
        onnx_put_fail(w, "ONNX has no such rounding of a division");
}

/* The quotient rounded towards minus infinity, as torch's remainder has it. */
static const char *put_floor_quotient(onnx_writer *w, const char *out,
                                      const char *x, const char *y,
                                      cfx_dtype type)
{
    if (cfx_dtype_is_float(type))
        return ONNX_PUT(w, "Floor", out, ONNX_PUT(w, "Div", NULL, x, y));
    x = ONNX_PUT(w, "Sub", NULL, x, ONNX_PUT(w, "Mod", NULL, x, y));
    return ONNX_PUT(w, "Div", out, x, y);
}

void onnx_write_floor_divide(onnx_writer *w)
{
    cfx_dtype type = onnx_put_result_type(w);

    put_floor_quotient(w, onnx_put_name(w), self_as_result(w),
                       onnx_put_as(w, onnx_put_arg(w, "other"), type), type);
}

void onnx_write_remainder(onnx_writer *w)
{
    cfx_dtype type = onnx_put_result_type(w);
    const char *x = self_as_result(w);
    const char *y = onnx_put_as(w, onnx_put_arg(w, "other"), type);

    if (!cfx_dtype_is_float(type)) {
        ONNX_RESULT(w, "Mod", x, y);
        return;
    }
    /* x - floor(x / y) y, of the exact remainder: its sign is that of y. */
    Onnx__NodeProto *n = ONNX_NODE(w, "Mod", NULL, x, y);
    onnx_put_attr_int(w, n, "fmod", 1);
    const char *rest = onnx_put_out(n), *zero = onnx_put_scalar(w, 0, type);
    const char *turns = ONNX_PUT(w, "Xor", NULL,
                                 ONNX_PUT(w, "Less", NULL, rest, zero),
                                 ONNX_PUT(w, "Less", NULL, y, zero));
    const char *none = ONNX_PUT(w, "Equal", NULL, rest, zero);
    turns = ONNX_PUT(w, "And", NULL, turns, ONNX_PUT(w, "Not", NULL, none));
    ONNX_RESULT(w, "Where", turns, ONNX_PUT(w, "Add", NULL, rest, y), rest);
}

void onnx_write_fmod(onnx_writer *w)
{
    Onnx__NodeProto *n = onnx_put_pair(w, "Mod", onnx_put_name(w), "rr");

    onnx_put_attr_int(w, n, "fmod", 1);
}

/* Towards zero. */
void onnx_write_trunc(onnx_writer *w)
{
    if (!cfx_dtype_is_float(onnx_put_result_type(w))) {
        onnx_write_identity(w);
        return;
    }
    const char *x = self_as_result(w);
    ONNX_RESULT(w, "Mul", ONNX_PUT(w, "Sign", NULL, x),
                ONNX_PUT(w, "Floor", NULL, ONNX_PUT(w, "Abs", NULL, x)));
}

/* ---- Comparisons ---- */

void onnx_write_ne(onnx_writer *w)
{
    const char *same = onnx_put_out(onnx_put_pair(w, "Equal", NULL, "cc"));

    ONNX_RESULT(w, "Not", same);
}

/* Bitwise operators, which are others of bools. */
void onnx_write_bitwise(onnx_writer *w)
{
    cfx_value self = onnx_put_arg(w, "self"), other = onnx_put_arg(w, "other");
    cfx_dtype type = onnx_put_result_type(w);
    char op[16];

    snprintf(op, sizeof(op), "%s%s", type == CFX_BOOL ? "" : "Bitwise",
             w->onnx);
    ONNX_RESULT(w, op, onnx_put_as(w, self, type),
                other.kind == CFX_NONE ? NULL : onnx_put_as(w, other, type));
}

/* ONNX moves the bits of unsigned numbers only. */
void onnx_write_bit_shift(onnx_writer *w)
{
    cfx_dtype type = onnx_put_result_type(w);
    const char *x = onnx_put_as(w, onnx_put_arg(w, "self"), type);

    if (cfx_dtypes[type].is_signed)
        onnx_put_fail(w, "ONNX does not shift %s", cfx_dtypes[type].name);
    Onnx__NodeProto *n = ONNX_RESULT(
        w, "BitShift", x, onnx_put_as(w, onnx_put_arg(w, "other"), type));
    onnx_put_attr_text(w, n, "direction", w->onnx);
}

void onnx_write_masked_fill(onnx_writer *w)
{
    cfx_dtype type = onnx_put_result_type(w);

    ONNX_RESULT(w, "Where", onnx_put_input(w, "mask"),
                onnx_put_as(w, onnx_put_arg(w, "value"), type),
                onnx_put_input(w, "self"));
}

/* A conversion to the result's type, if it is another one. */
void onnx_write_to(onnx_writer *w)
{
    const cfx_tensor *x = onnx_put_self(w, "self");
    cfx_dtype type = onnx_put_result_type(w);

    onnx_put_settled(w);
    if (x && (cfx_dtype)x->dtype == type)
        onnx_write_identity(w);
    else
        onnx_put_cast(w, onnx_put_self_value(w), onnx_put_name(w), type);
}
