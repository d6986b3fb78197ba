/*
 * loop -- build the kernels' iterators from tensors and values.
 */
#include "op/loop.h"

#include "tensor/storage.h"

void cfx_loop_shape(int64_t *out, const cfx_tensor *t)
{
    for (int i = 0; i < t->rank; i++)
        out[i] = cfx_tensor_size(t, i);
}

void cfx_loop_strides(int64_t *out, const cfx_tensor *t)
{
    for (int i = 0; i < t->rank; i++)
        out[i] = cfx_tensor_stride(t, i);
}

void cfx_loop_out(cfx_iter *it, const cfx_tensor *out)
{
    it->rank = out->rank;
    it->count = 0;
    cfx_loop_shape(it->shape, out);
    cfx_loop_strides(cfx_iter_add(it, out->data, (cfx_dtype)out->dtype), out);
}

void cfx_loop_in(cfx_iter *it, const cfx_tensor *t)
{
    int64_t *stride = cfx_iter_add(it, t->data, (cfx_dtype)t->dtype);
    int shift = it->rank - t->rank;
    bool single = true;
    for (int i = 0; i < it->rank; i++) {
        bool one = i < shift || cfx_tensor_size(t, i - shift) == 1;
        bool spread = i < shift || (one && it->shape[i] != 1);
        stride[i] = spread ? 0 : cfx_tensor_stride(t, i - shift);
        single &= one;
    }
    it->op[it->count - 1].single = single;
}

static void add_complex(cfx_iter *it, cfx_value v)
{
    double part[2];
    cfx_value_parts(v, part);
    cfx_iter_complex(it, part[0], part[1]);
}

void cfx_loop_value(cfx_iter *it, cfx_value v)
{
    if (v.kind == CFX_TENSOR)
        cfx_loop_in(it, v.u.tensor);
    else if (v.kind == CFX_FLOAT)
        cfx_iter_number(it, v.u.f);
    else if (v.kind == CFX_COMPLEX)
        add_complex(it, v);
    else
        cfx_iter_integer(it, v.u.i);
}

/* ---- Element by element ---- */

/* Is it row-major, of the rank and the type? */
static bool is_row(const cfx_tensor *t, uint8_t dtype, int rank)
{
    return cfx_tensor_is_contiguous(t) && t->rank == rank && t->dtype == dtype;
}

/* If all tensors are row-major, of one shape and of the loop's types, no
 * iterator is needed: returns the number of elements, else -1. */
static int64_t one_row(const cfx_tensor *y, const cfx_pointwise_types *types,
                       const cfx_value *in, int n, const void **data)
{
    int64_t count = 1;
    if (!is_row(y, types->out, y->rank))
        return -1;
    for (int k = 0; k < n; k++) {
        if (in[k].kind != CFX_TENSOR ||
            !is_row(in[k].u.tensor, k ? types->rest : types->first, y->rank))
            return -1;
        data[k] = in[k].u.tensor->data;
    }
    for (int i = 0; i < y->rank; i++) {
        for (int k = 0; k < n; k++)
            if (!cfx_dim_same(in[k].u.tensor->shape[i], y->shape[i]))
                return -1;
        count *= cfx_tensor_size(y, i);
    }
    return count;
}

static cfx_status zero_division(cfx_call *call)
{
    return cfx_call_fail(call, CFX_EINVAL, "ZeroDivisionError");
}

CFX_NOINLINE
static bool run_strided(cfx_call *call, cfx_pw code, cfx_dtype type,
                        const cfx_value *in, int n, const double *params)
{
    cfx_iter it;
    cfx_loop_out(&it, call->out[0]);
    for (int k = 0; k < n; k++)
        cfx_loop_value(&it, in[k]);
    return cfx_pointwise(call->ctx, code, type, &it, params);
}

cfx_status cfx_loop_run(cfx_call *call, cfx_pw code, cfx_dtype type,
                        const cfx_value *in, int n, const double *params)
{
    static const double none[3];
    const cfx_tensor *y = call->out[0];
    const void *data[CFX_ITER_OPERANDS - 1];
    cfx_loop_fn *loop;
    cfx_pointwise_types types;
    if (!cfx_pointwise_direct(call->ctx, code, type, &loop, &types))
        return cfx_call_fail(call, CFX_EDTYPE, "not implemented for %s",
                             cfx_dtypes[type].name);
    int64_t few = loop ? one_row(y, &types, in, n, data) : -1;
    if (few >= 0 && few <= CFX_POINTWISE_FEW)
        return loop(y->data, data, few, params ? params : none)
                   ? zero_division(call)
                   : CFX_OK;
    return run_strided(call, code, type, in, n, params) ? CFX_OK
                                                        : zero_division(call);
}

cfx_status cfx_loop_call(cfx_call *call)
{
    /* The loop is set field by field: clearing it whole costs a tenth of a
     * small operator's call. */
    cfx_loop l;
    if (!call->op->loop(call, &l))
        return cfx_call_fail(call, CFX_EUNSUPPORTED, "is not one loop");
    return l.code == CFX_LOOP_COPY ? cfx_loop_fill(call, l.in[0])
                                   : cfx_loop_run(call, (cfx_pw)l.code, l.type,
                                                  l.in, l.n, l.params);
}

CFX_NOINLINE
cfx_status cfx_loop_fill(cfx_call *call, cfx_value v)
{
    cfx_iter it;
    cfx_loop_out(&it, call->out[0]);
    cfx_loop_value(&it, v);
    cfx_copy(call->ctx, &it);
    return CFX_OK;
}

/* ---- Shapes ---- */

cfx_axis_split cfx_loop_split(const cfx_tensor *t, int axis)
{
    cfx_axis_split s = {1, 1, 1};
    for (int i = 0; i < t->rank; i++)
        *(i < axis    ? &s.outer
          : i == axis ? &s.n
                      : &s.inner) *= cfx_tensor_size(t, i);
    return s;
}

/* A contiguous temporary with the shape of t. */
static cfx_status new_rows(cfx_call *call, const cfx_tensor *t,
                           cfx_dtype dtype, cfx_tensor **out)
{
    cfx_context *from = call->work_ctx ? call->work_ctx : call->ctx;
    return cfx_tensor__empty(out, from, dtype, t->rank, t->shape, NULL,
                             call->err);
}

static cfx_tensor *copy_of(cfx_call *call, const cfx_tensor *t,
                           cfx_dtype dtype)
{
    cfx_tensor *out;
    if (new_rows(call, t, dtype, &out))
        return NULL;
    if (cfx_tensor_copy(out, t, call->err)) {
        cfx_tensor_unref(out);
        return NULL;
    }
    return out;
}

cfx_status cfx_loop_like(cfx_call *call, const cfx_tensor *y, cfx_tensor **out)
{
    return new_rows(call, y, (cfx_dtype)y->dtype, out);
}


cfx_tensor *cfx_loop_contiguous(cfx_call *call, const cfx_tensor *t)
{
    return cfx_tensor_is_contiguous(t) ? cfx_tensor_ref(t)
                                       : copy_of(call, t, (cfx_dtype)t->dtype);
}

cfx_tensor *cfx_loop_contiguous_as(cfx_call *call, const cfx_tensor *t,
                                   cfx_dtype dtype)
{
    return t->dtype == dtype ? cfx_loop_contiguous(call, t)
                             : copy_of(call, t, dtype);
}
