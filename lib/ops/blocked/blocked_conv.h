/*
 * blocked_conv.h -- depthwise convolutions in blocks of channels, as an operator and as a
 * post-operation. Not installed.
 */
#ifndef CFX_OPS_BLOCKED_CONV_H
#define CFX_OPS_BLOCKED_CONV_H

#include "ops/blocked/blocked_post_ops.h"
#include "ops/blocked/blocked_window.h"

/* The parameters of all convolutions. */
CFX_PARAMS(cfx_blocked_conv_params, INPUT, WEIGHT, BIAS, STRIDE, PADDING,
           DILATION, GROUPS, POST_OPS, IN_CHANNELS, INPUT_SCALE);

/* A call of blocked_depthwise_conv2d. */
typedef struct cfx_blocked_depthwise_call {
    cfx_post_ops end;
    bool per_image; /* filters of their own for each image */
    bool narrow;    /* an input of bfloat16 */
    cfx_blocked_window window;
    cfx_dim shape[5]; /* of the result */
} cfx_blocked_depthwise_call;

/* Read and check the arguments. Fails as the operator does. */
cfx_status cfx_blocked_depthwise_infer(const cfx_call *call,
                                       cfx_blocked_depthwise_call *d);
/* Add the cost. */
void cfx_blocked_depthwise_cost(const cfx_call *call,
                                const cfx_blocked_depthwise_call *d,
                                cfx_cost *cost);
/* The kernel's description, but for x and y. Before a run there are no pointers in it. */
cfx_blocked_conv cfx_blocked_depthwise_plan(
    const cfx_call *call, const cfx_blocked_depthwise_call *d);

#endif
