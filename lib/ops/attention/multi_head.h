/*
 * multi_head.h -- attention with several heads, over a scope. Not installed.
 *
 * Implements torch.nn.functional.multi_head_attention_forward for the operator
 * of that name and for the module MultiheadAttention, which differ in the call
 * of the last projection.
 */
#ifndef CFX_MULTI_HEAD_H
#define CFX_MULTI_HEAD_H

#include <cfx/scope.h>

/* Optional members are None. */
typedef struct cfx_multi_head {
    cfx_value x[3]; /* query, key and value: (L, N, E) or (L, E) */
    cfx_value embed_dim;
    int64_t heads;
    cfx_value in_weight;          /* (3 E, E); None: one for each input */
    cfx_value own_weight[3];      /* (E, extent of that input) */
    cfx_value in_bias;            /* (3 E) */
    cfx_value bias_k, bias_v;     /* (1, 1, E): one more key and value */
    cfx_value static_k, static_v; /* (N * heads, S, E / heads), in their
                                     place */
    bool add_zero_attn;
    double dropout;         /* 0 out of training */
    cfx_value padding_mask; /* (N, S) */
    cfx_value attn_mask;    /* (L, S) or (N * heads, L, S) */
    bool need_weights, average_weights, causal;

    /* Made by cfx_multi_head_attend. */
    bool batched;
    cfx_value rows, batch, weights;
} cfx_multi_head;

/* Are two tensors one? */
CFX_INLINE bool cfx_multi_head_same(cfx_value a, cfx_value b)
{
    return a.kind == b.kind && a.u.tensor == b.u.tensor;
}

/* The concatenated results of the heads: (L * N, E), for the last
 * projection. */
cfx_value cfx_multi_head_attend(cfx_scope *s, cfx_multi_head *m);
/* The projected result in the layout of the query; and the weights or None. */
cfx_value cfx_multi_head_finish(cfx_scope *s, const cfx_multi_head *m,
                                cfx_value y);

#endif
