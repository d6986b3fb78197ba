/*
 * block_activation -- find an activation, and make it a part of the call before it.
 */
#include "interp/passes/lower/block_activation.h"

#include <math.h>
#include <string.h>

#include "interp/rewrite/affine.h"
#include "nn/module_impl.h"

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

/* The schema of the activation that n calls; NULL: it is none, or its name finds another
 * operator, which the program has registered. */
static const cfx_schema *find_schema(settings *s, const cfx_pass_call *p)
{
    s->module = cfx_pass__module(p, s->n);
    s->schema = s->module ? NULL : cfx_pass__signature(s->n);
    const cfx_target *t = s->module ? s->module->op : cfx_node__targets(s->n);
    const cfx_target *named = t ? cfx_find_activation(p->ctx, t->schema->name)
                                : NULL;
    return named && named->op == t->op ? t->schema : NULL;
}

/* Read parameter k of the operator; false if it is no literal. */
static bool read(cfx_activation_call *a, const cfx_param *k, cfx_value v,
                 int at)
{
    bool text = k->base == CFX_T_STR;
    v = v.kind ? v : k->init;
    if (text && v.kind == CFX_STR) {
        bool same = k->init.kind == CFX_STR &&
                    !strcmp(v.u.str->text, k->init.u.str->text);
        a->algorithm = same ? NULL : v.u.str->text;
        return true;
    }
    if (text || at == CFX_ACTIVATION_SCALARS ||
        (v.kind != CFX_INT && v.kind != CFX_FLOAT))
        return false;
    a->number[at] = cfx_value_number(v);
    if (a->number[at] != cfx_value_number(k->init))
        a->n = at + 1;
    return true;
}

bool cfx_activation__find(const cfx_pass_call *p, const cfx_node *n,
                          cfx_activation_call *out)
{
    settings s = {.n = n};
    int numbers = 0;
    *out = (cfx_activation_call){.schema = find_schema(&s, p)};
    bool literal = out->schema && n->nargs && n->args[0].kind == CFX_NODE;
    for (int k = 1; literal && k < out->schema->nparams; k++) {
        const cfx_param *param = &out->schema->params[k];
        literal = read(out, param, setting(&s, param->name), numbers);
        numbers += param->base != CFX_T_STR;
    }
    return literal;
}

/* An operator that clamps: the names of its bounds, and those of which it has no
 * parameter. */
typedef struct clamp {
    const char *op, *name[2];
    double bound[2];
} clamp;

static bool read_bound(cfx_value v, double *out)
{
    bool number = v.kind == CFX_INT || v.kind == CFX_FLOAT;
    if (number)
        *out = cfx_value_number(v);
    return number || v.kind == CFX_ABSENT || v.kind == CFX_NONE;
}

bool cfx_activation__clamps(const cfx_pass_call *p, const cfx_node *n,
                            double *lo, double *hi)
{
    static const clamp clamps[] = {
        {"relu", {NULL, NULL}, {0, INFINITY}},
        {"relu6", {NULL, NULL}, {0, 6}},
        {"hardtanh", {"min_val", "max_val"}, {-1, 1}},
        {"clamp", {"min", "max"}, {-INFINITY, INFINITY}},
    };
    settings s = {.n = n, .module = cfx_pass__module(p, n)};
    size_t i = 0, end = sizeof(clamps) / sizeof(*clamps);
    while (i < end && !cfx_pass__calls(p, n, clamps[i].op))
        i++;
    if (i == end)
        return false;
    const clamp *c = &clamps[i];
    s.schema = s.module ? NULL : cfx_pass__signature(n);
    *lo = c->bound[0];
    *hi = c->bound[1];
    return !c->name[0] ||
           ((s.module || s.schema) &&
            read_bound(setting(&s, c->name[0]), lo) &&
            read_bound(setting(&s, c->name[1]), hi) && *lo <= *hi);
}

cfx_status cfx_activation__set(cfx_pass_call *p, cfx_node *n,
                               const cfx_activation_call *a)
{
    cfx_scope s;
    cfx_value number[CFX_ACTIVATION_SCALARS];
    cfx_scope_init(&s, &cfx_eager_class, p->ctx, NULL);
    for (int i = 0; i < a->n; i++)
        number[i] = cfx_float(a->number[i]);
    cfx_value name = cfx_str(&s, a->schema->name);
    cfx_value scalars = cfx_list_of(&s, CFX_LIST, (size_t)a->n, number);
    cfx_value algorithm = a->algorithm ? cfx_str(&s, a->algorithm)
                                       : CFX_NOTHING;
    cfx_status st = cfx_scope_status(&s, p->err);
    if (!st)
        st = cfx_node_update_kwarg(n, "activation", name, p->err);
    if (!st && a->n)
        st = cfx_node_update_kwarg(n, "scalars", scalars, p->err);
    if (!st && a->algorithm)
        st = cfx_node_update_kwarg(n, "algorithm", algorithm, p->err);
    cfx_scope_release(&s);
    return st;
}
