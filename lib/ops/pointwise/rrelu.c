/*
 * rrelu -- randomized leaky relu: slopes of negative elements are random in
 * training, else the mean of their bounds.
 *
 * shape   that of the argument, row-major.
 * cost    a product for each element.
 */
#include <math.h>

#include "op/composite.h"
#include "op/rules.h"

CFX_PARAMS(params, SELF, NOISE, LOWER, UPPER, TRAINING, GENERATOR);

/* What becomes of the slopes, which are 1 where an element is positive: they
 * are written to an argument, or are a second result. */
enum { DROP, WRITE, GIVE };

static cfx_status check_bounds(cfx_call *call)
{
    double lower = cfx_call_double(call, LOWER);
    double upper = cfx_call_double(call, UPPER);
    bool unknown = cfx_infer_is_unknown(call, lower) ||
                   cfx_infer_is_unknown(call, upper);
    if (unknown)
        return CFX_OK;
    if (lower > upper)
        return cfx_call_fail(
            call, CFX_EINVAL,
            "Lower bound should be less than or equal to the upper bound");
    if (!isfinite(lower) || !isfinite(upper))
        return cfx_call_fail(call, CFX_EINVAL,
                             "bounds must be finite, but they are %g and %g",
                             lower, upper);
    return CFX_OK;
}

static cfx_status check_noise(cfx_call *call, const cfx_tensor *x)
{
    const cfx_tensor *noise = cfx_call_tensor(call, NOISE);
    bool same = noise->rank == x->rank;
    for (int i = 0; same && i < x->rank; i++)
        same = cfx_dim_eq(call->env, noise->shape[i], x->shape[i]);
    if (!same)
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "noise tensor shape must match self tensor shape");
    if (noise->dtype != x->dtype)
        return cfx_call_fail(
            call, CFX_EDTYPE, "expected noise of %s, but got %s",
            cfx_dtypes[x->dtype].name, cfx_dtypes[noise->dtype].name);
    return call->op->code == WRITE ? cfx_infer_written(call, noise) : CFX_OK;
}

static cfx_status rrelu_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_dtype type = (cfx_dtype)x->dtype;
    cfx_status st = cfx_infer_need_float(call, type);
    if (!st && cfx_call_bool(call, TRAINING) && type == CFX_F16)
        st = cfx_infer_refuse(call, type);
    if (!st)
        st = check_bounds(call);
    if (!st && call->op->code != DROP)
        st = check_noise(call, x);
    if (!st)
        st = cfx_call_out(call, type, x->rank, x->shape);
    return st || call->op->code != GIVE
               ? st
               : cfx_call_out(call, type, x->rank, x->shape);
}

static cfx_value rrelu_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value x = cfx_call_value(call, SELF), one = cfx_float(1);
    cfx_value lower = cfx_call_value(call, LOWER);
    cfx_value upper = cfx_call_value(call, UPPER), noise;
    int code = call->op->code;
    if (!cfx_call_bool(call, TRAINING)) {
        double slope = (cfx_value_number(lower) + cfx_value_number(upper)) / 2;
        x = CFX_CALL(s, "torch.nn.functional.leaky_relu", x, cfx_float(slope));
        return code == GIVE ? cfx_tuple(s, x, cfx_call_value(call, NOISE)) : x;
    }
    noise = CFX_CALL(s, "aten.uniform.default", x, lower, upper);
    noise = CFX_CALL(s, "torch.where", CFX_CALL(s, "torch.le", x, cfx_int(0)),
                     noise, one);
    x = CFX_CALL(s, "torch.mul", x, noise);
    if (code == WRITE)
        CFX_CALL(s, "Tensor.copy_", cfx_call_value(call, NOISE), noise);
    return code == GIVE ? cfx_tuple(s, x, noise) : x;
}

static cfx_status rrelu_run(cfx_call *call)
{
    return cfx_composite_run(call, rrelu_build);
}

static const cfx_variant rrelu_variants[] = {
    {"torch.nn.functional.rrelu(Tensor input, Scalar lower=0.125, Scalar upper=0.3333333333333333, bool training=False, bool inplace=False) -> Tensor",
     NULL},
    {NULL, NULL},
};

#define BOUNDS                                                                \
    "Scalar lower=0.125, Scalar upper=0.3333333333333333, bool "              \
    "training=False, Generator? generator=None) -> "

#define RRELU(name, self, returns, names_, variants_, code_, doc_)            \
    const cfx_op cfx_op__##name = {                                           \
        .schema = #name "(Tensor " self ", " BOUNDS returns,                  \
        .params = params,                                                     \
        .aliases = names_ "aten.",                                            \
        .variants = variants_,                                                \
        .doc = doc_,                                                          \
        .flags = CFX_OP_RANDOM | ((code_) == GIVE ? 0 : CFX_OP_INPLACE),      \
        .code = code_,                                                        \
        .infer = rrelu_infer,                                                 \
        .cost = cfx_cost_1_0,                                                 \
        .run = rrelu_run,                                                     \
    };

RRELU(rrelu, "self", "Tensor", "torch.rrelu ", rrelu_variants, DROP,
      "x, or x times a slope between two numbers where it is negative.")
RRELU(rrelu_with_noise, "self, Tensor(a!) noise", "Tensor",
      "torch._C._nn.rrelu_with_noise ", NULL, WRITE,
      "rrelu, which writes the slopes of training.")
RRELU(rrelu_with_noise_functional, "self, Tensor noise",
      "(Tensor, Tensor noise_out)", "", NULL, GIVE,
      "rrelu, and the slopes of training.")
