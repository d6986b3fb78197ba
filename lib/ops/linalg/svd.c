/*
 * svd -- singular values and vectors.
 *
 * shape   of (..., n, m): U (..., n, k), S (..., k), Vh (..., k, m), k the
 *         shorter side; all singular vectors with full_matrices. U and Vh are
 *         column-major.
 * cost    that of making a matrix bidiagonal, 2 l k^2 - 2/3 k^3 multiply-adds
 *         with the longer side l (LAPACK Working Note 41, the highest powers),
 *         and 2 n k - k^2 for each of U's columns, 2 m k - k^2 for each of Vh's
 *         rows. The work between them depends on the numbers.
 */
#include <math.h>
#include <string.h>

#include "op/composite.h"
#include "ops/linalg/matrices.h"

CFX_PARAMS(params, SELF, A, FULL_MATRICES, COMPUTE_UV, DRIVER, SOME);

enum { VALUES = 1 };

struct svd {
    char job; /* LAPACK's: 'N' values, 'S' vectors, 'A' all vectors */
};

static cfx_status svd_infer(cfx_call *call)
{
    struct svd *p = call->state;
    const cfx_tensor *x = cfx_call_tensor(call, A);
    cfx_dtype type = (cfx_dtype)x->dtype;
    cfx_status st = cfx_matrices_check(call, A);
    if (!st && cfx_call_has(call, DRIVER))
        st = cfx_call_fail(
            call, CFX_EINVAL,
            "keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend.");
    if (st)
        return st;
    bool full = cfx_call_has(call, FULL_MATRICES) &&
                cfx_call_bool(call, FULL_MATRICES);
    bool vectors = call->op->code != VALUES &&
                   (!cfx_call_has(call, COMPUTE_UV) ||
                    cfx_call_bool(call, COMPUTE_UV));
    p->job = !vectors ? 'N' : full ? 'A' : 'S';
    cfx_batch b = cfx_batch_of(x, 2);
    cfx_dim n = cfx_rows(x), m = cfx_columns(x);
    cfx_dim k = cfx_dim_min(call->env, n, m);
    if (call->op->code == VALUES)
        return cfx_vectors_out(call, cfx_dtype_real(type), &b, k);
    st = vectors ? cfx_matrices_out(call, type, &b, n, full ? n : k)
                 : cfx_nothing_out(call, type);
    if (!st)
        st = cfx_vectors_out(call, cfx_dtype_real(type), &b, k);
    if (st)
        return st;
    return vectors ? cfx_matrices_out(call, type, &b, full ? m : k, m)
                   : cfx_nothing_out(call, type);
}

/* Multiply-adds for `count` singular vectors of n elements. */
static cfx_dim vectors_macs(const cfx_call *call, cfx_dim n, cfx_dim count,
                            cfx_dim k)
{
    const cfx_tensor *x = cfx_call_tensor(call, A);
    return cfx_matrices_macs(call, x, 1, 1, cfx_cost_linear(call, 2, n, -1, k),
                             k, count);
}

static void svd_cost(const cfx_call *call, cfx_cost *cost)
{
    const struct svd *p = call->state;
    const cfx_tensor *x = cfx_call_tensor(call, A);
    cfx_shape_env *env = call->env;
    cfx_dim n = cfx_rows(x), m = cfx_columns(x), k = cfx_dim_min(env, n, m);
    cfx_dim l = cfx_dim_max(env, n, m);
    cost->macs = cfx_matrices_macs(call, x, 1, 3,
                                   cfx_cost_linear(call, 6, l, -2, k), k, k);
    if (p->job == 'N')
        return;
    cfx_dim u = vectors_macs(call, n, p->job == 'A' ? n : k, k);
    cfx_dim v = vectors_macs(call, m, p->job == 'A' ? m : k, k);
    cost->macs = cfx_dim_add(env, cost->macs, cfx_dim_add(env, u, v));
}

/* The parts of a slice: a copy of the matrix, integers, LAPACK's numbers. */
struct sizes {
    size_t a, integers, own;
};

static struct sizes sizes_of(const cfx_call *call)
{
    const struct svd *p = call->state;
    const cfx_tensor *x = cfx_call_tensor(call, A);
    int rows = (int)cfx_tensor_size(x, x->rank - 2);
    int columns = (int)cfx_tensor_size(x, x->rank - 1);
    cfx_dtype t = (cfx_dtype)x->dtype;
    double asked[2] = {0};
    cfx_lapack_gesdd(t, p->job, rows, columns, NULL, NULL, NULL, NULL, asked,
                     -1, NULL);
    return (struct sizes){
        cfx_work_size((size_t)rows * (size_t)columns, cfx_dtype_size(t)),
        cfx_work_size(8 * (size_t)(rows < columns ? rows : columns),
                      sizeof(int)),
        cfx_work_size(cfx_lapack_asked(t, asked), cfx_work_item(t))};
}

static size_t sum(struct sizes s)
{
    return s.a + s.integers + s.own;
}

static size_t svd_workspace(const cfx_call *call)
{
    return cfx_matrices_workspace(call, cfx_call_tensor(call, A), 2,
                                  sum(sizes_of(call)));
}

/* All singular vectors of nothing are the axes. */
static void give_axes(const cfx_matrices *m, int k, int64_t i)
{
    const cfx_tensor *y = m->call->out[k];
    cfx_matrix_identity(m->type, cfx_tensor_size(y, y->rank - 1),
                        cfx_matrices_at(m, y, 2, i));
}

/* A matrix with infinite numbers has NaN for singular values and no vectors, as in
 * PyTorch. */
static int not_finite(const cfx_matrices *m, int64_t i, const void *a)
{
    const struct svd *p = m->call->state;
    const cfx_tensor *values =
        m->call->out[m->call->op->code == VALUES ? 0 : 1];
    int64_t n = cfx_tensor_size(m->like, m->like->rank - 2) *
                cfx_tensor_size(m->like, m->like->rank - 1);
    char *to = cfx_matrices_at(m, values, 1, i);
    if (p->job != 'N' || cfx_numbers_have_nan(m->type, n, a))
        return -4;
    for (int64_t k = 0; k < cfx_tensor_size(values, values->rank - 1); k++)
        cfx_element_set_double(
            (cfx_dtype)values->dtype,
            to + (size_t)k * cfx_dtype_size((cfx_dtype)values->dtype), NAN);
    return 0;
}

static int svd_each(const cfx_matrices *m, int64_t i, void *work)
{
    const struct svd *p = m->call->state;
    cfx_tensor *const *out = m->call->out;
    struct sizes s = sizes_of(m->call);
    int rows = (int)cfx_tensor_size(m->like, m->like->rank - 2);
    int columns = (int)cfx_tensor_size(m->like, m->like->rank - 1);
    int *integers = (int *)(void *)((char *)work + s.a);
    bool vectors = p->job != 'N';
    if (!rows || !columns) {
        if (p->job == 'A') {
            give_axes(m, 0, i);
            give_axes(m, 2, i);
        }
        return 0;
    }
    cfx_matrices_read(m, m->like, i, work);
    if (!cfx_numbers_are_finite(m->type, (int64_t)rows * columns, work))
        return not_finite(m, i, work);
    return cfx_lapack_gesdd(
        m->type, p->job, rows, columns, work,
        cfx_matrices_at(m, out[m->call->op->code == VALUES ? 0 : 1], 1, i),
        vectors ? cfx_matrices_at(m, out[0], 2, i) : NULL,
        vectors ? cfx_matrices_at(m, out[2], 2, i) : NULL,
        (char *)integers + s.integers, (int)(s.own / cfx_work_item(m->type)),
        integers);
}

static cfx_status svd_run(cfx_call *call)
{
    cfx_matrices m;
    cfx_status st = cfx_matrices_run(&m, call, cfx_call_tensor(call, A),
                                     sum(sizes_of(call)), svd_each);
    return st ? st
              : cfx_matrices_fail(call, m.info, m.n, m.like->rank == 2, NULL,
                                  CFX_FAILS_SVD);
}

#define SVD                                                                   \
    .flags = CFX_OP_COMPLEX, .params = params,                                \
    .state_size = sizeof(struct svd), .infer = svd_infer, .cost = svd_cost,   \
    .workspace = svd_workspace, .run = svd_run

const cfx_op cfx_op___linalg_svd = {
    .schema =
        "_linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)",
    .aliases = "torch. aten.",
    .doc = "Singular values of matrices, and if asked for their vectors.",
    SVD,
};

const cfx_op cfx_op__linalg_svd = {
    .schema =
        "linalg_svd(Tensor A, bool full_matrices=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)",
    .aliases = "torch.linalg. aten.",
    .doc = "Singular values of matrices, in falling order, and their vectors.",
    SVD,
};

const cfx_op cfx_op__linalg_svdvals = {
    .schema = "linalg_svdvals(Tensor A, *, str? driver=None) -> Tensor",
    .aliases = "torch.linalg. aten.",
    .doc = "The singular values of matrices, in falling order.",
    .code = VALUES,
    SVD,
};

/* ---- torch.svd ---- */

static cfx_value zeros(cfx_scope *s, cfx_value x, int axis)
{
    const cfx_tensor *t = x.u.tensor;
    cfx_value shape[CFX_MAX_RANK];
    for (int i = 0; i < t->rank; i++)
        shape[i] = cfx_value_of_dim(t->shape[i < t->rank - 2 ? i : axis]);
    return CFX_CALL(s, "Tensor.new_zeros", x,
                    cfx_list_of(s, CFX_TUPLE, (size_t)t->rank, shape));
}

/* V in place of Vh. Without vectors U and V are 0. */
static cfx_value old_svd_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value x = cfx_call_value(call, SELF), u, v, values;
    if (cfx_call_bool(call, COMPUTE_UV)) {
        cfx_value all = CFX_CALL(s, "torch._linalg_svd", x,
                                 cfx_bool(!cfx_call_bool(call, SOME)));
        u = cfx_nth(s, all, 0);
        values = cfx_nth(s, all, 1);
        v = cfx_nth(s, all, 2);
    } else {
        int rank = x.u.tensor->rank;
        values = CFX_CALL(s, "torch.linalg.svdvals", x);
        if (cfx_scope_failed(s))
            return cfx_none();
        u = zeros(s, x, rank - 2);
        v = zeros(s, x, rank - 1);
    }
    v = CFX_CALL(s, "torch.transpose", v, cfx_int(-2), cfx_int(-1));
    if (cfx_dtype_is_complex((cfx_dtype)x.u.tensor->dtype))
        v = CFX_CALL(s, "torch.conj", v);
    return cfx_tuple(s, u, values, v);
}

CFX_COMPOSITE(old_svd)

const cfx_op cfx_op__svd = {
    .schema =
        "svd(Tensor self, bool some=True, bool compute_uv=True) -> (Tensor U, Tensor S, Tensor V)",
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc = "Singular values of matrices, in falling order, and their vectors.",
    .flags = CFX_OP_COMPLEX,
    .infer = old_svd_infer,
    .cost = old_svd_cost,
    .run = old_svd_run,
};
