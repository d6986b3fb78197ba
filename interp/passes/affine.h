/*
 * affine.h -- layers that multiply by a weight and add a bias, and the norms
 * beside them, as passes see them: modules, or functions of parameters. Not
 * installed.
 */
#ifndef CFX_AFFINE_H
#define CFX_AFFINE_H

#include <cfx/pass.h>
#include <cfx/scope.h>

#include "base/util.h"

typedef enum layer_kind {
    LAYER_NONE, LAYER_LINEAR, LAYER_CONV, LAYER_CONV_TRANSPOSE, LAYER_NORM
} layer_kind;

/* `weight` and `bias` are there once it is loaded; a bias may be NULL. */
typedef struct layer {
    cfx_node *n;
    layer_kind kind;
    int axes;                  /* over how many it goes; 0: any */
    const cfx_module *module;  /* NULL: a function */
    const cfx_schema *schema;  /* of the function, as it is spelled */
    int64_t groups;
    bool training;
    cfx_tensor *weight, *bias;
} layer;

typedef struct norm {
    cfx_node *n;
    int axes;                  /* as of a layer */
    const cfx_module *module;
    const cfx_schema *schema;
    bool training;
    bool running;              /* it has running statistics */
    double eps;
    cfx_tensor *weight, *bias, *mean, *var; /* the first two may be NULL */
} norm;

/* How often each path is named by the nodes of a graph, so that what several
 * share is not changed under them; and whether a node writes to parameters or
 * buffers, so that their numbers are not those that the graph computes with. */
typedef struct path_uses {
    cfx_map count;
    bool written;
} path_uses;

cfx_status cfx_path_uses__init(path_uses *u, cfx_pass_call *p);
void cfx_path_uses__release(path_uses *u);
/* Is a module named once, and nothing above or below it? */
bool cfx_path_uses__once(const path_uses *u, const char *path);

/* The registered target that a function or method names, or NULL. */
const cfx_target *cfx_pass__target(cfx_pass_call *p, const cfx_node *n);
/* The signature that it is spelled by, or NULL. */
const cfx_schema *cfx_pass__signature(cfx_pass_call *p, const cfx_node *n);
/* The argument that a parameter takes; absent where it is not given. */
cfx_value cfx_pass__arg(const cfx_node *n, const cfx_schema *schema,
                        const char *name);
/* Give it another one, or none (absent). */
cfx_status cfx_pass__set_arg(cfx_pass_call *p, cfx_node *n,
                             const cfx_schema *schema, const char *name,
                             cfx_value v);
/* The module that a node calls, or NULL. */
const cfx_module *cfx_pass__module(cfx_pass_call *p, const cfx_node *n);

/* Is n a layer, or a batch norm, whose parameters can be had? */
bool cfx_layer__find(layer *l, cfx_pass_call *p, cfx_node *n);
bool cfx_norm__find(norm *b, cfx_pass_call *p, cfx_node *n);
/* Get the numbers. Fails with CFX_EWEIGHT, "missing weight: PATH". */
cfx_status cfx_layer__load(layer *l, cfx_pass_call *p);
cfx_status cfx_norm__load(norm *b, cfx_pass_call *p);

/* Give a layer another weight and bias, of any extents (`bias` absent: none).
 * A module that others use too stays as it is; the node gets one of its own. */
cfx_status cfx_layer__store(layer *l, cfx_pass_call *p, path_uses *u,
                            cfx_value weight, cfx_value bias);

/* Put a module where `path` is, or, unless `replace`, at a path beside it that
 * is free, and let n call it; takes it. */
cfx_status cfx_pass__put_module_take(cfx_pass_call *p, cfx_node *n,
                                     const char *path, bool replace,
                                     cfx_module *m);

/* A module like another, whose constructor's arguments differ in those of the
 * `kwargs`. Its state is not set. */
cfx_status cfx_pass__module_like(cfx_module **out, const cfx_module *like,
                                 const cfx_value *kwargs, size_t nkwargs,
                                 cfx_error *err);

/* Replace a node by another value and erase it, with the parameters that only
 * it used. */
cfx_status cfx_pass__replace(cfx_pass_call *p, cfx_node *n, cfx_node *with);
/* Erase get_attr nodes among `nodes` that have no users. */
cfx_status cfx_pass__drop_attrs(cfx_pass_call *p, cfx_node *const *nodes,
                                size_t n);

#endif
