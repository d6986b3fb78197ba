/*
 * getitem -- x[...]: items of tuples, views and elements of tensors; and what
 * writes there.
 *
 * shape   of a tensor: a view for ints, slices, None and Ellipsis; with index
 *         tensors a new tensor (indexing.h).
 * cost    no arithmetic; the elements that are touched.
 */
#include <string.h>

#include "kernel/pointwise/pointwise_kernel.h"
#include "ops/index/indexing.h"
#include "op/op_cost.h"
#include "op/infer.h"
#include "op/list.h"
#include "op/loop.h"
#include "op/op_impl.h"

CFX_PARAMS(params, SELF, INDEX, INDICES, VALUE, VALUES, ACCUMULATE);

/* ---- Python's own sequences ---- */

/* The bounds of a slice over n items, by Python's rules. */
static cfx_status slice_bounds(cfx_call *call, cfx_value slice, int64_t n,
                               int64_t *from, int64_t *to, int64_t *by)
{
    cfx_value part[3];
    int64_t v[3];
    for (int i = 0; i < 3; i++) {
        cfx_status st = cfx_infer_index(call, slice.u.seq->item[i], &part[i]);
        if (st)
            return st;
        if (!cfx_value_is_none(part[i]) && part[i].kind != CFX_INT)
            return cfx_call_fail(call, CFX_EINVAL,
                                 "slice indices must be integers or None");
        v[i] = cfx_value_is_none(part[i]) ? 0 : part[i].u.i;
    }
    *by = cfx_value_is_none(part[2]) ? 1 : v[2];
    if (!*by || *by == INT64_MIN)
        return cfx_call_fail(call, CFX_EINVAL, "slice step cannot be zero");
    int64_t low = *by > 0 ? 0 : -1, high = *by > 0 ? n : n - 1;
    for (int i = 0; i < 2; i++) {
        if (cfx_value_is_none(part[i]))
            v[i] = (i == 0) == (*by > 0) ? low : high;
        else if (v[i] < 0)
            v[i] = v[i] < -n ? low : v[i] + n;
        v[i] = v[i] < low ? low : v[i] > high ? high : v[i];
    }
    *from = v[0];
    *to = v[1];
    /* No step is longer than the whole. */
    *by = *by > n ? n + 1 : *by < -n ? -n - 1 : *by;
    return CFX_OK;
}

static cfx_status slice_seq(cfx_call *call, cfx_value v, cfx_value slice)
{
    bool text = v.kind == CFX_STR;
    int64_t from = 0, to = 0, by = 1, n = text ? v.u.str->len : v.u.seq->len;
    cfx_status st = slice_bounds(call, slice, n, &from, &to, &by);
    if (st)
        return st;
    size_t size = text ? 1 : sizeof(cfx_value), count = 0;
    char *part = cfx_alloc(call->ctx, (size_t)n * size);
    if (!part)
        return cfx_no_memory(call->err);
    const char *base = text ? v.u.str->text : (const char *)v.u.seq->item;
    for (int64_t i = from; by > 0 ? i < to : i > to; count++) {
        memcpy(part + count * size, base + (size_t)i * size, size);
        i = by > 0 ? (i > to - by ? to : i + by) : (i < to - by ? to : i + by);
    }
    cfx_value out = text ? cfx_str_new(call->ctx, part, count)
                         : cfx_seq_new(call->ctx, (cfx_kind)v.kind, count,
                                       (const cfx_value *)(void *)part, NULL);
    cfx_free(call->ctx, part, (size_t)n * size);
    return cfx_call_return_take(call, out);
}

static cfx_status index_seq(cfx_call *call, cfx_value v, int64_t i)
{
    bool text = v.kind == CFX_STR;
    int64_t n = text ? v.u.str->len : v.u.seq->len;
    if (i < -n || i >= n)
        return cfx_call_fail(
            call, CFX_EINVAL, "%s index out of range: %lld of %lld",
            cfx_kind_name(v.kind), (long long)i, (long long)n);
    i = i < 0 ? i + n : i;
    return cfx_call_return_take(
        call, text ? cfx_str_new(call->ctx, v.u.str->text + i, 1)
                   : cfx_value_ref(v.u.seq->item[i]));
}

static cfx_status index_dict(cfx_call *call, cfx_value v, cfx_value key)
{
    for (uint32_t i = 0; i + 1 < v.u.seq->len; i += 2)
        if (cfx_value_equal(v.u.seq->item[i], key))
            return cfx_call_return_take(call,
                                        cfx_value_ref(v.u.seq->item[i + 1]));
    return cfx_call_fail(call, CFX_EINVAL, "the dict has no such key%s%s",
                         key.kind == CFX_STR ? ": " : "",
                         key.kind == CFX_STR ? key.u.str->text : "");
}

static cfx_status index_range(cfx_call *call, cfx_value v, int64_t i)
{
    int64_t part[3], n;
    for (int k = 0; k < 3; k++) {
        if (v.u.seq->item[k].kind != CFX_INT)
            return cfx_call_fail(call, CFX_EUNSUPPORTED,
                                 "the items of the range are not known");
        part[k] = v.u.seq->item[k].u.i;
        if (part[k] > CFX_DIM_MAX || part[k] < -CFX_DIM_MAX ||
            (k == 2 && !part[k]))
            return cfx_call_fail(call, CFX_EINVAL,
                                 "the range is out of range");
    }
    n = part[2] > 0 ? (part[1] - part[0] + part[2] - 1) / part[2]
                    : (part[0] - part[1] - part[2] - 1) / -part[2];
    if (n < 0)
        n = 0;
    if (i < -n || i >= n)
        return cfx_call_fail(call, CFX_EINVAL,
                             "range object index out of range");
    i = i < 0 ? i + n : i;
    return cfx_call_return_take(call, cfx_int(part[0] + i * part[2]));
}

static cfx_status index_other(cfx_call *call, cfx_value v, cfx_value key)
{
    cfx_status st = cfx_value_is_seq(v) || v.kind == CFX_STR
                        ? cfx_infer_index(call, key, &key)
                        : CFX_OK;
    if (st)
        return st;
    bool integer = key.kind == CFX_INT || key.kind == CFX_BOOL_VALUE;
    bool sequence = cfx_value_is_seq(v) || v.kind == CFX_STR;
    if (sequence && integer)
        return index_seq(call, v, key.u.i);
    if (sequence && key.kind == CFX_SLICE)
        return slice_seq(call, v, key);
    if (v.kind == CFX_DICT)
        return index_dict(call, v, key);
    if (v.kind == CFX_RANGE && integer)
        return index_range(call, v, key.u.i);
    if (sequence || v.kind == CFX_RANGE)
        return cfx_call_fail(call, CFX_EINVAL,
                             "%s indices must be integers or slices, not %s",
                             cfx_kind_name(v.kind), cfx_kind_name(key.kind));
    return cfx_call_fail(call, CFX_EINVAL, "'%s' object is not subscriptable",
                         cfx_kind_name(v.kind));
}

/* ---- Tensors ---- */

static cfx_status getitem_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_index_plan p;
    if (!x)
        return index_other(call, cfx_call_value(call, SELF),
                           cfx_call_value(call, INDEX));
    cfx_status st = cfx_index_plan_python(call, &p,
                                          cfx_call_value(call, INDEX));
    if (!st)
        st = p.count ? cfx_index_plan_out(call, &p, (cfx_dtype)x->dtype)
                     : cfx_view_out(call, SELF, &p.base);
    cfx_index_plan_release(&p);
    return st;
}

static cfx_status getitem_run(cfx_call *call)
{
    cfx_index_plan p;
    if (!call->nout || call->alias[0])
        return CFX_OK;
    cfx_status st = cfx_index_plan_python(call, &p,
                                          cfx_call_value(call, INDEX));
    if (!st)
        st = cfx_index_plan_get(call, &p, cfx_call_tensor(call, SELF),
                                call->out[0]);
    cfx_index_plan_release(&p);
    return st;
}

/* Bytes of the tensors in an index. */
static cfx_dim index_bytes(const cfx_call *call, cfx_value index)
{
    cfx_dim n = cfx_dim_int(0);
    if (index.kind == CFX_TENSOR)
        return cfx_cost_bytes_of(call, index.u.tensor);
    for (uint32_t i = 0; cfx_value_is_seq(index) && i < index.u.seq->len; i++)
        if (index.u.seq->item[i].kind == CFX_TENSOR)
            n = cfx_dim_add(
                call->env, n,
                cfx_cost_bytes_of(call, index.u.seq->item[i].u.tensor));
    return n;
}

/* The elements that are taken, and where they are. */
static void copy_cost(const cfx_call *call, cfx_cost *cost)
{
    bool copies = call->nout && !call->alias[0];
    cost->bytes_read = cost->bytes_written = cfx_dim_int(0);
    if (!copies)
        return;
    cost->bytes_written = cfx_cost_bytes_of(call, call->out[0]);
    int k = cfx_call_place(call, INDEX) < 0 ? INDICES : INDEX;
    cost->bytes_read = cfx_dim_add(call->env, cost->bytes_written,
                                   index_bytes(call, cfx_call_value(call, k)));
}

const cfx_op cfx_op__getitem = {
    .schema = "getitem(any(a) self, any index) -> any(a)",
    .params = params,
    .aliases = "operator.getitem Tensor.__getitem__",
    .doc = "Items of a sequence, a view or elements of a tensor.",
    .flags = CFX_OP_MOVES | CFX_OP_ANY_DEVICES | CFX_OP_STORED_TYPES |
             CFX_OP_INDEXES,
    .infer = getitem_infer,
    .cost = copy_cost,
    .run = getitem_run,
};

/* ---- index ---- */

static cfx_status index_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_index_plan p;
    cfx_status st = cfx_index_plan_tensors(call, &p,
                                           cfx_call_value(call, INDICES));
    if (!st && !p.count)
        st = cfx_call_fail(call, CFX_EINVAL,
                           "at least one index must be provided");
    if (!st)
        st = cfx_index_plan_out(call, &p, (cfx_dtype)x->dtype);
    cfx_index_plan_release(&p);
    return st;
}

static cfx_status index_run(cfx_call *call)
{
    cfx_index_plan p;
    cfx_status st = cfx_index_plan_tensors(call, &p,
                                           cfx_call_value(call, INDICES));
    if (!st)
        st = cfx_index_plan_get(call, &p, cfx_call_tensor(call, SELF),
                                call->out[0]);
    cfx_index_plan_release(&p);
    return st;
}

const cfx_op cfx_op__index = {
    .schema = "index.Tensor(Tensor self, Tensor?[] indices) -> Tensor",
    .params = params,
    .aliases =
        "aten. aten._unsafe_index.Tensor torch.ops.aten.index aten.index",
    .doc = "Elements at the places that index tensors name.",
    .flags = CFX_OP_ANY_DEVICES | CFX_OP_STORED_TYPES | CFX_OP_INDEXES,
    .infer = index_infer,
    .cost = copy_cost,
    .run = index_run,
};

/* ---- Writing ---- */

/* A value as a tensor of its own; in place of a number one of rank 0. */
static cfx_status value_tensor(cfx_call *call, cfx_value v, cfx_dtype type,
                               cfx_tensor **out)
{
    if (v.kind != CFX_TENSOR)
        return cfx_list_tensor(call, out, v, &type);
    *out = cfx_tensor_ref(v.u.tensor);
    return CFX_OK;
}

/* Drop axes of extent 1 in front of a value that has too many. */
static cfx_status strip(cfx_call *call, int rank, cfx_tensor **value)
{
    const cfx_tensor *v = *value;
    cfx_tensor *out;
    int extra = v->rank - rank;
    if (extra <= 0)
        return CFX_OK;
    for (int i = 0; i < extra; i++)
        if (!cfx_dim_is(v->shape[i], 1))
            return cfx_call_fail(
                call, CFX_ESHAPE,
                "expand: the number of sizes provided (%d) must be greater or equal to the number of dimensions in the tensor (%d)",
                rank, v->rank);
    cfx_status st = cfx_tensor_view(&out, v, rank, v->shape + extra,
                                    v->stride + extra, v->offset, call->err);
    if (st)
        return st;
    cfx_tensor_unref(*value);
    *value = out;
    return CFX_OK;
}

/* Must be broadcast to the plan's shape without changing it. */
static cfx_status check_value(cfx_call *call, const cfx_index_plan *p,
                              const cfx_tensor *v)
{
    for (int i = 1; i <= v->rank; i++) {
        char a[64], b[64];
        cfx_dim have = v->shape[v->rank - i], want = p->shape[p->rank - i];
        if (cfx_dim_is(have, 1) || cfx_dim_eq(call->env, have, want))
            continue;
        cfx_dim_format(have, a, sizeof(a));
        cfx_dim_format(want, b, sizeof(b));
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "shape mismatch: value of size %s cannot be broadcast to indexing result of size %s at dimension %d",
            a, b, p->rank - i);
    }
    return CFX_OK;
}

static cfx_status check_type(cfx_call *call, const cfx_tensor *x,
                             const cfx_tensor *v)
{
    if (x->dtype == v->dtype)
        return CFX_OK;
    return cfx_call_fail(
        call, CFX_EDTYPE,
        "Index put requires the source and destination dtypes match, got %s for the destination and %s for the source.",
        cfx_dtypes[x->dtype].name, cfx_dtypes[v->dtype].name);
}

/* One mask and one number: the number is converted, as for masked_fill. */
static bool is_fill(const cfx_index_plan *p, cfx_value index,
                    const cfx_tensor *v)
{
    const cfx_tensor *t = index.kind == CFX_TENSOR ? index.u.tensor : NULL;
    return p->count && t && t->rank &&
           (t->dtype == CFX_BOOL || t->dtype == CFX_U8) && !v->rank;
}

static cfx_status plan_setitem(cfx_call *call, cfx_index_plan *p,
                               cfx_tensor **value)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_value v = cfx_call_value(call, VALUE);
    cfx_status st = cfx_index_plan_python(call, p,
                                          cfx_call_value(call, INDEX));
    *value = NULL;
    if (!st && v.kind != CFX_TENSOR && !cfx_infer_is_number(v))
        st = cfx_call_fail(call, CFX_EINVAL,
                           "can't assign a %s to a torch tensor",
                           cfx_kind_name(v.kind));
    if (!st && v.kind != CFX_TENSOR)
        st = cfx_list_check_factor(call, v, (cfx_dtype)x->dtype);
    if (!st)
        st = value_tensor(call, v, (cfx_dtype)x->dtype, value);
    if (!st)
        st = strip(call, p->rank, value);
    if (!st)
        st = check_value(call, p, *value);
    if (!st && p->count && !is_fill(p, cfx_call_value(call, INDEX), *value))
        st = check_type(call, x, *value);
    return st;
}

static cfx_status setitem_infer(cfx_call *call)
{
    cfx_index_plan p;
    cfx_tensor *value;
    cfx_status st = plan_setitem(call, &p, &value);
    cfx_tensor_unref(value);
    cfx_index_plan_release(&p);
    return st ? st : cfx_call_return_take(call, cfx_none());
}

static bool is_mask(cfx_value v)
{
    return v.kind == CFX_TENSOR &&
           (v.u.tensor->dtype == CFX_BOOL || v.u.tensor->dtype == CFX_U8);
}

/* The number of elements that an index selects; for a mask, whose numbers are
 * not read, all. */
static cfx_dim count_named(const cfx_call *call, cfx_value index, bool python)
{
    cfx_call asked = *call;
    cfx_index_plan p;
    bool mask = is_mask(index);
    for (uint32_t i = 0; cfx_value_is_seq(index) && i < index.u.seq->len; i++)
        mask |= is_mask(index.u.seq->item[i]);
    cfx_dim n = cfx_cost_numel(call, cfx_call_tensor(call, SELF));
    if (mask)
        return n;
    asked.err = NULL;
    if (!(python ? cfx_index_plan_python(&asked, &p, index)
                 : cfx_index_plan_tensors(&asked, &p, index)))
        n = cfx_infer_numel(call->env, p.rank, p.shape);
    cfx_index_plan_release(&p);
    return n;
}

static void setitem_cost(const cfx_call *call, cfx_cost *cost)
{
    cost->bytes_written = cfx_cost_sized(
        call, count_named(call, cfx_call_value(call, INDEX), true),
        cfx_call_tensor(call, SELF));
    cost->bytes_read = index_bytes(call, cfx_call_value(call, INDEX));
    if (cfx_call_tensor(call, VALUE))
        cost->bytes_read = cfx_dim_add(
            call->env, cost->bytes_read,
            cfx_cost_bytes_of(call, cfx_call_tensor(call, VALUE)));
}

/* A value that shares memory with what is written to, or of another type, is
 * copied first. */
static cfx_status settle_value(cfx_call *call, const cfx_tensor *x,
                               cfx_tensor **value)
{
    cfx_tensor *copy;
    if (!cfx_tensor_shares(x, *value) && x->dtype == (*value)->dtype)
        return CFX_OK;
    cfx_status st = cfx_call_new(call, &copy, (cfx_dtype)x->dtype,
                                 (*value)->rank, (*value)->shape);
    if (st)
        return st;
    st = cfx_tensor_alloc(copy, call->err);
    if (!st)
        st = cfx_tensor_copy(copy, *value, call->err);
    if (st) {
        cfx_tensor_unref(copy);
        return st;
    }
    cfx_tensor_unref(*value);
    *value = copy;
    return CFX_OK;
}

static cfx_status write_view(cfx_call *call, const cfx_view *v,
                             const cfx_tensor *x, const cfx_tensor *value)
{
    cfx_tensor *y;
    cfx_iter it;
    cfx_status st = cfx_tensor_view(&y, x, v->rank, v->shape, v->stride,
                                    v->offset, call->err);
    if (st)
        return st;
    cfx_loop_out(&it, y);
    cfx_loop_in(&it, value);
    cfx_copy(call->ctx, &it);
    cfx_tensor_unref(y);
    return CFX_OK;
}

static cfx_status setitem_run(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_index_plan p;
    cfx_tensor *value;
    cfx_status st = plan_setitem(call, &p, &value);
    if (!st)
        st = settle_value(call, x, &value);
    if (!st)
        st = p.count ? cfx_index_plan_put(call, &p, x, value, false)
                     : write_view(call, &p.base, x, value);
    cfx_tensor_unref(value);
    cfx_index_plan_release(&p);
    return st;
}

const cfx_op cfx_op__setitem = {
    .schema = "setitem(Tensor(a!) self, any index, any value) -> any",
    .params = params,
    .aliases = "operator.setitem Tensor.__setitem__",
    .doc = "Write to a view or to elements of a tensor.",
    .flags = CFX_OP_ANY_DEVICES | CFX_OP_COMPLEX,
    .infer = setitem_infer,
    .cost = setitem_cost,
    .run = setitem_run,
};

/* ---- index_put ---- */

static cfx_status index_put_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    const cfx_tensor *v = cfx_call_tensor(call, VALUES);
    cfx_index_plan p;
    cfx_status st = check_type(call, x, v);
    if (st)
        return st;
    st = cfx_index_plan_tensors(call, &p, cfx_call_value(call, INDICES));
    if (!st && v->rank > p.rank)
        st = cfx_call_fail(
            call, CFX_ESHAPE,
            "shape mismatch: value tensor of rank %d cannot be broadcast to indexing result of rank %d",
            v->rank, p.rank);
    if (!st)
        st = check_value(call, &p, v);
    cfx_index_plan_release(&p);
    return st ? st : cfx_view_out_strided_like(call, SELF);
}

/* A call that writes touches only what the index names. */
static void index_put_cost(const cfx_call *call, cfx_cost *cost)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_dim n = count_named(call, cfx_call_value(call, INDICES), false);
    cfx_dim bytes = cfx_cost_sized(call, n, x), read;
    bool adds = cfx_call_bool(call, ACCUMULATE);
    if (adds)
        cost->ops = n;
    if (!call->inplace)
        return;
    read = cfx_dim_add(call->env,
                       index_bytes(call, cfx_call_value(call, INDICES)),
                       cfx_cost_bytes_of(call, cfx_call_tensor(call, VALUES)));
    cost->bytes_written = bytes;
    cost->bytes_read = adds ? cfx_dim_add(call->env, read, bytes) : read;
}

static cfx_status index_put_run(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_index_plan p;
    cfx_status st = cfx_tensor_copy(call->out[0], x, call->err);
    if (st)
        return st;
    /* The places are in the result, which has strides of its own. */
    cfx_value in[] = {cfx_value_of_tensor(call->out[0]),
                      cfx_call_value(call, INDICES)};
    const cfx_value *own = call->in;
    call->in = in;
    st = cfx_index_plan_tensors(call, &p, in[1]);
    call->in = own;
    if (!st)
        st = cfx_index_plan_put(call, &p, call->out[0],
                                cfx_call_tensor(call, VALUES),
                                cfx_call_bool(call, ACCUMULATE));
    cfx_index_plan_release(&p);
    return st;
}

const cfx_op cfx_op__index_put = {
    .schema =
        "index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
    .params = params,
    .aliases = "torch. Tensor. aten. aten._unsafe_index_put.default",
    .doc = "A copy with values written where index tensors say.",
    .flags = CFX_OP_ANY_DEVICES | CFX_OP_INPLACE | CFX_OP_EDITS |
             CFX_OP_COMPLEX,
    .infer = index_put_infer,
    .cost = index_put_cost,
    .run = index_put_run,
};
