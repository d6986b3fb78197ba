/*
 * matcher_call -- compare two calls.
 *
 * Calls are compared as written: opcode, target, and arguments one by one. With
 * `by_operator`, both are resolved to the same overload of the same operator,
 * and their arguments are compared as the schema binds them.
 */
#include "interp/match/matcher_impl.h"

#include "op/op_impl.h"

static const char *target_of(const cfx_node *n)
{
    return n->target->text;
}

static bool same_target(const cfx_node *a, const cfx_node *b)
{
    return a->target->len == b->target->len &&
           !memcmp(target_of(a), target_of(b), a->target->len);
}

static bool is_operator(const cfx_node *n)
{
    return n->op == CFX_CALL_FUNCTION || n->op == CFX_CALL_METHOD;
}

static bool is_overload(const cfx_node *n)
{
    return n->op == CFX_CALL_FUNCTION &&
           !strncmp(target_of(n), "torch.ops.", 10);
}

/* ---- Binding ---- */

/* NULL if there is none, or if memory is lacking (sets m->lacks_memory). */
static const cfx_target *resolve(cfx_matcher *m, const cfx_node *n)
{
    const cfx_target *t;
    cfx_status st = cfx_target__find(&t, m->ctx, target_of(n),
                                     n->op == CFX_CALL_METHOD, NULL);
    m->lacks_memory |= st == CFX_ENOMEM;
    return t;
}

/* Bind a node's arguments to one target only, not to the overloads after it. */
static cfx_status bind_to(cfx_bound *b, cfx_context *ctx, const cfx_node *n,
                          const cfx_target *t)
{
    cfx_target alone = *t;
    alone.next = NULL;
    cfx_status st = cfx_bind(
        b, ctx, &alone, (cfx_args){n->args, n->nargs, n->kwargs, n->nkwargs},
        NULL);
    b->target = t;
    return st;
}

/* Bind a pattern node to one of its targets and keep the result; or NULL. */
static cfx_bound *bound_of(cfx_search *s, const cfx_node *pn,
                           const cfx_target *t)
{
    cfx_context *ctx = s->m->ctx;
    cfx_pattern_node *p = &s->m->node[pn->id];
    cfx_bound_pattern *call = p->calls;
    while (call && call->target != t)
        call = call->next;
    if (call)
        return call->fits ? &call->bound : NULL;
    call = cfx_calloc(ctx, 1, sizeof(*call));
    cfx_status st = call ? bind_to(&call->bound, ctx, pn, t) : CFX_ENOMEM;
    if (st == CFX_ENOMEM) {
        cfx_free(ctx, call, sizeof(*call));
        cfx_search__no_memory(s);
        return NULL;
    }
    call->target = t;
    call->fits = !st;
    call->next = p->calls;
    p->calls = call;
    return call->fits ? &call->bound : NULL;
}

/* Bind a node of the graph; kept until the search backtracks. */
static cfx_bound *bind_for(cfx_search *s, const cfx_node *gn,
                           const cfx_target *t)
{
    cfx_context *ctx = s->m->ctx;
    if (!CFX_SEARCH_GROW(s, bound, nbounds, bounds_cap))
        return NULL;
    cfx_bound *b = cfx_calloc(ctx, 1, sizeof(*b));
    cfx_status st = b ? bind_to(b, ctx, gn, t) : CFX_ENOMEM;
    if (!st)
        return s->bound[s->nbounds++] = b;
    cfx_free(ctx, b, sizeof(*b));
    if (st == CFX_ENOMEM)
        cfx_search__no_memory(s);
    return NULL;
}

/* The first target of an operator in a chain, or NULL. */
static const cfx_target *target_for(const cfx_target *chain, const cfx_op *op)
{
    while (chain && chain->op != op)
        chain = chain->next;
    return chain;
}

/* True if both may be calls of one operator. They are not if only one writes in
 * place: += of numbers is +, but the kind of a node's value is not known. */
static bool may_resolve(const cfx_target *p, const cfx_target *g)
{
    bool may = false;
    for (const cfx_target *t = g; t; t = t->next) {
        const cfx_target *of_g = target_for(g, t->op);
        const cfx_target *of_p = target_for(p, t->op);
        if (of_p && of_p->inplace != of_g->inplace)
            return false;
        may |= of_p != NULL;
    }
    return may;
}

/* Bind both to the first operator that both targets can resolve to. */
static bool bind_both(cfx_search *s, const cfx_node *pn, const cfx_node *gn,
                      cfx_bound **pb, cfx_bound **gb)
{
    const cfx_target *chain = resolve(s->m, pn);
    const cfx_target *g = resolve(s->m, gn);
    if (!may_resolve(chain, g))
        return false;
    for (; g; g = g->next)
        for (const cfx_target *p = chain; p && !s->status; p = p->next) {
            if (p->op != g->op)
                continue;
            *pb = bound_of(s, pn, p);
            *gb = *pb ? bind_for(s, gn, g) : NULL;
            if (*gb && (*pb)->inplace == (*gb)->inplace)
                return true;
        }
    return false;
}

/* ---- Opcodes and targets ---- */

/* The kind of a get_attr's target: 0 nothing, 1 parameter, 2 buffer, 3
 * module. */
static int attribute_kind(const cfx_node *n)
{
    cfx_module *owner = cfx_graph_owning_module(n->graph);
    const char *path = target_of(n), *dot = strrchr(path, '.');
    char parent[512] = "";
    if (!owner)
        return 0;
    if (cfx_module_at(owner, path))
        return 3;
    if (dot && (size_t)(dot - path) < sizeof(parent))
        memcpy(parent, path, (size_t)(dot - path));
    else if (dot)
        return 0;
    const cfx_module *m = cfx_module_at(owner, parent);
    const cfx_state *state = m ? cfx_module_state(m, dot ? dot + 1 : path)
                               : NULL;
    return !state ? 0 : state->is_buffer ? 2 : 1;
}

static bool same_attribute(const cfx_node *pn, const cfx_node *gn)
{
    int p = attribute_kind(pn), g = attribute_kind(gn);
    if (!p || !g || p == 3 || g == 3)
        return same_target(pn, gn);
    return p == g;
}

/* cfx.module("Conv2d", ...) matches the type's name and the printed name. */
static bool is_of_type(const cfx_node *pn, const cfx_node *gn)
{
    cfx_module *owner = cfx_graph_owning_module(gn->graph);
    if (gn->op != CFX_CALL_MODULE || !owner)
        return false;
    const cfx_module *m = cfx_module_at(owner, target_of(gn));
    const char *name = pn->args[0].u.str->text;
    if (!m)
        return false;
    const cfx_module_type *type = cfx_module_type_of(m);
    size_t n = strlen(name);
    return !strcmp(cfx_module_class_name(m), name) ||
           (type && type->schema && !strncmp(type->schema, name, n) &&
            type->schema[n] == '(');
}

bool cfx_match_head(cfx_matcher *m, const cfx_node *pn, const cfx_node *gn)
{
    const char *part = m->o.node_name_match;
    if (part && strstr(gn->name, part))
        return true;
    if (m->node[pn->id].kind == CFX_PAT_MODULE)
        return is_of_type(pn, gn);
    if (m->node[pn->id].kind == CFX_PAT_CALL) {
        const cfx_match_predicate *p = m->node[pn->id].test;
        return (is_operator(gn) || gn->op == CFX_CALL_MODULE) &&
               p->holds(p->user, cfx_value_of_node((cfx_node *)gn));
    }
    if (pn->op == gn->op) {
        if (pn->op == CFX_OUTPUT || pn->op == CFX_PLACEHOLDER)
            return true;
        if (pn->op == CFX_GET_ATTR)
            return same_attribute(pn, gn);
        if (same_target(pn, gn))
            return true;
    }
    return m->o.by_operator && is_operator(pn) && is_operator(gn) &&
           may_resolve(resolve(m, pn), resolve(m, gn));
}

/* ---- Arguments ---- */

static bool push(cfx_search *s, cfx_value p, cfx_value g)
{
    return cfx_search_push(s, CFX_GOAL_MATCH, p, g);
}

static bool same_keys(const cfx_node *a, const cfx_node *b)
{
    if (a->nkwargs != b->nkwargs)
        return false;
    for (uint32_t i = 0; i < a->nkwargs; i++)
        if (strcmp(a->kwargs[2 * i].u.str->text, b->kwargs[2 * i].u.str->text))
            return false;
    return true;
}

/* The last goal is solved first, so positional arguments go in order. */
static bool match_literally(cfx_search *s, const cfx_node *pn,
                            const cfx_node *gn)
{
    uint32_t skip = s->m->node[pn->id].kind == CFX_PAT_MODULE;
    if (pn->nargs - skip != gn->nargs || !same_keys(pn, gn))
        return false;
    for (uint32_t i = gn->nkwargs; i-- > 0;)
        if (!push(s, pn->kwargs[2 * i + 1], gn->kwargs[2 * i + 1]))
            return false;
    for (uint32_t i = gn->nargs; i-- > 0;)
        if (!push(s, pn->args[i + skip], gn->args[i]))
            return false;
    return true;
}

bool cfx_match_bound(cfx_search *s, const cfx_bound *p, const cfx_bound *g,
                     bool swap)
{
    for (int i = p->target->schema->nparams; i-- > 0;)
        if (!push(s, p->in[i], g->in[swap && i < 2 ? 1 - i : i]))
            return false;
    return true;
}

static bool may_swap(const cfx_bound *g)
{
    const cfx_schema *schema = g->target->schema;
    if (!(g->target->op->flags & CFX_OP_COMMUTES) || g->inplace)
        return false;
    for (int i = 2; i < schema->nparams; i++)
        if (!cfx_value_equal(g->in[i], schema->params[i].init))
            return false;
    return true;
}

/* Returns 1 if goals were pushed, 0 if the two do not resolve to one operator,
 * -1 if memory is lacking. */
static int match_by_operator(cfx_search *s, const cfx_node *pn,
                             const cfx_node *gn)
{
    cfx_bound *p, *g;
    if (!bind_both(s, pn, gn, &p, &g))
        return s->status ? -1 : 0;
    if (s->m->o.commutative && may_swap(g) &&
        !cfx_search_choose(
            s, (cfx_choice){.what = CFX_CHOICE_SWAP, .pb = p, .gb = g}))
        return -1;
    return cfx_match_bound(s, p, g, false) ? 1 : -1;
}

/* Match the output's argument, without the dict of names. */
static bool match_output(cfx_search *s, const cfx_node *gn)
{
    const cfx_matcher *m = s->m;
    cfx_value g = gn->nargs ? gn->args[0] : cfx_none();
    if (!m->nout_args)
        return push(s, m->out_args, g);
    const cfx_value *item = m->out_args.u.seq->item;
    if (m->nout_args == 1)
        return push(s, item[0], g);
    if (!cfx_value_is_seq(g) || g.u.seq->len != m->nout_args)
        return false;
    for (uint32_t i = m->nout_args; i-- > 0;)
        if (!push(s, item[i], g.u.seq->item[i]))
            return false;
    return true;
}

/* Match the first arguments of a call; the first one may be named "input". */
static bool match_first(cfx_search *s, const cfx_node *pn, const cfx_node *gn)
{
    for (uint32_t i = 0; pn->nargs == 2 && !gn->nargs && i < gn->nkwargs; i++)
        if (!strcmp(gn->kwargs[2 * i].u.str->text, "input"))
            return push(s, pn->args[1], gn->kwargs[2 * i + 1]);
    if (pn->nargs - 1 > gn->nargs)
        return false;
    for (uint32_t i = pn->nargs; i-- > 1;)
        if (!push(s, pn->args[i], gn->args[i - 1]))
            return false;
    return true;
}

bool cfx_match_call(cfx_search *s, const cfx_node *pn, const cfx_node *gn)
{
    if (s->m->node[pn->id].kind == CFX_PAT_CALL)
        return match_first(s, pn, gn);
    if (pn->op == CFX_OUTPUT && gn->op == CFX_OUTPUT)
        return match_output(s, gn);
    bool differ = pn->nargs != gn->nargs || !same_keys(pn, gn);
    bool overload = differ && is_overload(pn) && pn->op == gn->op &&
                    same_target(pn, gn);
    if ((s->m->o.by_operator || overload) && is_operator(pn) &&
        is_operator(gn)) {
        int pushed = match_by_operator(s, pn, gn);
        if (pushed)
            return pushed > 0;
    }
    bool named = s->m->o.node_name_match &&
                 strstr(gn->name, s->m->o.node_name_match);
    if (!named && s->m->node[pn->id].kind != CFX_PAT_MODULE &&
        pn->op != CFX_GET_ATTR && (pn->op != gn->op || !same_target(pn, gn)))
        return false;
    return match_literally(s, pn, gn);
}
