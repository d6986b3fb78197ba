/*
 * epilogue.c -- checks, cost and kernel of what is done with each sum.
 */
#include "ops/blocked/blocked_epilogue.h"

#include <math.h>

#include "op/op_impl.h"

cfx_status cfx_epilogue_check_types(const cfx_call *call,
                                    const cfx_epilogue *e, int input,
                                    int weight, uint32_t narrow)
{
    const int all[] = {input, weight, e->bias, e->add};
    for (int i = 0; i < 4; i++) {
        const cfx_tensor *t = cfx_call_tensor(call, all[i]);
        bool image = all[i] == input || all[i] == e->add;
        uint32_t other = all[i] == weight     ? narrow
                         : image && e->images ? 1u << CFX_BF16
                                              : 0;
        if (t && t->dtype != CFX_F32 && !(other >> t->dtype & 1))
            return cfx_call_fail(call, CFX_EDTYPE,
                                 "expected float32%s%s, got %s",
                                 other >> CFX_BF16 & 1 ? ", bfloat16" : "",
                                 other >> CFX_I8 & 1 ? ", int8 or uint8" : "",
                                 cfx_dtypes[t->dtype].name);
    }
    return CFX_OK;
}

cfx_status cfx_epilogue_result_type(const cfx_call *call, int dtype,
                                    cfx_dtype *out)
{
    *out = cfx_call_dtype(call, dtype, CFX_F32);
    return *out == CFX_F32 || *out == CFX_BF16
               ? CFX_OK
               : cfx_call_fail(call, CFX_EDTYPE,
                               "the result is float32 or bfloat16, not %s",
                               cfx_dtypes[*out].name);
}

cfx_status cfx_epilogue_check_image(const cfx_call *call,
                                    const cfx_epilogue *e,
                                    const cfx_dim shape[5])
{
    const cfx_tensor *bias = cfx_call_tensor(call, e->bias);
    const cfx_tensor *add = cfx_call_tensor(call, e->add);
    cfx_dim channels = cfx_dim_mul(call->env, shape[1],
                                   cfx_dim_int(CFX_BLOCK));
    if (bias &&
        (bias->rank != 1 || !cfx_dim_eq(call->env, bias->shape[0], channels)))
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "expected a bias with an element for each channel of the result's blocks");
    bool same = !add || add->rank == 5;
    for (int i = 0; add && same && i < 5; i++)
        same = cfx_dim_eq(call->env, add->shape[i], shape[i]);
    return same ? CFX_OK
                : cfx_call_fail(call, CFX_ESHAPE,
                                "'add' has not the shape of the result");
}

static void add(const cfx_call *call, cfx_dim *to, cfx_dim n, int64_t factor)
{
    cfx_dim more = cfx_dim_mul(call->env, n, cfx_dim_int(factor));
    *to = cfx_dim_add(call->env, *to, more);
}

void cfx_epilogue_cost(const cfx_call *call, const cfx_epilogue *e, cfx_dim y,
                       cfx_cost *cost)
{
    int64_t steps = cfx_call_has(call, e->bias) + cfx_call_has(call, e->add) +
                    cfx_call_has(call, e->min) + cfx_call_has(call, e->max);

    add(call, &cost->transcendental, y, e->activation.transcendental);
    add(call, &cost->ops, y, steps + e->activation.ops);
}

static const float *data_of(const cfx_call *call, int param)
{
    const cfx_tensor *t = cfx_call_tensor(call, param);
    return t ? t->data : NULL;
}

cfx_blocked_epilogue cfx_epilogue_kernel(const cfx_call *call,
                                         const cfx_epilogue *e, cfx_dtype type)
{
    cfx_blocked_epilogue k = {.bias = data_of(call, e->bias),
                              .add = data_of(call, e->add),
                              .narrow = type == CFX_BF16,
                              .converts = cfx_blocked_bfloat16(call->ctx) ==
                                          CFX_BLOCKED_PAIRS,
                              .lo = -INFINITY,
                              .hi = INFINITY};
    const cfx_tensor *add = cfx_call_tensor(call, e->add);

    k.add_narrow = add && add->dtype == CFX_BF16;

    if (cfx_call_has(call, e->min))
        k.lo = (float)cfx_call_double(call, e->min);
    if (cfx_call_has(call, e->max))
        k.hi = (float)cfx_call_double(call, e->max);
    if (e->activation.op) {
        k.activation = cfx_pointwise_loop(call->ctx, CFX_C_F32,
                                          (cfx_pw)e->activation.code);
        k.params = e->activation.params;
    }
    return k;
}
