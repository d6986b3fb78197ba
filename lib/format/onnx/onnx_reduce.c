/*
 * onnx_reduce -- rules of reductions, extremes and sums along an axis.
 */
#include <math.h>

#include "format/onnx/onnx.h"

/* The axes of a reduction, all of them where none is given. *none: it does not
 * reduce at all. */
static bool read_axes(onnx_node *n, int rank, int first_with_input,
                      size_t *count, int64_t **axes, bool *none)
{
    bool given;

    *none = onnx_attr_int(n, "noop_with_empty_axes", 0);
    if (rank < 0 || !onnx_plain_ints(n, n->opset >= first_with_input ? 1 : 64,
                                     "axes", count, axes, &given))
        return false;
    *none = *none && !*count;
    if (!*count && !*none) {
        *axes = onnx_alloc(n->s, (size_t)rank + 1, sizeof(**axes));
        for (int i = 0; *axes && i < rank; i++)
            (*axes)[(*count)++] = i;
    }
    for (size_t i = 0; *axes && i < *count; i++)
        (*axes)[i] = onnx_axis(n, (*axes)[i], rank);
    return !cfx_scope_failed(n->s);
}

typedef struct reduction {
    onnx_node *n;
    cfx_value x, dim, keep, type;
    const int64_t *axes;
    size_t count;
} reduction;

static cfx_value sum(const reduction *r, cfx_value x)
{
    return cfx_sum(r->n->s, x, .dim = r->dim, .keepdim = r->keep,
                   .dtype = r->type);
}

/* The product over several axes, the last one first. */
static cfx_value prod(const reduction *r, cfx_value x)
{
    int64_t done = 0;

    for (int64_t axis = CFX_MAX_RANK; axis-- > 0;)
        for (size_t i = 0; i < r->count; i++)
            if (r->axes[i] == axis) {
                x = cfx_prod(r->n->s, x, .dim = cfx_int(axis),
                             .keepdim = r->keep, .dtype = r->type);
                done++;
            }
    return x;
}

static cfx_value mean_of_ints(const reduction *r)
{
    cfx_value many = cfx_int(1);

    for (size_t i = 0; i < r->count; i++)
        many = cfx_int_mul(r->n->s, many,
                           onnx_size(r->n->s, r->x, (int)r->axes[i]));
    return cfx_div(r->n->s, sum(r, r->x), many,
                   .rounding_mode = cfx_str(r->n->s, "trunc"));
}

/* One call over the axes. */
static cfx_value plain(const reduction *r, const char *target, cfx_value x)
{
    cfx_scope *s = r->n->s;

    return cfx_call_function(
        s, target, (cfx_args){CFX_ITEMS(x, r->dim, r->keep), NULL, 0});
}

static bool start(reduction *r, onnx_node *n, int first_with_input)
{
    cfx_value x = onnx_tensor(n, 0);
    int rank = onnx_rank(n, x);
    bool none = false;
    int64_t *axes;

    *r = (reduction){.n = n, .x = x};
    if (!read_axes(n, rank, first_with_input, &r->count, &axes, &none))
        return false;
    r->axes = axes;
    r->keep = cfx_bool(onnx_attr_int(n, "keepdims", 1));
    r->type = cfx_value_of_dtype(onnx_type_of(n, x));
    r->dim = onnx_int_arg(n->s, r->count, axes);
    return !cfx_scope_failed(n->s);
}

/* Without axes torch's functions reduce all of them. */
static bool reduces(const reduction *r)
{
    return r->count != 0;
}

void onnx_import_reduce_sum(onnx_node *n)
{
    reduction r;

    if (start(&r, n, 13))
        n->out[0] = reduces(&r) ? sum(&r, r.x) : r.x;
}

void onnx_import_reduce_mean(onnx_node *n)
{
    reduction r;

    if (start(&r, n, 18))
        n->out[0] = !reduces(&r)          ? r.x
                    : onnx_is_int(n, r.x) ? mean_of_ints(&r)
                                          : plain(&r, "torch.mean", r.x);
}

/* Does the reduction go through no elements? */
static bool is_empty(const reduction *r)
{
    const cfx_tensor *x = onnx_meta_tensor(r->n, r->x);

    for (size_t i = 0; x && i < r->count; i++)
        if (cfx_dim_is(x->shape[r->axes[i]], 0))
            return true;
    return false;
}

/* The extreme of no elements: infinite, or a bool. torch refuses it, and so is
 * that of integers. */
static bool extreme_of_none(const reduction *r)
{
    onnx_node *n = r->n;
    bool max = !strcmp(n->rule->target, "torch.amax");
    cfx_dtype type = onnx_type_of(n, r->x);
    cfx_value shape[CFX_MAX_RANK];
    size_t count = 0;

    if (!is_empty(r) || (type != CFX_BOOL && !cfx_dtype_is_float(type)))
        return false;
    for (int axis = 0; axis < onnx_rank(n, r->x); axis++) {
        bool gone = false;
        for (size_t i = 0; i < r->count; i++)
            gone = gone || r->axes[i] == axis;
        if (!gone)
            shape[count++] = onnx_size(n->s, r->x, axis);
        else if (r->keep.u.b)
            shape[count++] = cfx_int(1);
    }
    n->out[0] = cfx_full(n->s, onnx_arg(n->s, count, shape),
                         type == CFX_BOOL
                             ? cfx_bool(!max)
                             : cfx_float(max ? -INFINITY : INFINITY),
                         .dtype = r->type);
    return true;
}

void onnx_import_reduce_extreme(onnx_node *n)
{
    reduction r;

    if (start(&r, n, 18) && !extreme_of_none(&r))
        n->out[0] = reduces(&r) ? plain(&r, n->rule->target, r.x) : r.x;
}

void onnx_import_reduce_prod(onnx_node *n)
{
    reduction r;

    if (start(&r, n, 18))
        n->out[0] = prod(&r, r.x);
}

void onnx_import_reduce_l1(onnx_node *n)
{
    reduction r;

    if (!start(&r, n, 18))
        return;
    cfx_value x = cfx_abs(n->s, r.x);
    n->out[0] = reduces(&r) ? sum(&r, x) : x;
}

void onnx_import_reduce_sum_square(onnx_node *n)
{
    reduction r;

    if (!start(&r, n, 18))
        return;
    cfx_value x = cfx_mul(n->s, r.x, r.x);
    n->out[0] = reduces(&r) ? sum(&r, x) : x;
}

void onnx_import_reduce_l2(onnx_node *n)
{
    onnx_import_reduce_sum_square(n);
    if (n->out[0].kind)
        n->out[0] = cfx_sqrt(n->s, n->out[0]);
}

void onnx_import_reduce_log_sum(onnx_node *n)
{
    reduction r;

    if (start(&r, n, 18))
        n->out[0] = cfx_log(n->s, reduces(&r) ? sum(&r, r.x) : r.x);
}

void onnx_import_reduce_log_sum_exp(onnx_node *n)
{
    reduction r;

    if (start(&r, n, 18))
        n->out[0] = reduces(&r) ? plain(&r, "torch.logsumexp", r.x) : r.x;
}

/* ---- Extremes ---- */

static cfx_value flip_axis(onnx_node *n, cfx_value x, int64_t axis)
{
    return cfx_flip(n->s, x, onnx_int_arg(n->s, 1, &axis));
}

void onnx_import_arg_extreme(onnx_node *n)
{
    cfx_value x = onnx_tensor(n, 0);
    bool last = onnx_attr_int(n, "select_last_index", 0);
    int rank = onnx_rank(n, x);
    int axis = rank < 0 ? 0 : onnx_axis(n, onnx_attr_int(n, "axis", 0), rank);

    if (cfx_scope_failed(n->s))
        return;
    cfx_value from = last ? flip_axis(n, x, axis) : x;
    cfx_value y = cfx_call_function(
        n->s, n->rule->target,
        CFX_ARGS(from, cfx_int(axis),
                 cfx_bool(onnx_attr_int(n, "keepdims", 1))));
    n->widened = CFX_BOOL; /* of indices there is no type to keep */
    if (last)
        y = cfx_call_function(
            n->s, "torch.rsub",
            CFX_ARGS(
                y, cfx_int_add(n->s, onnx_size(n->s, x, axis), cfx_int(-1))));
    n->out[0] = y;
}

void onnx_import_top_k(onnx_node *n)
{
    cfx_value k = cfx_int(onnx_attr_int(n, "k", 0));
    onnx_list given;

    n->uint64 = ONNX_ORDER;
    cfx_value x = onnx_tensor(n, 0);
    onnx_ignore(n, "sorted");
    if (n->opset >= 10) {
        if (!onnx_ints(n, 1, &given) || given.n != 1)
            return;
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
}

void onnx_import_cumulate(onnx_node *n)
{
    cfx_value x = onnx_tensor(n, 0), y;
    bool reverse = onnx_attr_int(n, "reverse", 0);
    bool exclusive = onnx_attr_int(n, "exclusive", 0);
    int rank = onnx_rank(n, x);
    onnx_list list;

    if (rank < 0 || !onnx_ints(n, 1, &list))
        return;
    if (list.n != 1 || list.item[0].kind != CFX_INT) {
        onnx_fail(n, CFX_EUNDECIDED,
                  "its axis is not known when the model is read");
        return;
    }
    int axis = onnx_axis(n, list.item[0].u.i, rank);
    cfx_value from = reverse ? flip_axis(n, x, axis) : x;
    if (exclusive) {
        /* Shifted by one, with the neutral number first. */
        cfx_value head = cfx_slice(n->s, from, cfx_int(axis), cfx_int(0),
                                   cfx_int(1), cfx_int(1));
        bool adds = !strcmp(n->rule->target, "torch.cumsum");
        head = adds ? cfx_zeros_like(n->s, head) : cfx_ones_like(n->s, head);
        cfx_value rest = cfx_slice(n->s, from, cfx_int(axis), cfx_int(0),
                                   cfx_int(-1), cfx_int(1));
        cfx_value parts[] = {head, rest};
        from = cfx_cat(n->s, onnx_arg(n->s, 2, parts), .dim = cfx_int(axis));
    }
    y = cfx_call_function(
        n->s, n->rule->target,
        (cfx_args){CFX_ITEMS(from, cfx_int(axis)),
                   CFX_PAIRS(cfx_str(n->s, "dtype"),
                             cfx_value_of_dtype(onnx_type_of(n, x)))});
    n->out[0] = reverse ? flip_axis(n, y, axis) : y;
}
