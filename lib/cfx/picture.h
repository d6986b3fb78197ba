/*
 * cfx/picture.h -- drawings of a graph for Graphviz.
 *
 *     cfx_picture_options how = {.size = sizeof(how),
 *                                .ignore_parameters_and_buffers = true};
 *     cfx_print_dot(cfx_sink_file(f), gm, &how, &err); // dot -Tsvg
 *
 * Nodes form a cluster for each module that they belong to: by their target's
 * path, else by meta nn_module_stack, else by the nodes before and after them.
 * Shapes are those of meta val, tensor_meta or example_value. To draw the
 * graph of a child GraphModule, pass the child.
 */
#ifndef CFX_PICTURE_H
#define CFX_PICTURE_H

#include <cfx/graph_module.h>
#include <cfx/text.h>

/* The options of torch.fx's FxGraphDrawer; zeroed, or NULL, for its defaults. */
typedef struct cfx_picture_options {
    size_t size; /* sizeof(cfx_picture_options) */
    bool ignore_getattr;
    bool ignore_parameters_and_buffers; /* of called modules */
    bool parse_stack_trace; /* show the source line of meta stack_trace */
    bool no_clusters;
    bool node_names_in_args; /* show arguments that are nodes, too */
    const char *shape;       /* of nodes; NULL: "record" */
} cfx_picture_options;

CFX_BEGIN_DECLS

/*
 * torch.fx's graph drawer: a record for each node with name, opcode, target,
 * arguments, users, type, shape and strides. Lists are cut after 8 items.
 * Unlike in torch.fx, all fields are escaped for dot, and parameters show
 * opcode and shape in separate fields.
 */
CFX_API cfx_status cfx_print_dot(cfx_sink to, const cfx_module *gm,
                                 const cfx_picture_options *options,
                                 cfx_error *err);

CFX_END_DECLS

#endif
