/*
 * find -- nodes by opcode and target.
 *
 * The store interns strings: targets are compared by address, and no node has
 * a target that is not in the store.
 */
#include "graph/graph_impl.h"

cfx_node *cfx_graph_find_nodes(const cfx_graph *g, cfx_opcode op,
                               const char *target, const cfx_node *after)
{
    const char *wanted = NULL;
    if (target) {
        const cfx_map_entry *entry = cfx_map_get(&g->store.strings, target,
                                                 strlen(target));
        if (!entry)
            return NULL;
        wanted = entry->key;
    }
    cfx_node *n = after ? cfx_node_next(after) : cfx_graph_first(g);
    while (n && (n->op != op || (wanted && n->target->text != wanted)))
        n = cfx_node_next(n);
    return n;
}
