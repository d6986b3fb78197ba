/*
 * blocked_range.h -- the numbers that a result of uint8 may have: arguments zero_point,
 * quant_min and quant_max of the operators on uint8.
 */
#ifndef CFX_BLOCKED_RANGE_H
#define CFX_BLOCKED_RANGE_H

#include "kernel/blocked/quantized.h"
#include "op/op_impl.h"

typedef struct cfx_blocked_range {
    int zero_point;
    float lo, hi; /* before it is added */
} cfx_blocked_range;

/* The parameters are indices of the call's. Fails with CFX_EINVAL. */
cfx_status cfx_blocked_check_range(const cfx_call *call, int zero_point,
                                   int quant_min, int quant_max);
cfx_blocked_range cfx_blocked_range_of(const cfx_call *call, int zero_point,
                                       int quant_min, int quant_max);
/* The sum that a call of quantized_add computes, without y. */
cfx_quantized_sum cfx_quantized_sum_of(const cfx_call *call);
/* Fails with CFX_EDTYPE unless a tensor has that type. */
cfx_status cfx_blocked_check_type(const cfx_call *call, int param,
                                  cfx_dtype dtype);

#endif
