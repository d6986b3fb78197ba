/*
 * cfx/pattern.h -- patterns and their replacements, written as functions.
 *
 * A pattern function is traced like any other. The functions below make special
 * nodes, which match more than one value or node (see cfx/matcher.h):
 *
 *     static cfx_value pattern(cfx_scope *s, const cfx_value *in, void *user)
 *     {
 *         cfx_value h = cfx_linear(s, in[0], in[1], .bias = in[2]);
 *         return cfx_pattern_one_of(s, cfx_relu(s, h), cfx_gelu(s, h));
 *     }
 *
 *     cfx_replace_function(gm, pattern, replacement, NULL, "x w b",
 *                          &(cfx_rewrite_options){.match.by_operator = true},
 *                          NULL, &err);
 *
 * Operators are recorded as their "torch." function (cfx/tracer.h), so
 * `by_operator` is mostly needed: methods and operator.* then match too. In
 * scopes that compute, these functions fail.
 */
#ifndef CFX_PATTERN_H
#define CFX_PATTERN_H

#include <cfx/rewriter.h>
#include <cfx/tracer.h>

CFX_BEGIN_DECLS

/* Match any value, node or literal. */
CFX_API cfx_value cfx_pattern_any(cfx_scope *s);
/* Match the first fitting value of n: cfx_pattern_one_of(s, a, ...). */
CFX_API cfx_value cfx_pattern_one_of_n(cfx_scope *s, size_t n,
                                       const cfx_value *v);
/* Match v, or `without` if v is missing; absent: the first argument of v. */
CFX_API cfx_value cfx_pattern_optional(cfx_scope *s, cfx_value v,
                                       cfx_value without);
/* Match v if the predicate of that name in cfx_match_options holds. */
CFX_API cfx_value cfx_pattern_where(cfx_scope *s, cfx_value v,
                                    const char *predicate);
/* Match the call of a module of a type, whatever its path. */
CFX_API cfx_value cfx_pattern_module(cfx_scope *s, const char *type,
                                     const cfx_value *args, size_t nargs);

/* Match the call of a function, method or module for which the predicate of
 * that name in cfx_match_options holds, by its first arguments. */
CFX_API cfx_value cfx_pattern_call(cfx_scope *s, const char *predicate,
                                   const cfx_value *args, size_t nargs);
/* Match an int or float that differs from c by at most rtol * abs(c). */
CFX_API cfx_value cfx_pattern_number(cfx_scope *s, double c, double rtol);

#define cfx_pattern_one_of(s, ...)                                            \
    cfx_pattern_one_of_n((s), CFX_COUNT_(__VA_ARGS__),                        \
                         CFX_VALUES_(__VA_ARGS__))

/*
 * Call cfx_replace_pattern with two traced functions of the same parameters (as
 * cfx_trace_function takes them), which both get `user`. `replacement` may be
 * NULL if the options have a callback. Fails as these two do.
 */
CFX_API cfx_status cfx_replace_function(cfx_module *gm, cfx_trace_fn *pattern,
                                        cfx_trace_fn *replacement, void *user,
                                        const char *params,
                                        const cfx_rewrite_options *options,
                                        cfx_matches *replaced, cfx_error *err);

CFX_END_DECLS

#endif
