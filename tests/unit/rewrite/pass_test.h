/*
 * pass_test.h -- what the tests of passes share: a context whose allocator can
 * be told to fail, graphs from text, and the text of graphs.
 */
#ifndef CFX_PASS_TEST_H
#define CFX_PASS_TEST_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cfx/file.h>
#include <cfx/interp.h>
#include <cfx/pass.h>
#include <cfx/text.h>

#include "tests/unit/failing_alloc.h"

static cfx_context *ctx;
static cfx_module *gm;
static cfx_graph *g;
static cfx_error err;
static size_t changed; /* by the last `apply` */

/* ---- A context for each test ---- */

CFX_INLINE void setup(void)
{
    cfx_options options = {
        .size = sizeof(options),
        .allocator = {test_alloc, test_free, NULL},
        .threads = 1,
    };
    allowed = -1;
    err = (cfx_error){0};
    ck_assert_int_eq(cfx_context_new(&ctx, &options, &err), CFX_OK);
    gm = NULL;
}

CFX_INLINE void teardown(void)
{
    cfx_module_unref(gm);
    gm = NULL;
    cfx_context_free(ctx);
}

#define assert_ok(status)                                                     \
    do {                                                                      \
        if (status)                                                           \
            ck_abort_msg("%s", err.text);                                     \
    } while (0)

/* Check the status and the beginning of the text of the last error. */
CFX_INLINE void assert_failed(cfx_status code, const char *text)
{
    ck_assert_msg(!strncmp(err.text, text, strlen(text)), "%s\nis not\n%s",
                  err.text, text);
    ck_assert_int_eq(err.code, code);
    err = (cfx_error){0};
}

/* ---- Short ways to write a graph ---- */

#define GRAPH "graph():\n"
#define IN(name)                                                              \
    "    %" name " : [num_users=1] = placeholder[target=" name "]\n"
#define FN(name, target, args)                                                \
    "    %" name " : [num_users=1] = call_function[target=" target            \
    "](args = (" args "), kwargs = {})\n"
#define FNK(name, target, args, kwargs)                                       \
    "    %" name " : [num_users=1] = call_function[target=" target            \
    "](args = (" args "), kwargs = {" kwargs "})\n"
#define ME(name, target, args)                                                \
    "    %" name " : [num_users=1] = call_method[target=" target              \
    "](args = (" args "), kwargs = {})\n"
#define MOD(name, target, args)                                               \
    "    %" name " : [num_users=1] = call_module[target=" target              \
    "](args = (" args "), kwargs = {})\n"
#define AT(name, target)                                                      \
    "    %" name " : [num_users=1] = get_attr[target=" target "]\n"
#define OUT(value) "    return " value "\n"

/* ---- Graphs ---- */

/* The model under test, from its text. */
CFX_INLINE void model(const char *text)
{
    cfx_module_unref(gm);
    gm = NULL;
    assert_ok(cfx_parse_model(&gm, ctx, text, strlen(text), "test", &err));
    g = cfx_graph_module_graph(gm);
}

CFX_INLINE cfx_node *node(const char *name)
{
    cfx_node *n = cfx_graph_find(g, name);
    if (!n)
        ck_abort_msg("there is no node '%s'", name);
    return n;
}

CFX_INLINE cfx_status append(void *user, const char *text, size_t len)
{
    return fwrite(text, 1, len, user) == len ? CFX_OK : CFX_EIO;
}

/* str(graph), for free(). */
CFX_INLINE char *graph_text(const cfx_graph *of)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    cfx_sink sink = {append, f};
    assert_ok(cfx_print_graph(sink, of, false, &err));
    fclose(f);
    return text;
}

CFX_INLINE void assert_graph(const char *want)
{
    char *text = graph_text(g);
    ck_assert_str_eq(text, want);
    free(text);
}

/* Names, in order, with a blank between. */
CFX_INLINE void assert_nodes(const char *want)
{
    static char text[8192];
    size_t len = 0;
    text[0] = '\0';
    for (cfx_node *n = cfx_graph_first(g); n; n = cfx_node_next(n))
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s",
                                len ? " " : "", n->name);
    ck_assert_str_eq(text, want);
}

/* Apply a pass and lint. */
CFX_INLINE void apply(const char *pass)
{
    assert_ok(cfx_pass_apply(gm, pass, false, &changed, &err));
    g = cfx_graph_module_graph(gm);
    assert_ok(cfx_graph_lint(g, &err));
}

/* Call what a test consists of with the first allocation failing, then the
 * second, and so on, until it succeeds. */
CFX_INLINE void fail_each_allocation(bool (*work)(void))
{
    bool done = false;
    for (long n = 0; !done; n++) {
        ck_assert_int_lt(n, 100000);
        err = (cfx_error){0};
        allowed = n;
        done = work();
        allowed = -1;
        ck_assert_msg(done || err.code == CFX_ENOMEM, "%s", err.text);
    }
    err = (cfx_error){0};
}

#endif
