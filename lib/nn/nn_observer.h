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
/* Likewise for a percentage of the numbers, and for the part that loses the least
 * information. */
cfx_status cfx_observer__by_percentile(cfx_module *self, cfx_tensor **scale,
                                       cfx_tensor **zero_point,
                                       cfx_error *err);
cfx_status cfx_observer__by_entropy(cfx_module *self, cfx_tensor **scale,
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

/* n bins between min and max. */
typedef struct cfx_histogram {
    const float *bin;
    int64_t n;
    float min, max;
} cfx_histogram;

/* The range without the numbers at both ends that are beyond a percentage of all. */
void cfx_observer__percentile(const cfx_histogram *h, double percentage,
                              float *min, float *max);
/* The range whose numbers, in `levels` steps, diverge least from all numbers. */
void cfx_observer__entropy(const cfx_histogram *h, int64_t levels, float *min,
                           float *max);

#endif
