/*
 * conv -- convolutions over one to three spatial axes, and their transposes.
 *
 * shape   input (N, C, in...) or (C, in...); weight (O, C/groups, k...);
 *         out = (in + 2 pad - dilation (k - 1) - 1) // stride + 1. Transposed:
 *         weight (C, O/groups, k...); out = (in - 1) stride - 2 pad +
 *         dilation (k - 1) + output_padding + 1.
 * cost    multiply-adds: outputs times C/groups times the window; transposed:
 *         inputs times O/groups times the window. Bias an addition each. Of
 *         the input what windows see is read.
 */
#include <string.h>

#include "kernel/conv/conv_kernel.h"
#include "op/composite.h"
#include "op/op_cost.h"
#include "op/infer.h"
#include "op/loop.h"
#include "op/op_impl.h"
#include "ops/shape/view.h"

enum { MAX_SPATIAL = CFX_CONV_MAX_SPATIAL };

CFX_PARAMS(params, INPUT, WEIGHT, BIAS, STRIDE, PADDING, OUTPUT_PADDING,
           GROUPS, DILATION);

/* The state of a call: its arguments as they were read, and the kernel's problem,
 * once it was asked for. */
struct conv {
    const cfx_tensor *x, *w, *b;
    int spatial;
    bool transposed, batched, same;
    cfx_dim stride[MAX_SPATIAL], pad[MAX_SPATIAL], dilation[MAX_SPATIAL];
    cfx_dim more[MAX_SPATIAL], groups; /* more: output_padding */
    cfx_conv kernel;
};

enum { TRANSPOSED = 8 };

/* Padding "same" needs dilation * (k - 1) in all, the odd one after. */
static cfx_status read_padding(const cfx_call *call, struct conv *c)
{
    const char *word = cfx_call_str(call, PADDING);
    for (int i = 0; i < c->spatial; i++)
        c->pad[i] = cfx_dim_int(0);
    if (!word) {
        cfx_infer_spatial(call, PADDING, c->spatial, c->pad);
        return CFX_OK;
    }
    c->same = !strcmp(word, "same");
    if (!c->same && strcmp(word, "valid"))
        return cfx_call_fail(
            call, CFX_EINVAL,
            "padding must be 'same', 'valid' or numbers, not '%s'", word);
    for (int i = 0; c->same && i < c->spatial; i++) {
        if (!cfx_dim_eq(call->env, c->stride[i], cfx_dim_int(1)))
            return cfx_call_fail(
                call, CFX_EINVAL,
                "padding='same' is not supported for strided convolutions");
        cfx_dim window = cfx_dim_sub(call->env, c->w->shape[i + 2],
                                     cfx_dim_int(1));
        c->pad[i] = cfx_dim_floordiv(
            call->env, cfx_dim_mul(call->env, c->dilation[i], window),
            cfx_dim_int(2));
    }
    return CFX_OK;
}

static cfx_status read_conv(const cfx_call *call, struct conv *c)
{
    static const int lists[] = {STRIDE, PADDING, OUTPUT_PADDING, DILATION};
    c->x = cfx_call_tensor(call, INPUT);
    c->w = cfx_call_tensor(call, WEIGHT);
    c->b = cfx_call_tensor(call, BIAS);
    c->spatial = call->op->code & 7;
    c->transposed = call->op->code & TRANSPOSED;
    c->batched = c->x->rank == c->spatial + 2;
    if (c->w->rank != c->spatial + 2 ||
        (!c->batched && c->x->rank != c->spatial + 1))
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "Expected %dD (unbatched) or %dD (batched) input and %dD weight, but got input of rank %d and weight of rank %d",
            c->spatial + 1, c->spatial + 2, c->spatial + 2, c->x->rank,
            c->w->rank);
    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
        if (cfx_call_len(call, lists[i]) > c->spatial)
            return cfx_call_fail(call, CFX_EINVAL,
                                 "%s needs %d numbers, not %d",
                                 cfx_call__param_name(call, lists[i]),
                                 c->spatial, cfx_call_len(call, lists[i]));
    cfx_infer_spatial(call, STRIDE, c->spatial, c->stride);
    cfx_infer_spatial(call, DILATION, c->spatial, c->dilation);
    cfx_infer_spatial(call, OUTPUT_PADDING, c->spatial, c->more);
    c->groups = cfx_value_dim(cfx_call_value(call, GROUPS));
    return read_padding(call, c);
}

static bool positive(const cfx_call *call, cfx_dim d)
{
    return cfx_dim_lt(call->env, cfx_dim_int(0), d);
}

static bool not_negative(const cfx_call *call, cfx_dim d)
{
    return cfx_dim_le(call->env, cfx_dim_int(0), d);
}

/* output_padding must be less than the stride or the dilation. */
static bool fits_more(const cfx_call *call, const struct conv *c, int i)
{
    return not_negative(call, c->more[i]) &&
           cfx_dim_lt(call->env, c->more[i],
                      cfx_dim_max(call->env, c->stride[i], c->dilation[i]));
}

static cfx_status check_numbers(cfx_call *call, const struct conv *c)
{
    if (!positive(call, c->groups))
        return cfx_call_fail(call, CFX_EINVAL,
                             "non-positive groups is not supported");
    for (int i = 0; i < c->spatial; i++) {
        if (!positive(call, c->w->shape[i + 2]))
            return cfx_call_fail(call, CFX_ESHAPE,
                                 "kernel size should be greater than zero");
        if (!positive(call, c->stride[i]))
            return cfx_call_fail(call, CFX_EINVAL,
                                 "non-positive stride is not supported");
        if (!not_negative(call, c->pad[i]))
            return cfx_call_fail(call, CFX_EINVAL,
                                 "negative padding is not supported");
        if (!positive(call, c->dilation[i]))
            return cfx_call_fail(call, CFX_EINVAL,
                                 "dilation should be greater than zero");
        if (c->transposed && !fits_more(call, c, i))
            return cfx_call_fail(
                call, CFX_EINVAL,
                "output padding must be smaller than either stride or dilation");
    }
    if (c->x->dtype != c->w->dtype || (c->b && c->b->dtype != c->x->dtype))
        return cfx_call_fail(
            call, CFX_EDTYPE,
            "Input type (%s) and weight type (%s) and bias should be the same",
            cfx_dtypes[c->x->dtype].name, cfx_dtypes[c->w->dtype].name);
    if (c->x->dtype == CFX_BOOL)
        return cfx_infer_refuse(call, CFX_BOOL);
    return CFX_OK;
}

static cfx_dim channels(const struct conv *c)
{
    return c->x->shape[c->batched ? 1 : 0];
}

static cfx_dim out_channels(const cfx_call *call, const struct conv *c)
{
    return c->transposed ? cfx_dim_mul(call->env, c->w->shape[1], c->groups)
                         : c->w->shape[0];
}

static cfx_status check_channels(cfx_call *call, const struct conv *c)
{
    char s[64], t[64];
    cfx_dim want = c->transposed
                       ? c->w->shape[0]
                       : cfx_dim_mul(call->env, c->w->shape[1], c->groups);
    if (!cfx_dim_le(call->env, c->groups, c->w->shape[0])) {
        cfx_dim_format(c->groups, s, sizeof(s));
        cfx_dim_format(c->w->shape[0], t, sizeof(t));
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "Given groups=%s, expected weight to be at least %s at dimension 0, but it has %s",
            s, s, t);
    }
    cfx_dim grouped = cfx_dim_mod(call->env, c->w->shape[0], c->groups);
    if (!cfx_dim_eq(call->env, grouped, cfx_dim_int(0)))
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "the channels of the weight are not divisible by groups");
    if (!cfx_dim_eq(call->env, channels(c), want)) {
        cfx_dim_format(want, s, sizeof(s));
        cfx_dim_format(channels(c), t, sizeof(t));
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "expected input to have %s channels, but got %s channels instead",
            s, t);
    }
    if (c->b && (c->b->rank != 1 || !cfx_dim_eq(call->env, c->b->shape[0],
                                                out_channels(call, c))))
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "expected bias to have one element for each output channel");
    return CFX_OK;
}

/* The extent of the window: dilation * (k - 1) + 1. */
static cfx_dim window(cfx_shape_env *env, const struct conv *c, int i)
{
    cfx_dim k = cfx_dim_sub(env, c->w->shape[i + 2], cfx_dim_int(1));
    return cfx_dim_add(env, cfx_dim_mul(env, c->dilation[i], k),
                       cfx_dim_int(1));
}

static cfx_dim out_extent(cfx_shape_env *env, const struct conv *c, int i)
{
    cfx_dim in = c->x->shape[c->x->rank - c->spatial + i];
    cfx_dim twice = cfx_dim_mul(env, c->pad[i], cfx_dim_int(2));
    if (c->same)
        return in;
    if (!c->transposed) {
        cfx_dim room = cfx_dim_sub(env, cfx_dim_add(env, in, twice),
                                   window(env, c, i));
        return cfx_dim_add(env, cfx_dim_floordiv(env, room, c->stride[i]),
                           cfx_dim_int(1));
    }
    cfx_dim span = cfx_dim_mul(env, cfx_dim_sub(env, in, cfx_dim_int(1)),
                               c->stride[i]);
    return cfx_dim_add(env, cfx_dim_sub(env, span, twice),
                       cfx_dim_add(env, window(env, c, i), c->more[i]));
}

static cfx_status out_shape(cfx_call *call, const struct conv *c,
                            cfx_dim *shape)
{
    int at = c->batched ? 2 : 1;
    if (c->batched)
        shape[0] = c->x->shape[0];
    shape[at - 1] = out_channels(call, c);
    for (int i = 0; i < c->spatial; i++) {
        shape[at + i] = out_extent(call->env, c, i);
        if (!cfx_dim_le(call->env, cfx_dim_int(1), shape[at + i])) {
            char s[64];
            cfx_dim_format(shape[at + i], s, sizeof(s));
            return cfx_call_fail(
                call, CFX_ESHAPE,
                "Kernel size can't be greater than actual input size: axis %d would have %s elements",
                at + i, s);
        }
    }
    return CFX_OK;
}

enum known { NO, YES, UNKNOWN };

static enum known more_than(cfx_shape_env *env, cfx_dim d, int64_t n)
{
    if (cfx_dim_known_le(env, cfx_dim_int(n + 1), d))
        return YES;
    return cfx_dim_known_le(env, d, cfx_dim_int(n)) ? NO : UNKNOWN;
}

/*
 * PyTorch's use_mkldnn on a CPU with several threads, of three axes: no other
 * kernel keeps channels_last_3d. Nothing is guarded here, since no answer is
 * more likely.
 */
static enum known has_fast_kernel(const cfx_call *call, const struct conv *c)
{
    const cfx_dim *w = c->w->shape, *x = c->x->shape;
    cfx_shape_env *env = call->env;
    cfx_dim n = cfx_dim_int(1);
    if (c->x->dtype != CFX_F32)
        return c->x->dtype == CFX_BF16 ? YES : NO;
    for (int i = 0; i + 1 < c->x->rank; i++)
        n = cfx_dim_mul(env, n, x[i]);
    enum known high = more_than(env, w[3], 3), wide = more_than(env, w[4], 3);
    enum known ask[] = {more_than(env, c->groups, 1),
                        c->batched ? more_than(env, x[0], 1) : NO,
                        high == NO || wide == NO ? NO
                        : high == YES            ? wide
                                                 : UNKNOWN,
                        more_than(env, n, 20480)};
    enum known found = NO;
    for (int i = 0; i < 4; i++)
        found = ask[i] == YES || found == YES ? YES
                : ask[i] == UNKNOWN           ? UNKNOWN
                                              : found;
    return found;
}

static bool suggests_last(cfx_shape_env *env, const cfx_view *v)
{
    return cfx_view_format(env, v) != CFX_CONTIGUOUS_FORMAT;
}

/* Once more, after contiguous(memory_format=channels_last): strides along
 * extents of 1 stay as they are where there is nothing to copy. */
static bool still_suggests(cfx_shape_env *env, const cfx_view *v)
{
    cfx_view last = *v;
    bool copied = false;
    cfx_view_last_strides(env, v->rank, v->shape, last.stride);
    for (int i = 0; i < v->rank; i++)
        copied |= !cfx_dim_is(v->shape[i], 1) &&
                  !cfx_dim_same(v->stride[i], last.stride[i]);
    return suggests_last(env, copied ? &last : v);
}

/* Kernels of other types than float32 and bfloat16 take a group at a time and
 * join what they give: as cat does, by what the parts suggest. */
static bool joins_last(const cfx_call *call, const struct conv *c,
                       const cfx_dim *shape)
{
    cfx_shape_env *env = call->env;
    cfx_view part = {.rank = 4};
    if (c->x->dtype == CFX_F32 || c->x->dtype == CFX_BF16 ||
        cfx_dim_is(c->groups, 1))
        return true;
    shape += c->batched;
    part.shape[0] = c->batched ? c->x->shape[0] : cfx_dim_int(1);
    part.shape[1] = cfx_dim_floordiv(env, shape[0], c->groups);
    part.shape[2] = c->spatial == 2 ? shape[1] : cfx_dim_int(1);
    part.shape[3] = shape[c->spatial];
    cfx_view_last_strides(env, 4, part.shape, part.stride);
    return suggests_last(env, &part);
}

/* The result has its channels last if suggest_memory_format says so of the
 * input or the weight. Over one axis the input is made contiguous first. */
static enum known is_last(const cfx_call *call, const struct conv *c,
                          const cfx_dim *shape)
{
    cfx_view x, w;
    cfx_shape_env *env = call->env;
    if (c->x->flags & c->w->flags & CFX_TENSOR_EXACT)
        return NO;
    cfx_view_images(env, &x, c->x, c->batched);
    cfx_view_images(env, &w, c->w, true);
    if (c->spatial == 1 && !cfx_tensor_is_contiguous(c->x))
        cfx_strides_of(env, CFX_CONTIGUOUS_FORMAT, x.rank, x.shape, x.stride);
    if (!suggests_last(env, &x) && !suggests_last(env, &w))
        return NO;
    if (!still_suggests(env, &x) && !still_suggests(env, &w))
        return NO;
    if (c->spatial == 3)
        return has_fast_kernel(call, c);
    return joins_last(call, c, shape) ? YES : NO;
}

/* Without a batch the strides are those of a batch of one. */
static cfx_status give(cfx_call *call, const struct conv *c,
                       const cfx_dim *shape)
{
    cfx_dim full[MAX_SPATIAL + 2], stride[MAX_SPATIAL + 2];
    int rank = c->x->rank, without = !c->batched;
    cfx_dtype dtype = (cfx_dtype)c->x->dtype;
    enum known last = is_last(call, c, shape);
    if (last == NO)
        return cfx_call_out(call, dtype, rank, shape);
    if (last == UNKNOWN)
        return cfx_call_fail(
            call, CFX_EUNSUPPORTED,
            "the memory format depends on symbols, give the batch a range from 2 on, or make input and weight contiguous");
    full[0] = cfx_dim_int(1);
    for (int i = 0; i < rank; i++)
        full[i + without] = shape[i];
    cfx_view_last_strides(call->env, rank + without, full, stride);
    return cfx_call_out_strided(call, dtype, rank, shape, stride + without);
}

/* ---- Complex numbers ---- */

/* PyTorch's way: with a and b the convolutions of the real and the imaginary
 * parts, and c that of their sums, the result is a - b + (c - a - b) i. */
static cfx_value complex_conv_build(cfx_scope *s, const cfx_call *call)
{
    enum { REAL, IMAGINARY, SUM, WAYS };
    cfx_value args[CFX_MAX_PARAMS], y[WAYS], part[WAYS];
    char name[64];
    bool method;
    cfx_op_call_name(call->op, false, &method, name, sizeof(name));
    for (int way = REAL; way < WAYS; way++) {
        for (int k = 0; k < call->schema->nparams; k++)
            args[k] = call->in[k];
        for (int k = 0; k < 3; k++) {
            if (args[k].kind != CFX_TENSOR)
                continue;
            part[REAL] = CFX_CALL(s, "torch.real", args[k]);
            part[IMAGINARY] = CFX_CALL(s, "torch.imag", args[k]);
            if (way == SUM)
                part[SUM] = CFX_CALL(s, "torch.add", part[REAL],
                                     part[IMAGINARY]);
            args[k] = k == 2 && way == IMAGINARY ? cfx_none() : part[way];
        }
        y[way] = cfx_call_function(
            s, name, (cfx_args){args, (size_t)call->schema->nparams, NULL, 0});
    }
    cfx_value real = CFX_CALL(s, "torch.sub", y[REAL], y[IMAGINARY]);
    cfx_value rest = CFX_CALL(s, "torch.sub", y[SUM], y[REAL]);
    return CFX_CALL(s, "torch.complex", real,
                    CFX_CALL(s, "torch.sub", rest, y[IMAGINARY]));
}

/* ---- Other numbers ---- */

static cfx_status conv_infer(cfx_call *call)
{
    struct conv *c = call->state;
    cfx_dim shape[MAX_SPATIAL + 2];
    if (cfx_call_is_complex(call))
        return cfx_composite_infer(call, complex_conv_build);
    cfx_status st = read_conv(call, c);
    if (!st)
        st = check_numbers(call, c);
    if (!st)
        st = check_channels(call, c);
    if (!st)
        st = out_shape(call, c, shape);
    return st ? st : give(call, c, shape);
}

static bool is_known(const cfx_tensor *t)
{
    bool known = true;
    for (int i = 0; i < t->rank; i++)
        known = known && cfx_dim_is_int(t->shape[i]);
    return known;
}

/* The kernel's problem, without the pointers, for shapes that are numbers. */
static const cfx_conv *problem(const cfx_call *call)
{
    struct conv *c = call->state;
    cfx_conv *k = &c->kernel;
    const cfx_tensor *y = call->out[0];
    if (k->spatial)
        return k;
    *k = (cfx_conv){
        .dtype = (cfx_dtype)c->x->dtype,
        .spatial = c->spatial,
        .batch = c->batched ? cfx_tensor_size(c->x, 0) : 1,
        .in_channels = cfx_dim_value(channels(c)),
        .out_channels = cfx_tensor_size(y, c->batched ? 1 : 0),
        .groups = cfx_dim_value(c->groups),
    };
    for (int i = 0; i < c->spatial; i++) {
        int at = c->x->rank - c->spatial + i;
        k->in[i] = cfx_tensor_size(c->x, at);
        k->out[i] = cfx_tensor_size(y, at);
        k->kernel[i] = cfx_tensor_size(c->w, i + 2);
        k->stride[i] = cfx_dim_value(c->stride[i]);
        k->pad[i] = cfx_dim_value(c->pad[i]);
        k->dilation[i] = cfx_dim_value(c->dilation[i]);
    }
    return k;
}

/* The kernel's algorithm for shapes that are numbers. */
static const char *algorithm(const cfx_call *call)
{
    const struct conv *c = call->state;
    if (!is_known(c->x) || !is_known(c->w) || !is_known(call->out[0]) ||
        c->transposed || !cfx_dim_is_int(c->groups))
        return NULL;
    for (int i = 0; i < c->spatial; i++)
        if (!cfx_dim_is_int(c->stride[i]) || !cfx_dim_is_int(c->pad[i]) ||
            !cfx_dim_is_int(c->dilation[i]))
            return NULL;
    return cfx_conv_algorithm(problem(call));
}

/* Bytes: the input covered by windows, weight and bias. */
static cfx_dim bytes_read(const cfx_call *call)
{
    cfx_cost_axis axis[MAX_SPATIAL];
    const struct conv *c = call->state;
    for (int i = 0; i < c->spatial; i++) {
        int at = c->x->rank - c->spatial + i;
        axis[i] = (cfx_cost_axis){c->x->shape[at],    call->out[0]->shape[at],
                                  c->w->shape[i + 2], c->stride[i],
                                  c->pad[i],          c->dilation[i]};
    }
    cfx_dim n = cfx_cost_windows(call, c->x, axis, c->spatial);
    n = cfx_dim_add(call->env, n, cfx_cost_bytes_of(call, c->w));
    return c->b ? cfx_dim_add(call->env, n, cfx_cost_bytes_of(call, c->b)) : n;
}

static void conv_cost(const cfx_call *call, cfx_cost *cost)
{
    const struct conv *c = call->state;
    cfx_dim y = cfx_cost_numel(call, call->out[0]);
    if (cfx_call_is_complex(call)) {
        cfx_composite_cost(call, cost, complex_conv_build);
        return;
    }
    cost->macs = c->transposed ? cfx_cost_numel(call, c->x) : y;
    for (int i = 1; i < c->w->rank; i++)
        cost->macs = cfx_dim_mul(call->env, cost->macs, c->w->shape[i]);
    if (c->b)
        cost->ops = y;
    cost->algorithm = algorithm(call);
    if (!c->transposed)
        cost->bytes_read = bytes_read(call);
}

/* ---- Running ---- */

static size_t conv_workspace(const cfx_call *call)
{
    const struct conv *c = call->state;
    if (cfx_call_is_complex(call))
        return 0;
    const cfx_conv *k = problem(call);
    return c->transposed ? cfx_conv_transpose_workspace(call->ctx, k)
                         : cfx_conv_workspace(call->ctx, k);
}

/* The kernels are row-major: the call has copies of what is not. */
static cfx_status conv_run(cfx_call *call)
{
    const struct conv *c = call->state;
    const cfx_tensor *bias = cfx_call_tensor(call, BIAS);
    if (cfx_call_is_complex(call))
        return cfx_composite_run(call, complex_conv_build);
    cfx_conv k = *problem(call);
    k.x = cfx_call_tensor(call, INPUT)->data;
    k.w = cfx_call_tensor(call, WEIGHT)->data;
    k.bias = bias ? bias->data : NULL;
    k.y = call->out[0]->data;
    if (c->transposed)
        cfx_conv_transpose_run(call->ctx, &k, call->work);
    else
        cfx_conv_run(call->ctx, &k, call->work);
    return CFX_OK;
}

/* ---- Descriptors ---- */

#define CONV_RULES                                                            \
    .params = params, .state_size = sizeof(struct conv),                      \
    .flags = CFX_OP_COPIES_TO_CONTIGUOUS | CFX_OP_COPIES_FROM_CONTIGUOUS |    \
             CFX_OP_COMPLEX,                                                  \
    .infer = conv_infer, .cost = conv_cost, .workspace = conv_workspace,      \
    .run = conv_run

/* conv2d(..., str padding='valid'): the second overload. */
#define CONV(n, transposed)                                                   \
    static const cfx_op conv##n##d_padding = {                                \
        .schema = "conv" #n "d.padding(Tensor input, Tensor weight, Tensor? " \
                  "bias=None, SymInt[" #n "] stride=1, str padding='valid', " \
                  "SymInt[" #n "] dilation=1, SymInt groups=1) -> Tensor",    \
        .aliases = "torch.conv" #n "d torch.nn.functional.conv" #n "d "       \
                   "aten.conv" #n "d.padding",                                \
        .doc = "A convolution with padding given by a word.",                 \
        .code = n,                                                            \
        CONV_RULES,                                                           \
    };                                                                        \
    const cfx_op cfx_op__conv##n##d = {                                       \
        .schema = "conv" #n "d(Tensor input, Tensor weight, Tensor? "         \
                  "bias=None, SymInt[" #n "] stride=1, SymInt[" #n "] "       \
                  "padding=0, SymInt[" #n "] dilation=1, SymInt groups=1) "   \
                  "-> Tensor",                                                \
        .aliases = "torch.conv" #n "d torch.nn.functional.conv" #n "d "       \
                   "aten.conv" #n "d.default",                                \
        .doc = "A convolution over " #n " spatial axes.",                     \
        .code = n,                                                            \
        CONV_RULES,                                                           \
        .next = &conv##n##d_padding,                                          \
    };                                                                        \
    const cfx_op cfx_op__conv_transpose##n##d = {                             \
        .schema = "conv_transpose" #n "d(Tensor input, Tensor weight, "       \
                  "Tensor? bias=None, SymInt[" #n "] stride=1, SymInt[" #n    \
                  "] padding=0, SymInt[" #n "] output_padding=0, SymInt "     \
                  "groups=1, SymInt[" #n "] dilation=1) -> Tensor",           \
        .aliases = "torch.conv_transpose" #n "d "                             \
                   "torch.nn.functional.conv_transpose" #n "d "               \
                   "aten.conv_transpose" #n "d." transposed,                  \
        .doc = "The transpose of a convolution over " #n " axes.",            \
        .code = n | TRANSPOSED,                                               \
        CONV_RULES,                                                           \
    };

CONV(1, "default")
CONV(2, "input")
CONV(3, "input")
