/*
 * shape -- the same elements in another shape: view, reshape, flatten, and
 * their kin.
 *
 * A result shares memory where its strides can say so; else reshape and flatten
 * copy, and view refuses.
 */
#include "kernel/pointwise/pointwise_kernel.h"
#include "op/op_cost.h"
#include "op/infer.h"
#include "op/loop.h"

CFX_PARAMS(params, SELF, SIZE, SHAPE, START_DIM, END_DIM, OTHER, DIM, SIZES);

/* ---- Which strides a view would have ---- */

/* Strides of new axes are found from the last one on; `at` is the next. Where
 * nothing but a view will do, guards may say so. */
struct filling {
    cfx_shape_env *env;
    bool guards;
    const cfx_dim *shape;
    cfx_dim *stride;
    int at;
};

/* Axis `at` is one of a chunk that lies `base` apart, outside of `filled`. */
static cfx_dim place_axis(struct filling *f, cfx_dim filled, cfx_dim base)
{
    f->stride[f->at] = cfx_dim_mul(f->env, filled, base);
    return cfx_dim_mul(f->env, filled, f->shape[f->at--]);
}

static int axes_left(const struct filling *f)
{
    int n = 0;
    for (int i = 0; i <= f->at; i++)
        n += !cfx_dim_is(f->shape[i], 1);
    return n;
}

/*
 * Assign new axes to a chunk of this many elements; `chunks` remain, including
 * this one. The last chunk takes all remaining axes. If symbols leave the end
 * of a chunk unknown, and as many axes as chunks remain, each chunk is one
 * axis.
 */
static cfx_viewable fill_chunk(struct filling *f, cfx_dim chunk, cfx_dim base,
                               int chunks)
{
    cfx_dim filled = cfx_dim_int(1);
    bool one_each = axes_left(f) == chunks, placed = false;
    while (f->at >= 0 && (chunks == 1 || cfx_dim_is(f->shape[f->at], 1) ||
                          (!cfx_dim_known_eq(f->env, filled, chunk) &&
                           !cfx_dim_known_le(f->env, chunk, filled)))) {
        bool is_one = cfx_dim_is(f->shape[f->at], 1);
        if (placed && one_each && !is_one && chunks > 1)
            break;
        placed |= !is_one;
        filled = place_axis(f, filled, base);
    }
    if (chunks == 1 || cfx_dim_known_eq(f->env, filled, chunk))
        return CFX_A_VIEW;
    if (cfx_dim_is_int(filled) && cfx_dim_is_int(chunk))
        return CFX_NO_VIEW;
    if (!one_each || !f->guards)
        return CFX_VIEW_UNKNOWN;
    return cfx_dim_eq(f->env, filled, chunk) ? CFX_A_VIEW : CFX_NO_VIEW;
}

/* Do axes i - 1 and i of x lie without a gap, `size` elements of i and what is
 * within it being `base` apart? An axis of extent 1 may lie anywhere. */
static bool joins(cfx_shape_env *env, const cfx_tensor *x, int i, cfx_dim size,
                  cfx_dim base)
{
    return cfx_dim_is(x->shape[i - 1], 1) ||
           cfx_dim_known_eq(env, x->stride[i - 1],
                            cfx_dim_mul(env, size, base));
}

/* Cut x into chunks, from the last one on: how many elements each has, and how
 * far they lie apart. */
static int chunks_of(cfx_shape_env *env, const cfx_tensor *x, cfx_dim *size,
                     cfx_dim *base)
{
    int n = 0;
    size[0] = cfx_dim_int(1);
    base[0] = x->rank ? x->stride[x->rank - 1] : size[0];
    for (int i = x->rank - 1; i >= 0; i--) {
        size[n] = cfx_dim_mul(env, size[n], x->shape[i]);
        if (i == 0 || joins(env, x, i, size[n], base[n]))
            continue;
        base[++n] = x->stride[i - 1];
        size[n] = cfx_dim_int(1);
    }
    return n + 1;
}

/* Row-major strides view what is row-major, but where an axis of extent 1
 * hands on another stride. */
static bool is_plain(const cfx_tensor *x)
{
    bool plain = !x->rank || cfx_dim_is(x->stride[x->rank - 1], 1) ||
                 !cfx_dim_is(x->shape[x->rank - 1], 1);
    for (int i = 0; i < x->rank; i++)
        plain = plain || cfx_dim_is(x->shape[i], 0);
    return plain && cfx_tensor_is_contiguous(x);
}

/*
 * Strides as at::detail::computeStride finds them: axes of x that lie without
 * gaps one after the other form a chunk, and the new axes must fill chunk by
 * chunk.
 */
cfx_viewable cfx_infer_view(cfx_shape_env *env, const cfx_tensor *x, int rank,
                            const cfx_dim *shape, cfx_dim *stride, bool guards)
{
    cfx_dim size[CFX_MAX_RANK + 1], base[CFX_MAX_RANK + 1];
    struct filling f = {env, guards, shape, stride, rank - 1};
    if (is_plain(x)) {
        cfx_strides_of(env, CFX_CONTIGUOUS_FORMAT, rank, shape, stride);
        return CFX_A_VIEW;
    }
    int n = chunks_of(env, x, size, base);
    for (int i = 0; i < n; i++) {
        cfx_viewable found = fill_chunk(&f, size[i], base[i], n - i);
        if (found != CFX_A_VIEW)
            return found;
    }
    return CFX_A_VIEW;
}

/* ---- Sizes with a -1 ---- */

static cfx_status invalid(cfx_call *call, cfx_dim numel)
{
    char s[64];
    cfx_dim_format(numel, s, sizeof(s));
    return cfx_call_fail(call, CFX_ESHAPE,
                         "shape is invalid for input of size %s", s);
}

/* Read the list of parameter k; one -1 stands for what is left. */
cfx_status cfx_infer_size(cfx_call *call, int k, cfx_dim numel, int *rank,
                          cfx_dim *shape)
{
    cfx_dim known = cfx_dim_int(1);
    int open = -1;
    *rank = cfx_call_len(call, k);
    if (*rank > CFX_MAX_RANK)
        return cfx_call_fail(call, CFX_ESHAPE, "rank %d is more than %d",
                             *rank, CFX_MAX_RANK);
    for (int i = 0; i < *rank; i++) {
        shape[i] = cfx_call_dim(call, k, i);
        if (cfx_dim_is(shape[i], -1)) {
            if (open >= 0)
                return cfx_call_fail(call, CFX_EINVAL,
                                     "only one dimension can be inferred");
            open = i;
        } else if (!cfx_dim_le(call->env, cfx_dim_int(0), shape[i])) {
            char s[64];
            cfx_dim_format(shape[i], s, sizeof(s));
            return cfx_call_fail(call, CFX_ESHAPE,
                                 "invalid shape dimension %s", s);
        } else {
            known = cfx_dim_mul(call->env, known, shape[i]);
        }
    }
    if (open < 0)
        return cfx_dim_eq(call->env, known, numel) ? CFX_OK
                                                   : invalid(call, numel);
    if (cfx_dim_is(known, 0))
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "cannot reshape tensor of 0 elements because the unspecified dimension size -1 can be any value and is ambiguous");
    if (!cfx_dim_eq(call->env, cfx_dim_mod(call->env, numel, known),
                    cfx_dim_int(0)))
        return invalid(call, numel);
    shape[open] = cfx_dim_floordiv(call->env, numel, known);
    return CFX_OK;
}

/* A view if possible, else a new tensor to copy into; also if symbols leave it
 * unknown. */
static cfx_status view_or_copy(cfx_call *call, int rank, const cfx_dim *shape)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_dim stride[CFX_MAX_RANK];
    if (cfx_infer_view(call->env, x, rank, shape, stride, false) == CFX_A_VIEW)
        return cfx_call_out_view(call, SELF, rank, shape, stride, x->offset);
    return cfx_call_out(call, (cfx_dtype)x->dtype, rank, shape);
}

static cfx_status view_only(cfx_call *call, int rank, const cfx_dim *shape)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_dim stride[CFX_MAX_RANK];
    switch (cfx_infer_view(call->env, x, rank, shape, stride, true)) {
    case CFX_A_VIEW:
        return cfx_call_out_view(call, SELF, rank, shape, stride, x->offset);
    case CFX_VIEW_UNKNOWN:
        return cfx_call_fail(
            call, CFX_EUNSUPPORTED,
            "whether the size is compatible with the strides depends on symbols; reshape copies where it is not");
    case CFX_NO_VIEW: break;
    }
    return cfx_call_fail(
        call, CFX_EINVAL,
        "view size is not compatible with input tensor's size and stride (at least one dimension spans across two contiguous subspaces). Use .reshape(...) instead.");
}

/* Copy in the order of the elements, unless the result is a view. */
static cfx_status reshape_run(cfx_call *call)
{
    cfx_tensor *x = cfx_call_tensor(call, SELF), *y = call->out[0], *flat;
    cfx_dim stride[CFX_MAX_RANK];
    if (call->alias[0])
        return CFX_OK;
    cfx_strides_of(call->env, CFX_CONTIGUOUS_FORMAT, x->rank, x->shape,
                   stride);
    cfx_status st = cfx_tensor_view(&flat, y, x->rank, x->shape, stride,
                                    y->offset, call->err);
    if (st)
        return st;
    st = cfx_tensor_copy(flat, x, call->err);
    cfx_tensor_unref(flat);
    return st;
}

/* ---- view and reshape ---- */

static cfx_status reshape_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_dim shape[CFX_MAX_RANK];
    int rank;
    cfx_dim numel = cfx_infer_numel(call->env, x->rank, x->shape);
    cfx_status st = cfx_infer_size(call, SHAPE, numel, &rank, shape);
    return st ? st : view_or_copy(call, rank, shape);
}

static cfx_status view_infer(cfx_call *call)
{
    cfx_dim shape[CFX_MAX_RANK];
    int rank;
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_dim numel = cfx_infer_numel(call->env, x->rank, x->shape);
    cfx_status st = cfx_infer_size(call, SIZE, numel, &rank, shape);
    return st ? st : view_only(call, rank, shape);
}

const cfx_op cfx_op__view = {
    .schema = "view(Tensor(a) self, SymInt[] size) -> Tensor(a)",
    .params = params,
    .aliases = "Tensor. aten. aten._unsafe_view.default",
    .doc = "The same memory in another shape.",
    .flags = CFX_OP_MOVES,
    .infer = view_infer,
};

const cfx_op cfx_op__reshape = {
    .schema = "reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)",
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc = "The same elements in another shape: a view, or a copy.",
    .flags = CFX_OP_MOVES | CFX_OP_STORED_TYPES,
    .infer = reshape_infer,
    .run = reshape_run,
};

/* ---- flatten ---- */

static cfx_status flatten_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_dim shape[CFX_MAX_RANK], n = cfx_dim_int(1);
    int from, to, rank = 0;
    cfx_status st = cfx_call_axis(call, cfx_call_int(call, START_DIM), x->rank,
                                  &from);
    if (!st)
        st = cfx_call_axis(call, cfx_call_int(call, END_DIM), x->rank, &to);
    if (st)
        return st;
    if (from > to)
        return cfx_call_fail(
            call, CFX_EINVAL,
            "flatten() has invalid args: start_dim cannot come after end_dim");
    if (x->rank && from == to)
        return cfx_call_out_same(call, SELF);
    for (int i = 0; i < from; i++)
        shape[rank++] = x->shape[i];
    for (int i = from; i <= to && i < x->rank; i++)
        n = cfx_dim_mul(call->env, n, x->shape[i]);
    shape[rank++] = n;
    for (int i = to + 1; i < x->rank; i++)
        shape[rank++] = x->shape[i];
    return view_or_copy(call, rank, shape);
}

const cfx_op cfx_op__flatten = {
    .schema =
        "flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)",
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc = "Join axes start_dim to end_dim into one.",
    .flags = CFX_OP_MOVES | CFX_OP_STORED_TYPES,
    .infer = flatten_infer,
    .run = reshape_run,
};

/* ---- As another tensor ---- */

static cfx_status check_numel(cfx_call *call)
{
    cfx_shape_env *env = call->env;
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    const cfx_tensor *like = cfx_call_tensor(call, OTHER);
    cfx_dim numel = cfx_infer_numel(env, x->rank, x->shape);
    return cfx_dim_eq(env, numel,
                      cfx_infer_numel(env, like->rank, like->shape))
               ? CFX_OK
               : invalid(call, numel);
}

static cfx_status reshape_as_infer(cfx_call *call)
{
    const cfx_tensor *like = cfx_call_tensor(call, OTHER);
    cfx_status st = check_numel(call);
    return st ? st : view_or_copy(call, like->rank, like->shape);
}

static cfx_status view_as_infer(cfx_call *call)
{
    const cfx_tensor *like = cfx_call_tensor(call, OTHER);
    cfx_status st = check_numel(call);
    return st ? st : view_only(call, like->rank, like->shape);
}

const cfx_op cfx_op__reshape_as = {
    .schema = "reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)",
    .params = params,
    .aliases = "Tensor. aten.",
    .doc = "The same elements in the shape of another tensor.",
    .flags = CFX_OP_STORED_TYPES,
    .infer = reshape_as_infer,
    .cost = cfx_cost_first,
    .run = reshape_run,
};

const cfx_op cfx_op__view_as = {
    .schema = "view_as(Tensor(a) self, Tensor other) -> Tensor(a)",
    .params = params,
    .aliases = "Tensor. aten.",
    .doc = "The same memory in the shape of another tensor.",
    .flags = CFX_OP_MOVES,
    .infer = view_as_infer,
};

/* ---- ravel and unflatten ---- */

static cfx_status ravel_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_dim n = cfx_infer_numel(call->env, x->rank, x->shape);
    cfx_dim one = cfx_dim_int(1);
    if (cfx_tensor_is_contiguous(x))
        return cfx_call_out_view(call, SELF, 1, &n, &one, x->offset);
    return cfx_call_out(call, (cfx_dtype)x->dtype, 1, &n);
}

const cfx_op cfx_op__ravel = {
    .schema = "ravel(Tensor(a) self) -> Tensor(a)",
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc = "All elements as one axis, contiguous.",
    .flags = CFX_OP_STORED_TYPES,
    .infer = ravel_infer,
    .run = reshape_run,
};

/* The strides of x with an axis split, if symbols leave their order unknown:
 * first those of a view of equal shape. */
static void split_strides(cfx_call *call, int axis, int n, cfx_dim *stride,
                          const cfx_dim *shape)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_dim own[CFX_MAX_RANK], step = cfx_dim_int(1);
    if (cfx_infer_view(call->env, x, x->rank, x->shape, own, false) !=
        CFX_A_VIEW)
        for (int i = 0; i < x->rank; i++)
            own[i] = x->stride[i];
    for (int i = 0; i < axis; i++)
        stride[i] = own[i];
    if (x->rank)
        step = own[axis];
    for (int i = axis + n - 1; i >= axis; i--) {
        stride[i] = step;
        step = cfx_dim_mul(call->env, step, shape[i]);
    }
    for (int i = axis + 1; i < x->rank; i++)
        stride[i + n - 1] = own[i];
}

static cfx_status unflatten_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_dim part[CFX_MAX_RANK], shape[CFX_MAX_RANK], stride[CFX_MAX_RANK];
    int axis, n = 0, rank = 0;
    cfx_status st = cfx_call_axis(call, cfx_call_int(call, DIM), x->rank,
                                  &axis);
    if (!st && !cfx_call_len(call, SIZES))
        st = cfx_call_fail(call, CFX_EINVAL, "sizes must be non-empty");
    if (!st)
        st = cfx_infer_size(
            call, SIZES, x->rank ? x->shape[axis] : cfx_dim_int(1), &n, part);
    if (st)
        return st;
    if (x->rank + n - 1 > CFX_MAX_RANK)
        return cfx_call_fail(call, CFX_ESHAPE, "rank %d is more than %d",
                             x->rank + n - 1, CFX_MAX_RANK);
    for (int i = 0; i < axis; i++)
        shape[rank++] = x->shape[i];
    for (int i = 0; i < n; i++)
        shape[rank++] = part[i];
    for (int i = axis + 1; i < x->rank; i++)
        shape[rank++] = x->shape[i];
    if (cfx_infer_view(call->env, x, rank, shape, stride, false) != CFX_A_VIEW)
        split_strides(call, axis, n, stride, shape);
    return cfx_call_out_view(call, SELF, rank, shape, stride, x->offset);
}

const cfx_op cfx_op__unflatten = {
    .schema =
        "unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)",
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc = "One axis as several.",
    .flags = CFX_OP_MOVES,
    .infer = unflatten_infer,
};
