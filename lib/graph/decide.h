/*
 * decide.h -- arguments of modules that the text hides and the graph tells. Not
 * installed.
 */
#ifndef CFX_DECIDE_H
#define CFX_DECIDE_H

#include <cfx/graph_module.h>

/* Decide what the graphs of a tree tell of its modules. Fails with
 * CFX_ENOMEM. */
cfx_status cfx_graph__decide(cfx_module *gm, cfx_error *err);

#endif
