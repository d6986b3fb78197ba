/*
 * blocked_conv_depthwise -- convolutions in blocks of channels with a filter for each
 * channel.
 *
 * shape   input (N, O, H, W, 16), weight (O, kh, kw, 16), or (N, O, kh, kw, 16) with
 *         filters of their own for each image. Result, bias, post-operations and
 *         types as blocked_conv2d, with weights of float32.
 * cost    multiply-adds: elements of the result times the window.
 */
#include "op/op_impl.h"
#include "ops/blocked/blocked_conv.h"

static cfx_status check_forms(const cfx_call *call, const cfx_tensor *x,
                              const cfx_tensor *w, bool per_image)
{
    const cfx_dim block = cfx_dim_int(CFX_BLOCK);
    if (x->rank != 5 || w->rank != 4 + per_image ||
        !cfx_dim_eq(call->env, x->shape[4], block) ||
        !cfx_dim_eq(call->env, w->shape[w->rank - 1], block))
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "expected an input (N, O, H, W, 16) and a weight (O, kh, kw, 16) or (N, O, kh, kw, 16), but got ranks %d and %d",
            x->rank, w->rank);
    if (per_image && !cfx_dim_eq(call->env, x->shape[0], w->shape[0]))
        return cfx_call_fail(call, CFX_ESHAPE,
                             "input and weight differ in their images");
    return cfx_dim_eq(call->env, x->shape[1], w->shape[per_image])
               ? CFX_OK
               : cfx_call_fail(call, CFX_ESHAPE,
                               "input and weight differ in their channels");
}

cfx_status cfx_blocked_depthwise_infer(const cfx_call *call,
                                       cfx_blocked_depthwise_call *d)
{
    const cfx_tensor *x = cfx_call_tensor(call, INPUT);
    const cfx_tensor *w = cfx_call_tensor(call, WEIGHT);
    d->per_image = w->rank == 5;
    d->narrow = x->dtype == CFX_BF16;
    cfx_status st = check_forms(call, x, w, d->per_image);
    if (!st)
        st = cfx_post_ops_read(call, BIAS, POST_OPS, CFX_POST_IMAGES, &d->end);
    if (!st)
        st = cfx_post_ops_check_types(call, &d->end, INPUT, WEIGHT, 0);
    if (!st)
        st = cfx_blocked_window_read(call, x, w->shape + 1 + d->per_image,
                                     STRIDE, PADDING, DILATION, &d->window);
    if (st)
        return st;
    d->shape[0] = x->shape[0];
    d->shape[1] = x->shape[1];
    st = cfx_blocked_window_image(call, &d->window, d->shape);
    return st ? st : cfx_post_ops_check_shapes(call, &d->end, 5, d->shape);
}

static cfx_status depthwise_infer(cfx_call *call)
{
    cfx_blocked_depthwise_call *d = call->state;
    cfx_status st = cfx_blocked_depthwise_infer(call, d);
    return st ? st : cfx_call_out(call, d->end.type, 5, d->shape);
}

void cfx_blocked_depthwise_cost(const cfx_call *call,
                                const cfx_blocked_depthwise_call *d,
                                cfx_cost *cost)
{
    cfx_dim y = cfx_cost_numel(call, call->out[0]), macs = y;
    for (int i = 0; i < 2; i++)
        macs = cfx_dim_mul(call->env, macs, d->window.kernel[i]);
    cost->macs = cfx_dim_add(call->env, cost->macs, macs);
    cfx_post_ops_cost(call, &d->end, y, cost);
}

static void depthwise_cost(const cfx_call *call, cfx_cost *cost)
{
    cfx_blocked_depthwise_cost(call, call->state, cost);
}

cfx_blocked_conv cfx_blocked_depthwise_plan(
    const cfx_call *call, const cfx_blocked_depthwise_call *d)
{
    cfx_blocked_conv k = {
        .batch = cfx_dim_value(d->shape[0]),
        .in_blocks = cfx_dim_value(d->shape[1]),
        .out_blocks = cfx_dim_value(d->shape[1]),
        .narrow_x = d->narrow,
        .filter_per_image = d->per_image,
        .w = cfx_call_tensor(call, WEIGHT)->data,
        .end = cfx_post_ops_kernel(call, &d->end),
    };
    cfx_blocked_window_kernel(&d->window, d->shape, &k);
    return k;
}

static cfx_status depthwise_run(cfx_call *call)
{
    cfx_blocked_conv k = cfx_blocked_depthwise_plan(call, call->state);
    k.x = cfx_call_tensor(call, INPUT)->data;
    k.y = call->out[0]->data;
    cfx_blocked_depthwise(call->ctx, &k);
    return CFX_OK;
}

const cfx_op cfx_op__blocked_depthwise_conv2d = {
    .schema =
        "blocked_depthwise_conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=1, SymInt[2] padding=0, SymInt[2] dilation=1, any[] post_ops=[]) -> Tensor",
    .params = cfx_blocked_conv_params,
    .aliases =
        "torch.ops.cfx.blocked_depthwise_conv2d.default torch.ops.cfx.blocked_depthwise_conv2d",
    .doc =
        "A convolution in blocks of 16 channels with a filter for each, plus bias, and post-operations.",
    .state_size = sizeof(cfx_blocked_depthwise_call),
    .infer = depthwise_infer,
    .cost = depthwise_cost,
    .flags = CFX_OP_COPIES_TO_CONTIGUOUS,
    .run = depthwise_run,
};
