/*
 * prepare -- precompute an interpreter's operators, bound arguments, modules
 * and last uses.
 *
 * Arguments are copied into the interpreter with holes in place of nodes. A run
 * fills the holes and does not bind again. If several signatures accept a call
 * while the values of its nodes are unknown (operator.add of tensors or of
 * ints), each is prepared, and the values select one. In a tracing scope
 * nothing is bound: calls are recorded as written.
 */
#include <stdio.h>

#include "interp/walk/interp_impl.h"

#include "graph/aliases.h"
#include "graph/graph_operators.h"
#include "nn/module_impl.h"
#include "op/op_impl.h"
#include "op/scope_impl.h"

/* ---- Holes ---- */

struct holes {
    struct cfx_interp_self *self;
    patch *list;
    uint32_t n, cap, kinds;
    cfx_error *err;
};

static cfx_status add_hole(struct holes *h, cfx_value *at)
{
    if (h->n == h->cap) {
        uint32_t cap = h->cap ? 2 * h->cap : 2;
        patch *p = cfx_arena_alloc(&h->self->arena, cap * sizeof(*p));
        if (!p)
            return cfx_no_memory(h->err);
        if (h->n)
            memcpy(p, h->list, h->n * sizeof(*p));
        h->list = p;
        h->cap = cap;
    }
    h->list[h->n++] = (patch){at, at->u.node->id, h->kinds};
    return CFX_OK;
}

/* Replace an aggregate that contains nodes by a copy owned by the interpreter,
 * and record the holes. The depth is bounded by CFX_MAX_DEPTH. */
static cfx_status open_value(struct holes *h, cfx_value *at)
{
    if (at->kind == CFX_NODE)
        return add_hole(h, at);
    if (at->kind < CFX_SLICE || at->kind > CFX_DICT)
        return CFX_OK;
    const cfx_seq *s = at->u.seq;
    size_t n = s->len;
    size_t bytes = sizeof(*s) + n * sizeof(cfx_value);
    cfx_seq *copy = cfx_arena_alloc(&h->self->arena, bytes);
    if (!copy)
        return cfx_no_memory(h->err);
    memcpy(copy, s, bytes);
    copy->refs = 0;
    at->u.seq = copy;
    for (size_t i = 0; i < n; i++) {
        cfx_status st = open_value(h, &copy->item[i]);
        if (st)
            return st;
    }
    return CFX_OK;
}

static cfx_status open_values(struct holes *h, const cfx_value *from, size_t n,
                              cfx_value **out)
{
    cfx_value *v = cfx_arena_alloc(&h->self->arena, n * sizeof(*v) + 1);
    if (!v)
        return cfx_no_memory(h->err);
    if (n)
        memcpy(v, from, n * sizeof(*v));
    for (size_t i = 0; i < n; i++) {
        cfx_status st = open_value(h, &v[i]);
        if (st)
            return st;
    }
    *out = v;
    return CFX_OK;
}

/* ---- Calls ---- */

/* False if a node is given where a list is expected: its value may be a single
 * number, so the call is bound at run time. */
static bool lists_are_known(const cfx_bound *b)
{
    const cfx_schema *s = b->target->schema;
    for (int k = 0; k < s->nparams; k++)
        if (s->params[k].list && b->in[k].kind == CFX_NODE)
            return false;
    return !b->target->how || !b->target->how->lower;
}

/* Move bound values into the arena, and take those that binding created. */
static cfx_status prepare_candidate(struct cfx_interp_self *self, candidate *c,
                                    cfx_bound *b, cfx_error *err)
{
    const cfx_schema *s = c->target->schema;
    struct holes h = {.self = self, .kinds = ANY_KIND, .err = err};
    size_t owned = b->nowned * sizeof(*c->owned);
    cfx_status st = CFX_OK;
    c->in = cfx_arena_alloc(&self->arena,
                            (size_t)s->nparams * sizeof(*c->in) + 1);
    if (!c->in)
        return cfx_no_memory(err);
    for (int k = 0; k < s->nparams && !st; k++) {
        const cfx_param *p = &s->params[k];
        c->in[k] = b->in[k];
        h.kinds = p->list ? p->item_kinds : cfx_target__kinds(c->target, k);
        st = open_value(&h, &c->in[k]);
    }
    if (!st && owned && !(c->owned = cfx_arena_alloc(&self->arena, owned)))
        st = cfx_no_memory(err);
    if (st)
        return st;
    if (owned)
        memcpy(c->owned, b->owned, owned);
    c->nowned = b->nowned;
    b->nowned = 0;
    c->inplace = b->inplace;
    c->patch = h.list;
    c->npatch = h.n;
    return CFX_OK;
}

static void release_candidates(step *s)
{
    for (uint32_t i = 0; i < s->ncandidates; i++)
        for (uint32_t k = 0; k < s->candidate[i].nowned; k++)
            cfx_value_unref(s->candidate[i].owned[k]);
    s->ncandidates = 0;
}

/* The failure to bind that is told if no signature fits. */
typedef struct refusal {
    const cfx_target *of;
    cfx_error error;
} refusal;

/* Bind to the one signature t. A failure to bind is not an error yet. */
static cfx_status try_candidate(struct cfx_interp_self *self, step *s,
                                const cfx_target *t, const cfx_args *args,
                                bool *complete, refusal *no, cfx_error *err)
{
    cfx_target one = *t;
    cfx_error e;
    cfx_bound b;
    /* Not {0}: clearing the text takes longer than most bindings. */
    e.code = CFX_OK;
    e.text[0] = '\0';
    candidate *c = &s->candidate[s->ncandidates];
    one.next = NULL;
    cfx_status st = cfx_bind(&b, self->ctx, &one, *args, &e);
    if (st == CFX_ENOMEM)
        return cfx_no_memory(err);
    if (st) {
        if (!no->of || t->op->flags & CFX_OP__OUT ||
            cfx_target__tells_more(t, no->of, args->nargs))
            *no = (refusal){t, e};
        return CFX_OK;
    }
    *c = (candidate){.target = t};
    b.target = t;
    *complete = lists_are_known(&b);
    st = prepare_candidate(self, c, &b, err);
    if (!st)
        s->ncandidates++;
    cfx_bound_release(&b);
    return st;
}

/* A view such as x.squeeze_() changes the shape of x, which here keeps it: no
 * later node may use x. */
static cfx_status check_reshaped(const cfx_node *n, cfx_error *err)
{
    const cfx_node *x = n->ninputs ? cfx_node_input(n, 0) : NULL;
    for (const cfx_use *u = x ? x->first_user : NULL; u; u = u->next)
        if (cfx_node_before(n, u->user))
            return cfx_fail(
                err, CFX_EUNSUPPORTED,
                "%%%s changes the shape of %%%s, which %%%s uses after it; let it use %%%s instead",
                n->name, x->name, u->user->name, n->name);
    return CFX_OK;
}

static cfx_status prepare_op(struct cfx_interp_self *self, step *s,
                             const cfx_target *chain, cfx_error *err)
{
    const cfx_node *n = s->node;
    const cfx_args args = {n->args, n->nargs, n->kwargs, n->nkwargs};
    uint32_t count = 0;
    s->target = chain;
    if (chain->op->flags & CFX_OP_SHAPES_SELF && check_reshaped(n, err))
        return CFX_EUNSUPPORTED;
    for (const cfx_target *t = chain; t; t = t->next)
        count++;
    s->candidate = cfx_arena_alloc(&self->arena,
                                   count * sizeof(*s->candidate));
    if (!s->candidate)
        return cfx_no_memory(err);
    refusal no;
    bool complete = true;
    no.of = NULL; /* not {0}: clearing the text takes time */
    for (const cfx_target *t = chain; t && complete; t = t->next) {
        if (t != chain && cfx_target__misses_out(t, n->kwargs, n->nkwargs))
            continue;
        cfx_status st = try_candidate(self, s, t, &args, &complete, &no, err);
        if (st)
            return st;
    }
    if (!s->ncandidates)
        return cfx_fail_from(err, &no.error);
    if (complete)
        return CFX_OK;
    release_candidates(s);
    return CFX_OK;
}

/* True if only the base class handles calls of functions (or methods). */
static bool calls_are_plain(const cfx_interp_class *hook, bool method)
{
    const cfx_interp_class *base = &cfx_interp_base;
    return hook->fetch_args == base->fetch_args &&
           (method ? hook->call_method == base->call_method
                   : hook->call_function == base->call_function);
}

/* The parent of the last called module: the next call is often of another child
 * of it. */
struct last_parent {
    const char *path; /* its path is the first `len` bytes */
    size_t len;
    const cfx_module *module;
};

static cfx_module *find_module(struct last_parent *last,
                               const cfx_module *root, const char *path)
{
    const char *dot = strrchr(path, '.');
    if (!dot)
        return cfx_module_at(root, path);
    size_t len = (size_t)(dot - path);
    if (len != last->len || memcmp(path, last->path, len)) {
        const char *name;
        last->module = cfx_module__owner(root, path, &name);
        last->path = path;
        last->len = len;
    }
    return last->module ? cfx_module_child(last->module, dot + 1) : NULL;
}

/* Find the state of the root that a get_attr node fetches. Other modules may be
 * replaced between two runs, so that their states are searched in each run. */
static void find_state(step *s, const cfx_module *root, const char *path)
{
    const cfx_state *state = cfx_module_state(root, path);
    s->state = state ? (size_t)(state - root->state) : SIZE_MAX;
}

/* Targets of earlier nodes. A graph's strings are interned, so that equal ones
 * have one address. */
enum { RECENT = 32 };

struct recent {
    struct last_parent parent;
    struct recent_target {
        const cfx_string *name;
        bool method;
        const cfx_target *target;
    } target[RECENT];
};

static cfx_status find_target(struct recent *recent, cfx_context *ctx,
                              const cfx_string *name, bool method,
                              const cfx_target **out, cfx_error *err)
{
    struct recent_target *r = &recent->target[((uintptr_t)name >> 4) % RECENT];
    cfx_status st = CFX_OK;
    if (r->name != name || r->method != method) {
        *r = (struct recent_target){.method = method};
        st = cfx_target__find(&r->target, ctx, name->text, method, err);
        r->name = st ? NULL : name;
    }
    *out = r->target;
    return st;
}

/* A graph that was read without its modules lacks all that it calls: name the
 * first ones, so that the message tells what is missing. */
static cfx_status fail_missing(const cfx_interp *it, const cfx_node *n,
                               cfx_error *err)
{
    char names[200];
    size_t at = 0, count = 0;
    const char *target = n->target->text;
    for (; n; n = cfx_node_next(n)) {
        if (n->op != CFX_CALL_MODULE ||
            cfx_module_at(it->module, n->target->text))
            continue;
        if (count++ < 3 && at < sizeof(names))
            at += (size_t)snprintf(names + at, sizeof(names) - at, "%s%s",
                                   at ? ", " : "", n->target->text);
    }
    return count < 2
               ? cfx_fail(err, CFX_ENAME,
                          "Node referenced nonexistent target %s", target)
               : cfx_fail(
                     err, CFX_ENAME,
                     "Node referenced nonexistent target %s: the model has a graph without the modules of %zu calls (%s%s); their types are in the text of the module, print(gm)",
                     target, count, names, count > 3 ? ", ..." : "");
}

/* `err` names an operator that is unknown. If others are, too, name them
 * all. */
static cfx_status fail_unknown(const cfx_interp *it, cfx_error *err)
{
    cfx_operators ops;

    if (!cfx_operators_init(&ops, it->module, NULL) &&
        (ops.nunknown > 1 || ops.quantized)) {
        cfx_error_clear(err);
        cfx_operators__fail(&ops, err);
    }
    cfx_operators_release(&ops);
    return CFX_EOPERATOR;
}

static cfx_status prepare_node(cfx_interp *it, step *s, struct recent *recent,
                               cfx_error *err)
{
    struct cfx_interp_self *self = it->self;
    const cfx_node *n = s->node;
    struct holes h = {.self = self, .kinds = ANY_KIND, .err = err};
    cfx_status st = open_values(&h, n->args, n->nargs, &s->original.args);
    if (!st)
        st = open_values(&h, n->kwargs, 2 * (size_t)n->nkwargs,
                         &s->original.kwargs);
    s->original.patch = h.list;
    s->original.npatch = h.n;
    if (st)
        return st;
    const char *target = n->target->text;
    if (n->op == CFX_PLACEHOLDER && target[0] == '*' && target[1] == '*')
        self->has_kwargs = true;
    if (n->op == CFX_GET_ATTR)
        find_state(s, it->module, target);
    if (n->op == CFX_CALL_MODULE) {
        s->module = find_module(&recent->parent, it->module, target);
        if (!s->module)
            return fail_missing(it, n, err);
    } else if ((n->op == CFX_CALL_FUNCTION || n->op == CFX_CALL_METHOD) &&
               !cfx_scope__records(it->scope)) {
        bool method = n->op == CFX_CALL_METHOD;
        const cfx_target *t;
        st = find_target(recent, self->ctx, n->target, method, &t, err);
        if (st == CFX_EOPERATOR)
            return fail_unknown(it, err);
        if (!st)
            st = prepare_op(self, s, t, err);
        s->direct = s->ncandidates && calls_are_plain(&self->hook, method);
    }
    return st;
}

/* ---- Last uses ---- */

/* List the values to drop after each node: last uses, and unused results. */
static cfx_status list_drops(struct cfx_interp_self *self,
                             const cfx_lifetimes *life, cfx_error *err)
{
    for (size_t i = 0; i < self->nsteps; i++) {
        step *s = &self->step[i];
        const cfx_node *n = s->node;
        uint32_t place = life->place[n->id];
        s->drop = cfx_arena_alloc(&self->arena,
                                  (n->ninputs + 1) * sizeof(*s->drop));
        if (!s->drop)
            return cfx_no_memory(err);
        for (uint32_t k = 0; k < n->ninputs; k++) {
            uint32_t id = cfx_node_input(n, k)->id;
            if (life->last_use[id] == place)
                s->drop[s->ndrop++] = id;
        }
        if (life->last_use[n->id] == place && n->op != CFX_OUTPUT)
            s->drop[s->ndrop++] = n->id;
    }
    return CFX_OK;
}

static cfx_status find_last_uses(cfx_interp *it, cfx_error *err)
{
    cfx_lifetimes life;
    cfx_status st = cfx_lifetimes__init(&life, it->graph, err);
    if (!st)
        st = list_drops(it->self, &life, err);
    cfx_lifetimes__release(&life);
    return st;
}

cfx_status cfx_interp__prepare(cfx_interp *it, cfx_error *err)
{
    struct cfx_interp_self *self = it->self;
    struct recent recent = {0};
    self->nids = cfx_graph_ids(it->graph);
    self->cap = cfx_graph_len(it->graph) + 1;
    self->step = cfx_calloc(self->ctx, self->cap, sizeof(*self->step));
    self->step_of = cfx_calloc(self->ctx, self->nids + 1,
                               sizeof(*self->step_of));
    self->env = cfx_calloc(self->ctx, self->nids + 1, sizeof(*self->env));
    if (!self->step || !self->step_of || !self->env)
        return cfx_no_memory(err);
    for (cfx_node *at = cfx_graph_first(it->graph); at;
         at = cfx_node_next(at)) {
        step *s = &self->step[self->nsteps++];
        s->node = at;
        s->id = at->id;
        s->op = at->op;
        self->step_of[at->id] = (uint32_t)self->nsteps;
        cfx_status st = prepare_node(it, s, &recent, err);
        if (st) {
            cfx_interp__while_executing(it, err, at);
            return st;
        }
    }
    return find_last_uses(it, err);
}

void cfx_interp__forget(struct cfx_interp_self *self)
{
    for (size_t i = 0; self->step && i < self->nsteps; i++)
        release_candidates(&self->step[i]);
    for (uint32_t i = 0; self->env && i < self->nids; i++)
        cfx_value_unref(self->env[i]);
    cfx_free(self->ctx, self->step, self->cap * sizeof(*self->step));
    cfx_free(self->ctx, self->step_of,
             (self->nids + 1) * sizeof(*self->step_of));
    cfx_free(self->ctx, self->env, (self->nids + 1) * sizeof(*self->env));
    cfx_arena_release(&self->arena);
}
