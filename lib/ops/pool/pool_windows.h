/*
 * pool_windows.h -- the arguments of pooling, of row-major and of blocked images.
 */
#ifndef CFX_OPS_POOL_WINDOWS_H
#define CFX_OPS_POOL_WINDOWS_H

#include "kernel/pool/pool_kernel.h"
#include "op/op_impl.h"

CFX_PARAMS(cfx_pool_params, SELF, KERNEL_SIZE, STRIDE, PADDING, DILATION,
           CEIL_MODE, COUNT_INCLUDE_PAD, DIVISOR_OVERRIDE, OUTPUT_SIZE);

/* The state of a call with windows: its arguments as they were read. */
typedef struct cfx_pool_windows {
    const cfx_tensor *x;
    int spatial, first; /* spatial axes; the first of them */
    cfx_dim kernel[CFX_POOL_MAX_SPATIAL], stride[CFX_POOL_MAX_SPATIAL];
    cfx_dim pad[CFX_POOL_MAX_SPATIAL], dilation[CFX_POOL_MAX_SPATIAL];
    bool ceil, count_padding;
    int64_t divisor; /* 0: the elements of the window */
} cfx_pool_windows;

void cfx_pool__read(const cfx_call *call, const cfx_tensor *x, int spatial,
                    int first, cfx_pool_windows *p);

/* Check the arguments and set the extents of the result. Fails with CFX_EINVAL,
 * CFX_ESHAPE. */
cfx_status cfx_pool__infer(cfx_call *call, const cfx_pool_windows *p,
                           cfx_dim *shape);

#endif
