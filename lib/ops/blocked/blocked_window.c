/*
 * blocked_window -- the window of a convolution of an image in blocks.
 */
#include "ops/blocked/blocked_window.h"

#include "op/infer.h"

static cfx_status check(const cfx_call *call, const cfx_blocked_window *w)
{
    static const char *const name[] = {"kernel", "stride", "dilation"};
    for (int i = 0; i < 2; i++) {
        cfx_dim positive[] = {w->kernel[i], w->stride[i], w->dilation[i]};
        for (int k = 0; k < 3; k++)
            if (!cfx_dim_le(call->env, cfx_dim_int(1), positive[k]))
                return cfx_call_fail(call, CFX_EINVAL,
                                     "the %s must be positive", name[k]);
        if (!cfx_dim_le(call->env, cfx_dim_int(0), w->pad[i]))
            return cfx_call_fail(call, CFX_EINVAL,
                                 "negative padding is not supported");
    }
    return CFX_OK;
}

cfx_status cfx_blocked_window_read(const cfx_call *call, const cfx_tensor *x,
                                   const cfx_dim *kernel, int stride,
                                   int padding, int dilation,
                                   cfx_blocked_window *out)
{
    for (int i = 0; i < 2; i++) {
        out->in[i] = x->shape[2 + i];
        out->kernel[i] = kernel[i];
    }
    cfx_infer_spatial(call, stride, 2, out->stride);
    cfx_infer_spatial(call, padding, 2, out->pad);
    cfx_infer_spatial(call, dilation, 2, out->dilation);
    return check(call, out);
}

cfx_dim cfx_blocked_window_out(cfx_shape_env *env, const cfx_blocked_window *w,
                               int axis)
{
    cfx_dim one = cfx_dim_int(1);
    cfx_dim reach = cfx_dim_mul(env, w->dilation[axis],
                                cfx_dim_sub(env, w->kernel[axis], one));
    cfx_dim n = cfx_dim_mul(env, w->pad[axis], cfx_dim_int(2));
    n = cfx_dim_sub(env, cfx_dim_add(env, w->in[axis], n), reach);
    n = cfx_dim_floordiv(env, cfx_dim_sub(env, n, one), w->stride[axis]);
    return cfx_dim_add(env, n, one);
}

cfx_status cfx_blocked_window_image(const cfx_call *call,
                                    const cfx_blocked_window *w,
                                    cfx_dim shape[5])
{
    for (int i = 0; i < 2; i++) {
        shape[2 + i] = cfx_blocked_window_out(call->env, w, i);
        if (!cfx_dim_le(call->env, cfx_dim_int(1), shape[2 + i]))
            return cfx_call_fail(call, CFX_ESHAPE,
                                 "the window is larger than the input");
    }
    shape[4] = cfx_dim_int(CFX_BLOCK);
    return CFX_OK;
}

void cfx_blocked_window_kernel(const cfx_blocked_window *w,
                               const cfx_dim shape[5], cfx_blocked_conv *k)
{
    for (int i = 0; i < 2; i++) {
        k->in[i] = cfx_dim_value(w->in[i]);
        k->out[i] = cfx_dim_value(shape[2 + i]);
        k->kernel[i] = cfx_dim_value(w->kernel[i]);
        /* A distance that is not used may be too large to be multiplied. */
        k->stride[i] = k->out[i] > 1 ? cfx_dim_value(w->stride[i]) : 1;
        k->pad[i] = cfx_dim_value(w->pad[i]);
        k->dilation[i] = k->kernel[i] > 1 ? cfx_dim_value(w->dilation[i]) : 1;
    }
}
