/*
 * core_aten -- convolution and normalizations as in exported graphs: one
 * convolution for all kinds, and normalizations that return their statistics.
 *
 * shape   that of the operator it comes down to; statistics have an element
 *         for each channel, or for each sample and group.
 * cost    that of the operators they consist of.
 */
#include "op/composite.h"
#include "op/op_cost.h"
#include "op/infer.h"

#define IN(k) call->in[k]

/* ---- convolution ---- */

static cfx_value convolution_build(cfx_scope *s, const cfx_call *call)
{
    enum { X, W, BIAS, STRIDE, PADDING, DILATION, TRANSPOSED, MORE, GROUPS };
    static const char *const name[2][3] = {
        {"torch.conv1d", "torch.conv2d", "torch.conv3d"},
        {"torch.conv_transpose1d", "torch.conv_transpose2d",
         "torch.conv_transpose3d"}};
    int n = IN(W).u.tensor->rank - 3;
    if (n < 0 || n > 2)
        return cfx_scope_fail(
            s, CFX_ESHAPE,
            "convolution: weight should have 3 to 5 dimensions, but got %d",
            n + 3);
    for (int i = 0; i < cfx_call_len(call, MORE); i++)
        if (!cfx_dim_le(s->env, cfx_dim_int(0), cfx_call_dim(call, MORE, i)))
            return cfx_scope_fail(
                s, CFX_EINVAL,
                "convolution: negative output_padding is not supported");
    if (IN(TRANSPOSED).u.i)
        return CFX_CALL(s, name[1][n], IN(X), IN(W), IN(BIAS), IN(STRIDE),
                        IN(PADDING), IN(MORE), IN(GROUPS), IN(DILATION));
    return CFX_CALL(s, name[0][n], IN(X), IN(W), IN(BIAS), IN(STRIDE),
                    IN(PADDING), IN(DILATION), IN(GROUPS));
}

CFX_COMPOSITE(convolution)

/* What follows `groups` chooses a library. */
static cfx_status convolution_lower(cfx_call *call, const cfx_value *in,
                                    cfx_value *out)
{
    for (int k = 0; k < call->schema->nparams; k++)
        out[k] = in[k];
    return CFX_OK;
}

static const cfx_variant convolution_variants[] = {
    {"aten._convolution.default(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups, bool benchmark, bool deterministic, bool cudnn_enabled, bool allow_tf32) -> Tensor",
     convolution_lower},
    {NULL, NULL},
};

const cfx_op cfx_op__convolution = {
    .schema =
        "convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups) -> Tensor",
    .aliases = "torch. aten.",
    .variants = convolution_variants,
    .doc = "A convolution of one to three axes, transposed or not.",
    .infer = convolution_infer,
    .cost = convolution_cost,
    .run = convolution_run,
};

/* ---- conv_tbc: time, batch, channels ---- */

static cfx_value permuted(cfx_scope *s, cfx_value x, int a, int b, int c)
{
    return CFX_CALL(s, "torch.permute", x,
                    cfx_tuple(s, cfx_int(a), cfx_int(b), cfx_int(c)));
}

static cfx_value conv_tbc_build(cfx_scope *s, const cfx_call *call)
{
    enum { X, W, BIAS, PAD };
    if (IN(X).u.tensor->rank != 3 || IN(W).u.tensor->rank != 3)
        return cfx_scope_fail(
            s, CFX_ESHAPE,
            "conv_tbc: input and weight must have 3 dimensions: time, batch, channels");
    cfx_value y = CFX_CALL(s, "torch.conv1d", permuted(s, IN(X), 1, 2, 0),
                           permuted(s, IN(W), 2, 1, 0), IN(BIAS), cfx_int(1),
                           IN(PAD));
    return CFX_CALL(s, "Tensor.contiguous", permuted(s, y, 2, 0, 1));
}

CFX_COMPOSITE(conv_tbc)

const cfx_op cfx_op__conv_tbc = {
    .schema =
        "conv_tbc(Tensor self, Tensor weight, Tensor bias, int pad=0) -> Tensor",
    .aliases = "torch. Tensor. aten.",
    .doc = "A convolution of one axis, which is the first.",
    .infer = conv_tbc_infer,
    .cost = conv_tbc_cost,
    .run = conv_tbc_run,
};

/* ---- Statistics ---- */

/* 1 / sqrt(var + eps) over `axes` */
static cfx_value reciprocal_deviation(cfx_scope *s, cfx_value x,
                                      cfx_value axes, cfx_value eps)
{
    cfx_value var = CFX_CALL(s, "torch.var", x, axes, cfx_bool(false));
    return CFX_CALL(s, "torch.rsqrt", CFX_CALL(s, "torch.add", var, eps));
}

static cfx_value native_group_norm_build(cfx_scope *s, const cfx_call *call)
{
    enum { X, WEIGHT, BIAS, BATCH, CHANNELS, INNER, GROUP, EPS };
    cfx_value axes = cfx_tuple(s, cfx_int(2));
    const cfx_tensor *t = IN(X).u.tensor;
    cfx_dim n = cfx_infer_numel(s->env, t->rank, t->shape);
    cfx_dim told = cfx_dim_mul(s->env, cfx_value_dim(IN(BATCH)),
                               cfx_dim_mul(s->env, cfx_value_dim(IN(CHANNELS)),
                                           cfx_value_dim(IN(INNER))));
    if (!cfx_dim_eq(s->env, n, told))
        return cfx_scope_fail(s, CFX_ESHAPE,
                              "the input has not N * C * HxW elements");
    cfx_value y = CFX_CALL(s, "torch.group_norm", IN(X), IN(GROUP), IN(WEIGHT),
                           IN(BIAS), IN(EPS));
    /* group_norm has seen that the groups divide the channels. */
    cfx_dim of_group = cfx_dim_mul(
        s->env,
        cfx_dim_floordiv(s->env, cfx_value_dim(IN(CHANNELS)),
                         cfx_value_dim(IN(GROUP))),
        cfx_value_dim(IN(INNER)));
    if (s->error.code)
        return CFX_NOTHING;
    cfx_value x = CFX_CALL(
        s, "torch.reshape", IN(X),
        cfx_tuple(s, IN(BATCH), IN(GROUP), cfx_value_of_dim(of_group)));
    return cfx_tuple(s, y, CFX_CALL(s, "torch.mean", x, axes),
                     reciprocal_deviation(s, x, axes, IN(EPS)));
}

CFX_COMPOSITE_BUT_COST(native_group_norm)

static void native_group_norm_cost(const cfx_call *call, cfx_cost *cost)
{
    enum { BATCH = 3, GROUP = 6 };
    cfx_dim groups = cfx_dim_mul(call->env, cfx_value_dim(call->in[BATCH]),
                                 cfx_value_dim(call->in[GROUP]));
    cfx_cost_normalize(call, cost, groups, cfx_call_has(call, 1),
                       cfx_call_has(call, 2));
}

const cfx_op cfx_op__native_group_norm = {
    .schema =
        "native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, SymInt HxW, SymInt group, float eps) -> (Tensor, Tensor, Tensor)",
    .aliases = "torch. aten.",
    .doc = "group_norm, with the means and reciprocal deviations of groups.",
    .infer = native_group_norm_infer,
    .cost = native_group_norm_cost,
    .run = native_group_norm_run,
};

/* Running statistics (NULL: none), training or not. Out of training nothing is
 * known of the batch: both statistics are empty. */
static cfx_value batch_norm(cfx_scope *s, const cfx_value *in,
                            const cfx_value *running, bool training,
                            cfx_value momentum, cfx_value eps)
{
    cfx_value mean = running ? running[0] : cfx_none(), axes[CFX_MAX_RANK];
    cfx_value var = running ? running[1] : cfx_none();
    cfx_value y = CFX_CALL(s, "torch.batch_norm", in[0], in[1], in[2], mean,
                           var, cfx_bool(training), momentum, eps);
    size_t n = 0;
    if (!training) {
        cfx_value like = mean.kind == CFX_TENSOR ? mean : in[0];
        cfx_value none = CFX_CALL(s, "Tensor.new_zeros", like,
                                  cfx_tuple(s, cfx_int(0)));
        return cfx_tuple(s, y, none, none);
    }
    for (int i = 0; i < in[0].u.tensor->rank; i++)
        if (i != 1)
            axes[n++] = cfx_int(i);
    cfx_value over = cfx_list_of(s, CFX_TUPLE, n, axes);
    return cfx_tuple(s, y, CFX_CALL(s, "torch.mean", in[0], over),
                     reciprocal_deviation(s, in[0], over, eps));
}

static cfx_value legit_build(cfx_scope *s, const cfx_call *call)
{
    return batch_norm(s, call->in, call->in + 3, IN(5).u.i, IN(6), IN(7));
}

static cfx_value no_stats_build(cfx_scope *s, const cfx_call *call)
{
    if (!IN(3).u.i)
        return cfx_scope_fail(
            s, CFX_EINVAL,
            "Expected running_mean to be defined when training=False");
    return batch_norm(s, call->in, NULL, true, IN(4), IN(5));
}

static cfx_value no_training_build(cfx_scope *s, const cfx_call *call)
{
    return batch_norm(s, call->in, call->in + 3, false, IN(5), IN(6));
}

/* With an empty reserve, which backends elsewhere use. */
static cfx_value with_reserve(cfx_scope *s, cfx_value y)
{
    cfx_value key[] = {cfx_str(s, "dtype"), cfx_value_of_dtype(CFX_U8)};
    cfx_value none = cfx_tuple(s, cfx_int(0));
    none = cfx_call_function(s, "torch.zeros", (cfx_args){&none, 1, key, 1});
    return cfx_tuple(s, cfx_nth(s, y, 0), cfx_nth(s, y, 1), cfx_nth(s, y, 2),
                     none);
}

static cfx_value with_update_build(cfx_scope *s, const cfx_call *call)
{
    return with_reserve(
        s, batch_norm(s, call->in, call->in + 3, true, IN(5), IN(6)));
}

static cfx_value no_update_build(cfx_scope *s, const cfx_call *call)
{
    return with_reserve(
        s, batch_norm(s, call->in, call->in + 3, false, IN(5), IN(6)));
}

CFX_COMPOSITE_BUT_COST(with_update)
CFX_COMPOSITE(no_update)
CFX_COMPOSITE_BUT_COST(legit)
CFX_COMPOSITE_BUT_COST(no_stats)
CFX_COMPOSITE(no_training)

/* Means and deviations are known when all is normalized. */
static void no_stats_cost(const cfx_call *call, cfx_cost *cost)
{
    cfx_cost_normalize(call, cost, cfx_call_tensor(call, 0)->shape[1],
                       cfx_call_has(call, 1), cfx_call_has(call, 2));
}

static void legit_cost(const cfx_call *call, cfx_cost *cost)
{
    if (cfx_call_bool(call, 5))
        no_stats_cost(call, cost);
    else
        cfx_cost_pointwise(call, cost, 2, 0);
}

#define HEAD "(Tensor input, Tensor? weight, Tensor? bias, "
#define TAIL "float momentum, float eps) -> (Tensor, Tensor, Tensor)"
#define DOC "batch_norm, with what is known of the batch."

static const cfx_op no_stats = {
    .schema = "_native_batch_norm_legit.no_stats" HEAD "bool training, " TAIL,
    .aliases =
        "torch._native_batch_norm_legit aten._native_batch_norm_legit.no_stats",
    .doc = DOC,
    .infer = no_stats_infer,
    .cost = no_stats_cost,
    .run = no_stats_run,
};

const cfx_op cfx_op___native_batch_norm_legit = {
    .schema =
        "_native_batch_norm_legit" HEAD
        "Tensor(a!)? running_mean, Tensor(b!)? running_var, bool training, " TAIL,
    .aliases =
        "torch._native_batch_norm_legit aten._native_batch_norm_legit.default torch.native_batch_norm aten.native_batch_norm.default",
    .doc = DOC,
    .infer = legit_infer,
    .cost = legit_cost,
    .run = legit_run,
    .next = &no_stats,
};

const cfx_op cfx_op___native_batch_norm_legit_no_training = {
    .schema = "_native_batch_norm_legit_no_training" HEAD
              "Tensor running_mean, Tensor running_var, " TAIL,
    .aliases =
        "torch._native_batch_norm_legit_no_training aten._native_batch_norm_legit_no_training.default",
    .doc = DOC,
    .infer = no_training_infer,
    .cost = no_training_cost,
    .run = no_training_run,
};

#define RESERVE                                                               \
    "float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor)"

const cfx_op cfx_op___batch_norm_with_update = {
    .schema = "_batch_norm_with_update" HEAD
              "Tensor(a!) running_mean, Tensor(b!) running_var, " RESERVE,
    .aliases =
        "aten._batch_norm_with_update aten._batch_norm_with_update.default",
    .doc = "batch_norm in training, with what is known of the batch.",
    .infer = with_update_infer,
    .cost = no_stats_cost,
    .run = with_update_run,
};

const cfx_op cfx_op___batch_norm_no_update = {
    .schema = "_batch_norm_no_update" HEAD
              "Tensor? running_mean, Tensor? running_var, " RESERVE,
    .aliases = "aten._batch_norm_no_update aten._batch_norm_no_update.default",
    .doc = "batch_norm in evaluation, with empty statistics.",
    .infer = no_update_infer,
    .cost = no_update_cost,
    .run = no_update_run,
};
