/*
 * cfx/tracer.h -- tracing: record what code over values does in a graph.
 *
 * A cfx_tracer is a scope. Its values are proxies, that is nodes of a graph
 * (kind CFX_NODE), and a call makes a node:
 *
 *     static cfx_value f(cfx_scope *s, const cfx_value *in, void *user)
 *     {
 *         (void)user;
 *         return cfx_mul(s, cfx_relu(s, in[0]), in[1]);
 *     }
 *
 *     cfx_trace_function(&gm, ctx, f, NULL, "x y", &err);
 *
 *     graph():
 *         %x : [num_users=1] = placeholder[target=x]
 *         %y : [num_users=1] = placeholder[target=y]
 *         %relu : [num_users=1] = call_function[target=torch.relu](...)
 *         %mul : [num_users=1] = call_function[target=torch.mul](...)
 *         return mul
 *
 * A module is traced through its forward, the same code that runs eagerly and
 * propagates shapes.
 *
 * What is recorded
 *
 * - cfx_relu(s, x) and all functions of cfx/ops.h: see cfx_op_call_name in
 *   cfx/scope.h: call_function of the operator's first "torch." alias, or
 *   call_method where it is only a method; in place the method "relu_" where
 *   there is one, else the function that writes. Required arguments are
 *   positional, others that are given are keywords in the schema's order,
 *   absent ones do not appear: cfx_clamp(s, x, .max = cfx_float(1)) is
 *   torch.clamp(x, max = 1.0).
 * - cfx_call_function and cfx_call_method: with the given name and arguments.
 * - cfx_nth: operator.getitem. cfx_size: the method `size`. cfx_int_add, mul,
 *   floordiv: operator.add, mul, floordiv. cfx_unpack: one getitem each.
 * - cfx_param_of: get_attr, one node per path. Parameters that are None give
 *   None.
 * - cfx_call_module: call_module for a leaf, with the given arguments; else
 *   what its forward records. Leaves are the library's own module types but
 *   Sequential; modules of a type that a program registered, containers with a
 *   graph (whose nodes are copied) and Sequential are not.
 *   cfx_trace_options.is_leaf decides otherwise.
 * - A tensor among arguments: get_attr of the root's parameter or buffer, else
 *   of an attribute _tensor_constant0, 1, ... of the new module, one per
 *   tensor. Each use makes a node, as in torch.fx.
 * - A call without any proxy among its arguments is computed at once, as in
 *   torch.fx; its result is a constant if it is used. Operators that draw
 *   random numbers or have effects are recorded nevertheless; torch.fx would
 *   make one draw a constant.
 *
 * Names are made from the target by the graph's rules. Each node has meta:
 * nn_module_stack (a dict of path to (path, class name), outermost first; the
 * second call of a module has the key "path@1"), and stack_trace ("File:
 * model.c:12 in forward"), the source location of the call; for calls made by
 * the library's own modules, that of the module's call. Nodes made for a node
 * of another graph that is being run inherit its provenance.
 *
 * Code that cannot be traced fails the scope with torch.fx's messages: a
 * question about a proxy's value (cfx_truth, cfx_len, cfx_items, cfx_rank of
 * one without a meta), or a node of another graph among the arguments.
 *
 * Proxies with metas: if inputs have metas (torch.fx's MetaTracer), dtype, rank
 * and extents of all values computed from them are known. Each node gets meta
 * `tensor_meta`, code may use cfx_rank and cfx_meta_of, and a shape mismatch
 * fails while tracing. The graph is then specialized to the answers that the
 * code used. Parameters are always known.
 */
#ifndef CFX_TRACER_H
#define CFX_TRACER_H

#include <cfx/graph_module.h>
#include <cfx/scope.h>

/* Code over values: `in` has one value per parameter. */
typedef cfx_value cfx_trace_fn(cfx_scope *s, const cfx_value *in, void *user);

/*
 * An argument that is known while tracing. For a number, bool or str the
 * parameter stays, but the code sees the value, and the graph checks it
 * (operator.eq and torch._assert, "flag has been specialized to have value True
 * but got another value"); None is checked by
 * torch.fx._symbolic_trace._assert_is_none. The same holds for leaves of
 * tuples, lists and dicts; a leaf cfx_ph() is a parameter of its own. Leaves
 * are named x_1, x_2, ..., and the traced graph takes them one by one. A star
 * parameter `*args` is called "args" here; a tuple of cfx_ph() sets its length.
 */
typedef struct cfx_concrete_arg {
    const char *name;
    cfx_value value;
} cfx_concrete_arg;

/* Options; zeroed members take the defaults. */
typedef struct cfx_trace_options {
    size_t size; /* sizeof(cfx_trace_options) */
    /* A subclass of cfx_tracer_class, whose hooks chain up. */
    const cfx_scope_class *cls;
    const char *class_name; /* of the GraphModule; NULL: the root's, or
                                "GraphModule" */
    /* For functions: the module whose paths and state are used; may be NULL.
     * The attributes that the graph names are copied from it. */
    cfx_module *root;
    /* One per parameter: a meta, or a tensor whose data is ignored; absent: a
     * bare proxy. */
    const cfx_value *metas;
    size_t nmetas;
    cfx_shape_env *env; /* where metas have symbols */
    /* cfx_size returns a known extent instead of making a node. */
    bool known_sizes;
    const cfx_concrete_arg *concrete;
    size_t nconcrete;
    /* `path` is relative to the root. NULL: the rule above. */
    bool (*is_leaf)(void *user, const cfx_module *m, const char *path);
    void *user;
    /* Refuse calls that write to an argument (check_mutable_operations). */
    bool check_mutable;
    bool no_places; /* do not set meta stack_trace */
    /* Find the metas of values also if no parameter has one, from nodes that the
     * graph had before. */
    bool infer;
} cfx_trace_options;

/* The scope. Read it freely. */
typedef struct cfx_tracer {
    cfx_scope base;
    cfx_graph *graph;
    cfx_module *root; /* may be NULL */
    struct cfx_tracer_self *self;
} cfx_tracer;

CFX_BEGIN_DECLS

CFX_API extern const cfx_scope_class cfx_tracer_class;

/*
 * Trace a function of the parameters `params`: names separated by spaces, as "x
 * y=None *args **kw", with defaults in Python's notation (without spaces), or a
 * star. *gm is a new reference. Fails with the code's errors, CFX_EINVAL
 * (malformed parameters), CFX_EUNSUPPORTED (code that cannot be traced),
 * CFX_EGRAPH (proxies of two tracers), CFX_ENOMEM.
 */
CFX_API cfx_status cfx_trace_function(cfx_module **gm, cfx_context *ctx,
                                      cfx_trace_fn *fn, void *user,
                                      const char *params, cfx_error *err);
CFX_API cfx_status cfx_trace_function_with(cfx_module **gm, cfx_context *ctx,
                                           cfx_trace_fn *fn, void *user,
                                           const char *params,
                                           const cfx_trace_options *options,
                                           cfx_error *err);

/*
 * Trace a module: its forward's parameters become placeholders, with their
 * defaults. Such a parameter is also a proxy, as in torch.fx, and not None:
 * pass a concrete None to trace without it. For a GraphModule the graph is
 * traced again. `options` may be NULL. *gm has the root's class name and
 * training flag, and copies of the children and state that the graph names, in
 * containers that print as `Module` where they were not called themselves;
 * tensors are shared.
 */
CFX_API cfx_status cfx_symbolic_trace(cfx_module **gm, cfx_module *root,
                                      const cfx_trace_options *options,
                                      cfx_error *err);

/*
 * Create a tracer that inserts into an existing graph, at its insert point
 * (torch.fx's GraphAppendingTracer). Passes use it to write new nodes as calls.
 *
 *     cfx_tracer t = {0};
 *     cfx_graph_inserting_before(g, n);
 *     cfx_tracer_init(&t, g, NULL, &err);
 *     cfx_value y = cfx_add(&t.base, cfx_value_of_node(n), cfx_int(1));
 *     cfx_status st = cfx_scope_status(&t.base, &err);
 *     cfx_tracer_release(&t);
 *
 * Paths and constants are those of the graph's owning module, unless
 * options->root is another; parameters get a node for each use. It borrows the
 * graph. Releasing a zeroed one is allowed.
 */
CFX_API cfx_status cfx_tracer_init(cfx_tracer *t, cfx_graph *graph,
                                   const cfx_trace_options *options,
                                   cfx_error *err);
CFX_API void cfx_tracer_release(cfx_tracer *t);

/* Make a node of any opcode from arguments that may contain tensors, which
 * become get_attr nodes. All of the tracer's hooks end here. Returns the node's
 * value, or None on failure. */
CFX_API cfx_value cfx_tracer_create(cfx_tracer *t, cfx_opcode op,
                                    const char *target, cfx_args args);

/* Give a proxy's node that name, made unique; does nothing to other values, so
 * that code may name values in every scope. The last node's previous name
 * becomes free again. Returns v. */
CFX_API cfx_value cfx_named(cfx_scope *s, const char *name, cfx_value v);

/* Set the type expression of a proxy's node (torch.fx's annotate). Fails the
 * scope if it has one already. Returns v. */
CFX_API cfx_value cfx_annotate(cfx_scope *s, cfx_value v, const char *type);

/* Make a parameter within a concrete aggregate. */
CFX_API cfx_value cfx_ph(void);

/*
 * A function that is recorded as one call (torch.fx.wrap) and found by name
 * when a graph runs. In eager and meta scopes fn runs.
 *
 *     static cfx_wrapped gelu2 = {
 *         .op = {.abi = CFX_ABI(cfx_op),
 *                .schema = "gelu2(Tensor x) -> Tensor",
 *                .aliases = "my.gelu2"},
 *         .fn = my_gelu2,
 *     };
 *     cfx_wrap(ctx, &gelu2, &err);
 *     y = cfx_wrapped_call(s, &gelu2, &x, 1);
 *
 * The struct must outlive the context; contexts that share it share `user`.
 */
typedef struct cfx_wrapped {
    cfx_op op; /* you set its schema, aliases and doc */
    cfx_trace_fn *fn;
    void *user;
} cfx_wrapped;

CFX_API cfx_status cfx_wrap(cfx_context *ctx, cfx_wrapped *w, cfx_error *err);
CFX_API cfx_value cfx_wrapped_call(cfx_scope *s, const cfx_wrapped *w,
                                   const cfx_value *args, size_t nargs);

CFX_END_DECLS

#endif
