/*
 * tensor_solve -- systems and inverses of tensors that stand for matrices.
 *
 * shape   tensorinv: the axes from `ind` on, then those before; tensorsolve: the
 *         axes of A that B does not have.
 * cost    that of the operators they consist of.
 */
#include "op/composite.h"
#include "op/infer.h"

CFX_PARAMS(params, SELF, IND, OTHER, DIMS);

/* The extents of axes `from`..`to` of x; returns their product. */
static cfx_dim extents(cfx_scope *s, const cfx_tensor *x, int from, int to,
                       cfx_value *out)
{
    cfx_dim n = cfx_dim_int(1);
    for (int i = from; i < to; i++) {
        n = cfx_dim_mul(s->env, n, x->shape[i]);
        *out++ = cfx_value_of_dim(x->shape[i]);
    }
    return n;
}

static cfx_value reshape(cfx_scope *s, cfx_value x, int rank,
                         const cfx_value *shape)
{
    return CFX_CALL(s, "torch.reshape", x,
                    cfx_list_of(s, CFX_TUPLE, (size_t)rank, shape));
}

/* The inverse is column-major: its transpose takes the shape of self, whose
 * axes then change places. */
static cfx_value linalg_tensorinv_build(cfx_scope *s, const cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    int64_t ind = cfx_call_int(call, IND);
    cfx_value shape[CFX_MAX_RANK], order[CFX_MAX_RANK];
    if (ind <= 0)
        return cfx_scope_fail(
            s, CFX_EINVAL,
            "Expected a strictly positive integer for 'ind', but got %lld",
            (long long)ind);
    int at = ind < x->rank ? (int)ind : x->rank;
    cfx_dim n = extents(s, x, 0, at, shape);
    cfx_dim m = extents(s, x, at, x->rank, shape + at);
    if (!cfx_dim_eq(s->env, n, m))
        return cfx_scope_fail(
            s, CFX_ESHAPE,
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind])");
    for (int i = 0; i < x->rank; i++)
        order[i] = cfx_int(i < x->rank - at ? at + i : i - (x->rank - at));
    cfx_value square[] = {cfx_value_of_dim(n), cfx_value_of_dim(m)};
    cfx_value y = reshape(s, cfx_call_value(call, SELF), 2, square);
    y = CFX_CALL(s, "torch.linalg.inv", y);
    y = CFX_CALL(s, "torch.transpose", y, cfx_int(0), cfx_int(1));
    y = reshape(s, y, x->rank, shape);
    return CFX_CALL(s, "torch.permute", y,
                    cfx_list_of(s, CFX_TUPLE, (size_t)x->rank, order));
}

static cfx_value linalg_tensorsolve_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value a = cfx_call_value(call, SELF), b = cfx_call_value(call, OTHER);
    cfx_value shape[CFX_MAX_RANK], ends[CFX_MAX_RANK];
    int rank = a.u.tensor->rank, n = cfx_call_len(call, DIMS);
    int from = b.u.tensor->rank;
    if (n > rank || from > rank)
        return cfx_scope_fail(
            s, CFX_ESHAPE,
            "A of rank %d must have the axes of B and of `dims`", rank);
    for (int i = 0; i < n; i++)
        ends[i] = cfx_int(rank - n + i);
    if (n)
        a = CFX_CALL(s, "torch.movedim", a, cfx_call_value(call, DIMS),
                     cfx_list_of(s, CFX_TUPLE, (size_t)n, ends));
    const cfx_tensor *x = cfx_meta_of(s, a);
    if (!x)
        return cfx_none();
    cfx_dim m = extents(s, x, from, rank, shape);
    cfx_dim all = cfx_infer_numel(s->env, from, b.u.tensor->shape);
    if (!cfx_dim_eq(s->env, m, all))
        return cfx_scope_fail(
            s, CFX_ESHAPE,
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim])");
    cfx_value square[] = {cfx_value_of_dim(m), cfx_value_of_dim(m)};
    a = reshape(s, a, 2, square);
    b = reshape(s, b, 1, square);
    return reshape(s, CFX_CALL(s, "torch.linalg.solve", a, b), rank - from,
                   shape);
}

CFX_COMPOSITE(linalg_tensorinv)
CFX_COMPOSITE(linalg_tensorsolve)

const cfx_op cfx_op__linalg_tensorinv = {
    .schema = "linalg_tensorinv(Tensor self, int ind=2) -> Tensor",
    .params = params,
    .aliases = "torch.linalg. aten.",
    .doc = "The inverse of a tensor that stands for a matrix.",
    .flags = CFX_OP_COMPLEX,
    .infer = linalg_tensorinv_infer,
    .cost = linalg_tensorinv_cost,
    .run = linalg_tensorinv_run,
};

const cfx_op cfx_op__linalg_tensorsolve = {
    .schema =
        "linalg_tensorsolve(Tensor self, Tensor other, int[]? dims=None) -> Tensor",
    .params = params,
    .aliases = "torch.linalg. aten.",
    .doc = "The solution of a system with a tensor that stands for a matrix.",
    .flags = CFX_OP_COMPLEX,
    .infer = linalg_tensorsolve_infer,
    .cost = linalg_tensorsolve_cost,
    .run = linalg_tensorsolve_run,
};
