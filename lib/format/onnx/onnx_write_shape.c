/*
 * onnx_write_shape -- views, joins, parts and indices as ONNX.
 *
 * Shapes come from the metas of results: a symbolic extent that is the input's
 * on the same axis, or the only one, needs no arithmetic.
 */
#include <stdio.h>

#include "format/onnx/onnx_write.h"

static cfx_value given_or(cfx_value v, int64_t otherwise)
{
    return v.kind == CFX_NONE || v.kind == CFX_ABSENT ? cfx_int(otherwise) : v;
}

/* Tensors joined along an axis. */
const char *onnx_put_concat(onnx_writer *w, const char *out, char **in,
                            size_t n, int64_t axis)
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
        in[i] = (char *)(uintptr_t)onnx_put_dim(w, shape[i]);
    if (w->st)
        return NULL;
    return onnx_put_concat(w, NULL, in, n, 0);
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
    ONNX_RESULT(w, "Reshape", onnx_put_self_value(w),
                onnx_put_shape(w, (size_t)y->rank, shape));
}

const char *onnx_put_permuted(onnx_writer *w, const char *out, const char *x,
                              int rank, const int64_t *perm)
{
    Onnx__NodeProto *n = ONNX_NODE(w, "Transpose", out, x);

    onnx_put_attr_ints(w, n, "perm", (size_t)rank, perm);
    return onnx_put_out(n);
}

void onnx_write_permute(onnx_writer *w)
{
    const cfx_tensor *x = self_meta(w);
    int64_t perm[CFX_MAX_RANK];
    size_t n = onnx_put_list(w, "dims", perm, CFX_MAX_RANK);

    for (size_t i = 0; x && i < n; i++)
        perm[i] += perm[i] < 0 ? x->rank : 0;
    if (x)
        onnx_put_permuted(w, onnx_put_name(w), onnx_put_self_value(w), x->rank,
                          perm);
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
    if (x->rank == 2 && perm[0] == 1 &&
        onnx_put_transposed(w, onnx_put_name(w), onnx_put_self_arg(w)))
        return;
    onnx_put_permuted(w, onnx_put_name(w), onnx_put_self_value(w), x->rank,
                      perm);
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
    ONNX_RESULT(w, "Expand", onnx_put_self_value(w),
                onnx_put_shape(w, (size_t)y->rank, shape));
}

/* A part of a result, or of a tensor by an index that is no tensor. */
void onnx_write_getitem(onnx_writer *w)
{
    cfx_value x = onnx_put_arg(w, "self"), index = onnx_put_arg(w, "index");

    if (!onnx_put_meta(w, x) && x.kind == CFX_NODE && index.kind == CFX_INT)
        onnx_put_alias(w, onnx_put_part_of(w, x.u.node, index.u.i));
    else
        onnx_put_fail(
            w, "it is indexed by a %s: retrace the graph by cfx_to_onnx",
            cfx_kind_name((cfx_kind)index.kind));
}

/* ---- Equal numbers ---- */

/* The number of the row, or the argument. */
void onnx_write_full(onnx_writer *w)
{
    cfx_value v = w->onnx ? cfx_int(*w->onnx - '0')
                          : onnx_put_arg(w, "fill_value");
    const cfx_tensor *y = onnx_put_result(w);

    onnx_put_settled(w);
    if (y)
        ONNX_RESULT(w, "Expand", onnx_put_as(w, v, (cfx_dtype)y->dtype),
                    onnx_put_shape(w, (size_t)y->rank, y->shape));
}

void onnx_write_arange(onnx_writer *w)
{
    cfx_dtype type = onnx_put_result_type(w);
    cfx_value start = onnx_put_arg(w, "start"), step = onnx_put_arg(w, "step");

    onnx_put_settled(w);
    ONNX_RESULT(w, "Range", onnx_put_as(w, given_or(start, 0), type),
                onnx_put_as(w, onnx_put_arg(w, "end"), type),
                onnx_put_as(w, given_or(step, 1), type));
}

/* Numbers of a list, some of which may be symbolic, as a tensor. */
static const char *put_numbers(onnx_writer *w, const char *name)
{
    cfx_value list = onnx_put_arg(w, name);
    cfx_dim d[CFX_MAX_RANK];
    size_t n = cfx_value_is_seq(list) ? list.u.seq->len : 0;

    for (size_t i = 0; i < n && i < CFX_MAX_RANK; i++) {
        cfx_value v = list.u.seq->item[i];
        if (v.kind != CFX_INT && v.kind != CFX_SYMINT)
            onnx_put_fail(w, "%s has an item that is not a number", name);
        d[i] = v.kind == CFX_INT ? cfx_dim_int(v.u.i) : v.u.dim;
    }
    if (n > CFX_MAX_RANK)
        onnx_put_fail(w, "%s has %zu items", name, n);
    return w->st ? NULL : onnx_put_shape(w, n, d);
}

void onnx_write_repeat(onnx_writer *w)
{
    const cfx_tensor *x = self_meta(w), *y = onnx_put_result(w);
    int64_t axis[CFX_MAX_RANK];
    const char *in = onnx_put_self_value(w);

    if (!x || !y || w->st)
        return;
    /* New axes come first. */
    size_t more = (size_t)(y->rank - x->rank);
    for (size_t i = 0; i < more; i++)
        axis[i] = (int64_t)i;
    if (more)
        in = ONNX_PUT(w, "Unsqueeze", NULL, in, onnx_put_ints(w, more, axis));
    ONNX_RESULT(w, "Tile", in, put_numbers(w, "repeats"));
}

void onnx_write_triangle(onnx_writer *w)
{
    Onnx__NodeProto *n = ONNX_RESULT(
        w, "Trilu", onnx_put_self_value(w),
        onnx_put_as(w, given_or(onnx_put_arg(w, "diagonal"), 0), CFX_I64));

    onnx_put_attr_int(w, n, "upper", !strcmp(w->onnx, "upper"));
}

/* A number of a tensor: an extent that depends on data. */
void onnx_write_item(onnx_writer *w)
{
    cfx_value v = onnx_put_meta_value(w->node);
    const char *x = onnx_put_as(w, onnx_put_self_arg(w), CFX_I64);

    if (v.kind == CFX_SYMINT)
        onnx_put_know_dim(w, v.u.dim, onnx_put_row(w, x), -1);
    else
        onnx_put_fail(w, "its number is not an integer");
}

/* ---- Joins ---- */

/* A tensor of the shape [0], which torch.cat skips whatever the ranks of the
 * others are. */
static bool is_nothing(const cfx_tensor *t)
{
    return t->rank == 1 && cfx_dim_is(t->shape[0], 0);
}

/* cat and stack, which adds an axis to each. */
void onnx_write_join(onnx_writer *w)
{
    bool stacks = w->onnx != NULL;
    cfx_value list = onnx_put_arg(w, "tensors");
    const cfx_tensor *y = onnx_put_result(w);
    size_t n = cfx_value_is_seq(list) ? list.u.seq->len : 0;

    if (!y || !n)
        return;
    int64_t axis = onnx_put_axis(w, "dim", y->rank, 0);
    char **in = onnx_put_alloc(w, n, sizeof(*in));
    size_t count = 0;
    for (size_t i = 0; i < n && in; i++) {
        const cfx_tensor *t = onnx_put_meta(w, list.u.seq->item[i]);
        if (!stacks && t && is_nothing(t) && y->rank != 1)
            continue;
        const char *v = onnx_put_as(w, list.u.seq->item[i],
                                    (cfx_dtype)y->dtype);
        if (stacks)
            v = ONNX_PUT(w, "Unsqueeze", NULL, v, onnx_put_one(w, axis));
        in[count++] = (char *)(uintptr_t)v;
    }
    if (count)
        onnx_put_concat(w, onnx_put_name(w), in, count, axis);
    else
        onnx_put_fail(w, "it joins nothing");
}

/* ---- Parts ---- */

static const char *sliced(onnx_writer *w, const char *out, const char *x,
                          int64_t axis, const char *start, const char *end,
                          int64_t step)
{
    return ONNX_PUT(w, "Slice", out, x, start, end, onnx_put_one(w, axis),
                    onnx_put_one(w, step));
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
    const char *all = n > 1 ? onnx_put_concat(w, NULL, in, n, axis) : in[0];
    if (!w->st)
        ONNX_RESULT(w, "Sub",
                    sliced(w, NULL, all, axis, onnx_put_one(w, 1),
                           onnx_put_one(w, INT64_MAX), 1),
                    sliced(w, NULL, all, axis, onnx_put_one(w, 0),
                           onnx_put_one(w, -1), 1));
}

void onnx_write_slice(onnx_writer *w)
{
    const cfx_tensor *x = self_meta(w);

    if (x)
        sliced(w, onnx_put_name(w), onnx_put_self_value(w),
               onnx_put_axis(w, "dim", x->rank, 0),
               onnx_put_whole(w, onnx_put_arg(w, "start"), 0),
               onnx_put_whole(w, onnx_put_arg(w, "end"), INT64_MAX),
               onnx_put_int(w, "step", 1));
}

void onnx_write_narrow(onnx_writer *w)
{
    const cfx_tensor *x = self_meta(w), *y = onnx_put_result(w);
    cfx_value start = onnx_put_arg(w, "start");

    onnx_put_unused(w, "length");
    if (!x || !y)
        return;
    int64_t axis = onnx_put_axis(w, "dim", x->rank, 0);
    const char *from = start.kind == CFX_NODE
                           ? onnx_put_row(w, onnx_put_as(w, start, CFX_I64))
                           : onnx_put_whole(w, start, 0);
    if (start.kind == CFX_INT && start.u.i < 0)
        from = ONNX_PUT(w, "Add", NULL, from, onnx_put_dim(w, x->shape[axis]));
    sliced(w, onnx_put_name(w), onnx_put_self_value(w), axis, from,
           ONNX_PUT(w, "Add", NULL, from, onnx_put_dim(w, y->shape[axis])), 1);
}

/* An item of an axis, which goes. */
static const char *picked(onnx_writer *w, const char *out, const char *x,
                          int64_t axis, cfx_value at)
{
    Onnx__NodeProto *n = ONNX_NODE(w, "Gather", out, x,
                                   onnx_put_as(w, at, CFX_I64));

    onnx_put_attr_int(w, n, "axis", axis);
    return onnx_put_out(n);
}

void onnx_write_select(onnx_writer *w)
{
    const cfx_tensor *x = self_meta(w);

    if (x)
        picked(w, onnx_put_name(w), onnx_put_self_value(w),
               onnx_put_axis(w, "dim", x->rank, 0), onnx_put_arg(w, "index"));
}

/* Where a part ends; *known is that number while extents are numbers, then
 * -1. */
static const char *end_of(onnx_writer *w, const char *at, cfx_dim extent,
                          int64_t *known)
{
    *known = *known >= 0 && cfx_dim_is_int(extent)
                 ? *known + cfx_dim_value(extent)
                 : -1;
    return *known >= 0 ? onnx_put_one(w, *known)
                       : ONNX_PUT(w, "Add", NULL, at, onnx_put_dim(w, extent));
}

/* chunk, split and unbind: a slice for each part, of which those that nothing
 * takes are dropped in the end. Part i is the value "NODE:i". */
void onnx_write_parts(onnx_writer *w)
{
    cfx_value metas = onnx_put_meta_value(w->node);
    const cfx_tensor *x = self_meta(w);
    const char *in = onnx_put_self_value(w), *at = onnx_put_one(w, 0), *end;
    int64_t known = 0;

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
            onnx_put_part(w, i, picked(w, NULL, in, axis, cfx_int(i)));
            continue;
        }
        end = end_of(w, at, t->shape[axis], &known);
        onnx_put_part(w, i, sliced(w, NULL, in, axis, at, end, 1));
        at = end;
    }
}

/* torch's pads begin with the last axis. */
static const char *put_pads(onnx_writer *w, int rank)
{
    cfx_value list = onnx_put_arg(w, "pad");
    cfx_dim pads[2][CFX_MAX_RANK];
    uint32_t n = cfx_value_is_seq(list) ? list.u.seq->len : 0;
    char **in = onnx_put_alloc(w, 2, sizeof(*in));

    if (n > 2 * (uint32_t)rank)
        onnx_put_fail(w, "pad has %u items", (unsigned)n);
    for (int i = 0; i < rank; i++)
        pads[0][i] = pads[1][i] = cfx_dim_int(0);
    for (uint32_t i = 0; i < n && !w->st; i++) {
        cfx_value v = list.u.seq->item[i];
        if (v.kind != CFX_INT && v.kind != CFX_SYMINT)
            onnx_put_fail(w, "pad has an item that is not a number");
        else
            pads[i % 2][rank - 1 - (int)(i / 2)] = v.kind == CFX_INT
                                                       ? cfx_dim_int(v.u.i)
                                                       : v.u.dim;
    }
    for (int i = 0; i < 2 && !w->st; i++)
        in[i] = (char *)(uintptr_t)onnx_put_shape(w, (size_t)rank, pads[i]);
    return w->st ? NULL : onnx_put_concat(w, NULL, in, 2, 0);
}

void onnx_write_pad(onnx_writer *w)
{
    const cfx_tensor *x = self_meta(w);
    cfx_value mode = onnx_put_arg(w, "mode");
    const char *name = mode.kind == CFX_STR ? mode.u.str->text : "constant";

    if (!x || w->st)
        return;
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
    Onnx__NodeProto *node = ONNX_RESULT(w, "Pad", onnx_put_self_value(w),
                                        put_pads(w, x->rank), value);
    onnx_put_attr_text(w, node, "mode", name);
}
