/*
 * blocked_conv_depthwise -- a convolution in blocks of channels, and one with a filter for
 * each channel that reads its result, which is not stored.
 *
 * shape   as blocked_conv2d, whose result (N, O, H, W, 16) is the input of the second
 *         convolution, with depthwise_weight (O, kh, kw, 16). Result (N, O, out,
 *         out, 16), out = (in + 2 pad - dilation (k - 1) - 1) // stride + 1.
 * cost    that of both.
 */
#include "op/op_impl.h"
#include "ops/blocked/blocked_conv.h"

/* The state of a call. */
typedef struct pair {
    cfx_blocked_conv_call conv;
    const cfx_tensor *w;
    cfx_post_ops end;
    cfx_blocked_window window;
    cfx_dim shape[5]; /* of the result */
} pair;

static cfx_status read_filters(const cfx_call *call, pair *p)
{
    const cfx_tensor *w = cfx_call_tensor(call, DEPTHWISE_WEIGHT);
    p->w = w;
    if (w->rank != 4 ||
        !cfx_dim_eq(call->env, w->shape[3], cfx_dim_int(CFX_BLOCK)) ||
        !cfx_dim_eq(call->env, w->shape[0], p->conv.shape[1]))
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "expected a depthwise_weight (O, kh, kw, 16) for a weight of O blocks");
    for (int i = 0; i < 2; i++) {
        p->window.in[i] = p->conv.shape[2 + i];
        p->window.kernel[i] = w->shape[1 + i];
    }
    return cfx_blocked_window_check(call, &p->window);
}

static cfx_status read_second(const cfx_call *call, pair *p)
{
    cfx_blocked_window_read(call, DEPTHWISE_STRIDE, DEPTHWISE_PADDING,
                            DEPTHWISE_DILATION, &p->window);
    cfx_status st = read_filters(call, p);
    if (!st)
        st = cfx_post_ops_read(call, DEPTHWISE_BIAS, DEPTHWISE_POST_OPS,
                               CFX_POST_IMAGES & ~CFX_POST_ADD, &p->end);
    return st ? st
              : cfx_post_ops_check_types(call, &p->end, INPUT,
                                         DEPTHWISE_WEIGHT, 0);
}

static cfx_status pair_infer(cfx_call *call)
{
    pair *p = call->state;
    cfx_status st = cfx_blocked_conv_infer(call, &p->conv);
    if (!st && p->conv.depthwise)
        st = cfx_call_fail(
            call, CFX_ESHAPE,
            "expected a weight of all input channels in front of depthwise_weight");
    if (!st && p->conv.end.add >= 0)
        st = cfx_call_fail(call, CFX_EINVAL, "post-op 'add' is not supported");
    if (!st)
        st = read_second(call, p);
    if (st)
        return st;
    p->shape[0] = p->conv.shape[0];
    p->shape[1] = p->conv.shape[1];
    st = cfx_blocked_window_image(call, &p->window, p->shape);
    if (!st)
        st = cfx_post_ops_check_shapes(call, &p->end, 5, p->shape);
    return st ? st : cfx_call_out(call, p->end.type, 5, p->shape);
}

static void pair_cost(const cfx_call *call, cfx_cost *cost)
{
    const pair *p = call->state;
    cfx_dim y = cfx_cost_numel(call, call->out[0]), macs = y;
    cfx_blocked_conv_cost(call, &p->conv, cost);
    for (int i = 0; i < 2; i++)
        macs = cfx_dim_mul(call->env, macs, p->window.kernel[i]);
    cost->macs = cfx_dim_add(call->env, cost->macs, macs);
    cfx_post_ops_cost(call, &p->end, y, cost);
}

static cfx_blocked_conv plan_second(const cfx_call *call, const pair *p)
{
    const cfx_tensor *y = call->out[0];
    cfx_blocked_conv k = {
        .batch = cfx_tensor_size(y, 0),
        .in_blocks = cfx_tensor_size(y, 1),
        .out_blocks = cfx_tensor_size(y, 1),
        .w = p->w->data,
        .narrow_x = p->conv.end.type == CFX_BF16,
        .end = cfx_post_ops_kernel(call, &p->end),
        .y = y->data,
    };
    cfx_blocked_window_kernel(&p->window, p->shape, &k);
    return k;
}

static size_t pair_workspace(const cfx_call *call)
{
    const pair *p = call->state;
    cfx_blocked_conv first = cfx_blocked_conv_plan(call, &p->conv);
    cfx_blocked_conv second = plan_second(call, p);
    return cfx_blocked_pair_workspace(call->ctx, &first, &second);
}

static cfx_status pair_run(cfx_call *call)
{
    const pair *p = call->state;
    cfx_blocked_conv first = cfx_blocked_conv_plan(call, &p->conv);
    cfx_blocked_conv second = plan_second(call, p);
    cfx_blocked_pair(call->ctx, &first, &second, call->work);
    return CFX_OK;
}

const cfx_op cfx_op__blocked_conv2d_depthwise = {
    .schema =
        "blocked_conv2d_depthwise(Tensor input, Tensor weight, Tensor? "
        "bias=None, SymInt[2] stride=1, SymInt[2] "
        "padding=0, SymInt[2] dilation=1, SymInt groups=1, any[] "
        "post_ops=[], SymInt? in_channels=None, Tensor? input_scale=None, *, "
        "Tensor depthwise_weight, Tensor? depthwise_bias=None, SymInt[2] "
        "depthwise_stride=1, SymInt[2] depthwise_padding=0, SymInt[2] "
        "depthwise_dilation=1, any[] depthwise_post_ops=[]) -> Tensor",
    .params = cfx_blocked_conv_params,
    .aliases =
        "torch.ops.cfx.blocked_conv2d_depthwise.default torch.ops.cfx.blocked_conv2d_depthwise",
    .doc = "A convolution of a blocked image, and the depthwise one after it.",
    .state_size = sizeof(pair),
    .infer = pair_infer,
    .cost = pair_cost,
    .flags = CFX_OP_COPIES_TO_CONTIGUOUS,
    .workspace = pair_workspace,
    .run = pair_run,
};
