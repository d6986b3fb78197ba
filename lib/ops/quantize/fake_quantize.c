/*
 * fake_quantize -- quantize and dequantize in one step, as ATen does it for
 * training and calibration; _cachemask also tells what was in range.
 *
 * shape   that of the argument; the mask likewise, of bools.
 * cost    a product, rounding, a sum, a difference and a product an element.
 *
 * It is computed in float32, of float64 in float64 up to the rounding. By one
 * scale, what is beyond the range becomes its end, and NaN the lower one; by a
 * scale for each channel so does what is beyond an int64.
 */
#include <math.h>
#include <string.h>

#include "op/infer.h"
#include "op/loop.h"
#include "op/op_impl.h"
#include "ops/quantize/quantize_ops.h"

CFX_PARAMS(params, SELF, SCALE, ZERO_POINT, FAKE_QUANT_ENABLED, AXIS,
           QUANT_MIN, QUANT_MAX);

/* ---- Shapes ---- */

static cfx_status results(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_status st = cfx_infer_need_float(call, (cfx_dtype)x->dtype);
    if (!st && cfx_call_int(call, QUANT_MIN) > cfx_call_int(call, QUANT_MAX))
        st = cfx_call_fail(
            call, CFX_EINVAL,
            "`quant_min` should be less than or equal to `quant_max`.");
    if (!st)
        st = cfx_infer_like(call, x, (cfx_dtype)x->dtype);
    return !st && call->schema->nreturns == 2
               ? cfx_infer_like(call, x, CFX_BOOL)
               : st;
}

static cfx_status refuse_zero_point(const cfx_call *call)
{
    return cfx_call_fail(
        call, CFX_EINVAL,
        "`zero_point` must be between `quant_min` and `quant_max`.");
}

static bool in_range(const cfx_call *call, double zero)
{
    return zero >= (double)cfx_call_int(call, QUANT_MIN) &&
           zero <= (double)cfx_call_int(call, QUANT_MAX);
}

static cfx_status per_tensor_infer(cfx_call *call)
{
    cfx_value zero = cfx_call_value(call, ZERO_POINT);
    if (zero.kind == CFX_INT && !in_range(call, (double)zero.u.i))
        return refuse_zero_point(call);
    return results(call);
}

/* Tensors with the parameters: each must have one element. */
static cfx_status tensor_qparams_infer(cfx_call *call)
{
    for (int k = SCALE; k <= FAKE_QUANT_ENABLED; k++) {
        const cfx_tensor *t = cfx_call_tensor(call, k);
        if (t && !cfx_dim_eq(call->env,
                             cfx_infer_numel(call->env, t->rank, t->shape),
                             cfx_dim_int(1)))
            return cfx_call_fail(call, CFX_ESHAPE, "%s must have one element",
                                 cfx_call__param_name(call, k));
    }
    return results(call);
}

static cfx_status check_channels(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    const cfx_tensor *scale = cfx_call_tensor(call, SCALE);
    const cfx_tensor *zero = cfx_call_tensor(call, ZERO_POINT);
    int64_t axis = cfx_call_int(call, AXIS);
    if (scale->dtype != CFX_F32 && scale->dtype != CFX_BF16)
        return cfx_call_fail(call, CFX_EDTYPE,
                             "Scale must be Float or BFloat16");
    if (zero->dtype != CFX_I32 && zero->dtype != CFX_F32 &&
        zero->dtype != CFX_F16)
        return cfx_call_fail(call, CFX_EDTYPE,
                             "Zero-point must be Int32, Float or Half");
    if (scale->rank != 1 || zero->rank != 1 || axis < 0 || axis >= x->rank ||
        !cfx_dim_eq(call->env, scale->shape[0], zero->shape[0]) ||
        !cfx_dim_eq(call->env, scale->shape[0], x->shape[axis]))
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "dimensions of scale and zero-point are not consistent with input tensor");
    return CFX_OK;
}

static cfx_status per_channel_infer(cfx_call *call)
{
    cfx_status st = check_channels(call);
    return st ? st : results(call);
}

/* ---- Numbers ---- */

/* The step that x is nearest to, x being in the type it is computed in. */
static float step_f32(const cfx_fake_affine *a, float x)
{
    return a->rounds_sum ? rintf(x * a->inverse + a->zero)
                         : a->zero + rintf(x * a->inverse);
}

static double step_f64(const cfx_fake_affine *a, double x)
{
    return a->rounds_sum ? rint(x * (double)a->inverse + (double)a->zero)
                         : (double)a->zero + rint(x * (double)a->inverse);
}

/* NaN is the lower end of the range. */
static float number_of(const cfx_fake_affine *a, double step, bool *within)
{
    *within = a->least <= step && step <= a->most;
    if (a->wraps && step >= 0x1p63)
        step = a->least;
    double kept = fmin(fmax(step, a->least), a->most);
    return (a->rounds_sum ? (float)kept - a->zero
                          : (float)(kept - (double)a->zero)) *
           a->scale;
}

void cfx_fake_quantize_row(const cfx_fake_affine *a, cfx_dtype type,
                           const char *x, char *y, uint8_t *mask, int64_t n)
{
    size_t size = cfx_dtype_size(type);
    for (int64_t i = 0; i < n; i++, x += size, y += size) {
        double v = cfx_element_double(type, x);
        bool within;
        double step = type == CFX_F64 ? step_f64(a, v)
                                      : (double)step_f32(a, (float)v);
        cfx_element_set_double(type, y, (double)number_of(a, step, &within));
        if (mask)
            mask[i] = within;
    }
}

/* ---- Runs ---- */

static double at(const cfx_call *call, int k, int64_t i)
{
    const cfx_tensor *t = cfx_call_tensor(call, k);
    return t ? cfx_element_double((cfx_dtype)t->dtype,
                                  (const char *)t->data +
                                      (size_t)i *
                                          cfx_dtype_size((cfx_dtype)t->dtype))
             : cfx_call_double(call, k);
}

static cfx_fake_affine affine_at(const cfx_call *call, int64_t i)
{
    float scale = (float)at(call, SCALE, i);
    const cfx_tensor *zero = cfx_call_tensor(call, ZERO_POINT);
    return (cfx_fake_affine){
        .scale = scale,
        .inverse = 1.0f / scale,
        .zero = (float)at(call, ZERO_POINT, i),
        .least = (double)cfx_call_int(call, QUANT_MIN),
        .most = (double)cfx_call_int(call, QUANT_MAX),
        .rounds_sum = zero && cfx_dtype_is_float((cfx_dtype)zero->dtype),
    };
}

static cfx_status per_tensor_run(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_tensor *mask = call->nout > 1 ? call->out[1] : NULL;
    int64_t n = cfx_tensor_numel(x);
    cfx_fake_affine a = affine_at(call, 0);
    a.rounds_sum = false;
    a.zero = truncf(a.zero);
    if (cfx_call_has(call, FAKE_QUANT_ENABLED) &&
        (int64_t)at(call, FAKE_QUANT_ENABLED, 0) == 0) {
        memcpy(call->out[0]->data, x->data,
               (size_t)n * cfx_dtype_size((cfx_dtype)x->dtype));
        memset(mask->data, 1, (size_t)n);
        return CFX_OK;
    }
    cfx_fake_quantize_row(&a, (cfx_dtype)x->dtype, x->data, call->out[0]->data,
                          mask ? mask->data : NULL, n);
    return CFX_OK;
}

static cfx_status per_channel_run(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    const cfx_tensor *zero = cfx_call_tensor(call, ZERO_POINT);
    cfx_dtype type = (cfx_dtype)x->dtype;
    cfx_axis_split e = cfx_loop_split(x, (int)cfx_call_int(call, AXIS));
    char *y = call->out[0]->data, *mask = NULL;
    if (call->nout > 1)
        mask = call->out[1]->data;
    for (int64_t c = 0; c < e.n && zero->dtype == CFX_I32; c++)
        if (!in_range(call, at(call, ZERO_POINT, c)))
            return refuse_zero_point(call);
    for (int64_t c = 0; c < e.n; c++) {
        cfx_fake_affine a = affine_at(call, c);
        a.wraps = true;
        for (int64_t o = 0; o < e.outer; o++) {
            size_t from = (size_t)((o * e.n + c) * e.inner);
            size_t byte = from * cfx_dtype_size(type);
            cfx_fake_quantize_row(
                &a, type, (const char *)x->data + byte, y + byte,
                mask ? (uint8_t *)mask + from : NULL, e.inner);
        }
    }
    return CFX_OK;
}

/* ---- Descriptors ---- */

static void fake_quantize_cost(const cfx_call *call, cfx_cost *cost)
{
    cfx_cost_pointwise(call, cost, 5, 0);
}

#define RULES(kind)                                                           \
    .params = params,                                                         \
    .flags = CFX_OP_COPIES_TO_CONTIGUOUS | CFX_OP_COPIES_FROM_CONTIGUOUS,     \
    .infer = kind##_infer, .cost = fake_quantize_cost

#define NUMBERS                                                               \
    "(Tensor self, float scale, int zero_point, int quant_min, int "          \
    "quant_max)"
#define TENSORS                                                               \
    "(Tensor self, Tensor scale, Tensor zero_point, int quant_min, int "      \
    "quant_max)"
#define CHANNELS                                                              \
    "(Tensor self, Tensor scale, Tensor zero_point, int axis, int "           \
    "quant_min, int quant_max)"
#define MASKED " -> (Tensor output, Tensor mask)"

static const cfx_op per_tensor_qparams = {
    .schema = "fake_quantize_per_tensor_affine.tensor_qparams" TENSORS
              " -> Tensor",
    .aliases =
        "torch.fake_quantize_per_tensor_affine aten.fake_quantize_per_tensor_affine.tensor_qparams",
    .doc = "Numbers quantized and back, by one scale.",
    RULES(tensor_qparams),
    .run = per_tensor_run,
};

const cfx_op cfx_op__fake_quantize_per_tensor_affine = {
    .schema = "fake_quantize_per_tensor_affine" NUMBERS " -> Tensor",
    .aliases =
        "torch.fake_quantize_per_tensor_affine aten.fake_quantize_per_tensor_affine.default",
    .doc = "Numbers quantized and back, by one scale.",
    RULES(per_tensor),
    .run = per_tensor_run,
    .next = &per_tensor_qparams,
};

const cfx_op cfx_op__fake_quantize_per_tensor_affine_cachemask = {
    .schema = "fake_quantize_per_tensor_affine_cachemask" NUMBERS MASKED,
    .aliases = "aten.fake_quantize_per_tensor_affine_cachemask.default",
    .doc = "Numbers quantized and back, and which were in range.",
    RULES(per_tensor),
    .run = per_tensor_run,
};

const cfx_op cfx_op___fake_quantize_per_tensor_affine_cachemask_tensor = {
    .schema =
        "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams(Tensor self, Tensor scale, Tensor zero_point, Tensor fake_quant_enabled, int quant_min, int quant_max)" MASKED,
    .aliases = "torch. aten.",
    .doc = "Numbers quantized and back, where that is enabled.",
    RULES(tensor_qparams),
    .run = per_tensor_run,
};

const cfx_op cfx_op__fake_quantize_per_channel_affine = {
    .schema = "fake_quantize_per_channel_affine" CHANNELS " -> Tensor",
    .aliases =
        "torch.fake_quantize_per_channel_affine aten.fake_quantize_per_channel_affine.default",
    .doc = "Numbers quantized and back, by a scale for each channel.",
    RULES(per_channel),
    .run = per_channel_run,
};

const cfx_op cfx_op__fake_quantize_per_channel_affine_cachemask = {
    .schema = "fake_quantize_per_channel_affine_cachemask" CHANNELS MASKED,
    .aliases = "aten.fake_quantize_per_channel_affine_cachemask.default",
    .doc = "Numbers quantized and back by channel, and which were in range.",
    RULES(per_channel),
    .run = per_channel_run,
};
