/*
 * onnx_quantize -- rules of quantized numbers: calls of quantized_decomposed where
 * onnx_decomposed.c has them, else arithmetic on floats and integers.
 */
#include <math.h>

#include "format/onnx/onnx.h"

#define TYPE(t) cfx_value_of_dtype(t)

/* A scale or zero point for each item of an axis, shaped to broadcast; for
 * blocks of an axis, repeated along it. */
static cfx_value along(onnx_node *n, cfx_value v, cfx_value x, int64_t axis)
{
    int rank = onnx_rank(n, x), own = onnx_rank(n, v);
    int64_t block = onnx_attr_int(n, "block_size", 0);

    if (cfx_scope_failed(n->s) || own == 0)
        return v;
    /* One scale is for the whole tensor, whatever the axis. */
    if (own == 1 && cfx_dim_is(onnx_meta_tensor(n, v)->shape[0], 1))
        return cfx_reshape(n->s, v, onnx_arg(n->s, 0, NULL));
    int at = rank ? onnx_axis(n, axis, rank) : 0;
    if (own == rank && block > 0)
        return cfx_repeat_interleave(n->s, v, cfx_int(block),
                                     .dim = cfx_int(at));
    if (own != 1 || rank < 1)
        return own == rank
                   ? v
                   : onnx_fail(n, CFX_ESHAPE, "its scales have %d axes", own);
    return onnx_along(n->s, v, at, rank);
}

static cfx_value to(onnx_node *n, cfx_value x, cfx_dtype type)
{
    return cfx_to(n->s, x, TYPE(type));
}

typedef struct range_row {
    cfx_dtype type;
    double min, max;
} range_row;

static const range_row ranges[] = {{CFX_U8, 0, 255},
                                   {CFX_I8, -128, 127},
                                   {CFX_I16, -32768, 32767},
                                   {CFX_U16, 0, 65535},
                                   {CFX_I32, INT32_MIN, INT32_MAX}};

/* Round to nearest even, add the zero point, saturate. `bits` of less than 8
 * are those of a narrow number, of others it is 0. */
static cfx_value quantize(onnx_node *n, cfx_value x, cfx_value scale,
                          cfx_value zero, cfx_dtype type, int bits)
{
    double unused = bits ? 1 << (8 - bits) : 1;

    for (size_t i = 0; i < sizeof(ranges) / sizeof(*ranges); i++) {
        if (ranges[i].type != type)
            continue;
        x = cfx_round(n->s, cfx_div(n->s, x, scale));
        if (zero.kind)
            x = cfx_add(n->s, x, to(n, zero, CFX_F32));
        x = cfx_clamp(n->s, x, .min = cfx_float(ranges[i].min / unused),
                      .max = cfx_float(floor(ranges[i].max / unused)));
        return to(n, x, type);
    }
    if (!onnx_is_small_float(type))
        return onnx_fail(n, CFX_EUNSUPPORTED, "it quantizes to %s",
                         cfx_dtypes[type].name);
    x = to(n, cfx_div(n->s, x, scale), CFX_F32);
    if (zero.kind)
        x = cfx_add(n->s, x, to(n, zero, CFX_F32));
    return onnx_small_float(n, x, type, bits);
}

cfx_value onnx_import_quantize_linear(onnx_node *n)
{
    cfx_value x = onnx_tensor(n, 0);
    int64_t code = onnx_attr_int(n, "output_dtype", 0);
    const onnx_qparams params = {1, 2, onnx_attr_int(n, "axis", 1)};
    cfx_dtype type = CFX_U8;

    onnx_ignore(n, "saturate"); /* of floats of 8 bits */
    onnx_ignore(n, "precision");
    if (onnx_has(n, 2)) {
        type = onnx_type_of(n, onnx_stored_tensor(n, 2));
        code = onnx_marked_type(n->s, n->in[2]);
    } else if (code && !onnx_memory_type(&type, code)) {
        return onnx_fail(n, CFX_EUNSUPPORTED,
                         "it quantizes to %s, which is not supported",
                         onnx_type_name(code));
    }
    int bits = onnx_narrow_bits(code);
    cfx_value y = onnx_quantized(n, x, &params, type, bits);
    if (!y.kind) {
        cfx_value scale = along(n, onnx_tensor(n, 1), x, params.axis);
        cfx_value zero = onnx_has(n, 2)
                             ? along(n, onnx_tensor(n, 2), x, params.axis)
                             : CFX_NOTHING;
        y = quantize(n, x, scale, zero, type, bits);
    }
    if (bits)
        onnx_mark_type(n->s, y, code);
    return y;
}

/* (x - zero) * scale */
static cfx_value dequantize(onnx_node *n, cfx_value x, cfx_value scale,
                            cfx_value zero)
{
    cfx_dtype type = onnx_type_of(n, scale);

    x = to(n, x, type);
    if (zero.kind)
        x = cfx_sub(n->s, x, to(n, zero, type));
    return cfx_mul(n->s, x, scale);
}

cfx_value onnx_import_dequantize_linear(onnx_node *n)
{
    const onnx_qparams params = {1, 2, onnx_attr_int(n, "axis", 1)};
    int64_t code = onnx_attr_int(n, "output_dtype", 0);
    cfx_value y = onnx_dequantized(n, 0, &params);
    cfx_dtype type;

    if (!y.kind) {
        cfx_value x = onnx_tensor(n, 0);
        cfx_value scale = along(n, onnx_tensor(n, 1), x, params.axis);
        cfx_value zero = onnx_has(n, 2)
                             ? along(n, onnx_tensor(n, 2), x, params.axis)
                             : CFX_NOTHING;
        y = dequantize(n, x, scale, zero);
    }
    if (code && !onnx_dtype(&type, code))
        return onnx_fail(n, CFX_EUNSUPPORTED,
                         "it makes %s, which is not supported",
                         onnx_type_name(code));
    return code ? to(n, y, type) : y;
}

cfx_value onnx_import_dynamic_quantize_linear(onnx_node *n)
{
    cfx_scope *s = n->s;
    cfx_value x = onnx_tensor(n, 0), zero = cfx_float(0);
    cfx_value top = cfx_clamp(s, cfx_amax(s, x), .min = zero);
    cfx_value low = cfx_clamp(s, cfx_amin(s, x), .max = zero);
    cfx_value scale = cfx_div(s, cfx_sub(s, top, low), cfx_float(255));
    cfx_value at = cfx_round(s, cfx_div(s, cfx_neg(s, low), scale));

    at = to(n, cfx_clamp(s, at, .min = zero, .max = cfx_float(255)), CFX_U8);
    n->out[1] = scale;
    n->out[2] = at;
    return quantize(n, x, scale, at, CFX_U8, 0);
}

/* ---- Products of integers: exact in float64, whose sums have 53 bits ---- */

/* A scale or zero point of the rows of a matrix, as a column of it. */
static cfx_value of_rows(onnx_node *n, cfx_value v, cfx_value matrix)
{
    bool column = onnx_rank(n, v) == 1 && onnx_rank(n, matrix) > 1;

    return column && !cfx_scope_failed(n->s)
               ? cfx_unsqueeze(n->s, v, cfx_int(-1))
               : v;
}

static cfx_value centered(onnx_node *n, size_t x, size_t zero, bool rows)
{
    cfx_value v = to(n, onnx_tensor(n, x), CFX_F64), z;

    if (!onnx_has(n, zero))
        return v;
    z = to(n, onnx_tensor(n, zero), CFX_F64);
    return cfx_sub(n->s, v, rows ? of_rows(n, z, v) : z);
}

/* An operand as floats, by calls that passes pack, or as the difference of floats. */
static cfx_value as_floats(onnx_node *n, size_t i, size_t zero, int64_t axis)
{
    const onnx_qparams params = {ONNX_NO_INPUT, zero, axis};
    cfx_value v = onnx_dequantized(n, i, &params);

    if (v.kind)
        return v;
    v = to(n, onnx_tensor(n, i), CFX_F32);
    if (!onnx_has(n, zero))
        return v;
    cfx_value z = to(n, onnx_tensor(n, zero), CFX_F32);
    return cfx_sub(n->s, v,
                   axis == -2 ? of_rows(n, z, v) : along(n, z, v, axis));
}

cfx_value onnx_import_mat_mul_integer(onnx_node *n)
{
    cfx_value a = centered(n, 0, 2, true), b = centered(n, 1, 3, false);
    cfx_value y = to(n, cfx_matmul(n->s, a, b), CFX_I32);

    onnx_set_floats(
        n->s, y,
        cfx_matmul(n->s, as_floats(n, 0, 2, -2), as_floats(n, 1, 3, -1)));
    return y;
}

/* The product of dequantized matrices; absent if it is exact only in float64. */
static cfx_value dequantized_product(onnx_node *n)
{
    const onnx_qparams rows = {1, 2, -2}, columns = {4, 5, -1};

    if (!onnx_can_dequantize(n, 0, &rows) ||
        !onnx_can_dequantize(n, 3, &columns))
        return CFX_NOTHING;
    return cfx_matmul(n->s, onnx_dequantized(n, 0, &rows),
                      onnx_dequantized(n, 3, &columns));
}

/* Float results as the type of their zero point. */
static cfx_value quantized_result(onnx_node *n, cfx_value y, size_t scale,
                                  size_t zero)
{
    const onnx_qparams params = {scale, zero, 1};
    cfx_dtype type = onnx_type_of(n, onnx_stored_tensor(n, zero));
    cfx_value q = onnx_quantized(n, y, &params, type, 0);

    return q.kind ? q
                  : quantize(n, y, onnx_tensor(n, scale), onnx_tensor(n, zero),
                             type, 0);
}

cfx_value onnx_import_q_linear_mat_mul(onnx_node *n)
{
    cfx_scope *s = n->s;
    const cfx_tensor *t = onnx_meta_tensor(n, onnx_tensor(n, 6));

    if (t && t->rank == 1 && !cfx_dim_is(t->shape[0], 1))
        return onnx_fail(
            n, CFX_EUNSUPPORTED,
            "ONNX does not say whether a list of scales of the result is of rows or of columns");
    cfx_value y = dequantized_product(n);
    if (!y.kind) {
        cfx_value a = centered(n, 0, 2, true), b = centered(n, 3, 5, false);
        a = cfx_mul(s, a, of_rows(n, onnx_tensor(n, 1), a));
        b = cfx_mul(s, b, onnx_tensor(n, 4));
        y = cfx_matmul(s, a, b);
    }
    return quantized_result(n, y, 6, 7);
}

/* Import a Conv of these inputs, with the attributes of the node. */
static cfx_value convolve(onnx_node *n, cfx_value x, cfx_value w, cfx_value b)
{
    cfx_value in[] = {x, w, b};
    onnx_node conv = *n;

    conv.in = in;
    conv.nin = b.kind ? 3 : 2;
    return onnx_import_conv(&conv);
}

/* A zero point of the weights for each output channel. */
static cfx_value by_channel(onnx_node *n, cfx_value v, cfx_value w)
{
    return along(n, v, w, 0);
}

static cfx_value centered_weight(onnx_node *n, size_t w, size_t zero)
{
    cfx_value v = to(n, onnx_tensor(n, w), CFX_F64);

    if (!onnx_has(n, zero))
        return v;
    return cfx_sub(n->s, v,
                   by_channel(n, to(n, onnx_tensor(n, zero), CFX_F64), v));
}

cfx_value onnx_import_conv_integer(onnx_node *n)
{
    cfx_value x = centered(n, 0, 2, false), w = centered_weight(n, 1, 3);
    cfx_value y = to(n, convolve(n, x, w, CFX_NOTHING), CFX_I32);

    x = as_floats(n, 0, 2, 1);
    w = as_floats(n, 1, 3, 0);
    onnx_set_floats(n->s, y, convolve(n, x, w, CFX_NOTHING));
    return y;
}

/* The convolution of dequantized tensors; absent if it is exact only in float64. */
static cfx_value dequantized_convolution(onnx_node *n)
{
    const onnx_qparams one = {1, 2, 1}, channels = {4, 5, 0};
    cfx_scope *s = n->s;
    cfx_value b = {0};

    if (!onnx_can_dequantize(n, 0, &one) ||
        !onnx_can_dequantize(n, 3, &channels))
        return CFX_NOTHING;
    if (onnx_has(n, 8)) {
        cfx_value scale = cfx_mul(s, onnx_tensor(n, 4), onnx_tensor(n, 1));
        scale = cfx_reshape(s, scale, cfx_list(s, cfx_int(-1)));
        b = cfx_mul(s, to(n, onnx_tensor(n, 8), CFX_F32), scale);
    }
    return convolve(n, onnx_dequantized(n, 0, &one),
                    onnx_dequantized(n, 3, &channels), b);
}

cfx_value onnx_import_q_linear_conv(onnx_node *n)
{
    cfx_scope *s = n->s;
    cfx_value y = dequantized_convolution(n);

    if (!y.kind) {
        cfx_value x = centered(n, 0, 2, false), w = centered_weight(n, 3, 5);
        cfx_value scale = onnx_tensor(n, 4), b = {0};
        if (onnx_has(n, 8))
            b = to(n, onnx_tensor(n, 8), CFX_F64);
        y = convolve(n, x, w, b);
        y = cfx_mul(s, y,
                    cfx_mul(s, along(n, scale, y, 1), onnx_tensor(n, 1)));
    }
    return quantized_result(n, y, 6, 7);
}
