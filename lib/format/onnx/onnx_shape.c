/*
 * onnx_shape -- rules of operators that move numbers: shapes, slices, joins.
 */
#include <stdlib.h>

#include "format/onnx/onnx.h"

/* ---- Shapes as values ---- */

static void read_extents(onnx_node *n, cfx_value x, int rank, cfx_value *v)
{
    for (int i = 0; i < rank; i++)
        v[i] = onnx_size(n->s, x, i);
}

static int64_t clamp_axis(int64_t v, int rank)
{
    v += v < 0 ? rank : 0;
    return v < 0 ? 0 : v > rank ? rank : v;
}

cfx_value onnx_import_shape(onnx_node *n)
{
    cfx_value x = onnx_stored_tensor(n, 0), v[CFX_MAX_RANK];
    int rank = onnx_rank(n, x);

    if (rank < 0)
        return CFX_NOTHING;
    int64_t start = clamp_axis(onnx_attr_int(n, "start", 0), rank);
    int64_t end = clamp_axis(onnx_attr_int(n, "end", rank), rank);
    read_extents(n, x, rank, v);
    return onnx_tuple(n->s, end > start ? (size_t)(end - start) : 0,
                      v + (end > start ? start : 0));
}

static cfx_value product(cfx_scope *s, const cfx_value *v, size_t count)
{
    cfx_value all = cfx_int(1);

    for (size_t i = 0; i < count; i++)
        all = cfx_int_mul(s, all, v[i]);
    return all;
}

cfx_value onnx_import_size(onnx_node *n)
{
    cfx_value x = onnx_stored_tensor(n, 0), v[CFX_MAX_RANK];
    int rank = onnx_rank(n, x);

    read_extents(n, x, rank, v);
    return rank < 0 ? CFX_NOTHING : product(n->s, v, (size_t)rank);
}

/* ---- Views ---- */

/* 0 stands for the extent of the input, unless allowzero. */
cfx_value onnx_import_reshape(onnx_node *n)
{
    bool zero = onnx_attr_int(n, "allowzero", 0);
    onnx_list shape;
    cfx_value *v;

    if (n->opset < 5) {
        const int64_t *attr;
        size_t count = onnx_attr_ints(n, "shape", &attr);
        return cfx_reshape(n->s, onnx_tensor(n, 0),
                           onnx_int_arg(n->s, count, attr));
    }
    cfx_value x = onnx_stored_tensor(n, 0);
    if (!onnx_sizes(n, 1, x, zero ? -2 : 0, false, &shape))
        return CFX_NOTHING;
    v = onnx_alloc(n->s, shape.n + 1, sizeof(*v));
    for (size_t i = 0; v && i < shape.n; i++) {
        v[i] = shape.item[i];
        if (!zero && v[i].kind == CFX_INT && v[i].u.i == 0) {
            if (onnx_axis(n, (int64_t)i, onnx_rank(n, x)) < 0 ||
                cfx_scope_failed(n->s))
                return CFX_NOTHING;
            v[i] = onnx_size(n->s, x, (int)i);
        }
    }
    return v ? cfx_reshape(n->s, x, onnx_arg(n->s, shape.n, v)) : CFX_NOTHING;
}

cfx_value onnx_import_flatten(onnx_node *n)
{
    cfx_value x = onnx_stored_tensor(n, 0), v[CFX_MAX_RANK], shape[2];
    int rank = onnx_rank(n, x);
    int64_t axis = onnx_attr_int(n, "axis", 1);

    if (rank < 0)
        return CFX_NOTHING;
    if (axis < -rank || axis > rank)
        return onnx_fail(n, CFX_EINVAL, "there is no axis %lld of %d",
                         (long long)axis, rank);
    axis += axis < 0 ? rank : 0;
    if (axis == 1 && rank > 1)
        return cfx_flatten(n->s, x, .start_dim = cfx_int(1));
    read_extents(n, x, rank, v);
    shape[0] = product(n->s, v, (size_t)axis);
    shape[1] = product(n->s, v + axis, (size_t)(rank - axis));
    return cfx_reshape(n->s, x, onnx_arg(n->s, 2, shape));
}

cfx_value onnx_import_transpose(onnx_node *n)
{
    cfx_value x = onnx_stored_tensor(n, 0);
    int rank = onnx_rank(n, x);
    const int64_t *perm;
    size_t count = onnx_attr_ints(n, "perm", &perm);
    int64_t reversed[CFX_MAX_RANK];

    for (int i = 0; i < rank; i++)
        reversed[i] = rank - 1 - i;
    return rank >= 0
               ? cfx_permute(n->s, x,
                             onnx_int_arg(n->s, count ? count : (size_t)rank,
                                          count ? perm : reversed))
               : CFX_NOTHING;
}

static int compare_ints(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static onnx_int_list read_axes(onnx_node *n)
{
    return onnx_plain_ints(n, n->opset >= 13 ? 1 : ONNX_NO_INPUT, "axes");
}

/* The axes of Squeeze and Unsqueeze, from 0 and sorted; false after a failure. */
static bool sort_axes(onnx_node *n, onnx_int_list *axes, int rank)
{
    for (size_t i = 0; i < axes->n; i++)
        axes->item[i] = onnx_axis(n, axes->item[i], rank);
    if (axes->n)
        qsort(axes->item, axes->n, sizeof(*axes->item), compare_ints);
    for (size_t i = 1; i < axes->n; i++)
        if (axes->item[i] == axes->item[i - 1])
            onnx_fail(n, CFX_EINVAL, "the axis %lld is given twice",
                      (long long)axes->item[i]);
    return !cfx_scope_failed(n->s);
}

cfx_value onnx_import_unsqueeze(onnx_node *n)
{
    onnx_int_list axes = read_axes(n);
    cfx_value x = onnx_stored_tensor(n, 0);

    if (!axes.given || !sort_axes(n, &axes, onnx_rank(n, x) + (int)axes.n))
        return CFX_NOTHING;
    for (size_t i = 0; i < axes.n; i++)
        x = cfx_unsqueeze(n->s, x, cfx_int(axes.item[i]));
    return x;
}

cfx_value onnx_import_squeeze(onnx_node *n)
{
    cfx_value x = onnx_stored_tensor(n, 0);
    onnx_int_list axes = read_axes(n);

    onnx_ignore(n, "axes");
    if (!sort_axes(n, &axes, onnx_rank(n, x)))
        return CFX_NOTHING;
    return axes.given
               ? cfx_squeeze(n->s, x, onnx_int_arg(n->s, axes.n, axes.item))
               : cfx_squeeze(n->s, x);
}

cfx_value onnx_import_expand(onnx_node *n)
{
    onnx_list shape;
    cfx_value x = onnx_stored_tensor(n, 0), *v;
    int rank = onnx_rank(n, x);

    if (rank < 0 || !onnx_sizes(n, 1, x, 1, true, &shape))
        return CFX_NOTHING;
    size_t count = shape.n > (size_t)rank ? shape.n : (size_t)rank;
    v = onnx_alloc(n->s, count + 1, sizeof(*v));
    /* Broadcasting goes both ways: 1 keeps the extent of the input. */
    for (size_t i = 0; v && i < count; i++) {
        bool given = i >= count - shape.n;
        cfx_value want = given ? shape.item[i - (count - shape.n)]
                               : cfx_int(1);
        bool one = want.kind == CFX_INT && want.u.i == 1;
        bool has = i >= count - (size_t)rank;
        v[i] = one && has
                   ? onnx_size(n->s, x, (int)(i - (count - (size_t)rank)))
                   : want;
    }
    return v ? cfx_expand(n->s, x, onnx_arg(n->s, count, v)) : CFX_NOTHING;
}

cfx_value onnx_import_tile(onnx_node *n)
{
    onnx_list repeats;

    return onnx_ints(n, 1, &repeats)
               ? cfx_tile(n->s, onnx_tensor(n, 0),
                          onnx_arg(n->s, repeats.n, repeats.item))
               : CFX_NOTHING;
}

/* ---- Joins and splits ---- */

cfx_value onnx_import_concat(onnx_node *n)
{
    cfx_value *v, axis = cfx_int(onnx_attr_int(n, "axis", 1));

    v = onnx_alloc(n->s, n->nin + 1, sizeof(*v));
    for (size_t i = 0; v && i < n->nin; i++)
        v[i] = onnx_tensor(n, i);
    return v ? cfx_cat(n->s, onnx_arg(n->s, n->nin, v), .dim = axis)
             : CFX_NOTHING;
}

/* The sizes of parts that are as equal as can be, all but the last. */
static bool equal_parts(onnx_node *n, cfx_value x, int axis, int64_t parts,
                        cfx_value *v)
{
    int64_t extent = onnx_known_size(n, x, axis), each;

    if (cfx_scope_failed(n->s) || parts < 1)
        return false;
    each = (extent + parts - 1) / parts;
    for (int64_t i = 0; i < parts; i++) {
        int64_t left = extent - i * each;
        v[i] = cfx_int(left < 0 ? 0 : left < each ? left : each);
    }
    return true;
}

cfx_value onnx_import_split(onnx_node *n)
{
    cfx_value x = onnx_stored_tensor(n, 0), *v;
    int axis = onnx_attr_axis(n, x, 0);
    size_t count = n->nout;

    onnx_ignore(n, "num_outputs"); /* as many as there are */
    onnx_int_list sizes = onnx_plain_ints(
        n, n->opset >= 13 || n->opset == 1 ? 1 : ONNX_NO_INPUT, "split");
    if (cfx_scope_failed(n->s))
        return CFX_NOTHING;
    if (sizes.given && sizes.n != count)
        return onnx_fail(n, CFX_EGRAPH, "it has %zu outputs for %zu parts",
                         count, sizes.n);
    v = onnx_alloc(n->s, count + 1, sizeof(*v));
    if (!v || (!sizes.given && !equal_parts(n, x, axis, (int64_t)count, v)))
        return CFX_NOTHING;
    for (size_t i = 0; i < sizes.n; i++)
        v[i] = cfx_int(sizes.item[i]);
    cfx_value parts = cfx_split_with_sizes(n->s, x, onnx_arg(n->s, count, v),
                                           .dim = cfx_int(axis));
    for (size_t i = 0; i < count; i++)
        n->out[i] = cfx_nth(n->s, parts, (int64_t)i);
    return n->out[0];
}

/* ---- Slices ---- */

typedef struct slice_args {
    onnx_list start, end, step, axes;
} slice_args;

static cfx_value *int_values(onnx_node *n, const char *name, size_t *count)
{
    const int64_t *attr;
    cfx_value *v;

    *count = onnx_attr_ints(n, name, &attr);
    v = onnx_alloc(n->s, *count + 1, sizeof(*v));
    for (size_t i = 0; v && i < *count; i++)
        v[i] = cfx_int(attr[i]);
    return v;
}

static bool read_slice(onnx_node *n, slice_args *a)
{
    *a = (slice_args){0};
    if (n->opset < 10) {
        a->start.item = int_values(n, "starts", &a->start.n);
        a->end.item = int_values(n, "ends", &a->end.n);
        a->axes.item = int_values(n, "axes", &a->axes.n);
    } else if (!onnx_ints(n, 1, &a->start) || !onnx_ints(n, 2, &a->end) ||
               (onnx_has(n, 3) && !onnx_ints(n, 3, &a->axes)) ||
               (onnx_has(n, 4) && !onnx_ints(n, 4, &a->step))) {
        return false;
    }
    if (a->start.n != a->end.n || (a->axes.n && a->axes.n != a->start.n) ||
        (a->step.n && a->step.n != a->start.n))
        return onnx_refuse(
            n, CFX_EINVAL,
            "its starts, ends, axes and steps differ in number");
    return !cfx_scope_failed(n->s);
}

/* Steps backwards are a slice of the flipped axis: index i of the axis is index
 * size - 1 - i of it. */
static cfx_value slice_back(onnx_node *n, cfx_value x, int axis, int64_t start,
                            int64_t end, int64_t step)
{
    int64_t size = onnx_known_size(n, x, axis);
    int64_t from = start < 0 ? start + size : start;
    int64_t to = end < 0 ? end + size : end;
    int64_t dim = axis;

    if (cfx_scope_failed(n->s) || step == INT64_MIN)
        return cfx_none();
    if (end < -size)
        to = -1;
    from = from > size - 1 ? size - 1 : from < -1 ? -1 : from;
    to = to > size - 1 ? size - 1 : to < -1 ? -1 : to;
    x = cfx_flip(n->s, x, onnx_int_arg(n->s, 1, &dim));
    return cfx_slice(n->s, x, cfx_int(axis), cfx_int(size - 1 - from),
                     cfx_int(size - 1 - to > size - 1 - from
                                 ? size - 1 - to
                                 : size - 1 - from),
                     cfx_int(-step));
}

static cfx_value slice_axis(onnx_node *n, cfx_value x, int axis,
                            cfx_value start, cfx_value end, cfx_value step)
{
    if (step.kind != CFX_INT || !step.u.i)
        return onnx_fail(
            n, step.kind == CFX_INT ? CFX_EINVAL : CFX_EUNDECIDED,
            "its step is zero, or not known when the model is read");
    if (step.u.i < 0) {
        if (start.kind != CFX_INT || end.kind != CFX_INT)
            return onnx_fail(n, CFX_EUNDECIDED,
                             "it steps backwards between symbols");
        return slice_back(n, x, axis, start.u.i, end.u.i, step.u.i);
    }
    return cfx_slice(n->s, x, cfx_int(axis), start, end, step);
}

cfx_value onnx_import_slice(onnx_node *n)
{
    slice_args a;

    if (!read_slice(n, &a))
        return CFX_NOTHING;
    cfx_value x = onnx_stored_tensor(n, 0);
    int rank = onnx_rank(n, x);
    for (size_t i = 0; i < a.start.n && rank >= 0; i++) {
        cfx_value axis = a.axes.n ? a.axes.item[i] : cfx_int((int64_t)i);
        if (axis.kind != CFX_INT)
            return onnx_fail(n, CFX_EUNDECIDED,
                             "its axes are not known when the model is read");
        int at = onnx_axis(n, axis.u.i, rank);
        if (cfx_scope_failed(n->s))
            return CFX_NOTHING;
        x = slice_axis(n, x, at, a.start.item[i], a.end.item[i],
                       a.step.n ? a.step.item[i] : cfx_int(1));
    }
    return x;
}

/* ---- Rearranging ---- */

/* Axes split into six parts, which are ordered and joined to the shape `to`. */
static cfx_value rearranged(onnx_node *n, cfx_value x, cfx_value parts,
                            const int64_t order[6], cfx_value to)
{
    x = cfx_permute(n->s, cfx_reshape(n->s, x, parts),
                    onnx_int_arg(n->s, 6, order));
    return cfx_reshape(n->s, x, to);
}

cfx_value onnx_import_depth_to_space(onnx_node *n)
{
    cfx_value x = onnx_tensor(n, 0), v[4];
    int64_t b = onnx_attr_int(n, "blocksize", 0);
    static const int64_t order[] = {0, 3, 4, 1, 5, 2};

    if (onnx_rank(n, x) != 4 || b < 1)
        return onnx_fail(n, CFX_ESHAPE, "it takes 4 axes and a blocksize");
    if (onnx_attr_is(n, "mode", "CRD", "DCR"))
        return cfx_pixel_shuffle(n->s, x, cfx_int(b));
    read_extents(n, x, 4, v);
    cfx_value c = cfx_int_floordiv(n->s, v[1], cfx_int(b * b));
    return rearranged(
        n, x, cfx_list(n->s, v[0], cfx_int(b), cfx_int(b), c, v[2], v[3]),
        order,
        cfx_list(n->s, v[0], c, cfx_int_mul(n->s, v[2], cfx_int(b)),
                 cfx_int_mul(n->s, v[3], cfx_int(b))));
}

cfx_value onnx_import_space_to_depth(onnx_node *n)
{
    cfx_value x = onnx_tensor(n, 0), v[4];
    cfx_value b = cfx_int(onnx_attr_int(n, "blocksize", 0));
    static const int64_t dcr[] = {0, 3, 5, 1, 2, 4},
                         crd[] = {0, 1, 3, 5, 2, 4};
    bool columns = onnx_attr_is(n, "mode", "CRD", "DCR");

    if (onnx_rank(n, x) != 4 || b.u.i < 1)
        return onnx_fail(n, CFX_ESHAPE, "it takes 4 axes and a blocksize");
    read_extents(n, x, 4, v);
    cfx_value h = cfx_int_floordiv(n->s, v[2], b);
    cfx_value w = cfx_int_floordiv(n->s, v[3], b);
    cfx_value c = cfx_int_mul(n->s, v[1], cfx_int(b.u.i * b.u.i));
    return rearranged(n, x, cfx_list(n->s, v[0], v[1], h, b, w, b),
                      columns ? crd : dcr, cfx_list(n->s, v[0], c, h, w));
}

cfx_value onnx_import_trilu(onnx_node *n)
{
    onnx_list k = {0};
    cfx_value diagonal = cfx_int(0), x = onnx_tensor(n, 0);

    if (onnx_has(n, 1)) {
        if (!onnx_ints(n, 1, &k) || k.n != 1)
            return CFX_NOTHING;
        diagonal = k.item[0];
    }
    return onnx_attr_int(n, "upper", 1)
               ? cfx_triu(n->s, x, .diagonal = diagonal)
               : cfx_tril(n->s, x, .diagonal = diagonal);
}

/* ---- Padding ---- */

/* The pads of all axes, first and last, from those of some. */
static bool read_pads(onnx_node *n, int rank, cfx_value *pads)
{
    onnx_list given = {0};
    onnx_int_list axes = {0};

    if (n->opset < 11)
        given.item = int_values(n, "pads", &given.n);
    else if (!onnx_ints(n, 1, &given) ||
             !(axes = onnx_plain_ints(n, 3, NULL)).ok)
        return false;
    size_t count = axes.given ? axes.n : (size_t)rank;
    if (given.n != 2 * count || count > (size_t)rank)
        return onnx_refuse(n, CFX_EINVAL, "it has %zu pads for %zu axes",
                           given.n, count);
    for (int i = 0; i < 2 * rank; i++)
        pads[i] = cfx_int(0);
    for (size_t i = 0; i < count; i++) {
        int axis = onnx_axis(n, axes.given ? axes.item[i] : (int64_t)i, rank);
        pads[axis] = given.item[i];
        pads[axis + rank] = given.item[i + count];
    }
    return !cfx_scope_failed(n->s);
}

/* torch lists the pads of the last axis first. */
static cfx_value torch_pads(onnx_node *n, int rank, const cfx_value *pads,
                            int *count)
{
    cfx_value v[2 * CFX_MAX_RANK];
    int first = 0;

    while (first < rank && pads[first].kind == CFX_INT &&
           pads[first].u.i == 0 && pads[first + rank].kind == CFX_INT &&
           pads[first + rank].u.i == 0)
        first++;
    *count = rank - first;
    for (int i = 0; i < *count; i++) {
        v[2 * i] = pads[rank - 1 - i];
        v[2 * i + 1] = pads[2 * rank - 1 - i];
    }
    return onnx_arg(n->s, 2 * (size_t)*count, v);
}

/* Pads that are negative cut off. Of an odd difference, the larger half is
 * after. */
cfx_value onnx_import_center_crop_pad(onnx_node *n)
{
    cfx_value x = onnx_tensor(n, 0), pads[2 * CFX_MAX_RANK];
    int rank = onnx_rank(n, x), many;
    const int64_t *axes;
    size_t naxes = onnx_attr_ints(n, "axes", &axes);
    onnx_int_list want = onnx_plain_ints(n, 1, NULL);

    if (rank < 0 || !want.ok)
        return CFX_NOTHING;
    if (want.n != (naxes ? naxes : (size_t)rank))
        return onnx_fail(n, CFX_ESHAPE, "its shape has %zu items", want.n);
    for (int i = 0; i < 2 * rank; i++)
        pads[i] = cfx_int(0);
    for (size_t i = 0; i < want.n && !cfx_scope_failed(n->s); i++) {
        int axis = onnx_axis(n, naxes ? axes[i] : (int64_t)i, rank);
        if (want.item[i] < 0)
            return onnx_fail(n, CFX_ESHAPE, "its shape has a negative item");
        int64_t more = want.item[i] - onnx_known_size(n, x, axis);
        pads[axis] = cfx_int(more / 2);
        pads[axis + rank] = cfx_int(more - more / 2);
    }
    cfx_value list = torch_pads(n, rank, pads, &many);
    return many ? cfx_pad(n->s, x, list) : x;
}

/* reflect, edge and wrap, axis by axis, as indices of the axis. */
static cfx_value pad_by_index(onnx_node *n, cfx_value x, int axis,
                              int64_t before, int64_t after, const char *mode)
{
    if (cfx_scope_failed(n->s) || (!before && !after))
        return x;
    int64_t size = onnx_known_size(n, x, axis), total = size + before + after;
    int64_t *index;

    if (cfx_scope_failed(n->s))
        return x;
    if (size < 1 || total < 0 || total > ONNX_MAX_INTS * 16)
        return onnx_fail(n, CFX_ESHAPE, "its pads do not fit axis %d", axis);
    index = onnx_alloc(n->s, (size_t)total + 1, sizeof(*index));
    for (int64_t i = 0; index && i < total; i++) {
        int64_t at = i - before, period = 2 * (size - 1);
        if (*mode == 'e') {
            at = at < 0 ? 0 : at >= size ? size - 1 : at;
        } else if (*mode == 'w') {
            at = (at % size + size) % size;
        } else {
            at = period ? (at % period + period) % period : 0;
            at = at < size ? at : period - at;
        }
        index[i] = at;
    }
    return cfx_index_select(n->s, x, cfx_int(axis),
                            onnx_int_tensor(n->s, 1, (size_t)total, index));
}

/* reflect and edge of extents that are symbols: torch's own, which has them on
 * the last axes, and reflects no further than the other end; else absent. */
static cfx_value pad_by_torch(onnx_node *n, cfx_value x, int rank,
                              const cfx_value *pads, const char *mode)
{
    const cfx_tensor *t = onnx_meta_tensor(n, x);
    bool symbols = false;
    int count;
    cfx_value list = torch_pads(n, rank, pads, &count);

    for (int i = rank - count; t && i < rank; i++)
        symbols = symbols || !cfx_dim_is_int(t->shape[i]);
    if (!symbols || *mode == 'w' || count > 3 ||
        (rank != count + 1 && rank != count + 2))
        return CFX_NOTHING;
    const char *name = *mode == 'e' ? "replicate" : mode;
    return cfx_pad(n->s, x, list, .mode = cfx_str(n->s, name));
}

cfx_value onnx_import_pad(onnx_node *n)
{
    cfx_value x = onnx_tensor(n, 0), pads[2 * CFX_MAX_RANK];
    int rank = onnx_rank(n, x), count;
    const char *mode = onnx_attr_text(n, "mode", "constant");
    double value = n->opset < 11 ? onnx_attr_float(n, "value", 0) : 0;

    if (rank < 0 || !read_pads(n, rank, pads) ||
        (n->opset >= 11 && onnx_has(n, 2) && !onnx_number(n, 2, &value)))
        return CFX_NOTHING;
    if (!strcmp(mode, "constant")) {
        cfx_value list = torch_pads(n, rank, pads, &count);
        return !count ? x
                      : cfx_pad(n->s, x, list,
                                .value = onnx_is_int(n, x)
                                             ? cfx_int((int64_t)value)
                                             : cfx_float(value));
    }
    cfx_value y = pad_by_torch(n, x, rank, pads, mode);
    if (y.kind)
        return y;
    for (int i = 0; i < rank; i++) {
        if (pads[i].kind != CFX_INT || pads[i + rank].kind != CFX_INT)
            return onnx_fail(n, CFX_EUNDECIDED, "its pads are symbols");
        x = pad_by_index(n, x, i, pads[i].u.i, pads[i + rank].u.i, mode);
    }
    return x;
}
