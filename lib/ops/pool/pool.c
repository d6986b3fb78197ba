/*
 * pool -- one number for each window of one to three spatial axes.
 *
 * shape   (N, C, in...) or (C, in...); out = (in + 2 pad - dilation (k - 1) -
 *         1) // stride + 1, or rounded up with ceil_mode, where the last window
 *         still begins in the input or the padding in front of it. Adaptive:
 *         the given extents; None keeps the input's.
 * cost    averages: an addition less than the window for each output, and a
 *         division; maxima: none. What windows see is read.
 */
#include "kernel/pool/pool_kernel.h"
#include "op/op_cost.h"
#include "op/infer.h"
#include "op/loop.h"
#include "op/op_impl.h"
#include "ops/pool/pool_windows.h"
#include "ops/shape/view.h"

/* Bits of cfx_op.code, beside the number of spatial axes. */
enum { AVERAGE = 8, ADAPTIVE = 16, INDICES = 32 };

static void read_pool(const cfx_call *call, cfx_pool_windows *p)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    int spatial = call->op->code & 7;
    cfx_pool__read(call, x, spatial, x->rank - spatial, p);
}

/* Do ATen's kernels have this type? */
static bool has_type(const cfx_call *call, cfx_dtype type, int spatial)
{
    int code = call->op->code;
    if (cfx_dtype_is_float(type))
        return !(code & AVERAGE) || code & ADAPTIVE || spatial < 3 ||
               cfx_dtype_size(type) > 2;
    if (code & ADAPTIVE)
        return false;
    return code & AVERAGE
               ? type == CFX_I64
               : type != CFX_BOOL && (spatial > 1 || code & INDICES);
}

static cfx_status check_rank(cfx_call *call, const cfx_tensor *x, int spatial)
{
    if (x->rank != spatial + 1 && x->rank != spatial + 2)
        return cfx_call_fail(call, CFX_ESHAPE,
                             "Expected %dD or %dD input, but got rank %d",
                             spatial + 1, spatial + 2, x->rank);
    if (!has_type(call, (cfx_dtype)x->dtype, spatial))
        return cfx_infer_refuse(call, (cfx_dtype)x->dtype);
    for (int i = x->rank - spatial - 1; i < x->rank; i++)
        if (i >= 0 && cfx_dim_is(x->shape[i], 0))
            return cfx_call_fail(
                call, CFX_ESHAPE,
                "Expected input with non-zero size, but axis %d has 0", i);
    return CFX_OK;
}

/* Is the result channels last, as ATen's kernel leaves it? Over one axis if the
 * kernel treats it as an image of one row; over three axes for maxima that are
 * not adaptive, and for the mean of all. */
static bool keeps_format(const cfx_call *call, const cfx_dim *shape)
{
    int code = call->op->code;
    switch (code & 7) {
    case 1: return code & (AVERAGE | ADAPTIVE | INDICES);
    case 2: return true;
    default:
        return !(code & (AVERAGE | ADAPTIVE)) ||
               ((code & AVERAGE) && (code & ADAPTIVE) &&
                cfx_dim_is(shape[2], 1) && cfx_dim_is(shape[3], 1) &&
                cfx_dim_is(shape[4], 1));
    }
}

static cfx_status give(cfx_call *call, const cfx_tensor *x,
                       const cfx_dim *shape)
{
    bool last = x->rank == (call->op->code & 7) + 2 &&
                keeps_format(call, shape) && cfx_view_is_last(call->env, x);
    cfx_status st = cfx_view_out_format(call, (cfx_dtype)x->dtype, x->rank,
                                        shape, last);
    if (!st && call->op->code & INDICES)
        st = cfx_view_out_format(call, CFX_I64, x->rank, shape, last);
    return st;
}

static cfx_status pool_infer(cfx_call *call)
{
    cfx_pool_windows *p = call->state;
    cfx_dim shape[CFX_MAX_RANK];
    read_pool(call, p);
    cfx_status st = check_rank(call, p->x, p->spatial);
    if (!st)
        st = cfx_pool__infer(call, p, shape);
    return st ? st : give(call, p->x, shape);
}

/* Bytes: the input covered by windows. */
static void window_cost(const cfx_call *call, cfx_cost *cost)
{
    cfx_cost_axis axis[CFX_POOL_MAX_SPATIAL];
    const cfx_pool_windows *p = call->state;
    for (int i = 0; i < p->spatial; i++) {
        int at = p->x->rank - p->spatial + i;
        axis[i] = (cfx_cost_axis){p->x->shape[at], call->out[0]->shape[at],
                                  p->kernel[i],    p->stride[i],
                                  p->pad[i],       p->dilation[i]};
    }
    cost->bytes_read = cfx_cost_windows(call, p->x, axis, p->spatial);
}

static void average_cost(const cfx_call *call, cfx_cost *cost)
{
    const cfx_pool_windows *p = call->state;
    cfx_dim n = cfx_cost_numel(call, call->out[0]), window = cfx_dim_int(1);
    window_cost(call, cost);
    for (int i = 0; i < p->spatial; i++)
        window = cfx_dim_mul(call->env, window, p->kernel[i]);
    cost->ops = cfx_dim_mul(call->env, n, window);
    cost->transcendental = n;
}

/* ---- Running ---- */

static void plan(const cfx_call *call, const cfx_tensor *x, cfx_pool *k)
{
    const cfx_tensor *y = call->out[0];
    int spatial = call->op->code & 7;
    *k = (cfx_pool){.dtype = (cfx_dtype)x->dtype,
                    .spatial = spatial,
                    .planes = 1,
                    .x = x->data,
                    .y = y->data};
    for (int i = 0; i < x->rank - spatial; i++)
        k->planes *= cfx_tensor_size(x, i);
    for (int i = 0; i < spatial; i++) {
        k->in[i] = cfx_tensor_size(x, x->rank - spatial + i);
        k->out[i] = cfx_tensor_size(y, x->rank - spatial + i);
    }
}

static void plan_windows(const cfx_call *call, cfx_pool *k)
{
    const cfx_pool_windows *p = call->state;
    for (int i = 0; i < p->spatial; i++) {
        k->kernel[i] = cfx_dim_value(p->kernel[i]);
        k->stride[i] = cfx_dim_value(p->stride[i]);
        k->pad[i] = cfx_dim_value(p->pad[i]);
        k->dilation[i] = cfx_dim_value(p->dilation[i]);
    }
    k->count_include_pad = p->count_padding;
    k->divisor = p->divisor;
}

static void compute(cfx_call *call, cfx_pool *k)
{
    bool average = call->op->code & AVERAGE;
    if (!(call->op->code & ADAPTIVE))
        plan_windows(call, k);
    if (call->op->code & ADAPTIVE)
        (average ? cfx_adaptive_avg_pool : cfx_adaptive_max_pool)(call->ctx,
                                                                  k);
    else
        (average ? cfx_avg_pool : cfx_max_pool)(call->ctx, k);
}

/* The kernels are row-major: the call has copies of what is not. */
static cfx_status pool_run(cfx_call *call)
{
    cfx_pool k;
    plan(call, cfx_call_tensor(call, SELF), &k);
    if (call->nout > 1)
        k.indices = call->out[1]->data;
    compute(call, &k);
    return CFX_OK;
}

/* ---- Adaptive ---- */

static cfx_status adaptive_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    int spatial = call->op->code & 7, len = cfx_call_len(call, OUTPUT_SIZE);
    cfx_dim shape[CFX_MAX_RANK];
    cfx_status st = check_rank(call, x, spatial);
    if (!st && len != spatial)
        st = cfx_call_fail(call, CFX_EINVAL,
                           "output_size must be %d numbers, got %d", spatial,
                           len);
    for (int i = 0; i < x->rank; i++)
        shape[i] = x->shape[i];
    for (int i = 0; i < spatial && !st; i++) {
        cfx_value v = cfx_call_item(call, OUTPUT_SIZE, i);
        int at = x->rank - spatial + i;
        if (v.kind != CFX_NONE)
            shape[at] = cfx_value_dim(v);
        if (!cfx_dim_le(call->env, cfx_dim_int(0), shape[at]))
            st = cfx_call_fail(call, CFX_EINVAL,
                               "output_size must not be negative");
    }
    return st ? st : give(call, x, shape);
}

/* Every element of the input is in one window or more; counted once. */
static void adaptive_cost(const cfx_call *call, cfx_cost *cost)
{
    cost->ops = cfx_cost_numel(call, cfx_call_tensor(call, SELF));
    cost->transcendental = cfx_cost_numel(call, call->out[0]);
}

/* ---- Descriptors ---- */

#define MAX_ARGS(n, self)                                                     \
    "(Tensor " self ", SymInt[" #n "] kernel_size, SymInt[" #n                \
    "]? stride=None, SymInt[" #n "] padding=0, SymInt[" #n "] dilation=1, "   \
    "bool ceil_mode=False)"

#define DIVISOR_1
#define DIVISOR_2 ", int? divisor_override=None"
#define DIVISOR_3 DIVISOR_2

/* In torch.nn.functional a function has one result or two, as an argument says.
 * A variant takes no other value than the default of what its operator lacks;
 * so the first of the two operators with that name takes False, the second
 * True. What symbolic_trace records in their stead, ..._with_indices, has the
 * argument too, and gives two results whatever it says. */
#define F_MAX(n, name, indices)                                               \
    "torch.nn.functional.max_pool" #n name "(Tensor input, SymInt[" #n        \
    "] kernel_size, SymInt[" #n "]? stride=None, SymInt[" #n                  \
    "] padding=0, SymInt[" #n "] dilation=1, bool ceil_mode=False, bool "     \
    "return_indices=" indices ") -> Tensor"
#define F_ADAPTIVE_MAX(n, name, indices)                                      \
    "torch.nn.functional.adaptive_max_pool" #n name "(Tensor input, SymInt?"  \
    "[" #n "] output_size, bool return_indices=" indices ") -> Tensor"
/* Twice, since a variant's own parameters take their default only. */
#define PAIR(n, F)                                                            \
    {F(n, "d", "True"), NULL}, {F(n, "d_with_indices", "True"), NULL},        \
        {F(n, "d_with_indices", "False"), NULL},                              \
    {                                                                         \
        NULL, NULL                                                            \
    }

#define POOL(n)                                                               \
    static const cfx_variant max_pool##n##d_pair[] = {PAIR(n, F_MAX)};        \
    const cfx_op cfx_op__max_pool##n##d_with_indices = {                      \
        .schema = "max_pool" #n "d_with_indices" MAX_ARGS(                    \
            n, "self") " -> (Tensor, Tensor)",                                \
        .params = cfx_pool_params,                                            \
        .aliases = "torch.max_pool" #n "d_with_indices "                      \
                   "aten.max_pool" #n "d_with_indices.default",               \
        .variants = max_pool##n##d_pair,                                      \
        .doc = "The maximum of each window, and where it lies.",              \
        .code = n | INDICES,                                                  \
        .state_size = sizeof(cfx_pool_windows),                               \
        .infer = pool_infer,                                                  \
        .flags = CFX_OP_COPIES_TO_CONTIGUOUS | CFX_OP_COPIES_FROM_CONTIGUOUS, \
        .cost = window_cost,                                                  \
        .run = pool_run,                                                      \
    };                                                                        \
    static const cfx_variant max_pool##n##d_variants[] = {                    \
        {F_MAX(n, "d", "False"), NULL}, {NULL, NULL}};                        \
    const cfx_op cfx_op__max_pool##n##d = {                                   \
        .schema = "max_pool" #n "d" MAX_ARGS(n, "self") " -> Tensor",         \
        .params = cfx_pool_params,                                            \
        .aliases = "torch.max_pool" #n "d aten.max_pool" #n "d.default",      \
        .variants = max_pool##n##d_variants,                                  \
        .doc = "The maximum of each window.",                                 \
        .code = n,                                                            \
        .state_size = sizeof(cfx_pool_windows),                               \
        .infer = pool_infer,                                                  \
        .flags = CFX_OP_COPIES_TO_CONTIGUOUS | CFX_OP_COPIES_FROM_CONTIGUOUS, \
        .cost = window_cost,                                                  \
        .run = pool_run,                                                      \
    };                                                                        \
    const cfx_op cfx_op__avg_pool##n##d = {                                   \
        .schema =                                                             \
            "avg_pool" #n "d(Tensor self, SymInt[" #n "] kernel_size, "       \
            "SymInt[" #n "]? stride=None, SymInt[" #n "] padding=0, "         \
            "bool ceil_mode=False, bool count_include_pad=True" DIVISOR_##n   \
        ") -> Tensor",                                                        \
        .params = cfx_pool_params,                                            \
        .aliases = "torch.nn.functional.avg_pool" #n "d torch.avg_pool" #n    \
                   "d torch._C._nn.avg_pool" #n "d aten.avg_pool" #n          \
                   "d.default",                                               \
        .doc = "The mean of each window.",                                    \
        .code = n | AVERAGE,                                                  \
        .state_size = sizeof(cfx_pool_windows),                               \
        .infer = pool_infer,                                                  \
        .cost = average_cost,                                                 \
        .flags = CFX_OP_COPIES_TO_CONTIGUOUS | CFX_OP_COPIES_FROM_CONTIGUOUS, \
        .run = pool_run,                                                      \
    };                                                                        \
    const cfx_op cfx_op__adaptive_avg_pool##n##d = {                          \
        .schema = "adaptive_avg_pool" #n "d(Tensor self, SymInt?[" #n         \
                  "] output_size) -> Tensor",                                 \
        .params = cfx_pool_params,                                            \
        .aliases = "torch.nn.functional.adaptive_avg_pool" #n "d "            \
                   "torch.adaptive_avg_pool" #n "d "                          \
                   "torch._C._nn.adaptive_avg_pool" #n "d "                   \
                   "aten.adaptive_avg_pool" #n "d.default "                   \
                   "aten._adaptive_avg_pool" #n "d.default",                  \
        .doc = "The means of windows that cover the input evenly.",           \
        .code = n | AVERAGE | ADAPTIVE,                                       \
        .infer = adaptive_infer,                                              \
        .cost = adaptive_cost,                                                \
        .flags = CFX_OP_COPIES_TO_CONTIGUOUS | CFX_OP_COPIES_FROM_CONTIGUOUS, \
        .run = pool_run,                                                      \
    };                                                                        \
    static const cfx_variant adaptive_max_pool##n##d_one[] = {                \
        {F_ADAPTIVE_MAX(n, "d", "False"), NULL}, {NULL, NULL}};               \
    const cfx_op cfx_op__adaptive_max_pool##n##d_values = {                   \
        .schema = "adaptive_max_pool" #n "d_values(Tensor self, SymInt?[" #n  \
                  "] output_size) -> Tensor",                                 \
        .params = cfx_pool_params,                                            \
        .variants = adaptive_max_pool##n##d_one,                              \
        .doc = "The maxima of windows that cover the input evenly.",          \
        .code = n | ADAPTIVE,                                                 \
        .infer = adaptive_infer,                                              \
        .flags = CFX_OP_COPIES_TO_CONTIGUOUS | CFX_OP_COPIES_FROM_CONTIGUOUS, \
        .run = pool_run,                                                      \
    };                                                                        \
    static const cfx_variant adaptive_max_pool##n##d_pair[] = {               \
        PAIR(n, F_ADAPTIVE_MAX)};                                             \
    const cfx_op cfx_op__adaptive_max_pool##n##d = {                          \
        .schema = "adaptive_max_pool" #n "d(Tensor self, SymInt?[" #n         \
                  "] output_size) -> (Tensor, Tensor)",                       \
        .params = cfx_pool_params,                                            \
        .aliases = "torch.adaptive_max_pool" #n "d "                          \
                   "aten.adaptive_max_pool" #n "d.default",                   \
        .variants = adaptive_max_pool##n##d_pair,                             \
        .doc = "The same, and where they lie.",                               \
        .code = n | ADAPTIVE | INDICES,                                       \
        .infer = adaptive_infer,                                              \
        .flags = CFX_OP_COPIES_TO_CONTIGUOUS | CFX_OP_COPIES_FROM_CONTIGUOUS, \
        .run = pool_run,                                                      \
    };

POOL(1)
POOL(2)
POOL(3)
