/*
 * onnx_attention.h -- what the rules of ONNX's attention share with those of ONNX
 * Runtime's: attention.c, fused_attention.c. Not installed.
 */
#ifndef CFX_FORMAT_ONNX_ATTENTION_H
#define CFX_FORMAT_ONNX_ATTENTION_H

#include "format/onnx/onnx.h"

typedef struct onnx_heads {
    cfx_value q, k, v; /* [batch, heads, length, size] */
    bool flat;         /* inputs and output have 3 axes */
    double scale;
} onnx_heads;

/* [batch, length, heads * size] as [batch, heads, length, size], and back. */
cfx_value onnx_split_heads(onnx_node *n, cfx_value x, int64_t heads);
cfx_value onnx_merge_heads(onnx_node *n, cfx_value x);
/* Scaled dot product attention, step by step, as far as scaled_dot_product_attention
 * does not have it: scores that are limited by `softcap`, unless that is 0. `mask` is
 * added, or absent. */
cfx_value onnx_attend_by_steps(onnx_node *n, const onnx_heads *a,
                               cfx_value mask, double softcap);

typedef struct onnx_rotary {
    cfx_value cos, sin; /* [batch or 1, length, turned / 2] */
    int64_t turned;   /* elements of a head that are rotated, the first ones */
    bool interleaved; /* pairs are neighbours, else the two halves */
} onnx_rotary;

/* Rotate pairs of [batch, length, heads, size]. */
cfx_value onnx_rotate(onnx_node *n, cfx_value x, const onnx_rotary *r);

#endif
