/*
 * pack_winograd.h -- 3x3 convolutions for blocked_winograd_conv2d. Not installed.
 */
#ifndef CFX_PASSES_LOWER_PACK_WINOGRAD_H
#define CFX_PASSES_LOWER_PACK_WINOGRAD_H

#include <cfx/scope.h>

/* True if Winograd's algorithm is faster than the direct one for a 3x3 convolution
 * of stride 1 without groups, whose result y (N, O, H, W) has known extents. With
 * `pairs` both multiply in bfloat16. */
bool cfx_winograd__wins(const cfx_tensor *weight, const cfx_tensor *y,
                        bool pairs);

/* Transform a weight in blocks, (O, I, 3, 3, 16 in, 16 out), to (36, O, I, 16 in,
 * 16 out), or for pairs to bfloat16, (16, O, I, 8 in, 16 out, 2 in). */
cfx_value cfx_winograd__pack(cfx_scope *s, cfx_value weight, bool pairs);

#endif
