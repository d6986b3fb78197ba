/*
 * loop -- from tensors and values to the kernels' iterators.
 */
#include "op/loop.h"

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
    for (int i = 0; i < it->rank; i++) {
        bool spread = i < shift || (cfx_tensor_size(t, i - shift) == 1 &&
                                    it->shape[i] != 1);
        stride[i] = spread ? 0 : cfx_tensor_stride(t, i - shift);
    }
}

void cfx_loop_value(cfx_iter *it, cfx_value v)
{
    if (v.kind == CFX_TENSOR)
        cfx_loop_in(it, v.u.tensor);
    else if (v.kind == CFX_FLOAT)
        cfx_iter_number(it, v.u.f);
    else
        cfx_iter_integer(it, v.u.i);
}

cfx_axis_split cfx_loop_split(const cfx_tensor *t, int axis)
{
    cfx_axis_split s = {1, 1, 1};
    for (int i = 0; i < t->rank; i++)
        *(i < axis ? &s.outer : i == axis ? &s.n : &s.inner) *=
            cfx_tensor_size(t, i);
    return s;
}

cfx_tensor *cfx_loop_contiguous(cfx_call *call, const cfx_tensor *t)
{
    cfx_tensor *out;
    return cfx_tensor_contiguous(&out, t, call->err) ? NULL : out;
}

cfx_tensor *cfx_loop_contiguous_as(cfx_call *call, const cfx_tensor *t,
                                   cfx_dtype dtype)
{
    cfx_tensor *out;
    if (t->dtype == dtype)
        return cfx_loop_contiguous(call, t);
    if (cfx_tensor_meta(&out, call->ctx, dtype, t->rank, t->shape, NULL,
                        call->err))
        return NULL;
    if (cfx_tensor_alloc(out, call->err) ||
        cfx_tensor_copy(out, t, call->err)) {
        cfx_tensor_unref(out);
        return NULL;
    }
    return out;
}
