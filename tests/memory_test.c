/*
 * memory_test -- a model is loaded and run while memory runs out: every
 * allocation fails in turn, for good or just once. Lack of memory is told, and
 * all is given back.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cfx/file.h>
#include <cfx/interp.h>

static long calls, fails_at = -1, held;
static size_t failed_size;
static bool once;

/* The heap asks again for what it did not get, after giving back what it kept;
 * that counts as the same allocation. */
static void *test_alloc(void *user, size_t size, size_t align)
{
    (void)user;
    void *p = NULL;
    if (failed_size == size) {
        failed_size = 0;
        return NULL;
    }
    long n = calls++;
    if (fails_at >= 0 && (once ? n == fails_at : n >= fails_at)) {
        failed_size = once ? size : 0;
        return NULL;
    }
    if (posix_memalign(&p, align < sizeof(p) ? sizeof(p) : align, size))
        return NULL;
    memset(p, 0xA5, size);
    held += (long)size;
    return p;
}

static void test_free(void *user, void *p, size_t size)
{
    (void)user;
    held -= (long)size;
    free(p);
}

/* ---- What is done ---- */

enum { IMAGES = 2, CLASSES = 10 };

static cfx_status classify(float *scores, cfx_error *err)
{
    cfx_context *ctx = NULL;
    cfx_module *model = NULL;
    cfx_tensor *x = NULL;
    cfx_interp it = {0};
    cfx_value y = CFX_NOTHING;
    char path[512];
    const char *src = getenv("srcdir");
    cfx_options o = {.size = sizeof(o), .threads = 1,
                     .allocator = {test_alloc, test_free, NULL}};
    snprintf(path, sizeof(path), "%s/models/digits.fx", src ? src : ".");
    cfx_status st = cfx_context_new(&ctx, &o, err);
    if (!st)
        st = cfx_model_load(&model, ctx, path, NULL, err);
    if (!st)
        st = cfx_tensor_new(&x, ctx, CFX_F32, 4,
                            (int64_t[]){IMAGES, 1, 8, 8}, err);
    if (!st)
        st = cfx_tensor_randomize(x, 1, "x", err);
    if (!st)
        st = cfx_interp_init(&it, &cfx_interp_base, model, err);
    if (!st)
        st = cfx_interp_run(&it, (cfx_value[]){cfx_value_of_tensor(x)}, 1, &y,
                            err);
    if (!st)
        memcpy(scores, y.u.tensor->data,
               IMAGES * CLASSES * sizeof(*scores));
    cfx_value_unref(y);
    cfx_interp_release(&it);
    cfx_tensor_unref(x);
    cfx_module_unref(model);
    cfx_context_free(ctx);
    return st;
}

static void fail_each(bool just_once)
{
    float want[IMAGES * CLASSES] = {0}, have[IMAGES * CLASSES];
    cfx_error err = {0};
    long total, told = 0;
    ck_assert_msg(!classify(want, &err), "%s", err.text);
    ck_assert_int_eq(held, 0);
    total = calls;
    ck_assert_int_gt(total, 100);
    once = just_once;
    for (long n = 0; n < total; n++) {
        cfx_error e = {0};
        calls = 0;
        fails_at = n;
        failed_size = 0;
        cfx_status st = classify(have, &e);
        ck_assert_msg(!held, "allocation %ld: %ld bytes are lost", n, held);
        ck_assert_msg(st == CFX_ENOMEM || (!st && once),
                      "allocation %ld: %s (%s)", n, cfx_status_name(st),
                      e.text);
        ck_assert_msg(!st || e.code == st, "allocation %ld has no text", n);
        ck_assert(st || !memcmp(have, want, sizeof(want)));
        told += st != CFX_OK;
    }
    /* What can be done without is rare. */
    ck_assert_int_ge(told, total - total / 20);
    printf("%ld allocations, %ld told\n", total, told);
}

START_TEST(every_allocation_of_a_model_may_be_the_last)
{
    fail_each(false);
}
END_TEST

START_TEST(every_allocation_of_a_model_may_fail_once)
{
    fail_each(true);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("memory");
    TCase *c = tcase_create("memory");
    tcase_set_timeout(c, 600);
    tcase_add_test(c, every_allocation_of_a_model_may_be_the_last);
    tcase_add_test(c, every_allocation_of_a_model_may_fail_once);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
