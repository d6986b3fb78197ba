/*
 * batchnorm -- normalize by the statistics of the batch, or running ones.
 */
#include <cfx/module.h>
#include <cfx/ops.h>

static cfx_status init(cfx_module *self, cfx_error *err)
{
    cfx_dim n = cfx_attr_dim(self, "num_features");
    cfx_status st = CFX_OK;
    bool affine = cfx_attr_bool(self, "affine");
    if (affine)
        st = cfx_module_param(self, "weight", CFX_F32, 1, &n, err);
    else
        st = cfx_module_no_param(self, "weight", err);
    if (!st && affine && cfx_attr_bool(self, "bias"))
        st = cfx_module_param(self, "bias", CFX_F32, 1, &n, err);
    else if (!st)
        st = cfx_module_no_param(self, "bias", err);
    bool running = cfx_attr_bool(self, "track_running_stats");
    static const char *const name[] = {"running_mean", "running_var",
                                       "num_batches_tracked"};
    for (int i = 0; i < 3 && !st; i++)
        st = running ? cfx_module_buffer(self, name[i],
                                         i < 2 ? CFX_F32 : CFX_I64, i < 2, &n,
                                         err)
                     : cfx_module_no_param(self, name[i], err);
    return st;
}

/* Statistics of the batch are used in training, and where none are kept. */
static cfx_value forward(cfx_scope *s, cfx_module *self, const cfx_value *in)
{
    bool running = cfx_attr_bool(self, "track_running_stats");
    bool training = cfx_module_training(self) || !running;
    return cfx_batch_norm(
        s, in[0], .weight = cfx_param_of(s, self, "weight"),
        .bias = cfx_param_of(s, self, "bias"),
        .running_mean = cfx_param_of(s, self, "running_mean"),
        .running_var = cfx_param_of(s, self, "running_var"),
        .training = cfx_bool(training),
        .momentum = cfx_attr(self, "momentum"), .eps = cfx_attr(self, "eps"));
}

#define BATCH_NORM(n)                                                         \
    const cfx_module_type cfx_module__BatchNorm##n##d = {                     \
        .schema = "BatchNorm" #n "d(SymInt num_features, float eps=1e-05, "   \
                  "float? momentum=0.1, bool affine=True, bool "              \
                  "track_running_stats=True, *, bool bias=True)",             \
        .repr = "$num_features eps momentum affine bias "                     \
                "track_running_stats",                                        \
        .doc = "Normalize each channel by running statistics.",               \
        .init = init,                                                         \
        .forward_schema = "forward(Tensor input) -> Tensor",                  \
        .forward = forward,                                                   \
    };

BATCH_NORM(1)
BATCH_NORM(2)
BATCH_NORM(3)
