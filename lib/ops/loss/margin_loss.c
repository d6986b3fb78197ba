/*
 * margin_loss -- losses that are zero from some margin on.
 *
 * shape   one for each element, pair of vectors or sample; of the reductions
 *         "mean" and "sum" none.
 * cost    that of the operators they consist of.
 */
#include "ops/loss/loss.h"

#include "op/infer.h"
#include "op/op_impl.h"

static cfx_value at_least_zero(cfx_scope *s, cfx_value v)
{
    return TORCH("clamp_min", v, cfx_int(0));
}

/* v where the condition holds, 0 elsewhere */
static cfx_value where_or_zero(cfx_scope *s, cfx_value condition, cfx_value v)
{
    return TORCH("where", condition, v, TORCH("zeros_like", v));
}

/* ---- Element by element ---- */

static cfx_value soft_margin_loss_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value z = TORCH("mul", TORCH("neg", ARG(TARGET)), ARG(INPUT));
    return cfx_loss_reduced(s, call, TORCH("log1p", TORCH("exp", z)));
}

static cfx_value hinge_embedding_loss_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value x = ARG(INPUT), y = ARG(TARGET);
    cfx_value below = at_least_zero(s, TORCH("rsub", x, ARG(MARGIN)));
    cfx_value a = where_or_zero(s, TORCH("ne", y, cfx_int(1)), below);
    cfx_value b = where_or_zero(s, TORCH("ne", y, cfx_int(-1)), x);
    return cfx_loss_reduced(s, call, TORCH("add", a, b));
}

static cfx_value margin_ranking_loss_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value y = ARG(TARGET);
    int rank = ARG(INPUT1).u.tensor->rank;
    if (ARG(INPUT2).u.tensor->rank != rank || y.u.tensor->rank != rank)
        return cfx_scope_fail(
            s, CFX_ESHAPE,
            "margin_ranking_loss: all input tensors should have the same dimension");
    cfx_value d = TORCH("sub", ARG(INPUT1), ARG(INPUT2));
    d = TORCH("add", TORCH("mul", TORCH("neg", y), d), ARG(MARGIN));
    return cfx_loss_reduced(s, call, at_least_zero(s, d));
}

#define PAIR "Tensor input, Tensor target, "
#define SELF "Tensor self, Tensor target, "
#define OF_TWO "Tensor input1, Tensor input2, Tensor target, "

CFX_LOSS(soft_margin_loss, PAIR CFX_LOSS_OLD CFX_LOSS_REDUCTION,
         CFX_LOSS_ATEN(soft_margin_loss, SELF "int reduction=1"),
         "log(1 + exp(-target * input)).")
CFX_LOSS(hinge_embedding_loss,
         PAIR "float margin=1.0, " CFX_LOSS_OLD CFX_LOSS_REDUCTION,
         CFX_LOSS_TORCH(hinge_embedding_loss, SELF "float margin=1.0, ", ""),
         "Distances of like pairs; what unlike ones lack of the margin.")
CFX_LOSS(margin_ranking_loss,
         OF_TWO "float margin=0, " CFX_LOSS_OLD CFX_LOSS_REDUCTION,
         CFX_LOSS_TORCH(margin_ranking_loss, OF_TWO "float margin=0.0, ", ""),
         "What the better of two lacks of the margin.")

/* ---- Pairs and triples of vectors ---- */

static cfx_value squares(cfx_scope *s, cfx_value x, cfx_value axis)
{
    cfx_value sum = TORCH("sum", TORCH("mul", x, x), axis);
    return TORCH("add", sum, cfx_float(1e-12));
}

static cfx_value cosine_embedding_loss_build(cfx_scope *s,
                                             const cfx_call *call)
{
    cfx_value a = ARG(INPUT1), b = ARG(INPUT2), y = ARG(TARGET);
    int rank = y.u.tensor->rank;
    if (rank > 1)
        return cfx_scope_fail(
            s, CFX_ESHAPE,
            "0D or 1D target tensor expected, multi-target not supported");
    if (a.u.tensor->rank != rank + 1 || b.u.tensor->rank != rank + 1)
        return cfx_scope_fail(
            s, CFX_ESHAPE,
            "%dD target tensor expects %dD input tensors, but found inputs with %d and %d dimensions",
            rank, rank + 1, a.u.tensor->rank, b.u.tensor->rank);
    cfx_value axis = cfx_tuple(s, cfx_int(rank));
    cfx_value length = TORCH(
        "sqrt", TORCH("mul", squares(s, a, axis), squares(s, b, axis)));
    cfx_value cosine = TORCH("div", TORCH("sum", TORCH("mul", a, b), axis),
                             length);
    cfx_value apart = at_least_zero(s, TORCH("sub", cosine, ARG(MARGIN)));
    cfx_value like = where_or_zero(s, TORCH("eq", y, cfx_int(1)),
                                   TORCH("rsub", cosine, cfx_int(1)));
    cfx_value unlike = where_or_zero(s, TORCH("eq", y, cfx_int(-1)), apart);
    return cfx_loss_reduced(s, call, TORCH("add", like, unlike));
}

static cfx_value triplet_margin_loss_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value anchor = ARG(ANCHOR);
    cfx_value like = ARG(POSITIVE), unlike = ARG(NEGATIVE);
    cfx_value p = ARG(P), eps = ARG(EPS);
    int rank = anchor.u.tensor->rank;
    if (like.u.tensor->rank != rank || unlike.u.tensor->rank != rank)
        return cfx_scope_fail(
            s, CFX_ESHAPE,
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: anchor %dD, positive %dD, and negative %dD inputs",
            rank, like.u.tensor->rank, unlike.u.tensor->rank);
    /* torch.nn.functional has a word for the reduction; ATen does not check
     * the margin. */
    if (ARG(REDUCTION).kind == CFX_STR && cfx_value_number(ARG(MARGIN)) <= 0)
        return cfx_scope_fail(
            s, CFX_EINVAL,
            "triplet_margin_loss: margin must be greater than 0, got %g",
            cfx_value_number(ARG(MARGIN)));
    cfx_value near = TORCH("pairwise_distance", anchor, like, p, eps);
    cfx_value far = TORCH("pairwise_distance", anchor, unlike, p, eps);
    if (ARG(SWAP).u.i)
        far = TORCH("minimum", far,
                    TORCH("pairwise_distance", like, unlike, p, eps));
    cfx_value d = TORCH("sub", TORCH("add", near, ARG(MARGIN)), far);
    return cfx_loss_reduced(s, call, at_least_zero(s, d));
}

#define OF_THREE                                                              \
    "Tensor anchor, Tensor positive, Tensor negative, float "                 \
    "margin=1.0, float p=2"

CFX_LOSS(cosine_embedding_loss,
         OF_TWO "float margin=0, " CFX_LOSS_OLD CFX_LOSS_REDUCTION,
         CFX_LOSS_TORCH(cosine_embedding_loss, OF_TWO "float margin=0.0, ",
                        ""),
         "1 - cosine of like vectors; the excess over the margin of unlike.")
CFX_LOSS(
    triplet_margin_loss,
    OF_THREE
    ", float eps=1e-06, bool swap=False, " CFX_LOSS_OLD CFX_LOSS_REDUCTION,
    CFX_LOSS_TORCH(triplet_margin_loss,
                   OF_THREE ".0, float eps=1e-06, bool swap=False, ", ""),
    "How much nearer than the margin the unlike vector is.")

/* ---- Classes ---- */

/* Samples as rows: of a vector one row, of a single class one. */
static cfx_value as_rows(cfx_scope *s, cfx_value v, int rank)
{
    for (int i = v.u.tensor->rank; i < rank; i++)
        v = TORCH("unsqueeze", v, cfx_int(0));
    return v;
}

/* Fail the scope unless there are classes. */
static void need_classes(cfx_scope *s, cfx_value x, const char *name)
{
    const cfx_tensor *t = x.u.tensor;
    if (t->rank && !cfx_dim_le(s->env, cfx_dim_int(1), t->shape[t->rank - 1]))
        cfx_scope_fail(
            s, CFX_ESHAPE,
            "%s: Expected non-empty vector or matrix with optional 0-dim batch size",
            name);
}

/* The means over classes; of a single sample a number. */
static cfx_value per_sample(cfx_scope *s, const cfx_call *call, cfx_value loss,
                            cfx_value classes, bool single)
{
    loss = TORCH("sum", loss, cfx_tuple(s, cfx_int(1)));
    loss = TORCH("div", loss, classes);
    if (single)
        loss = TORCH("squeeze", loss, cfx_int(0));
    return cfx_loss_reduced(s, call, loss);
}

static cfx_value multi_margin_loss_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value x = ARG(INPUT), y = ARG(TARGET), weight = ARG(WEIGHT);
    double p = cfx_value_number(ARG(P));
    int rank = x.u.tensor->rank;
    if (p != 1 && p != 2)
        return cfx_scope_fail(
            s, CFX_EINVAL,
            "multi_margin_loss: Invalid p, expected 1 or 2 but got %g", p);
    if (rank > 2 || y.u.tensor->rank > 1 ||
        (rank == 2 && y.u.tensor->rank != 1))
        return cfx_scope_fail(
            s, CFX_ESHAPE,
            "multi_margin_loss: Expected input of shape (N, C) or (C) and target of shape (N) or ()");
    need_classes(s, x, "multi_margin_loss");
    x = as_rows(s, x, 2);
    y = as_rows(s, y, 1);
    if (!cfx_scope_failed(s) &&
        !cfx_dim_eq(s->env, x.u.tensor->shape[0], y.u.tensor->shape[0]))
        return cfx_scope_fail(s, CFX_ESHAPE,
                              "multi_margin_loss: inconsistent target size");
    if (!cfx_scope_failed(s))
        cfx_loss_check_weight(
            s, weight, x.u.tensor->shape[1],
            "multi_margin_loss: inconsistent weight size, expected a weight for each class");
    cfx_value classes = cfx_size(s, x, 1);
    cfx_value column = TORCH("unsqueeze", y, cfx_int(1));
    cfx_value own = TORCH("gather", x, cfx_int(1), column);
    cfx_value z = TORCH("add", TORCH("rsub", own, ARG(MARGIN)), x);
    z = at_least_zero(s, z);
    if (p == 2)
        z = TORCH("mul", z, z);
    if (!cfx_value_is_none(weight))
        z = TORCH("mul", z,
                  TORCH("unsqueeze",
                        TORCH("index_select", weight, cfx_int(0), y),
                        cfx_int(1)));
    z = TORCH("scatter", z, cfx_int(1), column, cfx_int(0));
    return per_sample(s, call, z, classes, !ARG(TARGET).u.tensor->rank);
}

/* A sample's classes end at the first -1. */
static cfx_value multilabel_margin_loss_build(cfx_scope *s,
                                              const cfx_call *call)
{
    cfx_value x = ARG(INPUT), y = ARG(TARGET);
    if (x.u.tensor->rank > 2)
        return cfx_scope_fail(
            s, CFX_ESHAPE,
            "multilabel_margin_loss: Expected input of shape (N, C) or (C)");
    need_classes(s, x, "multilabel_margin_loss");
    cfx_loss_same_shape(s, x, y,
                        "multilabel_margin_loss: inconsistent target size");
    x = as_rows(s, x, 2);
    y = as_rows(s, y, 2);
    if (cfx_scope_failed(s))
        return cfx_none();
    cfx_value classes = cfx_size(s, x, 1), one = cfx_int(1);
    cfx_dtype type = (cfx_dtype)x.u.tensor->dtype;
    cfx_value given = TORCH("ge", y, cfx_int(0));
    given = TORCH("cumprod", cfx_loss_as(s, given, CFX_I64), one);
    cfx_value index = TORCH("clamp_min", y, cfx_int(0));
    cfx_value own = TORCH("gather", x, one, index);
    cfx_value mask = cfx_loss_as(s, given, type);
    cfx_value is_own = TORCH("scatter_add", TORCH("zeros_like", x), one, index,
                             mask);
    cfx_value other = TORCH("eq", is_own, cfx_int(0));
    cfx_value d = TORCH("sub", TORCH("unsqueeze", x, one),
                        TORCH("unsqueeze", own, cfx_int(2)));
    d = at_least_zero(s, TORCH("add", d, one));
    d = TORCH("mul", d, TORCH("unsqueeze", mask, cfx_int(2)));
    d = TORCH("mul", d, TORCH("unsqueeze", cfx_loss_as(s, other, type), one));
    return per_sample(s, call, TORCH("sum", d, cfx_tuple(s, one)), classes,
                      ARG(INPUT).u.tensor->rank < 2);
}

static cfx_value multilabel_soft_margin_loss_build(cfx_scope *s,
                                                   const cfx_call *call)
{
    cfx_value x = ARG(INPUT), y = ARG(TARGET), weight = ARG(WEIGHT);
    const char *log = "torch.nn.functional.logsigmoid";
    cfx_value loss = TORCH("mul", y, CFX_CALL(s, log, x));
    cfx_value not_y = TORCH("rsub", y, cfx_int(1));
    cfx_value log_not = CFX_CALL(s, log, TORCH("neg", x));
    loss = TORCH("add", loss, TORCH("mul", not_y, log_not));
    loss = TORCH("neg", loss);
    if (!cfx_value_is_none(weight))
        loss = TORCH("mul", loss, weight);
    if (x.u.tensor->rank < 1)
        return cfx_scope_fail(
            s, CFX_ESHAPE,
            "multilabel_soft_margin_loss: input has no axis of classes");
    loss = TORCH("sum", loss, cfx_tuple(s, cfx_int(x.u.tensor->rank - 1)));
    loss = TORCH("div", loss, cfx_size(s, x, -1));
    return cfx_loss_reduced(s, call, loss);
}

CFX_LOSS(
    multi_margin_loss,
    PAIR "Scalar p=1, Scalar margin=1.0, Tensor? weight=None, " CFX_LOSS_OLD
        CFX_LOSS_REDUCTION,
    CFX_LOSS_ATEN(
        multi_margin_loss, SELF
        "Scalar p=1, Scalar margin=1, Tensor? weight=None, int reduction=1"),
    "What the right class lacks of the margin over each other.")
CFX_COMPOSITE(multilabel_margin_loss)

static cfx_value labels_in_range(cfx_scope *s, const cfx_call *call)
{
    const cfx_tensor *x = ARG(INPUT).u.tensor;
    cfx_value y = ARG(TARGET);
    cfx_value classes = x->rank ? cfx_size(s, ARG(INPUT), -1) : cfx_int(1);
    return TORCH("all", TORCH("logical_and", TORCH("ge", y, cfx_int(-1)),
                              TORCH("lt", y, classes)));
}

static cfx_status multilabel_margin_loss_checked_run(cfx_call *call)
{
    cfx_status st = cfx_loss_require(call, labels_in_range,
                                     "argument #2 'target' is out of range");
    return st ? st : multilabel_margin_loss_run(call);
}

const cfx_op cfx_op__multilabel_margin_loss = {
    .schema = "multilabel_margin_loss(" PAIR CFX_LOSS_OLD CFX_LOSS_REDUCTION
              ") -> Tensor",
    .params = cfx_loss_params,
    .aliases = "torch.nn.functional.",
    .variants = CFX_LOSS_ATEN(multilabel_margin_loss, SELF "int reduction=1"),
    .doc = "What each right class lacks of 1 over each wrong one.",
    .infer = multilabel_margin_loss_infer,
    .cost = multilabel_margin_loss_cost,
    .run = multilabel_margin_loss_checked_run,
};

/* The right classes of each sample, before its first -1, have 1. */
static cfx_value right_classes(cfx_scope *s, const cfx_call *call)
{
    cfx_value x = ARG(INPUT), y = ARG(TARGET), last = cfx_int(-1);
    cfx_value zero = cfx_int(0), given = TORCH("ge", y, zero);
    if (!y.u.tensor->rank)
        return cfx_loss_as(s, given, (cfx_dtype)x.u.tensor->dtype);
    given = TORCH("cumprod", cfx_loss_as(s, given, CFX_I64), last);
    cfx_value place = TORCH("clamp_min", y, zero);
    cfx_value sum = TORCH("scatter_add", TORCH("zeros_like", y), last, place,
                          given);
    return cfx_loss_as(s, TORCH("gt", sum, zero),
                       (cfx_dtype)x.u.tensor->dtype);
}

static cfx_value multilabel_margin_loss_forward_build(cfx_scope *s,
                                                      const cfx_call *call)
{
    cfx_value loss = CFX_CALL(s,
                              "torch.ops.aten.multilabel_margin_loss.default",
                              ARG(INPUT), ARG(TARGET), ARG(REDUCTION));
    return cfx_tuple(s, loss, right_classes(s, call));
}

CFX_COMPOSITE(multilabel_margin_loss_forward)

const cfx_op cfx_op__multilabel_margin_loss_forward = {
    .schema =
        "multilabel_margin_loss_forward(Tensor input, Tensor target, int reduction) -> (Tensor output, Tensor is_target)",
    .params = cfx_loss_params,
    .aliases = "aten.",
    .doc = "multilabel_margin_loss, and which classes are right.",
    .infer = multilabel_margin_loss_forward_infer,
    .cost = multilabel_margin_loss_forward_cost,
    .run = multilabel_margin_loss_forward_run,
};

CFX_LOSS(multilabel_soft_margin_loss,
         PAIR "Tensor? weight=None, " CFX_LOSS_OLD CFX_LOSS_REDUCTION, NULL,
         "The mean over classes of binary_cross_entropy_with_logits.")
