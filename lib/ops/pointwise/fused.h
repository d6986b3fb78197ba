/*
 * fused.h -- the limits of torch.ops.cfx.fused_pointwise, for passes. Not
 * installed.
 */
#ifndef CFX_FUSED_H
#define CFX_FUSED_H

enum {
    CFX_FUSED_STEPS = 16, /* most steps */
    CFX_FUSED_INPUTS = 4, /* most operands that are computed in one pass */
    CFX_FUSED_ARGS = 8    /* most arguments of a step, by place or keyword */
};

#endif
