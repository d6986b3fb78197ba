/*
 * onnx_decomposed -- quantizing and dequantizing as calls of
 * torch.ops.quantized_decomposed, where the file holds the scales and zero points.
 *
 * Passes compute with integers between such calls. quantize_per_tensor multiplies by
 * 1 / scale where ONNX divides by the scale: results differ, by one step, only where
 * the quotient is within a rounding error of the middle between two integers.
 *
 * Integers of a weight are stored without their zero point where int8 holds them, since
 * products take those. Those of 4 bits in groups keep their zero points, which would take
 * a fifth bit.
 */
#include <math.h>

#include "format/onnx/onnx.h"

/* One scale and zero point, or one for each item of an axis, or for each block. */
typedef struct qparams {
    const cfx_tensor *scale, *zero; /* zero: NULL if it is 0 */
    int axis;                       /* -1: one of each */
    int64_t block; /* items of the axis with one scale, or 0 */
} qparams;

/* A constant of the file; NULL: it is computed, or left out. */
static const cfx_tensor *constant(const onnx_node *n, size_t i)
{
    const cfx_tensor *t = onnx_has(n, i) && n->in[i].kind == CFX_TENSOR
                              ? n->in[i].u.tensor
                              : NULL;

    return t && cfx_tensor_is_contiguous(t) ? t : NULL;
}

static int64_t int_at(const cfx_tensor *t, int64_t i)
{
    cfx_dtype type = (cfx_dtype)t->dtype;

    return cfx_element_int(type, (const char *)t->data +
                                     (size_t)i * cfx_dtype_size(type));
}

/* Are they finite, and more than `least`? */
static bool are_scales(const cfx_tensor *t, float least)
{
    bool fine = t && t->dtype == CFX_F32;

    for (int64_t i = 0; fine && i < cfx_tensor_numel(t); i++) {
        float v = ((const float *)t->data)[i];
        fine = isfinite(v) && v > least;
    }
    return fine;
}

/* Is there a scale for each item, or each block, of the axis of x? */
static bool fits(onnx_node *n, cfx_value x, qparams *q, int64_t axis)
{
    const cfx_tensor *t = onnx_meta_tensor(n, x);

    if (!t || axis < -t->rank || axis >= t->rank)
        return false;
    q->axis = (int)(axis < 0 ? axis + t->rank : axis);
    if (!cfx_dim_is_int(t->shape[q->axis]))
        return false;
    int64_t size = cfx_tensor_size(t, q->axis);
    if (!q->block)
        return q->scale->rank == 1 && cfx_tensor_size(q->scale, 0) == size;
    return q->block > 1 && t->rank == 2 && q->scale->rank == 2 &&
           size % q->block == 0 &&
           cfx_tensor_size(q->scale, q->axis) == size / q->block &&
           cfx_dim_same(t->shape[!q->axis], q->scale->shape[!q->axis]);
}

static const cfx_tensor *ones_like(onnx_node *n, const cfx_tensor *t)
{
    size_t count = t ? (size_t)cfx_tensor_numel(t) : 1;
    float *item = onnx_alloc(n->s, count, sizeof(*item));

    for (size_t i = 0; item && i < count; i++)
        item[i] = 1;
    cfx_value v = item ? onnx_float_tensor(n->s, 1, count, item) : cfx_none();
    return v.kind == CFX_TENSOR ? v.u.tensor : NULL;
}

static bool read_qparams(onnx_node *n, cfx_value x, const onnx_qparams *in,
                         qparams *q)
{
    const cfx_tensor *zero = constant(n, in->zero);

    *q = (qparams){constant(n, in->scale), zero, -1,
                   onnx_attr_int(n, "block_size", 0)};
    if (in->scale == ONNX_NO_INPUT)
        q->scale = ones_like(n, zero);
    if (cfx_scope_failed(n->s) || !are_scales(q->scale, -INFINITY) ||
        (onnx_has(n, in->zero) && !q->zero))
        return false;
    int64_t count = cfx_tensor_numel(q->scale);
    if (zero && (cfx_tensor_numel(zero) != count ||
                 cfx_dtypes[zero->dtype].category != CFX_CAT_INT))
        return false;
    bool zeros = true;
    for (int64_t i = 0; q->zero && i < count; i++)
        zeros = zeros && int_at(q->zero, i) == 0;
    q->zero = zeros ? NULL : q->zero;
    return count == 1 || (count > 1 && fits(n, x, q, in->axis));
}

/* ---- Weights ---- */

/* The number of the scale of element i. */
static int64_t scale_of(const qparams *q, const cfx_tensor *t, int64_t i)
{
    int64_t below = 1;

    if (q->axis < 0)
        return 0;
    for (int k = q->axis + 1; k < t->rank; k++)
        below *= cfx_tensor_size(t, k);
    int64_t size = cfx_tensor_size(t, q->axis), at = i / below % size;
    if (!q->block)
        return at;
    return q->axis ? i / size * (size / q->block) + at / q->block
                   : at / q->block * below + i % below;
}

/* The integers less their zero points, or without q less `shift`, as int8; absent if it
 * does not hold them all. */
static cfx_value centered(onnx_node *n, const cfx_tensor *t, const qparams *q,
                          int64_t shift)
{
    int64_t shape[CFX_MAX_RANK], count = cfx_tensor_numel(t);
    cfx_tensor *out;

    for (int i = 0; i < t->rank; i++)
        shape[i] = cfx_tensor_size(t, i);
    if (cfx_tensor_new(&out, n->s->ctx, CFX_I8, t->rank, shape, &n->s->error))
        return cfx_none();
    cfx_value v = cfx_scope_take(n->s, cfx_value_of_tensor(out));
    for (int64_t i = 0; i < count; i++) {
        int64_t zero = !q        ? shift
                       : q->zero ? int_at(q->zero, scale_of(q, t, i))
                                 : 0;
        int64_t number = int_at(t, i) - zero;
        if (number < INT8_MIN || number > INT8_MAX)
            return CFX_NOTHING;
        ((int8_t *)out->data)[i] = (int8_t)number;
    }
    onnx_name_like(n->s, out, t);
    return v;
}

/* ---- Calls ---- */

#define DECOMPOSED "torch.ops.quantized_decomposed."

/* The range of an integer; `bits` is 0 of one of 8 bits. */
typedef struct range {
    cfx_value least, most, type;
} range;

static range range_of(cfx_dtype type, int bits)
{
    int64_t span = (int64_t)1 << (bits ? bits : 8);
    int64_t least = type == CFX_U8 ? 0 : -span / 2;

    return (range){cfx_int(least), cfx_int(least + span - 1),
                   cfx_value_of_dtype(type)};
}

/* The zero points less `shift`. */
static cfx_value zero_points(onnx_node *n, const qparams *q, int64_t shift)
{
    size_t count = (size_t)cfx_tensor_numel(q->scale);
    int64_t *item = onnx_alloc(n->s, count, sizeof(*item));

    for (size_t i = 0; item && q->zero && i < count; i++)
        item[i] = int_at(q->zero, (int64_t)i) - shift;
    return item ? onnx_int_tensor(n->s, 1, count, item) : cfx_none();
}

static cfx_value tensor(const cfx_tensor *t)
{
    return cfx_value_of_tensor((cfx_tensor *)(uintptr_t)t);
}

static cfx_value call(onnx_node *n, bool quantizes, cfx_value x,
                      const qparams *q, const range *r)
{
    bool by_channel = q->axis >= 0;
    cfx_value args[7];
    size_t count = 0;

    args[count++] = x;
    if (by_channel) {
        args[count++] = tensor(q->scale);
        args[count++] = quantizes || q->zero ? zero_points(n, q, 0)
                                             : cfx_none();
        args[count++] = cfx_int(q->axis);
    } else {
        args[count++] = cfx_float((double)*(const float *)q->scale->data);
        args[count++] = cfx_int(q->zero ? int_at(q->zero, 0) : 0);
    }
    args[count++] = r->least;
    args[count++] = r->most;
    args[count++] = r->type;
    return cfx_call_function(
        n->s,
        quantizes    ? by_channel ? DECOMPOSED "quantize_per_channel.default"
                                  : DECOMPOSED "quantize_per_tensor.default"
        : by_channel ? DECOMPOSED "dequantize_per_channel.default"
                     : DECOMPOSED "dequantize_per_tensor.default",
        cfx_args_of(args, count));
}

/* Groups are in the rows of a matrix: one with blocks of its columns is transposed. */
static cfx_value dequantize_groups(onnx_node *n, cfx_value x, const qparams *q,
                                   int64_t shift, const range *r)
{
    cfx_value scale = tensor(q->scale), zero = cfx_none();

    if (q->zero)
        zero = cfx_reshape_as(n->s, zero_points(n, q, shift), scale);
    if (!q->axis) {
        x = onnx_transposed(n->s, x);
        scale = onnx_transposed(n->s, scale);
        zero = q->zero ? onnx_transposed(n->s, zero) : zero;
    }
    cfx_value y = cfx_dequantize_per_channel_group(
        n->s, x, scale, zero, r->least, r->most, r->type, cfx_int(q->block),
        cfx_value_of_dtype(CFX_F32));
    return q->axis ? y : cfx_t(n->s, y);
}

/* The parameters of input i, if a call takes them. */
static bool read_input(onnx_node *n, size_t i, const onnx_qparams *in,
                       qparams *q)
{
    cfx_value x = onnx_stored_tensor(n, i);
    const cfx_tensor *t = constant(n, i);

    /* One number is computed at once, as the float that it stands for. */
    if (!onnx_is_byte(onnx_type_of(n, x)) || (t && cfx_tensor_numel(t) == 1) ||
        !read_qparams(n, x, in, q))
        return false;
    /* Groups of 8 bits have no zero points. */
    bool narrow = onnx_narrow_bits(onnx_marked_type(n->s, x));
    return q->axis < 0 || !q->block || (t && (!q->zero || narrow));
}

bool onnx_can_dequantize(onnx_node *n, size_t i, const onnx_qparams *in)
{
    qparams q;

    return read_input(n, i, in, &q);
}

cfx_value onnx_quantized(onnx_node *n, cfx_value x, const onnx_qparams *in,
                         cfx_dtype type, int bits)
{
    const range r = range_of(type, bits);
    qparams q;

    if (onnx_type_of(n, x) != CFX_F32 || !onnx_is_byte(type) ||
        !read_qparams(n, x, in, &q) || !are_scales(q.scale, 0) ||
        (q.axis >= 0 && q.block))
        return CFX_NOTHING;
    return call(n, true, x, &q, &r);
}

cfx_value onnx_dequantized(onnx_node *n, size_t i, const onnx_qparams *in)
{
    const cfx_tensor *t = constant(n, i);
    qparams q;

    if (!read_input(n, i, in, &q))
        return CFX_NOTHING;
    cfx_value x = onnx_stored_tensor(n, i);
    cfx_dtype type = onnx_type_of(n, x);
    int bits = onnx_narrow_bits(onnx_marked_type(n->s, x));
    range r = range_of(type, bits);
    bool grouped = q.axis >= 0 && q.block, keeps = grouped && q.zero && bits;
    int64_t shift = keeps && type == CFX_U8 ? (int64_t)1 << (bits - 1) : 0;
    cfx_value own = t && (q.zero || type == CFX_U8)
                        ? centered(n, t, keeps ? NULL : &q, shift)
                        : CFX_NOTHING;
    if (own.kind) {
        x = own;
        q.zero = keeps ? q.zero : NULL;
        r = range_of(CFX_I8, keeps ? bits : 0);
    }
    return grouped ? dequantize_groups(n, x, &q, shift, &r)
                   : call(n, false, x, &q, &r);
}
