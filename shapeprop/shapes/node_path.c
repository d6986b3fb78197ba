/*
 * node_path -- find the module that a node comes from.
 *
 * Every path is a prefix of one stored in a node, so no memory is needed.
 */
#include <cfx/shape_prop.h>

#include <string.h>

#include "graph/provenance.h"

static size_t parent_of(const char *path, size_t len)
{
    while (len && path[len - 1] != '.')
        len--;
    return len ? len - 1 : 0;
}

/* Return the length of the common prefix of two paths, in whole atoms. */
static size_t common(const cfx_node_path *a, const cfx_node_path *b)
{
    size_t i = 0, whole = 0;
    while (i < a->len && i < b->len && a->path[i] == b->path[i]) {
        i++;
        bool ends_a = i == a->len || a->path[i] == '.';
        if (ends_a && (i == b->len || b->path[i] == '.'))
            whole = i;
    }
    return whole;
}

enum { WEIGHT_STEPS = 4 }; /* views and casts between a weight and its use */

/* Return the get_attr node whose value `n` returns, perhaps through views and
 * casts; or NULL. */
static const cfx_node *fetched_attr(const cfx_node *n)
{
    for (int i = 0; i < WEIGHT_STEPS && n->op != CFX_GET_ATTR; i++) {
        if ((n->op != CFX_CALL_FUNCTION && n->op != CFX_CALL_METHOD) ||
            n->ninputs != 1)
            return NULL;
        n = cfx_node_input(n, 0);
    }
    return n->op == CFX_GET_ATTR ? n : NULL;
}

/* Find the innermost module around all state that a call takes, which is all
 * that exports show. False if it takes none. */
static bool owner_of_state(const cfx_node *n, cfx_node_path *own)
{
    bool any = false;
    for (uint32_t i = 0; i < n->ninputs; i++) {
        const cfx_node *attr = fetched_attr(cfx_node_input(n, i));
        if (!attr)
            continue;
        const cfx_string *target = attr->target;
        cfx_node_path path = {target->text,
                              parent_of(target->text, target->len)};
        if (any)
            path.len = common(&path, own);
        *own = path;
        any = true;
    }
    return any;
}

/* Find the path that the node itself stores. `around` is the module that
 * contains the node; for a call_module not the one that it calls. */
static bool stored_path(const cfx_node *n, cfx_node_path *own,
                        cfx_node_path *around)
{
    const cfx_string *stack;
    *own = (cfx_node_path){"", 0};
    if (n->op == CFX_CALL_MODULE || n->op == CFX_GET_ATTR) {
        const cfx_string *target = n->target;
        *around = (cfx_node_path){target->text,
                                  parent_of(target->text, target->len)};
        *own = *around;
        if (n->op == CFX_CALL_MODULE)
            own->len = target->len;
        return true;
    }
    if (n->op != CFX_PLACEHOLDER && n->op != CFX_OUTPUT) {
        stack = cfx_node__innermost_module(n);
        if (stack)
            *own = (cfx_node_path){stack->text, stack->len};
        else if (!owner_of_state(n, own))
            return false;
    }
    *around = *own;
    return true;
}

void cfx_graph_node_paths(const cfx_graph *g, cfx_node_path *paths)
{
    const cfx_node *open = NULL; /* first of the nodes without a path */
    cfx_node_path before = {"", 0}, around;
    memset(paths, 0, cfx_graph_ids(g) * sizeof(*paths));
    for (const cfx_node *n = cfx_graph_first(g); n; n = cfx_node_next(n)) {
        if (!stored_path(n, &paths[n->id], &around)) {
            open = open ? open : n;
            continue;
        }
        before.len = common(&before, &around);
        for (; open && open != n; open = cfx_node_next(open))
            paths[open->id] = before;
        open = NULL;
        before = around;
    }
    for (; open; open = cfx_node_next(open))
        paths[open->id] = (cfx_node_path){"", 0};
}
