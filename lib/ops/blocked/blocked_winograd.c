/*
 * blocked_winograd -- 3x3 convolutions of images in blocks, by Winograd's F(4x4, 3x3).
 *
 * The weight is that of the convolution after the transformation G g G^T, with the
 * points 0, 3/4, -3/4, 3/2, -3/2 and infinity (pack_winograd.c). Results differ
 * from those of blocked_conv2d by 2e-6 to 4e-6 of the largest, measured on the
 * nodes of resnet18, resnet50, vgg11 and squeezenet1_1. Tiles of 4x4 outputs whose
 * inputs are not all finite become NaN.
 *
 * A weight of bfloat16 is that of F(2x2, 3x3), with the points 0, 1, -1 and infinity:
 * rounding to bfloat16 after its transformations changes results by 0.4 % of the
 * largest, against 0.25 % by blocked_conv2d in bfloat16, and 1.7 % with F(4x4, 3x3).
 *
 * shape   input (N, I, H, W, 16), weight (36, O, I, 16 in, 16 out), or of bfloat16
 *         (16, O, I, 8 in, 16 out, 2 in). Result (N, O,
 *         H + 2 pad - 2, W + 2 pad - 2, 16). bias (16 O), a tensor that is added as the
 *         result. Images may be bfloat16; the result is float32, or what 'to' names.
 * cost    multiply-adds: 36 for each tile of 4x4 outputs and pair of channels, or 16
 *         for each of 2x2. A transformation is 144 or 32 operations for each tile
 *         and input channel, 80 or 24 for each tile and output channel.
 */
#include "kernel/blocked/winograd.h"

#include "op/op_impl.h"
#include "ops/blocked/blocked_post_ops.h"

CFX_PARAMS(params, INPUT, WEIGHT, BIAS, PADDING, POST_OPS);

/* Operations of the transformations of a tile: rows and columns of additions and
 * multiplications as in kernel/conv/winograd_1d.h. */
static const struct form {
    int tile, elements, input_ops, output_ops;
} f4 = {CFX_F4_TILE, CFX_F4_ELEMENTS, 144, 80},
  f2 = {CFX_F2_TILE, CFX_F2_ELEMENTS, 32, 24};

struct winograd {
    const cfx_tensor *x, *w;
    const struct form *form;
    cfx_post_ops end;
    cfx_dim pad[2];
};

static cfx_status check_forms(const cfx_call *call, const struct winograd *c)
{
    const cfx_dim block = cfx_dim_int(CFX_BLOCK);
    const cfx_tensor *x = c->x, *w = c->w;
    bool pairs = c->form == &f2;
    cfx_dim in = cfx_dim_int(pairs ? CFX_BLOCK / 2 : CFX_BLOCK);
    bool fits = x->rank == 5 && w->rank == 5 + pairs;

    fits = fits &&
           cfx_dim_eq(call->env, w->shape[0],
                      cfx_dim_int(c->form->elements)) &&
           cfx_dim_eq(call->env, w->shape[3], in) &&
           cfx_dim_eq(call->env, w->shape[4], block) &&
           (!pairs || cfx_dim_eq(call->env, w->shape[5], cfx_dim_int(2))) &&
           cfx_dim_eq(call->env, x->shape[4], block);
    if (!fits)
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "expected an input (N, I, H, W, 16) and a weight (36, O, I, 16, 16), of bfloat16 (16, O, I, 8, 16, 2), but got ranks %d and %d",
            x->rank, w->rank);
    return cfx_dim_eq(call->env, x->shape[1], w->shape[2])
               ? CFX_OK
               : cfx_call_fail(call, CFX_ESHAPE,
                               "input and weight differ in their channels");
}

static cfx_status winograd_infer(cfx_call *call)
{
    struct winograd *c = call->state;
    cfx_dim shape[5];
    c->x = cfx_call_tensor(call, INPUT);
    c->w = cfx_call_tensor(call, WEIGHT);
    c->form = c->w->dtype == CFX_BF16 ? &f2 : &f4;
    cfx_infer_spatial(call, PADDING, 2, c->pad);
    cfx_status st = check_forms(call, c);
    if (!st)
        st = cfx_post_ops_read(call, BIAS, POST_OPS, CFX_POST_IMAGES, &c->end);
    if (!st)
        st = cfx_post_ops_check_types(call, &c->end, INPUT, WEIGHT,
                                      1u << CFX_BF16);
    if (st)
        return st;
    shape[0] = c->x->shape[0];
    shape[1] = c->w->shape[1];
    shape[4] = cfx_dim_int(CFX_BLOCK);
    for (int i = 0; i < 2; i++) {
        if (!cfx_dim_le(call->env, cfx_dim_int(0), c->pad[i]))
            return cfx_call_fail(call, CFX_EINVAL,
                                 "negative padding is not supported");
        cfx_dim two = cfx_dim_int(2);
        cfx_dim n = cfx_dim_mul(call->env, c->pad[i], two);
        n = cfx_dim_sub(call->env, n, two);
        shape[2 + i] = cfx_dim_add(call->env, c->x->shape[2 + i], n);
        if (!cfx_dim_le(call->env, cfx_dim_int(1), shape[2 + i]))
            return cfx_call_fail(call, CFX_ESHAPE,
                                 "the window is larger than the input");
    }
    st = cfx_post_ops_check_shapes(call, &c->end, 5, shape);
    return st ? st : cfx_call_out(call, c->end.type, 5, shape);
}

static void winograd_cost(const cfx_call *call, cfx_cost *cost)
{
    const struct winograd *c = call->state;
    const cfx_dim *y = call->out[0]->shape, block = cfx_dim_int(CFX_BLOCK);
    cfx_shape_env *env = call->env;
    cfx_dim tiles = y[0], in = cfx_dim_mul(env, c->x->shape[1], block);
    cfx_dim out = cfx_dim_mul(env, y[1], block);
    for (int i = 2; i < 4; i++) {
        cfx_dim n = cfx_dim_add(env, y[i], cfx_dim_int(c->form->tile - 1));
        n = cfx_dim_floordiv(env, n, cfx_dim_int(c->form->tile));
        tiles = cfx_dim_mul(env, tiles, n);
    }
    cfx_dim pairs = cfx_dim_mul(env, in, out);
    cfx_dim ops = cfx_dim_add(
        env, cfx_dim_mul(env, in, cfx_dim_int(c->form->input_ops)),
        cfx_dim_mul(env, out, cfx_dim_int(c->form->output_ops)));
    cfx_post_ops_cost(call, &c->end, cfx_cost_numel(call, call->out[0]), cost);
    cost->macs = cfx_dim_mul(env, cfx_dim_mul(env, tiles, pairs),
                             cfx_dim_int(c->form->elements));
    cost->dtype = (cfx_dtype)c->w->dtype;
    cost->ops = cfx_dim_add(env, cost->ops, cfx_dim_mul(env, tiles, ops));
}

/* ---- Running ---- */

static cfx_blocked_winograd plan(const cfx_call *call)
{
    const struct winograd *c = call->state;
    const cfx_tensor *y = call->out[0];
    cfx_blocked_winograd k = {.batch = cfx_tensor_size(y, 0),
                              .in_blocks = cfx_tensor_size(c->x, 1),
                              .out_blocks = cfx_tensor_size(y, 1),
                              .type = c->form == &f2
                                          ? cfx_blocked_bfloat16(call->ctx)
                                          : CFX_BLOCKED_FLOAT,
                              .narrow_x = c->x->dtype == CFX_BF16,
                              .end = cfx_post_ops_kernel(call, &c->end)};
    for (int i = 0; i < 2; i++) {
        k.in[i] = cfx_tensor_size(c->x, 2 + i);
        k.out[i] = cfx_tensor_size(y, 2 + i);
        k.pad[i] = cfx_dim_value(c->pad[i]);
    }
    return k;
}

static size_t winograd_workspace(const cfx_call *call)
{
    cfx_blocked_winograd k = plan(call);
    return cfx_blocked_winograd_workspace(call->ctx, &k);
}

static cfx_status winograd_run(cfx_call *call)
{
    cfx_blocked_winograd k = plan(call);
    k.x = cfx_call_tensor(call, INPUT)->data;
    k.w = cfx_call_tensor(call, WEIGHT)->data;
    k.y = call->out[0]->data;
    cfx_blocked_winograd_run(call->ctx, &k, call->work);
    return CFX_OK;
}

const cfx_op cfx_op__blocked_winograd_conv2d = {
    .schema =
        "blocked_winograd_conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] padding=0, any[] post_ops=[]) -> Tensor",
    .params = params,
    .aliases =
        "torch.ops.cfx.blocked_winograd_conv2d.default torch.ops.cfx.blocked_winograd_conv2d",
    .doc =
        "A 3x3 convolution in blocks of 16 channels by Winograd's F(4x4, 3x3), plus bias, and post-operations.",
    .state_size = sizeof(struct winograd),
    .infer = winograd_infer,
    .cost = winograd_cost,
    .flags = CFX_OP_COPIES_TO_CONTIGUOUS,
    .workspace = winograd_workspace,
    .run = winograd_run,
};
