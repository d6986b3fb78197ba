/*
 * nn_instancenorm -- normalize each channel of each sample by itself.
 */
#include <cfx/ops.h>

#include "nn/nn_norm_state.h"

#define A(name) cfx_attr(self, name)
#define P(name) cfx_param_of(s, self, name)

/* `space` axes after the channels; the batch axis is optional. */
static cfx_value normalize(cfx_scope *s, cfx_module *self, cfx_value x,
                           int space)
{
    int rank = cfx_rank(s, x);
    bool batched = rank == space + 2;
    bool own = cfx_module_training(self) ||
               !cfx_attr_bool(self, "track_running_stats");
    if (!batched && rank != space + 1)
        return cfx_scope_fail(s, CFX_ESHAPE,
                              "expected %dD or %dD input (got %dD input)",
                              space + 1, space + 2, rank);
    if (!batched)
        x = cfx_unsqueeze(s, x, cfx_int(0));
    x = cfx_instance_norm(s, x, .weight = P("weight"), .bias = P("bias"),
                          .running_mean = P("running_mean"),
                          .running_var = P("running_var"),
                          .use_input_stats = cfx_bool(own),
                          .momentum = A("momentum"), .eps = A("eps"));
    return batched ? x : cfx_squeeze(s, x, .dim = cfx_int(0));
}

#define INSTANCE_NORM(n)                                                      \
    static cfx_value InstanceNorm##n##d_forward(                              \
        cfx_scope *s, cfx_module *self, const cfx_value *in)                  \
    {                                                                         \
        return normalize(s, self, in[0], n);                                  \
    }                                                                         \
    const cfx_module_type cfx_module__InstanceNorm##n##d = {                  \
        .schema = "InstanceNorm" #n                                           \
                  "d(SymInt num_features, Scalar eps=1e-05,"                  \
                  " Scalar momentum=0.1, bool affine=False, bool "            \
                  "track_running_stats=False, *, bool bias=True)",            \
        .repr = "$num_features eps momentum affine bias "                     \
                "track_running_stats",                                        \
        .doc = "Normalize each channel of each sample by itself.",            \
        .init = cfx_module__declare_norm,                                     \
        .forward_schema = "forward(Tensor input) -> Tensor",                  \
        .forward = InstanceNorm##n##d_forward,                                \
    };

INSTANCE_NORM(1)
INSTANCE_NORM(2)
INSTANCE_NORM(3)
