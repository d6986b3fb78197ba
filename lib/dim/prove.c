/*
 * prove -- ranges of extents, and proofs of inequalities.
 *
 * All rules are sound and none is complete: "unknown" is always allowed. The
 * cheapest come first: ranges; a lower bound by bounds of atoms; the same
 * after subtracting facts; and last the case distinction of cases.c.
 */
#include "dim/env.h"

/* The limit of nested rules. */
enum {
    TRIES = 4,
    STEPS = 40,
    SHIFT_TERMS_MAX = 32,
    SHIFT_DEGREE_MAX = 6,
    OPERANDS_TRIED = 4,
    FACTS_TOGETHER = 6
};

/* ---- Integers with infinities ---- */

static int64_t clip(int64_t v)
{
    return v < -CFX_INF ? -CFX_INF : v;
}

static bool is_inf(int64_t v)
{
    return v == CFX_INF || v == -CFX_INF;
}

/* Add two lower ends, or two upper ones; infinities never have opposite
 * signs. */
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
        r = mul_range(
            r, power_range(cfx_dim_range(env, e->term[i].of), e->term[i].k));
    return r;
}

static cfx_range sum_range(cfx_shape_env *env, const cfx_expr *e)
{
    cfx_range r = {e->c, e->c};
    for (size_t i = 0; i < e->n; i++) {
        cfx_range k = {e->term[i].k, e->term[i].k};
        r = add_range(r, mul_range(k, cfx_dim_range(env, e->term[i].of)));
    }
    if (e->den != 1 && !is_inf(r.lo))
        r.lo = -cfx_floordiv_int(-r.lo, e->den);
    if (e->den != 1 && !is_inf(r.hi))
        r.hi = cfx_floordiv_int(r.hi, e->den);
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
    const cfx_symbol_facts *k;
    switch ((cfx_expr_kind)e->kind) {
    case CFX_EXPR_SYMBOL:
        k = cfx_env_facts_of(env, e);
        return k ? k->range : everything;
    case CFX_EXPR_FLOORDIV:
        return div_range(cfx_dim_range(env, e->term[0].of),
                         cfx_dim_range(env, e->term[1].of));
    case CFX_EXPR_MOD:
        return mod_range(cfx_dim_range(env, e->term[0].of),
                         cfx_dim_range(env, e->term[1].of));
    case CFX_EXPR_MIN:
    case CFX_EXPR_MAX: return extremum_range(env, e);
    case CFX_EXPR_PRODUCT: return product_range(env, e);
    case CFX_EXPR_SUM: return sum_range(env, e);
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
 * Write each atom as its least value plus a non-negative rest. If no factor is
 * then negative, the integer is a lower bound. This proves relations such as
 * N*N >= N, which ranges of single terms do not.
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

/* A proof attempt; it fails after this many steps. */
typedef struct proof {
    cfx_shape_env *env;
    int steps;
} proof;

static int64_t lower_bound(proof *p, cfx_dim d, int tries);

/* Is the product of two sums too large to prove anything of? */
static bool multiplies_out(cfx_dim a, cfx_dim b)
{
    cfx_sum sa, sb;
    cfx_sum_view(&sa, a);
    cfx_sum_view(&sb, b);
    return sa.n * sb.n > CFX_PROOF_WEIGHT_MAX;
}

/* scale * d with scale * x replaced by `end` in the term k*x. */
static cfx_dim with_end(cfx_shape_env *env, cfx_dim d, cfx_term t,
                        cfx_dim scale, cfx_dim end)
{
    cfx_dim k = cfx_dim_int(t.k);
    cfx_dim rest = cfx_dim_sub(env, d, cfx_dim_mul(env, k, t.of));
    if (multiplies_out(scale, rest))
        return CFX_DIM_BAD;
    return cfx_dim_add(env, cfx_dim_mul(env, scale, rest),
                       cfx_dim_mul(env, k, end));
}

/* y*(x//y) lies in x - y + 1 .. x for y > 0: take the end that minimizes the
 * sum, and multiply the other terms by y. */
static int64_t bound_by_division(proof *p, cfx_dim d, cfx_term t, int tries)
{
    const cfx_expr *e = cfx_expr_of(t.of);
    cfx_dim end = e->term[0].of, y = e->term[1].of;
    if (t.k > 0)
        end = cfx_dim_add(p->env, cfx_dim_sub(p->env, end, y), cfx_dim_int(1));
    int64_t b = lower_bound(p, with_end(p->env, d, t, y, end), tries - 1);
    if (is_inf(b) || !cfx_dim_is_int(y))
        return b >= 0 ? 0 : -CFX_INF;
    return -cfx_floordiv_int(-b, cfx_dim_value(y));
}

/* x % y lies in 0 .. y - 1 for y > 0, and is at most x where that is not
 * negative. */
static int64_t bound_by_remainder(proof *p, cfx_dim d, cfx_term t, int tries)
{
    const cfx_expr *e = cfx_expr_of(t.of);
    cfx_dim one = cfx_dim_int(1), zero = cfx_dim_int(0);
    if (t.k > 0)
        return lower_bound(p, with_end(p->env, d, t, one, zero), tries - 1);
    cfx_dim end = cfx_dim_sub(p->env, e->term[1].of, one);
    int64_t b = lower_bound(p, with_end(p->env, d, t, one, end), tries - 1);
    if (b >= 0 || cfx_dim_range(p->env, e->term[0].of).lo < 0)
        return b;
    end = e->term[0].of;
    int64_t more = lower_bound(p, with_end(p->env, d, t, one, end), tries - 1);
    return more > b ? more : b;
}

/* A bound of x in the case that operand i is the extremum e. */
static int64_t bound_in_case(proof *p, cfx_dim x, const cfx_expr *e, size_t i,
                             int tries)
{
    int64_t b = lower_bound(p, x, tries - 1);
    for (size_t j = 0; j < e->n && b < 0; j++) {
        cfx_dim gap = cfx_dim_sub(p->env, e->term[i].of, e->term[j].of);
        if (e->kind == CFX_EXPR_MIN)
            gap = cfx_dim_neg(p->env, gap);
        x = cfx_dim_sub(p->env, x, gap);
        if (i != j && !cfx_dim_is_bad(x) && lower_bound(p, x, tries - 1) >= 0)
            b = 0;
        x = cfx_dim_add(p->env, x, gap);
    }
    return b;
}

/* An extremum equals one of its operands: prove each case. */
static int64_t bound_by_operands(proof *p, cfx_dim d, cfx_term t, int tries)
{
    const cfx_expr *e = cfx_expr_of(t.of);
    bool any = (e->kind == CFX_EXPR_MAX) == (t.k > 0);
    int64_t best = -CFX_INF, least = CFX_INF;
    if (e->n > OPERANDS_TRIED)
        return -CFX_INF;
    for (size_t i = 0; i < e->n && best < 0; i++) {
        cfx_dim x = with_end(p->env, d, t, cfx_dim_int(1), e->term[i].of);
        int64_t b = any ? lower_bound(p, x, tries - 1) : -CFX_INF;
        best = b > best ? b : best;
        b = best < 0 ? bound_in_case(p, x, e, i, tries) : b;
        least = b < least ? b : least;
    }
    /* A maximum is also at least each operand. */
    return best > least || best >= 0 ? best : least;
}

/* Replace the first atom that has a bound without it by that bound. */
static int64_t bound_by_atom(proof *p, cfx_dim d, int tries)
{
    cfx_sum s;
    cfx_sum_view(&s, d);
    for (size_t i = 0; i < s.n; i++) {
        const cfx_expr *e = cfx_expr_of(s.term[i].of);
        switch ((cfx_expr_kind)e->kind) {
        case CFX_EXPR_FLOORDIV:
            if (cfx_dim_range(p->env, e->term[1].of).lo > 0)
                return bound_by_division(p, d, s.term[i], tries);
            break;
        case CFX_EXPR_MOD:
            if (cfx_dim_range(p->env, e->term[1].of).lo > 0)
                return bound_by_remainder(p, d, s.term[i], tries);
            break;
        case CFX_EXPR_MIN:
        case CFX_EXPR_MAX: return bound_by_operands(p, d, s.term[i], tries);
        case CFX_EXPR_SYMBOL:
        case CFX_EXPR_PRODUCT:
        case CFX_EXPR_SUM: break;
        }
    }
    return -CFX_INF;
}

/* A lower bound of d. */
static int64_t lower_bound(proof *p, cfx_dim d, int tries)
{
    int64_t b = cfx_dim_range(p->env, d).lo;
    if (b >= 0 || !cfx_dim_is_expr(d) || tries == 0 || --p->steps < 0 ||
        cfx_expr_of(d)->weight > CFX_PROOF_WEIGHT_MAX)
        return b;
    int64_t more = bound_by_shift(p->env, d);
    b = more > b ? more : b;
    if (b >= 0)
        return b;
    more = bound_by_atom(p, d, tries);
    return more > b ? more : b;
}

bool cfx_prove_ge0_plainly(cfx_shape_env *env, cfx_dim d)
{
    proof p = {env, STEPS};
    return !cfx_dim_is_bad(d) && lower_bound(&p, d, TRIES) >= 0;
}

/* ---- With facts ---- */

/* Subtract a multiple of a non-negative fact that cancels a term of d;
 * CFX_DIM_BAD if they share no term. */
static cfx_dim less_fact(cfx_shape_env *env, cfx_dim d, cfx_dim fact)
{
    cfx_sum sd, sf;
    int64_t times = 0;
    cfx_sum_view(&sd, d);
    cfx_sum_view(&sf, fact);
    for (size_t i = 0, j = 0; i < sd.n && j < sf.n && times == 0;) {
        int order = cfx_dim_compare(sd.term[i].of, sf.term[j].of);
        int64_t a = sd.term[i].k, b = sf.term[j].k;
        if (!order && (a > 0) == (b > 0))
            times = a % b ? 1 : a / b;
        i += order <= 0;
        j += order >= 0;
    }
    if (!times)
        return CFX_DIM_BAD;
    return cfx_dim_sub(env, d, cfx_dim_mul(env, cfx_dim_int(times), fact));
}

static bool ge0_by_facts(cfx_shape_env *env, cfx_dim d)
{
    cfx_dim rest[FACTS_TOGETHER], first[FACTS_TOGETHER];
    const cfx_fact *f;
    size_t n = 0;
    for (size_t i = 0; (f = cfx_env_fact(env, i)); i++) {
        if (f->nonzero || !(cfx_dim_symbols(d) & cfx_dim_symbols(f->d)))
            continue;
        cfx_dim left = less_fact(env, d, f->d);
        if (cfx_prove_ge0_plainly(env, left))
            return true;
        if (n < FACTS_TOGETHER && cfx_dim_is_expr(left)) {
            rest[n] = left;
            first[n++] = f->d;
        }
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            if (i != j &&
                cfx_prove_ge0_plainly(env, less_fact(env, rest[i], first[j])))
                return true;
    return false;
}

/* ---- Without remainders and minima ---- */

/* x % y is x - y*(x//y), and min(x, y) is x + y - max(x, y); CFX_DIM_BAD for
 * any other atom. */
static cfx_dim reworded(cfx_shape_env *env, cfx_dim d)
{
    const cfx_expr *e = cfx_expr_of(d);
    if (e->n != 2)
        return CFX_DIM_BAD;
    cfx_dim x = e->term[0].of, y = e->term[1].of;
    if (e->kind == CFX_EXPR_MOD)
        return cfx_dim_sub(env, x,
                           cfx_dim_mul(env, y, cfx_dim_floordiv(env, x, y)));
    if (e->kind == CFX_EXPR_MIN)
        return cfx_dim_sub(env, cfx_dim_add(env, x, y),
                           cfx_dim_max(env, x, y));
    return CFX_DIM_BAD;
}

/* Rewrite all remainders and minima of d; CFX_DIM_BAD if it has none. */
static cfx_dim in_other_words(cfx_shape_env *env, cfx_dim d)
{
    cfx_sum s;
    cfx_sum_view(&s, d);
    cfx_dim sum = cfx_dim_int(s.c);
    bool any = false;
    for (size_t i = 0; i < s.n; i++) {
        cfx_factors f;
        cfx_factors_view(&f, s.term[i].of);
        cfx_dim product = cfx_dim_int(s.term[i].k);
        for (size_t j = 0; j < f.n; j++) {
            cfx_dim x = f.term[j].of, y = reworded(env, x);
            any |= !cfx_dim_is_bad(y);
            x = cfx_dim_is_bad(y) ? x : y;
            for (int64_t k = 0; k < f.term[j].k; k++)
                product = cfx_dim_mul(env, product, x);
        }
        sum = cfx_dim_add(env, sum, product);
    }
    return any ? sum : CFX_DIM_BAD;
}

/* ---- Proofs ---- */

bool cfx_prove_ge0(cfx_shape_env *env, cfx_dim d)
{
    int64_t den;
    d = cfx_dim_numerator(d, &den);
    if (cfx_prove_ge0_plainly(env, d))
        return true;
    if (!env || !cfx_dim_is_expr(d) || env->in_cases)
        return false;
    if (ge0_by_facts(env, d))
        return true;
    cfx_dim q = in_other_words(env, d);
    if (!cfx_dim_is_bad(q) && cfx_prove_ge0_plainly(env, q))
        return true;
    return cfx_prove_by_cases(env, d, cfx_prove_ge0_plainly);
}

/* Equal up to sign and an integer factor? */
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

static bool nonzero_plainly(cfx_shape_env *env, cfx_dim d)
{
    if (!cfx_dim_is_expr(d))
        return !cfx_dim_is_bad(d) && !cfx_dim_is(d, 0);
    cfx_sum s;
    cfx_sum_view(&s, d);
    return s.c % cfx_sum_content(&s) != 0 ||
           cfx_prove_ge0_plainly(env, cfx_dim_affine(1, d, -1)) ||
           cfx_prove_ge0_plainly(env, cfx_dim_affine(-1, d, -1));
}

bool cfx_prove_nonzero(cfx_shape_env *env, cfx_dim d)
{
    int64_t den;
    d = cfx_dim_numerator(d, &den);
    if (nonzero_plainly(env, d))
        return true;
    if (!env || !cfx_dim_is_expr(d) || env->in_cases)
        return false;
    const cfx_fact *f;
    for (size_t i = 0; (f = cfx_env_fact(env, i)); i++)
        if (f->nonzero && is_multiple(d, f->d))
            return true;
    return ge0_by_facts(env, cfx_dim_affine(1, d, -1)) ||
           ge0_by_facts(env, cfx_dim_affine(-1, d, -1)) ||
           cfx_prove_by_cases(env, d, nonzero_plainly);
}
