/*
 * onnx_pointwise -- rules of arithmetic, comparisons and activations.
 *
 * Those on known ints are evaluated before: numbers.c.
 */
#include "format/onnx/onnx.h"

#define TYPE(t) cfx_value_of_dtype(t)

/* ---- Operators of one call ---- */

/* Before operator set 7 an attribute asked for broadcasting, which, without an
 * axis, is that of today. With one, the second operand begins at that axis of
 * the first: it gets axes of one item after its own. */
static void old_broadcast(onnx_node *n)
{
    if (n->opset >= 7)
        return;
    onnx_ignore(n, "broadcast");
    if (!onnx_attr(n, "axis"))
        return;
    cfx_value a = onnx_stored_tensor(n, 0), b = onnx_stored_tensor(n, 1);
    int rank = onnx_rank(n, a), own = onnx_rank(n, b);
    for (int i = onnx_attr_axis(n, a, 0) + own;
         i < rank && !cfx_scope_failed(n->s); i++)
        b = cfx_unsqueeze(n->s, b, cfx_int(-1));
    n->in[1] = b;
}

cfx_value onnx_import_pair(onnx_node *n)
{
    const onnx_pair *p = n->rule->pair;
    cfx_value in[ONNX_MAX_INPUTS], kwargs[2 * ONNX_PAIR_ATTRS];
    size_t nin = strlen(p->inputs), nkwargs = 0;
    char name[128];
    bool method;

    assert(nin <= ONNX_MAX_INPUTS);
    if (nin == 2)
        old_broadcast(n);
    n->uint64 = *p->inputs == 'c' ? ONNX_ORDER
                : nin > 1         ? ONNX_BITS
                                  : ONNX_NO_UINT64;
    for (size_t i = 0; i < nin; i++)
        in[i] = onnx_tensor(n, i);
    for (; nkwargs < ONNX_PAIR_ATTRS && p->attr[nkwargs].name; nkwargs++) {
        kwargs[2 * nkwargs] = cfx_str(n->s, p->attr[nkwargs].param);
        kwargs[2 * nkwargs + 1] = cfx_float(
            onnx_attr_float(n, p->attr[nkwargs].name, p->attr[nkwargs].usual));
    }
    cfx_op_call_name(p->op, false, &method, name, sizeof(name));
    return cfx_call_function(n->s, p->target ? p->target : name,
                             (cfx_args){in, nin, kwargs, nkwargs});
}

cfx_value onnx_import_identity(onnx_node *n)
{
    return n->in[0];
}

/* ---- Arithmetic ---- */

cfx_value onnx_import_div(onnx_node *n)
{
    old_broadcast(n);
    n->uint64 = ONNX_BITS;
    cfx_value a = onnx_tensor(n, 0), b = onnx_tensor(n, 1);
    return n->widened == CFX_U64 ? onnx_uint64_div(n, a, b)
           : onnx_is_int(n, a)
               ? cfx_div(n->s, a, b, .rounding_mode = cfx_str(n->s, "trunc"))
               : cfx_div(n->s, a, b);
}

cfx_value onnx_import_mod(onnx_node *n)
{
    bool fmod = onnx_attr_int(n, "fmod", 0);

    n->uint64 = ONNX_BITS;
    cfx_value a = onnx_tensor(n, 0), b = onnx_tensor(n, 1);
    return n->widened == CFX_U64
               ? onnx_uint64_mod(n, a, b)
               : CFX_CALL(n->s, fmod ? "torch.fmod" : "torch.remainder", a, b);
}

/* The result has the type of the base. */
cfx_value onnx_import_pow(onnx_node *n)
{
    cfx_value a = onnx_stored_tensor(n, 0), b = onnx_stored_tensor(n, 1);
    cfx_dtype type = onnx_type_of(n, a);
    double number;

    /* Powers of floats take exponents of uint64, too, as floats. */
    b = cfx_dtype_is_float(type) && 1 << onnx_type_of(n, b) & CFX_STORED_TYPES
            ? cfx_to(n->s, b, TYPE(type))
            : onnx_tensor(n, 1);
    n->widened = CFX_BOOL; /* the result is of the base's type */
    a = onnx_tensor(n, 0);
    bool differ = onnx_type_of(n, a) != onnx_type_of(n, b);
    old_broadcast(n);
    /* A number as the exponent needs no tensor. */
    if (b.kind == CFX_TENSOR && !b.u.tensor->rank &&
        onnx_number(n, 1, &number))
        b = number == (double)(int64_t)number ? cfx_int((int64_t)number)
                                              : cfx_float(number);
    cfx_value y = cfx_pow(n->s, a, b);
    return differ ? onnx_in_type(n, y, type) : y;
}

static cfx_value fold_inputs(onnx_node *n, const char *target)
{
    cfx_value v = onnx_tensor(n, 0);

    for (size_t i = 1; i < n->nin; i++)
        v = CFX_CALL(n->s, target, v, onnx_tensor(n, i));
    return v;
}

cfx_value onnx_import_fold(onnx_node *n)
{
    n->uint64 = ONNX_ORDER;
    return fold_inputs(n, n->rule->target);
}

cfx_value onnx_import_mean(onnx_node *n)
{
    cfx_value sum = fold_inputs(n, "torch.add");

    return n->nin > 1 ? cfx_div(n->s, sum, cfx_int((int64_t)n->nin)) : sum;
}

cfx_value onnx_import_bit_shift(onnx_node *n)
{
    bool left = onnx_attr_is(n, "direction", "LEFT", "");

    n->uint64 = ONNX_BITS;
    cfx_value a = onnx_tensor(n, 0), b = onnx_tensor(n, 1);
    return left                    ? cfx_bitwise_left_shift(n->s, a, b)
           : n->widened == CFX_U64 ? onnx_uint64_shift_right(n, a, b)
                                   : cfx_bitwise_right_shift(n->s, a, b);
}

/* ---- Comparisons and choices ---- */

cfx_value onnx_import_equal(onnx_node *n)
{
    if (onnx_has(n, 0) && onnx_is_texts(n->s, n->in[0]))
        return onnx_equal_texts(n);
    old_broadcast(n);
    n->uint64 = ONNX_BITS;
    return cfx_eq(n->s, onnx_tensor(n, 0), onnx_tensor(n, 1));
}

static cfx_value number_of(onnx_node *n, bool is_int, double v)
{
    (void)n;
    return is_int ? cfx_int((int64_t)v) : cfx_float(v);
}

cfx_value onnx_import_clip(onnx_node *n)
{
    cfx_value x = onnx_tensor(n, 0), bound[2] = {{0}, {0}};
    bool is_int = onnx_is_int(n, x), numbers = true;
    static const char *const names[] = {"min", "max"};
    double v;

    for (int i = 0; i < 2; i++) {
        size_t k = (size_t)i + 1;
        const Onnx__AttributeProto *a = onnx_attr(n, names[i]);
        if (n->opset < 11 && a)
            bound[i] = number_of(n, is_int, (double)a->f);
        if (n->opset >= 11 && onnx_has(n, k))
            numbers = numbers && n->in[k].kind == CFX_TENSOR &&
                      cfx_tensor_numel(n->in[k].u.tensor) == 1;
    }
    for (size_t k = 1; n->opset >= 11 && k < 3; k++) {
        if (!onnx_has(n, k))
            continue;
        if (!numbers)
            bound[k - 1] = onnx_tensor(n, k);
        else if (onnx_number(n, k, &v))
            bound[k - 1] = number_of(n, is_int, v);
    }
    return bound[0].kind || bound[1].kind
               ? cfx_clamp(n->s, x, .min = bound[0], .max = bound[1])
               : x;
}

cfx_value onnx_import_is_inf(onnx_node *n)
{
    bool pos = onnx_attr_int(n, "detect_positive", 1);
    bool neg = onnx_attr_int(n, "detect_negative", 1);
    cfx_value x = onnx_tensor(n, 0);

    if (!pos && !neg)
        return cfx_zeros_like(n->s, x, .dtype = TYPE(CFX_BOOL));
    return !neg   ? cfx_isposinf(n->s, x)
           : !pos ? cfx_isneginf(n->s, x)
                  : cfx_isinf(n->s, x);
}

/* ---- Activations ---- */

cfx_value onnx_import_hard_sigmoid(onnx_node *n)
{
    double alpha = onnx_attr_float(n, "alpha", 0.2);
    double beta = onnx_attr_float(n, "beta", 0.5);
    cfx_value x = onnx_tensor(n, 0);

    if ((float)alpha == 1 / 6.0f && beta == 0.5)
        return cfx_hardsigmoid(n->s, x);
    x = cfx_add(n->s, cfx_mul(n->s, x, cfx_float(alpha)), cfx_float(beta));
    return cfx_clamp(n->s, x, .min = cfx_float(0), .max = cfx_float(1));
}

cfx_value onnx_import_gelu(onnx_node *n)
{
    return cfx_gelu(n->s, onnx_tensor(n, 0),
                    .approximate = cfx_str(
                        n->s, onnx_attr_text(n, "approximate", "none")));
}

/* x sigmoid(alpha x) */
static cfx_value swish(onnx_node *n, double usual)
{
    double alpha = onnx_attr_float(n, "alpha", usual);
    cfx_value x = onnx_tensor(n, 0);

    return alpha == 1 ? cfx_silu(n->s, x)
                      : cfx_mul(n->s, x,
                                cfx_sigmoid(
                                    n->s, cfx_mul(n->s, x, cfx_float(alpha))));
}

cfx_value onnx_import_swish(onnx_node *n)
{
    return swish(n, 1);
}

cfx_value onnx_import_quick_gelu(onnx_node *n)
{
    return swish(n, 1.702);
}

cfx_value onnx_import_swi_glu(onnx_node *n)
{
    return cfx_mul(n->s, onnx_import_swish(n), onnx_tensor(n, 1));
}

cfx_value onnx_import_thresholded_relu(onnx_node *n)
{
    return cfx_threshold(n->s, onnx_tensor(n, 0),
                         cfx_float(onnx_attr_float(n, "alpha", 1)),
                         cfx_int(0));
}

cfx_value onnx_import_prelu(onnx_node *n)
{
    cfx_value x = onnx_tensor(n, 0), slope = onnx_tensor(n, 1);

    if (n->opset < 7) { /* a slope for each channel */
        return cfx_prelu(n->s, x, slope);
    }
    return cfx_where(n->s, cfx_lt(n->s, x, cfx_int(0)),
                     cfx_mul(n->s, x, slope), x);
}

cfx_value onnx_import_shrink(onnx_node *n)
{
    double bias = onnx_attr_float(n, "bias", 0);
    double lambd = onnx_attr_float(n, "lambd", 0.5);
    cfx_value x = onnx_tensor(n, 0);
    cfx_value zero = cfx_zeros_like(n->s, x);
    cfx_value low = cfx_add(n->s, x, cfx_float(bias));
    cfx_value high = cfx_sub(n->s, x, cfx_float(bias));

    high = cfx_where(n->s, cfx_gt(n->s, x, cfx_float(lambd)), high, zero);
    high = cfx_where(n->s, cfx_lt(n->s, x, cfx_float(-lambd)), low, high);
    return onnx_in_type(n, high, onnx_type_of(n, x));
}

/* ---- Dropout: at inference it is the identity ---- */

cfx_value onnx_import_dropout(onnx_node *n)
{
    const cfx_value *mode = onnx_has(n, 2) ? &n->in[2] : NULL;
    double ratio = 0.5, training = 0;
    bool live = mode && (!onnx_number(n, 2, &training) || training != 0);

    if (n->opset < 7)
        live = !onnx_attr_int(n, "is_test", 0);
    onnx_ignore(n, "ratio");
    onnx_ignore(n, "seed");
    if (onnx_has(n, 1))
        live = live && (!onnx_number(n, 1, &ratio) || ratio != 0);
    if (live)
        return onnx_fail(
            n, CFX_EUNSUPPORTED,
            "it is in training mode, whose random numbers are ONNX's");
    if (n->nout > 1)
        n->out[1] = cfx_ones_like(n->s, onnx_tensor(n, 0),
                                  .dtype = TYPE(CFX_BOOL));
    return n->in[0];
}
