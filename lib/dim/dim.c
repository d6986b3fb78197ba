/*
 * dim -- division and remainders of extents.
 *
 * Each simplifies as far as is exact for all values of the symbols, so that
 * equal extents have one form: multiples of k leave the numerator of (a*k +
 * b)//k, (x//a)//b is x//(a*b), and the integer of a numerator lies in 0 .. k
 * - 1. An extent that is rounded up, as in most convolutions, is thus one
 * atom, and strides that are products of such extents have one term.
 */
#include "dim/env.h"

enum { DIVISION_STEPS = 64, ATOMS_MAX = 4, CASES_MAX = 1024 };

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

/* ---- Remainders that are constant ---- */

/* The values an atom may have modulo k: first, first + step, ... */
typedef struct residues {
    cfx_dim atom;
    int64_t first, step, n, now;
} residues;

static void residues_of(cfx_shape_env *env, residues *r, cfx_dim atom,
                        int64_t k)
{
    const cfx_symbol_facts *known = cfx_dim_is_kind(atom, CFX_EXPR_SYMBOL)
                                        ? cfx_env_facts_of(env,
                                                           cfx_expr_of(atom))
                                        : NULL;
    int64_t every = known ? known->every : 1;
    int64_t step = cfx_dim__gcd(every, k);
    *r = (residues){atom, known ? cfx_floormod_int(known->from, step) : 0,
                    step, k / step, 0};
    r->now = r->first;
}

/* The residues of all atoms of a; returns their number, or 0 for too many. */
static size_t list_atoms(cfx_shape_env *env, const cfx_sum *s, int64_t k,
                         residues *list)
{
    size_t n = 0;
    int64_t cases = 1;
    for (size_t i = 0; i < s->n; i++) {
        cfx_factors f;
        cfx_factors_view(&f, s->term[i].of);
        for (size_t j = 0; j < f.n; j++) {
            size_t at = 0;
            while (at < n && !cfx_dim_same(list[at].atom, f.term[j].of))
                at++;
            if (at < n)
                continue;
            if (n == ATOMS_MAX)
                return 0;
            residues_of(env, &list[n], f.term[j].of, k);
            cases *= list[n++].n;
            if (cases > CASES_MAX)
                return 0;
        }
    }
    return n;
}

static int64_t residue_now(const residues *list, cfx_dim atom)
{
    while (!cfx_dim_same(list->atom, atom))
        list++;
    return list->now;
}

/* The sum modulo k for the current residues. */
static int64_t sum_modulo(const cfx_sum *s, int64_t k, const residues *list)
{
    int64_t sum = cfx_floormod_int(s->c, k);
    for (size_t i = 0; i < s->n; i++) {
        cfx_factors f;
        cfx_factors_view(&f, s->term[i].of);
        int64_t v = cfx_floormod_int(s->term[i].k, k);
        for (size_t j = 0; j < f.n; j++)
            for (int64_t e = 0; e < f.term[j].k; e++)
                v = v * residue_now(list, f.term[j].of) % k;
        sum = (sum + v) % k;
    }
    return sum;
}

/* Advance to the next combination of residues; false after the last. */
static bool next_case(residues *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        list[i].now += list[i].step;
        if (list[i].now < list[i].first + list[i].step * list[i].n)
            return true;
        list[i].now = list[i].first;
    }
    return false;
}

/* For a linear sum of atoms. */
static bool constant_linear(cfx_shape_env *env, const cfx_sum *s, int64_t k,
                            int64_t *r)
{
    *r = cfx_floormod_int(s->c, k);
    for (size_t i = 0; i < s->n; i++) {
        residues a;
        int64_t factor = cfx_floormod_int(s->term[i].k, k);
        residues_of(env, &a, s->term[i].of, k);
        if (factor * a.step % k)
            return false;
        *r = (*r + factor * a.first) % k;
    }
    return true;
}

/*
 * Is a modulo k constant for all values of its atoms, as N*(N + 1) is modulo
 * 2? Then the quotient by k needs no atom: it is (a - r)/k.
 */
static bool constant_modulo(cfx_shape_env *env, cfx_dim a, int64_t k,
                            int64_t *r)
{
    cfx_sum s;
    residues list[ATOMS_MAX];
    cfx_sum_view(&s, a);
    if (k > INT32_MAX)
        return false;
    bool linear = true;
    for (size_t i = 0; i < s.n && linear; i++)
        linear = !cfx_dim_is_kind(s.term[i].of, CFX_EXPR_PRODUCT);
    if (linear)
        return constant_linear(env, &s, k, r);
    size_t n = list_atoms(env, &s, k, list);
    if (!n)
        return false;
    *r = sum_modulo(&s, k, list);
    while (next_case(list, n))
        if (sum_modulo(&s, k, list) != *r)
            return false;
    return true;
}

/* ---- Division by an integer ---- */

/* Is 0 <= a < b provable? */
static bool lies_below(cfx_shape_env *env, cfx_dim a, cfx_dim b)
{
    cfx_dim left = cfx_dim_sub(env, b, a);
    return !cfx_dim_is_bad(left) &&
           (!cfx_dim_is_expr(left) ||
            cfx_expr_of(left)->weight <= CFX_PROOF_WEIGHT_MAX) &&
           cfx_prove_ge0(env, a) &&
           cfx_prove_ge0(env, cfx_dim_affine(1, left, -1));
}

/* Split off the multiples of k: a = k * *quotient + *rest, with factors of the
 * rest in 0 .. k - 1. */
static void split_by_int(cfx_dim a, int64_t k, cfx_dim *quotient,
                         cfx_dim *rest)
{
    cfx_sum s;
    cfx_poly q, r;
    cfx_sum_view(&s, a);
    cfx_poly_init(&q, cfx_exprs_either(a, a));
    cfx_poly_init(&r, cfx_exprs_either(a, a));
    for (size_t i = 0; i < s.n; i++) {
        cfx_poly_term(&q, cfx_floordiv_int(s.term[i].k, k), s.term[i].of);
        cfx_poly_term(&r, cfx_floormod_int(s.term[i].k, k), s.term[i].of);
    }
    cfx_poly_const(&q, cfx_floordiv_int(s.c, k));
    cfx_poly_const(&r, cfx_floormod_int(s.c, k));
    *quotient = cfx_poly_finish(&q);
    *rest = cfx_poly_finish(&r);
}

/* (g*x + c)//(g*k) is (x + c//g)//k. */
static cfx_dim reduce(cfx_dim a, int64_t *k)
{
    cfx_sum s;
    cfx_sum_view(&s, a);
    int64_t g = cfx_dim__gcd(cfx_sum_content(&s), *k);
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

/* (max(x, y) + c)//b is max((x + c)//b, (y + c)//b) for b > 0; a negated
 * maximum becomes a minimum. CFX_DIM_BAD for any other a. */
static cfx_dim divide_operands(cfx_shape_env *env, cfx_dim a, cfx_dim b)
{
    cfx_sum s;
    cfx_sum_view(&s, a);
    if (s.n != 1 || (s.term->k != 1 && s.term->k != -1) ||
        !(cfx_dim_is_kind(s.term->of, CFX_EXPR_MIN) ||
          cfx_dim_is_kind(s.term->of, CFX_EXPR_MAX)))
        return CFX_DIM_BAD;
    const cfx_expr *e = cfx_expr_of(s.term->of);
    bool min = (e->kind == CFX_EXPR_MIN) == (s.term->k > 0);
    cfx_dim d = CFX_DIM_BAD;
    for (size_t i = 0; i < e->n; i++) {
        cfx_dim x = cfx_dim_mul(env, cfx_dim_int(s.term->k), e->term[i].of);
        x = cfx_dim_add(env, x, cfx_dim_int(s.c));
        x = cfx_dim_floordiv(env, x, b);
        d = i == 0 ? x : min ? cfx_dim_min(env, d, x) : cfx_dim_max(env, d, x);
    }
    return d;
}

/* The quotient as an atom, or an integer if the ranges leave only one;
 * (x//y)//b with b > 0 is x//(y*b). */
static cfx_dim quotient_atom(cfx_shape_env *env, cfx_dim a, cfx_dim b)
{
    bool positive = cfx_dim_range(env, b).lo > 0;
    if (positive && cfx_dim_is_expr(a) && cfx_dim_is_int(b)) {
        cfx_dim d = divide_operands(env, a, b);
        if (!cfx_dim_is_bad(d))
            return d;
    }
    if (positive && cfx_dim_is_kind(a, CFX_EXPR_FLOORDIV)) {
        const cfx_expr *e = cfx_expr_of(a);
        cfx_dim by = cfx_dim_mul(env, e->term[1].of, b);
        if (!cfx_dim_is_bad(by))
            return cfx_dim_floordiv(env, e->term[0].of, by);
    }
    cfx_dim q = make_atom(CFX_EXPR_FLOORDIV, a, b);
    cfx_range r = cfx_dim_range(env, q);
    if (r.lo == r.hi && is_nonzero(env, b))
        return cfx_dim_int(r.lo);
    if (positive && cfx_dim_is_expr(b) && lies_below(env, a, b))
        return cfx_dim_int(0);
    return q;
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
            !cfx_dim_is_bad(
                cfx_dim_mul(env, cfx_dim_int(by), cfx_dim_int(k)))) {
            cfx_dim c = cfx_dim_mul(env, cfx_dim_int(s.c), cfx_dim_int(by));
            a = cfx_dim_add(env, x, c);
            k *= by;
        } else if (k == before) {
            break;
        }
    }
    int64_t r;
    if (cfx_dim_is_int(a))
        a = cfx_dim_int(cfx_floordiv_int(cfx_dim_value(a), k));
    else if (k != 1 && constant_modulo(env, a, k, &r))
        a = cfx_dim_over(cfx_dim_affine(1, a, -r), k);
    else if (k != 1)
        a = quotient_atom(env, a, cfx_dim_int(k));
    return cfx_dim_add(env, whole, a);
}

/* ---- Division by an expression ---- */

/* The quotient of the terms t and `by`; its factor is 0 if `by` does not
 * divide t. */
static cfx_term divide_term(cfx_term t, cfx_term by)
{
    cfx_term q = {cfx_floordiv_int(t.k, by.k), cfx_dim_int(1)};
    if (q.k)
        q.of = cfx_expr_quotient(t.of, by.of);
    if (cfx_dim_is_bad(q.of))
        q.k = 0;
    return q;
}

/*
 * Polynomial long division: a = b * *quotient + *rest, where the first term of
 * b divides no term of the rest. The first term of b has a positive factor. A
 * division that takes too many steps is given up as a whole, *rest is
 * CFX_DIM_BAD: what is left half done would be divided again when it is read.
 */
static void long_division(cfx_shape_env *env, cfx_dim a, cfx_dim b,
                          cfx_dim *quotient, cfx_dim *rest)
{
    cfx_sum sa, sb;
    size_t at = 0;
    *quotient = cfx_dim_int(0);
    cfx_sum_view(&sb, b);
    cfx_sum_view(&sa, a);
    *rest = CFX_DIM_BAD;
    for (size_t left = DIVISION_STEPS + sa.n; cfx_dim_is_expr(a); left--) {
        cfx_term t = {0, a};
        if (!left)
            return;
        cfx_sum_view(&sa, a);
        for (; at < sa.n && !t.k; at += !t.k)
            t = divide_term(sa.term[at], sb.term[0]);
        if (!t.k)
            break;
        cfx_dim part = cfx_dim_mul(env, cfx_dim_int(t.k), t.of);
        *quotient = cfx_dim_add(env, *quotient, part);
        a = cfx_dim_sub(env, a, cfx_dim_mul(env, part, b));
    }
    if (!cfx_dim_is_bad(*quotient))
        *rest = a;
}

/* Make the first term of b positive, by negating a and b. */
static bool make_positive(cfx_shape_env *env, cfx_dim *a, cfx_dim *b)
{
    cfx_sum s;
    cfx_sum_view(&s, *b);
    if (s.term[0].k > 0)
        return false;
    *a = cfx_dim_neg(env, *a);
    *b = cfx_dim_neg(env, *b);
    return true;
}

/* The greatest common term of all terms of d. */
static cfx_term common_term(cfx_dim d)
{
    cfx_sum s;
    cfx_sum_view(&s, d);
    cfx_term t = {cfx_dim__gcd(cfx_sum_content(&s), s.c), cfx_dim_int(1)};
    if (!s.n || s.c)
        return t;
    cfx_factors f;
    cfx_factors_view(&f, s.term[0].of);
    for (size_t j = 0; j < f.n; j++)
        for (int64_t k = 0; k < f.term[j].k; k++) {
            cfx_dim more = cfx_dim_mul(NULL, t.of, f.term[j].of);
            size_t i = 1;
            while (i < s.n &&
                   !cfx_dim_is_bad(cfx_expr_quotient(s.term[i].of, more)))
                i++;
            if (i < s.n || cfx_dim_is_bad(more))
                break;
            t.of = more;
        }
    return t;
}

static cfx_dim divide_by(cfx_dim d, cfx_term by)
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
    return cfx_poly_finish(&p);
}

/* A common factor of a and b that is never zero. */
static cfx_term common_of_both(cfx_shape_env *env, cfx_dim a, cfx_dim b)
{
    cfx_term ta = common_term(a), tb = common_term(b);
    cfx_term t = {cfx_dim__gcd(ta.k, tb.k), cfx_dim_int(1)};
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
    cfx_dim whole, rest;
    make_positive(env, &a, &b);
    if (either_bad(a, b))
        return CFX_DIM_BAD;
    long_division(env, a, b, &whole, &rest);
    if (cfx_dim_is_bad(rest)) {
        whole = cfx_dim_int(0);
        rest = a;
    }
    if (cfx_dim_is(rest, 0)) {
        if (is_nonzero(env, b))
            return whole;
        whole = cfx_dim_int(0);
        rest = a;
    }
    cfx_term t = common_of_both(env, rest, b);
    if (t.k != 1 || !cfx_dim_is_int(t.of)) {
        cfx_dim q = cfx_dim_floordiv(env, divide_by(rest, t), divide_by(b, t));
        return cfx_dim_add(env, whole, q);
    }
    return cfx_dim_add(env, whole, quotient_atom(env, rest, b));
}

/* Multiply a and b by their denominators; returns the product of these. */
static int64_t clear_denominators(cfx_dim *a, cfx_dim *b)
{
    int64_t p, q, product;
    cfx_dim x = cfx_dim_numerator(*a, &p), y = cfx_dim_numerator(*b, &q);
    if (p == 1 && q == 1)
        return 1;
    *a = cfx_dim_mul(NULL, cfx_dim_int(q), x);
    *b = cfx_dim_mul(NULL, cfx_dim_int(p), y);
    if (__builtin_mul_overflow(p, q, &product))
        *a = CFX_DIM_BAD;
    return product;
}

cfx_dim cfx_dim_floordiv(cfx_shape_env *env, cfx_dim a, cfx_dim b)
{
    if (either_bad(a, b) || cfx_dim_is(b, 0))
        return CFX_DIM_BAD;
    if (cfx_dim_is_int(a) && cfx_dim_is_int(b))
        return cfx_dim_int(
            cfx_floordiv_int(cfx_dim_value(a), cfx_dim_value(b)));
    clear_denominators(&a, &b);
    if (either_bad(a, b))
        return CFX_DIM_BAD;
    cfx_env_lock(env);
    cfx_dim q = cfx_dim_is_int(b) ? div_by_int(env, a, cfx_dim_value(b))
                                  : div_by_expr(env, a, b);
    cfx_env_unlock(env);
    return q;
}

cfx_dim cfx_dim_exactdiv(cfx_shape_env *env, cfx_dim a, cfx_dim b)
{
    cfx_dim r = cfx_dim_mod(env, a, b);
    if (!cfx_dim_eq(env, r, cfx_dim_int(0)))
        return CFX_DIM_BAD;
    if (!cfx_dim_is_int(b) || cfx_dim_is_int(a))
        return cfx_dim_floordiv(env, a, b);
    int64_t k = cfx_dim_value(b);
    return k > 0 ? cfx_dim_over(a, k) : cfx_dim_over(cfx_dim_neg(env, a), -k);
}

cfx_dim cfx_dim_ceildiv(cfx_shape_env *env, cfx_dim a, cfx_dim b)
{
    /* For b > 0 the same, in the form that other rules make. */
    cfx_env_lock(env);
    bool positive = cfx_dim_range(env, b).lo > 0;
    cfx_env_unlock(env);
    if (positive) {
        cfx_dim up = cfx_dim_sub(env, cfx_dim_add(env, a, b), cfx_dim_int(1));
        if (!cfx_dim_is_bad(up))
            return cfx_dim_floordiv(env, up, b);
    }
    return cfx_dim_neg(env, cfx_dim_floordiv(env, cfx_dim_neg(env, a), b));
}

/* ---- Remainders ---- */

/* Reduce the factors and the integer of a modulo k. */
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
    int64_t g = cfx_dim__gcd(cfx_dim__gcd(cfx_sum_content(&s), s.c), k), by;
    if (g > 1) {
        a = divide_by(a, (cfx_term){g, cfx_dim_int(1)});
        return cfx_dim_mul(env, cfx_dim_int(g),
                           cfx_dim_mod(env, a, cfx_dim_int(k / g)));
    }
    cfx_dim x;
    int64_t same;
    if (is_atom_by_int(a, CFX_EXPR_MOD, &x, &by) && by % k == 0)
        return mod_by_int(env, x, k);
    if (constant_modulo(env, a, k, &same))
        return cfx_dim_int(same);
    r = cfx_dim_range(env, a);
    if (r.lo >= 0 && r.hi < k)
        return a;
    return make_atom(CFX_EXPR_MOD, a, cfx_dim_int(k));
}

static cfx_dim mod_by_expr(cfx_shape_env *env, cfx_dim a, cfx_dim b)
{
    cfx_dim q, rest;
    bool turned = make_positive(env, &a, &b);
    if (either_bad(a, b))
        return CFX_DIM_BAD;
    long_division(env, a, b, &q, &rest);
    if (cfx_dim_is_bad(rest) || (cfx_dim_is(rest, 0) && !is_nonzero(env, b)))
        rest = a;
    if (!cfx_dim_is(rest, 0) && !lies_below(env, rest, b))
        rest = make_atom(CFX_EXPR_MOD, rest, b);
    return turned ? cfx_dim_neg(env, rest) : rest;
}

cfx_dim cfx_dim_mod(cfx_shape_env *env, cfx_dim a, cfx_dim b)
{
    if (either_bad(a, b) || cfx_dim_is(b, 0))
        return CFX_DIM_BAD;
    if (cfx_dim_is_int(a) && cfx_dim_is_int(b))
        return cfx_dim_int(
            cfx_floormod_int(cfx_dim_value(a), cfx_dim_value(b)));
    int64_t den = clear_denominators(&a, &b);
    if (either_bad(a, b))
        return CFX_DIM_BAD;
    cfx_env_lock(env);
    cfx_dim r = cfx_dim_is_int(b) ? mod_by_int(env, a, cfx_dim_value(b))
                                  : mod_by_expr(env, a, b);
    cfx_env_unlock(env);
    return cfx_dim_over(r, den);
}
