/*
 * indexing -- what x[...] means: views, and elements found by index tensors.
 */
#include "ops/index/indexing.h"

#include <string.h>

#include "kernel/move/index_kernel.h"
#include "op/infer.h"
#include "op/list.h"
#include "op/loop.h"
#include "op/op_impl.h"

void cfx_index_plan_release(cfx_index_plan *p)
{
    for (int i = 0; i < CFX_MAX_RANK; i++) {
        cfx_tensor_unref(p->index[i].t);
        p->index[i].t = NULL;
    }
    p->count = 0;
}

static void begin(const cfx_call *call, cfx_index_plan *p)
{
    memset(p, 0, sizeof(*p));
    cfx_view_begin(&p->base, cfx_call__tensor_at(call, 0));
}

static cfx_status wrong_type(cfx_call *call)
{
    return cfx_call_fail(
        call, CFX_EINVAL,
        "tensors used as indices must be long, int, byte or bool tensors");
}

static cfx_status too_many(cfx_call *call)
{
    return cfx_call_fail(call, CFX_EINVAL,
                         "too many indices for tensor of dimension %d",
                         cfx_call__tensor_at(call, 0)->rank);
}

/* ---- Masks ---- */

/* Is it counted by its elements that are not 0? */
static bool is_mask(const cfx_tensor *t)
{
    return t->dtype == CFX_BOOL || t->dtype == CFX_U8;
}

static cfx_status check_mask(cfx_call *call, const cfx_index_plan *p, int axis,
                             const cfx_tensor *mask)
{
    for (int i = 0; i < mask->rank; i++) {
        char a[64], b[64];
        if (cfx_dim_eq(call->env, mask->shape[i], p->base.shape[axis + i]))
            continue;
        cfx_dim_format(mask->shape[i], a, sizeof(a));
        cfx_dim_format(p->base.shape[axis + i], b, sizeof(b));
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "The shape of the mask at index %d (%s) does not match the shape of the indexed tensor at index %d (%s)",
            i, a, axis + i, b);
    }
    return CFX_OK;
}

/* May the numbers of a tensor decide on a shape? */
static bool has_numbers(const cfx_call *call, const cfx_tensor *t)
{
    return t->data && (!call->meta || call->known);
}

/* The places of those that are not 0, a column for each axis of the mask.
 * Without numbers their count is a symbol. */
static cfx_status mask_places(cfx_call *call, const cfx_tensor *mask,
                              cfx_tensor **places)
{
    cfx_dim shape[2] = {cfx_dim_int(0), cfx_dim_int(mask->rank)};
    if (!has_numbers(call, mask)) {
        cfx_status st = cfx_infer_unknown_extent(call, &shape[0]);
        return st ? st : cfx_call_new(call, places, CFX_I64, 2, shape);
    }
    cfx_tensor *rows = cfx_loop_contiguous(call, mask);
    if (!rows)
        return CFX_ENOMEM;
    int64_t extent[CFX_MAX_RANK], n = cfx_tensor_numel(rows);
    cfx_loop_shape(extent, rows);
    shape[0] = cfx_dim_int(
        cfx_nonzero_count(call->ctx, (cfx_dtype)rows->dtype, rows->data, n));
    cfx_status st = cfx_call_new(call, places, CFX_I64, 2, shape);
    if (!st)
        st = cfx_tensor_alloc(*places, call->err);
    if (!st)
        cfx_kernel_nonzero(call->ctx, (cfx_dtype)rows->dtype, (*places)->data,
                           rows->data, rows->rank, extent);
    cfx_tensor_unref(rows);
    return st;
}

/* A mask indexes as many axes as it has, each by a column of its places. */
static cfx_status add_mask(cfx_call *call, cfx_index_plan *p, int axis,
                           const cfx_tensor *mask)
{
    cfx_tensor *places = NULL;
    if (axis + mask->rank > p->base.rank)
        return too_many(call);
    cfx_status st = check_mask(call, p, axis, mask);
    if (!st)
        st = mask_places(call, mask, &places);
    for (int i = 0; !st && i < mask->rank; i++) {
        st = cfx_tensor_view(&p->index[axis + i].t, places, 1, places->shape,
                             places->stride, cfx_dim_int(i), call->err);
        p->count += !st;
    }
    cfx_tensor_unref(places);
    return st;
}

/* Index axis `axis` (and those after it) by a tensor; *used axes are done. */
static cfx_status add_tensor(cfx_call *call, cfx_index_plan *p, int axis,
                             const cfx_tensor *t, int *used)
{
    *used = is_mask(t) ? t->rank : 1;
    if (is_mask(t))
        return add_mask(call, p, axis, t);
    if (axis >= p->base.rank)
        return too_many(call);
    p->index[axis].t = cfx_tensor_ref(t);
    p->count++;
    return CFX_OK;
}

/* ---- Python's items ---- */

/* Axes that an item uses up. */
static int axes_of(cfx_value v)
{
    if (v.kind == CFX_NONE || v.kind == CFX_ELLIPSIS ||
        v.kind == CFX_BOOL_VALUE)
        return 0;
    return v.kind == CFX_TENSOR && is_mask(v.u.tensor) ? v.u.tensor->rank : 1;
}

/* A condition for the whole: a new axis of extent 1, or 0 if it is false. */
static cfx_status add_condition(cfx_call *call, cfx_index_plan *p, int axis,
                                bool holds)
{
    int64_t n = holds;
    cfx_status st = cfx_view_insert(call, &p->base, axis, cfx_dim_int(1),
                                    cfx_dim_int(0));
    if (!st)
        st = cfx_tensor_new(&p->index[axis].t, call->ctx, CFX_I64, 1, &n,
                            call->err);
    if (st)
        return st;
    if (n)
        *(int64_t *)p->index[axis].t->data = 0;
    p->count++;
    return CFX_OK;
}

/* The offset of the view depends on data. */
static cfx_status select_somewhere(cfx_call *call, cfx_view *v, int axis)
{
    cfx_dim at;
    if (call->env && !cfx_dim_is(v->shape[axis], 0)) {
        cfx_status st = cfx_infer_unknown_extent(call, &at);
        if (st)
            return st;
        v->offset = cfx_dim_add(call->env, v->offset,
                                cfx_dim_mul(call->env, at, v->stride[axis]));
    }
    cfx_view_remove(v, axis);
    return CFX_OK;
}

/* A tensor of one number: an int, or a condition. */
static cfx_status add_number(cfx_call *call, cfx_index_plan *p, int *axis,
                             const cfx_tensor *t)
{
    bool known = has_numbers(call, t);
    if (is_mask(t))
        return known ? add_condition(call, p, (*axis)++,
                                     *(const uint8_t *)t->data != 0)
                     : cfx_call_fail(
                           call, CFX_EUNSUPPORTED,
                           "the shape depends on the number of a tensor");
    if (*axis >= p->base.rank)
        return too_many(call);
    if (!known)
        return select_somewhere(call, &p->base, *axis);
    int64_t i = cfx_element_int((cfx_dtype)t->dtype, t->data);
    return cfx_view_select(call, &p->base, *axis, cfx_dim_int(i));
}

static cfx_status add_list(cfx_call *call, cfx_index_plan *p, int *axis,
                           cfx_value v)
{
    cfx_tensor *t;
    cfx_dtype i64 = CFX_I64;
    int used = 0;
    bool empty = !v.u.seq->len;
    cfx_status st = cfx_list_tensor(call, &t, v, empty ? &i64 : NULL);
    if (st)
        return st;
    st = t->dtype == CFX_I64 || t->dtype == CFX_BOOL
             ? add_tensor(call, p, *axis, t, &used)
             : wrong_type(call);
    *axis += used;
    cfx_tensor_unref(t);
    return st;
}

static cfx_status add_item(cfx_call *call, cfx_index_plan *p, int *axis,
                           cfx_value v, int skipped)
{
    int used = 0;
    cfx_status st;
    if (v.kind != CFX_ELLIPSIS && axes_of(v) > p->base.rank - *axis)
        return too_many(call);
    switch (v.kind) {
    case CFX_INT:
    case CFX_SYMINT:
        return cfx_view_select(call, &p->base, *axis, cfx_value_dim(v));
    case CFX_SLICE:
        return cfx_view_slice(call, &p->base, (*axis)++, v.u.seq->item[0],
                              v.u.seq->item[1], v.u.seq->item[2]);
    case CFX_ELLIPSIS: *axis += skipped; return CFX_OK;
    case CFX_NONE: return cfx_view_unsqueeze(call, &p->base, (*axis)++);
    case CFX_BOOL_VALUE: return add_condition(call, p, (*axis)++, v.u.i);
    case CFX_TUPLE:
    case CFX_LIST: return add_list(call, p, axis, v);
    case CFX_TENSOR: break;
    default:
        return cfx_call_fail(
            call, CFX_EINVAL,
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got %s)",
            cfx_kind_name(v.kind));
    }
    if (cfx_dtype_is_float((cfx_dtype)v.u.tensor->dtype))
        return wrong_type(call);
    if (!v.u.tensor->rank)
        return add_number(call, p, axis, v.u.tensor);
    if (!is_mask(v.u.tensor) && v.u.tensor->dtype != CFX_I64 &&
        v.u.tensor->dtype != CFX_I32)
        return wrong_type(call);
    st = add_tensor(call, p, *axis, v.u.tensor, &used);
    *axis += used;
    return st;
}

/* A list is the items themselves where one of them is no number, as NumPy once
 * had it. */
static bool is_items(cfx_value index)
{
    if (index.kind != CFX_LIST || index.u.seq->len >= 32)
        return index.kind == CFX_TUPLE;
    for (uint32_t i = 0; i < index.u.seq->len; i++) {
        uint8_t k = index.u.seq->item[i].kind;
        if (k == CFX_TENSOR || k == CFX_TUPLE || k == CFX_LIST ||
            k == CFX_SLICE || k == CFX_ELLIPSIS || k == CFX_NONE)
            return true;
    }
    return false;
}

static cfx_status finish(cfx_call *call, cfx_index_plan *p);

cfx_status cfx_index_plan_python(cfx_call *call, cfx_index_plan *p,
                                 cfx_value index)
{
    bool items = is_items(index);
    const cfx_value *item = items ? index.u.seq->item : &index;
    uint32_t n = items ? index.u.seq->len : 1;
    int used = 0, axis = 0;
    begin(call, p);
    for (uint32_t i = 0; i < n; i++)
        used += axes_of(item[i]);
    if (!items && !p->base.rank && used && index.kind == CFX_INT)
        return cfx_call_fail(
            call, CFX_EINVAL,
            "invalid index of a 0-dim tensor. Use `tensor.item()` to convert a 0-dim tensor to a number");
    if (used > p->base.rank)
        return too_many(call);
    cfx_status st = CFX_OK;
    for (uint32_t i = 0, skipped = (uint32_t)(p->base.rank - used);
         !st && i < n; i++) {
        st = add_item(call, p, &axis, item[i], (int)skipped);
        if (item[i].kind == CFX_ELLIPSIS)
            skipped = 0;
    }
    return st ? st : finish(call, p);
}

cfx_status cfx_index_plan_tensors(cfx_call *call, cfx_index_plan *p,
                                  cfx_value list)
{
    int axis = 0, used;
    begin(call, p);
    for (uint32_t i = 0; i < list.u.seq->len; i++) {
        cfx_value v = list.u.seq->item[i];
        if (v.kind != CFX_TENSOR) {
            if (axis++ >= p->base.rank)
                return too_many(call);
            continue;
        }
        if (!is_mask(v.u.tensor) && v.u.tensor->dtype != CFX_I64 &&
            v.u.tensor->dtype != CFX_I32)
            return wrong_type(call);
        cfx_status st = add_tensor(call, p, axis, v.u.tensor, &used);
        if (st)
            return st;
        axis += used;
    }
    return finish(call, p);
}

/* ---- The shape of the result ---- */

static bool are_neighbours(const cfx_index_plan *p, int *first)
{
    int last = -1;
    *first = -1;
    for (int i = 0; i < p->base.rank; i++) {
        if (!p->index[i].t)
            continue;
        if (*first >= 0 && i != last + 1) {
            *first = 0;
            return false;
        }
        *first = *first < 0 ? i : *first;
        last = i;
    }
    return true;
}

/* The shape that the index tensors have together. */
static cfx_status join_indices(cfx_call *call, const cfx_index_plan *p,
                               int *rank, cfx_dim *shape)
{
    *rank = 0;
    for (int i = 0; i < p->base.rank; i++) {
        const cfx_tensor *t = p->index[i].t;
        cfx_status st = t ? cfx_infer_broadcast(call, rank, shape, t->rank,
                                                t->shape)
                          : CFX_OK;
        if (st)
            return st;
    }
    return CFX_OK;
}

static cfx_status finish(cfx_call *call, cfx_index_plan *p)
{
    cfx_dim joined[CFX_MAX_RANK];
    if (!p->count) {
        p->rank = p->base.rank;
        memcpy(p->shape, p->base.shape, sizeof(p->shape));
        return CFX_OK;
    }
    cfx_status st = join_indices(call, p, &p->index_rank, joined);
    if (st)
        return st;
    are_neighbours(p, &p->first);
    p->rank = p->base.rank - p->count + p->index_rank;
    if (p->rank > CFX_MAX_RANK)
        return cfx_call_fail(call, CFX_ESHAPE, "rank %d is more than %d",
                             p->rank, CFX_MAX_RANK);
    int at = 0;
    for (int axis = 0; at < p->rank || axis < p->base.rank; axis++) {
        if (at == p->first)
            for (int i = 0; i < p->index_rank; i++)
                p->shape[at++] = joined[i];
        if (axis < p->base.rank && !p->index[axis].t)
            p->shape[at++] = p->base.shape[axis];
    }
    return CFX_OK;
}

/* Strides of the base over the axes of the result, 0 where an index stands. */
static void base_strides(const cfx_index_plan *p, cfx_dim *stride)
{
    int at = 0;
    for (int i = 0; i < p->index_rank; i++)
        stride[p->first + i] = cfx_dim_int(0);
    for (int axis = 0; axis < p->base.rank; axis++) {
        if (p->index[axis].t)
            continue;
        if (at == p->first)
            at += p->index_rank;
        stride[at++] = p->base.stride[axis];
    }
}

/* Strides of an index tensor over its axes of the result. */
static cfx_dim index_stride(const cfx_index_plan *p, const cfx_tensor *t,
                            int i)
{
    int at = i - (p->index_rank - t->rank);
    if (at < 0 || (cfx_dim_is(t->shape[at], 1) &&
                   !cfx_dim_is(p->shape[p->first + i], 1)))
        return cfx_dim_int(0);
    return t->stride[at];
}

/*
 * The result has the strides that TensorIterator gives a pointwise operator
 * over the indices and the base, with stride 0 along indexed axes: so that
 * rule is applied to such tensors.
 */
static cfx_status operand_base(cfx_call *call, const cfx_index_plan *p,
                               cfx_dtype dtype, cfx_value *out)
{
    cfx_dim stride[CFX_MAX_RANK];
    cfx_tensor *t;
    base_strides(p, stride);
    cfx_status st = cfx_tensor_meta(&t, call->ctx, dtype, p->rank, p->shape,
                                    stride, call->err);
    *out = st ? cfx_none() : cfx_value_of_tensor(t);
    return st;
}

/* An index is expanded to the shape of all of them, then reshaped to have axes
 * of extent 1 around it. */
static cfx_status operand_index(cfx_call *call, const cfx_index_plan *p,
                                const cfx_tensor *index, cfx_value *out)
{
    cfx_dim shape[CFX_MAX_RANK], stride[CFX_MAX_RANK], own[CFX_MAX_RANK];
    cfx_tensor *expanded = NULL, *t;
    for (int i = 0; i < p->rank; i++)
        shape[i] = i >= p->first && i < p->first + p->index_rank
                       ? p->shape[i]
                       : cfx_dim_int(1);
    for (int i = 0; i < p->index_rank; i++)
        own[i] = index_stride(p, index, i);
    *out = cfx_none();
    cfx_status st = cfx_tensor_meta(&expanded, call->ctx, CFX_I64,
                                    p->index_rank, &p->shape[p->first], own,
                                    call->err);
    if (st)
        return st;
    bool viewed = cfx_infer_view(call->env, expanded, p->rank, shape, stride,
                                 false) == CFX_A_VIEW;
    st = cfx_tensor_meta(&t, call->ctx, CFX_I64, p->rank, shape,
                         viewed ? stride : NULL, call->err);
    cfx_tensor_unref(expanded);
    if (!st)
        *out = cfx_value_of_tensor(t);
    return st;
}

cfx_status cfx_index_plan_out(cfx_call *call, const cfx_index_plan *p,
                              cfx_dtype dtype)
{
    cfx_value in[CFX_MAX_RANK + 1];
    const cfx_value *own = call->in;
    int n = 1;
    cfx_status st = operand_base(call, p, dtype, &in[0]);
    for (int i = 0; !st && i < p->base.rank; i++)
        if (p->index[i].t)
            st = operand_index(call, p, p->index[i].t, &in[n++]);
    call->in = in;
    if (!st)
        st = cfx_infer_converted(call, 0, n, n, dtype);
    call->in = own;
    while (n--)
        cfx_value_unref(in[n]);
    return st;
}

/* ---- Moving ---- */

static cfx_status own_indices(cfx_call *call, const cfx_index_plan *p,
                              cfx_indexing *ix)
{
    for (int axis = 0; axis < p->base.rank; axis++) {
        const cfx_tensor *t = p->index[axis].t;
        if (!t)
            continue;
        if (!t->data)
            return cfx_call_fail(call, CFX_EINVAL, "an index has no data");
        int k = ix->count++;
        ix->index[k].data = t->data;
        ix->index[k].type = (cfx_dtype)t->dtype;
        ix->index[k].base_stride = cfx_dim_value(p->base.stride[axis]);
        ix->index[k].n = cfx_dim_value(p->base.shape[axis]);
        for (int i = 0; i < p->rank; i++) {
            bool own = i >= p->first && i < p->first + p->index_rank;
            ix->index[k].stride[i] = own ? cfx_dim_value(index_stride(
                                               p, t, i - p->first))
                                         : 0;
        }
    }
    return CFX_OK;
}

static cfx_status fill(cfx_call *call, const cfx_index_plan *p,
                       const cfx_tensor *x, const cfx_tensor *y,
                       cfx_indexing *ix)
{
    cfx_dim stride[CFX_MAX_RANK];
    size_t size = cfx_dtype_size((cfx_dtype)x->dtype);
    int64_t from = cfx_dim_value(p->base.offset) - cfx_dim_value(x->offset);
    *ix = (cfx_indexing){
        .rank = p->rank,
        .value = y->data,
        .base = (char *)x->data + from * (int64_t)size,
    };
    base_strides(p, stride);
    for (int i = 0; i < p->rank; i++) {
        int at = i - (p->rank - y->rank);
        ix->shape[i] = cfx_dim_value(p->shape[i]);
        ix->base_stride[i] = cfx_dim_value(stride[i]);
        ix->value_stride[i] = at < 0 || (cfx_tensor_size(y, at) == 1 &&
                                         ix->shape[i] != 1)
                                  ? 0
                                  : cfx_tensor_stride(y, at);
    }
    return own_indices(call, p, ix);
}

static cfx_status out_of_bounds(cfx_call *call, const cfx_index_plan *p,
                                int64_t bad)
{
    int axis = 0;
    int64_t n = 0;
    for (int i = 0; i < p->base.rank; i++) {
        int64_t extent = cfx_dim_value(p->base.shape[i]);
        if (p->index[i].t && (bad >= extent || bad < -extent)) {
            axis = i;
            n = extent;
            break;
        }
    }
    return cfx_call_fail(
        call, CFX_EINVAL,
        "index %lld is out of bounds for dimension %d with size %lld",
        (long long)bad, axis, (long long)n);
}

cfx_status cfx_index_plan_get(cfx_call *call, const cfx_index_plan *p,
                              const cfx_tensor *x, const cfx_tensor *y)
{
    cfx_indexing ix;
    int64_t bad;
    cfx_status st = fill(call, p, x, y, &ix);
    if (st)
        return st;
    return cfx_index_get(call->ctx, cfx_dtype_size((cfx_dtype)x->dtype), &ix,
                         &bad)
               ? CFX_OK
               : out_of_bounds(call, p, bad);
}

cfx_status cfx_index_plan_put(cfx_call *call, const cfx_index_plan *p,
                              const cfx_tensor *x, const cfx_tensor *y,
                              bool add)
{
    cfx_indexing ix;
    int64_t bad;
    cfx_status st = fill(call, p, x, y, &ix);
    if (st)
        return st;
    return cfx_kernel_index_put(call->ctx, (cfx_dtype)x->dtype, add, &ix, &bad)
               ? CFX_OK
               : out_of_bounds(call, p, bad);
}
