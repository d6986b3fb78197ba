/*
 * lowrank -- singular values of matrices that have few large ones, by a random
 * projection (Halko et al. 2011): svd_lowrank, pca_lowrank.
 *
 * shape   of (..., n, m): U (..., n, k), S (..., k), V (..., m, k); k is q, or
 *         the shorter side.
 * cost    that of the operators they consist of.
 */
#include "op/composite.h"
#include "op/infer.h"

CFX_PARAMS(params, A, Q, NITER, M, CENTER);

#define IN(k) cfx_call_value(call, k)

/* A matrix, and what is subtracted from it, or None. */
struct difference {
    cfx_value a, m;
};

static cfx_value adjoint(cfx_scope *s, cfx_value x)
{
    bool conj = cfx_is_complex_tensor(x);
    if (cfx_value_is_none(x))
        return x;
    x = CFX_CALL(s, "torch.transpose", x, cfx_int(-2), cfx_int(-1));
    return conj ? CFX_CALL(s, "torch.conj", x) : x;
}

static struct difference both_adjoint(cfx_scope *s, struct difference d)
{
    return (struct difference){adjoint(s, d.a), adjoint(s, d.m)};
}

/* (a - m) x, without that difference. */
static cfx_value product(cfx_scope *s, struct difference d, cfx_value x)
{
    cfx_value y = CFX_CALL(s, "torch.matmul", d.a, x);
    if (cfx_value_is_none(d.m))
        return y;
    return CFX_CALL(s, "torch.sub", y, CFX_CALL(s, "torch.matmul", d.m, x));
}

/* Normally distributed numbers of a type. */
static cfx_value normal(cfx_scope *s, cfx_value rows, cfx_value columns,
                        cfx_dtype type)
{
    cfx_value size = cfx_tuple(s, rows, columns), part[2];
    cfx_value keys[] = {cfx_str(s, "dtype"),
                        cfx_value_of_dtype(cfx_dtype_real(type))};
    bool complex = cfx_dtype_is_complex(type);
    for (int i = 0; i <= complex; i++)
        part[i] = cfx_call_function(s, "torch.randn",
                                    (cfx_args){&size, 1, keys, 1});
    return complex ? CFX_CALL(s, "torch.complex", part[0], part[1]) : part[0];
}

static cfx_value orthonormal(cfx_scope *s, cfx_value x)
{
    return cfx_nth(s, CFX_CALL(s, "torch.linalg.qr", x), 0);
}

/* Orthonormal columns that nearly span the columns of a - m. */
static cfx_value basis(cfx_scope *s, struct difference d, cfx_value q,
                       int64_t rounds)
{
    cfx_dtype type = (cfx_dtype)d.a.u.tensor->dtype;
    cfx_value x = normal(s, cfx_size(s, d.a, -1), q, type);
    struct difference back = both_adjoint(s, d);
    x = orthonormal(s, product(s, d, x));
    for (int64_t i = 0; i < rounds && !cfx_scope_failed(s); i++) {
        size_t frame = cfx_scope_enter(s);
        x = orthonormal(s, product(s, back, x));
        x = orthonormal(s, product(s, d, x));
        x = cfx_scope_leave(s, frame, x);
    }
    return x;
}

static cfx_value svd_of(cfx_scope *s, struct difference d, cfx_value q,
                        int64_t rounds)
{
    /* Of symbols either way gives the same shapes. */
    cfx_dim rows = cfx_value_dim(cfx_size(s, d.a, -2));
    /* Symbols that are not known to be wide give the same shapes. */
    bool wide = cfx_dim_known_le(s->env,
                                 cfx_dim_add(s->env, rows, cfx_dim_int(1)),
                                 cfx_value_dim(cfx_size(s, d.a, -1)));
    struct difference tall = wide ? both_adjoint(s, d) : d;
    if (cfx_scope_failed(s))
        return cfx_none();
    cfx_value b = basis(s, tall, q, rounds);
    /* b^H (a - m) as ((a - m)^H b)^H */
    cfx_value x = adjoint(s, product(s, both_adjoint(s, tall), b));
    cfx_value all = CFX_CALL(s, "torch.linalg.svd", x, cfx_bool(false));
    cfx_value u = CFX_CALL(s, "torch.matmul", b, cfx_nth(s, all, 0));
    cfx_value v = adjoint(s, cfx_nth(s, all, 2));
    return wide ? cfx_tuple(s, v, cfx_nth(s, all, 1), u)
                : cfx_tuple(s, u, cfx_nth(s, all, 1), v);
}

static bool check_matrix(cfx_scope *s, const cfx_call *call)
{
    const cfx_tensor *a = cfx_call_tensor(call, A);
    cfx_dtype type = cfx_dtype_real((cfx_dtype)a->dtype);
    if (a->rank < 2)
        cfx_scope_fail(
            s, CFX_ESHAPE,
            "expects a matrix or a batch of matrices, got a tensor of rank %d",
            a->rank);
    else if (type != CFX_F32 && type != CFX_F64)
        cfx_scope_fail(s, CFX_EDTYPE, "not implemented for %s",
                       cfx_dtypes[a->dtype].name);
    return !cfx_scope_failed(s);
}

/* The number of rounds; None is 2. */
static int64_t rounds_of(cfx_scope *s, const cfx_call *call)
{
    int64_t n = cfx_call_has(call, NITER) ? cfx_call_int(call, NITER) : 2;
    if (n < 0)
        cfx_scope_fail(s, CFX_EINVAL,
                       "niter(=%lld) must be non-negative integer",
                       (long long)n);
    return n;
}

static cfx_value svd_lowrank_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value a = IN(A), m = IN(M), shape[CFX_MAX_RANK];
    cfx_value q = cfx_call_has(call, Q) ? IN(Q) : cfx_int(6);
    if (!check_matrix(s, call))
        return cfx_none();
    int rank = a.u.tensor->rank;
    for (int i = 0; i < rank; i++)
        shape[i] = cfx_size(s, a, i);
    if (!cfx_value_is_none(m))
        m = CFX_CALL(s, "torch.broadcast_to", m,
                     cfx_list_of(s, CFX_TUPLE, (size_t)rank, shape));
    return svd_of(s, (struct difference){a, m}, q, rounds_of(s, call));
}

static cfx_value pca_lowrank_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value a = IN(A);
    if (!check_matrix(s, call))
        return cfx_none();
    cfx_dim most = cfx_dim_min(s->env, cfx_value_dim(cfx_size(s, a, -1)),
                               cfx_value_dim(cfx_size(s, a, -2)));
    cfx_dim q = cfx_call_has(call, Q)
                    ? cfx_value_dim(IN(Q))
                    : cfx_dim_min(s->env, cfx_dim_int(6), most);
    if (!cfx_dim_le(s->env, cfx_dim_int(0), q) || !cfx_dim_le(s->env, q, most))
        return cfx_scope_fail(
            s, CFX_EINVAL,
            "q must be non-negative integer and not greater than min(m, n)");
    int64_t rounds = rounds_of(s, call);
    if (cfx_call_bool(call, CENTER)) {
        cfx_value keys[] = {cfx_str(s, "keepdim"), cfx_bool(true)};
        cfx_value args[] = {a, cfx_int(-2)};
        cfx_value mean = cfx_call_function(s, "torch.mean",
                                           (cfx_args){args, 2, keys, 1});
        a = CFX_CALL(s, "torch.sub", a, mean);
    }
    if (cfx_scope_failed(s))
        return cfx_none();
    return svd_of(s, (struct difference){a, cfx_none()}, cfx_value_of_dim(q),
                  rounds);
}

CFX_COMPOSITE(svd_lowrank)
CFX_COMPOSITE(pca_lowrank)

const cfx_op cfx_op__svd_lowrank = {
    .schema =
        "svd_lowrank(Tensor A, SymInt? q=6, int? niter=2, Tensor? M=None) -> (Tensor, Tensor, Tensor)",
    .params = params,
    .aliases = "torch. torch._lowrank.svd_lowrank",
    .doc = "The greatest singular values of matrices, and their vectors.",
    .flags = CFX_OP_COMPLEX | CFX_OP_RANDOM,
    .infer = svd_lowrank_infer,
    .cost = svd_lowrank_cost,
    .run = svd_lowrank_run,
};

const cfx_op cfx_op__pca_lowrank = {
    .schema =
        "pca_lowrank(Tensor A, SymInt? q=None, bool center=True, int niter=2) -> (Tensor, Tensor, Tensor)",
    .params = params,
    .aliases = "torch. torch._lowrank.pca_lowrank",
    .doc = "svd_lowrank of matrices whose columns are centered.",
    .flags = CFX_OP_COMPLEX | CFX_OP_RANDOM,
    .infer = pca_lowrank_infer,
    .cost = pca_lowrank_cost,
    .run = pca_lowrank_run,
};
