/*
 * torchvision.h -- decompositions of functions of torchvision. Not installed.
 */
#ifndef CFX_OPS_TORCHVISION_H
#define CFX_OPS_TORCHVISION_H

#include <cfx/scope.h>

/* Of the arguments in the order of the schema; None if the first one's shape is not
 * known in numbers. */
cfx_value cfx_decompose_patch_merging_pad(cfx_scope *s, const cfx_value *in);
cfx_value cfx_decompose_shifted_window_attention(cfx_scope *s,
                                                 const cfx_value *in);

#endif
