/*
 * nn_observer.h -- shared by the observers. Not installed.
 */
#ifndef CFX_NN_OBSERVER_H
#define CFX_NN_OBSERVER_H

#include <cfx/observer.h>

/* Parameters for the range in min_val and max_val, of one number or of one a
 * channel. */
cfx_status cfx_observer__by_range(cfx_module *self, cfx_tensor **scale,
                                  cfx_tensor **zero_point, cfx_error *err);
/* Likewise for the best part of the range by the histogram. */
cfx_status cfx_observer__by_histogram(cfx_module *self, cfx_tensor **scale,
                                      cfx_tensor **zero_point, cfx_error *err);
/* Those of the constructor. */
cfx_status cfx_observer__fixed(cfx_module *self, cfx_tensor **scale,
                               cfx_tensor **zero_point, cfx_error *err);

/* The best part of a histogram of n bins between min and max, for `levels`
 * integers: new_min and new_max. Fails with CFX_ENOMEM. */
cfx_status cfx_observer__search(cfx_context *ctx, const float *histogram,
                                int64_t n, float min, float max, double levels,
                                float *new_min, float *new_max,
                                cfx_error *err);

#endif
