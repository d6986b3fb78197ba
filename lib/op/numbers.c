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
                             "the shape of the result depends on the numbers");
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
        return cfx_call_fail(
            call, CFX_EINVAL,
            "only integer tensors of a single element can be converted to an index");
    return cfx_infer_number(call, t, out);
}

cfx_status cfx_infer_cut(cfx_call *call, double v, cfx_dtype type, double *out)
{
    double span = ldexp(1, cfx_dtypes[type].digits);
    *out = trunc(v);
    if (cfx_infer_is_unknown(call, v) ||
        (*out < span && *out >= (cfx_dtypes[type].is_signed ? -span : 0)))
        return CFX_OK;
    return cfx_call_fail(
        call, CFX_EINVAL,
        "value cannot be converted to type %s without overflow",
        cfx_dtypes[type].name);
}

cfx_status cfx_infer_scaled(cfx_call *call, cfx_dim in, cfx_value factor,
                            const char *name, cfx_dim *out)
{
    double scale = cfx_value_number(factor);
    if (factor.kind == CFX_SYMINT) {
        *out = cfx_dim_mul(call->env, in, cfx_value_dim(factor));
        return CFX_OK;
    }
    if (factor.kind != CFX_FLOAT && factor.kind != CFX_INT &&
        factor.kind != CFX_BOOL_VALUE)
        return cfx_call_fail(call, CFX_EINVAL,
                             "argument '%s' must be float, not %s", name,
                             cfx_kind_name((cfx_kind)factor.kind));
    if (cfx_infer_is_unknown(call, scale))
        return cfx_infer_unknown_extent(call, out);
    if (cfx_dim_is_int(in)) {
        double n = floor((double)cfx_dim_value(in) * scale);
        if (!(n >= 0 && n < 0x1p60))
            return cfx_call_fail(call, CFX_EINVAL, "%s %g gives no extent",
                                 name, scale);
        *out = cfx_dim_int((int64_t)n);
        return CFX_OK;
    }
    for (int64_t q = 1; q <= 64; q++) {
        double p = scale * (double)q;
        if (p != floor(p) || fabs(p) > 0x1p31)
            continue;
        *out = cfx_dim_floordiv(
            call->env, cfx_dim_mul(call->env, in, cfx_dim_int((int64_t)p)),
            cfx_dim_int(q));
        return CFX_OK;
    }
    return cfx_call_fail(call, CFX_EUNSUPPORTED,
                         "%s %g of an extent that is not known", name, scale);
}
