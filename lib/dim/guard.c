/*
 * guard -- relations that are assumed because a rule needed them.
 *
 * Later queries use each guard. An equality that can be solved for a symbol
 * fixes it, a remainder sets its residue class, a bound narrows its range, and
 * any other relation is kept as a fact. A guard that follows from others is
 * not recorded; one that contradicts them is undone and refused.
 */
#include "dim/dim_text.h"
#include "dim/env.h"

static bool assume_ge0(cfx_shape_env *env, cfx_dim d);
static bool assume_zero(cfx_shape_env *env, cfx_dim d);

static bool contains(cfx_dim d, const cfx_expr *symbol)
{
    if (!cfx_dim_is_expr(d))
        return false;
    const cfx_expr *e = cfx_expr_of(d);
    bool found = e == symbol;
    for (size_t i = 0; i < e->n && !found; i++)
        found = contains(e->term[i].of, symbol);
    return found;
}

static bool add_fact(cfx_shape_env *env, cfx_dim d, bool nonzero)
{
    if (cfx_grow(env->ctx, env->fact, env->fact_cap, env->facts + 1, NULL))
        return false;
    env->fact[env->facts++] = (cfx_fact){d, nonzero};
    return true;
}

/* ---- Remainders ---- */

/* The inverse of k modulo m, which have no common divisor. */
static int64_t inverse(int64_t k, int64_t m)
{
    int64_t a = m, b = cfx_floormod_int(k, m), x = 0, y = 1;
    while (b) {
        int64_t q = a / b, t = a - q * b;
        a = b;
        b = t;
        t = x - q * y;
        x = y;
        y = t;
    }
    return cfx_floormod_int(x, m);
}

/* Intersect the symbol's residue class with `from` modulo `every`. */
static bool be_congruent(cfx_shape_env *env, cfx_dim symbol, int64_t every,
                         int64_t from)
{
    cfx_symbol_facts *k = cfx_env_facts_mut(env, symbol);
    if (!k)
        return false;
    /* from + every*t is k->from modulo k->every. */
    int64_t g = cfx_dim__gcd(every, k->every), both, m = k->every / g;
    int64_t off = k->from - from;
    if (off % g || __builtin_mul_overflow(every, m, &both) || both > INT32_MAX)
        return off % g == 0;
    int64_t t = cfx_floormod_int(off / g, m);
    t = t * inverse(every / g, m) % m;
    k->from = cfx_floormod_int(from + every * t, both);
    k->every = both;
    if (k->range.lo != -CFX_INF)
        k->range.lo += cfx_floormod_int(k->from - k->range.lo, both);
    if (k->range.hi != CFX_INF)
        k->range.hi -= cfx_floormod_int(k->range.hi - k->from, both);
    env->equalities++;
    env->replaced |= cfx_dim_symbols(symbol);
    return k->range.lo <= k->range.hi;
}

/* k*x + c is 0 modulo m. */
static bool solve_modulo(cfx_shape_env *env, cfx_dim symbol, int64_t k,
                         int64_t c, int64_t m)
{
    k = cfx_floormod_int(k, m);
    c = cfx_floormod_int(-c, m);
    int64_t g = cfx_dim__gcd(k, m);
    if (c % g)
        return false;
    m /= g;
    return m == 1 ||
           be_congruent(env, symbol, m, c / g * inverse(k / g, m) % m);
}

/* Does d == 0 say that x is r modulo m? Forms: x % m - r == 0, x - m*(x//m) -
 * r == 0. */
static bool is_remainder(cfx_dim d, cfx_dim *x, int64_t *m, int64_t *r)
{
    cfx_sum s;
    cfx_sum_view(&s, d);
    for (size_t i = 0; i < s.n; i++) {
        cfx_term t = s.term[i];
        const cfx_expr *e = cfx_expr_of(t.of);
        if ((e->kind != CFX_EXPR_MOD && e->kind != CFX_EXPR_FLOORDIV) ||
            !cfx_dim_is_int(e->term[1].of))
            continue;
        *x = e->term[0].of;
        *m = cfx_dim_value(e->term[1].of);
        int64_t k = t.k;
        cfx_dim rest = cfx_dim_sub(NULL, d,
                                   cfx_dim_mul(NULL, cfx_dim_int(k), t.of));
        if (e->kind == CFX_EXPR_FLOORDIV) {
            if (*m <= 1 || k % *m)
                continue;
            k = -k / *m;
            rest = cfx_dim_sub(NULL, rest,
                               cfx_dim_mul(NULL, cfx_dim_int(k), *x));
        }
        if (*m <= 1 || *m > INT32_MAX || !cfx_dim_is_int(rest) ||
            cfx_dim_value(rest) % k)
            continue;
        *r = -(cfx_dim_value(rest) / k);
        return *r >= 0 && *r < *m;
    }
    return false;
}

/* For a sum that is linear in one symbol. */
static bool assume_remainder(cfx_shape_env *env, cfx_dim x, int64_t m,
                             int64_t r, bool *known)
{
    cfx_sum s;
    cfx_sum_view(&s, x);
    *known = s.n == 1 && cfx_dim_is_kind(s.term->of, CFX_EXPR_SYMBOL);
    return !*known || solve_modulo(env, s.term->of, s.term->k, s.c - r, m);
}

/* ---- Equalities ---- */

/* Fix the symbol to `equals`, which does not contain it. */
static bool replace(cfx_shape_env *env, cfx_dim symbol, cfx_dim equals)
{
    cfx_symbol_facts *k = cfx_env_facts_mut(env, symbol);
    if (!k)
        return false;
    cfx_symbol_facts was = *k;
    k->equals = equals;
    env->equalities++;
    env->replaced |= cfx_dim_symbols(symbol);
    if (cfx_dim_is_int(equals)) {
        int64_t v = cfx_dim_value(equals);
        k->range = (cfx_range){v, v};
        return v >= was.range.lo && v <= was.range.hi &&
               cfx_floormod_int(v - was.from, was.every) == 0;
    }
    cfx_dim rest = cfx_dim_affine(1, equals, -was.from);
    if (was.every > 1 &&
        !assume_zero(env, cfx_dim_mod(env, rest, cfx_dim_int(was.every))))
        return false;
    return (was.range.lo == -CFX_INF ||
            assume_ge0(env, cfx_dim_affine(1, equals, -was.range.lo))) &&
           (was.range.hi == CFX_INF ||
            assume_ge0(env, cfx_dim_affine(-1, equals, was.range.hi)));
}

/* Solve d == 0 for its last linear symbol, so that the first names remain
 * free. */
static bool solve(cfx_shape_env *env, cfx_dim d, bool *solved)
{
    cfx_sum s;
    cfx_sum_view(&s, d);
    *solved = true;
    for (size_t i = s.n; i-- > 0;) {
        cfx_term t = s.term[i];
        if (!cfx_dim_is_kind(t.of, CFX_EXPR_SYMBOL))
            continue;
        cfx_dim rest = cfx_dim_sub(env, d,
                                   cfx_dim_mul(env, cfx_dim_int(t.k), t.of));
        if (cfx_dim_is_int(rest))
            return cfx_dim_value(rest) % t.k == 0 &&
                   replace(env, t.of,
                           cfx_dim_int(-(cfx_dim_value(rest) / t.k)));
        if ((t.k == 1 || t.k == -1) && cfx_dim_is_expr(rest) &&
            !contains(rest, cfx_expr_of(t.of)))
            return replace(env, t.of, cfx_dim_affine(-t.k, rest, 0));
    }
    *solved = false;
    return true;
}

static bool assume_zero(cfx_shape_env *env, cfx_dim d)
{
    cfx_dim x;
    int64_t m, r;
    bool done = false;
    if (cfx_dim_is_bad(d))
        return false;
    if (cfx_dim_is_int(d))
        return cfx_dim_is(d, 0);
    if (is_remainder(d, &x, &m, &r) && !assume_remainder(env, x, m, r, &done))
        return false;
    if (done)
        return true;
    if (!solve(env, d, &done))
        return false;
    if (done)
        return true;
    return assume_ge0(env, d) && assume_ge0(env, cfx_dim_neg(env, d));
}

/* ---- Inequalities ---- */

/* Record d >= 0 as a fact, unless the bounds assumed of its parts imply it. */
static bool and_fact(cfx_shape_env *env, cfx_dim d)
{
    return cfx_prove_ge0(env, d) || add_fact(env, d, false);
}

/* k*x + c >= 0 */
static bool narrow(cfx_shape_env *env, cfx_dim symbol, int64_t k, int64_t c)
{
    cfx_symbol_facts *known = cfx_env_facts_mut(env, symbol);
    if (!known)
        return false;
    cfx_range *r = &known->range;
    if (k > 0) {
        int64_t lo = -cfx_floordiv_int(c, k);
        lo += cfx_floormod_int(known->from - lo, known->every);
        r->lo = lo > r->lo ? lo : r->lo;
    } else {
        int64_t hi = cfx_floordiv_int(c, -k);
        hi -= cfx_floormod_int(hi - known->from, known->every);
        r->hi = hi < r->hi ? hi : r->hi;
    }
    if (r->lo == r->hi && cfx_dim_is_bad(known->equals)) {
        known->equals = cfx_dim_int(r->lo);
        env->equalities++;
        env->replaced |= cfx_dim_symbols(symbol);
    }
    return r->lo <= r->hi;
}

/* k*(x//m) + c >= 0 for m > 0 is a bound of x itself. */
static bool bound_quotient(cfx_shape_env *env, const cfx_expr *e, int64_t k,
                           int64_t c)
{
    cfx_dim x = e->term[0].of, v, m = e->term[1].of;
    if (k > 0) {
        /* x//m is at least v: x is at least m*v. */
        v = cfx_dim_mul(env, m, cfx_dim_int(-cfx_floordiv_int(c, k)));
        return assume_ge0(env, cfx_dim_sub(env, x, v));
    }
    /* x//m is at most v: x is at most m*v + m - 1. */
    v = cfx_dim_mul(env, m, cfx_dim_int(cfx_floordiv_int(c, -k) + 1));
    return assume_ge0(env, cfx_dim_sub(env, cfx_dim_affine(1, v, -1), x));
}

/* min(x, y) >= v is x >= v and y >= v. */
static bool bound_operands(cfx_shape_env *env, const cfx_expr *e, cfx_dim d,
                           cfx_term t)
{
    cfx_dim k = cfx_dim_int(t.k);
    cfx_dim rest = cfx_dim_sub(env, d, cfx_dim_mul(env, k, t.of));
    for (size_t i = 0; i < e->n; i++) {
        cfx_dim x = cfx_dim_mul(env, k, e->term[i].of);
        if (!assume_ge0(env, cfx_dim_add(env, rest, x)))
            return false;
    }
    return true;
}

static bool assume_ge0(cfx_shape_env *env, cfx_dim d)
{
    if (cfx_dim_is_int(d))
        return cfx_dim_value(d) >= 0;
    if (cfx_dim_is_bad(d) || cfx_prove_ge0(env, d))
        return true;
    cfx_sum s;
    cfx_sum_view(&s, d);
    for (size_t i = 0; i < s.n; i++) {
        const cfx_expr *e = cfx_expr_of(s.term[i].of);
        if (e->kind == (s.term[i].k > 0 ? CFX_EXPR_MIN : CFX_EXPR_MAX))
            return bound_operands(env, e, d, s.term[i]) && and_fact(env, d);
    }
    if (s.n != 1)
        return add_fact(env, d, false);
    const cfx_expr *e = cfx_expr_of(s.term->of);
    if (e->kind == CFX_EXPR_SYMBOL)
        return narrow(env, s.term->of, s.term->k, s.c);
    if (e->kind == CFX_EXPR_FLOORDIV && cfx_dim_is_int(e->term[1].of) &&
        cfx_dim_value(e->term[1].of) > 0)
        return bound_quotient(env, e, s.term->k, s.c) && and_fact(env, d);
    return add_fact(env, d, false);
}

/* An expression that is not negative if the relation holds. */
static cfx_dim relation_ge0(cfx_shape_env *env, cfx_relation r, cfx_dim d)
{
    return r == CFX_LT ? cfx_dim_affine(-1, d, -1) : cfx_dim_neg(env, d);
}

static bool assume(cfx_shape_env *env, cfx_relation r, cfx_dim d)
{
    if (r == CFX_NE)
        return add_fact(env, d, true);
    return r == CFX_EQ ? assume_zero(env, d)
                       : assume_ge0(env, relation_ge0(env, r, d));
}

/* ---- Contradictions ---- */

/* Can all facts in use hold, as far as ranges tell? */
static bool is_consistent(cfx_shape_env *env)
{
    const cfx_fact *f;
    for (size_t i = 0; (f = cfx_env_fact(env, i)); i++) {
        cfx_dim d = cfx_env_resolve(env, f->d);
        if (cfx_dim_is_bad(d))
            continue;
        if (f->nonzero ? cfx_dim_is(d, 0) : cfx_dim_range(env, d).hi < 0)
            return false;
    }
    return true;
}

static void take_back(cfx_shape_env *env, const cfx_undo *u)
{
    for (size_t i = u->n; i-- > 0;) {
        int64_t number = cfx_expr_of(u->known[i].symbol)->c;
        env->known[number - env->known_from] = u->known[i].was;
    }
    env->facts = u->facts;
    env->equalities = u->equalities;
    env->replaced = u->replaced;
}

static bool assume_or_take_back(cfx_shape_env *env, cfx_relation r, cfx_dim d)
{
    cfx_undo u = {.facts = env->facts,
                  .equalities = env->equalities,
                  .replaced = env->replaced};
    env->undo = &u;
    bool ok = assume(env, r, d) && is_consistent(env);
    env->undo = NULL;
    if (!ok)
        take_back(env, &u);
    /* With too many symbols to normalize, keep it as a fact. */
    if (u.overflow)
        ok = add_fact(env, r == CFX_NE ? d : relation_ge0(env, r, d),
                      r == CFX_NE);
    return ok;
}

/* ---- Text ---- */

/* The positive terms of d, or the negated negative ones. */
static cfx_dim side(cfx_shape_env *env, cfx_dim d, int sign)
{
    cfx_sum s;
    cfx_poly p;
    cfx_sum_view(&s, d);
    cfx_poly_init(&p, env->table);
    for (size_t i = 0; i < s.n; i++)
        if ((s.term[i].k > 0) == (sign > 0))
            cfx_poly_term(&p, sign * s.term[i].k, s.term[i].of);
    if ((s.c > 0) == (sign > 0))
        cfx_poly_const(&p, sign * s.c);
    return cfx_poly_finish(&p);
}

/* Turn a bound of a quotient by an integer into a bound of its dividend: (W +
 * 1)//3 >= 2 is W >= 5. */
static cfx_dim without_quotient(cfx_dim d)
{
    cfx_sum s;
    for (;;) {
        cfx_sum_view(&s, d);
        if (s.n != 1 || !cfx_dim_is_kind(s.term->of, CFX_EXPR_FLOORDIV))
            return d;
        const cfx_expr *e = cfx_expr_of(s.term->of);
        if (!cfx_dim_is_int(e->term[1].of) ||
            cfx_dim_value(e->term[1].of) <= 0)
            return d;
        /* x//m <= v is x - m*v - m + 1 <= 0; x//m >= v is m*v - x <= 0. */
        int64_t k = s.term->k;
        cfx_dim v = cfx_dim_int(k > 0 ? cfx_floordiv_int(-s.c, k)
                                      : -cfx_floordiv_int(-s.c, -k));
        cfx_dim m = e->term[1].of, x = e->term[0].of;
        cfx_dim next = cfx_dim_sub(NULL, x, cfx_dim_mul(NULL, m, v));
        next = k > 0 ? cfx_dim_affine(1, cfx_dim_sub(NULL, next, m), 1)
                     : cfx_dim_neg(NULL, next);
        if (cfx_dim_is_bad(next))
            return d;
        d = next;
    }
}

/* Remove factors coprime to the divisor from a remainder: (2*N) % 3 == 0 is N
 * % 3 == 0. */
static cfx_dim without_factor(cfx_dim d)
{
    cfx_sum s, x;
    cfx_sum_view(&s, d);
    if (s.n != 1 || s.c || !cfx_dim_is_kind(s.term->of, CFX_EXPR_MOD))
        return d;
    const cfx_expr *e = cfx_expr_of(s.term->of);
    cfx_dim m = e->term[1].of;
    if (!cfx_dim_is_int(m) || cfx_dim_value(m) <= 1)
        return d;
    cfx_sum_view(&x, e->term[0].of);
    int64_t g = cfx_dim__gcd(cfx_sum_content(&x), x.c), common;
    while (g > 1 && (common = cfx_dim__gcd(g, cfx_dim_value(m))) > 1)
        g /= common;
    if (g <= 1)
        return d;
    cfx_dim next = cfx_dim_mod(
        NULL, cfx_dim_exactdiv(NULL, e->term[0].of, cfx_dim_int(g)), m);
    return cfx_dim_is_expr(next) ? next : d;
}

/* Normalize a relation: 2*N - 5 <= 0 is N <= 2, and M + 1 <= N is M < N. */
static cfx_dim normal_relation(cfx_relation *r, cfx_dim d)
{
    cfx_sum s;
    if (*r == CFX_LT) {
        d = cfx_dim_affine(1, d, 1);
        *r = CFX_LE;
    }
    bool inequality = *r == CFX_LE;
    if (inequality && cfx_dim_is_expr(d))
        d = without_quotient(d);
    if (!inequality && cfx_dim_is_expr(d))
        d = without_factor(d);
    if (!cfx_dim_is_expr(d))
        return d;
    cfx_sum_view(&s, d);
    int64_t g = cfx_sum_content(&s);
    g = inequality ? g : cfx_dim__gcd(g, s.c);
    cfx_poly p;
    cfx_poly_init(&p, cfx_exprs_either(d, d));
    for (size_t i = 0; i < s.n; i++)
        cfx_poly_term(&p, s.term[i].k / g, s.term[i].of);
    int64_t c = inequality ? -cfx_floordiv_int(-s.c, g) : s.c / g;
    bool both = false;
    for (size_t i = 1; i < s.n && !both; i++)
        both = (s.term[i].k > 0) != (s.term[0].k > 0);
    if (inequality && c == 1 && both) {
        *r = CFX_LT;
        c = 0;
    }
    cfx_poly_const(&p, c);
    return cfx_poly_finish(&p);
}

/* "N == M" for N - M: negative terms move to the other side, and a side with
 * symbols goes left. */
static void put_guard(cfx_shape_env *env, cfx_buf *b, cfx_relation r,
                      cfx_dim d)
{
    static const char *const sign[] = {" == ", " != ", " <= ", " < "};
    static const char *const turned[] = {" == ", " != ", " >= ", " > "};
    cfx_dim left = side(env, d, 1), right = side(env, d, -1);
    bool turn = cfx_dim_is_int(left);
    cfx_buf_dim(b, turn ? right : left);
    cfx_buf_puts(b, turn ? turned[r] : sign[r]);
    cfx_buf_dim(b, turn ? left : right);
}

/* Store the text if it is new; NULL when out of memory. */
static const char *keep_text(cfx_shape_env *env, const cfx_buf *b, bool *added)
{
    if (b->failed || cfx_map_get(&env->texts, b->s, b->len)) {
        *added = false;
        return b->failed ? NULL : b->s;
    }
    char *text = cfx_arena_strdup(&env->arena, b->s, b->len);
    return text && cfx_map_put(&env->texts, text, b->len, added) ? text : NULL;
}

bool cfx_env_record(cfx_shape_env *env, cfx_relation r, cfx_dim d)
{
    bool added = false;
    cfx_buf b;
    cfx_relation same = r;
    cfx_dim normal = normal_relation(&same, d);
    if (cfx_dim_is_expr(normal)) {
        r = same;
        d = normal;
    }
    cfx_buf_init(&b, env->ctx);
    put_guard(env, &b, r, d);
    const char *text = keep_text(env, &b, &added);
    bool ok = text && !cfx_grow(env->ctx, env->guard, env->guard_cap,
                                env->guards + 1, NULL);
    if (!ok)
        cfx_exprs_no_memory(env->table);
    if (added) {
        ok = ok && assume_or_take_back(env, r, d);
        if (ok)
            env->guard[env->guards++] = text;
        else
            cfx_map_remove(&env->texts, text, strlen(text));
    }
    cfx_buf_release(&b);
    return ok;
}
