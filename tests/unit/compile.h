/*
 * compile.h -- the C text of a GraphModule, compiled with all warnings as
 * errors, and loaded.
 */
#ifndef CFX_TEST_COMPILE_H
#define CFX_TEST_COMPILE_H

#include <cfx/codegen.h>

/* The compilers to ask: $CC, and $CFX_CC2 where it is set. */
typedef struct compiled_file {
    void *handle;
    const cfx_compiled *entry;
    char why[1024]; /* of a failure: what the compiler said */
} compiled_file;

/* Write, compile and load; the program's main is compiled, too, and dropped.
 * False with `why`. */
bool compile_module(compiled_file *f, const cfx_module *gm, cfx_error *err);
void compile_release(compiled_file *f);

#endif
