/*
 * optimized_walk_test -- what a walk of an optimized model allocates.
 */
#include <cfx/file.h>
#include <cfx/memory_plan.h>
#include <cfx/optimize.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/unit.h"

enum { BATCH = 3 };

static cfx_context *ctx;
static cfx_module *gm;
static cfx_value x;

/* ---- An allocator that counts ---- */

static atomic_long calls;
static atomic_size_t bytes;

static void *count_alloc(void *user, size_t size, size_t align)
{
    void *p = NULL;
    (void)user;
    calls++;
    bytes += size;
    if (posix_memalign(&p, align < sizeof(p) ? sizeof(p) : align, size))
        return NULL;
    return p;
}

static void count_free(void *user, void *p, size_t size)
{
    (void)user;
    (void)size;
    free(p);
}

/* ---- The digits ---- */

static void setup(void)
{
    const cfx_options o = {.size = sizeof(o),
                           .threads = 2,
                           .allocator = {count_alloc, count_free, NULL}};
    const int64_t shape[] = {BATCH, 1, 8, 8};
    const char *src = getenv("srcdir");
    cfx_error err = {0};
    cfx_tensor *t;
    char path[4096];
    snprintf(path, sizeof(path), "%s/models/digits.fx", src ? src : ".");
    ck_assert_int_eq(cfx_context_new(&ctx, &o, NULL), CFX_OK);
    ck_assert_msg(!cfx_model_load(&gm, ctx, path, NULL, &err), "%s", err.text);
    ck_assert_int_eq(cfx_tensor_new(&t, ctx, CFX_F32, 4, shape, NULL), CFX_OK);
    for (int i = 0; i < BATCH * 64; i++)
        ((float *)t->data)[i] = (float)(i * 7 % 17) / 16;
    x = cfx_value_of_tensor(t);
}

static void teardown(void)
{
    cfx_value_unref(x);
    cfx_module_unref(gm);
    cfx_context_free(ctx);
}

/* ---- Tests ---- */

/* A walk in the arena allocates its result alone, a tensor with its numbers.
 * Sanitized builds reuse no block of memory. */
TEST_CASE(walks_allocate_their_result_alone)
{
    cfx_error err = {0};
    cfx_memory_plan *plan = NULL;
    cfx_planned_scope scope;
    cfx_interp it;
    ck_assert_msg(!cfx_optimize(gm, &x, 1, NULL, &err), "%s", err.text);
    ck_assert_int_eq(cfx_memory_plan_new(&plan, gm, &x, 1, NULL, NULL),
                     CFX_OK);
    ck_assert_int_eq(cfx_planned_scope_init(&scope, plan, NULL), CFX_OK);
    const cfx_interp_options how = {.size = sizeof(how), .scope = &scope.base};
    ck_assert_int_eq(
        cfx_interp_init_with(&it, &cfx_interp_base, gm, &how, NULL), CFX_OK);
    for (int i = 0; i < 4; i++) {
        cfx_value y;
        calls = 0;
        bytes = 0;
        ck_assert_int_eq(cfx_interp_run(&it, &x, 1, &y, NULL), CFX_OK);
        cfx_value_unref(y);
    }
#if !defined(CFX_SANITIZED) && !defined(__SANITIZE_ADDRESS__)
    ck_assert_int_eq(calls, 1);
    ck_assert_uint_lt(bytes, BATCH * 10 * sizeof(float) + 1024);
#endif
    cfx_interp_release(&it);
    cfx_planned_scope_release(&scope);
    cfx_memory_plan_free(plan);
}

TEST_SUITE(optimized_walk, .setup = setup, .teardown = teardown)
