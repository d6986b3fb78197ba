/*
 * functionalize.h -- in-place calls that need not be. Not installed.
 */
#ifndef CFX_PASSES_FUNCTIONALIZE_H
#define CFX_PASSES_FUNCTIONALIZE_H

#include <cfx/graph.h>

/* Let an in-place call return a new tensor, if that is the same to all who read its
 * input: a new tensor, which nothing reads after the call, and no view shows. */
cfx_status cfx_pass__functionalize(cfx_node *n, cfx_error *err);

#endif
