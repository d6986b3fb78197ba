/*
 * search -- where numbers would go among sorted ones: searchsorted, bucketize.
 *
 * shape   that of the numbers; the sorted ones are a vector for all, or agree
 *         with them on all axes but the last.
 * cost    none: comparisons.
 */
#include <string.h>

#include "kernel/move/index_kernel.h"
#include "kernel/pointwise/pointwise_kernel.h"
#include "op/infer.h"
#include "op/loop.h"

CFX_PARAMS(params, SORTED_SEQUENCE, BOUNDARIES, SELF, OUT_INT32, RIGHT, SIDE,
           SORTER);

static bool is_bucketize(const cfx_call *call)
{
    return call->op->code;
}

static cfx_value sorted_arg(const cfx_call *call)
{
    return cfx_call_value(call,
                          is_bucketize(call) ? BOUNDARIES : SORTED_SEQUENCE);
}

static cfx_value values_arg(const cfx_call *call)
{
    return cfx_call_value(call, SELF);
}

static const cfx_tensor *sorter_of(const cfx_call *call)
{
    return cfx_call_tensor(call, SORTER);
}

static cfx_status wants_right(cfx_call *call, bool *right)
{
    const char *side = cfx_call_str(call, SIDE);
    *right = cfx_call_bool(call, RIGHT);
    if (!side)
        return CFX_OK;
    if (strcmp(side, "left") && strcmp(side, "right"))
        return cfx_call_fail(call, CFX_EINVAL,
                             "side can only be 'left' or 'right' but got %s",
                             side);
    if (*right && !strcmp(side, "left"))
        return cfx_call_fail(
            call, CFX_EINVAL,
            "side and right can't be set to opposites, got side of left while right was True");
    *right |= !strcmp(side, "right");
    return CFX_OK;
}

static cfx_status check_shapes(cfx_call *call, const cfx_tensor *sorted,
                               const cfx_tensor *v)
{
    if (is_bucketize(call) && sorted->rank != 1)
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "boundaries tensor must be 1 dimension, but got dim(%d)",
            sorted->rank);
    if (!sorted->rank)
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "boundaries tensor should have positive dimension, but got 0 dimension");
    if (sorted->rank == 1)
        return CFX_OK;
    bool same = v && v->rank == sorted->rank;
    for (int i = 0; same && i + 1 < sorted->rank; i++)
        same = cfx_dim_eq(call->env, sorted->shape[i], v->shape[i]);
    return same
               ? CFX_OK
               : cfx_call_fail(
                     call, CFX_ESHAPE,
                     "boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor and input value tensor must match");
}

static cfx_status check_sorter(cfx_call *call, const cfx_tensor *sorted)
{
    const cfx_tensor *s = sorter_of(call);
    if (!s)
        return CFX_OK;
    bool same = s->rank == sorted->rank && s->dtype == CFX_I64;
    for (int i = 0; same && i < s->rank; i++)
        same = cfx_dim_eq(call->env, s->shape[i], sorted->shape[i]);
    return same
               ? CFX_OK
               : cfx_call_fail(
                     call, CFX_ESHAPE,
                     "boundary and sorter must have the same size, and sorter must be long");
}

static cfx_status search_infer(cfx_call *call)
{
    const cfx_tensor *sorted = sorted_arg(call).u.tensor;
    cfx_value arg = values_arg(call);
    const cfx_tensor *v = arg.kind == CFX_TENSOR ? arg.u.tensor : NULL;
    bool right;
    cfx_status st = wants_right(call, &right);
    if (!st && sorted_arg(call).kind != CFX_TENSOR)
        return cfx_call_fail(call, CFX_EINVAL, "boundaries must be a Tensor");
    if (!st)
        st = check_shapes(call, sorted, v);
    if (!st)
        st = check_sorter(call, sorted);
    cfx_dtype type = cfx_call_bool(call, OUT_INT32) ? CFX_I32 : CFX_I64;
    return st ? st
              : cfx_call_out(call, type, v ? v->rank : 0, v ? v->shape : NULL);
}

static size_t search_workspace(const cfx_call *call)
{
    const cfx_tensor *y = call->out[0];
    return y->dtype == CFX_I64 ? 0
                               : (size_t)cfx_tensor_numel(y) * sizeof(int64_t);
}

/* The sorted numbers, in order and of a type. */
static cfx_status prepare_sorted(cfx_call *call, cfx_dtype type,
                                 cfx_tensor **out)
{
    cfx_tensor *x = cfx_loop_contiguous_as(call, sorted_arg(call).u.tensor,
                                           type);
    const cfx_tensor *sorter = sorter_of(call);
    cfx_tensor *places, *y = NULL;
    int64_t bad = 0;
    *out = x;
    if (!x || !sorter)
        return x ? CFX_OK : CFX_ENOMEM;
    places = cfx_loop_contiguous(call, sorter);
    cfx_status st = places ? cfx_call_new(call, &y, type, x->rank, x->shape)
                           : CFX_ENOMEM;
    if (!st)
        st = cfx_tensor_alloc(y, call->err);
    int64_t n = cfx_tensor_size(x, x->rank - 1);
    int64_t rows = n ? cfx_tensor_numel(x) / n : 0;
    size_t row = (size_t)n * cfx_dtype_size(type);
    for (int64_t i = 0; !st && i < rows; i++)
        if (!cfx_kernel_index_select(call->ctx, cfx_dtype_size(type),
                                     (char *)y->data + (size_t)i * row,
                                     (char *)x->data + (size_t)i * row,
                                     CFX_I64, (int64_t *)places->data + i * n,
                                     1, n, 1, n, &bad))
            st = cfx_call_fail(call, CFX_EINVAL, "sorter index out of range");
    cfx_tensor_unref(places);
    cfx_tensor_unref(x);
    *out = y;
    return st;
}

static cfx_status prepare_values(cfx_call *call, cfx_dtype type,
                                 cfx_tensor **out)
{
    cfx_value v = values_arg(call);
    if (v.kind == CFX_TENSOR) {
        *out = cfx_loop_contiguous_as(call, v.u.tensor, type);
        return *out ? CFX_OK : CFX_ENOMEM;
    }
    cfx_status st = cfx_tensor_new(out, call->ctx, type, 0, NULL, call->err);
    if (!st && v.kind == CFX_FLOAT)
        cfx_element_set_double(type, (*out)->data, v.u.f);
    else if (!st)
        cfx_element_set_int(type, (*out)->data, v.u.i);
    return st;
}

static void search(cfx_call *call, const cfx_tensor *sorted,
                   const cfx_tensor *v, bool right)
{
    const cfx_tensor *y = call->out[0];
    int64_t n = cfx_tensor_size(sorted, sorted->rank - 1);
    int64_t total = cfx_tensor_numel(v), step = 1;
    bool shared = sorted->rank == 1;
    int64_t count = shared ? total : cfx_tensor_size(v, v->rank - 1);
    int64_t *places = call->work ? call->work : y->data;
    cfx_iter it;
    if (!total)
        return;
    cfx_kernel_searchsorted(call->ctx, (cfx_dtype)v->dtype, places,
                            sorted->data, v->data, total / count, n, count,
                            shared, right);
    if (places == y->data)
        return;
    cfx_iter_begin(&it, 1, &total);
    cfx_iter_out(&it, y->data, CFX_I32, &step);
    cfx_iter_in(&it, places, CFX_I64, 1, &total, &step);
    cfx_copy(call->ctx, &it);
}

static cfx_status search_run(cfx_call *call)
{
    cfx_dtype type = (cfx_dtype)sorted_arg(call).u.tensor->dtype;
    cfx_tensor *sorted = NULL, *v = NULL;
    bool right;
    /* A number of a greater category decides the type. */
    type = cfx_dtype_promote(type, cfx_value_dtype(values_arg(call)));
    cfx_status st = wants_right(call, &right);
    if (!st)
        st = prepare_sorted(call, type, &sorted);
    if (!st)
        st = prepare_values(call, type, &v);
    if (!st)
        search(call, sorted, v, right);
    cfx_tensor_unref(v);
    cfx_tensor_unref(sorted);
    return st;
}

const cfx_op cfx_op__searchsorted = {
    .schema =
        "searchsorted.Tensor(Tensor sorted_sequence, Tensor|Scalar self, *, bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None) -> Tensor",
    .params = params,
    .aliases = "torch. aten.(Tensor,Tensor) .Scalar(Tensor,Scalar)",
    .doc = "The places where numbers would go among sorted ones.",
    .infer = search_infer,
    .workspace = search_workspace,
    .run = search_run,
};

const cfx_op cfx_op__bucketize = {
    .schema =
        "bucketize.Tensor(Tensor|Scalar self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor",
    .params = params,
    .aliases = "torch. aten.(Tensor,Tensor) .Scalar(Scalar,Tensor)",
    .doc = "The intervals between boundaries that numbers fall in.",
    .code = 1,
    .infer = search_infer,
    .workspace = search_workspace,
    .run = search_run,
};
