/*
 * cfx/interp.h -- an interpreter that walks a graph node by node.
 *
 * It keeps an environment from node to value, releases each value after its
 * last use, and calls one hook per opcode. A class is a constant table of
 * hooks; an empty hook is inherited from `super`. A derived struct has a
 * cfx_interp first; a hook chains up with CFX_SUPER, which names the class the
 * hook was written for.
 *
 *     struct count {
 *         cfx_interp base;
 *         int n;
 *     };
 *
 *     extern const cfx_interp_class count_class;
 *
 *     static cfx_status count_function(cfx_interp *it, const cfx_call *call,
 *                                      cfx_value *out)
 *     {
 *         ((struct count *)it)->n++;
 *         return CFX_SUPER(&count_class, call_function)(it, call, out);
 *     }
 *
 *     const cfx_interp_class count_class = {
 *         .size = sizeof(cfx_interp_class),
 *         .name = "count",
 *         .super = &cfx_interp_base,
 *         .call_function = count_function,
 *     };
 *     ...
 *     struct count c = {0};
 *     cfx_interp_init(&c.base, &count_class, gm, &err);
 *     cfx_interp_run(&c.base, inputs, 1, &result, &err);
 *     cfx_interp_release(&c.base);
 *
 * An interpreter resolves operators, binds arguments and computes last uses
 * once, when it is created, so a graph must not be edited while one is in use.
 * It borrows graph and module and only reads them: two threads may run two
 * interpreters over one graph, unless a class writes to the graph, as ShapeProp
 * does (cfx/shape_prop.h).
 *
 * A hook may run other interpreters and also its own: the inner run has its own
 * environment and does not affect the outer one. A run clears `err` first. A
 * hook may handle the failure of a call and return CFX_OK; the error is then
 * dropped. If a hook returns a failing status without setting an error, the run
 * adds a message.
 *
 * A GraphModule that is called as a module is run by the base class in the same
 * scope: as in torch.fx, hooks see the call and not the nodes inside. It is
 * prepared at its first call, so its graph must not be edited either. Errors
 * name the innermost node and its module: "... While executing %add : ... in
 * submodule layer.block".
 */
#ifndef CFX_INTERP_H
#define CFX_INTERP_H

#include <cfx/graph_module.h>
#include <cfx/scope.h>

typedef struct cfx_interp cfx_interp;
typedef struct cfx_interp_class cfx_interp_class;

/* The contract of the six call hooks: compute the node's value. *out is a new
 * reference. A hook may chain up with a changed copy of the call: another
 * target, args or kwargs. */
typedef cfx_status cfx_call_hook(cfx_interp *it, const cfx_call *call,
                                 cfx_value *out);

struct cfx_interp_class {
    size_t size; /* sizeof(cfx_interp_class) */
    const char *name;
    const cfx_interp_class *super;

    cfx_call_hook *placeholder;
    cfx_call_hook *get_attr;
    cfx_call_hook *call_function;
    cfx_call_hook *call_method;
    cfx_call_hook *call_module;
    cfx_call_hook *output;

    /* Wraps the six hooks: fetches the arguments and dispatches by opcode. */
    cfx_status (*run_node)(cfx_interp *it, const cfx_node *n, cfx_value *out);
    /* Fills `call` with args and kwargs, nodes replaced by their values; they
     * live until the node has run. */
    cfx_status (*fetch_args)(cfx_interp *it, const cfx_node *n,
                             cfx_call *call);
    /* Returns what a dotted path names; a new reference. */
    cfx_status (*fetch_attr)(cfx_interp *it, const char *path, cfx_value *out);
    /* Frees what the class added, then chains up. */
    void (*release)(cfx_interp *it);
};

/* The public part of an interpreter. */
struct cfx_interp {
    const cfx_interp_class *cls;
    cfx_module *module;
    const cfx_graph *graph;
    cfx_scope *scope; /* scope of the calls; eager unless set */
    cfx_error *err;   /* of the run in progress */
    struct cfx_interp_self *self;
};

CFX_BEGIN_DECLS

CFX_API extern const cfx_interp_class cfx_interp_base;

/* The hook of CLASS's super, its own or inherited. */
#define CFX_SUPER(class_, hook)                                               \
    (cfx_interp_class_with((class_)->super, offsetof(cfx_interp_class, hook)) \
         ->hook)
/* Return the nearest class, from cls upwards, that sets the hook at
 * `offset`. */
CFX_API const cfx_interp_class *cfx_interp_class_with(
    const cfx_interp_class *cls, size_t offset);

/* Prepare a zeroed struct. Fails with CFX_EOPERATOR for unknown operators,
 * CFX_ENAME for unknown modules, CFX_EINVAL for arguments that bind to no
 * signature, CFX_EGRAPH, CFX_ENOMEM; each with "While executing %node :
 * ...". */
CFX_API cfx_status cfx_interp_init(cfx_interp *it, const cfx_interp_class *cls,
                                   cfx_module *gm, cfx_error *err);

/* Options; zeroed members take the defaults. */
typedef struct cfx_interp_options {
    size_t size;            /* sizeof(cfx_interp_options) */
    const cfx_graph *graph; /* another graph over the same module */
    cfx_scope *scope;       /* a meta or tracing scope; borrowed */
    bool keep_values;       /* keep all values until the next run */
    /* Called after each node with the number of finished nodes; may be NULL. */
    void (*progress)(void *user, size_t done, size_t total);
    void *progress_user;
} cfx_interp_options;
CFX_API cfx_status cfx_interp_init_with(cfx_interp *it,
                                        const cfx_interp_class *cls,
                                        cfx_module *gm,
                                        const cfx_interp_options *options,
                                        cfx_error *err);
/* Release an interpreter; a zeroed or released one is allowed. */
CFX_API void cfx_interp_release(cfx_interp *it);

/* Run the graph. Inputs are in the order of the placeholders; *result is a new
 * reference. Errors of a node end in "While executing %node : ...". */
CFX_API cfx_status cfx_interp_run(cfx_interp *it, const cfx_value *inputs,
                                  size_t ninputs, cfx_value *result,
                                  cfx_error *err);

/*
 * Like cfx_interp_run, with one value per placeholder (also `*args`,
 * `**kwargs`). Takes the values, also on failure: inputs[i] becomes absent, and
 * the value is released after its last use. Fails with CFX_EINVAL and
 * torch.fx's message if the number of inputs is wrong; then nothing is taken.
 */
CFX_API cfx_status cfx_interp_run_take(cfx_interp *it, cfx_value *inputs,
                                       size_t ninputs, cfx_value *result,
                                       cfx_error *err);

/*
 * Run node by node, for example to compare two runs:
 *
 *     cfx_status st = cfx_interp_begin(&it, inputs, n, &err);
 *     while (!st && !(st = cfx_interp_step(&it, &node, &v, &err)) && node)
 *         look(node, v);
 *     cfx_interp_end(&it, &result);
 *
 * `inputs` must stay valid until cfx_interp_end. A step returns the node that
 * it ran, NULL after the last one, and its value, borrowed until the next step
 * or the end. *result is a new reference, None if the run did not reach its
 * output. A step fails as a run does; only cfx_interp_end may follow.
 */
CFX_API cfx_status cfx_interp_begin(cfx_interp *it, const cfx_value *inputs,
                                    size_t ninputs, cfx_error *err);
CFX_API cfx_status cfx_interp_step(cfx_interp *it, const cfx_node **n,
                                   cfx_value *value, cfx_error *err);
CFX_API void cfx_interp_end(cfx_interp *it, cfx_value *result);

/*
 * Call a GraphModule once, as `gm(x, y=2)` in Python: inputs by place, or by
 * the names of its parameters. *result is a new reference.
 *
 *     cfx_graph_module_call(gm, CFX_ARGS(cfx_value_of_tensor(x)), &y, &err);
 *
 * It creates an interpreter for this one run; for several runs, keep one. Fails
 * like cfx_interp_init and cfx_interp_run.
 */
CFX_API cfx_status cfx_graph_module_call(cfx_module *gm, cfx_args args,
                                         cfx_value *result, cfx_error *err);

/* Set a value for the next run. Nodes with a value are not run (partial
 * evaluation), and placeholders with one take no input. */
CFX_API cfx_status cfx_interp_set_env(cfx_interp *it, const cfx_node *n,
                                      cfx_value v, cfx_error *err);
/* Return a node's current value, borrowed; absent if it has none. */
CFX_API cfx_value cfx_interp_env(const cfx_interp *it, const cfx_node *n);

/* Dispatch to the class's hooks; for use by hooks. */
CFX_API cfx_status cfx_interp_run_node(cfx_interp *it, const cfx_node *n,
                                       cfx_value *out);
CFX_API cfx_status cfx_interp_fetch_attr(cfx_interp *it, const char *path,
                                         cfx_value *out);
/* torch.fx's fetch_args_kwargs_from_env, for a run_node hook: args and kwargs
 * of *call, which is overwritten, are those of the node, with values in place
 * of nodes; they live until the node has run. */
CFX_API cfx_status cfx_interp_fetch_args(cfx_interp *it, const cfx_node *n,
                                         cfx_call *call);

/* Fail with this message; the run appends the node and its module. */
CFX_API cfx_status cfx_interp_fail(cfx_interp *it, cfx_status code,
                                   const char *fmt, ...) CFX_PRINTF(3, 4);

CFX_END_DECLS

#endif
