/*
 * class_loss -- losses of log-probabilities of classes: nll_loss and
 * cross_entropy.
 *
 * shape   that of the target, or of the input without its axis of classes; of
 *         the reductions "mean" and "sum" none.
 * cost    that of the operators they consist of.
 *
 * Classes are axis 1 of a batch, axis 0 of a single sample.
 */
#include "ops/loss/loss.h"

#include "op/infer.h"
#include "op/op_impl.h"

/* The log-probabilities and weights of the target classes (0 if ignored), and
 * a mask of ignored targets. */
struct chosen {
    cfx_value ignored, log, weight;
};

static int class_axis(cfx_value x)
{
    return x.u.tensor->rank == 1 ? 0 : 1;
}

/* Is there a class for each sample and place? */
static void check_target(cfx_scope *s, cfx_value x, cfx_value y)
{
    const cfx_tensor *a = x.u.tensor, *b = y.u.tensor;
    int axis = class_axis(x);
    if (a->rank < 1 || a->rank != b->rank + 1) {
        cfx_scope_fail(
            s, CFX_ESHAPE,
            "expected a target of rank %d for an input of rank %d, got %d",
            a->rank - 1, a->rank, b->rank);
        return;
    }
    for (int i = 0; i < b->rank; i++)
        if (!cfx_dim_eq(s->env, a->shape[i + (i >= axis)], b->shape[i]))
            cfx_scope_fail(
                s, CFX_ESHAPE,
                "Expected target size to be that of the input without its classes; axis %d differs",
                i);
}

static void check_weight(cfx_scope *s, cfx_value x, cfx_value weight)
{
    if (cfx_scope_failed(s))
        return;
    cfx_loss_check_weight(
        s, weight, x.u.tensor->shape[class_axis(x)],
        "weight tensor should be defined either for all classes or no classes");
}

static void choose(cfx_scope *s, cfx_value x, cfx_value y, cfx_value weight,
                   cfx_value ignore, struct chosen *out)
{
    cfx_value axis = cfx_int(class_axis(x)), zero = cfx_int(0);
    out->ignored = TORCH("eq", y, ignore);
    cfx_value index = TORCH("masked_fill", y, out->ignored, zero);
    index = cfx_loss_as(s, index, CFX_I64);
    out->log = TORCH("gather", x, axis, TORCH("unsqueeze", index, axis));
    out->log = TORCH("squeeze", out->log, axis);
    if (cfx_value_is_none(weight)) {
        out->weight = TORCH("ones_like", out->log);
    } else {
        out->weight = TORCH("take", weight, index);
    }
    out->weight = TORCH("masked_fill", out->weight, out->ignored, zero);
}

/* The loss, and in *total the weights' sum. */
static cfx_value nll(cfx_scope *s, const cfx_call *call, cfx_value x,
                     cfx_value y, cfx_value *total)
{
    struct chosen c;
    cfx_value weight = ARG(WEIGHT);
    cfx_reduction how = cfx_loss_reduction(s, call);
    check_target(s, x, y);
    check_weight(s, x, weight);
    if (cfx_scope_failed(s))
        return cfx_none();
    choose(s, x, y, weight, ARG(IGNORE_INDEX), &c);
    cfx_value loss = TORCH("mul", TORCH("neg", c.log), c.weight);
    loss = TORCH("masked_fill", loss, c.ignored, cfx_int(0));
    *total = TORCH("sum", c.weight);
    if (how == CFX_REDUCE_NONE)
        return loss;
    loss = TORCH("sum", loss);
    return how == CFX_REDUCE_SUM ? loss : TORCH("div", loss, *total);
}

static cfx_value nll_loss_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value total;
    return nll(s, call, ARG(INPUT), ARG(TARGET), &total);
}

static cfx_value nll_loss_forward_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value total, loss = nll(s, call, ARG(INPUT), ARG(TARGET), &total);
    if (cfx_loss_reduction(s, call) == CFX_REDUCE_NONE &&
        ARG(INPUT).u.tensor->rank > 1)
        total = TORCH("zeros_like", total);
    return cfx_tuple(s, loss, total);
}

#define PAIR "Tensor input, Tensor target, Tensor? weight=None, "
#define SELF "Tensor self, Tensor target, Tensor? weight=None, "
#define IGNORE "SymInt ignore_index=-100"
#define OLD_PAIR                                                              \
    PAIR "bool? size_average=None, " IGNORE                                   \
         ", bool? reduce=None, " CFX_LOSS_REDUCTION
#define NUMBERED(name)                                                        \
    {                                                                         \
        "aten." #name ".default(" SELF "int reduction=1, " IGNORE             \
        ") -> Tensor",                                                        \
            NULL                                                              \
    }

CFX_LOSS(nll_loss, OLD_PAIR,
         ((const cfx_variant[]){NUMBERED(nll_loss),
                                NUMBERED(nll_loss2d),
                                NUMBERED(nll_loss_nd),
                                {NULL, NULL}}),
         "The negative log-probability of the right class.")

CFX_COMPOSITE(nll_loss_forward)

const cfx_op cfx_op__nll_loss_forward = {
    .schema =
        "nll_loss_forward(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index) -> (Tensor, Tensor)",
    .params = cfx_loss_params,
    .aliases = "aten. aten.nll_loss2d_forward.default",
    .doc = "nll_loss, and the sum of the weights.",
    .infer = nll_loss_forward_infer,
    .cost = nll_loss_forward_cost,
    .run = nll_loss_forward_run,
};

/* ---- cross_entropy ---- */

/* A vector of classes as it broadcasts against x. */
static cfx_value along_classes(cfx_scope *s, cfx_value weight, cfx_value x)
{
    cfx_value shape[CFX_MAX_RANK];
    int rank = x.u.tensor->rank;
    for (int i = 0; i < rank; i++)
        shape[i] = cfx_int(i == class_axis(x) ? -1 : 1);
    return TORCH("reshape", weight,
                 cfx_list_of(s, CFX_TUPLE, (size_t)rank, shape));
}

static cfx_value sum_of_classes(cfx_scope *s, cfx_value v, cfx_value x)
{
    return TORCH("neg", TORCH("sum", v, cfx_tuple(s, cfx_int(class_axis(x)))));
}

/* Targets are probabilities. Their mean is that of the samples and places. */
static cfx_value of_probabilities(cfx_scope *s, const cfx_call *call,
                                  cfx_value x, cfx_value y)
{
    cfx_value weight = ARG(WEIGHT), smooth = ARG(LABEL_SMOOTHING);
    double share = cfx_value_number(smooth);
    cfx_value classes = cfx_size(s, x, class_axis(x));
    if (!cfx_dtype_is_float((cfx_dtype)y.u.tensor->dtype))
        return cfx_scope_fail(
            s, CFX_EDTYPE,
            "Expected floating point type for target with class probabilities, got %s",
            cfx_dtypes[y.u.tensor->dtype].name);
    check_weight(s, x, weight);
    if (share > 0) {
        cfx_value even = TORCH("div", TORCH("full_like", y, smooth), classes);
        y = TORCH("add", TORCH("mul", y, cfx_float(1 - share)), even);
    }
    cfx_value loss = TORCH("mul", x, y);
    if (!cfx_value_is_none(weight))
        loss = TORCH("mul", loss, along_classes(s, weight, x));
    if (cfx_loss_reduction(s, call) == CFX_REDUCE_NONE)
        return sum_of_classes(s, loss, x);
    cfx_value sum = TORCH("neg", TORCH("sum", loss));
    if (cfx_loss_reduction(s, call) == CFX_REDUCE_SUM)
        return sum;
    cfx_value all = cfx_value_of_dim(
        cfx_infer_numel(s->env, x.u.tensor->rank, x.u.tensor->shape));
    return TORCH("div", sum, cfx_int_floordiv(s, all, classes));
}

/* A share of the loss is spread over all classes. */
static cfx_value smoothed(cfx_scope *s, const cfx_call *call, cfx_value x,
                          cfx_value y, cfx_value share, cfx_value classes)
{
    cfx_value weight = ARG(WEIGHT), total, spread = x;
    cfx_value loss = nll(s, call, x, y, &total);
    if (cfx_scope_failed(s))
        return cfx_none();
    if (!cfx_value_is_none(weight))
        spread = TORCH("mul", x, along_classes(s, weight, x));
    spread = sum_of_classes(s, spread, x);
    spread = TORCH("masked_fill", spread, TORCH("eq", y, ARG(IGNORE_INDEX)),
                   cfx_int(0));
    if (cfx_loss_reduction(s, call) != CFX_REDUCE_NONE)
        spread = TORCH("sum", spread);
    if (cfx_loss_reduction(s, call) == CFX_REDUCE_MEAN)
        spread = TORCH("div", spread, total);
    loss = TORCH("mul", loss, cfx_float(1 - cfx_value_number(share)));
    spread = TORCH("div", TORCH("mul", spread, share), classes);
    return TORCH("add", loss, spread);
}

static cfx_value cross_entropy_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value x = ARG(INPUT), y = ARG(TARGET), total;
    cfx_value share = ARG(LABEL_SMOOTHING);
    double smooth = cfx_value_number(share);
    if (smooth < 0 || smooth > 1)
        return cfx_scope_fail(
            s, CFX_EINVAL,
            "label_smoothing must be between 0.0 and 1.0. Got: %g", smooth);
    if (x.u.tensor->rank < 1)
        return cfx_scope_fail(s, CFX_ESHAPE, "input has no axis of classes");
    cfx_value log = TORCH("log_softmax", x, cfx_int(class_axis(x)));
    if (cfx_scope_failed(s))
        return cfx_none();
    if (cfx_loss_is_shape(s, x, y))
        return of_probabilities(s, call, log, y);
    if (smooth > 0)
        return smoothed(s, call, log, y, share, cfx_size(s, x, class_axis(x)));
    return nll(s, call, log, y, &total);
}

CFX_COMPOSITE(cross_entropy)

const cfx_op cfx_op__cross_entropy = {
    .schema = "cross_entropy(" OLD_PAIR
              ", float label_smoothing=0.0) -> Tensor",
    .params = cfx_loss_params,
    .aliases = "torch.nn.functional.",
    .variants =
        (const cfx_variant[]){{"aten.cross_entropy_loss.default(" SELF
                               "int reduction=1, " IGNORE
                               ", float label_smoothing=0.0) -> Tensor",
                               NULL},
                              {NULL, NULL}},
    .doc = "nll_loss of log_softmax(input), or that of probabilities.",
    .infer = cross_entropy_infer,
    .cost = cross_entropy_cost,
    .run = cross_entropy_run,
};

/* ---- linear_cross_entropy ---- */

/* (classes, axes of positions..., features) as (rows, features), and such a
 * bias as (rows). */
static cfx_value as_rows(cfx_scope *s, cfx_value v, int features)
{
    cfx_value shape[] = {cfx_int(-1), cfx_none()};
    if (features)
        shape[1] = cfx_size(s, v, -1);
    return TORCH("reshape", v,
                 cfx_list_of(s, CFX_TUPLE, 1 + (size_t)features, shape));
}

static bool check_linear(cfx_scope *s, const cfx_call *call)
{
    const cfx_tensor *x = ARG(INPUT).u.tensor,
                     *w = ARG(LINEAR_WEIGHT).u.tensor;
    cfx_value bias = ARG(LINEAR_BIAS);
    bool same = cfx_value_is_none(bias) || bias.u.tensor->rank == w->rank - 1;
    if (x->rank < 1 || x->rank > 2 || w->rank < 2 ||
        x->rank - 1 + w->rank > CFX_MAX_RANK)
        cfx_scope_fail(
            s, CFX_ESHAPE,
            "expected input with dimensionality 1 or 2, and linear_weight with at least 2, got %d and %d",
            x->rank, w->rank);
    else if (!cfx_dim_eq(s->env, x->shape[x->rank - 1], w->shape[w->rank - 1]))
        cfx_scope_fail(
            s, CFX_ESHAPE,
            "expected equal input and linear_weight last dimensions (in_features)");
    else if (w->rank > 2 && x->rank == 1)
        cfx_scope_fail(
            s, CFX_ESHAPE,
            "a loss of several positions requires batched input, got a vector");
    for (int i = 0; same && bias.kind == CFX_TENSOR && i < w->rank - 1; i++)
        same = cfx_dim_eq(s->env, bias.u.tensor->shape[i], w->shape[i]);
    if (!same)
        cfx_scope_fail(
            s, CFX_ESHAPE,
            "expected linear_bias of the shape of linear_weight without its last axis");
    return !cfx_scope_failed(s);
}

/* (N, classes, axes of positions...), or without N. */
static cfx_value logits(cfx_scope *s, const cfx_call *call)
{
    cfx_value x = ARG(INPUT), w = ARG(LINEAR_WEIGHT), bias = ARG(LINEAR_BIAS);
    cfx_value shape[CFX_MAX_RANK];
    int n = 0, positions = w.u.tensor->rank - 2;
    if (!positions)
        return TORCH("nn.functional.linear", x, w, bias);
    if (!cfx_value_is_none(bias))
        bias = as_rows(s, bias, 0);
    cfx_value y = TORCH("nn.functional.linear", x, as_rows(s, w, 1), bias);
    shape[n++] = cfx_size(s, x, 0);
    for (int i = 0; i <= positions; i++)
        shape[n++] = cfx_size(s, w, i);
    return TORCH("reshape", y, cfx_list_of(s, CFX_TUPLE, (size_t)n, shape));
}

static cfx_value linear_cross_entropy_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value ignored = ARG(IGNORE_INDEX);
    if (cfx_call_has(call, OPTIONS))
        return cfx_scope_fail(
            s, CFX_EUNSUPPORTED,
            "chunks, which `options` ask for, are only needed for training");
    if (!check_linear(s, call))
        return cfx_none();
    cfx_value y = logits(s, call);
    if (cfx_scope_failed(s))
        return cfx_none();
    if (!cfx_value_is_none(ignored) && cfx_loss_is_shape(s, y, ARG(TARGET)))
        return cfx_scope_fail(
            s, CFX_EINVAL,
            "ignore_index cannot be specified when target contains probabilities");
    if (cfx_value_is_none(ignored))
        ignored = cfx_int(-100);
    return TORCH("nn.functional.cross_entropy", y, ARG(TARGET), ARG(WEIGHT),
                 cfx_none(), ignored, cfx_none(), ARG(REDUCTION),
                 ARG(LABEL_SMOOTHING));
}

CFX_COMPOSITE(linear_cross_entropy)

const cfx_op cfx_op__linear_cross_entropy = {
    .schema =
        "linear_cross_entropy(Tensor input, Tensor linear_weight, Tensor target, *, Tensor? linear_bias=None, Tensor? weight=None, str reduction='mean', int? ignore_index=None, float label_smoothing=0.0, any options=None) -> Tensor",
    .params = cfx_loss_params,
    .aliases = "torch.nn.functional.",
    .doc = "cross_entropy of what a linear layer gives.",
    .infer = linear_cross_entropy_infer,
    .cost = linear_cross_entropy_cost,
    .run = linear_cross_entropy_run,
};
