/*
 * decompose -- replace calls by several simpler ones, by a table.
 */
#include <cfx/decompose.h>

#include <string.h>

#include "graph/aliases.h"
#include "interp/passes/pass_impl.h"
#include "interp/rewrite/binding.h"
#include "interp/rewrite/retrace.h"

typedef struct rule {
    const cfx_op *op;
    cfx_decompose_fn *fn;
} rule;

typedef struct decomposer {
    cfx_pass_call *p;
    const cfx_decompose_options *o;
    cfx_graph_kinds kinds;
    cfx_aliases aliases;
    cfx_retracer retracer;
    rule *rule;
    size_t nrules, cap;
    uint32_t *needed; /* by alias set: its last use among visited nodes */
} decomposer;

/* ---- The table by operator ---- */

static cfx_status add_rule(decomposer *d, const cfx_decomposition *one,
                           bool must)
{
    const cfx_target *t = cfx_find_function(d->p->ctx, one->op);
    if (t)
        d->rule[d->nrules++] = (rule){t->op, one->fn};
    else if (must)
        return cfx_fail(d->p->err, CFX_ENAME,
                        "decompose: there is no operator '%s'", one->op);
    return CFX_OK;
}

static cfx_status make_rules(decomposer *d)
{
    const cfx_decomposition *core = cfx_core_decompositions;
    size_t n = 0;
    cfx_status st = CFX_OK;
    while (!d->o->only_table && core[n].op)
        n++;
    d->cap = n + d->o->n + 1;
    d->rule = cfx_calloc(d->p->ctx, d->cap, sizeof(*d->rule));
    if (!d->rule)
        return cfx_no_memory(d->p->err);
    for (size_t i = 0; i < d->o->n && !st; i++)
        st = add_rule(d, &d->o->table[i], true);
    for (size_t i = 0; i < n && !st; i++)
        st = add_rule(d, &core[i], false);
    return st;
}

static cfx_decompose_fn *rule_for(const decomposer *d, const cfx_op *op)
{
    for (size_t i = 0; i < d->nrules; i++)
        if (d->rule[i].op == op)
            return d->rule[i].fn;
    return NULL;
}

/* ---- Calls that write ---- */

static bool is_new(const decomposer *d, const cfx_node *n)
{
    return cfx_aliases__is_later(&d->aliases, n);
}

/* Record that the walk has visited n or its replacements. */
static void note_use(decomposer *d, const cfx_node *n)
{
    if (is_new(d, n))
        return;
    uint32_t *needed = &d->needed[cfx_aliases__set(&d->aliases, n)];
    if (d->aliases.life.last_use[n->id] > *needed)
        *needed = d->aliases.life.last_use[n->id];
}

/* n writes to its first argument. True if nobody reads that memory later except
 * through n, so that n may return a new result instead. A second tensor
 * argument could change the result's type. Memory of inputs and state has
 * readers outside. */
static bool writes_unseen(decomposer *d, const cfx_node *n)
{
    if (is_new(d, n) || n->ninputs != 1)
        return false;
    uint32_t set = cfx_aliases__set(&d->aliases, n);
    return !cfx_aliases__is(&d->aliases, set, CFX_ALIAS_OUTLIVES) &&
           d->needed[set] <= d->aliases.life.place[n->id];
}

/* ---- One call ---- */

/* The only signature that a call can have. */
struct only {
    const cfx_target *target;
    bool several, inplace;
};

static cfx_status see(void *user, const cfx_target *t, const cfx_bound *b)
{
    struct only *o = user;
    o->several |= o->target != NULL;
    o->inplace = b->inplace;
    o->target = t;
    return CFX_OK;
}

struct call {
    const cfx_target *target;
    cfx_decompose_fn *fn; /* NULL: the operator itself, not in place */
    cfx_bound bound;
};

static cfx_value decompose_call(cfx_scope *s, const cfx_node *n, void *user)
{
    const struct call *c = user;
    (void)n;
    if (c->fn)
        return c->fn(s, c->bound.in);
    return cfx_scope_call(s, c->target->op, c->bound.in,
                          (size_t)c->target->schema->nparams, false);
}

/* A view through which something writes must not become a copy. A result that
 * is written to later may come from other nodes. Nodes made by this pass
 * replace nodes that were checked. */
static bool is_excluded(decomposer *d, const cfx_node *n)
{
    if (n->op != CFX_CALL_FUNCTION && n->op != CFX_CALL_METHOD)
        return true;
    if (!is_new(d, n) && cfx_aliases__effects(&d->aliases, n)->input_views &&
        !cfx_aliases__effects(&d->aliases, n)->input_writes &&
        cfx_aliases__is_written(&d->aliases, n))
        return true;
    return d->o->skip && d->o->skip(d->o->user, n);
}

static cfx_status rewrite(decomposer *d, cfx_node *n, const cfx_target *t,
                          cfx_decompose_fn *fn, cfx_node **next)
{
    struct call c = {.target = t, .fn = fn};
    cfx_target one = *t;
    bool done;
    one.next = NULL;
    cfx_status st = cfx_bind(
        &c.bound, d->p->ctx, &one,
        (cfx_args){n->args, n->nargs, n->kwargs, n->nkwargs}, d->p->err);
    if (!st)
        st = cfx_retracer__node(&d->retracer, n, decompose_call, &c, next,
                                &done);
    cfx_bound_release(&c.bound);
    return st;
}

static cfx_status decompose_node(decomposer *d, cfx_node *n, cfx_node **next)
{
    struct only o = {NULL, false, false};
    *next = cfx_node_next(n);
    if (n->erased || is_excluded(d, n))
        return CFX_OK;
    cfx_status st = cfx_node__candidates(&d->kinds, n, see, &o, d->p->err);
    if (st || !o.target || o.several || (o.inplace && !writes_unseen(d, n)))
        return st;
    cfx_decompose_fn *fn = rule_for(d, o.target->op);
    bool as_it_is = o.inplace && !d->o->only_table &&
                    o.target->op->flags & CFX_OP_INPLACE;
    return fn || as_it_is ? rewrite(d, n, o.target, fn, next) : st;
}

/* ---- The walk ---- */

/* New nodes are visited again, up to a limit that only a decomposition into
 * itself reaches. */
enum { MOST_PER_NODE = 1000 };

static cfx_status walk(decomposer *d)
{
    size_t steps = 0;
    size_t most = MOST_PER_NODE * (cfx_graph_len(d->p->graph) + 1);
    cfx_status st = CFX_OK;
    cfx_node *next;
    for (cfx_node *n = cfx_graph_first(d->p->graph); n && !st; n = next) {
        if (++steps > most)
            return cfx_fail(d->p->err, CFX_EINVAL,
                            "decompose: %s leads to itself", n->target->text);
        st = decompose_node(d, n, &next);
        note_use(d, n);
    }
    return st;
}

static cfx_status decompose(cfx_pass_call *p, const cfx_decompose_options *o)
{
    decomposer d = {.p = p, .o = o, .retracer.p = p};
    cfx_status st = make_rules(&d);
    if (!st)
        st = cfx_graph_kinds__init(&d.kinds, p->graph, false, p->err);
    if (!st)
        st = cfx_aliases__init(&d.aliases, p->graph, p->err);
    d.needed = cfx_calloc(p->ctx, cfx_aliases__len(&d.aliases),
                          sizeof(*d.needed));
    if (!st && !d.needed)
        st = cfx_no_memory(p->err);
    if (!st)
        st = walk(&d);
    cfx_free(p->ctx, d.needed,
             cfx_aliases__len(&d.aliases) * sizeof(*d.needed));
    cfx_retracer__release(&d.retracer);
    cfx_aliases__release(&d.aliases);
    cfx_graph_kinds__release(&d.kinds);
    cfx_free(p->ctx, d.rule, d.cap * sizeof(*d.rule));
    return st;
}

cfx_status cfx_decompose(cfx_module *gm, const cfx_decompose_options *options,
                         size_t *changed, cfx_error *err)
{
    static const cfx_decompose_options none = {.size = sizeof(none)};
    cfx_error own = {0};
    cfx_pass_call p;
    cfx_status st = cfx_pass__begin(&p, gm, &own, err);
    if (st)
        return st;
    st = decompose(&p, options ? options : &none);
    if (changed)
        *changed = p.changed;
    return st;
}

/* ---- The pass ---- */

/* The arguments of the pass. */
enum { SKIP, ONLY };

static bool is_skipped(void *user, const cfx_node *n)
{
    cfx_value *in = user;
    return cfx_pass__lists_node(&in[SKIP], n) ||
           (in[ONLY].u.seq->len && !cfx_pass__lists_node(&in[ONLY], n));
}

static cfx_status decompose_run(cfx_pass_call *p)
{
    cfx_value in[] = {p->in[SKIP], p->in[ONLY]};
    bool lists = in[SKIP].u.seq->len || in[ONLY].u.seq->len;
    const cfx_decompose_options o = {
        .size = sizeof(o),
        .skip = lists ? is_skipped : NULL,
        .user = in,
    };
    return decompose(p, &o);
}

const cfx_pass cfx_pass__decompose = {
    .abi = CFX_ABI(cfx_pass),
    .schema = "decompose(str[] skip=[], str[] only=[])",
    .doc =
        "Decompose calls into operators of the Core ATen set, as far as known shapes allow; skip: names and targets of nodes to keep; only: names and targets of the nodes to decompose (default: all).",
    .flags = CFX_PASS_ROUNDS,
    .run = decompose_run,
};
