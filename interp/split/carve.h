/*
 * carve.h -- what splitting and partitioning share: nodes copied into the
 * graphs of new children, and the modules that they name. Not installed.
 */
#ifndef CFX_CARVE_H
#define CFX_CARVE_H

#include <cfx/graph_module.h>

#include "graph/graph_impl.h"

/*
 * A graph that is being made from nodes of another. `env` maps the ids of
 * those to their copies; it has room for all, belongs to the caller, and may
 * serve several graphs in turn.
 */
typedef struct cfx_carving {
    cfx_graph *to;
    cfx_node **env;
    cfx_error *err;          /* not NULL */
} cfx_carving;

/* How a copy differs from the original. */
typedef struct cfx_carved {
    const char *target;      /* NULL: the same */
    const char *name;        /* NULL: made from the target */
    bool placeholder;        /* it becomes an input */
    bool plain;              /* without type and meta */
} cfx_carved;

/* Copy a node to the insert point, arguments by env; env has the copy then. */
cfx_status cfx_carve__node(cfx_carving *c, const cfx_node *n,
                          const cfx_carved *how);

/* Return the copies of n nodes: one by itself unless `tuple`, else a tuple. */
cfx_status cfx_carve__output(cfx_carving *c, cfx_node *const *of, size_t n,
                            bool tuple);

/* Compare two nodes by their places in the graph, for qsort. */
int cfx_carve__by_order(const void *a, const void *b);

/* Call module `path` with the values that env has for n nodes. */
cfx_node *cfx_carve__call(cfx_carving *c, const char *path,
                         cfx_node *const *inputs, size_t n);

/* Take the results of a part apart: env gets them for n nodes, whose provenance
 * they inherit. One is the call itself, unless `tuple`. */
cfx_status cfx_carve__results(cfx_carving *c, cfx_node *call,
                             cfx_node *const *of, size_t n, bool tuple);

/*
 * Give `to` what `path` names in `from`, under the path `as`: a parameter or
 * buffer, whose tensor is shared, or a copy of a module. Containers on the way
 * are made. Fails with CFX_ENAME and torch's sentence, CFX_ENOMEM.
 */
cfx_status cfx_lift__one(cfx_module *to, const char *as, const cfx_module *from,
                    const char *path, cfx_error *err);

/* cfx_lift all that a graph's get_attr and call_module nodes name, paths as
 * they are, those of few atoms first. */
cfx_status cfx_lift__all(cfx_module *to, const cfx_graph *g,
                        const cfx_module *from, cfx_error *err);

/* Number of dots in a path. */
size_t cfx_path__dots(const char *path);

/* A GraphModule without anything but its graph, which it takes over, also on
 * failure; its training flag is that of `like`. */
cfx_status cfx_carve__module_take(cfx_module **out, const cfx_module *like,
                                 cfx_graph *g, const char *class_name,
                                 cfx_error *err);

/* What shape propagation or a tracer has noted of a node's value: meta "val",
 * "tensor_meta" or "example_value"; absent where there is none. */
cfx_value cfx_carve__known(const cfx_node *n);

/* Scratch: zeroed, of the arena. NULL, and err set, for lack of memory. */
void *cfx_carve__scratch(cfx_arena *a, size_t n, size_t size, cfx_error *err);

/* Indices 0..n-1 by key, stable: those of key k are item[start[k]] up to
 * item[start[k + 1]]. Keys of nkeys and more are left out. `start` has room
 * for nkeys + 2. */
void cfx_carve__bucket(uint32_t n, const uint32_t *key, uint32_t nkeys,
                uint32_t *start, uint32_t *item);

#endif
