/*
 * codegen_impl.h -- state of the C code generator. Not installed.
 *
 * codegen.c writes the file and its functions, codegen_call.c single nodes,
 * codegen_value.c values, codegen_build.c the tree of modules.
 */
#ifndef CFX_CODEGEN_IMPL_H
#define CFX_CODEGEN_IMPL_H

#include <cfx/codegen.h>

#include "format/print.h"
#include "graph/names.h"

/* A GraphModule of the file, with the prefix of its functions. */
typedef struct cgen_unit {
    const cfx_module *gm;
    const char *prefix;
} cgen_unit;

typedef struct cgen {
    cfx_context *ctx;
    const cfx_c_options *how;
    cfx_out *out;
    cfx_error *err;
    cfx_arena arena;
    cfx_buf buf;
    cgen_unit *unit; /* children before their parents */
    size_t nunits;
    cfx_map taken; /* prefixes of the units */
    /* Maps a descriptor's address to the index in ops.def of its operator's
     * first overload. */
    cfx_map heads;

    /* The graph of the function being written. */
    const cfx_graph *graph;
    const char **name; /* C names, by node id */
    const cfx_node **last_use;
    cfx_map used;      /* C names */
    cfx_names guessed; /* names that a tracer will give to the nodes */
} cgen;

/* Stop, with CFX_ENOMEM or with another status and a message. */
void cgen_no_memory(cgen *c);
void cgen_refuse(cgen *c, const char *fmt, ...) CFX_PRINTF(2, 3);

/* ---- codegen_value.c ---- */

/* Print a value as an expression; `s` is the scope. */
void cgen_value(cgen *c, cfx_value v);
/* Print n values, separated by `, `. */
void cgen_values(cgen *c, const cfx_value *v, size_t n);
/* Print `CFX_ARGS(a, b)` or `CFX_NO_ARGS`. With `kwargs`, print the beginning
 * of a cfx_args, which the caller closes with `name, value)}`. */
void cgen_args(cgen *c, const cfx_value *v, size_t n, bool kwargs);
/* Print the constant of a type, "CFX_F32". */
void cgen_dtype(cgen *c, cfx_dtype t);
/* Print a string literal, without trigraphs and in ASCII only. */
void cgen_literal(cgen *c, const char *s, size_t len);

/* ---- codegen_call.c ---- */

/* Record which operators have a function in cfx/ops.h. */
bool cgen_find_functions(cgen *c);
/* Print the call of a node as an expression. */
void cgen_call(cgen *c, const cfx_node *n);

/* ---- codegen_build.c ---- */

/* Print the function that builds the module tree of a root unit. */
void cgen_build(cgen *c, const cgen_unit *u);
void cgen_main(cgen *c, const cgen_unit *u, size_t nparams);

#endif
