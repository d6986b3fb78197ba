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

/* torch.result_type of the tensors and numbers among arguments `from`..`to`:
 * tensors with axes outrank those without, which outrank numbers of the same
 * category. */
cfx_dtype cfx_infer_type(const cfx_call *call, int from, int to);
/* Like cfx_infer_type, with float32 in place of an integer type. */
cfx_dtype cfx_infer_float_type(const cfx_call *call, int from, int to);
/* Fail with PyTorch's message that there is no kernel for a type; the second
 * accepts floating types, the third complex ones too. */
cfx_status cfx_infer_refuse(const cfx_call *call, cfx_dtype type);
cfx_status cfx_infer_need_float(const cfx_call *call, cfx_dtype type);
cfx_status cfx_infer_need_inexact(const cfx_call *call, cfx_dtype type);
/* The type of a Python number: bool, int64 or float32. */
cfx_dtype cfx_value_dtype(cfx_value v);

/* Fail if the elements of a tensor to be written overlap in memory. */
cfx_status cfx_infer_written(const cfx_call *call, const cfx_tensor *t);

/* ---- Numbers ---- */

/* The number at `p`, an element of the type. */
cfx_value cfx_infer_number_at(cfx_dtype type, const void *p);
/* An unknown number, which depends on data. An integer is a new symbol, since
 * it may become an extent; a float is NaN. Fails for a bool, and without a
 * shape environment. */
cfx_status cfx_infer_unknown_number(cfx_call *call, cfx_dtype type,
                                    cfx_value *out);
/* A new symbol for an extent that depends on data. Fails without a shape
 * environment. */
cfx_status cfx_infer_unknown_extent(cfx_call *call, cfx_dim *out);
/* Is a float unknown? It passes range checks. */
bool cfx_infer_is_unknown(const cfx_call *call, double x);

/* Truncate a number to an integer type, which must hold it; unknown ones stay
 * unknown. */
cfx_status cfx_infer_cut(cfx_call *call, double v, cfx_dtype type,
                         double *out);

/* The number in a tensor of one element; if it is unknown, NaN or a new
 * symbol. Fails for an unknown bool. */
cfx_status cfx_infer_number(cfx_call *call, const cfx_tensor *t,
                            cfx_value *out);
/* Python's __index__: the number in a tensor of one integer; other values
 * unchanged. */
cfx_status cfx_infer_index(cfx_call *call, cfx_value v, cfx_value *out);

/* Is it a number, a bool or a symbol? */
bool cfx_infer_is_number(cfx_value v);

/* Return None from a rule. */
cfx_status cfx_infer_none(cfx_call *call);

/* Fail for an int beyond 64 bits, or for an index out of the range of an axis
 * of extent n. */
cfx_status cfx_infer_overflow(cfx_call *call);
cfx_status cfx_infer_out_of_range(cfx_call *call, int64_t bad, int axis,
                                  int64_t n);

/* ---- Shapes ---- */

/* Is an extent known to be 0? */
bool cfx_infer_is_empty(const cfx_tensor *t);

/* n extents from the list in parameter k; the last one is repeated. An empty
 * list leaves `out` unchanged. */
void cfx_infer_spatial(const cfx_call *call, int k, int n, cfx_dim *out);

/* floor(in * factor), the argument `name` of a call: of symbols for a ratio of
 * small integers, else it fails with CFX_EUNSUPPORTED. */
cfx_status cfx_infer_scaled(cfx_call *call, cfx_dim in, cfx_value factor,
                            const char *name, cfx_dim *out);

/* Broadcast `shape` (of *rank) with another; fails with PyTorch's message. */
cfx_status cfx_infer_broadcast(const cfx_call *call, int *rank, cfx_dim *shape,
                               int other_rank, const cfx_dim *other);

/* The result of a pointwise operator over the tensors among arguments
 * `from`..`to`: broadcast shape, strides by TensorIterator's rules. */
cfx_status cfx_infer_pointwise(cfx_call *call, int from, int to,
                               cfx_dtype dtype);

/* Like cfx_infer_pointwise, but the tensors before `convert` are read in the
 * types that they have; the others are converted to the common type first. */
cfx_status cfx_infer_converted(cfx_call *call, int from, int convert, int to,
                               cfx_dtype dtype);
/* A result like torch.empty_like(x): its shape and strides; if x is not dense,
 * dense strides in the same order. */
cfx_status cfx_infer_like(cfx_call *call, const cfx_tensor *x,
                          cfx_dtype dtype);

/* The axes of a reduction from an `int[]? dim` argument, as a mask; None and
 * [] mean all. Fails for an axis that is out of range or given twice. */
cfx_status cfx_infer_axes(const cfx_call *call, int k, int rank,
                          uint32_t *mask);

/* The shape of x after a reduction over the masked axes. */
int cfx_infer_reduced(const cfx_tensor *x, uint32_t mask, bool keepdim,
                      cfx_dim *shape);

/* Product of extents. */
cfx_dim cfx_infer_numel(cfx_shape_env *env, int rank, const cfx_dim *shape);

/* Can `shape` (of as many elements) be a view of x? Symbols may leave it
 * unknown, unless `guards` may be added. */
typedef enum cfx_viewable {
    CFX_NO_VIEW,
    CFX_A_VIEW,
    CFX_VIEW_UNKNOWN
} cfx_viewable;
cfx_viewable cfx_infer_view(cfx_shape_env *env, const cfx_tensor *x, int rank,
                            const cfx_dim *shape, cfx_dim *stride,
                            bool guards);

/* A shape from the list in parameter k; one -1 is inferred from `numel`. */
cfx_status cfx_infer_size(cfx_call *call, int k, cfx_dim numel, int *rank,
                          cfx_dim *shape);

/* ---- Costs ---- */

/* Elements of result i, as an extent. */
cfx_dim cfx_cost_numel(const cfx_call *call, const cfx_tensor *t);
/* `steps` operations for each element of the first result, `transcendental` of
 * them. */
void cfx_cost_pointwise(const cfx_call *call, cfx_cost *cost, int steps,
                        int transcendental);

#endif
