/*
 * cfx/fold_constants.h -- compute what does not depend on the inputs.
 */
#ifndef CFX_FOLD_CONSTANTS_H
#define CFX_FOLD_CONSTANTS_H

#include <cfx/graph_module.h>

/* Zeroed members take the defaults. */
typedef struct cfx_fold_options {
    size_t size;                /* sizeof(cfx_fold_options) */
    /* Nodes for which it is true are not folded, nor what depends on them. */
    bool (*skip)(void *user, const cfx_node *n);
    void *user;
    int64_t max_bytes;          /* results that are larger stay; 0: no limit */
    const char *prefix;         /* of the new buffers; NULL: "_folded_" */
} cfx_fold_options;

CFX_BEGIN_DECLS

/*
 * Compute each node that depends on nothing but parameters, buffers and
 * literals, has no effect, is not random and is in no memory that something
 * writes to; once, now. A tensor among the results becomes a buffer _folded_0,
 * _folded_1, ... of the root, anything else a literal where it is used; nodes
 * that nobody needs any more are erased. The new get_attr nodes have the names
 * and types of the nodes they replace, as far as names are free, their meta
 * tensor_meta, and inherit their provenance. Calls whose results are lists of
 * tensors that others need whole stay, as does what they need.
 *
 * torch.fx's split_const_subgraphs does the same in two GraphModules, the
 * constant one of which runs at the first call. *changed (which may be NULL) is
 * the number of nodes made and erased. Fails with CFX_EWEIGHT ("missing weight:
 * PATH") where numbers are needed that were not loaded, CFX_ENOMEM, and what
 * the calls fail with; the graph stays as it was, then.
 */
CFX_API cfx_status cfx_fold_constants(cfx_module *gm,
                                      const cfx_fold_options *options,
                                      size_t *changed, cfx_error *err);

CFX_END_DECLS

#endif
