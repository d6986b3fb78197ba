/*
 * onnx_ints -- shapes, axes and other ints that rules have to know.
 */
#include "base/convert.h"
#include "format/onnx/onnx.h"

/* Numbers of data that may decide shapes. */
enum { MAX_OF_DATA = 64 };

void *onnx_alloc(cfx_scope *s, size_t n, size_t size)
{
    size_t bytes = 0;
    void *p = cfx_mul_size(&bytes, n, size)
                  ? cfx_arena_alloc(&onnx_recorder_of(s)->arena,
                                    bytes ? bytes : 1)
                  : NULL;

    if (p)
        memset(p, 0, bytes);
    else
        cfx_no_memory(&s->error);
    return p;
}

bool onnx_is_symint(cfx_scope *s, cfx_value v)
{
    cfx_kind kind = v.kind == CFX_NODE ? (cfx_kind)onnx_meta(s, v).kind
                                       : CFX_ABSENT;

    return kind == CFX_SYMINT || kind == CFX_INT;
}

bool onnx_is_known(cfx_scope *s, cfx_value v)
{
    return v.kind == CFX_INT || v.kind == CFX_TUPLE || onnx_is_symint(s, v);
}

/* ---- Making values ---- */

cfx_value onnx_tuple(cfx_scope *s, size_t n, const cfx_value *items)
{
    return cfx_list_of(s, CFX_TUPLE, n, items);
}

cfx_value onnx_arg(cfx_scope *s, size_t n, const cfx_value *items)
{
    return cfx_list_of(s, CFX_LIST, n, items);
}

cfx_value onnx_int_arg(cfx_scope *s, size_t n, const int64_t *items)
{
    cfx_value *v = onnx_alloc(s, n + 1, sizeof(*v));

    for (size_t i = 0; v && i < n; i++)
        v[i] = cfx_int(items[i]);
    return v ? onnx_arg(s, n, v) : cfx_none();
}

/* A tensor of one element or one row. */
static cfx_value row_tensor(cfx_scope *s, cfx_dtype dtype, int rank, size_t n,
                            const void *items)
{
    int64_t shape[] = {(int64_t)n};
    cfx_tensor *t;

    if (cfx_scope_failed(s) ||
        cfx_tensor_new(&t, s->ctx, dtype, rank, shape, &s->error))
        return cfx_none();
    if (n)
        memcpy(t->data, items, n * cfx_dtype_size(dtype));
    return cfx_scope_take(s, cfx_value_of_tensor(t));
}

cfx_value onnx_int_tensor(cfx_scope *s, int rank, size_t n,
                          const int64_t *items)
{
    return row_tensor(s, CFX_I64, rank, n, items);
}

cfx_value onnx_float_tensor(cfx_scope *s, int rank, size_t n,
                            const float *items)
{
    return row_tensor(s, CFX_F32, rank, n, items);
}

cfx_value onnx_scalar_tensor(cfx_scope *s, double v, cfx_dtype dtype)
{
    cfx_value number = cfx_dtype_is_float(dtype) ? cfx_float(v)
                                                 : cfx_int((int64_t)v);

    return cfx_scalar_tensor(s, number, .dtype = cfx_value_of_dtype(dtype));
}

/* ---- Reading values ---- */

static bool of_constant(onnx_node *n, const cfx_tensor *t, onnx_list *out)
{
    cfx_tensor *row;
    int64_t count = cfx_tensor_numel(t);

    if (t->rank > 1 || cfx_dtype_is_float((cfx_dtype)t->dtype) ||
        count > ONNX_MAX_INTS)
        return false;
    out->n = (size_t)count;
    out->item = onnx_alloc(n->s, out->n + 1, sizeof(*out->item));
    if (!out->item || cfx_tensor_contiguous(&row, t, &n->s->error))
        return false;
    for (size_t i = 0; i < out->n; i++)
        out->item[i] = cfx_int(cfx_element_int(
            (cfx_dtype)t->dtype, (const char *)row->data +
                                     i * cfx_dtype_size((cfx_dtype)t->dtype)));
    cfx_tensor_unref(row);
    return true;
}

bool onnx_ints_known(onnx_node *n, cfx_value v, onnx_list *out)
{
    *out = (onnx_list){0};
    if (cfx_scope_failed(n->s))
        return false;
    if (v.kind == CFX_TENSOR)
        return of_constant(n, v.u.tensor, out);
    if (v.kind == CFX_TUPLE) {
        *out = (onnx_list){v.u.seq->len, v.u.seq->item};
        return true;
    }
    if (v.kind != CFX_INT && !onnx_is_symint(n->s, v))
        return onnx_recorded_ints(n, v, out);
    out->item = onnx_alloc(n->s, 1, sizeof(v));
    if (!out->item)
        return false;
    out->item[0] = v;
    out->n = 1;
    return true;
}

/* New symbols for the elements of a short vector of ints whose values are known only
 * at run time. */
static bool of_data(onnx_node *n, cfx_value v, onnx_list *out)
{
    cfx_value meta = onnx_meta(n->s, v);
    const cfx_tensor *t = meta.kind == CFX_TENSOR ? meta.u.tensor : NULL;

    if (v.kind != CFX_NODE || onnx_is_texts(n->s, v) || !t || t->rank > 1 ||
        (t->dtype != CFX_I64 && t->dtype != CFX_I32) ||
        (t->rank && (!cfx_dim_is_int(t->shape[0]) ||
                     cfx_tensor_size(t, 0) > MAX_OF_DATA)))
        return false;
    out->n = t->rank ? (size_t)cfx_tensor_size(t, 0) : 1;
    out->item = onnx_alloc(n->s, out->n + 1, sizeof(*out->item));
    for (size_t i = 0; out->item && i < out->n; i++) {
        cfx_value at = t->rank ? cfx_select(n->s, v, cfx_int(0),
                                            cfx_int((int64_t)i))
                               : v;
        out->item[i] = cfx_item(n->s, at);
    }
    return out->item && !cfx_scope_failed(n->s);
}

bool onnx_ints(onnx_node *n, size_t i, onnx_list *out)
{
    *out = (onnx_list){0};
    if (!onnx_has(n, i))
        return onnx_refuse(n, CFX_EGRAPH, "its input %zu is missing", i);
    if (onnx_ints_known(n, n->in[i], out) || of_data(n, n->in[i], out))
        return true;
    onnx_fail(
        n, CFX_EUNDECIDED,
        "its input %zu, '%s', decides shapes, and is computed from numbers that are not known when the model is read",
        i, n->proto->input[i]);
    return false;
}

/* A row of the extents of x, as many as that; aligned with the last ones if
 * `behind`. */
static cfx_value extents_row(onnx_node *n, cfx_value x, size_t count,
                             bool behind, cfx_value otherwise)
{
    cfx_value *v = onnx_alloc(n->s, count + 1, sizeof(*v));
    int rank = onnx_rank(n, x), first = behind ? rank - (int)count : 0;

    for (size_t i = 0; v && i < count; i++) {
        int axis = first + (int)i;
        v[i] = axis >= 0 && axis < rank ? onnx_size(n->s, x, axis) : otherwise;
    }
    return v ? onnx_as_tensor(n->s, onnx_tuple(n->s, count, v)) : cfx_none();
}

bool onnx_sizes(onnx_node *n, size_t i, cfx_value x, int64_t keeps,
                bool behind, onnx_list *out)
{
    cfx_value v = onnx_has(n, i) ? n->in[i] : cfx_none();
    const cfx_tensor *t = NULL;
    cfx_value keep = cfx_int(keeps);

    if (!cfx_scope_failed(n->s) && v.kind == CFX_NODE &&
        !onnx_ints_known(n, v, out) && onnx_meta(n->s, v).kind == CFX_TENSOR)
        t = onnx_meta(n->s, v).u.tensor;
    if (!t || t->rank != 1 || !cfx_dim_is_int(t->shape[0]) ||
        cfx_tensor_size(t, 0) > MAX_OF_DATA)
        return onnx_ints(n, i, out);
    cfx_value own = extents_row(n, x, (size_t)cfx_tensor_size(t, 0), behind,
                                keep);
    return of_data(n, cfx_where(n->s, cfx_eq(n->s, v, keep), own, v), out);
}

onnx_int_list onnx_plain_ints(onnx_node *n, size_t i, const char *name)
{
    onnx_int_list out = {.given = onnx_has(n, i)};
    const int64_t *attr = NULL;
    onnx_list list = {0};

    if (out.given && !onnx_ints(n, i, &list))
        return out;
    out.n = out.given ? list.n : name ? onnx_attr_ints(n, name, &attr) : 0;
    out.given = out.given || (name && onnx_attr(n, name));
    out.item = onnx_alloc(n->s, out.n + 1, sizeof(*out.item));
    out.ok = out.item != NULL;
    for (size_t k = 0; out.ok && k < out.n; k++) {
        out.ok = !list.item || list.item[k].kind == CFX_INT;
        if (!out.ok)
            onnx_fail(n, CFX_EUNDECIDED,
                      "its input %zu must be plain ints, without symbols", i);
        out.item[k] = list.item ? list.item[k].u.i : attr[k];
    }
    return out;
}

cfx_value onnx_scalar(onnx_node *n, size_t i)
{
    cfx_value v = onnx_has(n, i) ? n->in[i] : cfx_none();
    cfx_dtype type;
    double f;

    if (onnx_is_symint(n->s, v))
        return v;
    if (v.kind == CFX_NODE && !onnx_is_texts(n->s, v))
        return cfx_item(n->s, v);
    if (!onnx_number(n, i, &f))
        return cfx_none();
    type = v.kind == CFX_TENSOR ? (cfx_dtype)v.u.tensor->dtype : CFX_I64;
    return cfx_dtype_is_float(type) ? cfx_float(f) : cfx_int((int64_t)f);
}

bool onnx_number(onnx_node *n, size_t i, double *out)
{
    cfx_value v = onnx_has(n, i) ? n->in[i] : cfx_none();

    if (v.kind == CFX_TUPLE && v.u.seq->len == 1)
        v = v.u.seq->item[0];
    if (v.kind == CFX_INT) {
        *out = (double)v.u.i;
        return true;
    }
    if (v.kind == CFX_TENSOR && cfx_tensor_numel(v.u.tensor) == 1) {
        *out = cfx_element_double((cfx_dtype)v.u.tensor->dtype,
                                  v.u.tensor->data);
        return true;
    }
    onnx_fail(
        n, CFX_EUNDECIDED,
        "its input %zu must be a number that is known when the model is read",
        i);
    return false;
}
