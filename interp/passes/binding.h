/*
 * binding.h -- what the nodes of a graph may be, and which operator a call may
 * turn out to be. Not installed.
 *
 * Without numbers it is not known what a node gives; but a result of
 * torch.relu is a tensor, and so is a parameter. That is followed through the
 * graph by the schemas' return types.
 */
#ifndef CFX_PASSES_BINDING_H
#define CFX_PASSES_BINDING_H

#include <cfx/pass.h>

/* The kinds (1 << cfx_kind) that a value may have; of tuples and lists also
 * those of their items. */
typedef struct cfx_kinds {
    uint32_t self, item;
} cfx_kinds;

#define CFX_ANY_KIND ((cfx_kinds){~1u, ~1u})
#define CFX_TENSOR_KIND ((cfx_kinds){1u << CFX_TENSOR, ~1u})

typedef struct cfx_graph_kinds {
    cfx_context *ctx;
    uint32_t ids;
    cfx_kinds *of;   /* by node id */
} cfx_graph_kinds;

/* `tensors`: placeholders without a type or a default are tensors. Release it
 * also on failure. */
cfx_status cfx_graph_kinds__init(cfx_graph_kinds *k, const cfx_graph *g,
                                 bool tensors, cfx_error *err);
void cfx_graph_kinds__release(cfx_graph_kinds *k);

/* The return type of a schema: "Tensor", "Tensor[]", "(Tensor, Tensor)",
 * without the marks of aliases; as snprintf. */
size_t cfx_schema__returns(const cfx_schema *s, char *buf, size_t size);
cfx_kinds cfx_schema__result(const cfx_schema *s);

/*
 * Call fn for each signature that the call of a function or method may turn
 * out to have, in the order in which they are tried, up to one that is
 * certain; `b` is bound to that one alone. What fn fails with ends it. No
 * signature at all is no failure. Fails with CFX_ENOMEM.
 */
typedef cfx_status cfx_candidate_fn(void *user, const cfx_target *t,
                                    const cfx_bound *b);
cfx_status cfx_node__candidates(const cfx_graph_kinds *k, const cfx_node *n,
                                cfx_candidate_fn *fn, void *user,
                                cfx_error *err);
/* The same of a call that is in no graph yet. */
cfx_status cfx_call__candidates(const cfx_graph_kinds *k,
                                const cfx_target *chain, const cfx_value *args,
                                size_t nargs, const cfx_value *kwargs,
                                size_t nkwargs, cfx_candidate_fn *fn,
                                void *user, cfx_error *err);

/* A counted copy of a value that a graph or a schema owns, which outlives an
 * edit; absent for lack of memory. */
cfx_value cfx_value__hold(cfx_context *ctx, cfx_value v);

/* What a node calls: NULL where it is no function or method that is known. */
const cfx_target *cfx_node__target(const cfx_node *n);

#endif
