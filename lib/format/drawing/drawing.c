/*
 * drawing -- which nodes a picture shows, and in which clusters.
 *
 * A path of more than MAX_DEPTH parts is cut, so that the clusters of a node
 * are found in constant time.
 */
#include "format/drawing/drawing.h"

#include "graph/provenance.h"

enum { MAX_DEPTH = 8 };

/* ---- Clusters ---- */

static bool grow(cfx_drawing *d)
{
    if (d->nclusters < d->cap)
        return true;
    size_t cap = d->cap ? 2 * d->cap : 32;
    cfx_cluster *more = cfx_arena_alloc(&d->arena, cap * sizeof(*more));
    if (!more)
        return false;
    if (d->nclusters)
        memcpy(more, d->clusters, d->nclusters * sizeof(*more));
    d->clusters = more;
    d->cap = cap;
    return true;
}

/* The cluster of the first `len` bytes of a path, whose parent is there. */
static uint32_t add_cluster(cfx_drawing *d, const char *path, size_t len,
                            uint32_t parent)
{
    cfx_map_entry *e = cfx_map_get(&d->by_path, path, len);
    if (e)
        return (uint32_t)e->v.u;
    char *key = cfx_arena_strdup(&d->arena, path, len);
    if (!key || !grow(d) || !(e = cfx_map_put(&d->by_path, key, len, NULL)))
        return CFX_NO_INDEX;
    const char *dot = strrchr(key, '.');
    d->clusters[d->nclusters] = (cfx_cluster){
        .path = key,
        .name = dot ? dot + 1 : key,
        .parent = parent,
        .depth = len ? d->clusters[parent].depth + 1 : 0,
        .module = cfx_module_at(d->gm, key)};
    e->v.u = d->nclusters;
    return (uint32_t)d->nclusters++;
}

static uint32_t find_cluster(cfx_drawing *d, const char *path, size_t len)
{
    uint32_t at = 0;
    int depth = 0;
    for (size_t i = 0; i <= len && at != CFX_NO_INDEX && depth < MAX_DEPTH;
         i++)
        if (len && (i == len || path[i] == '.')) {
            at = add_cluster(d, path, i, at);
            depth++;
        }
    return at;
}

/* ---- Where a node was made ---- */

/* The cluster in the node's target or meta, or CFX_NO_INDEX; false when out of
 * memory. */
static bool own_cluster(cfx_drawing *d, const cfx_node *n, uint32_t *out)
{
    const cfx_string *stack;
    *out = 0;
    if (n->op == CFX_PLACEHOLDER || n->op == CFX_OUTPUT || d->how.no_clusters)
        return true;
    if (n->op == CFX_CALL_MODULE || n->op == CFX_GET_ATTR) {
        const char *path = n->target->text, *dot = strrchr(path, '.');
        *out = find_cluster(d, path, dot ? (size_t)(dot - path) : 0);
        return *out != CFX_NO_INDEX;
    }
    stack = cfx_node__innermost_module(n);
    *out = stack ? find_cluster(d, stack->text, stack->len) : CFX_NO_INDEX;
    return !stack || *out != CFX_NO_INDEX;
}

static uint32_t common(const cfx_drawing *d, uint32_t a, uint32_t b)
{
    while (a != b) {
        if (d->clusters[a].depth >= d->clusters[b].depth)
            a = d->clusters[a].parent;
        else
            b = d->clusters[b].parent;
    }
    return a;
}

/* A node without a cluster is in that of both its neighbours. */
static void fill_clusters(cfx_drawing *d)
{
    uint32_t before = 0;
    for (size_t i = 0; i < d->n; i++) {
        if (d->cluster[i] != CFX_NO_INDEX) {
            before = d->cluster[i];
            continue;
        }
        size_t end = i;
        while (end < d->n && d->cluster[end] == CFX_NO_INDEX)
            end++;
        uint32_t at = end < d->n ? common(d, before, d->cluster[end]) : 0;
        while (i < end)
            d->cluster[i++] = at;
        i--;
    }
}

/* ---- The whole ---- */

static bool collect(cfx_drawing *d)
{
    size_t len = cfx_graph_len(d->graph);
    d->node = cfx_arena_alloc(&d->arena, (len + 1) * sizeof(*d->node));
    d->cluster = cfx_arena_alloc(&d->arena, (len + 1) * sizeof(*d->cluster));
    if (!d->node || !d->cluster || add_cluster(d, "", 0, 0) == CFX_NO_INDEX)
        return false;
    for (const cfx_node *n = cfx_graph_first(d->graph); n;
         n = cfx_node_next(n)) {
        if (d->how.ignore_getattr && n->op == CFX_GET_ATTR)
            continue;
        if (!own_cluster(d, n, &d->cluster[d->n]))
            return false;
        d->node[d->n++] = n;
    }
    fill_clusters(d);
    return true;
}

cfx_status cfx_drawing_init(cfx_drawing *d, const cfx_module *gm,
                            const cfx_picture_options *how, cfx_error *err)
{
    *d = (cfx_drawing){.ctx = cfx_module_context(gm),
                       .gm = gm,
                       .graph = cfx_graph_module_graph(gm)};
    if (how)
        d->how = *how;
    cfx_arena_init(&d->arena, d->ctx);
    cfx_map_init(&d->by_path, d->ctx);
    if (!d->graph)
        return cfx_fail(err, CFX_EINVAL, "%s has no graph",
                        cfx_module_class_name(gm));
    if (!collect(d))
        return cfx_no_memory(err);
    return CFX_OK;
}

void cfx_drawing_release(cfx_drawing *d)
{
    cfx_map_release(&d->by_path);
    cfx_arena_release(&d->arena);
}
