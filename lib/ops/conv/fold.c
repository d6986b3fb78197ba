/*
 * fold -- windows of images as columns, and columns added up to images.
 *
 * shape   unfold: (N, C, in...) or (C, in...) over two axes to (N, C * window,
 *         L), L being the number of windows; fold: the other way round.
 * cost    fold an addition for each element of the columns.
 */
#include "kernel/resample/resample.h"
#include "op/infer.h"
#include "op/loop.h"

/* unfold(self, kernel_size, dilation, padding, stride); fold has output_size
 * in front of kernel_size. */
enum { UNFOLD, FOLD };
enum { KERNEL, DILATION, PADDING, STRIDE };

static cfx_dim number(const cfx_call *call, int which, int axis)
{
    int k = which + 1 + (call->op->code == FOLD);
    cfx_value v = call->in[k];
    if (!cfx_value_is_seq(v))
        return cfx_value_dim(v);
    if (!v.u.seq->len)
        return CFX_DIM_BAD;
    return cfx_value_dim(v.u.seq->item[v.u.seq->len > 1 ? axis : 0]);
}

/* Windows along one axis of an image of extent `in`. */
static cfx_status windows(cfx_call *call, int axis, cfx_dim in, cfx_dim *out)
{
    cfx_shape_env *env = call->env;
    cfx_dim one = cfx_dim_int(1), zero = cfx_dim_int(0);
    cfx_dim k = number(call, KERNEL, axis), d = number(call, DILATION, axis);
    cfx_dim p = number(call, PADDING, axis), step = number(call, STRIDE, axis);
    if (!cfx_dim_le(env, one, k) || !cfx_dim_le(env, one, d) ||
        !cfx_dim_le(env, one, step) || !cfx_dim_le(env, zero, p))
        return cfx_call_fail(
            call, CFX_EINVAL,
            "kernel_size, dilation and stride should be greater than zero, padding not negative");
    cfx_dim window = cfx_dim_add(
        env, cfx_dim_mul(env, d, cfx_dim_sub(env, k, one)), one);
    cfx_dim room = cfx_dim_sub(
        env, cfx_dim_add(env, in, cfx_dim_mul(env, p, cfx_dim_int(2))),
        window);
    if (!cfx_dim_le(env, zero, room))
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "the window is larger than the image along axis %d", axis);
    *out = cfx_dim_add(env, cfx_dim_floordiv(env, room, step), one);
    return CFX_OK;
}

static cfx_status check_rank(cfx_call *call, int least)
{
    const cfx_tensor *x = cfx_call_tensor(call, 0);
    if (x->rank != least && x->rank != least + 1)
        return cfx_call_fail(call, CFX_ESHAPE,
                             "Expected %dD or %dD input, got rank %d", least,
                             least + 1, x->rank);
    if (cfx_dtypes[x->dtype].category < CFX_CAT_FLOAT && x->dtype != CFX_BOOL)
        return cfx_infer_refuse(call, (cfx_dtype)x->dtype);
    for (int i = x->rank - least; i < x->rank; i++)
        if (cfx_dim_is(x->shape[i], 0))
            return cfx_call_fail(call, CFX_ESHAPE, "axis %d is empty", i);
    return CFX_OK;
}

static cfx_status unfold_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, 0);
    cfx_dim shape[3], n[2];
    cfx_status st = check_rank(call, 3);
    for (int i = 0; i < 2 && !st; i++)
        st = windows(call, i, x->shape[x->rank - 2 + i], &n[i]);
    if (st)
        return st;
    int rank = x->rank - 1;
    shape[0] = x->shape[0];
    shape[rank - 2] = cfx_dim_mul(call->env, x->shape[x->rank - 3],
                                  cfx_dim_mul(call->env,
                                              number(call, KERNEL, 0),
                                              number(call, KERNEL, 1)));
    shape[rank - 1] = cfx_dim_mul(call->env, n[0], n[1]);
    return cfx_call_out(call, (cfx_dtype)x->dtype, rank, shape);
}

static cfx_dim image_extent(const cfx_call *call, int axis)
{
    return cfx_call_dim(call, 1, cfx_call_len(call, 1) > 1 ? axis : 0);
}

static cfx_status fold_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, 0);
    cfx_shape_env *env = call->env;
    cfx_dim shape[4], n[2];
    cfx_status st = check_rank(call, 2);
    if (!st && !cfx_call_len(call, 1))
        st = cfx_call_fail(call, CFX_EINVAL, "output_size is empty");
    for (int i = 0; i < 2 && !st; i++)
        st = windows(call, i, image_extent(call, i), &n[i]);
    if (st)
        return st;
    cfx_dim window = cfx_dim_mul(env, number(call, KERNEL, 0),
                                 number(call, KERNEL, 1));
    cfx_dim rows = x->shape[x->rank - 2];
    if (!cfx_dim_eq(env, cfx_dim_mod(env, rows, window), cfx_dim_int(0)))
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "Expected size of input's dimension %d to be divisible by the product of kernel_size",
            x->rank - 2);
    if (!cfx_dim_eq(env, x->shape[x->rank - 1], cfx_dim_mul(env, n[0], n[1])))
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "the number of columns does not match that of the windows");
    shape[0] = x->shape[0];
    shape[x->rank - 2] = cfx_dim_floordiv(env, rows, window);
    for (int i = 0; i < 2; i++)
        shape[x->rank - 1 + i] = image_extent(call, i);
    return cfx_call_out(call, (cfx_dtype)x->dtype, x->rank + 1, shape);
}

static void fold_cost(const cfx_call *call, cfx_cost *cost)
{
    cost->ops = cfx_cost_numel(call, cfx_call_tensor(call, 0));
}

static cfx_status fold_run(cfx_call *call)
{
    bool fold = call->op->code == FOLD;
    cfx_tensor *x = cfx_loop_contiguous(call, cfx_call_tensor(call, 0));
    if (!x)
        return CFX_ENOMEM;
    const cfx_tensor *image = fold ? call->out[0] : x;
    cfx_columns c = {
        .dtype = (cfx_dtype)x->dtype,
        .batch = image->rank == 4 ? cfx_tensor_size(image, 0) : 1,
        .channels = cfx_tensor_size(image, image->rank - 3),
    };
    for (int i = 0; i < 2; i++) {
        cfx_dim n;
        c.in[i] = cfx_tensor_size(image, image->rank - 2 + i);
        windows(call, i, cfx_dim_int(c.in[i]), &n);
        c.out[i] = cfx_dim_value(n);
        c.kernel[i] = cfx_dim_value(number(call, KERNEL, i));
        c.dilation[i] = cfx_dim_value(number(call, DILATION, i));
        c.pad[i] = cfx_dim_value(number(call, PADDING, i));
        c.stride[i] = cfx_dim_value(number(call, STRIDE, i));
    }
    (fold ? cfx_col2im : cfx_im2col)(call->ctx, &c, x->data,
                                     call->out[0]->data);
    cfx_tensor_unref(x);
    return CFX_OK;
}

/* ATen's own names have all numbers given. */
#define WINDOWS                                                               \
    "SymInt[2] kernel_size, SymInt[2] dilation, SymInt[2] padding, "          \
    "SymInt[2] stride) -> Tensor"
#define IM2COL "(Tensor self, " WINDOWS
#define COL2IM "(Tensor self, SymInt[2] output_size, " WINDOWS

static const cfx_variant unfold_variants[] = {
    {"aten.im2col.default" IM2COL, NULL},
    {"torch._C._nn.im2col" IM2COL, NULL},
    {NULL, NULL},
};

const cfx_op cfx_op__unfold = {
    .schema =
        "unfold(Tensor input, SymInt[2] kernel_size, SymInt[2] dilation=1, SymInt[2] padding=0, SymInt[2] stride=1) -> Tensor",
    .aliases = "torch.nn.functional.",
    .variants = unfold_variants,
    .doc = "The windows of an image as columns.",
    .flags = CFX_OP_COMPLEX,
    .code = UNFOLD,
    .infer = unfold_infer,
    .run = fold_run,
};

static const cfx_variant fold_variants[] = {
    {"aten.col2im.default" COL2IM, NULL},
    {"torch._C._nn.col2im" COL2IM, NULL},
    {NULL, NULL},
};

const cfx_op cfx_op__fold = {
    .schema =
        "fold(Tensor input, SymInt[2] output_size, SymInt[2] kernel_size, SymInt[2] dilation=1, SymInt[2] padding=0, SymInt[2] stride=1) -> Tensor",
    .aliases = "torch.nn.functional.",
    .variants = fold_variants,
    .doc = "Columns added up to an image where their windows overlap.",
    .flags = CFX_OP_COMPLEX,
    .code = FOLD,
    .infer = fold_infer,
    .cost = fold_cost,
    .run = fold_run,
};
