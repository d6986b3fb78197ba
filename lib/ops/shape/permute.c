/*
 * permute -- the axes in another order.
 *
 * shape   the extents and strides of the argument, reordered: a view.
 * cost    nothing.
 */
#include "op/composite.h"
#include "op/infer.h"
#include "ops/shape/view.h"

CFX_PARAMS(params, SELF, DIMS, DIM0, DIM1, AXIS0, AXIS1, SOURCE, DESTINATION);

/* ---- permute ---- */

static cfx_status permute_infer(cfx_call *call)
{
    int rank = cfx_call_tensor(call, SELF)->rank, n = cfx_call_len(call, DIMS);
    int perm[CFX_MAX_RANK];
    uint32_t seen = 0;
    cfx_view v;
    if (n != rank)
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "number of dimensions in the tensor input does not match the length of the desired ordering of dimensions i.e. input.dim() = %d is not equal to len(dims) = %d",
            rank, n);
    for (int i = 0; i < n; i++) {
        cfx_status st = cfx_call_axis(call, cfx_call_item(call, DIMS, i).u.i,
                                      rank, &perm[i]);
        if (st)
            return st;
        if (seen >> perm[i] & 1)
            return cfx_call_fail(call, CFX_EINVAL,
                                 "duplicate dims are not allowed.");
        seen |= 1u << perm[i];
    }
    cfx_view_begin(&v, cfx_call_tensor(call, SELF));
    cfx_view_permute(&v, perm);
    return cfx_view_out(call, SELF, &v);
}

const cfx_op cfx_op__permute = {
    .schema = "permute(Tensor(a) self, int[] dims) -> Tensor(a)",
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc = "The axes in the given order.",
    .flags = CFX_OP_MOVES,
    .infer = permute_infer,
};

/* ---- transpose ---- */

static cfx_status transpose_infer(cfx_call *call)
{
    int a, b, rank = cfx_call_tensor(call, SELF)->rank;
    cfx_view v;
    bool axes = cfx_call_place(call, AXIS0) >= 0;
    cfx_status st = cfx_call_axis(
        call, cfx_call_int(call, axes ? AXIS0 : DIM0), rank, &a);
    if (!st)
        st = cfx_call_axis(call, cfx_call_int(call, axes ? AXIS1 : DIM1), rank,
                           &b);
    if (st)
        return st;
    cfx_view_begin(&v, cfx_call_tensor(call, SELF));
    if (rank)
        cfx_view_swap(&v, a, b);
    return cfx_view_out(call, SELF, &v);
}

#define TRANSPOSE_FLAGS(name, flags_, spelled, a, b, aliases_)                \
    const cfx_op cfx_op__##name = {                                           \
        .schema = spelled "(Tensor(a) self, int " a ", int " b                \
                          ") -> Tensor(a)",                                   \
        .params = params,                                                     \
        .aliases = aliases_,                                                  \
        .doc = "Two axes change places.",                                     \
        .flags = flags_,                                                      \
        .infer = transpose_infer,                                             \
    };
#define TRANSPOSE(name, ...)                                                  \
    TRANSPOSE_FLAGS(name, CFX_OP_MOVES, #name, __VA_ARGS__)

TRANSPOSE(
    transpose, "dim0", "dim1",
    "torch. Tensor. torch.swapdims Tensor.swapdims aten.transpose.int aten.swapdims.default")
TRANSPOSE(swapaxes, "axis0", "axis1", "torch. Tensor. aten.")

TRANSPOSE_FLAGS(
    transpose_self, CFX_OP_SHAPES_SELF, "transpose_self", "dim0", "dim1",
    "Tensor.transpose_ Tensor.swapdims_ aten.transpose_.default aten.swapdims_.default")
TRANSPOSE_FLAGS(swapaxes_self, CFX_OP_SHAPES_SELF, "swapaxes_self", "axis0",
                "axis1", "Tensor.swapaxes_ aten.swapaxes_.default")

/* ---- t and its kin ---- */

enum { PLAIN, MATRIX, REVERSED };

static cfx_status t_infer(cfx_call *call)
{
    int rank = cfx_call_tensor(call, SELF)->rank, code = call->op->code;
    cfx_view v;
    if (code == PLAIN && rank > 2)
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "expects a tensor with <= 2 dimensions, but self is %dD", rank);
    if (code == MATRIX && rank == 1)
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "expects matrices or batches of matrices, but self is 1D");
    cfx_view_begin(&v, cfx_call_tensor(call, SELF));
    if (code == REVERSED)
        for (int i = 0; i < rank / 2; i++)
            cfx_view_swap(&v, i, rank - 1 - i);
    else if (rank > 1)
        cfx_view_swap(&v, rank - 2, rank - 1);
    return cfx_view_out(call, SELF, &v);
}

#define TURN_FLAGS(name, flags_, spelled, code_, aliases_, doc_)              \
    const cfx_op cfx_op__##name = {                                           \
        .schema = spelled "(Tensor(a) self) -> Tensor(a)",                    \
        .params = params,                                                     \
        .aliases = aliases_,                                                  \
        .doc = doc_,                                                          \
        .flags = flags_,                                                      \
        .code = code_,                                                        \
        .infer = t_infer,                                                     \
    };

#define TURN(name, ...) TURN_FLAGS(name, CFX_OP_MOVES, #name, __VA_ARGS__)

TURN_FLAGS(t_self, CFX_OP_SHAPES_SELF, "t_self", PLAIN,
           "Tensor.t_ aten.t_.default", "A matrix transposed; a vector stays.")
TURN(t, PLAIN, "torch. Tensor. aten.", "A matrix transposed; a vector stays.")
TURN(matrix_T, MATRIX, "aten.mT.default", "Matrices transposed.")
TURN(numpy_T, REVERSED, "aten.numpy_T.default", "The axes in reverse order.")

/* ---- adjoint ---- */

/* Conjugates are a copy, as those of conj are. */
static cfx_value adjoint_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value x = CFX_CALL(s, "aten.mT.default", cfx_call_value(call, SELF));
    return CFX_CALL(s, "torch.conj", x);
}

static cfx_status adjoint_infer(cfx_call *call)
{
    return cfx_call_is_complex(call) ? cfx_composite_infer(call, adjoint_build)
                                     : t_infer(call);
}

static void adjoint_cost(const cfx_call *call, cfx_cost *cost)
{
    if (!call->alias[0])
        cfx_composite_cost(call, cost, adjoint_build);
}

static cfx_status adjoint_run(cfx_call *call)
{
    return call->alias[0] ? CFX_OK : cfx_composite_run(call, adjoint_build);
}

const cfx_op cfx_op__adjoint = {
    .schema = "adjoint(Tensor(a) self) -> Tensor(a)",
    .params = params,
    .aliases = "torch. Tensor. aten. aten.mH.default",
    .doc = "Matrices transposed, and their elements conjugated.",
    .flags = CFX_OP_COMPLEX,
    .code = MATRIX,
    .infer = adjoint_infer,
    .cost = adjoint_cost,
    .run = adjoint_run,
};

/* ---- movedim ---- */

static cfx_status axes_of(cfx_call *call, int k, int rank, int *axis,
                          uint32_t *seen)
{
    cfx_value given = cfx_call_value(call, k);
    int n = cfx_value_is_seq(given) ? (int)given.u.seq->len : 1;
    *seen = 0;
    for (int i = 0; i < n; i++) {
        cfx_value v = cfx_value_is_seq(given) ? given.u.seq->item[i] : given;
        cfx_status st = cfx_call_axis(call, v.u.i, rank, &axis[i]);
        if (st)
            return st;
        if (*seen >> axis[i] & 1)
            return cfx_call_fail(call, CFX_EINVAL, "repeated dim in `%s`",
                                 k == 1 ? "source" : "destination");
        *seen |= 1u << axis[i];
    }
    return CFX_OK;
}

/* The axes that do not move keep their order around those that do. */
static cfx_status movedim_infer(cfx_call *call)
{
    int rank = cfx_call_tensor(call, SELF)->rank;
    int from[CFX_MAX_RANK], to[CFX_MAX_RANK], perm[CFX_MAX_RANK];
    bool listed = cfx_value_is_seq(cfx_call_value(call, SOURCE));
    int n = listed ? cfx_call_len(call, SOURCE) : 1;
    uint32_t source, destination;
    cfx_view v;
    if (listed && n != cfx_call_len(call, DESTINATION))
        return cfx_call_fail(
            call, CFX_EINVAL,
            "Invalid source or destination dims: source (%d dims) should contain the same number of dims as destination (%d dims)",
            n, cfx_call_len(call, DESTINATION));
    if (n > CFX_MAX_RANK)
        return cfx_call_fail(call, CFX_EINVAL, "%d dims are too many", n);
    cfx_status st = axes_of(call, SOURCE, rank, from, &source);
    if (!st)
        st = axes_of(call, DESTINATION, rank, to, &destination);
    if (st)
        return st;
    for (int i = 0; i < n; i++)
        perm[to[i]] = from[i];
    for (int i = 0, next = 0; i < rank; i++) {
        if (destination >> i & 1)
            continue;
        while (source >> next & 1)
            next++;
        perm[i] = next++;
    }
    cfx_view_begin(&v, cfx_call_tensor(call, SELF));
    cfx_view_permute(&v, perm);
    return cfx_view_out(call, SELF, &v);
}

static const cfx_op movedim_intlist = {
    .schema =
        "movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)",
    .params = params,
    .aliases = "torch. Tensor. torch.moveaxis Tensor.moveaxis aten.",
    .doc = "Axes move to other places.",
    .infer = movedim_infer,
};

const cfx_op cfx_op__movedim = {
    .schema =
        "movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)",
    .params = params,
    .aliases = "torch. Tensor. torch.moveaxis Tensor.moveaxis aten.",
    .doc = "An axis moves to another place.",
    .infer = movedim_infer,
    .next = &movedim_intlist,
};
