/*
 * loss -- losses that compare two tensors element by element.
 *
 * shape   that of both, broadcast; of the reductions "mean" and "sum" none.
 * cost    that of the operators they consist of.
 */
#include "ops/loss/loss.h"

#include <math.h>
#include <string.h>

#include "op/infer.h"
#include "op/op_impl.h"

/* ---- What all losses share ---- */

/* size_average and reduce, where either is given, outrank the reduction. */
static bool old_reduction(const cfx_call *call, cfx_reduction *out)
{
    cfx_value average = ARG(SIZE_AVERAGE), reduce = ARG(REDUCE);
    if (cfx_value_is_none(average) && cfx_value_is_none(reduce))
        return false;
    bool averages = cfx_value_is_none(average) || average.u.i;
    bool reduces = cfx_value_is_none(reduce) || reduce.u.i;
    *out = !reduces   ? CFX_REDUCE_NONE
           : averages ? CFX_REDUCE_MEAN
                      : CFX_REDUCE_SUM;
    return true;
}

cfx_reduction cfx_loss_reduction(cfx_scope *s, const cfx_call *call)
{
    static const char *const words[] = {"none", "mean", "sum"};
    cfx_value v = ARG(REDUCTION);
    cfx_reduction out = CFX_REDUCE_NONE;
    if (old_reduction(call, &out))
        return out;
    if (v.kind == CFX_INT && v.u.i >= 0 && v.u.i < 3)
        return (cfx_reduction)v.u.i;
    for (int i = 0; v.kind == CFX_STR && i < 3; i++)
        if (!strcmp(v.u.str->text, words[i]))
            return (cfx_reduction)i;
    cfx_scope_fail(s, CFX_EINVAL, "%s is not a valid value for reduction",
                   v.kind == CFX_STR ? v.u.str->text : "this");
    return out;
}

static cfx_value reduced(cfx_scope *s, cfx_reduction how, cfx_value loss)
{
    if (how == CFX_REDUCE_NONE)
        return loss;
    return how == CFX_REDUCE_MEAN ? TORCH("mean", loss) : TORCH("sum", loss);
}

cfx_value cfx_loss_reduced(cfx_scope *s, const cfx_call *call, cfx_value loss)
{
    return reduced(s, cfx_loss_reduction(s, call), loss);
}

cfx_value cfx_loss_as(cfx_scope *s, cfx_value v, cfx_dtype type)
{
    return CFX_CALL(s, "torch.ops.aten.to.dtype", v, cfx_value_of_dtype(type));
}

bool cfx_loss_is_shape(cfx_scope *s, cfx_value a, cfx_value b)
{
    const cfx_tensor *x = a.u.tensor, *y = b.u.tensor;
    bool same = x->rank == y->rank;
    for (int i = 0; same && i < x->rank; i++)
        same = cfx_dim_eq(s->env, x->shape[i], y->shape[i]);
    return same;
}

void cfx_loss_same_shape(cfx_scope *s, cfx_value a, cfx_value b,
                         const char *words)
{
    if (!cfx_loss_is_shape(s, a, b))
        cfx_scope_fail(s, CFX_ESHAPE, "%s", words);
}

void cfx_loss_check_weight(cfx_scope *s, cfx_value weight, cfx_dim classes,
                           const char *words)
{
    const cfx_tensor *w = weight.u.tensor;
    if (cfx_value_is_none(weight) || cfx_scope_failed(s))
        return;
    if (w->rank != 1 || !cfx_dim_eq(s->env, w->shape[0], classes))
        cfx_scope_fail(s, CFX_ESHAPE, "%s", words);
}

cfx_status cfx_loss_require(cfx_call *call, cfx_composite *claim,
                            const char *otherwise)
{
    cfx_scope s;
    cfx_scope_init(&s, &cfx_composite__eager, call->ctx, NULL);
    cfx_value v = claim(&s, call);
    cfx_status st = cfx_scope_status(&s, call->err);
    if (!st && !*(const bool *)v.u.tensor->data)
        st = cfx_call_fail(call, CFX_EINVAL, "%s", otherwise);
    cfx_scope_release(&s);
    return st;
}

/* ---- Differences ---- */

/* With weights the mean is the weighted one. */
static cfx_value weighted(cfx_scope *s, const cfx_call *call, cfx_value loss)
{
    cfx_value weight = ARG(WEIGHT);
    if (cfx_value_is_none(weight))
        return cfx_loss_reduced(s, call, loss);
    cfx_loss_same_shape(s, weight, ARG(INPUT),
                        "Weights and input must have the same size.");
    loss = TORCH("mul", loss, weight);
    if (cfx_loss_reduction(s, call) == CFX_REDUCE_NONE)
        return loss;
    cfx_value sum = TORCH("sum", loss);
    if (cfx_loss_reduction(s, call) == CFX_REDUCE_SUM)
        return sum;
    return TORCH("div", sum, TORCH("sum", weight));
}

static cfx_value distance(cfx_scope *s, const cfx_call *call)
{
    return TORCH("abs", TORCH("sub", ARG(INPUT), ARG(TARGET)));
}

/* The distance in float32 where the result has the type `narrow`, which ATen
 * rounds only once; *type is that of the result. */
static cfx_value wide_distance(cfx_scope *s, const cfx_call *call,
                               cfx_dtype narrow, cfx_dtype *type)
{
    *type = cfx_infer_type(call, 0, 2);
    if (*type != narrow)
        return distance(s, call);
    cfx_value x = cfx_loss_as(s, ARG(INPUT), CFX_F32);
    cfx_value y = cfx_loss_as(s, ARG(TARGET), CFX_F32);
    return TORCH("abs", TORCH("sub", x, y));
}

static cfx_value rounded(cfx_scope *s, cfx_value loss, cfx_dtype narrow,
                         cfx_dtype type)
{
    return type == narrow ? cfx_loss_as(s, loss, type) : loss;
}

/* Is the loss computed here, of floats that no step converts, so that all steps
 * go over memory once? */
static bool is_one_pass(const cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, INPUT);
    const cfx_tensor *y = cfx_call_tensor(call, TARGET);
    return !call->meta && x->dtype == y->dtype &&
           (x->dtype == CFX_F32 || x->dtype == CFX_F64);
}

/* A step of a program: a function of values and numbers. */
static cfx_value step(cfx_scope *s, const char *name, cfx_value a, cfx_value b)
{
    return cfx_tuple(s, cfx_str(s, name), a, b);
}

#define STEP(name, a, b) step(s, "torch." name, a, b)
#define NUMBER(x) cfx_float(x)
#define VALUE(k) cfx_str(s, "v" #k)

/* The last of `n` steps on input (v0) and target (v1). */
static cfx_value in_one_pass(cfx_scope *s, const cfx_call *call,
                             const cfx_value *steps, size_t n)
{
    return TORCH("ops.cfx.fused_pointwise.default",
                 cfx_list(s, ARG(INPUT), ARG(TARGET)),
                 cfx_list_of(s, CFX_LIST, n, steps));
}

static cfx_value l1_loss_build(cfx_scope *s, const cfx_call *call)
{
    if (is_one_pass(call)) {
        cfx_value steps[] = {STEP("sub", VALUE(0), VALUE(1)),
                             cfx_tuple(s, cfx_str(s, "torch.abs"), VALUE(2))};
        return weighted(s, call, in_one_pass(s, call, steps, 2));
    }
    return weighted(s, call, distance(s, call));
}

static cfx_value mse_loss_build(cfx_scope *s, const cfx_call *call)
{
    if (is_one_pass(call)) {
        cfx_value steps[] = {STEP("sub", VALUE(0), VALUE(1)),
                             STEP("mul", VALUE(2), VALUE(2))};
        return weighted(s, call, in_one_pass(s, call, steps, 2));
    }
    cfx_value d = TORCH("sub", ARG(INPUT), ARG(TARGET));
    return weighted(s, call, TORCH("mul", d, d));
}

/* `near` where d < bound (or <=, `closed`), `far` elsewhere. */
static cfx_value pieces(cfx_scope *s, cfx_value d, cfx_value bound,
                        bool closed, cfx_value near, cfx_value far)
{
    cfx_value is_near = closed ? TORCH("le", d, bound) : TORCH("lt", d, bound);
    return TORCH("where", is_near, near, far);
}

/* Half the square of the distance d up to `bound`, and from there a line, over
 * `under`: m (d - m / 2), where m is the smaller of d and bound. */
static cfx_value bounded_square(cfx_scope *s, const cfx_call *call,
                                double bound, double under)
{
    cfx_value steps[] = {
        STEP("sub", VALUE(0), VALUE(1)),
        cfx_tuple(s, cfx_str(s, "torch.abs"), VALUE(2)),
        cfx_tuple(s, cfx_str(s, "torch.clamp"), VALUE(3), cfx_none(),
                  NUMBER(bound)),
        STEP("mul", VALUE(4), NUMBER(0.5)),
        STEP("sub", VALUE(3), VALUE(5)),
        STEP("mul", VALUE(6), VALUE(4)),
        STEP("div", VALUE(7), NUMBER(under)),
    };
    size_t n = sizeof(steps) / sizeof(*steps);
    return in_one_pass(s, call, steps, under == 1 ? n - 1 : n);
}

static cfx_value smooth_l1_loss_build(cfx_scope *s, const cfx_call *call)
{
    cfx_dtype type;
    cfx_value beta = ARG(BETA), d;
    double b = cfx_value_number(beta);
    if (b < 0)
        return cfx_scope_fail(
            s, CFX_EINVAL,
            "smooth_l1_loss does not support negative values for beta.");
    if (b > 0 && is_one_pass(call))
        return cfx_loss_reduced(s, call, bounded_square(s, call, b, b));
    d = wide_distance(s, call, CFX_BF16, &type);
    if (b == 0)
        return cfx_loss_reduced(s, call, rounded(s, d, CFX_BF16, type));
    cfx_value half = TORCH("mul", TORCH("mul", d, cfx_float(0.5)), d);
    cfx_value loss = pieces(s, d, beta, false, TORCH("div", half, beta),
                            TORCH("sub", d, cfx_float(0.5 * b)));
    return cfx_loss_reduced(s, call, rounded(s, loss, CFX_BF16, type));
}

/* Unlike those above its weighted mean is divided by the number. */
static cfx_value huber_loss_build(cfx_scope *s, const cfx_call *call)
{
    cfx_dtype type;
    cfx_value delta = ARG(DELTA), w = ARG(WEIGHT), loss;
    double b = cfx_value_number(delta);
    if (!(b > 0))
        return cfx_scope_fail(
            s, CFX_EINVAL,
            "huber_loss does not support non-positive values for delta.");
    if (is_one_pass(call)) {
        loss = bounded_square(s, call, b, 1);
    } else {
        cfx_value d = wide_distance(s, call, CFX_F16, &type);
        cfx_value half = TORCH("mul", TORCH("mul", d, cfx_float(0.5)), d);
        cfx_value far = TORCH("mul", TORCH("sub", d, cfx_float(0.5 * b)),
                              delta);
        loss = pieces(s, d, delta, true, half, far);
        loss = rounded(s, loss, CFX_F16, type);
    }
    if (!cfx_value_is_none(w)) {
        cfx_loss_same_shape(s, w, ARG(INPUT),
                            "Weights and input must have the same size.");
        loss = TORCH("mul", loss, w);
    }
    return cfx_loss_reduced(s, call, loss);
}

#undef STEP
#undef NUMBER
#undef VALUE

#define PAIR "Tensor input, Tensor target, "
#define SELF "Tensor self, Tensor target, "

CFX_LOSS(l1_loss, PAIR CFX_LOSS_OLD CFX_LOSS_REDUCTION ", Tensor? weight=None",
         CFX_LOSS_ATEN(l1_loss, SELF "int reduction=1"),
         "The absolute difference.")
CFX_LOSS(mse_loss,
         PAIR CFX_LOSS_OLD CFX_LOSS_REDUCTION ", Tensor? weight=None",
         CFX_LOSS_ATEN(mse_loss, SELF "int reduction=1"),
         "The squared difference.")
CFX_LOSS(smooth_l1_loss,
         PAIR CFX_LOSS_OLD CFX_LOSS_REDUCTION ", float beta=1.0",
         CFX_LOSS_ATEN(smooth_l1_loss, SELF "int reduction=1, float beta=1.0"),
         "Half the squared difference over beta; linear from beta on.")
CFX_LOSS(huber_loss,
         PAIR CFX_LOSS_REDUCTION ", float delta=1.0, Tensor? weight=None",
         CFX_LOSS_ATEN(huber_loss, SELF "int reduction=1, float delta=1.0"),
         "Half the squared difference; linear from delta on.")

/* ---- Probabilities ---- */

static cfx_value times_weight(cfx_scope *s, const cfx_call *call,
                              cfx_value loss)
{
    cfx_value weight = ARG(WEIGHT);
    return cfx_value_is_none(weight) ? loss : TORCH("mul", loss, weight);
}

/* Logarithms are at least -100. */
static cfx_value bce_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value x = ARG(INPUT), y = ARG(TARGET), floor = cfx_int(-100);
    cfx_loss_same_shape(
        s, x, y,
        "the target size differs from the input size; they must be the same");
    cfx_value log0 = TORCH("clamp_min", TORCH("log1p", TORCH("neg", x)),
                           floor);
    cfx_value log1 = TORCH("clamp_min", TORCH("log", x), floor);
    cfx_value loss = TORCH("sub",
                           TORCH("mul", TORCH("sub", y, cfx_int(1)), log0),
                           TORCH("mul", y, log1));
    return cfx_loss_reduced(s, call, times_weight(s, call, loss));
}

CFX_COMPOSITE(bce)

static cfx_status bce_checked_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, INPUT);
    if (x->dtype != cfx_call_tensor(call, TARGET)->dtype)
        return cfx_call_fail(call, CFX_EDTYPE,
                             "input and target must have the same dtype");
    return bce_infer(call);
}

/* All elements must be probabilities. */
static cfx_value in_range(cfx_scope *s, const cfx_call *call)
{
    cfx_value x = ARG(INPUT);
    return TORCH("all", TORCH("logical_and", TORCH("ge", x, cfx_int(0)),
                              TORCH("le", x, cfx_int(1))));
}

static cfx_status bce_checked_run(cfx_call *call)
{
    cfx_status st = cfx_loss_require(
        call, in_range, "all elements of input should be between 0 and 1");
    return st ? st : bce_run(call);
}

const cfx_op cfx_op__binary_cross_entropy = {
    .schema = "binary_cross_entropy(" PAIR
              "Tensor? weight=None, " CFX_LOSS_OLD CFX_LOSS_REDUCTION
              ") -> Tensor",
    .params = cfx_loss_params,
    .aliases = "torch.nn.functional.",
    .variants = CFX_LOSS_ATEN(binary_cross_entropy,
                              SELF "Tensor? weight=None, int reduction=1"),
    .doc = "The cross entropy of probabilities and targets.",
    .infer = bce_checked_infer,
    .cost = bce_cost,
    .run = bce_checked_run,
};

static cfx_value binary_cross_entropy_with_logits_build(cfx_scope *s,
                                                        const cfx_call *call)
{
    cfx_value x = ARG(INPUT), y = ARG(TARGET), pos = ARG(POS_WEIGHT);
    cfx_loss_same_shape(s, x, y,
                        "the target size must be the same as the input size");
    cfx_value log_p = CFX_CALL(s, "torch.nn.functional.logsigmoid", x);
    if (!cfx_value_is_none(pos)) {
        cfx_value w = TORCH("mul", TORCH("sub", pos, cfx_int(1)), y);
        log_p = TORCH("mul", log_p, TORCH("add", w, cfx_int(1)));
    }
    cfx_value loss = TORCH("mul", TORCH("rsub", y, cfx_int(1)), x);
    loss = TORCH("sub", loss, log_p);
    return cfx_loss_reduced(s, call, times_weight(s, call, loss));
}

CFX_LOSS(binary_cross_entropy_with_logits,
         PAIR "Tensor? weight=None, " CFX_LOSS_OLD CFX_LOSS_REDUCTION
              ", Tensor? pos_weight=None",
         CFX_LOSS_TORCH(binary_cross_entropy_with_logits,
                        SELF "Tensor? weight=None, Tensor? pos_weight=None, ",
                        ""),
         "binary_cross_entropy of sigmoid(input).")

/* "batchmean" is the sum, or what the older names say, over the batch. */
static cfx_value batch_mean(cfx_scope *s, const cfx_call *call, cfx_value loss)
{
    cfx_value x = ARG(INPUT);
    cfx_reduction how = CFX_REDUCE_SUM;
    old_reduction(call, &how);
    loss = reduced(s, how, loss);
    return x.u.tensor->rank ? TORCH("div", loss, cfx_size(s, x, 0)) : loss;
}

static cfx_value kl_div_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value x = ARG(INPUT), y = ARG(TARGET), how = ARG(REDUCTION), loss;
    if (ARG(LOG_TARGET).u.i)
        loss = TORCH("mul", TORCH("exp", y), TORCH("sub", y, x));
    else
        loss = TORCH("sub", TORCH("xlogy", y, y), TORCH("mul", y, x));
    if (how.kind == CFX_STR && !strcmp(how.u.str->text, "batchmean"))
        return batch_mean(s, call, loss);
    return cfx_loss_reduced(s, call, loss);
}

CFX_LOSS(kl_div,
         PAIR CFX_LOSS_OLD CFX_LOSS_REDUCTION ", bool log_target=False",
         CFX_LOSS_TORCH(kl_div, SELF, ", *, bool log_target=False"),
         "The divergence of Kullback and Leibler from log-probabilities.")

static cfx_value poisson_nll_loss_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value x = ARG(INPUT), y = ARG(TARGET), loss;
    if (ARG(LOG_INPUT).u.i) {
        loss = TORCH("sub", TORCH("exp", x), TORCH("mul", y, x));
    } else {
        cfx_value log = TORCH("log", TORCH("add", x, ARG(EPS)));
        loss = TORCH("sub", x, TORCH("mul", y, log));
    }
    if (ARG(FULL).u.i) {
        const double tau = 6.283185307179586;
        cfx_value log = TORCH("log", TORCH("mul", y, cfx_float(tau)));
        cfx_value stirling = TORCH("mul", y, TORCH("log", y));
        stirling = TORCH("sub", stirling, y);
        stirling = TORCH("add", stirling, TORCH("mul", log, cfx_float(0.5)));
        stirling = TORCH("masked_fill", stirling, TORCH("le", y, cfx_int(1)),
                         cfx_int(0));
        loss = TORCH("add", loss, stirling);
    }
    return cfx_loss_reduced(s, call, loss);
}

CFX_LOSS(
    poisson_nll_loss,
    PAIR
    "bool log_input=True, bool full=False, bool? size_average=None, float eps=1e-08, bool? reduce=None, " CFX_LOSS_REDUCTION,
    CFX_LOSS_FORMS("poisson_nll_loss",
                   PAIR "bool log_input, bool full, float eps, int reduction",
                   PAIR "bool log_input, bool full, float eps, int reduction"),
    "The negative log likelihood of a Poisson distribution.")

/* A variance for each element, for each but those of the last axis, or one
 * along one axis. */
static cfx_value variance(cfx_scope *s, cfx_value x, cfx_value var)
{
    if (var.kind != CFX_TENSOR) {
        if (cfx_value_number(var) < 0)
            return cfx_scope_fail(s, CFX_EINVAL,
                                  "var has negative entry/entries");
        return TORCH("full_like", x, var);
    }
    const cfx_tensor *a = x.u.tensor, *b = var.u.tensor;
    int other = 0;
    bool fits = a->rank == b->rank || a->rank == b->rank + 1;
    for (int i = 0; fits && i < b->rank; i++) {
        if (cfx_dim_eq(s->env, a->shape[i], b->shape[i]))
            continue;
        other++;
        fits = a->rank == b->rank && cfx_dim_is(b->shape[i], 1);
    }
    if (!fits || other > 1)
        return cfx_scope_fail(s, CFX_ESHAPE, "var is of incorrect size");
    return a->rank == b->rank ? var : TORCH("unsqueeze", var, cfx_int(-1));
}

static cfx_value gaussian_nll_loss_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value x = ARG(INPUT), y = ARG(TARGET);
    cfx_value var = variance(s, x, ARG(VAR));
    if (cfx_scope_failed(s))
        return cfx_none();
    var = TORCH("clamp_min", var, ARG(EPS));
    cfx_value d = TORCH("sub", x, y);
    d = TORCH("div", TORCH("mul", d, d), var);
    cfx_value loss = TORCH("add", TORCH("log", var), d);
    loss = TORCH("mul", loss, cfx_float(0.5));
    if (ARG(FULL).u.i)
        loss = TORCH("add", loss, cfx_float(0.5 * log(6.283185307179586)));
    return cfx_loss_reduced(s, call, loss);
}

CFX_COMPOSITE(gaussian_nll_loss)

static cfx_value no_variance_negative(cfx_scope *s, const cfx_call *call)
{
    return TORCH("all",
                 TORCH("logical_not", TORCH("lt", ARG(VAR), cfx_int(0))));
}

static cfx_status gaussian_nll_loss_checked_run(cfx_call *call)
{
    cfx_status st = CFX_OK;
    if (ARG(VAR).kind == CFX_TENSOR)
        st = cfx_loss_require(call, no_variance_negative,
                              "var has negative entry/entries");
    return st ? st : gaussian_nll_loss_run(call);
}

const cfx_op cfx_op__gaussian_nll_loss = {
    .schema = "gaussian_nll_loss(" PAIR
              "any var, bool full=False, float eps=1e-06, " CFX_LOSS_REDUCTION
              ") -> Tensor",
    .params = cfx_loss_params,
    .aliases = "torch.nn.functional.",
    .doc = "The negative log likelihood of a normal distribution.",
    .infer = gaussian_nll_loss_infer,
    .cost = gaussian_nll_loss_cost,
    .run = gaussian_nll_loss_checked_run,
};
