/*
 * cost_groups -- sums over groups of nodes.
 *
 * A node belongs to one group and counts in it and in all enclosing groups.
 * Modules and the total have the parameters that PyTorch counts, whether or not
 * a node reads them; operators have those that their nodes read. A shared one
 * counts once per group: parameters are sorted, and go up to a group that has
 * them.
 */
#include <stdlib.h>

#include "graph/provenance.h"
#include "shapeprop/cost/cost_impl.h"

/* Inputs of group keys. */
struct cfx_cost_names {
    cfx_arena arena;
    cfx_map by_key; /* index of each group */
};

const char *cfx_cost_operator(const cfx_node *n, const cfx_module *gm)
{
    const char *target = n->target->text;
    const cfx_module *m = NULL;
    if (n->op == CFX_PLACEHOLDER || n->op == CFX_OUTPUT ||
        n->op == CFX_GET_ATTR)
        return cfx_opcode_names[n->op];
    if (n->op == CFX_CALL_MODULE)
        m = cfx_module_at(gm, target);
    return m ? cfx_module_class_name(m) : target;
}

/* ---- Sums ---- */

cfx_cost_sum cfx_cost__no_sum(void)
{
    cfx_dim zero = cfx_dim_int(0);
    return (cfx_cost_sum){.cost = cfx_cost__none(),
                          .parameters = zero,
                          .parameter_bytes = zero,
                          .buffer_bytes = zero};
}

void cfx_cost__add_tensor(cfx_shape_env *env, cfx_cost_sum *sum,
                          const cfx_cost_weight *w)
{
    cfx_dim n = cfx_dim_int(1), bytes;
    for (int i = 0; i < w->tensor->rank; i++)
        n = cfx_dim_mul(env, n, w->tensor->shape[i]);
    bytes = cfx_dim_mul(
        env, n,
        cfx_dim_int((int64_t)cfx_dtype_size((cfx_dtype)w->tensor->dtype)));
    if (w->buffer) {
        sum->buffer_bytes = cfx_dim_add(env, sum->buffer_bytes, bytes);
        return;
    }
    sum->parameters = cfx_dim_add(env, sum->parameters, n);
    sum->parameter_bytes = cfx_dim_add(env, sum->parameter_bytes, bytes);
}

/* A weight, and the index of its group or -1. */
typedef struct holding {
    cfx_cost_weight w;
    int64_t group;
} holding;

typedef struct holdings {
    cfx_context *ctx;
    holding *item;
    size_t n, cap;
} holdings;

static int by_tensor(const void *a, const void *b)
{
    const holding *x = a, *y = b;
    uintptr_t p = (uintptr_t)x->w.tensor, q = (uintptr_t)y->w.tensor;
    return p != q ? (p > q) - (p < q)
                  : (x->group > y->group) - (x->group < y->group);
}

static bool make_room(holdings *h, cfx_context *ctx, size_t cap)
{
    *h = (holdings){.ctx = ctx, .cap = cap};
    h->item = cfx_calloc(ctx, cap + 1, sizeof(*h->item));
    return h->item != NULL;
}

static void holdings_release(holdings *h)
{
    cfx_free(h->ctx, h->item, (h->cap + 1) * sizeof(*h->item));
}

/* List the weights that nodes read, with the group of the node. */
static cfx_status of_nodes(holdings *h, const cfx_cost_groups *g,
                           const cfx_cost_prop *p, cfx_error *err)
{
    size_t cap = 0;
    for (size_t i = 0; i < p->nnodes; i++)
        cap += p->node[i].nweights;
    if (!make_room(h, g->ctx, cap))
        return cfx_no_memory(err);
    for (size_t i = 0; i < p->nnodes; i++)
        for (size_t k = 0; k < p->node[i].nweights; k++)
            h->item[h->n++] = (holding){p->node[i].weight[k], g->of[i]};
    return CFX_OK;
}

/* Find the group of a module, or of the nearest enclosing module with nodes; -1
 * if there is none. False on lack of memory. */
static bool group_around(int64_t *group, const cfx_cost_groups *g,
                         const cfx_module *m)
{
    size_t len = cfx_module_path(m, NULL, 0), size = len + 1;
    char *path = cfx_alloc(g->ctx, size);
    const cfx_map_entry *e;
    if (!path)
        return false;
    cfx_module_path(m, path, size);
    while (!(e = cfx_map_get(&g->names->by_key, path, len)) && len) {
        while (len && path[len - 1] != '.')
            len--;
        len -= len > 0;
    }
    *group = e ? (int64_t)e->v.u : -1;
    cfx_free(g->ctx, path, size);
    return true;
}

/* List all weights of the model with their modules' groups; `g` may be NULL. */
static cfx_status of_tree(holdings *h, const cfx_cost_groups *g,
                          const cfx_cost_prop *p, cfx_error *err)
{
    const cfx_module *root = p->base.base.module, *m;
    size_t cap = 0;
    for (m = root; m; m = cfx_module_next(m, root))
        cap += cfx_module_nstate(m);
    if (!make_room(h, p->self->scope.base.ctx, cap))
        return cfx_no_memory(err);
    for (m = root; m; m = cfx_module_next(m, root)) {
        size_t n = cfx_module_nstate(m);
        int64_t group = -1;
        if (g && n && !group_around(&group, g, m)) {
            holdings_release(h);
            return cfx_no_memory(err);
        }
        for (size_t i = 0; i < n; i++) {
            const cfx_state *s = cfx_module_state_at(m, i);
            if (s->tensor)
                h->item[h->n++] = (holding){{s->tensor, s->is_buffer}, group};
        }
    }
    return CFX_OK;
}

cfx_status cfx_cost_prop_total(cfx_cost_sum *out, const cfx_cost_prop *p,
                               cfx_error *err)
{
    cfx_shape_env *env = p->self->scope.base.env;
    holdings h;
    *out = cfx_cost__no_sum();
    cfx_status st = of_tree(&h, NULL, p, err);
    if (st)
        return st;
    qsort(h.item, h.n, sizeof(*h.item), by_tensor);
    for (size_t i = 0; i < h.n; i++)
        if (!i || h.item[i].w.tensor != h.item[i - 1].w.tensor)
            cfx_cost__add_tensor(env, out, &h.item[i].w);
    holdings_release(&h);
    for (size_t i = 0; i < p->nnodes; i++)
        cfx_cost_add(env, &out->cost, &p->node[i].cost);
    out->nodes = p->nnodes;
    return CFX_OK;
}

/* ---- Groups ---- */

static cfx_cost_group *around(const cfx_cost_groups *g, int64_t i)
{
    return i < 0 ? NULL : &g->group[i];
}

static cfx_status sum_weights(cfx_cost_groups *g, const cfx_cost_prop *p,
                              cfx_cost_by by, cfx_error *err)
{
    cfx_shape_env *env = p->self->scope.base.env;
    holdings h = {0};
    size_t *stamp = cfx_calloc(g->ctx, g->n + 1, sizeof(*stamp));
    cfx_status st = !stamp                     ? cfx_no_memory(err)
                    : by == CFX_COST_BY_MODULE ? of_tree(&h, g, p, err)
                                               : of_nodes(&h, g, p, err);
    if (!st)
        qsort(h.item, h.n, sizeof(*h.item), by_tensor);
    for (size_t i = 0, turn = 1; !st && i < h.n; i++) {
        turn += i && h.item[i].w.tensor != h.item[i - 1].w.tensor;
        for (int64_t k = h.item[i].group; k >= 0 && stamp[k] != turn;
             k = g->group[k].parent) {
            stamp[k] = turn;
            cfx_cost__add_tensor(env, &g->group[k].sum, &h.item[i].w);
        }
    }
    if (!st)
        holdings_release(&h);
    cfx_free(g->ctx, stamp, (g->n + 1) * sizeof(*stamp));
    return st;
}

static void sum_costs(cfx_cost_groups *g, const cfx_cost_prop *p)
{
    cfx_shape_env *env = p->self->scope.base.env;
    cfx_cost_group *k;
    for (size_t i = 0; i < p->nnodes; i++)
        for (k = around(g, g->of[i]); k; k = around(g, k->parent)) {
            cfx_cost_add(env, &k->sum.cost, &p->node[i].cost);
            k->sum.nodes++;
        }
}

/* Return the group of a key, or -1 on lack of memory. */
static int64_t group_of(cfx_cost_groups *g, const char *key, size_t len,
                        int64_t parent, bool *added)
{
    cfx_map_entry *e = cfx_map_get(&g->names->by_key, key, len);
    *added = !e;
    if (e)
        return (int64_t)e->v.u;
    char *kept = cfx_arena_strdup(&g->names->arena, key, len);
    if (!kept || cfx_grow(g->ctx, g->group, g->cap, g->n + 1, NULL))
        return -1;
    e = cfx_map_put(&g->names->by_key, kept, len, NULL);
    if (!e)
        return -1;
    g->group[g->n] = (cfx_cost_group){
        .key = kept,
        .parent = parent,
        .sum = cfx_cost__no_sum(),
        .depth = parent < 0 ? 0 : g->group[parent].depth + 1};
    e->v.u = g->n;
    return (int64_t)g->n++;
}

static cfx_status group_operators(cfx_cost_groups *g, const cfx_cost_prop *p,
                                  cfx_error *err)
{
    bool added;
    for (size_t i = 0; i < p->nnodes; i++) {
        const cfx_node *n = p->node[i].node;
        const char *key = cfx_cost_operator(n, p->base.base.module);
        g->of[i] = -1;
        if (n->op == CFX_PLACEHOLDER || n->op == CFX_OUTPUT ||
            n->op == CFX_GET_ATTR)
            continue;
        g->of[i] = group_of(g, key, strlen(key), -1, &added);
        if (g->of[i] < 0)
            return cfx_no_memory(err);
    }
    return CFX_OK;
}

/* Return the group of a path; groups of its prefixes come first. */
static int64_t group_of_path(cfx_cost_groups *g, const cfx_module *root,
                             const cfx_node_path *p)
{
    bool added;
    int64_t at = group_of(g, "", 0, -1, &added);
    if (at >= 0 && added)
        g->group[at].type = cfx_module_class_name(root);
    for (size_t i = 1; i <= p->len && at >= 0; i++) {
        if (i < p->len && p->path[i] != '.')
            continue;
        at = group_of(g, p->path, i, at, &added);
        const cfx_module *m = at >= 0 && added
                                  ? cfx_module_at(root, g->group[at].key)
                                  : NULL;
        if (m)
            g->group[at].type = cfx_module_class_name(m);
    }
    return at;
}

/* An exported program has no modules: the tree holds containers for its state.
 * Their types stand in the nodes' meta. */
static void name_types(cfx_cost_groups *g, int64_t at, const cfx_node *n)
{
    for (cfx_cost_group *k = around(g, at); k; k = around(g, k->parent)) {
        const char *type = cfx_node__module_class(n, k->key, strlen(k->key));
        if (type)
            k->type = type;
    }
}

static cfx_status group_modules(cfx_cost_groups *g, const cfx_cost_prop *p,
                                cfx_error *err)
{
    const cfx_graph *graph = p->base.base.graph;
    size_t size = cfx_graph_ids(graph) * sizeof(cfx_node_path);
    cfx_node_path *path = cfx_alloc(g->ctx, size);
    cfx_status st = path ? CFX_OK : cfx_no_memory(err);
    if (!st)
        cfx_graph_node_paths(graph, path);
    for (size_t i = 0; i < p->nnodes && !st; i++) {
        g->of[i] = group_of_path(g, p->base.base.module,
                                 &path[p->node[i].node->id]);
        if (g->of[i] < 0)
            st = cfx_no_memory(err);
        else
            name_types(g, g->of[i], p->node[i].node);
    }
    cfx_free(g->ctx, path, size);
    return st;
}

cfx_status cfx_cost_groups_make(cfx_cost_groups *g, const cfx_cost_prop *p,
                                cfx_cost_by by, cfx_error *err)
{
    cfx_context *ctx = p->self->scope.base.ctx;
    *g = (cfx_cost_groups){.ctx = ctx, .nnodes = p->nnodes};
    g->of = cfx_calloc(ctx, p->nnodes + 1, sizeof(*g->of));
    g->names = cfx_calloc(ctx, 1, sizeof(*g->names));
    if (g->names) {
        cfx_map_init(&g->names->by_key, ctx);
        cfx_arena_init(&g->names->arena, ctx);
    }
    cfx_status st = !g->of || !g->names        ? cfx_no_memory(err)
                    : by == CFX_COST_BY_MODULE ? group_modules(g, p, err)
                                               : group_operators(g, p, err);
    if (!st) {
        sum_costs(g, p);
        st = sum_weights(g, p, by, err);
    }
    if (st)
        cfx_cost_groups_release(g);
    return st;
}

void cfx_cost_groups_release(cfx_cost_groups *g)
{
    if (g->names) {
        cfx_arena_release(&g->names->arena);
        cfx_map_release(&g->names->by_key);
        cfx_free(g->ctx, g->names, sizeof(*g->names));
    }
    if (g->ctx) {
        cfx_free(g->ctx, g->group, g->cap * sizeof(*g->group));
        cfx_free(g->ctx, g->of, (g->nnodes + 1) * sizeof(*g->of));
    }
    *g = (cfx_cost_groups){0};
}
