/*
 * lu -- the matrices P, L and U, from the factors of lu_factor.
 *
 * shape   of (..., n, m): P (..., n, n), L (..., n, k), U (..., k, m), k the
 *         shorter side. What is not asked for has shape (0).
 * cost    lu_unpack: no arithmetic. linalg_lu: that of lu_factor.
 */
#include <string.h>

#include "op/composite.h"
#include "ops/linalg/matrices.h"

CFX_PARAMS(params, LU_DATA, LU_PIVOTS, UNPACK_DATA, UNPACK_PIVOTS, A, PIVOT);

static cfx_status check_pivots(cfx_call *call, const cfx_tensor *lu)
{
    const cfx_tensor *p = cfx_call_tensor(call, LU_PIVOTS);
    if (p->dtype != CFX_I32 || !p->rank)
        return cfx_call_fail(
            call, CFX_EDTYPE,
            "LU_pivots is expected to be a contiguous tensor of torch.int32 dtype");
    for (int a = lu->rank - 3, b = p->rank - 2; a >= 0 && b >= 0; a--, b--)
        if (!cfx_dim_known_eq(call->env, p->shape[b], cfx_dim_int(1)) &&
            !cfx_dim_eq(call->env, p->shape[b], lu->shape[a]))
            return cfx_call_fail(call, CFX_ESHAPE,
                                 "LU_pivots must have the batch of LU_data");
    cfx_dim k = cfx_dim_min(call->env, cfx_rows(lu), cfx_columns(lu));
    return cfx_dim_eq(call->env, p->shape[p->rank - 1], k)
               ? CFX_OK
               : cfx_call_fail(
                     call, CFX_ESHAPE,
                     "LU_pivots must have an element for each row or column of LU_data, whichever are fewer");
}

/* Row-major matrices. */
static cfx_status rows_out(cfx_call *call, const cfx_tensor *x, cfx_dim rows,
                           cfx_dim columns)
{
    cfx_dim shape[CFX_MAX_RANK];
    memcpy(shape, x->shape, (size_t)x->rank * sizeof(*shape));
    shape[x->rank - 2] = rows;
    shape[x->rank - 1] = columns;
    return cfx_call_out(call, (cfx_dtype)x->dtype, x->rank, shape);
}

static cfx_status lu_unpack_infer(cfx_call *call)
{
    const cfx_tensor *lu = cfx_call_tensor(call, LU_DATA);
    cfx_dtype type = (cfx_dtype)lu->dtype;
    bool data = cfx_call_bool(call, UNPACK_DATA);
    bool pivots = cfx_call_bool(call, UNPACK_PIVOTS);
    cfx_status st = cfx_matrices_check(call, LU_DATA);
    if (!st && pivots)
        st = check_pivots(call, lu);
    if (st)
        return st;
    cfx_dim n = cfx_rows(lu), m = cfx_columns(lu);
    cfx_dim k = cfx_dim_min(call->env, n, m);
    st = pivots ? rows_out(call, lu, n, n) : cfx_nothing_out(call, type);
    if (!st)
        st = data ? rows_out(call, lu, n, k) : cfx_nothing_out(call, type);
    if (st)
        return st;
    return data ? rows_out(call, lu, k, m) : cfx_nothing_out(call, type);
}

static size_t order_size(const cfx_tensor *lu)
{
    return cfx_work_size((size_t)cfx_tensor_size(lu, lu->rank - 2),
                         sizeof(int));
}

static size_t lu_unpack_workspace(const cfx_call *call)
{
    const cfx_tensor *lu = cfx_call_tensor(call, LU_DATA);
    return cfx_matrices_workspace(call, lu, 2, order_size(lu));
}

/* Exchange the rows of the identity, in the order of LAPACK's pivots. */
static bool give_p(const cfx_matrices *m, int64_t i, int *order)
{
    const cfx_tensor *y = m->call->out[0];
    const cfx_tensor *pivots = cfx_call_tensor(m->call, LU_PIVOTS);
    const int32_t *pivot = cfx_matrices_at(m, pivots, 1, i);
    int64_t n = cfx_tensor_size(y, y->rank - 1);
    int64_t step = cfx_tensor_stride(pivots, pivots->rank - 1);
    size_t size = cfx_dtype_size(m->type);
    char *p = cfx_matrices_at(m, y, 2, i);
    for (int r = 0; r < n; r++)
        order[r] = r;
    for (int64_t r = 0, k = cfx_tensor_size(pivots, pivots->rank - 1); r < k;
         r++) {
        int32_t other = pivot[r * step];
        if (other < 1 || other > n)
            return false;
        int swap = order[r];
        order[r] = order[other - 1];
        order[other - 1] = swap;
    }
    memset(p, 0, (size_t)(n * n) * size);
    for (int64_t r = 0; r < n; r++)
        cfx_element_set_double(m->type, p + (size_t)(order[r] * n + r) * size,
                               1);
    return true;
}

/* The part below (L, with ones on the diagonal) or above it, row-major. */
static void give_part(const cfx_matrices *m, int k, int64_t i)
{
    const cfx_tensor *y = m->call->out[k], *x = m->like;
    int64_t rows = cfx_tensor_size(y, y->rank - 2);
    int64_t columns = cfx_tensor_size(y, y->rank - 1);
    int64_t row = cfx_tensor_stride(x, x->rank - 2);
    int64_t column = cfx_tensor_stride(x, x->rank - 1);
    size_t size = cfx_dtype_size(m->type);
    const char *from = cfx_matrices_at(m, x, 2, i);
    char *to = cfx_matrices_at(m, y, 2, i);
    bool lower = k == 1;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < columns; c++, to += size)
            if (lower ? c < r : c >= r)
                memcpy(to, from + (r * row + c * column) * (int64_t)size,
                       size);
            else
                cfx_element_set_double(m->type, to, c == r);
}

static int lu_unpack_each(const cfx_matrices *m, int64_t i, void *work)
{
    if (cfx_call_bool(m->call, UNPACK_DATA)) {
        give_part(m, 1, i);
        give_part(m, 2, i);
    }
    return cfx_call_bool(m->call, UNPACK_PIVOTS) && !give_p(m, i, work);
}

static cfx_status lu_unpack_run(cfx_call *call)
{
    const cfx_tensor *lu = cfx_call_tensor(call, LU_DATA);
    cfx_matrices m;
    cfx_status st = cfx_matrices_each(&m, call, lu, order_size(lu),
                                      lu_unpack_each);
    return st ? st
              : cfx_matrices_fail(call, m.info, m.n, m.like->rank == 2, NULL,
                                  CFX_FAILS_PIVOTS);
}

const cfx_op cfx_op__lu_unpack = {
    .schema =
        "lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True) -> (Tensor P, Tensor L, Tensor U)",
    .params = params,
    .aliases = "torch. aten.",
    .doc = "P, L and U from the factors and pivots of lu_factor.",
    .flags = CFX_OP_COMPLEX,
    .infer = lu_unpack_infer,
    .workspace = lu_unpack_workspace,
    .run = lu_unpack_run,
};

static cfx_value linalg_lu_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value pivot[] = {cfx_str(s, "pivot"), cfx_call_value(call, PIVOT)};
    cfx_value args[] = {cfx_call_value(call, A)};
    cfx_value all = cfx_call_function(s, "torch.linalg.lu_factor_ex",
                                      (cfx_args){args, 1, pivot, 1});
    return CFX_CALL(s, "torch.lu_unpack", cfx_nth(s, all, 0),
                    cfx_nth(s, all, 1));
}

CFX_COMPOSITE(linalg_lu)

const cfx_op cfx_op__linalg_lu = {
    .schema =
        "linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)",
    .params = params,
    .aliases = "torch.linalg. aten.",
    .doc =
        "Matrices as products of a permutation, a lower and an upper triangle.",
    .flags = CFX_OP_COMPLEX,
    .infer = linalg_lu_infer,
    .cost = linalg_lu_cost,
    .run = linalg_lu_run,
};
