/*
 * nn_norm_state -- the state that BatchNorm and InstanceNorm share.
 */
#include "nn/nn_norm_state.h"

static const struct statistic {
    const char *name;
    cfx_dtype dtype;
    int rank;
} statistics[] = {
    {"running_mean", CFX_F32, 1},
    {"running_var", CFX_F32, 1},
    {"num_batches_tracked", CFX_I64, 0},
};

enum { STATISTICS = sizeof(statistics) / sizeof(*statistics) };

static cfx_status declare_param(cfx_module *self, const char *name, bool has,
                                const cfx_dim *n, cfx_error *err)
{
    return has ? cfx_module_param(self, name, CFX_F32, 1, n, err)
               : cfx_module_no_param(self, name, err);
}

/* A bias goes with a weight; without one it is printed as False. */
cfx_status cfx_module__declare_norm(cfx_module *self, cfx_error *err)
{
    cfx_dim n = cfx_attr_dim(self, "num_features");
    bool weight = cfx_attr_bool(self, "affine");
    bool bias = weight && cfx_attr_bool(self, "bias");
    bool running = cfx_attr_bool(self, "track_running_stats");
    cfx_module__set_attr_take(self, "bias", cfx_bool(bias));
    cfx_status st = declare_param(self, "weight", weight, &n, err);
    if (!st)
        st = declare_param(self, "bias", bias, &n, err);
    for (int i = 0; i < STATISTICS && !st; i++) {
        const struct statistic *s = &statistics[i];
        st = running
                 ? cfx_module_buffer(self, s->name, s->dtype, s->rank, &n, err)
                 : cfx_module_no_param(self, s->name, err);
    }
    return st;
}

bool cfx_module__names_statistic(const char *name)
{
    for (int i = 0; i < STATISTICS; i++)
        if (!strcmp(name, statistics[i].name))
            return true;
    return false;
}
