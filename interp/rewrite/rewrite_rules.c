/*
 * rewrite_rules -- passes that are lists of rules: {pattern, where, build}.
 */
#include "interp/rewrite/facts.h"

#include <cfx/ops.h>

#include <stdio.h>

#include "interp/match/matcher_impl.h"

typedef struct rule_run {
    cfx_pass_call *p;
    const cfx_rewrite_rule *rule;
    cfx_node **attr; /* parameters that matched nodes read */
    size_t nattrs, cap;
} rule_run;

/* ---- One match ---- */

static bool holds(void *user, const cfx_match *m, const cfx_graph *graph)
{
    rule_run *r = user;
    (void)graph;
    return r->rule->where(r->p, m);
}

static cfx_status list_attrs(rule_run *r, const cfx_match *m)
{
    const cfx_node *at = NULL, *n;
    while ((n = cfx_match__next_node(m, &at)) != NULL) {
        for (uint32_t i = 0; i < n->ninputs; i++) {
            if (cfx_node_input(n, i)->op != CFX_GET_ATTR)
                continue;
            if (cfx_grow(r->p->ctx, r->attr, r->cap, r->nattrs + 1, r->p->err))
                return CFX_ENOMEM;
            r->attr[r->nattrs++] = cfx_node_input(n, i);
        }
    }
    return CFX_OK;
}

static cfx_value build(cfx_scope *s, const cfx_value *in, const cfx_match *m,
                       void *user)
{
    rule_run *r = user;
    if (list_attrs(r, m))
        return cfx_scope__fail_from(s, r->p->err);
    return r->rule->build(s, in, m, r->p);
}

/* Is one node exchanged for another? */
static bool replaces_one(const cfx_match *m)
{
    const cfx_node *at = NULL;
    return cfx_match__next_node(m, &at) && !cfx_match__next_node(m, &at);
}

/* The larger of the numbers of nodes removed and made. */
static size_t count_changes(const cfx_match *m)
{
    const cfx_node *at = NULL, *n;
    size_t removed = 0, made = 0;
    while ((n = cfx_match__next_node(m, &at)) != NULL)
        removed += n->erased;
    for (size_t i = 0; i < m->nreplacements; i++)
        made += m->replacements[i]->op != CFX_GET_ATTR;
    return removed > made ? removed : made;
}

/* A replacement that has the name of a node of the match keeps the origins of that
 * node: to the user it is the same node. */
static cfx_status restore_origins(const rule_run *r, const cfx_match *m)
{
    cfx_status st = CFX_OK;
    for (size_t i = 0; i < m->nreplacements && !st; i++) {
        cfx_node *now = m->replacements[i];
        const cfx_node *at = NULL, *old;
        while (!st && (old = cfx_match__next_node(m, &at)) != NULL)
            if (!strcmp(old->name, now->name))
                st = cfx_node_set_meta(now, "from_node",
                                       cfx_node_meta(old, "from_node"),
                                       r->p->err);
    }
    return st;
}

/* ---- One rule ---- */

/* The predicates of a rule get the call of the pass. */
static cfx_match_predicate *bind_predicates(const rule_run *r)
{
    size_t n = r->rule->npredicates;
    cfx_match_predicate *own = cfx_alloc(r->p->ctx, (n + 1) * sizeof(*own));
    for (size_t i = 0; i < n && own; i++) {
        own[i] = r->rule->predicates[i];
        own[i].user = r->p;
    }
    if (!own)
        cfx_no_memory(r->p->err);
    return own;
}

/* Replace the matches of a pattern once; *n of them. */
static cfx_status replace(rule_run *r, const cfx_graph *pattern,
                          const cfx_match_predicate *predicates, size_t *n)
{
    const cfx_match_filter filter = {holds, r};
    const cfx_rewrite_options o = {
        .size = sizeof(o),
        .match = {.by_operator = true,
                  .commutative = true,
                  .predicates = predicates,
                  .npredicates = r->rule->npredicates},
        .filters = &filter,
        .nfilters = r->rule->where ? 1 : 0,
        .build = build,
        .build_user = r,
        .same_values = true,
    };
    cfx_matches done = {0};
    r->nattrs = 0;
    cfx_status st = cfx_replace_pattern(r->p->gm, pattern, NULL, &o, &done,
                                        r->p->err);
    for (size_t i = 0; i < done.n; i++) {
        r->p->changed += count_changes(&done.item[i]);
        if (!st && (r->rule->undo || replaces_one(&done.item[i])))
            st = restore_origins(r, &done.item[i]);
    }
    *n = done.n;
    cfx_matches_release(&done);
    if (!st)
        st = cfx_pass__drop_attrs(r->p, r->attr, r->nattrs);
    cfx_status found = cfx_facts__forget(r->p);
    return st ? st : found;
}

static cfx_status apply_rule(cfx_pass_call *p, const cfx_rewrite_rule *rule)
{
    rule_run r = {.p = p, .rule = rule};
    const cfx_trace_options o = {.size = sizeof(o), .no_places = true};
    cfx_module *pattern = NULL;
    cfx_status st = cfx_trace_function_with(&pattern, p->ctx, rule->pattern, p,
                                            rule->params, &o, p->err);
    cfx_match_predicate *predicates = st ? NULL : bind_predicates(&r);
    if (!st && !predicates)
        st = CFX_ENOMEM;
    size_t replaced = 1;
    while (!st && replaced) {
        st = replace(&r, cfx_graph_module_graph(pattern), predicates,
                     &replaced);
        if (!rule->repeat)
            break;
    }
    cfx_free(p->ctx, predicates,
             (rule->npredicates + 1) * sizeof(*predicates));
    cfx_free(p->ctx, r.attr, r.cap * sizeof(*r.attr));
    cfx_module_unref(pattern);
    return st;
}

cfx_status cfx_rules__apply(cfx_pass_call *p, const cfx_rewrite_rule *rules)
{
    cfx_status st = CFX_OK;
    for (; rules->pattern && !st; rules++)
        if (rules->undo == p->reverse)
            st = apply_rule(p, rules);
    return st;
}

/* ---- For rules ---- */

cfx_value cfx_pattern__quotient(cfx_scope *s, cfx_value a, cfx_value b)
{
    return cfx_pattern_one_of(s, cfx_div(s, a, b), cfx_true_divide(s, a, b));
}

const cfx_tensor *cfx_match__known(const cfx_match *m, int i)
{
    cfx_value v = m->placeholders[i];
    return v.kind == CFX_NODE ? cfx_node__known_tensor(v.u.node) : NULL;
}

bool cfx_match__is_float(cfx_pass_call *p, const cfx_match *m)
{
    const cfx_tensor *x = cfx_match__known(m, 0);
    (void)p;
    return x && cfx_dtype_is_float((cfx_dtype)x->dtype);
}

bool cfx_match__is_last_axis(const cfx_match *m, int x, cfx_value v)
{
    const cfx_tensor *t = cfx_match__known(m, x);
    if (cfx_value_is_seq(v) && v.u.seq->len == 1)
        v = v.u.seq->item[0];
    return t && t->rank && v.kind == CFX_INT &&
           (v.u.i == -1 || v.u.i == t->rank - 1);
}

cfx_node *cfx_match__node(const cfx_match *m, const char *name)
{
    cfx_value v = cfx_match_named(m, name);
    return v.kind == CFX_NODE ? v.u.node : NULL;
}

/* Write "operator.mul" for operator.truediv, "torch.ops.aten.mul.Tensor" for
 * torch.ops.aten.div.Tensor. */
static void name_like(char *buf, size_t size, const char *like,
                      const char *name)
{
    static const char aten[] = "torch.ops.aten.";
    size_t head = sizeof(aten) - 1;
    const char *overload = "";
    if (!strncmp(like, aten, head)) {
        overload = strchr(like + head, '.');
    } else {
        const char *dot = strrchr(like, '.');
        head = dot ? (size_t)(dot - like) + 1 : 0;
    }
    snprintf(buf, size, "%.*s%s%s", (int)head, like, name,
             overload ? overload : "");
}

cfx_value cfx_call__like(cfx_scope *s, const cfx_node *like, const char *name,
                         cfx_args args)
{
    char text[256];
    const char *old = like->target->text;
    if (like->op == CFX_CALL_METHOD) {
        bool dunder = !strncmp(old, "__", 2);
        snprintf(text, sizeof(text), dunder ? "__%s__" : "%s", name);
        return cfx_call_method(s, text, args);
    }
    name_like(text, sizeof(text), old, name);
    if (!cfx_find_function(s->ctx, text))
        snprintf(text, sizeof(text), "torch.%s", name);
    return cfx_call_function(s, text, args);
}

void cfx_call_copy__init(cfx_scope *s, cfx_call_copy *c, const cfx_node *n)
{
    *c = (cfx_call_copy){.nargs = n->nargs, .nkwargs = n->nkwargs};
    if (n->nargs > CFX_MAX_PARAMS || n->nkwargs > CFX_MAX_PARAMS) {
        cfx_scope_fail(s, CFX_EINVAL, "%s has too many arguments", n->name);
        return;
    }
    for (size_t i = 0; i < c->nargs; i++)
        c->args[i] = n->args[i];
    for (size_t i = 0; i < 2 * c->nkwargs; i++)
        c->kwargs[i] = n->kwargs[i];
}

static void remove_kwarg(cfx_call_copy *c, size_t i)
{
    c->nkwargs--;
    memmove(&c->kwargs[2 * i], &c->kwargs[2 * i + 2],
            2 * (c->nkwargs - i) * sizeof(*c->kwargs));
}

void cfx_call_copy__set(cfx_scope *s, cfx_call_copy *c, int position,
                        const char *name, cfx_value v)
{
    size_t i = 0;
    if (position >= 0 && (size_t)position < c->nargs) {
        c->args[position] = v.kind ? v : cfx_none();
        return;
    }
    while (i < c->nkwargs && strcmp(c->kwargs[2 * i].u.str->text, name) != 0)
        i++;
    if (!v.kind) {
        if (i < c->nkwargs)
            remove_kwarg(c, i);
        return;
    }
    if (i == CFX_MAX_PARAMS) {
        cfx_scope_fail(s, CFX_EINVAL, "too many arguments");
        return;
    }
    if (i == c->nkwargs) {
        c->kwargs[2 * i] = cfx_str(s, name);
        c->nkwargs++;
    }
    c->kwargs[2 * i + 1] = v;
}

cfx_value cfx_scope__fail_from(cfx_scope *s, const cfx_error *err)
{
    if (!cfx_scope_failed(s))
        cfx_fail_from(&s->error, err);
    return cfx_none();
}
