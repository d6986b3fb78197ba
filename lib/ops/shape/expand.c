/*
 * expand -- axes of extent 1 repeated without copying.
 *
 * shape   the given extents, -1 keeping the tensor's own; new axes come in
 *         front. A view: repeated axes have stride 0.
 * cost    nothing.
 */
#include "op/infer.h"
#include "ops/shape/view.h"

CFX_PARAMS(params, SELF, SIZE, OTHER, IMPLICIT);

static cfx_status mismatch(cfx_call *call, cfx_dim want, cfx_dim have, int i)
{
    char s[64], t[64];
    cfx_dim_format(want, s, sizeof(s));
    cfx_dim_format(have, t, sizeof(t));
    return cfx_call_fail(
        call, CFX_ESHAPE,
        "The expanded size of the tensor (%s) must match the existing size (%s) at non-singleton dimension %d",
        s, t, i);
}

/* Fit axis `at` of the view to axis i of the result. */
static cfx_status expand_axis(cfx_call *call, cfx_view *v, int at,
                              cfx_dim want, int i)
{
    cfx_dim have = v->shape[at];
    if (cfx_dim_same(want, have))
        return CFX_OK;
    if (cfx_dim_is(have, 1)) {
        if (!cfx_dim_le(call->env, cfx_dim_int(0), want))
            return mismatch(call, want, have, i);
        v->shape[at] = want;
        v->stride[at] = cfx_dim_int(0);
        return CFX_OK;
    }
    if (!cfx_dim_eq(call->env, want, have))
        return mismatch(call, want, have, i);
    if (cfx_dim_is_int(want))
        v->shape[at] = want;
    return CFX_OK;
}

/* Put an axis in front. With extent 1 it has the stride of one that is
 * row-major, or 0 if it is the first of all. */
static cfx_status add_axis(cfx_call *call, cfx_view *v, cfx_dim want, int i)
{
    cfx_dim one = cfx_dim_int(1);
    cfx_dim stride = v->rank
                         ? cfx_dim_mul(call->env, v->shape[0], v->stride[0])
                         : cfx_dim_int(0);
    if (cfx_dim_is(want, -1))
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension %d",
            i);
    cfx_status st = cfx_view_insert(call, v, 0, one, stride);
    return st ? st : expand_axis(call, v, 0, want, i);
}

static cfx_status expand_to(cfx_call *call, int rank, const cfx_dim *shape)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    int added = rank - x->rank;
    cfx_status st = CFX_OK;
    cfx_view v;
    if (added < 0)
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "the number of sizes provided (%d) must be greater or equal to the number of dimensions in the tensor (%d)",
            rank, x->rank);
    cfx_view_begin(&v, x);
    for (int i = rank - 1; !st && i >= added; i--)
        if (!cfx_dim_is(shape[i], -1))
            st = expand_axis(call, &v, i - added, shape[i], i);
    for (int i = added - 1; !st && i >= 0; i--)
        st = add_axis(call, &v, shape[i], i);
    return st ? st : cfx_view_out(call, SELF, &v);
}

static cfx_status expand_infer(cfx_call *call)
{
    cfx_dim shape[CFX_MAX_RANK];
    int rank = cfx_call_len(call, SIZE);
    if (rank > CFX_MAX_RANK)
        return cfx_call_fail(call, CFX_ESHAPE, "rank %d is more than %d", rank,
                             CFX_MAX_RANK);
    for (int i = 0; i < rank; i++)
        shape[i] = cfx_call_dim(call, SIZE, i);
    return expand_to(call, rank, shape);
}

const cfx_op cfx_op__expand = {
    .schema =
        "expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)",
    .params = params,
    .aliases = "Tensor. aten.",
    .doc = "Axes of extent 1 repeated without copying.",
    .flags = CFX_OP_MOVES,
    .infer = expand_infer,
};

const cfx_op cfx_op__broadcast_to = {
    .schema = "broadcast_to(Tensor(a) self, SymInt[] size) -> Tensor(a)",
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc = "Axes of extent 1 repeated without copying.",
    .infer = expand_infer,
};

static cfx_status expand_as_infer(cfx_call *call)
{
    const cfx_tensor *other = cfx_call_tensor(call, OTHER);
    return expand_to(call, other->rank, other->shape);
}

const cfx_op cfx_op__expand_as = {
    .schema = "expand_as(Tensor(a) self, Tensor other) -> Tensor(a)",
    .params = params,
    .aliases = "Tensor. aten.",
    .doc = "Axes of extent 1 repeated to the extents of another tensor.",
    .infer = expand_as_infer,
};
