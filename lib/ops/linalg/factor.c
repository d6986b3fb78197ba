/*
 * factor -- the factorizations of Cholesky, LU and LDL.
 *
 * shape   the factors in one column-major matrix of the argument's shape, the
 *         row exchanges (..., min(n, m)), and an info for each matrix.
 * cost    LAPACK Working Note 41, the highest powers: n^3 / 6 multiply-adds for
 *         Cholesky and LDL, k^2 (3 l - k) / 6 for LU of the shorter side k and
 *         the longer l.
 */
#include "ops/linalg/matrices.h"

CFX_PARAMS(params, SELF, A, UPPER, PIVOT, HERMITIAN, CHECK_ERRORS, GET_INFOS);

/* ATen calls the argument self or A. */
static int matrices(const cfx_call *call)
{
    return cfx_call_place(call, SELF) >= 0 ? SELF : A;
}

/* The operator gives infos and fails only if asked to; or it never fails. */
enum { GIVES_INFO = 1, NEVER_FAILS = 2 };

static bool gives_info(const cfx_call *call)
{
    return call->op->code & GIVES_INFO || cfx_call_bool(call, GET_INFOS);
}

static bool is_quiet(const cfx_call *call)
{
    return gives_info(call) && !cfx_call_bool(call, CHECK_ERRORS);
}

static cfx_status infos_out(cfx_call *call, const cfx_batch *b)
{
    return gives_info(call) ? cfx_numbers_out(call, CFX_I32, b) : CFX_OK;
}

/* ---- Cholesky ---- */

static cfx_status cholesky_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, matrices(call));
    cfx_status st = cfx_matrices_check_square(call, matrices(call));
    if (st)
        return st;
    cfx_batch b = cfx_batch_of(x, 2);
    st = cfx_matrices_out(call, (cfx_dtype)x->dtype, &b, cfx_rows(x),
                          cfx_columns(x));
    return st ? st : infos_out(call, &b);
}

static void sixth_of_cube(const cfx_call *call, cfx_cost *cost)
{
    const cfx_tensor *x = cfx_call_tensor(call, matrices(call));
    cfx_dim n = cfx_rows(x);
    cost->macs = cfx_matrices_macs(call, x, 1, 6, n, n, n);
}

static size_t infos_workspace(const cfx_call *call)
{
    return cfx_matrices_workspace(call, cfx_call_tensor(call, matrices(call)),
                                  2, 0);
}

static int cholesky_each(const cfx_matrices *m, int64_t i, void *work)
{
    cfx_tensor *y = m->call->out[0];
    bool upper = cfx_call_bool(m->call, UPPER);
    int64_t n = cfx_tensor_size(y, y->rank - 1);
    void *a = cfx_matrices_at(m, y, 2, i);
    (void)work;
    cfx_matrix_clear(m->type, !upper, n, n, a);
    return cfx_lapack_potrf(m->type, upper, (int)n, a);
}

static cfx_status cholesky_run(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, matrices(call));
    cfx_matrices m;
    cfx_status st = cfx_matrices_copy(call, call->out[0], x);
    if (!st)
        st = cfx_matrices_run(&m, call, x, 0, cholesky_each);
    return st ? st
              : cfx_matrices_finish(&m, 1, is_quiet(call), CFX_FAILS_CHOLESKY);
}

#define CHOLESKY                                                              \
    .flags = CFX_OP_COMPLEX, .params = params, .infer = cholesky_infer,       \
    .cost = sixth_of_cube, .workspace = infos_workspace, .run = cholesky_run

const cfx_op cfx_op__linalg_cholesky_ex = {
    .schema =
        "linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> (Tensor L, Tensor info)",
    .aliases = "torch.linalg. aten.",
    .doc =
        "Cholesky's factor of matrices, and the order of the minor that is not positive.",
    .code = GIVES_INFO,
    CHOLESKY,
};

const cfx_op cfx_op__linalg_cholesky = {
    .schema = "linalg_cholesky(Tensor self, *, bool upper=False) -> Tensor",
    .aliases = "torch.linalg. aten.",
    .doc = "Cholesky's factor of positive-definite matrices.",
    CHOLESKY,
};

const cfx_op cfx_op__cholesky = {
    .schema = "cholesky(Tensor self, bool upper=False) -> Tensor",
    .aliases = "torch. Tensor. aten.",
    .doc = "Cholesky's factor of positive-definite matrices.",
    CHOLESKY,
};

/* ---- LU ---- */

static cfx_status lu_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, matrices(call));
    cfx_status st = cfx_matrices_check(call, matrices(call));
    if (!st && !cfx_call_bool(call, PIVOT))
        st = cfx_call_fail(
            call, CFX_EUNSUPPORTED,
            "LU without pivoting is not implemented on the CPU");
    if (st)
        return st;
    cfx_batch b = cfx_batch_of(x, 2);
    st = cfx_matrices_out(call, (cfx_dtype)x->dtype, &b, cfx_rows(x),
                          cfx_columns(x));
    if (!st)
        st = cfx_vectors_out(
            call, CFX_I32, &b,
            cfx_dim_min(call->env, cfx_rows(x), cfx_columns(x)));
    return st ? st : infos_out(call, &b);
}

static void lu_cost(const cfx_call *call, cfx_cost *cost)
{
    cost->macs = cfx_matrices_tall_macs(
        call, cfx_call_tensor(call, matrices(call)), 6);
}

static int lu_each(const cfx_matrices *m, int64_t i, void *work)
{
    const cfx_tensor *y = m->call->out[0];
    (void)work;
    return cfx_lapack_getrf(m->type, (int)cfx_tensor_size(y, y->rank - 2),
                            (int)cfx_tensor_size(y, y->rank - 1),
                            cfx_matrices_at(m, y, 2, i),
                            cfx_matrices_at(m, m->call->out[1], 1, i));
}

static cfx_status lu_run(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, matrices(call));
    cfx_matrices m;
    cfx_status st = cfx_matrices_copy(call, call->out[0], x);
    if (!st)
        st = cfx_matrices_run(&m, call, x, 0, lu_each);
    bool quiet = is_quiet(call) || call->op->code & NEVER_FAILS;
    return st ? st : cfx_matrices_finish(&m, 2, quiet, CFX_FAILS_LU);
}

#define LU                                                                    \
    .flags = CFX_OP_COMPLEX, .params = params, .infer = lu_infer,             \
    .cost = lu_cost, .workspace = infos_workspace, .run = lu_run

const cfx_op cfx_op__linalg_lu_factor_ex = {
    .schema =
        "linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> (Tensor LU, Tensor pivots, Tensor info)",
    .aliases = "torch.linalg. aten.",
    .doc =
        "L and U of matrices in one, the rows that were exchanged, and the first pivot that is 0.",
    .code = GIVES_INFO,
    LU,
};

const cfx_op cfx_op__linalg_lu_factor = {
    .schema =
        "linalg_lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, Tensor pivots)",
    .aliases = "torch.linalg. aten.",
    .doc = "L and U of matrices in one, and the rows that were exchanged.",
    LU,
};

const cfx_op cfx_op___lu_with_info = {
    .schema =
        "_lu_with_info(Tensor self, bool pivot=True, bool check_errors=True) -> (Tensor LU, Tensor pivots, Tensor info)",
    .aliases = "torch. aten.",
    .doc =
        "L and U of matrices in one, the rows that were exchanged, and the first pivot that is 0.",
    .code = GIVES_INFO | NEVER_FAILS,
    LU,
};

const cfx_op cfx_op__lu = {
    .schema =
        "lu(Tensor self, bool pivot=True, bool get_infos=False) -> (Tensor, Tensor, Tensor)",
    .aliases = "torch.functional.lu torch. Tensor.",
    .doc =
        "L and U of matrices in one, the rows that were exchanged, and if asked for the first pivot that is 0.",
    .code = NEVER_FAILS,
    LU,
};

/* ---- LDL ---- */

static cfx_status ldl_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_status st = cfx_matrices_check_square(call, SELF);
    if (st)
        return st;
    cfx_batch b = cfx_batch_of(x, 2);
    st = cfx_matrices_out(call, (cfx_dtype)x->dtype, &b, cfx_rows(x),
                          cfx_columns(x));
    if (!st)
        st = cfx_vectors_out(call, CFX_I32, &b, cfx_rows(x));
    return st ? st : infos_out(call, &b);
}

static bool is_hermitian(const cfx_call *call)
{
    return cfx_call_bool(call, HERMITIAN);
}

static size_t ldl_work(const cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    double asked[2] = {0};
    cfx_lapack_sytrf((cfx_dtype)x->dtype, is_hermitian(call),
                     (int)cfx_tensor_size(x, x->rank - 1), NULL, NULL, asked,
                     -1);
    return cfx_work_size(cfx_lapack_asked((cfx_dtype)x->dtype, asked),
                         cfx_work_item((cfx_dtype)x->dtype));
}

static size_t ldl_workspace(const cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    return cfx_matrices_workspace(call, x, 2, ldl_work(call));
}

static int ldl_each(const cfx_matrices *m, int64_t i, void *work)
{
    const cfx_tensor *y = m->call->out[0];
    int64_t n = cfx_tensor_size(y, y->rank - 1);
    void *a = cfx_matrices_at(m, y, 2, i);
    if (!n)
        return 0;
    cfx_matrix_clear(m->type, true, n, n, a);
    return cfx_lapack_sytrf(m->type, is_hermitian(m->call), (int)n, a,
                            cfx_matrices_at(m, m->call->out[1], 1, i), work,
                            (int)(m->slice / cfx_work_item(m->type)));
}

static cfx_status ldl_run(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_matrices m;
    cfx_status st = cfx_matrices_copy(call, call->out[0], x);
    if (!st)
        st = cfx_matrices_run(&m, call, x, ldl_work(call), ldl_each);
    return st ? st : cfx_matrices_finish(&m, 2, is_quiet(call), CFX_FAILS_LDL);
}

#define LDL                                                                   \
    .flags = CFX_OP_COMPLEX, .params = params, .infer = ldl_infer,            \
    .cost = sixth_of_cube, .workspace = ldl_workspace, .run = ldl_run

const cfx_op cfx_op__linalg_ldl_factor_ex = {
    .schema =
        "linalg_ldl_factor_ex(Tensor self, *, bool hermitian=False, bool check_errors=False) -> (Tensor LD, Tensor pivots, Tensor info)",
    .aliases = "torch.linalg. aten.",
    .doc =
        "L and D of symmetric matrices in one, the rows that were exchanged, and the first pivot that is 0.",
    .code = GIVES_INFO,
    LDL,
};

const cfx_op cfx_op__linalg_ldl_factor = {
    .schema =
        "linalg_ldl_factor(Tensor self, *, bool hermitian=False) -> (Tensor LD, Tensor pivots)",
    .aliases = "torch.linalg. aten.",
    .doc =
        "L and D of symmetric matrices in one, and the rows that were exchanged.",
    LDL,
};
