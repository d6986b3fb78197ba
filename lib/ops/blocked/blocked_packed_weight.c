/*
 * blocked_packed_weight -- checks of packed weights of matrices.
 */
#include "ops/blocked/blocked_packed_weight.h"

/* What 4 bytes of a weight hold. */
static const struct form {
    cfx_dtype dtype;
    int weights,
        elements; /* elements: of the last axis; 0: no axis has them */
    cfx_blocked_type type;
} forms[] = {
    {CFX_F32, 1, 0, CFX_BLOCKED_FLOAT},
    {CFX_BF16, 2, 2, CFX_BLOCKED_MIXED},
    {CFX_I8, 4, 4, CFX_BLOCKED_INT8},
    {CFX_U8, 8, 4, CFX_BLOCKED_INT4},
};

static const struct form *form_of(const cfx_tensor *w)
{
    size_t i = sizeof(forms) / sizeof(*forms) - 1;
    while (i > 0 && forms[i].dtype != (cfx_dtype)w->dtype)
        i--;
    return &forms[i];
}

cfx_dim cfx_packed_depth(const cfx_call *call, const cfx_tensor *w)
{
    return cfx_dim_mul(call->env, w->shape[1],
                       cfx_dim_int(form_of(w)->weights));
}

static bool has_form(const cfx_call *call, const cfx_tensor *w)
{
    int n = form_of(w)->elements;
    return w->rank == 3 + (n > 0) &&
           cfx_dim_eq(call->env, w->shape[2], cfx_dim_int(CFX_BLOCK)) &&
           (!n || cfx_dim_eq(call->env, w->shape[3], cfx_dim_int(n)));
}

cfx_status cfx_packed_check(const cfx_call *call, const cfx_tensor *w,
                            cfx_dim rows)
{
    cfx_shape_env *env = call->env;
    char s[64], t[128];

    cfx_tensor_format_type(w, t, sizeof(t));
    if (!has_form(call, w))
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "expected a weight (N / 16, K, 16), of bfloat16 (N / 16, K / 2, 16, 2), of int8 (N / 16, K / 4, 16, 4), or of int4 in uint8 (N / 16, K / 8, 16, 4), but got %s",
            t);
    cfx_dim up = cfx_dim_add(env, rows, cfx_dim_int(CFX_BLOCK - 1));
    cfx_dim blocks = cfx_dim_floordiv(env, up, cfx_dim_int(CFX_BLOCK));
    if (cfx_dim_le(env, cfx_dim_int(0), rows) &&
        cfx_dim_eq(env, blocks, w->shape[0]))
        return CFX_OK;
    cfx_dim_format(rows, s, sizeof(s));
    return cfx_call_fail(call, CFX_ESHAPE,
                         "%s features do not fill the blocks of %s", s, t);
}

/* Does a scale have a number for each row, or for each row and group? */
static bool fits(const cfx_call *call, const cfx_tensor *scale,
                 const cfx_tensor *w)
{
    cfx_shape_env *env = call->env;
    cfx_dim block = cfx_dim_int(CFX_BLOCK), groups = cfx_packed_groups(scale);
    if (scale->rank == 1)
        return cfx_dim_eq(env, scale->shape[0],
                          cfx_dim_mul(env, w->shape[0], block));
    if (scale->rank != 3 || !cfx_dim_eq(env, scale->shape[0], w->shape[0]) ||
        !cfx_dim_eq(env, scale->shape[2], block) ||
        !cfx_dim_lt(env, cfx_dim_int(0), groups))
        return false;
    cfx_dim each = cfx_dim_floordiv(env, w->shape[1], groups);
    return cfx_dim_eq(env, cfx_dim_mul(env, each, groups), w->shape[1]);
}

cfx_status cfx_packed_check_scale(const cfx_call *call, const cfx_tensor *w,
                                  const cfx_tensor *scale)
{
    if (!cfx_dtype_is_float((cfx_dtype)w->dtype) != (scale != NULL))
        return cfx_call_fail(call, CFX_EINVAL, "weights of %s take %s scale",
                             cfx_dtypes[w->dtype].name, scale ? "no" : "a");
    if (scale && scale->dtype != CFX_F32)
        return cfx_call_fail(call, CFX_EDTYPE,
                             "expected a scale of float32, got %s",
                             cfx_dtypes[scale->dtype].name);
    return !scale || fits(call, scale, w)
               ? CFX_OK
               : cfx_call_fail(
                     call, CFX_ESHAPE,
                     "the scale has neither one element for each feature of the weight's blocks nor the shape (N / 16, groups, 16), where groups divide the weights");
}

cfx_status cfx_packed_check_zero(const cfx_call *call, const cfx_tensor *w,
                                 const cfx_tensor *scale,
                                 const cfx_tensor *zero)
{
    cfx_shape_env *env = call->env;
    if (!zero)
        return CFX_OK;
    if (!scale || zero->dtype != w->dtype)
        return cfx_call_fail(call, scale ? CFX_EDTYPE : CFX_EINVAL,
                             "expected zero points of integer weights, in %s",
                             cfx_dtypes[w->dtype].name);
    int64_t n = form_of(w)->weights;
    cfx_dim words = cfx_dim_floordiv(
        env, cfx_dim_add(env, cfx_packed_groups(scale), cfx_dim_int(n - 1)),
        cfx_dim_int(n));
    return has_form(call, zero) &&
                   cfx_dim_eq(env, zero->shape[0], w->shape[0]) &&
                   cfx_dim_eq(env, zero->shape[1], words)
               ? CFX_OK
               : cfx_call_fail(
                     call, CFX_ESHAPE,
                     "zero points have the form of a weight whose K is the groups of the scale, rounded up to %lld",
                     (long long)n);
}

cfx_dim cfx_packed_groups(const cfx_tensor *scale)
{
    return scale && scale->rank == 3 ? scale->shape[1] : cfx_dim_int(1);
}

cfx_blocked_type cfx_packed_type(const cfx_call *call, const cfx_tensor *w)
{
    return w->dtype == CFX_BF16 ? cfx_blocked_bfloat16(call->ctx)
                                : form_of(w)->type;
}
