/*
 * same -- structural equality of graphs.
 *
 * Nodes are compared by position, in an array by id, since a comparison must
 * not write to the graph.
 */
#include "graph/graph_impl.h"

/* Positions from 1; 0: not seen yet. */
typedef struct places {
    const cfx_graph *g;
    uint32_t *of;
    uint32_t next;
} places;

static cfx_status places_init(places *p, const cfx_graph *g, cfx_error *err)
{
    *p = (places){.g = g, .next = 1};
    p->of = cfx_calloc(g->ctx, (size_t)g->ids + 1, sizeof(*p->of));
    return p->of ? CFX_OK : cfx_no_memory(err);
}

static void places_release(places *p)
{
    if (p->of)
        cfx_free(p->g->ctx, p->of, ((size_t)p->g->ids + 1) * sizeof(*p->of));
}

static cfx_status undefined(const places *p, const cfx_node *n, cfx_error *err)
{
    for (uint32_t i = 0; i < n->ninputs; i++)
        if (!p->of[cfx_node_input(n, i)->id])
            return cfx_fail(
                err, CFX_EGRAPH,
                "Argument '%s' of Node '%s' was used before it has been defined! Please check that Nodes in the graph are topologically ordered",
                cfx_node_input(n, i)->name, n->name);
    return CFX_OK;
}

static void number(places *p, const cfx_node *n)
{
    p->of[n->id] = p->next++;
}

/* ---- Equality ---- */

/* Values of stores nest at most CFX_MAX_DEPTH deep. */
static bool same_items(const cfx_value *v, const cfx_value *w, size_t n,
                       cfx_same_nodes *same, const void *user)
{
    for (size_t i = 0; i < n; i++) {
        cfx_value *x = NULL, *y = NULL;
        size_t len = cfx_store_items(v[i], &x), m = cfx_store_items(w[i], &y);
        if (v[i].kind != w[i].kind || len != m)
            return false;
        if (v[i].kind == CFX_NODE) {
            if (!same(user, v[i].u.node, w[i].u.node))
                return false;
        } else if (!len) {
            if (!cfx_value_equal(v[i], w[i]))
                return false;
        } else {
            const cfx_named_tuple *s = v[i].u.seq->type, *t = w[i].u.seq->type;
            if (!s != !t || (s && strcmp(s->name, t->name)) ||
                !same_items(x, y, len, same, user))
                return false;
        }
    }
    return true;
}

static cfx_value type_of(const cfx_node *n)
{
    return n->type ? (cfx_value){.kind = CFX_STR, .u.str = n->type}
                   : CFX_NOTHING;
}

bool cfx_node__same(const cfx_node *m, const cfx_node *n, cfx_same_nodes *same,
                    const void *user)
{
    return m->op == n->op && m->nargs == n->nargs &&
           m->nkwargs == n->nkwargs &&
           !strcmp(m->target->text, n->target->text) &&
           cfx_value_equal(type_of(m), type_of(n)) &&
           same_items(m->args, n->args, m->nargs, same, user) &&
           same_items(m->kwargs, n->kwargs, 2 * (size_t)m->nkwargs, same,
                      user);
}

static bool same_place(const void *user, const cfx_node *m, const cfx_node *n)
{
    const places *const *p = user;
    return p[0]->of[m->id] == p[1]->of[n->id];
}

static cfx_status compare(bool *equal, places *a, places *b, cfx_error *err)
{
    cfx_node *m = cfx_graph_first(a->g), *n = cfx_graph_first(b->g);
    const places *const both[] = {a, b};
    *equal = cfx_graph_len(a->g) == cfx_graph_len(b->g);
    for (; m && *equal; m = cfx_node_next(m), n = cfx_node_next(n)) {
        cfx_status st = undefined(a, m, err);
        if (!st)
            st = undefined(b, n, err);
        if (st)
            return st;
        *equal = cfx_node__same(m, n, same_place, both);
        number(a, m);
        number(b, n);
    }
    return CFX_OK;
}

cfx_status cfx_graph_equal(bool *equal, const cfx_graph *a, const cfx_graph *b,
                           cfx_error *err)
{
    places p, q = {.of = NULL};
    cfx_status st = places_init(&p, a, err);
    *equal = false;
    if (!st)
        st = places_init(&q, b, err);
    if (!st)
        st = compare(equal, &p, &q, err);
    places_release(&q);
    places_release(&p);
    return st;
}
