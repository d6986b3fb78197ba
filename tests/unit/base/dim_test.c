/*
 * dim_test -- extents: canonical forms, text, questions and guards. Random ones
 * are compared with plain arithmetic in dim_property_test.
 */
#define _GNU_SOURCE 1
#include <stdio.h>
#include <stdlib.h>

#include <cfx/dim.h>

#include "dim/env.h"
#include "tests/unit/unit.h"

static cfx_context *ctx;
static cfx_shape_env *env;
static cfx_error err;

static void setup(void)
{
    err = (cfx_error){0};
    ck_assert_int_eq(cfx_context_new(&ctx, NULL, &err), CFX_OK);
    ck_assert_int_eq(cfx_shape_env_new(&env, ctx, &err), CFX_OK);
}

static void teardown(void)
{
    cfx_shape_env_free(env);
    cfx_context_free(ctx);
}

static cfx_dim parse(const char *text)
{
    cfx_dim d;
    cfx_error e = {0};
    ck_assert_msg(cfx_dim_parse(&d, env, text, &e) == CFX_OK, "%s", e.text);
    return d;
}

static void assert_prints(const char *text, const char *expect)
{
    char buf[512];
    cfx_dim d = parse(text);
    size_t n = cfx_dim_format(d, buf, sizeof(buf));
    ck_assert_str_eq(buf, expect);
    ck_assert_uint_eq(n, strlen(expect));
    ck_assert_msg(cfx_dim_same(parse(buf), d), "%s", expect);
}

static void assert_malformed(const char *text, const char *says)
{
    cfx_dim d;
    cfx_error e = {0};
    ck_assert_int_eq(cfx_dim_parse(&d, env, text, &e), CFX_EPARSE);
    ck_assert(cfx_dim_is_bad(d));
    ck_assert_msg(strstr(e.text, says), "'%s' in '%s'", says, e.text);
}

static void assert_guard(const char *text)
{
    size_t n = cfx_shape_env_guards(env);
    ck_assert_uint_gt(n, 0);
    ck_assert_str_eq(cfx_shape_env_guard(env, n - 1), text);
}

static bool value_of(void *user, const char *name, int64_t *v)
{
    const int64_t *values = user;
    if (name[1] || name[0] < 'A' || name[0] > 'H')
        return false;
    *v = values[name[0] - 'A'];
    return true;
}

/* ---- Integers ---- */

TEST_CASE(integers_need_no_environment)
{
    cfx_dim a = cfx_dim_int(-7), b = cfx_dim_int(2);
    ck_assert(cfx_dim_is(cfx_dim_add(NULL, a, b), -5));
    ck_assert(cfx_dim_is(cfx_dim_sub(NULL, a, b), -9));
    ck_assert(cfx_dim_is(cfx_dim_mul(NULL, a, b), -14));
    ck_assert(cfx_dim_is(cfx_dim_floordiv(NULL, a, b), -4));
    ck_assert(cfx_dim_is(cfx_dim_ceildiv(NULL, a, b), -3));
    ck_assert(cfx_dim_is(cfx_dim_mod(NULL, a, b), 1));
    ck_assert(cfx_dim_is(cfx_dim_mod(NULL, b, a), -5));
    ck_assert(cfx_dim_is(cfx_dim_min(NULL, a, b), -7));
    ck_assert(cfx_dim_is(cfx_dim_max(NULL, a, b), 2));
    ck_assert(cfx_dim_lt(NULL, a, b) && cfx_dim_le(NULL, a, a));
    ck_assert(cfx_dim_eq(NULL, b, b) && cfx_dim_ne(NULL, a, b));
    ck_assert(!cfx_dim_eq(NULL, a, b) && !cfx_dim_lt(NULL, a, a));
}

TEST_CASE(integers_that_overflow_are_bad)
{
    cfx_dim most = cfx_dim_int(CFX_DIM_MAX), two = cfx_dim_int(2);
    ck_assert(cfx_dim_is_bad(cfx_dim_int(CFX_DIM_MAX + 1)));
    ck_assert(cfx_dim_is_bad(cfx_dim_add(NULL, most, two)));
    ck_assert(cfx_dim_is_bad(cfx_dim_mul(NULL, most, two)));
    ck_assert(cfx_dim_is_bad(cfx_dim_mul(NULL, most, most)));
    ck_assert(cfx_dim_is_bad(cfx_dim_floordiv(NULL, two, cfx_dim_int(0))));
    ck_assert(cfx_dim_is_bad(cfx_dim_mod(NULL, two, cfx_dim_int(0))));
    ck_assert(cfx_dim_is(cfx_dim_neg(NULL, most), -CFX_DIM_MAX));
}

TEST_CASE(the_largest_integer_is_no_bound)
{
    cfx_dim most = cfx_dim_int(CFX_DIM_MAX), n = parse("N");
    ck_assert(cfx_dim_same(cfx_dim_min(env, n, most), n));
    ck_assert(cfx_dim_same(cfx_dim_min(env, most, n), n));
    ck_assert_uint_eq(cfx_shape_env_guards(env), 0);
}

TEST_CASE(bad_spreads_and_satisfies_nothing)
{
    cfx_dim bad = CFX_DIM_BAD, n = parse("N");
    ck_assert(cfx_dim_is_bad(cfx_dim_add(env, n, bad)));
    ck_assert(cfx_dim_is_bad(cfx_dim_mul(env, bad, n)));
    ck_assert(cfx_dim_is_bad(cfx_dim_floordiv(env, bad, cfx_dim_int(2))));
    ck_assert(cfx_dim_is_bad(cfx_dim_mod(env, n, bad)));
    ck_assert(cfx_dim_is_bad(cfx_dim_min(env, n, bad)));
    ck_assert(!cfx_dim_eq(env, bad, bad) && !cfx_dim_le(env, bad, n));
    ck_assert(!cfx_dim_ne(env, bad, n) && !cfx_dim_known_eq(env, bad, bad));
    ck_assert_uint_eq(cfx_shape_env_guards(env), 0);
    char buf[4];
    cfx_dim_format(bad, buf, sizeof(buf));
    ck_assert_str_eq(buf, "?");
}

/* ---- Canonical forms ---- */

TEST_CASE(expression_prints_as_a_person_writes_it)
{
    /* clang-format off */
    static const char *const cases[][2] = {
        {"1 + N*2", "2*N + 1"}, {"M+N", "M + N"}, {"N+M", "M + N"},
        {"5 - N", "5 - N"}, {"-N", "-N"}, {"-N-1", "-N - 1"},
        {"N - M", "N - M"}, {"-3*N - 2*M", "-2*M - 3*N"},
        {"(H//2)*N", "N*(H//2)"}, {"H//2 + N", "N + H//2"},
        {"N*N*M", "M*N**2"}, {"2*(H//3)", "2*(H//3)"}, {"N%4", "N % 4"},
        {"N % 4 * 2", "2*(N % 4)"}, {"H//(W//2)", "H//(W//2)"},
        {"(2*N)//M", "(2*N)//M"}, {"min(4, N)", "min(N, 4)"},
        {"max(N, min(M, 2*N))", "max(N, min(M, 2*N))"}, {"007", "7"},
        {"-(-3)", "3"}, {"(H - 1)//2", "(H - 1)//2"}, {"+N", "N"},
        {"2**3*N**2", "8*N**2"}, {"min(N, M)*K", "K*min(M, N)"},
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        assert_prints(cases[i][0], cases[i][1]);
}

TEST_CASE(equal_expressions_are_the_same_word)
{
    /* clang-format off */
    static const char *const cases[][2] = {
        {"N + M - N", "M"}, {"(N + 1)*(N - 1)", "N*N - 1"},
        {"2*(N + M)", "N + N + 2*M"}, {"N//1", "N"}, {"N//N", "1"},
        {"(4*N + 8)//4", "N + 2"}, {"(4*N + M)//4", "N + M//4"},
        {"(N//2)//3", "N//6"}, {"(N//2 + 1)//3", "(N + 2)//6"},
        {"(N//M)//3", "N//(3*M)"}, {"(N//M)//K", "N//(K*M)"},
        {"(6*N)//4", "(3*N)//2"}, {"(2*N + 1)//4", "N//2"},
        {"N//-2", "(-N)//2"}, {"(H + 1)//2", "(H - 1)//2 + 1"},
        {"(N*C*H)//(N*C)", "H"}, {"(N*H + 5)//N", "H + 5//N"},
        {"((N + 1)*(H + 2))//(N + 1)", "H + 2"}, {"(2*N*H)//(4*N)", "H//2"},
        {"(N*H)//(N*W)", "H//W"}, {"N % 1", "0"}, {"N % N", "0"},
        {"(4*N + 5) % 4", "1"}, {"(5*N + 7) % 4", "(N + 3) % 4"},
        {"(N % 8) % 4", "N % 4"}, {"(2*N) % 4", "2*(N % 2)"},
        {"(N*M + K) % (N)", "K % N"}, {"((N + 1)*M) % (N + 1)", "0"},
        {"min(N, N)", "N"}, {"min(N, N + 1)", "N"}, {"max(N, N + 1)", "N + 1"},
        {"max(N, 1)", "N"}, {"min(N, 0)", "0"}, {"min(N, min(M, 3))",
        "min(min(3, M), N)"}, {"max(N, 2*N)", "2*N"}, {"N**3", "N*N*N"},
        {"max(0, N - 1)", "N - 1"}, {"N*(M//2) - (M//2)*N", "0"},
        {"(2*N)//2", "N"}, {"(N*H + N)//N", "H + 1"}, {"(N + 4)//2",
        "N//2 + 2"}, {"(N//2)//2", "N//4"}, {"(3*N)//2", "N + N//2"},
        {"(-N)//2", "N//2 - N"}, {"(3*N + M)//(2*N)", "1 + (N + M)//(2*N)"},
        {"((N + 1)*M + 3)//(N + 1)", "M + 3//(N + 1)"},
        {"N//(-M)", "(-N)//M"}, {"N % (-M)", "-((-N) % M)"},
        {"(N*N + N)//2", "N*(N + 1)/2"}, {"(N*N + N + 1)//2",
        "(N**2 + N)/2"}, {"(N*N - N)/2 + (N*N + N)/2", "N**2"},
        {"(N**3 - N) % 6", "0"}, {"(N**2 + N + 3) % 2", "1"},
        {"max(N + 2, M + 1) - 1", "max(N, M - 1) + 1"},
        {"max(2*N, 2*M)", "2*max(N, M)"}, {"max(2*N, M)//2",
        "max(N, M//2)"}, {"max(0, 5 - N)", "max(N, 5) - N"},
        {"max(-min(N, M), K)", "max(-N, -M, K)"},
        {"(N*(N + 1)/2)//3", "(N*N + N)//6"},
        {"(N*(N + 1)/2) % 3", "((N*N + N) % 6)/2"},
        {"max(N*(N + 1)/2, M)", "max(N*(N + 1), 2*M)/2"},
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        ck_assert_msg(cfx_dim_same(parse(cases[i][0]), parse(cases[i][1])),
                      "%s, %s", cases[i][0], cases[i][1]);
}

TEST_CASE(text_puts_back_what_was_taken_out)
{
    static const char *const cases[][2] = {
        {"(H + 1)//2", "(H + 1)//2"},
        {"(H - 1)//2", "(H - 1)//2"},
        {"(H - 3)//2 + 1", "(H - 1)//2"},
        {"(H - 1)//2 + 1", "(H + 1)//2"},
        {"(N + 4)//2", "N//2 + 2"},
        {"H//2 - 1", "H//2 - 1"},
        {"(3*N)//2", "(3*N)//2"},
        {"(-N)//2", "(-N)//2"},
        {"(H - K)//2", "(H - K)//2"},
        {"max(N - M, 0)", "max(N - M, 0)"},
        {"max(0, 5 - N)", "max(5 - N, 0)"},
        {"(4*N + M)//4", "N + M//4"},
        {"max(N + 1, 5)", "max(N, 4) + 1"},
        {"min(M - 1, N)", "min(M - 1, N)"},
        {"N*(N - 1)/2", "(N**2 - N)/2"},
        {"64*((H + 1)//2)*((W + 1)//2)", "64*((H + 1)//2)*((W + 1)//2)"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        assert_prints(cases[i][0], cases[i][1]);
}

TEST_CASE(spellings_of_exported_programs_are_read)
{
    /* clang-format off */
    static const char *const cases[][2] = {
        {"FloorDiv(s0, 2)", "s0//2"}, {"Mod(s0, 4)", "s0 % 4"},
        {"PythonMod(s0 + 1, 4)", "(s0 + 1) % 4"},
        {"Max(1, s0)", "s0"}, {"Min(s0, s1)", "min(s0, s1)"},
        {"CeilToInt(IntTrueDiv(s0, 2))", "(s0 + 1)//2"},
        {"floor(s0/2)", "s0//2"}, {"ceiling(s0/2)", "(s0 + 1)//2"},
        {"floor(2.5*s0)", "(5*s0)//2"}, {"TruncToInt(0.50*s0)", "s0//2"},
        {"CleanDiv(6*s0, 3)", "2*s0"}, {"ModularIndexing(s0, 2, 3)",
        "(s0//2) % 3"}, {"CeilDiv(s0, 3)", "(s0 + 2)//3"},
        {"Symbol('s77', positive=True, integer=True)", "s77"},
        {"Add(Mul(Integer(2), Symbol('s0', integer=True)), Integer(-1))",
         "2*s0 - 1"},
        {"Pow(Symbol('s0'), Integer(2))", "s0**2"}, {"Mul()", "1"},
        {"floor(Mul(Rational(1, 2), Symbol('s0')))", "s0//2"},
        {"Mul(Float('2.0', precision=53), ToFloat(s0))", "2*s0"},
        {"floor(s0*Pow(s1, Integer(-1)))", "s0//s1"}, {"Abs(-s0)", "s0"},
        {"sym_max(s0, 0)", "s0"}, {"Identity(u0)", "u0"},
        {"2*(s0/2 + s0/2)", "2*s0"}, {"((s0 - 1)//2) + 1", "(s0 + 1)//2"},
        {"s0*s1/s1", "s0"},
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        assert_prints(cases[i][0], cases[i][1]);
    ck_assert_uint_eq(cfx_shape_env_guards(env), 0);
    assert_malformed("Piecewise(s0)", "no function");
    assert_malformed("FloorDiv(s0)", "too few");
    assert_malformed("FloorDiv(s0, 1, 2)", "too many");
    assert_malformed("FloorDiv()", "no argument");
    assert_malformed("Symbol(s0)", "quotes");
    assert_malformed("Symbol('s0", "quotes");
    assert_malformed("Symbol('s0', x)", "'='");
    assert_malformed("Pow(s0, s0)", "power");
    assert_malformed("1/2", "not whole");
}

TEST_CASE(a_quotient_that_has_to_be_whole_is_a_guard)
{
    assert_prints("N/2", "N/2");
    assert_guard("N % 2 == 0");
    assert_prints("N//2", "N/2");
    assert_prints("(3*N)//2 + N//2", "2*N");
    assert_prints("N % 4", "N % 4");
    assert_prints("(N + 1) % 2", "1");
    assert_prints("CleanDiv(M, 3)", "M/3");
    assert_guard("M % 3 == 0");
    assert_malformed("(M + 1)/3", "not whole");
    assert_malformed("(N*M + 3)/6", "not whole");
    assert_prints("N*M/6", "M*N/6");
    ck_assert(cfx_dim_eq(env, parse("N % 8"), cfx_dim_int(4)));
    ck_assert(cfx_dim_known_eq(env, parse("4*(N//4)"), parse("N")));
    ck_assert(!cfx_dim_eq(env, parse("N"), cfx_dim_int(8)));
    ck_assert(cfx_dim_known_le(env, cfx_dim_int(4), parse("N")));
    ck_assert_uint_eq(cfx_shape_env_guards(env), 3);
    int64_t v, odd[8] = {0};
    cfx_dim half = cfx_dim_exactdiv(env, parse("A"), cfx_dim_int(2));
    odd[0] = 3;
    ck_assert_int_eq(cfx_dim_eval(&v, half, value_of, odd, NULL), CFX_EINVAL);
}

TEST_CASE(rounding_and_cases_are_seen_through)
{
    static const char *const equal[][2] = {
        {"N//2 + (N + 1)//2", "N"},
        {"2*(N//2) + N % 2", "N"},
        {"M*(N//M) + N % M", "N"},
        {"N//3 + (N + 1)//3 + (N + 2)//3", "N"},
        {"min(N, M) + max(N, M)", "N + M"},
        {"(N//2 + N//2) % 2", "0"},
        {"N - N//2", "(N + 1)//2"},
        {"(N//2 + M)//3", "(N + 2*M)//6"},
        {"max(N - M, 0) - max(M - N, 0)", "N - M"},
    };
    for (size_t i = 0; i < sizeof(equal) / sizeof(*equal); i++)
        ck_assert_msg(
            cfx_dim_known_eq(env, parse(equal[i][0]), parse(equal[i][1])),
            "%s, %s", equal[i][0], equal[i][1]);
    ck_assert(!cfx_dim_eq(env, parse("2*(N//2) + 1"), parse("2*M")));
    ck_assert(!cfx_dim_lt(env, parse("N"), parse("(N + 1)//2")));
    ck_assert_uint_eq(cfx_shape_env_guards(env), 0);
}

TEST_CASE(convolutions_of_a_resnet_stay_short)
{
    assert_prints("(H + 2*3 - 7)//2 + 1", "(H + 1)//2");
    cfx_dim h = parse("H");
    /* A kernel of 3, a stride of 2 and a padding of 1, four times more. */
    h = parse("(H + 2*3 - 7)//2 + 1");
    for (int i = 0; i < 4; i++) {
        cfx_dim x = cfx_dim_add(env, h, cfx_dim_int(2 - 3));
        h = cfx_dim_add(env, cfx_dim_floordiv(env, x, cfx_dim_int(2)),
                        cfx_dim_int(1));
    }
    char buf[64];
    cfx_dim_format(h, buf, sizeof(buf));
    ck_assert_str_eq(buf, "(H + 31)//32");
    ck_assert(
        cfx_dim_same(h, cfx_dim_ceildiv(env, parse("H"), cfx_dim_int(32))));
}

TEST_CASE(range_decides_divisions_of_bounded_symbols)
{
    ck_assert(cfx_dim_le(env, parse("K"), cfx_dim_int(3)));
    assert_prints("K//4", "0");
    assert_prints("K % 4", "K");
    assert_prints("min(K, 3)", "K");
    assert_prints("max(K, 3)", "3");
}

TEST_CASE(unbacked_symbols_may_be_zero)
{
    cfx_dim u = cfx_dim_unbacked(env), v = cfx_dim_unbacked(env);
    char buf[16];
    cfx_dim_format(u, buf, sizeof(buf));
    ck_assert_str_eq(buf, "u0");
    cfx_dim_format(v, buf, sizeof(buf));
    ck_assert_str_eq(buf, "u1");
    ck_assert(cfx_dim_known_le(env, cfx_dim_int(0), u));
    ck_assert(!cfx_dim_known_le(env, cfx_dim_int(1), u));
    ck_assert(!cfx_dim_is_int(cfx_dim_floordiv(env, u, u)));
    cfx_dim_symbol(env, "u2", 1);
    cfx_dim_format(cfx_dim_unbacked(env), buf, sizeof(buf));
    ck_assert_str_eq(buf, "u3");
}

TEST_CASE(symbol_needs_a_name)
{
    ck_assert(cfx_dim_is_bad(cfx_dim_symbol(env, "", 1)));
    ck_assert(cfx_dim_is_bad(cfx_dim_symbol(env, "2x", 1)));
    ck_assert(cfx_dim_is_bad(cfx_dim_symbol(env, "a b", 1)));
    ck_assert(cfx_dim_same(cfx_dim_symbol(env, "_x9", 1), parse("_x9")));
}

/* ---- Text ---- */

TEST_CASE(parse_tells_where_a_text_is_malformed)
{
    assert_malformed("", "it ends at character 1");
    assert_malformed("N +", "it ends at character 4");
    assert_malformed("N M", "character 3");
    assert_malformed("(N", "no ')'");
    assert_malformed("min(N", "no ')'");
    assert_malformed("min", "no '('");
    assert_malformed("N**M", "no number");
    assert_malformed("N**1000", "power");
    assert_malformed("99999999999999999999", "too large");
    assert_malformed("N/0", "zero");
    assert_malformed("1//0", "zero");
    assert_malformed("N//(M - M)", "zero");
    assert_malformed("4611686018427387904*N", "too large");
}

TEST_CASE(parse_is_not_made_to_recurse_without_end)
{
    enum { N = 200000 };
    char *text = malloc(N + 2);
    memset(text, '(', N);
    text[N] = '\0';
    assert_malformed(text, "too deep");
    memset(text, '-', N);
    strcpy(text + N, "N");
    ck_assert(cfx_dim_same(parse(text), parse("N")));
    /* N//N//N//... and (N%2%3)%2... stay within bounds too. */
    for (int i = 0; i + 3 <= N; i += 3)
        memcpy(text + i, "N//", 3);
    strcpy(text + N - N % 3 - 3, "M");
    cfx_dim d;
    (void)cfx_dim_parse(&d, env, text, NULL);
    free(text);
}

TEST_CASE(expressions_are_bounded)
{
    /* Each holds the one before twice: as a tree it is 2^100 large. */
    cfx_dim d = parse("N");
    for (int i = 0; i < 100; i++)
        d = cfx_dim_min(env, cfx_dim_floordiv(env, d, parse("M")),
                        cfx_dim_mod(env, d, parse("K")));
    ck_assert(cfx_dim_is_bad(d));
    d = parse("N");
    for (int i = 0; i < 1000; i++)
        d = cfx_dim_mod(env, parse("A"), cfx_dim_add(env, d, cfx_dim_int(1)));
    ck_assert(cfx_dim_is_bad(d));
    d = parse("A + B + C + D + E + F");
    for (int i = 0; i < 6; i++)
        d = cfx_dim_mul(env, d, d);
    ck_assert(cfx_dim_is_bad(d));
}

TEST_CASE(format_cuts_like_snprintf)
{
    char buf[8];
    cfx_dim d = parse("2*Batch + 1");
    ck_assert_uint_eq(cfx_dim_format(d, NULL, 0), 11);
    ck_assert_uint_eq(cfx_dim_format(d, buf, sizeof(buf)), 11);
    ck_assert_str_eq(buf, "2*Batch");
    ck_assert_uint_eq(cfx_dim_format(d, buf, 1), 11);
    ck_assert_str_eq(buf, "");
}

/* ---- Values ---- */

TEST_CASE(eval_gives_values_and_errors)
{
    int64_t values[8] = {10, 20, 3, 0}, v;
    ck_assert_int_eq(
        cfx_dim_eval(&v, parse("A*B - C//2 + A % C"), value_of, values, &err),
        CFX_OK);
    ck_assert_int_eq(v, 200);
    cfx_error e = {0};
    ck_assert_int_eq(cfx_dim_eval(&v, parse("A + X"), value_of, values, &e),
                     CFX_ENAME);
    ck_assert_str_eq(e.text, "symbol X has no value");
    ck_assert_int_eq(cfx_dim_eval(&v, parse("A//D"), value_of, values, NULL),
                     CFX_EINVAL);
    values[0] = CFX_DIM_MAX;
    ck_assert_int_eq(cfx_dim_eval(&v, parse("A*A*A"), value_of, values, NULL),
                     CFX_EINVAL);
    ck_assert_int_eq(cfx_dim_eval(&v, parse("A + 1"), value_of, values, NULL),
                     CFX_EINVAL);
    ck_assert_int_eq(cfx_dim_eval(&v, CFX_DIM_BAD, value_of, values, NULL),
                     CFX_EINVAL);
    ck_assert_int_eq(cfx_dim_eval(&v, cfx_dim_int(5), NULL, NULL, NULL),
                     CFX_OK);
    ck_assert_int_eq(v, 5);
}

/* ---- Questions ---- */

TEST_CASE(what_follows_needs_no_guard)
{
    /* clang-format off */
    static const char *const le[][2] = {
        {"1", "N"}, {"N", "N + 1"}, {"N", "2*N"}, {"N", "N*N"},
        {"N*M", "N*M*K"}, {"2*(H//2)", "H"}, {"(H - 1)//2 + 1", "H"},
        {"H//2", "H"}, {"H % 7", "6"}, {"0", "H % N"}, {"min(N, M)", "N"},
        {"N", "max(N, M)"},
        {"min(N, M) + max(N, M)", "N + 2*M + N"}, {"H % N", "N - 1"},
        {"H % N", "H"}, {"min(N, 5)", "max(M, 5)"},
        {"(3*N)//2", "N + N//2 + 1"}, {"0", "N - 1"},
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof(le) / sizeof(*le); i++) {
        cfx_dim a = parse(le[i][0]), b = parse(le[i][1]);
        ck_assert_msg(cfx_dim_known_le(env, a, b), "%s <= %s", le[i][0],
                      le[i][1]);
        ck_assert(cfx_dim_le(env, a, b));
        ck_assert(!cfx_dim_lt(env, b, a));
    }
    ck_assert(cfx_dim_ne(env, parse("N"), parse("N + 1")));
    ck_assert(!cfx_dim_eq(env, parse("2*N"), parse("2*M + 1")));
    ck_assert(!cfx_dim_eq(env, parse("N"), parse("0")));
    ck_assert(!cfx_dim_lt(env, parse("N"), parse("1")));
    ck_assert_uint_eq(cfx_shape_env_guards(env), 0);
}

TEST_CASE(without_an_environment_only_forms_decide)
{
    cfx_dim n = parse("N"), m = parse("M");
    ck_assert(cfx_dim_eq(NULL, n, n) && !cfx_dim_eq(NULL, n, m));
    ck_assert(cfx_dim_lt(NULL, n, cfx_dim_add(NULL, n, cfx_dim_int(1))));
    ck_assert(!cfx_dim_le(NULL, n, m) && !cfx_dim_le(NULL, m, n));
    ck_assert(!cfx_dim_ne(NULL, n, m));
}

TEST_CASE(guard_is_recorded_once)
{
    ck_assert(!cfx_dim_known_eq(env, parse("N"), parse("M")));
    ck_assert(cfx_dim_eq(env, parse("N"), parse("M")));
    assert_guard("N == M");
    ck_assert(cfx_dim_eq(env, parse("M"), parse("N")));
    ck_assert(cfx_dim_eq(env, parse("2*M + 1"), parse("2*N + 1")));
    ck_assert(cfx_dim_eq(env, parse("K//N"), parse("K//M")));
    ck_assert(cfx_dim_known_eq(env, parse("M"), parse("N")));
    ck_assert(!cfx_dim_ne(env, parse("M"), parse("N")));
    ck_assert_uint_eq(cfx_shape_env_guards(env), 1);
}

TEST_CASE(guard_prints_what_was_asked)
{
    cfx_dim_eq(env, cfx_dim_int(224), parse("H"));
    assert_guard("H == 224");
    cfx_dim_le(env, cfx_dim_int(3), parse("W"));
    assert_guard("W >= 3");
    cfx_dim_lt(env, parse("A"), parse("B"));
    assert_guard("A < B");
    cfx_dim_ne(env, parse("X"), parse("Y"));
    assert_guard("X != Y");
    cfx_dim_eq(env, parse("P % 8"), cfx_dim_int(0));
    assert_guard("P % 8 == 0");
    cfx_dim_eq(env, parse("3*R + 3"), parse("3*S"));
    assert_guard("R + 1 == S");
    ck_assert_uint_eq(cfx_shape_env_guards(env), 6);
}

TEST_CASE(guards_are_used_later)
{
    ck_assert(cfx_dim_eq(env, parse("H"), cfx_dim_int(224)));
    ck_assert(!cfx_dim_eq(env, parse("H"), cfx_dim_int(225)));
    ck_assert(cfx_dim_known_le(env, parse("H//2"), cfx_dim_int(112)));
    ck_assert(cfx_dim_eq(env, parse("H"), parse("W")));
    ck_assert(cfx_dim_known_eq(env, parse("W"), cfx_dim_int(224)));
    ck_assert(cfx_dim_le(env, parse("A"), parse("B")));
    ck_assert(cfx_dim_known_le(env, parse("A"), parse("B + 5")));
    ck_assert(!cfx_dim_lt(env, parse("B"), parse("A")));
    ck_assert(cfx_dim_ne(env, parse("X"), parse("Y")));
    ck_assert(!cfx_dim_eq(env, parse("Y"), parse("X")));
    ck_assert(cfx_dim_eq(env, parse("P*Q"), cfx_dim_int(12)));
    ck_assert(cfx_dim_eq(env, parse("P*Q"), cfx_dim_int(12)));
    ck_assert(!cfx_dim_eq(env, parse("P*Q"), cfx_dim_int(13)));
    ck_assert_uint_eq(cfx_shape_env_guards(env), 5);
    ck_assert(cfx_dim_lt(env, parse("C"), parse("D")));
    ck_assert(cfx_dim_known_le(env, parse("C + 1"), parse("D")));
    ck_assert(!cfx_dim_known_le(env, parse("C + 2"), parse("D")));
    ck_assert_uint_eq(cfx_shape_env_guards(env), 6);
}

TEST_CASE(guard_keeps_the_range_of_what_it_replaces)
{
    cfx_dim u = cfx_dim_unbacked(env);
    ck_assert(cfx_dim_eq(env, u, parse("N - 5")));
    ck_assert(!cfx_dim_le(env, parse("N"), cfx_dim_int(4)));
    ck_assert(cfx_dim_known_le(env, cfx_dim_int(5), parse("N")));
    ck_assert(!cfx_dim_eq(env, parse("M + 3"), cfx_dim_int(2)));
}

TEST_CASE(what_contradicts_a_guard_is_refused)
{
    ck_assert(cfx_dim_le(env, cfx_dim_int(5), parse("N")));
    ck_assert(!cfx_dim_eq(env, parse("N"), cfx_dim_int(3)));
    ck_assert(cfx_dim_le(env, cfx_dim_int(5), parse("A*B")));
    ck_assert(cfx_dim_eq(env, parse("A"), cfx_dim_int(2)));
    /* Only together with the guard before is it false. */
    ck_assert(!cfx_dim_eq(env, parse("B"), cfx_dim_int(1)));
    ck_assert(cfx_dim_eq(env, parse("B"), cfx_dim_int(4)));
    ck_assert(cfx_dim_le(env, parse("P"), parse("Q")));
    ck_assert(cfx_dim_le(env, parse("Q"), parse("R")));
    ck_assert(!cfx_dim_lt(env, parse("R"), parse("P")));
    ck_assert(cfx_dim_eq(env, parse("K % 2"), cfx_dim_int(1)));
    ck_assert(!cfx_dim_eq(env, parse("K % 4"), cfx_dim_int(2)));
    ck_assert(!cfx_dim_eq(env, parse("K"), cfx_dim_int(6)));
    ck_assert(cfx_dim_eq(env, parse("H//16"), cfx_dim_int(14)));
    ck_assert(!cfx_dim_eq(env, parse("H"), cfx_dim_int(240)));
    ck_assert(cfx_dim_known_le(env, cfx_dim_int(224), parse("H")));
    ck_assert_uint_eq(cfx_shape_env_guards(env), 8);
}

TEST_CASE(a_guard_has_one_text)
{
    ck_assert(cfx_dim_lt(env, cfx_dim_int(1), parse("N")));
    assert_guard("N >= 2");
    ck_assert(cfx_dim_le(env, parse("2*M"), cfx_dim_int(9)));
    assert_guard("M <= 4");
    ck_assert(cfx_dim_le(env, cfx_dim_int(2), parse("(W + 1)//3")));
    assert_guard("W >= 5");
    ck_assert(cfx_dim_le(env, parse("A + 1"), parse("B")));
    assert_guard("A < B");
    ck_assert(cfx_dim_le(env, cfx_dim_int(2), parse("N")));
    ck_assert_uint_eq(cfx_shape_env_guards(env), 4);
}

TEST_CASE(after_a_guard_a_symbol_is_its_value)
{
    char buf[32];
    ck_assert(cfx_dim_eq(env, parse("H"), cfx_dim_int(224)));
    cfx_dim patches = cfx_dim_simplify(env, parse("N*(H//16)**2 + 1"));
    cfx_dim_format(patches, buf, sizeof(buf));
    ck_assert_str_eq(buf, "196*N + 1");
    cfx_dim_format(parse("H + 1"), buf, sizeof(buf));
    ck_assert_str_eq(buf, "H + 1");
    ck_assert(!cfx_dim_le(env, parse("H"), cfx_dim_int(223)));
}

TEST_CASE(symbols_tell_their_ranges)
{
    cfx_symbol s;
    int64_t lo, hi;
    cfx_dim n = cfx_dim_symbol(env, "N", 1);
    cfx_dim u = cfx_dim_unbacked(env);
    ck_assert_int_eq(cfx_dim_limit(env, n, 2, 8, &err), CFX_OK);
    ck_assert_uint_eq(cfx_shape_env_symbols(env), 2);
    cfx_shape_env_symbol(env, 0, &s);
    ck_assert_str_eq(s.name, "N");
    ck_assert(cfx_dim_same(s.dim, n) && !s.unbacked);
    ck_assert(s.min == 2 && s.max == 8 && cfx_dim_is_bad(s.equals));
    cfx_shape_env_symbol(env, 1, &s);
    ck_assert_str_eq(s.name, "u0");
    ck_assert(s.unbacked && s.min == 0 && s.max == CFX_DIM_NO_MAX);
    cfx_dim_bounds(env, cfx_dim_mul(env, n, n), &lo, &hi);
    ck_assert(lo == 4 && hi == 64);
    cfx_dim_bounds(env, cfx_dim_sub(env, n, u), &lo, &hi);
    ck_assert(lo == CFX_DIM_NO_MIN && hi == 8);
    ck_assert(!cfx_dim_eq(env, n, cfx_dim_int(9)));
    ck_assert_int_eq(cfx_dim_limit(env, n, 9, 12, &err), CFX_EINVAL);
    ck_assert_int_eq(cfx_dim_limit(env, cfx_dim_int(3), 1, 2, NULL),
                     CFX_EINVAL);
    ck_assert(cfx_dim_eq(env, n, cfx_dim_int(4)));
    cfx_shape_env_symbol(env, 0, &s);
    ck_assert(cfx_dim_is(s.equals, 4) && s.min == 4 && s.max == 4);
    ck_assert_str_eq(cfx_dim_symbol_name(u), "u0");
    ck_assert_ptr_null(cfx_dim_symbol_name(cfx_dim_add(env, n, u)));
}

static bool replacement(void *user, const char *name, cfx_dim *v)
{
    *v = *(cfx_dim *)user;
    return !strcmp(name, "N");
}

TEST_CASE(substitution_simplifies_what_comes_out)
{
    cfx_dim by = parse("2*M"), out[2];
    cfx_dim d = cfx_dim_subst(env, parse("N % 2 + N//2 + K"), replacement,
                              &by);
    ck_assert(cfx_dim_same(d, parse("M + K")));
    by = cfx_dim_int(0);
    ck_assert(
        cfx_dim_is_bad(cfx_dim_subst(env, parse("K//N"), replacement, &by)));
    ck_assert_uint_eq(
        cfx_dim_free_symbols(parse("Z//N + max(A, 3) + N"), out, 2), 3);
    ck_assert(cfx_dim_same(out[0], parse("A")));
    ck_assert(cfx_dim_same(out[1], parse("N")));
    ck_assert_uint_eq(cfx_dim_free_symbols(cfx_dim_int(3), out, 2), 0);
}

TEST_CASE(very_many_guards_take_linear_time)
{
    enum { N = 4000 };
    cfx_dim before = cfx_dim_unbacked(env), first = before;
    for (int i = 0; i < N; i++) {
        /* In the order that makes the longest chain of equal symbols. */
        cfx_dim u = cfx_dim_unbacked(env);
        if (i % 4 == 0)
            ck_assert(cfx_dim_eq(env, cfx_dim_add(env, u, u), before));
        else if (i % 4 == 1)
            ck_assert(cfx_dim_eq(env, u, before));
        else
            ck_assert(cfx_dim_le(env, cfx_dim_add(env, u, before),
                                 cfx_dim_mul(env, u, u)));
        before = u;
    }
    ck_assert_uint_eq(cfx_shape_env_guards(env), N);
    ck_assert(cfx_dim_le(env, cfx_dim_int(0), first));
    ck_assert_uint_eq(cfx_shape_env_guards(env), N);
}

/* ---- Memory ---- */

typedef struct counter {
    long calls, fail_at, held;
} counter;

static void *counted_alloc(void *user, size_t size, size_t align)
{
    counter *c = user;
    void *p = NULL;
    if (c->calls++ >= c->fail_at ||
        posix_memalign(&p, align > 8 ? align : 8, size))
        return NULL;
    c->held += (long)size;
    return p;
}

static void counted_free(void *user, void *p, size_t size)
{
    counter *c = user;
    c->held -= (long)size;
    free(p);
}

/* Work that needs all that allocates; false where something was lacking. */
static bool work(cfx_context *c)
{
    cfx_shape_env *e;
    cfx_dim d[6];
    if (cfx_shape_env_new(&e, c, NULL))
        return false;
    char text[64];
    bool ok = true;
    cfx_dim sum = cfx_dim_int(0);
    for (int i = 0; i < 150; i++) {
        snprintf(text, sizeof(text), "x%d", i);
        sum = cfx_dim_add(e, sum, cfx_dim_symbol(e, text, 1));
    }
    ok = ok && !cfx_dim_is_bad(sum);
    for (int i = 0; i < 6; i++) {
        snprintf(text, sizeof(text), "(A + B*C + %d)//max(D, %d)", i, i + 2);
        cfx_status st = cfx_dim_parse(&d[i], e, text, NULL);
        ck_assert(st == CFX_OK || st == CFX_ENOMEM);
        ok = ok && !st;
    }
    for (int i = 0; i + 1 < 6; i++)
        ok = cfx_dim_lt(e, d[i], d[i + 1]) && ok;
    ok = cfx_dim_eq(e, cfx_dim_symbol(e, "A", 1), cfx_dim_symbol(e, "B", 1)) &&
         ok;
    cfx_dim half = cfx_dim_exactdiv(e, cfx_dim_symbol(e, "C", 1),
                                    cfx_dim_int(2));
    ok = !cfx_dim_is_bad(half) && ok;
    cfx_dim lower = cfx_dim_min(e, half, cfx_dim_symbol(e, "D", 1));
    ok = !cfx_dim_is_bad(cfx_dim_simplify(e, lower)) && ok;
    ok = !cfx_dim_limit(e, cfx_dim_symbol(e, "E", 1), 1, 5, NULL) && ok;
    cfx_shape_env_free(e);
    return ok;
}

TEST_CASE(any_allocation_may_fail)
{
    counter c = {0};
    cfx_options o = {.size = sizeof(o),
                     .threads = 1,
                     .allocator = {counted_alloc, counted_free, &c}};
    bool done = false;
    for (c.fail_at = 0; !done; c.fail_at++) {
        cfx_context *small;
        c.calls = 0;
        if (!cfx_context_new(&small, &o, NULL)) {
            done = work(small);
            cfx_context_free(small);
        }
        ck_assert_int_eq(c.held, 0);
    }
    ck_assert_int_gt(c.fail_at, 10);
}

TEST_SUITE(dim, .setup = setup, .teardown = teardown, .timeout = 600)
