/*
 * nn_batchnorm -- normalize by the statistics of the batch, or running ones.
 */
#include <cfx/ops.h>

#include "nn/nn_norm_state.h"

/* Count the batch. Without a momentum the running statistics are the mean of
 * all batches, whose number is known only in a run. */
static cfx_value count_batch(cfx_scope *s, cfx_module *self)
{
    cfx_value n = cfx_param_of(s, self, "num_batches_tracked");
    cfx_value momentum = cfx_attr(self, "momentum");
    n = cfx_add_inplace(s, n, cfx_int(1));
    if (!cfx_value_is_none(momentum))
        return momentum;
    return cfx_number_truediv(s, cfx_float(1), cfx_item(s, n));
}

/* A channel with one value has no variance. */
static bool check_values(cfx_scope *s, const cfx_tensor *x)
{
    cfx_dim n = cfx_dim_int(1);
    for (int i = 0; x && i < x->rank; i++)
        if (i != 1)
            n = cfx_dim_mul(s->env, n, x->shape[i]);
    if (x && !cfx_dim_ne(s->env, n, cfx_dim_int(1)))
        cfx_scope_fail(s, CFX_EINVAL,
                       "Expected more than 1 value per channel when training");
    return !cfx_scope_failed(s);
}

/* Batch statistics are used in training, and without running statistics. */
static cfx_value normalize(cfx_scope *s, cfx_module *self, cfx_value x)
{
    bool running = cfx_attr_bool(self, "track_running_stats");
    bool training = cfx_module_training(self) || !running;
    cfx_value momentum = cfx_attr(self, "momentum");
    if (cfx_scope_failed(s) ||
        (training && !check_values(s, cfx_meta_of(s, x))))
        return cfx_none();
    if (running && training)
        momentum = count_batch(s, self);
    else if (cfx_value_is_none(momentum))
        momentum = cfx_float(0);
    return cfx_batch_norm(
        s, x, .weight = cfx_param_of(s, self, "weight"),
        .bias = cfx_param_of(s, self, "bias"),
        .running_mean = cfx_param_of(s, self, "running_mean"),
        .running_var = cfx_param_of(s, self, "running_var"),
        .training = cfx_bool(training), .momentum = momentum,
        .eps = cfx_attr(self, "eps"));
}

/* Batches of one dimension may lack it. */
static void check_rank(cfx_scope *s, cfx_value v, int space)
{
    const cfx_tensor *x = cfx_meta_of(s, v);
    if (x && x->rank != space + 2 && (space > 1 || x->rank != 2))
        cfx_scope_fail(s, CFX_ESHAPE, "expected %s%dD input (got %dD input)",
                       space > 1 ? "" : "2D or ", space + 2, x->rank);
}

#define BATCH_NORM(type, check)                                               \
    static cfx_value type##_forward(cfx_scope *s, cfx_module *self,           \
                                    const cfx_value *in)                      \
    {                                                                         \
        check;                                                                \
        return normalize(s, self, in[0]);                                     \
    }                                                                         \
    const cfx_module_type cfx_module__##type = {                              \
        .schema = #type "(SymInt num_features, Scalar eps=1e-05, "            \
                        "Scalar? momentum=0.1, bool affine=True, bool "       \
                        "track_running_stats=True, *, bool bias=True)",       \
        .repr = "$num_features eps momentum affine bias "                     \
                "track_running_stats",                                        \
        .doc = "Normalize each channel by running statistics.",               \
        .init = cfx_module__declare_norm,                                     \
        .forward_schema = "forward(Tensor input) -> Tensor",                  \
        .forward = type##_forward,                                            \
    };

BATCH_NORM(BatchNorm1d, check_rank(s, in[0], 1))
BATCH_NORM(BatchNorm2d, check_rank(s, in[0], 2))
BATCH_NORM(BatchNorm3d, check_rank(s, in[0], 3))

/* SyncBatchNorm accepts any rank; in training it needs several GPUs. */
static void check_sync(cfx_scope *s, const cfx_module *self, cfx_value v)
{
    const cfx_tensor *x = cfx_meta_of(s, v);
    if (x && x->rank < 2)
        cfx_scope_fail(s, CFX_ESHAPE,
                       "expected at least 2D input (got %dD input)", x->rank);
    if (cfx_module_training(self))
        cfx_scope_fail(s, CFX_EUNSUPPORTED,
                       "SyncBatchNorm in training is not supported");
}

BATCH_NORM(SyncBatchNorm, check_sync(s, self, in[0]))
