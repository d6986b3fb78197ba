/*
 * trace_test.h -- what the tests of tracing share: a context whose allocator
 * can be told to fail, graphs as text, tensors of few numbers.
 */
#ifndef CFX_TRACE_TEST_H
#define CFX_TRACE_TEST_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cfx/file.h>
#include <cfx/interp.h>
#include <cfx/ops.h>
#include <cfx/text.h>
#include <cfx/transformer.h>

#include "tests/unit/failing_alloc.h"

static cfx_context *ctx;
static cfx_module *gm;
static cfx_error err;
static char text[32768];

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
    gm = NULL;
    ck_assert_int_eq(cfx_context_new(&ctx, &options, &err), CFX_OK);
}

CFX_INLINE void teardown(void)
{
    cfx_module_unref(gm);
    cfx_context_free(ctx);
    ck_assert_int_eq(held, 0);
}

CFX_INLINE void fresh(void)
{
    cfx_module_unref(gm);
    gm = NULL;
    err = (cfx_error){0};
}

/* ---- Text ---- */

CFX_INLINE cfx_status add_text(void *user, const char *s, size_t len)
{
    size_t at = strlen(text);
    (void)user;
    ck_assert_uint_lt(at + len, sizeof(text));
    memcpy(text + at, s, len);
    text[at + len] = '\0';
    return CFX_OK;
}

CFX_INLINE const char *graph_text(const cfx_module *m)
{
    *text = '\0';
    cfx_sink sink = {add_text, NULL};
    ck_assert_int_eq(
        cfx_print_graph(sink, cfx_graph_module_graph(m), false, &err), CFX_OK);
    return text;
}

CFX_INLINE const char *code_text(const cfx_module *m)
{
    *text = '\0';
    cfx_sink sink = {add_text, NULL};
    ck_assert_int_eq(cfx_print_code(sink, cfx_graph_module_graph(m), &err),
                     CFX_OK);
    return text;
}

#define assert_ok(call) ck_assert_msg(!(call), "%s: %s", #call, err.text)

#define assert_graph(want) ck_assert_str_eq(graph_text(gm), want)

/* The body of the generated code holds it. */
CFX_INLINE void assert_code(const char *part)
{
    ck_assert_msg(strstr(code_text(gm), part) != NULL, "%s", text);
}

CFX_INLINE void assert_fails(cfx_status st, cfx_status with, const char *part)
{
    ck_assert_int_eq(st, with);
    ck_assert_msg(strstr(err.text, part) != NULL, "%s", err.text);
    ck_assert_ptr_null(gm);
    err = (cfx_error){0};
}

CFX_INLINE cfx_node *node(const char *name)
{
    cfx_node *n = cfx_graph_find(cfx_graph_module_graph(gm), name);
    ck_assert_msg(n != NULL, "no node %s", name);
    return n;
}

CFX_INLINE cfx_module *parse(const char *model)
{
    cfx_module *m;
    assert_ok(cfx_parse_model(&m, ctx, model, strlen(model), "test", &err));
    return m;
}

CFX_INLINE cfx_module *build(const char *type, const cfx_value *args, size_t n)
{
    cfx_module *m;
    const cfx_module_type *t = cfx_find_module_type(ctx, type);
    ck_assert_ptr_nonnull(t);
    assert_ok(cfx_module_new(&m, ctx, t, NULL, cfx_args_of(args, n), &err));
    return m;
}

/* ---- Numbers ---- */

/* A row of n floats from `from` on, as a value that is the caller's. */
CFX_INLINE cfx_value row(int64_t n, float from)
{
    cfx_tensor *t;
    assert_ok(cfx_tensor_new(&t, ctx, CFX_F32, 1, &n, &err));
    for (int64_t i = 0; i < n; i++)
        ((float *)t->data)[i] = from + (float)i;
    return cfx_value_of_tensor(t);
}

CFX_INLINE cfx_value matrix(int64_t m, int64_t n, float from)
{
    cfx_tensor *t;
    int64_t shape[] = {m, n};
    assert_ok(cfx_tensor_new(&t, ctx, CFX_F32, 2, shape, &err));
    for (int64_t i = 0; i < m * n; i++)
        ((float *)t->data)[i] = from + (float)i;
    return cfx_value_of_tensor(t);
}

CFX_INLINE float at(cfx_value v, int64_t i)
{
    ck_assert_int_eq(v.kind, CFX_TENSOR);
    return ((float *)v.u.tensor->data)[i];
}

/* The result of the traced module; the caller's. */
CFX_INLINE cfx_value run_module(cfx_module *m, const cfx_value *in, size_t n)
{
    cfx_interp it = {0};
    cfx_value out;
    assert_ok(cfx_interp_init(&it, &cfx_interp_base, m, &err));
    assert_ok(cfx_interp_run(&it, in, n, &out, &err));
    cfx_interp_release(&it);
    return out;
}

/* Try with 0, 1, 2, ... allocations until it goes well: each failure is one of
 * memory, and gives all of it back. `attempt` may leave something in gm. */
CFX_INLINE void exhaust(cfx_status (*attempt)(void))
{
    assert_ok(attempt());
    fresh();
    cfx_status st = CFX_ENOMEM;
    for (long n = 0; st; n++) {
        ck_assert_int_lt(n, 100000);
        size_t before = cfx_context_memory(ctx);
        allowed = n;
        st = attempt();
        allowed = -1;
        ck_assert_msg(!st || st == CFX_ENOMEM, "%s", err.text);
        if (st) {
            ck_assert_ptr_null(gm);
            ck_assert_uint_eq(cfx_context_memory(ctx), before);
        }
        fresh();
    }
}

#endif
