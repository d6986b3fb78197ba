/*
 * dim_property_test -- extents against plain arithmetic: random expressions
 * over three symbols, with all operations, at random values within the ranges.
 *
 * $CFX_DIM_CASES is how many, if not what takes a few seconds; how many were
 * compared is printed.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <cfx/dim.h>

#include "dim/env.h"
#include "tests/unit/unit.h"

enum { SYMBOLS = 3, NODES = 9, CASES = 1000000, AT_EACH = 8 };

static const char *const names[SYMBOLS] = {"H", "N", "W"};
static const int64_t least[SYMBOLS] = {1, 0, -3};
static const int64_t most[SYMBOLS] = {CFX_DIM_NO_MAX, CFX_DIM_NO_MAX, 20};

static cfx_context *ctx;
static cfx_shape_env *env;
static cfx_dim symbol[SYMBOLS];

static void setup(void)
{
    ck_assert_int_eq(cfx_context_new(&ctx, NULL, NULL), CFX_OK);
    ck_assert_int_eq(cfx_shape_env_new(&env, ctx, NULL), CFX_OK);
    for (int i = 0; i < SYMBOLS; i++) {
        symbol[i] = cfx_dim_symbol(env, names[i], least[i]);
        ck_assert_int_eq(
            cfx_dim_limit(env, symbol[i], least[i], most[i], NULL), CFX_OK);
    }
}

static void teardown(void)
{
    cfx_shape_env_free(env);
    cfx_context_free(ctx);
}

/* The expressions of a long run would fill the memory. */
static void begin_anew(long i)
{
    if (i % 20000 == 19999) {
        teardown();
        setup();
    }
}

static long cases(long without)
{
    const char *text = getenv("CFX_DIM_CASES");
    return text ? atol(text) : without;
}

/* ---- Random trees ---- */

typedef struct rng {
    uint64_t key, at;
} rng;

static int64_t draw(rng *r, int64_t below)
{
    return (int64_t)((cfx_random_bits(r->key, r->at++) >> 33) %
                     (uint64_t)below);
}

/* op: '+' and so on; 's': symbol a; 'i': integer a; 'c': a divided upwards. */
typedef struct node {
    int op, a, b;
} node;

static int make_tree(rng *r, node *t)
{
    int n = 3 + (int)draw(r, NODES - 2);
    for (int i = 0; i < n; i++) {
        if (i < 2 || draw(r, 3) == 0) {
            t[i] = draw(r, 2) ? (node){'s', (int)draw(r, SYMBOLS), 0}
                              : (node){'i', (int)draw(r, 9) - 2, 0};
            continue;
        }
        t[i].op = "+-*/%mMc+-*/"[draw(r, 12)];
        t[i].a = draw(r, 3) ? i - 1 : (int)draw(r, i);
        t[i].b = (int)draw(r, i);
    }
    return n;
}

static cfx_dim build(const node *t, int n, bool turned)
{
    cfx_dim d[NODES];
    for (int i = 0; i < n; i++) {
        bool leaf = t[i].op == 's' || t[i].op == 'i';
        cfx_dim a = leaf ? CFX_DIM_BAD : d[t[i].a];
        cfx_dim b = leaf ? CFX_DIM_BAD : d[t[i].b];
        switch (t[i].op) {
        case 's': d[i] = symbol[t[i].a]; break;
        case 'i': d[i] = cfx_dim_int(t[i].a); break;
        case '+':
            d[i] = turned ? cfx_dim_add(env, b, a) : cfx_dim_add(env, a, b);
            break;
        case '-':
            d[i] = turned ? cfx_dim_neg(env, cfx_dim_sub(env, b, a))
                          : cfx_dim_sub(env, a, b);
            break;
        case '*':
            d[i] = turned ? cfx_dim_mul(env, b, a) : cfx_dim_mul(env, a, b);
            break;
        case '/': d[i] = cfx_dim_floordiv(env, a, b); break;
        case 'c': d[i] = cfx_dim_ceildiv(env, a, b); break;
        case '%': d[i] = cfx_dim_mod(env, a, b); break;
        case 'm':
            d[i] = turned ? cfx_dim_min(env, b, a) : cfx_dim_min(env, a, b);
            break;
        default:
            d[i] = turned ? cfx_dim_max(env, b, a) : cfx_dim_max(env, a, b);
        }
    }
    return d[n - 1];
}

/* Division that rounds down, as Python's. */
static int64_t floor_div(int64_t a, int64_t b)
{
    int64_t q = a / b;
    return q * b != a && (a < 0) != (b < 0) ? q - 1 : q;
}

/* The value, where it is defined and small. */
static bool compute(const node *t, int n, const int64_t *at, int64_t *out)
{
    int64_t v[NODES];
    for (int i = 0; i < n; i++) {
        bool leaf = t[i].op == 's' || t[i].op == 'i';
        int64_t a = leaf ? 0 : v[t[i].a], b = leaf ? 1 : v[t[i].b];
        switch (t[i].op) {
        case 's': v[i] = at[t[i].a]; break;
        case 'i': v[i] = t[i].a; break;
        case '+': v[i] = a + b; break;
        case '-': v[i] = a - b; break;
        case '*': v[i] = a * b; break;
        case 'm': v[i] = a < b ? a : b; break;
        case 'M': v[i] = a > b ? a : b; break;
        default:
            if (b == 0)
                return false;
            v[i] = t[i].op == '/'   ? floor_div(a, b)
                   : t[i].op == 'c' ? -floor_div(-a, b)
                                    : a - b * floor_div(a, b);
        }
        if (v[i] > (1 << 30) || v[i] < -(1 << 30))
            return false;
    }
    *out = v[n - 1];
    return true;
}

static void draw_values(rng *r, int64_t *at)
{
    for (int i = 0; i < SYMBOLS; i++) {
        int64_t room = most[i] == CFX_DIM_NO_MAX ? 60 : most[i] - least[i] + 1;
        at[i] = least[i] + draw(r, draw(r, 2) ? 4 : room);
    }
}

static bool value_of(void *user, const char *name, int64_t *v)
{
    const int64_t *at = user;
    for (int i = 0; i < SYMBOLS; i++)
        if (!strcmp(name, names[i])) {
            *v = at[i];
            return true;
        }
    return false;
}

static const char *text_of(cfx_dim d)
{
    static char buf[2][8192];
    static int turn;
    turn = !turn;
    cfx_dim_format(d, buf[turn], sizeof(buf[turn]));
    return buf[turn];
}

static int64_t eval(cfx_dim d, int64_t *at)
{
    int64_t v;
    cfx_error err = {0};
    assert_each_msg(!cfx_dim_eval(&v, d, value_of, at, &err), "%s: %s",
                    text_of(d), err.text);
    return v;
}

/* ---- Properties ---- */

TEST_CASE(value_of_what_was_simplified_is_that_of_what_was_written)
{
    rng r = {2026, 0};
    node t[NODES];
    long compared = 0, of = cases(CASES);
    for (long i = 0; compared < of; i++) {
        int n = make_tree(&r, t);
        begin_anew(i);
        cfx_dim d = build(t, n, false);
        for (int k = 0; k < AT_EACH && !cfx_dim_is_bad(d); k++) {
            int64_t at[SYMBOLS], want, lo, hi;
            draw_values(&r, at);
            if (!compute(t, n, at, &want))
                continue;
            int64_t got = eval(d, at);
            assert_each_msg(got == want, "%s is %lld, not %lld", text_of(d),
                            (long long)got, (long long)want);
            cfx_dim_bounds(env, d, &lo, &hi);
            assert_each_msg(lo <= got && got <= hi, "%s", text_of(d));
            compared++;
        }
    }
    printf("%ld values compared\n", compared);
}

TEST_CASE(text_and_turned_operands_give_the_same_word)
{
    rng r = {7, 0};
    node t[NODES];
    long of = cases(CASES) / 20;
    for (long i = 0; i < of; i++) {
        int n = make_tree(&r, t);
        begin_anew(i);
        cfx_dim d = build(t, n, false), back;
        if (cfx_dim_is_bad(d))
            continue;
        const char *text = text_of(d);
        cfx_dim turned = build(t, n, true);
        ck_assert_msg(cfx_dim_same(turned, d), "%s\n%s", text,
                      text_of(turned));
        cfx_error err = {0};
        ck_assert_msg(!cfx_dim_parse(&back, env, text, &err), "%s", err.text);
        ck_assert_msg(cfx_dim_same(back, d), "%s\n%s", text, text_of(back));
    }
    ck_assert_uint_eq(cfx_shape_env_guards(env), 0);
}

TEST_CASE(sums_and_products_in_any_order_are_the_same_word)
{
    rng r = {11, 0};
    node t[NODES];
    long of = cases(CASES) / 20;
    for (long i = 0; i < of; i++) {
        cfx_dim x[3];
        begin_anew(i);
        for (int k = 0; k < 3; k++) {
            int n = make_tree(&r, t);
            x[k] = build(t, n < 5 ? n : 5, false);
        }
        cfx_dim left = cfx_dim_add(env, cfx_dim_add(env, x[0], x[1]), x[2]);
        cfx_dim right = cfx_dim_add(env, x[1], cfx_dim_add(env, x[2], x[0]));
        ck_assert(cfx_dim_same(left, right));
        left = cfx_dim_mul(env, cfx_dim_mul(env, x[0], x[1]), x[2]);
        right = cfx_dim_mul(env, x[1], cfx_dim_mul(env, x[2], x[0]));
        ck_assert(cfx_dim_same(left, right));
        left = cfx_dim_mul(env, x[0], cfx_dim_add(env, x[1], x[2]));
        right = cfx_dim_add(env, cfx_dim_mul(env, x[0], x[1]),
                            cfx_dim_mul(env, x[0], x[2]));
        ck_assert(cfx_dim_same(left, right));
    }
}

TEST_CASE(no_proof_is_refuted_by_values)
{
    rng r = {23, 0};
    node t[2][NODES];
    long proofs = 0, of = cases(CASES) / 100;
    for (long i = 0; i < of; i++) {
        cfx_dim d[2];
        int n[2];
        begin_anew(i);
        for (int k = 0; k < 2; k++) {
            n[k] = make_tree(&r, t[k]);
            n[k] = n[k] < 6 ? n[k] : 6;
            d[k] = build(t[k], n[k], false);
        }
        bool le = cfx_dim_known_le(env, d[0], d[1]);
        bool eq = cfx_dim_known_eq(env, d[0], d[1]);
        proofs += le + eq;
        for (int k = 0; k < AT_EACH && (le || eq); k++) {
            int64_t at[SYMBOLS], v[2];
            draw_values(&r, at);
            if (!compute(t[0], n[0], at, &v[0]) ||
                !compute(t[1], n[1], at, &v[1]))
                continue;
            ck_assert_msg(!le || v[0] <= v[1], "%s <= %s", text_of(d[0]),
                          text_of(d[1]));
            ck_assert_msg(!eq || v[0] == v[1], "%s == %s", text_of(d[0]),
                          text_of(d[1]));
        }
    }
    printf("%ld of %ld questions proved\n", proofs, 2 * of);
    ck_assert_int_gt(proofs, of / 10);
}

static bool number_of(void *user, const char *name, cfx_dim *v)
{
    int64_t *at = user, k = 0;
    value_of(at, name, &k);
    *v = cfx_dim_int(k);
    return true;
}

static bool shifted_of(void *user, const char *name, cfx_dim *v)
{
    *v = cfx_dim_add(env, cfx_dim_symbol(env, name, CFX_DIM_NO_MIN + 1),
                     *(cfx_dim *)user);
    return name[0] == 'N';
}

TEST_CASE(substitution_commutes_with_evaluation)
{
    rng r = {31, 0};
    node t[NODES];
    long of = cases(CASES) / 20, compared = 0;
    for (long i = 0; i < of; i++) {
        int n = make_tree(&r, t);
        int64_t at[SYMBOLS], want;
        begin_anew(i);
        cfx_dim d = build(t, n, false);
        draw_values(&r, at);
        if (cfx_dim_is_bad(d) || !compute(t, n, at, &want))
            continue;
        cfx_dim v = cfx_dim_subst(env, d, number_of, at);
        ck_assert_msg(cfx_dim_is(v, want), "%s", text_of(d));
        /* N + 3 in the place of N, at a value of N that is less by 3. */
        cfx_dim three = cfx_dim_int(3);
        cfx_dim moved = cfx_dim_subst(env, d, shifted_of, &three);
        at[1] -= 3;
        if (at[1] >= 0 && !cfx_dim_is_bad(moved)) {
            ck_assert_msg(eval(moved, at) == want, "%s\n%s", text_of(d),
                          text_of(moved));
            compared++;
        }
    }
    ck_assert_int_gt(compared, of / 10);
}

/* With divisions by integers only, the miss of an equality is a mistake: d is
 * compared with itself taken apart. */
TEST_CASE(rounding_by_integers_is_decided)
{
    rng r = {41, 0};
    long of = cases(CASES) / 1000;
    for (long i = 0; i < of; i++) {
        cfx_dim x = cfx_dim_int(draw(&r, 5)), parts = cfx_dim_int(0);
        begin_anew(i);
        for (int k = 0; k < 2; k++)
            x = cfx_dim_add(env, x,
                            cfx_dim_mul(env, cfx_dim_int(draw(&r, 7) - 3),
                                        symbol[draw(&r, 2)]));
        int64_t m = 2 + draw(&r, 4);
        /* x//m, (x + 1)//m, ... together are x. */
        for (int64_t k = 0; k < m; k++) {
            cfx_dim up = cfx_dim_add(env, x, cfx_dim_int(k));
            parts = cfx_dim_add(env, parts,
                                cfx_dim_floordiv(env, up, cfx_dim_int(m)));
        }
        ck_assert_msg(cfx_dim_known_eq(env, parts, x), "%s, %s",
                      text_of(parts), text_of(x));
        ck_assert_msg(
            cfx_dim_ne(env, cfx_dim_add(env, parts, cfx_dim_int(1)), x),
            "%s, %s", text_of(parts), text_of(x));
        cfx_dim back = cfx_dim_add(
            env, cfx_dim_mod(env, x, cfx_dim_int(m)),
            cfx_dim_mul(env, cfx_dim_int(m),
                        cfx_dim_floordiv(env, x, cfx_dim_int(m))));
        ck_assert_msg(cfx_dim_known_eq(env, back, x), "%s, %s", text_of(back),
                      text_of(x));
    }
    ck_assert_uint_eq(cfx_shape_env_guards(env), 0);
}

TEST_CASE(random_texts_are_read_or_refused)
{
    /* clang-format off */
    static const char *const token[] = {
        "H", "N", "W", "u0", "1", "2", "3", "7", "0", "2305843009213693952",
        "2.5", "(", "(", ")", ")", ",", "+", "-", "*", "//", "/", "%", "**",
        "min(", "max(", "floor(", "ceiling(", "FloorDiv(", "Mod(", "Add(",
        "Mul(", "Pow(", "CeilToInt(", "IntTrueDiv(", "TruncToInt(",
        "Symbol('", "s0", "'", "Rational(", "ModularIndexing(", "Abs(", " ",
        "integer=True", "Float('", "CleanDiv(", "Max()",
    };
    /* clang-format on */
    enum { TOKENS = sizeof(token) / sizeof(*token) };
    rng r = {67, 0};
    long of = cases(CASES) / 20, read = 0;
    for (long i = 0; i < of; i++) {
        char text[512];
        size_t len = 0;
        cfx_dim d, back;
        begin_anew(i);
        for (int64_t n = 1 + draw(&r, 9); n > 0; n--)
            len += (size_t)snprintf(text + len, sizeof(text) - len, "%s",
                                    token[draw(&r, TOKENS)]);
        cfx_status st = cfx_dim_parse(&d, env, text, NULL);
        ck_assert_msg(st == CFX_OK || st == CFX_EPARSE, "%s", text);
        ck_assert_int_eq(cfx_dim_is_bad(d), st != CFX_OK);
        if (st)
            continue;
        read++;
        /* Reading may have added a guard that makes it simpler. */
        ck_assert_msg(!cfx_dim_parse(&back, env, text_of(d), NULL) &&
                          cfx_dim_known_eq(env, back, d),
                      "%s: %s", text, text_of(d));
    }
    ck_assert_int_gt(read, of / 50);
}

/* Factors near the limit overflow into CFX_DIM_BAD and nothing else. */
TEST_CASE(huge_factors_are_exact_or_bad)
{
    rng r = {53, 0};
    long of = cases(CASES) / 100;
    for (long i = 0; i < of; i++) {
        cfx_dim d = symbol[draw(&r, SYMBOLS)];
        begin_anew(i);
        for (int k = 0; k < 5; k++) {
            int64_t big = (int64_t)cfx_random_bits(r.key, r.at++) >>
                          (2 + draw(&r, 60));
            cfx_dim b = draw(&r, 3) ? cfx_dim_int(big)
                                    : symbol[draw(&r, SYMBOLS)];
            switch (draw(&r, 7)) {
            case 0: d = cfx_dim_add(env, d, b); break;
            case 1: d = cfx_dim_sub(env, b, d); break;
            case 2: d = cfx_dim_mul(env, d, b); break;
            case 3: d = cfx_dim_floordiv(env, d, b); break;
            case 4: d = cfx_dim_mod(env, d, b); break;
            case 5: d = cfx_dim_max(env, d, b); break;
            default: d = cfx_dim_exactdiv(env, cfx_dim_mul(env, d, b), b);
            }
            (void)cfx_dim_known_le(env, d, b);
        }
        int64_t at[SYMBOLS] = {1, 1, 1}, v;
        (void)cfx_dim_eval(&v, d, value_of, at, NULL);
    }
}

/* ---- With guards ---- */

/* Ask about d[0] and d[1] what is so for the values v: the answer is yes, and
 * nothing more has to be recorded when it is asked again. */
static void assert_true(cfx_dim *d, const int64_t *v, bool which)
{
    for (int again = 0; again < 2; again++) {
        size_t guards = cfx_shape_env_guards(env);
        bool yes = v[0] == v[1]  ? which ? cfx_dim_eq(env, d[0], d[1])
                                         : cfx_dim_le(env, d[0], d[1])
                    : v[0] > v[1] ? cfx_dim_ne(env, d[0], d[1])
                   : which       ? cfx_dim_lt(env, d[0], d[1])
                                 : cfx_dim_le(env, d[0], d[1]);
        ck_assert_msg(yes, "%s, %s", text_of(d[0]), text_of(d[1]));
        ck_assert(!again || cfx_shape_env_guards(env) == guards);
    }
}

TEST_CASE(no_answer_contradicts_values_that_satisfy_all_guards)
{
    rng r = {555, 0};
    node t[2][NODES];
    long of = cases(CASES) / 2000;
    for (long round = 0; round < of; round++) {
        int64_t at[SYMBOLS], v[2];
        cfx_dim d[2];
        teardown();
        setup();
        draw_values(&r, at);
        for (int i = 0; i < 30; i++) {
            bool defined = true;
            for (int k = 0; k < 2; k++) {
                int n = make_tree(&r, t[k]);
                n = n < 6 ? n : 6;
                d[k] = build(t[k], n, false);
                defined &= compute(t[k], n, at, &v[k]) &&
                           !cfx_dim_is_bad(d[k]);
            }
            if (!defined)
                continue;
            bool le = cfx_dim_known_le(env, d[0], d[1]);
            bool eq = cfx_dim_known_eq(env, d[0], d[1]);
            ck_assert_msg((!le || v[0] <= v[1]) && (!eq || v[0] == v[1]),
                          "%s, %s", text_of(d[0]), text_of(d[1]));
            assert_true(d, v, draw(&r, 2));
            cfx_dim simple = cfx_dim_simplify(env, d[0]);
            ck_assert_msg(eval(simple, at) == v[0], "%s\n%s", text_of(d[0]),
                          text_of(simple));
        }
    }
}

/* ---- Threads ---- */

enum { THREADS = 4, WORDS = 3000 };

static void *build_many(void *arg)
{
    cfx_dim *out = arg;
    rng r = {4, 0};
    node t[NODES];
    for (int i = 0; i < WORDS; i++)
        out[i] = build(t, make_tree(&r, t), false);
    return NULL;
}

TEST_CASE(threads_make_the_same_words)
{
    static cfx_dim out[THREADS][WORDS];
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++)
        ck_assert(!pthread_create(&thread[i], NULL, build_many, out[i]));
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    for (int i = 1; i < THREADS; i++)
        ck_assert(!memcmp(out[0], out[i], sizeof(out[0])));
}

TEST_SUITE(dim_property, .setup = setup, .teardown = teardown, .timeout = 3600)
