/*
 * blocked_quantized_elements -- sums and means of uint8 that stand for floats, and images
 * that become uint8.
 *
 * Each number is clamped to least..most after the zero point is added.
 *
 * shape   quantized_add: both tensors alike. quantized_mean2d: (N, I, H, W, 16) and
 *         (N, I, 1, 1, 16). quantize_to_blocked: (N, C, H, W) of float32 and (N,
 *         ceil(C / block), H, W, block), zeros in channels past the last.
 * cost    quantized_add: two products, four additions, two bounds an element.
 *         quantized_mean2d: a sum for each element; as many as a product, two
 *         additions and two bounds for each result. quantize_to_blocked: a product,
 *         rounding, an addition and two bounds an element. Of float32.
 */
#include "kernel/blocked/quantized.h"
#include "op/op_cost.h"
#include "op/op_impl.h"
#include "ops/blocked/blocked_range.h"

CFX_PARAMS(params, SELF, OTHER, SCALE, OTHER_SCALE, BIAS, ZERO_POINT,
           QUANT_MIN, QUANT_MAX, BLOCK);

/* ---- The range ---- */

cfx_status cfx_blocked_check_range(const cfx_call *call, int zero_point,
                                   int quant_min, int quant_max)
{
    int64_t zero = cfx_call_int(call, zero_point);
    int64_t least = cfx_call_int(call, quant_min);
    int64_t most = cfx_call_int(call, quant_max);
    if (zero >= 0 && zero <= 255 && least >= 0 && least <= most && most <= 255)
        return CFX_OK;
    return cfx_call_fail(
        call, CFX_EINVAL,
        "zero point, quant_min and quant_max of uint8 are in 0..255, quant_min not above quant_max");
}

cfx_blocked_range cfx_blocked_range_of(const cfx_call *call, int zero_point,
                                       int quant_min, int quant_max)
{
    int zero = (int)cfx_call_int(call, zero_point);
    return (cfx_blocked_range){
        zero, (float)((int)cfx_call_int(call, quant_min) - zero),
        (float)((int)cfx_call_int(call, quant_max) - zero)};
}

cfx_status cfx_blocked_check_type(const cfx_call *call, int param,
                                  cfx_dtype dtype)
{
    const cfx_tensor *t = cfx_call_tensor(call, param);
    return t->dtype == dtype
               ? CFX_OK
               : cfx_call_fail(call, CFX_EDTYPE, "expected %s, got %s",
                               cfx_dtypes[dtype].name,
                               cfx_dtypes[t->dtype].name);
}

static cfx_status check_range(const cfx_call *call)
{
    return cfx_blocked_check_range(call, ZERO_POINT, QUANT_MIN, QUANT_MAX);
}

static cfx_blocked_range range_of(const cfx_call *call)
{
    return cfx_blocked_range_of(call, ZERO_POINT, QUANT_MIN, QUANT_MAX);
}

static float number(const cfx_call *call, int param)
{
    return (float)cfx_call_double(call, param);
}

/* ---- quantized_add ---- */

static cfx_status add_infer(cfx_call *call)
{
    const cfx_tensor *a = cfx_call_tensor(call, SELF);
    const cfx_tensor *b = cfx_call_tensor(call, OTHER);
    cfx_status st = cfx_blocked_check_type(call, SELF, CFX_U8);
    if (!st)
        st = cfx_blocked_check_type(call, OTHER, CFX_U8);
    if (!st)
        st = check_range(call);
    if (st)
        return st;
    bool same = a->rank == b->rank;
    for (int i = 0; same && i < a->rank; i++)
        same = cfx_dim_eq(call->env, a->shape[i], b->shape[i]);
    if (!same)
        return cfx_call_fail(call, CFX_ESHAPE,
                             "the tensors differ in their shapes");
    return cfx_call_out(call, CFX_U8, a->rank, a->shape);
}

static void add_cost(const cfx_call *call, cfx_cost *cost)
{
    cfx_dim y = cfx_cost_numel(call, call->out[0]);
    cost->ops = cfx_dim_mul(call->env, y, cfx_dim_int(8));
    cost->dtype = CFX_F32;
}

cfx_quantized_sum cfx_quantized_sum_of(const cfx_call *call)
{
    const cfx_blocked_range r = range_of(call);
    return (cfx_quantized_sum){
        .a = cfx_call_tensor(call, SELF)->data,
        .b = cfx_call_tensor(call, OTHER)->data,
        .scale = {number(call, SCALE), number(call, OTHER_SCALE)},
        .bias = number(call, BIAS),
        .lo = r.lo,
        .hi = r.hi,
        .zero_point = r.zero_point,
    };
}

static cfx_status add_run(cfx_call *call)
{
    cfx_quantized_sum s = cfx_quantized_sum_of(call);
    s.y = call->out[0]->data;
    cfx_quantized_add_run(call->ctx, &s, cfx_tensor_numel(call->out[0]));
    return CFX_OK;
}

#define RANGE "int zero_point, int quant_min=0, int quant_max=255"

const cfx_op cfx_op__quantized_add = {
    .schema =
        "quantized_add(Tensor self, Tensor other, float scale, float other_scale, float bias, " RANGE
        ") -> Tensor",
    .params = params,
    .aliases =
        "torch.ops.cfx.quantized_add.default torch.ops.cfx.quantized_add",
    .doc =
        "self times scale plus other times other_scale plus bias, rounded, plus a zero point, clamped.",
    .infer = add_infer,
    .cost = add_cost,
    .flags = CFX_OP_COPIES_TO_CONTIGUOUS,
    .run = add_run,
};

/* ---- quantized_mean2d ---- */

static cfx_dim pixels_of(const cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    return cfx_dim_mul(call->env, x->shape[2], x->shape[3]);
}

static cfx_status mean_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_dim one = cfx_dim_int(1), most = cfx_dim_int(CFX_QUANTIZED_PIXELS);
    cfx_status st = cfx_blocked_check_type(call, SELF, CFX_U8);
    if (!st)
        st = check_range(call);
    if (st)
        return st;
    if (x->rank != 5 ||
        !cfx_dim_eq(call->env, x->shape[4], cfx_dim_int(CFX_BLOCK)))
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "expected blocks of channels, (N, C / 16, H, W, 16), got a tensor of rank %d",
            x->rank);
    if (!cfx_dim_le(call->env, one, pixels_of(call)) ||
        !cfx_dim_le(call->env, pixels_of(call), most))
        return cfx_call_fail(call, CFX_EUNSUPPORTED,
                             "a mean of 1 to %d pixels is supported",
                             CFX_QUANTIZED_PIXELS);
    const cfx_dim shape[] = {x->shape[0], x->shape[1], one, one, x->shape[4]};
    return cfx_call_out(call, CFX_U8, 5, shape);
}

static void mean_cost(const cfx_call *call, cfx_cost *cost)
{
    cost->ops = cfx_cost_linear(
        call, 1, cfx_cost_numel(call, cfx_call_tensor(call, SELF)), 5,
        cfx_cost_numel(call, call->out[0]));
    cost->dtype = CFX_F32;
}

static cfx_status mean_run(cfx_call *call)
{
    const cfx_blocked_range r = range_of(call);
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    int64_t pixels = cfx_dim_value(pixels_of(call));
    const cfx_quantized_mean m = {
        .planes = cfx_tensor_size(x, 0) * cfx_tensor_size(x, 1),
        .pixels = pixels,
        .scale = (float)(cfx_call_double(call, SCALE) / (double)pixels),
        .bias = number(call, BIAS),
        .lo = r.lo,
        .hi = r.hi,
        .zero_point = r.zero_point,
        .x = x->data,
        .y = call->out[0]->data,
    };
    cfx_quantized_mean_run(call->ctx, &m);
    return CFX_OK;
}

const cfx_op cfx_op__quantized_mean2d = {
    .schema = "quantized_mean2d(Tensor self, float scale, float bias, " RANGE
              ") -> Tensor",
    .params = params,
    .aliases =
        "torch.ops.cfx.quantized_mean2d.default torch.ops.cfx.quantized_mean2d",
    .doc =
        "The mean of each channel of an image in blocks, times scale plus bias, rounded, plus a zero point, clamped.",
    .infer = mean_infer,
    .cost = mean_cost,
    .flags = CFX_OP_COPIES_TO_CONTIGUOUS,
    .run = mean_run,
};

/* ---- quantize_to_blocked ---- */

static cfx_status blocked_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    int64_t block = cfx_call_int(call, BLOCK);
    double scale = cfx_call_double(call, SCALE);
    cfx_status st = cfx_blocked_check_type(call, SELF, CFX_F32);
    if (!st)
        st = check_range(call);
    if (st)
        return st;
    if (!(scale > 0))
        return cfx_call_fail(call, CFX_EINVAL, "the scale is not positive");
    if (x->rank != 4)
        return cfx_call_fail(call, CFX_ESHAPE,
                             "expected (N, C, H, W), got a tensor of rank %d",
                             x->rank);
    if (block < 1 || block > CFX_BLOCK)
        return cfx_call_fail(call, CFX_EINVAL,
                             "a block has 1 to 16 channels, not %lld",
                             (long long)block);
    cfx_dim up = cfx_dim_add(call->env, x->shape[1], cfx_dim_int(block - 1));
    const cfx_dim shape[] = {
        x->shape[0], cfx_dim_floordiv(call->env, up, cfx_dim_int(block)),
        x->shape[2], x->shape[3], cfx_dim_int(block)};
    return cfx_call_out(call, CFX_U8, 5, shape);
}

static void blocked_cost(const cfx_call *call, cfx_cost *cost)
{
    cfx_dim n = cfx_cost_numel(call, cfx_call_tensor(call, SELF));
    cost->ops = cfx_dim_mul(call->env, n, cfx_dim_int(5));
}

static cfx_status blocked_run(cfx_call *call)
{
    const cfx_blocked_range r = range_of(call);
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    const cfx_quantized_image m = {
        .images = cfx_tensor_size(x, 0),
        .channels = cfx_tensor_size(x, 1),
        .pixels = cfx_tensor_size(x, 2) * cfx_tensor_size(x, 3),
        .block = cfx_call_int(call, BLOCK),
        .floats = {(float)(1 / cfx_call_double(call, SCALE)), r.lo, r.hi,
                   r.zero_point},
        .x = x->data,
        .y = call->out[0]->data,
    };
    cfx_quantized_to_blocked(call->ctx, &m);
    return CFX_OK;
}

const cfx_op cfx_op__quantize_to_blocked = {
    .schema = "quantize_to_blocked(Tensor self, float scale, " RANGE
              ", int block=16) -> Tensor",
    .params = params,
    .aliases =
        "torch.ops.cfx.quantize_to_blocked.default torch.ops.cfx.quantize_to_blocked",
    .doc = "quantize_per_tensor of an image to uint8, in blocks of channels.",
    .infer = blocked_infer,
    .cost = blocked_cost,
    .flags = CFX_OP_COPIES_TO_CONTIGUOUS,
    .run = blocked_run,
};
