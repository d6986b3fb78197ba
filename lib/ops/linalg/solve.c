/*
 * solve -- systems with square matrices, and inverses, by LU.
 *
 * shape   solve: that of B, broadcast with the batch of A; inv: that of A; both
 *         column-major.
 * cost    LAPACK Working Note 41, the highest powers: n^3 / 3 multiply-adds for
 *         the factors, n^2 for each right-hand side; an inverse has n of them.
 */
#include <string.h>

#include "op/composite.h"
#include "ops/linalg/matrices.h"

CFX_PARAMS(params, SELF, A, B, LU, PIVOTS, LEFT, ADJOINT, CHECK_ERRORS);

static int matrices(const cfx_call *call)
{
    return cfx_call_place(call, SELF) >= 0 ? SELF : A;
}

/* Results LU and pivots. */
static cfx_status factors_out(cfx_call *call)
{
    const cfx_tensor *a = cfx_call_tensor(call, A);
    cfx_batch b = cfx_batch_of(a, 2);
    cfx_status st = cfx_matrices_out(call, (cfx_dtype)a->dtype, &b,
                                     cfx_rows(a), cfx_columns(a));
    return st ? st : cfx_vectors_out(call, CFX_I32, &b, cfx_rows(a));
}

/* ---- Inverses ---- */

static cfx_status inv_infer(cfx_call *call)
{
    const cfx_tensor *a = cfx_call_tensor(call, matrices(call));
    cfx_status st = cfx_matrices_check_square(call, matrices(call));
    if (st)
        return st;
    cfx_batch b = cfx_batch_of(a, 2);
    st = cfx_matrices_out(call, (cfx_dtype)a->dtype, &b, cfx_rows(a),
                          cfx_columns(a));
    return !st && call->op->code ? cfx_numbers_out(call, CFX_I32, &b) : st;
}

static void inv_cost(const cfx_call *call, cfx_cost *cost)
{
    const cfx_tensor *a = cfx_call_tensor(call, matrices(call));
    cfx_dim n = cfx_rows(a);
    cost->macs = cfx_matrices_macs(call, a, 4, 3, n, n, n);
}

/* The factors and the pivots. */
static size_t inv_size(const cfx_call *call)
{
    const cfx_tensor *a = cfx_call_tensor(call, matrices(call));
    size_t n = (size_t)cfx_tensor_size(a, a->rank - 1);
    return cfx_work_size(n * n, cfx_dtype_size((cfx_dtype)a->dtype)) +
           cfx_work_size(n, sizeof(int));
}

static size_t inv_workspace(const cfx_call *call)
{
    return cfx_matrices_workspace(call, cfx_call_tensor(call, matrices(call)),
                                  2, inv_size(call));
}

static int inv_each(const cfx_matrices *m, int64_t i, void *work)
{
    int n = (int)cfx_tensor_size(m->like, m->like->rank - 1);
    int *pivot = (int *)(void *)((char *)work + m->slice -
                                 cfx_work_size((size_t)n, sizeof(int)));
    void *y = cfx_matrices_at(m, m->call->out[0], 2, i);
    cfx_matrices_read(m, m->like, i, work);
    int info = cfx_lapack_getrf(m->type, n, n, work, pivot);
    cfx_matrix_identity(m->type, n, y);
    cfx_lapack_getrs(m->type, 'N', n, n, work, pivot, y);
    return info;
}

static cfx_status inv_run(cfx_call *call)
{
    cfx_matrices m;
    cfx_status st = cfx_matrices_run(&m, call,
                                     cfx_call_tensor(call, matrices(call)),
                                     inv_size(call), inv_each);
    bool quiet = call->op->code && !cfx_call_bool(call, CHECK_ERRORS);
    return st ? st : cfx_matrices_finish(&m, 1, quiet, CFX_FAILS_INVERSE);
}

#define INV                                                                   \
    .flags = CFX_OP_COMPLEX, .params = params, .infer = inv_infer,            \
    .cost = inv_cost, .workspace = inv_workspace, .run = inv_run

const cfx_op cfx_op__linalg_inv_ex = {
    .schema =
        "linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)",
    .aliases = "torch.linalg. aten.",
    .doc = "The inverses of matrices, and the first pivot that is 0.",
    .code = 1,
    INV,
};

const cfx_op cfx_op__linalg_inv = {
    .schema = "linalg_inv(Tensor A) -> Tensor",
    .aliases = "torch.linalg. aten.",
    .doc = "The inverses of matrices.",
    INV,
};

const cfx_op cfx_op__inverse = {
    .schema = "inverse(Tensor self) -> Tensor",
    .aliases = "torch. Tensor. aten.",
    .doc = "The inverses of matrices.",
    INV,
};

/* ---- Systems ---- */

struct sides {
    bool vector, right; /* B has vectors; X A = B in place of A X = B */
    bool transpose;     /* A^T in place of A */
    const cfx_tensor *lu, *pivots;
    const cfx_tensor *y; /* the solutions, as matrices */
};

/* B has vectors if it has one axis, or the shape of A without its last. With
 * symbols of which that is unknown it has matrices, if these fit. */
static cfx_status decide_vectors(const cfx_call *call, struct sides *s,
                                 const cfx_tensor *a, const cfx_tensor *b)
{
    int open = -1;
    s->vector = b->rank == 1 || a->rank == b->rank + 1;
    for (int i = 0; i < b->rank && b->rank > 1 && s->vector; i++) {
        if (cfx_dim_is_int(a->shape[i]) && cfx_dim_is_int(b->shape[i]))
            s->vector = cfx_dim_same(a->shape[i], b->shape[i]);
        else if (!cfx_dim_known_eq(call->env, a->shape[i], b->shape[i]))
            open = i;
    }
    if (!s->vector || open < 0)
        return CFX_OK;
    s->vector = false;
    cfx_dim n = s->right ? cfx_columns(b) : cfx_rows(b);
    if (cfx_dim_known_eq(call->env, n, cfx_rows(a)) &&
        cfx_dim_ne(call->env, a->shape[open], b->shape[open]))
        return CFX_OK;
    return cfx_call_fail(
        call, CFX_EUNSUPPORTED,
        "whether B has vectors or matrices depends on symbols: give it the symbols of A");
}

static cfx_status check_sides(const cfx_call *call, const struct sides *s,
                              const cfx_tensor *a, const cfx_tensor *b)
{
    char one[128], other[128];
    if (s->vector && s->right)
        return cfx_call_fail(
            call, CFX_EINVAL,
            "Vector broadcasting of the left hand side is not supported for left=False");
    cfx_dim n = s->vector || s->right ? b->shape[b->rank - 1] : cfx_rows(b);
    if (cfx_dim_eq(call->env, cfx_rows(a), n))
        return CFX_OK;
    cfx_tensor_format_type(a, one, sizeof(one));
    cfx_tensor_format_type(b, other, sizeof(other));
    return cfx_call_fail(
        call, CFX_ESHAPE,
        "Incompatible shapes of A and B for the equation %s (%s and %s)",
        s->right ? "XA = B" : "AX = B", one, other);
}

/* PyTorch lays vectors out as if they were the columns of a matrix. */
static cfx_status vectors_result(cfx_call *call, cfx_dtype type, cfx_batch *b,
                                 cfx_dim n)
{
    if (!b->rank)
        return cfx_vectors_out(call, type, b, n);
    cfx_dim rows = b->shape[--b->rank];
    return cfx_matrices_out(call, type, b, rows, n);
}

static cfx_status solution_out(cfx_call *call, const struct sides *s,
                               const cfx_tensor *a, const cfx_tensor *b)
{
    cfx_batch batch = cfx_batch_of(b, s->vector ? 1 : 2);
    cfx_dtype type = (cfx_dtype)a->dtype;
    cfx_status st = check_sides(call, s, a, b);
    if (!st)
        st = cfx_batch_join(call, &batch, a, 2);
    if (st)
        return st;
    if (s->vector)
        return vectors_result(call, type, &batch, cfx_rows(a));
    if (!s->right)
        return cfx_matrices_out(call, type, &batch, cfx_rows(b),
                                cfx_columns(b));
    if (batch.rank + 2 > CFX_MAX_RANK)
        return cfx_call_fail(call, CFX_EUNSUPPORTED,
                             "a result of rank %d is more than %d",
                             batch.rank + 2, CFX_MAX_RANK);
    batch.shape[batch.rank++] = cfx_rows(b);
    batch.shape[batch.rank++] = cfx_columns(b);
    return cfx_call_out(call, type, batch.rank, batch.shape);
}

static cfx_status solve_infer(cfx_call *call)
{
    struct sides *s = call->state;
    const cfx_tensor *a = cfx_call_tensor(call, A);
    const cfx_tensor *b = cfx_call_tensor(call, B);
    cfx_status st = cfx_matrices_check_square(call, A);
    if (!st)
        st = cfx_matrices_check_type(call, B, a);
    if (!st && !b->rank)
        st = cfx_call_fail(call, CFX_ESHAPE,
                           "B must have at least 1 dimension");
    if (st)
        return st;
    s->right = !cfx_call_bool(call, LEFT);
    st = decide_vectors(call, s, a, b);
    if (!st)
        st = solution_out(call, s, a, b);
    if (!st)
        st = factors_out(call);
    cfx_batch batch = cfx_batch_of(a, 2);
    return st ? st : cfx_numbers_out(call, CFX_I32, &batch);
}

static void sides_cost(const cfx_call *call, const cfx_tensor *a,
                       cfx_cost *cost)
{
    cfx_dim n = cfx_cost_numel(call, call->out[0]);
    cost->macs = cfx_dim_add(call->env, cost->macs,
                             cfx_dim_mul(call->env, n, cfx_rows(a)));
}

static void solve_cost(const cfx_call *call, cfx_cost *cost)
{
    const cfx_tensor *a = cfx_call_tensor(call, A);
    cfx_dim n = cfx_rows(a);
    cost->macs = cfx_matrices_macs(call, a, 1, 3, n, n, n);
    sides_cost(call, a, cost);
}

/* A batch of matrices with B's vectors as columns. */
static cfx_status as_columns(const cfx_call *call, const cfx_tensor *x,
                             cfx_tensor **out)
{
    cfx_dim shape[CFX_MAX_RANK], stride[CFX_MAX_RANK];
    for (int i = 0; i < x->rank; i++) {
        shape[i] = x->shape[i];
        stride[i] = x->stride[i];
    }
    shape[x->rank] = stride[x->rank] = cfx_dim_int(1);
    return cfx_tensor_view(out, x, x->rank + 1, shape, stride, x->offset,
                           call->err);
}

static bool good_pivots(const int *pivot, int n)
{
    for (int i = 0; i < n; i++)
        if (pivot[i] < 1 || pivot[i] > n)
            return false;
    return true;
}

/* A copy of the factors, a vector, the pivots. */
static size_t sides_size(const cfx_tensor *lu)
{
    size_t n = (size_t)cfx_tensor_size(lu, lu->rank - 1);
    size_t size = cfx_dtype_size((cfx_dtype)lu->dtype);
    return cfx_work_size(n * n, size) + cfx_work_size(n, size) +
           cfx_work_size(n, sizeof(int));
}

/* The workspace for solutions y with items of `core` axes. */
static size_t sides_workspace(const cfx_call *call, const cfx_tensor *y,
                              int core, const cfx_tensor *lu)
{
    return cfx_matrices_workspace(call, y, core, sides_size(lu));
}

static void move_vector(cfx_dtype t, int64_t n, void *to, int64_t to_step,
                        const void *from, int64_t from_step)
{
    int64_t size = (int64_t)cfx_dtype_size(t);
    for (int64_t i = 0; i < n; i++)
        memcpy((char *)to + i * to_step * size,
               (const char *)from + i * from_step * size, (size_t)size);
}

/* LAPACK's word. A row-major X of X A = B is a column-major one of A^T X = B;
 * of X A^H = B, the conjugate of one of A X = B. */
static char form_of(const struct sides *s)
{
    if (s->right)
        return s->transpose ? 'N' : 'T';
    return s->transpose ? 'C' : 'N';
}

static int sides_each(const cfx_matrices *m, int64_t i, void *work)
{
    const struct sides *s = m->call->state;
    const cfx_tensor *y = s->y;
    int n = (int)cfx_tensor_size(s->lu, s->lu->rank - 1);
    int64_t step = cfx_tensor_stride(y, y->rank - 2);
    size_t size = cfx_dtype_size(m->type);
    char *vector = (char *)work + cfx_work_size((size_t)n * (size_t)n, size);
    int *pivot = (int *)(void *)(vector + cfx_work_size((size_t)n, size));
    void *x = cfx_matrices_at(m, y, 2, i);
    bool apart = s->vector && step != 1;
    cfx_vectors_read_int(m, s->pivots, i, pivot);
    if (!good_pivots(pivot, n))
        return 1;
    const void *lu = cfx_matrices_factor(m, s->lu, i, work);
    if (apart)
        move_vector(m->type, n, vector, 1, x, step);
    int64_t sides = cfx_tensor_size(y, y->rank - (s->right ? 2 : 1));
    bool conjugate = s->transpose && s->right;
    void *at = apart ? vector : x;
    if (conjugate)
        cfx_numbers_conjugate(m->type, n * sides, at);
    cfx_lapack_getrs(m->type, form_of(s), n, (int)sides, lu, pivot, at);
    if (conjugate)
        cfx_numbers_conjugate(m->type, n * sides, at);
    if (apart)
        move_vector(m->type, n, x, step, vector, 1);
    return 0;
}

/* Solve for B, from the factors in the state. */
static cfx_status solve_sides(cfx_call *call)
{
    struct sides *s = call->state;
    cfx_tensor *y = call->out[0], *columns = NULL;
    cfx_matrices m;
    cfx_status st = cfx_matrices_copy(call, y, cfx_call_tensor(call, B));
    if (!st && s->vector)
        st = as_columns(call, y, &columns);
    s->y = s->vector ? columns : y;
    if (!st)
        st = cfx_matrices_run(&m, call, s->y, sides_size(s->lu), sides_each);
    if (!st)
        st = cfx_matrices_fail(call, m.info, m.n, m.like->rank == 2, NULL,
                               CFX_FAILS_PIVOTS);
    cfx_tensor_unref(columns);
    return st;
}

static size_t solve_workspace(const cfx_call *call)
{
    const struct sides *s = call->state;
    const cfx_tensor *y = call->out[0], *lu = call->out[1];
    size_t one = cfx_matrices_workspace(call, lu, 2, 0);
    size_t other = sides_workspace(call, y, s->vector ? 1 : 2, lu);
    return one > other ? one : other;
}

static int factor_each(const cfx_matrices *m, int64_t i, void *work)
{
    int n = (int)cfx_tensor_size(m->like, m->like->rank - 1);
    (void)work;
    return cfx_lapack_getrf(m->type, n, n,
                            cfx_matrices_at(m, m->call->out[1], 2, i),
                            cfx_matrices_at(m, m->call->out[2], 1, i));
}

static cfx_status solve_run(cfx_call *call)
{
    const cfx_tensor *a = cfx_call_tensor(call, A);
    struct sides *s = call->state;
    cfx_matrices m;
    cfx_status st = cfx_matrices_copy(call, call->out[1], a);
    if (!st)
        st = cfx_matrices_run(&m, call, call->out[1], 0, factor_each);
    if (!st)
        st = cfx_matrices_finish(&m, 3, !cfx_call_bool(call, CHECK_ERRORS),
                                 CFX_FAILS_SOLVE);
    if (st)
        return st;
    s->lu = call->out[1];
    s->pivots = call->out[2];
    return solve_sides(call);
}

const cfx_op cfx_op___linalg_solve_ex = {
    .schema =
        "_linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor LU, Tensor pivots, Tensor info)",
    .params = params,
    .aliases = "torch. aten.",
    .doc = "The solutions of systems, with the factors that led to them.",
    .state_size = sizeof(struct sides),
    .flags = CFX_OP_COMPLEX,
    .infer = solve_infer,
    .cost = solve_cost,
    .workspace = solve_workspace,
    .run = solve_run,
};

static cfx_value solve(cfx_scope *s, const cfx_call *call, cfx_value check)
{
    cfx_value keys[] = {cfx_str(s, "left"), cfx_call_value(call, LEFT),
                        cfx_str(s, "check_errors"), check};
    cfx_value args[] = {cfx_call_value(call, A), cfx_call_value(call, B)};
    return cfx_call_function(s, "torch._linalg_solve_ex",
                             (cfx_args){args, 2, keys, 2});
}

static cfx_value linalg_solve_build(cfx_scope *s, const cfx_call *call)
{
    return cfx_nth(s, solve(s, call, cfx_bool(true)), 0);
}

static cfx_value linalg_solve_ex_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value all = solve(s, call, cfx_call_value(call, CHECK_ERRORS));
    return cfx_tuple(s, cfx_nth(s, all, 0), cfx_nth(s, all, 3));
}

CFX_COMPOSITE(linalg_solve)
CFX_COMPOSITE(linalg_solve_ex)

const cfx_op cfx_op__linalg_solve = {
    .schema = "linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor",
    .params = params,
    .aliases = "torch.linalg. aten.",
    .doc = "The solutions of systems.",
    .flags = CFX_OP_COMPLEX,
    .infer = linalg_solve_infer,
    .cost = linalg_solve_cost,
    .run = linalg_solve_run,
};

const cfx_op cfx_op__linalg_solve_ex = {
    .schema =
        "linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor info)",
    .params = params,
    .aliases = "torch.linalg. aten.",
    .doc = "The solutions of systems, and the first pivots that are 0.",
    .flags = CFX_OP_COMPLEX,
    .infer = linalg_solve_ex_infer,
    .cost = linalg_solve_ex_cost,
    .run = linalg_solve_ex_run,
};

/* ---- Systems of known factors ---- */

static cfx_status check_pivots(cfx_call *call)
{
    const cfx_tensor *lu = cfx_call_tensor(call, LU);
    const cfx_tensor *p = cfx_call_tensor(call, PIVOTS);
    bool fits = p->rank == lu->rank - 1;
    if (p->dtype != CFX_I32)
        return cfx_call_fail(
            call, CFX_EDTYPE,
            "pivots should be a Tensor of scalar type int32. Got %s",
            cfx_dtypes[p->dtype].name);
    for (int i = 0; fits && i < p->rank; i++)
        fits = cfx_dim_eq(call->env, p->shape[i], lu->shape[i]);
    return fits
               ? CFX_OK
               : cfx_call_fail(
                     call, CFX_ESHAPE,
                     "Number of pivots per batch should be same as the dimension of the matrix");
}

/* lu_solve takes B first. */
static cfx_status lower_lu_solve(cfx_call *call, const cfx_value *in,
                                 cfx_value *out)
{
    out[cfx_call_place(call, LU)] = in[1];
    out[cfx_call_place(call, PIVOTS)] = in[2];
    out[cfx_call_place(call, B)] = in[0];
    return CFX_OK;
}

#define OLD_LU_SOLVE                                                          \
    "(Tensor self, Tensor LU_data, Tensor LU_pivots) -> Tensor"

static cfx_status lu_solve_infer(cfx_call *call)
{
    struct sides *s = call->state;
    const cfx_tensor *lu = cfx_call_tensor(call, LU);
    cfx_status st = cfx_matrices_check_square(call, LU);
    if (!st)
        st = cfx_matrices_check(call, B);
    if (!st)
        st = cfx_matrices_check_type(call, B, lu);
    if (!st)
        st = check_pivots(call);
    if (st)
        return st;
    s->right = !cfx_call_bool(call, LEFT);
    s->transpose = cfx_call_bool(call, ADJOINT);
    return solution_out(call, s, lu, cfx_call_tensor(call, B));
}

static void lu_solve_cost(const cfx_call *call, cfx_cost *cost)
{
    sides_cost(call, cfx_call_tensor(call, LU), cost);
}

static size_t lu_solve_workspace(const cfx_call *call)
{
    return sides_workspace(call, call->out[0], 2, cfx_call_tensor(call, LU));
}

static cfx_status lu_solve_run(cfx_call *call)
{
    struct sides *s = call->state;
    s->lu = cfx_call_tensor(call, LU);
    s->pivots = cfx_call_tensor(call, PIVOTS);
    return solve_sides(call);
}

const cfx_op cfx_op__linalg_lu_solve = {
    .schema =
        "linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False) -> Tensor",
    .params = params,
    .aliases = "torch.linalg. aten.",
    .variants =
        (const cfx_variant[]){
            {"torch.lu_solve" OLD_LU_SOLVE, lower_lu_solve},
            {"Tensor.lu_solve" OLD_LU_SOLVE, lower_lu_solve},
            {"aten.lu_solve.default" OLD_LU_SOLVE, lower_lu_solve},
            {NULL, NULL}},
    .doc = "The solutions of systems from the factors of lu_factor.",
    .state_size = sizeof(struct sides),
    .flags = CFX_OP_COMPLEX,
    .infer = lu_solve_infer,
    .cost = lu_solve_cost,
    .workspace = lu_solve_workspace,
    .run = lu_solve_run,
};
