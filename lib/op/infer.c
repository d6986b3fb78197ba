/*
 * infer -- rules that many operators share.
 *
 * Types follow c10's result_type, shapes its infer_size, and the strides of
 * pointwise results TensorIterator's: those of the arguments where they agree,
 * else dense in the order that sorts the arguments' strides.
 */
#include "op/infer.h"

#include <math.h>
#include <string.h>

#include "op/op_impl.h"

/* ---- Types ---- */

cfx_dtype cfx_value_dtype(cfx_value v)
{
    if (v.kind == CFX_TENSOR)
        return (cfx_dtype)v.u.tensor->dtype;
    return v.kind == CFX_BOOL_VALUE ? CFX_BOOL
           : v.kind == CFX_FLOAT    ? CFX_F32
           : v.kind == CFX_COMPLEX  ? CFX_C64
                                    : CFX_I64;
}

bool cfx_infer_is_number(cfx_value v)
{
    return v.kind == CFX_BOOL_VALUE || v.kind == CFX_INT ||
           v.kind == CFX_SYMINT || v.kind == CFX_FLOAT ||
           v.kind == CFX_COMPLEX;
}

static int join(int have, cfx_dtype t)
{
    return have < 0 ? (int)t : (int)cfx_dtype_promote((cfx_dtype)have, t);
}

/* The higher-ranked type stands unless the lower-ranked one is of a greater
 * category. Of floats and a complex one, the precision stands. */
static int combine(int higher, int lower)
{
    if (higher < 0)
        return lower;
    if (lower < 0 || cfx_dtypes[lower].category <= cfx_dtypes[higher].category)
        return higher;
    if (cfx_dtype_is_float((cfx_dtype)higher))
        return higher == CFX_F64 ? CFX_C128 : CFX_C64;
    return (int)cfx_dtype_promote((cfx_dtype)higher, (cfx_dtype)lower);
}

static const cfx_tensor *tensor_at(const cfx_call *call, int i)
{
    return call->in[i].kind == CFX_TENSOR ? call->in[i].u.tensor : NULL;
}

/* The types of tensors with dimensions, of those without, and of numbers; -1:
 * there is none. */
struct ranked {
    int dim, zero, number;
};

static struct ranked rank_types(const cfx_call *call, int from, int to)
{
    struct ranked r = {-1, -1, -1};
    for (int k = from; k < to; k++) {
        cfx_value v = call->in[k];
        if (v.kind == CFX_TENSOR && v.u.tensor->rank)
            r.dim = join(r.dim, cfx_value_dtype(v));
        else if (v.kind == CFX_TENSOR)
            r.zero = join(r.zero, cfx_value_dtype(v));
        else if (cfx_infer_is_number(v))
            r.number = join(r.number, cfx_value_dtype(v));
    }
    return r;
}

CFX_NOINLINE
static cfx_dtype promoted_type(const cfx_call *call, int from, int to)
{
    struct ranked r = rank_types(call, from, to);
    int type = combine(r.dim, combine(r.zero, r.number));
    return type < 0 ? CFX_F32 : (cfx_dtype)type;
}

static bool is_complex_half(int higher, int lower)
{
    return higher == CFX_F16 && lower >= 0 &&
           cfx_dtype_is_complex((cfx_dtype)lower);
}

/* float16 with a lower-ranked complex type is complex32, which there is not.
 * For bfloat16 it is complex64. */
CFX_NOINLINE
static cfx_status check_complex_half(const cfx_call *call, int from, int to)
{
    struct ranked r = rank_types(call, from, to);
    bool whole = r.dim < 0 || cfx_dtypes[r.dim].category < CFX_CAT_FLOAT;
    return is_complex_half(r.dim, combine(r.zero, r.number)) ||
                   (whole && is_complex_half(r.zero, r.number))
               ? cfx_call_fail(
                     call, CFX_EDTYPE,
                     "the result would be complex32, which is not implemented; convert float16 to float32 first")
               : CFX_OK;
}

cfx_dtype cfx_infer_type(const cfx_call *call, int from, int to)
{
    const cfx_tensor *a = tensor_at(call, from), *b = tensor_at(call, to - 1);
    /* Nearly all calls: two tensors of one type, or one. */
    return to - from <= 2 && a && b && a->dtype == b->dtype
               ? (cfx_dtype)a->dtype
               : promoted_type(call, from, to);
}

cfx_dtype cfx_infer_float_type(const cfx_call *call, int from, int to)
{
    cfx_dtype t = cfx_infer_type(call, from, to);
    return cfx_dtypes[t].category >= CFX_CAT_FLOAT ? t : CFX_F32;
}

cfx_status cfx_infer_refuse(const cfx_call *call, cfx_dtype type)
{
    return cfx_call_fail(call, CFX_EDTYPE, "not implemented for %s",
                         cfx_dtypes[type].name);
}

cfx_status cfx_infer_need_float(const cfx_call *call, cfx_dtype type)
{
    return cfx_dtype_is_float(type) ? CFX_OK : cfx_infer_refuse(call, type);
}

cfx_status cfx_infer_need_inexact(const cfx_call *call, cfx_dtype type)
{
    return cfx_dtypes[type].category >= CFX_CAT_FLOAT
               ? CFX_OK
               : cfx_infer_refuse(call, type);
}

/* ---- Results ---- */

cfx_status cfx_infer_none(cfx_call *call)
{
    return cfx_call_return_take(call, cfx_none());
}

cfx_status cfx_infer_overflow(cfx_call *call)
{
    return cfx_call_fail(call, CFX_EINVAL,
                         "the result does not fit an int of 64 bits");
}

cfx_status cfx_infer_out_of_range(cfx_call *call, int64_t bad, int axis,
                                  int64_t n)
{
    return cfx_call_fail(
        call, CFX_EINVAL,
        "index %lld is out of bounds for dimension %d with size %lld",
        (long long)bad, axis, (long long)n);
}

/* ---- Shapes ---- */

cfx_status cfx_infer_broadcast(const cfx_call *call, int *rank, cfx_dim *shape,
                               int other_rank, const cfx_dim *other)
{
    cfx_dim joined[CFX_MAX_RANK];
    int n = *rank > other_rank ? *rank : other_rank;
    for (int i = 1; i <= n; i++) {
        cfx_dim a = i <= *rank ? shape[*rank - i] : cfx_dim_int(1);
        cfx_dim b = i <= other_rank ? other[other_rank - i] : cfx_dim_int(1);
        if (cfx_dim_is(a, 1)) {
            a = b;
        } else if (!cfx_dim_is(b, 1) && !cfx_dim_same(a, b)) {
            char s[64], t[64];
            cfx_dim_format(a, s, sizeof(s));
            cfx_dim_format(b, t, sizeof(t));
            if (!cfx_dim_eq(call->env, a, b))
                return cfx_call_fail(
                    call, CFX_ESHAPE,
                    "The size of tensor a (%s) must match the size of tensor b (%s) at non-singleton dimension %d",
                    s, t, n - i);
            if (cfx_dim_is_int(b))
                a = b;
        }
        joined[n - i] = a;
    }
    memcpy(shape, joined, (size_t)n * sizeof(*joined));
    *rank = n;
    return CFX_OK;
}

struct operands {
    int n, rank;
    cfx_dim shape[CFX_MAX_RANK];
    const cfx_tensor *t[8];
};

/* Also where a guard says that they are. */
static bool same_dims(cfx_shape_env *env, const cfx_tensor *t, int rank,
                      const cfx_dim *shape)
{
    if (t->rank != rank)
        return false;
    for (int i = 0; i < rank; i++)
        if (!cfx_dim_same(t->shape[i], shape[i]) &&
            (!env || !cfx_dim_known_eq(env, t->shape[i], shape[i])))
            return false;
    return true;
}

/* Has it just the strides that its shape has in row-major order? A contiguous
 * tensor may have others along extents of 1. */
static bool is_regular(cfx_shape_env *env, const cfx_tensor *t)
{
    cfx_dim step = cfx_dim_int(1);
    for (int i = t->rank - 1; i >= 0; i--) {
        if (!cfx_dim_same(t->stride[i], step))
            return false;
        step = cfx_dim_mul(env, step, t->shape[i]);
    }
    return true;
}

/* Does sorting leave dense strides as they are? Only axes of extent 1 may lie
 * where they do not belong. */
static bool in_order(cfx_shape_env *env, const cfx_tensor *t)
{
    cfx_dim stride[CFX_MAX_RANK];
    bool ones = false, last = t->rank == 4;
    for (int i = 0; i < t->rank; i++)
        ones |= cfx_dim_is(t->shape[i], 1);
    if (!ones || is_regular(env, t))
        return true;
    cfx_strides_of(env, CFX_CHANNELS_LAST, t->rank, t->shape, stride);
    for (int i = 0; i < t->rank; i++)
        last = last && cfx_dim_same(t->stride[i], stride[i]);
    return last;
}

static bool same_strides(const cfx_tensor *a, const cfx_tensor *b)
{
    for (int i = 0; i < a->rank; i++)
        if (!cfx_dim_same(a->stride[i], b->stride[i]))
            return false;
    return true;
}

/* The stride of an operand along an axis of the result; 0 where broadcast. */
static cfx_dim stride_along(const struct operands *o, const cfx_tensor *t,
                            int axis)
{
    int at = axis - (o->rank - t->rank);
    if (at < 0 ||
        (cfx_dim_is(t->shape[at], 1) && !cfx_dim_is(o->shape[axis], 1)))
        return cfx_dim_int(0);
    return t->stride[at];
}

/* TensorIterator's should_swap: does axis a belong outside of axis b? An
 * operand whose strides cannot be compared has no say. */
static int compare_axes(cfx_shape_env *env, const struct operands *o, int a,
                        int b)
{
    for (int i = 0; i < o->n; i++) {
        cfx_dim x = stride_along(o, o->t[i], a);
        cfx_dim y = stride_along(o, o->t[i], b);
        if (cfx_dim_is(x, 0) || cfx_dim_is(y, 0))
            continue;
        if (!cfx_dim_same(x, y)) {
            if (cfx_dim_known_le(env, x, y))
                return -1;
            if (cfx_dim_known_le(env, y, x))
                return 1;
            continue;
        }
        if (!cfx_dim_same(o->shape[a], o->shape[b]) &&
            cfx_dim_known_le(env, o->shape[b], o->shape[a]))
            return 1;
    }
    return 0;
}

/* Axes from the innermost to the outermost. */
static void sort_axes(cfx_shape_env *env, const struct operands *o, int *perm)
{
    for (int i = 0; i < o->rank; i++)
        perm[i] = o->rank - 1 - i;
    for (int i = 1; i < o->rank; i++) {
        int at = i;
        for (int j = i - 1; j >= 0; j--) {
            int c = compare_axes(env, o, perm[j], perm[at]);
            if (c < 0)
                break;
            if (c > 0) {
                int t = perm[j];
                perm[j] = perm[at];
                perm[at] = t;
                at = j;
            }
        }
    }
}

static void sorted_strides(cfx_shape_env *env, const struct operands *o,
                           cfx_dim *stride)
{
    int perm[CFX_MAX_RANK];
    cfx_dim step = cfx_dim_int(1);
    sort_axes(env, o, perm);
    for (int i = 0; i < o->rank; i++) {
        stride[perm[i]] = step;
        if (!cfx_dim_is(o->shape[perm[i]], 0))
            step = cfx_dim_mul(env, step, o->shape[perm[i]]);
    }
}

cfx_status cfx_infer_like(cfx_call *call, const cfx_tensor *x, cfx_dtype dtype)
{
    struct operands o = {.n = 1, .rank = x->rank, .t = {x}};
    cfx_dim stride[CFX_MAX_RANK];
    if (x->flags & CFX_TENSOR_DENSE)
        return cfx_call_out_strided(call, dtype, x->rank, x->shape, x->stride);
    memcpy(o.shape, x->shape, (size_t)x->rank * sizeof(*o.shape));
    sorted_strides(call->env, &o, stride);
    return cfx_call_out_strided(call, dtype, x->rank, x->shape, stride);
}

/*
 * TensorIterator's shortcuts are for operands of one shape: in row-major order,
 * in channels_last, or of the same dense strides. A number is an operand
 * without axes.
 */
static cfx_status pointwise_out(cfx_call *call, const struct operands *o,
                                bool numbers, cfx_dtype dtype)
{
    cfx_dim stride[CFX_MAX_RANK];
    bool same = true, strides = true;
    unsigned flags = ~0u;
    for (int i = 0; i < o->n && same; i++) {
        same = same_dims(call->env, o->t[i], o->rank, o->shape);
        flags &= o->t[i]->flags;
        strides = strides && same && same_strides(o->t[i], o->t[0]);
    }
    bool shortcut = same && (!numbers || !o->rank);
    bool ordered = same && strides && flags & CFX_TENSOR_DENSE &&
                   (shortcut || in_order(call->env, o->t[0]));
    if (!o->n || (shortcut && flags & CFX_TENSOR_CONTIGUOUS))
        return cfx_call_out(call, dtype, o->rank, o->shape);
    if (shortcut && flags & CFX_TENSOR_CHANNELS_LAST)
        cfx_strides_of(call->env, CFX_CHANNELS_LAST, o->rank, o->shape,
                       stride);
    else if (ordered)
        memcpy(stride, o->t[0]->stride, (size_t)o->rank * sizeof(*stride));
    else
        sorted_strides(call->env, o, stride);
    return cfx_call_out_strided(call, dtype, o->rank, o->shape, stride);
}

/* The first of the tensors among the arguments, if all are row-major and of
 * one shape. */
static const cfx_tensor *common_rows(const cfx_call *call, int from, int to)
{
    const cfx_tensor *first = NULL;
    bool numbers = false;
    for (int k = from; k < to; k++) {
        const cfx_tensor *t = tensor_at(call, k);
        if (!t) {
            numbers |= cfx_infer_is_number(call->in[k]);
            continue;
        }
        if (!cfx_tensor_is_contiguous(t) ||
            (first && !same_dims(NULL, t, first->rank, first->shape)))
            return NULL;
        if (!first)
            first = t;
    }
    for (int k = from; k < to && numbers; k++)
        if (tensor_at(call, k) && !is_regular(call->env, tensor_at(call, k)))
            return NULL;
    return first;
}

/* A tensor of another type is converted before anything is done; where it is
 * not dense, its copy has other strides. */
static cfx_status convert_operand(cfx_call *call, struct operands *o, int i,
                                  cfx_dtype common, cfx_tensor **copy)
{
    const cfx_tensor *t = o->t[i];
    struct operands own = {.n = 1, .rank = t->rank, .t = {t}};
    cfx_dim stride[CFX_MAX_RANK];
    *copy = NULL;
    if (t->dtype == common || t->flags & CFX_TENSOR_DENSE)
        return CFX_OK;
    memcpy(own.shape, t->shape, (size_t)t->rank * sizeof(*own.shape));
    sorted_strides(call->env, &own, stride);
    cfx_status st = cfx_tensor_meta(copy, call->ctx, common, t->rank, t->shape,
                                    stride, call->err);
    if (!st)
        o->t[i] = *copy;
    return st;
}

CFX_NOINLINE
static cfx_status broadcast_all(cfx_call *call, int from, int convert, int to,
                                cfx_dtype dtype)
{
    struct operands o;
    cfx_tensor *copy[8] = {NULL};
    cfx_dtype common = dtype == CFX_BOOL && convert < to
                           ? cfx_infer_type(call, convert, to)
                           : dtype;
    bool numbers = false;
    cfx_status st = CFX_OK;
    o.n = o.rank = 0;
    for (int k = from; k < to && o.n < 8 && !st; k++) {
        const cfx_tensor *t = tensor_at(call, k);
        numbers |= cfx_infer_is_number(call->in[k]);
        if (!t)
            continue;
        o.t[o.n++] = t;
        st = cfx_infer_broadcast(call, &o.rank, o.shape, t->rank, t->shape);
        if (!st && k >= convert)
            st = convert_operand(call, &o, o.n - 1, common, &copy[o.n - 1]);
    }
    if (!st)
        st = pointwise_out(call, &o, numbers, dtype);
    for (int i = 0; i < 8; i++)
        cfx_tensor_unref(copy[i]);
    return st;
}

cfx_status cfx_infer_converted(cfx_call *call, int from, int convert, int to,
                               cfx_dtype dtype)
{
    const cfx_tensor *rows = common_rows(call, from, to);
    cfx_status st = dtype == CFX_C64 ? check_complex_half(call, convert, to)
                                     : CFX_OK;
    if (st)
        return st;
    return CFX_LIKELY(rows) ? cfx_call__out_rows(call, dtype, rows)
                            : broadcast_all(call, from, convert, to, dtype);
}

cfx_status cfx_infer_pointwise(cfx_call *call, int from, int to,
                               cfx_dtype dtype)
{
    return cfx_infer_converted(call, from, from, to, dtype);
}

cfx_status cfx_infer_axes(const cfx_call *call, int k, int rank,
                          uint32_t *mask)
{
    cfx_value v = cfx_call_value(call, k);
    int n = v.kind == CFX_INT ? 1 : cfx_call_len(call, k), axis;
    *mask = n ? 0 : (1u << rank) - 1;
    for (int i = 0; i < n; i++) {
        int64_t given = v.kind == CFX_INT ? v.u.i : v.u.seq->item[i].u.i;
        cfx_status st = cfx_call_axis(call, given, rank, &axis);
        if (st)
            return st;
        if (*mask >> axis & 1 && rank)
            return cfx_call_fail(
                call, CFX_EINVAL,
                "dim %d appears multiple times in the list of dims", axis);
        *mask |= 1u << axis;
    }
    return CFX_OK;
}

int cfx_infer_reduced(const cfx_tensor *x, uint32_t mask, bool keepdim,
                      cfx_dim *shape)
{
    int rank = 0;
    for (int i = 0; i < x->rank; i++) {
        bool gone = mask >> i & 1;
        if (!gone)
            shape[rank++] = x->shape[i];
        else if (keepdim)
            shape[rank++] = cfx_dim_int(1);
    }
    return rank;
}

cfx_dim cfx_infer_numel(cfx_shape_env *env, int rank, const cfx_dim *shape)
{
    cfx_dim n = cfx_dim_int(1);
    for (int i = 0; i < rank; i++)
        n = cfx_dim_mul(env, n, shape[i]);
    return n;
}

bool cfx_infer_is_empty(const cfx_tensor *t)
{
    for (int i = 0; i < t->rank; i++)
        if (cfx_dim_is(t->shape[i], 0))
            return true;
    return false;
}

void cfx_infer_spatial(const cfx_call *call, int k, int n, cfx_dim *out)
{
    int len = cfx_call_len(call, k);
    for (int i = 0; i < n && len; i++)
        out[i] = cfx_call_dim(call, k, i < len ? i : len - 1);
}

/* ---- Costs ---- */

cfx_dim cfx_cost_numel(const cfx_call *call, const cfx_tensor *t)
{
    return cfx_infer_numel(call->env, t->rank, t->shape);
}

void cfx_cost_pointwise(const cfx_call *call, cfx_cost *cost, int steps,
                        int transcendental)
{
    cfx_dim n = cfx_cost_numel(call, call->out[0]);
    cost->ops = cfx_dim_mul(call->env, n, cfx_dim_int(steps));
    cost->transcendental = cfx_dim_mul(call->env, n,
                                       cfx_dim_int(transcendental));
}
