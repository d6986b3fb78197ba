/*
 * cfx/cost.h -- what a graph costs, node by node, computing nothing.
 *
 * ShapeProp that adds up, and leaves the nodes' meta alone. The cost of a node
 * is that of all operator calls made for it: by a module's forward, by
 * GraphModules that are called, by the graphs of control flow (of cond the
 * dearer branch, count by count; of map and scan one round for each slice; of
 * while_loop one round, since nobody knows how many there are). Extents may be
 * symbols, and then so are counts.
 *
 *     cfx_cost_prop p = {0};
 *     cfx_cost_prop_init(&p, NULL, gm, NULL, &err);
 *     cfx_cost_prop_run(&p, inputs, 1, &err);
 *     cfx_cost_prop_total(&total, &p, &err);
 *     ... total.cost.macs ...
 *     cfx_cost_prop_release(&p);
 *
 * What is counted is defined in shapeprop/README.md. A count that would
 * overflow is CFX_DIM_BAD: not known.
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
 *             cost->ops = ...;
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

/* A parameter or buffer that a node reads; borrowed from its module. */
typedef struct cfx_cost_weight {
    const cfx_tensor *tensor;
    bool buffer;
} cfx_cost_weight;

/* One node. */
typedef struct cfx_cost_node {
    const cfx_node *node;
    cfx_value value;        /* what it gives; absent until it was run */
    cfx_cost cost;
    uint32_t calls;         /* of operators */
    cfx_dtype dtype;        /* what it computes in */
    const char *algorithm;  /* as cfx_op's; of its dearest call */
    const cfx_cost_weight *weight; /* each once */
    size_t nweights;
} cfx_cost_node;

/* The costs of several nodes. Shared parameters count once; tied weights that a
 * file stores twice are not shared. */
typedef struct cfx_cost_sum {
    size_t nodes;
    cfx_cost cost;
    cfx_dim parameters, parameter_bytes, buffer_bytes;
} cfx_cost_sum;

typedef struct cfx_cost_prop_class {
    cfx_interp_class base;  /* .size = sizeof(cfx_cost_prop_class) */
    /* What one bound call costs and gives: the default is cfx_call_cost. */
    cfx_status (*call_cost)(cfx_cost_prop *p, cfx_call *call, cfx_cost *cost,
                            cfx_value *out);
    /* The last word on a node, when its calls are added up and n->value is
     * set; the default changes nothing. */
    cfx_status (*node_cost)(cfx_cost_prop *p, cfx_cost_node *n);
} cfx_cost_prop_class;

/* Subclasses have it first. */
struct cfx_cost_prop {
    cfx_shape_prop base;
    size_t nnodes;
    cfx_cost_node *node;    /* in the order of the graph */
    struct cfx_cost_self *self;
};

CFX_BEGIN_DECLS

CFX_API extern const cfx_cost_prop_class cfx_cost_prop_default;

/* The hook that `CLASS`'s super has, its own or inherited. */
#define CFX_COST_SUPER(class_, hook)                                         \
    (((const cfx_cost_prop_class *)(const void *)cfx_interp_class_with(      \
        (class_)->base.super, offsetof(cfx_cost_prop_class, hook)))->hook)

/* Prepare a zeroed struct. `cls` NULL: the default; `env` is borrowed, and
 * needed where extents may be symbols. Fails as cfx_interp_init. */
CFX_API cfx_status cfx_cost_prop_init(cfx_cost_prop *p,
                                      const cfx_cost_prop_class *cls,
                                      cfx_module *gm, cfx_shape_env *env,
                                      cfx_error *err);
/* A zeroed or released one is allowed. */
CFX_API void cfx_cost_prop_release(cfx_cost_prop *p);

/* Walk: fills p->node. Inputs may be metas. Fails as cfx_interp_run. */
CFX_API cfx_status cfx_cost_prop_run(cfx_cost_prop *p, const cfx_value *inputs,
                                     size_t ninputs, cfx_error *err);

/* The row of a node of the graph; NULL of another's. */
CFX_API const cfx_cost_node *cfx_cost_prop_of(const cfx_cost_prop *p,
                                              const cfx_node *n);

/* 2 * macs + ops, and bytes_read + bytes_written. */
CFX_API cfx_dim cfx_cost_flops(cfx_shape_env *env, const cfx_cost *c);
CFX_API cfx_dim cfx_cost_bytes(cfx_shape_env *env, const cfx_cost *c);
/* *sum += c, count by count. */
CFX_API void cfx_cost_add(cfx_shape_env *env, cfx_cost *sum,
                          const cfx_cost *c);

/* ---- Sums ---- */

typedef enum cfx_cost_by {
    CFX_COST_BY_MODULE,     /* the tree: each with what is below it */
    CFX_COST_BY_OPERATOR    /* the types of modules, names of functions */
} cfx_cost_by;

typedef struct cfx_cost_group {
    const char *key;        /* a path ("" for the root), or an operator */
    const char *type;       /* of a module; else NULL */
    int depth;              /* of the path: 0 for the root */
    int64_t parent;         /* index, -1 for none; parents come first */
    cfx_cost_sum sum;
} cfx_cost_group;

typedef struct cfx_cost_groups {
    cfx_context *ctx;
    size_t n;
    cfx_cost_group *group;
    size_t nnodes;
    int64_t *of;            /* by row: the group of a node, -1 for none */
    size_t cap;             /* private */
    struct cfx_cost_names *names;
} cfx_cost_groups;

/* The sum of all nodes, with all parameters and buffers of the module, as
 * PyTorch counts them: also those that no node reads. */
CFX_API cfx_status cfx_cost_prop_total(cfx_cost_sum *out,
                                       const cfx_cost_prop *p,
                                       cfx_error *err);

/*
 * The nodes in groups: by operator in the order of their first nodes, without
 * placeholders and outputs; by module in the order of the first nodes, each
 * module before those in it. A node belongs to the module it calls, or whose
 * forward made it: as meta nn_module_stack tells, else the innermost that the
 * nodes before and behind it are in (cfx_graph_node_paths has all of it).
 * Parameters count in their module and all around it.
 */
CFX_API cfx_status cfx_cost_groups_make(cfx_cost_groups *out,
                                        const cfx_cost_prop *p, cfx_cost_by by,
                                        cfx_error *err);
CFX_API void cfx_cost_groups_release(cfx_cost_groups *g);

/* What a node is grouped by: "Conv2d", "torch.flatten", "view". */
CFX_API const char *cfx_cost_operator(const cfx_node *n,
                                      const cfx_module *gm);

CFX_END_DECLS

#endif
