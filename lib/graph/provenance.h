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

/* Does a key of meta describe the origin of a node? */
bool cfx_meta__is_provenance(const char *key);

#endif
