/*
 * batch_norm -- (x - mean) / sqrt(var + eps) * weight + bias by channel.
 *
 * shape   that of the input (N, C, ...); the others have C elements.
 * cost    of the running statistics, two steps an element (they fold into one
 *         factor and one addend for each channel); of the input's own, that of
 *         normalizing (cfx_cost_normalize).
 *
 * With training=True the statistics are those of the input itself; the running
 * ones, where given, are moved towards them by momentum.
 */
#include "base/stop.h"
#include "kernel/norm/norm_kernel.h"
#include "op/op_cost.h"
#include "op/infer.h"
#include "op/loop.h"
#include "op/op_impl.h"
#include "ops/shape/view.h"

CFX_PARAMS(params, INPUT, WEIGHT, BIAS, RUNNING_MEAN, RUNNING_VAR, TRAINING,
           MOMENTUM, EPS, CUDNN_ENABLED);

static cfx_status check(cfx_call *call, const cfx_tensor *x)
{
    bool training = cfx_call_bool(call, TRAINING);
    if (x->rank < 2)
        return cfx_call_fail(call, CFX_ESHAPE,
                             "expected at least 2D input (got %dD input)",
                             x->rank);
    if (!cfx_dtype_is_float((cfx_dtype)x->dtype))
        return cfx_infer_refuse(call, (cfx_dtype)x->dtype);
    for (int k = WEIGHT; k <= RUNNING_VAR; k++) {
        const cfx_tensor *t = cfx_call_tensor(call, k);
        if (!t && k >= RUNNING_MEAN && !training)
            return cfx_call_fail(
                call, CFX_EINVAL,
                "Expected %s to be defined when training=False",
                cfx_call__param_name(call, k));
        if (t && (t->rank != 1 ||
                  !cfx_dim_eq(call->env, t->shape[0], x->shape[1]))) {
            char s[64], have[128];
            cfx_dim_format(x->shape[1], s, sizeof(s));
            cfx_tensor_format_type(t, have, sizeof(have));
            return cfx_call_fail(call, CFX_ESHAPE,
                                 "%s should contain %s elements, but it is %s",
                                 cfx_call__param_name(call, k), s, have);
        }
    }
    return CFX_OK;
}

static cfx_status batch_norm_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, INPUT);
    cfx_status st = check(call, x);
    if (st)
        return st;
    const unsigned dense_last = CFX_TENSOR_CHANNELS_LAST |
                                CFX_TENSOR_CHANNELS_LAST_3D;
    bool last = x->rank > 3 && !cfx_tensor_is_contiguous(x) &&
                (x->flags & dense_last || cfx_view_is_last(call->env, x));
    return cfx_view_out_format(call, (cfx_dtype)x->dtype, x->rank, x->shape,
                               last);
}

static void batch_norm_cost(const cfx_call *call, cfx_cost *cost)
{
    const cfx_tensor *x = cfx_call_tensor(call, INPUT);
    if (!cfx_call_bool(call, TRAINING)) {
        cfx_cost_pointwise(call, cost, 2, 0);
        return;
    }
    cfx_cost_normalize(call, cost, x->shape[1], cfx_call_has(call, WEIGHT),
                       cfx_call_has(call, BIAS));
    cost->bytes_written = cfx_cost_bytes_of(call, call->out[0]);
    for (int k = RUNNING_MEAN; k <= RUNNING_VAR; k++)
        if (cfx_call_has(call, k))
            cost->bytes_written = cfx_dim_add(
                call->env, cost->bytes_written,
                cfx_cost_bytes_of(call, cfx_call_tensor(call, k)));
}

/* Row-major versions of the arguments, the small ones of the type `stat`. */
struct arrays {
    cfx_tensor *t[5];
    cfx_dtype stat;
};

static void release(struct arrays *a)
{
    for (int k = 0; k < 5; k++)
        cfx_tensor_unref(a->t[k]);
}

static cfx_dtype stat_type(const cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, INPUT);
    const cfx_tensor *m = cfx_call_tensor(call, RUNNING_MEAN);
    return (cfx_dtype)(m ? m->dtype : x->dtype);
}

static cfx_status fetch(cfx_call *call, struct arrays *a)
{
    *a = (struct arrays){.stat = stat_type(call)};
    bool last = cfx_view_both_last(cfx_call_tensor(call, INPUT), call->out[0]);
    for (int k = INPUT; k <= RUNNING_VAR; k++) {
        const cfx_tensor *t = cfx_call_tensor(call, k);
        if (!t)
            continue;
        a->t[k] = k == INPUT && last ? cfx_tensor_ref(t)
                  : k == INPUT       ? cfx_loop_contiguous(call, t)
                               : cfx_loop_contiguous_as(call, t, a->stat);
        if (!a->t[k]) {
            release(a);
            return CFX_ENOMEM;
        }
    }
    return CFX_OK;
}

struct extents {
    int64_t batch, channels, inner;
};

/* Channels-last memory is (batch * inner, channels, 1). */
static struct extents extents_of(const cfx_tensor *x, bool last)
{
    struct extents e = {cfx_tensor_size(x, 0), cfx_tensor_size(x, 1), 1};
    for (int i = 2; i < x->rank; i++)
        *(last ? &e.batch : &e.inner) *= cfx_tensor_size(x, i);
    return e;
}

static size_t batch_norm_workspace(const cfx_call *call)
{
    if (!cfx_call_bool(call, TRAINING))
        return 0;
    int64_t channels = cfx_tensor_size(cfx_call_tensor(call, INPUT), 1);
    return 2 * (size_t)channels * cfx_dtype_size(stat_type(call)) + 1;
}

/* running = (1 - momentum) * running + momentum * new; the running variance
 * has the divisor n - 1. */
static void move_running(const cfx_call *call, int k, cfx_dtype stat,
                         const char *new, double factor)
{
    cfx_tensor *running = cfx_call_tensor(call, k);
    double m = cfx_call_double(call, MOMENTUM);
    if (!running)
        return;
    for (int64_t i = 0; i < cfx_tensor_size(running, 0); i++) {
        void *at = cfx_tensor_at(running, &i);
        double old = cfx_element_double((cfx_dtype)running->dtype, at);
        double v = cfx_element_double(stat,
                                      new + (size_t)i *cfx_dtype_size(stat));
        cfx_element_set_double((cfx_dtype)running->dtype, at,
                               (1 - m) * old + m * factor * v);
    }
}

static cfx_status batch_norm_run(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, INPUT);
    bool training = cfx_call_bool(call, TRAINING);
    struct arrays a;
    if (fetch(call, &a))
        return CFX_ENOMEM;
    bool last = cfx_view_both_last(x, call->out[0]);
    struct extents e = extents_of(x, last);
    const char *mean = training ? call->work : a.t[RUNNING_MEAN]->data;
    const char *var = training
                          ? mean + (size_t)e.channels * cfx_dtype_size(a.stat)
                          : a.t[RUNNING_VAR]->data;
    if (training) {
        double n = (double)(e.batch * e.inner);
        cfx_channel_stats(
            call->ctx, (cfx_dtype)x->dtype, a.stat, a.t[INPUT]->data, e.batch,
            e.channels, e.inner, 0, call->work,
            (char *)call->work + (size_t)e.channels * cfx_dtype_size(a.stat));
        if (cfx_context_stops(call->ctx)) { /* these are kept */
            release(&a);
            return cfx_context_check(call->ctx, call->err);
        }
        move_running(call, RUNNING_MEAN, a.stat, mean, 1);
        move_running(call, RUNNING_VAR, a.stat, var, n > 1 ? n / (n - 1) : 1);
    }
    cfx_tensor *y = call->out[0], *made = NULL;
    cfx_status st = CFX_OK;
    if (!cfx_tensor_is_contiguous(y) && !last)
        st = cfx_loop_like(call, y, &made);
    if (!st)
        cfx_kernel_batch_norm(
            call->ctx, (cfx_dtype)x->dtype, a.stat,
            made ? made->data : y->data, a.t[INPUT]->data, e.batch, e.channels,
            e.inner, mean, var, a.t[WEIGHT] ? a.t[WEIGHT]->data : NULL,
            a.t[BIAS] ? a.t[BIAS]->data : NULL, cfx_call_double(call, EPS));
    if (!st && made)
        st = cfx_tensor_copy(y, made, call->err);
    cfx_tensor_unref(made);
    release(&a);
    return st;
}

static const cfx_variant batch_norm_variants[] = {
    {"torch.nn.functional.batch_norm(Tensor input, Tensor? running_mean, Tensor? running_var, Tensor? weight=None, Tensor? bias=None, bool training=False, float momentum=0.1, float eps=1e-05) -> Tensor",
     NULL},
    {NULL, NULL},
};

const cfx_op cfx_op__batch_norm = {
    .schema =
        "batch_norm(Tensor input, Tensor? weight=None, Tensor? bias=None, Tensor(a!)? running_mean=None, Tensor(b!)? running_var=None, bool training=False, float momentum=0.1, float eps=1e-05, bool cudnn_enabled=True) -> Tensor",
    .params = params,
    .aliases = "torch. aten.",
    .variants = batch_norm_variants,
    .doc = "Normalize each channel by its statistics.",
    .infer = batch_norm_infer,
    .cost = batch_norm_cost,
    .workspace = batch_norm_workspace,
    .run = batch_norm_run,
};
