/*
 * dim_limit_test -- ranges, congruences and equalities of symbols put together:
 * what leaves no value is refused.
 */
#include "tests/unit/counted.h"

#include <stdio.h>

#include <cfx/dim.h>

#include "tests/unit/unit.h"

static cfx_context *ctx;
static cfx_shape_env *env;

static void setup(void)
{
    ctx = counted_context();
    ck_assert_int_eq(cfx_shape_env_new(&env, ctx, NULL), CFX_OK);
}

static void teardown(void)
{
    cfx_shape_env_free(env);
    free_counted(ctx);
}

/* clang-format off */
static cfx_dim sym(const char *name) { return cfx_dim_symbol(env, name, 1); }
static cfx_dim num(int64_t v) { return cfx_dim_int(v); }
static cfx_dim mod(cfx_dim d, int64_t m) { return cfx_dim_mod(env, d, num(m)); }
/* clang-format on */

static void assert_bounds(cfx_dim d, int64_t min, int64_t max)
{
    int64_t lo, hi;
    cfx_dim_bounds(env, d, &lo, &hi);
    ck_assert_int_eq(lo, min);
    ck_assert_int_eq(hi, max);
}

TEST_CASE(a_limit_reaches_what_the_symbol_equals)
{
    cfx_dim n = sym("N"), m = sym("M");
    ck_assert(cfx_dim_eq(env, n, m));
    ck_assert_int_eq(cfx_dim_limit(env, n, 10, 20, NULL), CFX_OK);
    assert_bounds(m, 10, 20);
    assert_bounds(n, 10, 20);
    ck_assert_int_eq(cfx_dim_limit(env, m, 1, 3, NULL), CFX_EINVAL);
    assert_bounds(m, 10, 20);
}

TEST_CASE(a_limit_keeps_to_the_multiples)
{
    cfx_dim n = sym("N");
    ck_assert(cfx_dim_eq(env, mod(n, 8), num(0)));
    ck_assert_int_eq(cfx_dim_limit(env, n, 9, 15, NULL), CFX_EINVAL);
    ck_assert_int_eq(cfx_dim_limit(env, n, 9, 31, NULL), CFX_OK);
    assert_bounds(n, 16, 24);
    ck_assert_int_eq(cfx_dim_limit(env, n, 17, 31, NULL), CFX_OK);
    ck_assert(cfx_dim_is(cfx_dim_simplify(env, n), 24));
}

TEST_CASE(no_multiple_within_the_range_is_no_guard)
{
    cfx_dim n = sym("N");
    ck_assert_int_eq(cfx_dim_limit(env, n, 1001, 1500, NULL), CFX_OK);
    ck_assert(!cfx_dim_eq(env, mod(n, 1000), num(0)));
    ck_assert_uint_eq(cfx_shape_env_guards(env), 0);
    assert_bounds(n, 1001, 1500);
}

TEST_CASE(limits_beyond_what_an_extent_can_be)
{
    cfx_dim n = sym("N");
    ck_assert(cfx_dim_is_bad(cfx_dim_symbol(env, "X", INT64_MAX - 1)));
    ck_assert_int_eq(
        cfx_dim_limit(env, n, INT64_MAX - 1, CFX_DIM_NO_MAX, NULL),
        CFX_EINVAL);
    ck_assert_int_eq(cfx_dim_limit(env, n, INT64_MIN + 1, INT64_MAX - 1, NULL),
                     CFX_OK);
    assert_bounds(n, 1, CFX_DIM_NO_MAX);
}

/* Facts about symbols move in memory when new symbols are added. */
TEST_CASE(simplifying_may_ask_of_new_symbols)
{
    for (int more = 0; more < 20; more++) {
        char name[16];
        cfx_shape_env_free(env);
        ck_assert_int_eq(cfx_shape_env_new(&env, ctx, NULL), CFX_OK);
        for (int i = 0; i < more; i++) {
            snprintf(name, sizeof(name), "d%d", i);
            sym(name);
        }
        cfx_dim z = cfx_dim_symbol(env, "Z", CFX_DIM_NO_MIN);
        cfx_dim p = sym("P"), r = sym("R");
        ck_assert(cfx_dim_eq(env, z,
                             cfx_dim_max(env, cfx_dim_floordiv(env, p, num(3)),
                                         cfx_dim_floordiv(env, r, num(5)))));
        ck_assert(cfx_dim_eq(env, p, cfx_dim_add(env, sym("A"), num(1))));
        ck_assert(!cfx_dim_is_bad(cfx_dim_simplify(env, z)));
    }
}

/* A division takes out every multiple of the divisor, however long the sum is. */
TEST_CASE(a_long_sum_is_divided_term_by_term)
{
    cfx_dim d = sym("D"), rest = sym("Rest"), whole = num(0);
    for (int i = 0; i < 100; i++) {
        char name[16];
        snprintf(name, sizeof(name), "S%d", i);
        whole = cfx_dim_add(env, whole, sym(name));
    }
    cfx_dim a = cfx_dim_add(env, cfx_dim_mul(env, whole, d), rest);
    cfx_dim q = cfx_dim_add(env, whole, cfx_dim_floordiv(env, rest, d));
    ck_assert(cfx_dim_same(cfx_dim_floordiv(env, a, d), q));
    ck_assert(cfx_dim_same(cfx_dim_mod(env, a, d), cfx_dim_mod(env, rest, d)));
}

TEST_SUITE(dim_limit, .setup = setup, .teardown = teardown)
