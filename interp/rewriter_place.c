/*
 * rewriter_place -- where a replacement is put.
 *
 * Before the first user of what it computes, as in torch.fx; where that is not
 * behind all that it needs, everything that depends on its outputs is moved
 * there, in the order it has. Only what stands in between is looked at.
 */
#include "rewriter_impl.h"

static bool push(cfx_rewrite *r, cfx_node *n)
{
    if (r->nstack == r->stack_room) {
        size_t room = r->stack_room ? 2 * r->stack_room : 64;
        cfx_node **p = cfx_realloc(r->ctx, r->stack,
                                   r->stack_room * sizeof(*p),
                                   room * sizeof(*p));
        if (!p)
            return false;
        r->stack = p;
        r->stack_room = room;
    }
    r->stack[r->nstack++] = n;
    return true;
}

/* A fresh mark for every node there is. */
static bool begin_marks(cfx_rewrite *r)
{
    uint32_t ids = cfx_graph_ids(r->g);
    r->nstack = 0;
    r->epoch++;
    if (ids <= r->seen_room)
        return true;
    uint32_t room = ids + ids / 2 + 64;
    uint32_t *p = cfx_calloc(r->ctx, room, sizeof(*p));
    if (!p)
        return false;
    cfx_free(r->ctx, r->seen, r->seen_room * sizeof(*p));
    r->seen = p;
    r->seen_room = room;
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

/* The last of the nodes that the copy uses, or NULL. */
static cfx_node *last_input(const cfx_turn *t)
{
    cfx_node *last = NULL;
    for (size_t i = 0; i < t->m->nplaceholders; i++)
        cfx_value_visit(t->m->placeholders[i], later, &last);
    return last;
}

static cfx_node *first_user(const cfx_turn *t)
{
    cfx_node *first = NULL;
    for (size_t i = 0; i < t->m->nreturning; i++) {
        cfx_value v = t->m->returning[i];
        if (v.kind != CFX_NODE)
            continue;
        for (const cfx_use *u = v.u.node->first_user; u; u = u->next)
            if (!first || cfx_node_before(u->user, first))
                first = u->user;
    }
    return first;
}

/* Is output i an input that the replacement hands through as well? */
static bool is_passed(const cfx_turn *t, size_t i)
{
    const cfx_node *out = cfx_graph_output_node(t->from);
    for (uint32_t k = 0; k < out->ninputs; k++) {
        cfx_value v = cfx_node_map_get(&t->map, cfx_node_input(out, k));
        if (v.kind == CFX_NODE && v.u.node == t->m->returning[i].u.node)
            return true;
    }
    return false;
}

/* Collect what depends on the outputs and stands before `last`. */
static bool find_dependents(cfx_turn *t, const cfx_node *last)
{
    cfx_rewrite *r = t->r;
    if (!begin_marks(r))
        return false;
    for (size_t i = 0, done = 0; i <= t->m->nreturning;) {
        const cfx_node *n = NULL;
        if (done < r->nstack)
            n = r->stack[done++];
        else if (i < t->m->nreturning &&
                 t->m->returning[i].kind == CFX_NODE && !is_passed(t, i))
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

static cfx_status is_marked(void *user, cfx_value v)
{
    const cfx_rewrite *r = user;
    return v.kind == CFX_NODE && r->seen[v.u.node->id] == r->epoch
               ? CFX_EGRAPH : CFX_OK;
}

/* The outputs' users stand before something that the copy needs: move all that
 * depends on the outputs behind it. *cycle: it needs some of that itself. */
static cfx_status make_way(cfx_turn *t, cfx_node *last, bool *cycle)
{
    cfx_rewrite *r = t->r;
    if (!find_dependents(t, last))
        return cfx_matcher__no_memory(r->err);
    for (size_t i = 0; i < t->m->nplaceholders && !*cycle; i++)
        *cycle = cfx_value_visit(t->m->placeholders[i], is_marked, r);
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

cfx_status cfx_rewriter__find_place(cfx_turn *t, bool *cycle)
{
    cfx_node *user = first_user(t), *last = last_input(t), *at = NULL;
    if (user && last && !cfx_node_before(last, user))
        return make_way(t, last, cycle);
    if (user) {
        cfx_graph_inserting_before(t->r->g, user);
        return CFX_OK;
    }
    for (size_t i = 0; i < t->m->nreturning; i++)
        later(&at, t->m->returning[i]);
    if (!at)
        at = t->m->anchor;
    if (last && cfx_node_before(at, last))
        at = last;
    cfx_graph_inserting_after(t->r->g, at);
    return CFX_OK;
}
