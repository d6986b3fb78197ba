/*
 * onnx_write_index -- gathers, scatters and orders as ONNX.
 *
 * x[i, :, j] and its assignment are GatherND and ScatterND, whose indices are
 * of the first axes: the axes that are indexed go there before, and come back
 * after.
 */
#include "format/onnx/onnx_write.h"
#include "op/op_impl.h"

static const cfx_tensor *self_meta(onnx_writer *w)
{
    return onnx_put_self(w, "self");
}

static int64_t axis_of(onnx_writer *w)
{
    const cfx_tensor *x = self_meta(w);

    return x ? onnx_put_axis(w, "dim", x->rank, 0) : 0;
}

/* ---- Along one axis ---- */

void onnx_write_index_select(onnx_writer *w)
{
    const char *index = onnx_put_row(w, onnx_put_input(w, "index"));
    Onnx__NodeProto *n = ONNX_RESULT(w, "Gather", onnx_put_self_value(w),
                                     index);

    onnx_put_attr_int(w, n, "axis", axis_of(w));
}

/* A tensor without axes is one of one item here. */
static const char *with_axis(onnx_writer *w, const char *x,
                             const cfx_tensor *meta)
{
    return meta && !meta->rank ? onnx_put_row(w, x) : x;
}

void onnx_write_gather(onnx_writer *w)
{
    const cfx_tensor *x = self_meta(w), *index = onnx_put_self(w, "index");
    const char *in = with_axis(w, onnx_put_self_value(w), x);
    const char *at = with_axis(w, onnx_put_input(w, "index"), index);
    bool scalar = index && !index->rank;
    Onnx__NodeProto *n = ONNX_NODE(w, "GatherElements",
                                   scalar ? NULL : onnx_put_name(w), in, at);

    onnx_put_unused(w, "sparse_grad");
    onnx_put_attr_int(w, n, "axis", axis_of(w));
    if (scalar)
        ONNX_RESULT(w, "Squeeze", onnx_put_out(n));
}

/* torch takes the part of src that has the extents of the index. */
static const char *updates(onnx_writer *w, const cfx_tensor *index)
{
    cfx_value v = onnx_put_arg(w, "src");
    const cfx_tensor *src = onnx_put_meta(w, v);
    bool same = true;

    if (onnx_put_is_none(v))
        v = onnx_put_arg(w, "value");
    const char *y = onnx_put_as(w, v, onnx_put_result_type(w));
    const char *shape = onnx_put_shape(w, (size_t)index->rank, index->shape);
    if (!src)
        return ONNX_PUT(w, "Expand", NULL, y, shape);
    for (int i = 0; i < index->rank; i++)
        same = same && cfx_dim_same(src->shape[i], index->shape[i]);
    return same ? y
                : ONNX_PUT(w, "Slice", NULL, y,
                           ONNX_PUT(w, "Expand", NULL,
                                    onnx_put_scalar(w, 0, CFX_I64),
                                    onnx_put_one(w, index->rank)),
                           shape);
}

static const char *reduction(onnx_writer *w)
{
    static const struct {
        const char *torch, *onnx;
    } words[] = {{"add", "add"},  {"sum", "add"},  {"multiply", "mul"},
                 {"prod", "mul"}, {"amax", "max"}, {"amin", "min"}};

    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (onnx_put_is(w, "reduce", words[i].torch))
            return words[i].onnx;
    if (!onnx_put_is_none(onnx_put_arg(w, "reduce")))
        onnx_put_fail(w, "ONNX has no such reduce");
    return w->onnx; /* NULL: none */
}

void onnx_write_scatter(onnx_writer *w)
{
    const cfx_tensor *index = onnx_put_self(w, "index"), *x = self_meta(w);
    const char *how = reduction(w);

    if (!index || !x)
        return;
    if (!x->rank || !index->rank || !onnx_put_int(w, "include_self", 1)) {
        onnx_put_fail(w, "it is of tensors without axes, or without itself");
        return;
    }
    Onnx__NodeProto *n = ONNX_RESULT(
        w, "ScatterElements", onnx_put_self_value(w),
        onnx_put_input(w, "index"), updates(w, index));
    onnx_put_attr_int(w, n, "axis", axis_of(w));
    if (how)
        onnx_put_attr_text(w, n, "reduction", how);
}

/* ---- Along several axes ---- */

typedef struct plan {
    const char *rows; /* indices: one axis more than their shape */
    int n, rank;      /* axes that are indexed; of x */
    int index_rank;   /* of the shape of the indices */
    int64_t
        to_front[CFX_MAX_RANK]; /* axes of x, those that are indexed first */
    int64_t back[CFX_MAX_RANK]; /* axes of a result that has the indices'
                                    first, in their places */
    bool moved, moves_back;
} plan;

/* The indices of a mask: [count, axes]. */
static const char *put_nonzero(onnx_writer *w, cfx_value mask)
{
    static const int64_t swap[] = {1, 0};
    const char *v = ONNX_PUT(w, "NonZero", NULL, onnx_put_value(w, mask));

    return onnx_put_permuted(w, NULL, v, 2, swap);
}

static void order_axes(plan *p, const bool *indexed, int first, bool together)
{
    int at = p->n, k = 0;
    int rest = p->rank - p->n, out = p->index_rank + rest;

    for (int i = 0; i < p->rank; i++)
        p->to_front[indexed[i] ? k++ : at++] = i;
    for (int i = 0; i < p->rank; i++)
        p->moved = p->moved || p->to_front[i] != i;
    /* The axes of the result replace adjacent indexed axes. */
    p->moves_back = together && first > 0 && p->index_rank > 0;
    for (int i = 0, next = 0; i < out && p->moves_back; i++) {
        if (i == first)
            for (int j = 0; j < p->index_rank; j++)
                p->back[next++] = j;
        if (i < rest)
            p->back[next++] = p->index_rank + i;
    }
}

/* The shape that indices broadcast to; its rank, or -1. */
static int index_shape(onnx_writer *w, const cfx_seq *list, cfx_dim *shape)
{
    int rank = 0;

    for (uint32_t i = 0; i < list->len; i++) {
        const cfx_tensor *t = onnx_put_meta(w, list->item[i]);
        rank = t && t->rank > rank ? t->rank : rank;
    }
    for (int i = 0; i < rank; i++)
        shape[i] = cfx_dim_int(1);
    for (uint32_t k = 0; k < list->len; k++) {
        const cfx_tensor *t = onnx_put_meta(w, list->item[k]);
        for (int i = 0; t && i < t->rank; i++)
            if (!cfx_dim_is(t->shape[i], 1))
                shape[rank - t->rank + i] = t->shape[i];
    }
    return rank;
}

/* A single boolean mask, possibly after axes that are taken whole. */
static bool plan_mask(onnx_writer *w, plan *p, const cfx_seq *list)
{
    bool indexed[CFX_MAX_RANK] = {false};
    const cfx_tensor *t = NULL;
    int first = 0, given = 0;

    for (uint32_t i = 0; i < list->len; i++)
        if (!onnx_put_is_none(list->item[i])) {
            t = onnx_put_meta(w, list->item[i]);
            first = (int)i;
            given++;
        }
    if (given != 1 || !t || !t->rank || first + t->rank > p->rank) {
        onnx_put_fail(w, "it has a mask among other indices");
        return false;
    }
    p->rows = put_nonzero(w, list->item[first]);
    p->n = t->rank;
    p->index_rank = 1;
    for (int i = 0; i < t->rank; i++)
        indexed[first + i] = true;
    order_axes(p, indexed, first, true);
    return true;
}

static bool has_mask(onnx_writer *w, const cfx_seq *list)
{
    for (uint32_t i = 0; i < list->len; i++) {
        const cfx_tensor *t = onnx_put_meta(w, list->item[i]);
        if (t &&
            ((cfx_dtype)t->dtype == CFX_BOOL || (cfx_dtype)t->dtype == CFX_U8))
            return true;
    }
    return false;
}

static const char *index_row(onnx_writer *w, cfx_value v, int64_t rank,
                             const char *shape)
{
    const char *x = ONNX_PUT(w, "Expand", NULL, onnx_put_as(w, v, CFX_I64),
                             shape);

    return ONNX_PUT(w, "Unsqueeze", NULL, x, onnx_put_one(w, rank));
}

static bool make_plan(onnx_writer *w, plan *p)
{
    cfx_value v = onnx_put_arg(w, "indices");
    const cfx_tensor *x = self_meta(w);
    bool indexed[CFX_MAX_RANK] = {false}, together = true;
    char *in[CFX_MAX_RANK];
    cfx_dim shape[CFX_MAX_RANK];
    int first = -1;

    if (!x || !cfx_value_is_seq(v) || v.u.seq->len > (uint32_t)x->rank) {
        onnx_put_fail(w, "its indices are not known");
        return false;
    }
    *p = (plan){.rank = x->rank};
    if (has_mask(w, v.u.seq))
        return plan_mask(w, p, v.u.seq);
    p->index_rank = index_shape(w, v.u.seq, shape);
    const char *to = onnx_put_shape(w, (size_t)p->index_rank, shape);
    for (int i = 0; i < (int)v.u.seq->len && !w->st; i++) {
        cfx_value item = v.u.seq->item[i];
        if (onnx_put_is_none(item))
            continue;
        together = together && (first < 0 || indexed[i - 1]);
        first = first < 0 ? i : first;
        indexed[i] = true;
        in[p->n++] = (char *)(uintptr_t)index_row(w, item, p->index_rank, to);
    }
    char **all = onnx_put_alloc(w, (size_t)p->n, sizeof(*all));
    if (w->st || !p->n)
        return false;
    memcpy(all, in, (size_t)p->n * sizeof(*all));
    p->rows = p->n == 1 ? all[0]
                        : onnx_put_concat(w, NULL, all, (size_t)p->n, -1);
    order_axes(p, indexed, first, together);
    return !w->st;
}

static const char *at_front(onnx_writer *w, const plan *p, const char *x)
{
    return p->moved ? onnx_put_permuted(w, NULL, x, p->rank, p->to_front) : x;
}

/* One tensor of indices needs no other axes to move. */
static bool index_one(onnx_writer *w)
{
    cfx_value list = onnx_put_arg(w, "indices"), index = cfx_none();
    int64_t axis = 0, given = 0;

    for (uint32_t i = 0; cfx_value_is_seq(list) && i < list.u.seq->len; i++)
        if (!onnx_put_is_none(list.u.seq->item[i])) {
            index = list.u.seq->item[i];
            axis = i;
            given++;
        }
    if (given != 1 || has_mask(w, list.u.seq))
        return false;
    Onnx__NodeProto *n = ONNX_RESULT(w, "Gather", onnx_put_self_value(w),
                                     onnx_put_value(w, index));
    onnx_put_attr_int(w, n, "axis", axis);
    return true;
}

void onnx_write_index(onnx_writer *w)
{
    plan p;

    if (index_one(w) || !make_plan(w, &p))
        return;
    const char *y = ONNX_PUT(w, "GatherND",
                             p.moves_back ? NULL : onnx_put_name(w),
                             at_front(w, &p, onnx_put_self_value(w)), p.rows);
    if (p.moves_back)
        onnx_put_permuted(w, onnx_put_name(w), y, p.index_rank + p.rank - p.n,
                          p.back);
}

/* Values of the shape of x[indices], the indices' axes first. */
static const char *put_values(onnx_writer *w, const plan *p)
{
    const cfx_tensor *x = self_meta(w);
    int rest = p->rank - p->n, all = p->index_rank + rest;
    int64_t axes[CFX_MAX_RANK], inverse[CFX_MAX_RANK];
    const char *y = onnx_put_as(w, onnx_put_arg(w, "values"),
                                (cfx_dtype)x->dtype);
    const cfx_tensor *t = onnx_put_meta(w, onnx_put_arg(w, "values"));
    const char *shape = ONNX_PUT(w, "Shape", NULL, p->rows), *part[2];

    for (int i = 0; i < all; i++)
        axes[i] = i;
    /* Leading axes of extent 1: a permutation needs the values at full rank. */
    if (p->moves_back && t && t->rank < all)
        y = ONNX_PUT(w, "Unsqueeze", NULL, y,
                     onnx_put_ints(w, (size_t)(all - t->rank), axes));
    for (int i = 0; i < all; i++)
        inverse[p->moves_back ? p->back[i] : i] = i;
    if (p->moves_back)
        y = onnx_put_permuted(w, NULL, y, all, inverse);
    part[0] = ONNX_PUT(w, "Slice", NULL, shape, onnx_put_one(w, 0),
                       onnx_put_one(w, p->index_rank));
    part[1] = ONNX_PUT(
        w, "Slice", NULL,
        ONNX_PUT(w, "Shape", NULL, at_front(w, p, onnx_put_self_value(w))),
        onnx_put_one(w, p->n), onnx_put_one(w, INT64_MAX));
    char **both = onnx_put_alloc(w, 2, sizeof(*both));
    if (w->st)
        return NULL;
    both[0] = (char *)(uintptr_t)part[0];
    both[1] = (char *)(uintptr_t)part[1];
    return ONNX_PUT(w, "Expand", NULL, y,
                    rest ? onnx_put_concat(w, NULL, both, 2, 0) : part[0]);
}

void onnx_write_index_put(onnx_writer *w)
{
    int64_t inverse[CFX_MAX_RANK];
    plan p;

    if (!make_plan(w, &p))
        return;
    const char *x = at_front(w, &p, onnx_put_self_value(w)),
               *values = put_values(w, &p);
    Onnx__NodeProto *n = ONNX_NODE(
        w, "ScatterND", p.moved ? NULL : onnx_put_name(w), x, p.rows, values);
    if (onnx_put_int(w, "accumulate", 0))
        onnx_put_attr_text(w, n, "reduction", "add");
    for (int i = 0; i < p.rank; i++)
        inverse[p.to_front[i]] = i;
    if (p.moved)
        onnx_put_permuted(w, onnx_put_name(w), onnx_put_out(n), p.rank,
                          inverse);
}

/* Places where x is not 0, a row for each. */
void onnx_write_nonzero(onnx_writer *w)
{
    static const int64_t swap[] = {1, 0};
    const cfx_tensor *x = self_meta(w);

    if (!x || !x->rank || onnx_put_int(w, "as_tuple", 0)) {
        onnx_put_fail(w, "it is of no axes, or has as_tuple");
        return;
    }
    onnx_put_permuted(w, onnx_put_name(w),
                      ONNX_PUT(w, "NonZero", NULL, onnx_put_self_value(w)), 2,
                      swap);
}

/* ---- Order ---- */

static void put_top(onnx_writer *w, const char *k, int64_t axis, bool largest,
                    bool sorted)
{
    const cfx_tensor *x = self_meta(w);

    if (!x)
        return;
    Onnx__NodeProto *n = ONNX_NODE(w, "TopK", NULL,
                                   with_axis(w, onnx_put_self_value(w), x), k);
    onnx_put_attr_int(w, n, "axis", axis);
    onnx_put_attr_int(w, n, "largest", largest);
    onnx_put_attr_int(w, n, "sorted", sorted);
    const char *part[] = {onnx_put_out(n), onnx_put_more(w, n)};
    for (uint32_t i = 0; i < 2; i++)
        onnx_put_part(
            w, i, x->rank ? part[i] : ONNX_PUT(w, "Squeeze", NULL, part[i]));
}

void onnx_write_topk(onnx_writer *w)
{
    const cfx_tensor *x = self_meta(w);

    if (x)
        put_top(w, onnx_put_whole(w, onnx_put_arg(w, "k"), 1),
                onnx_put_axis(w, "dim", x->rank, -1),
                onnx_put_int(w, "largest", 1), onnx_put_int(w, "sorted", 1));
}

void onnx_write_sort(onnx_writer *w)
{
    const cfx_tensor *x = self_meta(w);

    onnx_put_unused(w, "stable");
    if (!x)
        return;
    int64_t axis = onnx_put_axis(w, "dim", x->rank, -1);
    put_top(w, onnx_put_dim(w, x->rank ? x->shape[axis] : cfx_dim_int(1)),
            axis, onnx_put_int(w, "descending", 0), true);
}

/* max and min: of two tensors, of all elements, or along an axis, with where
 * they are. */
void onnx_write_extreme(onnx_writer *w)
{
    bool most = !strcmp(w->onnx, "Max");
    const char *op = most ? "ReduceMax" : "ReduceMin";
    const cfx_tensor *x = self_meta(w);
    const int64_t axis = x ? axis_of(w) : 0;

    if (!onnx_put_is_none(onnx_put_arg(w, "other"))) {
        onnx_put_pair(w, w->onnx, onnx_put_name(w), "nn");
        return;
    }
    if (!x || (cfx_dtype)x->dtype == CFX_BOOL) {
        onnx_put_fail(w, "ONNX has it of no bools");
        return;
    }
    if (onnx_put_is_none(onnx_put_arg(w, "dim"))) {
        Onnx__NodeProto *n = ONNX_RESULT(w, op, onnx_put_self_value(w));
        onnx_put_attr_int(w, n, "keepdims", 0);
        return;
    }
    int64_t keep = onnx_put_int(w, "keepdim", 0);
    Onnx__NodeProto *n = ONNX_NODE(w, op, NULL,
                                   with_axis(w, onnx_put_self_value(w), x),
                                   onnx_put_one(w, axis));
    onnx_put_attr_int(w, n, "keepdims", keep && x->rank);
    onnx_put_part(w, 0, onnx_put_out(n));
    n = ONNX_NODE(w, most ? "ArgMax" : "ArgMin", NULL,
                  with_axis(w, onnx_put_self_value(w), x));
    onnx_put_attr_int(w, n, "axis", axis);
    onnx_put_attr_int(w, n, "keepdims", keep && x->rank);
    onnx_put_part(w, 1, onnx_put_out(n));
}
