/*
 * cfx/source_matcher.h -- group nodes by their module or function of origin.
 *
 * A graph of operators does not show which nodes were one Linear, but their
 * meta does. A partition is the set of all nodes from one use of a source:
 *
 *     const char *wanted[] = {"Linear", "torch.nn.functional.relu"};
 *     cfx_source_partitions found;
 *     cfx_get_source_partitions(&found, graph, wanted, 2, NULL, NULL, &err);
 *     for (size_t i = 0; i < found.n; i++)
 *         printf("%s %s\n", found.item[i].source, found.item[i].name);
 *     cfx_source_partitions_release(&found);
 *
 * As in torch.fx, the source is meta `source_fn_stack` (a list of (name,
 * source), the innermost last), else `torch_fn` ((name, "kind.function")),
 * else, for functions and methods, `nn_module_stack` (a dict of path to (path,
 * class)). Sources are texts; the class "torch.nn.Linear" is "Linear".
 *
 * Unlike in torch.fx, partitions are in the order of their first nodes, and
 * inputs, including those in keywords and lists, in the order of their uses.
 */
#ifndef CFX_SOURCE_MATCHER_H
#define CFX_SOURCE_MATCHER_H

#include <cfx/graph.h>

typedef struct cfx_source_partition {
    const char *source; /* as passed in `wanted` */
    const char *name;   /* name of this use: "fc1", "relu_1" */
    cfx_node **nodes;   /* in graph order */
    cfx_node **inputs;  /* from outside, without get_attr nodes */
    cfx_node **outputs; /* nodes with users outside */
    cfx_node **params;  /* get_attr nodes in it or used by it */
    size_t nnodes, ninputs, noutputs, nparams;
} cfx_source_partition;

typedef struct cfx_source_partitions {
    cfx_context *ctx;
    size_t n;
    cfx_source_partition *item;
    size_t cap; /* private, as is what follows */
    cfx_node **nodes;
    size_t nnodes;
} cfx_source_partitions;

CFX_BEGIN_DECLS

/*
 * Find the partitions of the wanted sources; those with a node for which `keep`
 * returns false are left out (NULL: none). `wanted` and the graph must outlive
 * the result, which is overwritten: release it, also on failure. Fails with
 * CFX_ENOMEM.
 */
CFX_API cfx_status cfx_get_source_partitions(
    cfx_source_partitions *out, const cfx_graph *g, const char *const *wanted,
    size_t nwanted, bool (*keep)(void *user, const cfx_node *n), void *user,
    cfx_error *err);
/* Release them; a zeroed struct is allowed. */
CFX_API void cfx_source_partitions_release(cfx_source_partitions *found);

/* True if a node of b uses a node of a. */
CFX_API bool cfx_source_partitions_connected(const cfx_source_partition *a,
                                             const cfx_source_partition *b);

CFX_END_DECLS

#endif
