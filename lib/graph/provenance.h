/*
 * provenance.h -- the origin of a node in its meta. Not installed.
 */
#ifndef CFX_PROVENANCE_H
#define CFX_PROVENANCE_H

#include <cfx/graph.h>

/* The path of the innermost module in whose forward the node was traced: the
 * last item of its nn_module_stack, which is path -> (path, class). Borrowed;
 * NULL without that meta. */
const cfx_string *cfx_node__innermost_module(const cfx_node *n);

/* The class that nn_module_stack names for the module at a path, without its
 * package: "Conv2d". Borrowed; NULL if the node is not known to be within it. */
const char *cfx_node__module_class(const cfx_node *n, const char *path,
                                   size_t len);

/* Does a key of meta describe the origin of a node? */
bool cfx_meta__is_provenance(const char *key);

#endif
