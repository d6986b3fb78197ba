/*
 * pack_weight.h -- make packed weights of the forms of ops/blocked/blocked_packed_weight.h,
 * in the eager scope of a pass. Not installed.
 */
#ifndef CFX_PASSES_PACK_WEIGHT_H
#define CFX_PASSES_PACK_WEIGHT_H

#include <cfx/scope.h>

/* (N, K) as (ceil(N / 16), K, 16), where rows past the last are zeros. A view. */
cfx_value cfx_pack__blocks(cfx_scope *s, cfx_value w);
/* (..., K, 16) as (..., K / n, 16, n); n divides K. A view. */
cfx_value cfx_pack__side_by_side(cfx_scope *s, cfx_value w, int n);
/* A row-major copy. */
cfx_value cfx_pack__contiguous(cfx_scope *s, cfx_value v);
/* (..., K, 16) as (..., K / 2, 16, 2) of bfloat16, row-major. */
cfx_value cfx_pack__pairs(cfx_scope *s, cfx_value w);

#endif
