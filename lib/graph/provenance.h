/*
 * provenance.h -- what a node's meta tells of where it came from. Not
 * installed.
 */
#ifndef CFX_PROVENANCE_H
#define CFX_PROVENANCE_H

#include <cfx/graph.h>

/* The path of the innermost module in whose forward the node was traced: the
 * last item of its nn_module_stack, which is path -> (path, class). Borrowed;
 * NULL where the meta tells none. */
const cfx_string *cfx_node__innermost_module(const cfx_node *n);

/* Does a key of meta tell where a node came from? */
bool cfx_meta__is_provenance(const char *key);

#endif
