/*
 * axes -- axes of extent 1 put in and taken away, and parts of axes: squeeze,
 * unsqueeze, select, narrow, slice, diagonal, unfold, as_strided.
 *
 * shape   a view; see each.
 * cost    nothing.
 */
#include "op/infer.h"
#include "ops/index/indexing.h"
#include "ops/shape/view.h"

/* ---- squeeze and unsqueeze ---- */

/* A symbol is taken not to be 1. */
CFX_PARAMS(params, SELF, A, TENSORS, DIM, DIMENSION, INDEX, START, END, STEP,
           LENGTH, OFFSET, DIM1, DIM2, SIZE, STRIDE, STORAGE_OFFSET);

static bool is_one(const cfx_call *call, cfx_dim d)
{
    return !cfx_dim_ne(call->env, d, cfx_dim_int(1));
}

static cfx_status squeeze_axes(cfx_call *call, uint32_t mask)
{
    cfx_view v;
    cfx_view_begin(&v, cfx_call_tensor(call, SELF));
    for (int i = v.rank - 1; i >= 0; i--)
        if (mask >> i & 1 && is_one(call, v.shape[i]))
            cfx_view_remove(&v, i);
    return cfx_view_out(call, SELF, &v);
}

static cfx_status squeeze_infer(cfx_call *call)
{
    return squeeze_axes(call, UINT32_MAX);
}

static cfx_status squeeze_dim_infer(cfx_call *call)
{
    int axis;
    cfx_status st = cfx_call_axis(call, cfx_call_int(call, DIM),
                                  cfx_call_tensor(call, SELF)->rank, &axis);
    return st ? st : squeeze_axes(call, 1u << axis);
}

static cfx_status squeeze_dims_infer(cfx_call *call)
{
    uint32_t mask = 0;
    cfx_status st = CFX_OK;
    if (cfx_call_len(call, DIM))
        st = cfx_infer_axes(call, DIM, cfx_call_tensor(call, SELF)->rank,
                            &mask);
    return st ? st : squeeze_axes(call, mask);
}

static const cfx_op squeeze_dims = {
    .schema = "squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)",
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc = "Take away those axes that have extent 1.",
    .flags = CFX_OP_MOVES,
    .infer = squeeze_dims_infer,
};

static const cfx_op squeeze_dim = {
    .schema = "squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)",
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc = "Take an axis away if it has extent 1.",
    .flags = CFX_OP_MOVES,
    .infer = squeeze_dim_infer,
    .next = &squeeze_dims,
};

/* The views that change the shape of the tensor itself. */
#define OF_SELF(name, rest, overload, doc_, ...)                              \
    .schema = #name "_self" rest " -> Tensor(a)", .params = params,           \
    .aliases = "Tensor." #name "_ aten." #name "_." overload, .doc = doc_,    \
    .flags = CFX_OP_SHAPES_SELF, __VA_ARGS__

static const cfx_op squeeze_self_dims = {
    OF_SELF(squeeze, ".dims(Tensor(a) self, int[] dim)", "dims",
            "Take away those axes that have extent 1.",
            .infer = squeeze_dims_infer),
};

static const cfx_op squeeze_self_dim = {
    OF_SELF(squeeze, ".dim(Tensor(a) self, int dim)", "dim",
            "Take an axis away if it has extent 1.",
            .infer = squeeze_dim_infer, .next = &squeeze_self_dims),
};

const cfx_op cfx_op__squeeze_self = {
    OF_SELF(squeeze, "(Tensor(a) self)", "default",
            "Take all axes of extent 1 away.", .infer = squeeze_infer,
            .next = &squeeze_self_dim),
};

const cfx_op cfx_op__squeeze = {
    .schema = "squeeze(Tensor(a) self) -> Tensor(a)",
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc = "Take all axes of extent 1 away.",
    .flags = CFX_OP_MOVES,
    .infer = squeeze_infer,
    .next = &squeeze_dim,
};

static cfx_status unsqueeze_infer(cfx_call *call)
{
    int axis;
    cfx_view v;
    cfx_view_begin(&v, cfx_call_tensor(call, SELF));
    cfx_status st = cfx_call_axis(call, cfx_call_int(call, DIM), v.rank + 1,
                                  &axis);
    if (!st)
        st = cfx_view_unsqueeze(call, &v, axis);
    return st ? st : cfx_view_out(call, SELF, &v);
}

const cfx_op cfx_op__unsqueeze = {
    .schema = "unsqueeze(Tensor(a) self, int dim) -> Tensor(a)",
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc = "Put an axis of extent 1 in.",
    .flags = CFX_OP_MOVES,
    .infer = unsqueeze_infer,
};

const cfx_op cfx_op__unsqueeze_self = {
    OF_SELF(unsqueeze, "(Tensor(a) self, int dim)", "default",
            "Put an axis of extent 1 in.", .infer = unsqueeze_infer),
};

/* ---- atleast_nd ---- */

/* The axis is new: one that is at the end counts as 1 element. */
static cfx_status at_least(cfx_call *call, cfx_view *v, int rank)
{
    cfx_status st = CFX_OK;
    while (!st && v->rank < rank)
        st = cfx_view_unsqueeze(call, v, v->rank < 2 ? 0 : 2);
    return st;
}

static cfx_status atleast_infer(cfx_call *call)
{
    cfx_view v;
    cfx_view_begin(&v, cfx_call_tensor(call, SELF));
    if (v.rank >= call->op->code)
        return cfx_call_out_same(call, SELF);
    cfx_status st = at_least(call, &v, call->op->code);
    return st ? st : cfx_view_out(call, SELF, &v);
}

static cfx_status atleast_list_infer(cfx_call *call)
{
    int n = cfx_call_len(call, TENSORS), made = 0;
    cfx_value *item = cfx_alloc(call->ctx, (size_t)n * sizeof(*item));
    cfx_status st = CFX_OK;
    if (!item)
        return cfx_no_memory(call->err);
    for (; !st && made < n; made += !st) {
        cfx_tensor *t = cfx_call_item(call, TENSORS, made).u.tensor;
        cfx_view v;
        cfx_view_begin(&v, t);
        st = at_least(call, &v, call->op->code);
        if (!st)
            st = cfx_tensor_view(&t, t, v.rank, v.shape, v.stride, v.offset,
                                 call->err);
        item[made] = cfx_value_of_tensor(t);
    }
    if (!st)
        st = cfx_call_return_take(call,
                                  cfx_tuple_new(call->ctx, (size_t)n, item));
    while (made--)
        cfx_value_unref(item[made]);
    cfx_free(call->ctx, item, (size_t)n * sizeof(*item));
    return st;
}

#define ATLEAST(n)                                                            \
    static const cfx_op atleast_##n##d_list = {                               \
        .schema = "atleast_" #n "d.Sequence(Tensor(a)[*] tensors) "           \
                  "-> Tensor(a)[]",                                           \
        .params = params,                                                     \
        .aliases = "torch. aten.",                                            \
        .doc = "Give each tensor at least " #n " axes.",                      \
        .code = n,                                                            \
        .infer = atleast_list_infer,                                          \
    };                                                                        \
    const cfx_op cfx_op__atleast_##n##d = {                                   \
        .schema = "atleast_" #n "d(Tensor(a) self) -> Tensor(a)",             \
        .params = params,                                                     \
        .aliases = "torch. aten.",                                            \
        .doc = "Give a tensor at least " #n " axes.",                         \
        .code = n,                                                            \
        .infer = atleast_infer,                                               \
        .next = &atleast_##n##d_list,                                         \
    };

ATLEAST(1)
ATLEAST(2)
ATLEAST(3)

/* ---- select, narrow, slice ---- */

static cfx_status axis_of(cfx_call *call, int *axis)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    if (!x->rank)
        return cfx_call_fail(call, CFX_EINVAL,
                             "cannot be applied to a 0-dim tensor.");
    return cfx_call_axis(call, cfx_call_int(call, DIM), x->rank, axis);
}

static cfx_status select_infer(cfx_call *call)
{
    int axis;
    cfx_view v;
    cfx_view_begin(&v, cfx_call_tensor(call, SELF));
    cfx_status st = axis_of(call, &axis);
    if (!st)
        st = cfx_view_select(call, &v, axis,
                             cfx_value_dim(cfx_call_value(call, INDEX)));
    return st ? st : cfx_view_out(call, SELF, &v);
}

const cfx_op cfx_op__select = {
    .schema = "select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)",
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc = "One element of an axis, which goes.",
    .flags = CFX_OP_MOVES,
    .infer = select_infer,
};

static cfx_status out_of_range(cfx_call *call, cfx_dim start, cfx_dim length,
                               cfx_dim n)
{
    char a[64], b[64], c[64];
    cfx_dim_format(start, a, sizeof(a));
    cfx_dim_format(length, b, sizeof(b));
    cfx_dim_format(n, c, sizeof(c));
    return cfx_call_fail(
        call, CFX_EINVAL,
        "start (%s) + length (%s) exceeds dimension size (%s).", a, b, c);
}

/* `unknown` is where it begins besides, of which nothing is asked. */
static cfx_status narrow_to(cfx_call *call, cfx_dim start, cfx_dim unknown)
{
    cfx_shape_env *env = call->env;
    cfx_dim zero = cfx_dim_int(0);
    cfx_dim length = cfx_value_dim(cfx_call_value(call, LENGTH));
    int axis;
    cfx_view v;
    cfx_view_begin(&v, cfx_call_tensor(call, SELF));
    cfx_status st = axis_of(call, &axis);
    if (st)
        return st;
    cfx_dim n = v.shape[axis];
    if (!cfx_dim_le(env, zero, length))
        return cfx_call_fail(call, CFX_EINVAL, "length must be non-negative.");
    if (!cfx_dim_le(env, zero, start))
        start = cfx_dim_add(env, start, n);
    if (!cfx_dim_le(env, zero, start) ||
        !cfx_dim_le(env, cfx_dim_add(env, start, length), n))
        return out_of_range(call, start, length, n);
    start = cfx_dim_add(env, start, unknown);
    v.offset = cfx_dim_add(env, v.offset,
                           cfx_dim_mul(env, start, v.stride[axis]));
    v.shape[axis] = length;
    return cfx_view_out(call, SELF, &v);
}

static cfx_status narrow_infer(cfx_call *call)
{
    return narrow_to(call, cfx_value_dim(cfx_call_value(call, START)),
                     cfx_dim_int(0));
}

/* The start does not matter for metas. */
static cfx_status narrow_tensor_infer(cfx_call *call)
{
    const cfx_tensor *t = cfx_call_tensor(call, START);
    cfx_dtype type = (cfx_dtype)t->dtype;
    cfx_dim zero = cfx_dim_int(0);
    if (t->rank || cfx_dtype_is_float(type) || type == CFX_BOOL)
        return cfx_call_fail(call, CFX_EINVAL,
                             "start must be an 0-dim integral Tensor.");
    if (t->data && !call->meta)
        return narrow_to(call, cfx_dim_int(cfx_element_int(type, t->data)),
                         zero);
    /* An unknown start is somewhere on the axis. */
    cfx_dim at = zero;
    cfx_status st = call->env ? cfx_infer_unknown_extent(call, &at) : CFX_OK;
    return st ? st : narrow_to(call, zero, at);
}

static const cfx_op narrow_tensor = {
    .schema =
        "narrow.Tensor(Tensor(a) self, int dim, Tensor start, SymInt length) -> Tensor(a)",
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc = "Part of an axis, from a place that a tensor tells.",
    .infer = narrow_tensor_infer,
};

const cfx_op cfx_op__narrow = {
    .schema =
        "narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)",
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc = "Part of an axis.",
    .flags = CFX_OP_MOVES,
    .infer = narrow_infer,
    .next = &narrow_tensor,
};

static cfx_status slice_infer(cfx_call *call)
{
    int axis;
    cfx_view v;
    cfx_view_begin(&v, cfx_call_tensor(call, SELF));
    cfx_status st = axis_of(call, &axis);
    if (!st)
        st = cfx_view_slice(call, &v, axis, cfx_call_value(call, START),
                            cfx_call_value(call, END),
                            cfx_call_value(call, STEP));
    return st ? st : cfx_view_out(call, SELF, &v);
}

const cfx_op cfx_op__slice = {
    .schema =
        "slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor(a)",
    .params = params,
    .aliases = "aten.",
    .doc = "Part of an axis, as Python cuts it.",
    .flags = CFX_OP_MOVES,
    .infer = slice_infer,
};

/* ---- diagonal ---- */

static cfx_status diagonal_infer(cfx_call *call)
{
    cfx_view v;
    int k = cfx_call_place(call, SELF) < 0 ? A : SELF;
    cfx_view_begin(&v, cfx_call_tensor(call, k));
    cfx_status st = cfx_view_diagonal(
        call, &v, cfx_value_dim(cfx_call_value(call, OFFSET)),
        cfx_call_int(call, DIM1), cfx_call_int(call, DIM2));
    return st ? st : cfx_view_out(call, k, &v);
}

const cfx_op cfx_op__diagonal = {
    .schema =
        "diagonal(Tensor(a) self, SymInt offset=0, int dim1=0, int dim2=1) -> Tensor(a)",
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc = "Diagonals of the matrices that two axes span, as the last axis.",
    .infer = diagonal_infer,
};

const cfx_op cfx_op__linalg_diagonal = {
    .schema =
        "linalg_diagonal(Tensor(a) A, *, SymInt offset=0, int dim1=-2, int dim2=-1) -> Tensor(a)",
    .params = params,
    .aliases = "torch.linalg. aten.",
    .doc = "Diagonals of the matrices that two axes span, as the last axis.",
    .infer = diagonal_infer,
};

/* ---- unfold: windows of an axis ---- */

static cfx_status unfold_infer(cfx_call *call)
{
    cfx_shape_env *env = call->env;
    cfx_dim one = cfx_dim_int(1), zero = cfx_dim_int(0);
    cfx_dim size = cfx_value_dim(cfx_call_value(call, SIZE));
    cfx_dim step = cfx_value_dim(cfx_call_value(call, STEP));
    int axis;
    cfx_view v;
    cfx_view_begin(&v, cfx_call_tensor(call, SELF));
    cfx_status st = cfx_call_axis(call, cfx_call_int(call, DIMENSION), v.rank,
                                  &axis);
    if (st)
        return st;
    if (!cfx_dim_le(env, zero, size))
        return cfx_call_fail(call, CFX_EINVAL, "size is less than 0");
    if (!cfx_dim_lt(env, zero, step))
        return cfx_call_fail(call, CFX_EINVAL, "step must be > 0");
    cfx_dim n = v.rank ? v.shape[axis] : one;
    if (!cfx_dim_le(env, size, n)) {
        char a[64], b[64];
        cfx_dim_format(n, a, sizeof(a));
        cfx_dim_format(size, b, sizeof(b));
        return cfx_call_fail(
            call, CFX_EINVAL,
            "maximum size for tensor at dimension %d is %s but size is %s",
            axis, a, b);
    }
    cfx_dim stride = v.rank ? v.stride[axis] : one;
    if (v.rank) {
        cfx_dim rest = cfx_dim_sub(env, n, size);
        v.shape[axis] = cfx_dim_add(env, cfx_dim_floordiv(env, rest, step),
                                    one);
        v.stride[axis] = cfx_dim_mul(env, stride, step);
    }
    st = cfx_view_insert(call, &v, v.rank, size, stride);
    return st ? st : cfx_view_out(call, SELF, &v);
}

/* The name is that of the method; torch.nn.functional.unfold is another. */
const cfx_op cfx_op__unfold_dim = {
    .schema =
        "unfold_dim(Tensor(a) self, int dimension, SymInt size, SymInt step) -> Tensor(a)",
    .params = params,
    .aliases = "Tensor.unfold aten.unfold.default",
    .doc = "Windows of an axis, as the last axis.",
    .infer = unfold_infer,
};

/* ---- as_strided ---- */

static cfx_status as_strided_infer(cfx_call *call)
{
    cfx_view v;
    cfx_view_begin(&v, cfx_call_tensor(call, SELF));
    int n = cfx_call_len(call, SIZE);
    if (n != cfx_call_len(call, STRIDE))
        return cfx_call_fail(call, CFX_EINVAL,
                             "mismatch in length of strides and shape");
    if (n > CFX_MAX_RANK)
        return cfx_call_fail(call, CFX_ESHAPE, "rank %d is more than %d", n,
                             CFX_MAX_RANK);
    v.rank = n;
    for (int i = 0; i < n; i++) {
        v.shape[i] = cfx_call_dim(call, SIZE, i);
        v.stride[i] = cfx_call_dim(call, STRIDE, i);
    }
    if (cfx_call_has(call, STORAGE_OFFSET))
        v.offset = cfx_value_dim(cfx_call_value(call, STORAGE_OFFSET));
    return cfx_view_out(call, SELF, &v);
}

const cfx_op cfx_op__as_strided = {
    .schema =
        "as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor(a)",
    .params = params,
    .aliases = "torch. Tensor. aten. aten._reshape_alias.default",
    .doc = "The memory of a tensor with the given extents and strides.",
    .flags = CFX_OP_READS_STRIDES,
    .infer = as_strided_infer,
};

const cfx_op cfx_op__as_strided_self = {
    OF_SELF(
        as_strided,
        "(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None)",
        "default", "Give a tensor other extents and strides.",
        .infer = as_strided_infer),
};
