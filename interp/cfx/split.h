/*
 * cfx/split.h -- cut a graph into parts that are GraphModules of their own.
 *
 * Splitting gives each call of a graph (functions, methods, modules) to a
 * part; the parts become children of a new GraphModule, whose graph calls them
 * one after the other. The old one stays as it is: modules are copied, their
 * tensors shared.
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
 * A value that crosses a border becomes the result of one part (one of a tuple
 * where there are several, taken out by getitem) and a placeholder of another.
 */
#ifndef CFX_SPLIT_H
#define CFX_SPLIT_H

#include <cfx/graph_module.h>

/* The part that a call belongs to; asked once a node, in order. */
typedef int64_t cfx_part_of_fn(void *user, const cfx_node *n);

/* Zeroed for the defaults. */
typedef struct cfx_split_options {
    size_t size;                 /* sizeof(cfx_split_options) */
    /* Parts in the order in which they first occur, not in the one that
     * torch's sorting gives; parameters just before the part that takes
     * them. */
    bool keep_original_order;
    bool keep_original_node_name;
    bool number_inputs;          /* of parts: arg_0, not the original name */
    bool tuple_return;           /* also where a part has one result */
    const char *partition_affix; /* submod_AFFIX_0 */
    /* NULL, or where a new dict of strings is put, which the caller unrefs:
     * "submod_0.layer_1" -> "layer.1", for each module called. */
    cfx_value *qualname_map;
} cfx_split_options;

CFX_BEGIN_DECLS

/*
 * torch's split_module. Children are called submod_ID. A child's inputs are
 * named after the nodes that they are, and a module `a.b` is `a_b` in it (a
 * number is appended where two modules would have one name; torch takes the
 * last for both). Parameters stay in the parent, which passes them in; modules
 * named by get_attr nodes go into the children. Fails with CFX_EGRAPH ("cycle
 * exists between partitions!"; also where keep_original_order would call a
 * part before its inputs are there), CFX_ENAME (a target that is not there),
 * CFX_ENOMEM.
 */
CFX_API cfx_status cfx_split_module(cfx_module **out, const cfx_module *gm,
                                    cfx_part_of_fn *part_of, void *user,
                                    const cfx_split_options *options,
                                    cfx_error *err);

/* The tag of a call; NULL: it has none. */
typedef const char *cfx_tag_of_fn(void *user, const cfx_node *n);

/*
 * torch's split_by_tags: one child for each of `tags`, in that order, called
 * as the tag is. Every call must have one of the tags (tag_of NULL: the str in
 * its meta "tag"), and take values only of parts that are not after its own.
 * get_attr nodes are copied to where they are used; targets keep their paths.
 * `tuple_return` and `qualname_map` ("layer.1" -> "a.layer.1") are heeded of
 * the options. Fails with CFX_EINVAL, CFX_EGRAPH, CFX_ENAME, CFX_ENOMEM.
 */
CFX_API cfx_status cfx_split_by_tags(cfx_module **out, const cfx_module *gm,
                                     const char *const *tags, size_t ntags,
                                     cfx_tag_of_fn *tag_of, void *user,
                                     const cfx_split_options *options,
                                     cfx_error *err);

/* ---- Stages of equal weight ---- */

/*
 * Cut a sequence of n weights into at most `parts` stages, the heaviest of
 * which is as light as can be; stage[i] is that of item i. No stage is empty
 * where there are enough items. The sum of all is below 2^64. Never fails.
 */
CFX_API void cfx_balance(uint32_t *stage, const uint64_t *weight, size_t n,
                         uint32_t parts);

typedef enum cfx_weigh {
    CFX_BY_SIZE,   /* bytes of the parameters that a call is first to use */
    CFX_BY_FLOPS   /* 2 * multiply-adds + other operations */
} cfx_weigh;

/*
 * The weight of each node, by its id: weight has room for cfx_graph_ids().
 * FLOPs are those of a walk over metas; `inputs` are its inputs, of known
 * shapes. Without them they are taken from the meta (val, tensor_meta) of the
 * placeholders.
 * Fails with CFX_EINVAL where shapes are not known, and as a run does.
 */
CFX_API cfx_status cfx_node_weights(uint64_t *weight, cfx_module *gm,
                                    cfx_weigh by, const cfx_value *inputs,
                                    size_t ninputs, cfx_error *err);

/* Split into `parts` stages of consecutive nodes that weigh about the same
 * (submod_0, submod_1, ...): a pipeline. Fails as the above. */
CFX_API cfx_status cfx_split_stages(cfx_module **out, cfx_module *gm,
                                    uint32_t parts, cfx_weigh by,
                                    const cfx_value *inputs, size_t ninputs,
                                    cfx_error *err);

/* The same in place: gm's own graph calls the stages, which are its children.
 * Modules that are not called any more are taken out. */
CFX_API cfx_status cfx_split_stages_in_place(cfx_module *gm, uint32_t parts,
                                             cfx_weigh by,
                                             const cfx_value *inputs,
                                             size_t ninputs, cfx_error *err);

CFX_END_DECLS

#endif
