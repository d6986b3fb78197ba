/*
 * cfx/graph_module.h -- a module whose forward is a graph.
 *
 * A GraphModule is a cfx_module that has a graph; its children and state are
 * what the graph's get_attr and call_module nodes name.
 */
#ifndef CFX_GRAPH_MODULE_H
#define CFX_GRAPH_MODULE_H

#include <cfx/graph.h>
#include <cfx/module.h>

CFX_BEGIN_DECLS

/* Make one of a root module (NULL: an empty one) and a graph, both of which it
 * takes over, also on failure. `class_name` is what it prints as. */
CFX_API cfx_status cfx_graph_module_new_take(cfx_module **out,
                                             cfx_context *ctx,
                                             cfx_module *root,
                                             cfx_graph *graph,
                                             const char *class_name,
                                             cfx_error *err);

/* The graph of a GraphModule, or NULL; borrowed. */
CFX_API cfx_graph *cfx_graph_module_graph(const cfx_module *gm);

/* What a get_attr node names: a tensor (maybe a meta) or a module, borrowed.
 * Fails with CFX_ENAME and torch.fx's sentence. */
CFX_API cfx_status cfx_module_fetch_attr(cfx_value *out, const cfx_module *m,
                                         const char *path, cfx_error *err);

CFX_END_DECLS

#endif
