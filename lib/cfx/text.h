/*
 * cfx/text.h -- graphs and modules as PyTorch prints them, and back.
 *
 * Printers write into a sink, in pieces; they fail only if the sink does, or
 * for lack of memory. Readers take what any release of torch prints, or the
 * lossless superset, whose first line is `# cfx 1`.
 */
#ifndef CFX_TEXT_H
#define CFX_TEXT_H

#include <stdio.h>

#include <cfx/graph.h>
#include <cfx/module.h>

typedef struct cfx_sink {
    cfx_status (*write)(void *user, const char *text, size_t len);
    void *user;
} cfx_sink;

CFX_BEGIN_DECLS

/* A sink that writes to a stdio stream. */
CFX_API cfx_sink cfx_sink_file(FILE *f);

/* str(graph): no final newline. With `meta`, results carry their shape as
 * torch's include_tensor_metadata prints it. */
CFX_API cfx_status cfx_print_graph(cfx_sink to, const cfx_graph *g,
                                   bool meta, cfx_error *err);
/* One line of it, without indentation. */
CFX_API cfx_status cfx_print_node(cfx_sink to, const cfx_node *n, bool meta,
                                  cfx_error *err);
/*
 * What changed from a to b: the lines of nodes that b lacks, each after "- ",
 * and of those that it has new, after "+ ", where they stand. Nodes are known
 * by their names; one that does something else or moved is removed and added.
 * Of how many users a node has, and of meta, nothing is said. *nlines is their number, 0 where nothing changed; it may be NULL.
 */
CFX_API cfx_status cfx_graph_diff(cfx_sink to, const cfx_graph *a,
                                  const cfx_graph *b, size_t *nlines,
                                  cfx_error *err);
/* graph.print_tabular(), with qualified names for addresses. */
CFX_API cfx_status cfx_print_tabular(cfx_sink to, const cfx_graph *g,
                                     cfx_error *err);
/* graph_module.code. */
CFX_API cfx_status cfx_print_code(cfx_sink to, const cfx_graph *g,
                                  cfx_error *err);
/* graph_module.print_readable(). */
CFX_API cfx_status cfx_print_readable(cfx_sink to, const cfx_module *gm,
                                      cfx_error *err);
/* repr(module): the tree; no final newline. */
CFX_API cfx_status cfx_print_modules(cfx_sink to, const cfx_module *m,
                                     cfx_error *err);

/* A value as Python's repr (strings quoted, nodes by name), or as torch.fx
 * prints arguments (strings bare, nodes as %name). */
typedef enum cfx_value_style { CFX_STYLE_REPR, CFX_STYLE_ARGUMENT,
                               CFX_STYLE_LOSSLESS } cfx_value_style;
CFX_API cfx_status cfx_print_value(cfx_sink to, cfx_value v,
                                   cfx_value_style style, cfx_error *err);

/* The model file: tree, empty line, graph, newline. `lossless` writes the
 * superset. Fails with CFX_EUNSUPPORTED for meta that has no text form. */
CFX_API cfx_status cfx_print_model(cfx_sink to, const cfx_module *gm,
                                   bool lossless, cfx_error *err);

/*
 * Read a model's text into a GraphModule; `name` is used in messages
 * ("m.fx:12:40: ..."). A text without a tree gives an empty root. Notes on
 * assumed arguments go to the context's message callback. Fails with
 * CFX_EPARSE, CFX_ENAME (unknown module type), CFX_EINVAL (arguments that a
 * module does not take, or must be given), CFX_EGRAPH, CFX_ENOMEM.
 */
CFX_API cfx_status cfx_parse_model(cfx_module **out, cfx_context *ctx,
                                   const char *text, size_t len,
                                   const char *name, cfx_error *err);

/* A value in Python's notation, of the restricted subset that models use:
 * literals, tuples, lists, dicts, slice(), device(), torch.float32, inf.
 * Bare words become CFX_NAME. A new reference. */
CFX_API cfx_status cfx_parse_value(cfx_value *out, cfx_context *ctx,
                                   const char *text, size_t len,
                                   cfx_error *err);

CFX_END_DECLS

#endif
