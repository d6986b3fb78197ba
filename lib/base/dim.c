/*
 * dim -- division, remainders, minima and maxima of extents.
 *
 * Each simplifies as far as is exact for all values that the symbols may have,
 * so that equal extents meet in one form: in (a*k + b)//k what k divides is
 * taken out, (x//a)//b is x//(a*b), and the integer of a numerator lies in
 * -k + 1 .. 0, the form that the formula of a convolution's output has.
 */
#include "base/env.h"

enum { OPERANDS_MAX = 64, PAIRS_MAX = 8, DIVISION_STEPS = 64 };

static bool either_bad(cfx_dim a, cfx_dim b)
{
    return cfx_dim_is_bad(a) || cfx_dim_is_bad(b);
}

static cfx_dim make_atom(cfx_expr_kind kind, cfx_dim a, cfx_dim b)
{
    if (either_bad(a, b))
        return CFX_DIM_BAD;
    cfx_term term[] = {{0, a}, {0, b}};
    return cfx_expr_atom(cfx_exprs_either(a, b), kind, term, 2);
}

/* Known to be never zero? */
static bool is_nonzero(cfx_shape_env *env, cfx_dim d)
{
    cfx_range r = cfx_dim_range(env, d);
    return r.lo > 0 || r.hi < 0 || cfx_prove_nonzero(env, d);
}

/* The operand of x//k and of x % k for an integer k > 0. */
static bool is_atom_by_int(cfx_dim d, cfx_expr_kind kind, cfx_dim *x,
                           int64_t *k)
{
    if (!cfx_dim_is_kind(d, kind))
        return false;
    const cfx_expr *e = cfx_expr_of(d);
    if (!cfx_dim_is_int(e->term[1].of))
        return false;
    *x = e->term[0].of;
    *k = cfx_dim_value(e->term[1].of);
    return *k > 0;
}

/* ---- Division by an integer ---- */

/* Take out of a what k divides: a = k * *quotient + *rest. */
static void split_by_int(cfx_dim a, int64_t k, cfx_dim *quotient,
                         cfx_dim *rest)
{
    cfx_sum s;
    cfx_poly q, r;
    cfx_sum_view(&s, a);
    cfx_poly_init(&q, cfx_exprs_either(a, a));
    cfx_poly_init(&r, cfx_exprs_either(a, a));
    for (size_t i = 0; i < s.n; i++)
        if (s.term[i].k % k)
            cfx_poly_term(&r, s.term[i].k, s.term[i].of);
        else
            cfx_poly_term(&q, s.term[i].k / k, s.term[i].of);
    int64_t up = -cfx_floordiv_int(-s.c, k);
    cfx_poly_const(&q, up);
    cfx_poly_const(&r, s.c - up * k);
    *quotient = cfx_poly_finish(&q);
    *rest = cfx_poly_finish(&r);
}

/* (g*x + c)//(g*k) is (x + c//g)//k. */
static cfx_dim reduce(cfx_dim a, int64_t *k)
{
    cfx_sum s;
    cfx_sum_view(&s, a);
    int64_t g = cfx_gcd(cfx_sum_content(&s), *k);
    if (g == 1)
        return a;
    cfx_poly p;
    cfx_poly_init(&p, cfx_exprs_either(a, a));
    for (size_t i = 0; i < s.n; i++)
        cfx_poly_term(&p, s.term[i].k / g, s.term[i].of);
    cfx_poly_const(&p, cfx_floordiv_int(s.c, g));
    *k /= g;
    return cfx_poly_finish(&p);
}

/* What is left to be divided: an integer if the ranges leave only one; for
 * (x//y)//b with b > 0 it is x//(y*b). */
static cfx_dim quotient_atom(cfx_shape_env *env, cfx_dim a, cfx_dim b)
{
    if (cfx_dim_is_kind(a, CFX_EXPR_FLOORDIV) &&
        cfx_dim_range(env, b).lo > 0) {
        const cfx_expr *e = cfx_expr_of(a);
        cfx_dim by = cfx_dim_mul(env, e->term[1].of, b);
        if (!cfx_dim_is_bad(by))
            return cfx_dim_floordiv(env, e->term[0].of, by);
    }
    cfx_dim q = make_atom(CFX_EXPR_FLOORDIV, a, b);
    cfx_range r = cfx_dim_range(env, q);
    return r.lo == r.hi && is_nonzero(env, b) ? cfx_dim_int(r.lo) : q;
}

static cfx_dim div_by_int(cfx_shape_env *env, cfx_dim a, int64_t k)
{
    if (k < 0) {
        a = cfx_dim_neg(env, a);
        k = -k;
    }
    cfx_dim whole = cfx_dim_int(0);
    for (;;) {
        cfx_dim q;
        if (cfx_dim_is_bad(a))
            return CFX_DIM_BAD;
        if (k == 1 || cfx_dim_is_int(a))
            break;
        split_by_int(a, k, &q, &a);
        whole = cfx_dim_add(env, whole, q);
        if (either_bad(a, whole))
            return CFX_DIM_BAD;
        if (cfx_dim_is_int(a))
            break;
        int64_t before = k, by;
        a = reduce(a, &k);
        /* ((x//by) + c)//k is (x + c*by)//(by*k). */
        cfx_sum s;
        cfx_dim x;
        cfx_sum_view(&s, a);
        if (s.n == 1 && s.term[0].k == 1 &&
            is_atom_by_int(s.term[0].of, CFX_EXPR_FLOORDIV, &x, &by) &&
            !cfx_dim_is_bad(cfx_dim_mul(env, cfx_dim_int(by),
                                        cfx_dim_int(k)))) {
            cfx_dim c = cfx_dim_mul(env, cfx_dim_int(s.c), cfx_dim_int(by));
            a = cfx_dim_add(env, x, c);
            k *= by;
        } else if (k == before) {
            break;
        }
    }
    if (cfx_dim_is_int(a))
        a = cfx_dim_int(cfx_floordiv_int(cfx_dim_value(a), k));
    else if (k != 1)
        a = quotient_atom(env, a, cfx_dim_int(k));
    return cfx_dim_add(env, whole, a);
}

/* ---- Division by an expression ---- */

/* t / by, exactly. */
static bool divide_term(cfx_term t, cfx_term by, cfx_term *out)
{
    if (t.k % by.k)
        return false;
    out->k = t.k / by.k;
    out->of = cfx_expr_quotient(t.of, by.of);
    return !cfx_dim_is_bad(out->of);
}

/* Take out of a what the one term `by` divides. */
static void split_by_term(cfx_dim a, cfx_term by, cfx_dim *quotient,
                          cfx_dim *rest)
{
    cfx_sum s;
    cfx_poly q, r;
    cfx_sum_view(&s, a);
    cfx_poly_init(&q, cfx_exprs_either(by.of, by.of));
    cfx_poly_init(&r, cfx_exprs_either(by.of, by.of));
    for (size_t i = 0; i < s.n; i++) {
        cfx_term t;
        if (divide_term(s.term[i], by, &t))
            cfx_poly_dim(&q, t.k, t.of);
        else
            cfx_poly_term(&r, s.term[i].k, s.term[i].of);
    }
    cfx_poly_const(&r, s.c);
    *quotient = cfx_poly_finish(&q);
    *rest = cfx_poly_finish(&r);
}

/* a / b for sums, where b divides a; otherwise CFX_DIM_BAD. The leading term
 * of a is always b's times the quotient's. */
static cfx_dim exact_quotient(cfx_shape_env *env, cfx_dim a, cfx_dim b)
{
    cfx_sum sa, sb;
    cfx_dim q = cfx_dim_int(0);
    cfx_sum_view(&sb, b);
    for (int i = 0; i < DIVISION_STEPS && !cfx_dim_is_int(a); i++) {
        cfx_term t;
        cfx_sum_view(&sa, a);
        if (!divide_term(sa.term[0], sb.term[0], &t))
            return CFX_DIM_BAD;
        cfx_dim part = cfx_dim_mul(env, cfx_dim_int(t.k), t.of);
        q = cfx_dim_add(env, q, part);
        a = cfx_dim_sub(env, a, cfx_dim_mul(env, part, b));
        if (either_bad(a, q))
            return CFX_DIM_BAD;
    }
    return cfx_dim_is(a, 0) ? q : CFX_DIM_BAD;
}

/* What divides all terms of d, as one term. */
static cfx_term common_term(cfx_dim d)
{
    cfx_sum s;
    cfx_sum_view(&s, d);
    cfx_term t = {cfx_gcd(cfx_sum_content(&s), s.c), cfx_dim_int(1)};
    if (!s.n || s.c)
        return t;
    cfx_factors f;
    cfx_factors_view(&f, s.term[0].of);
    for (size_t j = 0; j < f.n; j++)
        for (int64_t k = 0; k < f.term[j].k; k++) {
            cfx_dim more = cfx_dim_mul(NULL, t.of, f.term[j].of);
            size_t i = 1;
            while (i < s.n && !cfx_dim_is_bad(
                                  cfx_expr_quotient(s.term[i].of, more)))
                i++;
            if (i < s.n || cfx_dim_is_bad(more))
                break;
            t.of = more;
        }
    return t;
}

static cfx_dim divide_by(cfx_shape_env *env, cfx_dim d, cfx_term by)
{
    if (cfx_dim_is_int(d))
        return cfx_dim_int(cfx_dim_value(d) / by.k);
    cfx_sum s;
    cfx_poly p;
    cfx_sum_view(&s, d);
    cfx_poly_init(&p, cfx_exprs_either(d, d));
    for (size_t i = 0; i < s.n; i++)
        cfx_poly_dim(&p, s.term[i].k / by.k,
                     cfx_dim_is_int(by.of)
                         ? s.term[i].of
                         : cfx_expr_quotient(s.term[i].of, by.of));
    cfx_poly_const(&p, s.c / by.k);
    (void)env;
    return cfx_poly_finish(&p);
}

/* What divides both a and b, and is never zero. */
static cfx_term common_of_both(cfx_shape_env *env, cfx_dim a, cfx_dim b)
{
    cfx_term ta = common_term(a), tb = common_term(b);
    cfx_term t = {cfx_gcd(ta.k, tb.k), cfx_dim_int(1)};
    if (cfx_dim_is_int(ta.of) || cfx_dim_is_int(tb.of))
        return t;
    cfx_factors f;
    cfx_factors_view(&f, ta.of);
    for (size_t j = 0; j < f.n; j++)
        for (int64_t k = 0; k < f.term[j].k; k++) {
            cfx_dim more = cfx_dim_mul(env, t.of, f.term[j].of);
            if (cfx_dim_is_bad(cfx_expr_quotient(tb.of, more)) ||
                !is_nonzero(env, f.term[j].of))
                break;
            t.of = more;
        }
    return t;
}

static cfx_dim div_by_expr(cfx_shape_env *env, cfx_dim a, cfx_dim b)
{
    cfx_dim whole = cfx_dim_int(0), rest = a, q;
    cfx_sum sb;
    cfx_sum_view(&sb, b);
    bool nonzero = is_nonzero(env, b);
    if (cfx_dim_is_expr(a) && sb.n == 1 && !sb.c)
        split_by_term(a, sb.term[0], &whole, &rest);
    else if (nonzero && cfx_dim_is_expr(a) &&
             !cfx_dim_is_bad(q = exact_quotient(env, a, b)))
        return q;
    if (either_bad(whole, rest))
        return CFX_DIM_BAD;
    if (cfx_dim_is(rest, 0)) {
        if (nonzero)
            return whole;
        whole = cfx_dim_int(0);
        rest = a;
    }
    cfx_term t = common_of_both(env, rest, b);
    if (t.k != 1 || !cfx_dim_is_int(t.of)) {
        q = cfx_dim_floordiv(env, divide_by(env, rest, t),
                             divide_by(env, b, t));
        return cfx_dim_add(env, whole, q);
    }
    return cfx_dim_add(env, whole, quotient_atom(env, rest, b));
}

cfx_dim cfx_dim_floordiv(cfx_shape_env *env, cfx_dim a, cfx_dim b)
{
    if (either_bad(a, b) || cfx_dim_is(b, 0))
        return CFX_DIM_BAD;
    if (cfx_dim_is_int(a) && cfx_dim_is_int(b))
        return cfx_dim_int(cfx_floordiv_int(cfx_dim_value(a),
                                            cfx_dim_value(b)));
    cfx_env_lock(env);
    cfx_dim q = cfx_dim_is_int(b) ? div_by_int(env, a, cfx_dim_value(b))
                                  : div_by_expr(env, a, b);
    cfx_env_unlock(env);
    return q;
}

cfx_dim cfx_dim_ceildiv(cfx_shape_env *env, cfx_dim a, cfx_dim b)
{
    /* For integers b > 0 the same, in the form that other rules make. */
    if (cfx_dim_is_int(b) && cfx_dim_value(b) > 0) {
        cfx_dim up = cfx_dim_int(cfx_dim_value(b) - 1);
        return cfx_dim_floordiv(env, cfx_dim_add(env, a, up), b);
    }
    return cfx_dim_neg(env, cfx_dim_floordiv(env, cfx_dim_neg(env, a), b));
}

/* ---- Remainders ---- */

/* Take the factors and the integer of a modulo k. */
static cfx_dim residue(cfx_dim a, int64_t k)
{
    cfx_sum s;
    cfx_poly p;
    cfx_sum_view(&s, a);
    cfx_poly_init(&p, cfx_exprs_either(a, a));
    for (size_t i = 0; i < s.n; i++)
        cfx_poly_term(&p, cfx_floormod_int(s.term[i].k, k), s.term[i].of);
    cfx_poly_const(&p, cfx_floormod_int(s.c, k));
    return cfx_poly_finish(&p);
}

static cfx_dim mod_by_int(cfx_shape_env *env, cfx_dim a, int64_t k)
{
    if (k < 0)
        return cfx_dim_neg(env, mod_by_int(env, cfx_dim_neg(env, a), -k));
    cfx_range r = cfx_dim_range(env, a);
    if (r.lo >= 0 && r.hi < k)
        return a;
    a = residue(a, k);
    if (cfx_dim_is_bad(a) || cfx_dim_is_int(a))
        return a;
    cfx_sum s;
    cfx_sum_view(&s, a);
    int64_t g = cfx_gcd(cfx_gcd(cfx_sum_content(&s), s.c), k), by;
    if (g > 1) {
        a = divide_by(env, a, (cfx_term){g, cfx_dim_int(1)});
        return cfx_dim_mul(env, cfx_dim_int(g),
                           cfx_dim_mod(env, a, cfx_dim_int(k / g)));
    }
    cfx_dim x;
    if (is_atom_by_int(a, CFX_EXPR_MOD, &x, &by) && by % k == 0)
        return mod_by_int(env, x, k);
    r = cfx_dim_range(env, a);
    if (r.lo >= 0 && r.hi < k)
        return a;
    return make_atom(CFX_EXPR_MOD, a, cfx_dim_int(k));
}

static cfx_dim mod_by_expr(cfx_shape_env *env, cfx_dim a, cfx_dim b)
{
    cfx_dim q, rest = a;
    cfx_sum sb;
    cfx_sum_view(&sb, b);
    bool nonzero = is_nonzero(env, b);
    if (nonzero && cfx_dim_is_expr(a)) {
        if (sb.n == 1 && !sb.c)
            split_by_term(a, sb.term[0], &q, &rest);
        else if (!cfx_dim_is_bad(exact_quotient(env, a, b)))
            rest = cfx_dim_int(0);
        if (cfx_dim_is_bad(rest) || cfx_dim_is(rest, 0))
            return rest;
    }
    if (cfx_prove_ge0(env, rest) &&
        cfx_prove_ge0(env, cfx_dim_affine(1, cfx_dim_sub(env, b, rest), -1)))
        return rest;
    return make_atom(CFX_EXPR_MOD, rest, b);
}

cfx_dim cfx_dim_mod(cfx_shape_env *env, cfx_dim a, cfx_dim b)
{
    if (either_bad(a, b) || cfx_dim_is(b, 0))
        return CFX_DIM_BAD;
    if (cfx_dim_is_int(a) && cfx_dim_is_int(b))
        return cfx_dim_int(cfx_floormod_int(cfx_dim_value(a),
                                            cfx_dim_value(b)));
    cfx_env_lock(env);
    cfx_dim r = cfx_dim_is_int(b) ? mod_by_int(env, a, cfx_dim_value(b))
                                  : mod_by_expr(env, a, b);
    cfx_env_unlock(env);
    return r;
}

/* ---- Minima and maxima ---- */

typedef struct operands {
    cfx_expr_kind kind;
    size_t n;
    cfx_term term[OPERANDS_MAX];
} operands;

/* Does a make b superfluous? */
static bool dominates(cfx_shape_env *env, cfx_expr_kind kind, cfx_dim a,
                      cfx_dim b)
{
    cfx_dim d = cfx_dim_sub(env, b, a);
    return cfx_prove_ge0(env, kind == CFX_EXPR_MIN ? d
                                                   : cfx_dim_neg(env, d));
}

static bool add_operand(cfx_shape_env *env, operands *o, cfx_dim d)
{
    if (cfx_dim_is_kind(d, o->kind)) {
        const cfx_expr *e = cfx_expr_of(d);
        for (size_t i = 0; i < e->n; i++)
            if (!add_operand(env, o, e->term[i].of))
                return false;
        return true;
    }
    size_t n = 0;
    for (size_t i = 0; i < o->n; i++) {
        if (cfx_dim_same(o->term[i].of, d))
            return true;
        if (o->n <= PAIRS_MAX && dominates(env, o->kind, o->term[i].of, d))
            return true;
    }
    for (size_t i = 0; i < o->n; i++)
        if (o->n > PAIRS_MAX || !dominates(env, o->kind, d, o->term[i].of))
            o->term[n++] = o->term[i];
    o->n = n;
    if (o->n == OPERANDS_MAX)
        return false;
    /* Keep them sorted. */
    size_t at = o->n++;
    for (; at > 0 && cfx_dim_compare(d, o->term[at - 1].of) < 0; at--)
        o->term[at] = o->term[at - 1];
    o->term[at] = (cfx_term){0, d};
    return true;
}

static cfx_dim extremum(cfx_shape_env *env, cfx_expr_kind kind, cfx_dim a,
                        cfx_dim b)
{
    if (either_bad(a, b))
        return CFX_DIM_BAD;
    if (cfx_dim_is_int(a) && cfx_dim_is_int(b))
        return ((int64_t)a.bits < (int64_t)b.bits) == (kind == CFX_EXPR_MIN)
                   ? a : b;
    operands o = {.kind = kind};
    cfx_env_lock(env);
    bool ok = add_operand(env, &o, a) && add_operand(env, &o, b);
    cfx_env_unlock(env);
    if (!ok)
        return CFX_DIM_BAD;
    if (o.n == 1)
        return o.term[0].of;
    return cfx_expr_atom(cfx_exprs_either(a, b), kind, o.term, o.n);
}

cfx_dim cfx_dim_min(cfx_shape_env *env, cfx_dim a, cfx_dim b)
{
    return extremum(env, CFX_EXPR_MIN, a, b);
}

cfx_dim cfx_dim_max(cfx_shape_env *env, cfx_dim a, cfx_dim b)
{
    return extremum(env, CFX_EXPR_MAX, a, b);
}
