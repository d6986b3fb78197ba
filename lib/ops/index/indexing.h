/*
 * indexing.h -- x[...]: views, and elements selected by index tensors. Not
 * installed.
 *
 * Indexing is planned in two steps. First, basic items (ints, slices, None,
 * ...) make a view. Then the index tensors, if any, are broadcast against each
 * other and replace the axes that they index: at the first if these are
 * adjacent, else in front.
 */
#ifndef CFX_INDEXING_H
#define CFX_INDEXING_H

#include "ops/shape/view.h"

typedef struct cfx_index_item {
    cfx_tensor *t; /* of ints, a share; NULL where an axis has no index */
} cfx_index_item;

typedef struct cfx_index_plan {
    cfx_view base; /* what the index tensors are applied to */
    cfx_index_item index[CFX_MAX_RANK]; /* one for each axis of base */
    int count;                          /* of index tensors */
    int rank;                           /* of the result */
    cfx_dim shape[CFX_MAX_RANK];
    int index_rank; /* axes of the result that the indices give */
    int first;      /* the first of them */
} cfx_index_plan;

/* Plan x[index] of Python, for the tensor x that parameter 0 is. */
cfx_status cfx_index_plan_python(cfx_call *call, cfx_index_plan *p,
                                 cfx_value index);
/* For a list of tensors and None, as in ATen's index. */
cfx_status cfx_index_plan_tensors(cfx_call *call, cfx_index_plan *p,
                                  cfx_value list);

/* Zeroed and released plans are allowed. */
void cfx_index_plan_release(cfx_index_plan *p);

/* infer: the new tensor that x[index tensors] is. */
cfx_status cfx_index_plan_out(cfx_call *call, const cfx_index_plan *p,
                              cfx_dtype dtype);

/* y = x[...], and x[...] = or += y, where y is broadcast to the plan's shape
 * and of the type of x. */
cfx_status cfx_index_plan_get(cfx_call *call, const cfx_index_plan *p,
                              const cfx_tensor *x, const cfx_tensor *y);
cfx_status cfx_index_plan_put(cfx_call *call, const cfx_index_plan *p,
                              const cfx_tensor *x, const cfx_tensor *y,
                              bool add);

#endif
