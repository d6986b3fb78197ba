/*
 * item -- numbers out of tensors: item and tolist.
 *
 * shape   the result is a number, or a list of them.
 */
#include "op/infer.h"
#include "op/loop.h"

CFX_PARAMS(params, SELF);

static cfx_status unknown(cfx_call *call)
{
    return cfx_call_fail(call, CFX_EUNSUPPORTED,
                         "the result depends on the numbers");
}

/* The number at p, as a new value. */
static cfx_status number_at(cfx_call *call, cfx_dtype type, const void *p,
                            cfx_value *out)
{
    double part[2];
    if (!cfx_dtype_is_complex(type)) {
        *out = cfx_infer_number_at(type, p);
        return CFX_OK;
    }
    cfx_element_complex(type, p, part);
    cfx_value half[2] = {cfx_float(part[0]), cfx_float(part[1])};
    *out = cfx_seq_new(call->ctx, CFX_COMPLEX, 2, half, NULL);
    return out->kind ? CFX_OK : cfx_no_memory(call->err);
}

/* ---- item ---- */

static cfx_status item_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_dtype type = (cfx_dtype)x->dtype;
    cfx_dim n = cfx_infer_numel(call->env, x->rank, x->shape);
    if (!cfx_dim_eq(call->env, n, cfx_dim_int(1)))
        return cfx_call_fail(
            call, CFX_EINVAL,
            "a Tensor that has not just one element cannot be converted to Scalar");
    if (!call->meta)
        return CFX_OK;
    cfx_value v;
    cfx_status st = cfx_infer_unknown_number(call, type, &v);
    return st ? st : cfx_call_return_take(call, v);
}

static cfx_status item_run(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_value v;
    cfx_status st = number_at(call, (cfx_dtype)x->dtype, x->data, &v);
    return st ? st : cfx_call_return_take(call, v);
}

const cfx_op cfx_op__item = {
    .schema = "item(Tensor self) -> Scalar",
    .params = params,
    .aliases =
        "Tensor. aten._local_scalar_dense.default aten. Tensor.__int__ Tensor.__float__ torch._local_scalar_dense aten._local_scalar_dense",
    .doc = "The number that a tensor of one element holds.",
    .flags = CFX_OP_OWN_RESULT | CFX_OP_COMPLEX,
    .infer = item_infer,
    .run = item_run,
};

/* ---- tolist ---- */

/* The list of what lies at `p` and after, axis by axis, or without data of
 * what stands for it; the depth is bounded by the rank. */
static cfx_status list_of(cfx_call *call, const cfx_tensor *x, int axis,
                          const char *p, cfx_value *out)
{
    size_t size = cfx_dtype_size((cfx_dtype)x->dtype);
    if (axis == x->rank && !p)
        return cfx_infer_unknown_number(call, (cfx_dtype)x->dtype, out);
    if (axis == x->rank)
        return number_at(call, (cfx_dtype)x->dtype, p, out);
    int64_t n = cfx_tensor_size(x, axis), made = 0;
    if (!p)
        size = 0;
    cfx_value *item = cfx_alloc(call->ctx, (size_t)n * sizeof(*item));
    cfx_status st = item ? CFX_OK : cfx_no_memory(call->err);
    for (; !st && made < n; made += !st)
        st = list_of(call, x, axis + 1,
                     size ? p + (size_t)(made * cfx_tensor_stride(x, axis)) *
                                    size
                          : NULL,
                     &item[made]);
    if (!st)
        *out = cfx_list_new(call->ctx, (size_t)n, item);
    if (!st && !out->kind)
        st = cfx_no_memory(call->err);
    while (made--)
        cfx_value_unref(item[made]);
    cfx_free(call->ctx, item, (size_t)n * sizeof(*item));
    return st;
}

/* The maximum number of distinct unknown numbers. */
enum { MOST_UNKNOWN = 1024 };

static cfx_status tolist_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_dim n = cfx_infer_numel(call->env, x->rank, x->shape);
    cfx_value list;
    if (!call->meta)
        return CFX_OK;
    if (!cfx_dim_is_int(n) || cfx_dim_value(n) > MOST_UNKNOWN)
        return unknown(call);
    for (int i = 0; i < x->rank; i++)
        if (!cfx_dim_is_int(x->shape[i]) ||
            cfx_tensor_size(x, i) > MOST_UNKNOWN)
            return unknown(call);
    cfx_status st = list_of(call, x, 0, NULL, &list);
    return st ? st : cfx_call_return_take(call, list);
}

static cfx_status tolist_run(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_value list;
    cfx_status st = list_of(call, x, 0, x->data, &list);
    return st ? st : cfx_call_return_take(call, list);
}

const cfx_op cfx_op__tolist = {
    .schema = "tolist(Tensor self) -> any",
    .params = params,
    .aliases = "Tensor.",
    .doc = "The numbers in lists, one for each axis.",
    .flags = CFX_OP_OWN_RESULT | CFX_OP_COMPLEX,
    .infer = tolist_infer,
    .run = tolist_run,
};
