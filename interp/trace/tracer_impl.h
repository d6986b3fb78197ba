/*
 * tracer_impl.h -- what a tracer keeps. Not installed.
 */
#ifndef CFX_TRACER_IMPL_H
#define CFX_TRACER_IMPL_H

#include <cfx/tracer.h>

#include "base/util.h"

/* The place in a program, and whether the calls of a module of the library are
 * put there instead of where its source has them. */
typedef struct trace_place {
    const char *file, *function;
    int line;
    bool held;
} trace_place;

struct cfx_tracer_self {
    cfx_trace_options o;
    bool anew;                /* the graph is this tracer's alone */
    bool infers;              /* nodes get metas */
    cfx_arena arena;          /* names and paths */
    cfx_map attrs;            /* path to the get_attr node, where anew */
    cfx_map states;           /* tensor (its address) to path, once needed */
    bool states_known;
    cfx_map constants;        /* name to a tensor that the root lacks */
    cfx_map calls;            /* path of a module to the number of its calls */
    cfx_value stack;          /* nn_module_stack: a dict, or absent */
    trace_place place;
    cfx_scope eager, meta;    /* for what is known */
};

/* cfx_tracer_init; `anew` for a graph that nobody else edits. */
cfx_status cfx_tracer__init_on(cfx_tracer *t, cfx_graph *graph,
                               cfx_module *root,
                               const cfx_trace_options *options, bool anew,
                               cfx_error *err);

/* cfx_tracer_create with a candidate for the node's name, or NULL. */
cfx_value cfx_tracer__new_node(cfx_tracer *t, cfx_opcode op,
                               const char *target,
                               const cfx_value *args, size_t nargs,
                               const cfx_value *kwargs, size_t nkwargs,
                               const char *name);

/* The same of arguments that are those of a node: no tensors, no proxies of
 * others. NULL on failure. */
cfx_node *cfx_tracer__make(cfx_tracer *t, cfx_opcode op, const char *target,
                           const cfx_value *args, size_t nargs,
                           const cfx_value *kwargs, size_t nkwargs,
                           const char *name);

/* What is known of a node's value: a meta, a number, or a tuple of them;
 * absent if nothing is. Borrowed. */
cfx_value cfx_tracer__known(const cfx_tracer *t, const cfx_node *n);
cfx_status cfx_tracer__ask(cfx_scope *s, cfx_question question, cfx_value v,
                           cfx_value *out);

/* The tensor that became an attribute of that name, or NULL. */
cfx_tensor *cfx_tracer__constant(const cfx_tracer *t, const char *name);

/* Give a node the meta of its result, in a tracer that infers and where those
 * of all arguments are known: of a call of m, or of c's target. */
cfx_status cfx_tracer__infer(cfx_tracer *t, cfx_node *n, cfx_module *m,
                             const cfx_spelling *c);

/* The path, from the tracer's root, of what module m calls `name`; "": of m
 * itself. Fails the scope for a module that is not below the root. */
cfx_status cfx_tracer__path(cfx_tracer *t, const cfx_module *m,
                            const char *name, cfx_buf *buf);

/* Is a call of the module, at that path, one node? */
bool cfx_tracer__is_leaf(const cfx_tracer *t, const cfx_module *m,
                         const char *path);

/* An is_leaf of cfx_trace_options: each call of a module is one node. */
bool cfx_tracer__every_module(void *user, const cfx_module *m,
                              const char *path);

/* The node that a parameter is: a placeholder. `meta` may be absent. */
cfx_value cfx_tracer__placeholder(cfx_tracer *t, const char *target,
                                  cfx_value init, cfx_value meta);

/* Make a GraphModule of the traced graph, which it takes, also on failure, and
 * of copies of what it names in the root, constants included. */
cfx_status cfx_tracer__module_take(cfx_module **out, cfx_tracer *t,
                                   cfx_graph *graph, const char *class_name,
                                   cfx_error *err);

#endif
