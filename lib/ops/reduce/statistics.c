/*
 * statistics -- covariances, histograms, counts, rows of limited norm.
 *
 * shape   cov: a matrix over the rows; histograms: one number for each bin.
 * cost    that of the operators they consist of; counting is free.
 */
#include <math.h>
#include <string.h>

#include "base/convert.h"
#include "op/composite.h"
#include "op/infer.h"
#include "op/loop.h"

CFX_PARAMS(params, SELF, CORRECTION, FWEIGHTS, AWEIGHTS, BINS, MIN, MAX, RANGE,
           WEIGHT, WEIGHTS, DENSITY, MINLENGTH, P, DIM, MAXNORM);

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
    x = CFX_CALL(s, "torch.mm", x, CFX_CALL(s, "torch.t", other));
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
    cfx_value deviation = CFX_CALL(s, "torch.sqrt",
                                   CFX_CALL(s, "torch.diagonal", c));
    c = CFX_CALL(s, "torch.div", c,
                 CFX_CALL(s, "torch.unsqueeze", deviation, cfx_int(1)));
    c = CFX_CALL(s, "torch.div", c,
                 CFX_CALL(s, "torch.unsqueeze", deviation, cfx_int(0)));
    return CFX_CALL(s, "torch.clamp", c, cfx_int(-1), cfx_int(1));
}

static cfx_status check_table(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    if (x->dtype == CFX_BOOL)
        return cfx_infer_refuse(call, CFX_BOOL);
    if (x->rank > 2)
        return cfx_call_fail(call, CFX_ESHAPE,
                             "expected input to have two or fewer dimensions "
                             "but got an input with %d dimensions",
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
        return cfx_call_fail(call, CFX_ESHAPE,
                             "expected %s to have one or fewer dimensions but "
                             "got %s with %d dimensions",
                             whole ? "fweights" : "aweights",
                             whole ? "fweights" : "aweights", w->rank);
    if (cfx_dtypes[w->dtype].category != (whole ? CFX_CAT_INT : CFX_CAT_FLOAT))
        return cfx_call_fail(call, CFX_EDTYPE, "expected %s dtype",
                             whole ? "fweights to have integral"
                                   : "aweights to have floating point");
    cfx_dim have = w->rank ? w->shape[0] : cfx_dim_int(1);
    cfx_dim want = x->rank ? x->shape[x->rank - 1] : cfx_dim_int(1);
    return cfx_dim_eq(call->env, have, want)
               ? CFX_OK
               : cfx_call_fail(call, CFX_ESHAPE,
                               "expected %s to have the same numel as there "
                               "are observations in the input",
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
    .schema = "cov(Tensor self, *, int correction=1, Tensor? fweights=None, "
              "Tensor? aweights=None) -> Tensor",
    .params = params,
    .aliases = "torch.cov Tensor.cov aten.cov.default",
    .doc = "The covariances of rows.",
    .infer = cov_infer,
    .cost = cov_cost,
    .run = cov_run,
};

const cfx_op cfx_op__corrcoef = {
    .schema = "corrcoef(Tensor self) -> Tensor",
    .params = params,
    .aliases = "torch.corrcoef Tensor.corrcoef aten.corrcoef.default",
    .doc = "The correlations of rows.",
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
    factor = CFX_CALL(s, "Tensor.to", factor, cfx_value_of_dtype(type));
    factor = CFX_CALL(s, "torch.mul", IN(SELF), factor);
    return CFX_CALL(s, "Tensor.contiguous", factor);
}

static cfx_status renorm_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    double p = cfx_call_double(call, P), most = cfx_call_double(call, MAXNORM);
    int axis;
    cfx_status st = cfx_infer_need_float(call, (cfx_dtype)x->dtype);
    if (!st && !(p > 0) && !cfx_infer_is_unknown(call, p))
        st = cfx_call_fail(call, CFX_EINVAL,
                           "non-positive norm not supported");
    if (!st && !(most >= 0) && !cfx_infer_is_unknown(call, most))
        st = cfx_call_fail(call, CFX_EINVAL,
                           "expected maxnorm to be >= 0 but got %g", most);
    if (!st && x->rank < 2)
        st = cfx_call_fail(call, CFX_ESHAPE,
                           "input needs at least 2 dimensions, got %d "
                           "dimensions",
                           x->rank);
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
    .schema = "renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> "
              "Tensor",
    .params = params,
    .aliases = "torch.renorm Tensor.renorm aten.renorm.default",
    .doc = "The slices of an axis, scaled down to a norm where theirs is "
           "greater.",
    .flags = CFX_OP_INPLACE,
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
                             "only supports 1-d non-negative integral "
                             "inputs");
    if (w &&
        (w->rank != 1 || !cfx_dim_eq(call->env, w->shape[0], x->shape[0])))
        return cfx_call_fail(call, CFX_ESHAPE,
                             "weights should be 1-d and have the same length "
                             "as input");
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
            return cfx_call_fail(call, CFX_EINVAL,
                                 "only supports 1-d non-negative integral "
                                 "inputs");
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
    .schema = "bincount(Tensor self, Tensor? weights=None, SymInt minlength=0)"
              " -> Tensor",
    .params = params,
    .aliases = "torch.bincount Tensor.bincount aten.bincount.default",
    .doc = "How often each integer occurs.",
    .flags = CFX_OP_OWN_RESULT,
    .infer = bincount_infer,
    .run = bincount_run,
};

/* ---- histc, histogram ---- */

enum { HISTC, EQUAL_BINS, GIVEN_BINS };

/* Elements in bins, of which a right edge is in the last only. */
struct bins {
    const double *edge; /* n + 1 of them */
    int64_t n;
    bool equal, single; /* all of one width; in arithmetic of floats */
    double *sum;
};

/* The bin of an element between the edges. */
static int64_t bin_of(const struct bins *b, double v, bool searched)
{
    double lo = b->edge[0], hi = b->edge[b->n];
    int64_t i = 0, end = b->n;
    if (b->equal) {
        double at = b->single ? (float)((float)v - (float)lo) * (float)b->n /
                                    ((float)hi - (float)lo)
                              : (v - lo) * (double)b->n / (hi - lo);
        i = at < (double)b->n ? (int64_t)at : b->n - 1;
        if (!searched)
            return i;
        end = i + 1 < b->n ? i + 2 : b->n;
        i = i ? i - 1 : 0;
    }
    while (end - i > 1) {
        int64_t half = i + (end - i) / 2;
        if (b->edge[half] <= v)
            i = half;
        else
            end = half;
    }
    return i;
}

static void fill_bins(const struct bins *b, const double *x, const double *w,
                      int64_t n, bool searched)
{
    for (int64_t i = 0; i < n; i++)
        if (x[i] >= b->edge[0] && x[i] <= b->edge[b->n])
            b->sum[bin_of(b, x[i], searched)] += w ? w[i] : 1;
}

static void make_density(const struct bins *b)
{
    double total = 0;
    for (int64_t i = 0; i < b->n; i++)
        total += b->sum[i];
    for (int64_t i = 0; i < b->n; i++)
        b->sum[i] /= total * (b->edge[i + 1] - b->edge[i]);
}

/* The outer edges: those that are given, or else of the elements, moved apart
 * where they are one. */
static cfx_status outer_edges(cfx_call *call, const double *x, int64_t n,
                              double *edge)
{
    bool histc = call->op->code == HISTC;
    double apart = histc ? 1 : 0.5;
    bool given = histc || cfx_call_has(call, RANGE);
    if (histc) {
        edge[0] = cfx_call_double(call, MIN);
        edge[1] = cfx_call_double(call, MAX);
    } else if (given) {
        edge[0] = cfx_value_number(cfx_call_item(call, RANGE, 0));
        edge[1] = cfx_value_number(cfx_call_item(call, RANGE, 1));
    }
    if (!given || (histc && edge[0] == edge[1])) {
        edge[0] = n ? x[0] : 0;
        edge[1] = n ? x[0] : histc ? 0 : 1;
        for (int64_t i = 0; i < n; i++) {
            edge[0] = x[i] < edge[0] || x[i] != x[i] ? x[i] : edge[0];
            edge[1] = x[i] > edge[1] || x[i] != x[i] ? x[i] : edge[1];
        }
    }
    if (!isfinite(edge[0]) || !isfinite(edge[1]))
        return cfx_call_fail(call, CFX_EINVAL,
                             "range of [%g, %g] is not finite", edge[0],
                             edge[1]);
    if (edge[0] > edge[1])
        return cfx_call_fail(call, CFX_EINVAL, "max must be larger than min");
    if (edge[0] == edge[1]) {
        edge[0] -= apart;
        edge[1] += apart;
    }
    return CFX_OK;
}

/* The edges as a tensor of the result's type. */
static cfx_value edges_of(cfx_scope *s, cfx_call *call, const double *x,
                          int64_t n, cfx_dtype type)
{
    double edge[2];
    cfx_value key[] = {cfx_str(s, "dtype"), cfx_value_of_dtype(type)};
    if (call->op->code == GIVEN_BINS)
        return IN(BINS);
    if (outer_edges(call, x, n, edge))
        return cfx_scope_fail(s, call->err->code, "%s", call->err->text);
    cfx_value args[] = {cfx_float(edge[0]), cfx_float(edge[1]),
                        cfx_int(cfx_call_int(call, BINS) + 1)};
    return cfx_call_function(s, "torch.linspace", (cfx_args){args, 3, key, 1});
}

static cfx_value as_double(cfx_scope *s, cfx_value x)
{
    x = CFX_CALL(s, "Tensor.to", x, cfx_value_of_dtype(CFX_F64));
    return CFX_CALL(s, "Tensor.contiguous", x);
}

static cfx_value histogram_in(cfx_scope *s, cfx_call *call, cfx_value *edges)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_value v = as_double(s, IN(SELF)), w = IN(WEIGHT), e, y;
    cfx_dtype type = (cfx_dtype)x->dtype;
    cfx_value key[] = {cfx_str(s, "dtype"), cfx_value_of_dtype(CFX_F64)};
    if (cfx_scope_failed(s))
        return cfx_none();
    *edges = edges_of(s, call, v.u.tensor->data, cfx_tensor_numel(x), type);
    e = as_double(s, *edges);
    if (w.kind == CFX_TENSOR)
        w = as_double(s, w);
    if (cfx_scope_failed(s))
        return cfx_none();
    struct bins b = {.edge = e.u.tensor->data,
                     .n = cfx_tensor_numel(e.u.tensor) - 1,
                     .equal = call->op->code != GIVEN_BINS,
                     .single = type != CFX_F64};
    cfx_value size = cfx_tuple(s, cfx_int(b.n));
    y = cfx_call_function(s, "torch.zeros", (cfx_args){&size, 1, key, 1});
    if (cfx_scope_failed(s))
        return cfx_none();
    b.sum = y.u.tensor->data;
    fill_bins(&b, v.u.tensor->data,
              w.kind == CFX_TENSOR ? w.u.tensor->data : NULL,
              cfx_tensor_numel(x), call->op->code != HISTC);
    if (cfx_call_bool(call, DENSITY))
        make_density(&b);
    return y;
}

static cfx_status histogram_run(cfx_call *call)
{
    cfx_scope s;
    cfx_value edges = cfx_none();
    cfx_scope_init(&s, &cfx_composite__eager, call->ctx, NULL);
    cfx_value y = histogram_in(&s, call, &edges);
    cfx_status st = cfx_scope_status(&s, call->err);
    if (!st)
        st = cfx_tensor_copy(call->out[0], y.u.tensor, call->err);
    if (!st && call->nout == 2)
        st = cfx_tensor_copy(call->out[1], edges.u.tensor, call->err);
    cfx_scope_release(&s);
    return st;
}

/* The bins are equal in number to BINS, or one less than the edges there. */
static cfx_status histogram_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    const cfx_tensor *w = cfx_call_tensor(call, WEIGHT);
    const cfx_tensor *given = cfx_call_tensor(call, BINS);
    cfx_dtype type = (cfx_dtype)x->dtype;
    cfx_dim one = cfx_dim_int(1), n, edges;
    cfx_status st = cfx_infer_need_float(call, type);
    bool same = !w || w->rank == x->rank;
    if (!st && call->op->code != HISTC && cfx_dtype_is_reduced(type))
        st = cfx_infer_refuse(call, type);
    for (int i = 0; !st && w && same && i < x->rank; i++)
        same = cfx_dim_eq(call->env, x->shape[i], w->shape[i]);
    if (!st && (!same || (w && w->dtype != x->dtype)))
        st = cfx_call_fail(call, CFX_ESHAPE,
                           "if weight tensor is provided, it should have the "
                           "shape and dtype of the input tensor");
    if (!st && given && (given->rank != 1 || given->dtype != x->dtype))
        st = cfx_call_fail(call, CFX_EINVAL,
                           "bins tensor should have one dimension and the "
                           "dtype of the input tensor");
    if (!st && cfx_call_has(call, RANGE) && cfx_call_len(call, RANGE) != 2)
        st = cfx_call_fail(call, CFX_EINVAL, "range should have 2 elements");
    if (st)
        return st;
    n = given ? cfx_dim_sub(call->env, given->shape[0], one)
              : cfx_value_dim(IN(BINS));
    if (!cfx_dim_le(call->env, one, n))
        return cfx_call_fail(call, CFX_EINVAL, "bins must be > 0");
    edges = cfx_dim_add(call->env, n, one);
    st = cfx_call_out(call, type, 1, &n);
    if (!st && call->op->code != HISTC)
        st = cfx_call_out(call, type, 1, &edges);
    return st;
}

const cfx_op cfx_op__histc = {
    .schema = "histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) "
              "-> Tensor",
    .params = params,
    .aliases = "torch.histc Tensor.histc aten.histc.default",
    .doc = "How many elements fall in each of equal bins.",
    .code = HISTC,
    .infer = histogram_infer,
    .run = histogram_run,
};

#define PAIR " -> (Tensor hist, Tensor bin_edges)"

static const cfx_op histogram_bins = {
    .schema = "histogram.bins_tensor(Tensor self, Tensor bins, *, Tensor? "
              "weight=None, bool density=False)" PAIR,
    .params = params,
    .aliases = "torch.histogram Tensor.histogram aten.histogram.bins_tensor",
    .doc = "The elements, or weights, between the given edges.",
    .code = GIVEN_BINS,
    .infer = histogram_infer,
    .run = histogram_run,
};

const cfx_op cfx_op__histogram = {
    .schema = "histogram.bin_ct(Tensor self, int bins=100, *, float[]? "
              "range=None, Tensor? weight=None, bool density=False)" PAIR,
    .params = params,
    .aliases = "torch.histogram Tensor.histogram aten.histogram.bin_ct",
    .doc = "The elements, or weights, in equal bins, and the bins' edges.",
    .code = EQUAL_BINS,
    .infer = histogram_infer,
    .run = histogram_run,
    .next = &histogram_bins,
};
