/*
 * layer_norm -- normalize what is inside of a sample: over the last axes
 * (layer_norm, rms_norm), or over groups of channels (group_norm,
 * instance_norm).
 *
 * shape   that of the input.
 * cost    mean, variance, and the affine map: layer and group norm 5 steps an
 *         element and 3 a row or group (cfx_cost_normalize), rms_norm 3 and 3;
 *         one more an element for each of weight and bias.
 */
#include <float.h>

#include "kernel/norm/norm_kernel.h"
#include "op/composite.h"
#include "op/op_cost.h"
#include "op/infer.h"
#include "op/loop.h"
#include "op/op_impl.h"
#include "ops/shape/view.h"

CFX_PARAMS(params, INPUT, NORMALIZED_SHAPE, NUM_GROUPS, WEIGHT, BIAS, EPS,
           CUDNN_ENABLE, CUDNN_ENABLED);

/* The number of rows over the last axes. */
static cfx_dim rows_normalized(const cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, INPUT);
    int n = cfx_call_len(call, NORMALIZED_SHAPE);
    return cfx_infer_numel(call->env, x->rank - n, x->shape);
}

static void norm_cost(const cfx_call *call, cfx_cost *cost)
{
    cfx_cost_normalize(call, cost, rows_normalized(call),
                       cfx_call_has(call, WEIGHT), cfx_call_has(call, BIAS));
}

static void group_cost(const cfx_call *call, cfx_cost *cost)
{
    const cfx_tensor *x = cfx_call_tensor(call, INPUT);
    cfx_dim each = cfx_value_dim(cfx_call_value(call, NUM_GROUPS));
    cfx_dim groups = cfx_dim_mul(call->env, x->shape[0], each);
    cfx_cost_normalize(call, cost, groups, cfx_call_has(call, WEIGHT),
                       cfx_call_has(call, BIAS));
}

/* A row of n costs n squares, n - 1 sums, a division, eps, a square root, a
 * reciprocal and n products; a weight adds n. */
static void rms_cost(const cfx_call *call, cfx_cost *cost)
{
    cfx_dim rows = rows_normalized(call);
    cost->ops = cfx_cost_linear(call, 3 + cfx_call_has(call, WEIGHT),
                                cfx_cost_numel(call, call->out[0]), 3, rows);
    cost->transcendental = cfx_dim_mul(call->env, rows, cfx_dim_int(3));
}

/* normalized_shape must end the input's shape, and be that of the tensors from
 * weight to `last`. */
static cfx_status check_shape(cfx_call *call, const cfx_tensor *x, int last)
{
    int n = cfx_call_len(call, NORMALIZED_SHAPE);
    char have[128];
    cfx_tensor_format_type(x, have, sizeof(have));
    if (n < 1 || n > x->rank)
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "Expected normalized_shape to be at least 1-dimensional and at most the input's, but got %d for %s",
            n, have);
    for (int i = 0; i < n; i++)
        if (!cfx_dim_eq(call->env, cfx_call_dim(call, NORMALIZED_SHAPE, i),
                        x->shape[x->rank - n + i]))
            return cfx_call_fail(
                call, CFX_ESHAPE,
                "normalized_shape does not end the shape of the input, %s",
                have);
    for (int k = WEIGHT; k <= last; k++) {
        const cfx_tensor *t = cfx_call_tensor(call, k);
        bool same = !t || t->rank == n;
        for (int i = 0; t && same && i < n; i++)
            same = cfx_dim_eq(call->env, t->shape[i],
                              cfx_call_dim(call, NORMALIZED_SHAPE, i));
        if (!same)
            return cfx_call_fail(
                call, CFX_ESHAPE,
                "Expected %s to be of same shape as normalized_shape",
                cfx_call__param_name(call, k));
    }
    return CFX_OK;
}

/* Row-major versions of the input and up to two small tensors. */
struct arrays {
    cfx_tensor *t[3];
};

static void release(struct arrays *a)
{
    for (int i = 0; i < 3; i++)
        cfx_tensor_unref(a->t[i]);
}

static cfx_status fetch(cfx_call *call, struct arrays *a, const int *param)
{
    const cfx_tensor *x = cfx_call_tensor(call, INPUT);
    *a = (struct arrays){{NULL}};
    for (int i = 0; i < 3; i++) {
        const cfx_tensor *t = param[i] < 0 ? NULL
                                           : cfx_call_tensor(call, param[i]);
        if (t && !(a->t[i] = cfx_loop_contiguous_as(call, t,
                                                    (cfx_dtype)x->dtype))) {
            release(a);
            return CFX_ENOMEM;
        }
    }
    return CFX_OK;
}

static const void *data(const cfx_tensor *t)
{
    return t ? t->data : NULL;
}

/* ---- layer_norm and rms_norm ---- */

static cfx_status layer_norm_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, INPUT);
    cfx_status st = cfx_infer_need_float(call, (cfx_dtype)x->dtype);
    if (!st)
        st = check_shape(call, x, BIAS);
    return st ? st
              : cfx_call_out(call, (cfx_dtype)x->dtype, x->rank, x->shape);
}

/* Elements of a normalized row, and how many rows there are. */
static void rows_of(const cfx_call *call, int64_t *outer, int64_t *n)
{
    const cfx_tensor *x = cfx_call_tensor(call, INPUT);
    int inner = cfx_call_len(call, NORMALIZED_SHAPE);
    *outer = *n = 1;
    for (int i = 0; i < x->rank; i++)
        *(i < x->rank - inner ? outer : n) *= cfx_tensor_size(x, i);
}

static cfx_status run_layer_norm(cfx_call *call, double eps, void *mean,
                                 void *rstd)
{
    static const int param[] = {INPUT, WEIGHT, BIAS};
    struct arrays a;
    int64_t outer, n;
    if (fetch(call, &a, param))
        return CFX_ENOMEM;
    rows_of(call, &outer, &n);
    cfx_kernel_layer_norm(call->ctx, (cfx_dtype)call->out[0]->dtype,
                          call->out[0]->data, a.t[0]->data, outer, n,
                          data(a.t[1]), data(a.t[2]), eps, mean, rstd);
    release(&a);
    return CFX_OK;
}

static cfx_status layer_norm_run(cfx_call *call)
{
    return run_layer_norm(call, cfx_call_double(call, EPS), NULL, NULL);
}

const cfx_op cfx_op__layer_norm = {
    .schema =
        "layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, bool cudnn_enable=True) -> Tensor",
    .params = params,
    .aliases = "torch. torch.nn.functional. aten.",
    .doc = "Normalize over the last axes.",
    .infer = layer_norm_infer,
    .cost = norm_cost,
    .flags = CFX_OP_COPIES_TO_CONTIGUOUS,
    .run = layer_norm_run,
};

static cfx_status native_layer_norm_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, INPUT);
    cfx_dim shape[CFX_MAX_RANK];
    cfx_status st = layer_norm_infer(call);
    int n = cfx_call_len(call, NORMALIZED_SHAPE);
    for (int i = 0; i < x->rank; i++)
        shape[i] = i < x->rank - n ? x->shape[i] : cfx_dim_int(1);
    for (int i = 0; i < 2 && !st; i++)
        st = cfx_call_out(call, (cfx_dtype)x->dtype, x->rank, shape);
    return st;
}

static cfx_status native_layer_norm_run(cfx_call *call)
{
    return run_layer_norm(call, cfx_call_double(call, EPS), call->out[1]->data,
                          call->out[2]->data);
}

const cfx_op cfx_op__native_layer_norm = {
    .schema =
        "native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> (Tensor, Tensor, Tensor)",
    .params = params,
    .aliases = "torch. aten.",
    .doc = "layer_norm, with the means and reciprocal deviations of rows.",
    .infer = native_layer_norm_infer,
    .cost = norm_cost,
    .run = native_layer_norm_run,
};

/* The result is the product of x and a factor for each row, contiguous in the
 * memory format of x. */
static cfx_status rms_norm_out(cfx_call *call, const cfx_tensor *x)
{
    cfx_call product = *call;
    cfx_value in[] = {cfx_call_value(call, INPUT), cfx_float(1)};
    bool rows = false, last = x->rank > 3 && cfx_view_is_last(call->env, x);
    unsigned flags = last ? CFX_TENSOR_CHANNELS_LAST |
                                CFX_TENSOR_CHANNELS_LAST_3D
                          : CFX_TENSOR_CONTIGUOUS;
    int n = cfx_call_len(call, NORMALIZED_SHAPE);
    for (int i = x->rank - n; i < x->rank; i++)
        rows |= !cfx_dim_is(x->shape[i], 1);
    product.meta = true;
    product.in = in;
    cfx_status st = cfx_infer_pointwise(&product, 0, 1 + rows,
                                        (cfx_dtype)x->dtype);
    if (st)
        return st;
    cfx_tensor *p = product.out[0];
    st = p->flags & flags ? cfx_call_out_strided(call, (cfx_dtype)x->dtype,
                                                 x->rank, x->shape, p->stride)
                          : cfx_view_out_format(call, (cfx_dtype)x->dtype,
                                                x->rank, x->shape, last);
    cfx_tensor_unref(p);
    return st;
}

static cfx_status rms_norm_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, INPUT);
    cfx_status st = cfx_infer_need_inexact(call, (cfx_dtype)x->dtype);
    if (!st)
        st = check_shape(call, x, WEIGHT);
    if (st)
        return st;
    return rms_norm_out(call, x);
}

/* eps=None is the distance of 1 from the next number. */
static double rms_eps(const cfx_call *call)
{
    if (cfx_call_has(call, EPS))
        return cfx_call_double(call, EPS);
    cfx_dtype type = cfx_dtype_real(
        (cfx_dtype)cfx_call_tensor(call, INPUT)->dtype);
    return type == CFX_F64 ? DBL_EPSILON : FLT_EPSILON;
}

/* PyTorch's squares of complex numbers are complex. */
static cfx_value complex_rms_norm_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value x = cfx_call_value(call, INPUT), axis[CFX_MAX_RANK];
    int n = cfx_call_len(call, NORMALIZED_SHAPE);
    for (int i = 0; i < n; i++)
        axis[i] = cfx_int(i - n);
    cfx_value mean = CFX_CALL(s, "torch.mean", CFX_CALL(s, "torch.square", x),
                              cfx_list_of(s, CFX_LIST, (size_t)n, axis),
                              cfx_bool(true));
    mean = CFX_CALL(s, "torch.add", mean, cfx_float(rms_eps(call)));
    x = CFX_CALL(s, "torch.mul", x, CFX_CALL(s, "torch.rsqrt", mean));
    return cfx_call_has(call, WEIGHT)
               ? CFX_CALL(s, "torch.mul", x, cfx_call_value(call, WEIGHT))
               : x;
}

static cfx_status rms_norm_run(cfx_call *call)
{
    static const int param[] = {INPUT, WEIGHT, -1};
    struct arrays a;
    int64_t outer, n;
    if (fetch(call, &a, param))
        return CFX_ENOMEM;
    rows_of(call, &outer, &n);
    cfx_kernel_rms_norm(call->ctx, (cfx_dtype)call->out[0]->dtype,
                        call->out[0]->data, a.t[0]->data, outer, n,
                        data(a.t[1]), rms_eps(call));
    release(&a);
    return CFX_OK;
}

static cfx_status any_rms_norm_run(cfx_call *call)
{
    return cfx_call_is_complex(call)
               ? cfx_composite_run(call, complex_rms_norm_build)
               : rms_norm_run(call);
}

static void any_rms_norm_cost(const cfx_call *call, cfx_cost *cost)
{
    if (cfx_call_is_complex(call))
        cfx_composite_cost(call, cost, complex_rms_norm_build);
    else
        rms_cost(call, cost);
}

const cfx_op cfx_op__rms_norm = {
    .schema =
        "rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor",
    .params = params,
    .aliases = "torch. torch.nn.functional. aten.",
    .doc = "Divide by the root of the mean square over the last axes.",
    .infer = rms_norm_infer,
    .cost = any_rms_norm_cost,
    .flags = CFX_OP_COPIES_TO_CONTIGUOUS | CFX_OP_COPIES_FROM_CONTIGUOUS |
             CFX_OP_COMPLEX,
    .run = any_rms_norm_run,
};

/* ---- group_norm ---- */

static cfx_status check_channels(cfx_call *call, const cfx_tensor *x)
{
    for (int k = WEIGHT; k <= BIAS; k++) {
        const cfx_tensor *t = cfx_call_tensor(call, k);
        if (t &&
            (t->rank != 1 || !cfx_dim_eq(call->env, t->shape[0], x->shape[1])))
            return cfx_call_fail(
                call, CFX_ESHAPE,
                "Expected %s to be a vector of size equal to the number of channels",
                cfx_call__param_name(call, k));
    }
    return CFX_OK;
}

static cfx_status group_norm_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, INPUT);
    cfx_dim groups = cfx_value_dim(cfx_call_value(call, NUM_GROUPS));
    char text[64];
    cfx_status st = cfx_infer_need_float(call, (cfx_dtype)x->dtype);
    if (st)
        return st;
    if (x->rank < 2)
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "Expected at least 2 dimensions for input tensor but received %d",
            x->rank);
    if (!cfx_dim_lt(call->env, cfx_dim_int(0), groups))
        return cfx_call_fail(call, CFX_EINVAL, "num_groups must be positive");
    cfx_dim_format(groups, text, sizeof(text));
    if (!cfx_dim_eq(call->env, cfx_dim_mod(call->env, x->shape[1], groups),
                    cfx_dim_int(0)))
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "Expected number of channels in input to be divisible by num_groups, %s",
            text);
    st = check_channels(call, x);
    return st ? st
              : cfx_view_out_format(
                    call, (cfx_dtype)x->dtype, x->rank, x->shape,
                    x->rank > 3 && cfx_view_is_last(call->env, x));
}

static cfx_status run_groups(cfx_call *call, int64_t groups, double eps)
{
    static const int param[] = {INPUT, WEIGHT, BIAS};
    const cfx_tensor *x = cfx_call_tensor(call, INPUT), *y = call->out[0];
    struct arrays a;
    int64_t inner = 1;
    if (fetch(call, &a, param))
        return CFX_ENOMEM;
    for (int i = 2; i < x->rank; i++)
        inner *= cfx_tensor_size(x, i);
    cfx_kernel_group_norm(call->ctx, (cfx_dtype)y->dtype, y->data,
                          a.t[0]->data, cfx_tensor_size(x, 0),
                          cfx_tensor_size(x, 1), inner, groups, data(a.t[1]),
                          data(a.t[2]), eps, NULL, NULL);
    release(&a);
    return CFX_OK;
}

static cfx_status group_norm_run(cfx_call *call)
{
    return run_groups(call, cfx_call_int(call, NUM_GROUPS),
                      cfx_call_double(call, EPS));
}

const cfx_op cfx_op__group_norm = {
    .schema =
        "group_norm(Tensor input, SymInt num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, bool cudnn_enabled=True) -> Tensor",
    .params = params,
    .aliases = "torch. torch.nn.functional. aten.",
    .doc = "Normalize over groups of channels.",
    .infer = group_norm_infer,
    .cost = group_cost,
    .flags = CFX_OP_COPIES_TO_CONTIGUOUS | CFX_OP_COPIES_FROM_CONTIGUOUS,
    .run = group_norm_run,
};
