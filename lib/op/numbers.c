/*
 * numbers -- read numbers from tensors for rules; unknown ones become a symbol
 * or NaN.
 */
#include <math.h>

#include "op/infer.h"
#include "op/loop.h"

cfx_status cfx_infer_unknown_extent(cfx_call *call, cfx_dim *out)
{
    if (!call->env)
        return cfx_call_fail(call, CFX_EUNSUPPORTED,
                             "the shape of the result "
                             "depends on the numbers");
    *out = cfx_dim_unbacked(call->env);
    return cfx_dim_is_bad(*out) ? cfx_no_memory(call->err) : CFX_OK;
}

cfx_value cfx_infer_number_at(cfx_dtype type, const void *p)
{
    if (type == CFX_BOOL)
        return cfx_bool(cfx_element_int(type, p) != 0);
    return cfx_dtype_is_float(type) ? cfx_float(cfx_element_double(type, p))
                                    : cfx_int(cfx_element_int(type, p));
}


cfx_status cfx_infer_unknown_number(cfx_call *call, cfx_dtype type,
                                    cfx_value *out)
{
    cfx_dim n;
    if (cfx_dtypes[type].category == CFX_CAT_BOOL ||
        cfx_dtype_is_complex(type) || !call->env)
        return cfx_call_fail(call, CFX_EUNSUPPORTED,
                             "the result depends on the numbers");
    *out = cfx_float((double)NAN);
    if (cfx_dtype_is_float(type))
        return CFX_OK;
    cfx_status st = cfx_infer_unknown_extent(call, &n);
    *out = cfx_value_of_dim(n);
    return st;
}

bool cfx_infer_is_unknown(const cfx_call *call, double x)
{
    return isnan(x) && call->meta && call->env;
}

cfx_status cfx_infer_number(cfx_call *call, const cfx_tensor *t,
                            cfx_value *out)
{
    cfx_dtype type = (cfx_dtype)t->dtype;
    if (call->meta || cfx_tensor_is_meta(t))
        return cfx_infer_unknown_number(call, type, out);
    *out = cfx_infer_number_at(type, t->data);
    return CFX_OK;
}

cfx_status cfx_infer_index(cfx_call *call, cfx_value v, cfx_value *out)
{
    *out = v;
    if (v.kind != CFX_TENSOR)
        return CFX_OK;
    const cfx_tensor *t = v.u.tensor;
    cfx_dim n = cfx_infer_numel(call->env, t->rank, t->shape);
    if (cfx_dtype_is_float((cfx_dtype)t->dtype) || !cfx_dim_is(n, 1))
        return cfx_call_fail(call, CFX_EINVAL,
                             "only integer tensors of a "
                             "single element can be converted to an index");
    return cfx_infer_number(call, t, out);
}

cfx_status cfx_infer_cut(cfx_call *call, double v, cfx_dtype type, double *out)
{
    double span = ldexp(1, cfx_dtypes[type].digits);
    *out = trunc(v);
    if (cfx_infer_is_unknown(call, v) ||
        (*out < span && *out >= (cfx_dtypes[type].is_signed ? -span : 0)))
        return CFX_OK;
    return cfx_call_fail(call, CFX_EINVAL,
                         "value cannot be converted to type "
                         "%s without overflow",
                         cfx_dtypes[type].name);
}
