/*
 * write -- a copy of a tensor with part of it, or all, replaced.
 *
 * shape   that of the argument.
 * cost    no arithmetic; a copy.
 */
#include "kernel/pointwise/pointwise_kernel.h"
#include "op/op_cost.h"
#include "op/infer.h"
#include "op/list.h"
#include "op/loop.h"
#include "op/op_impl.h"
#include "ops/shape/view.h"

/* ---- fill, zero, copy ---- */

static cfx_status fill_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, 0);
    const cfx_tensor *v = cfx_call_tensor(call, 1);
    if (v && v->rank)
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "fill_ only supports 0-dimension value tensor but got tensor with %d dimensions.",
            v->rank);
    cfx_status st = cfx_list_check_number(call, call->in[1],
                                          (cfx_dtype)x->dtype);
    return st ? st : cfx_infer_like(call, x, (cfx_dtype)x->dtype);
}

static cfx_status fill_run(cfx_call *call)
{
    return cfx_loop_fill(call, call->in[1]);
}

static cfx_status zero_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, 0);
    return cfx_infer_like(call, x, (cfx_dtype)x->dtype);
}

static cfx_status zero_run(cfx_call *call)
{
    return cfx_loop_fill(call, cfx_int(0));
}

const cfx_op cfx_op__fill = {
    .schema = "fill.Scalar(Tensor self, Tensor|Scalar value) -> Tensor",
    .aliases = "torch. Tensor. aten.(Tensor,Scalar) .Tensor(Tensor,Tensor)",
    .doc = "Every element replaced by one number.",
    .flags = CFX_OP_INPLACE | CFX_OP_POINTWISE | CFX_OP_COMPLEX,
    .infer = fill_infer,
    .cost = cfx_cost_created,
    .run = fill_run,
};

const cfx_op cfx_op__zero = {
    .schema = "zero(Tensor self) -> Tensor",
    .aliases = "torch. Tensor. aten.",
    .doc = "Every element replaced by 0.",
    .flags = CFX_OP_INPLACE | CFX_OP_POINTWISE | CFX_OP_COMPLEX,
    .infer = zero_infer,
    .cost = cfx_cost_created,
    .run = zero_run,
};

/* The source is broadcast to the tensor that it is written to, and converted
 * to its type. */
static cfx_status assign_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, 0);
    const cfx_tensor *src = cfx_call_tensor(call, 1);
    for (int i = 1; src && i <= src->rank; i++) {
        char a[64], b[64];
        cfx_dim have = src->shape[src->rank - i];
        cfx_dim want = i <= x->rank ? x->shape[x->rank - i] : cfx_dim_int(1);
        if (cfx_dim_is(have, 1) ||
            (i <= x->rank && cfx_dim_eq(call->env, have, want)))
            continue;
        cfx_dim_format(want, a, sizeof(a));
        cfx_dim_format(have, b, sizeof(b));
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "The size of tensor a (%s) must match the size of tensor b (%s) at non-singleton dimension %d",
            a, b, x->rank - i);
    }
    if (src && src->rank > x->rank)
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "output with rank %d doesn't match the broadcast rank %d", x->rank,
            src->rank);
    return cfx_infer_like(call, x, (cfx_dtype)x->dtype);
}

/* Overwritten elements are not read. */
static void assign_cost(const cfx_call *call, cfx_cost *cost)
{
    const cfx_tensor *src = cfx_call_tensor(call, 1);
    cost->bytes_read = src ? cfx_cost_bytes_of(call, src) : cfx_dim_int(0);
}

const cfx_op cfx_op__assign = {
    .schema =
        "assign(Tensor self, Tensor|Scalar src, bool non_blocking=False) -> Tensor",
    .aliases = "aten.copy.default",
    .inplace_aliases = "Tensor.copy_ aten.copy_.default",
    .doc = "Every element replaced by that of another tensor.",
    .flags = CFX_OP_ANY_DEVICES | CFX_OP_INPLACE | CFX_OP_POINTWISE |
             CFX_OP_COMPLEX,
    .infer = assign_infer,
    .cost = assign_cost,
    .run = fill_run,
};

/* ---- Part of a tensor ---- */

enum { SELF, SRC, DIM };
enum { SELECT, SLICE, DIAGONAL };

/* The part of t that is replaced. */
static cfx_status part_of(cfx_call *call, const cfx_tensor *t, cfx_view *v)
{
    int axis;
    cfx_view_begin(v, t);
    if (call->op->code == DIAGONAL)
        return cfx_view_diagonal(call, v, cfx_value_dim(call->in[DIM]),
                                 cfx_call_int(call, DIM + 1),
                                 cfx_call_int(call, DIM + 2));
    if (!t->rank)
        return cfx_call_fail(call, CFX_EINVAL,
                             "cannot be applied to a 0-dim tensor.");
    cfx_status st = cfx_call_axis(call, cfx_call_int(call, DIM), t->rank,
                                  &axis);
    if (st)
        return st;
    if (call->op->code == SELECT)
        return cfx_view_select(call, v, axis,
                               cfx_value_dim(call->in[DIM + 1]));
    return cfx_view_slice(call, v, axis, call->in[DIM + 1], call->in[DIM + 2],
                          call->in[DIM + 3]);
}

static cfx_status part_infer(cfx_call *call)
{
    const cfx_tensor *src = cfx_call_tensor(call, SRC);
    cfx_view v;
    cfx_status st = part_of(call, cfx_call_tensor(call, SELF), &v);
    bool same = !st && v.rank == src->rank, bad = false;
    for (int i = 0; !st && i < v.rank; i++)
        bad = bad || cfx_dim_is_bad(v.stride[i]);
    if (bad)
        return cfx_call_fail(call, CFX_EINVAL,
                             "the step is too large for the tensor's strides");
    for (int i = 0; same && i < v.rank; i++)
        same = cfx_dim_eq(call->env, v.shape[i], src->shape[i]);
    if (!st && !same)
        st = cfx_call_fail(
            call, CFX_ESHAPE,
            "expected src to have a size equal to the part of self that it replaces");
    return st ? st : cfx_view_out_strided_like(call, SELF);
}

static cfx_status part_run(cfx_call *call)
{
    const cfx_tensor *src = cfx_call_tensor(call, SRC), *y = call->out[0];
    cfx_view to, from;
    cfx_status st = cfx_tensor_copy(call->out[0], cfx_call_tensor(call, SELF),
                                    call->err);
    if (!st)
        st = part_of(call, y, &to);
    if (st)
        return st;
    cfx_view_begin(&from, src);
    cfx_view_assign(call->ctx, y, &to, src, &from);
    return CFX_OK;
}

#define PART(name, code_, params, doc_)                                       \
    const cfx_op cfx_op__##name = {                                           \
        .schema = #name "(Tensor self, Tensor src, " params ") -> Tensor",    \
        .aliases = "torch. Tensor. aten.",                                    \
        .doc = doc_,                                                          \
        .code = code_,                                                        \
        .flags = CFX_OP_COMPLEX,                                              \
        .infer = part_infer,                                                  \
        .run = part_run,                                                      \
    };

PART(select_scatter, SELECT, "int dim, SymInt index",
     "A copy with one element of an axis replaced.")
PART(slice_scatter, SLICE,
     "int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1",
     "A copy with part of an axis replaced.")
PART(diagonal_scatter, DIAGONAL, "SymInt offset=0, int dim1=0, int dim2=1",
     "A copy with diagonals replaced.")
