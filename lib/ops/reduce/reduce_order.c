/*
 * reduce_order -- elements by their place in order: kthvalue, median, mode, quantile.
 *
 * shape   the argument's without the axis (of extent 1 with keepdim); that of
 *         a quantile is preceded by that of q.
 * cost    comparisons are free; quantiles between elements are interpolated.
 *
 * Along an axis, elements are sorted and taken by their place. NaN is the
 * greatest.
 */
#include <math.h>
#include <string.h>

#include "op/composite.h"
#include "op/infer.h"

CFX_PARAMS(params, SELF, K, Q, DIM, KEEPDIM, INTERPOLATION);

#define IN(k) cfx_call_value(call, k)

/* ---- Parts ---- */

/* The axis of a call that infer has checked. */
static int axis_of(const cfx_call *call)
{
    int rank = cfx_call_tensor(call, SELF)->rank;
    int64_t axis = cfx_call_int(call, DIM);
    return (int)(axis < 0 ? axis + (rank ? rank : 1) : axis);
}

static cfx_dim extent(const cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    return x->rank ? x->shape[axis_of(call)] : cfx_dim_int(1);
}

/* A slice of extent 1 of the axis, row-major, with the axis or without. */
static cfx_value finished(cfx_scope *s, const cfx_call *call, cfx_value x)
{
    cfx_value axis = cfx_int(axis_of(call));
    x = CFX_CALL(s, "torch.squeeze", x, axis);
    x = CFX_CALL(s, "Tensor.contiguous", x);
    return cfx_call_bool(call, KEEPDIM)
               ? CFX_CALL(s, "torch.unsqueeze", x, axis)
               : x;
}

/* Elements of (values, places), which are sorted, at a tensor of places that
 * has extent 1 along the axis. */
static cfx_value take(cfx_scope *s, const cfx_call *call, cfx_value sorted,
                      cfx_value place)
{
    cfx_value axis = cfx_int(axis_of(call)), item[2];
    for (int i = 0; i < 2; i++) {
        item[i] = CFX_CALL(s, "torch.gather", cfx_nth(s, sorted, i), axis,
                           place);
        item[i] = finished(s, call, item[i]);
    }
    return cfx_tuple(s, item[0], item[1]);
}

/* Likewise, at one place. */
static cfx_value take_one(cfx_scope *s, const cfx_call *call, cfx_value sorted,
                          cfx_value place)
{
    cfx_value axis = cfx_int(axis_of(call)), item[2];
    for (int i = 0; i < 2; i++) {
        item[i] = CFX_CALL(s, "torch.narrow", cfx_nth(s, sorted, i), axis,
                           place, cfx_int(1));
        item[i] = finished(s, call, item[i]);
    }
    return cfx_tuple(s, item[0], item[1]);
}

static cfx_value sorted_along(cfx_scope *s, const cfx_call *call)
{
    return CFX_CALL(s, "torch.sort", IN(SELF), cfx_int(axis_of(call)));
}

/* Medians are the first of equal elements; where only values are wanted, this is
 * the faster order. */
static cfx_value sorted_stably(cfx_scope *s, cfx_value x, int axis)
{
    cfx_value args[] = {x, cfx_int(axis)};
    cfx_value key[] = {cfx_str(s, "stable"), cfx_bool(true)};
    return cfx_call_function(s, "torch.sort", (cfx_args){args, 2, key, 1});
}

/* A number is in place 0 of itself. */
static cfx_value single(cfx_scope *s, const cfx_call *call)
{
    cfx_value dtype[] = {cfx_str(s, "dtype"), cfx_value_of_dtype(CFX_I64)};
    cfx_value x = IN(SELF);
    return cfx_tuple(
        s, CFX_CALL(s, "torch.clone", x),
        cfx_call_function(s, "torch.zeros_like", (cfx_args){&x, 1, dtype, 1}));
}

static cfx_dim middle(const cfx_call *call, cfx_dim n)
{
    return cfx_dim_floordiv(
        call->env, cfx_dim_sub(call->env, n, cfx_dim_int(1)), cfx_dim_int(2));
}

/* The place of the middle among sorted elements, as a tensor: that of the
 * first NaN if there is one, or the middle of what is a number. */
static cfx_value middle_of_floats(cfx_scope *s, const cfx_call *call,
                                  cfx_value values, int axis, cfx_dim n,
                                  bool pass_nan)
{
    cfx_value nans = CFX_CALL(s, "torch.sum",
                              CFX_CALL(s, "torch.isnan", values),
                              cfx_tuple(s, cfx_int(axis)), cfx_bool(true));
    cfx_value numbers = CFX_CALL(s, "torch.rsub", nans, cfx_value_of_dim(n));
    if (!pass_nan)
        return CFX_CALL(s, "torch.where",
                        CFX_CALL(s, "torch.gt", nans, cfx_int(0)), numbers,
                        cfx_value_of_dim(middle(call, n)));
    cfx_value half = CFX_CALL(s, "torch.floor_divide",
                              CFX_CALL(s, "torch.sub", numbers, cfx_int(1)),
                              cfx_int(2));
    return CFX_CALL(s, "torch.clamp", half, cfx_int(0));
}

static cfx_status check_axis(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    int axis;
    cfx_status st = cfx_call_axis(call, cfx_call_int(call, DIM), x->rank,
                                  &axis);
    if (!st && x->rank && cfx_dim_is(x->shape[axis], 0))
        st = cfx_call_fail(call, CFX_ESHAPE,
                           "Expected reduction dim %d to have non-zero size.",
                           axis);
    return st;
}

static cfx_status refuse_bool(cfx_call *call)
{
    return cfx_call_tensor(call, SELF)->dtype == CFX_BOOL
               ? cfx_infer_refuse(call, CFX_BOOL)
               : CFX_OK;
}

/* ---- kthvalue ---- */

/* Is it faster to select the first k than to sort? */
static bool are_few(const cfx_call *call, cfx_dim k)
{
    cfx_dim n = extent(call);
    return cfx_dim_is_int(n) && cfx_dim_is_int(k) &&
           cfx_dim_value(k) <= cfx_dim_value(n) / 16;
}

static cfx_value kthvalue_build(cfx_scope *s, const cfx_call *call)
{
    cfx_dim k = cfx_value_dim(IN(K));
    cfx_value sorted, place;
    if (!cfx_call_tensor(call, SELF)->rank)
        return single(s, call);
    place = cfx_value_of_dim(cfx_dim_sub(call->env, k, cfx_dim_int(1)));
    sorted = are_few(call, k)
                 ? CFX_CALL(s, "torch.topk", IN(SELF), IN(K),
                            cfx_int(axis_of(call)), cfx_bool(false))
                 : sorted_along(s, call);
    return take_one(s, call, sorted, place);
}

static cfx_status kthvalue_infer(cfx_call *call)
{
    cfx_dim k = cfx_value_dim(IN(K));
    cfx_status st = refuse_bool(call);
    if (!st)
        st = check_axis(call);
    if (!st && (!cfx_dim_le(call->env, cfx_dim_int(1), k) ||
                !cfx_dim_le(call->env, k, extent(call))))
        st = cfx_call_fail(call, CFX_EINVAL,
                           "selected number k out of range for dimension %d",
                           axis_of(call));
    return st ? st : cfx_composite_infer(call, kthvalue_build);
}

static cfx_status kthvalue_run(cfx_call *call)
{
    return cfx_composite_run(call, kthvalue_build);
}

#define PAIR " -> (Tensor values, Tensor indices)"

const cfx_op cfx_op__kthvalue = {
    .schema =
        "kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False)" PAIR,
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc = "The k-th smallest element along an axis, and where it is.",
    .infer = kthvalue_infer,
    .run = kthvalue_run,
};

/* ---- median, nanmedian: `code` is whether NaN is passed over ---- */

static cfx_value median_dim_build(cfx_scope *s, const cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    if (!x->rank)
        return single(s, call);
    cfx_dim n = extent(call);
    cfx_value sorted = sorted_stably(s, IN(SELF), axis_of(call));
    if (!cfx_dtype_is_float((cfx_dtype)x->dtype))
        return take_one(s, call, sorted, cfx_value_of_dim(middle(call, n)));
    return take(s, call, sorted,
                middle_of_floats(s, call, cfx_nth(s, sorted, 0), axis_of(call),
                                 n, call->op->code));
}

static cfx_status median_dim_infer(cfx_call *call)
{
    cfx_status st = refuse_bool(call);
    if (!st)
        st = check_axis(call);
    return st ? st : cfx_composite_infer(call, median_dim_build);
}

static cfx_status median_dim_run(cfx_call *call)
{
    return cfx_composite_run(call, median_dim_build);
}

static cfx_value median_build(cfx_scope *s, const cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_dim n = cfx_infer_numel(call->env, x->rank, x->shape);
    cfx_value dtype[] = {cfx_str(s, "dtype"),
                         cfx_value_of_dtype((cfx_dtype)x->dtype)};
    cfx_value none[] = {cfx_list_of(s, CFX_TUPLE, 0, NULL), cfx_float(NAN)};
    if (cfx_dim_is(n, 0))
        return cfx_call_function(s, "torch.full",
                                 (cfx_args){none, 2, dtype, 1});
    cfx_value y = CFX_CALL(s, "torch.reshape", IN(SELF),
                           cfx_tuple(s, cfx_int(-1)));
    y = cfx_nth(s, sorted_stably(s, y, 0), 0);
    cfx_value place = cfx_value_of_dim(middle(call, n));
    if (!cfx_dtype_is_float((cfx_dtype)x->dtype))
        return CFX_CALL(s, "torch.select", y, cfx_int(0), place);
    place = middle_of_floats(s, call, y, 0, n, call->op->code);
    y = CFX_CALL(s, "torch.gather", y, cfx_int(0), place);
    return CFX_CALL(s, "torch.squeeze", y, cfx_int(0));
}

static cfx_status median_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    bool whole = !cfx_dtype_is_float((cfx_dtype)x->dtype);
    cfx_status st = refuse_bool(call);
    if (!st && whole && cfx_infer_is_empty(x))
        st = cfx_call_fail(call, CFX_ESHAPE,
                           "no integer is the median of nothing");
    return st ? st : cfx_composite_infer(call, median_build);
}

static cfx_status median_run(cfx_call *call)
{
    return cfx_composite_run(call, median_build);
}

#define MEDIAN(name, pass_nan, doc_)                                          \
    static const cfx_op name##_dim = {                                        \
        .schema = #name                                                       \
        ".dim(Tensor self, int dim, bool keepdim=False)" PAIR,                \
        .params = params,                                                     \
        .aliases = "torch. Tensor. aten.",                                    \
        .doc = doc_ " along an axis, and where it is.",                       \
        .code = pass_nan,                                                     \
        .infer = median_dim_infer,                                            \
        .run = median_dim_run,                                                \
    };                                                                        \
    const cfx_op cfx_op__##name = {                                           \
        .schema = #name "(Tensor self) -> Tensor",                            \
        .params = params,                                                     \
        .aliases = "torch. Tensor. aten.",                                    \
        .doc = doc_ " of all.",                                               \
        .code = pass_nan,                                                     \
        .infer = median_infer,                                                \
        .run = median_run,                                                    \
        .next = &name##_dim,                                                  \
    };

MEDIAN(median, false, "The lower of the middle elements")
MEDIAN(nanmedian, true, "The lower of the middle numbers, without NaN,")

/* ---- mode ---- */

/* In a sorted row, the place of the last of each run less that of its first is
 * greatest for the longest run. */
static cfx_value mode_build(cfx_scope *s, const cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    if (!x->rank)
        return single(s, call);
    int axis = axis_of(call);
    cfx_dim n = extent(call), rest = cfx_dim_sub(call->env, n, cfx_dim_int(1));
    cfx_value dim = cfx_int(axis), sorted = sorted_along(s, call);
    cfx_value v = cfx_nth(s, sorted, 0), shape[CFX_MAX_RANK];
    for (int i = 0; i < x->rank; i++)
        shape[i] = i == axis ? cfx_value_of_dim(n) : cfx_int(1);
    cfx_value place = CFX_CALL(
        s, "torch.reshape", CFX_CALL(s, "torch.arange", cfx_value_of_dim(n)),
        cfx_list_of(s, CFX_TUPLE, (size_t)x->rank, shape));
    cfx_value first = CFX_CALL(s, "torch.narrow", v, dim, cfx_int(0),
                               cfx_int(1));
    cfx_value bools[] = {cfx_str(s, "dtype"), cfx_value_of_dtype(CFX_BOOL)};
    first = cfx_call_function(s, "torch.ones_like",
                              (cfx_args){&first, 1, bools, 1});
    cfx_value differs = CFX_CALL(s, "torch.ne",
                                 CFX_CALL(s, "torch.narrow", v, dim,
                                          cfx_int(1), cfx_value_of_dim(rest)),
                                 CFX_CALL(s, "torch.narrow", v, dim,
                                          cfx_int(0), cfx_value_of_dim(rest)));
    cfx_value begins = CFX_CALL(s, "torch.cat", cfx_tuple(s, first, differs),
                                dim);
    begins = CFX_CALL(s, "torch.where", begins, place, cfx_int(0));
    begins = cfx_nth(s, CFX_CALL(s, "torch.cummax", begins, dim), 0);
    cfx_value length = CFX_CALL(s, "torch.sub", place, begins);
    return take(s, call, sorted,
                CFX_CALL(s, "torch.argmax", length, dim, cfx_bool(true)));
}

static cfx_status mode_infer(cfx_call *call)
{
    cfx_status st = check_axis(call);
    return st ? st : cfx_composite_infer(call, mode_build);
}

static cfx_status mode_run(cfx_call *call)
{
    return cfx_composite_run(call, mode_build);
}

const cfx_op cfx_op__mode = {
    .schema = "mode(Tensor self, int dim=-1, bool keepdim=False)" PAIR,
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc =
        "The most frequent element along an axis, of several the least, and where it is last.",
    .infer = mode_infer,
    .run = mode_run,
};

/* ---- quantile, nanquantile ---- */

/* The elements sorted along the last axis, with axes of extent 1 for those that
 * keepdim leaves. */
static cfx_value sorted_last(cfx_scope *s, const cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_value y, last = cfx_int(-1), shape[CFX_MAX_RANK + 1];
    bool all = !cfx_call_has(call, DIM) || !x->rank;
    if (all)
        y = CFX_CALL(s, "torch.reshape", IN(SELF), cfx_tuple(s, last));
    else
        y = CFX_CALL(s, "torch.movedim", IN(SELF), IN(DIM), last);
    y = cfx_nth(s, sorted_stably(s, y, -1), 0);
    if (!cfx_call_bool(call, KEEPDIM) || !x->rank)
        return y;
    if (!all)
        return CFX_CALL(s, "torch.unsqueeze", y, cfx_int(axis_of(call)));
    for (int i = 0; i < x->rank; i++)
        shape[i] = cfx_int(1);
    shape[x->rank] = last;
    return CFX_CALL(s, "torch.reshape", y,
                    cfx_list_of(s, CFX_TUPLE, (size_t)x->rank + 1, shape));
}

/* The places of quantiles among sorted elements: fractions of the last place,
 * which is itself the place where some are NaN. */
static cfx_value ranks_of(cfx_scope *s, const cfx_call *call, cfx_value sorted,
                          cfx_value q)
{
    const cfx_tensor *t = cfx_meta_of(s, sorted);
    cfx_value nan = CFX_CALL(s, "torch.isnan", sorted);
    cfx_value last = cfx_int(-1), keep = cfx_bool(true);
    if (!t)
        return cfx_none();
    if (call->op->code) {
        nan = CFX_CALL(s, "torch.logical_not", nan);
        nan = CFX_CALL(s, "torch.sum", nan, cfx_tuple(s, last), keep);
        nan = CFX_CALL(s, "torch.sub", nan, cfx_int(1));
        return CFX_CALL(s, "torch.clamp", CFX_CALL(s, "torch.mul", nan, q),
                        cfx_int(0));
    }
    cfx_value end = cfx_value_of_dim(
        cfx_dim_sub(call->env, t->shape[t->rank - 1], cfx_dim_int(1)));
    nan = CFX_CALL(s, "torch.any", nan, last, keep);
    return CFX_CALL(s, "torch.where", nan, end,
                    CFX_CALL(s, "torch.mul", q, end));
}

static cfx_value whole(cfx_scope *s, cfx_value ranks)
{
    return CFX_CALL(s, "Tensor.to", ranks, cfx_value_of_dtype(CFX_I64));
}

static cfx_value interpolate(cfx_scope *s, cfx_value sorted, cfx_value ranks,
                             const char *mode)
{
    cfx_value last = cfx_int(-1), below, weight;
    if (!strcmp(mode, "lower"))
        ranks = CFX_CALL(s, "torch.floor", ranks);
    else if (!strcmp(mode, "higher"))
        ranks = CFX_CALL(s, "torch.ceil", ranks);
    else if (!strcmp(mode, "nearest"))
        ranks = CFX_CALL(s, "torch.round", ranks);
    below = whole(s, ranks);
    cfx_value y = CFX_CALL(s, "torch.gather", sorted, last, below);
    if (strcmp(mode, "linear") && strcmp(mode, "midpoint"))
        return y;
    weight = strcmp(mode, "linear")
                 ? CFX_CALL(s, "torch.full_like", ranks, cfx_float(0.5))
                 : CFX_CALL(s, "torch.sub", ranks, below);
    cfx_value above = whole(s, CFX_CALL(s, "torch.ceil", ranks));
    return CFX_CALL(s, "torch.lerp", y,
                    CFX_CALL(s, "torch.gather", sorted, last, above), weight);
}

static cfx_value quantile_build(cfx_scope *s, const cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_value q = IN(Q);
    bool list = q.kind == CFX_TENSOR && q.u.tensor->rank;
    cfx_value dtype[] = {cfx_str(s, "dtype"),
                         cfx_value_of_dtype((cfx_dtype)x->dtype)};
    if (q.kind != CFX_TENSOR)
        q = cfx_call_function(s, "torch.scalar_tensor",
                              (cfx_args){&q, 1, dtype, 1});
    if (!list)
        q = CFX_CALL(s, "torch.unsqueeze", q, cfx_int(0));
    cfx_value sorted = sorted_last(s, call);
    cfx_value y = interpolate(s, sorted, ranks_of(s, call, sorted, q),
                              cfx_call_str(call, INTERPOLATION));
    if (!list)
        return CFX_CALL(s, "torch.squeeze", y, cfx_int(-1));
    return CFX_CALL(s, "torch.movedim", y, cfx_int(-1), cfx_int(0));
}

static cfx_status check_quantile(cfx_call *call)
{
    static const char *const modes[] = {"linear", "lower", "higher",
                                        "midpoint", "nearest"};
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    const cfx_tensor *q = cfx_call_tensor(call, Q);
    const char *mode = cfx_call_str(call, INTERPOLATION);
    bool known = false;
    for (int i = 0; i < 5; i++)
        known = known || !strcmp(mode, modes[i]);
    if (!known)
        return cfx_call_fail(
            call, CFX_EINVAL,
            "interpolation must be one of linear, lower, higher, midpoint or nearest, but got %s",
            mode);
    if (!x || (x->dtype != CFX_F32 && x->dtype != CFX_F64))
        return cfx_call_fail(
            call, CFX_EDTYPE,
            "input tensor must be either float or double dtype");
    if (cfx_infer_is_empty(x))
        return cfx_call_fail(call, CFX_ESHAPE,
                             "input tensor must be non-empty");
    if (q && q->rank > 1)
        return cfx_call_fail(call, CFX_ESHAPE,
                             "q must be a scalar or 1D tensor");
    if (q && q->dtype != x->dtype)
        return cfx_call_fail(
            call, CFX_EDTYPE,
            "q tensor must be same dtype as the input tensor");
    return cfx_call_has(call, DIM) ? check_axis(call) : CFX_OK;
}

static cfx_status bad_fraction(cfx_call *call)
{
    return cfx_call_fail(call, CFX_EINVAL,
                         "q values must be in the range [0, 1]");
}

static cfx_status quantile_infer(cfx_call *call)
{
    cfx_status st = check_quantile(call);
    if (!st && !cfx_call_tensor(call, Q)) {
        double q = cfx_call_double(call, Q);
        if (!(q >= 0 && q <= 1) && !cfx_infer_is_unknown(call, q))
            return bad_fraction(call);
    }
    return st ? st : cfx_composite_infer(call, quantile_build);
}

static void quantile_cost(const cfx_call *call, cfx_cost *cost)
{
    cfx_composite_cost(call, cost, quantile_build);
}

static cfx_status quantile_run(cfx_call *call)
{
    const cfx_tensor *q = cfx_call_tensor(call, Q);
    cfx_scope s;
    bool ok = true;
    cfx_scope_init(&s, &cfx_composite__eager, call->ctx, NULL);
    if (q) {
        cfx_value v = CFX_CALL(&s, "torch.logical_and",
                               CFX_CALL(&s, "torch.ge", IN(Q), cfx_int(0)),
                               CFX_CALL(&s, "torch.le", IN(Q), cfx_int(1)));
        ok = cfx_truth(&s, CFX_CALL(&s, "torch.all", v));
    }
    cfx_status st = cfx_scope_status(&s, call->err);
    cfx_scope_release(&s);
    if (!st && !ok)
        st = bad_fraction(call);
    return st ? st : cfx_composite_run(call, quantile_build);
}

#define QUANTILE(name, pass_nan, doc_)                                        \
    const cfx_op cfx_op__##name = {                                           \
        .schema = #name "(Tensor self, Tensor|Scalar q, int? dim=None, bool " \
                        "keepdim=False, *, str interpolation='linear') -> "   \
                        "Tensor",                                             \
        .params = params,                                                     \
        .aliases = "torch. Tensor. .default .scalar",                         \
        .doc = doc_,                                                          \
        .code = pass_nan,                                                     \
        .infer = quantile_infer,                                              \
        .cost = quantile_cost,                                                \
        .run = quantile_run,                                                  \
    };

QUANTILE(quantile, false, "The elements that fractions of all are below.")
QUANTILE(nanquantile, true, "The numbers that fractions of all are below.")
