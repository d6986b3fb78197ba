/*
 * cfx/codegen.h -- a GraphModule as C: written, compiled, loaded, run.
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
 * It is code over values like any other: it computes in an eager scope, tells
 * shapes in a meta scope, and in a tracing scope gives back the graph that it
 * was written from. Beside it stands what builds the tree of modules, an entry
 * `net_compiled` for other programs, and, unless CFX_NO_MAIN is defined, a
 * program of its own:
 *
 *     cfx print net.fx --format c -o net.c
 *     cc net.c $(pkg-config --cflags --libs cfx) -o net
 *     ./net -w net.safetensors x.npy
 *
 * cfx_graph_module_recompile has the system's compiler make a shared object of
 * that text, and loads it: from then on calls of the module run it. As in
 * torch.fx it is not written anew when the graph is edited.
 */
#ifndef CFX_CODEGEN_H
#define CFX_CODEGEN_H

#include <cfx/ops.h>
#include <cfx/text.h>
#include <cfx/tracer.h>

/* ---- What generated files export ---- */

typedef struct cfx_compiled {
    size_t size;            /* sizeof(cfx_compiled) */
    const char *name;       /* "Net" */
    const char *params;     /* as for cfx_trace_function: "x flag=3" */
    size_t nparams;
    /* `user` is the module; absent arguments take their defaults. */
    cfx_trace_fn *forward;
    /* Make the module, its weights without numbers, and its graph by
     * tracing. */
    cfx_status (*build)(cfx_module **out, cfx_context *ctx, cfx_error *err);
} cfx_compiled;

CFX_BEGIN_DECLS

/* Run it on a module; *out is a new reference. Inputs that are missing at the
 * end, or absent, take their defaults. */
CFX_API cfx_status cfx_compiled_run(const cfx_compiled *c, cfx_module *m,
                                    const cfx_value *in, size_t nin,
                                    cfx_value *out, cfx_error *err);

/* The graph, by tracing the function: a new GraphModule over a copy of what
 * the graph names of `m`. Every module that is called is a leaf. */
CFX_API cfx_status cfx_compiled_trace(cfx_module **gm, const cfx_compiled *c,
                                      cfx_module *m, cfx_error *err);

/* An input from a text: a file "x.npy", or a type and shape, "f32[2,3]", that
 * is filled from the seed and the name of parameter i. A new reference. */
CFX_API cfx_status cfx_compiled_input(cfx_value *out, const cfx_compiled *c,
                                      size_t i, cfx_context *ctx,
                                      const char *text, uint64_t seed,
                                      cfx_error *err);

/* ---- Writing C ---- */

typedef struct cfx_c_options {
    size_t size;        /* sizeof(cfx_c_options) */
    const char *prefix; /* of its functions; NULL: made of the class name */
    bool no_build;      /* no function that builds the modules */
    bool no_main;
} cfx_c_options;

/*
 * Write a GraphModule, and those it calls, as a C file. `options` may be NULL.
 * Names that C or its headers give a meaning are changed (`short_`). Fails
 * with CFX_EUNSUPPORTED for what C text cannot hold: tensors and modules in
 * arguments, symbolic integers.
 */
CFX_API cfx_status cfx_print_c(cfx_sink to, const cfx_module *gm,
                               const cfx_c_options *options, cfx_error *err);

/* ---- Compiling ---- */

typedef struct cfx_compile_options {
    size_t size;          /* sizeof(cfx_compile_options) */
    const char *compiler; /* NULL: $CC, else cc; words are separated by
                             spaces, nothing else has a meaning */
    const char *flags;    /* added to its command line; NULL: $CFX_CFLAGS */
    const char *keep;     /* write the C text here, too; NULL: nowhere */
} cfx_compile_options;

/*
 * Compile a GraphModule's graph, so that calls of it (cfx_scope_call_module)
 * run the compiled function until it is compiled again or discarded; its
 * children are called as before. Interpreters over it still walk the graph.
 * `options` may be NULL. The functions of this library are looked for in the
 * running program: one that holds the static library must be linked with
 * -export-dynamic. Temporary files are gone when it returns.
 * Fails with CFX_EUNSUPPORTED (as cfx_print_c), CFX_EIO (no compiler; it
 * failed: the first line of what it said; the object cannot be loaded),
 * CFX_ENOMEM; then the module is as it was.
 */
CFX_API cfx_status cfx_graph_module_recompile(
    cfx_module *gm, const cfx_compile_options *options, cfx_error *err);
/* What it was compiled to, or NULL; borrowed, until the next of these. */
CFX_API const cfx_compiled *cfx_graph_module_compiled(const cfx_module *gm);
/* Walk the graph again. */
CFX_API void cfx_graph_module_discard_compiled(cfx_module *gm);

/* ---- For generated files: calls and values ---- */

/* A call of a function without any value of the graph among its arguments. In
 * a tracing scope it makes a node all the same, as it did where the graph came
 * from; cfx_call_function would compute it at once. */
CFX_API cfx_value cfx_call_constant(cfx_scope *s, const char *target,
                                    cfx_args args);
/* What a get_attr node names: a parameter, buffer or module. In a tracing
 * scope each call makes a node. */
CFX_API cfx_value cfx_call_get_attr(cfx_scope *s, cfx_module *self,
                                    const char *path);
CFX_API cfx_value cfx_str_of(cfx_scope *s, const char *text, size_t len);
CFX_API cfx_value cfx_device_of(cfx_scope *s, const char *name);
CFX_API cfx_value cfx_layout_of(cfx_scope *s, const char *name);
/* An identifier that stands for itself. */
CFX_API cfx_value cfx_bare_name(cfx_scope *s, const char *name);
CFX_API cfx_value cfx_complex_of(cfx_scope *s, double re, double im);
CFX_API cfx_value cfx_slice_of(cfx_scope *s, cfx_value start, cfx_value stop,
                               cfx_value step);
CFX_API cfx_value cfx_range_of(cfx_scope *s, int64_t start, int64_t stop,
                               int64_t step);

/* ---- For generated files: modules ---- */

/* A tree of modules in the making; it holds the first error. */
typedef struct cfx_builder {
    cfx_scope scope;    /* where arguments are made */
    cfx_module *root;
    const char *as;     /* class name of the next module */
    cfx_error *err;
} cfx_builder;

/* Begin with an empty module; gives the scope. */
CFX_API cfx_scope *cfx_build_begin(cfx_builder *b, cfx_context *ctx,
                                   const char *class_name);
/* Add a module of a registered type at a path. */
CFX_API void cfx_build(cfx_builder *b, const char *path, const char *type,
                       cfx_args args);
/* What the next module prints as, where that is not its type. */
CFX_API void cfx_build_as(cfx_builder *b, const char *class_name);
/* The text of the model did not tell an argument of that module. */
CFX_API void cfx_build_undecide(cfx_builder *b, const char *path,
                                const char *name);
/* Add an empty module. */
CFX_API void cfx_build_container(cfx_builder *b, const char *path,
                                 const char *class_name);
/* Declare a parameter or buffer; a rank below 0: it is None. */
CFX_API void cfx_build_state(cfx_builder *b, const char *path, cfx_dtype dtype,
                             int rank, const int64_t *shape, bool is_buffer);
/* Set the training flag of a module and all below it. */
CFX_API void cfx_build_train(cfx_builder *b, const char *path, bool training);
/* Give a module the graph that a function traces to. */
CFX_API void cfx_build_graph(cfx_builder *b, const char *path,
                             const cfx_compiled *c);
/* The module, a new reference, or the first error. */
CFX_API cfx_status cfx_build_end(cfx_builder *b, cfx_module **out,
                                 cfx_error *err);

CFX_END_DECLS

#endif
