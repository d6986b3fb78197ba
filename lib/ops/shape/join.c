/*
 * join -- several tensors to one: cat, stack and their kin.
 *
 * shape   every tensor has the extents of the first, but on `dim`, where the
 *         result has their sum. Tensors of shape [0] are passed over. The
 *         others give each tensor further axes first.
 * type    that of all tensors promoted.
 * cost    no arithmetic; reads every tensor, writes the result.
 */
#include "op/infer.h"
#include "ops/shape/view.h"

CFX_PARAMS(params, TENSORS, DIM);

enum { CAT, STACK, HSTACK, VSTACK, DSTACK, COLUMN_STACK };

static const cfx_tensor *tensor_at(const cfx_call *call, int i)
{
    return cfx_call_item(call, TENSORS, i).u.tensor;
}

/* ---- Each tensor as it takes part ---- */

/* New axes of extent 1, as unsqueeze makes them, up to a rank. */
static cfx_status at_least(cfx_call *call, cfx_view *v, int rank)
{
    cfx_status st = CFX_OK;
    while (!st && v->rank < rank && v->rank < 2)
        st = cfx_view_unsqueeze(call, v, 0);
    return !st && v->rank < rank ? cfx_view_unsqueeze(call, v, 2) : st;
}

/* The part of the result that tensor i fills. */
static cfx_status part_of(cfx_call *call, int i, int dim, cfx_view *v)
{
    cfx_view_begin(v, tensor_at(call, i));
    switch (call->op->code) {
    case STACK:
        if (v->rank != tensor_at(call, 0)->rank)
            return cfx_call_fail(
                call, CFX_ESHAPE,
                "stack expects each tensor to be equal size, but tensor 0 has rank %d, tensor %d has %d",
                tensor_at(call, 0)->rank, i, v->rank);
        return cfx_view_unsqueeze(call, v, dim);
    case HSTACK: return at_least(call, v, 1);
    case VSTACK: return at_least(call, v, 2);
    case DSTACK: return at_least(call, v, 3);
    case COLUMN_STACK:
        while (v->rank < 2)
            if (cfx_view_unsqueeze(call, v, v->rank))
                return CFX_ESHAPE;
        return CFX_OK;
    default: return CFX_OK;
    }
}

/* The axis to join along. */
static cfx_status find_dim(cfx_call *call, int *dim)
{
    int n = cfx_call_len(call, TENSORS), first = 0;
    switch (call->op->code) {
    case CAT:
        for (int i = n - 1; i >= 0; i--)
            if (tensor_at(call, i)->rank > 1 ||
                !cfx_dim_is(tensor_at(call, i)->shape[0], 0))
                first = i;
        return cfx_call_axis(call, cfx_call_int(call, DIM),
                             tensor_at(call, first)->rank, dim);
    case STACK:
        return cfx_call_axis(call, cfx_call_int(call, DIM),
                             tensor_at(call, 0)->rank + 1, dim);
    case HSTACK: *dim = tensor_at(call, 0)->rank > 1; return CFX_OK;
    default:
        *dim = call->op->code == VSTACK ? 0 : call->op->code == DSTACK ? 2 : 1;
        return CFX_OK;
    }
}

static bool is_passed_over(const cfx_view *v)
{
    return v->rank == 1 && cfx_dim_is(v->shape[0], 0);
}

/* ---- Rules ---- */

static cfx_status check_fit(cfx_call *call, const cfx_view *first,
                            const cfx_view *v, int i, int dim)
{
    char a[64], b[64];
    if (v->rank != first->rank)
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "Tensors must have same number of dimensions: got %d and %d",
            first->rank, v->rank);
    for (int k = 0; k < v->rank; k++) {
        if (k == dim || cfx_dim_eq(call->env, v->shape[k], first->shape[k]))
            continue;
        cfx_dim_format(v->shape[k], a, sizeof(a));
        cfx_dim_format(first->shape[k], b, sizeof(b));
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "Sizes of tensors must match except in dimension %d. Expected %s in dimension %d but got %s for tensor number %d in the list",
            dim, b, k, a, i);
    }
    return CFX_OK;
}

static cfx_status check_list(cfx_call *call)
{
    int n = cfx_call_len(call, TENSORS);
    if (!n)
        return cfx_call_fail(call, CFX_EINVAL,
                             "expected a non-empty list of Tensors");
    for (int i = 0; i < n && call->op->code == CAT; i++)
        if (!tensor_at(call, i)->rank)
            return cfx_call_fail(
                call, CFX_ESHAPE,
                "zero-dimensional tensor (at position %d) cannot be concatenated",
                i);
    return CFX_OK;
}

/* Strides of the result: channels-last only if all tensors are. stack joins
 * along the axis that its new one comes before, and views that as two. */
static cfx_status join_out(cfx_call *call, cfx_dtype type,
                           cfx_memory_format format, cfx_view *out, int dim)
{
    cfx_shape_env *env = call->env;
    cfx_tensor *joined;
    cfx_dim shape[CFX_MAX_RANK], stride[CFX_MAX_RANK], view[CFX_MAX_RANK];
    int rank = out->rank - 1;
    if (call->op->code != STACK || dim == rank ||
        format == CFX_CONTIGUOUS_FORMAT) {
        cfx_strides_of(env, format, out->rank, out->shape, out->stride);
        return cfx_call_out_strided(call, type, out->rank, out->shape,
                                    out->stride);
    }
    for (int i = 0; i < rank; i++)
        shape[i] = out->shape[i < dim ? i : i + 1];
    shape[dim] = cfx_dim_mul(env, out->shape[dim], shape[dim]);
    cfx_strides_of(env, format, rank, shape, stride);
    cfx_status st = cfx_tensor_meta(&joined, call->ctx, type, rank, shape,
                                    stride, call->err);
    if (st)
        return st;
    for (int i = 0; i <= rank; i++)
        out->stride[i] = stride[i <= dim ? i : i - 1];
    out->stride[dim] = cfx_dim_mul(env, out->shape[dim + 1], stride[dim]);
    bool known = cfx_infer_view(env, joined, out->rank, out->shape, view,
                                true) == CFX_A_VIEW;
    cfx_tensor_unref(joined);
    return cfx_call_out_strided(call, type, out->rank, out->shape,
                                known ? view : out->stride);
}

/* The format of tensor i before stack gives it a further axis. */
static cfx_memory_format format_of(const cfx_call *call, int i, int dim,
                                   const cfx_view *part)
{
    const cfx_tensor *t = tensor_at(call, i);
    cfx_view v;
    if (call->op->code != STACK || dim >= t->rank)
        return cfx_view_format(call->env, part);
    cfx_view_begin(&v, t);
    return cfx_view_format(call->env, &v);
}

static cfx_status join_infer(cfx_call *call)
{
    cfx_memory_format format = CFX_CONTIGUOUS_FORMAT, own;
    cfx_dtype type = CFX_BOOL;
    bool found = false, mixed = false;
    cfx_view out = {0}, v;
    int dim = 0;
    cfx_status st = check_list(call);
    if (!st)
        st = find_dim(call, &dim);
    for (int i = 0, n = cfx_call_len(call, TENSORS); !st && i < n; i++) {
        cfx_dtype t = (cfx_dtype)tensor_at(call, i)->dtype;
        st = part_of(call, i, dim, &v);
        if (i && t != type && (1 << t | 1 << type) & CFX_STORED_TYPES)
            return cfx_call_fail(call, CFX_EUNSUPPORTED,
                                 "%s and %s have no common type",
                                 cfx_dtypes[type].name, cfx_dtypes[t].name);
        type = i ? cfx_dtype_promote(type, t) : t;
        own = st ? format : format_of(call, i, dim, &v);
        mixed |= i && own != format;
        format = i ? format : own;
        if (st || (found && is_passed_over(&v)))
            continue;
        if (!found) {
            out = v;
            found = !is_passed_over(&v);
            continue;
        }
        st = check_fit(call, &out, &v, i, dim);
        out.shape[dim] = cfx_dim_add(call->env, out.shape[dim], v.shape[dim]);
    }
    return st ? st
              : join_out(call, type, mixed ? CFX_CONTIGUOUS_FORMAT : format,
                         &out, dim);
}

static cfx_status join_run(cfx_call *call)
{
    const cfx_tensor *y = call->out[0];
    cfx_view to, part;
    int dim = 0;
    cfx_view_begin(&to, y);
    cfx_status st = find_dim(call, &dim);
    for (int i = 0, n = cfx_call_len(call, TENSORS); !st && i < n; i++) {
        st = part_of(call, i, dim, &part);
        if (st || is_passed_over(&part))
            continue;
        to.shape[dim] = part.shape[dim];
        cfx_view_assign(call->ctx, y, &to, tensor_at(call, i), &part);
        to.offset = cfx_dim_add(
            NULL, to.offset,
            cfx_dim_mul(NULL, part.shape[dim], to.stride[dim]));
    }
    return st;
}

#define JOIN(name, code_, list, aliases_, doc_)                               \
    const cfx_op cfx_op__##name = {                                           \
        .schema = #name "(Tensor[] tensors" list ") -> Tensor",               \
        .params = params,                                                     \
        .aliases = aliases_,                                                  \
        .doc = doc_,                                                          \
        .code = code_,                                                        \
        .flags = CFX_OP_MOVES | CFX_OP_STORED_TYPES,                          \
        .infer = join_infer,                                                  \
        .run = join_run,                                                      \
    };

JOIN(cat, CAT, ", int dim=0", "torch. torch.concat torch.concatenate aten.",
     "Join tensors along one axis.")
JOIN(stack, STACK, ", int dim=0", "torch. aten.",
     "Join tensors along a new axis.")
JOIN(hstack, HSTACK, "", "torch. aten.",
     "Join tensors along the second axis, vectors along the first.")
JOIN(vstack, VSTACK, "", "torch. torch.row_stack aten.",
     "Join tensors along the first axis, vectors as rows.")
JOIN(dstack, DSTACK, "", "torch. aten.", "Join tensors along the third axis.")
JOIN(column_stack, COLUMN_STACK, "", "torch. aten.",
     "Join tensors along the second axis, vectors as columns.")
