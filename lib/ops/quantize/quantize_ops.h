/*
 * quantize_ops.h -- checks that the quantizing operators share. Not installed.
 */
#ifndef CFX_OPS_QUANTIZE_H
#define CFX_OPS_QUANTIZE_H

#include "op/composite.h"

/* x as a type. */
cfx_value cfx_quantize_as(cfx_scope *s, cfx_value x, cfx_dtype type);

/* Fail unless a type is one that numbers are quantized to, and least..most is
 * in its range. */
bool cfx_quantize_check_range(cfx_scope *s, cfx_dtype type, int64_t least,
                              int64_t most);
/* Fail unless x is float32, after float16 and bfloat16 became it. */
cfx_value cfx_quantize_input(cfx_scope *s, cfx_value x);

/* The shape of x with extent `n` on one axis and 1 on all others. */
cfx_value cfx_quantize_along(cfx_scope *s, const cfx_tensor *x, int axis,
                             cfx_dim n);

/* Numbers x become scale * (clamp(zero + x * inverse) - zero), rounded. */
typedef struct cfx_fake_affine {
    float scale, inverse, zero;
    double least, most;
    bool rounds_sum; /* the zero point is no integer: it is added first */
    bool wraps;      /* what is beyond an int64 becomes the lower end */
} cfx_fake_affine;

/* n numbers of a floating type; mask (may be NULL): which were in range. */
void cfx_fake_quantize_row(const cfx_fake_affine *a, cfx_dtype type,
                           const char *x, char *y, uint8_t *mask, int64_t n);

#endif
