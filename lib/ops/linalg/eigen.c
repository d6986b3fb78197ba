/*
 * eigen -- the eigenvalues and eigenvectors of symmetric matrices.
 *
 * shape   (..., n) of (..., n, n), and the eigenvectors in columns, in
 *         column-major order.
 * cost    that of making a matrix tridiagonal, 2/3 n^3 multiply-adds (LAPACK
 *         Working Note 41, the highest power), and n^3 to take the eigenvectors
 *         back. The work between them depends on the numbers.
 */
#include <string.h>

#include "ops/linalg/matrices.h"

CFX_PARAMS(params, SELF, A, UPLO, COMPUTE_V);

enum { VALUES = 1 };

struct eigen {
    bool upper, vectors;
};

static int matrices(const cfx_call *call)
{
    return cfx_call_place(call, SELF) >= 0 ? SELF : A;
}

static cfx_status eigen_infer(cfx_call *call)
{
    struct eigen *e = call->state;
    const cfx_tensor *x = cfx_call_tensor(call, matrices(call));
    const char *uplo = cfx_call_str(call, UPLO);
    cfx_dtype type = (cfx_dtype)x->dtype;
    cfx_status st = cfx_matrices_check_square(call, matrices(call));
    if (!st && (strlen(uplo) != 1 || !strchr("LlUu", *uplo)))
        st = cfx_call_fail(
            call, CFX_EINVAL,
            "Expected UPLO argument to be 'L' or 'U', but got %s", uplo);
    if (st)
        return st;
    e->upper = *uplo == 'U' || *uplo == 'u';
    e->vectors = cfx_call_has(call, COMPUTE_V) ? cfx_call_bool(call, COMPUTE_V)
                                               : call->op->code != VALUES;
    cfx_batch b = cfx_batch_of(x, 2);
    st = cfx_vectors_out(call, cfx_dtype_real(type), &b, cfx_rows(x));
    if (st || call->op->code == VALUES)
        return st;
    return e->vectors
               ? cfx_matrices_out(call, type, &b, cfx_rows(x), cfx_columns(x))
               : cfx_nothing_out(call, type);
}

static void eigen_cost(const cfx_call *call, cfx_cost *cost)
{
    const struct eigen *e = call->state;
    const cfx_tensor *x = cfx_call_tensor(call, matrices(call));
    cfx_dim n = cfx_rows(x);
    cost->macs = cfx_matrices_macs(call, x, e->vectors ? 5 : 2, 3, n, n, n);
}

/* The parts of a slice: a copy of the matrix unless it is a result, LAPACK's
 * numbers and integers. */
struct sizes {
    size_t a, own, integers;
};

static struct sizes sizes_of(const cfx_call *call)
{
    const struct eigen *e = call->state;
    const cfx_tensor *x = cfx_call_tensor(call, matrices(call));
    cfx_dtype t = (cfx_dtype)x->dtype;
    int n = (int)cfx_tensor_size(x, x->rank - 1), integers = 0;
    double asked[2] = {0};
    cfx_lapack_syevd(t, e->vectors, e->upper, n, NULL, NULL, asked, -1,
                     &integers, -1);
    size_t whole = (size_t)n * (size_t)n;
    return (struct sizes){
        e->vectors ? 0 : cfx_work_size(whole, cfx_dtype_size(t)),
        cfx_work_size(cfx_lapack_asked(t, asked), cfx_work_item(t)),
        cfx_work_size((size_t)integers, sizeof(int))};
}

static size_t sum(struct sizes s)
{
    return s.a + s.own + s.integers;
}

static size_t eigen_workspace(const cfx_call *call)
{
    return cfx_matrices_workspace(call, cfx_call_tensor(call, matrices(call)),
                                  2, sum(sizes_of(call)));
}

static int eigen_each(const cfx_matrices *m, int64_t i, void *work)
{
    const struct eigen *e = m->call->state;
    cfx_tensor *const *out = m->call->out;
    struct sizes s = sizes_of(m->call);
    char *own = (char *)work + s.a;
    int *integers = (int *)(void *)(own + s.own);
    int n = (int)cfx_tensor_size(m->like, m->like->rank - 1);
    void *a = e->vectors ? cfx_matrices_at(m, out[1], 2, i) : work;
    if (!n)
        return 0;
    cfx_matrices_read(m, m->like, i, a);
    if (!cfx_numbers_are_finite(m->type, (int64_t)n * n, a))
        return 1;
    return cfx_lapack_syevd(m->type, e->vectors, e->upper, n, a,
                            cfx_matrices_at(m, out[0], 1, i), own,
                            (int)(s.own / cfx_work_item(m->type)), integers,
                            (int)(s.integers / sizeof(int)));
}

static cfx_status eigen_run(cfx_call *call)
{
    cfx_matrices m;
    cfx_status st = cfx_matrices_run(&m, call,
                                     cfx_call_tensor(call, matrices(call)),
                                     sum(sizes_of(call)), eigen_each);
    return st ? st
              : cfx_matrices_fail(call, m.info, m.n, m.like->rank == 2, NULL,
                                  CFX_FAILS_EIGEN);
}

#define EIGEN                                                                 \
    .flags = CFX_OP_COMPLEX, .params = params,                                \
    .state_size = sizeof(struct eigen), .infer = eigen_infer,                 \
    .cost = eigen_cost, .workspace = eigen_workspace, .run = eigen_run

const cfx_op cfx_op___linalg_eigh = {
    .schema =
        "_linalg_eigh(Tensor A, str UPLO='L', bool compute_v=True) -> (Tensor eigenvalues, Tensor eigenvectors)",
    .aliases = "torch. aten.",
    .doc = "Eigenvalues of symmetric matrices, and if asked for eigenvectors.",
    EIGEN,
};

const cfx_op cfx_op__linalg_eigh = {
    .schema =
        "linalg_eigh(Tensor self, str UPLO='L') -> (Tensor eigenvalues, Tensor eigenvectors)",
    .aliases = "torch.linalg. aten.",
    .doc =
        "Eigenvalues, in rising order, and eigenvectors of symmetric matrices.",
    EIGEN,
};

const cfx_op cfx_op__linalg_eigvalsh = {
    .schema = "linalg_eigvalsh(Tensor self, str UPLO='L') -> Tensor",
    .aliases = "torch.linalg. aten.",
    .doc = "Eigenvalues of symmetric matrices, in rising order.",
    .code = VALUES,
    EIGEN,
};
