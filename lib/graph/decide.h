/*
 * decide.h -- hidden arguments of modules, inferred from the graph. Not
 * installed.
 */
#ifndef CFX_DECIDE_H
#define CFX_DECIDE_H

#include <cfx/graph_module.h>

/* Decide arguments in all graphs of a module tree. Fails with CFX_ENOMEM. */
cfx_status cfx_graph__decide(cfx_module *gm, cfx_error *err);

#endif
