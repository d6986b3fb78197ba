/*
 * statistics -- covariances, counts, rows of limited norm.
 *
 * shape   cov: a matrix over the rows; bincount: as many as the data have.
 * cost    that of the operators they consist of; counting is free.
 */
#include <string.h>

#include "op/composite.h"
#include "op/infer.h"
#include "op/loop.h"

CFX_PARAMS(params, SELF, CORRECTION, FWEIGHTS, AWEIGHTS, WEIGHTS, MINLENGTH, P,
           DIM, MAXNORM);

#define IN(k) cfx_call_value(call, k)

/* ---- cov, corrcoef ---- */

/* The weights of observations, or None. */
static cfx_value weights_of(cfx_scope *s, const cfx_call *call)
{
    cfx_value f = IN(FWEIGHTS), a = IN(AWEIGHTS);
    if (f.kind != CFX_TENSOR)
        return a;
    return a.kind == CFX_TENSOR ? CFX_CALL(s, "torch.mul", f, a) : f;
}

/* The sum of weights less the correction, but not below 0. */
static cfx_value freedom(cfx_scope *s, const cfx_call *call, cfx_value w,
                         cfx_value sum, cfx_dim n)
{
    int64_t correction = cfx_call_int(call, CORRECTION);
    cfx_value less = cfx_int(correction);
    if (w.kind != CFX_TENSOR)
        return cfx_value_of_dim(cfx_dim_max(
            call->env, cfx_dim_sub(call->env, n, cfx_dim_int(correction)),
            cfx_dim_int(0)));
    if (correction && cfx_call_has(call, AWEIGHTS)) {
        less = CFX_CALL(s, "torch.sum",
                        CFX_CALL(s, "torch.mul", w, IN(AWEIGHTS)));
        less = CFX_CALL(s, "torch.div",
                        CFX_CALL(s, "torch.mul", less, cfx_int(correction)),
                        sum);
    }
    return CFX_CALL(s, "torch.clamp", CFX_CALL(s, "torch.sub", sum, less),
                    cfx_int(0));
}

static cfx_value covariance(cfx_scope *s, const cfx_call *call)
{
    cfx_value x = IN(SELF), w = weights_of(s, call), sum, mean, other;
    const cfx_tensor *t = x.u.tensor;
    bool weighted = w.kind == CFX_TENSOR;
    cfx_dim n = t->rank ? t->shape[t->rank - 1] : cfx_dim_int(1);
    if (t->rank < 2)
        x = CFX_CALL(s, "torch.reshape", x,
                     cfx_tuple(s, cfx_int(1), cfx_int(-1)));
    sum = weighted ? CFX_CALL(s, "torch.sum", w) : cfx_value_of_dim(n);
    mean = weighted ? CFX_CALL(s, "torch.mul", x, w) : x;
    mean = CFX_CALL(s, "torch.sum", mean, cfx_tuple(s, cfx_int(1)),
                    cfx_bool(true));
    x = CFX_CALL(s, "torch.sub", x, CFX_CALL(s, "torch.div", mean, sum));
    other = weighted ? CFX_CALL(s, "torch.mul", x, w) : x;
    other = CFX_CALL(s, "torch.t", other);
    if (cfx_dtype_is_complex((cfx_dtype)t->dtype))
        other = CFX_CALL(s, "torch.conj", other);
    x = CFX_CALL(s, "torch.mm", x, other);
    x = CFX_CALL(s, "torch.div", x, freedom(s, call, w, sum, n));
    return CFX_CALL(s, "torch.squeeze", x);
}

static cfx_value cov_build(cfx_scope *s, const cfx_call *call)
{
    return covariance(s, call);
}

static cfx_value corrcoef_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value c = CFX_CALL(s, "torch.cov", IN(SELF));
    const cfx_tensor *t = cfx_meta_of(s, c);
    if (!t || !t->rank)
        return CFX_CALL(s, "torch.div", c, c);
    bool complex = cfx_dtype_is_complex((cfx_dtype)t->dtype);
    cfx_value deviation = CFX_CALL(s, "torch.diagonal", c);
    if (complex)
        deviation = CFX_CALL(s, "torch.real", deviation);
    deviation = CFX_CALL(s, "torch.sqrt", deviation);
    c = CFX_CALL(s, "torch.div", c,
                 CFX_CALL(s, "torch.unsqueeze", deviation, cfx_int(1)));
    c = CFX_CALL(s, "torch.div", c,
                 CFX_CALL(s, "torch.unsqueeze", deviation, cfx_int(0)));
    cfx_value one = cfx_int(1), minus = cfx_int(-1);
    if (!complex)
        return CFX_CALL(s, "torch.clamp", c, minus, one);
    return CFX_CALL(
        s, "torch.complex",
        CFX_CALL(s, "torch.clamp", CFX_CALL(s, "torch.real", c), minus, one),
        CFX_CALL(s, "torch.clamp", CFX_CALL(s, "torch.imag", c), minus, one));
}

static cfx_status check_table(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    if (x->dtype == CFX_BOOL)
        return cfx_infer_refuse(call, CFX_BOOL);
    if (x->rank > 2)
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "expected input to have two or fewer dimensions but got an input with %d dimensions",
            x->rank);
    return CFX_OK;
}

/* One weight, whole (`whole`) or not, for each observation. */
static cfx_status check_weights(cfx_call *call, int k, bool whole)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    const cfx_tensor *w = cfx_call_tensor(call, k);
    if (!w)
        return CFX_OK;
    if (w->rank > 1)
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "expected %s to have one or fewer dimensions but got %s with %d dimensions",
            whole ? "fweights" : "aweights", whole ? "fweights" : "aweights",
            w->rank);
    if (cfx_dtypes[w->dtype].category != (whole ? CFX_CAT_INT : CFX_CAT_FLOAT))
        return cfx_call_fail(call, CFX_EDTYPE, "expected %s dtype",
                             whole ? "fweights to have integral"
                                   : "aweights to have floating point");
    cfx_dim have = w->rank ? w->shape[0] : cfx_dim_int(1);
    cfx_dim want = x->rank ? x->shape[x->rank - 1] : cfx_dim_int(1);
    return cfx_dim_eq(call->env, have, want)
               ? CFX_OK
               : cfx_call_fail(
                     call, CFX_ESHAPE,
                     "expected %s to have the same numel as there are observations in the input",
                     whole ? "fweights" : "aweights");
}

static cfx_status cov_infer(cfx_call *call)
{
    cfx_status st = check_table(call);
    if (!st)
        st = check_weights(call, FWEIGHTS, true);
    if (!st)
        st = check_weights(call, AWEIGHTS, false);
    return st ? st : cfx_composite_infer(call, cov_build);
}

static cfx_status corrcoef_infer(cfx_call *call)
{
    cfx_status st = check_table(call);
    return st ? st : cfx_composite_infer(call, corrcoef_build);
}

static void cov_cost(const cfx_call *call, cfx_cost *cost)
{
    cfx_composite_cost(call, cost, cov_build);
}

static void corrcoef_cost(const cfx_call *call, cfx_cost *cost)
{
    cfx_composite_cost(call, cost, corrcoef_build);
}

static bool is_positive(cfx_scope *s, cfx_value w)
{
    return cfx_truth(
        s, CFX_CALL(s, "torch.all", CFX_CALL(s, "torch.ge", w, cfx_int(0))));
}

/* Weights must not be negative, nor all 0. */
static cfx_status cov_run(cfx_call *call)
{
    bool good = true;
    cfx_scope s;
    cfx_scope_init(&s, &cfx_composite__eager, call->ctx, NULL);
    if (cfx_call_has(call, FWEIGHTS))
        good = is_positive(&s, IN(FWEIGHTS));
    if (cfx_call_has(call, AWEIGHTS))
        good = good && is_positive(&s, IN(AWEIGHTS));
    cfx_value w = weights_of(&s, call);
    if (w.kind == CFX_TENSOR)
        good = good && cfx_truth(&s, CFX_CALL(&s, "torch.ne",
                                              CFX_CALL(&s, "torch.sum", w),
                                              cfx_int(0)));
    cfx_status st = cfx_scope_status(&s, call->err);
    cfx_scope_release(&s);
    if (!st && !good)
        st = cfx_call_fail(call, CFX_EINVAL,
                           "weights cannot be negative or sum to zero");
    return st ? st : cfx_composite_run(call, cov_build);
}

static cfx_status corrcoef_run(cfx_call *call)
{
    return cfx_composite_run(call, corrcoef_build);
}

const cfx_op cfx_op__cov = {
    .schema =
        "cov(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None) -> Tensor",
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc = "The covariances of rows.",
    .flags = CFX_OP_COMPLEX,
    .infer = cov_infer,
    .cost = cov_cost,
    .run = cov_run,
};

const cfx_op cfx_op__corrcoef = {
    .schema = "corrcoef(Tensor self) -> Tensor",
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc = "The correlations of rows.",
    .flags = CFX_OP_COMPLEX,
    .infer = corrcoef_infer,
    .cost = corrcoef_cost,
    .run = corrcoef_run,
};

/* ---- renorm ---- */

static cfx_value renorm_build(cfx_scope *s, const cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_dtype type = (cfx_dtype)x->dtype;
    cfx_value axes[CFX_MAX_RANK], limit = IN(MAXNORM), key[2];
    cfx_value real = cfx_value_of_dtype(cfx_dtype_real(type));
    int64_t dim = cfx_call_int(call, DIM);
    size_t n = 0;
    for (int i = 0; i < x->rank; i++)
        if (i != dim && i != dim + x->rank)
            axes[n++] = cfx_int(i);
    cfx_value args[] = {IN(SELF), IN(P), cfx_list_of(s, CFX_TUPLE, n, axes),
                        cfx_bool(true)};
    key[0] = cfx_str(s, "dtype");
    key[1] = cfx_value_of_dtype(cfx_dtype_is_reduced(type) ? CFX_F32 : type);
    cfx_value norm = cfx_call_function(s, "torch.linalg.vector_norm",
                                       (cfx_args){args, 4, key, 1});
    cfx_value factor = CFX_CALL(s, "torch.add", norm, cfx_float(1e-7));
    factor = CFX_CALL(s, "torch.mul", CFX_CALL(s, "torch.reciprocal", factor),
                      limit);
    factor = CFX_CALL(s, "torch.where", CFX_CALL(s, "torch.gt", norm, limit),
                      factor, cfx_float(1));
    factor = CFX_CALL(s, "Tensor.to", factor, real);
    factor = CFX_CALL(s, "torch.mul", IN(SELF), factor);
    return CFX_CALL(s, "Tensor.contiguous", factor);
}

static cfx_status renorm_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    double p = cfx_call_double(call, P), most = cfx_call_double(call, MAXNORM);
    int axis;
    cfx_status st = cfx_infer_need_inexact(call, (cfx_dtype)x->dtype);
    if (!st && !(p > 0) && !cfx_infer_is_unknown(call, p))
        st = cfx_call_fail(call, CFX_EINVAL,
                           "non-positive norm not supported");
    if (!st && !(most >= 0) && !cfx_infer_is_unknown(call, most))
        st = cfx_call_fail(call, CFX_EINVAL,
                           "expected maxnorm to be >= 0 but got %g", most);
    if (!st && x->rank < 2)
        st = cfx_call_fail(
            call, CFX_ESHAPE,
            "input needs at least 2 dimensions, got %d dimensions", x->rank);
    if (!st)
        st = cfx_call_axis(call, cfx_call_int(call, DIM), x->rank, &axis);
    return st ? st : cfx_composite_infer(call, renorm_build);
}

static void renorm_cost(const cfx_call *call, cfx_cost *cost)
{
    cfx_composite_cost(call, cost, renorm_build);
}

static cfx_status renorm_run(cfx_call *call)
{
    return cfx_composite_run(call, renorm_build);
}

const cfx_op cfx_op__renorm = {
    .schema =
        "renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor",
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc =
        "The slices of an axis, scaled down to a norm where theirs is greater.",
    .flags = CFX_OP_INPLACE | CFX_OP_COMPLEX,
    .infer = renorm_infer,
    .cost = renorm_cost,
    .run = renorm_run,
};

/* ---- bincount ---- */

static cfx_dtype count_type(const cfx_call *call)
{
    const cfx_tensor *w = cfx_call_tensor(call, WEIGHTS);
    return !w ? CFX_I64 : w->dtype == CFX_F32 ? CFX_F32 : CFX_F64;
}

static cfx_status bincount_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    const cfx_tensor *w = cfx_call_tensor(call, WEIGHTS);
    cfx_dim n;
    if (cfx_dtypes[x->dtype].category != CFX_CAT_INT)
        return cfx_infer_refuse(call, (cfx_dtype)x->dtype);
    if (x->rank != 1)
        return cfx_call_fail(call, CFX_ESHAPE,
                             "only supports 1-d non-negative integral inputs");
    if (w &&
        (w->rank != 1 || !cfx_dim_eq(call->env, w->shape[0], x->shape[0])))
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "weights should be 1-d and have the same length as input");
    if (!cfx_dim_le(call->env, cfx_dim_int(0), cfx_value_dim(IN(MINLENGTH))))
        return cfx_call_fail(call, CFX_EINVAL, "minlength should be >= 0");
    if (!call->meta)
        return CFX_OK;
    cfx_status st = cfx_infer_unknown_extent(call, &n);
    return st ? st : cfx_call_out(call, count_type(call), 1, &n);
}

/* The length of the result. */
static cfx_status bins_of(cfx_call *call, const int64_t *x, int64_t n,
                          int64_t *out)
{
    *out = cfx_call_int(call, MINLENGTH);
    for (int64_t i = 0; i < n; i++) {
        if (x[i] < 0 || x[i] == INT64_MAX)
            return cfx_call_fail(
                call, CFX_EINVAL,
                "only supports 1-d non-negative integral inputs");
        if (x[i] >= *out)
            *out = x[i] + 1;
    }
    return CFX_OK;
}

static void add_up(const cfx_tensor *y, const int64_t *x, const cfx_tensor *w,
                   int64_t n)
{
    memset(y->data, 0,
           (size_t)cfx_tensor_numel(y) * cfx_dtype_size((cfx_dtype)y->dtype));
    for (int64_t i = 0; i < n; i++)
        if (!w)
            ((int64_t *)y->data)[x[i]]++;
        else if (y->dtype == CFX_F32)
            ((float *)y->data)[x[i]] += ((const float *)w->data)[i];
        else
            ((double *)y->data)[x[i]] += ((const double *)w->data)[i];
}

static cfx_status bincount_run(cfx_call *call)
{
    const cfx_tensor *given = cfx_call_tensor(call, WEIGHTS);
    cfx_dtype type = count_type(call);
    cfx_tensor *x = cfx_loop_contiguous_as(call, cfx_call_tensor(call, SELF),
                                           CFX_I64);
    cfx_tensor *w = x && given ? cfx_loop_contiguous_as(call, given, type)
                               : NULL;
    cfx_status st = x && (w || !given) ? CFX_OK : CFX_ENOMEM;
    int64_t n = st ? 0 : cfx_tensor_numel(x), bins = 0;
    if (!st)
        st = bins_of(call, x->data, n, &bins);
    cfx_dim extent = cfx_dim_int(bins);
    if (!st)
        st = cfx_call_out(call, type, 1, &extent);
    if (!st)
        st = cfx_tensor_alloc(call->out[0], call->err);
    if (!st && bins)
        add_up(call->out[0], x->data, w, n);
    cfx_tensor_unref(w);
    cfx_tensor_unref(x);
    return st;
}

const cfx_op cfx_op__bincount = {
    .schema =
        "bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor",
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc = "How often each integer occurs.",
    .flags = CFX_OP_OWN_RESULT,
    .infer = bincount_infer,
    .run = bincount_run,
};
