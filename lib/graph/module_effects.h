/*
 * module_effects.h -- the effects of modules, of graphs that are nested so
 * deep. Not installed.
 */
#ifndef CFX_MODULE_EFFECTS_H
#define CFX_MODULE_EFFECTS_H

#include <cfx/graph.h>
#include <cfx/module.h>

/* Assumed where nothing can be known. */
extern const cfx_effects cfx_graph__worst;

/* As cfx_node_effects; the node's graph is nested so deep in those that call
 * it. */
cfx_status cfx_node__effects_at(const cfx_node *n, cfx_effects *out,
                                int depth, cfx_error *err);

/* Tell what a call of a module does, by its parameters; of a GraphModule, by
 * its placeholders. It is found once. Fails with CFX_ENOMEM, CFX_ELIMIT,
 * CFX_ECANCEL. */
cfx_status cfx_module__effects_at(cfx_module *m, cfx_effects *out, int depth,
                                  cfx_error *err);

/* Run the forward of a module without numbers, and tell what its calls do; the
 * worst where it does not run. Fails as cfx_module__effects_at. */
cfx_status cfx_forward__effects(cfx_module *m, cfx_effects *out, int depth,
                                cfx_error *err);

/* The number of the placeholder that takes all arguments from there on,
 * `*args`; one beyond the last if there is none. */
uint32_t cfx_graph__rest(const cfx_graph *g);

#endif
