/*
 * cfx/codegen.h -- a GraphModule as C, and what the generated files call.
 *
 * cfx_print_c writes one C11 file with a function that does what the graph
 * says, a line a node:
 *
 *     cfx_value net_forward(cfx_scope *s, cfx_module *self, cfx_value x)
 *     {
 *         cfx_value conv1 = cfx_call_module(s, self, "conv1", x);
 *         cfx_scope_drop(s, &x);
 *         cfx_value relu = cfx_relu(s, conv1);
 *         cfx_scope_drop(s, &conv1);
 *         return relu;
 *     }
 *
 * The function is code over values: it computes in an eager scope, propagates
 * shapes in a meta scope, and in a tracing scope records the graph that it was
 * generated from. The file also has a function that builds the module tree, an
 * entry point `net_compiled` for other programs, and, unless CFX_NO_MAIN is
 * defined, a main:
 *
 *     cfx print net.fx --format c -o net.c
 *     cc net.c $(pkg-config --cflags --libs cfx) -o net
 *     ./net -w net.safetensors x.npy
 */
#ifndef CFX_CODEGEN_H
#define CFX_CODEGEN_H

#include <cfx/ops.h>
#include <cfx/text.h>
#include <cfx/tracer.h>

/* ---- What generated files export ---- */

typedef struct cfx_compiled {
    size_t size;        /* sizeof(cfx_compiled) */
    const char *name;   /* "Net" */
    const char *params; /* as for cfx_trace_function: "x flag=3" */
    size_t nparams;
    /* `user` is the module; absent arguments take their defaults. */
    cfx_trace_fn *forward;
    /* Make the module, its weights not loaded, and trace its graph. */
    cfx_status (*build)(cfx_module **out, cfx_context *ctx, cfx_error *err);
} cfx_compiled;

CFX_BEGIN_DECLS

/* Run the function on a module; *out is a new reference. Absent and missing
 * trailing inputs take their defaults. */
CFX_API cfx_status cfx_compiled_run(const cfx_compiled *c, cfx_module *m,
                                    const cfx_value *in, size_t nin,
                                    cfx_value *out, cfx_error *err);

/* Trace the function into a new GraphModule, with copies of the attributes of
 * `m` that the graph names. Every called module is a leaf. */
CFX_API cfx_status cfx_compiled_trace(cfx_module **gm, const cfx_compiled *c,
                                      cfx_module *m, cfx_error *err);

/* Make an input from text: a file "x.npy", or a type and shape, "f32[2,3]",
 * filled from the seed and the name of parameter i. *out is a new reference. */
CFX_API cfx_status cfx_compiled_input(cfx_value *out, const cfx_compiled *c,
                                      size_t i, cfx_context *ctx,
                                      const char *text, uint64_t seed,
                                      cfx_error *err);

/* ---- Writing C ---- */

typedef struct cfx_c_options {
    size_t size;        /* sizeof(cfx_c_options) */
    const char *prefix; /* of its functions; NULL: the class name */
    bool no_build;      /* no function to build the modules */
    bool no_main;
} cfx_c_options;

/*
 * Print a GraphModule, and those it calls, as a C file. `options` may be NULL.
 * Names with a meaning in C or its headers are changed (`short_`). Fails with
 * CFX_EUNSUPPORTED for values that C code cannot express: tensors and modules
 * in arguments, symbolic integers.
 */
CFX_API cfx_status cfx_print_c(cfx_sink to, const cfx_module *gm,
                               const cfx_c_options *options, cfx_error *err);

/* ---- For generated files: calls and values ---- */

/* Call a function none of whose arguments is a value of the graph. In a tracing
 * scope this makes a node, as in the original graph; cfx_call_function would
 * compute it at once. */
CFX_API cfx_value cfx_call_constant(cfx_scope *s, const char *target,
                                    cfx_args args);
/* Return what a get_attr node names: a parameter, buffer or module. In a
 * tracing scope each call makes a node. */
CFX_API cfx_value cfx_call_get_attr(cfx_scope *s, cfx_module *self,
                                    const char *path);
CFX_API cfx_value cfx_str_of(cfx_scope *s, const char *text, size_t len);
CFX_API cfx_value cfx_device_of(cfx_scope *s, const char *name);
CFX_API cfx_value cfx_layout_of(cfx_scope *s, const char *name);
/* Make an identifier that is printed without quotes. */
CFX_API cfx_value cfx_bare_name(cfx_scope *s, const char *name);
CFX_API cfx_value cfx_complex_of(cfx_scope *s, double re, double im);
CFX_API cfx_value cfx_slice_of(cfx_scope *s, cfx_value start, cfx_value stop,
                               cfx_value step);
CFX_API cfx_value cfx_range_of(cfx_scope *s, int64_t start, int64_t stop,
                               int64_t step);

/* ---- For generated files: modules ---- */

/* A module tree under construction; it keeps the first error. */
typedef struct cfx_builder {
    cfx_scope scope; /* where arguments are made */
    cfx_module *root;
    const char *as; /* class name of the next module */
    cfx_error *err;
} cfx_builder;

/* Begin with an empty module; returns the scope. */
CFX_API cfx_scope *cfx_build_begin(cfx_builder *b, cfx_context *ctx,
                                   const char *class_name);
/* Add a module of a registered type at a path. */
CFX_API void cfx_build(cfx_builder *b, const char *path, const char *type,
                       cfx_args args);
/* Set the class name that the next module is printed with. */
CFX_API void cfx_build_as(cfx_builder *b, const char *class_name);
/* Mark an argument of that module as missing in the model's text. */
CFX_API void cfx_build_undecide(cfx_builder *b, const char *path,
                                const char *name);
/* Add an empty module. */
CFX_API void cfx_build_container(cfx_builder *b, const char *path,
                                 const char *class_name);
/* Declare a parameter or buffer; a rank below 0 makes it None. */
CFX_API void cfx_build_state(cfx_builder *b, const char *path, cfx_dtype dtype,
                             int rank, const int64_t *shape, bool is_buffer);
/* Set the training flag of a module and all below it. */
CFX_API void cfx_build_train(cfx_builder *b, const char *path, bool training);
/* Trace a function into the graph of a module. */
CFX_API void cfx_build_graph(cfx_builder *b, const char *path,
                             const cfx_compiled *c);
/* Return the module in *out, a new reference, or the first error. */
CFX_API cfx_status cfx_build_end(cfx_builder *b, cfx_module **out,
                                 cfx_error *err);

CFX_END_DECLS

#endif
