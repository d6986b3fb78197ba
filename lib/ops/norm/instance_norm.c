/*
 * instance_norm -- normalize each channel of each sample by itself.
 *
 * shape   that of the input (N, C, ...).
 * cost    that of a group norm with a group for each channel; with running
 *         statistics that of a batch norm.
 */
#include "op/composite.h"
#include "op/infer.h"

enum { INPUT, WEIGHT, BIAS, MEAN, VAR, USE_INPUT, MOMENTUM, EPS };

/* `v` once for each sample: (N * C). */
static cfx_value spread(cfx_scope *s, cfx_value v, cfx_value batch)
{
    return cfx_value_is_none(v)
               ? v
               : CFX_CALL(s, "Tensor.repeat", v, cfx_tuple(s, batch));
}

/* running = its mean over the samples, in the form of (N * C). */
static void move_running(cfx_scope *s, cfx_value running, cfx_value each,
                         cfx_value batch)
{
    each = CFX_CALL(s, "torch.reshape", each,
                    cfx_tuple(s, batch, cfx_int(-1)));
    each = CFX_CALL(s, "torch.mean", each, cfx_tuple(s, cfx_int(0)));
    CFX_CALL(s, "Tensor.copy_", running, each);
}

/* All channels of all samples are those of one batch norm; what it makes of
 * the running statistics is averaged over the samples. */
static cfx_value with_running(cfx_scope *s, const cfx_value *in)
{
    const cfx_tensor *x = in[INPUT].u.tensor;
    cfx_value shape[CFX_MAX_RANK], flat[CFX_MAX_RANK];
    cfx_value batch = cfx_value_of_dim(x->shape[0]);
    for (int i = 0; i < x->rank; i++)
        shape[i] = flat[i] = cfx_value_of_dim(x->shape[i]);
    flat[0] = cfx_int(1);
    flat[1] = cfx_int_mul(s, shape[0], shape[1]);
    cfx_value mean = spread(s, in[MEAN], batch);
    cfx_value var = spread(s, in[VAR], batch);
    cfx_value y = CFX_CALL(s, "torch.reshape", in[INPUT],
                           cfx_list_of(s, CFX_TUPLE, (size_t)x->rank, flat));
    y = CFX_CALL(s, "torch.nn.functional.batch_norm", y, mean, var,
                 spread(s, in[WEIGHT], batch), spread(s, in[BIAS], batch),
                 cfx_bool(true), in[MOMENTUM], in[EPS]);
    move_running(s, in[MEAN], mean, batch);
    move_running(s, in[VAR], var, batch);
    return CFX_CALL(s, "torch.reshape", y,
                    cfx_list_of(s, CFX_TUPLE, (size_t)x->rank, shape));
}

static cfx_value instance_norm_build(cfx_scope *s, const cfx_call *call)
{
    const cfx_value *in = call->in;
    const cfx_tensor *x = cfx_call_tensor(call, INPUT);
    if (x->rank < 2)
        return cfx_scope_fail(s, CFX_ESHAPE,
                              "expected at least 2D input, got %dD", x->rank);
    if (!in[USE_INPUT].u.i)
        return CFX_CALL(s, "torch.nn.functional.batch_norm", in[INPUT],
                        in[MEAN], in[VAR], in[WEIGHT], in[BIAS],
                        cfx_bool(false), in[MOMENTUM], in[EPS]);
    if (!cfx_value_is_none(in[MEAN]) && !cfx_value_is_none(in[VAR]))
        return with_running(s, in);
    cfx_value y = in[INPUT], shape[CFX_MAX_RANK];
    if (x->rank > 3)
        y = CFX_CALL(s, "torch.flatten", y, cfx_int(2));
    y = CFX_CALL(s, "torch.nn.functional.group_norm", y,
                 cfx_value_of_dim(x->shape[1]), in[WEIGHT], in[BIAS], in[EPS]);
    if (x->rank <= 3)
        return y;
    for (int i = 0; i < x->rank; i++)
        shape[i] = cfx_value_of_dim(x->shape[i]);
    return CFX_CALL(s, "torch.reshape", y,
                    cfx_list_of(s, CFX_TUPLE, (size_t)x->rank, shape));
}

CFX_COMPOSITE(instance_norm)

static const cfx_variant instance_norm_variants[] = {
    {"torch.nn.functional.instance_norm(Tensor input, Tensor? running_mean=None, Tensor? running_var=None, Tensor? weight=None, Tensor? bias=None, bool use_input_stats=True, float momentum=0.1, float eps=1e-05) -> Tensor",
     NULL},
    {NULL, NULL},
};

const cfx_op cfx_op__instance_norm = {
    .schema =
        "instance_norm(Tensor input, Tensor? weight=None, Tensor? bias=None, Tensor(a!)? running_mean=None, Tensor(b!)? running_var=None, bool use_input_stats=True, float momentum=0.1, float eps=1e-05, bool cudnn_enabled=True) -> Tensor",
    .aliases = "torch. aten.",
    .variants = instance_norm_variants,
    .doc = "Normalize each channel of each sample by its own statistics.",
    .infer = instance_norm_infer,
    .cost = instance_norm_cost,
    .run = instance_norm_run,
};
