/*
 * binding.h -- possible kinds of nodes, and the operators that a call may
 * resolve to. Not installed.
 *
 * Without running a graph the kind of a value is often unknown, but torch.relu
 * returns a tensor and a parameter is one. Kinds are propagated through the
 * graph by the return types of schemas.
 */
#ifndef CFX_PASSES_BINDING_H
#define CFX_PASSES_BINDING_H

#include <cfx/pass.h>

/* The possible kinds (1 << cfx_kind) of a value; for tuples and lists also
 * those of their items. */
typedef struct cfx_kinds {
    uint32_t self, item;
} cfx_kinds;

#define CFX_ANY_KIND ((cfx_kinds){~1u, ~1u})
#define CFX_TENSOR_KIND ((cfx_kinds){1u << CFX_TENSOR, ~1u})

typedef struct cfx_graph_kinds {
    cfx_context *ctx;
    uint32_t ids;
    cfx_kinds *of; /* by node id */
} cfx_graph_kinds;

/* `tensors`: assume that placeholders without type and default are tensors.
 * Release it also on failure. */
cfx_status cfx_graph_kinds__init(cfx_graph_kinds *k, const cfx_graph *g,
                                 bool tensors, cfx_error *err);
void cfx_graph_kinds__release(cfx_graph_kinds *k);

/* Format the return type of a schema: "Tensor", "Tensor[]", "(Tensor, Tensor)",
 * without alias annotations. Returns the length, as snprintf. */
size_t cfx_schema__returns(const cfx_schema *s, char *buf, size_t size);
cfx_kinds cfx_schema__result(const cfx_schema *s);

/*
 * Call fn for each signature that the call of a function or method may resolve
 * to, in the order of binding, up to one that is certain; `b` is bound to that
 * signature only. Stops with the status of fn if it fails. A call without
 * signatures is no error. Fails with CFX_ENOMEM.
 */
typedef cfx_status cfx_candidate_fn(void *user, const cfx_target *t,
                                    const cfx_bound *b);
cfx_status cfx_node__candidates(const cfx_graph_kinds *k, const cfx_node *n,
                                cfx_candidate_fn *fn, void *user,
                                cfx_error *err);
/* The variant for a call that is not in a graph. */
cfx_status cfx_call__candidates(const cfx_graph_kinds *k,
                                const cfx_target *chain, const cfx_value *args,
                                size_t nargs, const cfx_value *kwargs,
                                size_t nkwargs, cfx_candidate_fn *fn,
                                void *user, cfx_error *err);

/* Does the call of a target, by what is known of the nodes in its arguments, give a
 * tensor of this dtype and shape? */
bool cfx_call__gives(cfx_context *ctx, const cfx_target *t, cfx_args args,
                     const cfx_tensor *want);

/* Copy a value of a graph or schema, with references of its own, so that it
 * outlives edits; absent for lack of memory. */
cfx_value cfx_value__clone(cfx_context *ctx, cfx_value v);

/* Return what a node calls; NULL unless it is a known function or method. */
const cfx_target *cfx_node__target(const cfx_node *n);

#endif
