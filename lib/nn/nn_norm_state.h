/*
 * nn_norm_state.h -- the state that BatchNorm and InstanceNorm share. Not
 * installed.
 */
#ifndef CFX_NORM_STATE_H
#define CFX_NORM_STATE_H

#include "nn/module_impl.h"

/* Declare weight, bias and running statistics by the arguments num_features,
 * affine, bias and track_running_stats. For `init`. */
cfx_status cfx_module__declare_norm(cfx_module *self, cfx_error *err);

/* Is it the name of a running statistic? No other type of torch.nn has a buffer
 * of such a name. */
bool cfx_module__names_statistic(const char *name);

#endif
