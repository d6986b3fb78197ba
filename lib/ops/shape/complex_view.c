/*
 * complex_view -- complex numbers as pairs of real ones, and their parts.
 *
 * shape   view_as_real adds a last axis of extent 2, view_as_complex takes it
 *         away; a part has the argument's.
 * cost    nothing: the results are views.
 */
#include "op/infer.h"
#include "op/op_impl.h"
#include "ops/shape/view.h"
#include "tensor/storage.h"

CFX_PARAMS(params, SELF);

/* The result is the view `v` in another type. */
static cfx_status retyped(cfx_call *call, const cfx_view *v, cfx_dtype dtype)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    bool meta = call->meta;
    call->meta = true; /* a view gets no memory */
    cfx_status st = cfx_call_out_strided(call, dtype, v->rank, v->shape,
                                         v->stride);
    call->meta = meta;
    if (st)
        return st;
    call->alias[0] = SELF + 1;
    call->out[0]->offset = v->offset;
    if (cfx_tensor_is_meta(x))
        return CFX_OK;
    return cfx_tensor__place(
        call->out[0], x,
        (size_t)cfx_dim_value(v->offset) * cfx_dtype_size(dtype), call->err);
}

/* The view of a complex tensor whose elements are reals. */
static void begin_reals(const cfx_call *call, cfx_view *v)
{
    cfx_dim two = cfx_dim_int(2);
    cfx_view_begin(v, cfx_call_tensor(call, SELF));
    for (int i = 0; i < v->rank; i++)
        v->stride[i] = cfx_dim_mul(call->env, v->stride[i], two);
    v->offset = cfx_dim_mul(call->env, v->offset, two);
}

cfx_status cfx_view_part(cfx_call *call, int part)
{
    cfx_dtype type = (cfx_dtype)cfx_call_tensor(call, SELF)->dtype;
    cfx_view v;
    if (!cfx_dtype_is_complex(type) && part)
        return cfx_call_fail(
            call, CFX_EDTYPE,
            "imag is not implemented for tensors with non-complex dtypes.");
    if (!cfx_dtype_is_complex(type))
        return cfx_call_out_same(call, SELF);
    begin_reals(call, &v);
    v.offset = cfx_dim_add(call->env, v.offset, cfx_dim_int(part));
    return retyped(call, &v, cfx_dtype_real(type));
}

static cfx_status part_infer(cfx_call *call)
{
    return cfx_view_part(call, call->op->code);
}

#define PART(name, code_, doc_)                                               \
    const cfx_op cfx_op__##name = {                                           \
        .schema = #name "(Tensor(a) self) -> Tensor(a)",                      \
        .params = params,                                                     \
        .aliases = "torch. aten.",                                            \
        .doc = doc_,                                                          \
        .code = code_,                                                        \
        .infer = part_infer,                                                  \
    };

PART(real, 0, "The real parts; a real tensor itself.")
PART(imag, 1, "The imaginary parts.")

static cfx_status as_real_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_view v;
    if (!cfx_dtype_is_complex((cfx_dtype)x->dtype))
        return cfx_call_fail(
            call, CFX_EDTYPE,
            "view_as_real is only supported for complex tensors");
    begin_reals(call, &v);
    cfx_status st = cfx_view_insert(call, &v, v.rank, cfx_dim_int(2),
                                    cfx_dim_int(1));
    return st ? st : retyped(call, &v, cfx_dtype_real((cfx_dtype)x->dtype));
}

const cfx_op cfx_op__view_as_real = {
    .schema = "view_as_real(Tensor(a) self) -> Tensor(a)",
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc = "Complex numbers as pairs of real ones.",
    .infer = as_real_infer,
};

/* Pairs must lie as complex numbers do in memory. */
static cfx_status check_pairs(cfx_call *call, const cfx_tensor *x)
{
    cfx_shape_env *env = call->env;
    cfx_dim two = cfx_dim_int(2), zero = cfx_dim_int(0);
    int last = x->rank - 1;
    bool whole = true;
    if (x->dtype != CFX_F32 && x->dtype != CFX_F64)
        return cfx_call_fail(
            call, CFX_EDTYPE,
            "view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: %s",
            cfx_dtypes[x->dtype].name);
    if (!x->rank)
        return cfx_call_fail(call, CFX_ESHAPE,
                             "Input tensor must have one or more dimensions");
    if (!cfx_dim_eq(env, x->shape[last], cfx_dim_int(2)))
        return cfx_call_fail(call, CFX_ESHAPE,
                             "Tensor must have a last dimension of size 2");
    if (!cfx_dim_is(x->stride[last], 1))
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "Tensor must have a last dimension with stride 1");
    if (!cfx_dim_eq(env, cfx_dim_mod(env, x->offset, two), zero))
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "Tensor must have a storage_offset divisible by 2");
    for (int i = 0; i < last && whole; i++)
        whole = cfx_dim_eq(env, cfx_dim_mod(env, x->stride[i], two), zero);
    if (!whole)
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "Tensor must have a stride divisible by 2 for all but last dimension");
    return CFX_OK;
}

static cfx_status as_complex_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_status st = check_pairs(call, x);
    cfx_view v;
    if (st)
        return st;
    cfx_view_begin(&v, x);
    cfx_view_remove(&v, x->rank - 1);
    for (int i = 0; i < v.rank; i++)
        v.stride[i] = cfx_dim_floordiv(call->env, v.stride[i], cfx_dim_int(2));
    v.offset = cfx_dim_floordiv(call->env, v.offset, cfx_dim_int(2));
    return retyped(call, &v, x->dtype == CFX_F64 ? CFX_C128 : CFX_C64);
}

const cfx_op cfx_op__view_as_complex = {
    .schema = "view_as_complex(Tensor(a) self) -> Tensor(a)",
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc = "Pairs of real numbers as complex ones.",
    .infer = as_complex_infer,
};
