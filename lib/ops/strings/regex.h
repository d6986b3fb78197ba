/*
 * regex.h -- regular expressions in RE2's syntax. Not installed.
 */
#ifndef CFX_REGEX_H
#define CFX_REGEX_H

#include "base/util.h"
#include <cfx/value.h>

struct cfx_regex_step;
struct cfx_regex_range;

/* A compiled expression; zeroed it may be released. */
typedef struct cfx_regex {
    cfx_context *ctx;
    struct cfx_regex_step *step;
    size_t nsteps, step_cap;
    struct cfx_regex_range *range;
    size_t nranges, range_cap;
    uint32_t *work; /* 4 * nsteps, for a match */
} cfx_regex;

/* Compile a pattern. Fails with CFX_EPARSE for what is no expression,
 * CFX_EUNSUPPORTED for flags, classes of Unicode and named classes, CFX_ELIMIT,
 * CFX_ENOMEM. */
cfx_status cfx_regex_compile(cfx_regex *out, cfx_context *ctx,
                             const cfx_string *pattern, cfx_error *err);
void cfx_regex_release(cfx_regex *re);

/* Does it match the whole text? In time proportional to the product of their
 * lengths; ends early, with any result, where the context stops. */
bool cfx_regex_match(cfx_regex *re, const cfx_string *text);

#endif
