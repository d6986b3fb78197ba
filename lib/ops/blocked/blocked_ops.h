/*
 * blocked_ops.h -- the blocks of channels of torch.ops.cfx, for passes: CFX_BLOCK is
 * the number of channels in one, CFX_QUAD that of the uint8 that are multiplied at
 * once, CFX_QUANTIZED_DEPTH that of products in a sum; cfx_blocked_bfloat16 tells
 * how bfloat16 is multiplied.
 */
#ifndef CFX_OPS_BLOCKED_H
#define CFX_OPS_BLOCKED_H

#include "kernel/blocked/quantized.h"

#endif
