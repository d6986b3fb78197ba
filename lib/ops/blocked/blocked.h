/*
 * blocked.h -- the blocks of channels of torch.ops.cfx, for passes: CFX_BLOCK is
 * the number of channels in one.
 */
#ifndef CFX_OPS_BLOCKED_H
#define CFX_OPS_BLOCKED_H

#include "kernel/blocked/blocked.h"

#endif
