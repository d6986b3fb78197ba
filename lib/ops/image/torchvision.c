/*
 * torchvision -- functions of torchvision's swin models that symbolic_trace
 * does not look into.
 *
 * shape   as said at each.
 * cost    that of the operators they consist of.
 */
#include <math.h>

#include "op/composite.h"
#include "op/infer.h"
#include "op/op_impl.h"
#include "ops/image/torchvision.h"

#define IN(k) in[k]
#define TORCH(name, ...) CFX_CALL(s, "torch." name, __VA_ARGS__)
#define TUPLE(...) cfx_tuple(s, __VA_ARGS__)

static int list_len(cfx_value v)
{
    return cfx_value_is_seq(v) ? (int)v.u.seq->len : 0;
}

/* An extent, as a number where it is known: also of a proxy. */
static cfx_value extent(cfx_scope *s, cfx_value x, int axis)
{
    const cfx_tensor *t = cfx_meta_of(s, x);
    return t && t->rank >= (axis < 0 ? -axis : axis + 1)
               ? cfx_value_of_dim(t->shape[axis < 0 ? axis + t->rank : axis])
               : cfx_size(s, x, axis);
}

/* Is the shape of a proxy known in numbers? */
static bool is_known(cfx_scope *s, cfx_value x)
{
    const cfx_tensor *t = cfx_meta_of(s, x);
    bool known = t != NULL;
    for (int i = 0; known && i < t->rank; i++)
        known = cfx_dim_is_int(t->shape[i]);
    return known;
}

/* Rules NAME_infer, _cost and _run of an operator that is NAME of its arguments. */
#define BUILD(name)                                                           \
    static cfx_value name##_build(cfx_scope *s, const cfx_call *call)         \
    {                                                                         \
        return name(s, call->in);                                             \
    }                                                                         \
    CFX_COMPOSITE(name)

/* The decomposition of a call whose first argument has a known shape. */
#define DECOMPOSITION(op, name)                                               \
    cfx_value cfx_decompose_##op(cfx_scope *s, const cfx_value *in)           \
    {                                                                         \
        return is_known(s, in[0]) ? name(s, in) : cfx_none();                 \
    }

static cfx_value reshape(cfx_scope *s, cfx_value x, cfx_value shape)
{
    return TORCH("reshape", x, shape);
}

/* x[:, ..., from:to, ...] along an axis; None is the end. */
static cfx_value slice(cfx_scope *s, cfx_value x, int axis, cfx_value from,
                       cfx_value to, int64_t step)
{
    return CFX_CALL(s, "torch.ops.aten.slice.Tensor", x, cfx_int(axis), from,
                    to, cfx_int(step));
}

/* Both in a scope that may know extents as symbols only. */
static cfx_value mod(cfx_scope *s, cfx_value a, cfx_value b)
{
    if (a.kind == CFX_INT && b.kind == CFX_INT)
        return cfx_int(a.u.i % b.u.i);
    return CFX_CALL(s, "operator.mod", a, b);
}

/* ---- swin: merging patches ---- */

/* (..., H, W, C) to (..., ceil(H / 2), ceil(W / 2), 4 C). */
static cfx_value merging(cfx_scope *s, const cfx_value *in)
{
    cfx_value x = IN(0), zero = cfx_int(0), two = cfx_int(2), part[4];
    int rank = cfx_rank(s, x);
    if (rank < 3)
        return cfx_scope_fail(
            s, CFX_ESHAPE, "expected (..., H, W, C), got a tensor of rank %d",
            rank);
    cfx_value rows = mod(s, extent(s, x, -3), two);
    cfx_value columns = mod(s, extent(s, x, -2), two);
    x = CFX_CALL(s, "torch.nn.functional.pad", x,
                 TUPLE(zero, zero, zero, columns, zero, rows));
    for (int i = 0; i < 4; i++) {
        part[i] = slice(s, x, -3, cfx_int(i & 1), cfx_none(), 2);
        part[i] = slice(s, part[i], -2, cfx_int(i >> 1), cfx_none(), 2);
    }
    return TORCH("cat", cfx_list_of(s, CFX_LIST, 4, part), cfx_int(-1));
}

BUILD(merging)
DECOMPOSITION(patch_merging_pad, merging)

#define SWIN "torchvision.models.swin_transformer."

const cfx_op cfx_op___patch_merging_pad = {
    .schema = "_patch_merging_pad(Tensor x) -> Tensor",
    .aliases = SWIN "_patch_merging_pad",
    .doc = "The four pixels of each square of two side by side.",
    .infer = merging_infer,
    .cost = merging_cost,
    .run = merging_run,
};

/* ---- swin: the bias of relative positions ---- */

/* A table (positions, heads) and an index of N * N positions, N those of a
 * window: (1, heads, N, N). */
static cfx_value bias(cfx_scope *s, const cfx_value *in)
{
    cfx_value n = cfx_int(1), bias;
    if (list_len(IN(2)) < 2)
        return cfx_scope_fail(s, CFX_EINVAL,
                              "window_size must be two numbers");
    for (int i = 0; i < 2; i++)
        n = cfx_int_mul(s, n, cfx_nth(s, IN(2), i));
    bias = CFX_CALL(s, "operator.getitem", IN(0), IN(1));
    bias = CFX_CALL(s, "Tensor.view", bias, TUPLE(n, n, cfx_int(-1)));
    bias = TORCH("permute", bias, TUPLE(cfx_int(2), cfx_int(0), cfx_int(1)));
    bias = CFX_CALL(s, "Tensor.contiguous", bias);
    return TORCH("unsqueeze", bias, cfx_int(0));
}

BUILD(bias)

const cfx_op cfx_op___get_relative_position_bias = {
    .schema =
        "_get_relative_position_bias(Tensor relative_position_bias_table, Tensor relative_position_index, SymInt[] window_size) -> Tensor",
    .aliases = SWIN "_get_relative_position_bias",
    .doc = "What attention adds for two places of a window.",
    .infer = bias_infer,
    .cost = bias_cost,
    .run = bias_run,
};

/* ---- swin: attention within windows ---- */

enum {
    INPUT,
    QKV_WEIGHT,
    PROJ_WEIGHT,
    BIAS,
    WINDOW,
    HEADS,
    SHIFT,
    ATTENTION_DROPOUT,
    DROPOUT,
    QKV_BIAS,
    PROJ_BIAS,
    LOGIT_SCALE,
    TRAINING
};

struct windows {
    cfx_value batch, channels, heads;
    cfx_value extent[2], padded[2]; /* of the image */
    cfx_value size[2], count[2];    /* of windows */
    cfx_value all;                  /* windows of an image */
    cfx_value places;               /* in a window */
    cfx_value shift[2];             /* 0 where one window is all */
    bool shifts;
};

static bool read_windows(cfx_scope *s, const cfx_value *in, struct windows *w)
{
    cfx_value x = IN(INPUT);
    if (cfx_rank(s, x) != 4 || list_len(IN(WINDOW)) != 2 ||
        list_len(IN(SHIFT)) != 2) {
        cfx_scope_fail(
            s, CFX_ESHAPE,
            "expected an input (N, H, W, C), and two numbers each for window_size and shift_size");
        return false;
    }
    w->batch = extent(s, x, 0);
    w->channels = extent(s, x, 3);
    w->heads = IN(HEADS);
    for (int i = 0; i < 2; i++) {
        cfx_value n = cfx_nth(s, IN(WINDOW), i);
        cfx_value shift = cfx_nth(s, IN(SHIFT), i);
        if (shift.kind != CFX_INT || shift.u.i < 0 ||
            !cfx_dim_le(s->env, cfx_dim_int(shift.u.i), cfx_value_dim(n))) {
            cfx_scope_fail(
                s, CFX_EINVAL,
                "shift_size must be two ints from 0 to those of window_size");
            return false;
        }
        w->size[i] = n;
        w->extent[i] = extent(s, x, i + 1);
        cfx_value up = cfx_int_add(s, w->extent[i],
                                   cfx_int_add(s, n, cfx_int(-1)));
        w->count[i] = cfx_int_floordiv(s, up, n);
        w->padded[i] = cfx_int_mul(s, w->count[i], n);
        if (cfx_scope_failed(s))
            return false;
        /* No shape depends on it: symbols need not be asked. */
        bool one = w->padded[i].kind == CFX_INT && n.kind == CFX_INT &&
                   w->padded[i].u.i <= n.u.i;
        w->shift[i] = one ? cfx_int(0) : shift;
        w->shifts = w->shifts || w->shift[i].u.i > 0;
    }
    w->all = cfx_int_mul(s, w->count[0], w->count[1]);
    w->places = cfx_int_mul(s, w->size[0], w->size[1]);
    return true;
}

static cfx_value minus(cfx_scope *s, cfx_value a)
{
    return cfx_int_mul(s, a, cfx_int(-1));
}

static cfx_value roll(cfx_scope *s, const struct windows *w, cfx_value x,
                      bool back)
{
    cfx_value by[2];
    if (!w->shifts)
        return x;
    for (int i = 0; i < 2; i++)
        by[i] = back ? w->shift[i] : minus(s, w->shift[i]);
    return TORCH("roll", x, TUPLE(by[0], by[1]),
                 TUPLE(cfx_int(1), cfx_int(2)));
}

/* (N, H, W, C) to (N * windows, places, C). */
static cfx_value partition(cfx_scope *s, const struct windows *w, cfx_value x)
{
    cfx_value zero = cfx_int(0);
    cfx_value right = cfx_int_add(s, w->padded[1], minus(s, w->extent[1]));
    cfx_value below = cfx_int_add(s, w->padded[0], minus(s, w->extent[0]));
    x = CFX_CALL(s, "torch.nn.functional.pad", x,
                 TUPLE(zero, zero, zero, right, zero, below));
    x = roll(s, w, x, false);
    x = reshape(s, x,
                TUPLE(w->batch, w->count[0], w->size[0], w->count[1],
                      w->size[1], w->channels));
    x = TORCH("permute", x,
              TUPLE(zero, cfx_int(1), cfx_int(3), cfx_int(2), cfx_int(4),
                    cfx_int(5)));
    return reshape(
        s, x, TUPLE(cfx_int_mul(s, w->batch, w->all), w->places, w->channels));
}

static cfx_value put_together(cfx_scope *s, const struct windows *w,
                              cfx_value x)
{
    cfx_value zero = cfx_int(0);
    x = reshape(s, x,
                TUPLE(w->batch, w->count[0], w->count[1], w->size[0],
                      w->size[1], w->channels));
    x = TORCH("permute", x,
              TUPLE(zero, cfx_int(1), cfx_int(3), cfx_int(2), cfx_int(4),
                    cfx_int(5)));
    x = reshape(s, x,
                TUPLE(w->batch, w->padded[0], w->padded[1], w->channels));
    x = roll(s, w, x, true);
    x = slice(s, x, 1, zero, w->extent[0], 1);
    x = slice(s, x, 2, zero, w->extent[1], 1);
    return CFX_CALL(s, "Tensor.contiguous", x);
}

/* The biases of queries, keys and values, without keys' in cosine attention. */
static cfx_value qkv_bias(cfx_scope *s, const cfx_value *in)
{
    cfx_value bias = IN(QKV_BIAS), part[3];
    if (cfx_value_is_none(IN(LOGIT_SCALE)) || cfx_value_is_none(IN(QKV_BIAS)))
        return bias;
    cfx_value n = cfx_int_floordiv(s, extent(s, bias, 0), cfx_int(3));
    for (int i = 0; i < 3; i++)
        part[i] = TORCH("narrow", bias, cfx_int(0),
                        cfx_int_mul(s, cfx_int(i), n), n);
    part[1] = TORCH("zeros_like", part[1]);
    return TORCH("cat", cfx_list_of(s, CFX_LIST, 3, part), cfx_int(0));
}

/* The scores of each pair of positions, before softmax. */
static cfx_value scores(cfx_scope *s, const cfx_value *in, cfx_value q,
                        cfx_value k, cfx_value width)
{
    cfx_value scale = IN(LOGIT_SCALE), last = cfx_int(-1), score;
    if (cfx_value_is_none(IN(LOGIT_SCALE))) {
        q = TORCH("mul", q,
                  CFX_CALL(s, "operator.pow", width, cfx_float(-0.5)));
        return TORCH("matmul", q, TORCH("transpose", k, cfx_int(-2), last));
    }
    q = CFX_CALL(s, "torch.nn.functional.normalize", q, cfx_float(2), last);
    k = CFX_CALL(s, "torch.nn.functional.normalize", k, cfx_float(2), last);
    score = TORCH("matmul", q, TORCH("transpose", k, cfx_int(-2), last));
    scale = TORCH("clamp", scale, cfx_none(), cfx_float(log(100)));
    return TORCH("mul", score, TORCH("exp", scale));
}

/* n times v, of the type of `like`: a constant, also where calls are recorded. */
static cfx_value filled(cfx_scope *s, cfx_value like, cfx_value n, int64_t v)
{
    const cfx_tensor *t = cfx_meta_of(s, like);
    const cfx_value args[] = {TUPLE(n), cfx_float((double)v)};
    const cfx_value dtype[] = {
        cfx_str(s, "dtype"),
        cfx_value_of_dtype(t ? (cfx_dtype)t->dtype : CFX_F32)};
    return cfx_call_function(s, "torch.full", (cfx_args){args, 2, dtype, 1});
}

/* Along one axis of the rolled image, which of its three strips a place is in:
 * all but the last window, the rest of that, and what came round. */
static cfx_value strips(cfx_scope *s, const struct windows *w, int axis,
                        cfx_value like, int64_t times)
{
    cfx_value n[3], part[3];
    n[0] = cfx_int_add(s, w->padded[axis], minus(s, w->size[axis]));
    n[1] = cfx_int_add(s, w->size[axis], minus(s, w->shift[axis]));
    n[2] = w->shift[axis];
    /* Without a shift the last strip is the whole axis: [-0:]. Of symbols only
     * the shape matters. */
    if (!n[2].u.i || n[0].kind != CFX_INT || n[1].kind != CFX_INT)
        return filled(s, like, w->padded[axis], 2 * times);
    for (int i = 0; i < 3; i++)
        part[i] = filled(s, like, n[i], i * times);
    return TORCH("cat", cfx_list_of(s, CFX_LIST, 3, part), cfx_int(0));
}

/* -100 for places that are no neighbours in the image: (windows, places,
 * places). */
static cfx_value shift_mask(cfx_scope *s, const struct windows *w,
                            cfx_value like)
{
    cfx_value one = cfx_int(1), two = cfx_int(2), zero = cfx_int(0);
    cfx_value rows = TORCH("unsqueeze", strips(s, w, 0, like, 3), one);
    cfx_value mask = TORCH("add", rows, strips(s, w, 1, like, 1));
    mask = reshape(s, mask,
                   TUPLE(w->count[0], w->size[0], w->count[1], w->size[1]));
    mask = TORCH("permute", mask, TUPLE(zero, two, one, cfx_int(3)));
    mask = reshape(s, mask, TUPLE(w->all, w->places));
    mask = TORCH("sub", TORCH("unsqueeze", mask, one),
                 TORCH("unsqueeze", mask, two));
    return TORCH("masked_fill", mask, TORCH("ne", mask, zero),
                 cfx_float(-100.0));
}

static cfx_value add_mask(cfx_scope *s, const struct windows *w,
                          cfx_value score, cfx_value like)
{
    cfx_value one = cfx_int(1), mask;
    if (!w->shifts)
        return score;
    mask = TORCH("unsqueeze", shift_mask(s, w, like), one);
    score = reshape(s, score,
                    TUPLE(w->batch, w->all, w->heads, w->places, w->places));
    score = TORCH("add", score, TORCH("unsqueeze", mask, cfx_int(0)));
    return reshape(s, score,
                   TUPLE(cfx_int_mul(s, w->batch, w->all), w->heads, w->places,
                         w->places));
}

static cfx_value windows(cfx_scope *s, const cfx_value *in)
{
    struct windows w = {.shifts = false};
    cfx_value part[3], zero = cfx_int(0), one = cfx_int(1), two = cfx_int(2);
    if (!read_windows(s, in, &w))
        return cfx_none();
    cfx_value x = partition(s, &w, IN(INPUT)), like = x;
    cfx_value rows = cfx_int_mul(s, w.batch, w.all);
    cfx_value width = cfx_int_floordiv(s, w.channels, w.heads);
    x = CFX_CALL(s, "torch.nn.functional.linear", x, IN(QKV_WEIGHT),
                 qkv_bias(s, in));
    x = reshape(s, x, TUPLE(rows, w.places, cfx_int(3), w.heads, width));
    x = TORCH("permute", x, TUPLE(two, zero, cfx_int(3), one, cfx_int(4)));
    for (int i = 0; i < 3; i++)
        part[i] = TORCH("select", x, zero, cfx_int(i));
    x = TORCH("add", scores(s, in, part[0], part[1], width), IN(BIAS));
    x = add_mask(s, &w, x, like);
    x = TORCH("softmax", x, cfx_int(-1));
    x = CFX_CALL(s, "torch.nn.functional.dropout", x, IN(ATTENTION_DROPOUT),
                 IN(TRAINING));
    x = TORCH("transpose", TORCH("matmul", x, part[2]), one, two);
    x = reshape(s, x, TUPLE(rows, w.places, w.channels));
    x = CFX_CALL(s, "torch.nn.functional.linear", x, IN(PROJ_WEIGHT),
                 IN(PROJ_BIAS));
    x = CFX_CALL(s, "torch.nn.functional.dropout", x, IN(DROPOUT),
                 IN(TRAINING));
    return put_together(s, &w, x);
}

BUILD(windows)
DECOMPOSITION(shifted_window_attention, windows)

const cfx_op cfx_op__shifted_window_attention = {
    .schema =
        "shifted_window_attention(Tensor input, Tensor qkv_weight, Tensor proj_weight, Tensor relative_position_bias, SymInt[] window_size, SymInt num_heads, int[] shift_size, float attention_dropout=0.0, float dropout=0.0, Tensor? qkv_bias=None, Tensor? proj_bias=None, Tensor? logit_scale=None, bool training=True) -> Tensor",
    .aliases = SWIN "shifted_window_attention",
    .doc = "Attention with several heads within windows of an image.",
    .flags = CFX_OP_RANDOM,
    .infer = windows_infer,
    .cost = windows_cost,
    .run = windows_run,
};
