/*
 * unit.h -- tests that register themselves.
 *
 *     TEST_CASE(cat_rejects_ranks_that_differ)
 *     {
 *         ck_assert_int_eq(...);
 *     }
 *
 *     TEST_EACH(models_are_read, nmodels)
 *     {
 *         read_model(names[_i]);
 *     }
 *
 *     TEST_SUITE(text, .setup = setup, .teardown = teardown, .timeout = 60)
 *
 * A file is a suite and ends with TEST_SUITE, which names it. Its tests need no
 * list: each adds itself to the suite before main() begins, in the order of the
 * file. A program of many suites is linked with unit.c, whose main() runs them,
 * or those that are named on the command line. Each test is a process of its
 * own unless CK_FORK=no.
 */
#ifndef CFX_UNIT_H
#define CFX_UNIT_H

#include <check.h>
#include <stdbool.h>
#include <stdlib.h>

#include <cfx/compiler.h>

struct unit_test {
    const TTest *test;
    int (*count)(void); /* how many times it runs, with _i from 0 on */
    struct unit_test *next;
};

struct unit_suite {
    const char *name;
    void (*setup)(void), (*teardown)(void); /* before and after each test */
    void (*setup_once)(void), (*teardown_once)(void); /* in the parent */
    double timeout;      /* seconds a test; 0: Check's default */
    bool (*ready)(void); /* false: the suite is skipped; NULL: true */
    struct unit_test *first, *last;
    struct unit_suite *next;
};

void unit_add_test(struct unit_suite *s, struct unit_test *t);
void unit_add_suite(struct unit_suite *s);

/* Assertions for loops over many elements: Check writes the place of each of its own
 * to a file, which takes longer than the tests. */
#define assert_each_msg(expr, ...)                                            \
    do {                                                                      \
        if (!(expr))                                                          \
            ck_abort_msg(__VA_ARGS__);                                        \
    } while (0)
#define assert_each(expr) assert_each_msg(expr, "%s", #expr)
#define assert_each_eq(a, b)                                                  \
    assert_each_msg((a) == (b), "%s == %s: %g, %g", #a, #b, (double)(a),      \
                    (double)(b))

/* The suite of this file; TEST_SUITE defines it. */
CFX_UNUSED static struct unit_suite unit_here;

#define UNIT_BEFORE_MAIN __attribute__((constructor)) static void

#define TEST_CASE(name) TEST_EACH(name, 1)

/* The test runs `n` times, with _i from 0 to n - 1; n is computed after the
 * suite's `ready`. */
#define TEST_EACH(name, n)                                                    \
    static void unit_run_##name(int _i);                                      \
    static const TTest unit_ttest_##name = {#name, unit_run_##name, __FILE__, \
                                            __LINE__};                        \
    static int unit_count_##name(void)                                        \
    {                                                                         \
        return (int)(n);                                                      \
    }                                                                         \
    static struct unit_test unit_test_##name = {.test = &unit_ttest_##name,   \
                                                .count = unit_count_##name};  \
    UNIT_BEFORE_MAIN unit_add_##name(void)                                    \
    {                                                                         \
        unit_add_test(&unit_here, &unit_test_##name);                         \
    }                                                                         \
    static void unit_run_##name(int _i CFX_UNUSED)

#define TEST_SUITE(name_, ...)                                                \
    UNIT_BEFORE_MAIN unit_add_this_suite(void)                                \
    {                                                                         \
        struct unit_suite unit = {.name = #name_, __VA_ARGS__};               \
        unit.first = unit_here.first;                                         \
        unit.last = unit_here.last;                                           \
        unit_here = unit;                                                     \
        unit_add_suite(&unit_here);                                           \
    }

#endif
