/*
 * blocked_quantized.h -- what quantized_linear and dynamic_quantized_linear share.
 */
#ifndef CFX_BLOCKED_QUANTIZED_H
#define CFX_BLOCKED_QUANTIZED_H

#include "kernel/blocked/quantized.h"
#include "op/op_impl.h"

/* Check x (..., K) and w (ceil(columns / 16), K / 4, 16, 4); `shape` becomes that of the
 * result. Fails with CFX_ESHAPE, or with CFX_EUNSUPPORTED if sums might overflow. */
cfx_status cfx_quantized_linear_shape(const cfx_call *call,
                                      const cfx_tensor *x, const cfx_tensor *w,
                                      cfx_dim columns, cfx_dim *shape);
/* The product for the result y, without its pointers. */
cfx_quantized_product cfx_quantized_linear_product(const cfx_tensor *w,
                                                   const cfx_tensor *y);

#endif
