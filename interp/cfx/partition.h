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

/* True if the backend can run this node. Called for every node. */
typedef bool cfx_support_fn(void *user, const cfx_node *n);

typedef struct cfx_support {
    cfx_support_fn *fn;
    void *user;
} cfx_support;

typedef struct cfx_support_list {
    const cfx_support *item;
    size_t n;
} cfx_support_list;

/* A supported target (the class name of a module, the name of a function or
 * method) and the allowed types of its arguments: bits 1 << cfx_dtype for each
 * positional argument, 0: any. */
typedef struct cfx_support_rule {
    const char *target;
    uint64_t args[8];
} cfx_support_rule;

typedef struct cfx_support_rules {
    const cfx_module *gm; /* the module that the nodes belong to */
    const cfx_support_rule *item;
    size_t n;
} cfx_support_rules;

/* ---- Partitions ---- */

typedef struct cfx_partition {
    cfx_node **node; /* in graph order; getitem nodes moved to their
                                    producer come last */
    size_t n;
} cfx_partition;

typedef struct cfx_partitions {
    cfx_context *ctx;
    cfx_partition *item;
    size_t n;
    cfx_node **nodes; /* private: one block for all */
    size_t nnodes, cap;
} cfx_partitions;

/* Zeroed for the defaults. Lists of names end in NULL, and may be NULL. */
typedef struct cfx_partition_options {
    size_t size;          /* sizeof(cfx_partition_options) */
    bool allow_single;    /* keep partitions of one compute node */
    bool skip_horizontal; /* only join partitions that use each other */
    const char *const *non_compute;    /* not counted, like getitem and view */
    const char *const *allowed_single; /* may be a partition alone */
} cfx_partition_options;

CFX_BEGIN_DECLS

/* Functions for `fn`, with their `user`: a cfx_support_list (all must agree;
 * one is enough), a NULL-terminated list of names of unsupported nodes, a
 * cfx_dtype that no input may have (by the tensor in its meta val or
 * tensor_meta), cfx_support_rules. */
CFX_API bool cfx_support_all(void *user, const cfx_node *n);
CFX_API bool cfx_support_any(void *user, const cfx_node *n);
CFX_API bool cfx_support_not_named(void *user, const cfx_node *n);
CFX_API bool cfx_support_not_of_dtype(void *user, const cfx_node *n);
CFX_API bool cfx_support_by_rules(void *user, const cfx_node *n);

/*
 * torch's CapabilityBasedPartitioner.propose_partitions: from the end of the
 * graph to its start each supported node begins a partition, which is joined
 * with all others where this makes no cycle; getitem nodes join their producer.
 * Partitions with at most one compute node are dropped (torch counts functions
 * only, and drops those of modules and methods too).
 *
 * Cycles are found in a topological order of the partitions that each join
 * updates, by a search between the places of the two; torch uses information
 * from the last join of each and can return partitions that depend on each
 * other. If one unsupported node separates all remaining nodes from the
 * partitions, these are not tried again, so that long graphs take linear time.
 * Fails with CFX_ENOMEM.
 */
CFX_API cfx_status cfx_propose_partitions(cfx_partitions *out,
                                          const cfx_module *gm,
                                          cfx_support support,
                                          const cfx_partition_options *options,
                                          cfx_error *err);
CFX_API void cfx_partitions_release(cfx_partitions *p);

/* torch's remove_bookend_non_compute_ops: remove functions of these names from
 * the begin and the end of partitions. */
CFX_API cfx_status cfx_partitions_trim(cfx_partitions *p,
                                       const char *const *non_compute,
                                       cfx_error *err);

/* ---- Fusing ---- */

/* True if these nodes could be one without a cycle. They are of one graph,
 * which is in topological order. Fails with CFX_ENOMEM. */
CFX_API cfx_status cfx_validate_partition(bool *valid, cfx_node *const *nodes,
                                          size_t n, cfx_error *err);

/*
 * torch's fuse_by_partitions: each partition becomes one call of a child, a
 * GraphModule called PREFIX0, PREFIX1, ... ("fused_" where prefix is NULL); the
 * graph is sorted topologically. Fails, before anything changes, with
 * CFX_EGRAPH for partitions that depend on each other, CFX_EINVAL for nodes
 * that are not in the graph, are not calls, or are given twice.
 */
CFX_API cfx_status cfx_fuse_partitions(cfx_module *gm, const cfx_partitions *p,
                                       const char *prefix,
                                       bool always_return_tuple,
                                       cfx_error *err);

/*
 * torch's fuse_as_graphmodule: a new GraphModule of n nodes, which must be
 * sorted, and the lists of its inputs and outputs. Release it with
 * cfx_fused_release. Fails as cfx_fuse_partitions.
 */
typedef struct cfx_fused {
    cfx_context *ctx;
    cfx_module *gm;
    cfx_node **inputs, **outputs;
    size_t ninputs, noutputs;
} cfx_fused;
CFX_API cfx_status cfx_fuse_as_graph_module(
    cfx_fused *out, const cfx_module *gm, cfx_node *const *nodes, size_t n,
    const char *class_name, bool always_return_tuple, cfx_error *err);
/* Release it; a zeroed one is allowed. */
CFX_API void cfx_fused_release(cfx_fused *f);

/*
 * torch's insert_subgm: add it to gm as a child named after its class, call it
 * after the node `after`, and let all users of its outputs use the results.
 * Takes f->gm. The old nodes stay.
 */
CFX_API cfx_status cfx_insert_fused(cfx_module *gm, cfx_fused *f,
                                    cfx_node *after, bool always_return_tuple,
                                    cfx_error *err);

/* ---- Splitting between an accelerator and the host ---- */

typedef struct cfx_accelerate_options {
    size_t size;                  /* sizeof(cfx_accelerate_options) */
    uint32_t min_acc_module_size; /* smaller parts run on the host; 0: 1 */
    uint32_t max_parts;           /* 0: any number (torch's max_acc_splits) */
    bool allow_non_tensor;        /* non-tensors may cross the border */
    bool return_tuple;            /* also with a single result */
    const char *host_prefix;      /* NULL: "_run_on_cpu_" */
    bool skip_fusion;             /* do not keep groups together */
} cfx_accelerate_options;

/*
 * torch's splitter_base: split a graph into parts that run on an accelerator
 * (as `support` says) and on the host in turn, as few as possible, called
 * _run_on_acc_0, _run_on_cpu_1, ..., numbered together. A part takes all calls
 * that are ready. Meta (val, tensor_meta, example_value) shows which values are
 * tensors; unknown values count as tensors.
 *
 * Unless `allow_non_tensor`, a node runs on the host if it exchanges a value
 * that is not a tensor with the host or the output. Unless `skip_fusion`, calls
 * on the accelerator that exchange values without tensors, and all calls on
 * paths between them, are a group and run in one part; a group that would
 * contain a call of the host runs on the host. (torch's groups may share calls,
 * and then have no order; here such groups are one.) Fails with CFX_EINVAL
 * beyond max_parts, and as cfx_split_by_tags.
 */
CFX_API cfx_status cfx_split_for_accelerator(
    cfx_module **out, const cfx_module *gm, cfx_support support,
    const cfx_accelerate_options *options, cfx_error *err);

CFX_END_DECLS

#endif
