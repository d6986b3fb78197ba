/*
 * blocked_window.h -- the window of a convolution of an image in blocks, over height and
 * width.
 */
#ifndef CFX_OPS_BLOCKED_WINDOW_H
#define CFX_OPS_BLOCKED_WINDOW_H

#include <cfx/op.h>

#include "kernel/blocked/blocked.h"

typedef struct cfx_blocked_window {
    cfx_dim in[2], kernel[2], stride[2], pad[2], dilation[2];
} cfx_blocked_window;

/* Read the window of an image x with a kernel of these extents; stride, padding and
 * dilation are parameters. Fails with CFX_EINVAL unless kernel, stride and dilation
 * are positive, and padding not negative. */
cfx_status cfx_blocked_window_read(const cfx_call *call, const cfx_tensor *x,
                                   const cfx_dim *kernel, int stride,
                                   int padding, int dilation,
                                   cfx_blocked_window *out);
/* The extent of the result along an axis; below 1 if the window is too large. */
cfx_dim cfx_blocked_window_out(cfx_shape_env *env, const cfx_blocked_window *w,
                               int axis);

/* Complete the shape of a result in blocks of a convolution: height, width and the
 * block. Fails with CFX_ESHAPE for a window larger than the input. */
cfx_status cfx_blocked_window_image(const cfx_call *call,
                                    const cfx_blocked_window *w,
                                    cfx_dim shape[5]);
/* Write the numbers of the window to a kernel's description. */
void cfx_blocked_window_kernel(const cfx_blocked_window *w,
                               const cfx_dim shape[5], cfx_blocked_conv *k);

#endif
