/*
 * pool_windows -- the arguments of pooling, and the extents that follow from them.
 */
#include "ops/pool/pool_windows.h"

#include "op/infer.h"

void cfx_pool__read(const cfx_call *call, const cfx_tensor *x, int spatial,
                    int first, cfx_pool_windows *p)
{
    p->x = x;
    p->spatial = spatial;
    p->first = first;
    for (int i = 0; i < p->spatial; i++)
        p->dilation[i] = cfx_dim_int(1);
    cfx_infer_spatial(call, KERNEL_SIZE, p->spatial, p->kernel);
    cfx_infer_spatial(call, cfx_call_len(call, STRIDE) ? STRIDE : KERNEL_SIZE,
                      p->spatial, p->stride);
    cfx_infer_spatial(call, PADDING, p->spatial, p->pad);
    cfx_infer_spatial(call, DILATION, p->spatial, p->dilation);
    p->ceil = cfx_call_bool(call, CEIL_MODE);
    p->count_padding = cfx_call_bool(call, COUNT_INCLUDE_PAD);
    if (cfx_call_has(call, DIVISOR_OVERRIDE))
        p->divisor = cfx_call_int(call, DIVISOR_OVERRIDE);
}

static cfx_status check_numbers(cfx_call *call, const cfx_pool_windows *p)
{
    cfx_dim one = cfx_dim_int(1), zero = cfx_dim_int(0);
    for (int k = KERNEL_SIZE; k <= DILATION; k++)
        if (cfx_call_len(call, k) > p->spatial)
            return cfx_call_fail(call, CFX_EINVAL,
                                 "%s needs %d numbers, not %d",
                                 cfx_call__param_name(call, k), p->spatial,
                                 cfx_call_len(call, k));
    for (int i = 0; i < p->spatial; i++) {
        if (!cfx_dim_le(call->env, one, p->kernel[i]))
            return cfx_call_fail(call, CFX_EINVAL,
                                 "kernel size should be greater than zero");
        if (!cfx_dim_le(call->env, one, p->stride[i]))
            return cfx_call_fail(call, CFX_EINVAL,
                                 "stride should be greater than zero");
        if (!cfx_dim_le(call->env, one, p->dilation[i]))
            return cfx_call_fail(call, CFX_EINVAL,
                                 "dilation should be greater than zero");
        cfx_dim twice = cfx_dim_mul(call->env, p->pad[i], cfx_dim_int(2));
        if (!cfx_dim_le(call->env, zero, p->pad[i]) ||
            !cfx_dim_le(call->env, twice, p->kernel[i]))
            return cfx_call_fail(
                call, CFX_EINVAL,
                "pad should be at most half of effective kernel size");
    }
    return CFX_OK;
}

static cfx_dim out_extent(cfx_shape_env *env, const cfx_pool_windows *p, int i)
{
    cfx_dim in = p->x->shape[p->first + i];
    cfx_dim one = cfx_dim_int(1);
    cfx_dim window = cfx_dim_mul(env, p->dilation[i],
                                 cfx_dim_sub(env, p->kernel[i], one));
    cfx_dim room = cfx_dim_sub(
        env, cfx_dim_add(env, in, cfx_dim_mul(env, p->pad[i], cfx_dim_int(2))),
        cfx_dim_add(env, window, one));
    if (!p->ceil)
        return cfx_dim_add(env, cfx_dim_floordiv(env, room, p->stride[i]),
                           one);
    cfx_dim n = cfx_dim_add(env, cfx_dim_ceildiv(env, room, p->stride[i]),
                            one);
    /* A last window that begins after the input and its padding is left out:
     * never more windows than begin there. */
    cfx_dim most = cfx_dim_add(
        env,
        cfx_dim_floordiv(
            env, cfx_dim_sub(env, cfx_dim_add(env, in, p->pad[i]), one),
            p->stride[i]),
        one);
    return cfx_dim_min(env, n, most);
}

cfx_status cfx_pool__infer(cfx_call *call, const cfx_pool_windows *p,
                           cfx_dim *shape)
{
    cfx_status st = check_numbers(call, p);
    if (!st && cfx_call_has(call, DIVISOR_OVERRIDE) && !p->divisor)
        st = cfx_call_fail(call, CFX_EINVAL, "divisor must be not zero");
    for (int i = 0; i < p->x->rank; i++)
        shape[i] = p->x->shape[i];
    for (int i = 0; i < p->spatial && !st; i++) {
        int at = p->first + i;
        shape[at] = out_extent(call->env, p, i);
        if (!cfx_dim_le(call->env, cfx_dim_int(1), shape[at])) {
            char s[64];
            cfx_dim_format(shape[at], s, sizeof(s));
            st = cfx_call_fail(
                call, CFX_ESHAPE,
                "Output size is too small: axis %d would have %s elements", at,
                s);
        }
    }
    return st;
}
