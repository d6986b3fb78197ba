/*
 * write_shape -- views, joins, parts and indices as ONNX.
 *
 * Shapes come from the metas of results: a symbolic extent that is the input's
 * on the same axis, or the only one, needs no arithmetic.
 */
#include <stdio.h>

#include "format/onnx/write.h"

/* One extent as a tensor of one item: of the input that has it as it is. */
static const char *extent(onnx_writer *w, cfx_dim d)
{
    const cfx_node *n = cfx_graph_first(w->node->graph);
    char text[128];
    int64_t v[1];

    if (cfx_dim_is_int(d)) {
        v[0] = cfx_dim_value(d);
        return onnx_put_ints(w, 1, v);
    }
    for (; n; n = cfx_node_next(n)) {
        cfx_value meta = onnx_put_meta_value(n);
        if (n->op != CFX_PLACEHOLDER || meta.kind != CFX_TENSOR)
            continue;
        for (int i = 0; i < meta.u.tensor->rank; i++) {
            if (!cfx_dim_same(meta.u.tensor->shape[i], d))
                continue;
            Onnx__NodeProto *p = ONNX_NODE(w, "Shape", NULL, n->name);
            onnx_put_attr_int(w, p, "start", i);
            onnx_put_attr_int(w, p, "end", i + 1);
            return onnx_put_out(p);
        }
    }
    cfx_dim_format(d, text, sizeof(text));
    onnx_put_fail(w, "its extent %s is that of no input", text);
    return NULL;
}

/* Tensors joined along an axis. */
static const char *concat(onnx_writer *w, const char *out, char **in, size_t n,
                          int64_t axis)
{
    Onnx__NodeProto *node = ONNX_NODE(w, "Concat", out, NULL);

    if (!node)
        return NULL;
    node->input = in;
    node->n_input = n;
    onnx_put_attr_int(w, node, "axis", axis);
    return onnx_put_out(node);
}

const char *onnx_put_shape(onnx_writer *w, size_t n, const cfx_dim *shape)
{
    char **in = onnx_put_alloc(w, n, sizeof(*in));
    int64_t known[CFX_MAX_RANK];
    bool all = true;

    for (size_t i = 0; i < n && in; i++) {
        all = all && cfx_dim_is_int(shape[i]);
        known[i] = all ? cfx_dim_value(shape[i]) : 0;
    }
    if (all)
        return onnx_put_ints(w, n, known);
    for (size_t i = 0; i < n && in && !w->st; i++)
        in[i] = (char *)(uintptr_t)extent(w, shape[i]);
    if (w->st)
        return NULL;
    return concat(w, NULL, in, n, 0);
}

static const char *input(onnx_writer *w)
{
    return onnx_put_value(w, onnx_put_self_arg(w));
}

static const cfx_tensor *self_meta(onnx_writer *w)
{
    const cfx_tensor *t = onnx_put_meta(w, onnx_put_self_arg(w));

    if (!t)
        onnx_put_fail(w, "the type and shape of its input are not known");
    return t;
}

/* 0 keeps the extent of the input on that axis, -1 is what is left. */
void onnx_write_to_shape(onnx_writer *w)
{
    const cfx_tensor *x = self_meta(w), *y = onnx_put_result(w);
    cfx_dim shape[CFX_MAX_RANK];
    bool open = false;

    onnx_put_settled(w);
    if (!x || !y)
        return;
    for (int i = 0; i < y->rank; i++) {
        bool number = cfx_dim_is_int(y->shape[i]) &&
                      !cfx_dim_is(y->shape[i], 0);
        bool stays = i < x->rank && cfx_dim_same(x->shape[i], y->shape[i]);
        shape[i] = number || (!stays && open) ? y->shape[i]
                   : stays                    ? cfx_dim_int(0)
                                              : cfx_dim_int(-1);
        open = open || (!number && !stays);
    }
    ONNX_PUT(w, "Reshape", onnx_put_name(w), input(w),
             onnx_put_shape(w, (size_t)y->rank, shape));
}

static void permuted(onnx_writer *w, int rank, const int64_t *perm)
{
    Onnx__NodeProto *n = ONNX_NODE(w, "Transpose", onnx_put_name(w), input(w));

    onnx_put_attr_ints(w, n, "perm", (size_t)rank, perm);
}

void onnx_write_permute(onnx_writer *w)
{
    const cfx_tensor *x = self_meta(w);
    int64_t perm[CFX_MAX_RANK];
    size_t n = onnx_put_list(w, "dims", perm, CFX_MAX_RANK);

    for (size_t i = 0; x && i < n; i++)
        perm[i] += perm[i] < 0 ? x->rank : 0;
    if (x)
        permuted(w, x->rank, perm);
}

/* Swap axes dim0 and dim1, axis0 and axis1, or the two of a matrix. */
void onnx_write_transpose(onnx_writer *w)
{
    const cfx_tensor *x = self_meta(w);
    int64_t perm[CFX_MAX_RANK];
    bool named = onnx_put_arg(w, "axis0").kind != CFX_NONE;

    if (!x)
        return;
    int64_t a = onnx_put_axis(w, named ? "axis0" : "dim0", x->rank, 0);
    int64_t b = onnx_put_axis(w, named ? "axis1" : "dim1", x->rank,
                              x->rank > 1);
    for (int i = 0; i < x->rank; i++)
        perm[i] = i == a ? b : i == b ? a : i;
    permuted(w, x->rank, perm);
}

/* An extent of the input that stays is 1 in the shape: the two broadcast. */
void onnx_write_expand(onnx_writer *w)
{
    const cfx_tensor *x = self_meta(w), *y = onnx_put_result(w);
    cfx_dim shape[CFX_MAX_RANK];

    onnx_put_settled(w);
    if (!x || !y)
        return;
    for (int i = 0; i < y->rank; i++) {
        int at = i - (y->rank - x->rank);
        bool stays = at >= 0 && cfx_dim_same(x->shape[at], y->shape[i]);
        shape[i] = stays ? cfx_dim_int(1) : y->shape[i];
    }
    ONNX_PUT(w, "Expand", onnx_put_name(w), input(w),
             onnx_put_shape(w, (size_t)y->rank, shape));
}

/* ---- Equal numbers ---- */

static void filled(onnx_writer *w, cfx_value v)
{
    const cfx_tensor *y = onnx_put_result(w);

    onnx_put_settled(w);
    if (y)
        ONNX_PUT(w, "Expand", onnx_put_name(w),
                 onnx_put_as(w, v, (cfx_dtype)y->dtype),
                 onnx_put_shape(w, (size_t)y->rank, y->shape));
}

void onnx_write_zeros(onnx_writer *w)
{
    filled(w, cfx_int(0));
}

void onnx_write_ones(onnx_writer *w)
{
    filled(w, cfx_int(1));
}

void onnx_write_full(onnx_writer *w)
{
    filled(w, onnx_put_arg(w, "fill_value"));
}

/* As many integers, one apart, as there are items of a symbolic extent. */
void onnx_write_arange(onnx_writer *w)
{
    const cfx_tensor *y = onnx_put_result(w);

    onnx_put_settled(w);
    if (!y)
        return;
    if (onnx_put_number(w, "step", 1) != 1 || (cfx_dtype)y->dtype != CFX_I64) {
        onnx_put_fail(w, "it is of floats, or its step is not 1");
        return;
    }
    cfx_value start = cfx_int(onnx_put_int(w, "start", 0));
    const char *first = onnx_put_constant(w, start, CFX_I64);
    const char *end = ONNX_PUT(w, "Squeeze", NULL, extent(w, y->shape[0]));
    end = ONNX_PUT(w, "Add", NULL, end, first);
    ONNX_PUT(w, "Range", onnx_put_name(w), first, end,
             onnx_put_scalar(w, 1, CFX_I64));
}

void onnx_write_repeat(onnx_writer *w)
{
    const cfx_tensor *x = self_meta(w);
    int64_t times[CFX_MAX_RANK], shape[CFX_MAX_RANK];
    size_t n = onnx_put_list(w, "repeats", times, CFX_MAX_RANK);
    const char *in = input(w);

    if (!x || w->st)
        return;
    /* New axes come first. */
    size_t more = n - (size_t)x->rank;
    for (size_t i = 0; i < more; i++)
        shape[i] = (int64_t)i;
    if (more)
        in = ONNX_PUT(w, "Unsqueeze", NULL, in, onnx_put_ints(w, more, shape));
    ONNX_PUT(w, "Tile", onnx_put_name(w), in, onnx_put_ints(w, n, times));
}

/* ---- Joins ---- */

/* cat and stack, which adds an axis to each. */
static void join(onnx_writer *w, bool stacks)
{
    cfx_value list = onnx_put_arg(w, "tensors");
    const cfx_tensor *y = onnx_put_result(w);
    size_t n = cfx_value_is_seq(list) ? list.u.seq->len : 0;

    if (!y || !n)
        return;
    int64_t axis = onnx_put_axis(w, "dim", y->rank, 0);
    char **in = onnx_put_alloc(w, n, sizeof(*in));
    size_t count = 0;
    for (size_t i = 0; i < n && in; i++) {
        const char *v = onnx_put_as(w, list.u.seq->item[i],
                                    (cfx_dtype)y->dtype);
        if (stacks)
            v = ONNX_PUT(w, "Unsqueeze", NULL, v, onnx_put_ints(w, 1, &axis));
        in[count++] = (char *)(uintptr_t)v;
    }
    concat(w, onnx_put_name(w), in, count, axis);
}

void onnx_write_cat(onnx_writer *w)
{
    join(w, false);
}

void onnx_write_stack(onnx_writer *w)
{
    join(w, true);
}

/* ---- Parts ---- */

static const char *sliced(onnx_writer *w, const char *out, const char *x,
                          int64_t axis, int64_t start, int64_t end,
                          int64_t step)
{
    return ONNX_PUT(w, "Slice", out, x, onnx_put_ints(w, 1, &start),
                    onnx_put_ints(w, 1, &end), onnx_put_ints(w, 1, &axis),
                    onnx_put_ints(w, 1, &step));
}

/* Neighbours: the numbers without the first less those without the last. */
void onnx_write_diff(onnx_writer *w)
{
    static const char *const names[] = {"prepend", "self", "append"};
    const cfx_tensor *x = self_meta(w);
    char **in = onnx_put_alloc(w, 3, sizeof(*in));
    size_t n = 0;

    if (!x || !in)
        return;
    if (onnx_put_int(w, "n", 1) != 1 || (cfx_dtype)x->dtype == CFX_BOOL) {
        onnx_put_fail(w, "it is of bools, or of more than one step");
        return;
    }
    int64_t axis = onnx_put_axis(w, "dim", x->rank, -1);
    for (int i = 0; i < 3; i++) {
        const char *v = onnx_put_as(w, onnx_put_arg(w, names[i]),
                                    (cfx_dtype)x->dtype);
        if (v && *v)
            in[n++] = (char *)(uintptr_t)v;
    }
    const char *all = n > 1 ? concat(w, NULL, in, n, axis) : in[0];
    if (!w->st)
        ONNX_PUT(w, "Sub", onnx_put_name(w),
                 sliced(w, NULL, all, axis, 1, INT64_MAX, 1),
                 sliced(w, NULL, all, axis, 0, -1, 1));
}

void onnx_write_slice(onnx_writer *w)
{
    const cfx_tensor *x = self_meta(w);

    if (x)
        sliced(w, onnx_put_name(w), input(w),
               onnx_put_axis(w, "dim", x->rank, 0),
               onnx_put_int(w, "start", 0), onnx_put_int(w, "end", INT64_MAX),
               onnx_put_int(w, "step", 1));
}

void onnx_write_narrow(onnx_writer *w)
{
    const cfx_tensor *x = self_meta(w);
    int64_t start = onnx_put_int(w, "start", 0);

    if (!x)
        return;
    int64_t axis = onnx_put_axis(w, "dim", x->rank, 0);
    if (start < 0)
        start += onnx_put_extent(w, x, (int)axis);
    sliced(w, onnx_put_name(w), input(w), axis, start,
           start + onnx_put_int(w, "length", 0), 1);
}

/* An item of an axis, which goes. */
static const char *picked(onnx_writer *w, const char *out, const char *x,
                          int64_t axis, int64_t at)
{
    Onnx__NodeProto *n = ONNX_NODE(w, "Gather", out, x,
                                   onnx_put_constant(w, cfx_int(at), CFX_I64));

    onnx_put_attr_int(w, n, "axis", axis);
    return onnx_put_out(n);
}

void onnx_write_select(onnx_writer *w)
{
    const cfx_tensor *x = self_meta(w);

    if (x)
        picked(w, onnx_put_name(w), input(w),
               onnx_put_axis(w, "dim", x->rank, 0),
               onnx_put_int(w, "index", 0));
}

void onnx_write_index_select(onnx_writer *w)
{
    Onnx__NodeProto *n = ONNX_NODE(w, "Gather", onnx_put_name(w), input(w),
                                   onnx_put_input(w, "index"));

    onnx_put_attr_int(w, n, "axis", onnx_put_int(w, "dim", 0));
}

void onnx_write_gather(onnx_writer *w)
{
    Onnx__NodeProto *n = ONNX_NODE(w, "GatherElements", onnx_put_name(w),
                                   input(w), onnx_put_input(w, "index"));

    onnx_put_unused(w, "sparse_grad");
    onnx_put_attr_int(w, n, "axis", onnx_put_int(w, "dim", 0));
}

/* chunk, split and unbind: a slice for each part, of which those that nothing
 * takes are dropped in the end. Part i is the value "NODE:i". */
void onnx_write_parts(onnx_writer *w)
{
    cfx_value metas = onnx_put_meta_value(w->node);
    const cfx_tensor *x = self_meta(w);
    const char *in = input(w);
    int64_t at = 0;

    onnx_put_settled(w);
    if (!x || !cfx_value_is_seq(metas)) {
        onnx_put_fail(w, "its parts are not known");
        return;
    }
    int64_t axis = onnx_put_axis(w, "dim", x->rank, 0);
    for (uint32_t i = 0; i < metas.u.seq->len && !w->st; i++) {
        cfx_value part = metas.u.seq->item[i];
        const cfx_tensor *t = part.kind == CFX_TENSOR ? part.u.tensor : NULL;
        if (!t) {
            onnx_put_fail(w, "its part %u is not a tensor", (unsigned)i);
            return;
        }
        if (t->rank < x->rank) {
            onnx_put_part(w, i, picked(w, NULL, in, axis, i));
            continue;
        }
        int64_t size = onnx_put_extent(w, t, (int)axis);
        onnx_put_part(w, i, sliced(w, NULL, in, axis, at, at + size, 1));
        at += size;
    }
}

/* ---- Indices ---- */

static const char *by_slice(onnx_writer *w, const char *x, int64_t axis,
                            const cfx_value item[3])
{
    int64_t v[] = {0, INT64_MAX, 1};

    for (int i = 0; i < 3; i++) {
        if (item[i].kind == CFX_INT)
            v[i] = item[i].u.i;
        else if (item[i].kind != CFX_NONE)
            onnx_put_fail(w, "a slice has a bound that is computed");
    }
    return item[0].kind == CFX_NONE && item[1].kind == CFX_NONE && v[2] == 1
               ? x
               : sliced(w, NULL, x, axis, v[0], v[1], v[2]);
}

/* The axes that the indices of a tuple with an ellipsis are of. */
static int indexed_axes(cfx_value index)
{
    int n = 0;

    for (size_t i = 0; index.kind == CFX_TUPLE && i < index.u.seq->len; i++)
        n += index.u.seq->item[i].kind == CFX_INT ||
             index.u.seq->item[i].kind == CFX_SLICE;
    return n;
}

/* x[i, a:b, None, ...]: one step for each index. */
static void index_tensor(onnx_writer *w, cfx_value index)
{
    bool many = index.kind == CFX_TUPLE;
    size_t n = many ? index.u.seq->len : 1;
    const cfx_tensor *x = self_meta(w);
    const char *v = input(w);
    int64_t axis = 0;

    for (size_t i = 0; i < n && x && !w->st; i++) {
        cfx_value at = many ? index.u.seq->item[i] : index;
        if (at.kind == CFX_INT) {
            v = picked(w, NULL, v, axis, at.u.i);
        } else if (at.kind == CFX_NONE) {
            v = ONNX_PUT(w, "Unsqueeze", NULL, v, onnx_put_ints(w, 1, &axis));
            axis++;
        } else if (at.kind == CFX_ELLIPSIS) {
            axis += x->rank - indexed_axes(index);
        } else if (at.kind == CFX_SLICE) {
            v = by_slice(w, v, axis++, at.u.seq->item);
        } else {
            onnx_put_fail(w, "it is indexed by a %s", cfx_kind_name(at.kind));
        }
    }
    onnx_put_alias(w, v);
}

void onnx_write_getitem(onnx_writer *w)
{
    cfx_value x = onnx_put_arg(w, "self"), index = onnx_put_arg(w, "index");

    if (onnx_put_meta(w, x))
        index_tensor(w, index);
    else if (x.kind == CFX_NODE && index.kind == CFX_INT)
        onnx_put_alias(w, onnx_put_part_of(w, x.u.node, index.u.i));
    else
        onnx_put_fail(w, "its argument is not known");
}

/* Indices of the first n axes, together: rows of them. */
static void index_rows(onnx_writer *w, const cfx_seq *list)
{
    const cfx_tensor *x = self_meta(w), *y = onnx_put_result(w);
    size_t n = list->len, rank;
    char **in = onnx_put_alloc(w, n, sizeof(*in));
    int64_t last[] = {-1};

    if (!x || !y || !in || (size_t)x->rank < n) {
        onnx_put_fail(w, "its %zu indices are not of its axes", n);
        return;
    }
    rank = (size_t)y->rank - ((size_t)x->rank - n);
    for (size_t i = 0; i < n; i++) {
        const cfx_tensor *t = onnx_put_meta(w, list->item[i]);
        if (!t || (cfx_dtype)t->dtype == CFX_BOOL) {
            onnx_put_fail(w, "an index is a mask");
            return;
        }
        const char *v = ONNX_PUT(w, "Expand", NULL,
                                 onnx_put_as(w, list->item[i], CFX_I64),
                                 onnx_put_shape(w, rank, y->shape));
        v = ONNX_PUT(w, "Unsqueeze", NULL, v, onnx_put_ints(w, 1, last));
        in[i] = (char *)(uintptr_t)v;
    }
    if (!w->st)
        ONNX_PUT(w, "GatherND", onnx_put_name(w), input(w),
                 concat(w, NULL, in, n, -1));
}

/* Tensors of indices along one axis, or along all of the first ones. */
void onnx_write_index(onnx_writer *w)
{
    cfx_value list = onnx_put_arg(w, "indices"), index = cfx_none();
    size_t n = cfx_value_is_seq(list) ? list.u.seq->len : 0, axis = 0;
    size_t given = 0;

    for (size_t i = 0; i < n; i++)
        if (list.u.seq->item[i].kind != CFX_NONE) {
            index = list.u.seq->item[i];
            axis = i;
            given++;
        }
    const cfx_tensor *t = onnx_put_meta(w, index);
    if (given > 1 && given == n) {
        index_rows(w, list.u.seq);
        return;
    }
    if (given != 1 || !t || (cfx_dtype)t->dtype == CFX_BOOL) {
        onnx_put_fail(w, "it has %zu indices, or a mask", given);
        return;
    }
    Onnx__NodeProto *node = ONNX_NODE(w, "Gather", onnx_put_name(w), input(w),
                                      onnx_put_value(w, index));
    onnx_put_attr_int(w, node, "axis", (int64_t)axis);
}

/* Is an argument a scale of axis i of the image, and another one? */
static bool differs(cfx_value v, int i, float scale)
{
    if (cfx_value_is_seq(v))
        v = (uint32_t)i < v.u.seq->len ? v.u.seq->item[i] : cfx_none();
    if (v.kind == CFX_NONE || v.kind == CFX_ABSENT)
        return false;
    return (v.kind != CFX_FLOAT && v.kind != CFX_INT) ||
           cfx_value_number(v) != (double)scale;
}

/* torch computes with the scale that it is given, though the extents of the
 * result are cut. */
static void check_scales(onnx_writer *w, int nd, const float *scale,
                         bool matters)
{
    static const struct {
        const char *name;
        int axis; /* -1: all */
    } args[] = {{"scale_factor", -1},
                {"scale_factors", -1},
                {"scales_h", 0},
                {"scales_w", 1}};

    for (size_t k = 0; k < sizeof(args) / sizeof(*args); k++) {
        cfx_value v = onnx_put_arg(w, args[k].name);
        for (int i = 0; i < nd && matters; i++)
            if ((args[k].axis < 0 || args[k].axis == i) &&
                differs(v, i, scale[i]))
                onnx_put_fail(w, "%s is not that of the result's extents",
                              args[k].name);
    }
}

/* Resize to the extents of the result. */
void onnx_write_interpolate(onnx_writer *w)
{
    const cfx_tensor *x = self_meta(w), *y = onnx_put_result(w);
    cfx_value mode = onnx_put_arg(w, "mode");
    bool corners = onnx_put_int(w, "align_corners", 0);
    bool nearest = mode.kind == CFX_STR
                       ? onnx_put_is(w, "mode", "nearest")
                       : onnx_put_arg(w, "align_corners").kind == CFX_NONE;
    float *scale = onnx_put_alloc(w, CFX_MAX_RANK, sizeof(*scale));

    if (!x || !y || !scale)
        return;
    if ((!nearest && mode.kind == CFX_STR &&
         !onnx_put_is(w, "mode", "bilinear")) ||
        onnx_put_int(w, "antialias", 0)) {
        onnx_put_fail(w, "it is neither nearest nor bilinear");
        return;
    }
    for (int i = 2; i < x->rank; i++) {
        int64_t in = onnx_put_extent(w, x, i), out = onnx_put_extent(w, y, i);
        if (!w->st && (in < 1 || out % in))
            onnx_put_fail(w, "it resizes %lld to %lld, no multiple",
                          (long long)in, (long long)out);
        scale[i] = in > 0 ? (float)(out / in) : 1;
    }
    scale[0] = scale[1] = 1;
    onnx_put_unused(w, "size");
    onnx_put_unused(w, "output_size");
    check_scales(w, x->rank - 2, scale + 2,
                 !onnx_put_int(w, "recompute_scale_factor", 0) && !corners);
    Onnx__NodeProto *n = ONNX_NODE(w, "Resize", onnx_put_name(w), input(w), "",
                                   onnx_put_floats(w, (size_t)x->rank, scale));
    onnx_put_attr_text(w, n, "mode", nearest ? "nearest" : "linear");
    onnx_put_attr_text(w, n, "coordinate_transformation_mode",
                       nearest   ? "asymmetric"
                       : corners ? "align_corners"
                                 : "half_pixel");
    onnx_put_attr_text(w, n, "nearest_mode", "floor");
}

/* torch's pads begin with the last axis. */
void onnx_write_pad(onnx_writer *w)
{
    const cfx_tensor *x = self_meta(w);
    int64_t pad[2 * CFX_MAX_RANK], pads[2 * CFX_MAX_RANK] = {0};
    size_t n = onnx_put_list(w, "pad", pad, 2 * CFX_MAX_RANK);
    cfx_value mode = onnx_put_arg(w, "mode");
    const char *name = mode.kind == CFX_STR ? mode.u.str->text : "constant";

    if (!x || w->st)
        return;
    for (size_t i = 0; i < n / 2; i++) {
        size_t axis = (size_t)x->rank - 1 - i;
        pads[axis] = pad[2 * i];
        pads[(size_t)x->rank + axis] = pad[2 * i + 1];
    }
    bool constant = !strcmp(name, "constant");
    if (!constant && strcmp(name, "reflect"))
        name = strcmp(name, "replicate") ? NULL : "edge";
    if (!name) {
        onnx_put_fail(w, "ONNX has no such mode of padding");
        return;
    }
    cfx_value number = onnx_put_arg(w, "value");
    if (number.kind == CFX_NONE || number.kind == CFX_ABSENT)
        number = cfx_int(0);
    const char *value = constant ? onnx_put_as(w, number, (cfx_dtype)x->dtype)
                                 : NULL;
    Onnx__NodeProto *node = ONNX_NODE(
        w, "Pad", onnx_put_name(w), input(w),
        onnx_put_ints(w, 2 * (size_t)x->rank, pads), value);
    onnx_put_attr_text(w, node, "mode", name);
}
