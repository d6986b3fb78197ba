/*
 * complex -- complex numbers made from parts, their angles and conjugates.
 *
 * shape   that of the argument, or of two, broadcast.
 * type    an angle is real; parts of float32 make complex64, of float64
 *         complex128.
 * cost    the steps of the formula for each element.
 */
#include "op/rules.h"

CFX_PARAMS(params, SELF, REAL, IMAG, ABS, ANGLE);

/* ---- One argument ---- */

static cfx_status angle_infer(cfx_call *call)
{
    cfx_dtype type = cfx_infer_float_type(call, 0, 1);
    return cfx_infer_pointwise(call, 0, 1, cfx_dtype_real(type));
}

static cfx_status conj_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    return cfx_dtype_is_complex((cfx_dtype)x->dtype)
               ? cfx_unary_same(call)
               : cfx_call_out_same(call, SELF);
}

/* Complex arguments are computed as such, whatever the result is. */
static bool own_loop(const cfx_call *call, cfx_loop *out)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_dtype type = (cfx_dtype)(cfx_dtype_is_complex((cfx_dtype)x->dtype)
                                     ? x->dtype
                                     : call->out[0]->dtype);
    cfx_loop_of(call, out, call->op->code, type, 1);
    return !call->alias[0];
}

static void conj_cost(const cfx_call *call, cfx_cost *cost)
{
    if (!call->alias[0])
        cfx_cost_pointwise(call, cost, 1, 0);
}

static cfx_status conj_run(cfx_call *call)
{
    return call->alias[0] ? CFX_OK : cfx_loop_call(call);
}

const cfx_op cfx_op__angle = {
    .schema = "angle(Tensor self) -> Tensor",
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc = "The angle to the positive real axis.",
    .flags = CFX_OP_POINTWISE | CFX_OP_COMPLEX,
    .code = CFX_PW_ANGLE,
    .infer = angle_infer,
    .cost = cfx_cost_1_1,
    .loop = own_loop,
    .run = cfx_loop_call,
};

const cfx_op cfx_op__conj = {
    .schema = "conj(Tensor(a) self) -> Tensor(a)",
    .params = params,
    .aliases =
        "torch. Tensor. aten. aten._conj.default torch.conj_physical Tensor.conj_physical aten._conj_physical.default",
    .doc = "The complex conjugate; a real tensor itself.",
    .flags = CFX_OP_COMPLEX | CFX_OP_INPLACE,
    .code = CFX_PW_CONJ,
    .infer = conj_infer,
    .cost = conj_cost,
    .loop = own_loop,
    .run = conj_run,
};

/* ---- From parts ---- */

static cfx_status parts_infer(cfx_call *call)
{
    const cfx_tensor *a = call->in[0].u.tensor, *b = call->in[1].u.tensor;
    if (a->dtype != CFX_F32 && a->dtype != CFX_F64)
        return cfx_call_fail(
            call, CFX_EDTYPE,
            "Expected both inputs to be Half, Float or Double tensors but got %s and %s",
            cfx_dtypes[a->dtype].name, cfx_dtypes[b->dtype].name);
    if (a->dtype != b->dtype)
        return cfx_call_fail(
            call, CFX_EDTYPE,
            "Expected object of scalar type %s but got scalar type %s for second argument",
            cfx_dtypes[a->dtype].name, cfx_dtypes[b->dtype].name);
    return cfx_infer_pointwise(call, 0, 2,
                               a->dtype == CFX_F64 ? CFX_C128 : CFX_C64);
}

static bool parts_loop(const cfx_call *call, cfx_loop *out)
{
    return cfx_loop_of(call, out, call->op->code,
                       (cfx_dtype)call->out[0]->dtype, 2);
}

#define FROM_PARTS(name, one, two, code_, cost_, doc_)                        \
    const cfx_op cfx_op__##name = {                                           \
        .schema = #name "(Tensor " one ", Tensor " two ") -> Tensor",         \
        .params = params,                                                     \
        .aliases = "torch. aten.",                                            \
        .doc = doc_,                                                          \
        .flags = CFX_OP_COMPLEX,                                              \
        .code = code_,                                                        \
        .infer = parts_infer,                                                 \
        .cost = cost_,                                                        \
        .loop = parts_loop,                                                   \
        .run = cfx_loop_call,                                                 \
    };

FROM_PARTS(complex, "real", "imag", CFX_PW_COMPLEX, cfx_cost_0_0,
           "Complex numbers from their parts.")
FROM_PARTS(polar, "abs", "angle", CFX_PW_POLAR, cfx_cost_4_2,
           "Complex numbers from their magnitudes and angles.")
