/*
 * rewriter_place -- find the insert point of a replacement.
 *
 * As in torch.fx it is before the first user of the outputs. If some of the
 * copy's inputs come later, everything that depends on the outputs is moved
 * after them, in order. Only nodes in between are visited.
 */
#include "interp/match/rewriter_impl.h"

static bool push(cfx_rewrite *r, cfx_node *n)
{
    if (cfx_grow(r->ctx, r->stack, r->stack_cap, r->nstack + 1, NULL))
        return false;
    r->stack[r->nstack++] = n;
    return true;
}

/* Begin a new mark for all nodes. */
static bool begin_marks(cfx_rewrite *r)
{
    uint32_t ids = cfx_graph_ids(r->g);
    r->nstack = 0;
    r->epoch++;
    if (ids <= r->seen_cap)
        return true;
    uint32_t cap = ids + ids / 2 + 64;
    uint32_t *p = cfx_calloc(r->ctx, cap, sizeof(*p));
    if (!p)
        return false;
    cfx_free(r->ctx, r->seen, r->seen_cap * sizeof(*p));
    r->seen = p;
    r->seen_cap = cap;
    r->epoch = 1;
    return true;
}

static cfx_status later(void *user, cfx_value v)
{
    cfx_node **last = user;
    if (v.kind == CFX_NODE && (!*last || cfx_node_before(*last, v.u.node)))
        *last = v.u.node;
    return CFX_OK;
}

static cfx_node *earlier_user(cfx_node *first, cfx_value v)
{
    if (v.kind == CFX_NODE)
        for (const cfx_use *u = v.u.node->first_user; u; u = u->next)
            if (!first || cfx_node_before(u->user, first))
                first = u->user;
    return first;
}

static cfx_node *first_user(const cfx_rewrite_step *t)
{
    cfx_node *first = NULL;
    for (size_t i = 0; i < t->m->nreturning; i++)
        first = earlier_user(first, t->m->returning[i]);
    return first;
}

/* The leaves of the replacement's output, next to the pattern's outputs. */
typedef struct cfx_handed {
    const cfx_rewrite_step *t;
    size_t i;
    bool paired;
    cfx_node *last;
} cfx_handed;

static cfx_status see_handed(void *user, cfx_value v)
{
    cfx_handed *h = user;
    const cfx_match *m = h->t->m;
    cfx_value old = h->paired && h->i < m->nreturning ? m->returning[h->i]
                                                      : CFX_NOTHING;
    h->i++;
    cfx_value now = v.kind == CFX_NODE ? cfx_node_map_get(&h->t->map, v.u.node)
                                       : CFX_NOTHING;
    if (now.kind != CFX_NODE ||
        (old.kind == CFX_NODE && old.u.node == now.u.node))
        return CFX_OK;
    const cfx_node *first = h->paired ? earlier_user(NULL, old)
                                      : first_user(h->t);
    return first && cfx_node_before(first, now.u.node) ? later(&h->last, now)
                                                       : CFX_OK;
}

/* Return the last node that must come before the copy and its users, or NULL:
 * inputs of the copy's nodes, and inputs that replace an output with earlier
 * users. */
static cfx_node *last_input(const cfx_rewrite_step *t)
{
    const cfx_node *out = cfx_graph_output_node(t->from);
    cfx_handed h = {.t = t};
    for (const cfx_node *n = cfx_graph_first(t->from); n; n = cfx_node_next(n))
        if (n->op == CFX_PLACEHOLDER && n->first_user &&
            (n->nusers > 1 || n->first_user->user != out))
            cfx_value_visit(cfx_node_map_get(&t->map, n), later, &h.last);
    h.paired = cfx_rewriter__count_leaves(out->args[0]) == t->m->nreturning;
    cfx_value_visit(out->args[0], see_handed, &h);
    return h.last;
}

/* True if the replacement also returns output i, an input, unchanged. */
static bool is_passed(const cfx_rewrite_step *t, size_t i)
{
    const cfx_node *out = cfx_graph_output_node(t->from);
    for (uint32_t k = 0; k < out->ninputs; k++) {
        cfx_value v = cfx_node_map_get(&t->map, cfx_node_input(out, k));
        if (v.kind == CFX_NODE && v.u.node == t->m->returning[i].u.node)
            return true;
    }
    return false;
}

/* Collect the nodes before `last` that depend on the outputs. */
static bool find_dependents(cfx_rewrite_step *t, const cfx_node *last)
{
    cfx_rewrite *r = t->r;
    if (!begin_marks(r))
        return false;
    for (size_t i = 0, done = 0; i <= t->m->nreturning;) {
        const cfx_node *n = NULL;
        if (done < r->nstack)
            n = r->stack[done++];
        else if (i < t->m->nreturning && t->m->returning[i].kind == CFX_NODE &&
                 !is_passed(t, i))
            n = t->m->returning[i++].u.node;
        else
            i++;
        for (const cfx_use *u = n ? n->first_user : NULL; u; u = u->next) {
            if (cfx_node_before(last, u->user) ||
                r->seen[u->user->id] == r->epoch)
                continue;
            r->seen[u->user->id] = r->epoch;
            if (!push(r, u->user))
                return false;
        }
    }
    return true;
}

static void sift(cfx_node **v, size_t root, size_t n)
{
    for (size_t child; (child = 2 * root + 1) < n; root = child) {
        if (child + 1 < n && cfx_node_before(v[child], v[child + 1]))
            child++;
        if (!cfx_node_before(v[root], v[child]))
            return;
        cfx_node *swap = v[root];
        v[root] = v[child];
        v[child] = swap;
    }
}

static void sort_nodes(cfx_node **v, size_t n)
{
    for (size_t i = n / 2; i-- > 0;)
        sift(v, i, n);
    while (n-- > 1) {
        cfx_node *swap = v[0];
        v[0] = v[n];
        v[n] = swap;
        sift(v, 0, n);
    }
}

static bool is_marked(void *user, cfx_value v)
{
    const cfx_rewrite *r = user;
    return v.kind == CFX_NODE && r->seen[v.u.node->id] == r->epoch;
}

/* Users of the outputs come before an input of the copy: move all nodes that
 * depend on the outputs after it. *cycle: the input depends on them itself. */
static cfx_status move_dependents(cfx_rewrite_step *t, cfx_node *last,
                                  bool *cycle)
{
    cfx_rewrite *r = t->r;
    if (!find_dependents(t, last))
        return cfx_no_memory(r->err);
    for (const cfx_node *n = cfx_graph_first(t->from); n && !*cycle;
         n = cfx_node_next(n))
        if (n->op == CFX_PLACEHOLDER && n->nusers)
            *cycle = cfx_value_any(cfx_node_map_get(&t->map, n), is_marked, r);
    if (*cycle)
        return CFX_OK;
    sort_nodes(r->stack, r->nstack);
    cfx_node *at = last;
    for (size_t i = 0; i < r->nstack; i++) {
        cfx_status st = cfx_node_append(at, r->stack[i], r->err);
        if (st)
            return st;
        at = r->stack[i];
    }
    cfx_graph_inserting_after(r->g, last);
    return CFX_OK;
}

/* Find the first and the last node that the match computes. */
static void find_ends(const cfx_match *m, cfx_node **first, cfx_node **last)
{
    *first = *last = NULL;
    const cfx_node *at = NULL;
    cfx_node *n;
    while ((n = cfx_match__next_node(m, &at)) != NULL) {
        if (!*first || cfx_node_before(n, *first))
            *first = n;
        if (!*last || cfx_node_before(*last, n))
            *last = n;
    }
}

bool cfx_rewriter__written_within(cfx_rewrite_step *t)
{
    cfx_node *begin, *end;
    find_ends(t->m, &begin, &end);
    return cfx_rewriter__written(t, begin, end, false);
}

cfx_status cfx_rewriter__find_place(cfx_rewrite_step *t, bool *cycle)
{
    cfx_node *user = first_user(t), *last = last_input(t), *at = NULL;
    cfx_node *begin, *end;
    find_ends(t->m, &begin, &end);
    *cycle = false;
    if (user && last && !cfx_node_before(last, user)) {
        *cycle = cfx_rewriter__written(t, user, last, true);
        return *cycle ? CFX_OK : move_dependents(t, last, cycle);
    }
    if (user && !t->r->o.same_values &&
        !cfx_rewriter__written(t, end, user, false)) {
        cfx_graph_inserting_before(t->r->g, user);
        return CFX_OK;
    }
    for (size_t i = 0; i < t->m->nreturning; i++)
        later(&at, t->m->returning[i]);
    if (!at || user)
        at = end;
    if (last && cfx_node_before(at, last))
        at = last;
    cfx_graph_inserting_after(t->r->g, at);
    return CFX_OK;
}
