/*
 * normalize -- one form for each call: torch.fx's NormalizeArgs and
 * NormalizeOperators, for every operator.
 *
 * Methods (x.relu()), operators (x + y) and all functions of one operator
 * become calls of one function, with arguments bound by the operator's schema.
 * A call stays if it binds to no operator, or if its meaning depends on unknown
 * kinds: x + 1 may add numbers. A node's name, meta and type stay.
 */
#include <cfx/scope.h>

#include <stdio.h>
#include <string.h>

#include "interp/rewrite/binding.h"
#include "op/op_names.h"

/* The new form of a call. */
typedef struct normal_form {
    cfx_context *ctx;
    const cfx_op *op;
    bool inplace;
    char target[160];
    cfx_value args[CFX_MAX_PARAMS]; /* owned, as is the next array */
    cfx_value kwargs[2 * CFX_MAX_PARAMS];
    size_t nargs, nkwargs;
} normal_form;

typedef struct normalizer {
    cfx_pass_call *p;
    cfx_graph_kinds kinds;
    bool keywords, defaults, aten;
} normalizer;

static void normal_form_release(normal_form *s)
{
    for (size_t i = 0; i < s->nargs; i++)
        cfx_value_unref(s->args[i]);
    for (size_t i = 0; i < 2 * s->nkwargs; i++)
        cfx_value_unref(s->kwargs[i]);
    s->nkwargs = s->nargs = 0;
}

/* ---- Names ---- */

static bool torch_name(const cfx_op *op, bool inplace, char *buf, size_t size)
{
    char name[128];
    bool method;
    size_t len = cfx_op_call_name(op, inplace, &method, name, sizeof(name));
    if (!len || len >= sizeof(name))
        return false;
    int n = snprintf(buf, size, "%s%s",
                     method                       ? "torch.Tensor."
                     : !strncmp(name, "aten.", 5) ? "torch.ops."
                                                  : "",
                     name);
    return n > 0 && (size_t)n < size;
}

/* Python's functions take `input`, ATen's overloads `self`. */
static const char *param_name(const normal_form *s, const cfx_param *p)
{
    bool aten = !strncmp(s->target, "torch.ops.", 10);
    return !aten && !strcmp(p->name, "self") ? "input" : p->name;
}

/* ---- Arguments ---- */

static cfx_status add_positional(normal_form *s, cfx_value v)
{
    s->args[s->nargs] = cfx_value__clone(s->ctx, v);
    return s->args[s->nargs++].kind ? CFX_OK : CFX_ENOMEM;
}

static cfx_status add_keyword(normal_form *s, const cfx_param *p, cfx_value v)
{
    const char *name = param_name(s, p);
    cfx_value *pair = &s->kwargs[2 * s->nkwargs++];
    pair[0] = cfx_str_new(s->ctx, name, strlen(name));
    pair[1] = cfx_value__clone(s->ctx, v);
    return pair[0].kind && pair[1].kind ? CFX_OK : CFX_ENOMEM;
}

/* The first argument of methods, and of functions of lists, has no keyword. */
static bool must_be_positional(const normal_form *s, const cfx_param *p, int k)
{
    return !k && (p->rest || !strncmp(s->target, "torch.Tensor.", 13) ||
                  !strncmp(s->target, "operator.", 9) ||
                  !strncmp(s->target, "builtins.", 9));
}

static cfx_status spell_args(const normalizer *z, const cfx_schema *schema,
                             const cfx_bound *b, normal_form *s)
{
    bool gap = false;
    cfx_status st = CFX_OK;
    for (int k = 0; k < schema->nparams && !st; k++) {
        const cfx_param *p = &schema->params[k];
        cfx_value v = b->in[k];
        bool is_default = !p->required && cfx_value_equal(v, p->init);
        if (p->base == CFX_T_GENERATOR || v.kind == CFX_ABSENT ||
            (is_default && !z->defaults)) {
            gap = true;
        } else if (!p->kwarg_only && !gap &&
                   (!z->keywords || must_be_positional(s, p, k))) {
            st = add_positional(s, v);
        } else {
            st = add_keyword(s, p, v);
        }
    }
    return st;
}

/* ---- Does the new call resolve to the same operator? ---- */

struct look {
    const cfx_op *op;
    bool inplace, found, other;
};

/* The operator must be the first one that accepts the call. */
static cfx_status look_for(void *user, const cfx_target *t, const cfx_bound *b)
{
    struct look *l = user;
    bool same = t->op == l->op && b->inplace == l->inplace;
    l->other |= !same && !l->found;
    l->found |= same;
    return CFX_OK;
}

static cfx_status leads_back(const normalizer *z, const normal_form *s,
                             bool *ok)
{
    struct look l = {s->op, s->inplace, false, false};
    const cfx_target *t = cfx_find_function(z->p->ctx, s->target);
    cfx_status st = cfx_call__candidates(&z->kinds, t, s->args, s->nargs,
                                         s->kwargs, s->nkwargs, look_for, &l,
                                         z->p->err);
    *ok = l.found && !l.other;
    return st;
}

static bool same_call(const normal_form *a, const normal_form *b)
{
    if (strcmp(a->target, b->target) || a->nargs != b->nargs ||
        a->nkwargs != b->nkwargs)
        return false;
    for (size_t i = 0; i < a->nargs; i++)
        if (!cfx_value_equal(a->args[i], b->args[i]))
            return false;
    for (size_t i = 0; i < 2 * a->nkwargs; i++)
        if (!cfx_value_equal(a->kwargs[i], b->kwargs[i]))
            return false;
    return true;
}

/* ---- Nodes ---- */

/* Properties that all possible signatures of a call share. */
struct choice {
    const normalizer *z;
    normal_form call;
    bool any, differ;
};

static cfx_status spell(const normalizer *z, const cfx_target *t,
                        const cfx_bound *b, normal_form *s, bool *ok)
{
    *s = (normal_form){.ctx = z->p->ctx, .op = t->op, .inplace = b->inplace};
    *ok = z->aten
              ? cfx_op__aten_name(t->op, b->inplace, NULL, s->target,
                                  sizeof(s->target))
              : torch_name(t->op, b->inplace, s->target, sizeof(s->target));
    cfx_status st = *ok ? spell_args(z, t->schema, b, s) : CFX_OK;
    if (!st && *ok)
        st = leads_back(z, s, ok);
    return st;
}

static cfx_status choose(void *user, const cfx_target *t, const cfx_bound *b)
{
    struct choice *c = user;
    normal_form s;
    bool ok;
    if (c->differ)
        return CFX_OK;
    cfx_status st = spell(c->z, t, b, &s, &ok);
    if (st || !ok || (c->any && !same_call(&s, &c->call))) {
        c->differ = true;
        normal_form_release(&s);
    } else if (c->any) {
        normal_form_release(&s);
    } else {
        c->any = true;
        c->call = s;
    }
    return st;
}

static bool is_normal(const cfx_node *n, const normal_form *s)
{
    if (n->op != CFX_CALL_FUNCTION || strcmp(n->target->text, s->target) ||
        n->nargs != s->nargs || n->nkwargs != s->nkwargs)
        return false;
    for (size_t i = 0; i < s->nargs; i++)
        if (!cfx_value_equal(n->args[i], s->args[i]))
            return false;
    for (size_t i = 0; i < 2 * s->nkwargs; i++)
        if (!cfx_value_equal(n->kwargs[i], s->kwargs[i]))
            return false;
    return true;
}

static cfx_status rewrite(const normalizer *z, cfx_node *n,
                          const normal_form *s)
{
    cfx_error *err = z->p->err;
    if (is_normal(n, s))
        return CFX_OK;
    z->p->changed++;
    cfx_status st = cfx_node_set_kwargs(n, s->kwargs, s->nkwargs, err);
    if (!st)
        st = cfx_node_set_args(n, s->args, s->nargs, err);
    if (!st)
        st = cfx_node_set_op(n, CFX_CALL_FUNCTION, s->target, err);
    return st;
}

static cfx_status normalize_node(const normalizer *z, cfx_node *n)
{
    struct choice c = {.z = z};
    cfx_status st = cfx_node__candidates(&z->kinds, n, choose, &c, z->p->err);
    if (!st && c.any && !c.differ)
        st = rewrite(z, n, &c.call);
    normal_form_release(&c.call);
    return st == CFX_ENOMEM ? cfx_no_memory(z->p->err) : st;
}

static cfx_status normalize_run(cfx_pass_call *p)
{
    normalizer z = {
        .p = p,
        .keywords = p->in[0].u.i,
        .defaults = p->in[1].u.i,
    };
    const char *to = p->in[2].u.str->text;
    z.aten = !strcmp(to, "aten");
    if (!z.aten && strcmp(to, "torch"))
        return cfx_fail(p->err, CFX_EINVAL,
                        "normalize: to is '%s', not 'torch' or 'aten'", to);
    cfx_status st = cfx_graph_kinds__init(&z.kinds, p->graph, p->in[3].u.i,
                                          p->err);
    for (cfx_node *n = st ? NULL : cfx_graph_first(p->graph); n && !st;
         n = cfx_node_next(n))
        if (n->op == CFX_CALL_FUNCTION || n->op == CFX_CALL_METHOD)
            st = normalize_node(&z, n);
    cfx_graph_kinds__release(&z.kinds);
    return st;
}

const cfx_pass cfx_pass__normalize = {
    .abi = CFX_ABI(cfx_pass),
    .schema =
        "normalize(bool keywords=True, bool defaults=True, str to='torch', bool tensors=False)",
    .doc =
        "Write all calls of an operator in one form with all arguments; keywords: by keyword; defaults: include defaults; to: use names of 'torch' or 'aten'; tensors: assume that inputs without a type or default are tensors.",
    .run = normalize_run,
};
