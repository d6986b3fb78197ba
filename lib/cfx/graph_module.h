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

/* Make one of a root module (NULL: an empty one, which prints as `class_name`)
 * and a graph, both of which it takes over, also on failure. A root that has a
 * graph gets the new one in its place. */
CFX_API cfx_status cfx_graph_module_new_take_both(cfx_module **out,
                                                  cfx_context *ctx,
                                                  cfx_module *root,
                                                  cfx_graph *graph,
                                                  const char *class_name,
                                                  cfx_error *err);

/*
 * Make one as torch.fx's constructor does: of a root module, copy only what
 * the graph's get_attr and call_module nodes name. Prefixes of paths become
 * empty `Module`s, tensors that are no parameters buffers; the training flag is
 * root's; class_name NULL: root's. Where torch.fx shares the modules, a module
 * has one parent here: they are copied (cfx_module_copy), the tensors shared.
 * `root` is borrowed; the graph is taken over, also on failure. Fails with
 * CFX_ENAME for a target that is not there, CFX_ENOMEM.
 */
CFX_API cfx_status cfx_graph_module_from_root_take_graph(
    cfx_module **out, const cfx_module *root, cfx_graph *graph,
    const char *class_name, cfx_error *err);

/* The same of n paths and what is there: tensors, which become buffers unless
 * `parameter` says otherwise, and modules. Those that no node names are
 * ignored; one that is missing fails with CFX_ENAME, in torch.fx's words. */
typedef struct cfx_module_item {
    const char *path;
    cfx_value v;             /* a tensor, a module or None; absent: it is
                                known that there is nothing; borrowed */
    bool parameter;
} cfx_module_item;
CFX_API cfx_status cfx_graph_module_from_dict_take_graph(
    cfx_module **out, cfx_context *ctx, const cfx_module_item *items,
    size_t n, cfx_graph *graph, const char *class_name, cfx_error *err);

/* The graph of a GraphModule, or NULL; borrowed. */
CFX_API cfx_graph *cfx_graph_module_graph(const cfx_module *gm);

/* What a get_attr node names: a tensor (maybe a meta) or a module, borrowed.
 * Fails with CFX_EATTR and torch.fx's sentence. */
CFX_API cfx_status cfx_module_fetch_attr(cfx_value *out, const cfx_module *m,
                                         const char *path, cfx_error *err);

/* A deep copy of a module and all below it: children, arguments, state, flags,
 * graphs with their meta. Tensors are shared, as is all that never changes.
 * Fails with CFX_ENOMEM, CFX_EGRAPH as cfx_graph_copy. */
CFX_API cfx_status cfx_module_copy(cfx_module **out, const cfx_module *m,
                                   cfx_error *err);

/* Put a module at a dotted path, in place of what is there; modules on the way
 * that are missing are made, as empty `Module`s. Takes the reference, also on
 * failure. Fails with CFX_ENAME where the path leads through a parameter or
 * buffer (torch.fx's False), else as cfx_module_add_take. */
CFX_API cfx_status cfx_module_add_submodule_take(cfx_module *m,
                                                 const char *path,
                                                 cfx_module *child,
                                                 cfx_error *err);
/* Take one out; false if there is none at that path. */
CFX_API bool cfx_module_delete_submodule(cfx_module *m, const char *path);
/* Take out all that the graph does not need: a module stays if it, or one
 * below it, is named by a call_module or get_attr node, if a get_attr node
 * names its state, or if it is below one that a call_module node names (or a
 * get_attr node: torch.fx deletes what is below those). Gives their number. */
CFX_API size_t cfx_graph_module_delete_all_unused_submodules(cfx_module *gm);

CFX_END_DECLS

#endif
