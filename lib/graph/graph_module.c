/*
 * graph_module -- a root module with the graph that is its forward.
 */
#include <cfx/graph_module.h>

#include "graph/graph_impl.h"
#include "nn/module_impl.h"

cfx_status cfx_graph_module_new_take_both(cfx_module **out, cfx_context *ctx,
                                          cfx_module *root, cfx_graph *graph,
                                          const char *class_name,
                                          cfx_error *err)
{
    *out = NULL;
    cfx_status st = CFX_OK;
    if (!root)
        st = cfx_module_new_container(&root, ctx, class_name, err);
    if (st) {
        cfx_graph_free(graph);
        return st;
    }
    if (root->graph && root->graph != graph)
        cfx_graph_free(root->graph);
    cfx_module__forget_effects(root);
    root->graph = graph;
    root->free_graph = cfx_graph_free;
    cfx_graph_set_owning_module(graph, root);
    *out = root;
    return CFX_OK;
}

cfx_graph *cfx_graph_module_graph(const cfx_module *gm)
{
    return gm->graph;
}
