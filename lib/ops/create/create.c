/*
 * create -- tensors from nothing: zeros, full, eye, tensor, ...
 *
 * shape   the given extents, or those of another tensor.
 * cost    no arithmetic; writes the result.
 *
 * `empty` fills with zeros, so that runs can be repeated; `uninitialized` is for
 * results that all other calls of a graph write.
 */
#include "ops/create/create.h"

#include <string.h>

#include "op/op_cost.h"
#include "op/infer.h"
#include "op/list.h"
#include "op/loop.h"
#include "op/op_impl.h"
#include "ops/shape/view.h"

CFX_PARAMS(params, SELF, SIZE, STRIDE, PHYSICAL_LAYOUT, FILL_VALUE, N, M, S,
           DATA, DTYPE, LAYOUT, DEVICE, PIN_MEMORY, REQUIRES_GRAD,
           MEMORY_FORMAT);

/* ---- What all of them take ---- */

static bool has_tensor(const cfx_call *call)
{
    for (int k = 0; k < call->schema->nparams; k++)
        if (call->in[k].kind == CFX_TENSOR)
            return true;
    return false;
}

/* New tensors are on the CPU unless a device is given. */
static cfx_status take_device(cfx_call *call, int k)
{
    if (cfx_call__is_labelled(call) && !has_tensor(call))
        call->device = CFX_DEVICE_CPU;
    return cfx_call__take_device(call, k);
}

cfx_status cfx_create_check_layout(cfx_call *call, int k)
{
    cfx_value layout = cfx_call_value(call, k);
    if (layout.kind == CFX_LAYOUT && !strstr(layout.u.str->text, "strided"))
        return cfx_call_fail(call, CFX_EUNSUPPORTED,
                             "layout %s is not supported", layout.u.str->text);
    return CFX_OK;
}

cfx_status cfx_create_check(cfx_call *call, int k)
{
    cfx_status st = cfx_create_check_layout(call, k + 1);
    return st ? st : take_device(call, k + 2);
}

cfx_status cfx_create_size(cfx_call *call, int k, int *rank, cfx_dim *shape)
{
    *rank = cfx_call_len(call, k);
    if (*rank > CFX_MAX_RANK)
        return cfx_call_fail(call, CFX_ESHAPE, "rank %d is more than %d",
                             *rank, CFX_MAX_RANK);
    for (int i = 0; i < *rank; i++) {
        char s[64];
        shape[i] = cfx_call_dim(call, k, i);
        if (cfx_dim_le(call->env, cfx_dim_int(0), shape[i]))
            continue;
        if (cfx_dim_is_bad(shape[i]))
            return cfx_call_fail(
                call, CFX_EINVAL,
                "extent %d of the size is not an int of 62 bits", i);
        cfx_dim_format(shape[i], s, sizeof(s));
        return cfx_call_fail(
            call, CFX_EINVAL,
            "Trying to create tensor with negative dimension %s", s);
    }
    return CFX_OK;
}

static cfx_status out_sized(cfx_call *call, cfx_dtype dtype,
                            cfx_memory_format format)
{
    cfx_dim shape[CFX_MAX_RANK];
    int rank;
    cfx_status st = cfx_create_size(call, SIZE, &rank, shape);
    if (st)
        return st;
    return cfx_view_out_in_format(call, dtype, format, rank, shape);
}

cfx_status cfx_create_like(cfx_call *call, cfx_dtype dtype, int k)
{
    return cfx_view_out_like(
        call, dtype, cfx_view_format_arg(call, k, CFX_PRESERVE_FORMAT));
}

static cfx_status constant_run(cfx_call *call)
{
    return cfx_loop_fill(call, cfx_int(call->op->code));
}

/* ---- By extents ---- */

static cfx_status sized_infer(cfx_call *call)
{
    cfx_status st = cfx_create_check(call, DTYPE);
    cfx_memory_format format = cfx_view_format_arg(call, MEMORY_FORMAT,
                                                   CFX_CONTIGUOUS_FORMAT);
    return st ? st
              : out_sized(call, cfx_call_dtype(call, DTYPE, CFX_F32), format);
}

#define SIZED(name, code_, more, overload, doc_)                              \
    const cfx_op cfx_op__##name = {                                           \
        .schema = #name "(SymInt[] size, *, " CFX_CREATE_OPTIONS more         \
                        ") -> Tensor",                                        \
        .params = params,                                                     \
        .aliases = "torch. " overload,                                        \
        .doc = doc_,                                                          \
        .code = code_,                                                        \
        .flags = CFX_OP_COMPLEX,                                              \
        .infer = sized_infer,                                                 \
        .cost = cfx_cost_created,                                             \
        .run = constant_run,                                                  \
    };

SIZED(zeros, 0, "", "aten.", "Zeros of the given extents.")
SIZED(ones, 1, "", "aten.", "Ones of the given extents.")
SIZED(empty, 0, ", MemoryFormat? memory_format=None", ".memory_format",
      "A new tensor of the given extents; zeros here.")

static void uninitialized_cost(const cfx_call *call, cfx_cost *cost)
{
    (void)call;
    cost->bytes_read = cost->bytes_written = cfx_dim_int(0);
}

static cfx_status uninitialized_run(cfx_call *call)
{
    (void)call;
    return CFX_OK;
}

const cfx_op cfx_op__uninitialized = {
    .schema =
        "uninitialized(SymInt[] size, *, ScalarType? dtype=None) -> Tensor",
    .params = params,
    .aliases =
        "torch.ops.cfx.uninitialized.default torch.ops.cfx.uninitialized",
    .doc =
        "A new tensor whose elements other calls write, each before it is read.",
    .flags = CFX_OP_COMPLEX | CFX_OP_UNWRITTEN,
    .infer = sized_infer,
    .cost = uninitialized_cost,
    .run = uninitialized_run,
};

static cfx_status full_infer(cfx_call *call)
{
    cfx_status st = cfx_create_check(call, DTYPE);
    cfx_value fill = cfx_call_value(call, FILL_VALUE);
    cfx_dtype dtype = cfx_call_dtype(call, DTYPE, cfx_value_dtype(fill));
    if (!st)
        st = cfx_list_check_number(call, cfx_call_value(call, FILL_VALUE),
                                   dtype);
    return st ? st : out_sized(call, dtype, CFX_CONTIGUOUS_FORMAT);
}

static cfx_status full_run(cfx_call *call)
{
    return cfx_loop_fill(call, cfx_call_value(call, FILL_VALUE));
}

const cfx_op cfx_op__full = {
    .schema = "full(SymInt[] size, Scalar fill_value, *, " CFX_CREATE_OPTIONS
              ") -> Tensor",
    .params = params,
    .aliases = "torch. aten.",
    .doc = "One number, with the given extents.",
    .flags = CFX_OP_COMPLEX,
    .infer = full_infer,
    .cost = cfx_cost_created,
    .run = full_run,
};

/* A result of the given extents and strides, of a type if no other is asked
 * for. */
static cfx_status out_strided(cfx_call *call, cfx_dtype own)
{
    cfx_dim shape[CFX_MAX_RANK], stride[CFX_MAX_RANK];
    int rank, n;
    cfx_status st = cfx_create_check(call, DTYPE);
    if (!st)
        st = cfx_create_size(call, SIZE, &rank, shape);
    if (!st)
        st = cfx_create_size(call, STRIDE, &n, stride);
    if (st)
        return st;
    if (n != rank)
        return cfx_call_fail(
            call, CFX_EINVAL,
            "dimensionality of sizes (%d) must match dimensionality of strides (%d)",
            rank, n);
    return cfx_call_out_strided(call, cfx_call_dtype(call, DTYPE, own), rank,
                                shape, stride);
}

static cfx_status strided_infer(cfx_call *call)
{
    return out_strided(call, CFX_F32);
}

static cfx_status new_strided_infer(cfx_call *call)
{
    return out_strided(call, (cfx_dtype)cfx_call_tensor(call, SELF)->dtype);
}

const cfx_op cfx_op__new_empty_strided = {
    .schema =
        "new_empty_strided(Tensor self, SymInt[] size, SymInt[] stride, *, " CFX_CREATE_OPTIONS
        ") -> Tensor",
    .params = params,
    .aliases = "Tensor. aten.",
    .doc =
        "A new tensor of the type of another and of the given strides; zeros here.",
    .flags = CFX_OP_COMPLEX,
    .infer = new_strided_infer,
    .cost = cfx_cost_created,
    .run = constant_run,
};

const cfx_op cfx_op__empty_strided = {
    .schema =
        "empty_strided(SymInt[] size, SymInt[] stride, *, " CFX_CREATE_OPTIONS
        ") -> Tensor",
    .params = params,
    .aliases = "torch. aten.",
    .doc = "A new tensor of the given extents and strides; zeros here.",
    .flags = CFX_OP_COMPLEX,
    .infer = strided_infer,
    .cost = cfx_cost_created,
    .run = constant_run,
};

static cfx_status permuted_infer(cfx_call *call)
{
    cfx_dim shape[CFX_MAX_RANK], stride[CFX_MAX_RANK];
    cfx_dim step = cfx_dim_int(1);
    int rank, axis;
    uint32_t seen = 0;
    cfx_status st = cfx_create_check(call, DTYPE);
    if (!st)
        st = cfx_create_size(call, SIZE, &rank, shape);
    if (!st && cfx_call_len(call, PHYSICAL_LAYOUT) != rank)
        st = cfx_call_fail(
            call, CFX_EINVAL,
            "Number of dimensions in size does not match the length of the physical_layout");
    for (int i = st ? -1 : rank - 1; i >= 0; i--) {
        int64_t given = cfx_call_item(call, PHYSICAL_LAYOUT, i).u.i;
        st = given < 0
                 ? cfx_call_fail(call, CFX_EINVAL,
                                 "physical_layout has the negative axis %lld",
                                 (long long)given)
                 : cfx_call_axis(call, given, rank, &axis);
        if (!st && seen >> axis & 1)
            st = cfx_call_fail(call, CFX_EINVAL, "Duplicate dim not allowed");
        if (st)
            return st;
        seen |= 1u << axis;
        stride[axis] = step;
        if (!cfx_dim_is(shape[axis], 0))
            step = cfx_dim_mul(call->env, step, shape[axis]);
    }
    return st ? st
              : cfx_call_out_strided(call,
                                     cfx_call_dtype(call, DTYPE, CFX_F32),
                                     rank, shape, stride);
}

const cfx_op cfx_op__empty_permuted = {
    .schema =
        "empty_permuted(SymInt[] size, int[] physical_layout, *, " CFX_CREATE_OPTIONS
        ") -> Tensor",
    .params = params,
    .aliases = "torch. aten.",
    .doc = "A new tensor with its axes in that order in memory; zeros here.",
    .flags = CFX_OP_COMPLEX,
    .infer = permuted_infer,
    .cost = cfx_cost_created,
    .run = constant_run,
};

/* ---- Like another tensor ---- */

static cfx_status like_infer(cfx_call *call)
{
    cfx_dtype own = (cfx_dtype)cfx_call_tensor(call, SELF)->dtype;
    cfx_status st = cfx_create_check(call, DTYPE);
    return st ? st
              : cfx_create_like(call, cfx_call_dtype(call, DTYPE, own),
                                MEMORY_FORMAT);
}

#define LIKE(name, code_, doc_)                                               \
    const cfx_op cfx_op__##name = {                                           \
        .schema = #name "(Tensor self, *, " CFX_CREATE_OPTIONS                \
                        ", MemoryFormat? "                                    \
                        "memory_format=None) -> Tensor",                      \
        .params = params,                                                     \
        .aliases = "torch. aten.",                                            \
        .doc = doc_,                                                          \
        .code = code_,                                                        \
        .flags = CFX_OP_COMPLEX,                                              \
        .infer = like_infer,                                                  \
        .cost = cfx_cost_created,                                             \
        .run = constant_run,                                                  \
    };

LIKE(zeros_like, 0, "Zeros with the extents of another tensor.")
LIKE(ones_like, 1, "Ones with the extents of another tensor.")
LIKE(empty_like, 0, "A new tensor with the extents of another; zeros here.")

/* The dtype of a copy of `self` that is filled with one number. */
static cfx_status fill_dtype(cfx_call *call, cfx_dtype *out)
{
    cfx_dtype own = (cfx_dtype)cfx_call_tensor(call, SELF)->dtype;
    cfx_status st = cfx_create_check(call, DTYPE);
    *out = cfx_call_dtype(call, DTYPE, own);
    return st ? st
              : cfx_list_check_number(call, cfx_call_value(call, FILL_VALUE),
                                      *out);
}

static cfx_status full_like_infer(cfx_call *call)
{
    cfx_dtype dtype;
    cfx_status st = fill_dtype(call, &dtype);
    return st ? st : cfx_create_like(call, dtype, MEMORY_FORMAT);
}

const cfx_op cfx_op__full_like = {
    .schema =
        "full_like(Tensor self, Scalar fill_value, *, " CFX_CREATE_OPTIONS
        ", MemoryFormat? memory_format=None) -> Tensor",
    .params = params,
    .aliases = "torch. aten.",
    .doc = "One number, with the extents of another tensor.",
    .flags = CFX_OP_COMPLEX,
    .infer = full_like_infer,
    .cost = cfx_cost_created,
    .run = full_run,
};

/* ---- new_zeros and its kin: the type of another tensor ---- */

static cfx_status new_infer(cfx_call *call)
{
    cfx_dtype own = (cfx_dtype)cfx_call_tensor(call, SELF)->dtype;
    cfx_status st = cfx_create_check(call, DTYPE);
    return st ? st
              : out_sized(call, cfx_call_dtype(call, DTYPE, own),
                          CFX_CONTIGUOUS_FORMAT);
}

#define NEW(name, code_, doc_)                                                \
    const cfx_op cfx_op__##name = {                                           \
        .schema = #name "(Tensor self, SymInt[] size, *, " CFX_CREATE_OPTIONS \
                        ") -> Tensor",                                        \
        .params = params,                                                     \
        .aliases = "Tensor. aten.",                                           \
        .doc = doc_,                                                          \
        .code = code_,                                                        \
        .flags = CFX_OP_COMPLEX | CFX_OP_SEES_BATCHES,                        \
        .infer = new_infer,                                                   \
        .cost = cfx_cost_created,                                             \
        .run = constant_run,                                                  \
    };

NEW(new_zeros, 0, "Zeros of the type of another tensor.")
NEW(new_ones, 1, "Ones of the type of another tensor.")
NEW(new_empty, 0, "A new tensor of the type of another; zeros here.")

static cfx_status new_full_infer(cfx_call *call)
{
    cfx_dtype dtype;
    cfx_status st = fill_dtype(call, &dtype);
    return st ? st : out_sized(call, dtype, CFX_CONTIGUOUS_FORMAT);
}

const cfx_op cfx_op__new_full = {
    .schema =
        "new_full(Tensor self, SymInt[] size, Scalar fill_value, *, " CFX_CREATE_OPTIONS
        ") -> Tensor",
    .params = params,
    .aliases = "Tensor. aten.",
    .doc = "One number of the type of another tensor.",
    .flags = CFX_OP_COMPLEX,
    .infer = new_full_infer,
    .cost = cfx_cost_created,
    .run = full_run,
};

/* ---- eye ---- */

static cfx_status eye_infer(cfx_call *call)
{
    int columns = cfx_call_place(call, M) >= 0 ? M : N;
    cfx_dim shape[2] = {cfx_value_dim(cfx_call_value(call, N)),
                        cfx_value_dim(cfx_call_value(call, columns))};
    cfx_status st = cfx_create_check(call, DTYPE);
    for (int i = 0; !st && i < 2; i++)
        if (!cfx_dim_le(call->env, cfx_dim_int(0), shape[i]))
            st = cfx_call_fail(call, CFX_EINVAL,
                               "extents must be greater or equal to 0");
    return st ? st
              : cfx_call_out(call, cfx_call_dtype(call, DTYPE, CFX_F32), 2,
                             shape);
}

static cfx_status eye_run(cfx_call *call)
{
    const cfx_tensor *y = call->out[0];
    cfx_view v;
    cfx_iter it;
    cfx_loop_fill(call, cfx_int(0));
    cfx_view_begin(&v, y);
    cfx_status st = cfx_view_diagonal(call, &v, cfx_dim_int(0), 0, 1);
    if (st)
        return st;
    int64_t n = cfx_dim_value(v.shape[0]), step = cfx_dim_value(v.stride[0]);
    cfx_iter_begin(&it, 1, &n);
    cfx_iter_out(&it, y->data, (cfx_dtype)y->dtype, &step);
    cfx_iter_integer(&it, 1);
    cfx_copy(call->ctx, &it);
    return CFX_OK;
}

static const cfx_op eye_m = {
    .schema = "eye.m(SymInt n, SymInt m, *, " CFX_CREATE_OPTIONS ") -> Tensor",
    .params = params,
    .aliases = "torch. aten.",
    .doc = "Ones on the diagonal of n rows and m columns, 0 elsewhere.",
    .code = 1,
    .flags = CFX_OP_COMPLEX,
    .infer = eye_infer,
    .run = eye_run,
};

const cfx_op cfx_op__eye = {
    .schema = "eye(SymInt n, *, " CFX_CREATE_OPTIONS ") -> Tensor",
    .params = params,
    .aliases = "torch. aten.",
    .doc = "Ones on the diagonal, 0 elsewhere.",
    .flags = CFX_OP_COMPLEX,
    .infer = eye_infer,
    .run = eye_run,
    .next = &eye_m,
};

/* ---- From numbers ---- */

static cfx_status scalar_infer(cfx_call *call)
{
    cfx_dtype dtype = cfx_call_dtype(call, DTYPE, CFX_F32);
    cfx_status st = cfx_create_check(call, DTYPE);
    if (!st)
        st = cfx_list_check_number(call, cfx_call_value(call, S), dtype);
    return st ? st : cfx_call_out(call, dtype, 0, NULL);
}

static cfx_status scalar_run(cfx_call *call)
{
    return cfx_loop_fill(call, cfx_call_value(call, S));
}

const cfx_op cfx_op__scalar_tensor = {
    .schema = "scalar_tensor(Scalar s, *, " CFX_CREATE_OPTIONS ") -> Tensor",
    .params = params,
    .aliases = "torch. aten.",
    .doc = "A tensor of one number, a float unless another type is given.",
    .flags = CFX_OP_COMPLEX,
    .infer = scalar_infer,
    .run = scalar_run,
};

/* A tensor, converted; or what a list or number makes. */
static cfx_status tensor_infer(cfx_call *call)
{
    cfx_value v = cfx_call_value(call, DATA);
    cfx_dtype dtype = cfx_call_dtype(call, DTYPE, CFX_F32);
    bool given = cfx_call_has(call, DTYPE), keep = call->op->code;
    cfx_tensor *t = cfx_call_tensor(call, DATA);
    cfx_status st = take_device(call, DEVICE);
    if (st)
        return st;
    if (t) {
        cfx_dtype own = (cfx_dtype)t->dtype;
        if (keep && (!given || own == dtype) && !cfx_call__moves(call, t))
            return cfx_call_out_same(call, DATA);
        return cfx_infer_like(call, t, given ? dtype : own);
    }
    st = cfx_list_tensor(call, &t, v, given ? &dtype : NULL);
    if (!st)
        t->device = call->device;
    return st ? st : cfx_call_return_take(call, cfx_value_of_tensor(t));
}

static cfx_status tensor_run(cfx_call *call)
{
    cfx_value v = cfx_call_value(call, DATA);
    return call->nout && !call->alias[0] ? cfx_loop_fill(call, v) : CFX_OK;
}

const cfx_op cfx_op__new_tensor = {
    .schema =
        "new_tensor(any data, *, ScalarType? dtype=None, Device? device=None, bool requires_grad=False, bool pin_memory=False) -> Tensor",
    .params = params,
    .aliases = "torch.tensor aten.tensor.default",
    .doc = "A tensor of numbers, or of lists of them.",
    .flags = CFX_OP_COMPLEX,
    .infer = tensor_infer,
    .run = tensor_run,
};

const cfx_op cfx_op__as_tensor = {
    .schema =
        "as_tensor(any(a) data, ScalarType? dtype=None, Device? device=None) -> Tensor(a)",
    .params = params,
    .aliases = "torch. torch.asarray torch.from_numpy",
    .doc = "A tensor of numbers, or a tensor itself.",
    .code = 1,
    .flags = CFX_OP_COMPLEX,
    .infer = tensor_infer,
    .run = tensor_run,
};

/* The result has the type of another tensor. */
static cfx_status tensor_of_infer(cfx_call *call)
{
    cfx_dtype own = (cfx_dtype)cfx_call_tensor(call, SELF)->dtype;
    cfx_dtype dtype = cfx_call_dtype(call, DTYPE, own);
    cfx_tensor *t;
    cfx_status st = take_device(call, DEVICE);
    if (!st)
        st = cfx_list_tensor(call, &t, cfx_call_value(call, DATA), &dtype);
    if (!st)
        t->device = call->device;
    return st ? st : cfx_call_return_take(call, cfx_value_of_tensor(t));
}

const cfx_op cfx_op__new_tensor_of = {
    .schema =
        "new_tensor_of(Tensor self, any data, *, ScalarType? dtype=None, Device? device=None, bool requires_grad=False) -> Tensor",
    .params = params,
    .aliases = "Tensor.new_tensor",
    .doc = "A tensor of numbers, of the type of another tensor.",
    .flags = CFX_OP_COMPLEX,
    .infer = tensor_of_infer,
};
