/*
 * attention_packed.h -- the products of attention with packed keys and values.
 *
 * The keys of a head are (s / 16, e, 16), the values (ev / 16, s, 16), zeros past
 * the last: so each product is one of rows with packed weights, whose tiles are
 * those of kernel/blocked. All are float. Keys of uint8 become int8, (s / 16, e / 4,
 * 16, 4), with an offset and a scale for each.
 */
#ifndef CFX_KERNEL_ATTENTION_PACKED_H
#define CFX_KERNEL_ATTENTION_PACKED_H

#include "kernel/attention_kernel.h"

typedef struct cfx_attention_packing {
    const cfx_context *ctx;
    const cfx_kernels *kernels;
    int64_t s, e, ev;
    int64_t row; /* elements from row to row of the scores */
    double scale;
    bool bytes; /* q, k and v are uint8 */
    int q_zero, v_zero;
    float v_scale;
} cfx_attention_packing;

/* Is packing worth while? It takes some rows, and floats. */
bool cfx_attention_packs(const cfx_attention *a);
cfx_attention_packing cfx_attention_packing_of(const cfx_context *ctx,
                                               const cfx_attention *a);

/* Bytes of the packed keys, the packed values, and a tile of y. */
size_t cfx_attention_packed_size(const cfx_attention_packing *p);

/* Pack k (s, e) times the scale, and v (s, ev), whose rows lie k_row and v_row elements apart. */
void cfx_attention_pack(const cfx_attention_packing *p, float *packed,
                        const void *k, int64_t k_row, const void *v,
                        int64_t v_row);

/* Numbers that are added to scores, with whole blocks in each row; NULL: none. */
typedef struct cfx_attention_mask {
    const float *data;
    int64_t row; /* elements from row to row; 0: all are one */
} cfx_attention_mask;

/* scores(rows, seen) = q(rows, e) k^T * scale + mask; more columns may be written, up
 * to whole blocks. With bytes there is no mask, and each row of scores lacks a number
 * of its own. */
void cfx_attention_scores(const cfx_attention_packing *p, float *packed,
                          int64_t rows, int64_t seen, const void *q,
                          int64_t q_row, cfx_attention_mask mask,
                          float *scores);

/* y(rows, ev) = weights(rows, seen) v. Uses the tile after the packed values. */
void cfx_attention_values(const cfx_attention_packing *p, float *packed,
                          int64_t rows, int64_t seen, const float *weights,
                          float *y, int64_t y_row);

#endif
