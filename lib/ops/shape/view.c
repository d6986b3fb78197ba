/*
 * view -- results that are the argument seen in another way.
 *
 * A view is worked out step by step in extents, strides and an offset, and
 * becomes a tensor at the end.
 */
#include "ops/shape/view.h"

#include <string.h>

#include "kernel/pointwise/pointwise_kernel.h"
#include "op/infer.h"
#include "op/op_impl.h"

void cfx_view_begin(cfx_view *v, const cfx_tensor *t)
{
    v->rank = t->rank;
    v->offset = t->offset;
    for (int i = 0; i < t->rank; i++) {
        v->shape[i] = t->shape[i];
        v->stride[i] = t->stride[i];
    }
}

cfx_status cfx_view_out(cfx_call *call, int k, const cfx_view *v)
{
    return cfx_call_out_view(call, k, v->rank, v->shape, v->stride, v->offset);
}

cfx_status cfx_view_new(cfx_call *call, cfx_value *out, int k,
                        const cfx_view *v)
{
    cfx_tensor *t;
    cfx_status st = cfx_call_new_view(call, &t, k, v->rank, v->shape,
                                      v->stride, v->offset);
    *out = st ? cfx_none() : cfx_value_of_tensor(t);
    return st;
}

void cfx_view_permute(cfx_view *v, const int *perm)
{
    cfx_view from = *v;
    for (int i = 0; i < v->rank; i++) {
        v->shape[i] = from.shape[perm[i]];
        v->stride[i] = from.stride[perm[i]];
    }
}

static void swap_dims(cfx_dim *a, cfx_dim *b)
{
    cfx_dim t = *a;
    *a = *b;
    *b = t;
}

void cfx_view_swap(cfx_view *v, int a, int b)
{
    if (a == b)
        return;
    swap_dims(&v->shape[a], &v->shape[b]);
    swap_dims(&v->stride[a], &v->stride[b]);
}

void cfx_view_remove(cfx_view *v, int axis)
{
    size_t rest = (size_t)(--v->rank - axis) * sizeof(*v->shape);
    memmove(&v->shape[axis], &v->shape[axis + 1], rest);
    memmove(&v->stride[axis], &v->stride[axis + 1], rest);
}

cfx_status cfx_view_insert(cfx_call *call, cfx_view *v, int axis,
                           cfx_dim extent, cfx_dim stride)
{
    size_t rest = (size_t)(v->rank - axis) * sizeof(*v->shape);
    if (v->rank == CFX_MAX_RANK)
        return cfx_call_fail(call, CFX_ESHAPE, "rank %d is more than %d",
                             v->rank + 1, CFX_MAX_RANK);
    memmove(&v->shape[axis + 1], &v->shape[axis], rest);
    memmove(&v->stride[axis + 1], &v->stride[axis], rest);
    v->shape[axis] = extent;
    v->stride[axis] = stride;
    v->rank++;
    return CFX_OK;
}

static bool is_negative(cfx_dim d)
{
    return cfx_dim_is_int(d) && cfx_dim_value(d) < 0;
}

cfx_status cfx_view_select(cfx_call *call, cfx_view *v, int axis,
                           cfx_dim index)
{
    cfx_shape_env *env = call->env;
    cfx_dim n = v->shape[axis];
    cfx_dim at = is_negative(index) ? cfx_dim_add(env, n, index) : index;
    if (!cfx_dim_le(env, cfx_dim_int(0), at) || !cfx_dim_lt(env, at, n)) {
        char i[64], s[64];
        cfx_dim_format(index, i, sizeof(i));
        cfx_dim_format(n, s, sizeof(s));
        return cfx_call_fail(
            call, CFX_EINVAL,
            "index %s is out of bounds for dimension %d with size %s", i, axis,
            s);
    }
    v->offset = cfx_dim_add(env, v->offset,
                            cfx_dim_mul(env, at, v->stride[axis]));
    cfx_view_remove(v, axis);
    return CFX_OK;
}

/* An integer beyond all extents counts as the end. A symbol is taken to be
 * within them where that follows; else the result says so with min and max. */
cfx_dim cfx_view_clip(cfx_shape_env *env, cfx_dim at, cfx_dim n)
{
    cfx_dim zero = cfx_dim_int(0);
    if (cfx_dim_is_int(at) && cfx_dim_value(at) <= -CFX_DIM_MAX)
        return zero; /* beyond all extents */
    if (is_negative(at))
        at = cfx_dim_add(env, at, n);
    if (cfx_dim_is_int(at) && cfx_dim_is_int(n)) {
        if (cfx_dim_value(at) < 0)
            return zero;
        return cfx_dim_value(at) > cfx_dim_value(n) ? n : at;
    }
    if (!cfx_dim_known_le(env, zero, at))
        at = cfx_dim_max(env, zero, at);
    return cfx_dim_known_le(env, at, n)   ? at
           : cfx_dim_known_le(env, n, at) ? n
                                          : cfx_dim_min(env, at, n);
}

/* Python's bounds may be any int; those that no dim holds are beyond all
 * extents. */
static cfx_dim bound_of(cfx_value v, cfx_dim otherwise)
{
    if (cfx_value_is_none(v))
        return otherwise;
    if (v.kind == CFX_INT && v.u.i > CFX_DIM_MAX)
        return cfx_dim_int(CFX_DIM_MAX);
    if (v.kind == CFX_INT && v.u.i < -CFX_DIM_MAX)
        return cfx_dim_int(-CFX_DIM_MAX);
    return cfx_value_dim(v);
}

cfx_status cfx_view_slice(cfx_call *call, cfx_view *v, int axis,
                          cfx_value start, cfx_value end, cfx_value step)
{
    cfx_shape_env *env = call->env;
    cfx_dim n = v->shape[axis], one = cfx_dim_int(1), zero = cfx_dim_int(0);
    cfx_status st = cfx_infer_index(call, step, &step);
    if (!st)
        st = cfx_infer_index(call, start, &start);
    if (!st)
        st = cfx_infer_index(call, end, &end);
    if (st)
        return st;
    cfx_dim by = bound_of(step, one);
    cfx_dim from = bound_of(start, zero), to = bound_of(end, n);
    if (cfx_dim_is_bad(by) || cfx_dim_is_bad(from) || cfx_dim_is_bad(to))
        return cfx_call_fail(call, CFX_EINVAL,
                             "slice indices must be integers or None");
    if (!cfx_dim_lt(env, zero, by))
        return cfx_call_fail(call, CFX_EINVAL,
                             "slice step must be greater than zero");
    from = cfx_view_clip(env, from, n);
    to = cfx_view_clip(env, to, n);
    cfx_dim count = cfx_dim_sub(env, to, from);
    if (!cfx_dim_known_le(env, zero, count)) {
        bool empty = cfx_dim_known_le(env, count, zero);
        count = empty ? zero : cfx_dim_max(env, zero, count);
        if (empty && cfx_dim_is_int(from))
            to = from;
    }
    v->shape[axis] = cfx_dim_ceildiv(env, count, by);
    v->offset = cfx_dim_add(env, v->offset,
                            cfx_dim_mul(env, from, v->stride[axis]));
    v->stride[axis] = cfx_dim_mul(env, v->stride[axis], by);
    return CFX_OK;
}

cfx_status cfx_view_unsqueeze(cfx_call *call, cfx_view *v, int axis)
{
    cfx_dim step = axis < v->rank ? cfx_dim_mul(call->env, v->shape[axis],
                                                v->stride[axis])
                                  : cfx_dim_int(1);
    return cfx_view_insert(call, v, axis, cfx_dim_int(1), step);
}

cfx_status cfx_view_diagonal(cfx_call *call, cfx_view *v, cfx_dim offset,
                             int64_t dim1, int64_t dim2)
{
    cfx_shape_env *env = call->env;
    cfx_dim zero = cfx_dim_int(0);
    int a, b;
    cfx_status st = cfx_call_axis(call, dim1, v->rank, &a);
    if (!st)
        st = cfx_call_axis(call, dim2, v->rank, &b);
    if (st)
        return st;
    if (a == b || v->rank < 2)
        return cfx_call_fail(
            call, CFX_EINVAL,
            "diagonal dimensions cannot be identical %lld, %lld",
            (long long)dim1, (long long)dim2);
    bool above = cfx_dim_le(env, zero, offset);
    cfx_dim shift = above ? offset : cfx_dim_neg(env, offset);
    int cut = above ? b : a;
    cfx_dim rows = v->shape[above ? a : b];
    cfx_dim cols = cfx_dim_max(env, zero,
                               cfx_dim_sub(env, v->shape[cut], shift));
    cfx_dim step = cfx_dim_add(env, v->stride[a], v->stride[b]);
    cfx_dim n = cfx_dim_min(env, rows, cols);
    if (!cfx_dim_is(n, 0))
        v->offset = cfx_dim_add(env, v->offset,
                                cfx_dim_mul(env, shift, v->stride[cut]));
    cfx_view_remove(v, a > b ? a : b);
    cfx_view_remove(v, a > b ? b : a);
    return cfx_view_insert(call, v, v->rank, n, step);
}

cfx_status cfx_view_out_strided_like(cfx_call *call, int k)
{
    const cfx_tensor *x = cfx_call_tensor(call, k);
    for (int i = 0; i < x->rank; i++)
        if (cfx_dim_is(x->stride[i], 0) && !cfx_dim_is(x->shape[i], 1))
            return cfx_infer_like(call, x, (cfx_dtype)x->dtype);
    return cfx_call_out_strided(call, (cfx_dtype)x->dtype, x->rank, x->shape,
                                x->stride);
}

static void add_operand(cfx_iter *it, const cfx_tensor *t, const cfx_view *v)
{
    size_t size = cfx_dtype_size((cfx_dtype)t->dtype);
    int64_t from = cfx_dim_value(v->offset) - cfx_dim_value(t->offset);
    int64_t *step = cfx_iter_add(it, (char *)t->data + from * (int64_t)size,
                                 (cfx_dtype)t->dtype);
    for (int i = 0; i < v->rank; i++)
        step[i] = cfx_dim_value(v->stride[i]);
}

void cfx_view_assign(cfx_context *ctx, const cfx_tensor *y, const cfx_view *to,
                     const cfx_tensor *x, const cfx_view *from)
{
    int64_t shape[CFX_MAX_RANK];
    cfx_iter it;
    for (int i = 0; i < to->rank; i++) {
        shape[i] = cfx_dim_value(to->shape[i]);
        if (!shape[i])
            return;
    }
    cfx_iter_begin(&it, to->rank, shape);
    add_operand(&it, y, to);
    add_operand(&it, x, from);
    cfx_copy(ctx, &it);
}

/* Is the channels' stride, times their number, beyond the next one by its
 * bounds alone? That spares contiguous tensors of symbolic extents products and
 * proofs for the other order. */
static bool plainly_not_last(cfx_shape_env *env, const cfx_view *v, int next)
{
    int64_t stride, channels, most;
    if (cfx_dim_is_int(v->stride[1]) || !cfx_dim_is_int(v->stride[next]))
        return false;
    cfx_dim_bounds(env, v->stride[1], &stride, &most);
    cfx_dim_bounds(env, v->shape[1], &channels, &most);
    return channels > 0 && stride > cfx_dim_value(v->stride[next]) / channels;
}

/*
 * Unlike a contiguous tensor this one may have gaps, and of shapes for which
 * both orders have the same strides only row-major ones are meant.
 */
static bool strides_like(cfx_shape_env *env, const cfx_view *v,
                         const int *order)
{
    cfx_dim least = cfx_dim_int(0);
    if (cfx_dim_is(v->stride[1], 0) || plainly_not_last(env, v, order[1]))
        return false;
    for (int k = 0; k < v->rank; k++) {
        int d = order[k];
        cfx_dim stride = v->stride[d];
        if (cfx_dim_is(v->shape[d], 0))
            return false;
        if (!cfx_dim_same(stride, least) &&
            !cfx_dim_known_le(env, least, stride))
            return false;
        if (d == 0 && cfx_dim_same(least, v->stride[1]))
            return false;
        least = cfx_dim_is(v->shape[d], 1)
                    ? stride
                    : cfx_dim_mul(env, stride, v->shape[d]);
    }
    return true;
}

cfx_memory_format cfx_view_format(cfx_shape_env *env, const cfx_view *v)
{
    static const int last_2d[] = {1, 3, 2, 0}, last_3d[] = {1, 4, 3, 2, 0};
    if (v->rank == 4 && strides_like(env, v, last_2d))
        return CFX_CHANNELS_LAST;
    if (v->rank == 5 && strides_like(env, v, last_3d))
        return CFX_CHANNELS_LAST_3D;
    return CFX_CONTIGUOUS_FORMAT;
}

/* Apply unsqueeze: axis `at` of extent 1. */
static void unsqueeze(cfx_shape_env *env, cfx_view *v, int at)
{
    for (int i = v->rank++; i > at; i--) {
        v->shape[i] = v->shape[i - 1];
        v->stride[i] = v->stride[i - 1];
    }
    v->shape[at] = cfx_dim_int(1);
    v->stride[at] = cfx_dim_mul(env, v->shape[at + 1], v->stride[at + 1]);
}

void cfx_view_images(cfx_shape_env *env, cfx_view *v, const cfx_tensor *t,
                     bool batched)
{
    cfx_view_begin(v, t);
    if (!batched)
        unsqueeze(env, v, 0);
    if (v->rank == 3)
        unsqueeze(env, v, 2);
}

bool cfx_view_is_last(cfx_shape_env *env, const cfx_tensor *x)
{
    cfx_view v;
    if (x->flags & CFX_TENSOR_EXACT)
        return false;
    cfx_view_images(env, &v, x, true);
    return cfx_view_format(env, &v) != CFX_CONTIGUOUS_FORMAT;
}

bool cfx_view_both_last(const cfx_tensor *x, const cfx_tensor *y)
{
    return x->flags & y->flags &
               (CFX_TENSOR_CHANNELS_LAST | CFX_TENSOR_CHANNELS_LAST_3D) &&
           !cfx_tensor_is_contiguous(y);
}

void cfx_view_last_strides(cfx_shape_env *env, int rank, const cfx_dim *shape,
                           cfx_dim *stride)
{
    cfx_dim step = cfx_dim_int(1);
    for (int k = 0; k < rank; k++) {
        int axis = !k ? 1 : k + 1 < rank ? rank - k : 0;
        stride[axis] = step;
        step = cfx_dim_mul(env, step, shape[axis]);
    }
}

cfx_status cfx_view_out_format(cfx_call *call, cfx_dtype dtype, int rank,
                               const cfx_dim *shape, bool last)
{
    cfx_dim stride[CFX_MAX_RANK];
    if (last)
        cfx_view_last_strides(call->env, rank, shape, stride);
    return cfx_call_out_strided(call, dtype, rank, shape,
                                last ? stride : NULL);
}

bool cfx_view_is_dense(const cfx_tensor *x, cfx_memory_format format)
{
    uint8_t flag = format == CFX_CHANNELS_LAST ? CFX_TENSOR_CHANNELS_LAST
                   : format == CFX_CHANNELS_LAST_3D
                       ? CFX_TENSOR_CHANNELS_LAST_3D
                       : CFX_TENSOR_CONTIGUOUS;
    return x->flags & flag;
}

cfx_memory_format cfx_view_format_arg(const cfx_call *call, int k,
                                      cfx_memory_format otherwise)
{
    cfx_value v = cfx_call_value(call, k);
    return v.kind == CFX_MEMORY_FORMAT ? v.u.format : otherwise;
}

cfx_status cfx_view_check_format(cfx_call *call, cfx_memory_format format,
                                 int rank)
{
    int want = format == CFX_CHANNELS_LAST      ? 4
               : format == CFX_CHANNELS_LAST_3D ? 5
                                                : rank;
    if (want == rank)
        return CFX_OK;
    return cfx_call_fail(
        call, CFX_ESHAPE,
        "required rank %d tensor to use channels_last%s format", want,
        want == 5 ? "_3d" : "");
}

cfx_status cfx_view_out_in_format(cfx_call *call, cfx_dtype dtype,
                                  cfx_memory_format format, int rank,
                                  const cfx_dim *shape)
{
    cfx_dim stride[CFX_MAX_RANK];
    cfx_status st = cfx_view_check_format(call, format, rank);
    if (st)
        return st;
    cfx_strides_of(call->env, format, rank, shape, stride);
    return cfx_call_out_strided(call, dtype, rank, shape, stride);
}

cfx_status cfx_view_out_like(cfx_call *call, cfx_dtype dtype,
                             cfx_memory_format format)
{
    const cfx_tensor *x = cfx_call__tensor_at(call, 0);
    return format == CFX_PRESERVE_FORMAT
               ? cfx_infer_like(call, x, dtype)
               : cfx_view_out_in_format(call, dtype, format, x->rank,
                                        x->shape);
}
