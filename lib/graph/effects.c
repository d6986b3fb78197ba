/*
 * effects -- side effects of nodes.
 *
 * The effects of a call follow from its bound schema. Those of a module are
 * cached in one word, which edits of the module, its ancestors or their graphs
 * clear; two threads may compute it at once, with equal results. For
 * GraphModules nested beyond CFX_MAX_DEPTH all effects are assumed.
 */
#include "graph/aliases.h"
#include "graph/graph_impl.h"
#include "graph/module_effects.h"
#include "nn/module_impl.h"
#include "op/op_impl.h"

#include <cfx/graph_module.h>

const cfx_effects cfx_graph__worst = {
    .writes = UINT32_MAX,
    .views = UINT32_MAX,
    .input_writes = UINT32_MAX,
    .input_views = UINT32_MAX,
    .random = true,
    .effect = true,
    .state_writes = true,
    .state_views = true,
};

/* ---- The cached effects of a module ---- */

/* Parameters beyond the last bit share it. */
enum { BITS = CFX_MAX_PARAMS, LAST = BITS - 1 };
#define MASK (((uint32_t)1 << BITS) - 1)
#define RANDOM ((uint64_t)1 << (2 * BITS))
#define EFFECT ((uint64_t)2 << (2 * BITS))
#define STATE_WRITES ((uint64_t)4 << (2 * BITS))
#define STATE_VIEWS ((uint64_t)8 << (2 * BITS))
#define KNOWN ((uint64_t)16 << (2 * BITS))

_Static_assert(KNOWN < CFX_MODULE_WATCHED, "all is in one word");

static uint32_t fold(uint32_t bits)
{
    return (bits & MASK) | (bits > MASK ? (uint32_t)1 << LAST : 0);
}

static uint32_t unfold(uint64_t bits)
{
    uint32_t b = (uint32_t)bits & MASK;
    return b >> LAST ? b | ~MASK : b;
}

static uint64_t pack(const cfx_effects *e)
{
    return KNOWN | fold(e->writes) | (uint64_t)fold(e->views) << BITS |
           (e->random ? RANDOM : 0) | (e->effect ? EFFECT : 0) |
           (e->state_writes ? STATE_WRITES : 0) |
           (e->state_views ? STATE_VIEWS : 0);
}

static cfx_effects unpack(uint64_t word)
{
    return (cfx_effects){
        .writes = unfold(word),
        .views = unfold(word >> BITS),
        .random = word & RANDOM,
        .effect = word & EFFECT,
        .state_writes = word & STATE_WRITES,
        .state_views = word & STATE_VIEWS,
    };
}

/* ---- The effects of a graph ---- */

static uint32_t bit_of(size_t k)
{
    return (uint32_t)1 << (k < LAST ? k : LAST);
}

/* Parameter k of the graph is its k-th placeholder. */
static void sum_graph(cfx_aliases *a, const cfx_graph *g, cfx_effects *out)
{
    uint32_t state = cfx_aliases__state(a);
    size_t k = 0;
    for (const cfx_node *n = cfx_graph_first(g); n; n = cfx_node_next(n)) {
        const cfx_effects *e = cfx_aliases__effects(a, n);
        out->random |= e->random;
        out->effect |= e->effect;
        if (n->op != CFX_PLACEHOLDER)
            continue;
        uint32_t bit = bit_of(k++), set = cfx_aliases__set(a, n);
        if (cfx_aliases__is(a, set, CFX_ALIAS_WRITTEN))
            out->writes |= bit;
        if (cfx_aliases__is(a, set, CFX_ALIAS_RETURNED))
            out->views |= bit;
    }
    out->state_writes = cfx_aliases__is(a, state, CFX_ALIAS_WRITTEN);
    out->state_views = cfx_aliases__is(a, state, CFX_ALIAS_RETURNED);
    out->effect |= out->state_writes;
}

static cfx_status graph_effects(const cfx_graph *g, cfx_effects *out,
                                int depth, cfx_error *err)
{
    cfx_aliases a;
    *out = (cfx_effects){.writes = 0};
    cfx_status st = cfx_aliases__init_at(&a, g, depth, err);
    if (!st)
        sum_graph(&a, g, out);
    cfx_aliases__release(&a);
    return st;
}

cfx_status cfx_module__effects_at(cfx_module *m, cfx_effects *out, int depth,
                                  cfx_error *err)
{
    uint64_t known = cfx_module__effects(m);
    bool keep = !m->graph || m->graph->owner == m;
    cfx_status st = CFX_OK;
    if (known & KNOWN && keep) {
        *out = unpack(known);
        return CFX_OK;
    }
    *out = cfx_graph__worst;
    if (depth >= CFX_MAX_DEPTH)
        return CFX_OK;
    cfx_module__watch(m);
    if (m->graph)
        st = graph_effects(m->graph, out, depth + 1, err);
    else if (m->forward)
        st = cfx_forward__effects(m, out, depth + 1, err);
    if (!st && keep)
        cfx_module__keep_effects(m, pack(out));
    return st;
}

/* ---- From parameters to inputs ---- */

/* Collects the inputs of n in a value. */
typedef struct finding {
    const cfx_node *n;
    uint32_t bits;
} finding;

static cfx_status find_input(void *user, cfx_value v)
{
    finding *f = user;
    uint32_t i = 0;
    if (v.kind != CFX_NODE)
        return CFX_OK;
    while (i < 31 && i < f->n->ninputs && cfx_node_input(f->n, i) != v.u.node)
        i++;
    f->bits |= (uint32_t)1 << i;
    return CFX_OK;
}

static uint32_t inputs_in(const cfx_node *n, cfx_value v)
{
    finding f = {n, 0};
    cfx_value_visit(v, find_input, &f);
    return f.bits;
}

static void set_inputs(const cfx_node *n, const cfx_value *in, int nparams,
                       cfx_effects *e)
{
    for (int k = 0; k < nparams && (e->writes | e->views) >> k; k++) {
        uint32_t found = (e->writes | e->views) >> k & 1 ? inputs_in(n, in[k])
                                                         : 0;
        if (e->writes >> k & 1)
            e->input_writes |= found;
        if (e->views >> k & 1)
            e->input_views |= found;
    }
}

/* The index of the placeholder with that name or prefix; else one beyond the
 * last. */
static uint32_t placeholder_of(const cfx_graph *g, const char *name,
                               const char *prefix)
{
    uint32_t k = 0;
    for (cfx_node *p = NULL;
         (p = cfx_graph_find_nodes(g, CFX_PLACEHOLDER, NULL, p)); k++) {
        const char *target = p->target->text;
        if (!strcmp(target, name) || !strncmp(target, prefix, strlen(prefix)))
            break;
    }
    return k;
}

uint32_t cfx_graph__rest(const cfx_graph *g)
{
    return placeholder_of(g, "", "*");
}

/* A GraphModule has no schema: parameter k is the k-th placeholder. `*args`
 * takes the remaining arguments, `**kwargs` the remaining keywords. If there
 * are many keywords, each may be any of them. */
static void set_graph_inputs(const cfx_node *n, const cfx_graph *g,
                             cfx_effects *e)
{
    uint32_t rest = n->nargs ? cfx_graph__rest(g) : 0;
    for (uint32_t i = 0; i < n->nargs; i++) {
        uint32_t found = inputs_in(n, n->args[i]);
        uint32_t bit = bit_of(i < rest ? i : rest);
        e->input_writes |= e->writes & bit ? found : 0;
        e->input_views |= e->views & bit ? found : 0;
    }
    for (uint32_t i = 0; i < n->nkwargs; i++) {
        uint32_t found = inputs_in(n, n->kwargs[2 * i + 1]);
        uint32_t bits = n->nkwargs > 16
                            ? UINT32_MAX
                            : bit_of(placeholder_of(
                                  g, n->kwargs[2 * i].u.str->text, "**"));
        e->input_writes |= e->writes & bits ? found : 0;
        e->input_views |= e->views & bits ? found : 0;
    }
}

/* ---- Calls of operators ---- */

static bool ends_in_one_underscore(const char *name)
{
    size_t n = strlen(name);
    return n > 1 && name[n - 1] == '_' && name[n - 2] != '_';
}

/* An unregistered operator writes to its first argument if its name ends in
 * `_`, and to an argument called `out`. */
static cfx_effects unknown_effects(const cfx_node *n)
{
    cfx_effects e = {.views = UINT32_MAX, .input_views = UINT32_MAX};
    if (n->nargs && ends_in_one_underscore(n->target->text)) {
        e.writes = 1;
        e.input_writes = inputs_in(n, n->args[0]);
    }
    for (uint32_t i = 0; i < n->nkwargs; i++)
        if (!strcmp(n->kwargs[2 * i].u.str->text, "out") &&
            n->kwargs[2 * i + 1].kind != CFX_NONE) {
            e.writes |= (uint32_t)1 << 31;
            e.input_writes |= inputs_in(n, n->kwargs[2 * i + 1]);
        }
    return e;
}

/* Add the effects of a graph argument, which may be called with any of the
 * other arguments. */
static cfx_status add_graph(cfx_module *m, cfx_effects *e, int depth,
                            cfx_error *err)
{
    cfx_effects of;
    cfx_status st = m->graph ? cfx_module__effects_at(m, &of, depth, err)
                             : CFX_OK;
    if (st || !m->graph)
        return st;
    if (of.writes)
        e->writes = e->input_writes = UINT32_MAX;
    if (of.views)
        e->views = e->input_views = UINT32_MAX;
    e->random |= of.random;
    e->effect |= of.effect;
    e->state_writes |= of.state_writes;
    e->state_views |= of.state_views;
    return CFX_OK;
}

/* Graphs are named by get_attr nodes, or stand in the arguments themselves. */
typedef struct adding {
    cfx_effects *e;
    int depth;
    cfx_error *err;
} adding;

static cfx_status add_value(void *user, cfx_value v)
{
    const adding *a = user;
    const cfx_node *n = v.kind == CFX_NODE ? v.u.node : NULL;
    if (n &&
        (n->op != CFX_GET_ATTR || !n->graph->owner ||
         cfx_module_fetch_attr(&v, n->graph->owner, n->target->text, NULL)))
        return CFX_OK;
    return v.kind == CFX_MODULE ? add_graph(v.u.module, a->e, a->depth, a->err)
                                : CFX_OK;
}

static cfx_status add_graphs(const cfx_node *n, cfx_effects *e, int depth,
                             cfx_error *err)
{
    adding a = {e, depth, err};
    cfx_status st = CFX_OK;
    for (uint32_t i = 0; i < n->nargs && !st; i++)
        st = cfx_value_visit(n->args[i], add_value, &a);
    for (uint32_t i = 0; i < n->nkwargs && !st; i++)
        st = cfx_value_visit(n->kwargs[2 * i + 1], add_value, &a);
    return st;
}

/* Add the effects of the call if it binds to that target; CFX_EINVAL if
 * not. */
static cfx_status add_bound(const cfx_node *n, const cfx_target *t,
                            cfx_effects *sum, cfx_error *err)
{
    cfx_bound b = {0};
    cfx_target alone = *t;
    alone.next = NULL;
    cfx_status st = cfx_bind(
        &b, n->graph->ctx, &alone,
        (cfx_args){n->args, n->nargs, n->kwargs, n->nkwargs}, NULL);
    if (st == CFX_ENOMEM)
        return cfx_no_memory(err);
    if (st)
        return CFX_EINVAL;
    const cfx_call call = {
        .op = t->op,
        .schema = t->schema,
        .in = b.in,
        .inplace = b.inplace,
    };
    cfx_effects e = cfx_call_effects(&call);
    set_inputs(n, b.in, t->schema->nparams, &e);
    sum->writes |= e.writes;
    sum->views |= e.views;
    sum->input_writes |= e.input_writes;
    sum->input_views |= e.input_views;
    sum->random |= e.random;
    sum->effect |= e.effect;
    cfx_bound_release(&b);
    return CFX_OK;
}

/* Is every call of that target free of effects? */
static bool is_pure(const cfx_target *t)
{
    const cfx_schema *s = t->schema;
    if (t->inplace || t->how || s->returns_alias || s->returns_written ||
        t->op->flags & (CFX_OP_RANDOM | CFX_OP_EFFECT))
        return false;
    for (int k = 0; k < s->nparams; k++)
        if (s->params[k].writes)
            return false;
    return true;
}

/* A node may have any value: the call may be one of any matching signature
 * (iadd of numbers, or of tensors). Without nodes it is the first match. */
static cfx_status bound_effects(const cfx_node *n, const cfx_target *chain,
                                cfx_effects *out, cfx_error *err)
{
    bool found = false;
    for (const cfx_target *t = chain; t && !(found && !n->ninputs);
         t = t->next) {
        if (t != chain && cfx_target__misses_out(t, n->kwargs, n->nkwargs))
            continue;
        if (found && is_pure(t))
            continue;
        cfx_status st = add_bound(n, t, out, err);
        if (st == CFX_ENOMEM)
            return st;
        found |= !st;
    }
    if (!found)
        *out = cfx_graph__worst;
    return CFX_OK;
}

static cfx_status call_effects(const cfx_node *n, cfx_effects *out, int depth,
                               cfx_error *err)
{
    const cfx_target *t;
    cfx_status st = cfx_target__find(&t, n->graph->ctx, n->target->text,
                                     n->op == CFX_CALL_METHOD, NULL);
    if (st == CFX_ENOMEM)
        return cfx_no_memory(err);
    if (st)
        *out = unknown_effects(n);
    else if ((st = bound_effects(n, t, out, err)))
        return st;
    return add_graphs(n, out, depth, err);
}

/* ---- Calls of modules ---- */

static cfx_status call_module_effects(const cfx_node *n, cfx_effects *out,
                                      int depth, cfx_error *err)
{
    const char *path = n->target->text;
    cfx_module *m = n->graph->owner;
    m = m ? cfx_module_at(m, path) : NULL;
    if (!m)
        return cfx_fail(err, CFX_ENAME,
                        "Node referenced nonexistent target %s", path);
    cfx_status st = cfx_module__effects_at(m, out, depth, err);
    if (st || !(out->writes | out->views))
        return st;
    if (m->graph || !m->forward) {
        if (m->graph)
            set_graph_inputs(n, m->graph, out);
        else
            *out = cfx_graph__worst;
        return CFX_OK;
    }
    cfx_bound b = {0};
    st = cfx_bind_schema(&b, n->graph->ctx, m->forward,
                         (cfx_args){n->args, n->nargs, n->kwargs, n->nkwargs},
                         NULL);
    if (st == CFX_ENOMEM)
        return cfx_no_memory(err);
    if (st)
        *out = cfx_graph__worst;
    else
        set_inputs(n, b.in, m->forward->nparams, out);
    cfx_bound_release(&b);
    return CFX_OK;
}

cfx_status cfx_node__effects_at(const cfx_node *n, cfx_effects *out, int depth,
                                cfx_error *err)
{
    *out = (cfx_effects){.writes = 0};
    switch (n->op) {
    case CFX_CALL_FUNCTION:
    case CFX_CALL_METHOD: return call_effects(n, out, depth, err);
    case CFX_CALL_MODULE: return call_module_effects(n, out, depth, err);
    default: return CFX_OK;
    }
}

cfx_status cfx_node_effects(const cfx_node *n, cfx_effects *out,
                            cfx_error *err)
{
    return cfx_node__effects_at(n, out, 0, err);
}

cfx_status cfx_node_is_impure(const cfx_node *n, bool *out, cfx_error *err)
{
    cfx_effects e;
    cfx_status st = cfx_node_effects(n, &e, err);
    *out = n->op == CFX_PLACEHOLDER || n->op == CFX_OUTPUT ||
           (!st && cfx_effects_any(&e));
    return st;
}
