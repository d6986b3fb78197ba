/*
 * segment -- segment_reduce: sums, means, extremes and products of consecutive
 * slices of an axis.
 *
 * shape   the data's, with the axis as long as there are segments. Segments
 *         are given by their lengths, or by the places between them, along the
 *         last axis of a tensor whose other axes are the data's first.
 * cost    a step for each element.
 */
#include <math.h>
#include <string.h>

#include "op/op_cost.h"
#include "op/infer.h"
#include "op/loop.h"

CFX_PARAMS(params, DATA, REDUCE, LENGTHS, INDICES, OFFSETS, AXIS, UNSAFE,
           INITIAL);

enum reduction { SUM, MEAN, MAX, MIN, PROD, COUNT };

/* The state of a call. */
struct segments {
    enum reduction kind;
    int axis;
};

static cfx_status read_reduction(cfx_call *call, enum reduction *out)
{
    static const char *const names[COUNT] = {"sum", "mean", "max", "min",
                                             "prod"};
    const char *name = cfx_call_str(call, REDUCE);
    for (int i = 0; i < COUNT; i++)
        if (!strcmp(names[i], name)) {
            *out = (enum reduction)i;
            return CFX_OK;
        }
    return cfx_call_fail(call, CFX_EINVAL, "unsupported reduction given! %s",
                         name);
}

/* The lengths, or the offsets. */
static const cfx_tensor *given(const cfx_call *call)
{
    const cfx_tensor *lengths = cfx_call_tensor(call, LENGTHS);
    return lengths ? lengths : cfx_call_tensor(call, OFFSETS);
}

static cfx_status segment_infer(cfx_call *call)
{
    struct segments *s = call->state;
    const cfx_tensor *x = cfx_call_tensor(call, DATA), *t = given(call);
    cfx_dim shape[CFX_MAX_RANK];
    cfx_status st = read_reduction(call, &s->kind);
    if (!st)
        st = cfx_infer_need_float(call, (cfx_dtype)x->dtype);
    if (!st && cfx_call_has(call, INDICES))
        st = cfx_call_fail(call, CFX_EUNSUPPORTED,
                           "indices based reduction is not supported");
    if (!st && (!t || !t->rank || t->rank > x->rank))
        st = cfx_call_fail(
            call, CFX_EINVAL,
            "either lengths or offsets must be given, with as many axes as the data up to `axis`");
    if (!st && t->dtype != CFX_I64 && t->dtype != CFX_I32)
        st = cfx_call_fail(call, CFX_EDTYPE,
                           "lengths and offsets must be of int32 or int64");
    if (!st)
        st = cfx_call_axis(call, cfx_call_int(call, AXIS), x->rank, &s->axis);
    if (!st && s->axis != t->rank - 1)
        st = cfx_call_fail(
            call, CFX_EINVAL,
            "axis %d is not the last axis of lengths or offsets", s->axis);
    for (int i = 0; !st && i < s->axis; i++)
        if (!cfx_dim_eq(call->env, x->shape[i], t->shape[i]))
            st = cfx_call_fail(
                call, CFX_ESHAPE,
                "lengths or offsets do not have the data's extent on axis %d",
                i);
    if (st)
        return st;
    memcpy(shape, x->shape, sizeof(*shape) * (size_t)x->rank);
    shape[s->axis] = t->shape[s->axis];
    if (!cfx_call_has(call, LENGTHS))
        shape[s->axis] = cfx_dim_sub(call->env, shape[s->axis],
                                     cfx_dim_int(1));
    if (!cfx_dim_le(call->env, cfx_dim_int(0), shape[s->axis]))
        return cfx_call_fail(call, CFX_ESHAPE, "offsets must not be empty");
    return cfx_call_out(call, (cfx_dtype)x->dtype, x->rank, shape);
}

static void segment_cost(const cfx_call *call, cfx_cost *cost)
{
    cost->ops = cfx_cost_numel(call, cfx_call_tensor(call, DATA));
}

/* ---- run ---- */

/* y and x are (outer, segments or n, inner). */
struct job {
    enum reduction kind;
    bool lengths, known; /* lengths are given; an initial value is */
    double initial;
    const int64_t *given; /* (outer, segments), or one more */
    const double *x;
    double *y;
    int64_t n, count, inner;
};

static double combine(enum reduction kind, double a, double v)
{
    switch (kind) {
    case MAX: return v != v || v > a ? v : a;
    case MIN: return v != v || v < a ? v : a;
    case PROD: return a * v;
    default: return a + v;
    }
}

static double reduce(const struct job *j, const double *x, int64_t length)
{
    static const double initial[COUNT] = {0, 0, -INFINITY, INFINITY, 1};
    double a = j->known ? j->initial : initial[j->kind];
    for (int64_t i = 0; i < length; i++)
        a = combine(j->kind, a, x[i * j->inner]);
    if (j->kind != MEAN)
        return a;
    return length ? a / (double)length : j->known ? a : NAN;
}

/* One of the outer axes; false if segments are not within the data, or, where
 * they must be (`all`), not all of it. */
static bool run_outer(const struct job *j, int64_t outer, bool all)
{
    const int64_t *at = j->given + outer * (j->count + !j->lengths);
    const double *x = j->x + outer * j->n * j->inner;
    double *y = j->y + outer * j->count * j->inner;
    int64_t begin = j->lengths ? 0 : at[0];
    for (int64_t k = 0; k < j->count; k++) {
        int64_t length = at[k];
        if (!j->lengths && (at[k + 1] < 0 || at[k + 1] > j->n))
            return false;
        if (!j->lengths)
            length = at[k + 1] - begin;
        if (begin < 0 || length < 0 || length > j->n - begin)
            return false;
        for (int64_t i = 0; i < j->inner; i++)
            *y++ = reduce(j, x + begin * j->inner + i, length);
        begin += length;
    }
    return !all || begin == j->n;
}

static cfx_status run_all(cfx_call *call, const cfx_tensor *x,
                          const cfx_tensor *t, const cfx_tensor *y)
{
    const struct segments *s = call->state;
    cfx_axis_split in = cfx_loop_split(x, s->axis);
    struct job j = {
        .kind = s->kind,
        .lengths = cfx_call_has(call, LENGTHS),
        .known = cfx_call_has(call, INITIAL),
        .given = t->data,
        .x = x->data,
        .y = y->data,
        .n = in.n,
        .count = cfx_tensor_size(y, s->axis),
        .inner = in.inner,
    };
    bool all = j.lengths && !cfx_call_bool(call, UNSAFE);
    if (j.known)
        j.initial = cfx_call_double(call, INITIAL);
    for (int64_t i = 0; i < in.outer; i++)
        if (!run_outer(&j, i, all))
            return cfx_call_fail(
                call, CFX_EINVAL,
                "the segments do not fit the axis of %lld elements",
                (long long)in.n);
    return CFX_OK;
}

static cfx_status segment_run(cfx_call *call)
{
    const cfx_tensor *out = call->out[0];
    cfx_tensor *x = cfx_loop_contiguous_as(call, cfx_call_tensor(call, DATA),
                                           CFX_F64);
    cfx_tensor *t = x ? cfx_loop_contiguous_as(call, given(call), CFX_I64)
                      : NULL;
    cfx_tensor *y = NULL;
    cfx_status st = t ? CFX_OK : CFX_ENOMEM;
    if (!st)
        st = cfx_call_new(call, &y, CFX_F64, out->rank, out->shape);
    if (!st)
        st = cfx_tensor_alloc(y, call->err);
    if (!st)
        st = run_all(call, x, t, y);
    if (!st)
        st = cfx_tensor_copy(call->out[0], y, call->err);
    cfx_tensor_unref(y);
    cfx_tensor_unref(t);
    cfx_tensor_unref(x);
    return st;
}

const cfx_op cfx_op__segment_reduce = {
    .schema =
        "segment_reduce(Tensor data, str reduce, *, Tensor? lengths=None, Tensor? indices=None, Tensor? offsets=None, int axis=0, bool unsafe=False, Scalar? initial=None) -> Tensor",
    .params = params,
    .aliases = "torch. torch._segment_reduce aten.",
    .doc = "Consecutive slices of an axis, each reduced to one.",
    .state_size = sizeof(struct segments),
    .infer = segment_infer,
    .cost = segment_cost,
    .run = segment_run,
};
