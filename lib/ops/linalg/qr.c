/*
 * qr -- QR by Householder's reflectors: the factors, the reflectors, products
 * with them.
 *
 * shape   qr: Q (..., n, k) and R (..., k, m) of (..., n, m), k the shorter
 *         side; mode "complete" has Q (..., n, n) and R (..., n, m), mode "r" no
 *         Q. geqrf: that of the argument, and (..., k). householder_product and
 *         ormqr: that of the matrix they overwrite. All column-major.
 * cost    LAPACK Working Note 41, the highest powers: k^2 (3 l - k) / 3
 *         multiply-adds for the reflectors, l the longer side; 2 n q k - (n + q)
 *         k^2 + 2/3 k^3 for Q of q columns; (2 m - k) k for each column or row
 *         of m elements that k reflectors are multiplied with.
 */
#include <string.h>

#include "ops/linalg/matrices.h"

CFX_PARAMS(params, SELF, A, MODE, SOME, TAU, INPUT2, INPUT3, LEFT, TRANSPOSE);

static int rows_of(const cfx_tensor *x)
{
    return (int)cfx_tensor_size(x, x->rank - 2);
}

static int columns_of(const cfx_tensor *x)
{
    return (int)cfx_tensor_size(x, x->rank - 1);
}

static int matrices(const cfx_call *call)
{
    return cfx_call_place(call, SELF) >= 0 ? SELF : A;
}

/* Multiply-adds for Q of q columns from k reflectors. */
static cfx_dim q_macs(const cfx_call *call, const cfx_tensor *x, cfx_dim q,
                      cfx_dim k)
{
    cfx_shape_env *env = call->env;
    cfx_dim n = cfx_rows(x), sum = cfx_dim_add(env, n, q);
    cfx_dim a = cfx_matrices_macs(call, x, 2, 1, n, q, k);
    cfx_dim b = cfx_matrices_macs(call, x, 1, 1, sum, k, k);
    cfx_dim c = cfx_matrices_macs(call, x, 2, 3, k, k, k);
    return cfx_dim_add(env, cfx_dim_sub(env, a, b), c);
}

/* ---- geqrf ---- */

static cfx_status geqrf_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_dtype type = (cfx_dtype)x->dtype;
    cfx_status st = cfx_matrices_check(call, SELF);
    if (st)
        return st;
    cfx_batch b = cfx_batch_of(x, 2);
    st = cfx_matrices_out(call, type, &b, cfx_rows(x), cfx_columns(x));
    return st ? st
              : cfx_vectors_out(
                    call, type, &b,
                    cfx_dim_min(call->env, cfx_rows(x), cfx_columns(x)));
}

static void geqrf_cost(const cfx_call *call, cfx_cost *cost)
{
    cost->macs = cfx_matrices_tall_macs(call, cfx_call_tensor(call, SELF), 3);
}

static size_t geqrf_work(const cfx_tensor *x)
{
    double asked[2] = {0};
    cfx_dtype t = (cfx_dtype)x->dtype;
    cfx_lapack_geqrf(t, rows_of(x), columns_of(x), NULL, NULL, asked, -1);
    return cfx_work_size(cfx_lapack_asked(t, asked), cfx_work_item(t));
}

static size_t geqrf_workspace(const cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    return cfx_matrices_workspace(call, x, 2, geqrf_work(x));
}

static int lwork_of(const cfx_matrices *m, size_t bytes)
{
    return (int)(bytes / cfx_work_item(m->type));
}

static int geqrf_each(const cfx_matrices *m, int64_t i, void *work)
{
    cfx_tensor *const *out = m->call->out;
    return cfx_lapack_geqrf(m->type, rows_of(out[0]), columns_of(out[0]),
                            cfx_matrices_at(m, out[0], 2, i),
                            cfx_matrices_at(m, out[1], 1, i), work,
                            lwork_of(m, m->slice));
}

static cfx_status geqrf_run(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_matrices m;
    cfx_status st = cfx_matrices_copy(call, call->out[0], x);
    return st ? st : cfx_matrices_run(&m, call, x, geqrf_work(x), geqrf_each);
}

const cfx_op cfx_op__geqrf = {
    .schema = "geqrf(Tensor self) -> (Tensor a, Tensor tau)",
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc = "R of matrices, and below it the reflectors whose product is Q.",
    .flags = CFX_OP_COMPLEX,
    .infer = geqrf_infer,
    .cost = geqrf_cost,
    .workspace = geqrf_workspace,
    .run = geqrf_run,
};

/* ---- qr ---- */

struct qr {
    bool q, complete;
};

static cfx_status read_mode(cfx_call *call)
{
    struct qr *p = call->state;
    const char *mode = cfx_call_str(call, MODE);
    *p = (struct qr){true, false};
    if (!mode)
        p->complete = cfx_call_has(call, SOME) && !cfx_call_bool(call, SOME);
    else if (!strcmp(mode, "complete"))
        p->complete = true;
    else if (!strcmp(mode, "r"))
        p->q = false;
    else if (strcmp(mode, "reduced"))
        return cfx_call_fail(
            call, CFX_EINVAL,
            "received unrecognized mode '%s' but expected one of 'reduced', 'r', or 'complete'",
            mode);
    return CFX_OK;
}

static cfx_status qr_infer(cfx_call *call)
{
    const struct qr *p = call->state;
    const cfx_tensor *x = cfx_call_tensor(call, matrices(call));
    cfx_dtype type = (cfx_dtype)x->dtype;
    cfx_status st = cfx_matrices_check(call, matrices(call));
    if (!st)
        st = read_mode(call);
    if (st)
        return st;
    cfx_batch b = cfx_batch_of(x, 2);
    cfx_dim n = cfx_rows(x);
    cfx_dim k = p->complete ? n : cfx_dim_min(call->env, n, cfx_columns(x));
    st = p->q ? cfx_matrices_out(call, type, &b, n, k)
              : cfx_nothing_out(call, type);
    return st ? st : cfx_matrices_out(call, type, &b, k, cfx_columns(x));
}

static void qr_cost(const cfx_call *call, cfx_cost *cost)
{
    const struct qr *p = call->state;
    const cfx_tensor *x = cfx_call_tensor(call, matrices(call));
    cfx_dim k = cfx_dim_min(call->env, cfx_rows(x), cfx_columns(x));
    cost->macs = cfx_matrices_tall_macs(call, x, 3);
    if (p->q)
        cost->macs = cfx_dim_add(
            call->env, cost->macs,
            q_macs(call, x, p->complete ? cfx_rows(x) : k, k));
}

/* The parts of a slice: the reflectors, their factors, LAPACK's own. */
struct qr_work {
    size_t a, tau, own;
};

static struct qr_work qr_size(const cfx_tensor *x)
{
    const size_t n = (size_t)rows_of(x), m = (size_t)columns_of(x);
    const size_t size = cfx_dtype_size((cfx_dtype)x->dtype);
    double asked[2] = {0};
    cfx_dtype t = (cfx_dtype)x->dtype;
    int k = rows_of(x) < columns_of(x) ? rows_of(x) : columns_of(x);
    cfx_lapack_orgqr(t, rows_of(x), rows_of(x), k, NULL, NULL, asked, -1);
    size_t own = cfx_work_size(cfx_lapack_asked(t, asked), cfx_work_item(t));
    size_t other = geqrf_work(x);
    return (struct qr_work){cfx_work_size(n * m, size),
                            cfx_work_size((size_t)k, size),
                            own > other ? own : other};
}

static size_t sum(struct qr_work w)
{
    return w.a + w.tau + w.own;
}

static size_t qr_workspace(const cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, matrices(call));
    return cfx_matrices_workspace(call, x, 2, sum(qr_size(x)));
}

/* Copy the first `rows` of the columns of a into r, with 0 below the
 * diagonal. */
static void take_r(cfx_dtype t, const char *a, int64_t n, char *r,
                   int64_t rows, int64_t columns)
{
    size_t size = cfx_dtype_size(t);
    for (int64_t c = 0; c < columns; c++)
        memcpy(r + (size_t)(c * rows) * size, a + (size_t)(c * n) * size,
               (size_t)rows * size);
    cfx_matrix_clear(t, false, rows, columns, r);
}

static int qr_each(const cfx_matrices *m, int64_t i, void *work)
{
    const struct qr *p = m->call->state;
    cfx_tensor *const *out = m->call->out;
    int rows = rows_of(m->like), columns = columns_of(m->like);
    int k = rows < columns ? rows : columns;
    struct qr_work w = qr_size(m->like);
    char *a = work, *tau = a + w.a, *own = tau + w.tau;
    cfx_matrices_read(m, m->like, i, a);
    int info = cfx_lapack_geqrf(m->type, rows, columns, a, tau, own,
                                lwork_of(m, w.own));
    take_r(m->type, a, rows, cfx_matrices_at(m, out[1], 2, i), rows_of(out[1]),
           columns);
    if (info || !p->q)
        return info;
    void *q = cfx_matrices_at(m, out[0], 2, i);
    memcpy(q, a,
           (size_t)rows * (size_t)k * cfx_dtype_size((cfx_dtype)m->type));
    return cfx_lapack_orgqr(m->type, rows, columns_of(out[0]), k, q, tau, own,
                            lwork_of(m, w.own));
}

static cfx_status qr_run(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, matrices(call));
    cfx_matrices m;
    return cfx_matrices_run(&m, call, x, sum(qr_size(x)), qr_each);
}

#define QR                                                                    \
    .flags = CFX_OP_COMPLEX, .params = params,                                \
    .state_size = sizeof(struct qr), .infer = qr_infer, .cost = qr_cost,      \
    .workspace = qr_workspace, .run = qr_run

const cfx_op cfx_op__linalg_qr = {
    .schema =
        "linalg_qr(Tensor A, str mode='reduced') -> (Tensor Q, Tensor R)",
    .aliases = "torch.linalg. aten.",
    .doc = "Matrices as the products of orthogonal and triangular ones.",
    QR,
};

const cfx_op cfx_op__qr = {
    .schema = "qr(Tensor self, bool some=True) -> (Tensor Q, Tensor R)",
    .aliases = "torch. Tensor. aten.",
    .doc = "Matrices as the products of orthogonal and triangular ones.",
    QR,
};

/* ---- householder_product ---- */

/* The factors of the reflectors, one axis less than the matrices. */
static const cfx_tensor *tau_of(const cfx_call *call)
{
    return cfx_call_tensor(call,
                           cfx_call_place(call, TAU) >= 0 ? TAU : INPUT2);
}

static cfx_status check_tau(const cfx_call *call, const cfx_tensor *x)
{
    const cfx_tensor *tau = tau_of(call);
    bool fits = tau->rank == x->rank - 1;
    if (tau->dtype != x->dtype)
        return cfx_call_fail(
            call, CFX_EDTYPE, "tau dtype %s does not match input dtype %s",
            cfx_dtypes[tau->dtype].name, cfx_dtypes[x->dtype].name);
    for (int i = 0; fits && i < x->rank - 2; i++)
        fits = cfx_dim_eq(call->env, tau->shape[i], x->shape[i]);
    return fits
               ? CFX_OK
               : cfx_call_fail(
                     call, CFX_ESHAPE,
                     "Expected tau to have the batch dimensions of input and one dimension more");
}

static cfx_status product_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_status st = cfx_matrices_check(call, SELF);
    if (!st)
        st = check_tau(call, x);
    if (st)
        return st;
    cfx_dim k = tau_of(call)->shape[x->rank - 2];
    if (!cfx_dim_le(call->env, cfx_columns(x), cfx_rows(x)))
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "input.shape[-2] must be greater than or equal to input.shape[-1]");
    if (!cfx_dim_le(call->env, k, cfx_columns(x)))
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "input.shape[-1] must be greater than or equal to tau.shape[-1]");
    cfx_batch b = cfx_batch_of(x, 2);
    return cfx_matrices_out(call, (cfx_dtype)x->dtype, &b, cfx_rows(x),
                            cfx_columns(x));
}

static void product_cost(const cfx_call *call, cfx_cost *cost)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cost->macs = q_macs(call, x, cfx_columns(x),
                        tau_of(call)->shape[x->rank - 2]);
}

static size_t read_tau(const cfx_matrices *m, int64_t i, void *work)
{
    const cfx_tensor *tau = tau_of(m->call);
    const char *from = cfx_matrices_at(m, tau, 1, i);
    int64_t n = columns_of(tau), step = cfx_tensor_stride(tau, tau->rank - 1);
    size_t size = cfx_dtype_size(m->type);
    for (int64_t k = 0; k < n; k++)
        memcpy((char *)work + (size_t)k * size,
               from + k * step * (int64_t)size, size);
    return cfx_work_size((size_t)n, size);
}

static size_t tau_size(const cfx_call *call)
{
    const cfx_tensor *tau = tau_of(call);
    return cfx_work_size((size_t)columns_of(tau),
                         cfx_dtype_size((cfx_dtype)tau->dtype));
}

static size_t product_size(const cfx_call *call)
{
    const cfx_tensor *y = call->out[0];
    double asked[2] = {0};
    cfx_dtype t = (cfx_dtype)y->dtype;
    cfx_lapack_orgqr(t, rows_of(y), columns_of(y), columns_of(tau_of(call)),
                     NULL, NULL, asked, -1);
    return tau_size(call) +
           cfx_work_size(cfx_lapack_asked(t, asked), cfx_work_item(t));
}

static size_t product_workspace(const cfx_call *call)
{
    return cfx_matrices_workspace(call, call->out[0], 2, product_size(call));
}

static int product_each(const cfx_matrices *m, int64_t i, void *work)
{
    size_t used = read_tau(m, i, work);
    return cfx_lapack_orgqr(m->type, rows_of(m->like), columns_of(m->like),
                            columns_of(tau_of(m->call)),
                            cfx_matrices_at(m, m->like, 2, i), work,
                            (char *)work + used, lwork_of(m, m->slice - used));
}

static cfx_status product_run(cfx_call *call)
{
    cfx_matrices m;
    cfx_status st = cfx_matrices_copy(call, call->out[0],
                                      cfx_call_tensor(call, SELF));
    return st ? st
              : cfx_matrices_run(&m, call, call->out[0], product_size(call),
                                 product_each);
}

#define PRODUCT                                                               \
    .flags = CFX_OP_COMPLEX, .params = params, .infer = product_infer,        \
    .cost = product_cost, .workspace = product_workspace, .run = product_run

const cfx_op cfx_op__linalg_householder_product = {
    .schema = "linalg_householder_product(Tensor input, Tensor tau) -> Tensor",
    .aliases = "torch.linalg. aten.",
    .doc = "The first columns of products of reflectors.",
    PRODUCT,
};

const cfx_op cfx_op__orgqr = {
    .schema = "orgqr(Tensor self, Tensor input2) -> Tensor",
    .aliases = "torch. Tensor. aten.",
    .doc = "The first columns of products of reflectors.",
    PRODUCT,
};

/* ---- ormqr ---- */

static cfx_status check_other(const cfx_call *call, const cfx_tensor *x,
                              const cfx_tensor *c)
{
    bool left = cfx_call_bool(call, LEFT), fits = c->rank == x->rank;
    for (int i = 0; fits && i < x->rank - 2; i++)
        fits = cfx_dim_eq(call->env, c->shape[i], x->shape[i]);
    if (!fits)
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "Expected other to have the batch dimensions of input");
    if (!cfx_dim_eq(call->env, left ? cfx_rows(c) : cfx_columns(c),
                    cfx_rows(x)))
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "other.shape[%d] must be equal to input.shape[-2]",
            left ? -2 : -1);
    cfx_dim k = tau_of(call)->shape[x->rank - 2];
    cfx_dim most = cfx_dim_min(call->env, cfx_rows(x), cfx_columns(x));
    return cfx_dim_eq(call->env, k, most)
               ? CFX_OK
               : cfx_call_fail(
                     call, CFX_ESHAPE,
                     "tau.shape[-1] must be equal to min(other.shape[%d], input.shape[-1])",
                     left ? -2 : -1);
}

static cfx_status ormqr_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    const cfx_tensor *c = cfx_call_tensor(call, INPUT3);
    cfx_status st = cfx_matrices_check(call, SELF);
    if (!st)
        st = cfx_matrices_check(call, INPUT3);
    if (!st)
        st = cfx_matrices_check_type(call, INPUT3, x);
    if (!st)
        st = check_tau(call, x);
    if (!st)
        st = check_other(call, x, c);
    if (st)
        return st;
    cfx_batch b = cfx_batch_of(c, 2);
    return cfx_matrices_out(call, (cfx_dtype)c->dtype, &b, cfx_rows(c),
                            cfx_columns(c));
}

static void ormqr_cost(const cfx_call *call, cfx_cost *cost)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    const cfx_tensor *c = cfx_call_tensor(call, INPUT3);
    bool left = cfx_call_bool(call, LEFT);
    cfx_dim k = tau_of(call)->shape[x->rank - 2];
    cost->macs = cfx_matrices_macs(
        call, c, 1, 1, cfx_cost_linear(call, 2, cfx_rows(x), -1, k), k,
        left ? cfx_columns(c) : cfx_rows(c));
}

static size_t reflectors_size(const cfx_tensor *x)
{
    return cfx_work_size((size_t)rows_of(x) * (size_t)columns_of(x),
                         cfx_dtype_size((cfx_dtype)x->dtype));
}

static size_t ormqr_size(const cfx_call *call)
{
    const cfx_tensor *y = call->out[0];
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    double asked[2] = {0};
    cfx_dtype t = (cfx_dtype)y->dtype;
    cfx_lapack_ormqr(t, cfx_call_bool(call, LEFT), false, rows_of(y),
                     columns_of(y), columns_of(tau_of(call)), NULL, NULL, NULL,
                     asked, -1);
    return reflectors_size(x) + tau_size(call) +
           cfx_work_size(cfx_lapack_asked(t, asked), cfx_work_item(t));
}

static size_t ormqr_workspace(const cfx_call *call)
{
    return cfx_matrices_workspace(call, call->out[0], 2, ormqr_size(call));
}

static int ormqr_each(const cfx_matrices *m, int64_t i, void *work)
{
    const cfx_call *call = m->call;
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    char *tau = (char *)work + reflectors_size(x);
    char *own = tau + read_tau(m, i, tau);
    return cfx_lapack_ormqr(
        m->type, cfx_call_bool(call, LEFT), cfx_call_bool(call, TRANSPOSE),
        rows_of(m->like), columns_of(m->like), columns_of(tau_of(call)),
        cfx_matrices_factor(m, x, i, work), tau,
        cfx_matrices_at(m, m->like, 2, i), own,
        lwork_of(m, m->slice - (size_t)(own - (char *)work)));
}

static cfx_status ormqr_run(cfx_call *call)
{
    cfx_matrices m;
    cfx_status st = cfx_matrices_copy(call, call->out[0],
                                      cfx_call_tensor(call, INPUT3));
    return st ? st
              : cfx_matrices_run(&m, call, call->out[0], ormqr_size(call),
                                 ormqr_each);
}

const cfx_op cfx_op__ormqr = {
    .schema =
        "ormqr(Tensor self, Tensor input2, Tensor input3, bool left=True, bool transpose=False) -> Tensor",
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc = "Matrices times products of reflectors.",
    .flags = CFX_OP_COMPLEX,
    .infer = ormqr_infer,
    .cost = ormqr_cost,
    .workspace = ormqr_workspace,
    .run = ormqr_run,
};
