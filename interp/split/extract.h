/*
 * extract.h -- copy nodes into the graphs of new submodules, with the modules
 * that they name. Shared by splitting and partitioning. Not installed.
 */
#ifndef CFX_EXTRACT_H
#define CFX_EXTRACT_H

#include <cfx/graph_module.h>

#include "graph/graph_impl.h"

/*
 * A graph that is being built from nodes of another one. `env` maps the ids of
 * the original nodes to their copies. It belongs to the caller, has room for
 * all ids, and may be reused for several graphs.
 */
typedef struct cfx_extraction {
    cfx_graph *to;
    cfx_node **env;
    cfx_error *err; /* not NULL */
} cfx_extraction;

/* Differences between a copy and its original. */
typedef struct cfx_extract_options {
    const char *target; /* NULL: that of the original */
    const char *name;   /* NULL: derived from the target */
    bool placeholder;   /* the copy is a placeholder */
    bool plain;         /* copy neither type nor meta */
} cfx_extract_options;

/* Copy a node to the insert point and record it in env, which maps
 * arguments. */
cfx_status cfx_extract__node(cfx_extraction *c, const cfx_node *n,
                             const cfx_extract_options *how);

/* Return the copies of n nodes: one by itself unless `tuple`, else a tuple. */
cfx_status cfx_extract__output(cfx_extraction *c, cfx_node *const *of,
                               size_t n, bool tuple);

/* Compare two nodes by their places in the graph, for qsort. */
int cfx_extract__by_order(const void *a, const void *b);

/* Call module `path` with the values that env has for n nodes. */
cfx_node *cfx_extract__call(cfx_extraction *c, const char *path,
                            cfx_node *const *inputs, size_t n);

/* Unpack the results of a part. env maps the n nodes to them; they inherit the
 * nodes' provenance. A single result is the call itself, unless `tuple`. */
cfx_status cfx_extract__results(cfx_extraction *c, cfx_node *call,
                                cfx_node *const *of, size_t n, bool tuple);

/*
 * Add what `path` names in `from` to `to`, at the path `as`: a parameter or
 * buffer, whose tensor is shared, or a copy of a module. Missing containers are
 * created. Fails with CFX_ENAME and torch's message, CFX_ENOMEM.
 */
cfx_status cfx_lift__one(cfx_module *to, const char *as,
                         const cfx_module *from, const char *path,
                         cfx_error *err);

/* Call cfx_lift__one for all paths that the graph's get_attr and call_module
 * nodes name, shortest paths first. */
cfx_status cfx_lift__all(cfx_module *to, const cfx_graph *g,
                         const cfx_module *from, cfx_error *err);

/* Return the number of dots in a path. */
size_t cfx_path__dots(const char *path);

/* Make a GraphModule that has only a graph. Takes the graph, also on failure.
 * The training flag is that of `like`. */
cfx_status cfx_extract__module_take(cfx_module **out, const cfx_module *like,
                                    cfx_graph *g, const char *class_name,
                                    cfx_error *err);

/* Allocate zeroed scratch memory. Returns NULL and sets err if it is
 * lacking. */
void *cfx_extract__scratch(cfx_arena *a, size_t n, size_t size,
                           cfx_error *err);

/* Sort the indices 0..n-1 by key, stably: those of key k are item[start[k]] ...
 * item[start[k + 1] - 1]. Keys of nkeys and more are left out. `start` needs
 * room for nkeys + 2. */
void cfx_extract__bucket(uint32_t n, const uint32_t *key, uint32_t nkeys,
                         uint32_t *start, uint32_t *item);

#endif
