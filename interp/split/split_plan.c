/*
 * split_plan -- find the nodes, inputs and outputs of each part, and an order
 * in which the parts can run.
 *
 * Takes a few walks over the nodes and their inputs, in linear time.
 */
#include "interp/split/split_impl.h"

#include <stdio.h>

#include "interp/split/split_order.h"

/* ---- Parts by name ---- */

/* The parts found so far. */
typedef struct found {
    cfx_map by_name; /* name of the child: its number */
    const char **name;
    size_t cap;
    int64_t last_id; /* id of the last node's part */
    uint32_t last;
} found;

static cfx_status part_named(splitter *s, found *f, int64_t id, uint32_t *part)
{
    const char *affix = s->o.partition_affix;
    char text[128];
    bool added;
    if (s->nparts && f->last_id == id) {
        *part = f->last;
        return CFX_OK;
    }
    int len = snprintf(text, sizeof(text), "submod_%s%s%lld",
                       affix ? affix : "", affix ? "_" : "", (long long)id);
    if (len >= (int)sizeof(text))
        return cfx_fail(s->err, CFX_EINVAL, "the affix '%s' is too long",
                        affix);
    if (cfx_grow(s->ctx, f->name, f->cap, s->nparts + 1, s->err))
        return CFX_ENOMEM;
    cfx_map_entry *e = cfx_map_put(&f->by_name, text, (size_t)len, &added);
    if (e && added) {
        e->key = cfx_arena_strdup(&s->arena, text, (size_t)len);
        if (!e->key) {
            e->key = text;
            cfx_map_remove(&f->by_name, text, (size_t)len);
            return cfx_no_memory(s->err);
        }
        e->v.u = s->nparts;
        f->name[s->nparts++] = e->key;
    }
    if (!e)
        return cfx_no_memory(s->err);
    *part = f->last = (uint32_t)e->v.u;
    f->last_id = id;
    return CFX_OK;
}

/* Call part_of for each call of the graph. */
static cfx_status find_parts(splitter *s, cfx_part_of_fn *part_of, void *user)
{
    found f = {0};
    cfx_status st = CFX_OK;
    cfx_map_init(&f.by_name, s->ctx);
    memset(s->part_of, 0xFF, s->nids * sizeof(*s->part_of));
    for (cfx_node *n = cfx_graph_first(s->g); n && !st; n = cfx_node_next(n))
        if (cfx_node_is_call(n))
            st = part_named(s, &f, part_of(user, n), &s->part_of[n->id]);
    s->name = cfx_extract__scratch(&s->arena, s->nparts, sizeof(*s->name),
                                   st ? NULL : s->err);
    if (!st && !s->name)
        st = s->err->code;
    if (!st && s->nparts)
        memcpy(s->name, f.name, s->nparts * sizeof(*s->name));
    cfx_free(s->ctx, f.name, f.cap * sizeof(*f.name));
    cfx_map_release(&f.by_name);
    return st;
}

/* ---- Nodes and results of each part ---- */

/* Sort `n` nodes by part, keeping their order. */
static cfx_status sort_by_part(splitter *s, node_lists *to,
                               cfx_node *const *node, uint32_t n)
{
    uint32_t *key = cfx_calloc(s->ctx, (size_t)n + 1, sizeof(*key));
    uint32_t *item = cfx_calloc(s->ctx, (size_t)n + 1, sizeof(*item));
    cfx_status st = key && item ? CFX_OK : cfx_no_memory(s->err);
    to->start = cfx_extract__scratch(&s->arena, (size_t)s->nparts + 1,
                                     sizeof(uint32_t), s->err);
    to->item = cfx_extract__scratch(&s->arena, n, sizeof(cfx_node *), s->err);
    if (!to->start || !to->item)
        st = s->err->code;
    if (!st) {
        for (uint32_t i = 0; i < n; i++)
            key[i] = s->part_of[node[i]->id];
        cfx_extract__bucket(n, key, s->nparts, to->start, item);
        for (uint32_t i = 0; i < n; i++)
            to->item[i] = node[item[i]];
    }
    cfx_free(s->ctx, key, ((size_t)n + 1) * sizeof(*key));
    cfx_free(s->ctx, item, ((size_t)n + 1) * sizeof(*item));
    return st;
}

/* A node whose value is used by another part or by the parent's output is an
 * output of its part. Outputs are in the order of their first such use. */
static uint32_t find_outputs(const splitter *s, bool *is_output,
                             cfx_node **list)
{
    uint32_t nlist = 0;
    for (cfx_node *n = cfx_graph_first(s->g); n; n = cfx_node_next(n))
        for (uint32_t i = 0; i < n->ninputs; i++) {
            cfx_node *from = cfx_node_input(n, i);
            uint32_t part = s->part_of[from->id];
            if (part == NO_PART || part == s->part_of[n->id] ||
                is_output[from->id])
                continue;
            is_output[from->id] = true;
            list[nlist++] = from;
        }
    return nlist;
}

cfx_status cfx_split__sort_nodes(splitter *s)
{
    cfx_node **list = cfx_calloc(s->ctx, (size_t)s->nids + 1, sizeof(*list));
    bool *seen = cfx_calloc(s->ctx, (size_t)s->nids + 1, sizeof(*seen));
    uint32_t n = 0;
    cfx_status st = list && seen ? CFX_OK : cfx_no_memory(s->err);
    for (cfx_node *at = st ? NULL : cfx_graph_first(s->g); at;
         at = cfx_node_next(at))
        if (s->part_of[at->id] != NO_PART)
            list[n++] = at;
    if (!st)
        st = sort_by_part(s, &s->nodes, list, n);
    if (!st)
        st = sort_by_part(s, &s->outputs, list, find_outputs(s, seen, list));
    cfx_free(s->ctx, list, ((size_t)s->nids + 1) * sizeof(*list));
    cfx_free(s->ctx, seen, ((size_t)s->nids + 1) * sizeof(*seen));
    return st;
}

/* ---- The order of parts ---- */

/* Part `from` gives a value to part `to`, first at the node `time`. */
typedef struct edges {
    uint32_t n, cap;
    uint32_t *from, *to, *time;
} edges;

static bool add_edge(splitter *s, edges *e, uint32_t from, uint32_t to,
                     uint32_t time)
{
    if (e->n == e->cap) {
        uint32_t cap = e->cap ? 2 * e->cap : 16,
                 **list[] = {&e->from, &e->to, &e->time};
        for (int i = 0; i < 3; i++) {
            void *p = cfx_arena_alloc(&s->arena, cap * sizeof(uint32_t));
            if (!p)
                return false;
            if (e->n)
                memcpy(p, *list[i], e->n * sizeof(uint32_t));
            *list[i] = p;
        }
        e->cap = cap;
    }
    e->from[e->n] = from;
    e->to[e->n] = to;
    e->time[e->n++] = time;
    return true;
}

/* List all pairs of parts once. Nodes are visited by part, so that one mark per
 * part is enough. `number` is the position of each node in the graph. */
static cfx_status find_edges(splitter *s, edges *e, const uint32_t *number)
{
    uint32_t *seen = cfx_extract__scratch(&s->arena, s->nparts, sizeof(*seen),
                                          s->err);
    if (!seen)
        return s->err->code;
    for (uint32_t p = 0; p < s->nparts; p++)
        for (uint32_t i = s->nodes.start[p]; i < s->nodes.start[p + 1]; i++) {
            const cfx_node *n = s->nodes.item[i];
            for (uint32_t k = 0; k < n->ninputs; k++) {
                uint32_t from = s->part_of[cfx_node_input(n, k)->id];
                if (from == NO_PART || from == p || seen[from] == p + 1)
                    continue;
                seen[from] = p + 1;
                if (!add_edge(s, e, from, p, number[n->id]))
                    return cfx_no_memory(s->err);
            }
        }
    return CFX_OK;
}

/* Add pairs of parts of which one writes memory that the other reads. */
static cfx_status find_writes(splitter *s, edges *e, const uint32_t *number)
{
    cfx_order_pairs pairs;
    cfx_status st = cfx_order_pairs__find(&pairs, s->g, s->err);
    for (size_t i = 0; i < pairs.n && !st; i++) {
        const cfx_node *n = pairs.item[i].after;
        uint32_t from = s->part_of[pairs.item[i].before->id];
        uint32_t to = s->part_of[n->id];
        if (from == NO_PART || to == NO_PART || from == to)
            continue;
        if (s->o.keep_original_order && from > to)
            st = cfx_fail(
                s->err, CFX_EGRAPH,
                "%s must not come before %s, which reads or writes the same memory as '%s'",
                s->name[to], s->name[from], n->name);
        else if (!add_edge(s, e, from, to, number[n->id]))
            st = cfx_no_memory(s->err);
    }
    cfx_order_pairs__release(&pairs);
    return st;
}

/* Sort edges by part, then by time. */
static cfx_status sort_edges(splitter *s, const edges *e, uint32_t ntimes,
                             uint32_t *start, uint32_t **sorted)
{
    cfx_arena *a = &s->arena;
    uint32_t *at = cfx_extract__scratch(a, (size_t)ntimes + 1, sizeof(*at),
                                        s->err);
    uint32_t *by_time = cfx_extract__scratch(a, e->n, sizeof(*at), s->err);
    uint32_t *from = cfx_extract__scratch(a, e->n, sizeof(*at), s->err);
    *sorted = cfx_extract__scratch(a, e->n, sizeof(*at), s->err);
    if (!at || !by_time || !from || !*sorted)
        return s->err->code;
    cfx_extract__bucket(e->n, e->time, ntimes, at, by_time);
    for (uint32_t i = 0; i < e->n; i++)
        from[i] = e->from[by_time[i]];
    cfx_extract__bucket(e->n, from, s->nparts, start, *sorted);
    for (uint32_t i = 0; i < e->n; i++)
        (*sorted)[i] = by_time[(*sorted)[i]];
    return CFX_OK;
}

/* Sort as torch does: the part that became ready last is taken first. */
static cfx_status sort_parts(splitter *s, const edges *e,
                             const uint32_t *start, const uint32_t *sorted)
{
    uint32_t *waits = cfx_extract__scratch(&s->arena, s->nparts,
                                           sizeof(*waits), s->err);
    uint32_t *stack = cfx_extract__scratch(&s->arena, s->nparts,
                                           sizeof(*stack), s->err);
    uint32_t nstack = 0, n = 0;
    if (!waits || !stack)
        return s->err->code;
    for (uint32_t i = 0; i < e->n; i++)
        waits[e->to[i]]++;
    for (uint32_t p = 0; p < s->nparts; p++)
        if (!waits[p])
            stack[nstack++] = p;
    while (nstack) {
        uint32_t p = stack[--nstack];
        s->order[n++] = p;
        for (uint32_t i = start[p]; i < start[p + 1]; i++)
            if (!--waits[e->to[sorted[i]]])
                stack[nstack++] = e->to[sorted[i]];
    }
    return n == s->nparts ? CFX_OK
                          : cfx_fail(s->err, CFX_EGRAPH,
                                     "cycle exists between partitions!");
}

static cfx_status find_order(splitter *s)
{
    edges e = {0};
    cfx_arena *a = &s->arena;
    uint32_t *number = cfx_extract__scratch(a, s->nids, sizeof(*number),
                                            s->err);
    uint32_t *start = cfx_extract__scratch(a, (size_t)s->nparts + 1,
                                           sizeof(*start), s->err);
    uint32_t n = 0, *sorted;
    s->order = cfx_extract__scratch(a, s->nparts, sizeof(*s->order), s->err);
    if (!number || !start || !s->order)
        return s->err->code;
    for (const cfx_node *at = cfx_graph_first(s->g); at;
         at = cfx_node_next(at))
        number[at->id] = n++;
    cfx_status st = find_edges(s, &e, number);
    if (!st)
        st = find_writes(s, &e, number);
    if (!st)
        st = sort_edges(s, &e, n, start, &sorted);
    if (!st)
        st = sort_parts(s, &e, start, sorted);
    for (uint32_t p = 0; !st && s->o.keep_original_order && p < s->nparts; p++)
        s->order[p] = p;
    return st;
}

cfx_status cfx_split__prepare(splitter *s, cfx_part_of_fn *part_of, void *user)
{
    cfx_status st = find_parts(s, part_of, user);
    if (!st)
        st = cfx_split__sort_nodes(s);
    return st ? st : find_order(s);
}
