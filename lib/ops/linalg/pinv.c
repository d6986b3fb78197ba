/*
 * pinv -- pseudo-inverses, ranks and condition numbers, by singular values.
 *
 * shape   pinv: (..., m, n) of (..., n, m); matrix_rank and cond: the batch.
 * cost    that of the operators they consist of.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "op/composite.h"
#include "op/infer.h"
#include "ops/linalg/matrices.h"

CFX_PARAMS(params, SELF, ATOL, RTOL, HERMITIAN, RCOND, TOL, P);

static bool is_empty(const cfx_tensor *x)
{
    return cfx_dim_is(cfx_rows(x), 0) || cfx_dim_is(cfx_columns(x), 0);
}

/* A tolerance with an axis for the singular values. */
static cfx_value spread(cfx_scope *s, cfx_value v)
{
    return v.kind == CFX_TENSOR
               ? CFX_CALL(s, "torch.unsqueeze", v, cfx_int(-1))
               : v;
}

/* PyTorch's default: the type's epsilon times the longer side. */
static cfx_value default_rtol(cfx_scope *s, const cfx_tensor *x)
{
    double eps = cfx_dtype_real((cfx_dtype)x->dtype) == CFX_F64 ? DBL_EPSILON
                                                                : FLT_EPSILON;
    cfx_dim l = cfx_dim_max(s->env, cfx_rows(x), cfx_columns(x));
    if (!cfx_dim_is_int(l)) /* the shapes are the same for any number */
        return cfx_float(eps);
    return cfx_float(eps * (double)cfx_dim_value(l));
}

/* Without a relative tolerance an absolute one above 0 stands alone. */
static cfx_value relative(cfx_scope *s, const cfx_tensor *x, cfx_value atol,
                          cfx_value rtol)
{
    if (!cfx_value_is_none(rtol))
        return rtol;
    rtol = default_rtol(s, x);
    if (atol.kind == CFX_TENSOR)
        return CFX_CALL(s, "torch.where",
                        CFX_CALL(s, "torch.gt", atol, cfx_int(0)),
                        cfx_float(0), rtol);
    return !cfx_value_is_none(atol) && cfx_value_number(atol) > 0
               ? cfx_float(0)
               : rtol;
}

/* The singular values, or the absolute values of the eigenvalues, that are
 * above the tolerance. */
static cfx_value above(cfx_scope *s, const cfx_tensor *x, cfx_value values,
                       cfx_value atol, cfx_value rtol)
{
    cfx_value most = CFX_CALL(s, "torch.amax", values,
                              cfx_tuple(s, cfx_int(-1)), cfx_bool(true));
    cfx_value least = CFX_CALL(s, "torch.mul", most,
                               spread(s, relative(s, x, atol, rtol)));
    if (atol.kind == CFX_TENSOR)
        least = CFX_CALL(s, "torch.maximum", spread(s, atol), least);
    else if (!cfx_value_is_none(atol))
        least = CFX_CALL(s, "torch.clamp", least, atol);
    return CFX_CALL(s, "torch.gt", values, least);
}

static bool check(cfx_scope *s, const cfx_call *call, const char *name)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_dtype real = cfx_dtype_real((cfx_dtype)x->dtype);
    if (x->rank >= 2 && (real == CFX_F32 || real == CFX_F64))
        return true;
    cfx_scope_fail(
        s, CFX_EDTYPE,
        "%s: expected a tensor with 2 or more dimensions of float or double types",
        name);
    return false;
}

/* ---- pinv ---- */

static cfx_value adjoint(cfx_scope *s, cfx_value x)
{
    const cfx_tensor *t = cfx_meta_of(s, x);
    x = CFX_CALL(s, "torch.transpose", x, cfx_int(-2), cfx_int(-1));
    return t && cfx_dtype_is_complex((cfx_dtype)t->dtype)
               ? CFX_CALL(s, "torch.conj", x)
               : x;
}

static cfx_value pinv(cfx_scope *s, const cfx_call *call, cfx_value atol,
                      cfx_value rtol)
{
    cfx_value x = cfx_call_value(call, SELF), u, v, values;
    const cfx_tensor *t = x.u.tensor;
    bool hermitian = cfx_call_bool(call, HERMITIAN);
    if (!check(s, call, "linalg.pinv"))
        return cfx_none();
    if (is_empty(t)) {
        cfx_value shape[CFX_MAX_RANK];
        for (int i = 0; i < t->rank; i++)
            shape[i] = cfx_value_of_dim(t->shape[i]);
        shape[t->rank - 2] = cfx_value_of_dim(cfx_columns(t));
        shape[t->rank - 1] = cfx_value_of_dim(cfx_rows(t));
        return CFX_CALL(s, "Tensor.new_zeros", x,
                        cfx_list_of(s, CFX_TUPLE, (size_t)t->rank, shape));
    }
    if (hermitian) {
        cfx_value all = CFX_CALL(s, "torch.linalg.eigh", x);
        values = cfx_nth(s, all, 0);
        u = v = cfx_nth(s, all, 1);
    } else {
        cfx_value all = CFX_CALL(s, "torch._linalg_svd", x);
        u = cfx_nth(s, all, 0);
        values = cfx_nth(s, all, 1);
        v = adjoint(s, cfx_nth(s, all, 2));
    }
    cfx_value size = hermitian ? CFX_CALL(s, "torch.abs", values) : values;
    cfx_value kept = CFX_CALL(s, "torch.where", above(s, t, size, atol, rtol),
                              CFX_CALL(s, "torch.reciprocal", values),
                              cfx_float(0));
    v = CFX_CALL(s, "torch.mul", v,
                 CFX_CALL(s, "torch.unsqueeze", kept, cfx_int(-2)));
    return CFX_CALL(s, "torch.matmul", v, adjoint(s, u));
}

static cfx_value linalg_pinv_build(cfx_scope *s, const cfx_call *call)
{
    return pinv(s, call, cfx_call_value(call, ATOL),
                cfx_call_value(call, RTOL));
}

/* A positional tolerance is relative. */
static cfx_value rcond_pinv_build(cfx_scope *s, const cfx_call *call)
{
    return pinv(s, call, cfx_float(0), cfx_call_value(call, RCOND));
}

static cfx_value pinverse_build(cfx_scope *s, const cfx_call *call)
{
    return CFX_CALL(s, "torch.linalg.pinv", cfx_call_value(call, SELF),
                    cfx_call_value(call, RCOND));
}

CFX_COMPOSITE(linalg_pinv)
CFX_COMPOSITE(rcond_pinv)
CFX_COMPOSITE(pinverse)

static const cfx_op rcond_pinv = {
    .schema =
        "linalg_pinv.rcond(Tensor self, Tensor|Scalar rcond, bool hermitian=False) -> Tensor",
    .params = params,
    .aliases = "torch.linalg. .rcond_tensor .default",
    .doc = "The pseudo-inverses of matrices.",
    .flags = CFX_OP_COMPLEX,
    .infer = rcond_pinv_infer,
    .cost = rcond_pinv_cost,
    .run = rcond_pinv_run,
};

const cfx_op cfx_op__linalg_pinv = {
    .schema =
        "linalg_pinv(Tensor self, *, Tensor|Scalar? atol=None, Tensor|Scalar? rtol=None, bool hermitian=False) -> Tensor",
    .params = params,
    .aliases = "torch.linalg. .atol_rtol_tensor .atol_rtol_float",
    .doc = "The pseudo-inverses of matrices.",
    .flags = CFX_OP_COMPLEX,
    .infer = linalg_pinv_infer,
    .cost = linalg_pinv_cost,
    .run = linalg_pinv_run,
    .next = &rcond_pinv,
};

const cfx_op cfx_op__pinverse = {
    .schema = "pinverse(Tensor self, float rcond=1e-15) -> Tensor",
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc = "The pseudo-inverses of matrices.",
    .flags = CFX_OP_COMPLEX,
    .infer = pinverse_infer,
    .cost = pinverse_cost,
    .run = pinverse_run,
};

/* ---- matrix_rank ---- */

static cfx_value rank(cfx_scope *s, const cfx_call *call, cfx_value atol,
                      cfx_value rtol)
{
    cfx_value x = cfx_call_value(call, SELF), values;
    const cfx_tensor *t = x.u.tensor;
    if (!check(s, call, "linalg.matrix_rank"))
        return cfx_none();
    values = cfx_call_bool(call, HERMITIAN)
                 ? CFX_CALL(s, "torch.abs",
                            CFX_CALL(s, "torch.linalg.eigvalsh", x))
                 : CFX_CALL(s, "torch.linalg.svdvals", x);
    if (!is_empty(t))
        values = above(s, t, values, atol, rtol);
    cfx_value args[] = {values, cfx_tuple(s, cfx_int(-1))};
    cfx_value dtype[] = {cfx_str(s, "dtype"), cfx_value_of_dtype(CFX_I64)};
    return cfx_call_function(s, "torch.sum", (cfx_args){args, 2, dtype, 1});
}

static cfx_value linalg_matrix_rank_build(cfx_scope *s, const cfx_call *call)
{
    return rank(s, call, cfx_call_value(call, ATOL),
                cfx_call_value(call, RTOL));
}

/* A positional tolerance is absolute. */
static cfx_value tol_rank_build(cfx_scope *s, const cfx_call *call)
{
    return rank(s, call, cfx_call_value(call, TOL), cfx_float(0));
}

CFX_COMPOSITE(linalg_matrix_rank)
CFX_COMPOSITE(tol_rank)

static const cfx_op tol_rank = {
    .schema =
        "linalg_matrix_rank.tol(Tensor input, Tensor|Scalar tol, bool hermitian=False) -> Tensor",
    .params = params,
    .aliases = "torch.linalg. .tol_tensor .default",
    .doc = "The ranks of matrices.",
    .flags = CFX_OP_COMPLEX,
    .infer = tol_rank_infer,
    .cost = tol_rank_cost,
    .run = tol_rank_run,
};

const cfx_op cfx_op__linalg_matrix_rank = {
    .schema =
        "linalg_matrix_rank(Tensor input, *, Tensor|Scalar? atol=None, Tensor|Scalar? rtol=None, bool hermitian=False) -> Tensor",
    .params = params,
    .aliases = "torch.linalg. .atol_rtol_tensor .atol_rtol_float",
    .doc = "The ranks of matrices.",
    .flags = CFX_OP_COMPLEX,
    .infer = linalg_matrix_rank_infer,
    .cost = linalg_matrix_rank_cost,
    .run = linalg_matrix_rank_run,
    .next = &tol_rank,
};

/* ---- cond ---- */

static cfx_value end(cfx_scope *s, cfx_value values, int64_t at)
{
    return CFX_CALL(s, "torch.select", values, cfx_int(-1), cfx_int(at));
}

/* The norm of the matrices times that of their inverses, which are infinite
 * where there is none. */
static cfx_value cond_of_norm(cfx_scope *s, cfx_value x, cfx_value p)
{
    bool nuclear = p.kind == CFX_STR && !strcmp(p.u.str->text, "nuc");
    cfx_value norm = CFX_CALL(s, "torch.linalg.matrix_norm", x, p);
    if (nuclear) {
        cfx_value values = CFX_CALL(s, "torch.linalg.svdvals", x);
        cfx_value sum = CFX_CALL(s, "torch.sum",
                                 CFX_CALL(s, "torch.reciprocal", values),
                                 cfx_tuple(s, cfx_int(-1)));
        return CFX_CALL(s, "torch.mul", norm, sum);
    }
    cfx_value all = CFX_CALL(s, "torch.linalg.inv_ex", x);
    cfx_value info = CFX_CALL(s, "torch.gt", cfx_nth(s, all, 1), cfx_int(0));
    for (int i = 0; i < 2; i++)
        info = CFX_CALL(s, "torch.unsqueeze", info, cfx_int(-1));
    cfx_value inverse = CFX_CALL(s, "torch.masked_fill", cfx_nth(s, all, 0),
                                 info, cfx_float(INFINITY));
    return CFX_CALL(s, "torch.mul", norm,
                    CFX_CALL(s, "torch.linalg.matrix_norm", inverse, p));
}

static bool is_norm(cfx_value p)
{
    if (p.kind == CFX_STR)
        return !strcmp(p.u.str->text, "fro") || !strcmp(p.u.str->text, "nuc");
    double v = fabs(cfx_value_number(p));
    return v == 1 || isinf(v);
}

static cfx_value linalg_cond_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value x = cfx_call_value(call, SELF), p = cfx_call_value(call, P);
    bool number = p.kind != CFX_STR;
    if (!check(s, call, "linalg.cond"))
        return cfx_none();
    bool empty = is_empty(x.u.tensor);
    bool two = cfx_value_is_none(p) || (number && cfx_value_number(p) == 2);
    bool minus_two = !two && number && cfx_value_number(p) == -2;
    if (!two && !minus_two && !is_norm(p))
        return cfx_scope_fail(s, CFX_EINVAL,
                              "linalg.cond got an invalid norm type");
    if (!two && !minus_two &&
        !cfx_dim_eq(s->env, cfx_rows(x.u.tensor), cfx_columns(x.u.tensor)))
        return cfx_scope_fail(
            s, CFX_ESHAPE,
            "linalg.cond: A must be batches of square matrices for this norm");
    if (empty) /* 0 */
        return CFX_CALL(s, "torch.sum", x,
                        cfx_tuple(s, cfx_int(-2), cfx_int(-1)));
    if (!two && !minus_two)
        return cond_of_norm(s, x, p);
    cfx_value values = CFX_CALL(s, "torch.linalg.svdvals", x);
    cfx_value most = end(s, values, 0), least = end(s, values, -1);
    return CFX_CALL(s, "torch.div", two ? most : least, two ? least : most);
}

CFX_COMPOSITE(linalg_cond)

const cfx_op cfx_op__linalg_cond = {
    .schema = "linalg_cond(Tensor self, any p=None) -> Tensor",
    .params = params,
    .aliases = "torch.linalg.",
    .variants =
        (const cfx_variant[]){
            {"aten.linalg_cond.default(Tensor self, Scalar? p=None) -> Tensor",
             NULL},
            {"aten.linalg_cond.p_str(Tensor self, str p) -> Tensor", NULL},
            {NULL, NULL}},
    .doc = "The condition numbers of matrices.",
    .flags = CFX_OP_COMPLEX,
    .infer = linalg_cond_infer,
    .cost = linalg_cond_cost,
    .run = linalg_cond_run,
};
