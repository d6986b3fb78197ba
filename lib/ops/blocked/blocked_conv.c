/*
 * blocked_conv -- convolutions of images in blocks of 16 channels by packed weights.
 *
 * shape   input (N, I, H, W, 16), weight (O, I, kh, kw, 16 in, 16 out); or input
 *         (N, C, H, W), weight (O, C, kh, kw, 16 out); or, with one filter a
 *         channel, input (N, O, H, W, 16), weight (O, kh, kw, 16), or (N, O, kh,
 *         kw, 16) with filters of their own for each image. Result
 *         (N, O, out, out, 16), out = (in + 2 pad - dilation (k - 1) - 1) //
 *         stride + 1. bias (16 O), a tensor that is added as the result. With groups, the first
 *         form's weight has I / groups blocks of input channels. Of bfloat16, the
 *         first two are (O, I, kh, kw, 8 in, 16 out, 2 in) and (O, ceil(C / 2), kh,
 *         kw, 16 out, 2 in).
 *         Channels of a blocked input past in_channels are zeros, which fill up the
 *         last block and may be left out. Images in blocks may be bfloat16; the
 *         result is float32, or what 'to' names. With input_scale, (N, I, 1, 1, 16),
 *         each channel is multiplied by its element first.
 * cost    multiply-adds: elements of the result times input channels of a filter
 *         times the window; bias, 'add' and each bound an operation, the
 *         activation those of its operator, input_scale one for each element of
 *         the input. Channels that fill up blocks count, but for in_channels.
 */
#include "ops/blocked/blocked_conv.h"

#include "op/op_impl.h"

typedef cfx_blocked_conv_call conv;

static cfx_status fail_forms(const cfx_call *call, const conv *c)
{
    return cfx_call_fail(call, CFX_ESHAPE,
                         "expected an input (N, I, H, W, 16) and a weight (O, "
                         "I, kh, kw, 16, 16), of bfloat16 (O, I, kh, kw, 8, "
                         "16, 2), or (O, kh, kw, 16), or an input (N, C, H, "
                         "W) and a weight (O, C, kh, kw, 16), of bfloat16 (O, "
                         "(C + 1) // 2, kh, kw, 16, 2), but got ranks %d and "
                         "%d",
                         c->x->rank, c->w->rank);
}

static bool equal(const cfx_call *call, cfx_dim a, cfx_dim b)
{
    return cfx_dim_eq(call->env, a, b);
}

/* Do the last axes have these extents? */
static bool ends_with(const cfx_call *call, const cfx_tensor *t, int axes,
                      const int *extents)
{
    for (int i = 0; i < axes; i++)
        if (!equal(call, t->shape[t->rank - axes + i],
                   cfx_dim_int(extents[i])))
            return false;
    return true;
}

/* Are the last axes of x and of the weight blocks? */
static bool are_blocked(const cfx_call *call, const conv *c)
{
    static const int blocks[] = {CFX_BLOCK, CFX_BLOCK};
    static const int pairs[] = {CFX_BLOCK / 2, CFX_BLOCK, 2};
    if (!c->rows && !ends_with(call, c->x, 1, blocks))
        return false;
    if (c->rows && c->pairs)
        return ends_with(call, c->w, 2, pairs + 1);
    return c->pairs ? ends_with(call, c->w, 3, pairs)
                    : ends_with(call, c->w, c->w->rank == 6 ? 2 : 1, blocks);
}

static cfx_status read_forms(const cfx_call *call, conv *c)
{
    int rank = c->w->rank;
    c->pairs = c->w->dtype == CFX_BF16;
    c->rows = c->x->rank == 4 && rank == 5 + c->pairs;
    c->per_image = c->x->rank == 5 && rank == 5;
    c->depthwise = c->x->rank == 5 && (rank == 4 || c->per_image);
    bool dense = c->x->rank == 5 && rank == 6 + c->pairs;
    if (!dense && !c->rows && (c->pairs || !c->depthwise))
        return fail_forms(call, c);
    if (!are_blocked(call, c))
        return fail_forms(call, c);
    const cfx_dim *w = c->w->shape + c->per_image;
    if (c->per_image && !equal(call, c->x->shape[0], c->w->shape[0]))
        return cfx_call_fail(call, CFX_ESHAPE,
                             "input and weight differ in their images");
    cfx_dim in = cfx_dim_mul(call->env, c->groups, w[!c->depthwise]);
    cfx_dim channels = c->x->shape[1];
    if (c->rows && c->pairs)
        channels = cfx_dim_floordiv(
            call->env, cfx_dim_add(call->env, channels, cfx_dim_int(1)),
            cfx_dim_int(2));
    if (!equal(call, channels, in))
        return cfx_call_fail(call, CFX_ESHAPE,
                             "input and weight differ in their channels");
    for (int i = 0; i < 2; i++) {
        c->window.in[i] = c->x->shape[2 + i];
        c->window.kernel[i] = w[(c->depthwise ? 1 : 2) + i];
    }
    return CFX_OK;
}

/* Only a blocked input has groups, each of which has as many blocks. */
static cfx_status check_groups(const cfx_call *call, const conv *c)
{
    cfx_dim one = cfx_dim_int(1);
    if (!cfx_dim_le(call->env, one, c->groups))
        return cfx_call_fail(call, CFX_EINVAL, "groups must be positive");
    if (equal(call, c->groups, one))
        return CFX_OK;
    cfx_dim per = cfx_dim_floordiv(call->env, c->w->shape[0], c->groups);
    if (c->rows || c->depthwise ||
        !equal(call, cfx_dim_mul(call->env, per, c->groups), c->w->shape[0]))
        return cfx_call_fail(
            call, CFX_EINVAL,
            "groups of a blocked input need a weight with whole blocks for each");
    return CFX_OK;
}

/* A convolution of all channels of a blocked input. */
static bool is_dense(const cfx_call *call, const conv *c)
{
    return !c->rows && !c->depthwise && equal(call, c->groups, cfx_dim_int(1));
}

/* The last block has one of the channels at least. */
static cfx_status check_channels(const cfx_call *call, const conv *c)
{
    if (!cfx_call_has(call, IN_CHANNELS))
        return CFX_OK;
    cfx_dim n = cfx_value_dim(cfx_call_value(call, IN_CHANNELS));
    cfx_dim up = cfx_dim_add(call->env, n, cfx_dim_int(CFX_BLOCK - 1));
    cfx_dim blocks = cfx_dim_floordiv(call->env, up, cfx_dim_int(CFX_BLOCK));
    if (!is_dense(call, c) || !equal(call, blocks, c->w->shape[1]))
        return cfx_call_fail(
            call, CFX_EINVAL,
            "in_channels must end in the last block of an input without groups");
    return CFX_OK;
}

static cfx_status check_scale(const cfx_call *call, conv *c)
{
    const cfx_tensor *s = cfx_call_tensor(call, INPUT_SCALE), *x = c->x;
    cfx_dim one = cfx_dim_int(1);
    c->scale = s;
    if (!s)
        return CFX_OK;
    if (s->dtype != CFX_F32)
        return cfx_call_fail(call, CFX_EDTYPE, "expected float32, got %s",
                             cfx_dtypes[s->dtype].name);
    if (!is_dense(call, c) || s->rank != 5 ||
        !equal(call, s->shape[0], x->shape[0]) ||
        !equal(call, s->shape[1], x->shape[1]) ||
        !equal(call, s->shape[2], one) || !equal(call, s->shape[3], one) ||
        !equal(call, s->shape[4], x->shape[4]))
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "input_scale must be (N, I, 1, 1, 16) for an input (N, I, H, W, 16) without groups");
    return CFX_OK;
}

cfx_status cfx_blocked_conv_infer(const cfx_call *call, conv *c)
{
    c->x = cfx_call_tensor(call, INPUT);
    c->w = cfx_call_tensor(call, WEIGHT);
    cfx_blocked_window_read(call, STRIDE, PADDING, DILATION, &c->window);
    c->groups = cfx_value_dim(cfx_call_value(call, GROUPS));
    cfx_status st = read_forms(call, c);
    if (!st)
        st = check_groups(call, c);
    if (!st)
        st = check_channels(call, c);
    if (!st)
        st = check_scale(call, c);
    if (!st)
        st = cfx_post_ops_read(call, BIAS, POST_OPS, CFX_POST_IMAGES, &c->end);
    if (!st)
        st = cfx_post_ops_check_types(call, &c->end, INPUT, WEIGHT,
                                      1u << CFX_BF16);
    if (!st && c->rows && c->x->dtype != CFX_F32)
        st = cfx_call_fail(call, CFX_EDTYPE,
                           "a row-major input is float32, not %s",
                           cfx_dtypes[c->x->dtype].name);
    if (!st)
        st = cfx_blocked_window_check(call, &c->window);
    if (st)
        return st;
    c->shape[0] = c->x->shape[0];
    c->shape[1] = c->w->shape[c->per_image];
    st = cfx_blocked_window_image(call, &c->window, c->shape);
    return st ? st : cfx_post_ops_check_shapes(call, &c->end, 5, c->shape);
}

static cfx_status conv_infer(cfx_call *call)
{
    conv *c = call->state;
    cfx_status st = cfx_blocked_conv_infer(call, c);
    return st ? st : cfx_call_out(call, c->end.type, 5, c->shape);
}

void cfx_blocked_conv_cost(const cfx_call *call, const conv *c, cfx_cost *cost)
{
    cfx_dim y = cfx_dim_int(1), depth = cfx_dim_int(1);
    for (int i = 0; i < 5; i++)
        y = cfx_dim_mul(call->env, y, c->shape[i]);
    if (!c->depthwise)
        depth = c->rows ? c->x->shape[1]
                : cfx_call_has(call, IN_CHANNELS)
                    ? cfx_value_dim(cfx_call_value(call, IN_CHANNELS))
                    : cfx_dim_mul(call->env, c->w->shape[1],
                                  cfx_dim_int(CFX_BLOCK));
    for (int i = 0; i < 2; i++)
        depth = cfx_dim_mul(call->env, depth, c->window.kernel[i]);
    cost->macs = cfx_dim_mul(call->env, y, depth);
    cost->dtype = (cfx_dtype)c->w->dtype;
    cfx_post_ops_cost(call, &c->end, y, cost);
    if (c->scale)
        cost->ops = cfx_dim_add(call->env, cost->ops,
                                cfx_cost_numel(call, c->x));
}

static void conv_cost(const cfx_call *call, cfx_cost *cost)
{
    cfx_blocked_conv_cost(call, call->state, cost);
}

/* ---- Running ---- */

/* Zeros that fill up the last block of the input. */
static int64_t filling_of(const cfx_call *call, const conv *c)
{
    if (!cfx_call_has(call, IN_CHANNELS))
        return 0;
    return cfx_tensor_size(c->x, 1) * CFX_BLOCK -
           cfx_dim_value(cfx_value_dim(cfx_call_value(call, IN_CHANNELS)));
}

static int64_t size_of(const conv *c, int axis)
{
    return cfx_dim_value(c->shape[axis]);
}

static const float *data_of(const cfx_call *call, int k)
{
    const cfx_tensor *t = cfx_call_tensor(call, k);
    return t ? t->data : NULL;
}

cfx_blocked_conv cfx_blocked_conv_plan(const cfx_call *call, const conv *c)
{
    cfx_blocked_conv k = {
        .batch = size_of(c, 0),
        .groups = cfx_dim_value(c->groups),
        .in_channels = c->rows ? cfx_tensor_size(c->x, 1) : 0,
        .in_blocks = c->rows ? 0 : cfx_tensor_size(c->x, 1),
        .out_blocks = size_of(c, 1),
        .type = c->pairs ? cfx_blocked_bfloat16(call->ctx) : CFX_BLOCKED_FLOAT,
        .filling = filling_of(call, c),
        .narrow_x = c->x->dtype == CFX_BF16,
        .filter_per_image = c->per_image,
        .has_scale = c->scale,
        .x = data_of(call, INPUT),
        .w = data_of(call, WEIGHT),
        .scale = data_of(call, INPUT_SCALE),
        .end = cfx_post_ops_kernel(call, &c->end),
    };
    cfx_blocked_window_kernel(&c->window, c->shape, &k);
    return k;
}

static size_t conv_workspace(const cfx_call *call)
{
    const conv *c = call->state;
    cfx_blocked_conv k = cfx_blocked_conv_plan(call, c);
    return c->depthwise ? 0 : cfx_blocked_conv_workspace(&k);
}

static cfx_status conv_run(cfx_call *call)
{
    const conv *c = call->state;
    cfx_blocked_conv k = cfx_blocked_conv_plan(call, c);
    k.y = call->out[0]->data;
    if (c->depthwise)
        cfx_blocked_depthwise(call->ctx, &k);
    else
        cfx_blocked_conv_run(call->ctx, &k, call->work);
    return CFX_OK;
}

const cfx_op cfx_op__blocked_conv2d = {
    .schema = "blocked_conv2d(Tensor input, Tensor weight, Tensor? bias=None, "
              "SymInt[2] stride=1, SymInt[2] padding=0, SymInt[2] dilation=1, "
              "SymInt groups=1, any[] post_ops=[], SymInt? in_channels=None, "
              "Tensor? input_scale=None) -> Tensor",
    .params = cfx_blocked_conv_params,
    .aliases =
        "torch.ops.cfx.blocked_conv2d.default torch.ops.cfx.blocked_conv2d",
    .doc =
        "A convolution in blocks of 16 channels, plus bias, and post-operations.",
    .state_size = sizeof(conv),
    .infer = conv_infer,
    .cost = conv_cost,
    .flags = CFX_OP_COPIES_TO_CONTIGUOUS,
    .workspace = conv_workspace,
    .run = conv_run,
};
