/*
 * distance -- p-norms of the differences of rows: cdist of those of two
 * matrices, pdist of those of one.
 *
 * shape   cdist: (..., P, M) and (..., R, M) to (..., P, R); pdist: (N, M) to
 *         N (N - 1) / 2, the pairs above the diagonal.
 * cost    for each pair and column a difference, a square or an absolute value,
 *         and a sum of n - 1; a root for each pair; other orders a power too.
 *
 * `compute_mode` chooses between two ways to the same numbers, a product of
 * matrices or the differences themselves; here it is always the latter, and
 * the argument is only checked.
 */
#include <math.h>
#include <string.h>

#include "kernel/distance_kernel.h"
#include "op/op_cost.h"
#include "op/infer.h"
#include "op/loop.h"

CFX_PARAMS(params, SELF, X1, X2, P, COMPUTE_MODE);

static cfx_status check_p(cfx_call *call, double p)
{
    return p >= 0 || cfx_infer_is_unknown(call, p)
               ? CFX_OK
               : cfx_call_fail(call, CFX_EINVAL,
                               "only supports non-negative p values");
}

static cfx_status check_type(cfx_call *call, const cfx_tensor *x,
                             const cfx_tensor *y)
{
    if (x->dtype != y->dtype || (x->dtype != CFX_F32 && x->dtype != CFX_F64))
        return cfx_call_fail(
            call, CFX_EDTYPE,
            "expected two tensors of float32 or float64, but got %s and %s",
            cfx_dtypes[x->dtype].name, cfx_dtypes[y->dtype].name);
    return CFX_OK;
}

static cfx_status check_mode(cfx_call *call)
{
    cfx_value v = cfx_call_value(call, COMPUTE_MODE);
    static const char *const name[] = {"use_mm_for_euclid_dist_if_necessary",
                                       "use_mm_for_euclid_dist",
                                       "donot_use_mm_for_euclid_dist"};
    if (v.kind == CFX_NONE || (v.kind == CFX_INT && v.u.i >= 0 && v.u.i < 3))
        return CFX_OK;
    for (int i = 0; v.kind == CFX_STR && i < 3; i++)
        if (!strcmp(v.u.str->text, name[i]))
            return CFX_OK;
    return cfx_call_fail(call, CFX_EINVAL,
                         "compute_mode is not a valid value");
}

static cfx_status cdist_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, X1);
    const cfx_tensor *y = cfx_call_tensor(call, X2);
    cfx_dim shape[CFX_MAX_RANK];
    if (x->rank < 2 || y->rank < 2)
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "only supports at least 2D tensors, but got %dD and %dD", x->rank,
            y->rank);
    if (!cfx_dim_eq(call->env, x->shape[x->rank - 1], y->shape[y->rank - 1]))
        return cfx_call_fail(call, CFX_ESHAPE,
                             "X1 and X2 must have the same number of columns");
    cfx_status st = check_type(call, x, y);
    if (!st)
        st = check_p(call, cfx_call_double(call, P));
    if (!st)
        st = check_mode(call);
    int rank = x->rank - 2;
    for (int i = 0; i < rank; i++)
        shape[i] = x->shape[i];
    if (!st)
        st = cfx_infer_broadcast(call, &rank, shape, y->rank - 2, y->shape);
    if (st)
        return st;
    shape[rank] = x->shape[x->rank - 2];
    shape[rank + 1] = y->shape[y->rank - 2];
    return cfx_call_out(call, (cfx_dtype)x->dtype, rank + 2, shape);
}

static void distance_cost(const cfx_call *call, cfx_cost *cost)
{
    const cfx_tensor *x = call->in[0].u.tensor; /* x1, or pdist's self */
    double p = cfx_call_double(call, P);
    bool power = p != 0 && p != 1 && p != 2 && !isinf(p);
    bool root = power || p == 2;
    cfx_dim n = cfx_cost_numel(call, call->out[0]);
    cfx_dim all = cfx_dim_mul(call->env, n, x->shape[x->rank - 1]);
    /* A difference; its square or absolute value; a power; their sum, but for
     * counts and maxima; and the root of that. */
    bool sums = !isinf(p);
    cost->ops = cfx_cost_linear(call, 1 + (p != 0) + power + sums, all,
                                root - sums, n);
    cost->transcendental = cfx_cost_linear(call, power, all, root, n);
}

/* A row-major factor, spread over the batch of the result. */
static cfx_tensor *spread(cfx_call *call, int k)
{
    const cfx_tensor *t = cfx_call_tensor(call, k), *y = call->out[0];
    cfx_dim shape[CFX_MAX_RANK], stride[CFX_MAX_RANK];
    cfx_tensor *view;
    int more = y->rank - t->rank;
    for (int i = 0; i < y->rank; i++) {
        bool own = i >= more &&
                   !(i < y->rank - 2 && cfx_tensor_size(t, i - more) == 1);
        shape[i] = i < y->rank - 2 || i < more ? y->shape[i]
                                               : t->shape[i - more];
        stride[i] = own ? t->stride[i - more] : cfx_dim_int(0);
    }
    if (cfx_tensor_view(&view, t, y->rank, shape, stride, t->offset,
                        call->err))
        return NULL;
    cfx_tensor *out = cfx_loop_contiguous(call, view);
    cfx_tensor_unref(view);
    return out;
}

static cfx_status cdist_run(cfx_call *call)
{
    const cfx_tensor *y = call->out[0];
    cfx_tensor *a = spread(call, X1), *b = a ? spread(call, X2) : NULL;
    if (b) {
        int64_t batch = 1;
        for (int i = 0; i < y->rank - 2; i++)
            batch *= cfx_tensor_size(y, i);
        cfx_distance_run(call->ctx,
                         &(cfx_distance){.dtype = (cfx_dtype)y->dtype,
                                         .x1 = a->data,
                                         .x2 = b->data,
                                         .y = y->data,
                                         .batch = batch,
                                         .n1 = cfx_tensor_size(y, y->rank - 2),
                                         .n2 = cfx_tensor_size(y, y->rank - 1),
                                         .m = cfx_tensor_size(a, a->rank - 1),
                                         .p = cfx_call_double(call, P)});
    }
    cfx_status st = b ? CFX_OK : CFX_ENOMEM;
    cfx_tensor_unref(a);
    cfx_tensor_unref(b);
    return st;
}

const cfx_op cfx_op__cdist = {
    .schema =
        "cdist(Tensor x1, Tensor x2, float p=2.0, any compute_mode=None) -> Tensor",
    .params = params,
    .aliases =
        "torch. aten. aten._cdist_forward.default aten._euclidean_dist.default",
    .doc = "How far rows of two matrices are from each other.",
    .infer = cdist_infer,
    .cost = distance_cost,
    .run = cdist_run,
};

/* ---- pdist ---- */

static cfx_status pdist_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_shape_env *env = call->env;
    if (x->rank != 2)
        return cfx_call_fail(call, CFX_ESHAPE,
                             "pdist only supports 2D tensors, got: %dD",
                             x->rank);
    cfx_status st = check_type(call, x, x);
    if (!st)
        st = check_p(call, cfx_call_double(call, P));
    cfx_dim n = x->shape[0], one = cfx_dim_int(1);
    cfx_dim pairs = cfx_dim_floordiv(
        env, cfx_dim_mul(env, n, cfx_dim_sub(env, n, one)), cfx_dim_int(2));
    return st ? st : cfx_call_out(call, (cfx_dtype)x->dtype, 1, &pairs);
}

static cfx_status pdist_run(cfx_call *call)
{
    const cfx_tensor *y = call->out[0];
    cfx_tensor *x = cfx_loop_contiguous(call, cfx_call_tensor(call, SELF));
    if (!x)
        return CFX_ENOMEM;
    int64_t n = cfx_tensor_size(x, 0);
    cfx_distance_run(call->ctx, &(cfx_distance){.dtype = (cfx_dtype)y->dtype,
                                                .x1 = x->data,
                                                .x2 = x->data,
                                                .y = y->data,
                                                .batch = 1,
                                                .n1 = n,
                                                .n2 = n,
                                                .m = cfx_tensor_size(x, 1),
                                                .p = cfx_call_double(call, P),
                                                .above = true});
    cfx_tensor_unref(x);
    return CFX_OK;
}

const cfx_op cfx_op__pdist = {
    .schema = "pdist(Tensor self, float p=2.0) -> Tensor",
    .params = params,
    .aliases = "torch. torch.nn.functional. aten. aten._pdist_forward.default",
    .doc = "How far the rows of a matrix are from each other.",
    .infer = pdist_infer,
    .cost = distance_cost,
    .run = pdist_run,
};
