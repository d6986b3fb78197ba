/*
 * onnx_reduce -- rules of reductions, extremes and sums along an axis.
 */
#include <math.h>

#include "format/onnx/onnx.h"

/* The axes of a reduction; where none is given all of them, or, with
 * noop_with_empty_axes, none. */
static onnx_int_list read_axes(onnx_node *n, int rank, int first_with_input)
{
    bool none = onnx_attr_int(n, "noop_with_empty_axes", 0);
    onnx_int_list axes = onnx_plain_ints(
        n, n->opset >= first_with_input ? 1 : ONNX_NO_INPUT, "axes");

    if (axes.ok && !axes.n && !none) {
        axes.item = onnx_alloc(n->s, CFX_MAX_RANK, sizeof(*axes.item));
        for (int i = 0; axes.item && i < rank; i++)
            axes.item[axes.n++] = i;
    }
    for (size_t i = 0; axes.ok && i < axes.n; i++)
        axes.item[i] = onnx_axis(n, axes.item[i], rank);
    axes.ok = !cfx_scope_failed(n->s);
    return axes;
}

typedef struct reduction {
    onnx_node *n;
    cfx_value x, dim, keep, type;
    onnx_int_list axes;
} reduction;

/* Without axes torch's functions reduce all of them, ONNX's here none. */
static cfx_value sum(const reduction *r, cfx_value x)
{
    return r->axes.n ? cfx_sum(r->n->s, x, .dim = r->dim, .keepdim = r->keep,
                               .dtype = r->type)
                     : x;
}

/* The product over several axes, the last one first. */
static cfx_value prod(const reduction *r, cfx_value x)
{
    int64_t done = 0;

    for (int64_t axis = CFX_MAX_RANK; axis-- > 0;)
        for (size_t i = 0; i < r->axes.n; i++)
            if (r->axes.item[i] == axis) {
                x = cfx_prod(r->n->s, x, .dim = cfx_int(axis),
                             .keepdim = r->keep, .dtype = r->type);
                done++;
            }
    return x;
}

static cfx_value mean_of_ints(const reduction *r)
{
    cfx_value many = cfx_int(1);

    for (size_t i = 0; i < r->axes.n; i++)
        many = cfx_int_mul(r->n->s, many,
                           onnx_size(r->n->s, r->x, (int)r->axes.item[i]));
    return cfx_div(r->n->s, sum(r, r->x), many,
                   .rounding_mode = cfx_str(r->n->s, "trunc"));
}

/* One call over the axes. */
static cfx_value plain(const reduction *r, const char *target)
{
    return r->axes.n ? CFX_CALL(r->n->s, target, r->x, r->dim, r->keep) : r->x;
}

/* After a failure it has no axes. */
static reduction reduction_of(onnx_node *n, int first_with_input)
{
    reduction r = {.n = n, .x = onnx_tensor(n, 0)};

    r.axes = read_axes(n, onnx_rank(n, r.x), first_with_input);
    if (!r.axes.ok)
        return (reduction){.n = n, .x = cfx_none()};
    r.keep = cfx_bool(onnx_attr_int(n, "keepdims", 1));
    r.type = cfx_value_of_dtype(onnx_type_of(n, r.x));
    r.dim = onnx_int_arg(n->s, r.axes.n, r.axes.item);
    return r;
}

cfx_value onnx_import_reduce_sum(onnx_node *n)
{
    reduction r = reduction_of(n, 13);

    return sum(&r, r.x);
}

cfx_value onnx_import_reduce_mean(onnx_node *n)
{
    reduction r = reduction_of(n, 18);

    return r.axes.n && onnx_is_int(n, r.x) ? mean_of_ints(&r)
                                           : plain(&r, "torch.mean");
}

/* Does the reduction run over an empty axis? */
static bool is_empty(const reduction *r)
{
    const cfx_tensor *x = onnx_meta_tensor(r->n, r->x);

    for (size_t i = 0; x && i < r->axes.n; i++)
        if (cfx_dim_is(x->shape[r->axes.item[i]], 0))
            return true;
    return false;
}

/* The extreme of no elements is infinite, or a bool. torch refuses it, and so is
 * that of integers. */
static cfx_value extreme(onnx_node *n, const char *target, double of_none)
{
    reduction r = reduction_of(n, 18);
    cfx_dtype type = onnx_type_of(n, r.x);
    cfx_value shape[CFX_MAX_RANK];
    size_t count = 0;

    if (!is_empty(&r) || (type != CFX_BOOL && !cfx_dtype_is_float(type)))
        return plain(&r, target);
    for (int axis = 0; axis < onnx_rank(n, r.x); axis++) {
        bool gone = false;
        for (size_t i = 0; i < r.axes.n; i++)
            gone = gone || r.axes.item[i] == axis;
        if (!gone)
            shape[count++] = onnx_size(n->s, r.x, axis);
        else if (r.keep.u.b)
            shape[count++] = cfx_int(1);
    }
    return cfx_full(n->s, onnx_arg(n->s, count, shape),
                    type == CFX_BOOL ? cfx_bool(of_none > 0)
                                     : cfx_float(of_none),
                    .dtype = r.type);
}

cfx_value onnx_import_reduce_max(onnx_node *n)
{
    return extreme(n, "torch.amax", -INFINITY);
}

cfx_value onnx_import_reduce_min(onnx_node *n)
{
    return extreme(n, "torch.amin", INFINITY);
}

cfx_value onnx_import_reduce_prod(onnx_node *n)
{
    reduction r = reduction_of(n, 18);

    return prod(&r, r.x);
}

cfx_value onnx_import_reduce_l1(onnx_node *n)
{
    reduction r = reduction_of(n, 18);

    return sum(&r, cfx_abs(n->s, r.x));
}

cfx_value onnx_import_reduce_sum_square(onnx_node *n)
{
    reduction r = reduction_of(n, 18);

    return sum(&r, cfx_mul(n->s, r.x, r.x));
}

cfx_value onnx_import_reduce_l2(onnx_node *n)
{
    return cfx_sqrt(n->s, onnx_import_reduce_sum_square(n));
}

cfx_value onnx_import_reduce_log_sum(onnx_node *n)
{
    reduction r = reduction_of(n, 18);

    return cfx_log(n->s, sum(&r, r.x));
}

cfx_value onnx_import_reduce_log_sum_exp(onnx_node *n)
{
    reduction r = reduction_of(n, 18);

    return plain(&r, "torch.logsumexp");
}

/* ---- Extremes ---- */

static cfx_value flip_axis(onnx_node *n, cfx_value x, int64_t axis)
{
    return cfx_flip(n->s, x, onnx_int_arg(n->s, 1, &axis));
}

cfx_value onnx_import_arg_extreme(onnx_node *n)
{
    cfx_value x = onnx_tensor(n, 0);
    bool last = onnx_attr_int(n, "select_last_index", 0);
    int axis = onnx_attr_axis(n, x, 0);

    if (cfx_scope_failed(n->s))
        return CFX_NOTHING;
    cfx_value from = last ? flip_axis(n, x, axis) : x;
    cfx_value y = CFX_CALL(n->s, n->rule->target, from, cfx_int(axis),
                           cfx_bool(onnx_attr_int(n, "keepdims", 1)));
    n->widened = CFX_BOOL; /* of indices there is no type to keep */
    if (last)
        y = CFX_CALL(n->s, "torch.rsub", y,
                     cfx_int_add(n->s, onnx_size(n->s, x, axis), cfx_int(-1)));
    return y;
}

cfx_value onnx_import_top_k(onnx_node *n)
{
    cfx_value k = cfx_int(onnx_attr_int(n, "k", 0));
    onnx_list given;

    n->uint64 = ONNX_ORDER;
    cfx_value x = onnx_tensor(n, 0);
    onnx_ignore(n, "sorted");
    if (n->opset >= 10) {
        if (!onnx_ints(n, 1, &given) || given.n != 1)
            return CFX_NOTHING;
        k = given.item[0];
    }
    /* ONNX takes the first of equal elements, which torch's topk need not. */
    cfx_value axis = cfx_int(onnx_attr_int(n, "axis", -1));
    cfx_value both = cfx_sort(
        n->s, x, .dim = axis, .stable = cfx_bool(true),
        .descending = cfx_bool(onnx_attr_int(n, "largest", 1)));
    for (size_t i = 0; i < 2 && i < n->nout; i++)
        n->out[i] = cfx_slice(n->s, cfx_nth(n->s, both, (int64_t)i), axis,
                              cfx_int(0), k, cfx_int(1));
    n->out[0] = onnx_narrowed(n, n->out[0]);
    n->widened = CFX_BOOL; /* the indices stay int64 */
    return n->out[0];
}

/* Sums or products, with the number that changes neither. */
static cfx_value cumulate(onnx_node *n, const char *target, int64_t neutral)
{
    cfx_value x = onnx_tensor(n, 0), y;
    bool reverse = onnx_attr_int(n, "reverse", 0);
    bool exclusive = onnx_attr_int(n, "exclusive", 0);
    int rank = onnx_rank(n, x);
    onnx_list list;

    if (rank < 0 || !onnx_ints(n, 1, &list))
        return CFX_NOTHING;
    if (list.n != 1 || list.item[0].kind != CFX_INT)
        return onnx_fail(n, CFX_EUNDECIDED,
                         "its axis is not known when the model is read");
    int axis = onnx_axis(n, list.item[0].u.i, rank);
    cfx_value from = reverse ? flip_axis(n, x, axis) : x;
    if (exclusive) {
        /* Shifted by one, with the neutral number first. */
        cfx_value head = onnx_slice(n->s, from, axis, 0, 1);
        head = neutral ? cfx_ones_like(n->s, head)
                       : cfx_zeros_like(n->s, head);
        cfx_value rest = onnx_slice(n->s, from, axis, 0, -1);
        from = cfx_cat(n->s, cfx_list(n->s, head, rest), .dim = cfx_int(axis));
    }
    y = cfx_call_function(
        n->s, target,
        (cfx_args){CFX_ITEMS(from, cfx_int(axis)),
                   CFX_PAIRS(cfx_str(n->s, "dtype"),
                             cfx_value_of_dtype(onnx_type_of(n, x)))});
    return reverse ? flip_axis(n, y, axis) : y;
}

cfx_value onnx_import_cum_sum(onnx_node *n)
{
    return cumulate(n, "torch.cumsum", 0);
}

cfx_value onnx_import_cum_prod(onnx_node *n)
{
    return cumulate(n, "torch.cumprod", 1);
}
