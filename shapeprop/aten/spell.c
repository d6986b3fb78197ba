/*
 * spell -- a bound call as a call of an overload of ATen.
 *
 * An operator's names tell its overloads. Where there are several, they
 * differ in which tensors are numbers, and the call tells. All arguments are
 * written, since ATen requires some that have a default here; None only where
 * a tensor may be None, since ATen's lists have other defaults.
 */
#include "shapeprop/aten/aten.h"

#include <string.h>

#include "op/op_impl.h"
#include "op/op_names.h"

/* ---- The overload ---- */

static bool is_number(cfx_value v)
{
    return v.kind == CFX_INT || v.kind == CFX_FLOAT || v.kind == CFX_SYMINT ||
           v.kind == CFX_BOOL_VALUE || v.kind == CFX_COMPLEX;
}

/* Which of the tensors are numbers: a bit for each of the first parameters of
 * that type. */
static unsigned numbers_of(const cfx_call *call)
{
    unsigned bits = 0;
    const cfx_schema *own = cfx_op_schema(call->ctx, call->op);

    for (int k = 0, at = 0; own && k < own->nparams && at < 3; k++) {
        const cfx_param *p = &own->params[k];
        if (p->base == CFX_T_TENSOR && !p->list && p->required)
            bits |= (unsigned)is_number(call->in[k]) << at++;
    }
    return bits;
}

/* The overloads for numbers, the best first. A plain "Scalar" names the second
 * argument, or the first where there is a "Tensor_Scalar", too. */
static const struct {
    unsigned numbers;
    const char *overload, *needs;
} by_numbers[] = {
    {0, "Tensor", NULL},         {0, "Tensor_Tensor", NULL},
    {1, "Scalar_Tensor", NULL},  {1, "Scalar", "Tensor_Scalar"},
    {2, "Tensor_Scalar", NULL},  {2, "ScalarSelf", NULL},
    {2, "Scalar", NULL},         {4, "ScalarOther", NULL},
    {6, "Scalar", "ScalarSelf"},
};

/* Parameters of Python's functions that ATen's overloads lack. */
static const char *const extras[] = {"requires_grad", "as_tuple", "indexing",
                                     "implicit"};

static bool is_extra(const cfx_param *p)
{
    for (size_t i = 0; i < sizeof(extras) / sizeof(*extras); i++)
        if (!strcmp(p->name, extras[i]))
            return true;
    return false;
}

/* Have they their defaults? */
static bool lacks_extras(const cfx_call *call)
{
    for (int k = 0; k < call->schema->nparams; k++) {
        const cfx_param *p = &call->schema->params[k];
        if (is_extra(p) && !cfx_value_equal(call->in[k], p->init))
            return false;
    }
    return true;
}

/* Format the overload's name into the target. */
static bool pick(cfx_aten_spelling *out, const cfx_call *call)
{
    const size_t size = sizeof(out->target);
    const cfx_op *op = call->op;
    unsigned numbers = numbers_of(call);
    int mode = cfx_param_find(call->schema, "rounding_mode", 13);

    if (mode >= 0 && !cfx_value_is_none(call->in[mode]))
        return cfx_op__aten_name(op, call->inplace,
                                 numbers ? "Scalar_mode" : "Tensor_mode",
                                 out->target, size);
    for (size_t i = 0; i < sizeof(by_numbers) / sizeof(*by_numbers); i++)
        if (by_numbers[i].numbers == numbers &&
            (!by_numbers[i].needs ||
             cfx_op__aten_name(op, call->inplace, by_numbers[i].needs,
                               out->target, size)) &&
            cfx_op__aten_name(op, call->inplace, by_numbers[i].overload,
                              out->target, size))
            return true;
    return cfx_op__aten_name(op, call->inplace, NULL, out->target, size);
}

/* ---- Arguments ---- */

static bool is_default(const cfx_param *p, cfx_value v)
{
    return !p->required && cfx_value_equal(v, p->init);
}

/* Is an argument left out? */
static bool is_left_out(const cfx_param *p, cfx_value v)
{
    if (v.kind == CFX_ABSENT || p->base == CFX_T_GENERATOR)
        return true;
    if (!is_default(p, v))
        return false;
    return p->kwarg_only || is_extra(p) ||
           (v.kind == CFX_NONE && p->base != CFX_T_TENSOR);
}

static cfx_status add_args(cfx_aten_spelling *out, const cfx_call *call)
{
    bool gap = false;

    for (int k = 0; k < call->schema->nparams; k++) {
        const cfx_param *p = &call->schema->params[k];
        if (is_left_out(p, call->in[k])) {
            gap = true;
            continue;
        }
        if (!p->kwarg_only && !gap) {
            out->arg[out->nargs++] = call->in[k];
            continue;
        }
        cfx_value key = cfx_str_new(call->ctx, p->name, strlen(p->name));
        if (!key.kind)
            return cfx_no_memory(call->err);
        out->name[out->nkwargs] = out->kwarg[2 * out->nkwargs] = key;
        out->kwarg[2 * out->nkwargs++ + 1] = call->in[k];
    }
    return CFX_OK;
}

/* The operator's own name; none of methods. */
static cfx_status spell_own(cfx_aten_spelling *out, const cfx_call *call)
{
    bool method;
    size_t n = cfx_op_call_name(call->op, call->inplace, &method, out->target,
                                sizeof(out->target));

    if (!n || n >= sizeof(out->target) || method || call->into)
        out->target[0] = '\0';
    return add_args(out, call);
}

cfx_status cfx_aten__spell(cfx_aten_spelling *out, const cfx_call *call,
                           bool *found)
{
    out->nargs = out->nkwargs = 0;
    *found = !call->into && lacks_extras(call) && pick(out, call);
    const cfx_target *t = *found ? cfx_find_function(call->ctx, out->target)
                                 : NULL;
    *found = t && t->op == call->op && !t->how;
    return *found ? add_args(out, call) : spell_own(out, call);
}

void cfx_aten__spelling_release(cfx_aten_spelling *c)
{
    for (size_t i = 0; i < c->nkwargs; i++)
        cfx_value_unref(c->name[i]);
    c->nkwargs = 0;
}
