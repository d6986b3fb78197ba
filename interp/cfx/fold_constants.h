/*
 * cfx/fold_constants.h -- compute nodes that do not depend on the inputs.
 */
#ifndef CFX_FOLD_CONSTANTS_H
#define CFX_FOLD_CONSTANTS_H

#include <cfx/graph_module.h>

/* Zeroed members take the defaults. */
typedef struct cfx_fold_options {
    size_t size; /* sizeof(cfx_fold_options) */
    /* Nodes for which it returns true, and their users, are not folded. */
    bool (*skip)(void *user, const cfx_node *n);
    void *user;
    int64_t max_bytes;  /* larger results are not folded; 0: no limit */
    const char *prefix; /* of the new buffers; NULL: "_folded_" */
    bool quantized;     /* make floats of quantized weights, too */
} cfx_fold_options;

CFX_BEGIN_DECLS

/*
 * Compute each node that depends only on parameters, buffers and literals, has
 * no effect, is not random, and is not in memory that something writes to. A
 * tensor result becomes a buffer _folded_0, _folded_1, ... of the root, any
 * other result a literal in its users; unused nodes are erased. The new
 * get_attr nodes take the names (if free), types, meta tensor_meta and
 * provenance of the nodes they replace. Calls that return lists of tensors
 * which others use as a whole stay, with their inputs.
 *
 * torch.fx's split_const_subgraphs instead makes two GraphModules and runs the
 * constant one at the first call. *changed (which may be NULL) is the number of
 * nodes made and erased. Fails with CFX_EWEIGHT ("missing weight: PATH") if
 * needed weights are not loaded, CFX_ENOMEM, and as the calls do; the graph is
 * then unchanged.
 */
CFX_API cfx_status cfx_fold_constants(cfx_module *gm,
                                      const cfx_fold_options *options,
                                      size_t *changed, cfx_error *err);

CFX_END_DECLS

#endif
