/*
 * view.h -- results that are views of the argument. Not installed.
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
/* A view as a separate value, for lists. */
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

/* Diagonal `offset` of the matrices that two axes span: a last axis in their
 * place. */
cfx_status cfx_view_diagonal(cfx_call *call, cfx_view *v, cfx_dim offset,
                             int64_t dim1, int64_t dim2);

/* Result number 0: part 0 or 1 of the complex tensor that parameter 0 is; of a
 * real one, itself is part 0, and there is no other. */
cfx_status cfx_view_part(cfx_call *call, int part);

/* An axis in front of axis `axis` with the stride that unsqueeze gives it. */
cfx_status cfx_view_unsqueeze(cfx_call *call, cfx_view *v, int axis);

/* Result number call->nout: a new tensor with the very strides of parameter k,
 * gaps included; dense where its elements overlap. */
cfx_status cfx_view_out_strided_like(cfx_call *call, int k);

/* PyTorch's suggest_memory_format: the order that the strides fall in, if that
 * is the channels' last. */
cfx_memory_format cfx_view_format(cfx_shape_env *env, const cfx_view *v);
/* A batch of images or volumes: unsqueeze(-2) makes images of rows, after
 * unsqueeze(0) has made a batch. */
void cfx_view_images(cfx_shape_env *env, cfx_view *v, const cfx_tensor *t,
                     bool batched);
/* Does suggest_memory_format say channels_last, or channels_last_3d, of a
 * batch of rows, images or volumes? */
bool cfx_view_is_last(cfx_shape_env *env, const cfx_tensor *x);
/* Are x and y both dense with their channels last, and not row-major? */
bool cfx_view_both_last(const cfx_tensor *x, const cfx_tensor *y);
/* Dense strides with axis 1 innermost, of one to three spatial axes. */
void cfx_view_last_strides(cfx_shape_env *env, int rank, const cfx_dim *shape,
                           cfx_dim *stride);
/* Result number call->nout: row-major, or with the channels last. */
cfx_status cfx_view_out_format(cfx_call *call, cfx_dtype dtype, int rank,
                               const cfx_dim *shape, bool last);

/* Is a tensor dense in the order of a memory format? */
bool cfx_view_is_dense(const cfx_tensor *x, cfx_memory_format format);
/* The memory format that parameter k is; `otherwise` for None. */
cfx_memory_format cfx_view_format_arg(const cfx_call *call, int k,
                                      cfx_memory_format otherwise);
/* Fail for a memory format of tensors of another rank. */
cfx_status cfx_view_check_format(cfx_call *call, cfx_memory_format format,
                                 int rank);
/* Result number call->nout: in a memory format, which does not preserve. */
cfx_status cfx_view_out_in_format(cfx_call *call, cfx_dtype dtype,
                                  cfx_memory_format format, int rank,
                                  const cfx_dim *shape);
/* Result number call->nout: with the extents of parameter 0. */
cfx_status cfx_view_out_like(cfx_call *call, cfx_dtype dtype,
                             cfx_memory_format format);

/* Clamp an index to 0 .. n, after adding n to a negative one. */
cfx_dim cfx_view_clip(cfx_shape_env *env, cfx_dim at, cfx_dim n);

/* ---- For `run` ---- */

/* Copy part of x to part of y, of as many axes; extents are those of `to`.
 * Strides may be negative. */
void cfx_view_assign(cfx_context *ctx, const cfx_tensor *y, const cfx_view *to,
                     const cfx_tensor *x, const cfx_view *from);

#endif
