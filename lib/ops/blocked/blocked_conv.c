/*
 * blocked_conv -- convolutions to images in blocks of 16 channels by packed weights.
 *
 * shape   blocked_conv2d: input (N, I, H, W, 16), weight (O, I / groups, kh, kw, 16 in, 16
 *         out), of bfloat16 (O, I / groups, kh, kw, 8 in, 16 out, 2 in). Channels of
 *         the input past in_channels are zeros, which fill up the last block and may
 *         be left out. With input_scale, (N, I, 1, 1, 16), each channel is multiplied
 *         by its element first.
 *         blocked_row_major_conv2d: input (N, C, H, W), weight (O, C, kh, kw, 16 out),
 *         of bfloat16 (O, ceil(C / 2), kh, kw, 16 out, 2 in).
 *         Result (N, O, out, out, 16), out = (in + 2 pad - dilation (k - 1) - 1) //
 *         stride + 1. bias (16 O), a tensor that is added as the result. Images in
 *         blocks may be bfloat16; the result is float32, or what 'to' names.
 * cost    multiply-adds: elements of the result times input channels of a filter
 *         times the window; post-operations as blocked_post_ops.h has them,
 *         input_scale one for each element of the input. Channels that fill up
 *         blocks count, but for in_channels.
 *
 * The last post-operation may be blocked_depthwise_conv2d, which reads rows of the result
 * while they are in cache. The image between them is not stored.
 */
#include "ops/blocked/blocked_conv.h"

#include "op/op_impl.h"

/* The state of a call. */
typedef struct conv {
    const cfx_tensor *x, *w;
    cfx_post_ops end;
    bool rows;               /* a row-major input */
    bool pairs;              /* a weight of bfloat16 */
    cfx_dim groups;          /* of whole blocks */
    const cfx_tensor *scale; /* of the input; or NULL */
    cfx_blocked_window window;
    cfx_dim shape[5];                  /* of the result */
    cfx_blocked_depthwise_call second; /* with the post-operation */
} conv;

enum { ROWS = 1 }; /* cfx_op.code of blocked_row_major_conv2d */

static bool has_second(const conv *c)
{
    return c->end.at[CFX_POST_DEPTHWISE] >= 0;
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

static cfx_status differ_in_channels(const cfx_call *call)
{
    return cfx_call_fail(call, CFX_ESHAPE,
                         "input and weight differ in their channels");
}

static cfx_status check_blocked(const cfx_call *call, const conv *c)
{
    static const int blocks[] = {CFX_BLOCK, CFX_BLOCK};
    static const int pairs[] = {CFX_BLOCK / 2, CFX_BLOCK, 2};
    cfx_dim groups = c->groups, one = cfx_dim_int(1);
    if (c->x->rank != 5 || c->w->rank != 6 + c->pairs ||
        !ends_with(call, c->x, 1, blocks) ||
        !ends_with(call, c->w, 2 + c->pairs, c->pairs ? pairs : blocks))
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "expected an input (N, I, H, W, 16) and a weight (O, I, kh, kw, 16, 16), of bfloat16 (O, I, kh, kw, 8, 16, 2), but got ranks %d and %d",
            c->x->rank, c->w->rank);
    if (!cfx_dim_le(call->env, one, groups))
        return cfx_call_fail(call, CFX_EINVAL, "groups must be positive");
    if (!equal(call, c->x->shape[1],
               cfx_dim_mul(call->env, groups, c->w->shape[1])))
        return differ_in_channels(call);
    cfx_dim each = cfx_dim_floordiv(call->env, c->w->shape[0], groups);
    return equal(call, groups, one) ||
                   equal(call, cfx_dim_mul(call->env, each, groups),
                         c->w->shape[0])
               ? CFX_OK
               : cfx_call_fail(
                     call, CFX_EINVAL,
                     "groups need a weight with whole blocks for each");
}

static cfx_status check_rows(const cfx_call *call, const conv *c)
{
    static const int pairs[] = {CFX_BLOCK, 2};
    const cfx_tensor *x = c->x, *w = c->w;
    if (x->rank != 4 || w->rank != 5 + c->pairs ||
        !ends_with(call, w, 1 + c->pairs, pairs))
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "expected an input (N, C, H, W) and a weight (O, C, kh, kw, 16), of bfloat16 (O, (C + 1) // 2, kh, kw, 16, 2), but got ranks %d and %d",
            x->rank, w->rank);
    if (x->dtype != CFX_F32)
        return cfx_call_fail(call, CFX_EDTYPE,
                             "a row-major input is float32, not %s",
                             cfx_dtypes[x->dtype].name);
    cfx_dim up = cfx_dim_add(call->env, x->shape[1], cfx_dim_int(c->pairs));
    cfx_dim channels = cfx_dim_floordiv(call->env, up,
                                        cfx_dim_int(1 + c->pairs));
    return equal(call, channels, w->shape[1]) ? CFX_OK
                                              : differ_in_channels(call);
}

static bool has_one_group(const cfx_call *call, const conv *c)
{
    return equal(call, c->groups, cfx_dim_int(1));
}

/* The last block has one of the channels at least. */
static cfx_status check_channels(const cfx_call *call, const conv *c)
{
    if (!cfx_call_has(call, IN_CHANNELS))
        return CFX_OK;
    cfx_dim n = cfx_value_dim(cfx_call_value(call, IN_CHANNELS));
    cfx_dim up = cfx_dim_add(call->env, n, cfx_dim_int(CFX_BLOCK - 1));
    cfx_dim blocks = cfx_dim_floordiv(call->env, up, cfx_dim_int(CFX_BLOCK));
    if (!has_one_group(call, c) || !equal(call, blocks, c->w->shape[1]))
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
    if (!has_one_group(call, c) || s->rank != 5 ||
        !equal(call, s->shape[0], x->shape[0]) ||
        !equal(call, s->shape[1], x->shape[1]) ||
        !equal(call, s->shape[2], one) || !equal(call, s->shape[3], one) ||
        !equal(call, s->shape[4], x->shape[4]))
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "input_scale must be (N, I, 1, 1, 16) for an input (N, I, H, W, 16) without groups");
    return CFX_OK;
}

/* Read the depthwise convolution of the result. */
static cfx_status read_second(const cfx_call *call, conv *c)
{
    cfx_value in[CFX_MAX_PARAMS];
    cfx_call second;
    cfx_tensor *between;
    if (c->end.at[CFX_POST_ADD] >= 0)
        return cfx_call_fail(
            call, CFX_EINVAL,
            "post-op 'blocked_depthwise_conv2d' cannot follow 'add'");
    cfx_status st = cfx_tensor_meta(&between, call->ctx, c->end.type, 5,
                                    c->shape, NULL, call->err);
    if (st)
        return st;
    st = cfx_post_ops_bind(call, &c->end, CFX_POST_DEPTHWISE, between, &second,
                           in);
    if (!st)
        st = cfx_blocked_depthwise_infer(&second, &c->second);
    if (!st && (c->second.per_image || c->second.end.at[CFX_POST_ADD] >= 0))
        st = cfx_call_fail(
            call, CFX_EINVAL,
            "post-op 'blocked_depthwise_conv2d' has neither filters for each image nor 'add'");
    cfx_tensor_unref(between);
    return st;
}

static cfx_status conv_infer(cfx_call *call)
{
    conv *c = call->state;
    c->x = cfx_call_tensor(call, INPUT);
    c->w = cfx_call_tensor(call, WEIGHT);
    c->rows = call->op->code == ROWS;
    c->pairs = c->w->dtype == CFX_BF16;
    c->groups = c->rows ? cfx_dim_int(1)
                        : cfx_value_dim(cfx_call_value(call, GROUPS));
    cfx_status st = c->rows ? check_rows(call, c) : check_blocked(call, c);
    if (!st)
        st = check_channels(call, c);
    if (!st)
        st = check_scale(call, c);
    if (!st)
        st = cfx_post_ops_read(call, BIAS, POST_OPS,
                               CFX_POST_IMAGES | 1 << CFX_POST_DEPTHWISE,
                               &c->end);
    if (!st)
        st = cfx_post_ops_check_types(call, &c->end, INPUT, WEIGHT,
                                      1u << CFX_BF16);
    if (!st)
        st = cfx_blocked_window_read(call, c->x, c->w->shape + 2, STRIDE,
                                     PADDING, DILATION, &c->window);
    if (st)
        return st;
    c->shape[0] = c->x->shape[0];
    c->shape[1] = c->w->shape[0];
    st = cfx_blocked_window_image(call, &c->window, c->shape);
    if (!st)
        st = cfx_post_ops_check_shapes(call, &c->end, 5, c->shape);
    if (st || !has_second(c))
        return st ? st : cfx_call_out(call, c->end.type, 5, c->shape);
    st = read_second(call, c);
    return st ? st
              : cfx_call_out(call, c->second.end.type, 5, c->second.shape);
}

static void conv_cost(const cfx_call *call, cfx_cost *cost)
{
    const conv *c = call->state;
    cfx_dim y = cfx_dim_int(1), depth;
    for (int i = 0; i < 5; i++)
        y = cfx_dim_mul(call->env, y, c->shape[i]);
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
    if (has_second(c))
        cfx_blocked_depthwise_cost(call, &c->second, cost);
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

static const float *data_of(const cfx_call *call, int k)
{
    const cfx_tensor *t = cfx_call_tensor(call, k);
    return t ? t->data : NULL;
}

static cfx_blocked_conv plan(const cfx_call *call)
{
    const conv *c = call->state;
    cfx_blocked_conv k = {
        .batch = cfx_dim_value(c->shape[0]),
        .groups = cfx_dim_value(c->groups),
        .in_channels = c->rows ? cfx_tensor_size(c->x, 1) : 0,
        .in_blocks = c->rows ? 0 : cfx_tensor_size(c->x, 1),
        .out_blocks = cfx_dim_value(c->shape[1]),
        .type = c->pairs ? cfx_blocked_bfloat16(call->ctx) : CFX_BLOCKED_FLOAT,
        .filling = filling_of(call, c),
        .narrow_x = c->x->dtype == CFX_BF16,
        .has_scale = c->scale,
        .x = data_of(call, INPUT),
        .w = data_of(call, WEIGHT),
        .scale = data_of(call, INPUT_SCALE),
        .end = cfx_post_ops_kernel(call, &c->end),
        .y = call->out[0]->data,
    };
    cfx_blocked_window_kernel(&c->window, c->shape, &k);
    return k;
}

/* The convolution of the result; it reads no argument of that. */
static cfx_status plan_second(const cfx_call *call, cfx_blocked_conv *out)
{
    const conv *c = call->state;
    cfx_value in[CFX_MAX_PARAMS];
    cfx_call second;
    cfx_status st = cfx_post_ops_bind(call, &c->end, CFX_POST_DEPTHWISE,
                                      call->out[0], &second, in);
    if (!st)
        *out = cfx_blocked_depthwise_plan(&second, &c->second);
    if (!st)
        out->y = call->out[0]->data;
    return st;
}

static size_t conv_workspace(const cfx_call *call)
{
    const conv *c = call->state;
    cfx_blocked_conv k = plan(call), second;
    if (!has_second(c))
        return cfx_blocked_conv_workspace(&k);
    return plan_second(call, &second)
               ? 0
               : cfx_blocked_pair_workspace(call->ctx, &k, &second);
}

static cfx_status conv_run(cfx_call *call)
{
    const conv *c = call->state;
    cfx_blocked_conv k = plan(call), second;
    if (!has_second(c)) {
        cfx_blocked_conv_run(call->ctx, &k, call->work);
        return CFX_OK;
    }
    cfx_status st = plan_second(call, &second);
    if (!st)
        cfx_blocked_pair(call->ctx, &k, &second, call->work);
    return st;
}

#define CONV                                                                  \
    .params = cfx_blocked_conv_params, .state_size = sizeof(conv),            \
    .infer = conv_infer, .cost = conv_cost,                                   \
    .flags = CFX_OP_COPIES_TO_CONTIGUOUS, .workspace = conv_workspace,        \
    .run = conv_run

const cfx_op cfx_op__blocked_conv2d = {
    .schema =
        "blocked_conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=1, SymInt[2] padding=0, SymInt[2] dilation=1, SymInt groups=1, any[] post_ops=[], SymInt? in_channels=None, Tensor? input_scale=None) -> Tensor",
    .aliases =
        "torch.ops.cfx.blocked_conv2d.default torch.ops.cfx.blocked_conv2d",
    .doc =
        "A convolution in blocks of 16 channels, plus bias, and post-operations.",
    CONV,
};

const cfx_op cfx_op__blocked_row_major_conv2d = {
    .schema =
        "blocked_row_major_conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=1, SymInt[2] padding=0, SymInt[2] dilation=1, any[] post_ops=[]) -> Tensor",
    .aliases =
        "torch.ops.cfx.blocked_row_major_conv2d.default torch.ops.cfx.blocked_row_major_conv2d",
    .doc =
        "A convolution of a row-major image to one in blocks of 16 channels, plus bias, and post-operations.",
    .code = ROWS,
    CONV,
};
