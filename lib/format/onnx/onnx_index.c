/*
 * onnx_index -- rules of gathering, scattering and making tensors.
 */
#include "format/onnx/onnx.h"

#define TYPE(t) cfx_value_of_dtype(t)

/* ---- Gathering ---- */

/* x[:, ..., index, ...]: a list for torch's index, `axis` of it None. */
static cfx_value index_at(onnx_node *n, int axis, cfx_value index)
{
    cfx_value v[CFX_MAX_RANK + 1];

    for (int i = 0; i < axis; i++)
        v[i] = cfx_none();
    v[axis] = index;
    return onnx_arg(n->s, (size_t)axis + 1, v);
}

cfx_value onnx_import_gather(onnx_node *n)
{
    cfx_value x = onnx_tensor(n, 0), index = onnx_tensor(n, 1);
    int axis = onnx_attr_axis(n, x, 0);

    if (cfx_scope_failed(n->s))
        return CFX_NOTHING;
    if (index.kind == CFX_TENSOR && !index.u.tensor->rank) {
        onnx_list one;
        if (onnx_ints_known(n, index, &one))
            return cfx_select(n->s, x, cfx_int(axis), one.item[0]);
    }
    return cfx_index(n->s, x, index_at(n, axis, index));
}

/* Indices as int64 from 0: ONNX counts negative ones from the end. */
static cfx_value from_zero(onnx_node *n, cfx_value index, cfx_value size)
{
    if (onnx_type_of(n, index) != CFX_I64)
        index = cfx_to(n->s, index, TYPE(CFX_I64));
    return cfx_where(n->s, cfx_lt(n->s, index, cfx_int(0)),
                     cfx_add(n->s, index, size), index);
}

static bool element_args(onnx_node *n, cfx_value *x, int *axis,
                         cfx_value *index)
{
    *x = onnx_tensor(n, 0);
    *axis = onnx_attr_axis(n, *x, 0);
    if (cfx_scope_failed(n->s))
        return false;
    *index = from_zero(n, onnx_tensor(n, 1), onnx_size(n->s, *x, *axis));
    return !cfx_scope_failed(n->s);
}

cfx_value onnx_import_gather_elements(onnx_node *n)
{
    cfx_value x, index;
    int axis;

    return element_args(n, &x, &axis, &index)
               ? cfx_gather(n->s, x, cfx_int(axis), index)
               : CFX_NOTHING;
}

/* The columns of the last axis of indices, after an arange for each batch
 * axis. */
static cfx_value columns(onnx_node *n, cfx_value x, cfx_value index, int batch)
{
    cfx_value v[CFX_MAX_RANK];
    int rank = onnx_rank(n, index);
    int64_t many = rank < 1 ? 0 : onnx_known_size(n, index, rank - 1);

    if (cfx_scope_failed(n->s) || many + batch > CFX_MAX_RANK || batch < 0 ||
        batch >= rank)
        return onnx_fail(n, CFX_ESHAPE, "its indices have too many columns");
    for (int i = 0; i < batch; i++) {
        cfx_value shape[CFX_MAX_RANK];
        cfx_value size = onnx_size(n->s, x, i);
        for (int k = 0; k < rank - 1; k++)
            shape[k] = k == i ? size : cfx_int(1);
        v[i] = cfx_reshape(n->s, CFX_CALL(n->s, "torch.arange", size),
                           onnx_arg(n->s, (size_t)rank - 1, shape));
    }
    for (int64_t i = 0; i < many; i++)
        v[batch + i] = cfx_select(n->s, index, cfx_int(-1), cfx_int(i));
    return onnx_arg(n->s, (size_t)(batch + many), v);
}

cfx_value onnx_import_gather_nd(onnx_node *n)
{
    cfx_value x = onnx_tensor(n, 0);
    int64_t batch = onnx_attr_int(n, "batch_dims", 0);
    cfx_value list = columns(n, x, onnx_tensor(n, 1),
                             batch < CFX_MAX_RANK ? (int)batch : -1);

    return !cfx_scope_failed(n->s) ? cfx_index(n->s, x, list) : CFX_NOTHING;
}

/* ---- Scattering ---- */

typedef struct scatter_row {
    const char *onnx, *torch;
} scatter_row;

static const scatter_row scatters[] = {
    {"add", "sum"}, {"mul", "prod"}, {"max", "amax"}, {"min", "amin"}};

/* torch's name of the reduction; NULL: none. */
static const char *reduction_of(onnx_node *n)
{
    for (size_t i = 0; i < sizeof(scatters) / sizeof(*scatters); i++)
        if (onnx_attr_is(n, "reduction", scatters[i].onnx, "none"))
            return scatters[i].torch;
    return NULL;
}

cfx_value onnx_import_scatter_elements(onnx_node *n)
{
    const char *reduce = reduction_of(n);
    cfx_value x, index, src = onnx_tensor(n, 2);
    int axis;

    if (!element_args(n, &x, &axis, &index))
        return CFX_NOTHING;
    return reduce ? cfx_scatter_reduce(n->s, x, cfx_int(axis), index, src,
                                       cfx_str(n->s, reduce))
                  : cfx_scatter(n->s, x, cfx_int(axis), index, src);
}

/* Reduce rows of a matrix: the axes that the indices go through are its rows,
 * the others its columns. */
static cfx_value reduce_nd(onnx_node *n, cfx_value x, cfx_value list,
                           cfx_value src, const char *reduce)
{
    cfx_scope *s = n->s;
    size_t many = list.u.seq->len;
    cfx_value rows = cfx_int(1), row = CFX_NOTHING, shape[CFX_MAX_RANK];
    int rank = onnx_rank(n, x);

    if (rank < (int)many)
        return onnx_fail(n, CFX_ESHAPE, "its indices have too many columns");
    for (size_t i = 0; i < many; i++) {
        cfx_value size = onnx_size(s, x, (int)i);
        cfx_value at = from_zero(n, list.u.seq->item[i], size);
        row = i ? cfx_add(s, cfx_mul(s, row, size), at) : at;
        rows = cfx_int_mul(s, rows, size);
    }
    for (int i = 0; i < rank; i++)
        shape[i] = onnx_size(s, x, i);
    cfx_value matrix[] = {rows, cfx_int(1)}, columns = cfx_int(1);
    for (int i = (int)many; i < rank; i++)
        columns = cfx_int_mul(s, columns, shape[i]);
    matrix[1] = columns;
    x = cfx_reshape(s, x, onnx_arg(s, 2, matrix));
    matrix[0] = cfx_int(-1);
    row = cfx_reshape(s, row, onnx_arg(s, 1, matrix));
    src = cfx_reshape(s, src, onnx_arg(s, 2, matrix));
    x = cfx_index_reduce(s, x, cfx_int(0), row, src, cfx_str(s, reduce));
    return cfx_reshape(s, x, onnx_arg(s, (size_t)rank, shape));
}

cfx_value onnx_import_scatter_nd(onnx_node *n)
{
    const char *reduce = reduction_of(n);
    cfx_value x = onnx_tensor(n, 0), src = onnx_tensor(n, 2);
    cfx_value list = columns(n, x, onnx_tensor(n, 1), 0);

    if (cfx_scope_failed(n->s))
        return CFX_NOTHING;
    return reduce && strcmp(reduce, "sum")
               ? reduce_nd(n, x, list, src, reduce)
               : cfx_index_put(n->s, x, list, src,
                               .accumulate = cfx_bool(reduce != NULL));
}

/* Rows of an update stand one after the other from an index of each batch. */
cfx_value onnx_import_tensor_scatter(onnx_node *n)
{
    cfx_scope *s = n->s;
    cfx_value x = onnx_tensor(n, 0), src = onnx_tensor(n, 1);
    cfx_value start = onnx_optional(n, 2);
    bool circular = onnx_attr_is(n, "mode", "circular", "linear");
    int rank = onnx_rank(n, x);

    if (rank < 0 || onnx_rank(n, src) != rank)
        return CFX_NOTHING;
    int axis = onnx_axis(n, onnx_attr_int(n, "axis", -2), rank);
    if (cfx_scope_failed(s))
        return CFX_NOTHING;
    cfx_value index = CFX_CALL(s, "torch.arange", onnx_size(s, src, axis));
    index = onnx_along(s, index, axis, rank);
    if (start.kind)
        index = cfx_add(s, index, onnx_along(s, start, 0, rank));
    if (circular)
        index = cfx_remainder(s, index, onnx_size(s, x, axis));
    index = cfx_expand(s, index, onnx_extents(s, src, 0, rank));
    return cfx_scatter(s, x, cfx_int(axis), index, src);
}

static cfx_value pick(onnx_node *n, cfx_value x, int axis, cfx_value index)
{
    return cfx_index_select(n->s, x, cfx_int(axis), index);
}

/* The first place of each value is the least of those where it stands. Without
 * `sorted` values stand in the order of these places. */
cfx_value onnx_import_unique(onnx_node *n)
{
    cfx_scope *s = n->s;
    bool flat = !onnx_attr(n, "axis"), sorted = onnx_attr_int(n, "sorted", 1);
    cfx_value x = onnx_tensor(n, 0), yes = cfx_bool(true), v[4];
    int rank = onnx_rank(n, x);
    cfx_value line = onnx_int_arg(s, 1, (int64_t[]){-1});

    if (rank < 0)
        return CFX_NOTHING;
    if (flat)
        x = cfx_reshape(s, x, line);
    int axis = flat ? 0 : onnx_axis(n, onnx_attr_int(n, "axis", 0), rank);
    cfx_value all = cfx_call_function(
        s,
        flat ? "torch.ops.aten._unique2.default"
             : "torch.ops.aten.unique_dim.default",
        flat ? CFX_ARGS(x, yes, yes, yes)
             : CFX_ARGS(x, cfx_int(axis), yes, yes, yes));
    v[0] = cfx_nth(s, all, 0);
    v[2] = cfx_reshape(s, cfx_nth(s, all, 1), line);
    v[3] = cfx_nth(s, all, 2);
    cfx_value many = onnx_size(s, x, axis);
    v[1] = cfx_scatter_reduce(
        s, cfx_add(s, cfx_zeros_like(s, v[3]), many), cfx_int(0), v[2],
        CFX_CALL(s, "torch.arange", many), cfx_str(s, "amin"));
    if (!sorted) {
        cfx_value order = cfx_argsort(s, v[1]);
        v[0] = pick(n, v[0], axis, order);
        v[1] = pick(n, v[1], 0, order);
        v[2] = pick(n, cfx_argsort(s, order), 0, v[2]);
        v[3] = pick(n, v[3], 0, order);
    }
    v[0] = onnx_narrowed(n, v[0]);
    n->widened = CFX_BOOL; /* the indices stay int64 */
    memcpy(n->out, v, sizeof(v));
    return v[0];
}

cfx_value onnx_import_one_hot(onnx_node *n)
{
    cfx_value index = onnx_tensor(n, 0), values;
    int rank = onnx_rank(n, index);

    n->widened = CFX_BOOL; /* the result is of the values' type */
    values = onnx_tensor(n, 2);
    if (rank < 0 || rank >= CFX_MAX_RANK)
        return CFX_NOTHING;
    int axis = onnx_axis(n, onnx_attr_int(n, "axis", -1), rank + 1);
    cfx_value many = CFX_CALL(n->s, "builtins.int", onnx_scalar(n, 1));
    index = from_zero(n, index, many);
    cfx_value row = onnx_along(n->s, CFX_CALL(n->s, "torch.arange", many),
                               axis, rank + 1);
    cfx_value is = cfx_eq(n->s, cfx_unsqueeze(n->s, index, cfx_int(axis)),
                          row);
    return cfx_where(n->s, is,
                     cfx_select(n->s, values, cfx_int(0), cfx_int(1)),
                     cfx_select(n->s, values, cfx_int(0), cfx_int(0)));
}

cfx_value onnx_import_non_zero(onnx_node *n)
{
    cfx_value x = onnx_tensor(n, 0);

    n->widened = CFX_BOOL;
    return cfx_t(n->s, cfx_nonzero(n->s, x));
}

cfx_value onnx_import_compress(onnx_node *n)
{
    bool flat = !onnx_attr(n, "axis");
    cfx_value x = onnx_tensor(n, 0);
    int rank = onnx_rank(n, x);

    if (rank < 0)
        return CFX_NOTHING;
    if (flat)
        x = cfx_reshape(n->s, x, onnx_int_arg(n->s, 1, (int64_t[]){-1}));
    int axis = flat ? 0 : onnx_axis(n, onnx_attr_int(n, "axis", 0), rank);
    cfx_value at = cfx_select(n->s, cfx_nonzero(n->s, onnx_tensor(n, 1)),
                              cfx_int(1), cfx_int(0));
    return cfx_index_select(n->s, x, cfx_int(axis), at);
}

cfx_value onnx_import_reverse_sequence(onnx_node *n)
{
    int64_t time = onnx_attr_int(n, "time_axis", 0);
    int64_t batch = onnx_attr_int(n, "batch_axis", 1);
    cfx_value x = onnx_tensor(n, 0), lens = onnx_tensor(n, 1);
    int rank = onnx_rank(n, x);
    cfx_value v[CFX_MAX_RANK], shape[2];

    if (rank < 2 || time == batch || time < 0 || time > 1 || batch < 0 ||
        batch > 1)
        return onnx_fail(n, CFX_EINVAL,
                         "its time and batch are not axes 0 and 1");
    /* Step t of a sequence of length l is l - 1 - t, or t after its end. */
    shape[time] = onnx_size(n->s, x, (int)time);
    shape[batch] = cfx_int(1);
    cfx_value t = cfx_reshape(n->s,
                              CFX_CALL(n->s, "torch.arange", shape[time]),
                              onnx_arg(n->s, 2, shape));
    lens = cfx_unsqueeze(n->s, lens, cfx_int(time));
    cfx_value back = cfx_sub(n->s, cfx_sub(n->s, lens, cfx_int(1)), t);
    v[time] = cfx_where(n->s, cfx_lt(n->s, t, lens), back, t);
    shape[time] = cfx_int(1);
    shape[batch] = onnx_size(n->s, x, (int)batch);
    v[batch] = cfx_reshape(n->s, CFX_CALL(n->s, "torch.arange", shape[batch]),
                           onnx_arg(n->s, 2, shape));
    return cfx_index(n->s, x, onnx_arg(n->s, 2, v));
}

/* ---- Making tensors ---- */

cfx_value onnx_import_constant(onnx_node *n)
{
    const Onnx__AttributeProto *a;

    if ((a = onnx_attr(n, "value")) && a->t) {
        cfx_value v = onnx_constant(n->importer, a->t);
        if (v.kind == CFX_TENSOR && n->proto->n_output)
            onnx_name_tensor(n->s, v.u.tensor, n->proto->output[0]);
        return v;
    }
    if ((a = onnx_attr(n, "value_int")))
        return onnx_int_tensor(n->s, 0, 1, &a->i);
    if ((a = onnx_attr(n, "value_ints")))
        return onnx_int_tensor(n->s, 1, a->n_ints, a->ints);
    if ((a = onnx_attr(n, "value_float")))
        return onnx_float_tensor(n->s, 0, 1, &a->f);
    if ((a = onnx_attr(n, "value_floats")))
        return onnx_float_tensor(n->s, 1, a->n_floats, a->floats);
    if (onnx_attr(n, "value_strings"))
        return onnx_attr_texts(n, "value_strings");
    if (onnx_attr(n, "value_string"))
        return onnx_attr_str(n, "value_string");
    return onnx_fail(n, CFX_EUNSUPPORTED,
                     "it holds a sparse tensor, which is not supported");
}

cfx_value onnx_import_constant_of_shape(onnx_node *n)
{
    const Onnx__AttributeProto *a = onnx_attr(n, "value");
    cfx_dtype type = CFX_F32;
    cfx_value number = cfx_float(0), t;
    onnx_list shape;

    if (!onnx_ints(n, 0, &shape))
        return CFX_NOTHING;
    if (a && a->t) {
        t = onnx_constant(n->importer, a->t);
        if (t.kind != CFX_TENSOR || cfx_tensor_numel(t.u.tensor) != 1)
            return onnx_fail(n, CFX_EINVAL, "its value is not one number");
        type = (cfx_dtype)t.u.tensor->dtype;
        number = cfx_dtype_is_float(type)
                     ? cfx_float(cfx_element_double(type, t.u.tensor->data))
                     : cfx_int(cfx_element_int(type, t.u.tensor->data));
    }
    return cfx_full(n->s, onnx_arg(n->s, shape.n, shape.item), number,
                    .dtype = TYPE(type));
}

/* A number for arange: an int, a symbolic one, or of a constant. */
static bool range_item(onnx_node *n, size_t i, bool is_int, cfx_value *out)
{
    onnx_list list;

    if (is_int) {
        if (!onnx_ints(n, i, &list) || list.n != 1)
            return false;
        *out = list.item[0];
        return true;
    }
    *out = onnx_scalar(n, i);
    return !cfx_scope_failed(n->s);
}

cfx_value onnx_import_range(onnx_node *n)
{
    cfx_value v[3];
    bool is_int = onnx_is_known(n->s, n->in[0]) ||
                  onnx_is_int(n, onnx_tensor(n, 0));
    cfx_dtype type = onnx_is_known(n->s, n->in[0])
                         ? CFX_I64
                         : onnx_type_of(n, onnx_tensor(n, 0));

    for (size_t i = 0; i < 3; i++)
        if (!onnx_has(n, i) || !range_item(n, i, is_int, &v[i]))
            return CFX_NOTHING;
    return cfx_call_function(
        n->s, "torch.arange",
        (cfx_args){CFX_ITEMS(v[0], v[1], v[2]),
                   CFX_PAIRS(cfx_str(n->s, "dtype"), TYPE(type))});
}

cfx_value onnx_import_eye_like(onnx_node *n)
{
    cfx_value x = onnx_tensor(n, 0);
    int64_t code = onnx_attr_int(n, "dtype", 0);
    int64_t k = onnx_attr_int(n, "k", 0);
    cfx_dtype type = onnx_type_of(n, x);
    cfx_scope *s = n->s;

    if (onnx_rank(n, x) != 2 || (code && !onnx_dtype(&type, code)))
        return onnx_fail(n, CFX_EUNSUPPORTED,
                         "it is not a matrix, or it is of type %s",
                         onnx_type_name(code));
    cfx_value row = CFX_CALL(s, "torch.arange", onnx_size(s, x, 0));
    cfx_value column = CFX_CALL(s, "torch.arange", onnx_size(s, x, 1));
    row = cfx_unsqueeze(s, cfx_add(s, row, cfx_int(k)), cfx_int(1));
    return cfx_to(s, cfx_eq(s, row, column), TYPE(type));
}
