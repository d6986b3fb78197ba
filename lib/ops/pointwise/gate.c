/*
 * gate -- activations of two inputs: prelu, whose slopes are a tensor, and glu,
 * which multiplies one half of its input by the sigmoid of the other.
 *
 * shape   prelu: that of the argument; the weight has one element, or one for
 *         each channel (axis 1). glu: half of the extent along `dim`.
 * cost    prelu a product, glu four steps for each element, x / (1 + exp(-g)).
 */
#include "kernel/pointwise/pointwise_kernel.h"
#include "op/infer.h"
#include "op/loop.h"

CFX_PARAMS(params, SELF, WEIGHT, DIM);

static cfx_status prelu_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    const cfx_tensor *w = cfx_call_tensor(call, WEIGHT);
    if (x->dtype != w->dtype || !cfx_dtype_is_float((cfx_dtype)x->dtype))
        return cfx_call_fail(
            call, CFX_EDTYPE, "Type promoting not supported. Got %s and %s",
            cfx_dtypes[x->dtype].name, cfx_dtypes[w->dtype].name);
    if (w->rank > 1)
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "Expected `weight` to be a scalar or 1D tensor, but got: ndim = %d",
            w->rank);
    if (w->rank && !cfx_dim_is(w->shape[0], 1)) {
        cfx_dim channels = x->rank > 1 ? x->shape[1] : cfx_dim_int(1);
        if (!x->rank)
            return cfx_call_fail(call, CFX_ESHAPE,
                                 "Not allow zero-dim input tensor.");
        if (!cfx_dim_eq(call->env, w->shape[0], channels))
            return cfx_call_fail(
                call, CFX_ESHAPE,
                "Mismatch of parameter numbers and input channel size.");
    }
    return cfx_infer_like(call, x, (cfx_dtype)x->dtype);
}

static void prelu_cost(const cfx_call *call, cfx_cost *cost)
{
    cfx_cost_pointwise(call, cost, 1, 0);
}

static cfx_status prelu_run(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    const cfx_tensor *w = cfx_call_tensor(call, WEIGHT);
    bool many = w->rank && cfx_tensor_size(w, 0) != 1;
    cfx_iter it;
    cfx_loop_out(&it, call->out[0]);
    cfx_loop_in(&it, x);
    int64_t *stride = cfx_iter_add(&it, w->data, (cfx_dtype)w->dtype);
    for (int i = 0; i < x->rank; i++)
        stride[i] = many && i == 1 ? cfx_tensor_stride(w, 0) : 0;
    cfx_pointwise(call->ctx, CFX_PW_PRELU, (cfx_dtype)x->dtype, &it, NULL);
    return CFX_OK;
}

const cfx_op cfx_op__prelu = {
    .schema = "prelu(Tensor self, Tensor weight) -> Tensor",
    .params = params,
    .aliases = "torch. torch.nn.functional. Tensor. aten.",
    .doc = "x, or x * weight where x is negative.",
    .infer = prelu_infer,
    .cost = prelu_cost,
    .run = prelu_run,
};

/* ---- glu ---- */

/* Half of the extent along the axis, which must be even. */
static cfx_status half_of(cfx_call *call, int *axis, cfx_dim *half)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_dim two = cfx_dim_int(2);
    if (!x->rank)
        return cfx_call_fail(call, CFX_ESHAPE,
                             "does not support 0-dimensional tensors");
    cfx_status st = cfx_call_axis(call, cfx_call_int(call, DIM), x->rank,
                                  axis);
    if (st)
        return st;
    cfx_dim n = x->shape[*axis];
    if (!cfx_dim_eq(call->env, cfx_dim_mod(call->env, n, two),
                    cfx_dim_int(0))) {
        char s[64];
        cfx_dim_format(n, s, sizeof(s));
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "Halving dimension must be even, but dimension %d is size %s",
            *axis, s);
    }
    *half = cfx_dim_floordiv(call->env, n, two);
    return CFX_OK;
}

/* The strides follow from those of one half. */
static cfx_status glu_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_dim shape[CFX_MAX_RANK], half;
    cfx_tensor *view;
    int axis;
    if (!cfx_dtype_is_float((cfx_dtype)x->dtype))
        return cfx_infer_refuse(call, (cfx_dtype)x->dtype);
    cfx_status st = half_of(call, &axis, &half);
    if (st)
        return st;
    for (int i = 0; i < x->rank; i++)
        shape[i] = i == axis ? half : x->shape[i];
    st = cfx_call_new_view(call, &view, SELF, x->rank, shape, x->stride,
                           cfx_dim_int(0));
    if (st)
        return st;
    cfx_call part = *call;
    cfx_value v = cfx_value_of_tensor(view);
    part.in = &v;
    st = cfx_infer_pointwise(&part, 0, 1, (cfx_dtype)x->dtype);
    call->out[0] = part.out[0];
    call->alias[0] = 0;
    call->nout = part.nout;
    cfx_tensor_unref(view);
    return st;
}

static void glu_cost(const cfx_call *call, cfx_cost *cost)
{
    cfx_cost_pointwise(call, cost, 4, 2); /* x / (1 + exp(-g)) */
}

static cfx_status glu_run(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF), *y = call->out[0];
    cfx_iter it;
    int axis;
    cfx_call_axis(call, cfx_call_int(call, DIM), x->rank, &axis);
    int64_t skip = cfx_tensor_size(y, axis) * cfx_tensor_stride(x, axis) *
                   (int64_t)cfx_dtype_size((cfx_dtype)x->dtype);
    cfx_loop_out(&it, y);
    for (int i = 0; i < 2; i++) {
        const char *from = (const char *)x->data + i * skip;
        cfx_loop_strides(cfx_iter_add(&it, from, (cfx_dtype)x->dtype), x);
    }
    cfx_pointwise(call->ctx, CFX_PW_GLU, (cfx_dtype)x->dtype, &it, NULL);
    return CFX_OK;
}

const cfx_op cfx_op__glu = {
    .schema = "glu(Tensor self, int dim=-1) -> Tensor",
    .params = params,
    .aliases = "torch.nn.functional. aten.",
    .doc = "The first half along an axis times the sigmoid of the second.",
    .infer = glu_infer,
    .cost = glu_cost,
    .run = glu_run,
};
