/*
 * matrices -- operators that call LAPACK for each matrix of a batch: checks,
 * results, threads, infos.
 */
#include "ops/linalg/matrices.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- Shapes ---- */

/* LAPACK counts in int. */
static bool fits(cfx_dim n)
{
    return !cfx_dim_is_int(n) || cfx_dim_value(n) <= INT_MAX;
}

cfx_status cfx_matrices_check(const cfx_call *call, int k)
{
    const cfx_tensor *x = cfx_call_tensor(call, k);
    bool complex = cfx_dtype_is_complex((cfx_dtype)x->dtype);
    cfx_status st = complex ? CFX_OK
                            : cfx_infer_need_float(call, (cfx_dtype)x->dtype);
    if (st)
        return st;
    if (x->dtype != CFX_F32 && x->dtype != CFX_F64 && !complex)
        return cfx_call_fail(call, CFX_EDTYPE,
                             "Low precision dtypes not supported. Got %s",
                             cfx_dtypes[x->dtype].name);
    if (x->rank < 2)
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "The input tensor %s must have at least 2 dimensions.",
            call->schema->params[cfx_call_place(call, k)].name);
    if (!fits(cfx_rows(x)) || !fits(cfx_columns(x)))
        return cfx_call_fail(
            call, CFX_EUNSUPPORTED,
            "LAPACK takes matrices of at most %d rows and columns", INT_MAX);
    return CFX_OK;
}

cfx_status cfx_matrices_check_square(const cfx_call *call, int k)
{
    const cfx_tensor *x = cfx_call_tensor(call, k);
    char rows[64], columns[64];
    cfx_status st = cfx_matrices_check(call, k);
    if (st || cfx_dim_eq(call->env, cfx_rows(x), cfx_columns(x)))
        return st;
    cfx_dim_format(cfx_rows(x), rows, sizeof(rows));
    cfx_dim_format(cfx_columns(x), columns, sizeof(columns));
    return cfx_call_fail(
        call, CFX_ESHAPE,
        "%s must be batches of square matrices, but they are %s by %s matrices",
        call->schema->params[cfx_call_place(call, k)].name, rows, columns);
}

cfx_status cfx_matrices_check_type(const cfx_call *call, int k,
                                   const cfx_tensor *x)
{
    const cfx_tensor *y = cfx_call_tensor(call, k);
    const char *name = call->schema->params[cfx_call_place(call, k)].name;
    if (y->dtype == x->dtype)
        return CFX_OK;
    return cfx_call_fail(call, CFX_EDTYPE,
                         "Expected %s to have the dtype %s, but got %s", name,
                         cfx_dtypes[x->dtype].name, cfx_dtypes[y->dtype].name);
}

cfx_batch cfx_batch_of(const cfx_tensor *x, int core)
{
    cfx_batch b = {.rank = x->rank - core};
    for (int i = 0; i < b.rank; i++)
        b.shape[i] = x->shape[i];
    return b;
}

cfx_status cfx_batch_join(const cfx_call *call, cfx_batch *b,
                          const cfx_tensor *x, int core)
{
    return cfx_infer_broadcast(call, &b->rank, b->shape, x->rank - core,
                               x->shape);
}

static cfx_status check_rank(const cfx_call *call, const cfx_batch *b,
                             int core)
{
    return b->rank + core <= CFX_MAX_RANK
               ? CFX_OK
               : cfx_call_fail(call, CFX_EUNSUPPORTED,
                               "a result of rank %d is more than %d",
                               b->rank + core, CFX_MAX_RANK);
}

cfx_status cfx_matrices_out(cfx_call *call, cfx_dtype type, const cfx_batch *b,
                            cfx_dim rows, cfx_dim columns)
{
    cfx_dim shape[CFX_MAX_RANK], stride[CFX_MAX_RANK];
    int rank = b->rank + 2;
    cfx_status st = check_rank(call, b, 2);
    if (st)
        return st;
    memcpy(shape, b->shape, sizeof(b->shape));
    shape[rank - 2] = columns;
    shape[rank - 1] = rows;
    cfx_strides_of(call->env, CFX_CONTIGUOUS_FORMAT, rank, shape, stride);
    cfx_dim swap = stride[rank - 1];
    stride[rank - 1] = stride[rank - 2];
    stride[rank - 2] = swap;
    shape[rank - 2] = rows;
    shape[rank - 1] = columns;
    return cfx_call_out_strided(call, type, rank, shape, stride);
}

cfx_status cfx_vectors_out(cfx_call *call, cfx_dtype type, const cfx_batch *b,
                           cfx_dim n)
{
    cfx_dim shape[CFX_MAX_RANK];
    cfx_status st = check_rank(call, b, 1);
    if (st)
        return st;
    memcpy(shape, b->shape, sizeof(b->shape));
    shape[b->rank] = n;
    return cfx_call_out(call, type, b->rank + 1, shape);
}

cfx_status cfx_numbers_out(cfx_call *call, cfx_dtype type, const cfx_batch *b)
{
    return cfx_call_out(call, type, b->rank, b->shape);
}

cfx_status cfx_nothing_out(cfx_call *call, cfx_dtype type)
{
    const cfx_dim none = cfx_dim_int(0);
    return cfx_call_out(call, type, 1, &none);
}

/* ---- Costs ---- */

cfx_dim cfx_matrices_macs(const cfx_call *call, const cfx_tensor *x,
                          int64_t times, int64_t over, cfx_dim n, cfx_dim m,
                          cfx_dim k)
{
    cfx_shape_env *env = call->env;
    cfx_dim each = cfx_dim_mul(env, cfx_dim_mul(env, n, m),
                               cfx_dim_mul(env, k, cfx_dim_int(times)));
    if (cfx_dtype_is_complex((cfx_dtype)x->dtype))
        each = cfx_dim_mul(env, each, cfx_dim_int(4));
    if (over != 1)
        each = cfx_dim_floordiv(env, each, cfx_dim_int(over));
    uint32_t matrix = (uint32_t)3 << (x->rank - 2);
    return cfx_dim_mul(env, cfx_cost_rows(call, x, matrix), each);
}

cfx_dim cfx_matrices_tall_macs(const cfx_call *call, const cfx_tensor *x,
                               int64_t over)
{
    cfx_shape_env *env = call->env;
    cfx_dim k = cfx_dim_min(env, cfx_rows(x), cfx_columns(x));
    cfx_dim l = cfx_dim_max(env, cfx_rows(x), cfx_columns(x));
    cfx_dim side = cfx_cost_linear(call, 3, l, -1, k);
    return cfx_matrices_macs(call, x, 1, over, side, k, k);
}

/* ---- Runs ---- */

static int64_t count(const cfx_tensor *x, int core)
{
    int64_t n = 1;
    for (int i = 0; i < x->rank - core; i++)
        n *= cfx_tensor_size(x, i);
    return n;
}

static size_t infos_size(int64_t n)
{
    return cfx_work_size((size_t)n, sizeof(int));
}

size_t cfx_matrices_workspace(const cfx_call *call, const cfx_tensor *like,
                              int core, size_t bytes)
{
    int64_t n = count(like, core);
    size_t slices = n == 1 ? 1 : (size_t)cfx_context_threads(call->ctx);
    return infos_size(n) + slices * bytes + 64;
}

struct pieces {
    const cfx_matrices *m;
    cfx_matrix_fn *fn;
    char *work;
};

static void piece(void *arg, int64_t begin, int64_t end, int worker)
{
    const struct pieces *p = arg;
    for (int64_t i = begin; i < end; i++)
        p->m->info[i] = p->fn(p->m, i, p->work + (size_t)worker * p->m->slice);
}

/* Matrices in a piece: one if it takes more than some microseconds. */
static int64_t grain(const cfx_tensor *like)
{
    double rows = (double)cfx_tensor_size(like, like->rank - 2);
    double columns = (double)cfx_tensor_size(like, like->rank - 1);
    return 1 + (int64_t)(16384 / (1 + rows * columns * (rows + columns)));
}

cfx_status cfx_matrices_each(cfx_matrices *m, cfx_call *call,
                             const cfx_tensor *like, size_t bytes,
                             cfx_matrix_fn *fn)
{
    *m = (cfx_matrices){.call = call,
                        .type = (cfx_dtype)like->dtype,
                        .like = like,
                        .n = count(like, 2),
                        .slice = bytes,
                        .info = call->work};
    struct pieces p = {m, fn, (char *)call->work + infos_size(m->n)};
    if (m->n == 1)
        piece(&p, 0, 1, 0);
    else
        cfx_parallel_for(call->ctx, m->n, grain(like), piece, &p);
    return cfx_context_check(call->ctx, call->err);
}

cfx_status cfx_matrices_run(cfx_matrices *m, cfx_call *call,
                            const cfx_tensor *like, size_t bytes,
                            cfx_matrix_fn *fn)
{
    if (!cfx_have_lapack())
        return cfx_call_fail(
            call, CFX_EUNSUPPORTED,
            "needs LAPACK, which this build lacks: configure cfx where OpenBLAS is installed");
    if (bytes / sizeof(double) > INT_MAX)
        return cfx_call_fail(
            call, CFX_EUNSUPPORTED,
            "the matrices are too large for LAPACK's workspace");
    return cfx_matrices_each(m, call, like, bytes, fn);
}

void *cfx_matrices_at(const cfx_matrices *m, const cfx_tensor *x, int core,
                      int64_t i)
{
    int64_t at = 0;
    for (int a = m->like->rank - 3, b = x->rank - core - 1; a >= 0; a--, b--) {
        int64_t n = cfx_tensor_size(m->like, a);
        if (b >= 0 && cfx_tensor_size(x, b) != 1)
            at += i % n * cfx_tensor_stride(x, b);
        i /= n;
    }
    return (char *)x->data + at * (int64_t)cfx_dtype_size((cfx_dtype)x->dtype);
}

/* Tiles keep both sides in the cache. */
#define READ(T)                                                               \
    static void read_##T(T *to, const T *from, int64_t rows, int64_t columns, \
                         int64_t row, int64_t column)                         \
    {                                                                         \
        enum { TILE = 32 };                                                   \
        for (int64_t c0 = 0; c0 < columns; c0 += TILE)                        \
            for (int64_t r0 = 0; r0 < rows; r0 += TILE)                       \
                for (int64_t c = c0; c < columns && c < c0 + TILE; c++)       \
                    for (int64_t r = r0; r < rows && r < r0 + TILE; r++)      \
                        to[c * rows + r] = from[c * column + r * row];        \
    }

typedef struct complex64 {
    float part[2];
} complex64;
typedef struct complex128 {
    double part[2];
} complex128;

READ(float)
READ(double)
READ(complex64)
READ(complex128)

void cfx_matrices_read(const cfx_matrices *m, const cfx_tensor *x, int64_t i,
                       void *to)
{
    const void *from = cfx_matrices_at(m, x, 2, i);
    int64_t rows = cfx_tensor_size(x, x->rank - 2);
    int64_t columns = cfx_tensor_size(x, x->rank - 1);
    int64_t row = cfx_tensor_stride(x, x->rank - 2);
    int64_t column = cfx_tensor_stride(x, x->rank - 1);
    if (m->type == CFX_C128)
        read_complex128(to, from, rows, columns, row, column);
    else if (m->type == CFX_C64)
        read_complex64(to, from, rows, columns, row, column);
    else if (m->type == CFX_F64)
        read_double(to, from, rows, columns, row, column);
    else
        read_float(to, from, rows, columns, row, column);
}

const void *cfx_matrices_factor(const cfx_matrices *m, const cfx_tensor *x,
                                int64_t i, void *work)
{
    if (cfx_tensor_stride(x, x->rank - 2) == 1 &&
        cfx_tensor_stride(x, x->rank - 1) == cfx_tensor_size(x, x->rank - 2))
        return cfx_matrices_at(m, x, 2, i);
    cfx_matrices_read(m, x, i, work);
    return work;
}

void cfx_vectors_read_int(const cfx_matrices *m, const cfx_tensor *x,
                          int64_t i, int *to)
{
    const void *from = cfx_matrices_at(m, x, 1, i);
    int64_t n = cfx_tensor_size(x, x->rank - 1);
    int64_t step = cfx_tensor_stride(x, x->rank - 1);
    for (int64_t k = 0; k < n; k++) {
        int64_t v = x->dtype == CFX_I32 ? ((const int32_t *)from)[k * step]
                                        : ((const int64_t *)from)[k * step];
        to[k] = v >= -INT_MAX && v <= INT_MAX ? (int)v : 0;
    }
}

cfx_status cfx_matrices_copy(const cfx_call *call, cfx_tensor *y,
                             const cfx_tensor *x)
{
    cfx_dim stride[CFX_MAX_RANK];
    cfx_tensor *wide;
    for (int a = y->rank - 1, b = x->rank - 1; a >= 0; a--, b--)
        stride[a] = b >= 0 && !cfx_dim_is(x->shape[b], 1) ? x->stride[b]
                                                          : cfx_dim_int(0);
    cfx_status st = cfx_tensor_view(&wide, x, y->rank, y->shape, stride,
                                    x->offset, call->err);
    if (st)
        return st;
    st = cfx_tensor_copy(y, wide, call->err);
    cfx_tensor_unref(wide);
    return st;
}

void cfx_matrix_clear(cfx_dtype t, bool upper, int64_t rows, int64_t columns,
                      void *a)
{
    size_t size = cfx_dtype_size(t);
    for (int64_t c = 0; c < columns; c++) {
        int64_t from = upper ? 0 : c + 1, to = upper && c < rows ? c : rows;
        if (from < to)
            memset((char *)a + (size_t)(c * rows + from) * size, 0,
                   (size_t)(to - from) * size);
    }
}

/* Complex numbers are two real ones each. */
static cfx_dtype halves(cfx_dtype t, int64_t *n)
{
    *n *= cfx_dtype_is_complex(t) ? 2 : 1;
    return cfx_dtype_real(t);
}

void cfx_numbers_conjugate(cfx_dtype t, int64_t n, void *a)
{
    if (t == CFX_C128)
        for (int64_t i = 0; i < n; i++)
            ((double *)a)[2 * i + 1] *= -1;
    else if (t == CFX_C64)
        for (int64_t i = 0; i < n; i++)
            ((float *)a)[2 * i + 1] *= -1;
}

bool cfx_numbers_are_finite(cfx_dtype t, int64_t n, const void *a)
{
    t = halves(t, &n);
    for (int64_t i = 0; i < n; i++)
        if (t == CFX_F64 ? !isfinite(((const double *)a)[i])
                         : !isfinite(((const float *)a)[i]))
            return false;
    return true;
}

bool cfx_numbers_have_nan(cfx_dtype t, int64_t n, const void *a)
{
    t = halves(t, &n);
    for (int64_t i = 0; i < n; i++)
        if (t == CFX_F64 ? isnan(((const double *)a)[i])
                         : isnan(((const float *)a)[i]))
            return true;
    return false;
}

void cfx_matrix_identity(cfx_dtype t, int64_t n, void *a)
{
    memset(a, 0, (size_t)(n * n) * cfx_dtype_size(t));
    for (int64_t i = 0; i < n; i++)
        cfx_element_set_double(
            t, (char *)a + (size_t)(i * n + i) * cfx_dtype_size(t), 1);
}

/* ---- Failures ---- */

static cfx_status fail(const cfx_call *call, const char *where, int info,
                       cfx_lapack_failure failure)
{
    switch (failure) {
    case CFX_FAILS_CHOLESKY:
        return cfx_call_fail(
            call, CFX_ENUMERIC,
            "%sThe factorization could not be completed because the input is not positive-definite (the leading minor of order %d is not positive-definite).",
            where, info);
    case CFX_FAILS_INVERSE:
        return cfx_call_fail(
            call, CFX_ENUMERIC,
            "%sThe diagonal element %d is zero, the inversion could not be completed because the input matrix is singular.",
            where, info);
    case CFX_FAILS_SOLVE:
        return cfx_call_fail(
            call, CFX_ENUMERIC,
            "%sThe solver failed because the input matrix is singular.",
            where);
    case CFX_FAILS_LU:
        return cfx_call_fail(
            call, CFX_ENUMERIC,
            "%sU[%d,%d] is zero and using it on lu_solve would result in a division by zero. If you still want to perform the factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)",
            where, info, info);
    case CFX_FAILS_LDL:
        return cfx_call_fail(
            call, CFX_ENUMERIC,
            "%sD[%d,%d] is zero and using it on ldl_solve would result in a division by zero",
            where, info, info);
    case CFX_FAILS_EIGEN:
        return cfx_call_fail(
            call, CFX_ENUMERIC,
            "%sThe algorithm failed to converge because the input matrix is ill-conditioned or has too many repeated eigenvalues (error code: %d).",
            where, info);
    case CFX_FAILS_SVD:
        return cfx_call_fail(
            call, CFX_ENUMERIC,
            info == -4
                ? "%sThe algorithm failed to converge because the input matrix contained non-finite values."
                : "%sThe algorithm failed to converge because the input matrix is ill-conditioned or has too many repeated singular values.",
            where);
    case CFX_FAILS_PIVOTS:
        return cfx_call_fail(call, CFX_EINVAL,
                             "%spivots are not those of a factorization",
                             where);
    default:
        return cfx_call_fail(
            call, CFX_ENUMERIC,
            "%sThe least squares problem could not be solved because the input matrix does not have full rank (error code: %d).",
            where, info);
    }
}

cfx_status cfx_matrices_fail(const cfx_call *call, const int *info, int64_t n,
                             bool single, const char *name,
                             cfx_lapack_failure failure)
{
    char where[128], element[48] = "";
    for (int64_t i = 0; i < n; i++) {
        if (!info[i])
            continue;
        if (!single)
            snprintf(element, sizeof(element),
                     "(Batch element %lld): ", (long long)i);
        snprintf(where, sizeof(where), "%.64s%s%s", name ? name : "",
                 name ? ": " : "", element);
        return fail(call, where, info[i], failure);
    }
    return CFX_OK;
}

cfx_status cfx_matrices_finish(const cfx_matrices *m, int k, bool quiet,
                               cfx_lapack_failure failure)
{
    if (k < m->call->nout && m->n)
        memcpy(m->call->out[k]->data, m->info, (size_t)m->n * sizeof(int));
    if (quiet)
        return CFX_OK;
    return cfx_matrices_fail(m->call, m->info, m->n, m->like->rank == 2, NULL,
                             failure);
}
