/*
 * pad -- a tensor with a margin: of a number, or mirrored, stretched, wrapped.
 *
 * shape   `pad` has two numbers for each axis, last axis first: what is put
 *         before and after; negative ones cut off.
 * cost    no arithmetic.
 */
#include <string.h>

#include "kernel/resample/resample.h"
#include "op/infer.h"
#include "op/list.h"
#include "op/loop.h"
#include "ops/shape/view.h"

CFX_PARAMS(params, SELF, PAD, PADDING, MODE, VALUE);

/* The state of a call. */
struct padding {
    cfx_pad_mode mode;
    const cfx_seq *pad; /* before and after, from the last axis on */
};

/* cfx_op.code: the mode, where it is no argument. */
enum { ANY_MODE, CONSTANT, REFLECT, REPLICATE };

static const char *const mode_names[] = {"constant", "reflect", "replicate",
                                         "circular"};

static cfx_status read_padding(cfx_call *call, struct padding *p)
{
    bool listed = cfx_call_place(call, PAD) >= 0;
    p->pad = cfx_call_value(call, listed ? PAD : PADDING).u.seq;
    if (call->op->code != ANY_MODE) {
        p->mode = (cfx_pad_mode)(call->op->code - CONSTANT);
        return CFX_OK;
    }
    for (int i = 0; i < 4; i++)
        if (!strcmp(cfx_call_str(call, MODE), mode_names[i])) {
            p->mode = (cfx_pad_mode)i;
            return CFX_OK;
        }
    return cfx_call_fail(call, CFX_EINVAL, "Unrecognised padding mode %s",
                         cfx_call_str(call, MODE));
}

/* Before and after an axis. */
static void margins(const cfx_call *call, int rank, int axis, cfx_dim *before,
                    cfx_dim *after)
{
    const struct padding *p = call->state;
    uint32_t k = 2 * (uint32_t)(rank - 1 - axis);
    bool there = k < p->pad->len;
    *before = there ? cfx_value_dim(p->pad->item[k]) : cfx_dim_int(0);
    *after = there ? cfx_value_dim(p->pad->item[k + 1]) : cfx_dim_int(0);
}

static cfx_status check_counts(cfx_call *call, const cfx_tensor *x)
{
    const struct padding *p = call->state;
    int n = (int)p->pad->len;
    if (n % 2)
        return cfx_call_fail(call, CFX_EINVAL,
                             "Padding length must be divisible by 2");
    if (n / 2 > x->rank)
        return cfx_call_fail(
            call, CFX_EINVAL,
            "Padding length should be less than or equal to two times the input dimension but got padding length %d and input of dimension %d",
            n, x->rank);
    if (p->mode == CFX_PAD_CONSTANT)
        return CFX_OK;
    if (cfx_call_has(call, VALUE) && cfx_call_double(call, VALUE) != 0)
        return cfx_call_fail(
            call, CFX_EINVAL,
            "Padding mode \"%s\" doesn't take in value argument",
            mode_names[p->mode]);
    if (n < 2 || n > 6 || (x->rank != n / 2 + 1 && x->rank != n / 2 + 2))
        return cfx_call_fail(
            call, CFX_EUNSUPPORTED,
            "Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now");
    return CFX_OK;
}

/* Padding by reflection or wrapping must not exceed the axis. */
static cfx_status check_axis(cfx_call *call, cfx_pad_mode mode, int axis,
                             cfx_dim extent, cfx_dim before, cfx_dim after)
{
    cfx_dim side[] = {before, after};
    char s[64], t[64];
    for (int i = 0; i < 2; i++) {
        cfx_dim needs = mode == CFX_PAD_REFLECT
                            ? cfx_dim_add(call->env, side[i], cfx_dim_int(1))
                            : side[i];
        if ((mode != CFX_PAD_REFLECT && mode != CFX_PAD_CIRCULAR) ||
            cfx_dim_is(side[i], 0) || cfx_dim_le(call->env, needs, extent))
            continue;
        cfx_dim_format(side[i], s, sizeof(s));
        cfx_dim_format(extent, t, sizeof(t));
        return cfx_call_fail(
            call, CFX_ESHAPE,
            mode == CFX_PAD_REFLECT
                ? "Padding size should be less than the corresponding input dimension, but got: padding %s at dimension %d of input of extent %s"
                : "Padding value causes wrapping around more than once: %s at dimension %d of extent %s",
            s, axis, t);
    }
    /* Circular padding uses the axis that negative paddings leave. */
    cfx_dim none = cfx_dim_int(0);
    cfx_dim left = cfx_dim_add(
        call->env, extent,
        cfx_dim_add(call->env, cfx_dim_min(call->env, before, none),
                    cfx_dim_min(call->env, after, none)));
    if (mode == CFX_PAD_CIRCULAR && !cfx_dim_lt(call->env, none, left))
        return cfx_call_fail(call, CFX_ESHAPE,
                             "negative padding leaves nothing of dimension %d",
                             axis);
    return CFX_OK;
}

static bool is_empty(const cfx_tensor *x, int from)
{
    for (int i = from; i < x->rank; i++)
        if (cfx_dim_is(x->shape[i], 0))
            return true;
    return false;
}

/* A constant margin cuts first, then adds; there must be enough to cut. */
static cfx_status check_cut(cfx_call *call, int axis, cfx_dim extent,
                            cfx_dim before, cfx_dim after)
{
    cfx_dim none = cfx_dim_int(0), left = extent, side[] = {before, after};
    char s[64];
    for (int i = 0; i < 2; i++) {
        left = cfx_dim_add(call->env, left,
                           cfx_dim_min(call->env, side[i], none));
        if (cfx_dim_le(call->env, none, left))
            continue;
        cfx_dim_format(left, s, sizeof(s));
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "negative padding leaves %s elements of dimension %d", s, axis);
    }
    return CFX_OK;
}

static cfx_status pad_shape(cfx_call *call, const cfx_tensor *x,
                            cfx_dim *shape)
{
    const struct padding *p = call->state;
    bool constant = p->mode == CFX_PAD_CONSTANT;
    int first = x->rank - (int)p->pad->len / 2;
    if (!constant && is_empty(x, first ? first - 1 : 0))
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "Expected input with possibly 0 batch size and other non-zero dimensions");
    for (int i = 0; i < x->rank; i++) {
        cfx_dim before, after;
        margins(call, x->rank, i, &before, &after);
        cfx_status st = constant
                            ? check_cut(call, i, x->shape[i], before, after)
                        : i < first ? CFX_OK
                                    : check_axis(call, p->mode, i, x->shape[i],
                                                 before, after);
        if (st)
            return st;
        shape[i] = cfx_dim_add(call->env, x->shape[i],
                               cfx_dim_add(call->env, before, after));
        if (!cfx_dim_le(call->env, cfx_dim_int(constant || i < first ? 0 : 1),
                        shape[i])) {
            char s[64];
            cfx_dim_format(shape[i], s, sizeof(s));
            return cfx_call_fail(
                call, CFX_ESHAPE,
                "the padding resulted in an output size of %s at dimension %d, which is too small",
                s, i);
        }
    }
    return CFX_OK;
}

static bool only_cuts(const cfx_call *call, int rank)
{
    for (int i = 0; i < rank; i++) {
        cfx_dim side[2];
        margins(call, rank, i, &side[0], &side[1]);
        for (int k = 0; k < 2; k++)
            if (!cfx_dim_known_le(call->env, side[k], cfx_dim_int(0)))
                return false;
    }
    return true;
}

/* If nothing is added, the result is a clone of the remaining part. */
static cfx_status out_cut(cfx_call *call, const cfx_tensor *x,
                          const cfx_dim *shape)
{
    cfx_tensor *left;
    cfx_status st = cfx_tensor_meta(&left, call->ctx, (cfx_dtype)x->dtype,
                                    x->rank, shape, x->stride, call->err);
    if (st)
        return st;
    st = cfx_infer_like(call, left, (cfx_dtype)x->dtype);
    cfx_tensor_unref(left);
    return st;
}

static cfx_status pad_infer(cfx_call *call)
{
    struct padding *p = call->state;
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_dim shape[CFX_MAX_RANK];
    cfx_status st = read_padding(call, p);
    cfx_pad_mode mode = p->mode;
    if (!st)
        st = check_counts(call, x);
    if (!st)
        st = pad_shape(call, x, shape);
    if (st)
        return st;
    if (x->dtype == CFX_BOOL &&
        (mode == CFX_PAD_REFLECT || mode == CFX_PAD_REPLICATE))
        return cfx_infer_refuse(call, CFX_BOOL);
    if (mode == CFX_PAD_CONSTANT && only_cuts(call, x->rank))
        return out_cut(call, x, shape);
    /* Every number is a bool. */
    if (mode == CFX_PAD_CONSTANT && cfx_call_has(call, VALUE) &&
        x->dtype != CFX_BOOL)
        st = cfx_list_check_number(call, cfx_call_value(call, VALUE),
                                   (cfx_dtype)x->dtype);
    if (st)
        return st;
    bool last = x->rank > 3 && mode != CFX_PAD_CIRCULAR &&
                cfx_view_is_last(call->env, x);
    return cfx_view_out_format(call, (cfx_dtype)x->dtype, x->rank, shape,
                               last);
}

/* ---- Running ---- */

static void set_value(const cfx_call *call, cfx_dtype type, void *place)
{
    cfx_value v = cfx_call_has(call, VALUE) ? cfx_call_value(call, VALUE)
                                            : cfx_int(0);
    cfx_list_write_number(type, place, v);
}

/* Axes from the outermost in memory: dense tensors of one order are padded in
 * that order. */
static void plan(const cfx_call *call, const cfx_tensor *x, bool last,
                 int64_t in[], int64_t out[], int64_t before[])
{
    const cfx_tensor *y = call->out[0];
    for (int i = 0; i < x->rank; i++) {
        cfx_dim front, behind;
        int at = !last || !i ? i : i + 1 < x->rank ? i + 1 : 1;
        margins(call, x->rank, at, &front, &behind);
        in[i] = cfx_tensor_size(x, at);
        out[i] = cfx_tensor_size(y, at);
        before[i] = cfx_dim_value(front);
    }
}

static cfx_status pad_run(cfx_call *call)
{
    const struct padding *own = call->state;
    cfx_tensor *from = cfx_call_tensor(call, SELF);
    cfx_tensor *y = call->out[0], *made = NULL;
    int64_t in[CFX_MAX_RANK], out[CFX_MAX_RANK], before[CFX_MAX_RANK];
    double value[2] = {0, 0}; /* of any type */
    bool last = cfx_view_both_last(from, y);
    cfx_pad p = {.size = cfx_dtype_size((cfx_dtype)y->dtype),
                 .rank = y->rank,
                 .in = in,
                 .out = out,
                 .before = before,
                 .value = value,
                 .mode = own->mode};
    cfx_tensor *x = last ? cfx_tensor_ref(from)
                         : cfx_loop_contiguous(call, from);
    cfx_status st = x ? CFX_OK : CFX_ENOMEM;
    if (!st && !last && !cfx_tensor_is_contiguous(y))
        st = cfx_loop_like(call, y, &made);
    if (!st) {
        set_value(call, (cfx_dtype)y->dtype, value);
        plan(call, x, last, in, out, before);
        p.x = x->data;
        p.y = made ? made->data : y->data;
        cfx_pad_run(call->ctx, &p);
    }
    if (!st && made)
        st = cfx_tensor_copy(y, made, call->err);
    cfx_tensor_unref(made);
    cfx_tensor_unref(x);
    return st;
}

/* ---- Descriptors ---- */

#define PAD_RULES                                                             \
    .params = params, .state_size = sizeof(struct padding),                   \
    .flags = CFX_OP_COMPLEX, .infer = pad_infer, .run = pad_run

static const cfx_variant pad_variants[] = {
    {"torch.nn.functional.pad(Tensor input, SymInt[] pad, str mode='constant', Scalar? value=None) -> Tensor",
     NULL},
    {NULL, NULL},
};

const cfx_op cfx_op__pad = {
    .schema =
        "pad(Tensor self, SymInt[] pad, str mode='constant', Scalar? value=None) -> Tensor",
    .aliases = "aten.",
    .variants = pad_variants,
    .doc = "A tensor with a margin.",
    .code = ANY_MODE,
    PAD_RULES,
};

const cfx_op cfx_op__constant_pad_nd = {
    .schema =
        "constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor",
    .aliases = "torch. aten.",
    .doc = "A tensor with a margin of one number.",
    .code = CONSTANT,
    PAD_RULES,
};

#define PAD_ND(n, twice)                                                      \
    const cfx_op cfx_op__reflection_pad##n##d = {                             \
        .schema = "reflection_pad" #n "d(Tensor self, SymInt[" #twice         \
                  "] padding) -> Tensor",                                     \
        .aliases = "torch.nn.functional.reflection_pad" #n "d "               \
                   "aten.reflection_pad" #n "d.default",                      \
        .doc = "A tensor with a margin that mirrors it.",                     \
        .code = REFLECT,                                                      \
        PAD_RULES,                                                            \
    };                                                                        \
    const cfx_op cfx_op__replication_pad##n##d = {                            \
        .schema = "replication_pad" #n "d(Tensor self, SymInt[" #twice        \
                  "] padding) -> Tensor",                                     \
        .aliases = "torch.nn.functional.replication_pad" #n "d "              \
                   "aten.replication_pad" #n "d.default",                     \
        .doc = "A tensor with a margin of its outermost elements.",           \
        .code = REPLICATE,                                                    \
        PAD_RULES,                                                            \
    };

PAD_ND(1, 2)
PAD_ND(2, 4)
PAD_ND(3, 6)
