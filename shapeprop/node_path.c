/*
 * node_path -- which module a node stems from.
 *
 * Every path is the beginning of one that some node tells: no memory is needed.
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

/* How many bytes of whole names two paths have in common. */
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

/* What the node itself tells. `around` is the module in which it stands, of a
 * call_module not the one that it calls. */
static bool tells(const cfx_node *n, cfx_node_path *own, cfx_node_path *around)
{
    const cfx_string *stack;
    *own = (cfx_node_path){"", 0};
    if (n->op == CFX_CALL_MODULE || n->op == CFX_GET_ATTR) {
        const cfx_string *target = n->target.u.str;
        *around = (cfx_node_path){target->text,
                                  parent_of(target->text, target->len)};
        *own = *around;
        if (n->op == CFX_CALL_MODULE)
            own->len = target->len;
        return true;
    }
    if (n->op != CFX_PLACEHOLDER && n->op != CFX_OUTPUT) {
        stack = cfx_node__innermost_module(n);
        if (!stack)
            return false;
        *own = (cfx_node_path){stack->text, stack->len};
    }
    *around = *own;
    return true;
}

void cfx_graph_node_paths(const cfx_graph *g, cfx_node_path *paths)
{
    const cfx_node *open = NULL; /* the first of those that do not tell */
    cfx_node_path before = {"", 0}, around;
    memset(paths, 0, cfx_graph_ids(g) * sizeof(*paths));
    for (const cfx_node *n = cfx_graph_first(g); n; n = cfx_node_next(n)) {
        if (!tells(n, &paths[n->id], &around)) {
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
