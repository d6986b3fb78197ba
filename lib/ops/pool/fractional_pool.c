/*
 * fractional_pool -- fractional_max_pool2d and 3d: maxima of windows whose
 * places are pseudorandom (Graham 2014).
 *
 * shape   (N, C, in...) or (C, in...); the last axes have the extents that are
 *         given, or a share of the input's.
 * cost    that of the operators they consist of: the places of all elements of
 *         windows, these elements, the greatest.
 *
 * Window i of an axis begins at floor((i + u) a) - floor(u a), where a is (in -
 * window) / (out - 1) and u is a random number of the plane; the last window
 * ends with the axis.
 */
#include "op/composite.h"
#include "op/infer.h"

CFX_PARAMS(params, SELF, KERNEL_SIZE, OUTPUT_SIZE, OUTPUT_RATIO,
           RANDOM_SAMPLES, _RANDOM_SAMPLES);

/* Bits of cfx_op.code, beside the number of spatial axes. */
enum { AXES = 3, VALUES = 4 };

enum { MAX = 3 };

/* The state of a call. */
struct fractional {
    int axes;
    cfx_dim in[MAX], out[MAX], window[MAX];
};

#define IN(k) cfx_call_value(call, k)

static cfx_value samples(const cfx_call *call)
{
    return cfx_call_has(call, RANDOM_SAMPLES) ? IN(RANDOM_SAMPLES)
                                              : IN(_RANDOM_SAMPLES);
}

/* ---- Arguments ---- */

static cfx_status check_input(cfx_call *call, int axes)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    if (x->rank != axes + 1 && x->rank != axes + 2)
        return cfx_call_fail(call, CFX_ESHAPE,
                             "Expected %dD or %dD tensor, but got rank %d",
                             axes + 1, axes + 2, x->rank);
    for (int i = x->rank - axes - 1; i < x->rank; i++)
        if (cfx_dim_is(x->shape[i], 0))
            return cfx_call_fail(
                call, CFX_ESHAPE,
                "Expected input to have non-zero size for non-batch dimensions, but axis %d has 0",
                i);
    return cfx_infer_need_float(call, (cfx_dtype)x->dtype);
}

/* One number for each axis of each channel, of at least the batch. */
static cfx_status check_samples(cfx_call *call, int axes)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_value v = samples(call);
    if (v.kind != CFX_TENSOR)
        return CFX_OK;
    const cfx_tensor *u = v.u.tensor;
    cfx_dim n = x->rank == axes + 2 ? x->shape[0] : cfx_dim_int(1);
    if (u->dtype != x->dtype)
        return cfx_call_fail(
            call, CFX_EDTYPE,
            "Expect _random_samples to have the same dtype as input");
    if (u->rank != 3 || !cfx_dim_le(call->env, n, u->shape[0]) ||
        !cfx_dim_eq(call->env, u->shape[1], x->shape[x->rank - axes - 1]) ||
        !cfx_dim_eq(call->env, u->shape[2], cfx_dim_int(axes)))
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "Expect _random_samples of (N, C, %d), for an input of N images of C channels",
            axes);
    return CFX_OK;
}

/* The window must fit as often as asked for; over three axes one element
 * remains. */
static cfx_status read_axis(cfx_call *call, struct fractional *p, int i)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    cfx_shape_env *env = call->env;
    cfx_dim last;
    cfx_status st = CFX_OK;
    p->in[i] = x->shape[x->rank - p->axes + i];
    p->window[i] = cfx_call_dim(call, KERNEL_SIZE, i);
    if (cfx_call_has(call, OUTPUT_SIZE))
        p->out[i] = cfx_call_dim(call, OUTPUT_SIZE, i);
    else
        st = cfx_infer_scaled(call, p->in[i],
                              cfx_call_item(call, OUTPUT_RATIO, i),
                              "output_ratio", &p->out[i]);
    if (st)
        return st;
    last = cfx_dim_add(env, cfx_dim_add(env, p->out[i], p->window[i]),
                       cfx_dim_int(p->axes == 3 ? 0 : -1));
    if (!cfx_dim_le(env, last, p->in[i]) ||
        !cfx_dim_le(env, cfx_dim_int(0), p->out[i]) ||
        !cfx_dim_le(env, cfx_dim_int(1), p->window[i]))
        return cfx_call_fail(call, CFX_ESHAPE,
                             "the windows do not fit the input along axis %d",
                             i);
    return CFX_OK;
}

/* A list of numbers has one for each axis. */
static cfx_status check_list(cfx_call *call, int k, const char *name, int axes)
{
    return !cfx_call_has(call, k) || cfx_call_len(call, k) == axes
               ? CFX_OK
               : cfx_call_fail(call, CFX_EINVAL, "'%s' takes %d numbers", name,
                               axes);
}

static cfx_status read_arguments(cfx_call *call)
{
    struct fractional *p = call->state;
    p->axes = call->op->code & AXES;
    cfx_status st = check_input(call, p->axes);
    if (!st)
        st = check_samples(call, p->axes);
    if (!st && !cfx_call_has(call, OUTPUT_SIZE) &&
        !cfx_call_has(call, OUTPUT_RATIO))
        st = cfx_call_fail(
            call, CFX_EINVAL,
            "requires specifying either an output_size or an output_ratio");
    if (!st)
        st = check_list(call, KERNEL_SIZE, "kernel_size", p->axes);
    if (!st)
        st = check_list(call, OUTPUT_SIZE, "output_size", p->axes);
    if (!st)
        st = check_list(call, OUTPUT_RATIO, "output_ratio", p->axes);
    for (int i = 0; !st && i < p->axes; i++)
        st = read_axis(call, p, i);
    return st;
}

/* ---- Windows ---- */

static cfx_value as(cfx_scope *s, cfx_value v, cfx_dtype type)
{
    return CFX_CALL(s, "torch.ops.aten.to.dtype", v, cfx_value_of_dtype(type));
}

/* An extent as a tensor without axes, whose quotients are rounded to its
 * type. */
static cfx_value number(cfx_scope *s, cfx_dim n, cfx_dtype type)
{
    cfx_value v = CFX_CALL(s, "torch.full", cfx_list_of(s, CFX_TUPLE, 0, NULL),
                           cfx_value_of_dim(n));
    return as(s, v, type);
}

/* The first elements of the windows of axis i: (N, C, out). */
static cfx_value starts(cfx_scope *s, const cfx_call *call, int i, cfx_value u)
{
    const struct fractional *p = call->state;
    cfx_dtype type = (cfx_dtype)cfx_call_tensor(call, SELF)->dtype;
    cfx_dim room = cfx_dim_sub(s->env, p->in[i], p->window[i]);
    cfx_dim last = cfx_dim_sub(s->env, p->out[i], cfx_dim_int(1));
    cfx_value at = CFX_CALL(s, "torch.arange", cfx_value_of_dim(p->out[i]));
    cfx_value a = CFX_CALL(s, "torch.div", number(s, room, type),
                           number(s, last, type));
    int at_axis = p->axes == 2 ? 1 - i : i; /* of images the width is first */
    u = CFX_CALL(s, "torch.narrow", u, cfx_int(2), cfx_int(at_axis),
                 cfx_int(1));
    cfx_value y = CFX_CALL(s, "torch.add", u, as(s, at, type));
    y = as(s, CFX_CALL(s, "torch.mul", y, a), CFX_I64);
    y = CFX_CALL(s, "torch.sub", y,
                 as(s, CFX_CALL(s, "torch.mul", u, a), CFX_I64));
    return CFX_CALL(s, "torch.where",
                    CFX_CALL(s, "torch.eq", at, cfx_value_of_dim(last)),
                    number(s, room, CFX_I64), y);
}

/* The places of the elements of all windows along axis i, as a tensor that has
 * the axes (N, C, out..., window...), those of other spatial axes with extent
 * 1. */
static cfx_value places(cfx_scope *s, const cfx_call *call, int i, cfx_value u)
{
    const struct fractional *p = call->state;
    cfx_value shape[2 + 2 * MAX];
    cfx_value window = cfx_value_of_dim(p->window[i]);
    cfx_value y = CFX_CALL(s, "torch.unsqueeze", starts(s, call, i, u),
                           cfx_int(-1));
    y = CFX_CALL(s, "torch.add", y, CFX_CALL(s, "torch.arange", window));
    for (int k = 0; k < 2 + 2 * p->axes; k++)
        shape[k] = k < 2 ? cfx_size(s, u, k) : cfx_int(1);
    shape[2 + i] = cfx_value_of_dim(p->out[i]);
    shape[2 + p->axes + i] = window;
    return CFX_CALL(s, "torch.reshape", y,
                    cfx_list_of(s, CFX_TUPLE, 2 + 2 * (size_t)p->axes, shape));
}

/* A random number for each axis of each plane of x (N, C, in...). */
static cfx_value numbers(cfx_scope *s, const cfx_call *call, cfx_value x)
{
    cfx_value u = samples(call), n = cfx_size(s, x, 0);
    if (u.kind == CFX_TENSOR)
        return CFX_CALL(s, "torch.narrow", u, cfx_int(0), cfx_int(0), n);
    cfx_value size = cfx_tuple(s, n, cfx_size(s, x, 1),
                               cfx_int(call->op->code & AXES));
    cfx_value keys[] = {
        cfx_str(s, "dtype"),
        cfx_value_of_dtype((cfx_dtype)cfx_call_tensor(call, SELF)->dtype)};
    return cfx_call_function(s, "torch.rand", (cfx_args){&size, 1, keys, 1});
}

/* The places of all windows' elements in their plane: (N, C, out..., window). */
static cfx_value window_places(cfx_scope *s, const cfx_call *call, cfx_value x)
{
    const struct fractional *p = call->state;
    cfx_value u = numbers(s, call, x), all = places(s, call, 0, u);
    for (int i = 1; i < p->axes; i++) {
        all = CFX_CALL(s, "torch.mul", all, cfx_value_of_dim(p->in[i]));
        all = CFX_CALL(s, "torch.add", all, places(s, call, i, u));
    }
    return CFX_CALL(s, "torch.flatten", all, cfx_int(2 + p->axes));
}

static cfx_value pooled_build(cfx_scope *s, const cfx_call *call)
{
    const struct fractional *p = call->state;
    cfx_value x = IN(SELF), one = cfx_int(-1), two = cfx_int(2), y[2];
    bool batched = x.u.tensor->rank == p->axes + 2;
    if (!batched)
        x = CFX_CALL(s, "torch.unsqueeze", x, cfx_int(0));
    cfx_value place = window_places(s, call, x);
    cfx_value seen = CFX_CALL(s, "torch.gather",
                              CFX_CALL(s, "torch.flatten", x, two), two,
                              CFX_CALL(s, "torch.flatten", place, two));
    seen = CFX_CALL(s, "Tensor.view_as", seen, place);
    cfx_value best = CFX_CALL(s, "torch.max", seen, one);
    y[0] = cfx_nth(s, best, 0);
    y[1] = CFX_CALL(s, "torch.unsqueeze", cfx_nth(s, best, 1), one);
    y[1] = CFX_CALL(s, "torch.gather", place, one, y[1]);
    y[1] = CFX_CALL(s, "torch.squeeze", y[1], one);
    for (int i = 0; i < 2 && !batched; i++)
        y[i] = CFX_CALL(s, "torch.squeeze", y[i], cfx_int(0));
    return call->op->code & VALUES ? y[0] : cfx_tuple(s, y[0], y[1]);
}

CFX_COMPOSITE(pooled)

static cfx_status fractional_infer(cfx_call *call)
{
    cfx_status st = read_arguments(call);
    return st ? st : pooled_infer(call);
}

/* ---- Descriptors ---- */

/* The function takes return_indices as max_pool does (pool.c). */
#define F_POOL(n, name, more)                                                 \
    name "(Tensor input, SymInt[" #n "] kernel_size, SymInt[" #n              \
         "]? output_size=None, float[" #n "]? output_ratio=None" more         \
         ", Tensor? _random_samples=None)"
#define VARIANT(n, name, indices)                                             \
    {                                                                         \
        F_POOL(n, "torch.nn.functional.fractional_max_pool" #n name,          \
               ", bool return_indices=" indices)                              \
        " -> Tensor", NULL                                                    \
    }

#define DESCRIBE(code_)                                                       \
    .params = params, .code = code_, .state_size = sizeof(struct fractional), \
    .infer = fractional_infer, .cost = pooled_cost, .run = pooled_run

#define POOL(n)                                                               \
    static const cfx_variant values##n##d_variants[] = {                      \
        VARIANT(n, "d", "False"), {NULL, NULL}};                              \
    const cfx_op cfx_op__fractional_max_pool##n##d_values = {                 \
        .schema = F_POOL(n, "fractional_max_pool" #n "d_values",              \
                         "") " -> Tensor",                                    \
        .variants = values##n##d_variants,                                    \
        .doc = "The maxima of windows at pseudorandom places.",               \
        .flags = CFX_OP_RANDOM,                                               \
        DESCRIBE(n | VALUES),                                                 \
    };                                                                        \
    static const cfx_variant pair##n##d_variants[] = {                        \
        VARIANT(n, "d", "True"),                                              \
        VARIANT(n, "d_with_indices", "True"),                                 \
        VARIANT(n, "d_with_indices", "False"),                                \
        {NULL, NULL}};                                                        \
    static const cfx_op fractional_max_pool##n##d_random = {                  \
        .schema = F_POOL(n, "fractional_max_pool" #n "d.random",              \
                         "") " -> (Tensor, Tensor)",                          \
        .variants = pair##n##d_variants,                                      \
        .doc = "The maxima of windows at pseudorandom places, and where "     \
               "they lie.",                                                   \
        .flags = CFX_OP_RANDOM,                                               \
        DESCRIBE(n),                                                          \
    };                                                                        \
    const cfx_op cfx_op__fractional_max_pool##n##d = {                        \
        .schema = "fractional_max_pool" #n "d(Tensor self, SymInt[" #n        \
                  "] kernel_size, SymInt[" #n "] output_size, Tensor "        \
                  "random_samples) -> (Tensor, Tensor)",                      \
        .aliases = "torch._C._nn.fractional_max_pool" #n "d "                 \
                   "aten.fractional_max_pool" #n "d.default",                 \
        .doc = "The maxima of windows at pseudorandom places, and where "     \
               "they lie.",                                                   \
        .next = &fractional_max_pool##n##d_random,                            \
        DESCRIBE(n),                                                          \
    };

POOL(2)
POOL(3)
