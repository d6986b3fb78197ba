/*
 * diff -- differences of neighbours.
 *
 * shape   that of the tensor, joined with what is put before and after it, n
 *         less along the axis.
 * cost    a difference for each element of each of the n results.
 */
#include "op/composite.h"
#include "op/infer.h"

CFX_PARAMS(params, SELF, N, DIM, PREPEND, APPEND);

/* A symbolic extent does not say when nothing is left: it becomes
 * max(N - 1, 0), max(max(N - 1, 0) - 1, 0) and so on, which soon take long to
 * simplify. */
enum { MOST_TIMES = 4 };

static cfx_value joined(cfx_scope *s, const cfx_call *call)
{
    cfx_value part[3];
    size_t n = 0;
    if (cfx_call_has(call, PREPEND))
        part[n++] = cfx_call_value(call, PREPEND);
    part[n++] = cfx_call_value(call, SELF);
    if (cfx_call_has(call, APPEND))
        part[n++] = cfx_call_value(call, APPEND);
    if (n == 1)
        return cfx_call_value(call, SELF);
    return CFX_CALL(s, "torch.cat", cfx_list_of(s, CFX_LIST, n, part),
                    cfx_call_value(call, DIM));
}

/* x[1:] - x[:-1], which is empty where x is. */
static cfx_value once(cfx_scope *s, cfx_value x, cfx_value axis)
{
    const char *slice = "torch.ops.aten.slice.Tensor";
    bool is_bool = x.u.tensor->dtype == CFX_BOOL;
    cfx_value next = CFX_CALL(s, slice, x, axis, cfx_int(1));
    cfx_value last = CFX_CALL(s, slice, x, axis, cfx_int(0), cfx_int(-1));
    return CFX_CALL(s, is_bool ? "torch.logical_xor" : "torch.sub", next,
                    last);
}

/* 1 for an axis that does not exist, which the operators then refuse. */
static cfx_dim extent_at(cfx_value x, int64_t axis)
{
    const cfx_tensor *t = x.u.tensor;
    axis += axis < 0 ? t->rank : 0;
    return axis >= 0 && axis < t->rank ? t->shape[axis] : cfx_dim_int(1);
}

static cfx_value diff_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value x = cfx_call_value(call, SELF);
    if (x.u.tensor->rank < 1)
        return cfx_scope_fail(
            s, CFX_ESHAPE,
            "diff expects input to be at least one-dimensional");
    if (cfx_call_value(call, N).u.i < 0)
        return cfx_scope_fail(s, CFX_EINVAL,
                              "order must be non-negative but got %lld",
                              (long long)cfx_call_int(call, N));
    int64_t n = cfx_call_value(call, N).u.i;
    if (n)
        x = joined(s, call);
    for (int64_t i = 0; i < n && !cfx_scope_failed(s); i++) {
        cfx_dim extent = extent_at(x, cfx_call_value(call, DIM).u.i);
        if (cfx_dim_is(extent, 0))
            break;
        if (n > MOST_TIMES && !cfx_dim_is_int(extent))
            return cfx_scope_fail(
                s, CFX_EUNSUPPORTED,
                "diff of order %lld along an axis of unknown extent; at most %d",
                (long long)n, MOST_TIMES);
        x = once(s, x, cfx_call_value(call, DIM));
    }
    return x;
}

CFX_COMPOSITE(diff)

const cfx_op cfx_op__diff = {
    .schema =
        "diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor",
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc = "The n-th differences of neighbours along an axis.",
    .flags = CFX_OP_COMPLEX,
    .infer = diff_infer,
    .cost = diff_cost,
    .run = diff_run,
};
