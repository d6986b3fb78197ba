/*
 * triangular -- systems whose factors are known, except LU's: triangular ones,
 * Cholesky's and LDL's; and inverses by Cholesky's.
 *
 * shape   that of the right-hand sides, broadcast with the factors' batch, in
 *         column-major order.
 * cost    LAPACK Working Note 41, the highest powers: n^2 multiply-adds for each
 *         right-hand side, half of them if there is one triangular factor;
 *         n^3 / 3 for an inverse.
 */
#include "ops/linalg/matrices.h"

CFX_PARAMS(params, SELF, A, INPUT2, B, LD, PIVOTS, UPPER, LEFT, TRANSPOSE,
           UNITRIANGULAR, HERMITIAN);

/* The parameters that an operator calls by other names. */
typedef struct roles {
    int factor, sides;
    bool both; /* the factor is a result too */
} roles;

static const roles *roles_of(const cfx_call *call)
{
    return call->op->data;
}

static const cfx_tensor *factor_of(const cfx_call *call)
{
    return cfx_call_tensor(call, roles_of(call)->factor);
}

static const cfx_tensor *sides_of(const cfx_call *call)
{
    return cfx_call_tensor(call, roles_of(call)->sides);
}

/* X A = B in place of A X = B. */
static bool is_right(const cfx_call *call)
{
    return cfx_call_has(call, LEFT) && !cfx_call_bool(call, LEFT);
}

static cfx_status check_sides(const cfx_call *call)
{
    const cfx_tensor *a = factor_of(call), *b = sides_of(call);
    char s[128], t[128];
    cfx_dim n = is_right(call) ? cfx_columns(b) : cfx_rows(b);
    if (cfx_dim_eq(call->env, cfx_rows(a), n))
        return CFX_OK;
    cfx_tensor_format_type(a, s, sizeof(s));
    cfx_tensor_format_type(b, t, sizeof(t));
    return cfx_call_fail(
        call, CFX_ESHAPE,
        "Incompatible shapes of A and B for the equation %s (%s and %s)",
        is_right(call) ? "XA = B" : "AX = B", s, t);
}

static cfx_status sides_infer(cfx_call *call)
{
    const roles *r = roles_of(call);
    cfx_status st = cfx_matrices_check_square(call, r->factor);
    if (!st)
        st = cfx_matrices_check(call, r->sides);
    if (!st)
        st = cfx_matrices_check_type(call, r->sides, factor_of(call));
    if (!st)
        st = check_sides(call);
    if (st)
        return st;
    const cfx_tensor *a = factor_of(call), *b = sides_of(call);
    cfx_batch batch = cfx_batch_of(b, 2);
    st = cfx_batch_join(call, &batch, a, 2);
    if (!st)
        st = cfx_matrices_out(call, (cfx_dtype)a->dtype, &batch, cfx_rows(b),
                              cfx_columns(b));
    if (!st && r->both)
        st = cfx_matrices_out(call, (cfx_dtype)a->dtype, &batch, cfx_rows(a),
                              cfx_columns(a));
    return st;
}

static void sides_cost(const cfx_call *call, cfx_cost *cost)
{
    const cfx_tensor *a = factor_of(call), *y = call->out[0];
    cost->macs = cfx_matrices_macs(call, y, 1, 1, cfx_rows(y), cfx_columns(y),
                                   cfx_rows(a));
}

static void triangular_cost(const cfx_call *call, cfx_cost *cost)
{
    const cfx_tensor *a = factor_of(call), *y = call->out[0];
    cost->macs = cfx_matrices_macs(call, y, 1, 2, cfx_rows(y), cfx_columns(y),
                                   cfx_rows(a));
}

/* A copy of the factor, where it is not column-major. */
static size_t factor_size(const cfx_call *call)
{
    const cfx_tensor *a = factor_of(call);
    int64_t n = cfx_tensor_size(a, a->rank - 1);
    return cfx_work_size((size_t)(n * n), cfx_work_item((cfx_dtype)a->dtype));
}

static size_t sides_workspace(const cfx_call *call)
{
    return cfx_matrices_workspace(call, call->out[0], 2, factor_size(call));
}

static cfx_status solve_each(cfx_call *call, cfx_matrices *m,
                             cfx_matrix_fn *fn)
{
    cfx_status st = cfx_matrices_copy(call, call->out[0], sides_of(call));
    if (!st && roles_of(call)->both)
        st = cfx_matrices_copy(call, call->out[1], factor_of(call));
    if (!st)
        st = cfx_matrices_run(m, call, call->out[0], factor_size(call), fn);
    return st;
}

static int rows_of(const cfx_tensor *y)
{
    return (int)cfx_tensor_size(y, y->rank - 2);
}

static int columns_of(const cfx_tensor *y)
{
    return (int)cfx_tensor_size(y, y->rank - 1);
}

/* ---- Triangular factors ---- */

static int triangular_each(const cfx_matrices *m, int64_t i, void *work)
{
    const cfx_call *call = m->call;
    const cfx_tensor *y = call->out[0];
    cfx_lapack_trsm(
        m->type, !is_right(call), cfx_call_bool(call, UPPER),
        cfx_call_has(call, TRANSPOSE) && cfx_call_bool(call, TRANSPOSE),
        cfx_call_bool(call, UNITRIANGULAR), rows_of(y), columns_of(y),
        cfx_matrices_factor(m, factor_of(call), i, work),
        cfx_matrices_at(m, y, 2, i));
    return 0;
}

static cfx_status triangular_run(cfx_call *call)
{
    cfx_matrices m;
    return solve_each(call, &m, triangular_each);
}

static const roles triangular_roles = {SELF, B, false};

const cfx_op cfx_op__linalg_solve_triangular = {
    .schema =
        "linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, bool unitriangular=False) -> Tensor",
    .params = params,
    .aliases = "torch.linalg. aten.",
    .doc = "The solutions of systems with triangular matrices.",
    .data = &triangular_roles,
    .flags = CFX_OP_COMPLEX,
    .infer = sides_infer,
    .cost = triangular_cost,
    .workspace = sides_workspace,
    .run = triangular_run,
};

static const roles triangular_solve_roles = {A, SELF, true};

const cfx_op cfx_op__triangular_solve = {
    .schema =
        "triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, bool unitriangular=False) -> (Tensor solution, Tensor cloned_coefficient)",
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc =
        "The solutions of systems with triangular matrices, and a copy of these.",
    .data = &triangular_solve_roles,
    .flags = CFX_OP_COMPLEX,
    .infer = sides_infer,
    .cost = triangular_cost,
    .workspace = sides_workspace,
    .run = triangular_run,
};

/* ---- Cholesky's factor ---- */

static int cholesky_each(const cfx_matrices *m, int64_t i, void *work)
{
    const cfx_tensor *y = m->call->out[0];
    return cfx_lapack_potrs(
        m->type, cfx_call_bool(m->call, UPPER), rows_of(y), columns_of(y),
        cfx_matrices_factor(m, factor_of(m->call), i, work),
        cfx_matrices_at(m, y, 2, i));
}

static cfx_status cholesky_solve_run(cfx_call *call)
{
    cfx_matrices m;
    return solve_each(call, &m, cholesky_each);
}

static cfx_status lower_helper(cfx_call *call, const cfx_value *in,
                               cfx_value *out)
{
    out[cfx_call_place(call, SELF)] = in[0];
    out[cfx_call_place(call, INPUT2)] = in[1];
    out[cfx_call_place(call, UPPER)] = in[2];
    return CFX_OK;
}

static const roles cholesky_roles = {INPUT2, SELF, false};

const cfx_op cfx_op__cholesky_solve = {
    .schema =
        "cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor",
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .variants =
        (const cfx_variant[]){
            {"aten._cholesky_solve_helper.default(Tensor self, Tensor A, bool upper) -> Tensor",
             lower_helper},
            {NULL, NULL}},
    .doc = "The solutions of systems from Cholesky's factors.",
    .data = &cholesky_roles,
    .flags = CFX_OP_COMPLEX,
    .infer = sides_infer,
    .cost = sides_cost,
    .workspace = sides_workspace,
    .run = cholesky_solve_run,
};

static cfx_status inverse_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_status st = cfx_matrices_check_square(call, SELF);
    cfx_batch b = cfx_batch_of(x, 2);
    return st ? st
              : cfx_matrices_out(call, (cfx_dtype)x->dtype, &b, cfx_rows(x),
                                 cfx_columns(x));
}

static void inverse_cost(const cfx_call *call, cfx_cost *cost)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_dim n = cfx_rows(x);
    cost->macs = cfx_matrices_macs(call, x, 1, 3, n, n, n);
}

static size_t inverse_workspace(const cfx_call *call)
{
    return cfx_matrices_workspace(call, call->out[0], 2, 0);
}

#define MIRROR(T)                                                             \
    static void mirror_##T(T *a, int64_t n, bool upper)                       \
    {                                                                         \
        for (int64_t c = 0; c < n; c++)                                       \
            for (int64_t r = 0; r < c; r++)                                   \
                if (upper)                                                    \
                    a[r * n + c] = a[c * n + r];                              \
                else                                                          \
                    a[c * n + r] = a[r * n + c];                              \
    }

MIRROR(float)
MIRROR(double)

/* The other triangle has the conjugates. */
#define MIRROR_COMPLEX(T)                                                     \
    static void mirror_complex_##T(T *a, int64_t n, bool upper)               \
    {                                                                         \
        for (int64_t c = 0; c < n; c++)                                       \
            for (int64_t r = 0; r < c; r++) {                                 \
                T *one = a + 2 * (c * n + r), *other = a + 2 * (r * n + c);   \
                const T *from = upper ? one : other;                          \
                T *to = upper ? other : one;                                  \
                to[0] = from[0];                                              \
                to[1] = -from[1];                                             \
            }                                                                 \
    }

MIRROR_COMPLEX(float)
MIRROR_COMPLEX(double)

static void mirror(cfx_dtype t, void *a, int64_t n, bool upper)
{
    if (t == CFX_C128)
        mirror_complex_double(a, n, upper);
    else if (t == CFX_C64)
        mirror_complex_float(a, n, upper);
    else if (t == CFX_F64)
        mirror_double(a, n, upper);
    else
        mirror_float(a, n, upper);
}

static int inverse_each(const cfx_matrices *m, int64_t i, void *work)
{
    const cfx_tensor *y = m->call->out[0];
    bool upper = cfx_call_bool(m->call, UPPER);
    void *a = cfx_matrices_at(m, y, 2, i);
    int info = cfx_lapack_potri(m->type, upper, rows_of(y), a);
    (void)work;
    mirror(m->type, a, rows_of(y), upper);
    return info;
}

static cfx_status inverse_run(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_matrices m;
    cfx_status st = cfx_matrices_copy(call, call->out[0], x);
    if (!st)
        st = cfx_matrices_run(&m, call, call->out[0], 0, inverse_each);
    return st ? st : cfx_matrices_finish(&m, 1, false, CFX_FAILS_INVERSE);
}

const cfx_op cfx_op__cholesky_inverse = {
    .schema = "cholesky_inverse(Tensor self, bool upper=False) -> Tensor",
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc = "The inverses of matrices from Cholesky's factors.",
    .flags = CFX_OP_COMPLEX,
    .infer = inverse_infer,
    .cost = inverse_cost,
    .workspace = inverse_workspace,
    .run = inverse_run,
};

/* ---- LDL ---- */

static cfx_status check_pivots(cfx_call *call)
{
    const cfx_tensor *a = factor_of(call), *p = cfx_call_tensor(call, PIVOTS);
    bool fits = p->rank == a->rank - 1;
    if (p->dtype != CFX_I32 && p->dtype != CFX_I64)
        return cfx_call_fail(call, CFX_EDTYPE,
                             "Expected pivots to be of dtype int32. Got %s",
                             cfx_dtypes[p->dtype].name);
    for (int i = 0; fits && i < p->rank; i++)
        fits = cfx_dim_eq(call->env, p->shape[i], a->shape[i]);
    return fits
               ? CFX_OK
               : cfx_call_fail(
                     call, CFX_ESHAPE,
                     "Expected LD.shape[:-1] and pivots.shape to be the same");
}

static cfx_status ldl_solve_infer(cfx_call *call)
{
    cfx_status st = cfx_matrices_check_square(call, LD);
    if (!st)
        st = check_pivots(call);
    return st ? st : sides_infer(call);
}

/* Pivots that LAPACK's sytrf can give: a row, or for a block of two rows, the
 * negative of one twice. Others would lead out of memory. */
static bool good_pivots(const int *pivot, int n)
{
    for (int i = 0; i < n; i++) {
        bool block = pivot[i] < 0;
        if (!pivot[i] || pivot[i] > n || pivot[i] < -n ||
            (block && (i + 1 == n || pivot[i + 1] != pivot[i])))
            return false;
        i += block;
    }
    return true;
}

static size_t ldl_size(const cfx_call *call)
{
    const cfx_tensor *a = factor_of(call);
    return factor_size(call) +
           cfx_work_size((size_t)cfx_tensor_size(a, a->rank - 1), sizeof(int));
}

static size_t ldl_workspace(const cfx_call *call)
{
    return cfx_matrices_workspace(call, call->out[0], 2, ldl_size(call));
}

static int ldl_each(const cfx_matrices *m, int64_t i, void *work)
{
    const cfx_tensor *y = m->call->out[0];
    int *pivot = (int *)(void *)((char *)work + factor_size(m->call));
    cfx_vectors_read_int(m, cfx_call_tensor(m->call, PIVOTS), i, pivot);
    if (!good_pivots(pivot, rows_of(y)))
        return 1;
    return cfx_lapack_sytrs(
        m->type, cfx_call_bool(m->call, HERMITIAN), rows_of(y), columns_of(y),
        cfx_matrices_factor(m, factor_of(m->call), i, work), pivot,
        cfx_matrices_at(m, y, 2, i));
}

static cfx_status ldl_run(cfx_call *call)
{
    cfx_matrices m;
    cfx_status st = cfx_matrices_copy(call, call->out[0], sides_of(call));
    if (!st)
        st = cfx_matrices_run(&m, call, call->out[0], ldl_size(call),
                              ldl_each);
    return st ? st : cfx_matrices_finish(&m, 1, false, CFX_FAILS_PIVOTS);
}

static const roles ldl_roles = {LD, B, false};

const cfx_op cfx_op__linalg_ldl_solve = {
    .schema =
        "linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False) -> Tensor",
    .params = params,
    .aliases = "torch.linalg. aten.",
    .doc = "The solutions of systems from the factors of ldl_factor.",
    .data = &ldl_roles,
    .flags = CFX_OP_COMPLEX,
    .infer = ldl_solve_infer,
    .cost = sides_cost,
    .workspace = ldl_workspace,
    .run = ldl_run,
};
