/*
 * blocked_quantized -- products of uint8 with packed weights of int8: linear layers, and
 * convolutions of images in blocks.
 *
 * shape   input (..., K), weight (ceil(out_features / 16), K / 4, 16, 4): (...,
 *         out_features). Input (N, I, H, W, B), where B is a multiple of 4, weight
 *         (O, I, kh, kw, B / 4, 16, 4): (N, O, out, out, 16), out = (in + 2 pad -
 *         dilation (k - 1) - 1) // stride + 1; with one filter a channel, B is 16
 *         and the weight (I, kh, kw, 16); with groups, O is a multiple of them, and
 *         the input has I blocks for each. offset, scale and bias have an
 *         element for each channel of the weight's blocks. The result is float32,
 *         or with 'quantize' uint8.
 * cost    multiply-adds: elements of the result times channels of the input times
 *         the window, of int8; scale, bias and each bound an operation, 'quantize'
 *         two, 'quantized_add' eight. Channels that fill up blocks count.
 *
 * In post_ops are, in this order: ('clamp', min, max), ('quantize', zero_point), which
 * rounds and adds the zero point, and for a convolution of all channels
 * ('quantized_add', other, scale, other_scale, bias, zero_point, quant_min, quant_max).
 */
#include "kernel/blocked/quantized.h"

#include <math.h>

#include "op/op_cost.h"
#include "op/op_impl.h"
#include "ops/blocked/blocked_post_ops.h"
#include "ops/blocked/blocked_quantized.h"
#include "ops/blocked/blocked_range.h"
#include "ops/blocked/blocked_window.h"

CFX_PARAMS(params, INPUT, WEIGHT, OUT_FEATURES, OFFSET, SCALE, BIAS, STRIDE,
           PADDING, DILATION, INPUT_ZERO_POINT, GROUPS, POST_OPS);

static bool equal(const cfx_call *call, cfx_dim a, cfx_dim b)
{
    return cfx_dim_eq(call->env, a, b);
}

static bool is(const cfx_call *call, cfx_dim a, int64_t b)
{
    return equal(call, a, cfx_dim_int(b));
}

static cfx_dim fours(const cfx_call *call, cfx_dim n)
{
    return cfx_dim_mul(call->env, n, cfx_dim_int(CFX_QUAD));
}

/* ---- Checks ---- */

static cfx_status check_types(const cfx_call *call)
{
    static const struct {
        int param;
        cfx_dtype dtype;
    } types[] = {{INPUT, CFX_U8},
                 {WEIGHT, CFX_I8},
                 {OFFSET, CFX_I32},
                 {SCALE, CFX_F32},
                 {BIAS, CFX_F32}};
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        const cfx_tensor *t = cfx_call_tensor(call, types[i].param);
        if (t && t->dtype != types[i].dtype)
            return cfx_call_fail(call, CFX_EDTYPE, "expected %s, got %s",
                                 cfx_dtypes[types[i].dtype].name,
                                 cfx_dtypes[t->dtype].name);
    }
    return CFX_OK;
}

static bool is_zero_point(int64_t z)
{
    return z >= 0 && z <= 255;
}

static cfx_status check_depth(const cfx_call *call, cfx_dim depth)
{
    return cfx_dim_le(call->env, depth, cfx_dim_int(CFX_QUANTIZED_DEPTH))
               ? CFX_OK
               : cfx_call_fail(
                     call, CFX_EUNSUPPORTED,
                     "a sum of more than %d products may not fit into 32 bits",
                     CFX_QUANTIZED_DEPTH);
}

/* Offset, scale and bias for `blocks` blocks, whose sums have `depth` products;
 * zero points. */
static cfx_status check_end(const cfx_call *call, const cfx_post_ops *p,
                            cfx_dim blocks, cfx_dim depth)
{
    static const int each[] = {OFFSET, SCALE, BIAS};
    const cfx_value *zero = cfx_post_ops_args(call, p, CFX_POST_QUANTIZE);
    cfx_dim channels = cfx_dim_mul(call->env, blocks, cfx_dim_int(CFX_BLOCK));
    for (int i = 0; i < 3; i++) {
        const cfx_tensor *t = cfx_call_tensor(call, each[i]);
        if (t && (t->rank != 1 || !equal(call, t->shape[0], channels)))
            return cfx_call_fail(
                call, CFX_ESHAPE,
                "offset, scale and bias must have an element for each channel of the weight's blocks");
    }
    cfx_status st = check_depth(call, depth);
    if (st)
        return st;
    if (!is_zero_point(zero ? zero->u.i : 0) ||
        (cfx_call_has(call, INPUT_ZERO_POINT) &&
         !is_zero_point(cfx_call_int(call, INPUT_ZERO_POINT))))
        return cfx_call_fail(call, CFX_EINVAL,
                             "a zero point of uint8 is in 0..255");
    return CFX_OK;
}

static void end_cost(const cfx_call *call, const cfx_post_ops *p,
                     cfx_dim depth, cfx_cost *cost)
{
    cfx_dim y = cfx_cost_numel(call, call->out[0]);
    cost->macs = cfx_dim_mul(call->env, y, depth);
    cost->ops = y; /* of scale */
    cost->dtype = CFX_I8;
    cfx_post_ops_cost(call, p, y, cost);
}

static cfx_quantized_end end_of(const cfx_call *call, const cfx_post_ops *p)
{
    const cfx_tensor *bias = cfx_call_tensor(call, BIAS);
    const cfx_value *zero = cfx_post_ops_args(call, p, CFX_POST_QUANTIZE);
    cfx_quantized_end e = {
        .offset = cfx_call_tensor(call, OFFSET)->data,
        .scale = cfx_call_tensor(call, SCALE)->data,
        .bias = bias ? bias->data : NULL,
        .rounds = zero != NULL,
        .zero_point = zero ? (int)zero->u.i : 0,
    };
    cfx_post_ops_range(call, p, &e.lo, &e.hi);
    if (e.rounds) {
        e.lo = fminf(fmaxf(e.lo, (float)-e.zero_point),
                     (float)(255 - e.zero_point));
        e.hi = fmaxf(fminf(e.hi, (float)(255 - e.zero_point)),
                     (float)-e.zero_point);
    }
    return e;
}

/* ---- Linear layers ---- */

static cfx_dim linear_depth(const cfx_call *call)
{
    return fours(call, cfx_call_tensor(call, WEIGHT)->shape[1]);
}

cfx_status cfx_quantized_linear_shape(const cfx_call *call,
                                      const cfx_tensor *x, const cfx_tensor *w,
                                      cfx_dim columns, cfx_dim *shape)
{
    if (x->rank < 1 || w->rank != 4 || !is(call, w->shape[2], CFX_BLOCK) ||
        !is(call, w->shape[3], CFX_QUAD))
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "expected an input (..., K) and a weight (out_features / 16, K / 4, 16, 4), but got ranks %d and %d",
            x->rank, w->rank);
    cfx_dim depth = fours(call, w->shape[1]);
    if (!equal(call, x->shape[x->rank - 1], depth))
        return cfx_call_fail(call, CFX_ESHAPE,
                             "input and weight differ in their features");
    cfx_dim up = cfx_dim_add(call->env, columns, cfx_dim_int(CFX_BLOCK - 1));
    if (!cfx_dim_le(call->env, cfx_dim_int(0), columns) ||
        !equal(call, w->shape[0],
               cfx_dim_floordiv(call->env, up, cfx_dim_int(CFX_BLOCK))))
        return cfx_call_fail(call, CFX_ESHAPE,
                             "out_features do not fill the weight's blocks");
    for (int i = 0; i < x->rank - 1; i++)
        shape[i] = x->shape[i];
    shape[x->rank - 1] = columns;
    return check_depth(call, depth);
}

static cfx_status linear_infer(cfx_call *call)
{
    cfx_post_ops *p = call->state;
    const cfx_tensor *x = cfx_call_tensor(call, INPUT);
    const cfx_tensor *w = cfx_call_tensor(call, WEIGHT);
    cfx_dim columns = cfx_value_dim(cfx_call_value(call, OUT_FEATURES));
    cfx_dim shape[CFX_MAX_RANK];
    cfx_status st = check_types(call);
    if (!st)
        st = cfx_post_ops_read(call, BIAS, POST_OPS,
                               1 << CFX_POST_CLAMP | 1 << CFX_POST_QUANTIZE,
                               p);
    if (!st)
        st = cfx_quantized_linear_shape(call, x, w, columns, shape);
    if (!st)
        st = check_end(call, p, w->shape[0], linear_depth(call));
    return st ? st : cfx_call_out(call, p->type, x->rank, shape);
}

static void linear_cost(const cfx_call *call, cfx_cost *cost)
{
    end_cost(call, call->state, linear_depth(call), cost);
}

cfx_quantized_product cfx_quantized_linear_product(const cfx_tensor *w,
                                                   const cfx_tensor *y)
{
    int64_t columns = cfx_tensor_size(y, y->rank - 1);
    return (cfx_quantized_product){
        .rows = columns ? cfx_tensor_numel(y) / columns : 0,
        .columns = columns,
        .depth = cfx_tensor_size(w, 1) * CFX_QUAD,
    };
}

static size_t linear_workspace(const cfx_call *call)
{
    const cfx_quantized_product p = cfx_quantized_linear_product(
        cfx_call_tensor(call, WEIGHT), call->out[0]);
    return cfx_quantized_product_workspace(call->ctx, &p);
}

static cfx_status linear_run(cfx_call *call)
{
    cfx_quantized_product p = cfx_quantized_linear_product(
        cfx_call_tensor(call, WEIGHT), call->out[0]);
    p.x = cfx_call_tensor(call, INPUT)->data;
    p.w = cfx_call_tensor(call, WEIGHT)->data;
    p.end = end_of(call, call->state);
    p.y = call->out[0]->data;
    cfx_quantized_product_run(call->ctx, &p, call->work);
    return CFX_OK;
}

const cfx_op cfx_op__quantized_linear = {
    .schema =
        "quantized_linear(Tensor input, Tensor weight, SymInt out_features, Tensor offset, Tensor scale, Tensor? bias=None, any[] post_ops=[]) -> Tensor",
    .params = params,
    .aliases =
        "torch.ops.cfx.quantized_linear.default torch.ops.cfx.quantized_linear",
    .doc =
        "uint8 times a weight of int8 in blocks of 16 features, plus an offset, scaled, plus bias, and post-operations.",
    .state_size = sizeof(cfx_post_ops),
    .infer = linear_infer,
    .cost = linear_cost,
    .flags = CFX_OP_COPIES_TO_CONTIGUOUS,
    .workspace = linear_workspace,
    .run = linear_run,
};

/* ---- Convolutions ---- */

/* The state of a call. */
struct conv {
    const cfx_tensor *x, *w;
    bool depthwise; /* one filter a channel */
    cfx_blocked_window window;
    cfx_post_ops end;
};

static bool have_forms(const cfx_call *call, struct conv *c)
{
    const cfx_dim *w = c->w->shape;
    c->depthwise = c->w->rank == 4;
    if (c->x->rank != 5)
        return false;
    if (c->depthwise)
        return is(call, w[3], CFX_BLOCK) &&
               is(call, c->x->shape[4], CFX_BLOCK);
    return c->w->rank == 7 && is(call, w[5], CFX_BLOCK) &&
           is(call, w[6], CFX_QUAD) &&
           equal(call, c->x->shape[4], fours(call, w[4]));
}

static cfx_status read_forms(const cfx_call *call, struct conv *c)
{
    if (!have_forms(call, c))
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "expected an input (N, I, H, W, B) and a weight (O, I, kh, kw, B / 4, 16, 4), or an input (N, I, H, W, 16) and a weight (I, kh, kw, 16), but got ranks %d and %d",
            c->x->rank, c->w->rank);
    int64_t groups = cfx_call_int(call, GROUPS);
    if (groups < 1 || (c->depthwise && groups > 1) ||
        !is(call, cfx_dim_mod(call->env, c->w->shape[0], cfx_dim_int(groups)),
            0))
        return cfx_call_fail(call, CFX_EINVAL,
                             "the weight has no filters for %lld groups",
                             (long long)groups);
    return equal(call, c->x->shape[1],
                 cfx_dim_mul(call->env, cfx_dim_int(groups),
                             c->w->shape[!c->depthwise]))
               ? CFX_OK
               : cfx_call_fail(call, CFX_ESHAPE,
                               "input and weight differ in their channels");
}

static cfx_dim conv_depth(const cfx_call *call, const struct conv *c)
{
    cfx_dim n = c->depthwise
                    ? cfx_dim_int(1)
                    : cfx_dim_mul(call->env, c->w->shape[1], c->x->shape[4]);
    for (int i = 0; i < 2; i++)
        n = cfx_dim_mul(call->env, n, c->window.kernel[i]);
    return n;
}

/* Check the sum that a convolution of all channels takes. */
static cfx_status check_add(const cfx_call *call, const struct conv *c)
{
    cfx_value in[CFX_MAX_PARAMS], result;
    cfx_call add;
    if (c->end.at[CFX_POST_QUANTIZED_ADD] < 0)
        return CFX_OK;
    cfx_status st = cfx_post_ops_bind(call, &c->end, CFX_POST_QUANTIZED_ADD,
                                      call->out[0], &add, in);
    if (!st)
        st = cfx_call_meta(&add, &result);
    if (!st)
        cfx_value_unref(result);
    return st;
}

static cfx_status conv_infer(cfx_call *call)
{
    struct conv *c = call->state;
    c->x = cfx_call_tensor(call, INPUT);
    c->w = cfx_call_tensor(call, WEIGHT);
    cfx_status st = check_types(call);
    if (!st)
        st = read_forms(call, c);
    if (!st)
        st = cfx_blocked_window_read(call, c->x,
                                     c->w->shape + (c->depthwise ? 1 : 2),
                                     STRIDE, PADDING, DILATION, &c->window);
    if (!st)
        st = cfx_post_ops_read(call, BIAS, POST_OPS,
                               1 << CFX_POST_CLAMP | 1 << CFX_POST_QUANTIZE |
                                   !c->depthwise << CFX_POST_QUANTIZED_ADD,
                               &c->end);
    if (!st)
        st = check_end(call, &c->end, c->w->shape[0], conv_depth(call, c));
    if (st)
        return st;
    if (c->depthwise && !cfx_dim_le(call->env, conv_depth(call, c),
                                    cfx_dim_int(CFX_QUANTIZED_TAPS)))
        return cfx_call_fail(
            call, CFX_EUNSUPPORTED,
            "filters of one channel with more than %d weights are not supported",
            CFX_QUANTIZED_TAPS);
    cfx_dim shape[] = {c->x->shape[0], c->w->shape[0],
                       cfx_blocked_window_out(call->env, &c->window, 0),
                       cfx_blocked_window_out(call->env, &c->window, 1),
                       cfx_dim_int(CFX_BLOCK)};
    for (int i = 2; i < 4; i++)
        if (!cfx_dim_le(call->env, cfx_dim_int(1), shape[i]))
            return cfx_call_fail(call, CFX_ESHAPE,
                                 "the window is larger than the input");
    st = cfx_call_out(call, c->end.type, 5, shape);
    return st ? st : check_add(call, c);
}

static void conv_cost(const cfx_call *call, cfx_cost *cost)
{
    const struct conv *c = call->state;
    end_cost(call, &c->end, conv_depth(call, c), cost);
}

static cfx_quantized_conv plan(const cfx_call *call)
{
    const struct conv *c = call->state;
    const cfx_tensor *y = call->out[0];
    cfx_quantized_conv k = {
        .batch = cfx_tensor_size(y, 0),
        .in_blocks = cfx_tensor_size(c->x, 1),
        .out_blocks = cfx_tensor_size(y, 1),
        .groups = cfx_call_int(call, GROUPS),
        .channels = cfx_tensor_size(c->x, 4),
        .x_zero_point = (uint8_t)cfx_call_int(call, INPUT_ZERO_POINT),
    };
    for (int i = 0; i < 2; i++) {
        k.in[i] = cfx_dim_value(c->window.in[i]);
        k.out[i] = cfx_tensor_size(y, 2 + i);
        k.kernel[i] = cfx_dim_value(c->window.kernel[i]);
        /* A distance that is not used may be too large to be multiplied. */
        k.stride[i] = k.out[i] > 1 ? cfx_dim_value(c->window.stride[i]) : 1;
        k.pad[i] = cfx_dim_value(c->window.pad[i]);
        k.dilation[i] = k.kernel[i] > 1 ? cfx_dim_value(c->window.dilation[i])
                                        : 1;
    }
    return k;
}

static size_t conv_workspace(const cfx_call *call)
{
    const struct conv *c = call->state;
    const cfx_quantized_conv k = plan(call);
    return c->depthwise ? cfx_quantized_depthwise_workspace(call->ctx, &k)
                        : cfx_quantized_conv_workspace(call->ctx, &k);
}

static cfx_status conv_run(cfx_call *call)
{
    const struct conv *c = call->state;
    cfx_quantized_conv k = plan(call);
    k.x = cfx_call_tensor(call, INPUT)->data;
    k.w = cfx_call_tensor(call, WEIGHT)->data;
    k.end = end_of(call, &c->end);
    k.y = call->out[0]->data;
    cfx_value in[CFX_MAX_PARAMS];
    cfx_quantized_sum sum;
    cfx_call add;
    cfx_status st = c->end.at[CFX_POST_QUANTIZED_ADD] < 0
                        ? CFX_OK
                        : cfx_post_ops_bind(call, &c->end,
                                            CFX_POST_QUANTIZED_ADD,
                                            call->out[0], &add, in);
    if (st)
        return st;
    if (c->end.at[CFX_POST_QUANTIZED_ADD] >= 0) {
        sum = cfx_quantized_sum_of(&add);
        sum.y = k.y;
        k.end.sum = &sum;
    }
    if (c->depthwise)
        cfx_quantized_depthwise(call->ctx, &k, call->work);
    else
        cfx_quantized_conv_run(call->ctx, &k, call->work);
    return CFX_OK;
}

const cfx_op cfx_op__quantized_conv2d = {
    .schema =
        "quantized_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor scale, Tensor? bias=None, SymInt[2] stride=1, SymInt[2] padding=0, SymInt[2] dilation=1, int input_zero_point=0, int groups=1, any[] post_ops=[]) -> Tensor",
    .params = params,
    .aliases =
        "torch.ops.cfx.quantized_conv2d.default torch.ops.cfx.quantized_conv2d",
    .doc =
        "A convolution of uint8 in blocks of channels by int8, plus an offset, scaled, plus bias, and post-operations.",
    .state_size = sizeof(struct conv),
    .infer = conv_infer,
    .cost = conv_cost,
    .flags = CFX_OP_COPIES_TO_CONTIGUOUS,
    .workspace = conv_workspace,
    .run = conv_run,
};
