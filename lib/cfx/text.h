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

/* ---- Python code: how it is written ---- */

/* A line of the body of forward, without indentation or newline, and the node
 * it was written for; NULL for lines of a transform's own. */
typedef struct cfx_code_line {
    const char *text;
    size_t len;
    const cfx_node *node;
} cfx_code_line;

/* Where a transform puts the lines of the new body. */
typedef struct cfx_code_body cfx_code_body;

/*
 * torch.fx's on_generate_code: a function that makes a new body of one. They
 * form a chain, each seeing the lines that the one before it made; it is the
 * caller's, who adds to it and removes from it as from any list.
 *
 *     static cfx_status stop_first(void *user, const cfx_code_line *lines,
 *                                  size_t n, cfx_code_body *to,
 *                                  cfx_error *err)
 *     {
 *         cfx_status st = cfx_code_add(to, "breakpoint()", 12, NULL, err);
 *         for (size_t i = 0; i < n && !st; i++)
 *             st = cfx_code_add(to, lines[i].text, lines[i].len,
 *                               lines[i].node, err);
 *         return st;
 *     }
 */
typedef struct cfx_code_transform {
    cfx_status (*run)(void *user, const cfx_code_line *lines, size_t n,
                      cfx_code_body *to, cfx_error *err);
    void *user;
    const struct cfx_code_transform *next; /* runs after it; or NULL */
} cfx_code_transform;

/* The prologue's parts: "x : int = 3" and its name; `result` is " -> TYPE" or
 * "". */
typedef struct cfx_code_signature {
    const char *const *params; /* without self, which is the caller's to add */
    const char *const *names;
    size_t nparams;
    const char *result;
} cfx_code_signature;

/*
 * torch.fx's set_codegen: how a function begins and ends. A slot that is empty
 * is as in ordinary code. Lines after the first of `begin` stand as they are,
 * so what unpacks arguments brings its own four blanks.
 */
typedef struct cfx_codegen {
    size_t size; /* sizeof(cfx_codegen) */
    /* "def forward(...):" and what follows at once, no final newline. */
    cfx_status (*begin)(void *user, cfx_sink to, const cfx_code_signature *sig,
                        cfx_error *err);
    /* "return VALUE", no newline. */
    cfx_status (*end)(void *user, cfx_sink to, const char *value,
                      cfx_error *err);
    void *user;
} cfx_codegen;

/* Zeroed for `.code`. */
typedef struct cfx_code_options {
    size_t size;         /* sizeof(cfx_code_options) */
    bool verbose;        /* types of results, comments that tell the source */
    /* In verbose code: strides and device behind the shape. torch.fx leaves
     * them out where it knows the shape from tensor_meta only. */
    bool include_stride, include_device;
    bool colored;        /* by escape sequences of terminals */
    bool expanded_def;   /* a parameter a line, with meta "desc" behind it */
    const char *const *additional_meta; /* keys for the comments */
    size_t nadditional_meta;
    const cfx_code_transform *transform;
    const cfx_codegen *codegen;
    /* Told of each line of the body: its number in the text, from 1, and its
     * node or NULL. Stops the printing if it does not return CFX_OK. */
    cfx_status (*line)(void *user, size_t number, const cfx_node *n);
    void *line_user;
    /* Told of each call of a function that is not reached through `torch`: the
     * name that the code has for it, "math_sqrt", and its own, "math.sqrt"
     * ("abs" of one of Python's). Stops the printing as `line` does. */
    cfx_status (*function)(void *user, const char *name,
                           const char *qualified);
    void *function_user;
} cfx_code_options;

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
 * Of how many users a node has, and of meta, nothing is said. *nlines is the
 * number of lines, 0 where nothing changed; it may be NULL.
 */
CFX_API cfx_status cfx_graph_diff(cfx_sink to, const cfx_graph *a,
                                  const cfx_graph *b, size_t *nlines,
                                  cfx_error *err);
/* graph.print_tabular(), with qualified names for addresses. */
CFX_API cfx_status cfx_print_tabular(cfx_sink to, const cfx_graph *g,
                                     cfx_error *err);
/* graph_module.code; with options: graph.python_code("self", ...).src. */
CFX_API cfx_status cfx_print_code(cfx_sink to, const cfx_graph *g,
                                  cfx_error *err);
CFX_API cfx_status cfx_print_code_with(cfx_sink to, const cfx_graph *g,
                                       const cfx_code_options *options,
                                       cfx_error *err);
/* graph_module.print_readable(). `verbose` is set in any case; as in torch.fx
 * children do not take over expanded_def, transform and codegen. */
CFX_API cfx_status cfx_print_readable(cfx_sink to, const cfx_module *gm,
                                      cfx_error *err);
CFX_API cfx_status cfx_print_readable_with(cfx_sink to, const cfx_module *gm,
                                           const cfx_code_options *options,
                                           cfx_error *err);
/* Add a line to a body; it is copied. Fails with CFX_ENOMEM. */
CFX_API cfx_status cfx_code_add(cfx_code_body *to, const char *text,
                                size_t len, const cfx_node *n,
                                cfx_error *err);
/* torch.fx's boxed code: one list of arguments, which is cleared, so that
 * inputs can be freed while it runs. */
CFX_API extern const cfx_codegen cfx_codegen_boxed;

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

/* Has a node user meta, which PyTorch's text does not hold: any but shapes and
 * provenance. Never fails. */
CFX_API bool cfx_graph_has_user_meta(const cfx_graph *g);

/* The superset with the shapes that nodes have in meta (val, tensor_meta,
 * example_value), as torch's include_tensor_metadata prints them, which come
 * back as tensor_meta. */
CFX_API cfx_status cfx_print_annotated(cfx_sink to, const cfx_module *gm,
                                       cfx_error *err);

/*
 * Read a model's text into a GraphModule; `name` is used in messages
 * ("m.fx:12:40: ..."). A text without a tree gives an empty root. Arguments
 * that the text hides are undecided (cfx/module.h). Fails with
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

/*
 * Shapes as text: "f32[N, 3, 224, 224]"; with strides, and maybe a device,
 * which is the meta's label, "f32[2, 4][4, 1]cpu". Extents and integers are
 * expressions over symbols ("2*N + 1"). Of several values "(f32[2], i64[2])",
 * "[f32[2], N]", "{'a': f32[2]}"; what else a value may be as Python writes it.
 * Reading gives metas, in a new reference, and makes the symbols in `env`;
 * where that is NULL there are none. That an extent is not negative becomes a
 * guard where it does not follow. Fails with CFX_EPARSE, CFX_ESHAPE,
 * CFX_ENOMEM.
 */
CFX_API cfx_status cfx_parse_shape(cfx_value *out, cfx_context *ctx,
                                   cfx_shape_env *env, const char *text,
                                   size_t len, cfx_error *err);
CFX_API cfx_status cfx_print_shape(cfx_sink to, cfx_value v, bool stride,
                                   cfx_error *err);

CFX_END_DECLS

#endif
