/*
 * unique -- elements, or slices of an axis, without repetition: all of them in
 * order, or of each run of equal neighbours one.
 *
 * shape   as many as the data have; for each element the place of its equal,
 *         and how many each has, if asked for.
 * cost    none: comparisons.
 */
#include <string.h>

#include "op/composite.h"
#include "op/infer.h"
#include "op/loop.h"

CFX_PARAMS(params, SELF, SORTED, RETURN_INVERSE, RETURN_COUNTS, DIM);

#define IN(k) cfx_call_value(call, k)

/* `code`: of runs; ATen's operators give a fixed number of tensors, empty ones
 * where they are not asked for. */
enum { RUNS = 1, TWO = 2, THREE = 4, ALWAYS = 8 };

/* Slices of an axis, or elements, as rows. */
struct rows {
    int axis;        /* -1: elements */
    int64_t n, m;    /* rows, and their length */
    cfx_value keys;  /* (n, m), of the argument */
    cfx_value data;  /* likewise, f64 or i64 */
    cfx_value order; /* i64: rows in order, or as they stand */
};

static int axis_of(const cfx_call *call)
{
    int rank = cfx_call_tensor(call, SELF)->rank;
    int64_t axis = cfx_call_int(call, DIM);
    if (!cfx_call_has(call, DIM))
        return -1;
    return (int)(axis < 0 ? axis + (rank ? rank : 1) : axis);
}

static bool has_inverse(const cfx_call *call)
{
    return call->op->code & ALWAYS || cfx_call_bool(call, RETURN_INVERSE);
}

static bool has_counts(const cfx_call *call)
{
    return call->op->code & ALWAYS || cfx_call_bool(call, RETURN_COUNTS);
}

/* ---- The result: values, places, counts ---- */

static cfx_status give(cfx_call *call, cfx_tensor *const *made)
{
    cfx_value item[3];
    size_t n = 0;
    int code = call->op->code;
    for (int i = 0; i < 3; i++)
        if (made[i])
            item[n++] = cfx_value_of_tensor(cfx_tensor_ref(made[i]));
    cfx_value v = n == 1 && !(code & (TWO | THREE))
                      ? cfx_value_ref(item[0])
                      : cfx_tuple_new(call->ctx, n, item);
    while (n--)
        cfx_value_unref(item[n]);
    return cfx_call_return_take(call, v);
}

/* A meta of the distinct slices: in memory, one after the other. */
static cfx_status new_slices(cfx_call *call, cfx_dim found, cfx_tensor **out)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_dim shape[CFX_MAX_RANK], stride[CFX_MAX_RANK], step = cfx_dim_int(1);
    int axis = axis_of(call);
    for (int i = x->rank - 1; i >= 0; i--) {
        shape[i] = i == axis ? found : x->shape[i];
        stride[i] = step;
        if (i != axis && !cfx_dim_is(x->shape[i], 0))
            step = cfx_dim_mul(call->env, step, x->shape[i]);
    }
    stride[axis] = step;
    cfx_status st = cfx_tensor_meta(out, call->ctx, (cfx_dtype)x->dtype,
                                    x->rank, shape, stride, call->err);
    if (!st)
        (*out)->device = call->device;
    return st;
}

/* Metas of the results for `found` distinct rows. */
static cfx_status begin(cfx_call *call, cfx_dim found, cfx_tensor **made)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_dim none = cfx_dim_int(0);
    int axis = axis_of(call), code = call->op->code;
    bool slices = axis >= 0 && x->rank;
    cfx_status st = slices ? new_slices(call, found, &made[0])
                           : cfx_call_new(call, &made[0], (cfx_dtype)x->dtype,
                                          1, &found);
    if (!st && has_inverse(call))
        st = slices ? cfx_call_new(call, &made[1], CFX_I64, 1, &x->shape[axis])
                    : cfx_call_new(call, &made[1], CFX_I64, x->rank, x->shape);
    else if (!st && code & (TWO | THREE))
        st = cfx_call_new(call, &made[1], CFX_I64, 1, &none);
    if (!st && has_counts(call))
        st = cfx_call_new(call, &made[2], CFX_I64, 1, &found);
    else if (!st && code & THREE)
        st = cfx_call_new(call, &made[2], CFX_I64, 1, &none);
    return st;
}

static cfx_status unique_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_tensor *made[3] = {NULL};
    cfx_dim found;
    int axis;
    cfx_status st = CFX_OK;
    if (cfx_call_has(call, DIM))
        st = cfx_call_axis(call, cfx_call_int(call, DIM), x->rank, &axis);
    if (st || !call->meta)
        return st;
    st = cfx_infer_unknown_extent(call, &found);
    if (!st)
        st = begin(call, found, made);
    if (!st)
        st = give(call, made);
    for (int i = 0; i < 3; i++)
        cfx_tensor_unref(made[i]);
    return st;
}

/* ---- Finding them ---- */

static bool are_equal(const struct rows *r, int64_t a, int64_t b)
{
    const cfx_tensor *t = r->data.u.tensor;
    for (int64_t j = 0; j < r->m; j++) {
        int64_t i = a * r->m + j, k = b * r->m + j;
        if (t->dtype == CFX_F64
                ? ((const double *)t->data)[i] != ((const double *)t->data)[k]
                : ((const int64_t *)t->data)[i] !=
                      ((const int64_t *)t->data)[k])
            return false;
    }
    return true;
}

/* Sorting by each column, from the last to the first, is sorting by all, since
 * these sorts are stable. */
static void sort_rows(cfx_scope *s, struct rows *r)
{
    for (int64_t j = r->m - 1; j >= 0 && !cfx_scope_failed(s); j--) {
        size_t frame = cfx_scope_enter(s);
        cfx_value key = CFX_CALL(s, "torch.select", r->keys, cfx_int(1),
                                 cfx_int(j));
        key = CFX_CALL(s, "torch.index_select", key, cfx_int(0), r->order);
        cfx_value place = CFX_CALL(s, "torch.argsort", key, cfx_int(-1),
                                   cfx_bool(false), cfx_bool(true));
        r->order = cfx_scope_leave(
            s, frame,
            CFX_CALL(s, "torch.index_select", r->order, cfx_int(0), place));
    }
}

static void read_rows(cfx_scope *s, const cfx_call *call, struct rows *r)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    bool floats = cfx_dtype_is_float((cfx_dtype)x->dtype);
    cfx_value v = IN(SELF);
    r->axis = x->rank ? axis_of(call) : -1;
    r->n = r->axis < 0 ? cfx_tensor_numel(x) : cfx_tensor_size(x, r->axis);
    r->m = r->n ? cfx_tensor_numel(x) / r->n : 0;
    if (r->axis > 0)
        v = CFX_CALL(s, "torch.movedim", v, cfx_int(r->axis), cfx_int(0));
    v = CFX_CALL(s, "torch.reshape", v,
                 cfx_tuple(s, cfx_int(r->n), cfx_int(r->m)));
    r->keys = v;
    v = CFX_CALL(s, "Tensor.to", v,
                 cfx_value_of_dtype(floats ? CFX_F64 : CFX_I64));
    r->data = CFX_CALL(s, "Tensor.contiguous", v);
    r->order = CFX_CALL(s, "torch.arange", cfx_int(r->n));
    if (!(call->op->code & RUNS))
        sort_rows(s, r);
}

/* Into `first` the first row of each group of equal ones, into `inverse` the
 * group of each row, into `count` the size of each group, where not NULL.
 * Returns the number of groups. */
static int64_t group(const struct rows *r, int64_t *first, int64_t *inverse,
                     int64_t *count)
{
    const int64_t *order = r->order.u.tensor->data;
    int64_t found = 0;
    for (int64_t i = 0; i < r->n; i++) {
        if (i == 0 || !are_equal(r, order[i - 1], order[i])) {
            if (first)
                first[found] = order[i];
            if (count)
                count[found] = 0;
            found++;
        }
        if (inverse)
            inverse[order[i]] = found - 1;
        if (count)
            count[found - 1]++;
    }
    return found;
}

static cfx_value pick(cfx_scope *s, const cfx_call *call, const struct rows *r,
                      cfx_value first)
{
    if (r->axis >= 0)
        return CFX_CALL(s, "torch.index_select", IN(SELF), cfx_int(r->axis),
                        first);
    return CFX_CALL(
        s, "torch.index_select",
        CFX_CALL(s, "torch.reshape", IN(SELF), cfx_tuple(s, cfx_int(-1))),
        cfx_int(0), first);
}

static cfx_status fill(cfx_scope *s, cfx_call *call, const struct rows *r,
                       cfx_tensor *const *made)
{
    cfx_value first = CFX_CALL(s, "torch.empty_like", r->order);
    cfx_status st = cfx_scope_status(s, call->err);
    if (st)
        return st;
    int64_t found = group(r, first.u.tensor->data,
                          has_inverse(call) ? made[1]->data : NULL,
                          has_counts(call) ? made[2]->data : NULL);
    first = CFX_CALL(s, "torch.narrow", first, cfx_int(0), cfx_int(0),
                     cfx_int(found));
    cfx_value y = pick(s, call, r, first);
    st = cfx_scope_status(s, call->err);
    return st ? st : cfx_tensor_copy(made[0], y.u.tensor, call->err);
}

static cfx_status unique_run(cfx_call *call)
{
    cfx_tensor *made[3] = {NULL};
    struct rows r = {0};
    cfx_scope s;
    cfx_scope_init(&s, &cfx_composite__eager, call->ctx, NULL);
    read_rows(&s, call, &r);
    cfx_status st = cfx_scope_status(&s, call->err);
    if (!st)
        st = begin(call, cfx_dim_int(group(&r, NULL, NULL, NULL)), made);
    for (int i = 0; !st && i < 3; i++)
        if (made[i])
            st = cfx_tensor_alloc(made[i], call->err);
    if (!st)
        st = fill(&s, call, &r, made);
    if (!st)
        st = give(call, made);
    for (int i = 0; i < 3; i++)
        cfx_tensor_unref(made[i]);
    cfx_scope_release(&s);
    return st;
}

/* ---- Descriptors ---- */

#define UNIQUE(name, schema_, aliases_, code_)                                \
    const cfx_op cfx_op__##name = {                                           \
        .schema = schema_,                                                    \
        .params = params,                                                     \
        .aliases = aliases_,                                                  \
        .doc = (code_)&RUNS ? "One of each run of equal elements or slices."  \
                            : "The distinct elements or slices, in order.",   \
        .flags = CFX_OP_OWN_RESULT,                                           \
        .code = code_,                                                        \
        .infer = unique_infer,                                                \
        .run = unique_run,                                                    \
    };
#define BOTH "bool return_inverse=False, bool return_counts=False"
#define TENSORS " -> (Tensor, Tensor, Tensor)"

UNIQUE(unique,
       "unique(Tensor input, bool sorted=True, " BOTH
       ", int? dim=None) -> any",
       "torch.unique Tensor.unique", 0)
UNIQUE(unique_consecutive,
       "unique_consecutive(Tensor input, " BOTH ", int? dim=None) -> any",
       "torch.unique_consecutive Tensor.unique_consecutive", RUNS)
UNIQUE(
    _unique,
    "_unique(Tensor self, bool sorted=True, bool return_inverse=False) -> (Tensor, Tensor)",
    "torch. aten.", TWO)
UNIQUE(_unique2, "_unique2(Tensor self, bool sorted=True, " BOTH ")" TENSORS,
       "torch. aten.", THREE)
UNIQUE(unique_dim,
       "unique_dim(Tensor self, int dim, bool sorted=True, " BOTH ")" TENSORS,
       "torch. aten.", THREE | ALWAYS)
UNIQUE(_unique_consecutive,
       "_unique_consecutive(Tensor self, " BOTH ", int? dim=None)" TENSORS,
       "aten.unique_consecutive.default", RUNS | THREE)
UNIQUE(unique_dim_consecutive,
       "unique_dim_consecutive(Tensor self, int dim, " BOTH ")" TENSORS,
       "aten.unique_dim_consecutive.default", RUNS | THREE | ALWAYS)
