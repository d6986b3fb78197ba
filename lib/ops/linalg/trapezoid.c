/*
 * trapezoid -- integrals by the rule of trapezoids: trapezoid, trapz,
 * cumulative_trapezoid.
 *
 * shape   that of y without the axis; cumulative_trapezoid: one less along it.
 * cost    that of the operators they consist of.
 */
#include "op/composite.h"
#include "op/infer.h"

CFX_PARAMS(params, Y, X, DX, DIM);

#define IN(k) cfx_call_value(call, k)

static cfx_value slice(cfx_scope *s, cfx_value v, cfx_value axis, int from,
                       cfx_value to)
{
    return CFX_CALL(s, "torch.ops.aten.slice.Tensor", v, axis, cfx_int(from),
                    to);
}

/* The sums of neighbours along the axis, or their differences. */
static cfx_value neighbours(cfx_scope *s, const char *name, cfx_value v,
                            cfx_value axis)
{
    cfx_value next = slice(s, v, axis, 1, cfx_none());
    return CFX_CALL(s, name, next, slice(s, v, axis, 0, cfx_int(-1)));
}

/* The extent of y along the axis; fails the scope if there is no such axis. */
static bool extent(cfx_scope *s, const cfx_call *call, int *axis, cfx_dim *n)
{
    const cfx_tensor *y = IN(Y).u.tensor;
    int64_t at = IN(DIM).u.i;
    int rank = y->rank ? y->rank : 1;
    if (at < -rank || at >= rank)
        cfx_scope_fail(
            s, CFX_EINVAL,
            "Dimension out of range (expected to be in range of [%d, %d], but got %lld)",
            -rank, rank - 1, (long long)at);
    else if (!y->rank)
        cfx_scope_fail(s, CFX_ESHAPE,
                       "trapezoid: y has no axis to integrate along");
    if (cfx_scope_failed(s))
        return false;
    *axis = (int)(at < 0 ? at + rank : at);
    *n = y->shape[*axis];
    return true;
}

/* The distances of the points x, whose axes are the last ones of y; a vector
 * lies along the axis. PyTorch broadcasts other ranks and extents of 1, too. */
static cfx_value distances(cfx_scope *s, const cfx_call *call, int axis,
                           cfx_dim n)
{
    cfx_value x = IN(X), shape[CFX_MAX_RANK];
    const cfx_tensor *t = x.u.tensor, *y = IN(Y).u.tensor;
    int more = y->rank - t->rank, at = t->rank == 1 ? 0 : axis - more;
    if (t->dtype == CFX_BOOL || y->dtype == CFX_BOOL)
        return cfx_scope_fail(
            s, CFX_EDTYPE,
            "trapezoid: received a bool input for `x` or `y`, but bool is not supported");
    if (at < 0 || at >= t->rank || more < 0)
        return cfx_scope_fail(
            s, CFX_EUNSUPPORTED,
            "trapezoid: x of rank %d has no axis for axis %d of y", t->rank,
            axis);
    if (!cfx_dim_eq(s->env, t->shape[at], n))
        return cfx_scope_fail(
            s, CFX_ESHAPE,
            "trapezoid: There must be one `x` value for each sample point");
    for (int i = 0; i < y->rank; i++) {
        shape[i] = cfx_int(1);
        if (t->rank == 1 ? i == axis : i >= more)
            shape[i] = cfx_value_of_dim(t->shape[t->rank == 1 ? 0 : i - more]);
    }
    if (more)
        x = CFX_CALL(s, "torch.reshape", x,
                     cfx_list_of(s, CFX_TUPLE, (size_t)y->rank, shape));
    return neighbours(s, "torch.sub", x, cfx_int(axis));
}

static cfx_value trapezoid_build(cfx_scope *s, const cfx_call *call)
{
    int axis;
    cfx_dim n;
    cfx_value y = IN(Y), half = cfx_float(0.5), sum;
    if (!extent(s, call, &axis, &n))
        return cfx_none();
    cfx_value at = cfx_int(axis), dim = cfx_tuple(s, at);
    if (cfx_dim_is(n, 0))
        return CFX_CALL(s, "torch.sum", y, dim);
    if (cfx_call_has(call, X)) {
        sum = CFX_CALL(s, "torch.mul", neighbours(s, "torch.add", y, at),
                       distances(s, call, axis, n));
        return CFX_CALL(s, "torch.div", CFX_CALL(s, "torch.sum", sum, dim),
                        cfx_int(2));
    }
    sum = CFX_CALL(s, "torch.add",
                   CFX_CALL(s, "torch.select", y, at, cfx_int(0)),
                   CFX_CALL(s, "torch.select", y, at, cfx_int(-1)));
    sum = CFX_CALL(s, "torch.sub", CFX_CALL(s, "torch.sum", y, dim),
                   CFX_CALL(s, "torch.mul", sum, half));
    return CFX_CALL(s, "torch.mul", sum, cfx_float(cfx_value_number(IN(DX))));
}

static cfx_value cumulative_trapezoid_build(cfx_scope *s, const cfx_call *call)
{
    int axis;
    cfx_dim n;
    if (!extent(s, call, &axis, &n))
        return cfx_none();
    cfx_value at = cfx_int(axis);
    cfx_value sums = neighbours(s, "torch.add", IN(Y), at);
    if (cfx_call_has(call, X)) {
        sums = CFX_CALL(s, "torch.mul", distances(s, call, axis, n), sums);
        return CFX_CALL(s, "torch.div", CFX_CALL(s, "torch.cumsum", sums, at),
                        cfx_int(2));
    }
    double half = cfx_value_number(IN(DX)) / 2;
    sums = CFX_CALL(s, "torch.mul", sums, cfx_float(half));
    return CFX_CALL(s, "torch.cumsum", sums, at);
}

CFX_COMPOSITE(trapezoid)
CFX_COMPOSITE(cumulative_trapezoid)

static const cfx_op trapezoid_x = {
    .schema = "trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor",
    .params = params,
    .aliases = "torch. torch.trapz aten.",
    .doc = "The integral of y over the points x.",
    .flags = CFX_OP_COMPLEX,
    .infer = trapezoid_infer,
    .cost = trapezoid_cost,
    .run = trapezoid_run,
};

const cfx_op cfx_op__trapezoid = {
    .schema = "trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor",
    .params = params,
    .aliases = "torch. torch.trapz aten.",
    .doc = "The integral of y over points at one distance.",
    .flags = CFX_OP_COMPLEX,
    .infer = trapezoid_infer,
    .cost = trapezoid_cost,
    .run = trapezoid_run,
    .next = &trapezoid_x,
};

static const cfx_op cumulative_trapezoid_x = {
    .schema =
        "cumulative_trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor",
    .params = params,
    .aliases = "torch. aten.",
    .doc = "The integral of y from the first of the points x to each other.",
    .flags = CFX_OP_COMPLEX,
    .infer = cumulative_trapezoid_infer,
    .cost = cumulative_trapezoid_cost,
    .run = cumulative_trapezoid_run,
};

const cfx_op cfx_op__cumulative_trapezoid = {
    .schema =
        "cumulative_trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor",
    .params = params,
    .aliases = "torch. aten.",
    .doc = "The integral of y from the first point to each other.",
    .flags = CFX_OP_COMPLEX,
    .infer = cumulative_trapezoid_infer,
    .cost = cumulative_trapezoid_cost,
    .run = cumulative_trapezoid_run,
    .next = &cumulative_trapezoid_x,
};
