/*
 * matcher_test.h -- a graph, a pattern, and how often it occurs.
 */
#ifndef CFX_MATCHER_TEST_H
#define CFX_MATCHER_TEST_H

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include <cfx/matcher.h>

#include "tests/unit/rewrite/rewrite_test.h"

static cfx_context *ctx;
static cfx_error err;
static cfx_graph *graph, *pattern;
static cfx_matcher *matcher;
static cfx_matches found;

CFX_INLINE void clear(void)
{
    cfx_matches_release(&found);
    cfx_matcher_free(matcher);
    cfx_graph_free(pattern);
    cfx_graph_free(graph);
    matcher = NULL;
    graph = pattern = NULL;
    err = (cfx_error){0};
}

CFX_INLINE void setup(void)
{
    ck_assert_int_eq(cfx_context_new(&ctx, NULL, &err), CFX_OK);
    found = (cfx_matches){0};
    graph = pattern = NULL;
    matcher = NULL;
    err = (cfx_error){0};
}

CFX_INLINE void teardown(void)
{
    clear();
    cfx_context_free(ctx);
}

/* The number of matches of the pattern `what`. */
CFX_INLINE size_t count(const char *in, const char *what,
                        const cfx_match_options *o)
{
    clear();
    graph = new_graph(ctx, in);
    pattern = new_graph(ctx, what);
    ck_assert_msg(!cfx_matcher_new(&matcher, pattern, o, &err), "%s",
                  err.text);
    ck_assert_msg(!cfx_matcher_match(matcher, graph, &found, &err), "%s",
                  err.text);
    return found.n;
}

#define COUNT(in, what, ...) count(in, what, &(cfx_match_options){__VA_ARGS__})

/* The graph's node for a node of the pattern, in match i. */
CFX_INLINE const char *name_of(size_t i, const char *node)
{
    cfx_value v = cfx_match_named(&found.item[i], node);
    return v.kind == CFX_NODE ? v.u.node->name : "";
}

#endif
