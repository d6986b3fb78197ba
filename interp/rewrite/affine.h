/*
 * affine.h -- layers with a weight and a bias, and the norms beside them, for
 * passes. Each is a module or a function of parameters. Not installed.
 */
#ifndef CFX_AFFINE_H
#define CFX_AFFINE_H

#include <cfx/pass.h>
#include <cfx/scope.h>

#include "base/util.h"
#include "graph/aliases.h"
#include "graph/graph_impl.h"

typedef enum layer_kind {
    LAYER_NONE,
    LAYER_LINEAR,
    LAYER_CONV,
    LAYER_CONV_TRANSPOSE,
    LAYER_NORM
} layer_kind;

/* `weight` and `bias` are set by cfx_layer__load; a bias may be NULL. */
typedef struct layer {
    cfx_node *n;
    layer_kind kind;
    int axes;                 /* number of spatial axes; 0: any */
    const cfx_module *module; /* NULL: a function */
    const cfx_schema *schema; /* of the function, as it is called */
    int64_t groups;
    bool training;
    cfx_tensor *weight, *bias;
} layer;

typedef struct norm {
    cfx_node *n;
    int axes; /* as in a layer */
    const cfx_module *module;
    const cfx_schema *schema;
    bool training;
    bool running; /* it has running statistics */
    double eps;
    cfx_tensor *weight, *bias, *mean, *var; /* the first two may be NULL */
} norm;

/* Counts how often the graph names each path, since passes must not change
 * shared modules, and whether nodes write to parameters or buffers, whose
 * stored numbers are then not the ones that the graph computes with. */
typedef struct path_uses {
    cfx_context *ctx;
    cfx_map count;
    bool written;              /* some parameter or buffer */
    bool unknown;              /* it is not known which */
    const cfx_tensor **target; /* that are written, unless `unknown` */
    size_t ntargets, cap;
} path_uses;

cfx_status cfx_path_uses__init(path_uses *u, cfx_pass_call *p);
void cfx_path_uses__release(path_uses *u);
/* True if some node may write to the memory of a parameter. */
bool cfx_path_uses__writes(const path_uses *u, const cfx_tensor *t);
/* cfx_aliases__init_apart, where a parameter counts as written if some node may
 * write to its memory, by whatever name. */
cfx_status cfx_pass__aliases(cfx_aliases *a, cfx_pass_call *p);
/* True if a module is named once, and no module above or below it is named. */
bool cfx_path_uses__once(const path_uses *u, const char *path);

/* Return the signature of the call, or NULL. */
const cfx_schema *cfx_pass__signature(const cfx_node *n);
/* Does n call the operator, as a function or a method, or a module that stands
 * for it? */
bool cfx_pass__calls(const cfx_pass_call *p, const cfx_node *n,
                     const char *op);
/* The value of a keyword argument; absent if there is none. */
cfx_value cfx_pass__kwarg(const cfx_node *n, const char *name);

/* Return the argument of a parameter; absent if not given. */
cfx_value cfx_pass__arg(const cfx_node *n, const cfx_schema *schema,
                        const char *name);
/* Replace the argument of a parameter; absent removes it. */
cfx_status cfx_pass__set_arg(cfx_pass_call *p, cfx_node *n,
                             const cfx_schema *schema, const char *name,
                             cfx_value v);
/* Does n exchange the axes of a matrix? */
bool cfx_pass__is_transpose(const cfx_node *n);
/* Return the module that a node calls, or NULL. */
const cfx_module *cfx_pass__module(const cfx_pass_call *p, const cfx_node *n);

/* True if n is a layer (a batch norm) whose parameters can be read. */
bool cfx_layer__find(layer *l, cfx_pass_call *p, cfx_node *n);
bool cfx_norm__find(norm *b, cfx_pass_call *p, cfx_node *n);
/* Load the parameters. Fails with CFX_EWEIGHT, "missing weight: PATH". */
cfx_status cfx_layer__load(layer *l, cfx_pass_call *p);
cfx_status cfx_norm__load(norm *b, cfx_pass_call *p);

/* True if all arguments of a layer but its input and parameters are literals. */
bool cfx_layer__is_plain(const layer *l);
/* Record the call of a plain layer with x and another weight and bias, of any
 * extents (`bias` absent: none). The new node has the layer's name. If other nodes
 * use the module too, it calls a copy of its own. For the `build` of a rule. */
cfx_value cfx_layer__call(cfx_scope *s, layer *l, cfx_pass_call *p,
                          cfx_value x, cfx_value weight, cfx_value bias);

/* Make a module whose constructor arguments are those of `like`, except for
 * `kwargs`. Its state is not set. */
cfx_status cfx_pass__module_like(cfx_module **out, const cfx_module *like,
                                 const cfx_value *kwargs, size_t nkwargs,
                                 cfx_error *err);

/* Replace a node by a value, and erase it and the parameters that only it
 * used. */
cfx_status cfx_pass__replace(cfx_pass_call *p, cfx_node *n, cfx_node *with);
/* Like cfx_pass__replace, for a node that computes the value of n now: its
 * `from_node` gets the names of both. */
cfx_status cfx_pass__fuse_into(cfx_pass_call *p, cfx_node *n, cfx_node *into);
/* Erase those get_attr nodes among `nodes` that have no users. */
cfx_status cfx_pass__drop_attrs(cfx_pass_call *p, cfx_node *const *nodes,
                                size_t n);

#endif
