/*
 * move -- elements in other places: flip, rot90, roll, pixel_shuffle and its
 * kin.
 *
 * shape   that of the argument, but for quarter turns and shuffles of pixels.
 * cost    no arithmetic; a copy.
 */
#include "op/infer.h"
#include "ops/shape/view.h"

CFX_PARAMS(params, SELF, DIMS, K, SHIFTS, UPSCALE_FACTOR, DOWNSCALE_FACTOR,
           GROUPS);

/* ---- flip ---- */

/* Reverse an axis. */
static void turn_axis(cfx_view *v, int axis)
{
    int64_t n = cfx_dim_value(v->shape[axis]);
    if (!n)
        return;
    v->offset = cfx_dim_add(
        NULL, v->offset,
        cfx_dim_mul(NULL, cfx_dim_int(n - 1), v->stride[axis]));
    v->stride[axis] = cfx_dim_neg(NULL, v->stride[axis]);
}

static cfx_status axes_of(cfx_call *call, uint32_t *mask)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    int code = call->op->code;
    *mask = 0;
    if (!code)
        return cfx_call_len(call, DIMS)
                   ? cfx_infer_axes(call, DIMS, x->rank, mask)
                   : CFX_OK;
    if (x->rank < code)
        return cfx_call_fail(call, CFX_ESHAPE, "Input must be >= %d-d.", code);
    *mask = code == 1 ? 1 : 2;
    return CFX_OK;
}

static cfx_status flip_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    uint32_t mask;
    cfx_status st = axes_of(call, &mask);
    return st ? st : cfx_infer_like(call, x, (cfx_dtype)x->dtype);
}

static cfx_status flip_run(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    uint32_t mask;
    cfx_view to, from;
    cfx_status st = axes_of(call, &mask);
    if (st)
        return st;
    cfx_view_begin(&to, call->out[0]);
    cfx_view_begin(&from, x);
    for (int i = 0; i < x->rank; i++)
        if (mask >> i & 1)
            turn_axis(&from, i);
    cfx_view_assign(call->ctx, call->out[0], &to, x, &from);
    return CFX_OK;
}

const cfx_op cfx_op__flip = {
    .schema = "flip(Tensor self, int[] dims) -> Tensor",
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc = "The elements of some axes in reverse order.",
    .flags = CFX_OP_MOVES | CFX_OP_COMPLEX,
    .infer = flip_infer,
    .run = flip_run,
};

#define FLIP(name, axis_, doc_)                                               \
    const cfx_op cfx_op__##name = {                                           \
        .schema = #name "(Tensor self) -> Tensor",                            \
        .params = params,                                                     \
        .aliases = "torch. Tensor. aten.",                                    \
        .doc = doc_,                                                          \
        .code = axis_ + 1,                                                    \
        .flags = CFX_OP_COMPLEX,                                              \
        .infer = flip_infer,                                                  \
        .run = flip_run,                                                      \
    };

FLIP(flipud, 0, "The first axis in reverse order.")
FLIP(fliplr, 1, "The second axis in reverse order.")

/* ---- rot90 ---- */

static cfx_status rot90_plan(cfx_call *call, int *turns, int *a, int *b)
{
    int rank = cfx_call_tensor(call, SELF)->rank;
    int64_t k = cfx_call_int(call, K);
    if (cfx_call_len(call, DIMS) != 2)
        return cfx_call_fail(
            call, CFX_EINVAL,
            "expected total rotation dims == 2, but got dims = %d",
            cfx_call_len(call, DIMS));
    if (rank < 2)
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "expected total dims >= 2, but got total dims = %d", rank);
    cfx_status st = cfx_call_axis(call, cfx_call_item(call, DIMS, 0).u.i, rank,
                                  a);
    if (!st)
        st = cfx_call_axis(call, cfx_call_item(call, DIMS, 1).u.i, rank, b);
    if (!st && *a == *b)
        st = cfx_call_fail(
            call, CFX_EINVAL,
            "expected rotation dims to be different, but got dim0 = %d and dim1 = %d",
            *a, *b);
    *turns = (int)((k % 4 + 4) % 4);
    return st;
}

/* Quarter turns keep the strides of what was transposed after the flip. */
static cfx_status rot90_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    int turns, a, b;
    cfx_view v;
    cfx_status st = rot90_plan(call, &turns, &a, &b);
    if (st)
        return st;
    if (!turns)
        return cfx_call_out(call, (cfx_dtype)x->dtype, x->rank, x->shape);
    st = cfx_infer_like(call, x, (cfx_dtype)x->dtype);
    if (st || turns == 2)
        return st;
    cfx_view_begin(&v, call->out[0]);
    cfx_view_swap(&v, a, b);
    cfx_tensor_unref(call->out[--call->nout]);
    return cfx_call_out_strided(call, (cfx_dtype)x->dtype, v.rank, v.shape,
                                v.stride);
}

static cfx_status rot90_run(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    int turns, a, b;
    cfx_view to, from;
    cfx_status st = rot90_plan(call, &turns, &a, &b);
    if (st)
        return st;
    cfx_view_begin(&to, call->out[0]);
    cfx_view_begin(&from, x);
    if (turns == 1 || turns == 2)
        turn_axis(&from, b);
    if (turns == 3 || turns == 2)
        turn_axis(&from, a);
    if (turns & 1)
        cfx_view_swap(&from, a, b);
    cfx_view_assign(call->ctx, call->out[0], &to, x, &from);
    return CFX_OK;
}

const cfx_op cfx_op__rot90 = {
    .schema = "rot90(Tensor self, int k=1, int[] dims=[0, 1]) -> Tensor",
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc = "Turned by quarters in the plane of two axes.",
    .flags = CFX_OP_COMPLEX,
    .infer = rot90_infer,
    .run = rot90_run,
};

/* ---- roll ---- */

static cfx_status roll_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    int shifts = cfx_call_len(call, SHIFTS);
    int dims = cfx_call_len(call, DIMS), axis;
    cfx_view v;
    cfx_status st = CFX_OK;
    if (!shifts)
        return cfx_call_fail(call, CFX_EINVAL, "`shifts` required");
    if (shifts != dims && !(shifts == 1 && !dims))
        return cfx_call_fail(
            call, CFX_EINVAL,
            "shifts and dimensions must align. shifts: %d, dims:%d", shifts,
            dims);
    for (int i = 0; !st && i < dims; i++)
        st =
            x->rank
                ? cfx_call_axis(call, cfx_call_item(call, DIMS, i).u.i,
                                x->rank, &axis)
                : cfx_call_fail(
                      call, CFX_EINVAL,
                      "Dimension specified as %lld but tensor has no dimensions",
                      (long long)cfx_call_item(call, DIMS, i).u.i);
    if (st)
        return st;
    cfx_view_begin(&v, x);
    bool last = dims &&
                cfx_view_format(call->env, &v) != CFX_CONTIGUOUS_FORMAT;
    /* Two parts are joined, of which nothing may be left of one. */
    for (int i = 0; last && i < dims; i++) {
        cfx_call_axis(call, cfx_call_item(call, DIMS, i).u.i, x->rank, &axis);
        last = !cfx_dim_is(cfx_dim_mod(call->env,
                                       cfx_call_dim(call, SHIFTS, i),
                                       x->shape[axis]),
                           0);
    }
    return cfx_view_out_format(call, (cfx_dtype)x->dtype, x->rank, x->shape,
                               last);
}

/* Compute the shift of each axis, from 0 to its extent. */
static void shifts_of(const cfx_call *call, const cfx_view *v, int64_t *shift)
{
    int dims = cfx_call_len(call, DIMS);
    for (int i = 0; i < v->rank; i++)
        shift[i] = 0;
    for (int i = 0; i < cfx_call_len(call, SHIFTS); i++) {
        int64_t axis = dims ? cfx_call_item(call, DIMS, i).u.i : 0;
        axis = axis < 0 ? axis + v->rank : axis;
        int64_t n = cfx_dim_value(v->shape[axis]);
        int64_t by = cfx_call_item(call, SHIFTS, i).u.i % n;
        shift[axis] = (shift[axis] + by + n) % n;
    }
}

/* The part before (`after`: behind) the cut of an axis. */
static void cut_axis(cfx_view *to, cfx_view *from, int axis, int64_t shift,
                     bool after)
{
    int64_t n = cfx_dim_value(from->shape[axis]);
    int64_t at = after ? n - shift : 0, target = after ? 0 : shift;
    to->shape[axis] = cfx_dim_int(after ? shift : n - shift);
    from->offset = cfx_dim_add(
        NULL, from->offset,
        cfx_dim_mul(NULL, cfx_dim_int(at), from->stride[axis]));
    to->offset = cfx_dim_add(
        NULL, to->offset,
        cfx_dim_mul(NULL, cfx_dim_int(target), to->stride[axis]));
}

/* Each axis that moves is cut in two; every choice of parts is one copy. */
static void roll_parts(cfx_call *call, const cfx_tensor *x,
                       const cfx_view *whole_to, const cfx_view *whole_from)
{
    int64_t shift[CFX_MAX_RANK];
    shifts_of(call, whole_from, shift);
    for (uint32_t part = 0; part < 1u << whole_from->rank; part++) {
        cfx_view to = *whole_to, from = *whole_from;
        bool there = true;
        for (int i = 0; there && i < from.rank; i++) {
            there = shift[i] || !(part >> i & 1);
            if (there)
                cut_axis(&to, &from, i, shift[i], part >> i & 1);
        }
        if (there)
            cfx_view_assign(call->ctx, call->out[0], &to, x, &from);
    }
}

static cfx_status roll_run(cfx_call *call)
{
    cfx_tensor *x = cfx_call_tensor(call, SELF), *flat = NULL;
    cfx_view to, from;
    if (!cfx_tensor_numel(x))
        return CFX_OK;
    if (!cfx_call_len(call, DIMS)) {
        cfx_status st = cfx_tensor_contiguous(&flat, x, call->err);
        if (st)
            return st;
        x = flat;
    }
    cfx_view_begin(&to, call->out[0]);
    cfx_view_begin(&from, x);
    if (flat) {
        to.rank = from.rank = 1;
        to.shape[0] = from.shape[0] = cfx_dim_int(cfx_tensor_numel(x));
        to.stride[0] = from.stride[0] = cfx_dim_int(1);
    }
    roll_parts(call, x, &to, &from);
    cfx_tensor_unref(flat);
    return CFX_OK;
}

const cfx_op cfx_op__roll = {
    .schema = "roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor",
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc = "The elements of some axes moved on, around the end.",
    .flags = CFX_OP_MOVES | CFX_OP_STORED_TYPES,
    .infer = roll_infer,
    .run = roll_run,
};

/* ---- Pixels and channels ---- */

enum { SHUFFLE, UNSHUFFLE };

static cfx_status not_divisible(cfx_call *call, const char *what)
{
    return cfx_call_fail(call, CFX_ESHAPE,
                         "expects %s to be divisible by the factor", what);
}

static bool divides(const cfx_call *call, cfx_dim by, cfx_dim n)
{
    return cfx_dim_eq(call->env, cfx_dim_mod(call->env, n, by),
                      cfx_dim_int(0));
}

/* The shape of the result; the strides that the input suggests. */
static cfx_status pixels_out(cfx_call *call, const cfx_dim *shape)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_dim stride[CFX_MAX_RANK];
    cfx_view v;
    cfx_view_begin(&v, x);
    cfx_strides_of(call->env, cfx_view_format(call->env, &v), x->rank, shape,
                   stride);
    return cfx_call_out_strided(call, (cfx_dtype)x->dtype, x->rank, shape,
                                stride);
}

static int64_t factor_of(const cfx_call *call)
{
    return cfx_call_int(call, call->op->code == SHUFFLE ? UPSCALE_FACTOR
                                                        : DOWNSCALE_FACTOR);
}

static cfx_status pixels_infer(cfx_call *call)
{
    cfx_shape_env *env = call->env;
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    int64_t factor = factor_of(call);
    cfx_dim shape[CFX_MAX_RANK];
    if (x->rank < 3)
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "expects input to have at least 3 dimensions, but got input with %d dimension(s)",
            x->rank);
    if (factor < 1 || factor > 1 << 20)
        return cfx_call_fail(call, CFX_EINVAL,
                             "expects a positive factor, but got %lld",
                             (long long)factor);
    cfx_dim r = cfx_dim_int(factor), rr = cfx_dim_int(factor * factor);
    for (int i = 0; i < x->rank; i++)
        shape[i] = x->shape[i];
    cfx_dim *c = &shape[x->rank - 3];
    if (call->op->code == SHUFFLE) {
        if (!divides(call, rr, c[0]))
            return not_divisible(call, "its input's 'channel' dimension");
        c[0] = cfx_dim_floordiv(env, c[0], rr);
        c[1] = cfx_dim_mul(env, c[1], r);
        c[2] = cfx_dim_mul(env, c[2], r);
        return pixels_out(call, shape);
    }
    if (!divides(call, r, c[1]) || !divides(call, r, c[2]))
        return not_divisible(call, "height and width");
    c[0] = cfx_dim_mul(env, c[0], rr);
    c[1] = cfx_dim_floordiv(env, c[1], r);
    c[2] = cfx_dim_floordiv(env, c[2], r);
    return pixels_out(call, shape);
}

/*
 * The side with more channels is seen as (..., C, r, r, H, W), the other as
 * (..., C, H, r, W, r) with the axes in the same order.
 */
static cfx_status split_pixels(cfx_call *call, const cfx_tensor *deep,
                               const cfx_tensor *wide, int64_t r, cfx_view *d,
                               cfx_view *w)
{
    int lead = deep->rank - 3;
    cfx_dim n = cfx_dim_int(r), rr = cfx_dim_int(r * r);
    if (lead + 5 > CFX_MAX_RANK)
        return cfx_call_fail(call, CFX_EUNSUPPORTED, "rank %d is too large",
                             deep->rank);
    cfx_view_begin(d, deep);
    cfx_view_begin(w, wide);
    d->rank = w->rank = lead + 5;
    const cfx_dim *ds = deep->stride + lead, *ws = wide->stride + lead;
    cfx_dim extent[] = {wide->shape[lead], n, n, deep->shape[lead + 1],
                        deep->shape[lead + 2]};
    cfx_dim from[] = {cfx_dim_mul(NULL, ds[0], rr),
                      cfx_dim_mul(NULL, ds[0], n), ds[0], ds[1], ds[2]};
    cfx_dim to[] = {ws[0], ws[1], ws[2], cfx_dim_mul(NULL, ws[1], n),
                    cfx_dim_mul(NULL, ws[2], n)};
    for (int i = 0; i < 5; i++) {
        d->shape[lead + i] = w->shape[lead + i] = extent[i];
        d->stride[lead + i] = from[i];
        w->stride[lead + i] = to[i];
    }
    return CFX_OK;
}

static cfx_status pixels_run(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF), *y = call->out[0];
    bool shuffle = call->op->code == SHUFFLE;
    cfx_view d, w;
    cfx_status st = split_pixels(call, shuffle ? x : y, shuffle ? y : x,
                                 factor_of(call), &d, &w);
    if (!st)
        cfx_view_assign(call->ctx, y, shuffle ? &w : &d, x, shuffle ? &d : &w);
    return st;
}

const cfx_op cfx_op__pixel_shuffle = {
    .schema = "pixel_shuffle(Tensor self, int upscale_factor) -> Tensor",
    .params = params,
    .aliases = "torch. torch.nn.functional. aten.",
    .doc = "Channels laid out as squares of pixels.",
    .code = SHUFFLE,
    .flags = CFX_OP_MOVES | CFX_OP_COMPLEX,
    .infer = pixels_infer,
    .run = pixels_run,
};

const cfx_op cfx_op__pixel_unshuffle = {
    .schema = "pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor",
    .params = params,
    .aliases = "torch. torch.nn.functional. aten.",
    .doc = "Squares of pixels gathered in channels.",
    .code = UNSHUFFLE,
    .flags = CFX_OP_MOVES | CFX_OP_COMPLEX,
    .infer = pixels_infer,
    .run = pixels_run,
};

static cfx_status channel_shuffle_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_dim groups = cfx_value_dim(cfx_call_value(call, GROUPS));
    char text[64];
    if (x->rank < 3)
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "expects input with > 2 dims, but got input with rank %d",
            x->rank);
    if (!cfx_dim_lt(call->env, cfx_dim_int(0), groups) ||
        !divides(call, groups, x->shape[1])) {
        cfx_dim_format(groups, text, sizeof(text));
        return cfx_call_fail(
            call, CFX_EINVAL,
            "Number of channels must be divisible by groups, which are %s",
            text);
    }
    return pixels_out(call, x->shape);
}

/* (N, g, C/g, ...) to (N, C/g, g, ...). */
static cfx_status channel_shuffle_run(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF), *y = call->out[0];
    int64_t groups = cfx_call_int(call, GROUPS);
    cfx_dim g = cfx_dim_int(groups);
    cfx_dim each = cfx_dim_floordiv(NULL, x->shape[1], g);
    cfx_view to, from;
    if (x->rank == CFX_MAX_RANK)
        return cfx_call_fail(call, CFX_EUNSUPPORTED, "rank %d is too large",
                             x->rank);
    cfx_view_begin(&to, y);
    cfx_view_begin(&from, x);
    cfx_status st = cfx_view_insert(call, &to, 1, g, y->stride[1]);
    if (!st)
        st = cfx_view_insert(call, &from, 1, g,
                             cfx_dim_mul(NULL, each, x->stride[1]));
    if (st)
        return st;
    to.shape[2] = each;
    to.stride[2] = cfx_dim_mul(NULL, g, y->stride[1]);
    cfx_view_assign(call->ctx, y, &to, x, &from);
    return CFX_OK;
}

const cfx_op cfx_op__channel_shuffle = {
    .schema = "channel_shuffle(Tensor self, SymInt groups) -> Tensor",
    .params = params,
    .aliases =
        "torch. torch.nn.functional. torch.native_channel_shuffle aten.",
    .doc = "The channels of all groups in turn.",
    .flags = CFX_OP_COMPLEX,
    .infer = channel_shuffle_infer,
    .run = channel_shuffle_run,
};
