/*
 * check_errors -- what LAPACK reported of each matrix of a batch, as an error.
 *
 * shape   the result is None.
 * cost    none.
 */
#include <string.h>

#include "ops/linalg/matrices.h"

CFX_PARAMS(params, INFO, API_NAME, IS_MATRIX);

/* Words in the names of operators, as PyTorch looks for them, in its order. */
static const struct {
    const char *word;
    cfx_lapack_failure failure;
} failures[] = {
    {"inv", CFX_FAILS_INVERSE},       {"solve", CFX_FAILS_SOLVE},
    {"cholesky", CFX_FAILS_CHOLESKY}, {"eig", CFX_FAILS_EIGEN},
    {"svd", CFX_FAILS_SVD},           {"lu_factor", CFX_FAILS_LU},
    {"ldl_factor", CFX_FAILS_LDL},    {"lstsq", CFX_FAILS_LEAST_SQUARES},
};

static cfx_status check_errors_infer(cfx_call *call)
{
    const cfx_tensor *info = cfx_call_tensor(call, INFO);
    if (info->dtype != CFX_I32)
        return cfx_call_fail(call, CFX_EDTYPE,
                             "info must be of dtype int32, got %s",
                             cfx_dtypes[info->dtype].name);
    return cfx_infer_none(call);
}

static cfx_status check_errors_run(cfx_call *call)
{
    const cfx_tensor *info = cfx_call_tensor(call, INFO);
    const char *name = cfx_call_str(call, API_NAME);
    size_t n = sizeof(failures) / sizeof(*failures), i = 0;
    while (i < n && !strstr(name, failures[i].word))
        i++;
    if (i == n)
        return cfx_call_fail(call, CFX_EINVAL,
                             "'%s' is not an operator that has infos", name);
    return cfx_matrices_fail(call, info->data, cfx_tensor_numel(info),
                             cfx_call_bool(call, IS_MATRIX), name,
                             failures[i].failure);
}

const cfx_op cfx_op___linalg_check_errors = {
    .schema =
        "_linalg_check_errors(Tensor info, str api_name, *, bool is_matrix) -> any",
    .params = params,
    .aliases = "torch. aten.",
    .doc = "Fail if an info is not 0.",
    .flags = CFX_OP_EFFECT | CFX_OP_COPIES_TO_CONTIGUOUS,
    .infer = check_errors_infer,
    .run = check_errors_run,
};
