/*
 * tracer_impl.h -- private state of a tracer. Not installed.
 */
#ifndef CFX_TRACER_IMPL_H
#define CFX_TRACER_IMPL_H

#include <cfx/tracer.h>

#include "base/util.h"

/* A place in a program, and whether calls made by a module of the library are
 * given that place instead of their own. */
typedef struct trace_place {
    const char *file, *function;
    int line;
    bool held;
} trace_place;

struct cfx_tracer_self {
    cfx_trace_options o;
    bool exclusive;  /* no one else edits the graph */
    bool infers;     /* nodes get metas */
    cfx_arena arena; /* names and paths */
    cfx_map attrs;   /* path to the get_attr node, if `exclusive` */
    cfx_map states;  /* tensor (its address) to path, on demand */
    bool states_known;
    cfx_map constants; /* name to a tensor that the root lacks */
    cfx_map calls;     /* path of a module to the number of its calls */
    cfx_value stack;   /* nn_module_stack: a dict, or absent */
    trace_place place;
    cfx_scope eager, meta; /* for values that are known */
};

/* Like cfx_tracer_init; `exclusive` for a graph that nobody else edits. */
cfx_status cfx_tracer__init_on(cfx_tracer *t, cfx_graph *graph,
                               cfx_module *root,
                               const cfx_trace_options *options,
                               bool exclusive, cfx_error *err);

/* Like cfx_tracer_create, with a candidate for the node's name, or NULL. */
cfx_value cfx_tracer__new_node(cfx_tracer *t, cfx_opcode op,
                               const char *target, const cfx_value *args,
                               size_t nargs, const cfx_value *kwargs,
                               size_t nkwargs, const char *name);

/* Make a node from arguments that are already valid in a node: no tensors, no
 * proxies of other tracers. Returns NULL on failure. */
cfx_node *cfx_tracer__make(cfx_tracer *t, cfx_opcode op, const char *target,
                           const cfx_value *args, size_t nargs,
                           const cfx_value *kwargs, size_t nkwargs,
                           const char *name);

/* Return what is known of a node's value: a meta, a number, or a tuple of them;
 * absent if nothing is. Borrowed. */
cfx_value cfx_tracer__known(const cfx_tracer *t, const cfx_node *n);
cfx_status cfx_tracer__ask(cfx_scope *s, cfx_question question, cfx_value v,
                           cfx_value *out);

/* Return the tensor that became an attribute of that name, or NULL. */
cfx_tensor *cfx_tracer__constant(const cfx_tracer *t, const char *name);

/* If the tracer infers and the metas of all arguments are known, give a node
 * the meta of its result: that of a call of m, or of c's target. */
cfx_status cfx_tracer__infer(cfx_tracer *t, cfx_node *n, cfx_module *m,
                             const cfx_unbound_call *c);

/* Build the path, from the tracer's root, of `name` in module m; "" is m
 * itself. Fails the scope for a module that is not below the root. */
cfx_status cfx_tracer__path(cfx_tracer *t, const cfx_module *m,
                            const char *name, cfx_buf *buf);

/* True if a call of the module at that path is recorded as one node. */
bool cfx_tracer__is_leaf(const cfx_tracer *t, const cfx_module *m,
                         const char *path);

/* An is_leaf callback that makes every module a leaf. */
bool cfx_tracer__every_module(void *user, const cfx_module *m,
                              const char *path);

/* Make the placeholder of a parameter. `meta` may be absent. */
cfx_value cfx_tracer__placeholder(cfx_tracer *t, const char *target,
                                  cfx_value init, cfx_value meta);

/* Make a GraphModule of the traced graph and of copies of what it names in the
 * root, constants included. Takes the graph, also on failure. */
cfx_status cfx_tracer__module_take(cfx_module **out, cfx_tracer *t,
                                   cfx_graph *graph, const char *class_name,
                                   cfx_error *err);

/* The call_graph hook: inline the graph (transformer.c). */
cfx_status cfx_tracer__call_graph(cfx_scope *s, cfx_module *m,
                                  const char *path, const cfx_unbound_call *c,
                                  const cfx_value *in, cfx_value *out);

#endif
