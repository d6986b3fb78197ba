/*
 * cfx/graph_module.h -- a module whose forward is a graph.
 *
 * A GraphModule is a cfx_module that has a graph; the graph's get_attr and
 * call_module nodes name its children and state.
 */
#ifndef CFX_GRAPH_MODULE_H
#define CFX_GRAPH_MODULE_H

#include <cfx/graph.h>
#include <cfx/module.h>

CFX_BEGIN_DECLS

/* Create one from a root module (NULL: an empty one, which prints as
 * `class_name`) and a graph. Takes both, also on failure. The graph replaces
 * the root's, if it has one. */
CFX_API cfx_status cfx_graph_module_new_take_both(
    cfx_module **out, cfx_context *ctx, cfx_module *root, cfx_graph *graph,
    const char *class_name, cfx_error *err);

/*
 * Create one like torch.fx's constructor: copy from `root` only the modules
 * and state that the graph's get_attr and call_module nodes name. Prefixes of
 * paths become empty `Module`s, tensors other than parameters become buffers;
 * the training flag, and class_name if NULL, are root's. Modules, which
 * torch.fx shares, are copied (cfx_module_copy); tensors are shared. `root` is
 * borrowed; takes the graph, also on failure. Fails with CFX_ENAME for a
 * missing target, CFX_ENOMEM.
 */
CFX_API cfx_status cfx_graph_module_from_root_take_graph(
    cfx_module **out, const cfx_module *root, cfx_graph *graph,
    const char *class_name, cfx_error *err);

/* Create one from n paths with modules and tensors, which become buffers
 * unless `parameter` is set. Items that no node names are ignored; a missing
 * one fails with CFX_ENAME and torch.fx's message. */
typedef struct cfx_module_item {
    const char *path;
    cfx_value v; /* a tensor, a module or None, borrowed; absent:
                                known to be missing */
    bool parameter;
} cfx_module_item;
CFX_API cfx_status cfx_graph_module_from_dict_take_graph(
    cfx_module **out, cfx_context *ctx, const cfx_module_item *items, size_t n,
    cfx_graph *graph, const char *class_name, cfx_error *err);

/* The graph of a GraphModule, or NULL; borrowed. */
CFX_API cfx_graph *cfx_graph_module_graph(const cfx_module *gm);

/* A deep copy of a module: children, arguments, state, flags, graphs with
 * their meta. Tensors and other immutable objects are shared. Fails with
 * CFX_ENOMEM, CFX_EGRAPH like cfx_graph_copy. */
CFX_API cfx_status cfx_module_copy(cfx_module **out, const cfx_module *m,
                                   cfx_error *err);

/* Add or replace the module at a dotted path; missing parents are created as
 * empty `Module`s. Takes the reference, also on failure. Fails with CFX_ENAME
 * if the path leads through a parameter or buffer (torch.fx returns False),
 * else like cfx_module_add_take. */
CFX_API cfx_status cfx_module_add_submodule_take(cfx_module *m,
                                                 const char *path,
                                                 cfx_module *child,
                                                 cfx_error *err);
/* Remove a submodule; false if the path has none. */
CFX_API bool cfx_module_delete_submodule(cfx_module *m, const char *path);
/* Remove the submodules that the graph does not use. A module is used if a
 * call_module or get_attr node names it, its state, an ancestor or a
 * descendant (torch.fx deletes those below a get_attr target). Returns the
 * number removed. */
CFX_API size_t cfx_graph_module_delete_all_unused_submodules(cfx_module *gm);
/* Remove the parameters and buffers of gm and of its containers (modules without
 * a type) that no get_attr node names, unless such a node or a call_module names
 * the container. Sets *removed, which may be NULL, to their number. Fails with
 * CFX_ENOMEM; then none is removed. */
CFX_API cfx_status cfx_graph_module_delete_all_unused_state(cfx_module *gm,
                                                            size_t *removed,
                                                            cfx_error *err);

CFX_END_DECLS

#endif
