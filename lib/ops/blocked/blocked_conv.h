/*
 * blocked_conv.h -- a convolution in blocks of channels as a part of an operator. Not
 * installed.
 *
 * Its parameters are those of blocked_conv2d; other operators have more after them,
 * whose enumerators stand here too, so that both read theirs alike.
 */
#ifndef CFX_OPS_BLOCKED_CONV_H
#define CFX_OPS_BLOCKED_CONV_H

#include "ops/blocked/blocked_post_ops.h"
#include "ops/blocked/blocked_window.h"

CFX_PARAMS(cfx_blocked_conv_params, INPUT, WEIGHT, BIAS, STRIDE, PADDING,
           DILATION, GROUPS, POST_OPS, IN_CHANNELS, INPUT_SCALE,
           DEPTHWISE_WEIGHT, DEPTHWISE_BIAS, DEPTHWISE_STRIDE,
           DEPTHWISE_PADDING, DEPTHWISE_DILATION, DEPTHWISE_POST_OPS);

/* The convolution that the arguments of a call describe. */
typedef struct cfx_blocked_conv_call {
    const cfx_tensor *x, *w;
    cfx_post_ops end;
    bool rows;               /* a row-major input */
    bool depthwise;          /* one filter a channel */
    bool per_image;          /* filters of their own for each image */
    bool pairs;              /* a weight of bfloat16 */
    cfx_dim groups;          /* of whole blocks */
    const cfx_tensor *scale; /* of the input; or NULL */
    cfx_blocked_window window;
    cfx_dim shape[5]; /* of the result */
} cfx_blocked_conv_call;

/* Read and check the arguments. Fails as the operator does. */
cfx_status cfx_blocked_conv_infer(const cfx_call *call,
                                  cfx_blocked_conv_call *c);
/* Add the cost. */
void cfx_blocked_conv_cost(const cfx_call *call,
                           const cfx_blocked_conv_call *c, cfx_cost *cost);
/* The kernel's description, but for y. Before a run there are no pointers in it. */
cfx_blocked_conv cfx_blocked_conv_plan(const cfx_call *call,
                                       const cfx_blocked_conv_call *c);

#endif
