/*
 * onnx_lowering -- calls that ONNX has under other arguments, or not at all,
 * and that are neither composites nor decomposed into Core ATen.
 */
#include <math.h>
#include <string.h>

#include <cfx/ops.h>

#include "op/op_impl.h"
#include "shapeprop/aten/aten.h"

static cfx_value in(const cfx_call *call, const char *name)
{
    return cfx_aten__in(call, name);
}

static const cfx_tensor *self_of(const cfx_call *call)
{
    return call->in[0].kind == CFX_TENSOR ? call->in[0].u.tensor : NULL;
}

static cfx_value type_of(const cfx_tensor *t)
{
    return cfx_value_of_dtype((cfx_dtype)t->dtype);
}

static cfx_value shape_of(cfx_scope *s, const cfx_tensor *t)
{
    cfx_value item[CFX_MAX_RANK];

    for (int i = 0; i < t->rank; i++)
        item[i] = cfx_value_of_dim(t->shape[i]);
    return cfx_list_of(s, CFX_LIST, (size_t)t->rank, item);
}

static bool has_shape(const cfx_tensor *t, const cfx_tensor *of)
{
    bool same = t->rank == of->rank;

    for (int i = 0; same && i < t->rank; i++)
        same = cfx_dim_same(t->shape[i], of->shape[i]);
    return same;
}

/* ---- Contents ---- */

static cfx_value copy(cfx_scope *s, const cfx_call *call)
{
    const cfx_tensor *x = self_of(call);
    cfx_value y = CFX_ATEN(s, "to.dtype", in(call, "src"), type_of(x));
    const cfx_tensor *t = cfx_meta_of(s, y);

    return t && x && has_shape(t, x)
               ? y
               : CFX_ATEN(s, "expand.default", y, shape_of(s, x));
}

static cfx_value full(cfx_scope *s, const cfx_tensor *x, cfx_value number)
{
    return cfx_aten__call_overload(
        s, "torch.ops.aten.full.default",
        (cfx_args){CFX_ITEMS(shape_of(s, x), number),
                   CFX_PAIRS(cfx_str(s, "dtype"), type_of(x))});
}

static cfx_value fill(cfx_scope *s, const cfx_call *call)
{
    cfx_value v = in(call, "value");
    const cfx_tensor *x = self_of(call);

    return v.kind == CFX_TENSOR
               ? CFX_ATEN(s, "expand.default",
                          CFX_ATEN(s, "to.dtype", v, type_of(x)),
                          shape_of(s, x))
               : full(s, x, v);
}

static cfx_value zero(cfx_scope *s, const cfx_call *call)
{
    return full(s, self_of(call), cfx_int(0));
}

/* Memory that nothing was written to. */
static cfx_value empty(cfx_scope *s, const cfx_call *call)
{
    const cfx_tensor *y = cfx_aten__result(s, call);

    return y ? full(s, y, cfx_int(0)) : cfx_none();
}

/* ---- Arithmetic ---- */

static cfx_value log1p_of(cfx_scope *s, const cfx_call *call)
{
    return cfx_log(s, cfx_add(s, call->in[0], cfx_int(1)));
}

/* exp(x) - 1 loses the digits of a small x, whose hyperbolic tangent does not:
 * exp(x) - 1 = tanh(x/2) (exp(x) + 1) */
static cfx_value expm1_of(cfx_scope *s, const cfx_call *call)
{
    cfx_value half = cfx_mul(s, call->in[0], cfx_float(0.5));
    cfx_value sum = cfx_add(s, cfx_exp(s, call->in[0]), cfx_int(1));

    return cfx_mul(s, cfx_tanh(s, half), sum);
}

static cfx_value log_of(cfx_scope *s, const cfx_call *call, double base)
{
    return cfx_mul(s, cfx_log(s, call->in[0]), cfx_float(1 / log(base)));
}

static cfx_value log2_of(cfx_scope *s, const cfx_call *call)
{
    return log_of(s, call, 2);
}

static cfx_value log10_of(cfx_scope *s, const cfx_call *call)
{
    return log_of(s, call, 10);
}

static cfx_value exp2_of(cfx_scope *s, const cfx_call *call)
{
    return cfx_exp(s, cfx_mul(s, call->in[0], cfx_float(log(2))));
}

/* ---- Shapes ---- */

/* Each item `repeats` times in a row: a new axis after that of the items. */
static cfx_value repeat_interleave(cfx_scope *s, const cfx_call *call)
{
    cfx_value dim = in(call, "dim"), times = in(call, "repeats");
    cfx_value x = in(call, "self"), item[CFX_MAX_RANK + 1];
    const cfx_tensor *t = self_of(call);

    if (x.kind != CFX_TENSOR ||
        (times.kind != CFX_INT && times.kind != CFX_SYMINT))
        return cfx_none();
    if (dim.kind == CFX_NONE) {
        x = cfx_reshape(s, x, cfx_list(s, cfx_int(-1)));
        dim = cfx_int(0);
        t = cfx_meta_of(s, x);
    }
    if (!t || t->rank == CFX_MAX_RANK)
        return cfx_none();
    int64_t axis = dim.u.i + (dim.u.i < 0 ? t->rank : 0);
    for (int i = 0; i <= t->rank; i++)
        item[i] = i <= axis       ? cfx_value_of_dim(t->shape[i])
                  : i == axis + 1 ? times
                                  : cfx_value_of_dim(t->shape[i - 1]);
    x = CFX_ATEN(s, "unsqueeze.default", x, cfx_int(axis + 1));
    x = CFX_ATEN(s, "expand.default", x,
                 cfx_list_of(s, CFX_LIST, (size_t)t->rank + 1, item));
    return CFX_ATEN(s, "flatten.using_ints", x, cfx_int(axis),
                    cfx_int(axis + 1));
}

/* Ones where the row is the column. */
static cfx_value eye(cfx_scope *s, const cfx_call *call)
{
    const cfx_tensor *y = cfx_aten__result(s, call);

    if (!y)
        return cfx_none();
    cfx_value row = CFX_ATEN(s, "arange.default",
                             cfx_value_of_dim(y->shape[0]));
    cfx_value col = CFX_ATEN(s, "arange.default",
                             cfx_value_of_dim(y->shape[1]));
    row = CFX_ATEN(s, "unsqueeze.default", row, cfx_int(1));
    return CFX_ATEN(s, "to.dtype", cfx_eq(s, row, col), type_of(y));
}

/* Slices added where the index says: a scatter, with the index of a slice for
 * each of its elements. */
static cfx_value index_add(cfx_scope *s, const cfx_call *call)
{
    const cfx_tensor *x = self_of(call);
    cfx_value source = in(call, "source"), item[CFX_MAX_RANK];
    const cfx_tensor *t = cfx_meta_of(s, source);

    if (!x || !t || !x->rank || t->rank != x->rank)
        return cfx_none();
    int64_t axis = in(call, "dim").u.i;
    axis += axis < 0 ? x->rank : 0;
    for (int i = 0; i < x->rank; i++)
        item[i] = cfx_int(i == axis ? -1 : 1);
    cfx_value index = cfx_reshape(
        s, in(call, "index"), cfx_list_of(s, CFX_LIST, (size_t)x->rank, item));
    index = CFX_ATEN(s, "expand.default", index, shape_of(s, t));
    source = CFX_ATEN(s, "to.dtype", cfx_mul(s, source, in(call, "alpha")),
                      type_of(x));
    return CFX_ATEN(s, "scatter_add.default", call->in[0], cfx_int(axis),
                    index, source);
}

/* ---- Reductions ---- */

static cfx_value of_dims(cfx_scope *s, const char *target, cfx_value x,
                         cfx_value dims, cfx_value keep)
{
    if (dims.kind == CFX_NONE)
        dims = cfx_list_of(s, CFX_LIST, 0, NULL);
    return cfx_aten__call_overload(s, target, CFX_ARGS(x, dims, keep));
}

#define SUM "torch.ops.aten.sum.dim_IntList"

static cfx_value power_sum(cfx_scope *s, cfx_value x, double p, cfx_value dims,
                           cfx_value keep)
{
    if (isinf(p))
        return of_dims(s,
                       p > 0 ? "torch.ops.aten.amax.default"
                             : "torch.ops.aten.amin.default",
                       cfx_abs(s, x), dims, keep);
    if (p == 2)
        return cfx_sqrt(s, of_dims(s, SUM, cfx_mul(s, x, x), dims, keep));
    if (p == 1)
        return of_dims(s, SUM, cfx_abs(s, x), dims, keep);
    x = cfx_pow(s, cfx_abs(s, x), cfx_float(p));
    return cfx_pow(s, of_dims(s, SUM, x, dims, keep), cfx_float(1 / p));
}

static bool is_fro(cfx_value v)
{
    return v.kind == CFX_STR && !strcmp(v.u.str->text, "fro");
}

/* The norm of a vector; halves are added up in float32, as torch does. */
static cfx_value norm(cfx_scope *s, const cfx_call *call)
{
    const cfx_tensor *y = cfx_aten__result(s, call);
    cfx_value p = in(call, "ord");

    if (p.kind == CFX_NONE)
        p = in(call, "p");
    double order = p.kind == CFX_INT || p.kind == CFX_FLOAT
                       ? cfx_value_number(p)
                   : is_fro(p) || p.kind == CFX_NONE ? 2
                                                     : 0;
    if (!y || order == 0 || isnan(order))
        return cfx_none();
    cfx_dtype type = (cfx_dtype)y->dtype;
    cfx_dtype wide = type == CFX_F16 || type == CFX_BF16 ? CFX_F32 : type;
    cfx_value x = CFX_ATEN(s, "to.dtype", call->in[0],
                           cfx_value_of_dtype(wide));
    x = power_sum(s, x, order, in(call, "dim"), in(call, "keepdim"));
    return CFX_ATEN(s, "to.dtype", x, cfx_value_of_dtype(type));
}

/* How many elements are in each of equal bins from min to max: sums of rows
 * that have a 1 in the column of their bin. */
static cfx_value histc(cfx_scope *s, const cfx_call *call)
{
    const cfx_tensor *y = cfx_aten__result(s, call);
    cfx_value bins = in(call, "bins"), least = in(call, "min");
    double min = cfx_value_number(least);
    double max = cfx_value_number(in(call, "max"));

    if (!y || bins.kind != CFX_INT || !(min < max))
        return cfx_none();
    cfx_value x = cfx_reshape(s, call->in[0], cfx_list(s, cfx_int(-1)));
    cfx_value inside = cfx_logical_and(s, cfx_ge(s, x, cfx_float(min)),
                                       cfx_le(s, x, cfx_float(max)));
    x = cfx_div(s, cfx_sub(s, x, cfx_float(min)), cfx_float(max - min));
    x = cfx_floor(s, cfx_mul(s, x, bins));
    /* max itself is in the last bin */
    x = CFX_ATEN(s, "clamp.default", x, cfx_none(), cfx_int(bins.u.i - 1));
    x = CFX_ATEN(s, "unsqueeze.default", x, cfx_int(1));
    cfx_value found = cfx_eq(s, x,
                             CFX_ATEN(s, "to.dtype",
                                      CFX_ATEN(s, "arange.default", bins),
                                      type_of(y)));
    found = cfx_logical_and(
        s, found, CFX_ATEN(s, "unsqueeze.default", inside, cfx_int(1)));
    return CFX_ATEN(s, "sum.dim_IntList",
                    CFX_ATEN(s, "to.dtype", found, type_of(y)),
                    cfx_list(s, cfx_int(0)));
}

static cfx_value glu(cfx_scope *s, const cfx_call *call)
{
    cfx_value v = CFX_ATEN(s, "chunk.default", call->in[0], cfx_int(2),
                           in(call, "dim"));

    return cfx_mul(s, cfx_nth(s, v, 0), cfx_sigmoid(s, cfx_nth(s, v, 1)));
}

/* A weight or bias of channels, as it broadcasts. */
static cfx_value of_channels(cfx_scope *s, cfx_value v, int rank)
{
    cfx_value shape[CFX_MAX_RANK];

    for (int i = 0; i < rank; i++)
        shape[i] = cfx_int(i == 1 ? -1 : 1);
    return cfx_reshape(s, v, cfx_list_of(s, CFX_LIST, (size_t)rank, shape));
}

/* By the mean and variance of the input, without running ones. */
static cfx_value batch_norm(cfx_scope *s, const cfx_call *call)
{
    const cfx_tensor *t = self_of(call);
    cfx_value training = in(call, "training"), dims[CFX_MAX_RANK];
    cfx_value weight = in(call, "weight"), bias = in(call, "bias");

    if (!t || t->rank < 2 || !training.u.i ||
        training.kind != CFX_BOOL_VALUE ||
        in(call, "running_mean").kind != CFX_NONE ||
        in(call, "running_var").kind != CFX_NONE)
        return cfx_none();
    for (int i = 0; i < t->rank - 1; i++)
        dims[i] = cfx_int(i ? i + 1 : 0);
    cfx_value all = cfx_list_of(s, CFX_LIST, (size_t)t->rank - 1, dims);
    cfx_value keep = cfx_bool(true);
    cfx_value x = cfx_sub(s, call->in[0],
                          CFX_ATEN(s, "mean.dim", call->in[0], all, keep));
    cfx_value var = CFX_ATEN(s, "mean.dim", cfx_mul(s, x, x), all, keep);
    x = cfx_mul(s, x, cfx_rsqrt(s, cfx_add(s, var, in(call, "eps"))));
    if (weight.kind != CFX_NONE)
        x = cfx_mul(s, x, of_channels(s, weight, t->rank));
    return bias.kind == CFX_NONE
               ? x
               : cfx_add(s, x, of_channels(s, bias, t->rank));
}

/* ---- The table ---- */

static const struct {
    const char *op; /* one of its names */
    cfx_aten_lowering *fn;
} lowerings[] = {
    {"operator.getitem", cfx_aten__getitem},
    {"operator.setitem", cfx_aten__setitem},
    {"aten.copy.default", copy},
    {"aten.fill.Scalar", fill},
    {"aten.zero.default", zero},
    {"aten.empty_like.default", empty},
    {"aten.new_empty.default", empty},
    {"aten.empty.memory_format", empty},
    {"aten.histc.default", histc},
    {"aten.index_add.default", index_add},
    {"aten.log1p.default", log1p_of},
    {"aten.expm1.default", expm1_of},
    {"aten.log2.default", log2_of},
    {"aten.log10.default", log10_of},
    {"aten.exp2.default", exp2_of},
    {"aten.repeat_interleave.self_int", repeat_interleave},
    {"aten.eye.default", eye},
    {"aten.linalg_vector_norm.default", norm},
    {"aten.norm.ScalarOpt_dim", norm},
    {"aten.glu.default", glu},
    {"aten.batch_norm.default", batch_norm},
    {"aten.unfold.default", cfx_aten__unfold_dim},
    {"aten.im2col.default", cfx_aten__unfold},
    {"aten.roll.default", cfx_aten__roll},
    {"torch.nn.functional.interpolate", cfx_aten__interpolate},
};

cfx_aten_lowering *cfx_aten__find_onnx_lowering(const cfx_call *call)
{
    for (size_t i = 0; i < sizeof(lowerings) / sizeof(*lowerings); i++)
        if (cfx_aten__is_called(call, lowerings[i].op))
            return lowerings[i].fn;
    return NULL;
}
