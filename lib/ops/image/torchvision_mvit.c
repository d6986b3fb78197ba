/*
 * torchvision_mvit -- functions of torchvision's mvit_v1 that symbolic_trace
 * does not look into.
 *
 * shape   that of the tensor with one axis of extent 1 more, or less, or
 *         itself; the results are views.
 */
#include "op/infer.h"
#include "ops/shape/view.h"

#define MVIT "torchvision.models.video.mvit."

enum { SELF, TARGET_DIM, EXPAND_DIM, TENSOR_DIM };

static cfx_status unsqueezed(cfx_call *call, cfx_value *out)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_view v;
    int axis;
    cfx_view_begin(&v, x);
    cfx_status st = cfx_call_axis(call, cfx_call_int(call, EXPAND_DIM),
                                  x->rank + 1, &axis);
    if (!st)
        st = cfx_view_unsqueeze(call, &v, axis);
    return st ? st : cfx_view_new(call, out, SELF, &v);
}

static cfx_status mvit_unsqueeze_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    int64_t target = cfx_call_int(call, TARGET_DIM);
    cfx_value item[2] = {cfx_value_ref(call->in[SELF]), cfx_int(x->rank)};
    cfx_status st = CFX_OK;
    if (target == x->rank + 1) {
        cfx_value_unref(item[0]);
        item[0] = cfx_none();
        st = unsqueezed(call, &item[0]);
    } else if (x->rank != target) {
        st = cfx_call_fail(
            call, CFX_ESHAPE,
            "expected a tensor of rank %lld or one less, got %d",
            (long long)target, x->rank);
    }
    if (!st)
        st = cfx_call_return_take(call, cfx_tuple_new(call->ctx, 2, item));
    cfx_value_unref(item[0]);
    return st;
}

const cfx_op cfx_op__mvit_unsqueeze = {
    .schema =
        "mvit_unsqueeze(Tensor(a) x, int target_dim, int expand_dim) -> any(a)",
    .aliases = MVIT "_unsqueeze",
    .doc = "A tensor with the rank wanted, and the rank that it had.",
    .infer = mvit_unsqueeze_infer,
};

static cfx_status mvit_squeeze_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    int64_t had = cfx_call_int(call, TENSOR_DIM);
    cfx_view v;
    int axis;
    if (had == INT64_MAX || had + 1 != cfx_call_int(call, TARGET_DIM) ||
        !x->rank)
        return cfx_call_out_same(call, SELF);
    cfx_status st = cfx_call_axis(call, cfx_call_int(call, EXPAND_DIM),
                                  x->rank, &axis);
    if (st)
        return st;
    /* Like squeeze, which takes a symbol not to be 1. */
    if (cfx_dim_ne(call->env, x->shape[axis], cfx_dim_int(1)))
        return cfx_call_out_same(call, SELF);
    cfx_view_begin(&v, x);
    cfx_view_remove(&v, axis);
    return cfx_view_out(call, SELF, &v);
}

const cfx_op cfx_op__mvit_squeeze = {
    .schema =
        "mvit_squeeze(Tensor(a) x, int target_dim, int expand_dim, int tensor_dim) -> Tensor(a)",
    .aliases = MVIT "_squeeze",
    .doc = "A tensor without the axis that mvit_unsqueeze put in.",
    .infer = mvit_squeeze_infer,
};
