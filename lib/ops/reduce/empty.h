/*
 * empty.h -- the check of reductions that have no result for no elements.
 */
#ifndef CFX_OPS_REDUCE_EMPTY_H
#define CFX_OPS_REDUCE_EMPTY_H

#include "op/op_impl.h"

/* Fails with CFX_ESHAPE if x has an axis of no elements whose bit in `mask` is set. */
cfx_status cfx_reduce__check_axes(const cfx_call *call, const cfx_tensor *x,
                                  uint32_t mask);

#endif
