/*
 * compare_rows -- undo the layout of an optimized image, and its narrower type.
 */
#include "interp/compare/compare_rows.h"

#include <cfx/ops.h>

#include "ops/blocked/blocked.h"

/* True if b may be image a in blocks of channels. */
static bool is_blocked(const cfx_tensor *b, const cfx_tensor *a)
{
    return a->rank == 4 && b->rank == 5 &&
           cfx_tensor_size(b, 1) ==
               (cfx_tensor_size(a, 1) + CFX_BLOCK - 1) / CFX_BLOCK &&
           cfx_tensor_size(b, 4) == CFX_BLOCK;
}

cfx_status cfx_compare__rows(cfx_value *out, cfx_context *ctx, cfx_value a,
                             cfx_value b, cfx_error *err)
{
    cfx_scope s;
    if (a.kind != CFX_TENSOR || b.kind != CFX_TENSOR ||
        !is_blocked(b.u.tensor, a.u.tensor))
        return CFX_OK;
    cfx_scope_init(&s, &cfx_eager_class, ctx, NULL);
    cfx_value rows = cfx_from_blocked(&s, b,
                                      cfx_value_of_dim(a.u.tensor->shape[1]));
    if (b.u.tensor->dtype == CFX_BF16 && a.u.tensor->dtype == CFX_F32)
        rows = cfx_to(&s, rows, cfx_value_of_dtype(CFX_F32));
    cfx_status st = cfx_scope_status(&s, err);
    if (!st)
        *out = cfx_keep(rows);
    cfx_scope_release(&s);
    return st;
}
