/*
 * cost.h -- what cost rules share; the definition of each count is in
 * shapeprop/COSTS.md. Not installed.
 *
 * A rule adds nothing to guards: it asks only what is known without them.
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

/* Of `n` elements of the type of t. */
cfx_dim cfx_cost_sized(const cfx_call *call, cfx_dim n, const cfx_tensor *t);
/* Of all elements of t, those along an axis of stride 0 once. */
cfx_dim cfx_cost_bytes_of(const cfx_call *call, const cfx_tensor *t);

/* Those that the rule has left open: of all tensors that are read, once each,
 * and of all results; none where nothing is computed. */
void cfx_cost__fill(const cfx_call *call, cfx_cost *cost);

/* How windows go over an axis of n elements. */
typedef struct cfx_cost_axis {
    cfx_dim n, out, kernel, stride, pad, dilation;
} cfx_cost_axis;

/* How many elements of an axis are in any window. */
cfx_dim cfx_cost_window(const cfx_call *call, const cfx_cost_axis *axis);

/* Bytes of x of which windows see a part: `axis` are its last axes. */
cfx_dim cfx_cost_windows(const cfx_call *call, const cfx_tensor *x,
                         const cfx_cost_axis *axis, int naxes);

/* ---- Rules ---- */

/* Of tensors only their shape is looked at. */
void cfx_cost_created(const cfx_call *call, cfx_cost *cost);
/* Of the first tensor numbers are read, of others only type or shape. */
void cfx_cost_first(const cfx_call *call, cfx_cost *cost);

/*
 * Of `n` elements in groups, each group less its mean, over its deviation:
 * a sum of n - 1, a division; a difference, a square and a sum of n - 1 of
 * them, a division; what keeps it from 0, its square root, its reciprocal; a
 * product. So 5 n and 3 for each group, of which 4 are transcendental; and a
 * product and a sum for each element where there are weight and bias.
 */
void cfx_cost_normalize(const cfx_call *call, cfx_cost *cost, cfx_dim groups,
                        bool weight, bool bias);

#endif
