/*
 * find -- nodes by opcode and target.
 *
 * Equal strings of a store are one object: targets are compared by address,
 * and a target that is not in the store belongs to no node.
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
    while (n && (n->op != op || (wanted && n->target.u.str->text != wanted)))
        n = cfx_node_next(n);
    return n;
}
