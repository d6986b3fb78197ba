/*
 * histogram -- how many elements, or what weights, fall in bins: histc,
 * histogram, and of points histogramdd.
 *
 * shape   a number for each bin, an axis for each coordinate of points; edges
 *         are one more than bins.
 * cost    none: counting is free.
 */
#include <math.h>

#include "op/composite.h"
#include "op/infer.h"

CFX_PARAMS(params, SELF, BINS, MIN, MAX, RANGE, WEIGHT, DENSITY);

#define IN(k) cfx_call_value(call, k)

/* `code`: of points, with what is returned of them. */
enum { HISTC, HISTOGRAM, POINTS = 2, HIST = 4, EDGES = 8 };

/* The bins of one coordinate. A right edge is in the last one only. */
struct axis {
    const double *edge; /* n + 1 of them */
    int64_t n;
    bool equal; /* all of one width */
};

struct bins {
    int rank;
    struct axis axis[CFX_MAX_RANK];
    bool single, searched; /* in arithmetic of floats; compared with edges */
    double *sum;           /* of each bin, row-major */
};

/* ---- Arguments ---- */

static bool is_of_points(const cfx_call *call)
{
    return call->op->code & POINTS;
}

/* The bins of coordinate k: a number, or a tensor of edges. */
static cfx_value bins_arg(const cfx_call *call, int k)
{
    cfx_value v = IN(BINS);
    return cfx_value_is_seq(v) ? v.u.seq->item[k] : v;
}

static cfx_status count_coordinates(cfx_call *call, int *rank)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    *rank = 1;
    if (!is_of_points(call))
        return CFX_OK;
    if (x->rank < 2)
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "input tensor should have at least 2 dimensions, but got %d",
            x->rank);
    cfx_dim n = x->shape[x->rank - 1];
    if (!cfx_dim_is_int(n) || cfx_dim_value(n) > CFX_MAX_RANK)
        return cfx_call_fail(call, CFX_EUNSUPPORTED,
                             "takes points of at most %d coordinates",
                             CFX_MAX_RANK);
    *rank = (int)cfx_dim_value(n);
    if (cfx_value_is_seq(IN(BINS)) && cfx_call_len(call, BINS) != *rank)
        return cfx_call_fail(
            call, CFX_EINVAL,
            "expected %d sequences of bin edges for a %d-dimensional histogram but got %d",
            *rank, *rank, cfx_call_len(call, BINS));
    return CFX_OK;
}

/* Weights have the input's shape, of points without the last axis. */
static cfx_status check_weight(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    const cfx_tensor *w = cfx_call_tensor(call, WEIGHT);
    int rank = x->rank - is_of_points(call);
    bool same = !w || (w->rank == rank && w->dtype == x->dtype);
    for (int i = 0; w && same && i < rank; i++)
        same = cfx_dim_eq(call->env, x->shape[i], w->shape[i]);
    return same
               ? CFX_OK
               : cfx_call_fail(
                     call, CFX_ESHAPE,
                     "if weight tensor is provided, it should have the shape and dtype of the input tensor");
}

/* The number of bins of coordinate k. */
static cfx_status bins_of(cfx_call *call, int k, cfx_dim *out)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF), *t;
    cfx_value v = bins_arg(call, k);
    if (v.kind != CFX_TENSOR && v.kind != CFX_INT && v.kind != CFX_SYMINT)
        return cfx_call_fail(call, CFX_EINVAL,
                             "bins must be ints or tensors, not %s",
                             cfx_kind_name((cfx_kind)v.kind));
    t = v.kind == CFX_TENSOR ? v.u.tensor : NULL;
    if (t && (t->rank != 1 || t->dtype != x->dtype))
        return cfx_call_fail(
            call, CFX_EINVAL,
            "bins tensor should have one dimension and the dtype of the input tensor");
    *out = t ? cfx_dim_sub(call->env, t->shape[0], cfx_dim_int(1))
             : cfx_value_dim(v);
    return cfx_dim_le(call->env, cfx_dim_int(1), *out)
               ? CFX_OK
               : cfx_call_fail(call, CFX_EINVAL, "bins must be > 0");
}

static cfx_status check(cfx_call *call, int *rank, cfx_dim *shape)
{
    cfx_dtype type = (cfx_dtype)cfx_call_tensor(call, SELF)->dtype;
    cfx_status st = cfx_infer_need_float(call, type);
    if (!st && call->op->code != HISTC && cfx_dtype_is_reduced(type))
        st = cfx_infer_refuse(call, type);
    if (!st)
        st = count_coordinates(call, rank);
    if (!st)
        st = check_weight(call);
    if (!st && cfx_call_has(call, RANGE) &&
        cfx_call_len(call, RANGE) != 2 * *rank)
        st = cfx_call_fail(call, CFX_EINVAL,
                           "range should have %d elements, but got %d",
                           2 * *rank, cfx_call_len(call, RANGE));
    for (int k = 0; !st && k < *rank; k++)
        st = bins_of(call, k, &shape[k]);
    return st;
}

/* ---- Counting ---- */

/* The bin of a number between the edges. */
static int64_t bin_of(const struct bins *b, const struct axis *a, double v)
{
    double lo = a->edge[0], hi = a->edge[a->n], n = (double)a->n, at;
    int64_t i = 0, end = a->n;
    if (a->equal) {
        at = b->single ? (double)((float)((float)v - (float)lo) * (float)n /
                                  ((float)hi - (float)lo))
                       : (v - lo) * n / (hi - lo);
        i = at < n ? (int64_t)at : a->n - 1;
        if (!b->searched)
            return i;
        end = i + 1 < a->n ? i + 2 : a->n;
        i = i ? i - 1 : 0;
    }
    while (end - i > 1) {
        int64_t half = i + (end - i) / 2;
        if (a->edge[half] <= v)
            i = half;
        else
            end = half;
    }
    return i;
}

/* n points, as rows. */
static void fill(const struct bins *b, const double *x, const double *w,
                 int64_t n)
{
    for (int64_t i = 0; i < n; i++, x += b->rank) {
        int64_t at = 0;
        bool inside = true;
        for (int k = 0; inside && k < b->rank; k++) {
            const struct axis *a = &b->axis[k];
            inside = x[k] >= a->edge[0] && x[k] <= a->edge[a->n];
            if (inside)
                at = at * a->n + bin_of(b, a, x[k]);
        }
        if (inside)
            b->sum[at] += w ? w[i] : 1;
    }
}

/* Divide by the sum of all and the size of the bin. */
static void make_density(const struct bins *b, int64_t n)
{
    double total = 0;
    for (int64_t i = 0; i < n; i++)
        total += b->sum[i];
    for (int64_t i = 0; i < n; i++) {
        double size = total;
        int64_t rest = i;
        for (int k = b->rank; k-- > 0; rest /= b->axis[k].n) {
            const double *e = b->axis[k].edge + rest % b->axis[k].n;
            size *= e[1] - e[0];
        }
        b->sum[i] /= size;
    }
}

/* ---- Edges ---- */

/* The outer edges of coordinate k, whose numbers are `step` apart: those that
 * are given, or else of the numbers, moved apart where they are one. */
static cfx_status outer_edges(cfx_call *call, int k, const double *x,
                              int64_t n, int64_t step, double *edge)
{
    bool histc = call->op->code == HISTC, given = cfx_call_has(call, RANGE);
    double apart = histc ? 1 : 0.5;
    if (histc) {
        edge[0] = cfx_call_double(call, MIN);
        edge[1] = cfx_call_double(call, MAX);
        given = edge[0] != edge[1];
    } else if (given) {
        edge[0] = cfx_value_number(cfx_call_item(call, RANGE, 2 * k));
        edge[1] = cfx_value_number(cfx_call_item(call, RANGE, 2 * k + 1));
    }
    if (!given) {
        edge[0] = n ? x[0] : 0;
        edge[1] = n ? x[0] : histc ? 0 : 1;
        for (int64_t i = 0; i < n; i++, x += step) {
            edge[0] = *x < edge[0] || *x != *x ? *x : edge[0];
            edge[1] = *x > edge[1] || *x != *x ? *x : edge[1];
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

/* The edges of coordinate k, of the result's type. */
static cfx_value edges_of(cfx_scope *s, cfx_call *call, int k, int rank,
                          const double *x, int64_t n)
{
    double edge[2];
    cfx_dtype type = (cfx_dtype)cfx_call_tensor(call, SELF)->dtype;
    cfx_value key[] = {cfx_str(s, "dtype"), cfx_value_of_dtype(type)};
    cfx_value bins = bins_arg(call, k);
    if (bins.kind == CFX_TENSOR)
        return CFX_CALL(s, "torch.clone",
                        CFX_CALL(s, "Tensor.contiguous", bins));
    if (outer_edges(call, k, x + k, n, rank, edge))
        return cfx_scope_fail(s, call->err->code, "%s", call->err->text);
    cfx_value args[] = {cfx_float(edge[0]), cfx_float(edge[1]),
                        cfx_int_add(s, bins, cfx_int(1))};
    return cfx_call_function(s, "torch.linspace", (cfx_args){args, 3, key, 1});
}

static cfx_value as_double(cfx_scope *s, cfx_value x)
{
    x = CFX_CALL(s, "Tensor.to", x, cfx_value_of_dtype(CFX_F64));
    return CFX_CALL(s, "Tensor.contiguous", x);
}

/* ---- run ---- */

/* The sums, and the edges of each coordinate. */
static cfx_value count(cfx_scope *s, cfx_call *call, int rank,
                       const cfx_dim *shape, cfx_value *edges)
{
    const cfx_tensor *t = cfx_call_tensor(call, SELF);
    cfx_value x = as_double(s, IN(SELF)), w = IN(WEIGHT), y;
    cfx_value key[] = {cfx_str(s, "dtype"), cfx_value_of_dtype(CFX_F64)};
    cfx_value extents[CFX_MAX_RANK];
    int64_t n = rank ? cfx_tensor_numel(t) / rank : 0;
    struct bins b = {.rank = rank,
                     .single = t->dtype != CFX_F64,
                     .searched = call->op->code != HISTC};
    for (int k = 0; k < rank && !cfx_scope_failed(s); k++) {
        edges[k] = edges_of(s, call, k, rank, x.u.tensor->data, n);
        cfx_value e = as_double(s, edges[k]);
        if (cfx_scope_failed(s))
            return cfx_none();
        b.axis[k].edge = e.u.tensor->data;
        b.axis[k].n = cfx_dim_value(shape[k]);
        b.axis[k].equal = bins_arg(call, k).kind != CFX_TENSOR;
        extents[k] = cfx_value_of_dim(shape[k]);
    }
    if (w.kind == CFX_TENSOR)
        w = as_double(s, w);
    cfx_value size = cfx_list_of(s, CFX_TUPLE, (size_t)rank, extents);
    y = cfx_call_function(s, "torch.zeros", (cfx_args){&size, 1, key, 1});
    if (cfx_scope_failed(s))
        return cfx_none();
    b.sum = y.u.tensor->data;
    fill(&b, x.u.tensor->data, w.kind == CFX_TENSOR ? w.u.tensor->data : NULL,
         n);
    if (cfx_call_bool(call, DENSITY))
        make_density(&b, cfx_tensor_numel(y.u.tensor));
    return CFX_CALL(s, "Tensor.to", y,
                    cfx_value_of_dtype((cfx_dtype)t->dtype));
}

static cfx_status histogram_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_dim shape[CFX_MAX_RANK], edges;
    int rank;
    cfx_status st = check(call, &rank, shape);
    if (!st)
        st = cfx_call_out(call, (cfx_dtype)x->dtype, 1, shape);
    if (st || call->op->code == HISTC)
        return st;
    edges = cfx_dim_add(call->env, shape[0], cfx_dim_int(1));
    return cfx_call_out(call, (cfx_dtype)x->dtype, 1, &edges);
}

static cfx_status histogram_run(cfx_call *call)
{
    cfx_scope s;
    cfx_value edges[CFX_MAX_RANK];
    cfx_scope_init(&s, &cfx_composite__eager, call->ctx, NULL);
    cfx_value y = count(&s, call, 1, call->out[0]->shape, edges);
    cfx_status st = cfx_scope_status(&s, call->err);
    if (!st)
        st = cfx_tensor_copy(call->out[0], y.u.tensor, call->err);
    if (!st && call->nout == 2)
        st = cfx_tensor_copy(call->out[1], edges[0].u.tensor, call->err);
    cfx_scope_release(&s);
    return st;
}

const cfx_op cfx_op__histc = {
    .schema =
        "histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor",
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc = "How many elements fall in each of equal bins.",
    .code = HISTC,
    .infer = histogram_infer,
    .run = histogram_run,
};

#define PAIR " -> (Tensor hist, Tensor bin_edges)"

static const cfx_op histogram_bins = {
    .schema =
        "histogram.bins_tensor(Tensor self, Tensor bins, *, Tensor? weight=None, bool density=False)" PAIR,
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc = "The elements, or weights, between the given edges.",
    .code = HISTOGRAM,
    .infer = histogram_infer,
    .run = histogram_run,
};

const cfx_op cfx_op__histogram = {
    .schema =
        "histogram.bin_ct(Tensor self, int bins=100, *, float[]? range=None, Tensor? weight=None, bool density=False)" PAIR,
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc = "The elements, or weights, in equal bins, and the bins' edges.",
    .code = HISTOGRAM,
    .infer = histogram_infer,
    .run = histogram_run,
    .next = &histogram_bins,
};

/* ---- Points ---- */

/* The sums, a tuple of edges, or both; takes no references. */
static cfx_status give(cfx_call *call, cfx_value y, size_t rank,
                       const cfx_value *edges)
{
    bool both = !(call->op->code & (HIST | EDGES));
    cfx_value list = cfx_tuple_new(call->ctx, rank, edges), pair[] = {y, list};
    if (call->op->code & HIST)
        list = (cfx_value_unref(list), cfx_value_ref(y));
    if (!both)
        return cfx_call_return_take(call, list);
    cfx_value v = list.kind ? cfx_tuple_new(call->ctx, 2, pair) : list;
    cfx_value_unref(list);
    return cfx_call_return_take(call, v);
}

static cfx_status points_infer(cfx_call *call)
{
    cfx_dtype type = (cfx_dtype)cfx_call_tensor(call, SELF)->dtype;
    cfx_dim shape[CFX_MAX_RANK], n;
    cfx_value edges[CFX_MAX_RANK];
    cfx_tensor *t;
    int rank, made = 0;
    cfx_status st = check(call, &rank, shape);
    if (st || !call->meta)
        return st;
    for (; !st && made < rank; made += !st) {
        n = cfx_dim_add(call->env, shape[made], cfx_dim_int(1));
        st = cfx_call_new(call, &t, type, 1, &n);
        if (!st)
            edges[made] = cfx_value_of_tensor(t);
    }
    if (!st)
        st = cfx_call_new(call, &t, type, rank, shape);
    if (!st) {
        st = give(call, cfx_value_of_tensor(t), (size_t)rank, edges);
        cfx_tensor_unref(t);
    }
    while (made--)
        cfx_value_unref(edges[made]);
    return st;
}

static cfx_status points_run(cfx_call *call)
{
    cfx_scope s;
    cfx_value edges[CFX_MAX_RANK];
    cfx_dim shape[CFX_MAX_RANK];
    int rank;
    cfx_status st = check(call, &rank, shape);
    if (st)
        return st;
    cfx_scope_init(&s, &cfx_composite__eager, call->ctx, NULL);
    cfx_value y = count(&s, call, rank, shape, edges);
    st = cfx_scope_status(&s, call->err);
    if (!st)
        st = give(call, y, (size_t)rank, edges);
    cfx_scope_release(&s);
    return st;
}

#define OF_POINTS(name, head, code_, doc_)                                    \
    const cfx_op cfx_op__##name = {                                           \
        .schema = #name "(Tensor self, any bins, " head                       \
                        "Tensor? weight=None, bool density=False) -> any",    \
        .params = params,                                                     \
        .aliases = POINTS_##name,                                             \
        .doc = doc_,                                                          \
        .flags = CFX_OP_OWN_RESULT,                                           \
        .code = POINTS | (code_),                                             \
        .infer = points_infer,                                                \
        .run = points_run,                                                    \
    };
#define POINTS_histogramdd "torch. aten. .int_bins .TensorList_bins"
#define POINTS__histogramdd_bin_edges "aten._histogramdd_bin_edges.default"
#define POINTS__histogramdd_from_bin_cts                                      \
    "aten._histogramdd_from_bin_cts.default"
#define POINTS__histogramdd_from_bin_tensors                                  \
    "aten._histogramdd_from_bin_tensors.default"

OF_POINTS(histogramdd, "float[]? range=None, ", 0,
          "The points, or weights, in bins, and the edges of each coordinate.")
OF_POINTS(_histogramdd_bin_edges, "*, float[]? range=None, ", EDGES,
          "The edges of histogramdd.")
OF_POINTS(_histogramdd_from_bin_cts, "*, float[]? range=None, ", HIST,
          "The sums of histogramdd, of so many bins.")
OF_POINTS(_histogramdd_from_bin_tensors, "*, ", HIST,
          "The sums of histogramdd, between given edges.")
