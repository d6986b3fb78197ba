/*
 * matrices.h -- operators that call LAPACK for each matrix of a batch. Not
 * installed.
 *
 * The last axes of a tensor are its matrices (two axes), vectors (one) or
 * numbers (none); those before are the batch. LAPACK works in place on
 * column-major results, into which the operator copies its argument first.
 * Each thread has a slice of the workspace, and each matrix an info.
 */
#ifndef CFX_MATRICES_H
#define CFX_MATRICES_H

#include "kernel/lapack.h"
#include "op/op_cost.h"
#include "op/infer.h"

/* ---- Shapes ---- */

CFX_INLINE cfx_dim cfx_rows(const cfx_tensor *x)
{
    return x->shape[x->rank - 2];
}
CFX_INLINE cfx_dim cfx_columns(const cfx_tensor *x)
{
    return x->shape[x->rank - 1];
}

/* Fail unless parameter k has matrices of a type and extents that LAPACK
 * takes; and unless they are square. */
cfx_status cfx_matrices_check(const cfx_call *call, int k);
cfx_status cfx_matrices_check_square(const cfx_call *call, int k);
/* Fail unless parameter k has the type of x and its rank. */
cfx_status cfx_matrices_check_type(const cfx_call *call, int k,
                                   const cfx_tensor *x);

/* Extents before the matrices. */
typedef struct cfx_batch {
    int rank;
    cfx_dim shape[CFX_MAX_RANK];
} cfx_batch;

/* Those of x, without its last `core` axes. */
cfx_batch cfx_batch_of(const cfx_tensor *x, int core);
/* Broadcast with those of x. */
cfx_status cfx_batch_join(const cfx_call *call, cfx_batch *b,
                          const cfx_tensor *x, int core);

/* Append results: column-major matrices, vectors, numbers; and the tensor of
 * shape (0) that stands for a result that was not asked for. */
cfx_status cfx_matrices_out(cfx_call *call, cfx_dtype type, const cfx_batch *b,
                            cfx_dim rows, cfx_dim columns);
cfx_status cfx_vectors_out(cfx_call *call, cfx_dtype type, const cfx_batch *b,
                           cfx_dim n);
cfx_status cfx_numbers_out(cfx_call *call, cfx_dtype type, const cfx_batch *b);
cfx_status cfx_nothing_out(cfx_call *call, cfx_dtype type);

/* ---- Costs ---- */

/* `times` n * m * k / `over` multiply-adds for each matrix of x. */
cfx_dim cfx_matrices_macs(const cfx_call *call, const cfx_tensor *x,
                          int64_t times, int64_t over, cfx_dim n, cfx_dim m,
                          cfx_dim k);
/* Add (3 l - k) k^2 / `over` for each m x n matrix of x, of shorter side k and
 * longer side l. */
cfx_dim cfx_matrices_tall_macs(const cfx_call *call, const cfx_tensor *x,
                               int64_t over);

/* ---- Runs ---- */

/* A run: `fn` is called for each matrix of the batch, on the pool's threads. */
typedef struct cfx_matrices {
    cfx_call *call;
    cfx_dtype type;
    const cfx_tensor *like; /* its batch is the run's; its matrices have 2 axes
                               */
    int64_t n;              /* matrices in the batch */
    size_t slice;           /* bytes of workspace that `fn` gets */
    int *info;              /* one for each matrix */
} cfx_matrices;

/* Returns the info of matrix i. `work` is aligned for any type. */
typedef int cfx_matrix_fn(const cfx_matrices *m, int64_t i, void *work);

/* The workspace of a run over a tensor whose items have `core` axes; `bytes` is
 * the size of a slice. */
size_t cfx_matrices_workspace(const cfx_call *call, const cfx_tensor *like,
                              int core, size_t bytes);
/* The second fails if there is no LAPACK. */
cfx_status cfx_matrices_each(cfx_matrices *m, cfx_call *call,
                             const cfx_tensor *like, size_t bytes,
                             cfx_matrix_fn *fn);
cfx_status cfx_matrices_run(cfx_matrices *m, cfx_call *call,
                            const cfx_tensor *like, size_t bytes,
                            cfx_matrix_fn *fn);

/* The first element of item i of a tensor whose items have `core` axes; its
 * batch is broadcast to the run's. */
void *cfx_matrices_at(const cfx_matrices *m, const cfx_tensor *x, int core,
                      int64_t i);
/* Copy item i of x, a matrix, to column-major memory. */
void cfx_matrices_read(const cfx_matrices *m, const cfx_tensor *x, int64_t i,
                       void *to);
/* Item i of x in column-major memory without gaps: itself, or copied to
 * `work`. */
const void *cfx_matrices_factor(const cfx_matrices *m, const cfx_tensor *x,
                                int64_t i, void *work);
/* Copy item i of x, a vector of int32 or int64; what does not fit is 0. */
void cfx_vectors_read_int(const cfx_matrices *m, const cfx_tensor *x,
                          int64_t i, int *to);
/* Copy the batch of x, broadcast, into y. */
cfx_status cfx_matrices_copy(const cfx_call *call, cfx_tensor *y,
                             const cfx_tensor *x);
/* Zero what is strictly above (`upper`) or below the diagonal of a column-major
 * matrix. */
void cfx_matrix_clear(cfx_dtype t, bool upper, int64_t rows, int64_t columns,
                      void *a);

/* Conjugate n numbers, if they are complex. */
void cfx_numbers_conjugate(cfx_dtype t, int64_t n, void *a);
void cfx_matrix_identity(cfx_dtype t, int64_t n, void *a);
/* Are n numbers finite? LAPACK's iterations may not end if they are not. */
bool cfx_numbers_are_finite(cfx_dtype t, int64_t n, const void *a);
bool cfx_numbers_have_nan(cfx_dtype t, int64_t n, const void *a);

/* The size of an element of LAPACK's own work. */
CFX_INLINE size_t cfx_work_item(cfx_dtype t)
{
    return t == CFX_C128 ? 2 * sizeof(double) : sizeof(double);
}
/* Sizes of a workspace's parts, each aligned. */
CFX_INLINE size_t cfx_work_size(size_t n, size_t size)
{
    return (n * size + 63) & ~(size_t)63;
}

/* ---- Failures ---- */

typedef enum cfx_lapack_failure {
    CFX_FAILS_CHOLESKY,
    CFX_FAILS_INVERSE,
    CFX_FAILS_SOLVE,
    CFX_FAILS_LU,
    CFX_FAILS_LDL,
    CFX_FAILS_EIGEN,
    CFX_FAILS_SVD,
    CFX_FAILS_LEAST_SQUARES,
    CFX_FAILS_PIVOTS
} cfx_lapack_failure;

/* Fail, with PyTorch's message, for the first info that is not 0 of n; a single
 * matrix has no number. `name` is that of another operator, or NULL. */
cfx_status cfx_matrices_fail(const cfx_call *call, const int *info, int64_t n,
                             bool single, const char *name,
                             cfx_lapack_failure failure);
/* Give the infos to result k, if the call has it, and fail for them unless
 * `quiet`. */
cfx_status cfx_matrices_finish(const cfx_matrices *m, int k, bool quiet,
                               cfx_lapack_failure failure);

#endif
