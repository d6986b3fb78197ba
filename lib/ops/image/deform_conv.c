/*
 * deform_conv2d -- a convolution that reads each of its pixels at an offset,
 * torchvision's.
 *
 * shape   input (N, C, H, W), weight (O, C / groups, kh, kw), offset
 *         (N, 2 offset_groups kh kw, outH, outW), mask the half of it:
 *         (N, O, outH, outW).
 * cost    that of the grids, of sampling, and of the product.
 */
#include "op/composite.h"
#include "op/infer.h"

CFX_PARAMS(params, INPUT, WEIGHT, OFFSET, MASK, BIAS, STRIDE_H, STRIDE_W,
           PAD_H, PAD_W, DILATION_H, DILATION_W, GROUPS, OFFSET_GROUPS,
           USE_MASK);

#define IN(k) cfx_call_value(call, k)
#define TORCH(name, ...) CFX_CALL(s, "torch." name, __VA_ARGS__)
#define TUPLE(...) cfx_tuple(s, __VA_ARGS__)

/* Extents, as values of the scope. */
struct sizes {
    cfx_value batch, channels, in[2];
    cfx_value outputs, kernel[2], places; /* places: of a kernel */
    cfx_value out[2], pixels;             /* pixels: of a result */
    cfx_value groups, offset_groups;
};

static bool is_one_of(cfx_scope *s, cfx_value n, cfx_value of)
{
    return cfx_dim_eq(s->env, cfx_value_dim(n), cfx_value_dim(of));
}

/* (n + 2 pad - dilation (kernel - 1) - 1) / stride + 1. */
static cfx_value out_extent(cfx_scope *s, const cfx_call *call, int axis,
                            const struct sizes *z)
{
    cfx_value minus = cfx_int(-1), n = z->in[axis];
    cfx_value reach = cfx_int_mul(s, IN(DILATION_H + axis),
                                  cfx_int_add(s, z->kernel[axis], minus));
    n = cfx_int_add(s, n, cfx_int_mul(s, cfx_int(2), IN(PAD_H + axis)));
    n = cfx_int_add(s, n, cfx_int_mul(s, minus, reach));
    n = cfx_int_floordiv(s, cfx_int_add(s, n, minus), IN(STRIDE_H + axis));
    return cfx_int_add(s, n, cfx_int(1));
}

static bool check_numbers(cfx_scope *s, const cfx_call *call)
{
    static const int positive[] = {STRIDE_H,   STRIDE_W, DILATION_H,
                                   DILATION_W, GROUPS,   OFFSET_GROUPS};
    for (size_t i = 0; i < sizeof(positive) / sizeof(*positive); i++)
        if (!cfx_dim_lt(s->env, cfx_dim_int(0),
                        cfx_value_dim(IN(positive[i]))))
            cfx_scope_fail(
                s, CFX_EINVAL,
                "strides, dilations and groups must be greater than 0");
    for (int i = PAD_H; i <= PAD_W; i++)
        if (!cfx_dim_le(s->env, cfx_dim_int(0), cfx_value_dim(IN(i))))
            cfx_scope_fail(s, CFX_EINVAL, "paddings must not be negative");
    return !cfx_scope_failed(s);
}

static bool check_tensors(cfx_scope *s, const cfx_call *call)
{
    for (int i = INPUT; i <= (cfx_call_bool(call, USE_MASK) ? MASK : OFFSET);
         i++)
        if (cfx_call_tensor(call, i)->rank != 4)
            cfx_scope_fail(
                s, CFX_ESHAPE,
                "input, weight, offset and mask must have 4 dimensions");
    if (cfx_call_tensor(call, BIAS)->rank != 1)
        cfx_scope_fail(s, CFX_ESHAPE, "bias must have 1 dimension");
    for (int i = INPUT; i <= BIAS; i++)
        if (cfx_call_tensor(call, i)->dtype !=
            cfx_call_tensor(call, INPUT)->dtype)
            cfx_scope_fail(s, CFX_EDTYPE,
                           "all tensors must have the type of the input");
    return !cfx_scope_failed(s);
}

static bool read_sizes(cfx_scope *s, const cfx_call *call, struct sizes *z)
{
    cfx_value x = IN(INPUT), w = IN(WEIGHT);
    z->batch = cfx_size(s, x, 0);
    z->channels = cfx_size(s, x, 1);
    z->outputs = cfx_size(s, w, 0);
    z->groups = IN(GROUPS);
    z->offset_groups = IN(OFFSET_GROUPS);
    for (int i = 0; i < 2; i++) {
        z->in[i] = cfx_size(s, x, 2 + i);
        z->kernel[i] = cfx_size(s, w, 2 + i);
        z->out[i] = out_extent(s, call, i, z);
        if (cfx_scope_failed(s) ||
            !cfx_dim_lt(s->env, cfx_dim_int(0), cfx_value_dim(z->out[i])) ||
            !cfx_dim_lt(s->env, cfx_dim_int(0), cfx_value_dim(z->in[i]))) {
            cfx_scope_fail(s, CFX_ESHAPE,
                           "calculated output size is too small");
            return false;
        }
    }
    z->places = cfx_int_mul(s, z->kernel[0], z->kernel[1]);
    z->pixels = cfx_int_mul(s, z->out[0], z->out[1]);
    return !cfx_scope_failed(s);
}

/* A tensor (N, channels, outH, outW). */
static void check_map(cfx_scope *s, const struct sizes *z, cfx_value x,
                      cfx_value channels, const char *name)
{
    if (!is_one_of(s, cfx_size(s, x, 0), z->batch) ||
        !is_one_of(s, cfx_size(s, x, 1), channels) ||
        !is_one_of(s, cfx_size(s, x, 2), z->out[0]) ||
        !is_one_of(s, cfx_size(s, x, 3), z->out[1]))
        cfx_scope_fail(
            s, CFX_ESHAPE,
            "%s must have the batch of the input, %s numbers for each place of the kernel and group of offsets, and the extents of the result",
            name, name[0] == 'o' ? "2" : "1");
}

static bool check_sizes(cfx_scope *s, const cfx_call *call,
                        const struct sizes *z)
{
    cfx_value masks = cfx_int_mul(s, z->offset_groups, z->places);
    cfx_value offsets = cfx_int_mul(s, cfx_int(2), masks);
    cfx_value of_weight = cfx_int_mul(s, cfx_size(s, IN(WEIGHT), 1),
                                      z->groups);
    check_map(s, z, IN(OFFSET), offsets, "offset");
    if (cfx_call_bool(call, USE_MASK))
        check_map(s, z, IN(MASK), masks, "mask");
    if (!is_one_of(s, of_weight, z->channels) ||
        !is_one_of(s, cfx_size(s, IN(BIAS), 0), z->outputs))
        cfx_scope_fail(
            s, CFX_ESHAPE,
            "weight must have the channels of the input for each group, and bias those of the result");
    return !cfx_scope_failed(s);
}

/* Along one axis, where kernels read without offsets: (places, outH, outW)
 * by broadcasting. */
static cfx_value places(cfx_scope *s, const cfx_call *call, int axis,
                        const struct sizes *z, cfx_value like)
{
    cfx_value one = cfx_int(1), minus = cfx_int(-1);
    cfx_value taps = TORCH("mul", TORCH("arange", z->kernel[axis]),
                           IN(DILATION_H + axis));
    cfx_value steps = TORCH("mul", TORCH("arange", z->out[axis]),
                            IN(STRIDE_H + axis));
    steps = TORCH("sub", steps, IN(PAD_H + axis));
    taps = TORCH("reshape", taps,
                 axis ? TUPLE(one, minus, one, one)
                      : TUPLE(minus, one, one, one));
    steps = TORCH("reshape", steps,
                  axis ? TUPLE(one, minus) : TUPLE(minus, one));
    taps = TORCH("add", taps, steps);
    taps = TORCH("expand_copy", taps,
                 TUPLE(z->kernel[0], z->kernel[1], axis ? one : z->out[0],
                       axis ? z->out[1] : one));
    taps = TORCH("flatten", taps, cfx_int(0), one);
    return CFX_CALL(s, "Tensor.type_as", taps, like);
}

/* The coordinates of grid_sample along one axis, from the edges -1 and 1 of an
 * image: (N offset_groups, places, outH, outW). */
static cfx_value coordinates(cfx_scope *s, const cfx_call *call, int axis,
                             const struct sizes *z, cfx_value offset)
{
    cfx_value at = TORCH("select", offset, cfx_int(2), cfx_int(axis));
    at = TORCH("add", at, places(s, call, axis, z, offset));
    at = TORCH("add", TORCH("mul", at, cfx_int(2)), cfx_int(1));
    return TORCH("sub", TORCH("div", at, z->in[axis]), cfx_int(1));
}

/* The pixels that kernels read: (N offset_groups, C / offset_groups, places,
 * outH outW). */
static cfx_value columns(cfx_scope *s, const cfx_call *call,
                         const struct sizes *z)
{
    cfx_value minus = cfx_int(-1), pair[2];
    cfx_value images = cfx_int_mul(s, z->batch, z->offset_groups);
    cfx_value each = cfx_int_floordiv(s, z->channels, z->offset_groups);
    cfx_value x = TORCH("reshape", IN(INPUT),
                        TUPLE(images, each, z->in[0], z->in[1]));
    cfx_value offset = TORCH(
        "reshape", IN(OFFSET),
        TUPLE(images, z->places, cfx_int(2), z->out[0], z->out[1]));
    for (int i = 0; i < 2; i++)
        pair[i] = coordinates(s, call, 1 - i, z, offset);
    cfx_value grid = TORCH("stack", cfx_list_of(s, CFX_LIST, 2, pair), minus);
    grid = TORCH("reshape", grid,
                 TUPLE(images, z->places, z->pixels, cfx_int(2)));
    x = CFX_CALL(s, "torch.nn.functional.grid_sample", x, grid,
                 cfx_str(s, "bilinear"), cfx_str(s, "zeros"), cfx_bool(false));
    if (!cfx_call_bool(call, USE_MASK))
        return x;
    return TORCH("mul", x,
                 TORCH("reshape", IN(MASK),
                       TUPLE(images, cfx_int(1), z->places, z->pixels)));
}

static cfx_value deform_build(cfx_scope *s, const cfx_call *call)
{
    struct sizes z = {.batch = cfx_none()};
    if (!check_numbers(s, call) || !check_tensors(s, call) ||
        !read_sizes(s, call, &z) || !check_sizes(s, call, &z))
        return cfx_none();
    if (!is_one_of(s, CFX_CALL(s, "operator.mod", z.channels, z.offset_groups),
                   cfx_int(0)) ||
        !is_one_of(s, CFX_CALL(s, "operator.mod", z.outputs, z.groups),
                   cfx_int(0)))
        return cfx_scope_fail(s, CFX_ESHAPE,
                              "channels must be divisible by groups");
    cfx_value per = cfx_int_floordiv(s, z.outputs, z.groups);
    cfx_value terms = cfx_int_mul(s, cfx_int_floordiv(s, z.channels, z.groups),
                                  z.places);
    cfx_value x = columns(s, call, &z);
    x = TORCH("reshape", x, TUPLE(z.batch, z.groups, terms, z.pixels));
    x = TORCH("matmul",
              TORCH("reshape", IN(WEIGHT), TUPLE(z.groups, per, terms)), x);
    x = TORCH("reshape", x, TUPLE(z.batch, z.outputs, z.out[0], z.out[1]));
    return TORCH(
        "add", x,
        TORCH("reshape", IN(BIAS), TUPLE(z.outputs, cfx_int(1), cfx_int(1))));
}

CFX_COMPOSITE(deform)

const cfx_op cfx_op__deform_conv2d = {
    .schema =
        "deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, SymInt stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, SymInt groups, SymInt offset_groups, bool use_mask) -> Tensor",
    .params = params,
    .aliases =
        "torch.ops.torchvision.deform_conv2d.default torch.ops.torchvision.deform_conv2d",
    .doc = "A convolution that reads each of its pixels at an offset.",
    .infer = deform_infer,
    .cost = deform_cost,
    .run = deform_run,
};
