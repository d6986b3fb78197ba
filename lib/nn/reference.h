/*
 * reference.h -- the weights of torch.ao's reference modules. Not installed.
 */
#ifndef CFX_NN_REFERENCE_H
#define CFX_NN_REFERENCE_H

#include <cfx/module.h>

/* For their descriptors. */
#define CFX_REFERENCE_ARGS ", ScalarType weight_dtype=int8"
#define CFX_REFERENCE_TYPE                                                    \
    .lazy = "weight_dtype", .resized = "weight_scale weight_zero_point"

/* Declare weight_scale, weight_zero_point and weight_axis. */
cfx_status cfx_reference__init(cfx_module *self, cfx_error *err);
/* The weight, quantized and back; in a scope without data as it is. */
cfx_value cfx_reference__weight(cfx_scope *s, cfx_module *self);

#endif
