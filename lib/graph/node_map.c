/*
 * node_map -- from the nodes of one graph to values.
 */
#include "graph/graph_impl.h"

void cfx_node_map_init(cfx_node_map *map, const cfx_graph *g)
{
    *map = (cfx_node_map){.graph = g};
}

void cfx_node_map_release(cfx_node_map *map)
{
    for (uint32_t i = 0; i < map->cap; i++)
        cfx_value_unref(map->value[i]);
    if (map->value)
        cfx_free(map->graph->ctx, map->value, map->cap * sizeof(*map->value));
    map->value = NULL;
    map->cap = 0;
}

/* Reserve space for all ids of the graph, and some new ones. */
cfx_status cfx_node_map__reserve(cfx_node_map *map, const cfx_node *n,
                                 cfx_error *err)
{
    const cfx_graph *g = map->graph;
    if (n->graph != g)
        return cfx_fail(err, CFX_EGRAPH,
                        "Node '%s' does not belong to the Graph of the map",
                        n->name);
    if (n->id < map->cap)
        return CFX_OK;
    size_t cap = map->cap ? (size_t)g->ids + g->ids / 2 : g->ids;
    if (cap > UINT32_MAX)
        cap = UINT32_MAX;
    cfx_value *value = cfx_realloc(
        g->ctx, map->value, map->cap * sizeof(*value), cap * sizeof(*value));
    if (!value)
        return cfx_no_memory(err);
    for (size_t i = map->cap; i < cap; i++)
        value[i] = CFX_NOTHING;
    map->value = value;
    map->cap = (uint32_t)cap;
    return CFX_OK;
}

cfx_status cfx_node_map_set(cfx_node_map *map, const cfx_node *n, cfx_value v,
                            cfx_error *err)
{
    if (cfx_value_is_absent(v) && n->graph == map->graph && n->id >= map->cap)
        return CFX_OK;
    cfx_status st = cfx_node_map__reserve(map, n, err);
    if (st)
        return st;
    cfx_value old = map->value[n->id];
    map->value[n->id] = cfx_value_ref(v);
    cfx_value_unref(old);
    return CFX_OK;
}

/* The parameters of a translation. */
typedef struct translation {
    const cfx_node_map *map;
    cfx_error *err;
} translation;

static cfx_status translate(void *user, cfx_value v, cfx_value *out)
{
    const translation *t = user;
    if (v.kind == CFX_NODE) {
        const cfx_node *n = v.u.node;
        v = cfx_node_map_get(t->map, n);
        if (v.kind == CFX_ABSENT)
            return cfx_fail(t->err, CFX_EGRAPH, "Node '%s' has no counterpart",
                            n->name);
    }
    *out = cfx_value_ref(v);
    return CFX_OK;
}

cfx_status cfx_node_map_value(cfx_value *out, const cfx_node_map *map,
                              cfx_value v, cfx_error *err)
{
    translation t = {map, err};
    return cfx_value_map(out, map->graph->ctx, v, translate, &t, err);
}
