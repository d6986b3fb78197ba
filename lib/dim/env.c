/*
 * env -- symbols, and relations between extents.
 *
 * A relation of a and b becomes one of a - b and zero, without denominators,
 * after substitution of the symbols that guards fix. An unproved relation
 * becomes a guard (guard.c).
 */
#define _GNU_SOURCE 1
#include "dim/env.h"

#include <ctype.h>
#include <stdio.h>

typedef enum answer { NO, YES, UNKNOWN } answer;

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
    if (!cfx_mutex_init_recursive(&env->lock)) {
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
    cfx_free(ctx, env->symbol, env->symbol_cap * sizeof(*env->symbol));
    cfx_free(ctx, env->fact, env->fact_cap * sizeof(*env->fact));
    cfx_free(ctx, env->guard, env->guard_cap * sizeof(*env->guard));
    cfx_map_release(&env->texts);
    cfx_arena_release(&env->arena);
    cfx_mutex_destroy(&env->lock);
    cfx_free(ctx, env, sizeof(*env));
}

/* ---- Symbols ---- */

const cfx_symbol_facts *cfx_env_facts_of(const cfx_shape_env *env,
                                         const cfx_expr *s)
{
    if (!env || s->c < env->known_from ||
        (uint64_t)(s->c - env->known_from) >= env->known_cap)
        return NULL;
    const cfx_symbol_facts *k = &env->known[s->c - env->known_from];
    return cfx_dim_is_bad(k->symbol) ? NULL : k;
}

static void know_nothing(cfx_symbol_facts *k, size_t n)
{
    for (size_t i = 0; i < n; i++)
        k[i] = (cfx_symbol_facts){
            CFX_DIM_BAD, {-CFX_INF, CFX_INF}, CFX_DIM_BAD, 1, 0, false};
}

/* Extend the table to numbers below the first. */
static bool know_before(cfx_shape_env *env, int64_t number)
{
    size_t more = (size_t)(env->known_from - number), old = env->known_cap;
    cfx_symbol_facts *k = cfx_alloc(env->ctx, (old + more) * sizeof(*k));
    if (!k)
        return false;
    know_nothing(k, more);
    memcpy(k + more, env->known, old * sizeof(*k));
    cfx_free(env->ctx, env->known, old * sizeof(*k));
    env->known = k;
    env->known_cap = old + more;
    env->known_from = number;
    return true;
}

cfx_symbol_facts *cfx_env_facts_mut(cfx_shape_env *env, cfx_dim symbol)
{
    int64_t number = cfx_expr_of(symbol)->c;
    if (!env->known_cap)
        env->known_from = number;
    if (number < env->known_from && !know_before(env, number)) {
        cfx_exprs_no_memory(env->table);
        return NULL;
    }
    size_t i = (size_t)(number - env->known_from), old = env->known_cap;
    if (cfx_grow(env->ctx, env->known, env->known_cap, i + 1, NULL)) {
        cfx_exprs_no_memory(env->table);
        return NULL;
    }
    know_nothing(env->known + old, env->known_cap - old);
    cfx_undo *u = env->undo;
    if (u && u->n < sizeof(u->known) / sizeof(*u->known)) {
        u->known[u->n].symbol = symbol;
        u->known[u->n++].was = env->known[i];
    } else if (u) {
        u->overflow = true;
        return NULL;
    }
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

static cfx_dim declare(cfx_shape_env *env, cfx_dim symbol, int64_t min,
                       bool unbacked)
{
    if (cfx_dim_is_bad(symbol) || min > CFX_DIM_MAX)
        return CFX_DIM_BAD;
    if (min < -CFX_DIM_MAX)
        min = -CFX_INF;
    bool old = cfx_env_facts_of(env, cfx_expr_of(symbol)) != NULL;
    if (cfx_grow(env->ctx, env->symbol, env->symbol_cap, env->symbols + 1,
                 NULL))
        return cfx_exprs_no_memory(env->table);
    cfx_symbol_facts *k = cfx_env_facts_mut(env, symbol);
    if (!k)
        return cfx_exprs_no_memory(env->table);
    if (!old) {
        env->symbol[env->symbols++] = symbol;
        k->unbacked = unbacked;
    }
    if (min > k->range.lo && cfx_dim_is_bad(k->equals))
        k->range.lo = min;
    return symbol;
}

cfx_dim cfx_dim_symbol(cfx_shape_env *env, const char *name, int64_t min)
{
    if (!is_name(name))
        return CFX_DIM_BAD;
    cfx_env_lock(env);
    cfx_dim d = cfx_expr_symbol(env->table, name, strlen(name));
    d = declare(env, d, min, false);
    cfx_env_unlock(env);
    return d;
}

cfx_dim cfx_dim_symbol_default(cfx_shape_env *env, const char *name,
                               size_t len)
{
    cfx_env_lock(env);
    cfx_dim d = cfx_expr_symbol(env->table, name, len);
    if (!cfx_dim_is_bad(d) && !cfx_env_facts_of(env, cfx_expr_of(d)))
        d = declare(env, d, 1, false);
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
    } while (!cfx_dim_is_bad(d) && cfx_env_facts_of(env, cfx_expr_of(d)));
    d = declare(env, d, 0, true);
    cfx_env_unlock(env);
    return d;
}

/* The nearest value to an end of the range that is k->from modulo k->every. */
static int64_t end_of(const cfx_symbol_facts *k, int64_t end, bool up)
{
    if (end == CFX_INF || end == -CFX_INF)
        return end;
    return up ? end + cfx_floormod_int(k->from - end, k->every)
              : end - cfx_floormod_int(end - k->from, k->every);
}

/* Narrow the range of a symbol; for any other dim only test whether a value is
 * left. False if none is; then nothing has changed. */
static bool keep_within(cfx_shape_env *env, cfx_dim d, int64_t min,
                        int64_t max)
{
    cfx_range r = cfx_dim_range(env, d);
    r.lo = min > r.lo ? min : r.lo;
    r.hi = max < r.hi ? max : r.hi;
    cfx_symbol_facts *k = cfx_dim_symbol_name(d) ? cfx_env_facts_mut(env, d)
                                                 : NULL;
    if (!k || min > CFX_DIM_MAX || max < -CFX_DIM_MAX)
        return r.lo <= r.hi && min <= CFX_DIM_MAX && max >= -CFX_DIM_MAX;
    r.lo = end_of(k, r.lo, true);
    r.hi = end_of(k, r.hi, false);
    if (r.lo > r.hi)
        return false;
    k->range = r;
    if (r.lo == r.hi) {
        k->equals = cfx_dim_int(r.lo);
        env->equalities++;
        env->replaced |= cfx_dim_symbols(d);
    }
    return true;
}

cfx_status cfx_dim_limit(cfx_shape_env *env, cfx_dim symbol, int64_t min,
                         int64_t max, cfx_error *err)
{
    const char *name = cfx_dim_symbol_name(symbol);
    if (!name)
        return cfx_fail(err, CFX_EINVAL, "only a symbol has a range to set");
    cfx_env_lock(env);
    cfx_status st = CFX_OK;
    cfx_dim d = declare(env, symbol, -CFX_INF, false);
    if (!cfx_dim_is_bad(d))
        d = cfx_env_resolve(env, symbol);
    if (cfx_dim_is_bad(d))
        st = cfx_fail(err, CFX_ENOMEM, "no memory for a symbol");
    else if (!keep_within(env, d, min < -CFX_DIM_MAX ? -CFX_INF : min,
                          max > CFX_DIM_MAX ? CFX_INF : max))
        st = cfx_fail(err, CFX_EINVAL, "no value is left for symbol %s", name);
    cfx_env_unlock(env);
    return st;
}

void cfx_dim_bounds(cfx_shape_env *env, cfx_dim d, int64_t *min, int64_t *max)
{
    cfx_env_lock(env);
    cfx_range r = cfx_dim_range(env, env ? cfx_env_resolve(env, d) : d);
    cfx_env_unlock(env);
    *min = r.lo == -CFX_INF ? CFX_DIM_NO_MIN : r.lo;
    *max = r.hi == CFX_INF ? CFX_DIM_NO_MAX : r.hi;
}

size_t cfx_shape_env_symbols(const cfx_shape_env *env)
{
    return env->symbols;
}

void cfx_shape_env_symbol(const cfx_shape_env *env, size_t i, cfx_symbol *out)
{
    cfx_shape_env *to_lock = (cfx_shape_env *)env;
    cfx_env_lock(to_lock);
    assert(i < env->symbols);
    const cfx_expr *e = cfx_expr_of(env->symbol[i]);
    const cfx_symbol_facts *k = cfx_env_facts_of(env, e);
    *out = (cfx_symbol){
        .name = e->name,
        .dim = env->symbol[i],
        .min = k->range.lo == -CFX_INF ? CFX_DIM_NO_MIN : k->range.lo,
        .max = k->range.hi == CFX_INF ? CFX_DIM_NO_MAX : k->range.hi,
        .unbacked = k->unbacked,
        .equals = k->equals,
    };
    cfx_env_unlock(to_lock);
}

/* ---- Substitution of fixed symbols ---- */

/*
 * A symbol is fixed to an expression over symbols that were free at that time,
 * so that substitutions have no cycles, but may form long chains. Results are
 * cached; beyond this depth a symbol is not substituted, which is sound.
 */
enum { RESOLVE_DEPTH_MAX = 32 };

static cfx_dim resolve_symbol(cfx_subst *s, cfx_dim symbol)
{
    const cfx_expr *e = cfx_expr_of(symbol);
    cfx_shape_env *env = s->env;
    const cfx_symbol_facts *k = cfx_env_facts_of(env, e);
    if (!k || cfx_dim_is_bad(k->equals) || s->depth > RESOLVE_DEPTH_MAX)
        return symbol;
    s->depth++;
    cfx_dim r = cfx_subst_dim(s, k->equals);
    s->depth--;
    if (cfx_dim_is_bad(r))
        return symbol;
    /* The substitution may have asked questions, which may reallocate
     * env->known. */
    if (!env->undo)
        env->known[e->c - env->known_from].equals = r;
    return r;
}

cfx_dim cfx_env_resolve(cfx_shape_env *env, cfx_dim d)
{
    cfx_subst s = {.env = env, .mask = env->replaced, .of = resolve_symbol};
    return cfx_subst_dim(&s, d);
}

cfx_dim cfx_dim_simplify(cfx_shape_env *env, cfx_dim d)
{
    cfx_env_lock(env);
    cfx_dim r = cfx_env_resolve(env, d);
    cfx_env_unlock(env);
    return cfx_dim_is_bad(r) ? d : r;
}


/* Substitute fixed symbols in the facts that are used. */
static void resolve_facts(cfx_shape_env *env)
{
    if (env->facts_at == env->equalities)
        return;
    env->facts_at = env->equalities;
    size_t first = env->facts > CFX_FACTS_USED ? env->facts - CFX_FACTS_USED
                                               : 0;
    for (size_t i = first; i < env->facts; i++) {
        cfx_dim d = cfx_env_resolve(env, env->fact[i].d);
        if (!cfx_dim_is_bad(d))
            env->fact[i].d = d;
    }
}

/* ---- Provable relations ---- */

static answer ask_eq(cfx_shape_env *env, cfx_dim d)
{
    if (cfx_dim_is_int(d))
        return cfx_dim_is(d, 0) ? YES : NO;
    if (cfx_prove_nonzero(env, d))
        return NO;
    return cfx_prove_ge0(env, d) && cfx_prove_ge0(env, cfx_dim_neg(env, d))
               ? YES
               : UNKNOWN;
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

size_t cfx_shape_env_guards(const cfx_shape_env *env)
{
    return env->guards;
}

const char *cfx_shape_env_guard(const cfx_shape_env *env, size_t i)
{
    cfx_shape_env *to_lock = (cfx_shape_env *)env;
    cfx_env_lock(to_lock);
    assert(i < env->guards);
    const char *text = env->guard[i];
    cfx_env_unlock(to_lock);
    return text;
}

/* ---- Queries ---- */

static answer ask(cfx_shape_env *env, cfx_relation r, cfx_dim d)
{
    answer a;
    switch (r) {
    case CFX_EQ: return ask_eq(env, d);
    case CFX_NE:
        a = ask_eq(env, d);
        return a == UNKNOWN ? a : a == YES ? NO : YES;
    case CFX_LE: return ask_le(env, d);
    case CFX_LT: return ask_le(env, cfx_dim_affine(1, d, 1));
    }
    return UNKNOWN;
}

/* a - b after substitution, times its denominator. */
static cfx_dim difference(cfx_shape_env *env, cfx_dim a, cfx_dim b)
{
    int64_t den;
    cfx_dim d = cfx_dim_sub(env, a, b);
    if (env && env->equalities) {
        resolve_facts(env);
        d = cfx_env_resolve(env, d);
    }
    return cfx_dim_numerator(d, &den);
}

static bool question(cfx_shape_env *env, cfx_relation r, cfx_dim a, cfx_dim b,
                     bool may_record)
{
    if (cfx_dim_is_bad(a) || cfx_dim_is_bad(b))
        return false;
    bool yes = false;
    cfx_env_lock(env);
    cfx_dim d = difference(env, a, b);
    if (!cfx_dim_is_bad(d)) {
        answer found = ask(env, r, d);
        yes = found == YES || (found == UNKNOWN && env && may_record &&
                               cfx_env_record(env, r, d));
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
    return question(env, CFX_EQ, a, b, true);
}

bool cfx_dim_ne(cfx_shape_env *env, cfx_dim a, cfx_dim b)
{
    if (cfx_dim_is_int(a) && cfx_dim_is_int(b))
        return !cfx_dim_same(a, b);
    return question(env, CFX_NE, a, b, true);
}

bool cfx_dim_le(cfx_shape_env *env, cfx_dim a, cfx_dim b)
{
    if (cfx_dim_is_int(a) && cfx_dim_is_int(b))
        return cfx_dim_value(a) <= cfx_dim_value(b);
    return question(env, CFX_LE, a, b, true);
}

bool cfx_dim_lt(cfx_shape_env *env, cfx_dim a, cfx_dim b)
{
    if (cfx_dim_is_int(a) && cfx_dim_is_int(b))
        return cfx_dim_value(a) < cfx_dim_value(b);
    return question(env, CFX_LT, a, b, true);
}

bool cfx_dim_known_eq(cfx_shape_env *env, cfx_dim a, cfx_dim b)
{
    if (cfx_dim_same(a, b))
        return !cfx_dim_is_bad(a);
    if (cfx_dim_is_int(a) && cfx_dim_is_int(b))
        return false;
    return question(env, CFX_EQ, a, b, false);
}

bool cfx_dim_known_le(cfx_shape_env *env, cfx_dim a, cfx_dim b)
{
    if (cfx_dim_is_int(a) && cfx_dim_is_int(b))
        return cfx_dim_value(a) <= cfx_dim_value(b);
    return question(env, CFX_LE, a, b, false);
}
