/*
 * list -- tensors from Python numbers and lists.
 */
#include "op/list.h"

#include <math.h>

#include "op/infer.h"

static bool fits_int(cfx_value v, int64_t least, int64_t most)
{
    if (v.kind != CFX_FLOAT)
        return v.u.i >= least && v.u.i <= most;
    /* Only integers wrap around. */
    if (least == -most)
        least = 0;
    /* INT64_MAX is not a double; the next one is. */
    return v.u.f >= (double)least &&
           (most == INT64_MAX ? v.u.f < 0x1p63 : v.u.f <= (double)most);
}

cfx_status cfx_list_check_number(cfx_call *call, cfx_value v, cfx_dtype type)
{
    bool fits = true;
    bool complex = cfx_dtype_is_complex(cfx_value_dtype(v));
    if (complex && !cfx_dtype_is_complex(type))
        return cfx_call_fail(
            call, CFX_EDTYPE,
            "value cannot be converted to type %s without overflow",
            cfx_dtypes[type].name);
    if (complex || v.kind == CFX_TENSOR)
        return CFX_OK;
    if (v.kind == CFX_SYMINT || type == CFX_BOOL ||
        (v.kind == CFX_FLOAT && cfx_infer_is_unknown(call, v.u.f)))
        return CFX_OK;
    if (cfx_dtypes[type].category >= CFX_CAT_FLOAT) {
        double f = fabs(cfx_value_number(v));
        fits = isnan(f) || isinf(f) || f <= cfx_dtypes[type].largest;
    } else {
        /* Negative numbers wrap around in types that have none. */
        int64_t most = cfx_dtype_most(type);
        fits = fits_int(v, cfx_dtypes[type].is_signed ? -most - 1 : -most,
                        most);
    }
    if (fits)
        return CFX_OK;
    return cfx_call_fail(
        call, CFX_EINVAL,
        "value cannot be converted to type %s without overflow",
        cfx_dtypes[type].name);
}

cfx_status cfx_list_check_whole(cfx_call *call, int from, int to,
                                cfx_dtype type)
{
    cfx_status st = CFX_OK;
    bool whole = cfx_dtypes[type].category < CFX_CAT_FLOAT;
    for (int k = from; k < to && !st && whole; k++)
        if (call->in[k].kind != CFX_TENSOR && call->in[k].kind != CFX_NONE)
            st = cfx_list_check_number(call, call->in[k], type);
    return st;
}

cfx_status cfx_list_check_factor(cfx_call *call, cfx_value v, cfx_dtype type)
{
    bool half = type == CFX_F16 || type == CFX_BF16;
    /* Every number is a bool. */
    return v.kind == CFX_NONE || type == CFX_BOOL
               ? CFX_OK
               : cfx_list_check_number(call, v, half ? CFX_F32 : type);
}

/* Merges the extents and types of nested lists. The rank bounds the depth. */
struct nest {
    cfx_call *call;
    int rank;
    int64_t shape[CFX_MAX_RANK];
    int type;     /* cfx_dtype, or -1 for none yet */
    bool unknown; /* a number is a symbol */
};

static cfx_status add_type(struct nest *n, cfx_dtype type)
{
    n->type = n->type < 0 ? (int)type
                          : (int)cfx_dtype_promote((cfx_dtype)n->type, type);
    return CFX_OK;
}

static cfx_status survey(struct nest *n, cfx_value v, int depth)
{
    if (v.kind == CFX_TENSOR && !v.u.tensor->rank && depth == n->rank) {
        n->unknown |= !v.u.tensor->data;
        return add_type(n, (cfx_dtype)v.u.tensor->dtype);
    }
    if (!cfx_value_is_seq(v)) {
        if (!cfx_infer_is_number(v))
            return cfx_call_fail(n->call, CFX_EINVAL, "invalid data type '%s'",
                                 cfx_kind_name(v.kind));
        if (depth != n->rank)
            return cfx_call_fail(n->call, CFX_EINVAL,
                                 "expected sequence of length %lld at dim %d",
                                 (long long)n->shape[depth], depth);
        n->unknown |= v.kind == CFX_SYMINT;
        return add_type(n, cfx_value_dtype(v));
    }
    if (depth == n->rank || v.u.seq->len != n->shape[depth])
        return cfx_call_fail(
            n->call, CFX_EINVAL,
            "expected sequence of length %lld at dim %d (got %u)",
            depth < n->rank ? (long long)n->shape[depth] : 0, depth,
            v.u.seq->len);
    for (uint32_t i = 0; i < v.u.seq->len; i++) {
        cfx_status st = survey(n, v.u.seq->item[i], depth + 1);
        if (st)
            return st;
    }
    return CFX_OK;
}

void cfx_list_write_number(cfx_dtype type, void *p, cfx_value v)
{
    if (v.kind == CFX_TENSOR) {
        cfx_dtype from = (cfx_dtype)v.u.tensor->dtype;
        if (cfx_dtype_is_complex(from)) {
            double part[2];
            cfx_element_complex(from, v.u.tensor->data, part);
            cfx_element_set_complex(type, p, part);
            return;
        }
        v = cfx_dtype_is_float(from)
                ? cfx_float(cfx_element_double(from, v.u.tensor->data))
                : cfx_int(cfx_element_int(from, v.u.tensor->data));
    }
    if (v.kind == CFX_COMPLEX) {
        double part[2];
        cfx_value_parts(v, part);
        cfx_element_set_complex(type, p, part);
    } else if (v.kind == CFX_FLOAT) {
        cfx_element_set_double(type, p, v.u.f);
    } else {
        cfx_element_set_int(type, p, v.u.i);
    }
}

static char *write_elements(cfx_dtype type, char *p, cfx_value v)
{
    if (!cfx_value_is_seq(v)) {
        cfx_list_write_number(type, p, v);
        return p + cfx_dtype_size(type);
    }
    for (uint32_t i = 0; i < v.u.seq->len; i++)
        p = write_elements(type, p, v.u.seq->item[i]);
    return p;
}

cfx_status cfx_list_tensor(cfx_call *call, cfx_tensor **out, cfx_value v,
                           const cfx_dtype *dtype)
{
    struct nest n = {.call = call, .type = -1};
    cfx_value at = v;
    while (cfx_value_is_seq(at)) {
        if (n.rank == CFX_MAX_RANK)
            return cfx_call_fail(call, CFX_EINVAL, "too many dimensions");
        n.shape[n.rank++] = at.u.seq->len;
        at = at.u.seq->len ? at.u.seq->item[0] : cfx_none();
    }
    cfx_status st = survey(&n, v, 0);
    if (st)
        return st;
    cfx_dtype type = dtype ? *dtype : n.type < 0 ? CFX_F32 : (cfx_dtype)n.type;
    if (n.type >= 0 && cfx_dtype_is_complex((cfx_dtype)n.type) &&
        !cfx_dtype_is_complex(type) && type != CFX_BOOL)
        return cfx_call_fail(call, CFX_EDTYPE,
                             "a complex number cannot be converted to type %s",
                             cfx_dtypes[type].name);
    if (n.unknown) {
        cfx_dim dims[CFX_MAX_RANK];
        for (int i = 0; i < n.rank; i++)
            dims[i] = cfx_dim_int(n.shape[i]);
        return cfx_call_new(call, out, type, n.rank, dims);
    }
    st = cfx_tensor_new(out, call->ctx, type, n.rank, n.shape, call->err);
    if (!st)
        write_elements(type, (*out)->data, v);
    return st;
}
