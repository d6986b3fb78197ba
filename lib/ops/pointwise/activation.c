/*
 * activation -- the nonlinear functions of torch.nn.functional.
 *
 * shape   that of the argument.
 * cost    the steps of the formula for each element.
 *
 * Each is a formula of kernel/pointwise/pointwise.def with up to three
 * parameters, which are the numbers among the operator's arguments, in order,
 * unless its loop says otherwise.
 */
#include <string.h>

#include "op/list.h"
#include "op/rules.h"

CFX_PARAMS(params, SELF, NEGATIVE_SLOPE, MIN_VAL, MAX_VAL, BETA, THRESHOLD,
           VALUE, ALPHA, SCALE, INPUT_SCALE, APPROXIMATE);

static bool activation_loop(const cfx_call *call, cfx_loop *out)
{
    cfx_unary_loop(call, out);
    for (int i = 1; i < call->schema->nparams && i <= 3; i++)
        out->params[i - 1] = cfx_value_number(call->in[i]);
    return true;
}

/* PyTorch's own name for most of them, for graphs that record a call. */
#define NN(name) "torch._C._nn." #name " "

/* `extra` are the parameters after self, in the schema's language; `...` are
 * other members. */
#define OP(name, code_, extra, names_, doc_, ...)                             \
    const cfx_op cfx_op__##name = {                                           \
        .schema = #name "(Tensor self" extra ") -> Tensor",                   \
        .params = params,                                                     \
        .aliases = names_ "torch. Tensor. aten.",                             \
        .doc = doc_,                                                          \
        .code = CFX_PW_##code_,                                               \
        __VA_ARGS__,                                                          \
    };

/* With the argument `inplace` of torch.nn.functional. */
#define ACTIVATION(name, code_, extra, names_, doc_, ...)                     \
    static const cfx_variant name##_variants[] = {                            \
        {"torch.nn.functional." #name "(Tensor input" extra                   \
         ", bool inplace=False) -> Tensor",                                   \
         NULL},                                                               \
        {NULL, NULL},                                                         \
    };                                                                        \
    OP(name, code_, extra, names_, doc_, .variants = name##_variants,         \
       .run = cfx_loop_call, __VA_ARGS__)

enum {
    ELEMENTWISE = CFX_OP_POINTWISE | CFX_OP_INPLACE,
    FUSED = ELEMENTWISE | CFX_OP_ACTIVATION
};

ACTIVATION(relu, RELU, "", "", "max(x, 0).", .flags = FUSED,
           .infer = cfx_unary_no_bool, .cost = cfx_cost_0_0,
           .loop = activation_loop)

/* Of the activations only silu has complex numbers. */
static cfx_status silu_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    return cfx_dtype_is_complex((cfx_dtype)x->dtype)
               ? cfx_unary_same(call)
               : cfx_unary_only_float(call);
}

ACTIVATION(silu, SILU, "", NN(silu), "x * sigmoid(x).",
           .flags = FUSED | CFX_OP_COMPLEX, .infer = silu_infer,
           .cost = cfx_cost_4_2, .loop = activation_loop)

ACTIVATION(mish, MISH, "", NN(mish), "x * tanh(softplus(x)).", .flags = FUSED,
           .infer = cfx_unary_only_float, .cost = cfx_cost_4_3,
           .loop = activation_loop)

ACTIVATION(hardsigmoid, HARDSIGMOID, "", NN(hardsigmoid),
           "clamp(x + 3, 0, 6) / 6.", .flags = FUSED,
           .infer = cfx_unary_only_float, .cost = cfx_cost_2_1,
           .loop = activation_loop)

ACTIVATION(hardswish, HARDSWISH, "", NN(hardswish),
           "x * clamp(x + 3, 0, 6) / 6.", .flags = FUSED,
           .infer = cfx_unary_only_float, .cost = cfx_cost_3_1,
           .loop = activation_loop)
ACTIVATION(leaky_relu, LEAKY_RELU, ", Scalar negative_slope=0.01",
           NN(leaky_relu), "x, or x * negative_slope where x is negative.",
           .flags = FUSED, .infer = cfx_unary_only_float, .cost = cfx_cost_1_0,
           .loop = activation_loop)

/* Numbers for a tensor of integers, which cut their fractions. */
static cfx_value cut(cfx_value v)
{
    return v.kind == CFX_FLOAT ? cfx_int((int64_t)v.u.f) : v;
}

/* A limit of hardtanh is an int64 before it is of the tensor's type. */
static cfx_status check_limit(cfx_call *call, cfx_value v, cfx_dtype type)
{
    double whole;
    if (v.kind == CFX_FLOAT) {
        cfx_status st = cfx_infer_cut(call, v.u.f, CFX_I64, &whole);
        if (st || cfx_infer_is_unknown(call, v.u.f))
            return st;
        v = cfx_int((int64_t)whole);
    }
    if (type == CFX_U8 && v.kind == CFX_INT && v.u.i < 0)
        return cfx_call_fail(
            call, CFX_EINVAL,
            "cannot do hardtanh on an unsigned type with negative limits");
    return cfx_list_check_number(call, v, type);
}

static cfx_status hardtanh_infer(cfx_call *call)
{
    cfx_dtype own = (cfx_dtype)cfx_call_tensor(call, SELF)->dtype;
    if (own == CFX_BOOL)
        return cfx_infer_refuse(call, own);
    cfx_status st = CFX_OK;
    if (!cfx_dtype_is_float(own))
        st = check_limit(call, cfx_call_value(call, MIN_VAL), own);
    if (!st && !cfx_dtype_is_float(own))
        st = check_limit(call, cfx_call_value(call, MAX_VAL), own);
    return st ? st : cfx_unary_like(call);
}

static bool hardtanh_loop(const cfx_call *call, cfx_loop *out)
{
    cfx_dtype type = (cfx_dtype)call->out[0]->dtype;
    if (cfx_dtype_is_float(type))
        return activation_loop(call, out);
    cfx_loop_of(call, out, CFX_PW_CLAMP, type, 3);
    out->in[1] = cut(out->in[1]);
    out->in[2] = cut(out->in[2]);
    return true;
}

/* Other than ATen, torch.nn.functional checks the order of the limits. */
static cfx_status hardtanh_lower(cfx_call *call, const cfx_value *in,
                                 cfx_value *out)
{
    enum { X, MIN, MAX, INPLACE };
    if (cfx_value_number(in[MIN]) > cfx_value_number(in[MAX]))
        return cfx_call_fail(call, CFX_EINVAL,
                             "min_val cannot be greater than max_val");
    out[cfx_call_place(call, SELF)] = in[X];
    out[cfx_call_place(call, MIN_VAL)] = in[MIN];
    out[cfx_call_place(call, MAX_VAL)] = in[MAX];
    call->inplace = in[INPLACE].u.i != 0;
    return CFX_OK;
}

static const cfx_variant hardtanh_variants[] = {
    {"torch.nn.functional.hardtanh(Tensor input, Scalar min_val=-1, Scalar max_val=1, bool inplace=False) -> Tensor",
     hardtanh_lower},
    {NULL, NULL},
};

OP(hardtanh, HARDTANH, ", Scalar min_val=-1, Scalar max_val=1", NN(hardtanh),
   "x, kept between two numbers.", .variants = hardtanh_variants,
   .flags = ELEMENTWISE, .infer = hardtanh_infer, .cost = cfx_cost_0_0,
   .loop = hardtanh_loop, .run = cfx_loop_call)

OP(softplus, SOFTPLUS, ", Scalar beta=1, Scalar threshold=20",
   NN(softplus) "torch.nn.functional.softplus ",
   "log(1 + exp(beta * x)) / beta; x itself above the threshold.",
   .flags = FUSED, .infer = cfx_unary_only_float, .cost = cfx_cost_4_3,
   .loop = activation_loop, .run = cfx_loop_call)

static bool threshold_loop(const cfx_call *call, cfx_loop *out)
{
    return cfx_dtype_is_float((cfx_dtype)call->out[0]->dtype) &&
           activation_loop(call, out);
}

/* Integers use a mask and a selection. */
static cfx_status threshold_run(cfx_call *call)
{
    cfx_tensor *x = cfx_call_tensor(call, SELF), *above;
    cfx_dtype type = (cfx_dtype)x->dtype;
    cfx_iter it;
    if (cfx_dtype_is_float(type))
        return cfx_loop_call(call);
    cfx_status st = cfx_tensor_meta(&above, call->ctx, CFX_BOOL, x->rank,
                                    x->shape, NULL, call->err);
    if (!st)
        st = cfx_tensor_alloc(above, call->err);
    if (!st) {
        cfx_value in[] = {cfx_value_of_tensor(above),
                          cfx_call_value(call, SELF),
                          cut(cfx_call_value(call, VALUE))};
        cfx_loop_out(&it, above);
        cfx_loop_in(&it, x);
        cfx_loop_value(&it, cut(cfx_call_value(call, THRESHOLD)));
        cfx_pointwise(call->ctx, CFX_PW_GT, type, &it, NULL);
        st = cfx_loop_run(call, CFX_PW_WHERE, type, in, 3, NULL);
    }
    cfx_tensor_unref(above);
    return st;
}

static cfx_status threshold_infer(cfx_call *call)
{
    cfx_status st = cfx_list_check_whole(
        call, 1, 3, (cfx_dtype)cfx_call_tensor(call, SELF)->dtype);
    return st ? st : cfx_unary_no_bool(call);
}

/* Traces have either name of torch.nn.functional.threshold. */
static const cfx_variant threshold_variants[] = {
    {"torch.nn.functional.threshold(Tensor input, Scalar threshold, Scalar value, bool inplace=False) -> Tensor",
     NULL},
    {"torch.nn.functional._threshold(Tensor input, Scalar threshold, Scalar value, bool inplace=False) -> Tensor",
     NULL},
    {NULL, NULL},
};

OP(threshold, THRESHOLD, ", Scalar threshold, Scalar value", "",
   "x where it is above the threshold, else the value.",
   .variants = threshold_variants, .flags = ELEMENTWISE,
   .infer = threshold_infer, .cost = cfx_cost_0_0, .loop = threshold_loop,
   .run = threshold_run)

/* ---- Those whose parameters are not in their arguments ---- */

/* A clamp, which integers have too. */
static bool relu6_loop(const cfx_call *call, cfx_loop *out)
{
    cfx_unary_loop(call, out);
    out->in[out->n++] = cfx_int(0);
    out->in[out->n++] = cfx_int(6);
    return true;
}

ACTIVATION(relu6, CLAMP, "", NN(relu6), "min(max(x, 0), 6).",
           .flags = ELEMENTWISE, .infer = cfx_unary_no_bool,
           .cost = cfx_cost_0_0, .loop = relu6_loop)

/* Klambauer et al. 2017: alpha and scale as PyTorch has them. */
static bool selu_loop(const cfx_call *call, cfx_loop *out)
{
    cfx_unary_loop(call, out);
    out->params[0] = 1.6732632423543772848170429916717;
    out->params[1] = 1.0507009873554804934193349852946;
    out->params[2] = 1;
    return true;
}

ACTIVATION(selu, ELU, "", "", "The scaled exponential linear unit.",
           .flags = FUSED, .infer = cfx_unary_only_float, .cost = cfx_cost_3_1,
           .loop = selu_loop)

static bool celu_loop(const cfx_call *call, cfx_loop *out)
{
    double alpha = cfx_call_double(call, ALPHA);
    cfx_unary_loop(call, out);
    out->params[0] = alpha;
    out->params[1] = 1;
    out->params[2] = 1 / alpha;
    return true;
}

static cfx_status celu_infer(cfx_call *call)
{
    if (cfx_call_double(call, ALPHA) == 0)
        return cfx_call_fail(call, CFX_EINVAL, "alpha cannot be 0");
    return cfx_unary_only_float(call);
}

ACTIVATION(celu, ELU, ", Scalar alpha=1.0", "",
           "max(0, x) + min(0, alpha * (exp(x / alpha) - 1)).", .flags = FUSED,
           .infer = celu_infer, .cost = cfx_cost_3_2, .loop = celu_loop)

/* elu's scales are ATen's only. */
static const cfx_variant elu_variants[] = {
    {"torch.nn.functional.elu(Tensor input, Scalar alpha=1.0, bool inplace=False) -> Tensor",
     NULL},
    {NULL, NULL},
};

const cfx_op cfx_op__elu = {
    .schema =
        "elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor",
    .params = params,
    .aliases = "torch._C._nn.elu torch. aten.",
    .variants = elu_variants,
    .doc = "x, or alpha * (exp(x) - 1) where x is negative.",
    .flags = FUSED,
    .code = CFX_PW_ELU,
    .infer = cfx_unary_only_float,
    .cost = cfx_cost_2_1,
    .loop = activation_loop,
    .run = cfx_loop_call,
};

/* ---- gelu ---- */

struct gelu {
    bool tanh;
};

static cfx_status gelu_infer(cfx_call *call)
{
    struct gelu *g = call->state;
    const char *how = cfx_call_str(call, APPROXIMATE);
    g->tanh = !strcmp(how, "tanh");
    if (!g->tanh && strcmp(how, "none"))
        return cfx_call_fail(
            call, CFX_EINVAL,
            "approximate argument must be either none or tanh.");
    return cfx_unary_only_float(call);
}

/* x / 2 * (1 + erf(x / sqrt(2))), or
 * x / 2 * (1 + tanh(c * (x + d * x * x * x))): constants are products. */
static void gelu_cost(const cfx_call *call, cfx_cost *cost)
{
    const struct gelu *g = call->state;
    cfx_cost_pointwise(call, cost, g->tanh ? 9 : 5, 1);
}

static bool gelu_loop(const cfx_call *call, cfx_loop *out)
{
    const struct gelu *g = call->state;
    return cfx_loop_of(call, out, g->tanh ? CFX_PW_GELU_TANH : CFX_PW_GELU,
                       (cfx_dtype)call->out[0]->dtype, 1);
}

const cfx_op cfx_op__gelu = {
    .schema = "gelu(Tensor self, *, str approximate='none') -> Tensor",
    .params = params,
    .aliases = "torch.nn.functional. aten.",
    .inplace_aliases = "aten.",
    .doc = "x times the normal distribution's cumulative probability at x.",
    .flags = CFX_OP_ACTIVATION | CFX_OP_POINTWISE,
    .state_size = sizeof(struct gelu),
    .infer = gelu_infer,
    .cost = gelu_cost,
    .loop = gelu_loop,
    .run = cfx_loop_call,
};
