/*
 * view -- results that are the argument seen in another way.
 *
 * A view is worked out step by step in extents, strides and an offset, and
 * becomes a tensor at the end.
 */
#include "op/view.h"

#include <string.h>

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
        return cfx_call_fail(call, CFX_EINVAL, "index %s is out of bounds for "
                             "dimension %d with size %s", i, axis, s);
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
    if (is_negative(at))
        at = cfx_dim_add(env, at, n);
    if (cfx_dim_is_int(at) && cfx_dim_is_int(n)) {
        if (cfx_dim_value(at) < 0)
            return zero;
        return cfx_dim_value(at) > cfx_dim_value(n) ? n : at;
    }
    if (!cfx_dim_known_le(env, zero, at))
        at = cfx_dim_max(env, zero, at);
    return cfx_dim_known_le(env, at, n) ? at
           : cfx_dim_known_le(env, n, at) ? n : cfx_dim_min(env, at, n);
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
    cfx_dim by = bound_of(step, one);
    cfx_dim from = bound_of(start, zero), to = bound_of(end, n);
    if (cfx_dim_is_bad(by) || cfx_dim_is_bad(from) || cfx_dim_is_bad(to))
        return cfx_call_fail(call, CFX_EINVAL,
                             "slice indices must be integers or None");
    if (!cfx_dim_is_int(by) || cfx_dim_value(by) < 1)
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
