/*
 * blocked_packed_weight.h -- the forms of packed weights of matrices (N, K), whose N rows
 * lie side by side in blocks of 16.
 *
 *     float32   (ceil(N / 16), K, 16)
 *     bfloat16  (ceil(N / 16), K / 2, 16, 2)
 *     int8      (ceil(N / 16), K / 4, 16, 4)
 *     int4      (ceil(N / 16), K / 8, 16, 4), uint8: two in a byte, the first in its
 *               lower half, 8 added
 *
 * Integers have a scale of float32: (16 * ceil(N / 16)), or with groups of the K
 * that have their own, (ceil(N / 16), groups, 16). They may have zero points, one for
 * each scale, in the form of a weight whose K is the groups, rounded up. Not installed.
 */
#ifndef CFX_OPS_BLOCKED_PACKED_WEIGHT_H
#define CFX_OPS_BLOCKED_PACKED_WEIGHT_H

#include "kernel/blocked/packed.h"
#include "op/op_impl.h"

/* The types that a weight may have besides float32, as bits (1 << dtype). */
enum { CFX_PACKED_TYPES = 1 << CFX_BF16 | 1 << CFX_I8 | 1 << CFX_U8 };

/* The K of a weight. */
cfx_dim cfx_packed_depth(const cfx_call *call, const cfx_tensor *w);
/* Check the form of a weight for N rows. Fails with CFX_ESHAPE. */
cfx_status cfx_packed_check(const cfx_call *call, const cfx_tensor *w,
                            cfx_dim rows);
/* Check the scale of a weight; NULL: none. Fails with CFX_EINVAL where a weight has
 * to have one, or must not; CFX_EDTYPE, CFX_ESHAPE. */
cfx_status cfx_packed_check_scale(const cfx_call *call, const cfx_tensor *w,
                                  const cfx_tensor *scale);
/* Check the zero points of a weight with a checked scale; NULL: none. Fails likewise. */
cfx_status cfx_packed_check_zero(const cfx_call *call, const cfx_tensor *w,
                                 const cfx_tensor *scale,
                                 const cfx_tensor *zero);
/* The groups of the K; 1 without a scale. */
cfx_dim cfx_packed_groups(const cfx_tensor *scale);
/* How kernels multiply a weight. */
cfx_blocked_type cfx_packed_type(const cfx_call *call, const cfx_tensor *w);

#endif
