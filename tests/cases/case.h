/*
 * case.h -- operator cases: read one, run it, compare with what PyTorch got.
 *
 * The grammar is that of tests/oracle/README.md.
 */
#ifndef CFX_TEST_CASE_H
#define CFX_TEST_CASE_H

#include <cfx/module.h>
#include <cfx/scope.h>

enum { CASE_MAX_ARGS = 32, CASE_MAX_TENSORS = 16 };

/* A call as it was read; values are owned by the scope it was read with. */
typedef struct op_case {
    char target[128];
    bool is_method;
    bool exact;     /* f16 and bf16 must be PyTorch's bits */
    bool only_made; /* a module that is not called */
    bool training;
    cfx_module *module; /* of a module case; else NULL */
    struct op_case_args {
        cfx_value args[CASE_MAX_ARGS], kwargs[2 * CASE_MAX_ARGS];
        size_t nargs, nkwargs;
    } made; /* its constructor's */
    cfx_value args[CASE_MAX_ARGS], kwargs[2 * CASE_MAX_ARGS];
    size_t nargs, nkwargs;
    cfx_tensor *tensor[CASE_MAX_TENSORS]; /* arg0, arg1, ...; borrowed */
    size_t ntensors;
} op_case;

/* Call fn for each line of a file, or for those that hold the text `only`.
 * False, with the reason on stderr, if it cannot be read. */
typedef void case_line_fn(void *user, const char *file, int number,
                          const char *line);
bool case_lines(const char *file, const char *only, case_line_fn *fn,
                void *user);

/* Read the text of a case; in a meta scope its tensors are metas, and where
 * that has an environment, extents are expressions of symbols. False, with a
 * sentence in why, if it is malformed or names a module type that there is
 * none of. Free with case_release. */
bool case_read(op_case *c, cfx_scope *s, const char *text, size_t len,
               char *why, size_t size);
void case_release(op_case *c);

/* Run it in the scope. */
cfx_value case_run(op_case *c, cfx_scope *s);

/* Does the result agree with the golden text (without "error")? Else false,
 * with a sentence in why. */
bool case_compare(cfx_scope *s, const op_case *c, cfx_value result,
                  const char *golden, char *why, size_t size);

/* The index behind that one, in row-major order. */
void case_next_index(const cfx_tensor *t, int64_t *index);

/* Are two results the same: kinds, types, shapes, strides, and elements where
 * neither is a meta? */
bool case_same(cfx_value a, cfx_value b);

#endif
