/*
 * module_effects.h -- effects of modules and graphs at a nesting depth. Not
 * installed.
 */
#ifndef CFX_MODULE_EFFECTS_H
#define CFX_MODULE_EFFECTS_H

#include <cfx/graph.h>
#include <cfx/module.h>

/* All effects, if nothing is known. */
extern const cfx_effects cfx_graph__worst;

/* cfx_node_effects for a graph at that nesting depth. */
cfx_status cfx_node__effects_at(const cfx_node *n, cfx_effects *out, int depth,
                                cfx_error *err);

/* The effects of a call of a module, by parameter (for a GraphModule, by
 * placeholder); cached. Fails with CFX_ENOMEM, CFX_ELIMIT, CFX_ECANCEL. */
cfx_status cfx_module__effects_at(cfx_module *m, cfx_effects *out, int depth,
                                  cfx_error *err);

/* Run the forward of a module on metas and return its effects; all effects if
 * it fails. Fails like cfx_module__effects_at. */
cfx_status cfx_forward__effects(cfx_module *m, cfx_effects *out, int depth,
                                cfx_error *err);

/* The index of the placeholder `*args`; one beyond the last if there is
 * none. */
uint32_t cfx_graph__rest(const cfx_graph *g);

#endif
