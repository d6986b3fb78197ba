/*
 * full_match_test -- regular expressions on strs that no text of a case shows, and
 * expressions that backtrack without end.
 */
#ifdef HAVE_PCRE2

#include <stdlib.h>
#include <string.h>

#include <cfx/ops.h>

#include "tests/unit/unit.h"

static cfx_context *ctx;
static cfx_scope scope;

static void setup(void)
{
    ck_assert_int_eq(cfx_context_new(&ctx, NULL, NULL), CFX_OK);
    cfx_scope_init(&scope, &cfx_eager_class, ctx, NULL);
}

static void teardown(void)
{
    cfx_scope_release(&scope);
    cfx_context_free(ctx);
}

static cfx_value str_of(const char *text, size_t len)
{
    return cfx_scope_take(&scope, cfx_str_new(ctx, text, len));
}

static bool matches(const char *pattern, const char *text, size_t len)
{
    cfx_value y = cfx_string_full_match(&scope, str_of(text, len),
                                        str_of(pattern, strlen(pattern)));
    if (cfx_scope_failed(&scope))
        ck_abort_msg("%s: %s", pattern, scope.error.text);
    return *(bool *)y.u.tensor->data;
}

TEST_CASE(a_nul_is_a_character)
{
    ck_assert(matches("a.b", "a\0b", 3));
    ck_assert(matches("a\\x00b", "a\0b", 3));
    ck_assert(!matches("a", "a\0", 2));
}

TEST_CASE(a_str_that_is_not_utf8_matches_nothing)
{
    ck_assert(!matches(".*", "a\xff", 2));
    ck_assert(!matches("a|a.", "a\xff", 2));
    ck_assert(!matches("[^b]*", "\xc3", 1));
    ck_assert(matches(".", "\xc3\xa9", 2));
}

TEST_CASE(a_newline_is_no_end)
{
    ck_assert(!matches("a$", "a\n", 2));
    ck_assert(!matches("a.", "a\n", 2));
    ck_assert(matches("a.", "a\r", 2));
}

TEST_EACH(endless_backtracking_is_refused, 5)
{
    static const char *const pattern[] = {"(?:a+)+b", "(?:a|aa)*b", ".*.*.*b",
                                          ".*(?:.*+b)", "(?:a*)*b"};
    enum { N = 1000000 };
    char *text = malloc(N);
    memset(text, 'a', N);
    cfx_string_full_match(&scope, str_of(text, N),
                          str_of(pattern[_i], strlen(pattern[_i])));
    free(text);
    ck_assert_int_eq(scope.error.code, CFX_ELIMIT);
    ck_assert_ptr_nonnull(strstr(scope.error.text, "backtracks too much"));
}

TEST_CASE(long_strs_are_matched)
{
    enum { N = 1000000 };
    char *text = malloc(N);
    memset(text, 'a', N);
    ck_assert(matches("(?:aa)*", text, N));
    ck_assert(matches("(a|b)*", text, N));
    ck_assert(matches(".*a.*", text, N));
    ck_assert(!matches("[a-z]*b", text, N));
    free(text);
}

TEST_SUITE(full_match, .setup = setup, .teardown = teardown)

#endif
