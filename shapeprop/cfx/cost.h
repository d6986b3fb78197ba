/*
 * cfx/cost.h -- count the cost of a graph, node by node, without running it.
 *
 * A walk like ShapeProp's that adds up costs and does not change the nodes'
 * meta. The cost of a node is that of all operator calls made for it: by a
 * module's forward, by GraphModules that are called, by the graphs of control
 * flow (for cond the larger count of both branches; for map and scan one
 * iteration per slice; for while_loop one iteration, since their number is not
 * known). If extents are symbols, counts are expressions.
 *
 *     cfx_cost_prop p = {0};
 *     cfx_cost_prop_init(&p, NULL, gm, NULL, &err);
 *     cfx_cost_prop_run(&p, inputs, 1, &err);
 *     cfx_cost_prop_total(&total, &p, &err);
 *     macs = total.cost.macs;
 *     cfx_cost_prop_release(&p);
 *
 * shapeprop/COSTS.md defines the counts. A count that would overflow is
 * CFX_DIM_BAD: not known.
 *
 * A subclass changes what a call or a node costs. Its table is a
 * cfx_cost_prop_class, whose `base` may have any hook of interpreters, too:
 *
 *     static cfx_status my_call_cost(cfx_cost_prop *p, cfx_call *call,
 *                                    cfx_cost *cost, cfx_value *out)
 *     {
 *         cfx_status st =
 *             CFX_COST_SUPER(&my_class, call_cost)(p, call, cost, out);
 *         if (cfx_call_is(call, "my_op"))
 *             cost->ops = cfx_dim_int(1);
 *         return st;
 *     }
 *
 *     static const cfx_cost_prop_class my_class = {
 *         .base = {.size = sizeof(cfx_cost_prop_class),
 *                  .name = "mine",
 *                  .super = &cfx_cost_prop_default.base},
 *         .call_cost = my_call_cost,
 *     };
 */
#ifndef CFX_COST_H
#define CFX_COST_H

#include <cfx/shape_prop.h>

typedef struct cfx_cost_prop cfx_cost_prop;

/* A parameter or buffer that a node reads, borrowed from its module. */
typedef struct cfx_cost_weight {
    const cfx_tensor *tensor;
    bool buffer;
} cfx_cost_weight;

/* One node. */
typedef struct cfx_cost_node {
    const cfx_node *node;
    cfx_value value; /* its value; absent until it has run */
    cfx_cost cost;
    uint32_t calls;        /* number of operator calls */
    cfx_dtype dtype;       /* type of its arithmetic */
    const char *algorithm; /* of its most expensive call, as cfx_op names it */
    const cfx_cost_weight *weight; /* each once */
    size_t nweights;
} cfx_cost_node;

/* The sum of several nodes' costs. Shared parameters count once; tied weights
 * that a file stores twice are not shared. */
typedef struct cfx_cost_sum {
    size_t nodes;
    cfx_cost cost;
    cfx_dim parameters, parameter_bytes, buffer_bytes;
} cfx_cost_sum;

typedef struct cfx_cost_prop_class {
    cfx_interp_class base; /* .size = sizeof(cfx_cost_prop_class) */
    /* Returns a bound call's cost and value; the default is cfx_call_cost. */
    cfx_status (*call_cost)(cfx_cost_prop *p, cfx_call *call, cfx_cost *cost,
                            cfx_value *out);
    /* May adjust a node's cost when its calls are added up and n->value is set;
     * the default does nothing. */
    cfx_status (*node_cost)(cfx_cost_prop *p, cfx_cost_node *n);
} cfx_cost_prop_class;

/* Subclasses have this struct first. */
struct cfx_cost_prop {
    cfx_shape_prop base;
    size_t nnodes;
    cfx_cost_node *node; /* in graph order */
    struct cfx_cost_self *self;
};

CFX_BEGIN_DECLS

CFX_API extern const cfx_cost_prop_class cfx_cost_prop_default;

/* The hook of CLASS's super, its own or inherited. */
#define CFX_COST_SUPER(class_, hook)                                          \
    (((const cfx_cost_prop_class *)(const void *)cfx_interp_class_with(       \
          (class_)->base.super, offsetof(cfx_cost_prop_class, hook)))         \
         ->hook)

/* Prepare a zeroed struct. `cls` NULL: the default. `env` is borrowed, and
 * required if extents may be symbols. Fails as cfx_interp_init. */
CFX_API cfx_status cfx_cost_prop_init(cfx_cost_prop *p,
                                      const cfx_cost_prop_class *cls,
                                      cfx_module *gm, cfx_shape_env *env,
                                      cfx_error *err);
/* Release it; a zeroed or released one is allowed. */
CFX_API void cfx_cost_prop_release(cfx_cost_prop *p);

/* Walk the graph, fill p->node. Inputs may be metas. Fails as
 * cfx_interp_run. */
CFX_API cfx_status cfx_cost_prop_run(cfx_cost_prop *p, const cfx_value *inputs,
                                     size_t ninputs, cfx_error *err);

/* Return the row of a node; NULL if it is not of the graph. */
CFX_API const cfx_cost_node *cfx_cost_prop_of(const cfx_cost_prop *p,
                                              const cfx_node *n);

/* Return 2 * macs + ops, and bytes_read + bytes_written. */
CFX_API cfx_dim cfx_cost_flops(cfx_shape_env *env, const cfx_cost *c);
CFX_API cfx_dim cfx_cost_bytes(cfx_shape_env *env, const cfx_cost *c);
/* *sum += c for every count. */
CFX_API void cfx_cost_add(cfx_shape_env *env, cfx_cost *sum,
                          const cfx_cost *c);

/* ---- Sums ---- */

typedef enum cfx_cost_by {
    CFX_COST_BY_MODULE,  /* the module tree, each with its submodules */
    CFX_COST_BY_OPERATOR /* module types and names of functions */
} cfx_cost_by;

typedef struct cfx_cost_group {
    const char *key;  /* a path ("" for the root), or an operator */
    const char *type; /* of a module; else NULL */
    int depth;        /* of the path: 0 for the root */
    int64_t parent;   /* its parent, -1 for none; parents come first */
    cfx_cost_sum sum;
} cfx_cost_group;

typedef struct cfx_cost_groups {
    cfx_context *ctx;
    size_t n;
    cfx_cost_group *group;
    size_t nnodes;
    int64_t *of; /* by row: the group of a node, -1 for none */
    size_t cap;  /* private */
    struct cfx_cost_names *names;
} cfx_cost_groups;

/* Compute the sum of all nodes, with all parameters and buffers of the module,
 * as PyTorch counts them: including those that no node reads. */
CFX_API cfx_status cfx_cost_prop_total(cfx_cost_sum *out,
                                       const cfx_cost_prop *p, cfx_error *err);

/*
 * Group the nodes: by operator in the order of their first nodes, without
 * placeholders and outputs; by module in the order of the first nodes, parents
 * first. A node belongs to the module that it calls or that made it, by meta
 * nn_module_stack; without that meta, to the innermost module around the nodes
 * before and after it (see cfx_graph_node_paths). Parameters count in their
 * module and all modules around it.
 */
CFX_API cfx_status cfx_cost_groups_make(cfx_cost_groups *out,
                                        const cfx_cost_prop *p, cfx_cost_by by,
                                        cfx_error *err);
CFX_API void cfx_cost_groups_release(cfx_cost_groups *g);

/* Return the key of a node: "Conv2d", "torch.flatten", "view". */
CFX_API const char *cfx_cost_operator(const cfx_node *n, const cfx_module *gm);

CFX_END_DECLS

#endif
