/*
 * onnx_fused_quantize -- rules of ONNX Runtime's quantized operators.
 *
 * Each is a float operator between DequantizeLinear and QuantizeLinear. Where ONNX
 * Runtime sums integers, its results may differ by one step.
 */
#include "format/onnx/onnx.h"

#define TYPE(t) cfx_value_of_dtype(t)

/* ---- Operands ---- */

/* Input i; absent if it is left out. */
static cfx_value given(const onnx_node *n, size_t i)
{
    return onnx_has(n, i) ? n->in[i] : CFX_NOTHING;
}

/* (x - zero) * scale, with a scale for each item of an axis, or one. */
static cfx_value dequantize(onnx_node *n, cfx_value x, cfx_value scale,
                            cfx_value zero, int64_t axis)
{
    Onnx__AttributeProto attr = ONNX__ATTRIBUTE_PROTO__INIT, *list = &attr;
    Onnx__NodeProto proto = ONNX__NODE_PROTO__INIT;
    cfx_value in[] = {x, scale, zero};
    onnx_node *call = onnx_node_with(n, 3, in);
    char name[] = "axis";

    if (!call)
        return CFX_NOTHING;
    attr.name = name;
    attr.has_i = true;
    attr.i = axis;
    proto.attribute = &list;
    proto.n_attribute = 1;
    call->proto = &proto;
    return onnx_import_dequantize_linear(call);
}

/* Input i, dequantized by the scale and the zero point behind it. */
static cfx_value dequantized(onnx_node *n, size_t i)
{
    return dequantize(n, given(n, i), given(n, i + 1), given(n, i + 2), -1);
}

/* y quantized by the scale of input i and the zero point behind it; without one, to
 * the type of `like`. */
static cfx_value quantized(onnx_node *n, cfx_value y, size_t i, size_t like)
{
    cfx_value in[] = {y, given(n, i), given(n, i + 1)};

    if (!in[2].kind)
        in[2] = onnx_scalar_tensor(
            n->s, 0, onnx_type_of(n, onnx_stored_tensor(n, like)));
    return onnx_apply(n, onnx_import_quantize_linear, 3, in);
}

/* ---- QLinear ---- */

/* x with its channels moved behind the batch, or, if `back`, to the end. */
static cfx_value move_channels(onnx_node *n, cfx_value x, bool back)
{
    int rank = onnx_rank(n, x);
    int64_t order[CFX_MAX_RANK] = {0};

    if (rank < 3)
        return onnx_fail(n, CFX_ESHAPE, "it takes images, and has %d axes",
                         rank);
    for (int i = 1; i < rank; i++)
        order[i] = 1 + (back ? i : i + rank - 3) % (rank - 1);
    return cfx_permute(n->s, x, onnx_int_arg(n->s, (size_t)rank, order));
}

/* The result of a rule with the attributes of n, on inputs of which the first may
 * have its channels last, as the result then has. */
static cfx_value on_image(onnx_node *n, onnx_rule_fn *rule, size_t count,
                          const cfx_value *in, bool last)
{
    cfx_value *all = onnx_alloc(n->s, count + 1, sizeof(*all));

    for (size_t i = 0; all && i < count; i++)
        all[i] = i || !last ? in[i] : move_channels(n, in[i], false);
    cfx_value y = all ? onnx_with_inputs(n, rule, count, all) : CFX_NOTHING;
    return last && all ? move_channels(n, y, true) : y;
}

enum { MAX_OPERANDS = 2, Q_OPSET = 13 };

/* ONNX's operator of the row on one or two operands, with the attributes that it has
 * in operator set 13. */
cfx_value onnx_import_q_linear(onnx_node *n)
{
    bool last = onnx_attr_int(n, "channels_last", 0);
    size_t count = n->nin / 3;
    cfx_value x[MAX_OPERANDS];
    onnx_node call = *n;

    if (count < 1 || count > MAX_OPERANDS)
        return onnx_fail(n, CFX_EGRAPH, "it has %zu inputs", n->nin);
    for (size_t i = 0; i < count; i++)
        x[i] = dequantized(n, 3 * i);
    call.opset = onnx_attr_int(n, "opset", Q_OPSET);
    call.rule = onnx_find_rule(n->importer, "", n->rule->target, Q_OPSET);
    cfx_value y = on_image(&call, call.rule->import, count, x, last);
    return quantized(n, y, 3 * count, 0);
}

cfx_value onnx_import_q_conv(onnx_node *n)
{
    bool last = onnx_attr_int(n, "channels_last", 0);

    return on_image(n, onnx_import_q_linear_conv, n->nin, n->in, last);
}

cfx_value onnx_import_nhwc_max_pool(onnx_node *n)
{
    return on_image(n, onnx_import_max_pool, 1, n->in, true);
}

/* The scale and zero point of the result come first. */
cfx_value onnx_import_q_linear_concat(onnx_node *n)
{
    size_t count = n->nin / 3;
    cfx_value *x = onnx_alloc(n->s, count + 1, sizeof(*x));

    for (size_t i = 0; x && i < count; i++)
        x[i] = dequantized(n, 2 + 3 * i);
    return x ? quantized(n, onnx_with_inputs(n, onnx_import_concat, count, x),
                         0, 2)
             : CFX_NOTHING;
}

cfx_value onnx_import_q_linear_where(onnx_node *n)
{
    cfx_value y = cfx_where(n->s, onnx_tensor(n, 0), dequantized(n, 1),
                            dequantized(n, 4));

    return quantized(n, y, 7, 1);
}

/* ---- Products ---- */

/* alpha * (a b + c), where integers c have the product of the scales. Without a scale
 * of the result it is a float. */
cfx_value onnx_import_q_gemm(onnx_node *n)
{
    enum { A, A_SCALE, A_ZERO, B, B_SCALE, B_ZERO, C, Y_SCALE };
    cfx_scope *s = n->s;
    double alpha = onnx_attr_float(n, "alpha", 1);
    bool transposed = onnx_attr_int(n, "transB", 0);
    cfx_value in[] = {dequantized(n, A),
                      dequantize(n, given(n, B), given(n, B_SCALE),
                                 given(n, B_ZERO), transposed ? 0 : 1),
                      CFX_NOTHING};

    if (onnx_has(n, C)) {
        cfx_value scale = cfx_mul(s, onnx_tensor(n, B_SCALE),
                                  onnx_tensor(n, A_SCALE));
        in[2] = cfx_mul(s, cfx_to(s, onnx_tensor(n, C), TYPE(CFX_F32)), scale);
        if (alpha != 1)
            in[2] = cfx_mul(s, in[2], cfx_float(alpha));
    }
    cfx_value y = onnx_with_inputs(n, onnx_import_gemm, in[2].kind ? 3 : 2,
                                   in);
    return onnx_has(n, Y_SCALE) ? quantized(n, y, Y_SCALE, A) : y;
}

/* a times the columns of b, plus input `bias`. */
static cfx_value product(onnx_node *n, cfx_value a, cfx_value b, size_t bias)
{
    cfx_value y = cfx_matmul(n->s, a, b);

    return onnx_has(n, bias) ? cfx_add(n->s, y, onnx_tensor(n, bias)) : y;
}

cfx_value onnx_import_mat_mul_integer_to_float(onnx_node *n)
{
    enum { A, B, A_SCALE, B_SCALE, A_ZERO, B_ZERO, BIAS };
    cfx_value a = dequantize(n, given(n, A), given(n, A_SCALE),
                             given(n, A_ZERO), -1);
    cfx_value b = dequantize(n, given(n, B), given(n, B_SCALE),
                             given(n, B_ZERO), -1);

    return product(n, a, b, BIAS);
}

/* a is quantized by its own range, as DynamicQuantizeLinear does. */
cfx_value onnx_import_dynamic_quantize_mat_mul(onnx_node *n)
{
    enum { A, B, B_SCALE, B_ZERO, BIAS };
    cfx_value x = given(n, A);
    onnx_node *call = onnx_node_with(n, 1, &x);

    if (!call)
        return CFX_NOTHING;
    call->nout = 3;
    cfx_value a = onnx_import_dynamic_quantize_linear(call);
    a = dequantize(n, a, call->out[1], call->out[2], -1);
    cfx_value b = dequantize(n, given(n, B), given(n, B_SCALE),
                             given(n, B_ZERO), -1);
    return product(n, a, b, BIAS);
}

/* ---- Attention and embeddings ---- */

cfx_value onnx_import_q_attention(onnx_node *n)
{
    enum { X, W, B, X_SCALE, W_SCALE, MASK, X_ZERO, W_ZERO, PAST };
    cfx_value in[] = {
        dequantize(n, given(n, X), given(n, X_SCALE), given(n, X_ZERO), -1),
        dequantize(n, given(n, W), given(n, W_SCALE), given(n, W_ZERO), -1),
        given(n, B), given(n, MASK), given(n, PAST)};

    return onnx_with_inputs(n, onnx_import_packed_attention, 5, in);
}

/* Tables and the parameters of the norm are integers; their scales come after the
 * mask, and then their zero points. */
cfx_value onnx_import_q_embed_layer_norm(onnx_node *n)
{
    enum { FIRST = 2, TABLES = 5, MASK = 7, INPUTS };
    cfx_value in[INPUTS];

    for (size_t i = 0; i < INPUTS; i++)
        in[i] = given(n, i);
    for (size_t i = FIRST; i < FIRST + TABLES; i++)
        if (in[i].kind)
            in[i] = dequantize(n, in[i], given(n, INPUTS + i - FIRST),
                               given(n, INPUTS + TABLES + i - FIRST), -1);
    return onnx_with_inputs(n, onnx_import_embed_layer_norm, INPUTS, in);
}

/* ---- Weights by blocks ---- */

/* A matrix of integers whose rows have a scale for each block, and perhaps a zero
 * point: inputs of these numbers. */
typedef struct blocks {
    size_t data, scales, zeros;
    int64_t rows, depth, bits, size;
} blocks;

/* Rows of bytes of 4 or 8 bits as int8, their middle at 0. */
static cfx_value unpack(onnx_node *n, cfx_value x, int64_t bits)
{
    cfx_scope *s = n->s;

    if (bits == 8)
        return cfx_view_dtype(s, cfx_bitwise_xor(s, x, cfx_int(128)),
                              TYPE(CFX_I8));
    cfx_value low = cfx_bitwise_and(s, x, cfx_int(15));
    cfx_value high = cfx_bitwise_right_shift(s, x, cfx_int(4));
    x = cfx_flatten(s,
                    cfx_stack(s, cfx_list(s, low, high), .dim = cfx_int(-1)),
                    .start_dim = cfx_int(1));
    return cfx_sub(s, cfx_to(s, x, TYPE(CFX_I8)), cfx_int(8));
}

/* Fail where a weight is none of those that unpack reads. */
static bool check_blocks(onnx_node *n, const blocks *b)
{
    bool fits = b->rows > 0 && b->depth > 0 && b->size > 0 &&
                (b->bits == 4 || b->bits == 8);

    return !cfx_scope_failed(n->s) &&
           (fits ||
            onnx_refuse(n, CFX_EUNSUPPORTED,
                        "it has weights of %lld bits in blocks of %lld",
                        (long long)b->bits, (long long)b->size));
}

static cfx_value dequantize_blocks(onnx_node *n, const blocks *b)
{
    cfx_scope *s = n->s;
    int64_t least = -(1 << (b->bits - 1));
    cfx_value shape = cfx_list(s, cfx_int(b->rows), cfx_int(-1));
    cfx_value w = cfx_reshape(s, onnx_tensor(n, b->data), shape);
    cfx_value scale = cfx_reshape(s, onnx_tensor(n, b->scales), shape);
    cfx_value zero = cfx_none();

    if (onnx_has(n, b->zeros)) {
        zero = cfx_reshape(s, onnx_tensor(n, b->zeros), shape);
        zero = onnx_is_int(n, zero)
                   ? cfx_to(s, unpack(n, zero, b->bits), TYPE(CFX_I64))
                   : cfx_sub(s, zero, cfx_int(-least));
        zero = onnx_slice(s, zero, 1, 0, (b->depth - 1) / b->size + 1);
    }
    w = cfx_dequantize_per_channel_group(s, unpack(n, w, b->bits), scale, zero,
                                         cfx_int(least), cfx_int(-least - 1),
                                         TYPE(CFX_I8), cfx_int(b->size),
                                         TYPE(onnx_type_of(n, scale)));
    return b->depth % b->size ? onnx_slice(s, w, 1, 0, b->depth) : w;
}

cfx_value onnx_import_mat_mul_n_bits(onnx_node *n)
{
    enum { A, B, SCALES, ZEROS, GROUPS, BIAS };
    const blocks b = {B,
                      SCALES,
                      ZEROS,
                      onnx_attr_int(n, "N", 0),
                      onnx_attr_int(n, "K", 0),
                      onnx_attr_int(n, "bits", 4),
                      onnx_attr_int(n, "block_size", 0)};

    onnx_ignore(n, "accuracy_level"); /* of the sums, which are float32 here */
    if (onnx_has(n, GROUPS) || onnx_attr_int(n, "weight_prepacked", 0))
        return onnx_fail(n, CFX_EUNSUPPORTED,
                         "g_idx and weight_prepacked are not supported");
    if (!check_blocks(n, &b))
        return CFX_NOTHING;
    return cfx_linear(n->s, onnx_tensor(n, A), dequantize_blocks(n, &b),
                      .bias = onnx_optional(n, BIAS));
}

/* Rows of a table; the rows have the blocks. */
cfx_value onnx_import_gather_block_quantized(onnx_node *n)
{
    enum { DATA, INDICES, SCALES, ZEROS };
    cfx_value data = onnx_tensor(n, DATA);
    blocks b = {.data = DATA,
                .scales = SCALES,
                .zeros = ZEROS,
                .bits = onnx_attr_int(n, "bits", 4),
                .size = onnx_attr_int(n, "block_size", 128)};

    if (onnx_rank(n, data) != 2 || onnx_type_of(n, data) != CFX_U8 ||
        onnx_marked_type(n->s, data) || onnx_attr_int(n, "gather_axis", 0) ||
        onnx_axis(n, onnx_attr_int(n, "quantize_axis", 1), 2) != 1)
        return onnx_fail(
            n, CFX_EUNSUPPORTED,
            "it takes rows of a table of uint8 that has blocks along its rows");
    b.rows = onnx_known_size(n, data, 0);
    b.depth = onnx_known_size(n, data, 1) * (b.bits == 4 ? 2 : 1);
    return check_blocks(n, &b) ? cfx_embedding(n->s, dequantize_blocks(n, &b),
                                               onnx_tensor(n, INDICES))
                               : CFX_NOTHING;
}

/* ---- DynamicQuantizeLSTM ---- */

/* Weights [directions, in, out], with a scale for each direction or column, as LSTM
 * has them: [directions, out, in]. */
static cfx_value lstm_weight(onnx_node *n, size_t i, size_t scale)
{
    cfx_scope *s = n->s;
    cfx_value to = TYPE(CFX_F32), w = cfx_to(s, onnx_tensor(n, i), to);
    cfx_value v[] = {cfx_to(s, onnx_tensor(n, scale + 1), to),
                     onnx_tensor(n, scale)};

    for (size_t k = 0; k < 2; k++) {
        if (onnx_rank(n, v[k]) == 1)
            v[k] = cfx_unsqueeze(s, v[k], cfx_int(1));
        v[k] = cfx_unsqueeze(s, v[k], cfx_int(1));
    }
    w = cfx_mul(s, cfx_sub(s, w, v[0]), v[1]);
    return cfx_transpose(s, w, cfx_int(1), cfx_int(2));
}

/* A float LSTM: ONNX Runtime also quantizes the input and, before each step, the
 * state, which adds their errors. */
cfx_value onnx_import_dynamic_quantize_lstm(onnx_node *n)
{
    enum { W = 1, R, LSTM_INPUTS = 8, W_SCALE = 8, R_SCALE = 10 };
    cfx_value in[LSTM_INPUTS];

    for (size_t i = 0; i < LSTM_INPUTS; i++)
        in[i] = given(n, i);
    in[W] = lstm_weight(n, W, W_SCALE);
    in[R] = lstm_weight(n, R, R_SCALE);
    return onnx_with_inputs(n, onnx_import_lstm, LSTM_INPUTS, in);
}
