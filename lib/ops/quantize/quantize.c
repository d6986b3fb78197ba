/*
 * quantize -- numbers to integers and back, as quantized_decomposed of PyTorch:
 * by one scale, or one for each channel, token or group.
 *
 * shape   that of the input.
 * cost    that of the operators they consist of: a product, rounding and a sum
 *         an element; back a difference and a product.
 *
 * The order of the steps is PyTorch's and matters: per tensor and channel x is
 * rounded before the zero point is added, per token and group after it. x is
 * multiplied by 1 / scale, not divided by the scale.
 */
#include "ops/quantize/quantize_ops.h"

#include "kernel/blocked/quantized.h"
#include "op/infer.h"

CFX_PARAMS(params, INPUT, SCALE, SCALES, ZERO_POINT, ZERO_POINTS, AXIS,
           QUANT_MIN, QUANT_MAX, DTYPE, GROUP_SIZE, OUT_DTYPE, OUTPUT_DTYPE);

#define IN(k) cfx_call_value(call, k)

static cfx_dtype type_of(cfx_value x)
{
    return (cfx_dtype)x.u.tensor->dtype;
}

cfx_value cfx_quantize_as(cfx_scope *s, cfx_value x, cfx_dtype type)
{
    if (cfx_scope_failed(s) || type_of(x) == type)
        return x;
    return CFX_CALL(s, "torch.ops.aten.to.dtype", x, cfx_value_of_dtype(type));
}

bool cfx_quantize_check_range(cfx_scope *s, cfx_dtype type, int64_t least,
                              int64_t most)
{
    const cfx_dtype_info *info = &cfx_dtypes[type];
    if (info->category != CFX_CAT_INT || type == CFX_I64) {
        cfx_scope_fail(s, CFX_EDTYPE, "Unsupported dtype: torch.%s",
                       info->name);
        return false;
    }
    int64_t largest = (int64_t)info->largest;
    int64_t smallest = type == CFX_U8 ? 0 : -largest - 1;
    if (least < smallest || most > largest)
        cfx_scope_fail(
            s, CFX_EINVAL,
            "quant_min %lld and quant_max %lld are out of bounds for torch.%s",
            (long long)least, (long long)most, info->name);
    return !cfx_scope_failed(s);
}

cfx_value cfx_quantize_input(cfx_scope *s, cfx_value x)
{
    cfx_dtype type = type_of(x);
    if (type == CFX_F16 || type == CFX_BF16)
        return cfx_quantize_as(s, x, CFX_F32);
    if (type != CFX_F32)
        return cfx_scope_fail(
            s, CFX_EDTYPE,
            "Expecting input to have dtype torch.float32, but got dtype: torch.%s",
            cfx_dtypes[type].name);
    return x;
}

cfx_value cfx_quantize_along(cfx_scope *s, const cfx_tensor *x, int axis,
                             cfx_dim n)
{
    cfx_value extent[CFX_MAX_RANK];
    for (int i = 0; i < x->rank; i++)
        extent[i] = i == axis ? cfx_value_of_dim(n) : cfx_int(1);
    return cfx_list_of(s, CFX_LIST, (size_t)x->rank, extent);
}

/* ---- Per tensor ---- */

/* A number, or that in a tensor of one element; `unknown` if it has no
 * data. */
static cfx_value number_in(cfx_scope *s, const cfx_call *call, int k,
                           cfx_value unknown)
{
    const cfx_tensor *t = cfx_call_tensor(call, k);
    static const int64_t origin[CFX_MAX_RANK];
    if (!t)
        return IN(k);
    cfx_dim n = cfx_infer_numel(s->env, t->rank, t->shape);
    if (!cfx_dim_eq(s->env, n, cfx_dim_int(1)))
        return cfx_scope_fail(s, CFX_ESHAPE,
                              "Expecting %s tensor to be one element",
                              k == SCALE ? "scale" : "zero_point");
    return t->data ? cfx_infer_number_at((cfx_dtype)t->dtype,
                                         cfx_tensor_at(t, origin))
                   : unknown;
}

/* The whole part of a number; the nearest integer of 64 bits if it has none. */
static int64_t whole(cfx_value v)
{
    if (v.kind != CFX_FLOAT)
        return v.u.i;
    return v.u.f >= 0x1p63    ? INT64_MAX
           : v.u.f >= -0x1p63 ? (int64_t)v.u.f
                              : INT64_MIN;
}

static cfx_value quantize_per_tensor_build(cfx_scope *s, const cfx_call *call)
{
    cfx_dtype type = cfx_call_dtype(call, DTYPE, CFX_U8);
    cfx_value scale = number_in(s, call, SCALE, cfx_float(1));
    cfx_value zero = number_in(s, call, ZERO_POINT, cfx_int(0));
    cfx_value least = number_in(s, call, QUANT_MIN, cfx_int(0));
    cfx_value most = number_in(s, call, QUANT_MAX, cfx_int(0));
    cfx_value x = cfx_quantize_input(s, IN(INPUT));
    if (cfx_scope_failed(s) ||
        !cfx_quantize_check_range(s, type, whole(least), whole(most)))
        return cfx_none();
    if (cfx_value_number(scale) == 0)
        return cfx_scope_fail(s, CFX_EINVAL, "the scale is 0");
    x = CFX_CALL(s, "torch.mul", x, cfx_float(1 / cfx_value_number(scale)));
    x = CFX_CALL(s, "torch.add", CFX_CALL(s, "torch.round", x), zero);
    return cfx_quantize_as(s, CFX_CALL(s, "torch.clamp", x, least, most),
                           type);
}

/* Fail unless the input is of the type that the call names. */
static bool check_type(cfx_scope *s, const cfx_call *call)
{
    cfx_dtype type = cfx_call_dtype(call, DTYPE, CFX_U8);
    cfx_dtype have = type_of(IN(INPUT));
    if (have != type)
        cfx_scope_fail(
            s, CFX_EDTYPE,
            "Expecting input to have dtype: torch.%s, but got dtype: torch.%s",
            cfx_dtypes[type].name, cfx_dtypes[have].name);
    return !cfx_scope_failed(s);
}

static cfx_value dequantize_per_tensor_build(cfx_scope *s,
                                             const cfx_call *call)
{
    cfx_dtype type = cfx_call_dtype(call, OUT_DTYPE, CFX_F32);
    cfx_value scale = number_in(s, call, SCALE, cfx_float(1));
    cfx_value zero = number_in(s, call, ZERO_POINT, cfx_int(0));
    cfx_value x = IN(INPUT);
    if (cfx_scope_failed(s) || !check_type(s, call) ||
        !cfx_quantize_check_range(s, type_of(x), 0, 0))
        return cfx_none();
    x = CFX_CALL(s, "torch.sub", cfx_quantize_as(s, x, type), zero);
    return CFX_CALL(s, "torch.mul", x, scale);
}

/* ---- Per channel ---- */

/* The axis of the channels, which is checked as Python's lists do. */
static bool channel_axis(cfx_scope *s, const cfx_call *call, int *axis)
{
    int64_t rank = cfx_call_tensor(call, INPUT)->rank;
    int64_t k = cfx_call_int(call, AXIS);
    if (k >= rank || k < -rank)
        cfx_scope_fail(s, CFX_EINVAL, "Expecting axis to be < %lld",
                       (long long)rank);
    *axis = (int)(k < 0 ? k + rank : k);
    return !cfx_scope_failed(s);
}

/* x with two axes swapped, the first of which is 0. */
static cfx_value swap_first(cfx_scope *s, cfx_value x, int axis)
{
    return axis ? CFX_CALL(s, "torch.transpose", x, cfx_int(0), cfx_int(axis))
                : x;
}

/* One number a channel, in the shape that broadcasts along axis 0. */
static cfx_value by_channel(cfx_scope *s, const cfx_call *call, int k)
{
    const cfx_tensor *t = cfx_call_tensor(call, SCALES);
    if (!t->rank)
        return cfx_scope_fail(s, CFX_ESHAPE, "scales have no axis");
    cfx_value shape = cfx_quantize_along(s, cfx_call_tensor(call, INPUT), 0,
                                         t->shape[0]);
    return CFX_CALL(s, "Tensor.view", IN(k), shape);
}

static cfx_value quantize_per_channel_build(cfx_scope *s, const cfx_call *call)
{
    cfx_dtype type = cfx_call_dtype(call, DTYPE, CFX_U8);
    cfx_value least = IN(QUANT_MIN), most = IN(QUANT_MAX);
    cfx_value x = cfx_quantize_input(s, IN(INPUT));
    int axis;
    if (!channel_axis(s, call, &axis) ||
        !cfx_quantize_check_range(s, type, least.u.i, most.u.i))
        return cfx_none();
    cfx_value scale = CFX_CALL(s, "torch.reciprocal",
                               by_channel(s, call, SCALES));
    x = CFX_CALL(s, "torch.mul", swap_first(s, x, axis), scale);
    x = CFX_CALL(s, "torch.add", CFX_CALL(s, "torch.round", x),
                 by_channel(s, call, ZERO_POINTS));
    x = CFX_CALL(s, "torch.clamp", x, least, most);
    return cfx_quantize_as(s, swap_first(s, x, axis), type);
}

static cfx_value dequantize_per_channel_build(cfx_scope *s,
                                              const cfx_call *call)
{
    cfx_value x = IN(INPUT);
    int axis;
    if (!check_type(s, call) || !channel_axis(s, call, &axis) ||
        !cfx_quantize_check_range(s, type_of(x), cfx_call_int(call, QUANT_MIN),
                                  cfx_call_int(call, QUANT_MAX)))
        return cfx_none();
    x = swap_first(s, x, axis);
    if (cfx_call_has(call, ZERO_POINTS))
        x = CFX_CALL(s, "torch.sub", x, by_channel(s, call, ZERO_POINTS));
    x = CFX_CALL(s, "torch.mul", x, by_channel(s, call, SCALES));
    x = cfx_quantize_as(s, x, cfx_call_dtype(call, OUT_DTYPE, CFX_F32));
    return swap_first(s, x, axis);
}

/* ---- Per token and group ---- */

/* clamp(round(x * (1 / scales) + zero_points)). */
static cfx_value affine(cfx_scope *s, const cfx_call *call, cfx_value x,
                        cfx_value scales, cfx_value zeros)
{
    x = CFX_CALL(s, "torch.mul", x, CFX_CALL(s, "torch.reciprocal", scales));
    x = CFX_CALL(s, "torch.round", CFX_CALL(s, "torch.add", x, zeros));
    x = CFX_CALL(s, "torch.clamp", x, IN(QUANT_MIN), IN(QUANT_MAX));
    return cfx_quantize_as(s, x, cfx_call_dtype(call, DTYPE, CFX_U8));
}

static cfx_dim numel(cfx_scope *s, const cfx_tensor *t, int rank)
{
    return cfx_infer_numel(s->env, rank, t->shape);
}

static bool check_tokens(cfx_scope *s, const cfx_call *call, int k)
{
    const cfx_tensor *x = cfx_call_tensor(call, INPUT);
    const cfx_tensor *t = cfx_call_tensor(call, k);
    int outer = x->rank ? x->rank - 1 : 0;
    if (!cfx_dim_eq(s->env, numel(s, x, outer), numel(s, t, t->rank)))
        cfx_scope_fail(s, CFX_ESHAPE, "%s are not one for each token",
                       k == SCALES ? "scales" : "zero_points");
    return !cfx_scope_failed(s);
}

static cfx_value quantize_per_token_build(cfx_scope *s, const cfx_call *call)
{
    if (!cfx_quantize_check_range(s, cfx_call_dtype(call, DTYPE, CFX_U8),
                                  cfx_call_int(call, QUANT_MIN),
                                  cfx_call_int(call, QUANT_MAX)) ||
        !check_tokens(s, call, SCALES) || !check_tokens(s, call, ZERO_POINTS))
        return cfx_none();
    return affine(s, call, IN(INPUT), IN(SCALES), IN(ZERO_POINTS));
}

static cfx_value dequantize_per_token_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value x = CFX_CALL(s, "torch.sub", IN(INPUT), IN(ZERO_POINTS));
    x = CFX_CALL(s, "torch.mul", x, IN(SCALES));
    return cfx_quantize_as(s, x, cfx_call_dtype(call, OUTPUT_DTYPE, CFX_F32));
}

/* The extent of a group. A row shorter than that is a group, if there is one
 * column of scales; unless that is known, groups have the given size. */
static cfx_dim group_extent(cfx_scope *s, const cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, INPUT);
    const cfx_tensor *t = cfx_call_tensor(call, SCALES);
    cfx_dim size = cfx_dim_int(cfx_call_int(call, GROUP_SIZE));
    cfx_dim one = cfx_dim_int(1), columns = t->shape[t->rank - 1];
    bool one_column = cfx_dim_known_eq(s->env, columns, one);
    /* One column serves all groups of a single row, and of none. */
    if (one_column && cfx_dim_known_le(s->env, x->shape[0], one))
        return cfx_dim_min(s->env, x->shape[1], size);
    bool short_rows = one_column ? cfx_dim_le(s->env, x->shape[1], size)
                                 : !cfx_dim_le(s->env, size, x->shape[1]) &&
                                       cfx_dim_eq(s->env, columns, one);
    return short_rows ? x->shape[1] : size;
}

/* The input as rows of one group each. */
static cfx_value grouped(cfx_scope *s, const cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, INPUT);
    if (cfx_call_int(call, GROUP_SIZE) <= 1)
        return cfx_scope_fail(s, CFX_EINVAL, "group_size must be > 1");
    if (x->rank != 2 || !cfx_call_tensor(call, SCALES)->rank)
        return cfx_scope_fail(
            s, CFX_ESHAPE,
            "input must be 2-dimensional, and scales must have an axis");
    cfx_dim size = group_extent(s, call);
    if (!cfx_dim_eq(s->env, cfx_dim_mod(s->env, x->shape[1], size),
                    cfx_dim_int(0)))
        return cfx_scope_fail(
            s, CFX_ESHAPE, "input.shape[-1] must be divisible by group_size");
    return CFX_CALL(s, "torch.reshape", IN(INPUT),
                    cfx_list(s, cfx_int(-1), cfx_value_of_dim(size)));
}

static cfx_value as_column(cfx_scope *s, cfx_value v)
{
    return CFX_CALL(s, "torch.reshape", v,
                    cfx_list(s, cfx_int(-1), cfx_int(1)));
}

static cfx_value as_input(cfx_scope *s, const cfx_call *call, cfx_value x)
{
    return CFX_CALL(s, "Tensor.reshape_as", x, IN(INPUT));
}

static cfx_value quantize_per_channel_group_build(cfx_scope *s,
                                                  const cfx_call *call)
{
    cfx_value x = grouped(s, call);
    x = affine(s, call, x, as_column(s, IN(SCALES)),
               as_column(s, IN(ZERO_POINTS)));
    return as_input(s, call, x);
}

/* Does x hold NaN? False without data. */
static bool holds_nan(cfx_scope *s, cfx_value x)
{
    cfx_value any = CFX_CALL(s, "torch.any", CFX_CALL(s, "torch.isnan", x));
    return !cfx_scope_failed(s) && cfx_truth(s, any);
}

/* A run also looks for NaN, which would be an arbitrary integer. */
static cfx_value quantize_group_checked(cfx_scope *s, const cfx_call *call)
{
    if (holds_nan(s, IN(INPUT)))
        return cfx_scope_fail(s, CFX_EINVAL, "to_quant must not contain NaNs");
    return quantize_per_channel_group_build(s, call);
}

static cfx_value dequantize_per_channel_group_build(cfx_scope *s,
                                                    const cfx_call *call)
{
    cfx_value x = grouped(s, call);
    if (cfx_call_has(call, ZERO_POINTS))
        x = CFX_CALL(s, "torch.sub", x, as_column(s, IN(ZERO_POINTS)));
    x = CFX_CALL(s, "torch.mul", x, as_column(s, IN(SCALES)));
    return cfx_quantize_as(s, as_input(s, call, x),
                           cfx_call_dtype(call, OUTPUT_DTYPE, CFX_F32));
}

/* ---- fake_quant_per_channel, convert_element_type ---- */

static cfx_value fake_quant_per_channel_build(cfx_scope *s,
                                              const cfx_call *call)
{
    cfx_value x = IN(INPUT);
    int axis;
    if (type_of(x) != CFX_F32)
        return cfx_scope_fail(s, CFX_EDTYPE,
                              "Expecting input to have dtype torch.float32");
    if (!channel_axis(s, call, &axis))
        return cfx_none();
    const cfx_tensor *t = cfx_call_tensor(call, SCALES);
    if (t->rank != 1 || cfx_call_tensor(call, ZERO_POINTS)->rank != 1)
        return cfx_scope_fail(s, CFX_ESHAPE,
                              "scales and zero_points must have one axis");
    cfx_value shape = cfx_quantize_along(s, x.u.tensor, axis, t->shape[0]);
    cfx_value scale = CFX_CALL(s, "Tensor.view",
                               cfx_quantize_as(s, IN(SCALES), CFX_F32), shape);
    cfx_value zero = CFX_CALL(
        s, "Tensor.view", cfx_quantize_as(s, IN(ZERO_POINTS), CFX_I32), shape);
    x = CFX_CALL(s, "torch.mul", x, CFX_CALL(s, "torch.reciprocal", scale));
    x = CFX_CALL(s, "torch.add", CFX_CALL(s, "torch.round", x), zero);
    x = CFX_CALL(s, "torch.clamp", x, IN(QUANT_MIN), IN(QUANT_MAX));
    return CFX_CALL(s, "torch.mul", CFX_CALL(s, "torch.sub", x, zero), scale);
}

static cfx_value convert_element_type_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value x = IN(INPUT);
    return CFX_CALL(s, "torch.ops.aten.to.dtype", x, IN(DTYPE));
}

/* ---- uint8 in one pass ---- */

/* Do x and y have the same order in memory, without gaps? */
static bool are_dense_alike(const cfx_tensor *x, const cfx_tensor *y)
{
    int64_t last = 0; /* the distance of the last element */
    for (int i = 0; i < x->rank; i++) {
        int64_t n = cfx_tensor_size(x, i), step = cfx_tensor_stride(x, i);
        if (n > 1 && (step <= 0 || step != cfx_tensor_stride(y, i)))
            return false;
        last += n > 1 ? (n - 1) * step : 0;
    }
    return cfx_tensor_numel(x) == last + 1;
}

/* Does a call of uint8 and float32 have literals that uint8 can hold? */
static bool read_floats(const cfx_call *call, cfx_quantized_floats *f)
{
    cfx_value scale = IN(SCALE), zero = IN(ZERO_POINT), least = IN(QUANT_MIN),
              most = IN(QUANT_MAX);
    if (cfx_call_dtype(call, DTYPE, CFX_U8) != CFX_U8 ||
        scale.kind != CFX_FLOAT || scale.u.f == 0 || zero.kind != CFX_INT ||
        least.kind != CFX_INT || most.kind != CFX_INT || zero.u.i < 0 ||
        zero.u.i > 255 || least.u.i < 0 || least.u.i > most.u.i ||
        most.u.i > 255)
        return false;
    *f = (cfx_quantized_floats){(float)scale.u.f,
                                (float)(least.u.i - zero.u.i),
                                (float)(most.u.i - zero.u.i), (int)zero.u.i};
    return true;
}

static bool can_quantize(const cfx_call *call, cfx_quantized_floats *f)
{
    return type_of(IN(INPUT)) == CFX_F32 && read_floats(call, f);
}

static bool can_dequantize(const cfx_call *call, cfx_quantized_floats *f)
{
    return type_of(IN(INPUT)) == CFX_U8 &&
           cfx_call_dtype(call, OUT_DTYPE, CFX_F32) == CFX_F32 &&
           read_floats(call, f);
}

static cfx_status quantize_per_tensor_infer(cfx_call *call)
{
    cfx_quantized_floats f;
    return can_quantize(call, &f)
               ? cfx_infer_like(call, cfx_call_tensor(call, INPUT), CFX_U8)
               : cfx_composite_infer(call, quantize_per_tensor_build);
}

static cfx_status quantize_per_tensor_run(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, INPUT), *y = call->out[0];
    cfx_quantized_floats f;
    if (!can_quantize(call, &f) || !are_dense_alike(x, y))
        return cfx_composite_run(call, quantize_per_tensor_build);
    f.scale = (float)(1 / IN(SCALE).u.f);
    cfx_quantized_of_floats(call->ctx, &f, x->data, y->data,
                            cfx_tensor_numel(y));
    return CFX_OK;
}

static cfx_status dequantize_per_tensor_infer(cfx_call *call)
{
    cfx_quantized_floats f;
    return can_dequantize(call, &f)
               ? cfx_infer_like(call, cfx_call_tensor(call, INPUT), CFX_F32)
               : cfx_composite_infer(call, dequantize_per_tensor_build);
}

static cfx_status dequantize_per_tensor_run(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, INPUT), *y = call->out[0];
    cfx_quantized_floats f;
    if (!can_dequantize(call, &f) || !are_dense_alike(x, y))
        return cfx_composite_run(call, dequantize_per_tensor_build);
    cfx_quantized_to_floats(call->ctx, &f, x->data, y->data,
                            cfx_tensor_numel(y));
    return CFX_OK;
}

/* ---- Descriptors ---- */

#define COST(name)                                                            \
    static void name##_cost(const cfx_call *call, cfx_cost *cost)             \
    {                                                                         \
        cfx_composite_cost(call, cost, name##_build);                         \
    }

COST(quantize_per_tensor)
COST(dequantize_per_tensor)
CFX_COMPOSITE(quantize_per_channel)
CFX_COMPOSITE(dequantize_per_channel)
CFX_COMPOSITE(quantize_per_token)
CFX_COMPOSITE(dequantize_per_token)
CFX_COMPOSITE(dequantize_per_channel_group)
CFX_COMPOSITE(fake_quant_per_channel)
CFX_COMPOSITE(convert_element_type)

static cfx_status quantize_per_channel_group_infer(cfx_call *call)
{
    return cfx_composite_infer(call, quantize_per_channel_group_build);
}

static void quantize_per_channel_group_cost(const cfx_call *call,
                                            cfx_cost *cost)
{
    cfx_composite_cost(call, cost, quantize_per_channel_group_build);
}

static cfx_status quantize_per_channel_group_run(cfx_call *call)
{
    return cfx_composite_run(call, quantize_group_checked);
}

#define RULES(name)                                                           \
    .params = params, .infer = name##_infer, .cost = name##_cost,             \
    .run = name##_run

#define ALIAS(name) "quantized_decomposed." name

#define RANGE "int quant_min, int quant_max, ScalarType dtype"
#define TENSOR_RANGE "Tensor quant_min, Tensor quant_max, ScalarType dtype"
#define OUT ", *, ScalarType? out_dtype=None) -> Tensor"

#define QUANTIZE_DOC "Integers for numbers, by one scale."

static const cfx_op quantize_tensor2 = {
    .schema =
        "quantize_per_tensor.tensor2(Tensor input, Tensor scale, Tensor zero_point, " TENSOR_RANGE
        ") -> Tensor",
    .aliases = ALIAS("quantize_per_tensor.tensor2"),
    .doc = QUANTIZE_DOC,
    RULES(quantize_per_tensor),
};

static const cfx_op quantize_tensor = {
    .schema =
        "quantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor zero_point, " RANGE
        ") -> Tensor",
    .aliases = ALIAS("quantize_per_tensor.tensor"),
    .doc = QUANTIZE_DOC,
    RULES(quantize_per_tensor),
    .next = &quantize_tensor2,
};

const cfx_op cfx_op__quantize_per_tensor = {
    .schema =
        "quantize_per_tensor(Tensor input, float scale, int zero_point, " RANGE
        ") -> Tensor",
    .aliases = ALIAS("quantize_per_tensor.default"),
    .doc = QUANTIZE_DOC,
    RULES(quantize_per_tensor),
    .next = &quantize_tensor,
};

#define DEQUANTIZE_DOC "Numbers for integers, by one scale."

static const cfx_op dequantize_tensor2 = {
    .schema =
        "dequantize_per_tensor.tensor2(Tensor input, Tensor scale, Tensor zero_point, " TENSOR_RANGE
            OUT,
    .aliases = ALIAS("dequantize_per_tensor.tensor2"),
    .doc = DEQUANTIZE_DOC,
    RULES(dequantize_per_tensor),
    .flags = CFX_OP_DEQUANTIZES,
};

static const cfx_op dequantize_tensor = {
    .schema =
        "dequantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor zero_point, " RANGE
            OUT,
    .aliases = ALIAS("dequantize_per_tensor.tensor"),
    .doc = DEQUANTIZE_DOC,
    RULES(dequantize_per_tensor),
    .flags = CFX_OP_DEQUANTIZES,
    .next = &dequantize_tensor2,
};

const cfx_op cfx_op__dequantize_per_tensor = {
    .schema =
        "dequantize_per_tensor(Tensor input, float scale, int zero_point, " RANGE
            OUT,
    .aliases = ALIAS("dequantize_per_tensor.default"),
    .doc = DEQUANTIZE_DOC,
    RULES(dequantize_per_tensor),
    .flags = CFX_OP_DEQUANTIZES,
    .next = &dequantize_tensor,
};

const cfx_op cfx_op__quantize_per_channel = {
    .schema =
        "quantize_per_channel(Tensor input, Tensor scales, Tensor zero_points, int axis, " RANGE
        ") -> Tensor",
    .aliases = ALIAS("quantize_per_channel.default"),
    .doc = "Integers for numbers, by a scale for each channel.",
    RULES(quantize_per_channel),
};

const cfx_op cfx_op__dequantize_per_channel = {
    .schema =
        "dequantize_per_channel(Tensor input, Tensor scales, Tensor? zero_points, int axis, " RANGE
            OUT,
    .aliases = ALIAS("dequantize_per_channel.default"),
    .doc = "Numbers for integers, by a scale for each channel.",
    RULES(dequantize_per_channel),
    .flags = CFX_OP_DEQUANTIZES,
};

const cfx_op cfx_op__quantize_per_token = {
    .schema =
        "quantize_per_token(Tensor input, Tensor scales, Tensor zero_points, " RANGE
        ") -> Tensor",
    .aliases = ALIAS("quantize_per_token.default"),
    .doc = "Integers for numbers, by a scale for each row.",
    RULES(quantize_per_token),
};

const cfx_op cfx_op__dequantize_per_token = {
    .schema =
        "dequantize_per_token(Tensor input, Tensor scales, Tensor zero_points, " RANGE
        ", ScalarType output_dtype) -> Tensor",
    .aliases = ALIAS("dequantize_per_token.default"),
    .doc = "Numbers for integers, by a scale for each row.",
    RULES(dequantize_per_token),
};

const cfx_op cfx_op__quantize_per_channel_group = {
    .schema =
        "quantize_per_channel_group(Tensor input, Tensor scales, Tensor zero_points, " RANGE
        ", int group_size) -> Tensor",
    .aliases = ALIAS("quantize_per_channel_group.default"),
    .doc = "Integers for numbers, by a scale for each group of a row.",
    RULES(quantize_per_channel_group),
};

const cfx_op cfx_op__dequantize_per_channel_group = {
    .schema =
        "dequantize_per_channel_group(Tensor input, Tensor scales, Tensor? zero_points, " RANGE
        ", int group_size, ScalarType output_dtype) -> Tensor",
    .aliases = ALIAS("dequantize_per_channel_group.default"),
    .doc = "Numbers for integers, by a scale for each group of a row.",
    RULES(dequantize_per_channel_group),
    .flags = CFX_OP_DEQUANTIZES,
};

const cfx_op cfx_op__fake_quant_per_channel = {
    .schema =
        "fake_quant_per_channel(Tensor input, Tensor scales, Tensor zero_points, int axis, int quant_min, int quant_max) -> Tensor",
    .aliases = ALIAS("fake_quant_per_channel.default"),
    .doc = "Numbers quantized and back, by a scale for each channel.",
    RULES(fake_quant_per_channel),
};

const cfx_op cfx_op__convert_element_type = {
    .schema =
        "convert_element_type.no_fuse(Tensor input, ScalarType dtype) -> Tensor",
    .aliases = ALIAS("convert_element_type.no_fuse"),
    .doc = "A copy of another type, which no pass fuses.",
    RULES(convert_element_type),
};
