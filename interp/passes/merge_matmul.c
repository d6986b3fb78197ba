/*
 * merge_matmul -- merge products with one matrix: torch.fx's merge_matmul.
 *
 *     a @ w, b @ w   ->   split(cat([a, b]) @ w, [rows of a, rows of b])
 *
 * This is valid if w is a matrix, and the other operands have the same rank, at
 * least 2, and the same extents except for the first axis. Meta and parameters
 * must show it; with `assume`, unknown shapes are assumed to fit (torch does
 * not check). No product may depend on another, directly or through other
 * merged products; those that do are left out (torch looks back six steps and
 * then merges nothing). Nodes are moved, so nothing between the products may
 * have effects. Two get_attr nodes of one path are the same matrix.
 */
#include "interp/rewrite/affine.h"

#include <stdio.h>
#include <stdlib.h>

#include "interp/split/extract.h"
#include "interp/split/contract.h"

/* Products with one matrix, in graph order. */
typedef struct group {
    uint32_t first, last, n;
} group;

typedef struct merger {
    cfx_pass_call *p;
    bool assume;
    cfx_arena arena;
    cfx_map groups; /* the matrix -> index */
    group *group;
    uint32_t ngroups, n;
    cfx_node **node;   /* by number: the products */
    uint32_t *next;    /* by number: the next of its group, or 0 */
    uint32_t *number;  /* by id: position in the graph */
    uint32_t *effects; /* by id: number of earlier nodes with effects */
    contraction c;
    bool *is_late; /* by id, including nodes to be made */
    cfx_node **late;
} merger;

/* ---- Finding groups ---- */

static bool is_product(const cfx_node *n)
{
    return n->op == CFX_CALL_FUNCTION && n->nargs == 2 && !n->nkwargs &&
           n->args[0].kind == CFX_NODE && n->args[1].kind == CFX_NODE &&
           (cfx_node_is(n, "matmul") || cfx_node_is(n, "mm"));
}

/* Return what is known of a node's value; NULL if nothing is. */
static const cfx_tensor *known(merger *m, const cfx_node *n)
{
    cfx_value v = cfx_node__known(n);
    if (v.kind != CFX_TENSOR && n->op == CFX_GET_ATTR &&
        cfx_module_fetch_attr(&v, m->p->gm, n->target->text, NULL))
        return NULL;
    return v.kind == CFX_TENSOR ? v.u.tensor : NULL;
}

static bool same_columns(const cfx_tensor *a, const cfx_tensor *b)
{
    if (a->rank != b->rank || a->dtype != b->dtype)
        return false;
    for (int i = 1; i < a->rank; i++)
        if (!cfx_dim_same(a->shape[i], b->shape[i]))
            return false;
    return true;
}

static bool shapes_fit(merger *m, const group *g)
{
    const cfx_tensor *first = known(m, m->node[g->first]->args[0].u.node);
    const cfx_tensor *w = known(m, m->node[g->first]->args[1].u.node);
    if (w ? w->rank != 2 : !m->assume)
        return false;
    if (first ? first->rank < 2 : !m->assume)
        return false;
    for (uint32_t i = g->first; i; i = m->next[i]) {
        const cfx_tensor *x = known(m, m->node[i]->args[0].u.node);
        if (x && first ? !same_columns(first, x) : !m->assume)
            return false;
    }
    return true;
}

static cfx_status join_group(merger *m, uint32_t i)
{
    const cfx_node *w = m->node[i]->args[1].u.node;
    char id[32];
    const char *key = w->target->text;
    bool added;
    if (w->op != CFX_GET_ATTR) {
        snprintf(id, sizeof(id), "%u", w->id);
        key = cfx_arena_strdup(&m->arena, id, strlen(id));
    }
    cfx_map_entry *e = key ? cfx_map_put(&m->groups, key, strlen(key), &added)
                           : NULL;
    if (!e)
        return cfx_no_memory(m->p->err);
    if (added) {
        e->v.u = m->ngroups++;
        m->group[e->v.u].first = i;
    } else {
        m->next[m->group[e->v.u].last] = i;
    }
    m->group[e->v.u].last = i;
    m->group[e->v.u].n++;
    return CFX_OK;
}

static cfx_status find_groups(merger *m)
{
    cfx_pass_call *p = m->p;
    uint32_t count = 0, i = 1;
    cfx_status st = CFX_OK;
    for (cfx_node *n = cfx_graph_first(p->graph); n && !st;
         n = cfx_node_next(n)) {
        cfx_effects e;
        m->effects[n->id] = count;
        st = cfx_node_effects(n, &e, p->err);
        count += !st && cfx_effects_any(&e);
        if (st || !is_product(n))
            continue;
        m->node[i] = n;
        st = join_group(m, i++);
    }
    return st;
}

static uint32_t vertex_of(merger *m, const cfx_node *n)
{
    return cfx_contraction__find(&m->c, m->number[n->id]);
}

/* Keep the products of a group that can be merged with the first. */
static void choose(merger *m, group *g)
{
    const cfx_node *first = m->node[g->first];
    uint32_t last = g->first;
    g->n = 1;
    for (uint32_t i = m->next[g->first]; i; i = m->next[i]) {
        const cfx_node *n = m->node[i];
        uint32_t one = vertex_of(m, first), joined;
        bool never;
        if (m->effects[n->id] != m->effects[first->id] ||
            vertex_of(m, n->args[0].u.node) == one ||
            vertex_of(m, n->args[1].u.node) == one ||
            !cfx_contraction__merge(&m->c, one, vertex_of(m, n), &joined,
                                    &never))
            continue;
        m->next[last] = i;
        last = i;
        g->n++;
    }
    m->next[last] = 0;
    g->last = last;
}

/* ---- Merging ---- */

/* Return the number of rows: an integer, or a node that computes it. */
static cfx_status rows_of(merger *m, cfx_node *n, cfx_value *out)
{
    const cfx_tensor *x = known(m, n);
    cfx_value args[] = {cfx_value_of_node(n), cfx_int(0)};
    if (x && cfx_dim_is_int(x->shape[0])) {
        *out = cfx_int(cfx_tensor_size(x, 0));
        return CFX_OK;
    }
    cfx_node *size = cfx_graph_call_method(m->p->graph, "size",
                                           cfx_args_of(args, 2), m->p->err);
    *out = size ? cfx_value_of_node(size) : CFX_NOTHING;
    m->p->changed++;
    return size ? CFX_OK : m->p->err->code;
}

static cfx_node *call_list(merger *m, const char *target, cfx_value first,
                           cfx_value *items, size_t n)
{
    cfx_pass_call *p = m->p;
    cfx_value list = cfx_list_new(p->ctx, n, items);
    cfx_value args[2] = {first, list};
    size_t skip = first.kind ? 0 : 1;
    cfx_node *made = NULL;
    if (list.kind)
        made = cfx_graph_call_function(
            p->graph, target, cfx_args_of(args + skip, 2 - skip), p->err);
    else
        cfx_no_memory(m->p->err);
    cfx_value_unref(list);
    m->p->changed++;
    return made;
}

/* Extract the part of the result for each product. */
static cfx_status make_items(merger *m, const group *g, cfx_node *parts,
                             cfx_value *items)
{
    cfx_pass_call *p = m->p;
    cfx_status st = CFX_OK;
    int64_t k = 0;
    for (uint32_t i = g->first; i && !st; i = m->next[i], k++) {
        cfx_value args[] = {cfx_value_of_node(parts), cfx_int(k)};
        cfx_node *item = cfx_graph_call_function(p->graph, "operator.getitem",
                                                 cfx_args_of(args, 2), p->err);
        st = item ? cfx_node_inherit(item, m->node[i], p->err) : p->err->code;
        if (!st)
            st = cfx_node_set_meta(item, "tensor_meta",
                                   cfx_node__known(m->node[i]), p->err);
        items[k] = cfx_value_of_node(item);
        p->changed++;
    }
    return st;
}

/* Move users of the results that come before `end` after it. Needs no
 * memory. */
static cfx_status move_users(merger *m, const group *g, const cfx_value *items,
                             cfx_node *end)
{
    size_t n = 0;
    cfx_status st = CFX_OK;
    for (size_t i = 0, k = 0; k < g->n || i < n;) {
        const cfx_node *at = k < g->n ? items[k++].u.node : m->late[i++];
        for (const cfx_use *u = at->first_user; u; u = u->next)
            if (cfx_node_before(u->user, end) && !m->is_late[u->user->id]) {
                m->is_late[u->user->id] = true;
                m->late[n++] = u->user;
            }
    }
    if (n > 1)
        qsort(m->late, n, sizeof(*m->late), cfx_extract__by_order);
    for (size_t i = 0; i < n && !st; i++) {
        m->is_late[m->late[i]->id] = false;
        st = cfx_node_append(end, m->late[i], m->p->err);
        end = m->late[i];
    }
    return st;
}

static cfx_status replace_products(merger *m, const group *g,
                                   const cfx_value *items, cfx_node *end)
{
    cfx_pass_call *p = m->p;
    cfx_status st = CFX_OK;
    size_t k = 0;
    for (uint32_t i = g->first; i && !st; i = m->next[i], k++)
        st = cfx_node_replace_all_uses_with(m->node[i], items[k].u.node, NULL,
                                            NULL, p->err);
    if (!st)
        st = move_users(m, g, items, end);
    for (uint32_t i = g->first; i && !st; i = m->next[i]) {
        cfx_node *w = m->node[i]->args[1].u.node;
        st = cfx_graph_erase_node(p->graph, m->node[i], p->err);
        if (!st)
            st = cfx_pass__drop_attrs(p, &w, 1);
        p->changed++;
    }
    return st;
}

/* Insert the new nodes before the last product. */
static cfx_status merge_group(merger *m, const group *g, cfx_value *items)
{
    cfx_pass_call *p = m->p;
    cfx_node *cat, *product, *parts, *last = m->node[g->first];
    const cfx_node *first = last;
    cfx_value args[2], *rows = items + g->n;
    cfx_status st = CFX_OK;
    size_t n = 0;
    for (uint32_t i = g->first; i; i = m->next[i])
        last = cfx_node_before(last, m->node[i]) ? m->node[i] : last;
    cfx_graph_inserting_before(p->graph, last);
    for (uint32_t i = g->first; i && !st; i = m->next[i], n++) {
        items[n] = m->node[i]->args[0];
        st = rows_of(m, items[n].u.node, &rows[n]);
    }
    if (st)
        return st;
    cat = call_list(m, "torch.cat", CFX_NOTHING, items, n);
    if (!cat)
        return p->err->code;
    args[0] = cfx_value_of_node(cat);
    args[1] = first->args[1];
    product = cfx_graph_call_function(p->graph, first->target->text,
                                      cfx_args_of(args, 2), p->err);
    if (!product || cfx_node_inherit(product, first, p->err))
        return p->err->code;
    parts = call_list(m, "torch.split", cfx_value_of_node(product), rows, n);
    if (!parts)
        return p->err->code;
    st = make_items(m, g, parts, items);
    return st ? st : replace_products(m, g, items, last);
}

/* Select all groups first, while positions are those of the graph. */
static cfx_status merge_groups(merger *m)
{
    cfx_pass_call *p = m->p;
    cfx_status st = CFX_OK;
    for (uint32_t i = 0; i < m->ngroups; i++) {
        if (m->group[i].n > 1 && shapes_fit(m, &m->group[i]))
            choose(m, &m->group[i]);
        else
            m->group[i].n = 0;
    }
    for (uint32_t i = 0; i < m->ngroups && !st; i++) {
        const group *g = &m->group[i];
        size_t bytes = 2 * (size_t)g->n * sizeof(cfx_value);
        if (g->n < 2)
            continue;
        cfx_value *items = cfx_alloc(p->ctx, bytes);
        if (!items)
            return cfx_no_memory(m->p->err);
        cfx_insert_point at = cfx_graph_inserting_before(p->graph, NULL);
        st = merge_group(m, g, items);
        cfx_graph_restore(p->graph, at);
        cfx_free(p->ctx, items, bytes);
    }
    return st;
}

static cfx_status prepare(merger *m)
{
    const cfx_graph *graph = m->p->graph;
    size_t ids = (size_t)cfx_graph_ids(graph) + 1;
    uint32_t i = 0;
    cfx_arena *a = &m->arena;
    m->node = cfx_arena_alloc(a, ids * sizeof(*m->node));
    m->next = cfx_arena_alloc(a, ids * sizeof(*m->next));
    m->number = cfx_arena_alloc(a, ids * sizeof(*m->number));
    m->effects = cfx_arena_alloc(a, ids * sizeof(*m->effects));
    m->group = cfx_arena_alloc(a, ids * sizeof(*m->group));
    /* Merging n products makes fewer than 5 n nodes. */
    m->is_late = cfx_arena_alloc(a, 6 * ids * sizeof(*m->is_late));
    m->late = cfx_arena_alloc(a, 6 * ids * sizeof(*m->late));
    if (!m->node || !m->next || !m->number || !m->effects || !m->group ||
        !m->is_late || !m->late)
        return cfx_no_memory(m->p->err);
    memset(m->is_late, 0, 6 * ids * sizeof(*m->is_late));
    memset(m->next, 0, ids * sizeof(*m->next));
    memset(m->group, 0, ids * sizeof(*m->group));
    for (const cfx_node *n = cfx_graph_first(graph); n; n = cfx_node_next(n))
        m->number[n->id] = i++;
    return cfx_contraction__init(&m->c, graph, m->number, m->p->err);
}

static cfx_status merge_matmul_run(cfx_pass_call *p)
{
    merger m = {.p = p, .assume = p->in[0].u.i};
    cfx_arena_init(&m.arena, p->ctx);
    cfx_map_init(&m.groups, p->ctx);
    cfx_status st = prepare(&m);
    if (!st)
        st = find_groups(&m);
    if (!st)
        st = merge_groups(&m);
    cfx_contraction__release(&m.c);
    cfx_map_release(&m.groups);
    cfx_arena_release(&m.arena);
    return st;
}

const cfx_pass cfx_pass__merge_matmul = {
    .abi = CFX_ABI(cfx_pass),
    .schema = "merge_matmul(bool assume=False)",
    .doc =
        "Merge products with one matrix into one product of the joined operands; assume: also if shapes are not known.",
    .flags = CFX_PASS_ROUNDS,
    .run = merge_matmul_run,
};
