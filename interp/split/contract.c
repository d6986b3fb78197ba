/*
 * contract -- an acyclic graph with vertices to merge, in topological order.
 *
 * Each vertex has two lists of edges. Merging appends one list to the other;
 * edges within the merged vertex are removed when a list is traversed.
 */
#include "interp/split/contract.h"

#include <stdlib.h>

#include "interp/split/split_order.h"

enum { OUT, IN };

/* ---- Creation ---- */

static void add_edge(contraction *c, uint32_t at, int way, uint32_t other,
                     uint32_t index)
{
    contract_vertex *v = &c->v[at];
    c->edge[index] = (contract_edge){.other = other};
    if (v->last[way])
        c->edge[v->last[way] - 1].next = index + 1;
    else
        v->first[way] = index + 1;
    v->last[way] = index + 1;
}

static size_t count_edges(const cfx_graph *g)
{
    size_t n = 0;
    for (const cfx_node *at = cfx_graph_first(g); at; at = cfx_node_next(at))
        n += at->ninputs;
    return n;
}

static cfx_status allocate(contraction *c, size_t nedges, cfx_error *err)
{
    size_t n = (size_t)c->n + 1;
    c->v = cfx_calloc(c->ctx, n, sizeof(*c->v));
    c->found[0] = cfx_calloc(c->ctx, n, sizeof(uint32_t));
    c->found[1] = cfx_calloc(c->ctx, n, sizeof(uint32_t));
    c->at = cfx_calloc(c->ctx, n, sizeof(uint32_t));
    c->pool = cfx_calloc(c->ctx, n, sizeof(uint32_t));
    c->edge_bytes = (2 * nedges + 1) * sizeof(contract_edge);
    c->edge = nedges < UINT32_MAX / 2 ? cfx_alloc(c->ctx, c->edge_bytes)
                                      : NULL;
    return c->v && c->found[0] && c->found[1] && c->at && c->pool && c->edge
               ? CFX_OK
               : cfx_no_memory(err);
}

/* Add an edge for each value and each ordered pair of accesses to memory. */
static cfx_status add_edges(contraction *c, const cfx_graph *g,
                            const cfx_order_pairs *pairs,
                            const uint32_t *number, cfx_error *err)
{
    uint32_t nedges = 0;
    for (const cfx_node *at = cfx_graph_first(g); at; at = cfx_node_next(at)) {
        uint32_t to = number[at->id];
        c->v[to].parent = c->v[to].place = c->at[to] = to;
        c->v[to].size = 1;
        for (uint32_t i = 0; i < at->ninputs; i++) {
            uint32_t from = number[cfx_node_input(at, i)->id];
            if (from >= to)
                return cfx_fail(err, CFX_EGRAPH,
                                "'%s' is used by '%s' before it is defined",
                                cfx_node_input(at, i)->name, at->name);
            add_edge(c, from, OUT, to, nedges++);
            add_edge(c, to, IN, from, nedges++);
        }
    }
    for (size_t i = 0; i < pairs->n; i++) {
        uint32_t from = number[pairs->item[i].before->id];
        uint32_t to = number[pairs->item[i].after->id];
        add_edge(c, from, OUT, to, nedges++);
        add_edge(c, to, IN, from, nedges++);
    }
    return CFX_OK;
}

cfx_status cfx_contraction__init(contraction *c, const cfx_graph *g,
                                 const uint32_t *number, cfx_error *err)
{
    cfx_order_pairs pairs;
    *c = (contraction){.ctx = cfx_graph_context(g),
                       .n = (uint32_t)cfx_graph_len(g)};
    cfx_status st = cfx_order_pairs__find(&pairs, g, err);
    if (!st)
        st = allocate(c, count_edges(g) + pairs.n, err);
    if (!st)
        st = add_edges(c, g, &pairs, number, err);
    cfx_order_pairs__release(&pairs);
    return st;
}

void cfx_contraction__release(contraction *c)
{
    if (!c->ctx)
        return;
    size_t n = (size_t)c->n + 1;
    cfx_free(c->ctx, c->v, n * sizeof(*c->v));
    cfx_free(c->ctx, c->found[0], n * sizeof(uint32_t));
    cfx_free(c->ctx, c->found[1], n * sizeof(uint32_t));
    cfx_free(c->ctx, c->at, n * sizeof(uint32_t));
    cfx_free(c->ctx, c->pool, n * sizeof(uint32_t));
    cfx_free(c->ctx, c->edge, c->edge_bytes);
}

uint32_t cfx_contraction__find(contraction *c, uint32_t i)
{
    while (c->v[i].parent != i) {
        c->v[i].parent = c->v[c->v[i].parent].parent;
        i = c->v[i].parent;
    }
    return i;
}

/* ---- Traversing edges ---- */

/* Iterates over the neighbours of x and removes edges from x to itself. */
typedef struct walk {
    contraction *c;
    uint32_t x, *link, before;
    int way;
} walk;

static walk walk_from(contraction *c, uint32_t x, int way)
{
    return (walk){.c = c, .x = x, .link = &c->v[x].first[way], .way = way};
}

/* Return the next neighbour, or x at the end. */
static uint32_t walk_next(walk *w)
{
    contraction *c = w->c;
    while (*w->link) {
        uint32_t index = *w->link - 1;
        contract_edge *e = &c->edge[index];
        uint32_t y = cfx_contraction__find(c, e->other);
        if (y != w->x) {
            e->other = y;
            w->link = &e->next;
            w->before = index + 1;
            return y;
        }
        *w->link = e->next;
        if (!e->next)
            c->v[w->x].last[w->way] = w->before;
    }
    return w->x;
}

/* ---- Merging ---- */

/* Collect the vertices that x reaches in one direction without passing `goal`,
 * between the two. False if a path reaches `goal` through a third vertex. */
static bool search(contraction *c, uint32_t x, uint32_t goal, int way,
                   bool *never)
{
    uint32_t limit = c->v[goal].place, *list = c->found[way], n = 0;
    uint32_t stamp = ++c->stamp;
    c->v[x].mark = stamp;
    c->v[x].by_fixed = false;
    for (uint32_t i = 0;; i++) {
        uint32_t at = i ? list[i - 1] : x, y;
        for (walk w = walk_from(c, at, way); (y = walk_next(&w)) != at;) {
            uint32_t place = c->v[y].place;
            if (y == goal && i) {
                *never = c->v[at].by_fixed;
                return false;
            }
            if (y == goal || c->v[y].mark == stamp ||
                (way == OUT ? place > limit : place < limit))
                continue;
            c->v[y].mark = stamp;
            c->v[y].by_fixed = c->v[at].by_fixed || c->v[y].fixed;
            list[n++] = y;
        }
        if (i == n)
            break;
    }
    c->nfound[way] = n;
    return true;
}

int cfx_contraction__by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* Sort vertices by their place; `at` maps places to vertices. */
static void sort_by_place(contraction *c, uint32_t *list, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        list[i] = c->v[list[i]].place;
    if (n > 1)
        qsort(list, n, sizeof(*list), cfx_contraction__by_number);
    for (uint32_t i = 0; i < n; i++)
        list[i] = c->at[list[i]];
}

static void put(contraction *c, uint32_t vertex, uint32_t place)
{
    c->v[vertex].place = place;
    c->at[place] = vertex;
}

/* Reassign the places of all collected vertices: first the ones before b,
 * then the merged vertex, then the ones after a. */
static void reorder(contraction *c, uint32_t a, uint32_t b, uint32_t joined)
{
    uint32_t *behind = c->found[OUT], *before = c->found[IN];
    uint32_t nbehind = c->nfound[OUT], nbefore = c->nfound[IN], n = 0;
    if (!nbehind) {
        put(c, joined, c->v[b].place);
        return;
    }
    if (!nbefore) {
        put(c, joined, c->v[a].place);
        return;
    }
    sort_by_place(c, behind, nbehind);
    sort_by_place(c, before, nbefore);
    uint32_t *pool = c->pool;
    for (uint32_t i = 0; i < nbehind; i++)
        pool[n++] = c->v[behind[i]].place;
    for (uint32_t i = 0; i < nbefore; i++)
        pool[n++] = c->v[before[i]].place;
    pool[n++] = c->v[a].place;
    qsort(pool, n, sizeof(*pool), cfx_contraction__by_number);
    n = 0;
    for (uint32_t i = 0; i < nbefore; i++)
        put(c, before[i], pool[n++]);
    put(c, joined, pool[n++]);
    for (uint32_t i = 0; i < nbehind; i++)
        put(c, behind[i], pool[n++]);
}

static void append_edges(contraction *c, uint32_t to, uint32_t from)
{
    for (int way = OUT; way <= IN; way++) {
        contract_vertex *t = &c->v[to], *f = &c->v[from];
        if (t->last[way])
            c->edge[t->last[way] - 1].next = f->first[way];
        else
            t->first[way] = f->first[way];
        if (f->last[way])
            t->last[way] = f->last[way];
    }
}

bool cfx_contraction__merge(contraction *c, uint32_t a, uint32_t b,
                            uint32_t *joined, bool *never)
{
    *never = false;
    if (c->v[a].place > c->v[b].place) {
        uint32_t swap = a;
        a = b;
        b = swap;
    }
    if (!search(c, a, b, OUT, never))
        return false;
    c->nfound[IN] = 0;
    if (c->nfound[OUT])
        search(c, b, a, IN, never);
    uint32_t gone = c->v[a].size < c->v[b].size ? a : b;
    *joined = gone == a ? b : a;
    reorder(c, a, b, *joined);
    c->v[gone].parent = *joined;
    c->v[*joined].size += c->v[gone].size;
    append_edges(c, *joined, gone);
    return true;
}

uint32_t cfx_contraction__reach(contraction *c, uint32_t from, uint32_t limit,
                                const bool *wanted)
{
    uint32_t *list = c->found[OUT], n = 0, found = 0;
    uint32_t stamp = ++c->stamp;
    c->v[from].mark = stamp;
    for (uint32_t i = 0;; i++) {
        uint32_t at = i ? list[i - 1] : from, y;
        for (walk w = walk_from(c, at, OUT); (y = walk_next(&w)) != at;) {
            if (c->v[y].mark == stamp || c->v[y].place > limit)
                continue;
            c->v[y].mark = stamp;
            found += wanted[y];
            list[n++] = y;
        }
        if (i == n)
            break;
    }
    return found;
}
