/*
 * cfx/interp.h -- an interpreter that walks a graph node by node.
 *
 * It keeps an environment from node to value, gives a value back after its
 * last use, and calls one hook an opcode. A class is a constant table of
 * hooks; an empty hook is inherited from `super`. A derived struct has a
 * cfx_interp first; a hook chains up with CFX_SUPER, which names the class the
 * hook was written for.
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
 * What does not change between runs (operators, bound arguments, last uses) is
 * found when the interpreter is made, so a graph must not be edited while one
 * is in use. It borrows graph and module and only reads them: two threads may
 * run two interpreters over one graph, unless a class writes to it, as
 * ShapeProp does (cfx/shape_prop.h).
 *
 * A hook may run other interpreters, and its own again: that run has an
 * environment to itself, and the outer one goes on as if nothing had happened.
 * A run clears `err` first. A hook that goes on after a call that failed
 * returns CFX_OK, and its error is forgotten; one that returns a bare status is
 * given a sentence by the run.
 *
 * A GraphModule that is called as a module runs in the same scope, by the base
 * class: as in torch.fx, hooks see the call and not what is inside. It is
 * prepared at its first call, so its graph must not be edited either. Errors
 * tell the innermost node and its module: "... While executing %add : ... in
 * submodule layer.block".
 */
#ifndef CFX_INTERP_H
#define CFX_INTERP_H

#include <cfx/graph_module.h>
#include <cfx/scope.h>

typedef struct cfx_interp cfx_interp;
typedef struct cfx_interp_class cfx_interp_class;

/* The contract of the six: make the node's value. *out is a new reference. A
 * hook may chain up with a changed copy of the call: another target, other
 * args or kwargs. */
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

    /* Around them: fetch the arguments and dispatch by opcode. */
    cfx_status (*run_node)(cfx_interp *it, const cfx_node *n, cfx_value *out);
    /* Args and kwargs with values for nodes, into `call`; they live until the
     * node has run. */
    cfx_status (*fetch_args)(cfx_interp *it, const cfx_node *n,
                             cfx_call *call);
    /* What a dotted path names; a new reference. */
    cfx_status (*fetch_attr)(cfx_interp *it, const char *path,
                             cfx_value *out);
    /* Free what the class added, then chain up. */
    void (*release)(cfx_interp *it);
};

/* The public part is small; the rest is behind `self`. */
struct cfx_interp {
    const cfx_interp_class *cls;
    cfx_module *module;
    const cfx_graph *graph;
    cfx_scope *scope;      /* where calls are made: eager unless set */
    cfx_error *err;        /* of the run in progress */
    struct cfx_interp_self *self;
};

CFX_BEGIN_DECLS

CFX_API extern const cfx_interp_class cfx_interp_base;

/* The hook that `CLASS`'s super has, its own or inherited. */
#define CFX_SUPER(class_, hook) \
    (cfx_interp_class_with((class_)->super, \
        offsetof(cfx_interp_class, hook))->hook)
/* The nearest class, from cls upwards, whose hook at that offset is set. */
CFX_API const cfx_interp_class *cfx_interp_class_with(
    const cfx_interp_class *cls, size_t offset);

/* Prepare a zeroed struct. Fails with CFX_EOPERATOR for operators and CFX_ENAME
 * for modules that are unknown, CFX_EINVAL for arguments that bind to no
 * signature, CFX_EGRAPH, CFX_ENOMEM; each with "While executing %node : ...".
 */
CFX_API cfx_status cfx_interp_init(cfx_interp *it,
                                   const cfx_interp_class *cls,
                                   cfx_module *gm, cfx_error *err);

/* More choices, zeroed for the defaults. */
typedef struct cfx_interp_options {
    size_t size;             /* sizeof(cfx_interp_options) */
    const cfx_graph *graph;  /* another graph over the same module */
    cfx_scope *scope;        /* a meta or tracing scope; borrowed */
    bool keep_values;        /* all values stay until the next run */
    /* Told after each node how many of how many are done; may be NULL. */
    void (*progress)(void *user, size_t done, size_t total);
    void *progress_user;
} cfx_interp_options;
CFX_API cfx_status cfx_interp_init_with(cfx_interp *it,
                                        const cfx_interp_class *cls,
                                        cfx_module *gm,
                                        const cfx_interp_options *options,
                                        cfx_error *err);
/* A zeroed or released one is allowed. */
CFX_API void cfx_interp_release(cfx_interp *it);

/* Run the graph. Inputs are in the order of the placeholders; *result is a new
 * reference. Errors of a node end in "While executing %node : ...". */
CFX_API cfx_status cfx_interp_run(cfx_interp *it, const cfx_value *inputs,
                                  size_t ninputs, cfx_value *result,
                                  cfx_error *err);

/*
 * The same with one value a placeholder, each of which it takes over, also on
 * failure: they go with their last use, and inputs[i] becomes absent. `*args`
 * and `**kwargs` are given as one value. Fails with CFX_EINVAL, in torch.fx's
 * sentence, where the number is another; then nothing is taken.
 */
CFX_API cfx_status cfx_interp_run_take(cfx_interp *it, cfx_value *inputs,
                                       size_t ninputs, cfx_value *result,
                                       cfx_error *err);

/*
 * A run that stops after each node, to look at two of them side by side:
 *
 *     cfx_status st = cfx_interp_begin(&it, inputs, n, &err);
 *     while (!st && !(st = cfx_interp_step(&it, &node, &v, &err)) && node)
 *         look(node, v);
 *     cfx_interp_end(&it, &result);
 *
 * `inputs` must stay until the end. A step gives the node that it ran, NULL
 * behind the last one, and its value, borrowed until the next step or the end.
 * *result is a new reference, None where the run did not come to its output.
 * A step fails as a run does; nothing but the end may follow.
 */
CFX_API cfx_status cfx_interp_begin(cfx_interp *it, const cfx_value *inputs,
                                    size_t ninputs, cfx_error *err);
CFX_API cfx_status cfx_interp_step(cfx_interp *it, const cfx_node **n,
                                   cfx_value *value, cfx_error *err);
CFX_API void cfx_interp_end(cfx_interp *it, cfx_value *result);

/* Set values before a run: nodes that have one are not run (partial
 * evaluation); skipped placeholders take no input. Kept until the run ends. */
CFX_API cfx_status cfx_interp_set_env(cfx_interp *it, const cfx_node *n,
                                      cfx_value v, cfx_error *err);
/* The value a node has in the environment now; absent if none. Borrowed. */
CFX_API cfx_value cfx_interp_env(const cfx_interp *it, const cfx_node *n);

/* Dispatch to the class's hooks, for use by other hooks. */
CFX_API cfx_status cfx_interp_run_node(cfx_interp *it, const cfx_node *n,
                                       cfx_value *out);
CFX_API cfx_status cfx_interp_fetch_attr(cfx_interp *it, const char *path,
                                         cfx_value *out);

/* Fail with "the path of the module and the node" added by the run. */
CFX_API cfx_status cfx_interp_fail(cfx_interp *it, cfx_status code,
                                   const char *fmt, ...) CFX_PRINTF(3, 4);

CFX_END_DECLS

#endif
