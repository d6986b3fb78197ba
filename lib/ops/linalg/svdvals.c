/*
 * svdvals -- the singular values of matrices.
 *
 * shape   (..., min(n, m)) of (..., n, m).
 * cost    that of making a matrix bidiagonal (Golub and Kahan): 2 n k^2 -
 *         2/3 k^3 products of the longer side n and the shorter k.
 */
#include "base/stop.h"
#include "kernel/svd.h"
#include "op/cost.h"
#include "op/infer.h"

/* The shorter and the longer side. */
static void sides(const cfx_call *call, cfx_dim *k, cfx_dim *n)
{
    const cfx_tensor *x = cfx_call_tensor(call, 0);
    cfx_dim a = x->shape[x->rank - 2], b = x->shape[x->rank - 1];
    *k = cfx_dim_min(call->env, a, b);
    *n = cfx_dim_max(call->env, a, b);
}

static cfx_status svdvals_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, 0);
    cfx_dim shape[CFX_MAX_RANK], n;
    if (x->dtype != CFX_F32 && x->dtype != CFX_F64)
        return cfx_call_fail(call, CFX_EDTYPE,
                             "expected a tensor of float32 "
                             "or float64, got %s",
                             cfx_dtypes[x->dtype].name);
    if (x->rank < 2)
        return cfx_call_fail(call, CFX_ESHAPE,
                             "The input tensor A must have "
                             "at least 2 dimensions.");
    if (cfx_call_has(call, 1))
        return cfx_call_fail(call, CFX_EINVAL,
                             "keyword argument `driver=` is "
                             "only supported on CUDA inputs with cuSOLVER "
                             "backend.");
    for (int i = 0; i < x->rank - 2; i++)
        shape[i] = x->shape[i];
    sides(call, &shape[x->rank - 2], &n);
    return cfx_call_out(call, (cfx_dtype)x->dtype, x->rank - 1, shape);
}

static void svdvals_cost(const cfx_call *call, cfx_cost *cost)
{
    const cfx_tensor *x = cfx_call_tensor(call, 0);
    cfx_shape_env *env = call->env;
    cfx_dim k, n, two = cfx_dim_int(2);
    sides(call, &k, &n);
    cfx_dim side = cfx_dim_sub(env, cfx_dim_mul(env, cfx_dim_int(6), n),
                               cfx_dim_mul(env, two, k));
    cfx_dim each = cfx_dim_mul(env, cfx_dim_mul(env, k, k), side);
    uint32_t matrix = (uint32_t)3 << (x->rank - 2);
    cost->macs = cfx_dim_mul(env, cfx_cost_rows(call, x, matrix),
                             cfx_dim_floordiv(env, each, cfx_dim_int(3)));
}

static size_t svdvals_workspace(const cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, 0);
    size_t n = (size_t)cfx_tensor_size(x, x->rank - 2);
    size_t m = (size_t)cfx_tensor_size(x, x->rank - 1);
    return (n * m + (n < m ? n : m)) * sizeof(double);
}

/* The matrix at an index of the axes before it, by its shorter side. */
static void read_matrix(const cfx_tensor *x, int64_t *index, int64_t k,
                        int64_t n, double *a)
{
    int rows = x->rank - 2, columns = x->rank - 1;
    bool by_rows = cfx_tensor_size(x, rows) <= cfx_tensor_size(x, columns);
    for (int64_t i = 0; i < k; i++)
        for (int64_t j = 0; j < n; j++) {
            index[by_rows ? rows : columns] = i;
            index[by_rows ? columns : rows] = j;
            *a++ = cfx_element_double((cfx_dtype)x->dtype,
                                      cfx_tensor_at(x, index));
        }
}

static void next_matrix(const cfx_tensor *x, int64_t *index)
{
    for (int i = x->rank - 3; i >= 0; i--) {
        if (++index[i] < cfx_tensor_size(x, i))
            return;
        index[i] = 0;
    }
}

static cfx_status svdvals_run(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, 0), *y = call->out[0];
    int64_t rows = cfx_tensor_size(x, x->rank - 2);
    int64_t columns = cfx_tensor_size(x, x->rank - 1);
    int64_t k = rows < columns ? rows : columns, n = rows + columns - k;
    int64_t index[CFX_MAX_RANK] = {0};
    cfx_dtype type = (cfx_dtype)y->dtype;
    char *to = y->data;
    int64_t matrices = k ? cfx_tensor_numel(y) / k : 0;
    if (!matrices)
        return CFX_OK;
    double *a = call->work, *values = a + k * n;
    for (int64_t b = 0; b < matrices && !cfx_context_stops(call->ctx); b++) {
        read_matrix(x, index, k, n, a);
        if (!cfx_singular_values(call->ctx, a, k, n, values))
            return cfx_call_fail(call, CFX_EINVAL,
                                 "The algorithm failed to "
                                 "converge because the input matrix contained "
                                 "non-finite values.");
        for (int64_t i = 0; i < k; i++, to += cfx_dtype_size(type))
            cfx_element_set_double(type, to, values[i]);
        next_matrix(x, index);
    }
    return CFX_OK;
}

const cfx_op cfx_op__linalg_svdvals = {
    .schema = "linalg_svdvals(Tensor A, *, str? driver=None) -> Tensor",
    .aliases = "torch.linalg.svdvals aten.linalg_svdvals.default",
    .doc = "The singular values of matrices, in falling order.",
    .infer = svdvals_infer,
    .cost = svdvals_cost,
    .workspace = svdvals_workspace,
    .run = svdvals_run,
};
