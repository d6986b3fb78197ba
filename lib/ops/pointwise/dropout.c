/*
 * dropout -- replace random elements, channels or samples by 0.
 *
 * shape   that of the argument; while nothing is dropped the argument itself.
 * cost    a product for each element.
 *
 * The rest is divided by 1 - p. Alpha dropout replaces by SELU's minimum
 * instead, and keeps mean and variance.
 */
#include <math.h>
#include <string.h>

#include "kernel/pointwise/pointwise_kernel.h"
#include "kernel/random_kernel.h"
#include "op/infer.h"
#include "op/loop.h"

/* The unit of dropout: elements; channels, with an optional batch for 1 or 3
 * spatial axes; samples; everything. */
enum { ELEMENT, CHANNEL, CHANNEL_1D, CHANNEL_3D, MODES, KIND = 7, ALPHA = 8 };

CFX_PARAMS(params, INPUT, P, TRAINING, TRAIN, MODE);

/* The noise extends along so many axes of the tensor. */
static int noise_axes(const cfx_call *call)
{
    int rank = cfx_call_tensor(call, INPUT)->rank;
    switch (call->op->code & KIND) {
    case ELEMENT: return rank;
    case CHANNEL: return 2;
    case CHANNEL_1D: return rank == 3 ? 2 : 1;
    case CHANNEL_3D: return rank == 5 ? 2 : 1;
    default: return strcmp(cfx_call_str(call, MODE), "row") ? 0 : 1;
    }
}

static cfx_status check_p(cfx_call *call)
{
    double p = cfx_call_double(call, P);
    if ((p >= 0 && p <= 1) || cfx_infer_is_unknown(call, p))
        return CFX_OK;
    return cfx_call_fail(
        call, CFX_EINVAL,
        "dropout probability has to be between 0 and 1, but got %g", p);
}

static cfx_status check_rank(cfx_call *call, const cfx_tensor *x)
{
    int kind = call->op->code & KIND;
    if (kind == CHANNEL_1D && x->rank != 2 && x->rank != 3)
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "Expected 2D or 3D input, but received a %dD input.", x->rank);
    if (x->rank < noise_axes(call) && cfx_call_bool(call, TRAINING) &&
        cfx_call_double(call, P) < 1)
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "Feature dropout requires at least %d dimensions in the input",
            noise_axes(call));
    return CFX_OK;
}

static bool is_empty(const cfx_tensor *x)
{
    for (int i = 0; i < x->rank; i++)
        if (cfx_dim_is(x->shape[i], 0))
            return true;
    return false;
}

static cfx_status dropout_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, INPUT);
    cfx_status st = check_p(call);
    if (!st)
        st = check_rank(call, x);
    if (st)
        return st;
    if (!cfx_call_bool(call, TRAINING) || cfx_call_double(call, P) == 0 ||
        is_empty(x))
        return cfx_call_out_same(call, INPUT);
    if (!cfx_dtype_is_float((cfx_dtype)x->dtype) &&
        cfx_call_double(call, P) < 1)
        return cfx_infer_refuse(call, (cfx_dtype)x->dtype);
    return cfx_infer_pointwise(call, 0, 1, (cfx_dtype)x->dtype);
}

static void dropout_cost(const cfx_call *call, cfx_cost *cost)
{
    bool alpha = call->op->code & ALPHA;
    if (!call->alias[0])
        cfx_cost_pointwise(call, cost, alpha ? 2 : 1, 0);
}

/* The number of units that are dropped whole: elements, or channels. */
static int64_t noise_count(const cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, INPUT);
    int64_t n = 1;
    for (int i = 0; i < noise_axes(call) && i < x->rank; i++)
        n *= cfx_tensor_size(x, i);
    return n;
}

static size_t dropout_workspace(const cfx_call *call)
{
    return call->alias[0] ? 0 : (size_t)noise_count(call) * 2 * sizeof(float);
}

static void add_noise(const cfx_call *call, cfx_iter *it, const float *noise,
                      int axes)
{
    const cfx_tensor *x = cfx_call_tensor(call, INPUT);
    int64_t *step = cfx_iter_add(it, noise, CFX_F32), at = 1;
    for (int i = x->rank - 1; i >= 0; i--) {
        step[i] = i < axes ? at : 0;
        at *= i < axes ? cfx_tensor_size(x, i) : 1;
    }
}

/* y = x * factor + offset, with the last one of alpha dropout only. */
static void apply(cfx_call *call, int axes, const float *factor,
                  const float *offset)
{
    cfx_dtype type = (cfx_dtype)call->out[0]->dtype;
    cfx_iter it;
    cfx_loop_out(&it, call->out[0]);
    cfx_loop_in(&it, cfx_call_tensor(call, INPUT));
    add_noise(call, &it, factor, axes);
    cfx_pointwise(call->ctx, CFX_PW_MUL, type, &it, NULL);
    if (!offset)
        return;
    cfx_loop_out(&it, call->out[0]);
    cfx_loop_in(&it, call->out[0]);
    add_noise(call, &it, offset, axes);
    cfx_pointwise(call->ctx, CFX_PW_ADD, type, &it, NULL);
}

static cfx_status dropout_run(cfx_call *call)
{
    const double low = -1.7580993408473766; /* -scale * alpha of SELU */
    double p = cfx_call_double(call, P), kept = 1 - p;
    int axes = noise_axes(call);
    if (call->alias[0])
        return CFX_OK;
    int64_t n = noise_count(call);
    float *factor = call->work, *offset = factor + n;
    cfx_random r = cfx_context_random(call->ctx, (uint64_t)n);
    if (!(call->op->code & ALPHA)) {
        cfx_random_choice(call->ctx, factor, n, r, kept,
                          kept > 0 ? (float)(1 / kept) : 0, 0);
        apply(call, axes, factor, NULL);
        return CFX_OK;
    }
    double a = kept > 0 ? 1 / sqrt((low * low * p + 1) * kept) : 0;
    cfx_random_choice(call->ctx, factor, n, r, kept, (float)a, 0);
    cfx_random_choice(call->ctx, offset, n, r, kept, (float)(-low * a * p),
                      (float)(low * a * kept));
    apply(call, axes, factor, offset);
    return CFX_OK;
}

/* ATen calls it `train`. */
static cfx_status train_lower(cfx_call *call, const cfx_value *in,
                              cfx_value *out)
{
    enum { A_INPUT, A_P, A_TRAIN };
    out[cfx_call_place(call, INPUT)] = in[A_INPUT];
    out[cfx_call_place(call, P)] = in[A_P];
    out[cfx_call_place(call, TRAINING)] = in[A_TRAIN];
    return CFX_OK;
}

#define FUNCTIONAL(name, train)                                               \
    {                                                                         \
        "torch.nn.functional." name "(Tensor input, float p=0.5, bool "       \
        "training=" train ", bool inplace=False) -> Tensor",                  \
            NULL                                                              \
    }

#define ATEN(name)                                                            \
    {"torch." name "(Tensor input, float p, bool train) -> Tensor",           \
     train_lower},                                                            \
    {                                                                         \
        "aten." name ".default(Tensor input, float p, bool train) -> Tensor", \
            train_lower                                                       \
    }

#define DROPOUT(name, code_, train, inplace_, doc_, ...)                      \
    const cfx_op cfx_op__##name = {                                           \
        .schema = #name "(Tensor(a) input, float p=0.5, bool "                \
                        "training=" train ") -> Tensor(a)",                   \
        .inplace_aliases = inplace_,                                          \
        .params = params,                                                     \
        .variants = (const cfx_variant[]){__VA_ARGS__, {NULL, NULL}},         \
        .doc = doc_,                                                          \
        .flags = CFX_OP_RANDOM | CFX_OP_INPLACE | CFX_OP_COMPLEX,             \
        .code = code_,                                                        \
        .infer = dropout_infer,                                               \
        .cost = dropout_cost,                                                 \
        .workspace = dropout_workspace,                                       \
        .run = dropout_run,                                                   \
    };

DROPOUT(dropout, ELEMENT, "True", "torch. aten.",
        "Elements replaced by 0 at random.", FUNCTIONAL("dropout", "True"),
        ATEN("dropout"))
DROPOUT(dropout1d, CHANNEL_1D, "True", "torch.nn.functional.dropout1d_",
        "Channels of a signal replaced by 0 at random.",
        FUNCTIONAL("dropout1d", "True"))
DROPOUT(dropout2d, CHANNEL, "True",
        "torch.feature_dropout_ aten.feature_dropout_.default",
        "Channels replaced by 0 at random.", FUNCTIONAL("dropout2d", "True"),
        ATEN("feature_dropout"))
DROPOUT(dropout3d, CHANNEL_3D, "True", "torch.nn.functional.dropout3d_",
        "Channels of a volume replaced by 0 at random.",
        FUNCTIONAL("dropout3d", "True"))
DROPOUT(alpha_dropout, ELEMENT | ALPHA, "False", "torch. aten.",
        "Elements replaced by SELU's least value at random.",
        FUNCTIONAL("alpha_dropout", "False"), ATEN("alpha_dropout"))
DROPOUT(feature_alpha_dropout, CHANNEL | ALPHA, "False", "torch. aten.",
        "Channels replaced by SELU's least value at random.",
        FUNCTIONAL("feature_alpha_dropout", "False"),
        ATEN("feature_alpha_dropout"))

/* ---- stochastic_depth ---- */

static cfx_status depth_infer(cfx_call *call)
{
    const char *mode = cfx_call_str(call, MODE);
    if (strcmp(mode, "batch") && strcmp(mode, "row"))
        return cfx_call_fail(
            call, CFX_EINVAL,
            "mode has to be either 'batch' or 'row', but got %s", mode);
    return dropout_infer(call);
}

static cfx_status depth_lower(cfx_call *call, const cfx_value *in,
                              cfx_value *out)
{
    enum { T_INPUT, T_P, T_MODE, T_TRAINING };
    out[cfx_call_place(call, INPUT)] = in[T_INPUT];
    out[cfx_call_place(call, P)] = in[T_P];
    out[cfx_call_place(call, MODE)] = in[T_MODE];
    out[cfx_call_place(call, TRAINING)] = in[T_TRAINING];
    return CFX_OK;
}

const cfx_op cfx_op__stochastic_depth = {
    .schema =
        "stochastic_depth(Tensor(a) input, float p, bool training=True, *, str mode) -> Tensor(a)",
    .params = params,
    .variants =
        (const cfx_variant[]){
            {"torchvision.ops.stochastic_depth.stochastic_depth(Tensor input, float p, str mode, bool training=True) -> Tensor",
             depth_lower},
            {"torchvision.ops.stochastic_depth(Tensor input, float p, str mode, bool training=True) -> Tensor",
             depth_lower},
            {NULL, NULL}},
    .doc = "A residual branch replaced by 0 at random, whole or by sample.",
    .flags = CFX_OP_RANDOM,
    .code = MODES,
    .infer = depth_infer,
    .cost = dropout_cost,
    .workspace = dropout_workspace,
    .run = dropout_run,
};

/* ---- native_dropout: with the mask ---- */

static bool drops(const cfx_call *call)
{
    return !cfx_call_has(call, TRAIN) || cfx_call_bool(call, TRAIN);
}

static cfx_status native_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, INPUT);
    cfx_status st = check_p(call);
    if (!st && drops(call) && !cfx_dtype_is_float((cfx_dtype)x->dtype))
        st = cfx_infer_refuse(call, (cfx_dtype)x->dtype);
    if (!st)
        st = cfx_infer_pointwise(call, 0, 1, (cfx_dtype)x->dtype);
    /* PyTorch's mask of nothing is of the type of the numbers. */
    return st ? st
              : cfx_infer_pointwise(
                    call, 0, 1, is_empty(x) ? (cfx_dtype)x->dtype : CFX_BOOL);
}

static size_t native_workspace(const cfx_call *call)
{
    return (size_t)cfx_tensor_numel(call->out[0]) * sizeof(float);
}

/* Noise of 1 and 0 is the mask; kept elements are scaled. */
static cfx_status native_run(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, INPUT), *y = call->out[0];
    const cfx_tensor *mask = call->out[1];
    double kept = drops(call) ? 1 - cfx_call_double(call, P) : 1;
    int64_t n = cfx_tensor_numel(x);
    float *noise = call->work;
    cfx_random random = {0, 0};
    cfx_iter it;
    if (!n)
        return CFX_OK;
    if (drops(call))
        random = cfx_context_random(call->ctx, (uint64_t)n);
    cfx_random_choice(call->ctx, noise, n, random, kept, 1, 0);
    cfx_loop_out(&it, mask);
    add_noise(call, &it, noise, x->rank);
    cfx_copy(call->ctx, &it);
    cfx_loop_out(&it, y);
    cfx_loop_in(&it, x);
    cfx_iter_number(&it, kept > 0 ? 1 / kept : 0);
    cfx_pointwise(call->ctx, CFX_PW_MUL, (cfx_dtype)y->dtype, &it, NULL);
    cfx_loop_out(&it, y);
    cfx_loop_in(&it, y);
    cfx_loop_in(&it, mask);
    cfx_pointwise(call->ctx, CFX_PW_MUL, (cfx_dtype)y->dtype, &it, NULL);
    return CFX_OK;
}

const cfx_op cfx_op__native_dropout = {
    .schema =
        "native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)",
    .params = params,
    .aliases = "torch. aten.",
    .doc = "Elements replaced by 0 at random, and which were kept.",
    .flags = CFX_OP_RANDOM,
    .infer = native_infer,
    .cost = dropout_cost,
    .workspace = native_workspace,
    .run = native_run,
};
