/*
 * to_onnx -- retrace a graph into calls that have a form in ONNX.
 *
 * The walk is that of to_aten. A call of an operator that ONNX's writer has a
 * rule for is recorded; others are replaced by the calls that a lowering, a
 * decomposition into Core ATen, or the operator's own composite makes. Nothing
 * writes to memory, and what is known while tracing is a constant.
 */
#include <cfx/decompose.h>
#include <cfx/to_onnx.h>

#include "format/onnx/onnx_writable.h"
#include "op/op_impl.h"
#include "shapeprop/aten/aten.h"

static const cfx_scope_class onnx_class;

/* ---- What replaces a call ---- */

static cfx_status decompose(cfx_aten *a, const cfx_call *call, cfx_value *out)
{
    const cfx_decomposition *d = cfx_core_decompositions;
    cfx_scope *s = &a->shapes.base;

    while (d->op && !cfx_aten__is_called(call, d->op))
        d++;
    if (!d->op)
        return CFX_OK;
    size_t frame = cfx_scope_enter(s);
    cfx_value v = cfx_scope_leave(s, frame, d->fn(s, call->in));
    if (cfx_scope_failed(s))
        return s->error.code;
    if (v.kind != CFX_NONE)
        *out = cfx_value_ref(v);
    return CFX_OK;
}

/* ---- Recording ---- */

static bool is_meta(void *user, cfx_value v)
{
    (void)user;
    return v.kind == CFX_TENSOR && cfx_tensor_is_meta(v.u.tensor);
}

/* Is a result neither known to the graph nor a constant? */
static bool is_wanted(cfx_aten *a, cfx_value result)
{
    return cfx_value_any(result, is_meta, NULL)
               ? !cfx_aten__knows(a, result)
               : cfx_aten__is_new_extent(a, result);
}

/* The tensor that the result is a view of, or NULL. */
static cfx_tensor *viewed(const cfx_call *call, cfx_value result)
{
    cfx_effects e = cfx_call_effects(call);
    bool list = cfx_value_is_seq(result);

    for (int k = 0; k < call->schema->nparams; k++)
        if (e.views >> k & 1 && call->in[k].kind == CFX_TENSOR &&
            (list || call->alias[0] == k + 1))
            return call->in[k].u.tensor;
    return NULL;
}

static cfx_status record(cfx_aten *a, cfx_call *call, bool writable,
                         cfx_value result)
{
    cfx_aten_spelling c = {.nargs = 0};
    bool found, wanted = is_wanted(a, result);
    cfx_tensor *of = writable ? viewed(call, result) : NULL;

    if (!wanted && !of)
        return CFX_OK;
    cfx_status st = cfx_aten__spell(&c, call, &found);
    const cfx_args args = {c.arg, c.nargs, c.kwarg, c.nkwargs};
    if (!st && wanted)
        st = writable && c.target[0]
                 ? cfx_aten__emit(a, c.target, args, result, call->err)
                 : cfx_aten__miss(a, call, result);
    if (!st && wanted && result.kind == CFX_TENSOR)
        st = cfx_aten__know_extents(a, result.u.tensor, a->last, call->err);
    if (!st && of)
        st = cfx_aten__know_view(a, of, c.target, args, result, call->err);
    cfx_aten__spelling_release(&c);
    return st;
}

static cfx_status call_recorded(cfx_aten *a, cfx_call *call, cfx_value *out)
{
    bool writable = cfx_onnx__has_rule(call->op);

    if (!writable) {
        cfx_status st = decompose(a, call, out);
        if (st || out->kind)
            return st;
    }
    call->inner = writable ? NULL : &a->shapes.base;
    cfx_status st = cfx_aten__propagate(&a->shapes.base, call, out);
    call->inner = NULL;
    return st ? st : record(a, call, writable, *out);
}

static bool writes(const cfx_call *call)
{
    return (call->into || cfx_call_effects(call).writes) &&
           !(call->op->flags & CFX_OP_SHAPES_SELF);
}

static cfx_status onnx_call_op(cfx_scope *s, cfx_call *call, cfx_value *out)
{
    cfx_aten *a = (cfx_aten *)s;
    cfx_aten_lowering *fn = NULL;
    cfx_status st = CFX_OK;

    a->unbound = NULL;
    *out = CFX_NOTHING;
    if (a->muted || call->op->flags & CFX_OP_EFFECT)
        return cfx_aten__propagate(s, call, out);
    bool shapes_self = call->inplace && call->op->flags & CFX_OP_SHAPES_SELF;
    call->inplace = call->inplace && !shapes_self;
    /* A lowering computes new memory: see cfx_aten__call_written. */
    if (!call->inplace && !call->into)
        fn = cfx_aten__find_onnx_lowering(call);
    if (fn)
        st = cfx_aten__lower(a, call, fn, out);
    if (!st && !out->kind)
        st = writes(call) ? cfx_aten__call_written(a, call, out)
                          : call_recorded(a, call, out);
    if (st) {
        cfx_value_unref(*out);
        *out = CFX_NOTHING;
    }
    return st;
}

static const cfx_scope_class onnx_class = {
    .size = sizeof(cfx_scope_class),
    .name = "to_onnx",
    .super = &cfx_aten__class,
    .call_op = onnx_call_op,
};

static const cfx_aten_form form = {
    .cls = &onnx_class,
    .lacks = "these calls cannot be written as ONNX",
    .lacks_code = CFX_EUNSUPPORTED,
    .symbolic = true,
    .functional = true,
};

cfx_status cfx_to_onnx(cfx_module **out, cfx_module *gm, cfx_shape_env *env,
                       const cfx_value *inputs, size_t ninputs, cfx_error *err)
{
    return cfx_aten__retrace(out, &form, gm, env, inputs, ninputs, err);
}
