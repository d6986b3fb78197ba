/*
 * lstsq -- least squares.
 *
 * shape   of A (..., n, m) and B (..., n, r) or (..., n): the solutions (..., m,
 *         r) or (..., m), in the first m rows of column-major matrices of
 *         max(n, m) rows; the residuals (..., r) if n > m; ranks; singular
 *         values (..., k) with k the shorter side. What the driver does not
 *         compute has shape (0).
 * cost    that of the QR factors, k^2 (3 l - k) / 3 multiply-adds with the
 *         longer side l, and (2 l - k) k for each right-hand side (LAPACK
 *         Working Note 41, the highest powers). The drivers that compute
 *         singular values need more, which depends on the numbers.
 */
#include <float.h>
#include <string.h>

#include "ops/linalg/matrices.h"

CFX_PARAMS(params, SELF, B, RCOND, DRIVER);

enum { SOLUTION, RESIDUALS, RANK, SINGULAR_VALUES };

typedef enum driver { GELS, GELSY, GELSD, GELSS } driver;

struct lstsq {
    driver driver;
    bool vector;    /* B has vectors */
    bool residuals; /* they are computed */
};

static cfx_status read_driver(cfx_call *call)
{
    static const char *const names[] = {"gels", "gelsy", "gelsd", "gelss"};
    struct lstsq *p = call->state;
    const char *name = cfx_call_str(call, DRIVER);
    p->driver = GELSY;
    for (int i = 0; name && i < 4; i++)
        if (!strcmp(name, names[i])) {
            p->driver = (driver)i;
            return CFX_OK;
        }
    return name
               ? cfx_call_fail(
                     call, CFX_EINVAL,
                     "parameter `driver` should be one of (gels, gelsy, gelsd, gelss)")
               : CFX_OK;
}

static cfx_status check(cfx_call *call)
{
    struct lstsq *p = call->state;
    const cfx_tensor *a = cfx_call_tensor(call, SELF);
    const cfx_tensor *b = cfx_call_tensor(call, B);
    cfx_status st = cfx_matrices_check(call, SELF);
    if (!st)
        st = cfx_matrices_check_type(call, B, a);
    if (st)
        return st;
    if (!b->rank || (b->rank != a->rank && b->rank != a->rank - 1))
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) <= 1");
    p->vector = b->rank == a->rank - 1;
    if (!cfx_dim_eq(call->env, cfx_rows(a),
                    b->shape[b->rank - (p->vector ? 1 : 2)]))
        return cfx_call_fail(call, CFX_ESHAPE,
                             "input.size(-2) should match %s",
                             p->vector ? "other.size(-1)" : "other.size(-2)");
    cfx_batch batch = cfx_batch_of(a, 2);
    st = cfx_batch_join(call, &batch, b, p->vector ? 1 : 2);
    for (int i = 0; i < batch.rank && !st; i++)
        if (batch.rank != a->rank - 2 ||
            !cfx_dim_eq(call->env, batch.shape[i], a->shape[i]))
            st = cfx_call_fail(
                call, CFX_EUNSUPPORTED,
                "input is broadcast to the batch of other: expand it");
    return st;
}

/* Rows of a matrix of max(n, m) rows. */
static cfx_status solution_out(cfx_call *call, cfx_dim r)
{
    const struct lstsq *p = call->state;
    const cfx_tensor *a = cfx_call_tensor(call, SELF);
    cfx_dim shape[CFX_MAX_RANK], stride[CFX_MAX_RANK];
    cfx_dim l = cfx_dim_max(call->env, cfx_rows(a), cfx_columns(a));
    int rank = a->rank;
    memcpy(shape, a->shape, (size_t)rank * sizeof(*shape));
    shape[rank - 2] = r;
    shape[rank - 1] = l;
    cfx_strides_of(call->env, CFX_CONTIGUOUS_FORMAT, rank, shape, stride);
    shape[rank - 2] = cfx_columns(a);
    shape[rank - 1] = r;
    stride[rank - 1] = stride[rank - 2];
    stride[rank - 2] = cfx_dim_int(1);
    return cfx_call_out_strided(call, (cfx_dtype)a->dtype, rank - p->vector,
                                shape, stride);
}

/* More rows than columns leave residuals. */
static cfx_status decide_residuals(cfx_call *call)
{
    struct lstsq *p = call->state;
    const cfx_tensor *a = cfx_call_tensor(call, SELF);
    cfx_dim n = cfx_rows(a), m = cfx_columns(a);
    if (p->driver == GELSY || cfx_dim_known_le(call->env, n, m))
        return CFX_OK;
    p->residuals = cfx_dim_known_le(
        call->env, cfx_dim_add(call->env, m, cfx_dim_int(1)), n);
    return p->residuals
               ? CFX_OK
               : cfx_call_fail(
                     call, CFX_EUNSUPPORTED,
                     "whether there are residuals depends on symbols; take driver='gelsy', or fix the rows and columns of input");
}

static cfx_status lstsq_infer(cfx_call *call)
{
    struct lstsq *p = call->state;
    const cfx_tensor *a = cfx_call_tensor(call, SELF);
    const cfx_tensor *b = cfx_call_tensor(call, B);
    cfx_dtype type = cfx_dtype_real((cfx_dtype)a->dtype);
    cfx_status st = check(call);
    if (!st)
        st = read_driver(call);
    if (st)
        return st;
    cfx_batch batch = cfx_batch_of(a, 2);
    cfx_dim r = p->vector ? cfx_dim_int(1) : cfx_columns(b);
    st = decide_residuals(call);
    if (!st)
        st = solution_out(call, r);
    if (!st)
        st = p->residuals ? cfx_vectors_out(call, type, &batch, r)
                          : cfx_nothing_out(call, type);
    if (!st)
        st = p->driver != GELS ? cfx_numbers_out(call, CFX_I64, &batch)
                               : cfx_nothing_out(call, CFX_I64);
    if (st)
        return st;
    return p->driver == GELSD || p->driver == GELSS
               ? cfx_vectors_out(
                     call, type, &batch,
                     cfx_dim_min(call->env, cfx_rows(a), cfx_columns(a)))
               : cfx_nothing_out(call, type);
}

static void lstsq_cost(const cfx_call *call, cfx_cost *cost)
{
    const struct lstsq *p = call->state;
    const cfx_tensor *a = cfx_call_tensor(call, SELF);
    const cfx_tensor *b = cfx_call_tensor(call, B);
    cfx_shape_env *env = call->env;
    cfx_dim k = cfx_dim_min(env, cfx_rows(a), cfx_columns(a));
    cfx_dim l = cfx_dim_max(env, cfx_rows(a), cfx_columns(a));
    cfx_dim r = p->vector ? cfx_dim_int(1) : cfx_columns(b);
    cost->macs = cfx_dim_add(
        env, cfx_matrices_tall_macs(call, a, 3),
        cfx_matrices_macs(call, a, 1, 1, cfx_cost_linear(call, 2, l, -1, k), k,
                          r));
}

/* ---- Runs ---- */

struct extents {
    int n, m, r, l; /* rows, columns, right-hand sides, the longer side */
};

static struct extents extents_of(const cfx_call *call)
{
    const struct lstsq *p = call->state;
    const cfx_tensor *a = cfx_call_tensor(call, SELF);
    const cfx_tensor *b = cfx_call_tensor(call, B);
    int n = (int)cfx_tensor_size(a, a->rank - 2);
    int m = (int)cfx_tensor_size(a, a->rank - 1);
    int r = p->vector ? 1 : (int)cfx_tensor_size(b, b->rank - 1);
    return (struct extents){n, m, r, n > m ? n : m};
}

/* The parts of a slice: copies of both matrices, integers, LAPACK's numbers. */
struct sizes {
    size_t a, b, integers, own;
};

static int call_driver(const cfx_call *call, cfx_dtype t, void *a, void *b,
                       void *s, int *rank, int *integers, void *own, int lwork)
{
    const struct lstsq *p = call->state;
    const struct extents x = extents_of(call);
    double eps = cfx_dtype_real(t) == CFX_F64 ? DBL_EPSILON : FLT_EPSILON;
    double rcond = cfx_call_has(call, RCOND) ? cfx_call_double(call, RCOND)
                                             : eps * x.l;
    /* gelsd does not work without right-hand sides, and says so on stderr. */
    switch (p->driver == GELSD && !x.r ? GELSS : p->driver) {
    case GELS: return cfx_lapack_gels(t, x.n, x.m, x.r, a, b, own, lwork);
    case GELSY:
        return cfx_lapack_gelsy(t, x.n, x.m, x.r, a, b, integers, rcond, rank,
                                own, lwork);
    case GELSD:
        return cfx_lapack_gelsd(t, x.n, x.m, x.r, a, b, s, rcond, rank, own,
                                lwork, integers);
    default:
        return cfx_lapack_gelss(t, x.n, x.m, x.r, a, b, s, rcond, rank, own,
                                lwork);
    }
}

static struct sizes sizes_of(const cfx_call *call)
{
    const struct lstsq *p = call->state;
    const struct extents x = extents_of(call);
    cfx_dtype t = (cfx_dtype)cfx_call_tensor(call, SELF)->dtype;
    double asked[2] = {0};
    int rank = 0, integers = 0;
    call_driver(call, t, NULL, NULL, NULL, &rank, &integers, asked, -1);
    if (p->driver == GELSY)
        integers = x.m;
    return (struct sizes){
        cfx_work_size((size_t)x.n * (size_t)x.m, cfx_dtype_size(t)),
        cfx_work_size((size_t)x.l * (size_t)x.r, cfx_dtype_size(t)),
        cfx_work_size((size_t)integers, sizeof(int)),
        cfx_work_size(cfx_lapack_asked(t, asked), cfx_work_item(t))};
}

static size_t sum(struct sizes s)
{
    return s.a + s.b + s.integers + s.own;
}

static size_t lstsq_workspace(const cfx_call *call)
{
    return cfx_matrices_workspace(call, cfx_call_tensor(call, SELF), 2,
                                  sum(sizes_of(call)));
}

/* Copy rows and columns between memories of these steps, in elements. */
static void copy_rows(size_t size, int rows, int columns, char *to,
                      int64_t to_row, int64_t to_column, const char *from,
                      int64_t from_row, int64_t from_column)
{
    for (int64_t c = 0; c < columns; c++)
        for (int64_t r = 0; r < rows; r++)
            memcpy(to + (r * to_row + c * to_column) * (int64_t)size,
                   from + (r * from_row + c * from_column) * (int64_t)size,
                   size);
}

/* The squared norms of the rest, of both parts of complex numbers. */
static void give_residuals(const cfx_matrices *m, struct extents x, int64_t i,
                           const char *b)
{
    cfx_dtype real = cfx_dtype_real(m->type);
    size_t size = cfx_dtype_size(real);
    int64_t parts = real == m->type ? 1 : 2;
    char *to = cfx_matrices_at(m, m->call->out[RESIDUALS], 1, i);
    for (int64_t c = 0; c < x.r; c++) {
        const char *column = b + (size_t)(c * x.l * parts) * size;
        double squares = 0;
        for (int64_t r = x.m * parts; r < x.n * parts; r++) {
            double v = cfx_element_double(real, column + (size_t)r * size);
            squares += v * v;
        }
        cfx_element_set_double(real, to + (size_t)c * size, squares);
    }
}

/* -4: numbers that are not finite; -1: a rank that is not full, where residuals are asked for. */
static int lstsq_each(const cfx_matrices *m, int64_t i, void *work)
{
    const struct lstsq *p = m->call->state;
    cfx_tensor *const *out = m->call->out;
    const cfx_tensor *from = cfx_call_tensor(m->call, B), *y = out[SOLUTION];
    const struct extents x = extents_of(m->call);
    struct sizes s = sizes_of(m->call);
    char *b = (char *)work + s.a, *own = b + s.b + s.integers;
    int core = p->vector ? 1 : 2, rank = 0, info = 0;
    int *integers = (int *)(void *)(b + s.b);
    size_t size = cfx_dtype_size(m->type);
    void *values = p->driver >= GELSD
                       ? cfx_matrices_at(m, out[SINGULAR_VALUES], 1, i)
                       : NULL;
    cfx_matrices_read(m, m->like, i, work);
    memset(b, 0, s.b + s.integers);
    copy_rows(size, x.n, x.r, b, 1, x.l, cfx_matrices_at(m, from, core, i),
              cfx_tensor_stride(from, from->rank - core),
              cfx_tensor_stride(from, from->rank - 1));
    if (!cfx_numbers_are_finite(m->type, (int64_t)x.n * x.m, work) ||
        !cfx_numbers_are_finite(m->type, (int64_t)x.l * x.r, b))
        return -4;
    if (x.n && x.m)
        info = call_driver(m->call, m->type, work, b, values, &rank, integers,
                           own, (int)(s.own / cfx_work_item(m->type)));
    copy_rows(size, x.m, x.r, cfx_matrices_at(m, y, core, i),
              cfx_tensor_stride(y, y->rank - core),
              cfx_tensor_stride(y, y->rank - 1), b, 1, x.l);
    if (p->residuals)
        give_residuals(m, x, i, b);
    if (p->driver != GELS)
        *(int64_t *)cfx_matrices_at(m, out[RANK], 0, i) = rank;
    if (!info && p->residuals && p->driver != GELS && rank < x.m)
        return -1;
    return info;
}

static cfx_status lstsq_run(cfx_call *call)
{
    cfx_matrices m;
    cfx_status st = cfx_matrices_run(&m, call, cfx_call_tensor(call, SELF),
                                     sum(sizes_of(call)), lstsq_each);
    for (int64_t i = 0; i < m.n && !st; i++)
        if (m.info[i] == -1)
            st = cfx_call_fail(
                call, CFX_EUNSUPPORTED,
                "a matrix of more rows than columns does not have full rank, and then residuals have no shape that is known before the run: take driver='gelsy'");
    for (int64_t i = 0; i < m.n && !st; i++)
        if (m.info[i] == -4)
            st = cfx_call_fail(call, CFX_ENUMERIC,
                               "input or other contains non-finite values");
    return st ? st
              : cfx_matrices_fail(call, m.info, m.n, m.like->rank == 2, NULL,
                                  CFX_FAILS_LEAST_SQUARES);
}

const cfx_op cfx_op__linalg_lstsq = {
    .schema =
        "linalg_lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None) -> (Tensor solution, Tensor residuals, Tensor rank, Tensor singular_values)",
    .params = params,
    .aliases = "torch.linalg. aten.",
    .doc = "The solutions of systems by least squares.",
    .flags = CFX_OP_COMPLEX,
    .state_size = sizeof(struct lstsq),
    .infer = lstsq_infer,
    .cost = lstsq_cost,
    .workspace = lstsq_workspace,
    .run = lstsq_run,
};
