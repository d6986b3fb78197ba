/*
 * gather -- elements at the places that index tensors name: index_select,
 * gather, take, embedding, one_hot, searchsorted.
 *
 * shape   follows the index, see each; row-major.
 * cost    no arithmetic; reads the index and the elements taken, writes the
 *         result.
 */
#include <string.h>

#include "base/stop.h"
#include "kernel/move/index_kernel.h"
#include "kernel/pointwise/pointwise_kernel.h"
#include "ops/index/indexing.h"
#include "op/op_cost.h"
#include "op/infer.h"
#include "op/loop.h"

CFX_PARAMS(params, SELF, DIM, INDEX, INDICES, SPARSE_GRAD, NUM_CLASSES);

static bool is_index(const cfx_tensor *t)
{
    return t->dtype == CFX_I64 || t->dtype == CFX_I32;
}

static cfx_status need_index(cfx_call *call, const cfx_tensor *t)
{
    return is_index(t)
               ? CFX_OK
               : cfx_call_fail(call, CFX_EDTYPE,
                               "Expected dtype int32 or int64 for index");
}

static int64_t bytes_of(const cfx_tensor *t)
{
    return (int64_t)cfx_dtype_size((cfx_dtype)t->dtype);
}

/* The taken elements are read and written once. */
static void taken_cost(const cfx_call *call, const cfx_tensor *index,
                       cfx_cost *cost)
{
    cfx_shape_env *env = call->env;
    const cfx_tensor *y = call->out[0];
    cfx_dim out = cfx_dim_mul(env, cfx_cost_numel(call, y),
                              cfx_dim_int(bytes_of(y)));
    cfx_dim places = cfx_dim_mul(env, cfx_cost_numel(call, index),
                                 cfx_dim_int(bytes_of(index)));
    cost->bytes_read = cfx_dim_add(env, out, places);
    cost->bytes_written = out;
}

/* ---- index_select ---- */

static cfx_status index_select_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    const cfx_tensor *index = cfx_call_tensor(call, INDEX);
    cfx_dim shape[CFX_MAX_RANK];
    cfx_dim one = cfx_dim_int(1);
    int axis;
    cfx_status st = cfx_call_axis(call, cfx_call_int(call, DIM), x->rank,
                                  &axis);
    if (!st)
        st = need_index(call, index);
    if (st)
        return st;
    if (index->rank > 1)
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "Index is supposed to be a vector, but got dim: %d", index->rank);
    cfx_dim n = index->rank ? index->shape[0] : one;
    if (!x->rank && !cfx_dim_eq(call->env, n, one))
        return cfx_call_fail(call, CFX_ESHAPE,
                             "Index to scalar can have only 1 value");
    for (int i = 0; i < x->rank; i++)
        shape[i] = i == axis ? n : x->shape[i];
    return cfx_call_out(call, (cfx_dtype)x->dtype, x->rank, shape);
}

/* The cost of copying the elements at the places of `index`. */
static void index_cost(const cfx_call *call, cfx_cost *cost)
{
    taken_cost(call, cfx_call_tensor(call, INDEX), cost);
}

/* Rows of x(outer, n, inner) at the places of an index. */
static cfx_status take_rows(cfx_call *call, const cfx_tensor *x,
                            const cfx_tensor *index, cfx_axis_split s,
                            int axis)
{
    const cfx_tensor *y = call->out[0];
    cfx_tensor *rows = cfx_loop_contiguous(call, x);
    cfx_tensor *places = rows ? cfx_loop_contiguous(call, index) : NULL;
    cfx_status st = places ? CFX_OK : CFX_ENOMEM;
    int64_t bad = 0;
    if (!st && !cfx_kernel_index_select(
                   call->ctx, (size_t)bytes_of(y), y->data, rows->data,
                   (cfx_dtype)places->dtype, places->data, s.outer, s.n,
                   s.inner, cfx_tensor_numel(places), &bad))
        st = cfx_infer_out_of_range(call, bad, axis, s.n);
    cfx_tensor_unref(places);
    cfx_tensor_unref(rows);
    return st;
}

static cfx_status index_select_run(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    int64_t dim = cfx_call_int(call, DIM);
    int axis = (int)(dim < 0 && x->rank ? dim + x->rank : dim);
    if (!x->rank)
        axis = 0;
    return take_rows(call, x, cfx_call_tensor(call, INDEX),
                     cfx_loop_split(x, axis), axis);
}

const cfx_op cfx_op__index_select = {
    .schema = "index_select(Tensor self, int dim, Tensor index) -> Tensor",
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc = "Elements of an axis at the places of an index.",
    .flags = CFX_OP_COMPLEX,
    .infer = index_select_infer,
    .cost = index_cost,
    .run = index_select_run,
};

/* ---- gather ---- */

static cfx_status check_within(cfx_call *call, const cfx_tensor *x,
                               const cfx_tensor *index, int axis)
{
    for (int i = 0; i < x->rank && index->rank == x->rank; i++) {
        char a[64], b[64];
        if (i == axis || cfx_dim_le(call->env, index->shape[i], x->shape[i]))
            continue;
        cfx_dim_format(index->shape[i], a, sizeof(a));
        cfx_dim_format(x->shape[i], b, sizeof(b));
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "Size does not match at dimension %d expected index %s to be no larger than self %s apart from dimension %d",
            i, a, b, axis);
    }
    return CFX_OK;
}

static cfx_status gather_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    const cfx_tensor *index = cfx_call_tensor(call, INDEX);
    int axis, have = x->rank ? x->rank : 1;
    int want = index->rank ? index->rank : 1;
    cfx_status st = cfx_call_axis(call, cfx_call_int(call, DIM), x->rank,
                                  &axis);
    if (!st && !cfx_infer_is_empty(index)) {
        st = need_index(call, index);
        if (!st && have != want)
            st = cfx_call_fail(
                call, CFX_ESHAPE,
                "Index tensor must have the same number of dimensions as input tensor");
        if (!st)
            st = check_within(call, x, index, axis);
    }
    return st ? st
              : cfx_call_out(call, (cfx_dtype)x->dtype, index->rank,
                             index->shape);
}

static void take_cost(const cfx_call *call, cfx_cost *cost)
{
    int k = cfx_call_place(call, INDEX) < 0 ? INDICES : INDEX;
    taken_cost(call, cfx_call_tensor(call, k), cost);
}

static cfx_status gather_along(cfx_call *call, const cfx_tensor *x, int axis,
                               const cfx_tensor *index)
{
    const cfx_tensor *y = call->out[0];
    int64_t shape[CFX_MAX_RANK] = {1}, ys[CFX_MAX_RANK] = {1};
    int64_t xs[CFX_MAX_RANK] = {1}, is[CFX_MAX_RANK] = {1}, bad = 0;
    int rank = index->rank ? index->rank : 1;
    int64_t n = x->rank ? cfx_tensor_size(x, axis) : 1;
    if (cfx_infer_is_empty(y))
        return CFX_OK;
    cfx_loop_shape(shape, index);
    cfx_loop_strides(ys, y);
    cfx_loop_strides(xs, x);
    cfx_loop_strides(is, index);
    if (!cfx_kernel_gather(call->ctx, (size_t)bytes_of(y), rank, shape, axis,
                           n, y->data, ys, x->data, xs,
                           (cfx_dtype)index->dtype, index->data, is, &bad))
        return cfx_infer_out_of_range(call, bad, axis, n);
    return CFX_OK;
}

static int axis_at(const cfx_call *call, int k, int rank)
{
    int64_t dim = cfx_call_int(call, k);
    return rank ? (int)(dim < 0 ? dim + rank : dim) : 0;
}

static cfx_status gather_run(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    return gather_along(call, x, axis_at(call, DIM, x->rank),
                        cfx_call_tensor(call, INDEX));
}

const cfx_op cfx_op__gather = {
    .schema =
        "gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor",
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc = "Elements along an axis at the places of an index.",
    .flags = CFX_OP_COMPLEX,
    .infer = gather_infer,
    .cost = index_cost,
    .run = gather_run,
};

/* ---- take_along_dim ---- */

/* x and the index broadcast against each other, but for the axis. */
static cfx_status along_shapes(cfx_call *call, int axis, cfx_dim *x_shape,
                               cfx_dim *index_shape)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    const cfx_tensor *index = cfx_call_tensor(call, INDICES);
    cfx_dim one = cfx_dim_int(1), joined[CFX_MAX_RANK];
    int rank = x->rank;
    for (int i = 0; i < rank; i++) {
        joined[i] = i == axis ? one : x->shape[i];
        index_shape[i] = i == axis ? one : index->shape[i];
    }
    cfx_status st = cfx_infer_broadcast(call, &rank, joined, rank,
                                        index_shape);
    for (int i = 0; !st && i < rank; i++) {
        x_shape[i] = i == axis ? x->shape[i] : joined[i];
        index_shape[i] = i == axis ? index->shape[i] : joined[i];
    }
    return st;
}

/* A view with axes of extent 1 expanded. */
static cfx_status expand_to(cfx_call *call, const cfx_tensor *t,
                            const cfx_dim *shape, cfx_tensor **out)
{
    cfx_view v;
    cfx_view_begin(&v, t);
    for (int i = 0; i < v.rank; i++) {
        if (!cfx_dim_same(v.shape[i], shape[i]))
            v.stride[i] = cfx_dim_int(0);
        v.shape[i] = shape[i];
    }
    return cfx_tensor_view(out, t, v.rank, v.shape, v.stride, v.offset,
                           call->err);
}

/* All elements as one axis, without copying. */
static cfx_status flat_view(cfx_call *call, const cfx_tensor *t,
                            cfx_tensor **out)
{
    cfx_dim n = cfx_infer_numel(call->env, t->rank, t->shape), step;
    if (cfx_infer_view(call->env, t, 1, &n, &step, true) != CFX_A_VIEW)
        return cfx_call_fail(
            call, CFX_EINVAL,
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two contiguous subspaces)");
    return cfx_tensor_view(out, t, 1, &n, &step, t->offset, call->err);
}

static cfx_status take_all_infer(cfx_call *call, const cfx_tensor *x,
                                 const cfx_tensor *index)
{
    cfx_tensor *t = NULL;
    cfx_status st = flat_view(call, x, &t);
    cfx_tensor_unref(t);
    t = NULL;
    if (!st)
        st = flat_view(call, index, &t);
    if (!st)
        st = cfx_call_out(call, (cfx_dtype)x->dtype, 1, t->shape);
    cfx_tensor_unref(t);
    return st;
}

static cfx_status take_along_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    const cfx_tensor *index = cfx_call_tensor(call, INDICES);
    cfx_dim xs[CFX_MAX_RANK], is[CFX_MAX_RANK];
    int axis;
    if (!is_index(index) || index->dtype != CFX_I64)
        return cfx_call_fail(call, CFX_EDTYPE,
                             "dtype of indices should be Long but got %s",
                             cfx_dtypes[index->dtype].name);
    if (!cfx_call_has(call, DIM))
        return take_all_infer(call, x, index);
    if (x->rank != index->rank)
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "input and indices should have the same number of dimensions, but got %d dimensions for input, and %d dimensions for indices",
            x->rank, index->rank);
    cfx_status st = cfx_call_axis(call, cfx_call_int(call, DIM), x->rank,
                                  &axis);
    if (!st)
        st = along_shapes(call, axis, xs, is);
    return st ? st : cfx_call_out(call, (cfx_dtype)x->dtype, x->rank, is);
}

/* A copy of the places in which those out of range are taken modulo n, as
 * negative ones are. */
static cfx_status wrap_places(cfx_call *call, cfx_tensor **places, int64_t n)
{
    const cfx_tensor *t = *places;
    cfx_tensor *copy;
    cfx_status st = cfx_tensor_meta(&copy, call->ctx, CFX_I64, t->rank,
                                    t->shape, NULL, call->err);
    if (!st)
        st = cfx_tensor_alloc(copy, call->err);
    if (!st)
        st = cfx_tensor_copy(copy, t, call->err);
    if (st) {
        cfx_tensor_unref(copy);
        return st;
    }
    int64_t *place = copy->data;
    int64_t count = n ? cfx_tensor_numel(copy) : 0;
    for (int64_t i = 0; i < count && !cfx_context_stops_at(call->ctx, i); i++)
        place[i] = (place[i] % n + n) % n;
    cfx_tensor_unref(*places);
    *places = copy;
    return CFX_OK;
}

static cfx_status take_along_run(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    const cfx_tensor *index = cfx_call_tensor(call, INDICES);
    cfx_dim xs[CFX_MAX_RANK], is[CFX_MAX_RANK];
    cfx_tensor *from = NULL, *places = NULL;
    bool whole = !cfx_call_has(call, DIM);
    int axis = whole ? 0 : axis_at(call, DIM, x->rank);
    cfx_status st = whole ? CFX_OK : along_shapes(call, axis, xs, is);
    if (!st)
        st = whole ? flat_view(call, x, &from) : expand_to(call, x, xs, &from);
    if (!st)
        st = whole ? flat_view(call, index, &places)
                   : expand_to(call, index, is, &places);
    if (!st && !whole)
        st = wrap_places(call, &places,
                         x->rank ? cfx_tensor_size(x, axis) : 1);
    if (!st)
        st = gather_along(call, from, axis, places);
    cfx_tensor_unref(places);
    cfx_tensor_unref(from);
    return st;
}

const cfx_op cfx_op__take_along_dim = {
    .schema =
        "take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor",
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc = "Elements along an axis, or of all, at the places of an index.",
    .flags = CFX_OP_COMPLEX,
    .infer = take_along_infer,
    .cost = take_cost,
    .run = take_along_run,
};

/* ---- take ---- */

static cfx_status take_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    const cfx_tensor *index = cfx_call_tensor(call, INDEX);
    if (index->dtype != CFX_I64)
        return cfx_call_fail(call, CFX_EDTYPE,
                             "Expected a long tensor for index, but got %s",
                             cfx_dtypes[index->dtype].name);
    if (cfx_infer_is_empty(x) && !cfx_infer_is_empty(index))
        return cfx_call_fail(call, CFX_EINVAL,
                             "tried to take from an empty tensor");
    return cfx_call_out(call, (cfx_dtype)x->dtype, index->rank, index->shape);
}

/* The index of a tensor that is seen as one axis; negative ones count from its
 * end. */
static cfx_status take_run(cfx_call *call)
{
    const cfx_tensor *y = call->out[0];
    const cfx_tensor *index = cfx_call_tensor(call, INDEX);
    cfx_tensor *x = cfx_loop_contiguous(call, cfx_call_tensor(call, SELF));
    cfx_indexing ix = {.rank = y->rank, .value = y->data, .count = 1};
    int64_t bad = 0;
    cfx_status st = CFX_OK;
    if (!x)
        return CFX_ENOMEM;
    cfx_loop_shape(ix.shape, y);
    cfx_loop_strides(ix.value_stride, y);
    ix.base = x->data;
    ix.index[0].data = index->data;
    ix.index[0].type = (cfx_dtype)index->dtype;
    cfx_loop_strides(ix.index[0].stride, index);
    ix.index[0].base_stride = 1;
    ix.index[0].n = cfx_tensor_numel(x);
    if (!cfx_index_get(call->ctx, (size_t)bytes_of(y), &ix, &bad))
        st = cfx_call_fail(
            call, CFX_EINVAL,
            "out of range: tried to access index %lld on a tensor of %lld elements.",
            (long long)bad, (long long)ix.index[0].n);
    cfx_tensor_unref(x);
    return st;
}

const cfx_op cfx_op__take = {
    .schema = "take(Tensor self, Tensor index) -> Tensor",
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc = "Elements at the places of an index, counted over all axes.",
    .flags = CFX_OP_COMPLEX,
    .infer = take_infer,
    .cost = take_cost,
    .run = take_run,
};

/* ---- one_hot ---- */

/* The least number of classes that an index needs, 0 if it is bad. */
static cfx_status count_classes(cfx_call *call, const cfx_tensor *index,
                                int64_t *out)
{
    cfx_tensor *x = cfx_loop_contiguous(call, index);
    cfx_status st = CFX_OK;
    int64_t most = -1;
    if (!x)
        return CFX_ENOMEM;
    for (int64_t i = 0, n = cfx_tensor_numel(x);
         !st && i < n && !cfx_context_stops_at(call->ctx, i); i++) {
        int64_t v = ((const int64_t *)x->data)[i];
        if (v < 0)
            st = cfx_call_fail(call, CFX_EINVAL,
                               "Class values must be non-negative.");
        most = v > most ? v : most;
    }
    *out = most + 1;
    cfx_tensor_unref(x);
    return st;
}

static cfx_status one_hot_out(cfx_call *call, cfx_dim classes)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_dim shape[CFX_MAX_RANK];
    if (x->rank == CFX_MAX_RANK)
        return cfx_call_fail(call, CFX_ESHAPE, "rank %d is more than %d",
                             x->rank + 1, CFX_MAX_RANK);
    for (int i = 0; i < x->rank; i++)
        shape[i] = x->shape[i];
    shape[x->rank] = classes;
    return cfx_call_out(call, CFX_I64, x->rank + 1, shape);
}

static cfx_status one_hot_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    int64_t given = cfx_call_int(call, NUM_CLASSES), least = 0;
    cfx_dim classes = cfx_dim_int(given);
    cfx_status st = CFX_OK;
    if (x->dtype != CFX_I64)
        return cfx_call_fail(
            call, CFX_EDTYPE,
            "one_hot is only applicable to index tensor of type LongTensor.");
    if (cfx_infer_is_empty(x) && given <= 0)
        return cfx_call_fail(
            call, CFX_EINVAL,
            "Can not infer total number of classes from empty tensor.");
    if (given < -1 || given == 0)
        return cfx_call_fail(call, CFX_EINVAL,
                             "num_classes should be positive");
    if (given < 0 && (call->meta || !x->data)) {
        st = cfx_infer_unknown_extent(call, &classes);
    } else if (given < 0) {
        st = count_classes(call, x, &least);
        classes = cfx_dim_int(least);
    }
    return st ? st : one_hot_out(call, classes);
}

static cfx_status one_hot_run(cfx_call *call)
{
    const cfx_tensor *y = call->out[0];
    cfx_tensor *x = cfx_loop_contiguous(call, cfx_call_tensor(call, SELF));
    int64_t bad = 0;
    cfx_status st = CFX_OK;
    if (!x)
        return CFX_ENOMEM;
    if (!cfx_kernel_one_hot(call->ctx, y->data, CFX_I64, x->data,
                            cfx_tensor_numel(x),
                            cfx_tensor_size(y, y->rank - 1), &bad))
        st = cfx_call_fail(
            call, CFX_EINVAL,
            bad < 0 ? "Class values must be non-negative."
                    : "Class values must be smaller than num_classes.");
    cfx_tensor_unref(x);
    return st;
}

const cfx_op cfx_op__one_hot = {
    .schema = "one_hot(Tensor self, int num_classes=-1) -> Tensor",
    .params = params,
    .aliases = "torch.nn.functional. aten.",
    .doc = "1 at the place of each number along a new last axis, else 0.",
    .infer = one_hot_infer,
    .run = one_hot_run,
};
