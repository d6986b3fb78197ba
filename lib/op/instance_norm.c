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

static cfx_value instance_norm_build(cfx_scope *s, const cfx_call *call)
{
    const cfx_value *in = call->in;
    const cfx_tensor *x = cfx_call_tensor(call, INPUT);
    if (x->rank < 2)
        return cfx_scope_fail(s, CFX_ESHAPE, "expected at least 2D input, got "
                              "%dD", x->rank);
    if (!in[USE_INPUT].u.i)
        return CFX_CALL(s, "torch.nn.functional.batch_norm", in[INPUT],
                        in[MEAN], in[VAR], in[WEIGHT], in[BIAS],
                        cfx_bool(false), in[MOMENTUM], in[EPS]);
    if (!cfx_value_is_none(in[MEAN]) || !cfx_value_is_none(in[VAR]))
        return cfx_scope_fail(s, CFX_EUNSUPPORTED, "running statistics are "
                              "not moved while training");
    return CFX_CALL(s, "torch.nn.functional.group_norm", in[INPUT],
                    cfx_value_of_dim(x->shape[1]), in[WEIGHT], in[BIAS],
                    in[EPS]);
}

CFX_COMPOSITE(instance_norm)

static const cfx_variant instance_norm_variants[] = {
    {"torch.nn.functional.instance_norm(Tensor input, Tensor? "
     "running_mean=None, Tensor? running_var=None, Tensor? weight=None, "
     "Tensor? bias=None, bool use_input_stats=True, float momentum=0.1, float "
     "eps=1e-05) -> Tensor", NULL},
    {NULL, NULL},
};

const cfx_op cfx_op__instance_norm = {
    .schema = "instance_norm(Tensor input, Tensor? weight=None, Tensor? "
              "bias=None, Tensor? running_mean=None, Tensor? "
              "running_var=None, bool use_input_stats=True, float "
              "momentum=0.1, float eps=1e-05, bool cudnn_enabled=True) -> "
              "Tensor",
    .aliases = "torch.instance_norm aten.instance_norm.default",
    .variants = instance_norm_variants,
    .doc = "Normalize each channel of each sample by its own statistics.",
    .infer = instance_norm_infer,
    .cost = instance_norm_cost,
    .run = instance_norm_run,
};
