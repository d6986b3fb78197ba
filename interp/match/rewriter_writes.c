/*
 * rewriter_writes -- find writes to memory that a match reads or returns. The
 * copy cannot be placed across such a write.
 *
 * Nodes that write are listed once, in order. `upto` is the number of them that
 * come before the end of a node, so that later ones are not visited. Most
 * graphs have none, and no list.
 */
#include "interp/match/rewriter_impl.h"

#include "graph/aliases.h"
#include "graph/effects_seen.h"

struct cfx_rewrite_writes {
    cfx_aliases aliases;
    cfx_node **writer;       /* in order */
    uint32_t *upto;          /* by id */
    uint32_t *matched, *set; /* by id, by alias set: the marking match */
    uint32_t n, cap, current;
};

static bool writes(const cfx_aliases *a, const cfx_node *n)
{
    const cfx_effects *e = cfx_aliases__effects(a, n);
    return e->input_writes || e->state_writes;
}

static cfx_status list_writers(cfx_rewrite *r, cfx_rewrite_writes *w)
{
    size_t n = cfx_aliases__len(&w->aliases);
    w->cap = (uint32_t)n;
    w->writer = cfx_calloc(r->ctx, n, sizeof(cfx_node *));
    w->upto = cfx_calloc(r->ctx, n, sizeof(*w->upto));
    w->matched = cfx_calloc(r->ctx, n, sizeof(*w->matched));
    w->set = cfx_calloc(r->ctx, n, sizeof(*w->set));
    if (!w->writer || !w->upto || !w->matched || !w->set)
        return cfx_no_memory(r->err);
    for (cfx_node *at = cfx_graph_first(r->g); at; at = cfx_node_next(at)) {
        if (writes(&w->aliases, at))
            w->writer[w->n++] = at;
        w->upto[at->id] = w->n;
    }
    return CFX_OK;
}

static cfx_status something_writes(const cfx_rewrite *r, bool *found)
{
    cfx_effects_seen seen = {0};
    cfx_effects e;
    cfx_status st = CFX_OK;
    *found = false;
    for (cfx_node *n = cfx_graph_first(r->g); n && !st && !*found;
         n = cfx_node_next(n)) {
        cfx_node__prefetch_near(n, CFX_NODES_FOLLOW);
        st = cfx_effects_seen__find(&seen, n, &e, r->err);
        *found = !st && (e.input_writes || e.state_writes);
    }
    return st;
}

cfx_status cfx_rewriter__find_writes(cfx_rewrite *r)
{
    bool found;
    cfx_status st = something_writes(r, &found);
    if (st || !found)
        return st;
    cfx_rewrite_writes *w = cfx_calloc(r->ctx, 1, sizeof(*w));
    r->writes = w;
    if (!w)
        return cfx_no_memory(r->err);
    st = cfx_aliases__init(&w->aliases, r->g, r->err);
    return st ? st : list_writers(r, w);
}

void cfx_rewriter__forget_writes(cfx_rewrite *r)
{
    cfx_rewrite_writes *w = r->writes;
    if (!w)
        return;
    cfx_free(r->ctx, w->writer, w->cap * sizeof(cfx_node *));
    cfx_free(r->ctx, w->upto, w->cap * sizeof(*w->upto));
    cfx_free(r->ctx, w->matched, w->cap * sizeof(*w->matched));
    cfx_free(r->ctx, w->set, w->cap * sizeof(*w->set));
    cfx_aliases__release(&w->aliases);
    cfx_free(r->ctx, w, sizeof(*w));
    r->writes = NULL;
}

/* ---- One match ---- */

static void mark(cfx_rewrite_writes *w, const cfx_node *n)
{
    if (!cfx_aliases__is_later(&w->aliases, n))
        w->set[cfx_aliases__set(&w->aliases, n)] = w->current;
}

static void mark_match(cfx_rewrite_writes *w, const cfx_match *m)
{
    const cfx_node *at = NULL, *n;
    w->current++;
    while ((n = cfx_match__next_node(m, &at)) != NULL) {
        w->matched[n->id] = w->current;
        mark(w, n);
        for (uint32_t i = 0; i < n->ninputs; i++)
            mark(w, cfx_node_input(n, i));
        if (n->op == CFX_CALL_MODULE)
            w->set[cfx_aliases__state(&w->aliases)] = w->current;
    }
}

static bool touches(cfx_rewrite_writes *w, const cfx_node *n)
{
    const cfx_effects *e = cfx_aliases__effects(&w->aliases, n);
    if (e->state_writes &&
        w->set[cfx_aliases__state(&w->aliases)] == w->current)
        return true;
    for (uint32_t i = 0; i < n->ninputs; i++) {
        const cfx_node *in = cfx_node_input(n, i);
        if (cfx_effects__writes(e, i) &&
            (cfx_aliases__is_later(&w->aliases, in) ||
             w->set[cfx_aliases__set(&w->aliases, in)] == w->current))
            return true;
    }
    return false;
}

/* Return the first writer that does not come before n. */
static uint32_t first_writer(const cfx_rewrite_writes *w, const cfx_node *n)
{
    while (n && cfx_aliases__is_later(&w->aliases, n))
        n = cfx_node_next(n);
    if (!n)
        return w->n;
    uint32_t i = w->upto[n->id];
    return i && w->writer[i - 1] == n ? i - 1 : i;
}

bool cfx_rewriter__written(cfx_rewrite_step *t, const cfx_node *from,
                           const cfx_node *to, bool any)
{
    cfx_rewrite_writes *w = t->r->writes;
    if (!w || !w->n || !from || !to)
        return false;
    mark_match(w, t->m);
    for (uint32_t i = first_writer(w, from); i < w->n; i++) {
        const cfx_node *n = w->writer[i];
        if (n->erased || n == from || w->matched[n->id] == w->current)
            continue;
        if (!cfx_node_before(n, to))
            return false;
        if (any || touches(w, n))
            return true;
    }
    return false;
}
