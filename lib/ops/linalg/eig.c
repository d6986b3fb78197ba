/*
 * eig -- the eigenvalues and eigenvectors of square matrices.
 *
 * shape   (..., n) of (..., n, n), complex, and the eigenvectors in columns, in
 *         column-major order.
 * cost    that of making a matrix upper Hessenberg, 5/3 n^3 multiply-adds
 *         (LAPACK Working Note 41, the highest power), and n^3 to take the
 *         eigenvectors back. The work between them depends on the numbers.
 */
#include <string.h>

#include "ops/linalg/matrices.h"

CFX_PARAMS(params, SELF);

enum { VALUES = 1 };

static cfx_dtype result_type(const cfx_tensor *x)
{
    return cfx_dtype_real((cfx_dtype)x->dtype) == CFX_F64 ? CFX_C128 : CFX_C64;
}

static cfx_status eig_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_status st = cfx_matrices_check_square(call, SELF);
    if (st)
        return st;
    cfx_batch b = cfx_batch_of(x, 2);
    st = cfx_vectors_out(call, result_type(x), &b, cfx_rows(x));
    if (st || call->op->code == VALUES)
        return st;
    return cfx_matrices_out(call, result_type(x), &b, cfx_rows(x),
                            cfx_columns(x));
}

static void eig_cost(const cfx_call *call, cfx_cost *cost)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_dim n = cfx_rows(x);
    cost->macs = cfx_matrices_macs(call, x, call->op->code == VALUES ? 5 : 8,
                                   3, n, n, n);
}

/* The parts of a slice: a copy of the matrix, eigenvalues, eigenvectors as
 * LAPACK gives them, LAPACK's own numbers. */
struct sizes {
    size_t a, w, v, own;
};

static struct sizes sizes_of(const cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_dtype t = (cfx_dtype)x->dtype;
    int n = (int)cfx_tensor_size(x, x->rank - 1);
    bool vectors = call->op->code != VALUES;
    size_t whole = cfx_work_size((size_t)n * (size_t)n, cfx_dtype_size(t));
    double asked[2] = {0};
    cfx_lapack_geev(t, vectors, n, NULL, NULL, NULL, asked, -1);
    return (struct sizes){
        whole, cfx_work_size(2 * (size_t)n, cfx_dtype_size(t)),
        vectors ? whole : 0,
        cfx_work_size(cfx_lapack_asked(t, asked), cfx_work_item(t))};
}

static size_t sum(struct sizes s)
{
    return s.a + s.w + s.v + s.own;
}

static size_t eig_workspace(const cfx_call *call)
{
    return cfx_matrices_workspace(call, cfx_call_tensor(call, SELF), 2,
                                  sum(sizes_of(call)));
}

/* Real and imaginary parts, each `step` elements from the next, as complex
 * numbers. `im` may be NULL for zeros; `sign` is that of the imaginary part. */
static void join(cfx_dtype real, int64_t n, char *to, const char *re,
                 const char *im, double sign)
{
    size_t size = cfx_dtype_size(real);
    for (int64_t i = 0; i < n; i++, to += 2 * size) {
        size_t at = (size_t)i * size;
        double y = im ? sign * cfx_element_double(real, im + at) : 0;
        memcpy(to, re + at, size);
        cfx_element_set_double(real, to + size, y);
    }
}

/* Columns of a pair of conjugates are the real and the imaginary part. */
static void join_vectors(cfx_dtype real, int64_t n, char *to, const char *v,
                         const char *imaginary)
{
    size_t column = (size_t)n * cfx_dtype_size(real);
    for (int64_t i = 0; i < n; i++) {
        const char *at = v + (size_t)i * column;
        char *y = to + (size_t)i * 2 * column;
        bool pair = cfx_element_double(
            real, imaginary + (size_t)i * cfx_dtype_size(real));
        if (pair && i + 1 < n) {
            join(real, n, y, at, at + column, 1);
            join(real, n, y + 2 * column, at, at + column, -1);
            i++;
        } else {
            join(real, n, y, at, NULL, 1);
        }
    }
}

static void give(const cfx_matrices *m, int64_t i, int n, const char *w,
                 const char *v)
{
    cfx_tensor *const *out = m->call->out;
    bool vectors = m->call->op->code != VALUES;
    size_t size = cfx_dtype_size(m->type);
    char *values = cfx_matrices_at(m, out[0], 1, i);
    char *to = vectors ? cfx_matrices_at(m, out[1], 2, i) : NULL;
    if (cfx_dtype_is_complex(m->type)) {
        memcpy(values, w, (size_t)n * size);
        if (vectors)
            memcpy(to, v, (size_t)n * (size_t)n * size);
        return;
    }
    const char *imaginary = w + (size_t)n * size;
    join(m->type, n, values, w, imaginary, 1);
    if (vectors)
        join_vectors(m->type, n, to, v, imaginary);
}

static int eig_each(const cfx_matrices *m, int64_t i, void *work)
{
    struct sizes s = sizes_of(m->call);
    int n = (int)cfx_tensor_size(m->like, m->like->rank - 1);
    char *w = (char *)work + s.a, *v = w + s.w, *own = v + s.v;
    if (!n)
        return 0;
    cfx_matrices_read(m, m->like, i, work);
    if (!cfx_numbers_are_finite(m->type, (int64_t)n * n, work))
        return -4;
    int info = cfx_lapack_geev(m->type, m->call->op->code != VALUES, n, work,
                               w, v, own,
                               (int)(s.own / cfx_work_item(m->type)));
    if (!info)
        give(m, i, n, w, v);
    return info;
}

static cfx_status eig_run(cfx_call *call)
{
    cfx_matrices m;
    cfx_status st = cfx_matrices_run(&m, call, cfx_call_tensor(call, SELF),
                                     sum(sizes_of(call)), eig_each);
    for (int64_t i = 0; i < m.n && !st; i++)
        if (m.info[i] == -4)
            st = cfx_call_fail(call, CFX_ENUMERIC,
                               "input tensor should not contain infs or NaNs");
    return st ? st
              : cfx_matrices_fail(call, m.info, m.n, m.like->rank == 2, NULL,
                                  CFX_FAILS_EIGEN);
}

#define EIG                                                                   \
    .params = params, .flags = CFX_OP_COMPLEX, .infer = eig_infer,            \
    .cost = eig_cost, .workspace = eig_workspace, .run = eig_run

const cfx_op cfx_op__linalg_eig = {
    .schema =
        "linalg_eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)",
    .aliases = "torch.linalg. torch._C._linalg.linalg_eig aten.",
    .doc = "Eigenvalues and eigenvectors of square matrices.",
    EIG,
};

const cfx_op cfx_op__linalg_eigvals = {
    .schema = "linalg_eigvals(Tensor self) -> Tensor",
    .aliases =
        "torch.linalg. torch._C._linalg.linalg_eigvals aten. aten._linalg_eigvals.default",
    .doc = "Eigenvalues of square matrices.",
    .code = VALUES,
    EIG,
};
