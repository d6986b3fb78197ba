/*
 * convert_level.h -- the conversions and moves of this level.
 */
#ifndef CFX_CONVERT_LEVEL_H
#define CFX_CONVERT_LEVEL_H

#include "kernel/pointwise/pointwise_kernel.h"

#define CFX_CONVERT_TABLE CFX_LEVEL_NAME(cfx_convert)
extern cfx_convert_fn *const CFX_CONVERT_TABLE[CFX_NDTYPES][CFX_NDTYPES];

#define CFX_TRANSPOSE_TABLE CFX_LEVEL_NAME(cfx_transpose)
extern cfx_transpose_fn *const CFX_TRANSPOSE_TABLE[5];

#define CFX_STREAM CFX_LEVEL_NAME(cfx_stream)
void CFX_STREAM(void *y, const void *x, size_t bytes);

#endif
