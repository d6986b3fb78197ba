/*
 * cfx/text.h -- print and parse graphs and modules in PyTorch's text.
 *
 * Printers write to a sink, in pieces; they fail only if the sink fails, or
 * with CFX_ENOMEM. Parsers accept the output of any release of torch, or the
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

/* ---- Python code ---- */

/* A line of the body of forward, without indentation or newline, and its node;
 * NULL for lines that a transform added. */
typedef struct cfx_code_line {
    const char *text;
    size_t len;
    const cfx_node *node;
} cfx_code_line;

/* The new body that a transform fills. */
typedef struct cfx_code_body cfx_code_body;

/*
 * torch.fx's on_generate_code: a function that rewrites the body. Transforms
 * form a list, which the caller owns; each receives the lines of the one
 * before it.
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

/* The parts of the signature: "x : int = 3" and its name; `result` is " ->
 * TYPE" or "". */
typedef struct cfx_code_signature {
    const char *const *params; /* without self, which the codegen adds */
    const char *const *names;
    size_t nparams;
    const char *result;
} cfx_code_signature;

/*
 * torch.fx's set_codegen: the first and last lines of the function. A NULL
 * slot generates ordinary code. Lines after the first of `begin` are not
 * indented: `begin` writes the four blanks itself.
 */
typedef struct cfx_codegen {
    size_t size; /* sizeof(cfx_codegen) */
    /* "def forward(...):" and lines that follow it, no final newline. */
    cfx_status (*begin)(void *user, cfx_sink to, const cfx_code_signature *sig,
                        cfx_error *err);
    /* "return VALUE", no newline. */
    cfx_status (*end)(void *user, cfx_sink to, const char *value,
                      cfx_error *err);
    void *user;
} cfx_codegen;

/* Zeroed for `.code`. */
typedef struct cfx_code_options {
    size_t size;  /* sizeof(cfx_code_options) */
    bool verbose; /* types of results, comments with the source */
    /* In verbose code: strides and device after the shape. torch.fx omits them
     * if the shape comes from tensor_meta. */
    bool include_stride, include_device;
    bool colored;      /* with terminal escape sequences */
    bool expanded_def; /* one parameter per line, with meta "desc" */
    const char *const *additional_meta; /* keys for the comments */
    size_t nadditional_meta;
    const cfx_code_transform *transform;
    const cfx_codegen *codegen;
    /* Called for each line of the body with its number in the text, from 1,
     * and its node or NULL. Printing stops unless it returns CFX_OK. */
    cfx_status (*line)(void *user, size_t number, const cfx_node *n);
    void *line_user;
    /* Called for each function outside of `torch`, with its name in the code,
     * "math_sqrt", and its qualified name, "math.sqrt" ("abs" for a builtin).
     * Stops printing like `line`. */
    cfx_status (*function)(void *user, const char *name,
                           const char *qualified);
    void *function_user;
} cfx_code_options;

CFX_BEGIN_DECLS

/* A sink that writes to a stdio stream. */
CFX_API cfx_sink cfx_sink_file(FILE *f);

/* str(graph): no final newline. With `meta`, results have shapes, as with
 * torch's include_tensor_metadata. */
CFX_API cfx_status cfx_print_graph(cfx_sink to, const cfx_graph *g, bool meta,
                                   cfx_error *err);
/* One line of the graph's text, without indentation. */
CFX_API cfx_status cfx_print_node(cfx_sink to, const cfx_node *n, bool meta,
                                  cfx_error *err);
/*
 * The changes from a to b: lines of nodes that b lacks, after "- ", and of new
 * ones, after "+ ", in order. Nodes are matched by name; a changed or moved
 * node is removed and added. Numbers of users and meta are not compared.
 * *nlines (may be NULL) is the number of lines, 0 if nothing changed.
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
/* graph_module.print_readable(). `verbose` is always set; as in torch.fx,
 * children do not inherit expanded_def, transform and codegen. */
CFX_API cfx_status cfx_print_readable(cfx_sink to, const cfx_module *gm,
                                      cfx_error *err);
CFX_API cfx_status cfx_print_readable_with(cfx_sink to, const cfx_module *gm,
                                           const cfx_code_options *options,
                                           cfx_error *err);
/* Append a line to a body; the text is copied. Fails with CFX_ENOMEM. */
CFX_API cfx_status cfx_code_add(cfx_code_body *to, const char *text,
                                size_t len, const cfx_node *n, cfx_error *err);
/* torch.fx's boxed code: takes one list of arguments and clears it, so that
 * inputs can be freed during the run. */
CFX_API extern const cfx_codegen cfx_codegen_boxed;

/* repr(module): the module tree; no final newline. */
CFX_API cfx_status cfx_print_modules(cfx_sink to, const cfx_module *m,
                                     cfx_error *err);

/* A value as Python's repr (strings quoted, nodes by name), or as torch.fx
 * prints arguments (strings unquoted, nodes as %name). */
typedef enum cfx_value_style {
    CFX_STYLE_REPR,
    CFX_STYLE_ARGUMENT,
    CFX_STYLE_LOSSLESS
} cfx_value_style;
CFX_API cfx_status cfx_print_value(cfx_sink to, cfx_value v,
                                   cfx_value_style style, cfx_error *err);

/* A tensor as PyTorch prints it, "tensor([[1., 2.], ...])". */
CFX_API cfx_status cfx_print_tensor(cfx_sink to, const cfx_tensor *t,
                                    cfx_error *err);

/* The model file: tree, empty line, graph, newline. `lossless` writes the
 * superset. Fails with CFX_EUNSUPPORTED for meta without a text form. */
CFX_API cfx_status cfx_print_model(cfx_sink to, const cfx_module *gm,
                                   bool lossless, cfx_error *err);

/* Has a node meta other than shapes and provenance, or an input a declared type,
 * which PyTorch's text omits? Never fails. */
CFX_API bool cfx_graph_has_user_meta(const cfx_graph *g);

/* The superset with the shapes in meta (val, tensor_meta, example_value), as
 * torch's include_tensor_metadata prints them. Parsing restores them as
 * tensor_meta. */
CFX_API cfx_status cfx_print_annotated(cfx_sink to, const cfx_module *gm,
                                       cfx_error *err);

/*
 * Parse a model into a GraphModule; messages begin with `name` ("m.fx:12:40:
 * ..."). A text without a module tree gives an empty root. Arguments that the
 * text omits are undecided (cfx/module.h). Fails with CFX_EPARSE, CFX_ENAME
 * (unknown module type), CFX_EINVAL (unexpected or missing arguments of a
 * module), CFX_EGRAPH, CFX_ENOMEM.
 */
CFX_API cfx_status cfx_parse_model(cfx_module **out, cfx_context *ctx,
                                   const char *text, size_t len,
                                   const char *name, cfx_error *err);

/*
 * Parse the Python code that torch.fx or Dynamo prints (gm.code,
 * gm.print_readable, to_folder) into a GraphModule, like cfx_parse_model. Code
 * does not tell the types of modules that it calls: they are missing. A shape
 * that annotates a parameter becomes the placeholder's meta "val". Fails with
 * CFX_EPARSE, CFX_EGRAPH, CFX_ENOMEM.
 */
CFX_API cfx_status cfx_parse_python(cfx_module **out, cfx_context *ctx,
                                    const char *text, size_t len,
                                    const char *name, cfx_error *err);

/* Parse a value in the subset of Python that models use: literals, tuples,
 * lists, dicts, slice(), device(), torch.float32, inf. Other identifiers
 * become CFX_NAME. *out is a new reference. */
CFX_API cfx_status cfx_parse_value(cfx_value *out, cfx_context *ctx,
                                   const char *text, size_t len,
                                   cfx_error *err);

/*
 * Shapes as text: "f32[N, 3, 224, 224]", with strides and a device "f32[2,
 * 4][4, 1]cpu". Extents and integers are expressions over symbols ("2*N + 1").
 * Aggregates are "(f32[2], i64[2])", "[f32[2], N]", "{'a': f32[2]}"; other
 * values are as in Python. Parsing returns metas, as a new reference, and
 * creates symbols in `env`; if that is NULL, symbols are refused. An extent
 * that could be negative gets a guard. Fails with CFX_EPARSE, CFX_ESHAPE,
 * CFX_ENOMEM.
 */
CFX_API cfx_status cfx_parse_shape(cfx_value *out, cfx_context *ctx,
                                   cfx_shape_env *env, const char *text,
                                   size_t len, cfx_error *err);
CFX_API cfx_status cfx_print_shape(cfx_sink to, cfx_value v, bool stride,
                                   cfx_error *err);

CFX_END_DECLS

#endif
