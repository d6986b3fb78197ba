/*
 * cfx/picture.h -- a graph drawn, as Graphviz's text or as SVG.
 *
 *     cfx_picture_options how = {.size = sizeof(how),
 *                                .ignore_parameters_and_buffers = true};
 *     cfx_print_dot(cfx_sink_file(f), gm, &how, &err);   dot -Tsvg
 *     cfx_print_svg(cfx_sink_file(f), gm, NULL, &err);   any browser
 *
 * Nodes stand in clusters, one for each module in whose forward they were
 * made: by their target's path, else by meta nn_module_stack, else between the
 * nodes before and behind them. Shapes are those of meta val, tensor_meta or
 * example_value. What a GraphModule's children do is drawn by giving a child.
 */
#ifndef CFX_PICTURE_H
#define CFX_PICTURE_H

#include <cfx/graph_module.h>
#include <cfx/text.h>

/* The choices of torch.fx's FxGraphDrawer; zeroed, or NULL, for its defaults.
 * The last two are for dot only. */
typedef struct cfx_picture_options {
    size_t size;             /* sizeof(cfx_picture_options) */
    bool ignore_getattr;
    /* Do not draw the parameters and buffers of modules that are called. (SVG
     * never does.) */
    bool ignore_parameters_and_buffers;
    bool parse_stack_trace;  /* the line of source from meta stack_trace */
    bool no_clusters;
    bool node_names_in_args; /* arguments that name nodes, too */
    const char *shape;       /* of nodes; NULL: "record" */
} cfx_picture_options;

CFX_BEGIN_DECLS

/*
 * torch.fx's graph drawer: a record a node, with name, opcode, target,
 * arguments, users, type, shape and strides. Lists are cut after 8 items.
 * Other than there, what has a meaning in dot is escaped in all columns, and
 * a parameter says of which opcode it is and its shape apart.
 */
CFX_API cfx_status cfx_print_dot(cfx_sink to, const cfx_module *gm,
                                 const cfx_picture_options *options,
                                 cfx_error *err);

/*
 * A picture that needs no Graphviz: layers from inputs to outputs, boxes that
 * do not overlap, edges that go down, light or dark as the reader's screen is.
 * The time it takes grows with nodes and edges.
 */
CFX_API cfx_status cfx_print_svg(cfx_sink to, const cfx_module *gm,
                                 const cfx_picture_options *options,
                                 cfx_error *err);

CFX_END_DECLS

#endif
