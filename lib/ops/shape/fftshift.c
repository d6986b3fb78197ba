/*
 * fftshift -- fftshift and ifftshift: the halves of axes change places.
 *
 * shape   that of the tensor.
 * cost    that of roll.
 */
#include "op/composite.h"
#include "op/infer.h"

CFX_PARAMS(params, SELF, DIM);

/* cfx_op.code: is the shift n - n / 2, or n / 2? */

static cfx_value fftshift_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value x = cfx_call_value(call, SELF), shift[CFX_MAX_RANK];
    cfx_value dim[CFX_MAX_RANK];
    const cfx_tensor *t = x.u.tensor;
    bool given = cfx_call_has(call, DIM);
    int n = given ? cfx_call_len(call, DIM) : t->rank;
    if (n > CFX_MAX_RANK)
        return cfx_scope_fail(s, CFX_EINVAL, "%d axes are too many", n);
    for (int i = 0; i < n; i++) {
        dim[i] = given ? cfx_call_item(call, DIM, i) : cfx_int(i);
        int64_t axis = dim[i].u.i;
        if (axis < -t->rank || axis >= t->rank)
            return cfx_scope_fail(
                s, CFX_EINVAL,
                "Dimension out of range (expected to be in range of [%d, %d], but got %lld)",
                -t->rank, t->rank - 1, (long long)axis);
        cfx_dim more = cfx_dim_int(call->op->code), two = cfx_dim_int(2);
        cfx_dim extent = t->shape[axis < 0 ? axis + t->rank : axis];
        extent = cfx_dim_add(s->env, extent, more);
        shift[i] = cfx_value_of_dim(cfx_dim_floordiv(s->env, extent, two));
    }
    return n ? CFX_CALL(s, "torch.roll", x,
                        cfx_list_of(s, CFX_TUPLE, (size_t)n, shift),
                        cfx_list_of(s, CFX_TUPLE, (size_t)n, dim))
             : CFX_CALL(s, "torch.clone", x);
}

CFX_COMPOSITE(fftshift)

#define SHIFT(name, more, doc_)                                               \
    const cfx_op cfx_op__fft_##name = {                                       \
        .schema = "fft_" #name "(Tensor self, int[1]? dim=None) -> Tensor",   \
        .params = params,                                                     \
        .aliases = "torch.fft. torch._C._fft.fft_" #name " aten.",            \
        .doc = doc_,                                                          \
        .code = more,                                                         \
        .flags = CFX_OP_COMPLEX,                                              \
        .infer = fftshift_infer,                                              \
        .cost = fftshift_cost,                                                \
        .run = fftshift_run,                                                  \
    };

SHIFT(fftshift, 0, "The frequency 0 moved to the middle.")
SHIFT(ifftshift, 1, "The frequency 0 moved back to the front.")
