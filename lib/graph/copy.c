/*
 * copy -- nodes and graphs from others.
 */
#include "graph/graph_impl.h"

cfx_node *cfx_graph_node_copy(cfx_graph *g, const cfx_node *n,
                              cfx_node *(*map)(void *user, cfx_node *n),
                              void *user, cfx_error *err)
{
    const cfx_node_spec spec = {
        .op = (cfx_opcode)n->op,
        .target = n->target.u.str->text,
        .args = n->args,
        .kwargs = n->kwargs,
        .nargs = n->nargs,
        .nkwargs = n->nkwargs,
        .name = n->name,
        .type = n->type.kind == CFX_STR ? n->type.u.str->text : NULL,
        .meta = n->meta,
        .map = map,
        .user = user,
    };
    return cfx_graph__make(g, &spec, err);
}

/* From the id of a node to its copy. */
static cfx_node *copy_of(void *user, cfx_node *n)
{
    cfx_node *const *copies = user;
    return copies[n->id];
}

/* Names are legal and differ, so that the namespace gives them again. */
static cfx_status copy_nodes(cfx_graph *to, const cfx_graph *g,
                             cfx_node **copies, cfx_error *err)
{
    cfx_error why;
    why.code = CFX_OK;
    for (cfx_node *n = cfx_graph_first(g); n; n = cfx_node_next(n)) {
        for (uint32_t i = 0; i < n->ninputs; i++)
            if (!copies[n->inputs[i].input->id])
                return cfx_fail(err, CFX_EGRAPH,
                                "Argument '%s' of Node '%s' was used before it"
                                " has been defined! Please check that Nodes in"
                                " the graph are topologically ordered",
                                n->inputs[i].input->name, n->name);
        cfx_node *copy = cfx_graph_node_copy(to, n, copy_of, copies, &why);
        if (!copy)
            return cfx_fail(err, why.code, "%s", why.text);
        copies[n->id] = copy;
    }
    return CFX_OK;
}

cfx_status cfx_graph_copy(cfx_graph **out, const cfx_graph *g, cfx_error *err)
{
    cfx_graph *to;
    cfx_status st = cfx_graph_new(&to, g->ctx, err);
    if (st)
        return st;
    cfx_node **copies = cfx_calloc(g->ctx, (size_t)g->ids + 1,
                                   sizeof(cfx_node *));
    st = copies ? copy_nodes(to, g, copies, err) : cfx_graph__no_memory(err);
    cfx_free(g->ctx, copies, ((size_t)g->ids + 1) * sizeof(cfx_node *));
    if (st)
        cfx_graph_free(to);
    else
        *out = to;
    return st;
}
