/*
 * twice -- a plugin with an operator.
 *
 *     cc -shared -fPIC -o twice.so twice.c $(pkg-config --cflags cfx)
 *     cfx run model.fx --load ./twice.so -i x=f32[3]
 *
 * The model calls it as `call_function[target=my.twice](args = (%x,), ...)`.
 */
#include <cfx/op.h>

static cfx_status twice_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, 0);
    if (x->dtype != CFX_F32)
        return cfx_call_fail(call, CFX_EDTYPE, "takes float32 only");
    return cfx_call_out(call, CFX_F32, x->rank, x->shape);
}

static void twice_cost(const cfx_call *call, cfx_cost *cost)
{
    cost->ops = cfx_dim_int(1);
    for (int i = 0; i < call->out[0]->rank; i++)
        cost->ops = cfx_dim_mul(call->env, cost->ops, call->out[0]->shape[i]);
}

static cfx_status twice_run(cfx_call *call)
{
    cfx_tensor *x;
    cfx_status st = cfx_tensor_contiguous(&x, cfx_call_tensor(call, 0),
                                          call->err);
    if (st)
        return st;
    const float *in = x->data;
    float *out = call->out[0]->data;
    for (int64_t i = 0, n = cfx_tensor_numel(x); i < n; i++)
        out[i] = 2 * in[i];
    cfx_tensor_unref(x);
    return CFX_OK;
}

static const cfx_op twice = {
    .abi = CFX_ABI(cfx_op),
    .schema = "twice(Tensor self) -> Tensor",
    .aliases = "my.twice Tensor.twice",
    .doc = "Twice each element.",
    .infer = twice_infer,
    .cost = twice_cost,
    .run = twice_run,
};

CFX_PLUGIN_INIT(ctx, err)
{
    return cfx_register_op(ctx, &twice, err);
}
