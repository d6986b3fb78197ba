/*
 * threads_test -- a model runs, with the same result, when threads cannot be
 * made: none, or fewer than asked for. pthread_create of this program refuses
 * when told.
 */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cfx/file.h>
#include <cfx/interp.h>

#include "tests/unit/unit.h"

typedef int create_function(pthread_t *thread, const pthread_attr_t *attr,
                            void *(*start)(void *), void *arg);

static int may_create = -1; /* below 0: any number */
static int refused, created;

/* The library is linked into this program and calls this one. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attr,
                   void *(*start)(void *), void *arg)
{
    create_function *next;
    void *p = dlsym(RTLD_NEXT, "pthread_create");
    memcpy(&next, &p, sizeof(next));
    if (may_create == 0) {
        refused++;
        return EAGAIN;
    }
    if (may_create > 0)
        may_create--;
    created++;
    return next(thread, attr, start, arg);
}

static const struct {
    const char *model;
    int rank;
    int64_t shape[4];
} models[] = {
    {"digits", 4, {8, 1, 8, 8}},
    {"mobilenet_v3_small", 4, {1, 3, 64, 64}},
};

enum { NMODELS = sizeof(models) / sizeof(models[0]), MOST = 1000 * 8 };

/* Run a model on so many threads; gives how many numbers came out. */
static size_t run(int which, int threads, float *out)
{
    char path[512];
    cfx_error err = {0};
    cfx_context *ctx = NULL;
    cfx_module *gm = NULL;
    cfx_tensor *x = NULL;
    cfx_interp it = {0};
    cfx_value y = CFX_NOTHING;
    const char *src = getenv("srcdir");
    cfx_options o = {.size = sizeof(o), .threads = threads};
    cfx_load_options load = {.size = sizeof(load), .random_weights = true};
    snprintf(path, sizeof(path), "%s/models/%s.fx", src ? src : ".",
             models[which].model);
    if (cfx_context_new(&ctx, &o, &err) ||
        cfx_model_load(&gm, ctx, path, &load, &err) ||
        cfx_tensor_new(&x, ctx, CFX_F32, models[which].rank,
                       models[which].shape, &err) ||
        cfx_tensor_randomize(x, 1, "x", &err) ||
        cfx_interp_init(&it, &cfx_interp_base, gm, &err) ||
        cfx_interp_run(&it, (cfx_value[]){cfx_value_of_tensor(x)}, 1, &y,
                       &err))
        ck_abort_msg("%s: %s", path, err.text);
    size_t n = (size_t)cfx_tensor_numel(y.u.tensor);
    ck_assert_uint_le(n, MOST);
    memcpy(out, y.u.tensor->data, n * sizeof(*out));
    cfx_value_unref(y);
    cfx_interp_release(&it);
    cfx_tensor_unref(x);
    cfx_module_unref(gm);
    cfx_context_free(ctx);
    return n;
}

static void assert_runs_with(int allowed)
{
    static float want[MOST], have[MOST];
    for (int i = 0; i < NMODELS; i++) {
        may_create = -1;
        size_t n = run(i, 1, want);
        may_create = allowed;
        refused = created = 0;
        ck_assert_uint_eq(run(i, 4, have), n);
        ck_assert_int_eq(created, allowed);
        ck_assert_int_ge(refused, 1);
        ck_assert_msg(!memcmp(have, want, n * sizeof(*want)), "%s differs",
                      models[i].model);
    }
    may_create = -1;
}

TEST_CASE(model_runs_when_no_thread_can_be_made)
{
    assert_runs_with(0);
}

TEST_CASE(model_runs_with_fewer_threads_than_asked_for)
{
    assert_runs_with(1);
    assert_runs_with(2);
}

TEST_CASE(model_runs_on_all_threads_asked_for)
{
    static float want[MOST], have[MOST];
    for (int i = 0; i < NMODELS; i++) {
        size_t n = run(i, 1, want);
        created = 0;
        ck_assert_uint_eq(run(i, 4, have), n);
        ck_assert_int_eq(created, 3);
        ck_assert(!memcmp(have, want, n * sizeof(*want)));
    }
}

TEST_SUITE(threads, .timeout = 120)
