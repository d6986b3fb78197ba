/*
 * blocked_pool -- one number for each window of an image in blocks of 16 channels.
 *
 * shape   (N, I, H, W, 16); the extents are those of max_pool2d and avg_pool2d.
 *         float32 or bfloat16; maxima also of uint8.
 * cost    as theirs.
 */
#include "kernel/blocked/quantized.h"
#include "op/op_cost.h"
#include "ops/pool/pool_windows.h"

static cfx_status infer(cfx_call *call, bool takes_bytes)
{
    cfx_pool_windows *p = call->state;
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_dim shape[CFX_MAX_RANK];
    if (x->rank != 5 ||
        !cfx_dim_eq(call->env, x->shape[4], cfx_dim_int(CFX_BLOCK)))
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "expected blocks of channels, (N, C / 16, H, W, 16), got a tensor of rank %d",
            x->rank);
    if (x->dtype != CFX_F32 && x->dtype != CFX_BF16 &&
        !(takes_bytes && x->dtype == CFX_U8))
        return cfx_call_fail(
            call, CFX_EDTYPE, "expected float32, bfloat16%s, got %s",
            takes_bytes ? " or uint8" : "", cfx_dtypes[x->dtype].name);
    cfx_pool__read(call, x, 2, 2, p);
    cfx_status st = cfx_pool__infer(call, p, shape);
    return st ? st : cfx_call_out(call, (cfx_dtype)x->dtype, 5, shape);
}

static cfx_status max_infer(cfx_call *call)
{
    return infer(call, true);
}

static cfx_status avg_infer(cfx_call *call)
{
    return infer(call, false);
}

/* Bytes: the elements that windows cover. */
static void max_cost(const cfx_call *call, cfx_cost *cost)
{
    const cfx_pool_windows *p = call->state;
    cfx_dim n = cfx_cost_sized(call, cfx_dim_int(CFX_BLOCK), p->x);
    for (int i = 0; i < 2; i++) {
        cfx_cost_axis axis = {p->x->shape[2 + i], call->out[0]->shape[2 + i],
                              p->kernel[i],       p->stride[i],
                              p->pad[i],          p->dilation[i]};
        n = cfx_dim_mul(call->env, n, p->x->shape[i]);
        n = cfx_dim_mul(call->env, n, cfx_cost_window(call, &axis));
    }
    cost->bytes_read = n;
}

static void avg_cost(const cfx_call *call, cfx_cost *cost)
{
    const cfx_pool_windows *p = call->state;
    cfx_dim n = cfx_cost_numel(call, call->out[0]);
    max_cost(call, cost);
    cost->transcendental = n;
    for (int i = 0; i < 2; i++)
        n = cfx_dim_mul(call->env, n, p->kernel[i]);
    cost->ops = n;
}

static cfx_blocked_conv plan(const cfx_call *call)
{
    const cfx_pool_windows *p = call->state;
    const cfx_tensor *y = call->out[0];
    bool narrow = y->dtype == CFX_BF16;
    cfx_blocked_conv k = {
        .batch = cfx_tensor_size(y, 0),
        .in_blocks = cfx_tensor_size(y, 1),
        .out_blocks = cfx_tensor_size(y, 1),
        .narrow_x = narrow,
        .end = {.narrow = narrow,
                .converts = cfx_blocked_bfloat16(call->ctx) ==
                            CFX_BLOCKED_PAIRS}};
    for (int i = 0; i < 2; i++) {
        k.in[i] = cfx_tensor_size(p->x, 2 + i);
        k.out[i] = cfx_tensor_size(y, 2 + i);
        k.kernel[i] = cfx_dim_value(p->kernel[i]);
        /* A distance that is not used may be too large to be multiplied. */
        k.stride[i] = k.out[i] > 1 ? cfx_dim_value(p->stride[i]) : 1;
        k.pad[i] = cfx_dim_value(p->pad[i]);
        k.dilation[i] = k.kernel[i] > 1 ? cfx_dim_value(p->dilation[i]) : 1;
    }
    return k;
}

static cfx_status max_run(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_blocked_conv k = plan(call);
    if (x->dtype == CFX_U8) {
        cfx_quantized_max_pool(call->ctx, &k, x->data, call->out[0]->data);
        return CFX_OK;
    }
    k.x = x->data;
    k.y = call->out[0]->data;
    cfx_blocked_max_pool(call->ctx, &k);
    return CFX_OK;
}

static cfx_status avg_run(cfx_call *call)
{
    const cfx_pool_windows *p = call->state;
    cfx_blocked_conv k = plan(call);
    k.x = cfx_call_tensor(call, SELF)->data;
    k.y = call->out[0]->data;
    cfx_blocked_avg_pool(call->ctx, &k, p->count_padding, p->divisor);
    return CFX_OK;
}

const cfx_op cfx_op__blocked_max_pool2d = {
    .schema =
        "blocked_max_pool2d(Tensor self, SymInt[2] kernel_size, SymInt[2]? stride=None, SymInt[2] padding=0, SymInt[2] dilation=1, bool ceil_mode=False) -> Tensor",
    .params = cfx_pool_params,
    .aliases =
        "torch.ops.cfx.blocked_max_pool2d.default torch.ops.cfx.blocked_max_pool2d",
    .doc = "The maximum of each window, in blocks of 16 channels.",
    .state_size = sizeof(cfx_pool_windows),
    .infer = max_infer,
    .cost = max_cost,
    .flags = CFX_OP_COPIES_TO_CONTIGUOUS,
    .run = max_run,
};

const cfx_op cfx_op__blocked_avg_pool2d = {
    .schema =
        "blocked_avg_pool2d(Tensor self, SymInt[2] kernel_size, SymInt[2]? stride=None, SymInt[2] padding=0, bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor",
    .params = cfx_pool_params,
    .aliases =
        "torch.ops.cfx.blocked_avg_pool2d.default torch.ops.cfx.blocked_avg_pool2d",
    .doc = "The mean of each window, in blocks of 16 channels.",
    .state_size = sizeof(cfx_pool_windows),
    .infer = avg_infer,
    .cost = avg_cost,
    .flags = CFX_OP_COPIES_TO_CONTIGUOUS,
    .run = avg_run,
};
