/*
 * epilogue.c -- cost and kernel of what is done with each sum.
 */
#include "ops/blocked/epilogue.h"

#include <math.h>

#include "op/op_impl.h"

void cfx_epilogue_cost(const cfx_call *call, const cfx_epilogue *e,
                       cfx_cost *cost)
{
    cfx_dim y = cfx_cost_numel(call, call->out[0]);
    int64_t steps = cfx_call_has(call, e->bias) + cfx_call_has(call, e->add) +
                    cfx_call_has(call, e->min) + cfx_call_has(call, e->max);

    if (e->activation.kind) {
        int64_t slow = e->activation.kind->transcendental;
        steps += e->activation.kind->ops;
        cost->transcendental = cfx_dim_mul(call->env, y, cfx_dim_int(slow));
    }
    cost->ops = cfx_dim_mul(call->env, y, cfx_dim_int(steps));
}

static const float *data_of(const cfx_call *call, int param)
{
    const cfx_tensor *t = cfx_call_tensor(call, param);
    return t ? t->data : NULL;
}

cfx_blocked_epilogue cfx_epilogue_kernel(const cfx_call *call,
                                         const cfx_epilogue *e)
{
    cfx_blocked_epilogue k = {.bias = data_of(call, e->bias),
                              .add = data_of(call, e->add),
                              .lo = -INFINITY,
                              .hi = INFINITY};

    if (cfx_call_has(call, e->min))
        k.lo = (float)cfx_call_double(call, e->min);
    if (cfx_call_has(call, e->max))
        k.hi = (float)cfx_call_double(call, e->max);
    if (e->activation.kind) {
        k.activation = cfx_pointwise_loop(call->ctx, CFX_C_F32,
                                          (cfx_pw)e->activation.kind->code);
        k.params = e->activation.params;
    }
    return k;
}
