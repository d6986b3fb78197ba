/*
 * cfx/partition.h -- find the parts of a graph that a backend can run, and
 * make each of them one call.
 *
 *     static bool is_add(void *user, const cfx_node *n)
 *     {
 *         return cfx_node_is(n, "add");
 *     }
 *     ...
 *     cfx_partitions parts = {0};
 *     cfx_propose_partitions(&parts, gm, (cfx_support){is_add, NULL}, NULL,
 *                            &err);
 *     cfx_fuse_partitions(gm, &parts, NULL, false, &err);
 *     cfx_partitions_release(&parts);
 *
 *     %fused_0 : [num_users=1] = call_module[target=fused_0](args = (%x,), ...
 */
#ifndef CFX_PARTITION_H
#define CFX_PARTITION_H

#include <cfx/graph_module.h>

/* ---- What a backend supports ---- */

/* Can the backend run this node? Asked of every node. */
typedef bool cfx_support_fn(void *user, const cfx_node *n);

typedef struct cfx_support {
    cfx_support_fn *fn;
    void *user;
} cfx_support;

typedef struct cfx_support_list {
    const cfx_support *item;
    size_t n;
} cfx_support_list;

/* A target that is supported (the class name of a module, the name of a
 * function or method), and of which types its arguments may be: bits
 * 1 << cfx_dtype for each positional argument, 0: any. */
typedef struct cfx_support_rule {
    const char *target;
    uint64_t args[8];
} cfx_support_rule;

typedef struct cfx_support_rules {
    const cfx_module *gm;        /* whose modules are called */
    const cfx_support_rule *item;
    size_t n;
} cfx_support_rules;

/* ---- Partitions ---- */

typedef struct cfx_partition {
    cfx_node **node;             /* in the order of the graph; getitem nodes
                                    that followed their producer last */
    size_t n;
} cfx_partition;

typedef struct cfx_partitions {
    cfx_context *ctx;
    cfx_partition *item;
    size_t n;
    cfx_node **nodes;            /* private: the memory of all */
    size_t nnodes, room;
} cfx_partitions;

/* Zeroed for the defaults. Lists of names end in NULL, and may be NULL. */
typedef struct cfx_partition_options {
    size_t size;                 /* sizeof(cfx_partition_options) */
    bool allow_single;           /* keep partitions of one compute node */
    bool skip_horizontal;        /* only join what uses each other */
    const char *const *non_compute;    /* do not count, as getitem and view */
    const char *const *allowed_single; /* may be alone */
} cfx_partition_options;

CFX_BEGIN_DECLS

/* For `fn`: `user` is a cfx_support_list (all must agree; one is enough), a
 * list of node names that ends in NULL and may not occur, a cfx_dtype that no
 * input may have (by the tensor in its meta val or tensor_meta),
 * cfx_support_rules. */
CFX_API bool cfx_support_all(void *user, const cfx_node *n);
CFX_API bool cfx_support_any(void *user, const cfx_node *n);
CFX_API bool cfx_support_not_named(void *user, const cfx_node *n);
CFX_API bool cfx_support_not_of_dtype(void *user, const cfx_node *n);
CFX_API bool cfx_support_by_rules(void *user, const cfx_node *n);

/*
 * torch's CapabilityBasedPartitioner.propose_partitions: from the end of the
 * graph to its start each supported node begins a partition, which is joined
 * with all others that it can be without a cycle; getitem nodes follow what
 * they index. Partitions with at most one compute node are dropped (torch
 * counts functions only, and drops those of modules and methods too).
 *
 * Whether two partitions can be one is asked of an order of the partitions that
 * is kept up to date, by a search between the places of the two; torch asks
 * what it knew when a partition was last joined, and can give partitions that
 * depend on each other. Where all that is still to come must pass through one
 * unsupported node, the partitions behind it are not tried again, so that long
 * graphs take linear time. Fails with CFX_ENOMEM.
 */
CFX_API cfx_status cfx_propose_partitions(cfx_partitions *out,
                                          const cfx_module *gm,
                                          cfx_support support,
                                          const cfx_partition_options *options,
                                          cfx_error *err);
CFX_API void cfx_partitions_release(cfx_partitions *p);

/* torch's remove_bookend_non_compute_ops: take functions of these names out of
 * where nothing else of the partition is before them, or behind. */
CFX_API cfx_status cfx_partitions_trim(cfx_partitions *p,
                                       const char *const *non_compute,
                                       cfx_error *err);

/* ---- Fusing ---- */

/* Could these nodes be one, without a cycle? They are of one graph, which is
 * in order. Fails with CFX_ENOMEM. */
CFX_API cfx_status cfx_validate_partition(bool *valid, cfx_node *const *nodes,
                                          size_t n, cfx_error *err);

/*
 * torch's fuse_by_partitions: each partition becomes one call of a child, a
 * GraphModule called PREFIX0, PREFIX1, ... ("fused_" where prefix is NULL); the
 * graph is sorted. Partitions that would depend on each other fail with
 * CFX_EGRAPH before anything has changed; so do nodes that are not the graph's,
 * that are no calls, or that are given twice (CFX_EINVAL).
 */
CFX_API cfx_status cfx_fuse_partitions(cfx_module *gm,
                                       const cfx_partitions *p,
                                       const char *prefix,
                                       bool always_return_tuple,
                                       cfx_error *err);

/*
 * torch's fuse_as_graphmodule: a new GraphModule of n nodes, which must be
 * sorted. What they take of others, and give to others, are listed. Release it
 * with cfx_fused_release. Fails as the above.
 */
typedef struct cfx_fused {
    cfx_context *ctx;
    cfx_module *gm;
    cfx_node **inputs, **outputs;
    size_t ninputs, noutputs;
} cfx_fused;
CFX_API cfx_status cfx_fuse_as_graph_module(cfx_fused *out,
                                            const cfx_module *gm,
                                            cfx_node *const *nodes, size_t n,
                                            const char *class_name,
                                            bool always_return_tuple,
                                            cfx_error *err);
/* A zeroed one is allowed. */
CFX_API void cfx_fused_release(cfx_fused *f);

/*
 * torch's insert_subgm: put it into gm as a child called as its class, call it
 * behind the node `after`, and let all who used its outputs use the results.
 * Takes f->gm. The old nodes stay.
 */
CFX_API cfx_status cfx_insert_fused(cfx_module *gm, cfx_fused *f,
                                    cfx_node *after, bool always_return_tuple,
                                    cfx_error *err);

/* ---- An accelerator and a host that take turns ---- */

typedef struct cfx_accelerate_options {
    size_t size;                 /* sizeof(cfx_accelerate_options) */
    uint32_t min_acc_module_size; /* smaller parts run on the host; 0: 1 */
    uint32_t max_parts;          /* 0: any number (torch's max_acc_splits) */
    bool allow_non_tensor;       /* may numbers cross the border? */
    bool return_tuple;           /* also where a part has one result */
    const char *host_prefix;     /* NULL: "_run_on_cpu_" */
    bool skip_fusion;            /* calls of one group may be apart */
} cfx_accelerate_options;

/*
 * torch's splitter_base: split a graph into as few parts as can be that run on
 * an accelerator (what `support` says) and on the host in turn, called
 * _run_on_acc_0, _run_on_cpu_1, ... with one count for both. A part takes all
 * that is ready when its turn comes. What is a tensor, the meta says (val,
 * tensor_meta, example_value); a value of which nothing is known counts as one.
 *
 * Unless `allow_non_tensor`, a node that takes from the host, or gives to it
 * or to the output, what is no tensor runs on the host too. Unless
 * `skip_fusion`, calls on the accelerator that exchange values without any
 * tensor are one group, with all that is on a way between them, and run in one
 * part; a group that would need a call of the host runs there. (torch builds
 * groups that share calls, and then finds no order; here they are one.) Fails
 * with CFX_EINVAL beyond max_parts, and as cfx_split_by_tags.
 */
CFX_API cfx_status cfx_split_for_accelerator(
    cfx_module **out, const cfx_module *gm, cfx_support support,
    const cfx_accelerate_options *options, cfx_error *err);

CFX_END_DECLS

#endif
