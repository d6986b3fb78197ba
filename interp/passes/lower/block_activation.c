/*
 * block_activation -- find an activation, and make it a part of the call before it.
 */
#include "interp/passes/lower/block_activation.h"

#include <string.h>

#include "interp/rewrite/affine.h"

/* Where an activation has its settings: a module's attributes, or the
 * arguments of a function. */
typedef struct settings {
    const cfx_node *n;
    const cfx_module *module; /* NULL: a function */
    const cfx_schema *schema; /* of the function, as it is called */
} settings;

static cfx_value setting(const settings *s, const char *name)
{
    return s->module ? cfx_attr(s->module, name)
                     : cfx_pass__arg(s->n, s->schema, name);
}

static bool is_called(const settings *s, const cfx_activation *a)
{
    if (s->module ? strcmp(cfx_module_class_name(s->module), a->module) != 0
                  : !cfx_node_is(s->n, a->name))
        return false;
    if (!a->algorithm)
        return true;
    cfx_value how = setting(s, "approximate");
    return !strcmp(how.kind == CFX_STR ? how.u.str->text : "none",
                   a->algorithm);
}

/* True if an argument is absent or a literal. */
static bool is_literal(cfx_value v)
{
    return !v.kind || v.kind == CFX_INT || v.kind == CFX_FLOAT ||
           v.kind == CFX_STR;
}

static bool read_scalars(const settings *s, cfx_activation_call *a)
{
    for (int i = 0; i < CFX_ACTIVATION_SCALARS && a->kind->scalar[i]; i++) {
        cfx_value v = setting(s, a->kind->scalar[i]);
        if (!is_literal(v) || v.kind == CFX_STR)
            return false;
        a->params[i] = v.kind ? cfx_value_number(v) : a->kind->init[i];
    }
    return true;
}

bool cfx_activation__find(const cfx_pass_call *p, const cfx_node *n,
                          cfx_activation_call *out)
{
    settings s = {.n = n, .module = cfx_pass__module(p, n)};
    *out = (cfx_activation_call){0};
    if (!s.module)
        s.schema = cfx_pass__signature(p, n);
    if ((!s.module && !s.schema) || n->nargs < 1 ||
        n->args[0].kind != CFX_NODE || !is_literal(setting(&s, "approximate")))
        return false;
    for (const cfx_activation *a = cfx_activations; a->name; a++)
        if (is_called(&s, a)) {
            out->kind = a;
            return read_scalars(&s, out);
        }
    return false;
}

/* The numbers up to the last that is not the default. */
static int count_scalars(const cfx_activation_call *a)
{
    int n = 0;
    for (int i = 0; i < CFX_ACTIVATION_SCALARS && a->kind->scalar[i]; i++)
        if (a->params[i] != a->kind->init[i])
            n = i + 1;
    return n;
}

cfx_status cfx_activation__set(cfx_pass_call *p, cfx_node *n,
                               const cfx_activation_call *a)
{
    cfx_scope s;
    cfx_value number[CFX_ACTIVATION_SCALARS];
    int count = count_scalars(a);
    const char *how = a->kind->algorithm;
    cfx_scope_init(&s, &cfx_eager_class, p->ctx, NULL);
    for (int i = 0; i < count; i++)
        number[i] = cfx_float(a->params[i]);
    cfx_value name = cfx_str(&s, a->kind->name);
    cfx_value scalars = cfx_list_of(&s, CFX_LIST, (size_t)count, number);
    cfx_value algorithm = how ? cfx_str(&s, how) : CFX_NOTHING;
    cfx_status st = cfx_scope_status(&s, p->err);
    if (!st)
        st = cfx_node_update_kwarg(n, "activation", name, p->err);
    if (!st && count)
        st = cfx_node_update_kwarg(n, "scalars", scalars, p->err);
    if (!st && how && strcmp(how, "none") != 0)
        st = cfx_node_update_kwarg(n, "algorithm", algorithm, p->err);
    cfx_scope_release(&s);
    return st;
}
