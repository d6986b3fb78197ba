/*
 * op_cost.h -- helpers of cost rules; shapeprop/COSTS.md defines the counts. Not
 * installed.
 *
 * A cost rule adds no guards: it uses provable relations only.
 */
#ifndef CFX_OP_COST_H
#define CFX_OP_COST_H

#include "op/infer.h"

/* a * n + b * m. */
cfx_dim cfx_cost_linear(const cfx_call *call, int64_t a, cfx_dim n, int64_t b,
                        cfx_dim m);
/* The product of the extents of axes that are not in the mask. */
cfx_dim cfx_cost_rows(const cfx_call *call, const cfx_tensor *t,
                      uint32_t mask);

/* ---- Bytes ---- */

/* Bytes of `n` elements of t's type. */
cfx_dim cfx_cost_sized(const cfx_call *call, cfx_dim n, const cfx_tensor *t);
/* Bytes of t, those along an axis of stride 0 once. */
cfx_dim cfx_cost_bytes_of(const cfx_call *call, const cfx_tensor *t);

/* Set bytes that the rule has not set: each input tensor once, and all
 * results; none if nothing is computed. */
void cfx_cost__fill(const cfx_call *call, cfx_cost *cost);

/* The windows along an axis of n elements. */
typedef struct cfx_cost_axis {
    cfx_dim n, out, kernel, stride, pad, dilation;
} cfx_cost_axis;

/* The number of elements of an axis that windows cover. */
cfx_dim cfx_cost_window(const cfx_call *call, const cfx_cost_axis *axis);

/* Bytes of x that windows cover: `axis` are its last axes. */
cfx_dim cfx_cost_windows(const cfx_call *call, const cfx_tensor *x,
                         const cfx_cost_axis *axis, int naxes);

/* ---- Rules ---- */

/* For rules that use only the shapes of tensor arguments. */
void cfx_cost_created(const cfx_call *call, cfx_cost *cost);
/* For rules that read the data of the first tensor only. */
void cfx_cost_first(const cfx_call *call, cfx_cost *cost);

/*
 * Normalization of `n` elements in groups: mean (n - 1 sums, a division),
 * variance (differences, squares, n - 1 sums, a division), eps, square root,
 * reciprocal, and a product for each element. So 5 n and 3 for each group, of
 * which 4 are transcendental; weight and bias add a product and a sum for each
 * element.
 */
void cfx_cost_normalize(const cfx_call *call, cfx_cost *cost, cfx_dim groups,
                        bool weight, bool bias);

#endif
