/*
 * softmax -- exp(x) over its sum along one axis, and the logarithm of it.
 *
 * shape   that of the argument.
 * cost    for each element a subtraction, an exp and a division, and their sum,
 *         of n elements n - 1; the logarithm subtracts that of the sum instead.
 *         Maxima are comparisons.
 */
#include "kernel/norm/norm_kernel.h"
#include "op/op_cost.h"
#include "op/infer.h"
#include "op/loop.h"

enum { SOFTMAX, LOG_SOFTMAX };

CFX_PARAMS(params, SELF, DIM, DTYPE, HALF_TO_FLOAT);

/* The state of a call. */
struct softmax {
    int axis;
};

static cfx_status softmax_infer(cfx_call *call)
{
    struct softmax *s = call->state;
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_dtype type = cfx_call_dtype(call, DTYPE, (cfx_dtype)x->dtype);
    cfx_status st = cfx_call_axis(call, cfx_call_int(call, DIM), x->rank,
                                  &s->axis);
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
    const struct softmax *s = call->state;
    uint32_t mask = y->rank ? 1u << s->axis : 0;
    cfx_dim n = cfx_cost_numel(call, y), rows = cfx_cost_rows(call, y, mask);
    cost->ops = cfx_cost_linear(call, 4, n, log_ ? 0 : -1, rows);
    cost->transcendental = cfx_cost_linear(call, log_ ? 1 : 2, n, log_, rows);
}

static cfx_status softmax_run(cfx_call *call)
{
    const struct softmax *own = call->state;
    const cfx_tensor *x = cfx_call_tensor(call, SELF), *y = call->out[0];
    cfx_tensor *in = cfx_loop_contiguous_as(call, x, (cfx_dtype)y->dtype);
    if (!in)
        return CFX_ENOMEM;
    cfx_axis_split s = cfx_loop_split(y, own->axis);
    (call->op->code == LOG_SOFTMAX
         ? cfx_kernel_log_softmax
         : cfx_kernel_softmax)(call->ctx, (cfx_dtype)y->dtype, y->data,
                               in->data, s.outer, s.n, s.inner);
    cfx_tensor_unref(in);
    return CFX_OK;
}

/* torch.nn.functional's dim=None stands for 0, 1 or the last of few. */
static cfx_status lower_functional(cfx_call *call, const cfx_value *in,
                                   cfx_value *out)
{
    enum { F_INPUT, F_DIM, F_STACKLEVEL, F_DTYPE };
    cfx_value dim = in[F_DIM];
    if (dim.kind != CFX_INT && in[F_INPUT].kind == CFX_TENSOR) {
        int rank = in[F_INPUT].u.tensor->rank;
        dim = cfx_int(rank == 0 || rank == 1 || rank == 3 ? 0 : 1);
    }
    out[cfx_call_place(call, SELF)] = in[F_INPUT];
    out[cfx_call_place(call, DIM)] = dim;
    out[cfx_call_place(call, DTYPE)] = in[F_DTYPE];
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
                        "-> Tensor",                                          \
        .params = params,                                                     \
        .aliases = "torch. Tensor. .int "                                     \
                   "aten.special_" #name ".default",                          \
        .variants = name##_variants,                                          \
        .doc = doc_,                                                          \
        .flags = CFX_OP_COMPLEX,                                              \
        .code = code_,                                                        \
        .state_size = sizeof(struct softmax),                                 \
        .infer = softmax_infer,                                               \
        .cost = softmax_cost,                                                 \
        .run = softmax_run,                                                   \
    };

SOFTMAX_OP(softmax, SOFTMAX, "exp(x) divided by its sum along an axis.")
SOFTMAX_OP(log_softmax, LOG_SOFTMAX, "The logarithm of softmax.")

/* _softmax and _log_softmax of ATen's decompositions. */
static cfx_status aten_infer(cfx_call *call)
{
    cfx_status st = softmax_infer(call);
    if (!st && cfx_call_bool(call, HALF_TO_FLOAT))
        st = cfx_call_fail(call, CFX_EUNSUPPORTED,
                           "half_to_float is not supported");
    return st;
}

#define ATEN_SOFTMAX(name, public_, code_)                                    \
    const cfx_op cfx_op__##name = {                                           \
        .schema = #name "(Tensor self, int dim, bool half_to_float) -> "      \
                        "Tensor",                                             \
        .params = params,                                                     \
        .aliases = "torch. aten.",                                            \
        .doc = "ATen's own " public_ ".",                                     \
        .code = code_,                                                        \
        .state_size = sizeof(struct softmax),                                 \
        .infer = aten_infer,                                                  \
        .cost = softmax_cost,                                                 \
        .run = softmax_run,                                                   \
    };

ATEN_SOFTMAX(_softmax, "softmax", SOFTMAX)
ATEN_SOFTMAX(_log_softmax, "log_softmax", LOG_SOFTMAX)
