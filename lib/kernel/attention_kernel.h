/*
 * attention_kernel.h -- softmax(q k^T * scale + mask) v, one block of rows at a time.
 *
 * q is (batch, heads, l, e), k (batch, heads, s, e), v (batch, heads, s, ev),
 * y (batch, heads, l, ev). The last axis of each is contiguous, the others
 * have strides (0 broadcasts; kv_group shares a key head among query heads). A
 * fully masked row is 0.
 *
 * q, k and v may be uint8 that stand for numbers. The zero point of k is not asked
 * for: it adds the same to all scores of a row, which softmax takes out again.
 */
#ifndef CFX_KERNEL_ATTENTION_H
#define CFX_KERNEL_ATTENTION_H

#include "kernel/kernel.h"

typedef struct cfx_attention {
    cfx_dtype dtype; /* of q, k, v, y and an additive mask; floats */
    /* q, k and v are uint8: dtype is float32, e a multiple of 4 up to
     * CFX_QUANTIZED_DEPTH, k's address and strides are multiples of 4. The scales of q
     * and k are in `scale`. */
    bool bytes;
    int q_zero, v_zero; /* zero points */
    float v_scale;
    int64_t batch, heads;
    int64_t kv_group; /* query head h uses key head h / kv_group; 0 means 1 */
    int64_t l, s, e, ev;
    /* Strides of batch, heads, rows, in elements. */
    const void *q, *k, *v;
    int64_t q_stride[3], k_stride[3], v_stride[3];
    void *y;
    int64_t y_stride[3];
    double scale; /* the factor itself: the caller works out 1 / sqrt(e) */
    bool causal;  /* row i sees columns 0 to i */
    /* (batch, heads, l, s) with four strides, or NULL: added, or, where
     * mask_bool, bytes that are nonzero for what may be seen. */
    const void *mask;
    bool has_mask; /* the workspace follows from this, since metas have no
                      pointer */
    bool mask_bool;
    int64_t mask_stride[4];
    /* The weights after softmax, (batch, heads, l, s) row-major, of `dtype`;
     * or NULL. */
    void *weights;
} cfx_attention;

size_t cfx_attention_workspace(const cfx_context *ctx, const cfx_attention *a);
void cfx_attention_run(cfx_context *ctx, const cfx_attention *a,
                       void *workspace);

#endif
