/*
 * repeat -- elements and axes several times over: repeat, tile,
 * repeat_interleave, meshgrid, broadcast_tensors.
 *
 * shape   repeat multiplies the extents, after putting as many axes in front
 *         as there are more factors.
 * cost    no arithmetic; reads the tensor, writes the result. meshgrid and
 *         broadcast_tensors give views.
 */
#include <string.h>

#include "base/stop.h"
#include "kernel/move/index_kernel.h"
#include "op/infer.h"
#include "op/loop.h"
#include "ops/index/indexing.h"
#include "ops/shape/view.h"

/* ---- repeat and tile ---- */

/* Factors may be fewer than axes only in tile. */
static cfx_dim factor_of(const cfx_call *call, int rank, int i)
{
    int at = i - (rank - cfx_call_len(call, 1));
    return at < 0 ? cfx_dim_int(1) : cfx_call_dim(call, 1, at);
}

static int repeated_rank(const cfx_call *call)
{
    int rank = cfx_call_tensor(call, 0)->rank, n = cfx_call_len(call, 1);
    return n > rank ? n : rank;
}

static cfx_status repeat_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, 0);
    int rank = repeated_rank(call);
    cfx_dim shape[CFX_MAX_RANK];
    if (rank > CFX_MAX_RANK)
        return cfx_call_fail(call, CFX_ESHAPE, "rank %d is more than %d", rank,
                             CFX_MAX_RANK);
    if (!call->op->code && cfx_call_len(call, 1) < x->rank)
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor");
    for (int i = 0; i < rank; i++) {
        int at = i - (rank - x->rank);
        shape[i] = factor_of(call, rank, i);
        if (at >= 0)
            shape[i] = cfx_dim_mul(call->env, shape[i], x->shape[at]);
        if (cfx_dim_is_bad(shape[i]))
            return cfx_call_fail(
                call, CFX_ESHAPE,
                "extent %d of the result is not an int of 62 bits", i);
        if (!cfx_dim_le(call->env, cfx_dim_int(0), shape[i])) {
            char s[64];
            cfx_dim_format(shape[i], s, sizeof(s));
            return cfx_call_fail(
                call, CFX_ESHAPE,
                "Trying to create tensor with negative dimension %s", s);
        }
    }
    return cfx_call_out(call, (cfx_dtype)x->dtype, rank, shape);
}

/* Each axis of the result is one of copies over one of elements. Those of
 * extent 1 are left out, so that they are no more than the kernels take. */
static bool pair_axis(cfx_view *to, cfx_view *from, int64_t n, cfx_dim to_step,
                      cfx_dim from_step)
{
    if (n == 1)
        return true;
    if (to->rank == CFX_MAX_RANK)
        return false;
    to->shape[to->rank] = cfx_dim_int(n);
    to->stride[to->rank++] = to_step;
    from->stride[from->rank++] = from_step;
    return true;
}

static cfx_status repeat_run(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, 0), *y = call->out[0];
    cfx_view to = {.offset = y->offset}, from = {.offset = x->offset};
    cfx_dim zero = cfx_dim_int(0);
    for (int i = 0; i < y->rank; i++) {
        int at = i - (y->rank - x->rank);
        int64_t n = at < 0 ? 1 : cfx_tensor_size(x, at);
        cfx_dim times = factor_of(call, y->rank, i);
        cfx_dim over = cfx_dim_mul(NULL, cfx_dim_int(n), y->stride[i]);
        if (!pair_axis(&to, &from, cfx_dim_value(times), over, zero) ||
            !pair_axis(&to, &from, n, y->stride[i],
                       at < 0 ? zero : x->stride[at]))
            return cfx_call_fail(call, CFX_EUNSUPPORTED,
                                 "more than %d axes that are repeated",
                                 CFX_MAX_RANK / 2);
    }
    cfx_view_assign(call->ctx, y, &to, x, &from);
    return CFX_OK;
}

const cfx_op cfx_op__repeat = {
    .schema = "repeat(Tensor self, SymInt[] repeats) -> Tensor",
    .aliases = "Tensor. aten.",
    .doc = "The tensor several times along each axis.",
    .flags = CFX_OP_MOVES | CFX_OP_STORED_TYPES,
    .infer = repeat_infer,
    .run = repeat_run,
};

const cfx_op cfx_op__tile = {
    .schema = "tile(Tensor self, SymInt[] dims) -> Tensor",
    .aliases = "torch. Tensor. aten.",
    .doc = "The tensor several times along the last axes.",
    .code = 1,
    .flags = CFX_OP_MOVES | CFX_OP_STORED_TYPES,
    .infer = repeat_infer,
    .run = repeat_run,
};

/* ---- repeat_interleave by one number ---- */

static cfx_status check_output_size(cfx_call *call, int k, cfx_dim n)
{
    if (cfx_call_has(call, k) &&
        !cfx_dim_eq(call->env, cfx_value_dim(call->in[k]), n))
        return cfx_call_fail(call, CFX_EINVAL,
                             "allocated size does not match required size");
    return CFX_OK;
}

/* The axis that is repeated, of a tensor that is flattened without `dim`. */
static cfx_status interleave_axis(cfx_call *call, cfx_view *v, int *axis)
{
    const cfx_tensor *x = cfx_call_tensor(call, 0);
    cfx_view_begin(v, x);
    *axis = 0;
    if (cfx_call_has(call, 2) && x->rank)
        return cfx_call_axis(call, cfx_call_int(call, 2), x->rank, axis);
    v->rank = 1;
    v->shape[0] = cfx_infer_numel(call->env, x->rank, x->shape);
    return CFX_OK;
}

static cfx_status interleave_int_infer(cfx_call *call)
{
    cfx_dim times = cfx_value_dim(call->in[1]);
    int axis;
    cfx_view v;
    cfx_status st = interleave_axis(call, &v, &axis);
    if (!st && !cfx_dim_le(call->env, cfx_dim_int(0), times))
        st = cfx_call_fail(call, CFX_EINVAL, "Repeats must be non-negative");
    if (st)
        return st;
    v.shape[axis] = cfx_dim_mul(call->env, v.shape[axis], times);
    st = check_output_size(call, 3, v.shape[axis]);
    return st ? st
              : cfx_call_out(call, (cfx_dtype)cfx_call_tensor(call, 0)->dtype,
                             v.rank, v.shape);
}

/* Around the axis that is repeated; a flattened tensor is (1, n, 1). */
static cfx_axis_split interleave_split(const cfx_call *call,
                                       const cfx_tensor *x)
{
    if (!cfx_call_has(call, 2) || !x->rank)
        return (cfx_axis_split){1, cfx_tensor_numel(x), 1};
    int64_t axis = cfx_call_int(call, 2);
    return cfx_loop_split(x, (int)(axis < 0 ? axis + x->rank : axis));
}

/* Copies of (outer, n, inner): each element of n so many times. */
static cfx_status interleave_int_run(cfx_call *call)
{
    const cfx_tensor *y = call->out[0];
    cfx_tensor *x = cfx_loop_contiguous(call, cfx_call_tensor(call, 0));
    if (!x)
        return CFX_ENOMEM;
    int64_t times = cfx_call_int(call, 1);
    cfx_axis_split s = interleave_split(call, x);
    int64_t extent[] = {s.outer * s.n, times, s.inner};
    int64_t from_step[] = {s.inner, 0, 1};
    cfx_view to = {.rank = 3, .offset = y->offset};
    cfx_view from = {.rank = 3, .offset = x->offset};
    int64_t step = 1;
    for (int i = 2; i >= 0; i--) {
        to.shape[i] = cfx_dim_int(extent[i]);
        to.stride[i] = cfx_dim_int(step);
        from.stride[i] = cfx_dim_int(from_step[i]);
        step *= extent[i];
    }
    cfx_view_assign(call->ctx, y, &to, x, &from);
    cfx_tensor_unref(x);
    return CFX_OK;
}

/* ---- repeat_interleave by a tensor ---- */

static cfx_status sum_of(cfx_call *call, const cfx_tensor *t, int64_t *sum)
{
    int64_t n = cfx_tensor_numel(t),
            step = t->rank ? cfx_tensor_stride(t, 0) : 1;
    size_t size = cfx_dtype_size((cfx_dtype)t->dtype);
    *sum = 0;
    for (int64_t i = 0; i < n && !cfx_context_stops_at(call->ctx, i); i++) {
        int64_t v = cfx_element_int(
            (cfx_dtype)t->dtype, (char *)t->data + (size_t)(i * step) * size);
        if (v < 0)
            return cfx_call_fail(call, CFX_EINVAL,
                                 "repeats can not be negative");
        if (v > CFX_DIM_MAX - *sum)
            return cfx_call_fail(call, CFX_ESHAPE, "repeats are too many");
        *sum += v;
    }
    return CFX_OK;
}

/* The extent that the repeats add up to. */
static cfx_status total_of(cfx_call *call, const cfx_tensor *t, int k,
                           cfx_dim *out)
{
    int64_t sum;
    if (t->rank > 1)
        return cfx_call_fail(call, CFX_ESHAPE,
                             "repeats must be 0-dim or 1-dim tensor");
    if (t->dtype != CFX_I64 && t->dtype != CFX_I32)
        return cfx_call_fail(call, CFX_EDTYPE,
                             "repeats has to be Long or Int tensor");
    if (call->meta || !t->data) {
        if (!cfx_call_has(call, k))
            return cfx_infer_unknown_extent(call, out);
        *out = cfx_value_dim(call->in[k]);
        return CFX_OK;
    }
    cfx_status st = sum_of(call, t, &sum);
    *out = cfx_dim_int(st ? 0 : sum);
    return st ? st : check_output_size(call, k, *out);
}

static cfx_status places_infer(cfx_call *call)
{
    const cfx_tensor *t = cfx_call_tensor(call, 0);
    cfx_dim n;
    cfx_status st = total_of(call, t, 1, &n);
    if (!st && t->rank != 1)
        st = cfx_call_fail(
            call, CFX_ESHAPE,
            "repeat_interleave only accept 1D vector as repeat");
    return st ? st : cfx_call_out(call, (cfx_dtype)t->dtype, 1, &n);
}

/* 0 so many times, then 1 so many times, ... A number of repeats stands for
 * that of every place. */
static void write_places(const cfx_tensor *t, int64_t places, cfx_dtype type,
                         char *out)
{
    int64_t step = t->rank && cfx_tensor_size(t, 0) > 1
                       ? cfx_tensor_stride(t, 0)
                       : 0;
    size_t size = cfx_dtype_size(type);
    for (int64_t i = 0; i < places && !cfx_context_stops_at(t->ctx, i); i++) {
        int64_t times = cfx_element_int(
            (cfx_dtype)t->dtype,
            (char *)t->data +
                (size_t)(i * step) * cfx_dtype_size((cfx_dtype)t->dtype));
        for (; times > 0 && !cfx_context_stops_at(t->ctx, times);
             times--, out += size)
            cfx_element_set_int(type, out, i);
    }
}

static cfx_status places_run(cfx_call *call)
{
    const cfx_tensor *t = cfx_call_tensor(call, 0);
    write_places(t, cfx_tensor_numel(t), (cfx_dtype)call->out[0]->dtype,
                 call->out[0]->data);
    return CFX_OK;
}

static cfx_status interleave_tensor_infer(cfx_call *call)
{
    cfx_shape_env *env = call->env;
    const cfx_tensor *t = cfx_call_tensor(call, 1);
    int axis;
    cfx_view v;
    cfx_dim n, one = cfx_dim_int(1);
    cfx_status st = interleave_axis(call, &v, &axis);
    if (st)
        return st;
    bool single = !t->rank || cfx_dim_is(t->shape[0], 1);
    cfx_dim extent = v.rank ? v.shape[axis] : one;
    if (!single && !cfx_dim_eq(env, t->shape[0], extent))
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "repeats must have the same size as input along dim");
    st = total_of(call, t, single && t->data && !call->meta ? 4 : 3, &n);
    if (st)
        return st;
    /* One number of repeats is that of every element. */
    if (single && (t->data && !call->meta)) {
        n = cfx_dim_mul(env, n, extent);
        st = check_output_size(call, 3, n);
        if (st)
            return st;
    }
    v.shape[axis] = n;
    return cfx_call_out(call, (cfx_dtype)cfx_call_tensor(call, 0)->dtype,
                        v.rank, v.shape);
}

static size_t interleave_tensor_workspace(const cfx_call *call)
{
    cfx_tensor *y = call->out[0];
    bool flat = !cfx_call_has(call, 2) || !cfx_call_tensor(call, 0)->rank;
    int64_t axis = flat ? 0 : cfx_call_int(call, 2);
    return (size_t)cfx_tensor_size(y,
                                   (int)(axis < 0 ? axis + y->rank : axis)) *
           sizeof(int64_t);
}

static cfx_status interleave_tensor_run(cfx_call *call)
{
    const cfx_tensor *y = call->out[0], *t = cfx_call_tensor(call, 1);
    cfx_tensor *x = cfx_loop_contiguous(call, cfx_call_tensor(call, 0));
    int64_t bad;
    if (!x)
        return CFX_ENOMEM;
    cfx_axis_split s = interleave_split(call, x);
    int64_t count = (int64_t)(call->work_size / sizeof(int64_t));
    if (call->work)
        write_places(t, s.n, CFX_I64, call->work);
    if (count && call->work)
        cfx_kernel_index_select(call->ctx, cfx_dtype_size((cfx_dtype)y->dtype),
                                y->data, x->data, CFX_I64, call->work, s.outer,
                                s.n, s.inner, count, &bad);
    cfx_tensor_unref(x);
    return CFX_OK;
}

#define INTERLEAVE                                                            \
    "torch.repeat_interleave Tensor.repeat_interleave "                       \
    "aten.repeat_interleave."

static const cfx_op repeat_interleave_places = {
    .schema =
        "repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) -> Tensor",
    .aliases = "torch. aten.",
    .doc = "Each place as many times as its number says.",
    .infer = places_infer,
    .run = places_run,
};

static const cfx_op repeat_interleave_tensor = {
    .schema =
        "repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor",
    .aliases = INTERLEAVE "self_Tensor",
    .doc = "Each element as many times as its number says.",
    .flags = CFX_OP_COMPLEX,
    .infer = interleave_tensor_infer,
    .workspace = interleave_tensor_workspace,
    .run = interleave_tensor_run,
    .next = &repeat_interleave_places,
};

const cfx_op cfx_op__repeat_interleave = {
    .schema =
        "repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor",
    .aliases = INTERLEAVE "self_int",
    .doc = "Each element so many times.",
    .flags = CFX_OP_MOVES | CFX_OP_COMPLEX,
    .infer = interleave_int_infer,
    .run = interleave_int_run,
    .next = &repeat_interleave_tensor,
};

/* ---- Lists of expanded views ---- */

static cfx_status give_views(cfx_call *call, int n, cfx_value *item,
                             cfx_status st)
{
    if (!st)
        st = cfx_call_return_take(call,
                                  cfx_tuple_new(call->ctx, (size_t)n, item));
    for (int i = 0; i < n; i++)
        cfx_value_unref(item[i]);
    cfx_free(call->ctx, item, (size_t)n * sizeof(*item));
    return st;
}

static cfx_status view_of(cfx_call *call, cfx_value *out, const cfx_tensor *t,
                          const cfx_view *v)
{
    cfx_tensor *made;
    cfx_status st = cfx_tensor_view(&made, t, v->rank, v->shape, v->stride,
                                    v->offset, call->err);
    *out = st ? cfx_none() : cfx_value_of_tensor(made);
    return st;
}

static cfx_status broadcast_tensors_infer(cfx_call *call)
{
    cfx_dim shape[CFX_MAX_RANK];
    int n = cfx_call_len(call, 0), rank = 0;
    cfx_status st = CFX_OK;
    for (int i = 0; !st && i < n; i++) {
        const cfx_tensor *t = cfx_call_item(call, 0, i).u.tensor;
        st = cfx_infer_broadcast(call, &rank, shape, t->rank, t->shape);
    }
    if (st)
        return st;
    cfx_value *item = cfx_calloc(call->ctx, (size_t)n + !n, sizeof(*item));
    if (!item)
        return cfx_no_memory(call->err);
    for (int i = 0; !st && i < n; i++) {
        const cfx_tensor *t = cfx_call_item(call, 0, i).u.tensor;
        cfx_view v = {.rank = rank, .offset = t->offset};
        for (int k = 0; k < rank; k++) {
            int at = k - (rank - t->rank);
            bool own = at >= 0 && cfx_dim_same(t->shape[at], shape[k]);
            v.shape[k] = shape[k];
            v.stride[k] = own || (at >= 0 && !cfx_dim_is(t->shape[at], 1))
                              ? t->stride[at]
                              : cfx_dim_int(0);
        }
        st = view_of(call, &item[i], t, &v);
    }
    return give_views(call, n, item, st);
}

const cfx_op cfx_op__broadcast_tensors = {
    .schema = "broadcast_tensors(Tensor(a)[*] tensors) -> Tensor(a)[]",
    .aliases = "torch. aten.",
    .doc = "All tensors expanded to the shape they have together.",
    .infer = broadcast_tensors_infer,
};

/* Axis i of n is that of tensor i; along the others it is expanded from extent
 * 1 (with the strides of a view if they are 1). */
static cfx_status grid_view(cfx_call *call, cfx_value *out, int n, int i,
                            bool swap)
{
    const cfx_tensor *t = cfx_call_item(call, 0, i).u.tensor;
    cfx_dim one = cfx_dim_int(1), zero = cfx_dim_int(0);
    cfx_dim step = t->rank ? t->stride[0] : one;
    cfx_dim over = t->rank ? cfx_dim_mul(call->env, t->shape[0], step) : one;
    int own = swap && i < 2 ? 1 - i : i;
    cfx_view v = {.rank = n, .offset = t->offset};
    for (int k = 0; k < n; k++) {
        int from = swap && k < 2 ? 1 - k : k;
        const cfx_tensor *of = cfx_call_item(call, 0, from).u.tensor;
        v.shape[k] = of->rank ? of->shape[0] : one;
        v.stride[k] = k == own                     ? step
                      : !cfx_dim_is(v.shape[k], 1) ? zero
                      : k > own                    ? step
                                                   : over;
    }
    return view_of(call, out, t, &v);
}

static cfx_status meshgrid_infer(cfx_call *call)
{
    int n = cfx_call_len(call, 0);
    const char *indexing = cfx_call_has(call, 1) ? cfx_call_str(call, 1)
                                                 : "ij";
    bool xy = !strcmp(indexing, "xy");
    if (!n)
        return cfx_call_fail(call, CFX_EINVAL,
                             "meshgrid expects a non-empty TensorList");
    if (n > CFX_MAX_RANK)
        return cfx_call_fail(call, CFX_ESHAPE, "rank %d is more than %d", n,
                             CFX_MAX_RANK);
    if (!xy && strcmp(indexing, "ij"))
        return cfx_call_fail(
            call, CFX_EINVAL,
            "indexing must be one of \"xy\" or \"ij\", but received: %s",
            indexing);
    for (int i = 0; i < n; i++) {
        const cfx_tensor *t = cfx_call_item(call, 0, i).u.tensor;
        if (t->rank > 1)
            return cfx_call_fail(
                call, CFX_ESHAPE,
                "Expected 0D or 1D tensor in the tensor list but got rank %d",
                t->rank);
        if (t->dtype != cfx_call_item(call, 0, 0).u.tensor->dtype)
            return cfx_call_fail(call, CFX_EDTYPE,
                                 "expects all tensors to have the same dtype");
    }
    cfx_value *item = cfx_calloc(call->ctx, (size_t)n, sizeof(*item));
    cfx_status st = CFX_OK;
    if (!item)
        return cfx_no_memory(call->err);
    for (int i = 0; !st && i < n; i++)
        st = grid_view(call, &item[i], n, i, xy && n > 1);
    return give_views(call, n, item, st);
}

const cfx_op cfx_op__meshgrid = {
    .schema =
        "meshgrid.indexing(Tensor(a)[*] tensors, *, str? indexing=None) -> Tensor(a)[]",
    .aliases = "torch. .default aten.",
    .doc = "Grids of the coordinates that vectors give.",
    .infer = meshgrid_infer,
};
