/*
 * prove -- ranges of extents, and what follows from them.
 *
 * All of it is sound and none complete: to say "unknown" is always allowed.
 */
#include "base/env.h"

/* Rules are tried one inside the other at most so deep. */
enum { TRIES = 4, SHIFT_TERMS_MAX = 32, SHIFT_DEGREE_MAX = 6,
       OPERANDS_TRIED = 4 };

/* ---- Integers with infinities ---- */

static int64_t clip(int64_t v)
{
    return v < -CFX_INF ? -CFX_INF : v;
}

static bool is_inf(int64_t v)
{
    return v == CFX_INF || v == -CFX_INF;
}

/* The sum of two lower ends, or of two upper ones: these are never infinite
 * in different directions. */
static int64_t add_end(int64_t a, int64_t b)
{
    int64_t v;
    if (is_inf(a))
        return a;
    if (is_inf(b))
        return b;
    if (__builtin_add_overflow(a, b, &v))
        return a < 0 ? -CFX_INF : CFX_INF;
    return clip(v);
}

static int64_t mul_end(int64_t a, int64_t b)
{
    int64_t v;
    if (a == 0 || b == 0)
        return 0;
    if (is_inf(a) || is_inf(b) || __builtin_mul_overflow(a, b, &v))
        return (a < 0) != (b < 0) ? -CFX_INF : CFX_INF;
    return clip(v);
}

static int64_t div_end(int64_t a, int64_t b)
{
    if (is_inf(a))
        return b > 0 ? a : -a;
    if (is_inf(b))
        return a == 0 || (a < 0) == (b < 0) ? 0 : -1;
    return cfx_floordiv_int(a, b);
}

static cfx_range hull(const int64_t corner[4])
{
    cfx_range r = {corner[0], corner[0]};
    for (int i = 1; i < 4; i++) {
        r.lo = corner[i] < r.lo ? corner[i] : r.lo;
        r.hi = corner[i] > r.hi ? corner[i] : r.hi;
    }
    return r;
}

static cfx_range add_range(cfx_range a, cfx_range b)
{
    return (cfx_range){add_end(a.lo, b.lo), add_end(a.hi, b.hi)};
}

static cfx_range mul_range(cfx_range a, cfx_range b)
{
    int64_t corner[] = {mul_end(a.lo, b.lo), mul_end(a.lo, b.hi),
                        mul_end(a.hi, b.lo), mul_end(a.hi, b.hi)};
    return hull(corner);
}

static const cfx_range everything = {-CFX_INF, CFX_INF};

static cfx_range div_range(cfx_range a, cfx_range b)
{
    /* A divisor is never zero. */
    b.lo += b.lo == 0;
    b.hi -= b.hi == 0;
    if (b.lo > b.hi || (b.lo < 0 && b.hi > 0))
        return everything;
    int64_t corner[] = {div_end(a.lo, b.lo), div_end(a.lo, b.hi),
                        div_end(a.hi, b.lo), div_end(a.hi, b.hi)};
    return hull(corner);
}

static cfx_range mod_range(cfx_range a, cfx_range b)
{
    b.lo += b.lo == 0;
    b.hi -= b.hi == 0;
    if (b.lo > b.hi || (b.lo < 0 && b.hi > 0))
        return everything;
    if (b.lo < 0)
        return (cfx_range){is_inf(b.lo) ? b.lo : b.lo + 1, 0};
    if (a.lo >= 0 && a.hi < b.lo)
        return a;
    int64_t hi = is_inf(b.hi) ? b.hi : b.hi - 1;
    return (cfx_range){0, a.lo >= 0 && a.hi < hi ? a.hi : hi};
}

/* ---- Ranges of expressions ---- */

static cfx_range power_range(cfx_range x, int64_t k)
{
    if (k % 2 == 1)
        return k == 1 ? x : mul_range(x, power_range(x, k - 1));
    cfx_range r = power_range(x, k / 2);
    r = mul_range(r, r);
    r.lo = r.lo < 0 ? 0 : r.lo;
    return r;
}

static cfx_range product_range(cfx_shape_env *env, const cfx_expr *e)
{
    cfx_range r = {1, 1};
    for (size_t i = 0; i < e->n; i++)
        r = mul_range(r, power_range(cfx_dim_range(env, e->term[i].of),
                                     e->term[i].k));
    return r;
}

static cfx_range sum_range(cfx_shape_env *env, const cfx_expr *e)
{
    cfx_range r = {e->c, e->c};
    for (size_t i = 0; i < e->n; i++) {
        cfx_range k = {e->term[i].k, e->term[i].k};
        r = add_range(r, mul_range(k, cfx_dim_range(env, e->term[i].of)));
    }
    return r;
}

static cfx_range extremum_range(cfx_shape_env *env, const cfx_expr *e)
{
    cfx_range r = cfx_dim_range(env, e->term[0].of);
    bool max = e->kind == CFX_EXPR_MAX;
    for (size_t i = 1; i < e->n; i++) {
        cfx_range x = cfx_dim_range(env, e->term[i].of);
        r.lo = (x.lo > r.lo) == max ? x.lo : r.lo;
        r.hi = (x.hi > r.hi) == max ? x.hi : r.hi;
    }
    return r;
}

cfx_range cfx_dim_range(cfx_shape_env *env, cfx_dim d)
{
    if (cfx_dim_is_int(d))
        return (cfx_range){cfx_dim_value(d), cfx_dim_value(d)};
    if (cfx_dim_is_bad(d))
        return everything;
    const cfx_expr *e = cfx_expr_of(d);
    const cfx_known *k;
    switch ((cfx_expr_kind)e->kind) {
    case CFX_EXPR_SYMBOL:
        k = cfx_env_known(env, e);
        return k ? k->range : everything;
    case CFX_EXPR_FLOORDIV:
        return div_range(cfx_dim_range(env, e->term[0].of),
                         cfx_dim_range(env, e->term[1].of));
    case CFX_EXPR_MOD:
        return mod_range(cfx_dim_range(env, e->term[0].of),
                         cfx_dim_range(env, e->term[1].of));
    case CFX_EXPR_MIN:
    case CFX_EXPR_MAX:
        return extremum_range(env, e);
    case CFX_EXPR_PRODUCT:
        return product_range(env, e);
    case CFX_EXPR_SUM:
        return sum_range(env, e);
    }
    return everything;
}

/* ---- Lower bounds of sums ---- */

/* x + lo for an atom x that is at least lo. */
static cfx_dim shifted(cfx_shape_env *env, cfx_dim atom)
{
    cfx_range r = cfx_dim_range(env, atom);
    return is_inf(r.lo) ? CFX_DIM_BAD : cfx_dim_affine(1, atom, r.lo);
}

/*
 * Write each atom as its least value plus something that is not negative: when
 * then no factor is negative, the integer is a lower bound. This proves what
 * ranges term by term do not, such as N*N >= N.
 */
static int64_t bound_by_shift(cfx_shape_env *env, cfx_dim d)
{
    cfx_sum s;
    cfx_sum_view(&s, d);
    if (s.n > SHIFT_TERMS_MAX)
        return -CFX_INF;
    cfx_dim all = cfx_dim_int(s.c);
    for (size_t i = 0; i < s.n; i++) {
        cfx_factors f;
        cfx_factors_view(&f, s.term[i].of);
        cfx_dim product = cfx_dim_int(s.term[i].k);
        int64_t degree = 0;
        for (size_t j = 0; j < f.n; j++) {
            cfx_dim x = shifted(env, f.term[j].of);
            for (int64_t k = 0; k < f.term[j].k; k++) {
                if (++degree > SHIFT_DEGREE_MAX)
                    return -CFX_INF;
                product = cfx_dim_mul(env, product, x);
            }
        }
        all = cfx_dim_add(env, all, product);
    }
    if (cfx_dim_is_bad(all))
        return -CFX_INF;
    cfx_sum_view(&s, all);
    for (size_t i = 0; i < s.n; i++)
        if (s.term[i].k < 0)
            return -CFX_INF;
    return s.c;
}

static int64_t lower_bound(cfx_shape_env *env, cfx_dim d, int tries);

/* scale * d, with scale * x written as `end` in the term k*x. */
static cfx_dim with_end(cfx_shape_env *env, cfx_dim d, cfx_term t,
                        cfx_dim scale, cfx_dim end)
{
    cfx_dim k = cfx_dim_int(t.k);
    cfx_dim rest = cfx_dim_sub(env, d, cfx_dim_mul(env, k, t.of));
    return cfx_dim_add(env, cfx_dim_mul(env, scale, rest),
                       cfx_dim_mul(env, k, end));
}

/* y*(x//y) lies in x - y + 1 .. x for y > 0: take the end that makes the sum
 * the least, and y times all else. */
static int64_t bound_by_division(cfx_shape_env *env, cfx_dim d, cfx_term t,
                                 int tries)
{
    const cfx_expr *e = cfx_expr_of(t.of);
    cfx_dim end = e->term[0].of, y = e->term[1].of;
    if (t.k > 0)
        end = cfx_dim_add(env, cfx_dim_sub(env, end, y), cfx_dim_int(1));
    int64_t b = lower_bound(env, with_end(env, d, t, y, end), tries - 1);
    if (is_inf(b) || !cfx_dim_is_int(y))
        return b >= 0 ? 0 : -CFX_INF;
    return -cfx_floordiv_int(-b, cfx_dim_value(y));
}

/* x % y lies in 0 .. y - 1 for y > 0, and is at most x where that is not
 * negative. */
static int64_t bound_by_remainder(cfx_shape_env *env, cfx_dim d, cfx_term t,
                                  int tries)
{
    const cfx_expr *e = cfx_expr_of(t.of);
    cfx_dim one = cfx_dim_int(1), zero = cfx_dim_int(0);
    if (t.k > 0)
        return lower_bound(env, with_end(env, d, t, one, zero), tries - 1);
    cfx_dim end = cfx_dim_sub(env, e->term[1].of, one);
    int64_t b = lower_bound(env, with_end(env, d, t, one, end), tries - 1);
    if (b >= 0 || cfx_dim_range(env, e->term[0].of).lo < 0)
        return b;
    end = e->term[0].of;
    int64_t more = lower_bound(env, with_end(env, d, t, one, end), tries - 1);
    return more > b ? more : b;
}

/* A maximum is at least each of its operands, and is one of them. */
static int64_t bound_by_operands(cfx_shape_env *env, cfx_dim d, cfx_term t,
                                 int tries)
{
    const cfx_expr *e = cfx_expr_of(t.of);
    bool any = (e->kind == CFX_EXPR_MAX) == (t.k > 0);
    int64_t bound = any ? -CFX_INF : CFX_INF;
    if (e->n > OPERANDS_TRIED)
        return -CFX_INF;
    for (size_t i = 0; i < e->n; i++) {
        cfx_dim x = with_end(env, d, t, cfx_dim_int(1), e->term[i].of);
        int64_t b = lower_bound(env, x, tries - 1);
        if ((b > bound) == any)
            bound = b;
    }
    return bound;
}

/* Put what is known of an atom in the place of the first one that can be
 * written without it. */
static int64_t bound_by_atom(cfx_shape_env *env, cfx_dim d, int tries)
{
    cfx_sum s;
    cfx_sum_view(&s, d);
    for (size_t i = 0; i < s.n; i++) {
        const cfx_expr *e = cfx_expr_of(s.term[i].of);
        switch ((cfx_expr_kind)e->kind) {
        case CFX_EXPR_FLOORDIV:
            if (cfx_dim_range(env, e->term[1].of).lo > 0)
                return bound_by_division(env, d, s.term[i], tries);
            break;
        case CFX_EXPR_MOD:
            if (cfx_dim_range(env, e->term[1].of).lo > 0)
                return bound_by_remainder(env, d, s.term[i], tries);
            break;
        case CFX_EXPR_MIN:
        case CFX_EXPR_MAX:
            return bound_by_operands(env, d, s.term[i], tries);
        case CFX_EXPR_SYMBOL:
        case CFX_EXPR_PRODUCT:
        case CFX_EXPR_SUM:
            break;
        }
    }
    return -CFX_INF;
}

/* A number that d is never below. */
static int64_t lower_bound(cfx_shape_env *env, cfx_dim d, int tries)
{
    int64_t b = cfx_dim_range(env, d).lo;
    if (b >= 0 || !cfx_dim_is_expr(d) || tries == 0)
        return b;
    int64_t more = bound_by_shift(env, d);
    b = more > b ? more : b;
    if (b >= 0)
        return b;
    more = bound_by_atom(env, d, tries);
    return more > b ? more : b;
}

bool cfx_prove_ge0(cfx_shape_env *env, cfx_dim d)
{
    if (cfx_dim_is_bad(d))
        return false;
    if (lower_bound(env, d, TRIES) >= 0)
        return true;
    if (!env || cfx_dim_is_int(d))
        return false;
    const cfx_fact *f;
    for (size_t i = 0; (f = cfx_env_fact(env, i)); i++) {
        if (f->nonzero || !(cfx_dim_symbols(d) & cfx_dim_symbols(f->d)))
            continue;
        cfx_dim rest = cfx_dim_sub(env, d, f->d);
        if (!cfx_dim_is_bad(rest) && lower_bound(env, rest, TRIES) >= 0)
            return true;
    }
    return false;
}

/* The same up to sign and an integer factor. */
static bool is_multiple(cfx_dim a, cfx_dim b)
{
    cfx_sum sa, sb;
    cfx_sum_view(&sa, a);
    cfx_sum_view(&sb, b);
    if (sa.n != sb.n || !sa.n)
        return false;
    int64_t x = sa.term[0].k, y = sb.term[0].k, l, r;
    if (__builtin_mul_overflow(sa.c, y, &l) ||
        __builtin_mul_overflow(sb.c, x, &r) || l != r)
        return false;
    for (size_t i = 0; i < sa.n; i++)
        if (!cfx_dim_same(sa.term[i].of, sb.term[i].of) ||
            __builtin_mul_overflow(sa.term[i].k, y, &l) ||
            __builtin_mul_overflow(sb.term[i].k, x, &r) || l != r)
            return false;
    return true;
}

bool cfx_prove_nonzero(cfx_shape_env *env, cfx_dim d)
{
    if (cfx_dim_is_bad(d))
        return false;
    if (cfx_dim_is_int(d))
        return cfx_dim_value(d) != 0;
    cfx_sum s;
    cfx_sum_view(&s, d);
    int64_t g = cfx_sum_content(&s);
    if (s.c % g != 0)
        return true;
    const cfx_fact *f;
    for (size_t i = 0; (f = cfx_env_fact(env, i)); i++)
        if (f->nonzero && is_multiple(d, f->d))
            return true;
    return cfx_prove_ge0(env, cfx_dim_affine(1, d, -1)) ||
           cfx_prove_ge0(env, cfx_dim_affine(-1, d, -1));
}
