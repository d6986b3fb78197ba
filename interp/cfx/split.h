/*
 * cfx/split.h -- split a graph into parts that are GraphModules.
 *
 * Splitting assigns each call of a graph (functions, methods, modules) to a
 * part. The parts become children of a new GraphModule, whose graph calls them
 * in order. The original is unchanged: modules are copied, their tensors
 * shared.
 *
 *     static int64_t halves(void *user, const cfx_node *n)
 *     {
 *         return cfx_node_before(n, user) ? 0 : 1;
 *     }
 *     ...
 *     cfx_split_module(&split, gm, halves, middle, NULL, &err);
 *
 *     graph():
 *         %x : [num_users=1] = placeholder[target=x]
 *         %submod_0 : [num_users=1] = call_module[target=submod_0](...)
 *         %submod_1 : [num_users=1] = call_module[target=submod_1](...)
 *         return submod_1
 *
 * A value that one part computes and another uses becomes a result of the first
 * (an item of a tuple, if there are several) and a placeholder of the second.
 */
#ifndef CFX_SPLIT_H
#define CFX_SPLIT_H

#include <cfx/graph_module.h>

/* Return the part of a call; called once per node, in order. */
typedef int64_t cfx_part_of_fn(void *user, const cfx_node *n);

/* Zeroed for the defaults. */
typedef struct cfx_split_options {
    size_t size; /* sizeof(cfx_split_options) */
    /* Keep the parts in the order in which they first occur instead of torch's
     * sorted order; put parameters just before the part that uses them. */
    bool keep_original_order;
    bool keep_original_node_name;
    bool number_inputs;          /* not after their nodes but arg_0 */
    bool tuple_return;           /* also with a single result */
    const char *partition_affix; /* submod_AFFIX_0 */
    /* NULL, or receives a new dict of strings, which the caller unrefs:
     * "submod_0.layer_1" -> "layer.1", for each module that is called. */
    cfx_value *qualname_map;
} cfx_split_options;

CFX_BEGIN_DECLS

/*
 * torch's split_module. Children are called submod_ID. A child's inputs are
 * named after the original nodes, and a module `a.b` is called `a_b` in it
 * (with a number if two modules would have one name; torch uses the last for
 * both). Parameters stay in the parent, which passes them in; modules named by
 * get_attr nodes are copied into the children. Fails with CFX_EGRAPH ("cycle
 * exists between partitions!"; also if keep_original_order would call a part
 * before its inputs are computed), CFX_ENAME (a target that does not exist),
 * CFX_ENOMEM.
 */
CFX_API cfx_status cfx_split_module(cfx_module **out, const cfx_module *gm,
                                    cfx_part_of_fn *part_of, void *user,
                                    const cfx_split_options *options,
                                    cfx_error *err);

/* Return the tag of a call; NULL if it has none. */
typedef const char *cfx_tag_of_fn(void *user, const cfx_node *n);

/*
 * torch's split_by_tags: one child for each of `tags`, in that order, named
 * after the tag. Every call must have one of the tags (tag_of NULL: the str in
 * its meta "tag") and use only values of its own part and earlier ones.
 * get_attr nodes are copied to their users; targets keep their paths. Of the
 * options only `tuple_return` and `qualname_map` ("layer.1" -> "a.layer.1") are
 * used. Fails with CFX_EINVAL, CFX_EGRAPH, CFX_ENAME, CFX_ENOMEM.
 */
CFX_API cfx_status cfx_split_by_tags(cfx_module **out, const cfx_module *gm,
                                     const char *const *tags, size_t ntags,
                                     cfx_tag_of_fn *tag_of, void *user,
                                     const cfx_split_options *options,
                                     cfx_error *err);

/* ---- Stages of equal weight ---- */

/*
 * Cut a sequence of n weights into at most `parts` stages, with the heaviest
 * one as light as possible; stage[i] is the stage of item i. No stage is empty
 * if there are enough items. The sum of all weights must be below 2^64. Never
 * fails.
 */
CFX_API void cfx_balance(uint32_t *stage, const uint64_t *weight, size_t n,
                         uint32_t parts);

typedef enum cfx_weigh {
    CFX_BY_SIZE, /* bytes of parameters, at their first user */
    CFX_BY_FLOPS /* 2 * multiply-adds + other operations */
} cfx_weigh;

/*
 * Compute the weight of each node, by its id; `weight` has room for
 * cfx_graph_ids(). FLOPs are counted by a walk over metas with `inputs` of
 * known shapes; without `inputs`, the meta (val, tensor_meta) of the
 * placeholders is used. Fails with CFX_EINVAL if shapes are not known, and as a
 * run does.
 */
CFX_API cfx_status cfx_node_weights(uint64_t *weight, cfx_module *gm,
                                    cfx_weigh by, const cfx_value *inputs,
                                    size_t ninputs, cfx_error *err);

/* Split into `parts` stages of consecutive nodes of about equal weight
 * (submod_0, submod_1, ...): a pipeline. Fails as the two functions above. */
CFX_API cfx_status cfx_split_stages(cfx_module **out, cfx_module *gm,
                                    uint32_t parts, cfx_weigh by,
                                    const cfx_value *inputs, size_t ninputs,
                                    cfx_error *err);

/* Like cfx_split_stages, but in place: gm's own graph calls the stages, which
 * are its children. Modules that are not called any more are removed. */
CFX_API cfx_status cfx_split_stages_in_place(cfx_module *gm, uint32_t parts,
                                             cfx_weigh by,
                                             const cfx_value *inputs,
                                             size_t ninputs, cfx_error *err);

CFX_END_DECLS

#endif
