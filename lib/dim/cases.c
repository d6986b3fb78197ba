/*
 * cases -- proofs by what rounding does.
 *
 * If symbols are divided by integers only, each is a multiple of its period
 * plus a remainder: for N = 2*n and for N = 2*n + 1, N//2 + (N + 1)//2 is N
 * without a quotient. A relation that holds in every case holds.
 */
#include "dim/env.h"

#include <stdio.h>

enum { SYMBOLS_MAX = 4, CASES_MAX = 256 };

typedef struct cased {
    cfx_dim symbol, rest; /* symbol = period * rest + now */
    int64_t period, now;
    cfx_dim is; /* what that is */
} cased;

typedef struct cases {
    size_t n;
    bool divides; /* there is a quotient or remainder at all */
    cased of[SYMBOLS_MAX];
} cases;

static bool lcm_into(int64_t *a, int64_t b)
{
    *a *= b / cfx_dim__gcd(*a, b);
    return *a <= CASES_MAX;
}

/* Collect the periods of symbols in d, which is divided by `by`; false: too
 * many. */
static bool find_periods(cases *c, cfx_dim d, int64_t by)
{
    if (!cfx_dim_is_expr(d))
        return true;
    const cfx_expr *e = cfx_expr_of(d);
    if (by > CASES_MAX)
        return false;
    if (e->kind == CFX_EXPR_SYMBOL) {
        size_t i = 0;
        while (i < c->n && !cfx_dim_same(c->of[i].symbol, d))
            i++;
        if (i == SYMBOLS_MAX)
            return false;
        if (i == c->n)
            c->of[c->n++] = (cased){.symbol = d, .period = 1};
        return lcm_into(&c->of[i].period, by);
    }
    bool divides = e->kind == CFX_EXPR_FLOORDIV || e->kind == CFX_EXPR_MOD;
    if (divides && cfx_dim_is_int(e->term[1].of)) {
        int64_t k = cfx_dim_value(e->term[1].of);
        c->divides = true;
        if (k > CASES_MAX)
            return false;
        return find_periods(c, e->term[0].of,
                            e->kind == CFX_EXPR_MOD ? k : by * k);
    }
    for (size_t i = 0; i < e->n; i++)
        if (!find_periods(c, e->term[i].of, divides ? 1 : by))
            return false;
    return true;
}

/* A symbol with a reserved name, for the multiple. */
static cfx_dim rest_of(cfx_shape_env *env, cfx_dim symbol)
{
    char name[32];
    int n = snprintf(name, sizeof(name), "#%lld",
                     (long long)cfx_expr_of(symbol)->c);
    return cfx_expr_symbol(env->table, name, (size_t)n);
}

/* Set one symbol to its case; false if its range excludes the case, or when
 * out of memory (*failed). */
static bool set_case(cfx_shape_env *env, cased *s, bool *failed)
{
    const cfx_symbol_facts *k = cfx_env_facts_of(env, cfx_expr_of(s->symbol));
    cfx_range r = k ? k->range : (cfx_range){-CFX_INF, CFX_INF};
    int64_t g = k ? cfx_dim__gcd(k->every, s->period) : 1;
    if (k && (s->now - k->from) % g)
        return false;
    if (r.lo != -CFX_INF)
        r.lo = -cfx_floordiv_int(s->now - r.lo, s->period);
    if (r.hi != CFX_INF)
        r.hi = cfx_floordiv_int(r.hi - s->now, s->period);
    if (r.lo > r.hi)
        return false;
    cfx_dim rest = cfx_dim_int(r.lo);
    if (r.lo != r.hi) {
        cfx_symbol_facts *known = cfx_dim_is_bad(s->rest)
                                      ? NULL
                                      : cfx_env_facts_mut(env, s->rest);
        *failed = !known;
        if (!known)
            return false;
        known->range = r;
        rest = s->rest;
    }
    s->is = cfx_dim_affine(s->period, rest, s->now);
    return true;
}

static cfx_dim case_of(cfx_subst *s, cfx_dim symbol)
{
    cases *c = s->user;
    for (size_t i = 0; i < c->n; i++)
        if (cfx_dim_same(c->of[i].symbol, symbol))
            return c->of[i].is;
    return symbol;
}

/* Does the relation hold in the current case, or is the case impossible? */
static bool holds_now(cfx_shape_env *env, cases *c, cfx_dim d,
                      bool (*holds)(cfx_shape_env *env, cfx_dim d))
{
    bool failed = false;
    uint64_t mask = 0;
    for (size_t i = 0; i < c->n; i++) {
        if (!set_case(env, &c->of[i], &failed))
            return !failed;
        mask |= cfx_dim_symbols(c->of[i].symbol);
    }
    cfx_subst s = {.env = env, .mask = mask, .user = c, .of = case_of};
    cfx_dim x = cfx_subst_dim(&s, d);
    return !cfx_dim_is_bad(x) && holds(env, x);
}

static bool next_case(cases *c)
{
    for (size_t i = 0; i < c->n; i++) {
        if (++c->of[i].now < c->of[i].period)
            return true;
        c->of[i].now = 0;
    }
    return false;
}

bool cfx_prove_by_cases(cfx_shape_env *env, cfx_dim d,
                        bool (*holds)(cfx_shape_env *env, cfx_dim d))
{
    cases c = {.n = 0};
    int64_t all = 1;
    if (!find_periods(&c, d, 1) || !c.divides)
        return false;
    for (size_t i = 0; i < c.n; i++) {
        all *= c.of[i].period;
        if (all > CASES_MAX)
            return false;
        c.of[i].rest = rest_of(env, c.of[i].symbol);
    }
    /* Facts about the multiples are not part of a guard. */
    cfx_undo *undo = env->undo;
    env->undo = NULL;
    env->in_cases = true;
    bool ok;
    do {
        ok = holds_now(env, &c, d, holds);
    } while (ok && next_case(&c));
    env->in_cases = false;
    env->undo = undo;
    return ok;
}
