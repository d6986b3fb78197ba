/*
 * softmax -- exp(x) over its sum along one axis, and the logarithm of it.
 *
 * shape   that of the argument.
 * cost    for each element a subtraction, an exp and a division, and their sum,
 *         of n elements n - 1; the logarithm subtracts that of the sum instead.
 *         Maxima are comparisons.
 */
#include "kernel/norm.h"
#include "op/cost.h"
#include "op/infer.h"
#include "op/loop.h"

enum { SOFTMAX, LOG_SOFTMAX };

static cfx_dtype result_type(const cfx_call *call)
{
    return cfx_call_dtype(call, 2,
                          (cfx_dtype)cfx_call_tensor(call, 0)->dtype);
}

static cfx_status softmax_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, 0);
    cfx_dtype type = result_type(call);
    int axis;
    cfx_status st = cfx_call_axis(call, cfx_call_int(call, 1), x->rank, &axis);
    if (st)
        return st;
    if (!cfx_dtype_is_float(type))
        return cfx_infer_refuse(call, type);
    return cfx_call_out(call, type, x->rank, x->shape);
}

static void softmax_cost(const cfx_call *call, cfx_cost *cost)
{
    const cfx_tensor *y = call->out[0];
    bool log_ = call->op->code == LOG_SOFTMAX;
    int64_t axis = cfx_call_int(call, 1);
    uint32_t mask = y->rank ? 1u << (axis < 0 ? axis + y->rank : axis) : 0;
    cfx_dim n = cfx_cost_numel(call, y), rows = cfx_cost_rows(call, y, mask);
    cost->ops = cfx_cost_linear(call, 4, n, log_ ? 0 : -1, rows);
    cost->transcendental = cfx_cost_linear(call, log_ ? 1 : 2, n, log_, rows);
}

static cfx_status softmax_run(cfx_call *call)
{
    int axis;
    const cfx_tensor *x = cfx_call_tensor(call, 0), *y = call->out[0];
    cfx_tensor *in = cfx_loop_contiguous_as(call, x, (cfx_dtype)y->dtype);
    if (!in)
        return CFX_ENOMEM;
    cfx_call_axis(call, cfx_call_int(call, 1), x->rank, &axis);
    cfx_axis_split s = cfx_loop_split(y, axis);
    (call->op->code == LOG_SOFTMAX ? cfx_kernel_log_softmax
                                   : cfx_kernel_softmax)(
        call->ctx, (cfx_dtype)y->dtype, y->data, in->data, s.outer, s.n,
        s.inner);
    cfx_tensor_unref(in);
    return CFX_OK;
}

/* torch.nn.functional's dim=None stands for 0, 1 or the last of few. */
static cfx_status lower_functional(cfx_call *call, const cfx_value *in,
                                   cfx_value *out)
{
    (void)call;
    out[0] = in[0];
    out[1] = in[1];
    out[2] = in[3];
    if (in[1].kind != CFX_INT && in[0].kind == CFX_TENSOR) {
        int rank = in[0].u.tensor->rank;
        out[1] = cfx_int(rank == 0 || rank == 1 || rank == 3 ? 0 : 1);
    }
    return CFX_OK;
}

#define SOFTMAX_OP(name, code_, doc_)                                         \
    static const cfx_variant name##_variants[] = {                            \
        {"torch.nn.functional." #name "(Tensor input, int? dim=None, int "    \
         "_stacklevel=3, ScalarType? dtype=None) -> Tensor",                  \
         lower_functional},                                                   \
        {NULL, NULL},                                                         \
    };                                                                        \
    const cfx_op cfx_op__##name = {                                           \
        .schema = #name ".int(Tensor self, int dim, ScalarType? dtype=None) " \
                  "-> Tensor",                                                \
        .aliases = "torch." #name " Tensor." #name " aten." #name ".int "     \
                   "aten.special_" #name ".default",                          \
        .variants = name##_variants,                                          \
        .doc = doc_,                                                          \
        .code = code_,                                                        \
        .infer = softmax_infer,                                               \
        .cost = softmax_cost,                                                 \
        .run = softmax_run,                                                   \
    };

SOFTMAX_OP(softmax, SOFTMAX, "exp(x) divided by its sum along an axis.")
SOFTMAX_OP(log_softmax, LOG_SOFTMAX, "The logarithm of softmax.")

/* What softmax is decomposed to. */
#define ATEN_SOFTMAX(name, public_, code_)                                    \
    static cfx_status name##_infer(cfx_call *call)                            \
    {                                                                         \
        const cfx_tensor *x = cfx_call_tensor(call, 0);                       \
        int axis;                                                             \
        cfx_status st = cfx_call_axis(call, cfx_call_int(call, 1), x->rank,   \
                                      &axis);                                 \
        if (!st)                                                              \
            st = cfx_infer_need_float(call, (cfx_dtype)x->dtype);             \
        if (st)                                                               \
            return st;                                                        \
        if (cfx_call_bool(call, 2))                                           \
            return cfx_call_fail(call, CFX_EUNSUPPORTED,                      \
                                 "half_to_float is not supported");           \
        return cfx_call_out(call, (cfx_dtype)x->dtype, x->rank, x->shape);    \
    }                                                                         \
    const cfx_op cfx_op__##name = {                                           \
        .schema = #name "(Tensor self, int dim, bool half_to_float) -> "      \
                  "Tensor",                                                   \
        .aliases = "torch." #name " aten." #name ".default",                  \
        .doc = "ATen's own " public_ ".",                                     \
        .code = code_,                                                        \
        .infer = name##_infer,                                                \
        .cost = softmax_cost,                                                 \
        .run = softmax_run,                                                   \
    };

ATEN_SOFTMAX(_softmax, "softmax", SOFTMAX)
ATEN_SOFTMAX(_log_softmax, "log_softmax", LOG_SOFTMAX)
