/*
 * unit.c -- the main() of test programs: it runs all suites that are linked
 * in, or those that are named.
 */
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/unit.h"

static struct unit_suite *suites, **end = &suites;

static const char usage[] =
    "usage: %s [-l] [NAME]...\n"
    "Run all tests, or those whose name or suite is NAME, a pattern of the\n"
    "shell. -l lists them as SUITE TEST instead.\n";

/* ---- Registration ---- */

void unit_add_test(struct unit_suite *s, struct unit_test *t)
{
    if (s->last)
        s->last->next = t;
    else
        s->first = t;
    s->last = t;
}

void unit_add_suite(struct unit_suite *s)
{
    *end = s;
    end = &s->next;
}

/* ---- Selection ---- */

/* The names of the command line, and which of them named something. */
typedef struct selection {
    char **name;
    int n;
    bool *found;
} selection;

static bool is_selected(selection *of, const struct unit_suite *s,
                        const struct unit_test *t)
{
    bool any = !of->n;
    for (int i = 0; i < of->n; i++)
        if (!fnmatch(of->name[i], s->name, 0) ||
            !fnmatch(of->name[i], t->test->name, 0))
            any = of->found[i] = true;
    return any;
}

static bool all_found(const selection *of)
{
    bool all = true;
    for (int i = 0; i < of->n; i++)
        if (!of->found[i]) {
            fprintf(stderr,
                    "there is no suite and no test '%s'; -l lists "
                    "them\n",
                    of->name[i]);
            all = false;
        }
    return all;
}

/* ---- Running ---- */

static TCase *new_case(const struct unit_suite *s)
{
    TCase *c = tcase_create(s->name);
    if (s->setup)
        tcase_add_checked_fixture(c, s->setup, s->teardown);
    if (s->setup_once)
        tcase_add_unchecked_fixture(c, s->setup_once, s->teardown_once);
    if (s->timeout > 0)
        tcase_set_timeout(c, s->timeout);
    return c;
}

/* The tests of a suite that are selected; NULL if none is, or if what they
 * need is not there. */
static Suite *new_suite(const struct unit_suite *s, selection *of)
{
    Suite *made = NULL;
    TCase *c = NULL;
    for (const struct unit_test *t = s->first; t; t = t->next) {
        if (!is_selected(of, s, t))
            continue;
        if (!made && s->ready && !s->ready()) {
            printf("%s: skipped\n", s->name);
            return NULL;
        }
        if (!made) {
            made = suite_create(s->name);
            c = new_case(s);
            suite_add_tcase(made, c);
        }
        tcase_add_loop_test(c, t->test, 0, t->count());
    }
    return made;
}

static void list_tests(selection *of)
{
    for (const struct unit_suite *s = suites; s; s = s->next)
        for (const struct unit_test *t = s->first; t; t = t->next)
            if (is_selected(of, s, t))
                printf("%s %s\n", s->name, t->test->name);
}

static int run_tests(selection *of)
{
    SRunner *r = srunner_create(NULL);
    for (const struct unit_suite *s = suites; s; s = s->next) {
        Suite *made = new_suite(s, of);
        if (made)
            srunner_add_suite(r, made);
    }
    int failed = 1;
    if (all_found(of)) {
        srunner_run_all(r, CK_NORMAL);
        failed = srunner_ntests_failed(r);
    }
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    bool list = argc > 1 && !strcmp(argv[1], "-l");
    selection of = {argv + 1 + list, argc - 1 - list, NULL};
    for (int i = 0; i < of.n; i++)
        if (of.name[i][0] == '-') {
            fprintf(stderr, usage, argv[0]);
            return 2;
        }
    of.found = calloc((size_t)of.n + 1, sizeof(*of.found));
    if (!of.found)
        return 99;
    int status = list ? EXIT_SUCCESS : run_tests(&of);
    if (list)
        list_tests(&of);
    free(of.found);
    return status;
}
