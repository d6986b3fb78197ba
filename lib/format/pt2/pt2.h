/*
 * pt2.h -- shared by the files that read .pt2. Not installed.
 *
 * Errors are returned with their text; the place (a node, a tensor, a file of
 * the archive) is put in front of it on the way up.
 */
#ifndef CFX_PT2_H
#define CFX_PT2_H

#include <cfx/graph_module.h>

#include "format/io.h"
#include "format/json.h"
#include "format/mapping.h"
#include "format/zip.h"

/* ---- archive.c ---- */

/* A file of an archive. */
typedef struct cfx_pt2_file {
    size_t index; /* in the zip archive */
    uint64_t size;
} cfx_pt2_file;

typedef struct cfx_pt2_archive {
    cfx_zip zip;
    cfx_map files; /* name, without the root folder -> cfx_pt2_file */
    cfx_pt2_file *file;
    bool flat;         /* of torch 2.1 to 2.7: no folders */
    bool swapped;      /* its numbers have the other byte order */
    const char *model; /* name of the model: "model" */
    size_t model_len;
    cfx_mapping *map; /* of the archive, or NULL */
    uint64_t *place;  /* with a map: of each file in it, or 0 */
} cfx_pt2_archive;

/* Open a .pt2 archive and find its model. Fails with CFX_EIO, CFX_EPARSE,
 * CFX_EUNSUPPORTED (another kind of archive), CFX_ENOMEM. */
cfx_status cfx_pt2__open(cfx_pt2_archive *a, cfx_file *f, cfx_error *err);
/* Open an archive of torch.save; one in memory, which was read of another,
 * must outlive it. */
cfx_status cfx_pt2__open_torch(cfx_pt2_archive *a, cfx_file *f,
                               cfx_error *err);
cfx_status cfx_pt2__open_torch_memory(cfx_pt2_archive *a,
                                      const cfx_pt2_archive *outer,
                                      const cfx_bytes *bytes, cfx_error *err);
/* A zeroed one is allowed. */
void cfx_pt2__close(cfx_pt2_archive *a);
/* A file by its name, or NULL. */
const cfx_pt2_file *cfx_pt2__find(const cfx_pt2_archive *a, const char *name);
/* Read a file; one that becomes many values, for which it may not inflate out
 * of proportion to the whole archive; or parse one as JSON. Error texts begin
 * with its name. */
cfx_status cfx_pt2__read(cfx_bytes *out, cfx_pt2_archive *a, const char *name,
                         cfx_error *err);
cfx_status cfx_pt2__read_text(cfx_bytes *out, cfx_pt2_archive *a,
                              const char *name, cfx_error *err);
cfx_status cfx_pt2__read_json(cfx_json *out, cfx_pt2_archive *a,
                              const char *name, cfx_error *err);
/* The description of the model. */
cfx_status cfx_pt2__read_model(cfx_json *out, cfx_pt2_archive *a,
                               cfx_error *err);

/* ---- flat.c ---- */

/* Map the archive of a file, for the tensors of cfx_pt2__flat, if that can be
 * had. */
void cfx_pt2__map(cfx_pt2_archive *a, const cfx_file *f);
/* A file of numbers as a tensor of one axis: mapped, or else read. */
cfx_status cfx_pt2__flat(cfx_tensor **out, cfx_pt2_archive *a,
                         const char *name, cfx_dtype dtype, cfx_error *err);

/* ---- schema.c ---- */

/* A union: an object of one key, which says what its value is. */
typedef struct cfx_pt2_union {
    const char *key;
    const json_t *value;
} cfx_pt2_union;

/* `what` names the thing in messages. Fail with CFX_EPARSE. */
cfx_status cfx_pt2__read_union(cfx_pt2_union *out, const json_t *v,
                               const char *what, cfx_error *err);
/* The name of a value that a node computes, a tensor or a symbol; NULL: it is of
 * another kind. */
cfx_status cfx_pt2__value_name(const char **out, const cfx_pt2_union *u,
                               cfx_error *err);
/* A member of an object, of a type of jansson's: else an error. */
cfx_status cfx_pt2__member(const json_t **out, const json_t *object,
                           const char *key, json_type type, cfx_error *err);
cfx_status cfx_pt2__text(const char **out, const json_t *object,
                         const char *key, cfx_error *err);

/* The types, layouts and formats that the schema numbers. */
cfx_status cfx_pt2__dtype(cfx_dtype *out, const json_t *v, cfx_error *err);
cfx_status cfx_pt2__layout(const char **out, const json_t *v, cfx_error *err);
cfx_status cfx_pt2__format(cfx_memory_format *out, const json_t *v,
                           cfx_error *err);
cfx_status cfx_pt2__device(char *out, size_t size, const json_t *v,
                           cfx_error *err);
/* Values that become one: a list, a tuple, or, keys and values in turn, a dict. */
typedef struct cfx_pt2_values {
    cfx_context *ctx;
    cfx_value *item;
    size_t n, cap;
} cfx_pt2_values;

/* Add a value, which is taken, also on failure; an absent one is a lack of
 * memory. */
cfx_status cfx_pt2__add_take(cfx_pt2_values *l, cfx_value v, cfx_error *err);
cfx_status cfx_pt2__add_str(cfx_pt2_values *l, const char *text, size_t len,
                            cfx_error *err);
void cfx_pt2__values_release(cfx_pt2_values *l);
/* Release the values, and make one of them unless `st` is a failure. */
cfx_status cfx_pt2__values_end(cfx_value *out, cfx_pt2_values *l,
                               cfx_kind kind, cfx_status st, cfx_error *err);

/* A float, which may be "Infinity", "-Infinity" or "NaN". */
cfx_status cfx_pt2__float(double *out, const json_t *v, cfx_error *err);

/* A TensorMeta as a meta. `env` NULL: extents must be numbers. */
cfx_status cfx_pt2__meta(cfx_tensor **out, cfx_context *ctx,
                         cfx_shape_env *env, const json_t *v, cfx_error *err);
/* A SymInt. */
cfx_status cfx_pt2__extent(cfx_dim *out, cfx_shape_env *env, const json_t *v,
                           cfx_error *err);

/* ---- graph.c ---- */

/* A graph while it is read. Graphs that are arguments have their own. */
typedef struct cfx_pt2_graph {
    cfx_context *ctx;
    const json_t *json;
    cfx_graph *graph;
    cfx_module *owner; /* gets the graphs among the arguments */
    cfx_map names;     /* of values -> cfx_node */
    int depth;         /* of graphs in graphs */
    bool decomposed;   /* nodes without users are dropped, as torch does */
} cfx_pt2_graph;

/* Read the Graph in g->json into a new g->graph: placeholders, calls and the
 * output. */
cfx_status cfx_pt2__read_graph(cfx_pt2_graph *g, cfx_error *err);
void cfx_pt2__graph_release(cfx_pt2_graph *g);
/* The node that computes a value. Fails with CFX_EGRAPH. */
cfx_status cfx_pt2__node(cfx_node **out, const cfx_pt2_graph *g,
                         const char *name, cfx_error *err);
/* Say that a node computes the value of a name. Fails with CFX_EGRAPH. */
cfx_status cfx_pt2__name(cfx_pt2_graph *g, cfx_node *n, const char *name,
                         cfx_error *err);
/* A nested graph as a module of g->owner, and a get_attr node of it. */
cfx_status cfx_pt2__nested(cfx_node **out, cfx_pt2_graph *g,
                           const json_t *argument, cfx_error *err);

/* ---- argument.c ---- */

/* An Argument as a new value, or a list of them as a tuple. */
cfx_status cfx_pt2__argument(cfx_value *out, cfx_pt2_graph *g, const json_t *v,
                             cfx_error *err);
cfx_status cfx_pt2__arguments(cfx_value *out, cfx_pt2_graph *g,
                              const json_t *list, cfx_error *err);

/* ---- outputs.c ---- */

/* The name of a call's node in the file; NULL: torch.fx gives it one. */
const char *cfx_pt2__call_name(const json_t *node);
/* Name the values that a call gives, with getitem nodes where they are
 * several. */
cfx_status cfx_pt2__outputs(cfx_pt2_graph *g, cfx_node *n, const json_t *node,
                            cfx_error *err);

/* ---- signature.c ---- */

/* Replace the inputs that are parameters, buffers and constants by get_attr
 * nodes, declare that state in `gm`, and write mutated state back. */
cfx_status cfx_pt2__unlift(cfx_pt2_graph *g, cfx_module *gm,
                           const json_t *signature, cfx_error *err);

/* ---- declared.c ---- */

/* Set what the program declares of its inputs: their types, the ranges of
 * symbols, and guards (cfx/input_check.h); and, for the writer, as meta of the
 * first one, "in_spec" and "forward_arg_names", if an argument is a keyword, or
 * has more leaves than one. */
cfx_status cfx_pt2__declare(const cfx_pt2_graph *g, const json_t *program,
                            cfx_error *err);

/* ---- tree.c ---- */

/* Make of the flat tuple that the graph returns the structure that the program
 * returns, by the out_spec of the GraphModule in `module`. */
cfx_status cfx_pt2__shape_result(cfx_pt2_graph *g, const json_t *module,
                                 cfx_error *err);

/* ---- provenance.c ---- */

/* The metadata of a node: stack_trace, nn_module_stack, torch_fn. */
cfx_status cfx_pt2__metadata(cfx_node *n, const json_t *node, cfx_error *err);

/* ---- weights.c ---- */

/* Load the weights and constants of an archive into its model. */
cfx_status cfx_pt2__load(cfx_module *gm, cfx_pt2_archive *a, cfx_error *err);

/* ---- inputs.c ---- */

/* The sample inputs, new values in the order of the placeholders; all stay
 * absent where the archive has none. */
cfx_status cfx_pt2__inputs(cfx_value *out, const cfx_module *gm,
                           cfx_pt2_archive *a, cfx_error *err);

#endif
