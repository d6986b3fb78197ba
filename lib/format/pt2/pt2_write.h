/*
 * pt2_write.h -- shared by the files that write .pt2. Not installed.
 *
 * The JSON is text in a buffer, whose `failed` tells a lack of memory: only
 * what can fail otherwise returns a status.
 */
#ifndef CFX_PT2_WRITE_H
#define CFX_PT2_WRITE_H

#include <cfx/file.h>

#include "format/io.h"
#include "format/json.h"
#include "format/zip_write.h"

/* ---- write.c ---- */

/* The `write` of the format (cfx/file.h). */
cfx_status cfx_pt2__write(const char *path, const cfx_module *gm,
                          const cfx_save_options *o, cfx_error *err);

/* ---- write_json.c ---- */

/* Add a quoted text; `len` bytes. */
void cfx_pt2__put_text(cfx_buf *b, const char *text, size_t len);
void cfx_pt2__put_name(cfx_buf *b, const char *text);
void cfx_pt2__put_float(cfx_buf *b, double f);
/* Add ", " unless this is the first item of a list or an object. */
void cfx_pt2__put_comma(cfx_buf *b);

/* The unions of a value that a node computes: of kinds of values, 1 << cfx_kind,
 * the key, and that of the name in it. */
typedef struct cfx_pt2_named {
    uint32_t kinds;
    const char *kind, *name;
} cfx_pt2_named;

enum { CFX_PT2_NNAMED = 4 };
extern const cfx_pt2_named cfx_pt2__value_unions[CFX_PT2_NNAMED];

/* The types, formats and devices that the schema numbers: torch's name of a
 * type, or NULL; and the number of one, or 0. */
const char *cfx_pt2__dtype_name(int64_t number);
int cfx_pt2__number_of_dtype(cfx_dtype t);
int cfx_pt2__number_of_format(cfx_memory_format f);
/* The global that names the storages of a type, "torch FloatStorage"; or NULL. */
extern const char *const cfx_pt2__storages[CFX_NDTYPES];
void cfx_pt2__put_device(cfx_buf *b, const char *name);

/* ---- write_extent.c ---- */

/* A symbol of the extents, under the name that it has in the file: torch's own
 * begin with s. */
typedef struct cfx_pt2_symbol {
    const char *name;
    char shown[24];
    int64_t min, max, hint; /* max < 0: none */
    bool unbacked;
} cfx_pt2_symbol;

typedef struct cfx_pt2_symbols {
    cfx_context *ctx;
    const cfx_shape_env *env; /* has their ranges; or NULL */
    cfx_pt2_symbol *item;
    size_t n, cap;
} cfx_pt2_symbols;

/* Collect the symbols of a graph's metas, with the values that sample inputs,
 * one for each placeholder, or none, give them. */
cfx_status cfx_pt2__find_symbols(cfx_pt2_symbols *s, const cfx_graph *g,
                                 const cfx_save_options *o, cfx_error *err);
void cfx_pt2__symbols_release(cfx_pt2_symbols *s);
/* The value of an extent for the sample inputs; -1 if it is not known. */
int64_t cfx_pt2__hint(const cfx_pt2_symbols *s, cfx_dim d);
/* A SymInt, a TensorMeta, and range_constraints. */
void cfx_pt2__put_extent(cfx_buf *b, const cfx_pt2_symbols *s, cfx_dim d);
void cfx_pt2__put_meta(cfx_buf *b, const cfx_pt2_symbols *s,
                       const cfx_tensor *t, const char *device, int64_t offset,
                       bool requires_grad);
void cfx_pt2__put_ranges(cfx_buf *b, const cfx_pt2_symbols *s);

/* ---- write_state.c ---- */

/* A parameter, buffer or constant: an input of the exported graph. */
typedef struct cfx_pt2_state {
    const char *path, *input; /* "fc.weight", "p_fc_weight" */
    const cfx_state *state;
    int order;    /* 0: parameters, 1: buffers, 2: constants */
    size_t place; /* among the state, as the graph reads it */
} cfx_pt2_state;

typedef struct cfx_pt2_states {
    cfx_context *ctx;
    cfx_pt2_state *item; /* in the order of the inputs */
    size_t n, cap;
    cfx_map by_path; /* -> 1 + index */
    cfx_arena arena;
} cfx_pt2_states;

/* Collect the state that get_attr nodes read. Fails with CFX_EWEIGHT for one
 * without numbers. */
cfx_status cfx_pt2__find_states(cfx_pt2_states *s, const cfx_module *gm,
                                cfx_error *err);
void cfx_pt2__states_release(cfx_pt2_states *s);
const cfx_pt2_state *cfx_pt2__state_of(const cfx_pt2_states *s,
                                       const cfx_node *get_attr);
/* Write their numbers and the configurations. Memory that several share is
 * written once. */
cfx_status cfx_pt2__write_states(cfx_zip_writer *z, const char *root,
                                 const cfx_pt2_states *s, cfx_error *err);

/* ---- write_in_spec.c ---- */

/* The tree (args, kwargs) of the file that was read; zeroed if all inputs are
 * positional. */
typedef struct cfx_pt2_in_spec {
    cfx_json parsed;
    const cfx_string *text; /* borrowed from the graph, as `names` are */
    const json_t *tree;     /* has a leaf for each placeholder */
    cfx_value names;        /* of forward's arguments, a list; or absent */
} cfx_pt2_in_spec;

cfx_status cfx_pt2__find_in_spec(cfx_pt2_in_spec *s, const cfx_graph *g,
                                 cfx_error *err);
void cfx_pt2__in_spec_release(cfx_pt2_in_spec *s);
void cfx_pt2__put_in_spec(cfx_buf *b, const cfx_pt2_in_spec *s,
                          const cfx_graph *g);

/* ---- write_graph.c ---- */

/* A leaf of a tree of values. */
extern const char cfx_pt2__leaf[];

typedef struct cfx_pt2_writer {
    cfx_context *ctx;
    const cfx_module *gm; /* whose graph is written */
    cfx_pt2_symbols symbols;
    cfx_pt2_states states;
    cfx_pt2_in_spec in_spec;
    cfx_buf *out;
    int depth; /* of graphs in graphs */
} cfx_pt2_writer;

/* A Graph as JSON; `top`: state becomes its inputs. */
cfx_status cfx_pt2__put_graph(cfx_pt2_writer *w, const cfx_module *gm,
                              bool top, cfx_error *err);
/* The signature, and the calls of modules. */
cfx_status cfx_pt2__put_signature(cfx_pt2_writer *w, cfx_error *err);

/* The names of forward's arguments (write_in_spec.c). */
void cfx_pt2__put_forward_names(const cfx_pt2_writer *w);

/* The result or constant of a node. */
cfx_value cfx_pt2__val(const cfx_node *n);
/* The getitem node of a result, or NULL. */
const cfx_node *cfx_pt2__item_of(const cfx_node *n, uint32_t i);
/* The name of a value in the file: of a state's input, or the node's. */
const char *cfx_pt2__name_of(const cfx_pt2_writer *w, const cfx_node *n);
/* The copy_ nodes at the end that write state back: true of such a node, which
 * is not written. */
bool cfx_pt2__writes_back(const cfx_node *n);

/* ---- write_argument.c ---- */

/* An Argument. `param` is that of the operator's schema, or NULL. */
cfx_status cfx_pt2__put_argument(cfx_pt2_writer *w, cfx_value v,
                                 const cfx_param *param, cfx_error *err);
/* The argument that reads a node: {"as_tensor": {"name": ...}}. */
cfx_status cfx_pt2__put_node(cfx_pt2_writer *w, const cfx_node *n,
                             cfx_error *err);

/* ---- write_pickle.c ---- */

/* Has a tree only tuples, lists and dicts? */
bool cfx_pt2__can_pickle(const json_t *tree);
/* The pickled inputs in an archive of torch.save, added to `out`: in the tree
 * of in_spec, or, if that is NULL, as (inputs, {}). */
cfx_status cfx_pt2__put_inputs(cfx_buf *out, cfx_context *ctx,
                               const json_t *tree, const cfx_value *inputs,
                               size_t n, cfx_error *err);

#endif
