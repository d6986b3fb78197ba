/*
 * pack_weight -- make packed weights.
 */
#include "interp/passes/lower/pack_weight.h"

#include <cfx/ops.h>

#include "ops/blocked/blocked_ops.h"

cfx_value cfx_pack__blocks(cfx_scope *s, cfx_value w)
{
    int64_t more = cfx_scope_failed(s)
                       ? 0
                       : -cfx_tensor_size(w.u.tensor, 0) & (CFX_BLOCK - 1);
    if (more)
        w = cfx_pad(
            s, w,
            cfx_list(s, cfx_int(0), cfx_int(0), cfx_int(0), cfx_int(more)));
    w = cfx_unflatten(s, w, cfx_int(0),
                      cfx_list(s, cfx_int(-1), cfx_int(CFX_BLOCK)));
    return cfx_transpose(s, w, cfx_int(1), cfx_int(2));
}

cfx_value cfx_pack__side_by_side(cfx_scope *s, cfx_value w, int n)
{
    w = cfx_unflatten(s, w, cfx_int(-2), cfx_list(s, cfx_int(-1), cfx_int(n)));
    return cfx_transpose(s, w, cfx_int(-2), cfx_int(-1));
}

cfx_value cfx_pack__contiguous(cfx_scope *s, cfx_value v)
{
    return cfx_clone(s, v, cfx_value_of_format(CFX_CONTIGUOUS_FORMAT));
}

cfx_value cfx_pack__pairs(cfx_scope *s, cfx_value w)
{
    w = cfx_pack__side_by_side(s, w, 2);
    return cfx_pack__contiguous(s, cfx_to(s, w, cfx_value_of_dtype(CFX_BF16)));
}
