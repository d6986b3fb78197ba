/*
 * ctc_loss -- the negative log-probability of all alignments of a sequence of
 * labels with a sequence of classes (Graves et al. 2006).
 *
 * shape   log_probs (T, N, C) or (T, C), targets (N, S) or all on end; one
 *         loss for each sample; of the reductions "mean" and "sum" one number.
 *         _ctc_loss: a loss for each sample, and alpha (N, T, 2 S + 1), S
 *         being the greatest number of labels.
 * cost    for each step and each of the 2 S + 1 states a sum of three
 *         probabilities: 3 differences, exponentials and additions, a
 *         logarithm.
 *
 * A state is a label or a blank before, between or after labels. alpha[s] is
 * the log-probability of being in state s after so many steps.
 */
#include <math.h>

#include "base/stop.h"
#include "op/infer.h"
#include "op/loop.h"
#include "op/op_impl.h"
#include "ops/loss/loss.h"

/* cfx_op.code: the losses alone, with alpha beside them. */
enum { ALPHA = 1 };

/* The state of a call. */
struct ctc {
    cfx_reduction how;
};

static bool is_batched(const cfx_call *call)
{
    return cfx_call_tensor(call, LOG_PROBS)->rank == 3;
}

static cfx_dim batch(const cfx_call *call)
{
    return is_batched(call) ? cfx_call_tensor(call, LOG_PROBS)->shape[1]
                            : cfx_dim_int(1);
}

/* ---- Shapes ---- */

static cfx_status read_reduction(cfx_call *call, cfx_reduction *out)
{
    cfx_scope s;
    cfx_scope_init(&s, &cfx_composite__meta, call->ctx, call->env);
    *out = cfx_loss_reduction(&s, call);
    cfx_status st = cfx_scope_status(&s, call->err);
    cfx_scope_release(&s);
    return st;
}

/* A list or a tensor of a length for each sample. */
static cfx_status check_lengths(cfx_call *call, int k)
{
    cfx_value v = cfx_call_value(call, k);
    const cfx_tensor *t = cfx_call_tensor(call, k);
    cfx_dim n = cfx_dim_int(1);
    if (t && cfx_dtype_is_float((cfx_dtype)t->dtype))
        return cfx_call_fail(call, CFX_EDTYPE, "%s must be integral",
                             cfx_call__param_name(call, k));
    if (t)
        n = cfx_infer_numel(call->env, t->rank, t->shape);
    else if (cfx_value_is_seq(v))
        n = cfx_dim_int(cfx_call_len(call, k));
    else if (v.kind != CFX_INT)
        return cfx_call_fail(call, CFX_EINVAL, "%s must be integers",
                             cfx_call__param_name(call, k));
    if (!cfx_dim_eq(call->env, n, batch(call)))
        return cfx_call_fail(call, CFX_ESHAPE, "%s must be of size batch_size",
                             cfx_call__param_name(call, k));
    return CFX_OK;
}

static cfx_status check_tensors(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, LOG_PROBS);
    const cfx_tensor *y = cfx_call_tensor(call, TARGETS);
    if (x->dtype != CFX_F32 && x->dtype != CFX_F64)
        return cfx_infer_refuse(call, (cfx_dtype)x->dtype);
    if (y->dtype != CFX_I64 && y->dtype != CFX_I32)
        return cfx_call_fail(call, CFX_EDTYPE,
                             "targets must be int32 or int64");
    if ((x->rank != 2 && x->rank != 3) || (y->rank != 1 && y->rank != 2))
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "expected log_probs of (T, N, C) or (T, C), and targets of (N, S) or (S)");
    if (y->rank == 2 && !cfx_dim_eq(call->env, y->shape[0], batch(call)))
        return cfx_call_fail(call, CFX_ESHAPE,
                             "targets are of another batch than log_probs");
    cfx_dim blank = cfx_dim_int(cfx_call_int(call, BLANK));
    if (cfx_call_int(call, BLANK) < 0 ||
        !cfx_dim_lt(call->env, blank, x->shape[x->rank - 1]))
        return cfx_call_fail(call, CFX_EINVAL, "blank must be in label range");
    return CFX_OK;
}

static cfx_status check_arguments(cfx_call *call)
{
    cfx_status st = check_tensors(call);
    if (!st)
        st = check_lengths(call, INPUT_LENGTHS);
    return st ? st : check_lengths(call, TARGET_LENGTHS);
}

static int64_t length_at(const cfx_call *call, int k, int64_t i)
{
    const cfx_tensor *t = cfx_call_tensor(call, k);
    if (!t)
        return cfx_call_len(call, k) ? cfx_call_item(call, k, (int)i).u.i
                                     : cfx_call_int(call, k);
    cfx_dtype type = (cfx_dtype)t->dtype;
    int64_t at = 0;
    for (int axis = t->rank - 1; axis >= 0; axis--) {
        int64_t n = cfx_tensor_size(t, axis);
        at += i % n * cfx_tensor_stride(t, axis);
        i /= n;
    }
    return cfx_element_int(type, (const char *)t->data +
                                     at * (int64_t)cfx_dtype_size(type));
}

/* 2 S + 1, the greatest number of states, which may depend on a tensor. */
static cfx_status most_states(cfx_call *call, cfx_dim *out)
{
    const cfx_tensor *t = cfx_call_tensor(call, TARGET_LENGTHS);
    cfx_dim most = cfx_dim_int(0);
    int64_t n = t ? 0 : cfx_call_len(call, TARGET_LENGTHS);
    if (t && (call->meta || cfx_tensor_is_meta(t)))
        return cfx_infer_unknown_extent(call, out);
    if (t)
        n = cfx_tensor_numel(t);
    for (int64_t i = 0; i < n; i++)
        most = cfx_dim_max(call->env, most,
                           t ? cfx_dim_int(length_at(call, TARGET_LENGTHS, i))
                             : cfx_call_dim(call, TARGET_LENGTHS, (int)i));
    most = cfx_dim_mul(call->env, most, cfx_dim_int(2));
    *out = cfx_dim_add(call->env, most, cfx_dim_int(1));
    return CFX_OK;
}

static cfx_status alpha_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, LOG_PROBS);
    cfx_dim shape[3];
    cfx_status st = check_arguments(call);
    if (!st && x->rank != 3)
        st = cfx_call_fail(
            call, CFX_ESHAPE,
            "Expected 3-dimensional tensor, but got %d-dimensional tensor for log_probs",
            x->rank);
    if (!st)
        st = most_states(call, &shape[2]);
    if (st)
        return st;
    shape[0] = x->shape[1];
    shape[1] = x->shape[0];
    st = cfx_call_out(call, (cfx_dtype)x->dtype, 1, shape);
    return st ? st : cfx_call_out(call, (cfx_dtype)x->dtype, 3, shape);
}

static cfx_status ctc_infer(cfx_call *call)
{
    struct ctc *c = call->state;
    cfx_status st = check_arguments(call);
    if (!st)
        st = read_reduction(call, &c->how);
    if (st)
        return st;
    cfx_dim n = batch(call);
    int rank = c->how == CFX_REDUCE_NONE && is_batched(call);
    const cfx_tensor *x = cfx_call_tensor(call, LOG_PROBS);
    return cfx_call_out(call, (cfx_dtype)x->dtype, rank, &n);
}

static void ctc_cost(const cfx_call *call, cfx_cost *cost)
{
    enum { STEPS = 10, TRANSCENDENTAL = 4 };
    const cfx_tensor *y = cfx_call_tensor(call, TARGETS);
    cfx_dim states = cfx_infer_numel(call->env, y->rank, y->shape);
    states = cfx_dim_mul(call->env, states, cfx_dim_int(2));
    states = cfx_dim_add(call->env, states, batch(call));
    states = cfx_dim_mul(call->env, states,
                         cfx_call_tensor(call, LOG_PROBS)->shape[0]);
    cost->ops = cfx_dim_mul(call->env, states, cfx_dim_int(STEPS));
    cost->transcendental = cfx_dim_mul(call->env, states,
                                       cfx_dim_int(TRANSCENDENTAL));
}

/* ---- Running ---- */

struct sample {
    const cfx_tensor *x, *y;
    int64_t at;   /* in the batch */
    int64_t from; /* its first target, where they stand on end */
    int64_t steps, labels, blank;
    double *alpha, *next; /* 2 labels + 1 numbers each */
    cfx_tensor *kept;     /* receives alpha after each step, or NULL */
};

static int64_t label(const struct sample *p, int64_t i)
{
    const cfx_tensor *y = p->y;
    cfx_dtype type = (cfx_dtype)y->dtype;
    int64_t at = y->rank == 2 ? p->at * cfx_tensor_stride(y, 0) +
                                    i * cfx_tensor_stride(y, 1)
                              : (p->from + i) * cfx_tensor_stride(y, 0);
    return cfx_element_int(type, (const char *)y->data +
                                     at * (int64_t)cfx_dtype_size(type));
}

static int64_t class_of(const struct sample *p, int64_t state)
{
    return state % 2 ? label(p, state / 2) : p->blank;
}

static double log_prob(const struct sample *p, int64_t step, int64_t class)
{
    const cfx_tensor *x = p->x;
    cfx_dtype type = (cfx_dtype)x->dtype;
    int64_t at = step * cfx_tensor_stride(x, 0) +
                 class * cfx_tensor_stride(x, x->rank - 1);
    if (x->rank == 3)
        at += p->at * cfx_tensor_stride(x, 1);
    return cfx_element_double(type, (const char *)x->data +
                                        at * (int64_t)cfx_dtype_size(type));
}

static double log_sum(double a, double b, double c)
{
    double most = fmax(a, fmax(b, c));
    if (isinf(most) && most < 0)
        return most;
    return most + log(exp(a - most) + exp(b - most) + exp(c - most));
}

static void step(struct sample *p, int64_t t)
{
    for (int64_t s = 0; s < 2 * p->labels + 1; s++) {
        int64_t class = class_of(p, s);
        bool skips = s > 1 && class != p->blank && class != class_of(p, s - 2);
        p->next[s] = log_sum(p->alpha[s], s > 0 ? p->alpha[s - 1] : -HUGE_VAL,
                             skips ? p->alpha[s - 2] : -HUGE_VAL) +
                     log_prob(p, t, class);
    }
    double *swap = p->alpha;
    p->alpha = p->next;
    p->next = swap;
}

static void put(cfx_tensor *y, int64_t i, double v)
{
    if (y->dtype == CFX_F64)
        ((double *)y->data)[i] = v;
    else
        ((float *)y->data)[i] = (float)v;
}

static void keep_step(const struct sample *p, int64_t t)
{
    if (!p->kept)
        return;
    int64_t steps = cfx_tensor_size(p->kept, 1);
    int64_t n = cfx_tensor_size(p->kept, 2), row = (p->at * steps + t) * n;
    for (int64_t s = 0; s < n; s++)
        put(p->kept, row + s, s <= 2 * p->labels ? p->alpha[s] : -HUGE_VAL);
}

static double loss_of(const cfx_context *ctx, struct sample *p)
{
    int64_t last = 2 * p->labels;
    if (!p->steps)
        return p->labels ? HUGE_VAL : 0;
    for (int64_t s = 0; s <= last; s++)
        p->alpha[s] = s < 2 ? log_prob(p, 0, class_of(p, s)) : -HUGE_VAL;
    keep_step(p, 0);
    for (int64_t t = 1; t < p->steps && !cfx_context_stops(ctx); t++) {
        step(p, t);
        keep_step(p, t);
    }
    return -log_sum(p->alpha[last], last ? p->alpha[last - 1] : -HUGE_VAL,
                    -HUGE_VAL);
}

/* Lengths and labels must lie within the tensors. */
static cfx_status check_sample(cfx_call *call, const struct sample *p)
{
    int64_t steps = cfx_dim_value(p->x->shape[0]);
    int64_t classes = cfx_dim_value(p->x->shape[p->x->rank - 1]);
    int64_t room = cfx_dim_value(p->y->shape[p->y->rank - 1]) - p->from;
    if (p->steps < 0 || p->steps > steps)
        return cfx_call_fail(
            call, CFX_EINVAL,
            "Expected input_lengths to have value at most %lld, but got value %lld",
            (long long)steps, (long long)p->steps);
    if (p->labels < 0 || p->labels > room)
        return cfx_call_fail(
            call, CFX_EINVAL,
            "Expected target_lengths to have value at most %lld, but got value %lld",
            (long long)room, (long long)p->labels);
    for (int64_t i = 0; i < p->labels; i++)
        if (label(p, i) < 0 || label(p, i) >= classes)
            return cfx_call_fail(call, CFX_EINVAL,
                                 "target %lld is not a class of %lld",
                                 (long long)label(p, i), (long long)classes);
    return CFX_OK;
}

/* The losses one after another, and their sum or mean. */
static cfx_status each_sample(cfx_call *call, struct sample *p,
                              cfx_reduction how)
{
    int64_t n = cfx_dim_value(batch(call));
    double sum = 0;
    for (p->at = 0; p->at < n; p->at++) {
        p->steps = length_at(call, INPUT_LENGTHS, p->at);
        p->labels = length_at(call, TARGET_LENGTHS, p->at);
        cfx_status st = check_sample(call, p);
        if (st)
            return st;
        double loss = loss_of(call->ctx, p);
        if (isinf(loss) && !p->kept && cfx_call_bool(call, ZERO_INFINITY))
            loss = 0;
        if (how == CFX_REDUCE_NONE)
            put(call->out[0], p->at, loss);
        sum += how == CFX_REDUCE_MEAN && p->labels > 1
                   ? loss / (double)p->labels
                   : loss;
        if (p->y->rank == 1)
            p->from += p->labels;
    }
    if (how != CFX_REDUCE_NONE)
        put(call->out[0], 0, how == CFX_REDUCE_MEAN ? sum / (double)n : sum);
    if (p->y->rank == 1 && p->from != cfx_dim_value(p->y->shape[0]))
        return cfx_call_fail(
            call, CFX_EINVAL,
            "targets do not have as many elements as target_lengths add up to");
    return CFX_OK;
}

/* Results whose extents depend on a tensor. */
static cfx_status make_results(cfx_call *call)
{
    cfx_status st = alpha_infer(call);
    for (int i = 0; !st && i < call->nout; i++)
        st = cfx_tensor_alloc(call->out[i], call->err);
    return st;
}

static cfx_status ctc_run(cfx_call *call)
{
    cfx_status st = call->op->flags & CFX_OP_OWN_RESULT ? make_results(call)
                                                        : CFX_OK;
    if (st)
        return st;
    struct sample p = {.x = cfx_call_tensor(call, LOG_PROBS),
                       .y = cfx_call_tensor(call, TARGETS),
                       .blank = cfx_call_int(call, BLANK),
                       .kept = call->op->code == ALPHA ? call->out[1] : NULL};
    const struct ctc *c = call->state;
    size_t states = 2 * (size_t)cfx_dim_value(p.y->shape[p.y->rank - 1]) + 1;
    double *work = cfx_calloc(call->ctx, 2 * states, sizeof(*work));
    if (!work)
        return cfx_no_memory(call->err);
    for (int64_t i = 0; p.kept && i < cfx_tensor_numel(p.kept); i++)
        put(p.kept, i, -HUGE_VAL);
    p.alpha = work;
    p.next = work + states;
    st = each_sample(call, &p, c->how);
    cfx_free(call->ctx, work, 2 * states * sizeof(*work));
    return st;
}

#define LENGTHS(of)                                                           \
    "Tensor log_probs, Tensor targets, " of " input_lengths, " of             \
    " target_lengths, int blank=0, "

const cfx_op cfx_op__ctc_loss = {
    .schema = "ctc_loss(" LENGTHS("any") CFX_LOSS_REDUCTION
    ", bool zero_infinity=False) -> Tensor",
    .params = cfx_loss_params,
    .aliases = "torch.nn.functional.",
    .variants =
        (const cfx_variant[]){
            {"aten.ctc_loss.IntList(" LENGTHS(
                 "int[]") "int reduction=1, bool zero_infinity=False) -> Tensor",
             NULL},
            {"aten.ctc_loss.Tensor(" LENGTHS(
                 "Tensor") "int reduction=1, bool zero_infinity=False) -> Tensor",
             NULL},
            {NULL, NULL}},
    .doc = "The negative log-probability of labels over all alignments.",
    .state_size = sizeof(struct ctc),
    .infer = ctc_infer,
    .cost = ctc_cost,
    .run = ctc_run,
};

/* ATen's operator, whose second result is for gradients. */
#define ALPHAS(symbol, overload, of, flags_, next_)                           \
    const cfx_op symbol = {                                                   \
        .schema = "_ctc_loss" overload                                        \
                  "(Tensor log_probs, Tensor targets, " of                    \
                  " input_lengths, " of " target_lengths, int blank=0, "      \
                  "bool zero_infinity=False) -> (Tensor, Tensor)",            \
        .params = cfx_loss_params,                                            \
        .aliases = "torch._ctc_loss aten._ctc_loss.default "                  \
                   "aten._ctc_loss.Tensor",                                   \
        .doc = "The losses of ctc_loss, and the log-probabilities of "        \
               "states.",                                                     \
        .flags = flags_,                                                      \
        .code = ALPHA,                                                        \
        .state_size = sizeof(struct ctc),                                     \
        .infer = alpha_infer,                                                 \
        .cost = ctc_cost,                                                     \
        .run = ctc_run,                                                       \
        .next = next_,                                                        \
    };

static ALPHAS(ctc_loss_tensor, ".Tensor", "Tensor", CFX_OP_OWN_RESULT, NULL)
    ALPHAS(cfx_op___ctc_loss, "", "int[]", 0, &ctc_loss_tensor)
