/*
 * codegen.h -- a C file in the making. Not installed.
 *
 * codegen.c writes the whole and the functions, codegen_call.c one node,
 * codegen_value.c values, codegen_build.c the tree of modules.
 */
#ifndef CFX_CODEGEN_IMPL_H
#define CFX_CODEGEN_IMPL_H

#include <cfx/codegen.h>

#include "format/print.h"
#include "graph/names.h"

/* A GraphModule of the file, and what its functions begin with. */
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
    cgen_unit *unit;           /* children before their parents */
    size_t nunits;
    cfx_map taken;             /* prefixes of units */
    /* From a descriptor's address to the place in ops.def of its operator's
     * first overload. */
    cfx_map heads;

    /* Of the function being written. */
    const cfx_graph *graph;
    const char **name;         /* C names, by node id */
    const cfx_node **last_use;
    cfx_map used;              /* C names */
    cfx_names guessed;         /* what a tracer will call the nodes */
} cgen;

/* Stop with CFX_ENOMEM; with another status and a text. */
void cgen_no_memory(cgen *c);
void cgen_refuse(cgen *c, const char *fmt, ...) CFX_PRINTF(2, 3);

/* ---- codegen_value.c ---- */

/* A value as an expression over the scope `s`. */
void cgen_value(cgen *c, cfx_value v);
/* `, ` between them. */
void cgen_values(cgen *c, const cfx_value *v, size_t n);
/* `CFX_ARGS(a, b)`, or `CFX_NO_ARGS`; with keywords the beginning of a
 * cfx_args, which `name, value)}` ends. */
void cgen_args(cgen *c, const cfx_value *v, size_t n, bool kwargs);
/* A type's constant, "CFX_F32". */
void cgen_dtype(cgen *c, cfx_dtype t);
/* A string literal; no trigraphs, and no byte that is not ASCII. */
void cgen_literal(cgen *c, const char *s, size_t len);

/* ---- codegen_call.c ---- */

/* Note which functions cfx/ops.h has. */
bool cgen_find_functions(cgen *c);
/* The call that a node stands for, as an expression. */
void cgen_call(cgen *c, const cfx_node *n);

/* ---- codegen_build.c ---- */

/* The function that builds the tree of a unit that is no child. */
void cgen_build(cgen *c, const cgen_unit *u);
void cgen_main(cgen *c, const cgen_unit *u, size_t nparams);

#endif
