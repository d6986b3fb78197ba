/*
 * memory -- classes of nodes that may share memory, by union and find.
 */
#include "passes/memory.h"

#include "graph/effects_seen.h"

uint32_t cfx_memory__class(cfx_memory *m, uint32_t id)
{
    while (m->up[id] != id)
        id = m->up[id] = m->up[m->up[id]];
    return id;
}

static void join(cfx_memory *m, uint32_t a, uint32_t b)
{
    a = cfx_memory__class(m, a);
    b = cfx_memory__class(m, b);
    m->up[a < b ? b : a] = a < b ? a : b;
}

static const cfx_module *module_of(const cfx_node *n)
{
    const cfx_module *owner = cfx_graph_owning_module(n->graph);
    return owner ? cfx_module_at(owner, n->target.u.str->text) : NULL;
}

static bool is_module(void *user, cfx_value v)
{
    (void)user;
    return v.kind == CFX_MODULE;
}

/* Is it a module, or a call that may run the graph of one? */
static bool runs_module(const cfx_node *n)
{
    if (n->op == CFX_CALL_MODULE)
        return true;
    for (uint32_t i = 0; i < n->ninputs; i++) {
        const cfx_node *in = cfx_node_input(n, i);
        if (in->op == CFX_GET_ATTR && module_of(in))
            return true;
    }
    for (uint32_t i = 0; i < n->nargs; i++)
        if (cfx_value_any(n->args[i], is_module, NULL))
            return true;
    return false;
}

/* What a graph gives may be a parameter or buffer of its module. */
static bool may_give_state(const cfx_node *n)
{
    if (n->op != CFX_CALL_MODULE)
        return n->op == CFX_GET_ATTR || runs_module(n);
    const cfx_module *m = module_of(n);
    return m && cfx_graph_module_graph(m);
}

static void join_node(cfx_memory *m, const cfx_node *n)
{
    const cfx_effects *e = &m->effects[n->id];
    if (may_give_state(n))
        join(m, n->id, m->ids);
    for (uint32_t i = 0; i < n->ninputs; i++)
        if (cfx_effects__writes(e, i) || cfx_effects__views(e, i))
            join(m, n->id, cfx_node_input(n, i)->id);
}

bool cfx_memory__writes_state(const cfx_memory *m, const cfx_node *n)
{
    return m->effects[n->id].effect && runs_module(n);
}

static void mark_written(cfx_memory *m, const cfx_node *n)
{
    const cfx_effects *e = &m->effects[n->id];
    for (uint32_t i = 0; i < n->ninputs; i++)
        if (cfx_effects__writes(e, i))
            m->written[cfx_memory__class(m, cfx_node_input(n, i)->id)] = true;
    if (cfx_memory__writes_state(m, n))
        m->written[cfx_memory__state(m)] = true;
}

cfx_status cfx_memory__init(cfx_memory *m, const cfx_graph *g, cfx_error *err)
{
    size_t n = (size_t)cfx_graph_ids(g) + 1;
    *m = (cfx_memory){.ctx = cfx_graph_context(g), .ids = cfx_graph_ids(g)};
    m->up = cfx_alloc(m->ctx, n * sizeof(*m->up));
    m->written = cfx_calloc(m->ctx, n, sizeof(*m->written));
    m->effects = cfx_calloc(m->ctx, n, sizeof(*m->effects));
    if (!m->up || !m->written || !m->effects)
        return cfx_no_memory(err);
    for (uint32_t i = 0; i < n; i++)
        m->up[i] = i;
    cfx_effects_seen seen = {0};
    cfx_status st = CFX_OK;
    for (cfx_node *at = cfx_graph_first(g); at && !st; at = cfx_node_next(at)) {
        st = cfx_effects_seen__find(&seen, at, &m->effects[at->id], err);
        if (!st)
            join_node(m, at);
    }
    for (cfx_node *at = cfx_graph_first(g); at && !st; at = cfx_node_next(at))
        mark_written(m, at);
    return st;
}

void cfx_memory__release(cfx_memory *m)
{
    if (!m->ctx)
        return;
    size_t n = (size_t)m->ids + 1;
    cfx_free(m->ctx, m->up, n * sizeof(*m->up));
    cfx_free(m->ctx, m->written, n * sizeof(*m->written));
    cfx_free(m->ctx, m->effects, n * sizeof(*m->effects));
    *m = (cfx_memory){0};
}
