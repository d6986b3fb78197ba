/*
 * batchnorm -- normalize by the statistics of the batch, or running ones.
 */
#include <cfx/ops.h>

#include "nn/module_impl.h"

static cfx_status init(cfx_module *self, cfx_error *err)
{
    cfx_dim n = cfx_attr_dim(self, "num_features");
    cfx_status st = CFX_OK;
    bool affine = cfx_attr_bool(self, "affine");
    if (affine)
        st = cfx_module_param(self, "weight", CFX_F32, 1, &n, err);
    else
        st = cfx_module_no_param(self, "weight", err);
    if (!affine)
        cfx_module__set_attr_take(self, "bias", cfx_bool(false));
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

/* One more batch has been seen. Without a momentum the running statistics are
 * the mean of all batches, whose number only a run can tell. */
static cfx_value count_batch(cfx_scope *s, cfx_module *self)
{
    cfx_value n = cfx_param_of(s, self, "num_batches_tracked");
    cfx_value momentum = cfx_attr(self, "momentum");
    n = cfx_add_(s, n, cfx_int(1));
    if (!cfx_value_is_none(momentum))
        return momentum;
    return cfx_number_truediv(s, cfx_num(1), cfx_item(s, n));
}

extern const cfx_module_type cfx_module__SyncBatchNorm;

/* In training it is for several GPUs. */
static bool check_sync(cfx_scope *s, const cfx_module *self,
                       const cfx_tensor *x)
{
    if (x && x->rank < 2)
        cfx_scope_fail(s, CFX_ESHAPE, "expected at least 2D input (got %dD "
                       "input)", x->rank);
    if (cfx_module_training(self))
        cfx_scope_fail(s, CFX_EUNSUPPORTED, "SyncBatchNorm in training is not "
                       "supported");
    return !cfx_scope_failed(s);
}

/* Ranks of the input that the type takes; of one-dimensional batches, two. */
static bool check_rank(cfx_scope *s, cfx_module *self, const cfx_tensor *x)
{
    int space = cfx_module_schema(self)->name[9] - '0';
    if (cfx_module_type_of(self) == &cfx_module__SyncBatchNorm)
        return check_sync(s, self, x);
    if (x && x->rank != space + 2 && (space > 1 || x->rank != 2))
        cfx_scope_fail(s, CFX_ESHAPE, "expected %s%dD input (got %dD input)",
                       space > 1 ? "" : "2D or ", space + 2, x->rank);
    return !cfx_scope_failed(s);
}

/* One value for each channel has no deviation. */
static bool check_values(cfx_scope *s, const cfx_tensor *x)
{
    cfx_dim n = cfx_dim_int(1);
    for (int i = 0; x && i < x->rank; i++)
        if (i != 1)
            n = cfx_dim_mul(s->env, n, x->shape[i]);
    if (x && !cfx_dim_ne(s->env, n, cfx_dim_int(1)))
        cfx_scope_fail(s, CFX_EINVAL, "Expected more than 1 value per channel "
                       "when training");
    return !cfx_scope_failed(s);
}

/* Statistics of the batch are used in training, and where none are kept. */
static cfx_value forward(cfx_scope *s, cfx_module *self, const cfx_value *in)
{
    bool running = cfx_attr_bool(self, "track_running_stats");
    bool training = cfx_module_training(self) || !running;
    cfx_value momentum = cfx_attr(self, "momentum");
    const cfx_tensor *x = cfx_known(s, in[0]);
    if (!check_rank(s, self, x) || (training && !check_values(s, x)))
        return cfx_none();
    if (running && training)
        momentum = count_batch(s, self);
    else if (cfx_value_is_none(momentum))
        momentum = cfx_num(0);
    return cfx_batch_norm(
        s, in[0], .weight = cfx_param_of(s, self, "weight"),
        .bias = cfx_param_of(s, self, "bias"),
        .running_mean = cfx_param_of(s, self, "running_mean"),
        .running_var = cfx_param_of(s, self, "running_var"),
        .training = cfx_bool(training),
        .momentum = momentum, .eps = cfx_attr(self, "eps"));
}

#define BATCH_NORM(type)                                                      \
    const cfx_module_type cfx_module__##type = {                              \
        .schema = #type "(SymInt num_features, Scalar eps=1e-05, "            \
                  "Scalar? momentum=0.1, bool affine=True, bool "             \
                  "track_running_stats=True, *, bool bias=True)",             \
        .repr = "$num_features eps momentum affine bias "                     \
                "track_running_stats",                                        \
        .doc = "Normalize each channel by running statistics.",               \
        .init = init,                                                         \
        .forward_schema = "forward(Tensor input) -> Tensor",                  \
        .forward = forward,                                                   \
    };

BATCH_NORM(BatchNorm1d)
BATCH_NORM(BatchNorm2d)
BATCH_NORM(BatchNorm3d)
BATCH_NORM(SyncBatchNorm)
