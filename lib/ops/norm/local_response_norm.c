/*
 * local_response_norm -- divide by a power of what neighbouring channels have.
 *
 * shape   that of the input (N, C, ...).
 * cost    that of the operators it consists of.
 */
#include "op/composite.h"
#include "op/infer.h"

/* The mean square over `size` channels around each: a pooling window along the
 * channels of an image of (C, everything else). */
static cfx_value mean_square(cfx_scope *s, cfx_value x, int64_t size)
{
    cfx_value zero = cfx_int(0), one = cfx_int(1);
    cfx_value n = cfx_size(s, x, 0), c = cfx_size(s, x, 1);
    cfx_value image = cfx_tuple(s, n, one, c, cfx_int(-1));
    cfx_value square = CFX_CALL(s, "torch.mul", x, x);
    square = CFX_CALL(s, "torch.reshape", square, image);
    cfx_value margin = cfx_tuple(s, zero, zero, cfx_int(size / 2),
                                 cfx_int((size - 1) / 2));
    square = CFX_CALL(s, "torch.nn.functional.pad", square, margin);
    cfx_value window = cfx_tuple(s, cfx_int(size), one);
    return CFX_CALL(s, "torch.nn.functional.avg_pool2d", square, window, one);
}

static cfx_value local_response_norm_build(cfx_scope *s, const cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, 0);
    const cfx_value *in = call->in;
    cfx_value shape[CFX_MAX_RANK];
    if (x->rank < 3)
        return cfx_scope_fail(
            s, CFX_ESHAPE,
            "Expected 3D or higher dimensionality input (got %d dimensions)",
            x->rank);
    if (in[1].u.i < 1)
        return cfx_scope_fail(s, CFX_EINVAL, "size must be positive");
    for (int i = 0; i < x->rank; i++) {
        if (cfx_dim_is(x->shape[i], 0))
            return in[0];
        shape[i] = cfx_value_of_dim(x->shape[i]);
    }
    cfx_value d = mean_square(s, in[0], in[1].u.i);
    d = CFX_CALL(s, "torch.reshape", d,
                 cfx_list_of(s, CFX_TUPLE, (size_t)x->rank, shape));
    d = CFX_CALL(s, "torch.mul", d, in[2]);
    d = CFX_CALL(s, "torch.add", d, in[4]);
    d = CFX_CALL(s, "torch.pow", d, in[3]);
    return CFX_CALL(s, "torch.div", in[0], d);
}

CFX_COMPOSITE(local_response_norm)

const cfx_op cfx_op__local_response_norm = {
    .schema =
        "local_response_norm(Tensor input, int size, float alpha=0.0001, float beta=0.75, float k=1.0) -> Tensor",
    .aliases = "torch.nn.functional.",
    .doc = "Divide by a power of the mean square of near channels.",
    .infer = local_response_norm_infer,
    .cost = local_response_norm_cost,
    .run = local_response_norm_run,
};
