/*
 * torchvision.h -- decompositions of functions of torchvision. Not installed.
 */
#ifndef CFX_OPS_TORCHVISION_H
#define CFX_OPS_TORCHVISION_H

#include <cfx/scope.h>

/* Record the calls that the function makes. `in` has its arguments in the order of the
 * schema. Returns None, and records nothing, unless the first one's shape is known and has
 * no symbols. */
cfx_value cfx_decompose_patch_merging_pad(cfx_scope *s, const cfx_value *in);
cfx_value cfx_decompose_shifted_window_attention(cfx_scope *s,
                                                 const cfx_value *in);

#endif
