/*
 * infer.h -- rules that many operators share: broadcasting, type promotion,
 * the strides of results. Not installed.
 *
 * Arguments `from`..`to` (not included) are counted in the schema's order; a
 * parameter `k` is one of the operator's list.
 */
#ifndef CFX_INFER_H
#define CFX_INFER_H

#include <cfx/op.h>

/* ---- Types ---- */

/* torch.result_type over the tensor and number arguments `from`..`to` of a
 * call: tensors with axes outrank those without, which outrank
 * numbers of the same category. */
cfx_dtype cfx_infer_type(const cfx_call *call, int from, int to);
/* The same, where the result is a float32 if it would be an integer. */
cfx_dtype cfx_infer_float_type(const cfx_call *call, int from, int to);
/* Fail because there is no kernel for a type, in PyTorch's words; and the same
 * unless it is floating. */
cfx_status cfx_infer_refuse(const cfx_call *call, cfx_dtype type);
cfx_status cfx_infer_need_float(const cfx_call *call, cfx_dtype type);
/* What a number alone is: bool, int64 or float32. */
cfx_dtype cfx_value_dtype(cfx_value v);

/* Fail for a tensor that is to be written to where several of its elements lie
 * in one place. */
cfx_status cfx_infer_written(const cfx_call *call, const cfx_tensor *t);

/* ---- Numbers ---- */

/* The number at `p`, an element of the type. */
cfx_value cfx_infer_number_at(cfx_dtype type, const void *p);
/* Stands for a number that only a run knows. An integer is a new symbol, since
 * it may become an extent; a float, which no shape depends on, is NaN. Fails for
 * a bool, and without a shape environment. */
cfx_status cfx_infer_unknown_number(cfx_call *call, cfx_dtype type,
                                    cfx_value *out);
/* A new symbol for an extent that only a run knows. Fails without a shape
 * environment. */
cfx_status cfx_infer_unknown_extent(cfx_call *call, cfx_dim *out);
/* Is a float one that only a run knows? It passes checks of its range. */
bool cfx_infer_is_unknown(const cfx_call *call, double x);

/* A number without its fraction, which an integer type must hold; unknown ones
 * stay unknown. */
cfx_status cfx_infer_cut(cfx_call *call, double v, cfx_dtype type,
                         double *out);

/* The number that a tensor of one element holds; where only a run knows it, an
 * unknown float or a new symbol. Fails for a bool that is not known. */
cfx_status cfx_infer_number(cfx_call *call, const cfx_tensor *t,
                            cfx_value *out);
/* Python's __index__ of a value: of a tensor of one integer its number, other
 * values as they are. */
cfx_status cfx_infer_index(cfx_call *call, cfx_value v, cfx_value *out);

/* Is it a number, a bool or a symbol? */
bool cfx_infer_is_number(cfx_value v);

/* The result None. */
cfx_status cfx_infer_none(cfx_call *call);

/* Fail for an int beyond 64 bits, and for an index that an axis of extent n
 * does not have. */
cfx_status cfx_infer_overflow(cfx_call *call);
cfx_status cfx_infer_out_of_range(cfx_call *call, int64_t bad, int axis,
                                  int64_t n);

/* ---- Shapes ---- */

/* Is an extent known to be 0? */
bool cfx_infer_is_empty(const cfx_tensor *t);

/* n extents from the list that parameter k is: its last one stands for those
 * that it lacks. An empty list leaves `out` as it is. */
void cfx_infer_spatial(const cfx_call *call, int k, int n, cfx_dim *out);

/* Broadcast `shape` (of *rank) with another; PyTorch's sentence on failure. */
cfx_status cfx_infer_broadcast(const cfx_call *call, int *rank, cfx_dim *shape,
                               int other_rank, const cfx_dim *other);

/* One result of a pointwise operator over the tensors among arguments
 * `from`..`to`: their broadcast shape, strides by TensorIterator's rules. */
cfx_status cfx_infer_pointwise(cfx_call *call, int from, int to,
                               cfx_dtype dtype);

/* Like cfx_infer_pointwise, but the tensors before `convert` are read in the
 * types that they have; the others are converted to the common type first. */
cfx_status cfx_infer_converted(cfx_call *call, int from, int convert, int to,
                               cfx_dtype dtype);
/* One result with the shape of x and, as torch.empty_like has them, its
 * strides; where it is not dense, dense ones in the same order. */
cfx_status cfx_infer_like(cfx_call *call, const cfx_tensor *x,
                          cfx_dtype dtype);

/* The axes of a reduction from an `int[]? dim` argument, as a mask; None and
 * [] mean all. Fails for an axis that is out of range or given twice. */
cfx_status cfx_infer_axes(const cfx_call *call, int k, int rank,
                          uint32_t *mask);

/* The shape that is left of x when the masked axes are reduced. */
int cfx_infer_reduced(const cfx_tensor *x, uint32_t mask, bool keepdim,
                      cfx_dim *shape);

/* Product of extents. */
cfx_dim cfx_infer_numel(cfx_shape_env *env, int rank, const cfx_dim *shape);

/* Are there strides with which `shape` (of as many elements) views the memory
 * of x? Symbols do not always tell; `guards` allows to ask of them. */
typedef enum cfx_viewable { CFX_NO_VIEW, CFX_A_VIEW, CFX_VIEW_UNKNOWN }
    cfx_viewable;
cfx_viewable cfx_infer_view(cfx_shape_env *env, const cfx_tensor *x, int rank,
                            const cfx_dim *shape, cfx_dim *stride, bool guards);

/* A shape from the list that parameter k is, in which one -1 stands for what
 * `numel` elements leave. */
cfx_status cfx_infer_size(cfx_call *call, int k, cfx_dim numel, int *rank,
                          cfx_dim *shape);

/* ---- Costs ---- */

/* Elements of result i, as an extent. */
cfx_dim cfx_cost_numel(const cfx_call *call, const cfx_tensor *t);
/* `steps` operations for each element of the first result, of which
 * `transcendental` are such. */
void cfx_cost_pointwise(const cfx_call *call, cfx_cost *cost, int steps,
                        int transcendental);

#endif
