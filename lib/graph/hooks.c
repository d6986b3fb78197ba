/*
 * hooks -- callbacks on edits of a graph.
 *
 * A hook may add and remove hooks, also itself: hooks that are removed during
 * a call are marked, and freed after the last call.
 */
#include "graph/graph_impl.h"

struct cfx_hooks {
    cfx_hooks *next;
    const cfx_graph_hooks *hooks; /* NULL: removed */
    void *data;
};

cfx_status cfx_graph_add_hooks(cfx_graph *g, const cfx_graph_hooks *hooks,
                               void *data, cfx_error *err)
{
    cfx_hooks *made = cfx_alloc(g->ctx, sizeof(*made));
    cfx_hooks **last = &g->hooks;
    if (!made)
        return cfx_no_memory(err);
    *made = (cfx_hooks){.hooks = hooks, .data = data};
    while (*last)
        last = &(*last)->next;
    *last = made;
    return CFX_OK;
}

/* Free removed entries. */
static void sweep(cfx_graph *g)
{
    for (cfx_hooks **at = &g->hooks; *at;) {
        cfx_hooks *h = *at;
        if (h->hooks) {
            at = &h->next;
            continue;
        }
        *at = h->next;
        cfx_free(g->ctx, h, sizeof(*h));
    }
    g->hooks_removed = false;
}

void cfx_graph_remove_hooks(cfx_graph *g, const cfx_graph_hooks *hooks,
                            void *data)
{
    cfx_hooks *last = NULL;
    for (cfx_hooks *h = g->hooks; h; h = h->next)
        if (h->hooks == hooks && h->data == data)
            last = h;
    if (!last)
        return;
    last->hooks = NULL;
    g->hooks_removed = true;
    if (!g->calling)
        sweep(g);
}

void cfx_graph__free_hooks(cfx_graph *g)
{
    for (cfx_hooks *h = g->hooks; h; h = h->next)
        h->hooks = NULL;
    sweep(g);
}

/* A table compiled for an older version may lack the last hooks. */
#define HAS(hooks_, member)                                                   \
    ((hooks_)->size >=                                                        \
         offsetof(cfx_graph_hooks, member) + sizeof((hooks_)->member) &&      \
     (hooks_)->member)

void cfx_graph__call_hooks(cfx_event event, cfx_node *n, cfx_node *with,
                           const char *name, cfx_node *user)
{
    cfx_graph *g = n->graph;
    g->calling++;
    for (cfx_hooks *h = g->hooks; h; h = h->next) {
        const cfx_graph_hooks *hooks = h->hooks;
        if (!hooks)
            continue;
        if (event == CFX_CREATED && HAS(hooks, created))
            hooks->created(h->data, n);
        else if (event == CFX_ERASED && HAS(hooks, erased))
            hooks->erased(h->data, n);
        else if (event == CFX_REPLACED && HAS(hooks, replaced))
            hooks->replaced(h->data, n, with, name, user);
    }
    if (!--g->calling && g->hooks_removed)
        sweep(g);
}
