/*
 * lowering -- calls of operators that ATen has with other arguments, or not at
 * all.
 *
 * Most of them are composites, which need no entry here: the calls that they
 * make are recorded in their place.
 */
#include "shapeprop/aten/aten.h"

#include "op/op_impl.h"

/* ---- For lowerings ---- */

cfx_value cfx_aten__call_overload(cfx_scope *s, const char *target,
                                  cfx_args args)
{
    cfx_aten *a = (cfx_aten *)s;
    cfx_call unbound = {.target = cfx_str(s, target),
                        .args = args.args,
                        .kwargs = args.kwargs,
                        .nargs = (uint32_t)args.nargs,
                        .nkwargs = (uint32_t)args.nkwargs};

    if (cfx_scope_failed(s))
        return cfx_none();
    a->unbound = &unbound;
    cfx_value out = cfx_call_function(s, target, args);
    a->unbound = NULL;
    return out;
}

cfx_value cfx_aten__in(const cfx_call *call, const char *name)
{
    int k = cfx_param_find(call->schema, name, strlen(name));

    return k < 0 ? cfx_none() : call->in[k];
}

const cfx_tensor *cfx_aten__result(cfx_scope *s, const cfx_call *call)
{
    cfx_call again = *call;
    cfx_value out = CFX_NOTHING;

    again.result = CFX_NOTHING;
    if (cfx_call_meta(&again, &out))
        return NULL;
    out = cfx_scope_take(s, out);
    return out.kind == CFX_TENSOR ? out.u.tensor : NULL;
}

/* ---- Conversions ---- */

static cfx_value dtype_of(cfx_value x)
{
    return cfx_value_of_dtype((cfx_dtype)x.u.tensor->dtype);
}

/* With the type that the result has; ATen has no such methods. */
static cfx_value to_type(cfx_scope *s, const cfx_call *call)
{
    const cfx_tensor *y = cfx_aten__result(s, call);

    return !y ? cfx_none()
              : CFX_ATEN(s, "to.dtype", cfx_aten__in(call, "self"),
                         cfx_value_of_dtype((cfx_dtype)y->dtype));
}

/* memory_format has no place among ATen's positional arguments. */
static cfx_value convert(cfx_scope *s, const char *target,
                         const cfx_value *args, size_t n, cfx_value format)
{
    cfx_value pair[2] = {cfx_str(s, "memory_format"), format};

    return cfx_aten__call_overload(
        s, target,
        (cfx_args){args, n, pair, format.kind == CFX_MEMORY_FORMAT});
}

/* to(device=..., dtype=...): the overload takes both. */
static cfx_value to_device(cfx_scope *s, const cfx_call *call)
{
    cfx_value x = cfx_aten__in(call, "self");
    cfx_value device = cfx_aten__in(call, "device");
    cfx_value dtype = cfx_aten__in(call, "dtype");
    cfx_value copy = cfx_aten__in(call, "copy");
    cfx_value format = cfx_aten__in(call, "memory_format");
    bool moves = !cfx_value_is_none(device);
    cfx_value args[5] = {x, device, dtype, cfx_bool(false), copy};

    if (cfx_value_is_none(dtype))
        args[2] = dtype_of(x);
    if (moves)
        return convert(s, "torch.ops.aten.to.device", args, 5, format);
    args[1] = x;
    return convert(s, "torch.ops.aten.to.dtype", args + 1, 4, format);
}

/* A tensor of numbers that the call names: a constant of the new graph. */
static cfx_value constant(cfx_scope *s, const cfx_call *call)
{
    cfx_call again = *call;
    cfx_value out = CFX_NOTHING;

    for (int k = 0; k < call->schema->nparams; k++)
        if (call->in[k].kind == CFX_TENSOR)
            return cfx_none();
    again.known = true;
    return cfx_call_eager(&again, &out) ? cfx_none() : cfx_scope_take(s, out);
}

static cfx_value as_is(cfx_scope *s, const cfx_call *call)
{
    return CFX_ATEN(s, "alias.default", cfx_aten__in(call, "self"));
}

/* ---- Arguments in another order ---- */

static cfx_value dropout(cfx_scope *s, const cfx_call *call)
{
    if (call->inplace)
        return CFX_ATEN(s, "dropout_.default", call->in[0], call->in[1],
                        call->in[2]);
    return CFX_ATEN(s, "dropout.default", call->in[0], call->in[1],
                    call->in[2]);
}

static cfx_value stochastic_depth(cfx_scope *s, const cfx_call *call)
{
    return cfx_aten__in(call, "training").u.i
               ? cfx_none()
               : CFX_ATEN(s, "alias.default", cfx_aten__in(call, "input"));
}

static cfx_value unfold(cfx_scope *s, const cfx_call *call)
{
    return cfx_aten__call_overload(s, "torch.ops.aten.im2col.default",
                                   cfx_args_of(call->in, 5));
}

static cfx_value fold(cfx_scope *s, const cfx_call *call)
{
    return cfx_aten__call_overload(s, "torch.ops.aten.col2im.default",
                                   cfx_args_of(call->in, 6));
}

static cfx_value softmin(cfx_scope *s, const cfx_call *call)
{
    return CFX_ATEN(s, "softmax.int",
                    CFX_ATEN(s, "neg.default", cfx_aten__in(call, "input")),
                    cfx_aten__in(call, "dim"), cfx_aten__in(call, "dtype"));
}

static cfx_value softsign(cfx_scope *s, const cfx_call *call)
{
    cfx_value one = CFX_ATEN(
        s, "add.Tensor", CFX_ATEN(s, "abs.default", call->in[0]), cfx_int(1));
    return CFX_ATEN(s, "div.Tensor", call->in[0], one);
}

static cfx_value tanhshrink(cfx_scope *s, const cfx_call *call)
{
    return CFX_ATEN(s, "sub.Tensor", call->in[0],
                    CFX_ATEN(s, "tanh.default", call->in[0]));
}

static cfx_value to_copy(cfx_scope *s, const cfx_call *call)
{
    cfx_value x = cfx_aten__in(call, "self");
    cfx_value dtype = cfx_aten__in(call, "dtype");
    cfx_value args[4] = {x, cfx_value_is_none(dtype) ? dtype_of(x) : dtype,
                         cfx_bool(false), cfx_bool(true)};

    return convert(s, "torch.ops.aten.to.dtype", args, 4,
                   cfx_aten__in(call, "memory_format"));
}

/* ATen's overload takes a number and a list of axes. */
static cfx_value norm(cfx_scope *s, const cfx_call *call)
{
    cfx_value x = cfx_aten__in(call, "self"), p = cfx_aten__in(call, "p");
    cfx_value dim = cfx_aten__in(call, "dim");
    cfx_value dtype = cfx_aten__in(call, "dtype");

    if (p.kind == CFX_STR && strcmp(p.u.str->text, "fro") != 0)
        return cfx_none();
    if (!cfx_value_is_none(dtype))
        x = CFX_ATEN(s, "to.dtype", x, dtype);
    return CFX_ATEN(
        s, "norm.ScalarOpt_dim", x, p.kind == CFX_STR ? cfx_int(2) : p,
        cfx_value_is_none(dim) ? cfx_list_of(s, CFX_LIST, 0, NULL) : dim,
        cfx_aten__in(call, "keepdim"));
}

static cfx_value meshgrid(cfx_scope *s, const cfx_call *call)
{
    cfx_value indexing = cfx_aten__in(call, "indexing");

    return cfx_value_is_none(indexing)
               ? cfx_none()
               : cfx_aten__call_overload(
                     s, "torch.ops.aten.meshgrid.indexing",
                     (cfx_args){CFX_ITEMS(call->in[0]),
                                CFX_PAIRS(cfx_str(s, "indexing"), indexing)});
}

static cfx_value sort_stable(cfx_scope *s, const cfx_call *call)
{
    return cfx_aten__call_overload(
        s, "torch.ops.aten.sort.stable",
        (cfx_args){CFX_ITEMS(cfx_aten__in(call, "self")),
                   CFX_PAIRS(cfx_str(s, "stable"),
                             cfx_aten__in(call, "stable"), cfx_str(s, "dim"),
                             cfx_aten__in(call, "dim"),
                             cfx_str(s, "descending"),
                             cfx_aten__in(call, "descending"))});
}

/* x.T and x.mT; other attributes are numbers, or no tensors. */
static cfx_value attribute(cfx_scope *s, const cfx_call *call)
{
    cfx_value x = call->in[0], order[CFX_MAX_RANK];
    const char *name = call->in[1].kind == CFX_STR ? call->in[1].u.str->text
                                                   : "";

    if (x.kind == CFX_TENSOR && !strcmp(name, "mT"))
        return CFX_ATEN(s, "transpose.int", x, cfx_int(-2), cfx_int(-1));
    if (x.kind != CFX_TENSOR || strcmp(name, "T") != 0)
        return cfx_none();
    for (int i = 0, rank = x.u.tensor->rank; i < rank; i++)
        order[i] = cfx_int(rank - 1 - i);
    return CFX_ATEN(s, "permute.default", x,
                    cfx_list_of(s, CFX_LIST, (size_t)x.u.tensor->rank, order));
}

/* The first of two results. */
static cfx_value first(cfx_scope *s, const char *target, const cfx_call *call)
{
    cfx_value v = cfx_aten__call_overload(
        s, target, cfx_args_of(call->in, (size_t)call->schema->nparams));

    return cfx_value_is_seq(v) ? v.u.seq->item[0] : cfx_none();
}

static cfx_value adaptive_max_pool1d(cfx_scope *s, const cfx_call *call)
{
    return first(s, "torch.ops.aten.adaptive_max_pool1d.default", call);
}

static cfx_value adaptive_max_pool2d(cfx_scope *s, const cfx_call *call)
{
    return first(s, "torch.ops.aten.adaptive_max_pool2d.default", call);
}

static cfx_value adaptive_max_pool3d(cfx_scope *s, const cfx_call *call)
{
    return first(s, "torch.ops.aten.adaptive_max_pool3d.default", call);
}

/* ---- The table ---- */

static const struct {
    const char *op; /* one of its names */
    cfx_aten_lowering *fn;
} lowerings[] = {
    {"operator.getitem", cfx_aten__getitem},
    {"operator.setitem", cfx_aten__setitem},
    {"torch.nn.functional.interpolate", cfx_aten__interpolate},
    {"torch.nn.functional.grid_sample", cfx_aten__grid_sample},
    {"torch.nn.functional.dropout", dropout},
    {"torchvision.ops.stochastic_depth", stochastic_depth},
    {"torch.nn.functional.unfold", unfold},
    {"builtins.getattr", attribute},
    {"torch.nn.functional.adaptive_max_pool1d", adaptive_max_pool1d},
    {"torch.nn.functional.adaptive_max_pool2d", adaptive_max_pool2d},
    {"torch.nn.functional.adaptive_max_pool3d", adaptive_max_pool3d},
    {"aten.norm.ScalarOpt_dim", norm},
    {"aten.meshgrid.indexing", meshgrid},
    {"aten.sort.stable", sort_stable},
    {"torch.nn.functional.fold", fold},
    {"torch.nn.functional.softmin", softmin},
    {"torch.nn.functional.softsign", softsign},
    {"torch.nn.functional.tanhshrink", tanhshrink},
    {"torch.tensor", constant},
    {"torch.as_tensor", constant},
    {"aten.to.device", to_device},
    {"aten._to_copy.default", to_copy},
    {"Tensor.float", to_type},
    {"Tensor.double", to_type},
    {"Tensor.half", to_type},
    {"Tensor.int", to_type},
    {"Tensor.long", to_type},
    {"Tensor.short", to_type},
    {"Tensor.char", to_type},
    {"Tensor.byte", to_type},
    {"Tensor.bool", to_type},
    {"Tensor.type", to_type},
    {"Tensor.cpu", as_is},
    {"Tensor.requires_grad_", as_is},
};

bool cfx_aten__is_called(const cfx_call *call, const char *name)
{
    bool method = !strncmp(name, "Tensor.", 7);
    const cfx_target *t = method ? cfx_find_method(call->ctx, name + 7)
                                 : cfx_find_function(call->ctx, name);

    return t && t->op == call->op;
}

cfx_aten_lowering *cfx_aten__find_lowering(const cfx_call *call)
{
    for (size_t i = 0; i < sizeof(lowerings) / sizeof(*lowerings); i++)
        if (cfx_aten__is_called(call, lowerings[i].op))
            return lowerings[i].fn;
    return NULL;
}
