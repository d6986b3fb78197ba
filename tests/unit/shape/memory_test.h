/*
 * memory_test.h -- small models, plans of them, and runs in their arenas.
 */
#ifndef CFX_MEMORY_TEST_H
#define CFX_MEMORY_TEST_H

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/failing_alloc.h"
#include "tests/unit/shape/memory_check.h"

static cfx_context *ctx;
static cfx_module *gm;
static cfx_memory_plan *plan;
static cfx_error err;

CFX_INLINE void setup(void)
{
    cfx_options o = {.size = sizeof(o),
                     .threads = 2,
                     .allocator = {test_alloc, test_free, NULL}};
    err = (cfx_error){0};
    allowed = -1;
    ck_assert_int_eq(cfx_context_new(&ctx, &o, &err), CFX_OK);
    gm = NULL;
    plan = NULL;
}

CFX_INLINE void teardown(void)
{
    cfx_memory_plan_free(plan);
    cfx_module_unref(gm);
    cfx_context_free(ctx);
    ck_assert_int_eq(held, 0);
}

/* ---- Models ---- */

#define X "    %x : [num_users=1] = placeholder[target=x]\n"
#define NODE(name, op, target, args)                                          \
    "    %" name " : [num_users=1] = " op "[target=" target "]"               \
    "(args = " args ", kwargs = {})\n"
#define CALL(name, target, args) NODE(name, "call_function", target, args)
#define METHOD(name, target, args) NODE(name, "call_method", target, args)
#define INTO(name, target, args, out)                                         \
    "    %" name " : [num_users=1] = call_function[target=" target            \
    "](args = " args ", kwargs = {out: " out "})\n"
#define RETURN(what) "    return " what "\n"

CFX_INLINE void parse(const char *text)
{
    cfx_module_unref(gm);
    gm = NULL;
    ck_assert_msg(!cfx_parse_model(&gm, ctx, text, strlen(text), "test", &err),
                  "%s", err.text);
}

/* A model that is a graph alone. */
CFX_INLINE void graph(const char *body)
{
    char text[4096];
    snprintf(text, sizeof(text), "# cfx 1\nNet()\n\ngraph():\n%s", body);
    parse(text);
}

/* Floats 1, 2, 3, ... of n rows of `m`. */
CFX_INLINE cfx_value floats(int64_t n, int64_t m)
{
    int64_t shape[] = {n, m};
    cfx_tensor *t;
    ck_assert_int_eq(cfx_tensor_new(&t, ctx, CFX_F32, 2, shape, &err), 0);
    for (int64_t i = 0; i < n * m; i++)
        ((float *)t->data)[i] = (float)(i % 97 + 1);
    return cfx_value_of_tensor(t);
}

CFX_INLINE void make_plan(const cfx_value *in, size_t n)
{
    cfx_memory_plan_free(plan);
    ck_assert_msg(!cfx_memory_plan_new(&plan, gm, in, n, NULL, &err), "%s",
                  err.text);
    memory_check c = check_memory(plan);
    ck_assert_msg(!*c.text, "%s", c.text);
    ck_assert_int_eq(c.most, cfx_memory_plan_arena(plan));
}

CFX_INLINE void plan_for(int64_t n, int64_t m)
{
    cfx_value x = floats(n, m);
    make_plan(&x, 1);
    cfx_value_unref(x);
}

CFX_INLINE const cfx_node *node(const char *name)
{
    const cfx_node *n = cfx_graph_find(cfx_graph_module_graph(gm), name);
    ck_assert_ptr_nonnull(n);
    return n;
}

/* clang-format off */
static const char chain[] CFX_UNUSED =
    X CALL("a", "torch.relu", "(%x,)") CALL("b", "torch.exp", "(%a,)")
    CALL("c", "torch.neg", "(%b,)") CALL("d", "torch.abs", "(%c,)")
    RETURN("%d");
/* clang-format on */

/* ---- Runs ---- */

typedef struct arena {
    cfx_planned_scope scope;
    cfx_interp it;
} arena;

CFX_INLINE void open_with(arena *a, bool keep)
{
    cfx_interp_options o = {
        .size = sizeof(o), .scope = &a->scope.base, .keep_values = keep};
    a->it = (cfx_interp){.self = NULL};
    if (cfx_planned_scope_init(&a->scope, plan, &err) ||
        cfx_interp_init_with(&a->it, &cfx_interp_base, gm, &o, &err))
        ck_abort_msg("%s", err.text);
}

CFX_INLINE void close_arena(arena *a)
{
    cfx_interp_release(&a->it);
    cfx_planned_scope_release(&a->scope);
}

CFX_INLINE cfx_value run(cfx_interp *it, cfx_value x)
{
    cfx_value out;
    if (cfx_interp_run(it, &x, 1, &out, &err))
        ck_abort_msg("%s", err.text);
    return out;
}

CFX_INLINE cfx_value run_plain(cfx_value x)
{
    cfx_interp it = {0};
    ck_assert_int_eq(cfx_interp_init(&it, &cfx_interp_base, gm, &err), 0);
    cfx_value out = run(&it, x);
    cfx_interp_release(&it);
    return out;
}

CFX_INLINE void same(cfx_value a, cfx_value b)
{
    ck_assert_int_eq(a.kind, b.kind);
    if (a.kind == CFX_TENSOR) {
        cfx_tensor *x = NULL, *y = NULL;
        ck_assert_int_eq(cfx_tensor_contiguous(&x, a.u.tensor, &err), 0);
        ck_assert_int_eq(cfx_tensor_contiguous(&y, b.u.tensor, &err), 0);
        int64_t n = cfx_tensor_numel(x);
        ck_assert_int_eq(n, cfx_tensor_numel(y));
        ck_assert(!memcmp(x->data, y->data,
                          (size_t)n * cfx_dtype_size((cfx_dtype)x->dtype)));
        cfx_tensor_unref(x);
        cfx_tensor_unref(y);
    } else if (a.kind >= CFX_TUPLE && a.kind <= CFX_DICT) {
        ck_assert_uint_eq(a.u.seq->len, b.u.seq->len);
        for (uint32_t i = a.kind == CFX_DICT; i < a.u.seq->len;
             i += a.kind == CFX_DICT ? 2 : 1)
            same(a.u.seq->item[i], b.u.seq->item[i]);
    }
}

/* Twice in the arena as elsewhere; gives how many blocks had no place. */
CFX_INLINE uint64_t runs_as_elsewhere(cfx_value x)
{
    arena a;
    open_with(&a, false);
    cfx_value want = run_plain(x), got = CFX_NOTHING;
    for (int i = 0; i < 2; i++) {
        cfx_value_unref(got);
        got = run(&a.it, x);
        same(want, got);
    }
    uint64_t missed = cfx_planned_scope_counts(&a.scope).missed;
    close_arena(&a);
    same(want, got);
    cfx_value_unref(want);
    cfx_value_unref(got);
    return missed;
}

#endif
