/*
 * env -- symbols, questions, and the guards that answer them.
 *
 * A question about a and b is one about the sum a - b. What a guard says is
 * used from then on: an equality that tells what a symbol is replaces it in
 * later questions, a bound of a symbol narrows its range, and all else is kept
 * as a fact. So nothing is recorded that follows from what was.
 */
#define _GNU_SOURCE 1
#include "base/env.h"

#include <ctype.h>
#include <stdio.h>

typedef enum answer { NO, YES, UNKNOWN } answer;
typedef enum relation { EQ, NE, LE, LT } relation;

static bool assume_ge0(cfx_shape_env *env, cfx_dim d);

/* ---- Life ---- */

cfx_status cfx_shape_env_new(cfx_shape_env **out, cfx_context *ctx,
                             cfx_error *err)
{
    *out = NULL;
    cfx_exprs *table = cfx_exprs_of(ctx);
    cfx_shape_env *env = table ? cfx_calloc(ctx, 1, sizeof(*env)) : NULL;
    if (!env)
        return cfx_fail(err, CFX_ENOMEM, "no memory for symbols");
    env->ctx = ctx;
    env->table = table;
    cfx_arena_init(&env->arena, ctx);
    cfx_map_init(&env->texts, ctx);
    pthread_mutexattr_t attr;
    bool ok = !pthread_mutexattr_init(&attr);
    if (ok) {
        ok = !pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE) &&
             !pthread_mutex_init(&env->lock, &attr);
        pthread_mutexattr_destroy(&attr);
    }
    if (!ok) {
        cfx_free(ctx, env, sizeof(*env));
        return cfx_fail(err, CFX_ENOMEM, "no memory for a lock");
    }
    *out = env;
    return CFX_OK;
}

void cfx_shape_env_free(cfx_shape_env *env)
{
    if (!env)
        return;
    cfx_context *ctx = env->ctx;
    cfx_free(ctx, env->known, env->known_cap * sizeof(*env->known));
    cfx_free(ctx, env->fact, env->fact_cap * sizeof(*env->fact));
    cfx_free(ctx, env->guard, env->guard_cap * sizeof(*env->guard));
    cfx_map_release(&env->texts);
    cfx_arena_release(&env->arena);
    pthread_mutex_destroy(&env->lock);
    cfx_free(ctx, env, sizeof(*env));
}

/* Room for one more; false on lack of memory. */
static bool reserve(cfx_context *ctx, void *array, size_t *cap, size_t len,
                    size_t each)
{
    void **p = array;
    if (len < *cap)
        return true;
    size_t more = len < 8 ? 8 : len * 2;
    void *q = cfx_realloc(ctx, *p, *cap * each, more * each);
    if (!q)
        return false;
    *p = q;
    *cap = more;
    return true;
}

/* ---- Symbols ---- */

const cfx_known *cfx_env_known(const cfx_shape_env *env, const cfx_expr *s)
{
    if (!env || (uint64_t)s->c >= env->known_cap)
        return NULL;
    const cfx_known *k = &env->known[s->c];
    return cfx_dim_is_bad(k->symbol) ? NULL : k;
}

static cfx_known *know(cfx_shape_env *env, cfx_dim symbol)
{
    size_t i = (size_t)cfx_expr_of(symbol)->c, old = env->known_cap;
    if (!reserve(env->ctx, &env->known, &env->known_cap, i,
                 sizeof(*env->known)))
        return NULL;
    for (; old < env->known_cap; old++)
        env->known[old] = (cfx_known){
            CFX_DIM_BAD, {-CFX_INF, CFX_INF}, CFX_DIM_BAD};
    env->known[i].symbol = symbol;
    return &env->known[i];
}

static bool is_name(const char *s)
{
    if (!isalpha((unsigned char)*s) && *s != '_')
        return false;
    while (isalnum((unsigned char)*s) || *s == '_')
        s++;
    return !*s;
}

static cfx_dim declare(cfx_shape_env *env, cfx_dim symbol, int64_t min)
{
    if (cfx_dim_is_bad(symbol))
        return CFX_DIM_BAD;
    cfx_known *k = know(env, symbol);
    if (!k)
        return cfx_exprs_no_memory(env->table);
    if (min > k->range.lo)
        k->range.lo = min;
    return symbol;
}

cfx_dim cfx_dim_symbol(cfx_shape_env *env, const char *name, int64_t min)
{
    if (!is_name(name))
        return CFX_DIM_BAD;
    cfx_env_lock(env);
    cfx_dim d = cfx_expr_symbol(env->table, name, strlen(name));
    d = declare(env, d, min);
    cfx_env_unlock(env);
    return d;
}

cfx_dim cfx_dim_symbol_default(cfx_shape_env *env, const char *name,
                               size_t len)
{
    cfx_env_lock(env);
    cfx_dim d = cfx_expr_symbol(env->table, name, len);
    if (!cfx_dim_is_bad(d) && !cfx_env_known(env, cfx_expr_of(d)))
        d = declare(env, d, 1);
    cfx_env_unlock(env);
    return d;
}

cfx_dim cfx_dim_unbacked(cfx_shape_env *env)
{
    cfx_dim d;
    char name[32];
    cfx_env_lock(env);
    do {
        snprintf(name, sizeof(name), "u%lld", (long long)env->unbacked++);
        d = cfx_expr_symbol(env->table, name, strlen(name));
    } while (!cfx_dim_is_bad(d) && cfx_env_known(env, cfx_expr_of(d)));
    d = declare(env, d, 0);
    cfx_env_unlock(env);
    return d;
}

/* ---- Replacing symbols by what they equal ---- */

/*
 * A symbol is replaced by an expression over symbols that were not replaced at
 * that time, so there are no circles, but there may be long chains; what was
 * found is kept, and beyond some depth a symbol stays as it is, which is right
 * too, if less useful.
 */
enum { RESOLVE_DEPTH_MAX = 32 };

static cfx_dim resolve(cfx_shape_env *env, cfx_dim d, int depth);

static cfx_dim resolve_symbol(cfx_shape_env *env, const cfx_expr *e,
                              cfx_dim d, int depth)
{
    cfx_known *k = cfx_env_known(env, e) ? &env->known[e->c] : NULL;
    if (!k || cfx_dim_is_bad(k->equals) || depth > RESOLVE_DEPTH_MAX)
        return d;
    cfx_dim r = resolve(env, k->equals, depth + 1);
    if (cfx_dim_is_bad(r))
        return d;
    k->equals = r;
    return r;
}

static cfx_dim resolve_atom(cfx_shape_env *env, cfx_dim d, int depth)
{
    const cfx_expr *e = cfx_expr_of(d);
    if (e->kind == CFX_EXPR_SYMBOL)
        return resolve_symbol(env, e, d, depth);
    cfx_dim r = resolve(env, e->term[0].of, depth);
    for (size_t i = 1; i < e->n; i++) {
        cfx_dim x = resolve(env, e->term[i].of, depth);
        r = e->kind == CFX_EXPR_FLOORDIV ? cfx_dim_floordiv(env, r, x)
            : e->kind == CFX_EXPR_MOD    ? cfx_dim_mod(env, r, x)
            : e->kind == CFX_EXPR_MIN    ? cfx_dim_min(env, r, x)
                                         : cfx_dim_max(env, r, x);
    }
    return r;
}

static cfx_dim resolve_product(cfx_shape_env *env, cfx_dim d, int depth)
{
    cfx_factors f;
    cfx_factors_view(&f, d);
    cfx_dim r = cfx_dim_int(1);
    for (size_t i = 0; i < f.n; i++) {
        cfx_dim x = resolve_atom(env, f.term[i].of, depth);
        for (int64_t k = 0; k < f.term[i].k; k++)
            r = cfx_dim_mul(env, r, x);
    }
    return r;
}

static cfx_dim resolve(cfx_shape_env *env, cfx_dim d, int depth)
{
    if (!(cfx_dim_symbols(d) & env->replaced))
        return d;
    cfx_sum s;
    cfx_poly p;
    cfx_sum_view(&s, d);
    cfx_poly_init(&p, env->table);
    cfx_poly_const(&p, s.c);
    for (size_t i = 0; i < s.n; i++)
        cfx_poly_dim(&p, s.term[i].k,
                     resolve_product(env, s.term[i].of, depth));
    return cfx_poly_finish(&p);
}

/* Bring the facts that are used into terms of what is not replaced. */
static void resolve_facts(cfx_shape_env *env)
{
    if (env->facts_at == env->equalities)
        return;
    env->facts_at = env->equalities;
    size_t first = env->facts > CFX_FACTS_USED ? env->facts - CFX_FACTS_USED
                                               : 0;
    for (size_t i = first; i < env->facts; i++) {
        cfx_dim d = resolve(env, env->fact[i].d, 0);
        if (!cfx_dim_is_bad(d))
            env->fact[i].d = d;
    }
}

/* ---- What follows ---- */

static answer ask_eq(cfx_shape_env *env, cfx_dim d)
{
    if (cfx_dim_is_int(d))
        return cfx_dim_is(d, 0) ? YES : NO;
    if (cfx_prove_nonzero(env, d))
        return NO;
    return cfx_prove_ge0(env, d) &&
           cfx_prove_ge0(env, cfx_dim_neg(env, d)) ? YES : UNKNOWN;
}

/* Is d <= 0? */
static answer ask_le(cfx_shape_env *env, cfx_dim d)
{
    if (cfx_dim_is_int(d))
        return cfx_dim_value(d) <= 0 ? YES : NO;
    if (cfx_prove_ge0(env, cfx_dim_neg(env, d)))
        return YES;
    return cfx_prove_ge0(env, cfx_dim_affine(1, d, -1)) ? NO : UNKNOWN;
}

/* ---- Taking something to hold ---- */

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
    if (!reserve(env->ctx, &env->fact, &env->fact_cap, env->facts,
                 sizeof(*env->fact)))
        return false;
    env->fact[env->facts++] = (cfx_fact){d, nonzero};
    return true;
}

/* From now on the symbol is `equals`, which does not contain it. */
static bool replace(cfx_shape_env *env, cfx_dim symbol, cfx_dim equals)
{
    cfx_known *k = know(env, symbol);
    if (!k)
        return false;
    cfx_range r = k->range;
    k->equals = equals;
    env->equalities++;
    env->replaced |= cfx_dim_symbols(symbol);
    if (cfx_dim_is_int(equals)) {
        k->range = (cfx_range){cfx_dim_value(equals), cfx_dim_value(equals)};
        return true;
    }
    return (r.lo == -CFX_INF ||
            assume_ge0(env, cfx_dim_affine(1, equals, -r.lo))) &&
           (r.hi == CFX_INF ||
            assume_ge0(env, cfx_dim_affine(-1, equals, r.hi)));
}

/* Solve d == 0 for a symbol: the last that stands alone, so that the names
 * which come first remain. */
static bool assume_zero(cfx_shape_env *env, cfx_dim d)
{
    cfx_sum s;
    cfx_sum_view(&s, d);
    for (size_t i = s.n; i-- > 0;) {
        cfx_term t = s.term[i];
        if (!cfx_dim_is_kind(t.of, CFX_EXPR_SYMBOL))
            continue;
        cfx_dim rest = cfx_dim_sub(
            env, d, cfx_dim_mul(env, cfx_dim_int(t.k), t.of));
        if (cfx_dim_is_int(rest) && cfx_dim_value(rest) % t.k == 0)
            return replace(env, t.of,
                           cfx_dim_int(-(cfx_dim_value(rest) / t.k)));
        if ((t.k == 1 || t.k == -1) && cfx_dim_is_expr(rest) &&
            !contains(rest, cfx_expr_of(t.of)))
            return replace(env, t.of, cfx_dim_affine(-t.k, rest, 0));
    }
    return add_fact(env, d, false) &&
           add_fact(env, cfx_dim_neg(env, d), false);
}

static bool assume_ge0(cfx_shape_env *env, cfx_dim d)
{
    if (cfx_dim_is_bad(d) || cfx_prove_ge0(env, d))
        return true;
    cfx_sum s;
    cfx_sum_view(&s, d);
    if (s.n != 1 || !cfx_dim_is_kind(s.term[0].of, CFX_EXPR_SYMBOL))
        return add_fact(env, d, false);
    /* k*x + c >= 0 */
    cfx_known *known = know(env, s.term[0].of);
    if (!known)
        return false;
    int64_t k = s.term[0].k;
    if (k > 0)
        known->range.lo = -cfx_floordiv_int(s.c, k);
    else
        known->range.hi = cfx_floordiv_int(s.c, -k);
    return true;
}

static bool assume(cfx_shape_env *env, relation r, cfx_dim d)
{
    switch (r) {
    case EQ:
        return assume_zero(env, d);
    case NE:
        return add_fact(env, d, true);
    case LE:
        return assume_ge0(env, cfx_dim_neg(env, d));
    case LT:
        return assume_ge0(env, cfx_dim_affine(-1, d, -1));
    }
    return false;
}

/* ---- Guards ---- */

/* The positive terms of d, or the negative ones without their sign. */
static cfx_dim side(cfx_shape_env *env, cfx_dim d, int sign, int64_t by)
{
    cfx_sum s;
    cfx_poly p;
    cfx_sum_view(&s, d);
    cfx_poly_init(&p, env->table);
    for (size_t i = 0; i < s.n; i++)
        if ((s.term[i].k > 0) == (sign > 0))
            cfx_poly_term(&p, sign * s.term[i].k / by, s.term[i].of);
    if ((s.c > 0) == (sign > 0))
        cfx_poly_const(&p, sign * s.c / by);
    return cfx_poly_finish(&p);
}

static void put_dim(cfx_buf *b, cfx_dim d)
{
    size_t n = cfx_dim_format(d, NULL, 0);
    if (!cfx_buf_reserve(b, n))
        return;
    cfx_dim_format(d, b->s + b->len, n + 1);
    b->len += n;
}

/* "N == M" of N - M: what is negative stands on the other side, and a side
 * with symbols stands on the left. */
static void put_guard(cfx_shape_env *env, cfx_buf *b, relation r, cfx_dim d)
{
    static const char *const sign[] = {" == ", " != ", " <= ", " < "};
    static const char *const turned[] = {" == ", " != ", " >= ", " > "};
    cfx_sum s;
    cfx_sum_view(&s, d);
    int64_t g = cfx_gcd(cfx_sum_content(&s), s.c);
    cfx_dim left = side(env, d, 1, g), right = side(env, d, -1, g);
    bool turn = cfx_dim_is_int(left);
    put_dim(b, turn ? right : left);
    cfx_buf_puts(b, turn ? turned[r] : sign[r]);
    put_dim(b, turn ? left : right);
}

/* The text, kept, and whether it is new; NULL on lack of memory. */
static const char *keep_text(cfx_shape_env *env, const cfx_buf *b, bool *added)
{
    if (b->failed || cfx_map_get(&env->texts, b->s, b->len)) {
        *added = false;
        return b->failed ? NULL : b->s;
    }
    char *text = cfx_arena_strdup(&env->arena, b->s, b->len);
    return text && cfx_map_put(&env->texts, text, b->len, added) ? text : NULL;
}

/* From now on the relation holds. False on lack of memory. */
static bool record(cfx_shape_env *env, relation r, cfx_dim d)
{
    bool added = false;
    cfx_buf b;
    cfx_buf_init(&b, env->ctx);
    put_guard(env, &b, r, d);
    const char *text = keep_text(env, &b, &added);
    bool ok = text != NULL;
    if (added) {
        ok = reserve(env->ctx, &env->guard, &env->guard_cap, env->guards,
                     sizeof(*env->guard)) && assume(env, r, d);
        if (ok)
            env->guard[env->guards++] = text;
        else
            cfx_map_remove(&env->texts, text, strlen(text));
    }
    cfx_buf_release(&b);
    return ok;
}

size_t cfx_shape_env_guards(const cfx_shape_env *env)
{
    return env->guards;
}

const char *cfx_shape_env_guard(const cfx_shape_env *env, size_t i)
{
    assert(i < env->guards);
    return env->guard[i];
}

/* ---- Questions ---- */

static answer ask(cfx_shape_env *env, relation r, cfx_dim d)
{
    answer a;
    switch (r) {
    case EQ:
        return ask_eq(env, d);
    case NE:
        a = ask_eq(env, d);
        return a == UNKNOWN ? a : a == YES ? NO : YES;
    case LE:
        return ask_le(env, d);
    case LT:
        return ask_le(env, cfx_dim_affine(1, d, 1));
    }
    return UNKNOWN;
}

/* a - b in terms of what is not replaced. */
static cfx_dim difference(cfx_shape_env *env, cfx_dim a, cfx_dim b)
{
    cfx_dim d = cfx_dim_sub(env, a, b);
    if (!env || !env->equalities)
        return d;
    resolve_facts(env);
    return resolve(env, d, 0);
}

static bool question(cfx_shape_env *env, relation r, cfx_dim a, cfx_dim b,
                     bool may_record)
{
    if (cfx_dim_is_bad(a) || cfx_dim_is_bad(b))
        return false;
    bool yes = false;
    cfx_env_lock(env);
    cfx_dim d = difference(env, a, b);
    if (!cfx_dim_is_bad(d)) {
        answer found = ask(env, r, d);
        yes = found == YES ||
              (found == UNKNOWN && env && may_record && record(env, r, d));
    }
    cfx_env_unlock(env);
    return yes;
}

bool cfx_dim_eq(cfx_shape_env *env, cfx_dim a, cfx_dim b)
{
    if (cfx_dim_is_int(a) && cfx_dim_is_int(b))
        return cfx_dim_same(a, b);
    if (cfx_dim_same(a, b))
        return !cfx_dim_is_bad(a);
    return question(env, EQ, a, b, true);
}

bool cfx_dim_ne(cfx_shape_env *env, cfx_dim a, cfx_dim b)
{
    if (cfx_dim_is_int(a) && cfx_dim_is_int(b))
        return !cfx_dim_same(a, b);
    return question(env, NE, a, b, true);
}

bool cfx_dim_le(cfx_shape_env *env, cfx_dim a, cfx_dim b)
{
    if (cfx_dim_is_int(a) && cfx_dim_is_int(b))
        return cfx_dim_value(a) <= cfx_dim_value(b);
    return question(env, LE, a, b, true);
}

bool cfx_dim_lt(cfx_shape_env *env, cfx_dim a, cfx_dim b)
{
    if (cfx_dim_is_int(a) && cfx_dim_is_int(b))
        return cfx_dim_value(a) < cfx_dim_value(b);
    return question(env, LT, a, b, true);
}

bool cfx_dim_known_eq(cfx_shape_env *env, cfx_dim a, cfx_dim b)
{
    if (cfx_dim_same(a, b))
        return !cfx_dim_is_bad(a);
    if (cfx_dim_is_int(a) && cfx_dim_is_int(b))
        return false;
    return question(env, EQ, a, b, false);
}

bool cfx_dim_known_le(cfx_shape_env *env, cfx_dim a, cfx_dim b)
{
    if (cfx_dim_is_int(a) && cfx_dim_is_int(b))
        return cfx_dim_value(a) <= cfx_dim_value(b);
    return question(env, LE, a, b, false);
}
