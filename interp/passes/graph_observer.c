/*
 * graph_observer -- record the changes to a graph.
 */
#include <cfx/pass_manager.h>

#include <string.h>

#include "base/util.h"

/* Hooks cannot fail; lack of memory sets `failed`. */

static void on_created(void *data, cfx_node *n)
{
    cfx_graph_observer *o = data;
    if (cfx_grow(o->ctx, o->created, o->created_cap, o->ncreated + 1, NULL))
        o->failed = true;
    else
        o->created[o->ncreated++] = n;
}

static void on_erased(void *data, cfx_node *n)
{
    cfx_graph_observer *o = data;
    if (cfx_grow(o->ctx, o->erased, o->erased_cap, o->nerased + 1, NULL))
        o->failed = true;
    else
        o->erased[o->nerased++] = n;
}

/* Without `with`, the node was renamed. */
static void on_replaced(void *data, cfx_node *old, cfx_node *with,
                        const char *name, cfx_node *user)
{
    cfx_graph_observer *o = data;
    size_t n = o->nreplaced;
    (void)name;
    (void)user;
    if (!with)
        return;
    o->uses++;
    if (n && o->replaced[n - 1].old == old && o->replaced[n - 1].with == with)
        return;
    if (cfx_grow(o->ctx, o->replaced, o->replaced_cap, n + 1, NULL))
        o->failed = true;
    else
        o->replaced[o->nreplaced++] = (struct cfx_replaced){old, with};
}

static const cfx_graph_hooks hooks = {
    .size = sizeof(cfx_graph_hooks),
    .created = on_created,
    .erased = on_erased,
    .replaced = on_replaced,
};

cfx_status cfx_graph_observer_init(cfx_graph_observer *o, cfx_graph *g,
                                   cfx_error *err)
{
    memset(o, 0, sizeof(*o));
    cfx_status st = cfx_graph_add_hooks(g, &hooks, o, err);
    if (!st) {
        o->ctx = cfx_graph_context(g);
        o->graph = g;
    }
    return st;
}

void cfx_graph_observer_release(cfx_graph_observer *o)
{
    if (!o->ctx)
        return;
    if (o->graph)
        cfx_graph_remove_hooks(o->graph, &hooks, o);
    cfx_free(o->ctx, o->created, o->created_cap * sizeof(*o->created));
    cfx_free(o->ctx, o->erased, o->erased_cap * sizeof(*o->erased));
    cfx_free(o->ctx, o->replaced, o->replaced_cap * sizeof(*o->replaced));
    memset(o, 0, sizeof(*o));
}

/* A node that has the name of the one that it replaces needs no from_node. */
cfx_status cfx_graph_observer_inherit(cfx_graph_observer *o, cfx_error *err)
{
    uint32_t ids = cfx_graph_ids(o->graph);
    bool *is_new = cfx_calloc(o->ctx, (size_t)ids + 1, 1);
    cfx_status st = CFX_OK;
    if (!is_new || o->failed)
        st = cfx_no_memory(err);
    for (size_t i = 0; i < o->ncreated && !st; i++)
        is_new[o->created[i]->id] =
            !cfx_node_meta(o->created[i], "from_node").kind;
    for (size_t i = 0; i < o->nreplaced && !st; i++) {
        struct cfx_replaced r = o->replaced[i];
        if (is_new[r.with->id] && !r.with->erased &&
            strcmp(r.with->name, r.old->name) != 0)
            st = cfx_node_inherit(r.with, r.old, err);
    }
    cfx_free(o->ctx, is_new, (size_t)ids + 1);
    return st;
}
