/*
 * mask -- elements chosen by a tensor of bools: where, masked_fill,
 * masked_select, nonzero.
 *
 * shape   that of the arguments, broadcast; masked_select and nonzero have as
 *         many rows as the mask has elements that are not 0.
 * cost    no arithmetic.
 */
#include "kernel/move/index_kernel.h"
#include "op/list.h"
#include "op/rules.h"
#include "ops/index/indexing.h"

CFX_PARAMS(params, CONDITION, SELF, OTHER, AS_TUPLE, MASK, VALUE, SOURCE);

static cfx_status need_bool(cfx_call *call, const cfx_tensor *mask)
{
    return mask->dtype == CFX_BOOL
               ? CFX_OK
               : cfx_call_fail(
                     call, CFX_EDTYPE,
                     "only supports boolean masks, but got mask with dtype %s",
                     cfx_dtypes[mask->dtype].name);
}

/* ---- where ---- */

static cfx_status where_infer(cfx_call *call)
{
    const cfx_tensor *mask = cfx_call_tensor(call, CONDITION);
    if (mask->dtype != CFX_BOOL && mask->dtype != CFX_U8)
        return cfx_call_fail(
            call, CFX_EDTYPE,
            "where expected condition to be a boolean tensor, but got a tensor with dtype %s",
            cfx_dtypes[mask->dtype].name);
    cfx_dtype type = cfx_infer_type(call, 1, 3);
    cfx_status st = cfx_list_check_whole(call, 1, 3, type);
    return st ? st : cfx_infer_converted(call, 0, 1, 3, type);
}

static bool where_loop(const cfx_call *call, cfx_loop *out)
{
    return cfx_loop_of(call, out, CFX_PW_WHERE, (cfx_dtype)call->out[0]->dtype,
                       3);
}

/* ---- nonzero ---- */

/* Rows of places, in memory a column for each axis, as PyTorch has them. */
static cfx_status places_out(cfx_call *call, cfx_dim n, int rank)
{
    cfx_dim shape[] = {n, cfx_dim_int(rank)};
    cfx_dim stride[] = {cfx_dim_int(1), n};
    return cfx_call_out_strided(call, CFX_I64, 2, shape, stride);
}

static cfx_status nonzero_infer(cfx_call *call)
{
    cfx_dim n;
    if (!call->meta)
        return CFX_OK;
    cfx_status st = cfx_infer_unknown_extent(call, &n);
    return st ? st : places_out(call, n, cfx_call_tensor(call, SELF)->rank);
}

/* The places of x, as result number 0; their rows, in memory order, are
 * written first and turned after. */
static cfx_status find_places(cfx_call *call, const cfx_tensor *x)
{
    int64_t shape[CFX_MAX_RANK];
    cfx_tensor *rows, *places;
    cfx_dtype type = (cfx_dtype)x->dtype;
    cfx_dim dims[2];
    int64_t n = cfx_nonzero_count(call->ctx, type, x->data,
                                  cfx_tensor_numel(x));
    cfx_status st = places_out(call, cfx_dim_int(n), x->rank);
    if (!st)
        st = cfx_tensor_alloc(call->out[0], call->err);
    if (st)
        return st;
    places = call->out[0];
    dims[0] = places->shape[0];
    dims[1] = places->shape[1];
    st = cfx_call_new(call, &rows, CFX_I64, 2, dims);
    if (!st)
        st = cfx_tensor_alloc(rows, call->err);
    if (!st) {
        cfx_loop_shape(shape, x);
        cfx_kernel_nonzero(call->ctx, type, rows->data, x->data, x->rank,
                           shape);
        st = cfx_tensor_copy(places, rows, call->err);
    }
    cfx_tensor_unref(rows);
    return st;
}

static cfx_status nonzero_run(cfx_call *call)
{
    cfx_tensor *x = cfx_loop_contiguous(call, cfx_call_tensor(call, SELF));
    if (!x)
        return CFX_ENOMEM;
    cfx_status st = find_places(call, x);
    cfx_tensor_unref(x);
    return st;
}

/* The columns, each a tensor; a number counts as having one axis. */
static cfx_status give_columns(cfx_call *call, int rank,
                               const cfx_tensor *places)
{
    cfx_value item[CFX_MAX_RANK];
    cfx_status st = CFX_OK;
    int made = 0;
    for (int i = 0; !st && i < rank; i++) {
        cfx_tensor *t;
        cfx_dim at = cfx_dim_mul(call->env, cfx_dim_int(i), places->stride[1]);
        st = cfx_tensor_view(&t, places, 1, places->shape, places->stride, at,
                             call->err);
        if (!st)
            item[made++] = cfx_value_of_tensor(t);
    }
    if (!st)
        st = cfx_call_return_take(
            call, cfx_tuple_new(call->ctx, (size_t)made, item));
    while (made--)
        cfx_value_unref(item[made]);
    return st;
}

static cfx_status columns_infer(cfx_call *call)
{
    int rank = cfx_call_tensor(call, SELF)->rank;
    cfx_dim n;
    if (!call->meta)
        return CFX_OK;
    cfx_status st = cfx_infer_unknown_extent(call, &n);
    if (!st)
        st = places_out(call, n, rank ? rank : 1);
    return st ? st : give_columns(call, rank ? rank : 1, call->out[0]);
}

static cfx_status columns_run(cfx_call *call)
{
    const cfx_tensor *arg = cfx_call_tensor(call, SELF);
    cfx_dim one = cfx_dim_int(1);
    cfx_tensor *x = cfx_loop_contiguous(call, arg), *line = NULL;
    if (!x)
        return CFX_ENOMEM;
    cfx_status st = CFX_OK;
    if (!x->rank)
        st = cfx_tensor_view(&line, x, 1, &one, &one, x->offset, call->err);
    if (!st)
        st = find_places(call, line ? line : x);
    if (!st)
        st = give_columns(call, line ? 1 : x->rank, call->out[0]);
    cfx_tensor_unref(line);
    cfx_tensor_unref(x);
    return st;
}

static cfx_status nonzero_any_infer(cfx_call *call)
{
    return cfx_call_bool(call, AS_TUPLE) ? columns_infer(call)
                                         : nonzero_infer(call);
}

static cfx_status nonzero_any_run(cfx_call *call)
{
    return cfx_call_bool(call, AS_TUPLE) ? columns_run(call)
                                         : nonzero_run(call);
}

const cfx_op cfx_op__nonzero = {
    .schema = "nonzero(Tensor self, *, bool as_tuple=False) -> any",
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc = "The places of elements that are not 0, row by row or as columns.",
    .flags = CFX_OP_OWN_RESULT | CFX_OP_COMPLEX,
    .infer = nonzero_any_infer,
    .run = nonzero_any_run,
};

const cfx_op cfx_op__argwhere = {
    .schema = "argwhere(Tensor self) -> Tensor",
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc = "The places of elements that are not 0, row by row.",
    .flags = CFX_OP_OWN_RESULT | CFX_OP_COMPLEX,
    .infer = nonzero_infer,
    .run = nonzero_run,
};

const cfx_op cfx_op__nonzero_numpy = {
    .schema = "nonzero_numpy(Tensor self) -> Tensor[]",
    .params = params,
    .aliases = "torch.where aten.",
    .doc = "The places of elements that are not 0, a column for each axis.",
    .flags = CFX_OP_OWN_RESULT | CFX_OP_COMPLEX,
    .infer = columns_infer,
    .run = columns_run,
};

/* Other than in the method, the condition comes first. */
static cfx_status where_method_lower(cfx_call *call, const cfx_value *in,
                                     cfx_value *out)
{
    (void)call;
    out[0] = in[1];
    out[1] = in[0];
    out[2] = in[2];
    return CFX_OK;
}

const cfx_op cfx_op__where = {
    .schema =
        "where.self(Tensor condition, Tensor|Scalar self, Tensor|Scalar other) -> Tensor",
    .params = params,
    .aliases =
        "torch. aten.(Tensor,Tensor,Tensor) .ScalarOther(Tensor,Tensor,Scalar) .ScalarSelf(Tensor,Scalar,Tensor) .Scalar(Tensor,Scalar,Scalar)",
    .variants =
        (const cfx_variant[]){
            {"Tensor.where(Tensor self, Tensor condition, Tensor|Scalar other) -> Tensor",
             where_method_lower},
            {NULL, NULL}},
    .doc = "Elements of one tensor or another, by a condition.",
    .flags = CFX_OP_COMPLEX,
    .infer = where_infer,
    .cost = cfx_cost_0_0,
    .loop = where_loop,
    .run = cfx_loop_call,
};

/* ---- masked_fill ---- */

static cfx_status masked_fill_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    const cfx_tensor *mask = cfx_call_tensor(call, MASK);
    const cfx_tensor *v = cfx_call_tensor(call, VALUE);
    cfx_dim shape[CFX_MAX_RANK];
    int rank = 0;
    cfx_status st = need_bool(call, mask);
    if (!st && v && v->rank)
        st = cfx_call_fail(
            call, CFX_ESHAPE,
            "only supports a 0-dimensional value tensor, but got tensor with %d dimension(s).",
            v->rank);
    if (!st)
        st = cfx_list_check_number(call, cfx_call_value(call, VALUE),
                                   (cfx_dtype)x->dtype);
    if (!st)
        st = cfx_infer_broadcast(call, &rank, shape, x->rank, x->shape);
    if (!st)
        st = cfx_infer_broadcast(call, &rank, shape, mask->rank, mask->shape);
    return st ? st : cfx_call_out(call, (cfx_dtype)x->dtype, rank, shape);
}

static cfx_status masked_fill_run(cfx_call *call)
{
    cfx_iter it;
    cfx_loop_out(&it, call->out[0]);
    cfx_loop_in(&it, cfx_call_tensor(call, MASK));
    cfx_loop_value(&it, cfx_call_value(call, VALUE));
    cfx_loop_in(&it, cfx_call_tensor(call, SELF));
    cfx_pointwise(call->ctx, CFX_PW_WHERE, (cfx_dtype)call->out[0]->dtype, &it,
                  NULL);
    return CFX_OK;
}

const cfx_op cfx_op__masked_fill = {
    .schema =
        "masked_fill.Scalar(Tensor self, Tensor mask, Tensor|Scalar value) -> Tensor",
    .params = params,
    .aliases =
        "torch. Tensor. aten.(Tensor,Tensor,Scalar) .Tensor(Tensor,Tensor,Tensor)",
    .doc = "One number where a mask is true.",
    .flags = CFX_OP_INPLACE | CFX_OP_POINTWISE | CFX_OP_COMPLEX,
    .infer = masked_fill_infer,
    .cost = cfx_cost_0_0,
    .run = masked_fill_run,
};

/* ---- masked_select and masked_scatter ---- */

/* An argument expanded to the shape of two, row-major. */
static cfx_tensor *expanded(cfx_call *call, const cfx_tensor *t, int rank,
                            const cfx_dim *shape)
{
    cfx_tensor *out;
    cfx_iter it;
    if (cfx_call_new(call, &out, (cfx_dtype)t->dtype, rank, shape))
        return NULL;
    if (cfx_tensor_alloc(out, call->err)) {
        cfx_tensor_unref(out);
        return NULL;
    }
    cfx_loop_out(&it, out);
    cfx_loop_in(&it, t);
    cfx_copy(call->ctx, &it);
    return out;
}

static cfx_status common_shape(cfx_call *call, int *rank, cfx_dim *shape)
{
    static const int both[] = {SELF, MASK};
    *rank = 0;
    for (int i = 0; i < 2; i++) {
        const cfx_tensor *t = cfx_call_tensor(call, both[i]);
        cfx_status st = cfx_infer_broadcast(call, rank, shape, t->rank,
                                            t->shape);
        if (st)
            return st;
    }
    return need_bool(call, cfx_call_tensor(call, MASK));
}

static cfx_status masked_select_infer(cfx_call *call)
{
    cfx_dim shape[CFX_MAX_RANK], n;
    int rank;
    cfx_status st = common_shape(call, &rank, shape);
    if (st || !call->meta)
        return st;
    st = cfx_infer_unknown_extent(call, &n);
    return st ? st
              : cfx_call_out(call,
                             (cfx_dtype)cfx_call_tensor(call, SELF)->dtype, 1,
                             &n);
}

static cfx_status masked_select_run(cfx_call *call)
{
    const cfx_tensor *arg = cfx_call_tensor(call, SELF);
    cfx_dim shape[CFX_MAX_RANK];
    int rank;
    cfx_status st = common_shape(call, &rank, shape);
    if (st)
        return st;
    cfx_tensor *x = expanded(call, arg, rank, shape);
    cfx_tensor *mask = x ? expanded(call, cfx_call_tensor(call, MASK), rank,
                                    shape)
                         : NULL;
    st = mask ? CFX_OK : CFX_ENOMEM;
    int64_t n = mask ? cfx_tensor_numel(mask) : 0;
    cfx_dim count = cfx_dim_int(
        mask ? cfx_nonzero_count(call->ctx, CFX_BOOL, mask->data, n) : 0);
    if (!st)
        st = cfx_call_out(call, (cfx_dtype)arg->dtype, 1, &count);
    if (!st)
        st = cfx_tensor_alloc(call->out[0], call->err);
    if (!st)
        cfx_kernel_masked_select(call->ctx,
                                 cfx_dtype_size((cfx_dtype)arg->dtype),
                                 call->out[0]->data, x->data, mask->data, n);
    cfx_tensor_unref(mask);
    cfx_tensor_unref(x);
    return st;
}

const cfx_op cfx_op__masked_select = {
    .schema = "masked_select(Tensor self, Tensor mask) -> Tensor",
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc = "The elements where a mask is true, as a vector.",
    .flags = CFX_OP_OWN_RESULT | CFX_OP_COMPLEX,
    .infer = masked_select_infer,
    .run = masked_select_run,
};

static cfx_status masked_scatter_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    const cfx_tensor *src = cfx_call_tensor(call, SOURCE);
    cfx_dim shape[CFX_MAX_RANK];
    int rank;
    cfx_status st = common_shape(call, &rank, shape);
    if (!st && x->dtype != src->dtype)
        st = cfx_call_fail(
            call, CFX_EDTYPE,
            "expected self and source to have same dtypes but got %s and %s",
            cfx_dtypes[x->dtype].name, cfx_dtypes[src->dtype].name);
    return st ? st : cfx_call_out(call, (cfx_dtype)x->dtype, rank, shape);
}

static cfx_status masked_scatter_run(cfx_call *call)
{
    const cfx_tensor *y = call->out[0];
    cfx_iter it;
    cfx_loop_out(&it, y);
    cfx_loop_in(&it, cfx_call_tensor(call, SELF));
    cfx_copy(call->ctx, &it);
    cfx_tensor *mask = expanded(call, cfx_call_tensor(call, MASK), y->rank,
                                y->shape);
    cfx_tensor *src = mask ? cfx_loop_contiguous(call,
                                                 cfx_call_tensor(call, SOURCE))
                           : NULL;
    cfx_status st = src ? CFX_OK : CFX_ENOMEM;
    if (!st &&
        !cfx_kernel_masked_scatter(
            call->ctx, cfx_dtype_size((cfx_dtype)y->dtype), y->data,
            mask->data, src->data, cfx_tensor_numel(src), cfx_tensor_numel(y)))
        st = cfx_call_fail(
            call, CFX_EINVAL,
            "Number of elements of source < number of ones in mask");
    cfx_tensor_unref(src);
    cfx_tensor_unref(mask);
    return st;
}

const cfx_op cfx_op__masked_scatter = {
    .schema =
        "masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor",
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc = "The elements of a source, in order, where a mask is true.",
    .flags = CFX_OP_INPLACE | CFX_OP_COMPLEX,
    .infer = masked_scatter_infer,
    .run = masked_scatter_run,
};
