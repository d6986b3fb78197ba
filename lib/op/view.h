/*
 * view.h -- results that are the argument seen in another way. Not installed.
 */
#ifndef CFX_VIEW_H
#define CFX_VIEW_H

#include <cfx/op.h>

/* Extents, strides and offset of a view that is being worked out. */
typedef struct cfx_view {
    int rank;
    cfx_dim shape[CFX_MAX_RANK], stride[CFX_MAX_RANK];
    cfx_dim offset;
} cfx_view;

/* A view that is the whole tensor. */
void cfx_view_begin(cfx_view *v, const cfx_tensor *t);

/* Result number call->nout: that view of the tensor that parameter k is. */
cfx_status cfx_view_out(cfx_call *call, int k, const cfx_view *v);
/* The same as a value of its own, for lists. */
cfx_status cfx_view_new(cfx_call *call, cfx_value *out, int k,
                        const cfx_view *v);

/* Axis i of the view becomes what was axis perm[i]. */
void cfx_view_permute(cfx_view *v, const int *perm);
void cfx_view_swap(cfx_view *v, int a, int b);
/* Take an axis away; put one in. */
void cfx_view_remove(cfx_view *v, int axis);
cfx_status cfx_view_insert(cfx_call *call, cfx_view *v, int axis,
                           cfx_dim extent, cfx_dim stride);

/* Element `index` of an axis, which goes; negative from the end. */
cfx_status cfx_view_select(cfx_call *call, cfx_view *v, int axis,
                           cfx_dim index);
/* Elements start, start + step, ... below end of an axis, as Python cuts: what
 * is out of range is moved to the ends. start and end may be None. */
cfx_status cfx_view_slice(cfx_call *call, cfx_view *v, int axis,
                          cfx_value start, cfx_value end, cfx_value step);

/* What is the same as an extent, made at least 0 and at most n after counting
 * negative ones from the end. */
cfx_dim cfx_view_clip(cfx_shape_env *env, cfx_dim at, cfx_dim n);

#endif
