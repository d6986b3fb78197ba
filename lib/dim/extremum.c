/*
 * extremum -- minima and maxima of extents.
 *
 * Dominated operands are dropped, and the common part is moved out: for each
 * product, and for the integers, the least factor among all operands. So max(N
 * + 2, M + 1) - 1 and max(N, M - 1) + 1 are the same word, and max(N, 5) - N
 * is max(0, 5 - N).
 */
#include "dim/env.h"

enum { OPERANDS_MAX = 64, PAIRS_MAX = 8 };

typedef struct operands {
    cfx_expr_kind kind;
    size_t n;
    cfx_dim of[OPERANDS_MAX];
} operands;

/* Does a dominate b? */
static bool dominates(cfx_shape_env *env, cfx_expr_kind kind, cfx_dim a,
                      cfx_dim b)
{
    cfx_dim d = kind == CFX_EXPR_MIN ? cfx_dim_sub(env, b, a)
                                     : cfx_dim_sub(env, a, b);
    return cfx_prove_ge0(env, d);
}

static bool add_operand(cfx_shape_env *env, operands *o, cfx_dim d)
{
    size_t n = 0;
    for (size_t i = 0; i < o->n; i++) {
        if (cfx_dim_same(o->of[i], d))
            return true;
        if (o->n > PAIRS_MAX || !dominates(env, o->kind, o->of[i], d))
            continue;
        /* If two operands are equal, keep the first in order. */
        if (cfx_dim_compare(d, o->of[i]) > 0 ||
            !dominates(env, o->kind, d, o->of[i]))
            return true;
    }
    for (size_t i = 0; i < o->n; i++)
        if (o->n > PAIRS_MAX || !dominates(env, o->kind, d, o->of[i]))
            o->of[n++] = o->of[i];
    o->n = n;
    if (o->n == OPERANDS_MAX)
        return false;
    o->of[o->n++] = d;
    return true;
}

/* The only term of d that is an extremum of this kind, or a negated one of the
 * other. */
static bool inner_extremum(cfx_expr_kind kind, cfx_dim d, cfx_term *inner)
{
    cfx_expr_kind other = kind == CFX_EXPR_MIN ? CFX_EXPR_MAX : CFX_EXPR_MIN;
    size_t found = 0;
    cfx_sum s;
    cfx_sum_view(&s, d);
    for (size_t i = 0; i < s.n; i++)
        if (cfx_dim_is_kind(s.term[i].of, s.term[i].k > 0 ? kind : other)) {
            *inner = s.term[i];
            found++;
        }
    return found == 1;
}

/* Add an operand; a nested extremum is added operand by operand. */
static bool add_flat(cfx_shape_env *env, operands *o, cfx_dim d)
{
    cfx_term t;
    if (!cfx_dim_is_expr(d) || !inner_extremum(o->kind, d, &t))
        return add_operand(env, o, d);
    const cfx_expr *e = cfx_expr_of(t.of);
    cfx_dim k = cfx_dim_int(t.k);
    cfx_dim rest = cfx_dim_sub(env, d, cfx_dim_mul(env, k, t.of));
    for (size_t i = 0; i < e->n; i++) {
        cfx_dim x = cfx_dim_mul(env, k, e->term[i].of);
        x = cfx_dim_add(env, rest, x);
        if (cfx_dim_is_bad(x) || !add_operand(env, o, x))
            return false;
    }
    return true;
}

/* ---- The common part of the operands ---- */

static int64_t factor_of(cfx_dim d, cfx_dim product)
{
    cfx_sum s;
    cfx_sum_view(&s, d);
    for (size_t i = 0; i < s.n; i++)
        if (cfx_dim_same(s.term[i].of, product))
            return s.term[i].k;
    return 0;
}

/* The least factors of each product and the least integer. A product that
 * contains an extremum stays inside: outside it could merge with this one. */
static cfx_dim common_part(const operands *o, cfx_exprs *table)
{
    cfx_poly p;
    cfx_sum s;
    int64_t least = INT64_MAX;
    cfx_poly_init(&p, table);
    for (size_t i = 0; i < o->n; i++) {
        cfx_sum_view(&s, o->of[i]);
        least = s.c < least ? s.c : least;
        for (size_t k = 0; k < s.n; k++) {
            bool seen = cfx_product_has_extremum(s.term[k].of);
            int64_t f = s.term[k].k;
            for (size_t j = 0; j < o->n && !seen; j++) {
                int64_t g = factor_of(o->of[j], s.term[k].of);
                seen = j < i && g != 0;
                f = g < f ? g : f;
            }
            if (!seen)
                cfx_poly_term(&p, f, s.term[k].of);
        }
    }
    cfx_poly_const(&p, least);
    return cfx_poly_finish(&p);
}

static int64_t common_factor(const operands *o)
{
    int64_t g = 0;
    for (size_t i = 0; i < o->n && g != 1; i++) {
        cfx_sum s;
        cfx_sum_view(&s, o->of[i]);
        g = cfx_dim__gcd(g, cfx_dim__gcd(cfx_sum_content(&s), s.c));
    }
    return g;
}

static cfx_dim sorted_atom(const operands *o, cfx_exprs *table)
{
    cfx_term term[OPERANDS_MAX];
    for (size_t n = 0; n < o->n; n++) {
        size_t at = n;
        for (; at > 0 && cfx_dim_compare(o->of[n], term[at - 1].of) < 0; at--)
            term[at] = term[at - 1];
        term[at] = (cfx_term){0, o->of[n]};
    }
    return cfx_expr_atom(table, o->kind, term, o->n);
}

/* The atom without the common part, which is added outside, unless the result
 * would be too large. */
static cfx_dim atom_around(cfx_shape_env *env, const operands *o,
                           cfx_exprs *table)
{
    operands in = *o;
    cfx_dim common = common_part(o, table), d = common;
    for (size_t i = 0; i < o->n && !cfx_dim_is_bad(d); i++)
        d = in.of[i] = cfx_dim_sub(env, o->of[i], common);
    if (cfx_dim_is_bad(d))
        return sorted_atom(o, table);
    int64_t g = common_factor(&in);
    for (size_t i = 0; i < o->n && g > 1; i++)
        in.of[i] = cfx_dim_over(in.of[i], g);
    d = cfx_dim_mul(env, cfx_dim_int(g), sorted_atom(&in, table));
    return cfx_dim_add(env, common, d);
}

static cfx_dim extremum(cfx_shape_env *env, cfx_expr_kind kind, cfx_dim a,
                        cfx_dim b)
{
    if (cfx_dim_is_bad(a) || cfx_dim_is_bad(b))
        return CFX_DIM_BAD;
    if (cfx_dim_is_int(a) && cfx_dim_is_int(b))
        return ((int64_t)a.bits < (int64_t)b.bits) == (kind == CFX_EXPR_MIN)
                   ? a
                   : b;
    if (cfx_dim_same(a, b))
        return a;
    /* a/p and b/q are (a*q)/(p*q) and (b*p)/(p*q). */
    int64_t p, q, den;
    cfx_exprs *table = cfx_exprs_either(a, b);
    a = cfx_dim_numerator(a, &p);
    b = cfx_dim_numerator(b, &q);
    a = cfx_dim_mul(env, cfx_dim_int(q), a);
    b = cfx_dim_mul(env, cfx_dim_int(p), b);
    if (cfx_dim_is_bad(a) || cfx_dim_is_bad(b) ||
        __builtin_mul_overflow(p, q, &den))
        return CFX_DIM_BAD;
    operands o = {.kind = kind};
    cfx_env_lock(env);
    bool ok = add_flat(env, &o, a) && add_flat(env, &o, b);
    cfx_env_unlock(env);
    if (!ok)
        return CFX_DIM_BAD;
    return cfx_dim_over(o.n == 1 ? o.of[0] : atom_around(env, &o, table), den);
}

/* No extent exceeds CFX_DIM_MAX: x[:9223372036854775807], as exports write x[:], is
 * all of x. */
static bool is_no_bound(cfx_dim d)
{
    return cfx_dim_is(d, CFX_DIM_MAX);
}

cfx_dim cfx_dim_min(cfx_shape_env *env, cfx_dim a, cfx_dim b)
{
    if (is_no_bound(a))
        return b;
    return is_no_bound(b) ? a : extremum(env, CFX_EXPR_MIN, a, b);
}

cfx_dim cfx_dim_max(cfx_shape_env *env, cfx_dim a, cfx_dim b)
{
    return extremum(env, CFX_EXPR_MAX, a, b);
}
