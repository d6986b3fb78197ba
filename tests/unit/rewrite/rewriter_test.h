/*
 * rewriter_test.h -- a model, a pattern, a replacement, and what comes out.
 */
#ifndef CFX_REWRITER_TEST_H
#define CFX_REWRITER_TEST_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cfx/ops.h>
#include <cfx/pattern.h>
#include <cfx/text.h>

#include "tests/unit/rewrite/rewrite_test.h"

static cfx_context *ctx;
static cfx_error err;
static cfx_module *gm;
static cfx_graph *pattern, *replacement;
static cfx_matches replaced;

CFX_INLINE void clear(void)
{
    cfx_matches_release(&replaced);
    cfx_graph_free(pattern);
    cfx_graph_free(replacement);
    cfx_module_unref(gm);
    gm = NULL;
    pattern = replacement = NULL;
    err = (cfx_error){0};
}

CFX_INLINE void setup(void)
{
    ck_assert_int_eq(cfx_context_new(&ctx, NULL, &err), CFX_OK);
    replaced = (cfx_matches){0};
    gm = NULL;
    pattern = replacement = NULL;
    err = (cfx_error){0};
}

CFX_INLINE void teardown(void)
{
    clear();
    cfx_context_free(ctx);
}

static cfx_graph *graph(void)
{
    return cfx_graph_module_graph(gm);
}

/* The graph is well-formed, and the same program as that of the text. */
CFX_INLINE void is(const char *expected)
{
    bool equal;
    cfx_graph *want = new_graph(ctx, expected);
    ck_assert_msg(!cfx_graph_lint(graph(), &err), "%s", err.text);
    ck_assert_int_eq(cfx_graph_equal(&equal, graph(), want, &err), CFX_OK);
    if (!equal) {
        char *a = graph_text(graph()), *b = graph_text(want);
        ck_assert_msg(0, "is %s\nnot %s", a, b);
    }
    cfx_graph_free(want);
}

CFX_INLINE cfx_status try_replace(const char *in, const char *what,
                                  const char *with,
                                  const cfx_rewrite_options *o)
{
    clear();
    gm = new_module(ctx, NULL, in);
    pattern = new_graph(ctx, what);
    replacement = with ? new_graph(ctx, with) : NULL;
    return cfx_replace_pattern(gm, pattern, replacement, o, &replaced, &err);
}

CFX_INLINE size_t replace_with(const char *in, const char *what,
                               const char *with, const cfx_rewrite_options *o)
{
    ck_assert_msg(!try_replace(in, what, with, o), "%s", err.text);
    return replaced.n;
}

CFX_INLINE size_t replace(const char *in, const char *what, const char *with)
{
    return replace_with(in, what, with, NULL);
}

CFX_INLINE void fails(const char *in, const char *what, const char *with,
                      cfx_status code, const char *text)
{
    ck_assert_int_eq(try_replace(in, what, with, NULL), code);
    ck_assert_msg(strstr(err.text, text) != NULL, "%s", err.text);
    is(in);
}

CFX_INLINE void add_module(cfx_module *root, const char *name,
                           const char *type)
{
    cfx_module *m;
    ck_assert_int_eq(cfx_module_new(&m, ctx, cfx_find_module_type(ctx, type),
                                    NULL, CFX_NO_ARGS, &err),
                     CFX_OK);
    ck_assert_int_eq(cfx_module_add_submodule_take(root, name, m, &err),
                     CFX_OK);
}

CFX_INLINE cfx_module *container(void)
{
    cfx_module *m;
    ck_assert_int_eq(cfx_module_new_container(&m, ctx, "M", &err), CFX_OK);
    return m;
}

#endif
