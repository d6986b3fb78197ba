/*
 * compiler -- operators that PyTorch's compiler and its decompositions write:
 * _unsafe_masked_index, as_strided_scatter, nonzero_static, _safe_softmax, ...
 *
 * shape   that of the operators they stand for.
 * cost    that of the operators they consist of.
 */
#include <math.h>

#include "op/composite.h"
#include "op/infer.h"

CFX_PARAMS(params, SELF, MASK, INDICES, FILL, VALUES, SRC, SIZE, STRIDE,
           STORAGE_OFFSET, FILL_VALUE, DIM, DTYPE, TENSORS, NUM_CHUNKS);

#define IN(k) cfx_call_value(call, k)

/* ---- Indices that are only right where a mask is true ---- */

/* The indices, moved into the range of their axes. */
static cfx_value safe_indices(cfx_scope *s, const cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_value item[CFX_MAX_RANK];
    int n = cfx_call_len(call, INDICES);
    if (n > x->rank)
        return cfx_scope_fail(s, CFX_EINVAL,
                              "too many indices for tensor of dimension %d",
                              x->rank);
    for (int i = 0; i < n; i++) {
        cfx_value most = cfx_value_of_dim(
            cfx_dim_sub(call->env, x->shape[i], cfx_dim_int(1)));
        item[i] = cfx_call_item(call, INDICES, i);
        if (item[i].kind == CFX_TENSOR)
            item[i] = CFX_CALL(s, "torch.clamp", item[i], cfx_int(0), most);
    }
    return cfx_list_of(s, CFX_LIST, (size_t)n, item);
}

static cfx_value _unsafe_masked_index_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value y = CFX_CALL(s, "aten.index.Tensor", IN(SELF),
                           safe_indices(s, call));
    return CFX_CALL(s, "torch.masked_fill", y,
                    CFX_CALL(s, "torch.logical_not", IN(MASK)), IN(FILL));
}

static cfx_value _unsafe_masked_index_put_accumulate_build(
    cfx_scope *s, const cfx_call *call)
{
    cfx_value v = CFX_CALL(s, "torch.masked_fill", IN(VALUES),
                           CFX_CALL(s, "torch.logical_not", IN(MASK)),
                           cfx_int(0));
    return CFX_CALL(s, "aten.index_put.default", IN(SELF),
                    safe_indices(s, call), v, cfx_bool(true));
}

/* ---- Others ---- */

static cfx_value as_strided_scatter_build(cfx_scope *s, const cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_value offset = IN(STORAGE_OFFSET);
    if (!(x->flags & CFX_TENSOR_DENSE) || !cfx_dim_is(x->offset, 0))
        return cfx_scope_fail(
            s, CFX_EUNSUPPORTED,
            "as_strided_scatter: self must not be a view of part of a tensor");
    cfx_value y = CFX_CALL(s, "torch.clone", IN(SELF));
    if (cfx_value_is_none(offset))
        offset = cfx_int(0);
    cfx_value part = CFX_CALL(s, "torch.as_strided", y, IN(SIZE), IN(STRIDE),
                              offset);
    const cfx_tensor *t = cfx_meta_of(s, part);
    const cfx_tensor *src = cfx_call_tensor(call, SRC);
    bool same = t && t->rank == src->rank;
    for (int i = 0; same && i < t->rank; i++)
        same = cfx_dim_eq(call->env, t->shape[i], src->shape[i]);
    if (t && !same)
        return cfx_scope_fail(
            s, CFX_ESHAPE,
            "as_strided_scatter: expected src to have a size equal to the slice of self");
    CFX_CALL(s, "Tensor.copy_", part, IN(SRC));
    return y;
}

/* Rows of -inf give 0, not NaN. */
static cfx_value _safe_softmax_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value keys[] = {cfx_str(s, "dtype"), IN(DTYPE)};
    cfx_value args[] = {IN(SELF), IN(DIM)};
    cfx_value y = cfx_call_function(s, "torch.softmax",
                                    (cfx_args){args, 2, keys, 1});
    cfx_value none = CFX_CALL(s, "torch.eq", IN(SELF), cfx_float(-INFINITY));
    none = CFX_CALL(s, "torch.all", none, IN(DIM), cfx_bool(true));
    return CFX_CALL(s, "torch.masked_fill", y, none, cfx_int(0));
}

/* Each tensor is cut into chunks along an axis, padded so that all are equal,
 * and chunks of one number are joined, flat. */
static cfx_value _chunk_cat_build(cfx_scope *s, const cfx_call *call)
{
    int n = cfx_call_len(call, TENSORS);
    int64_t chunks = cfx_call_int(call, NUM_CHUNKS);
    cfx_value all = cfx_list_of(s, CFX_LIST, 0, NULL);
    for (int k = 0; k < n; k++) {
        cfx_value x = cfx_call_item(call, TENSORS, k);
        const cfx_tensor *t = x.u.tensor;
        cfx_value shape[CFX_MAX_RANK], pad[2 * CFX_MAX_RANK];
        int64_t dim = cfx_call_int(call, DIM);
        dim = dim < 0 ? dim + t->rank : dim;
        if (chunks < 1 || dim < 0 || dim >= t->rank)
            return cfx_scope_fail(
                s, CFX_EINVAL,
                "_chunk_cat: expects num_chunks >= 1 and an axis that all tensors have");
        if (!cfx_dim_le(s->env, cfx_dim_int(1),
                        cfx_infer_numel(s->env, t->rank, t->shape)))
            return cfx_scope_fail(s, CFX_ESHAPE,
                                  "_chunk_cat: expects non-empty tensor");
        cfx_dim size = cfx_dim_mul(
            call->env, cfx_dim_int(chunks),
            cfx_dim_ceildiv(call->env, t->shape[dim], cfx_dim_int(chunks)));
        int pads = 2 * (t->rank - (int)dim);
        for (int i = 0; i < pads; i++)
            pad[i] = cfx_int(0);
        pad[pads - 1] = cfx_value_of_dim(
            cfx_dim_sub(call->env, size, t->shape[dim]));
        for (int i = 0; i < dim; i++)
            shape[i] = cfx_value_of_dim(t->shape[i]);
        shape[dim] = cfx_int(chunks);
        shape[dim + 1] = cfx_int(-1);
        x = CFX_CALL(s, "torch.constant_pad_nd", x,
                     cfx_list_of(s, CFX_LIST, (size_t)pads, pad));
        x = CFX_CALL(s, "torch.reshape", x,
                     cfx_list_of(s, CFX_LIST, (size_t)dim + 2, shape));
        all = k ? CFX_CALL(s, "torch.cat", cfx_tuple(s, all, x), cfx_int(-1))
                : x;
    }
    return CFX_CALL(s, "Tensor.contiguous", all);
}

#define COMPILER(name, list, aliases_, doc_)                                  \
    CFX_COMPOSITE(name)                                                       \
    const cfx_op cfx_op__##name = {                                           \
        .schema = #name "(" list ") -> Tensor",                               \
        .params = params,                                                     \
        .aliases = "torch. aten." aliases_,                                   \
        .doc = doc_,                                                          \
        .flags = CFX_OP_COMPLEX,                                              \
        .infer = name##_infer,                                                \
        .cost = name##_cost,                                                  \
        .run = name##_run,                                                    \
    };

COMPILER(_unsafe_masked_index,
         "Tensor self, Tensor mask, Tensor?[] indices, Scalar fill", "",
         "Elements at indices where a mask is true, elsewhere a number.")
COMPILER(_unsafe_masked_index_put_accumulate,
         "Tensor self, Tensor mask, Tensor?[] indices, Tensor values", "",
         "Values added at indices where a mask is true.")
COMPILER(
    as_strided_scatter,
    "Tensor self, Tensor src, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None",
    " Tensor.as_strided_scatter",
    "A copy with the elements at extents and strides replaced.")
COMPILER(_safe_softmax, "Tensor self, int dim, ScalarType? dtype=None", "",
         "softmax, and 0 where all along the axis is -inf.")
COMPILER(_chunk_cat, "Tensor[] tensors, int dim, int num_chunks", "",
         "The chunks of tensors, padded and joined by their number.")

/* ---- nonzero_static ---- */

static cfx_status nonzero_static_infer(cfx_call *call)
{
    cfx_dim shape[] = {cfx_value_dim(IN(SIZE)),
                       cfx_dim_int(cfx_call_tensor(call, SELF)->rank)};
    if (!cfx_dim_le(call->env, cfx_dim_int(0), shape[0]))
        return cfx_call_fail(call, CFX_EINVAL,
                             "nonzero_static: size must be non-negative");
    return cfx_call_out(call, CFX_I64, 2, shape);
}

static cfx_value nonzero_static_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value place = CFX_CALL(s, "torch.argwhere", IN(SELF)), zero, first;
    int64_t size = cfx_call_int(call, SIZE);
    if (cfx_scope_failed(s))
        return cfx_none();
    int64_t found = cfx_tensor_size(place.u.tensor, 0);
    zero = cfx_int(0);
    if (found >= size)
        return CFX_CALL(s, "torch.narrow", place, zero, zero, cfx_int(size));
    cfx_value shape[] = {cfx_int(size - found),
                         cfx_int(cfx_call_tensor(call, SELF)->rank)};
    cfx_value args[] = {cfx_list_of(s, CFX_TUPLE, 2, shape), IN(FILL_VALUE)};
    cfx_value key[] = {cfx_str(s, "dtype"), cfx_value_of_dtype(CFX_I64)};
    first = cfx_call_function(s, "torch.full", (cfx_args){args, 2, key, 1});
    return CFX_CALL(s, "torch.cat", cfx_tuple(s, place, first));
}

static cfx_status nonzero_static_run(cfx_call *call)
{
    return cfx_composite_run(call, nonzero_static_build);
}

const cfx_op cfx_op__nonzero_static = {
    .schema =
        "nonzero_static(Tensor self, *, SymInt size, int fill_value=-1) -> Tensor",
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc = "So many places of elements that are not 0, row by row.",
    .flags = CFX_OP_COMPLEX,
    .infer = nonzero_static_infer,
    .run = nonzero_static_run,
};
