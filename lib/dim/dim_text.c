/*
 * dim_text -- extents as text, and their values.
 *
 * The text is Python: `//` rounds down, `%` has the sign of the divisor, and
 * `/` is exact. It does not depend on the locale, and recursion is bounded by
 * the depth of expressions.
 *
 * Canonical forms move multiples out of quotients, and common terms out of
 * minima and maxima. A person would write (H - 1)//2 rather than (H + 1)//2 -
 * 1, and max(5 - N, 0) rather than max(N, 5) - N: terms that shorten the text
 * are moved back inside.
 */
#include "dim/dim_text.h"
#include "dim/env.h"

#include <stdio.h>

enum { FLAT_MAX = 16 };

typedef struct sink {
    char *buf;
    size_t size, len;
    size_t skip; /* characters before those that are wanted */
} sink;

/* A sum in local memory. */
typedef struct flat {
    int64_t c;
    size_t n;
    cfx_term term[FLAT_MAX];
} flat;

static void put(sink *o, const char *s)
{
    for (; *s; s++) {
        if (o->skip) {
            o->skip--;
            continue;
        }
        if (o->len + 1 < o->size)
            o->buf[o->len] = *s;
        o->len++;
    }
}

static void put_int(sink *o, int64_t v)
{
    char text[24];
    snprintf(text, sizeof(text), "%lld", (long long)v);
    put(o, text);
}

static void put_sum(sink *o, cfx_dim d);
static void put_terms(sink *o, const cfx_sum *s, size_t at, const flat *moved);

/* ---- Terms moved back inside ---- */

static bool fits(int64_t v)
{
    return !cfx_dim_is_bad(cfx_dim_int(v));
}

/* The factor of a product in d; with `product` 1, the integer of d. */
static int64_t factor_in(cfx_dim d, cfx_dim product)
{
    cfx_sum s;
    cfx_sum_view(&s, d);
    if (cfx_dim_is_int(product))
        return s.c;
    for (size_t i = 0; i < s.n; i++)
        if (cfx_dim_same(s.term[i].of, product))
            return s.term[i].k;
    return 0;
}

/* Is k times that product shorter inside the atom? */
static bool belongs_within(const cfx_expr *e, cfx_dim product, int64_t k)
{
    int64_t v;
    size_t before = 1, after = 0;
    if (!k)
        return false;
    if (e->kind == CFX_EXPR_FLOORDIV) {
        int64_t in = factor_in(e->term[0].of, product);
        return in && !(cfx_dim_is_int(product) && k > 0) &&
               !__builtin_mul_overflow(k, cfx_dim_value(e->term[1].of), &v) &&
               !__builtin_add_overflow(v, in, &v) && fits(v);
    }
    if (!cfx_dim_is_int(product) && cfx_product_has_extremum(product))
        return false;
    for (size_t i = 0; i < e->n; i++) {
        int64_t in = factor_in(e->term[i].of, product);
        if (!fits(in + k))
            return false;
        before += in != 0;
        after += in + k != 0;
    }
    return after < before;
}

/* The only term that is a quotient by an integer, or an extremum, with factor
 * 1 or -1. */
static size_t find_shell(const cfx_sum *s)
{
    size_t at = s->n;
    for (size_t i = 0; i < s->n; i++) {
        if (s->term[i].k != 1)
            continue;
        const cfx_expr *e = cfx_expr_of(s->term[i].of);
        bool shell = e->kind == CFX_EXPR_MIN || e->kind == CFX_EXPR_MAX ||
                     (e->kind == CFX_EXPR_FLOORDIV &&
                      cfx_dim_is_int(e->term[1].of));
        if (shell && at < s->n)
            return s->n;
        if (shell)
            at = i;
    }
    return at;
}

/* Select the terms that move into the term at this index. */
static size_t put_back(const cfx_sum *s, flat *moved, flat *rest)
{
    size_t at = find_shell(s);
    moved->n = rest->n = 0;
    moved->c = rest->c = 0;
    if (at == s->n || s->n > FLAT_MAX || s->den != 1)
        return s->n;
    const cfx_expr *e = cfx_expr_of(s->term[at].of);
    for (size_t i = 0; i < e->n; i++) {
        cfx_sum in;
        cfx_sum_view(&in, e->term[i].of);
        if (in.n + s->n > FLAT_MAX)
            return s->n;
    }
    if (belongs_within(e, cfx_dim_int(1), s->c))
        moved->c = s->c;
    else
        rest->c = s->c;
    size_t place = 0;
    for (size_t i = 0; i < s->n; i++) {
        bool within = i != at &&
                      belongs_within(e, s->term[i].of, s->term[i].k);
        flat *to = within ? moved : rest;
        if (i == at)
            place = rest->n;
        to->term[to->n++] = s->term[i];
    }
    return place;
}

/* d + by * moved */
static void add_moved(flat *f, cfx_dim d, const flat *moved, int64_t by)
{
    cfx_sum s;
    cfx_sum_view(&s, d);
    f->n = 0;
    f->c = s.c + by * moved->c;
    for (size_t i = 0, j = 0; i < s.n || j < moved->n;) {
        int order = i == s.n ? 1
                    : j == moved->n
                        ? -1
                        : cfx_dim_compare(s.term[i].of, moved->term[j].of);
        cfx_term t = order <= 0 ? s.term[i++]
                                : (cfx_term){0, moved->term[j].of};
        if (order >= 0)
            t.k += by * moved->term[j++].k;
        if (t.k)
            f->term[f->n++] = t;
    }
}

static void put_flat(sink *o, const flat *f)
{
    cfx_sum s = {.c = f->c, .den = 1, .n = f->n, .term = f->term};
    put_terms(o, &s, s.n, NULL);
}

/* ---- Writing ---- */

/* An operand of // and %. */
static void put_operand(sink *o, cfx_dim d)
{
    bool plain = cfx_dim_is_int(d)
                     ? cfx_dim_value(d) >= 0
                     : cfx_expr_of(d)->kind == CFX_EXPR_SYMBOL ||
                           cfx_expr_of(d)->kind == CFX_EXPR_MIN ||
                           cfx_expr_of(d)->kind == CFX_EXPR_MAX;
    put(o, plain ? "" : "(");
    put_sum(o, d);
    put(o, plain ? "" : ")");
}

static void put_quotient(sink *o, const cfx_expr *e, const flat *moved)
{
    if (moved->n || moved->c) {
        flat f;
        add_moved(&f, e->term[0].of, moved, cfx_dim_value(e->term[1].of));
        put(o, "(");
        put_flat(o, &f);
        put(o, ")");
    } else {
        put_operand(o, e->term[0].of);
    }
    put(o, "//");
    put_operand(o, e->term[1].of);
}

/* Integers last, as they come in canonical forms. */
static void put_extremum(sink *o, const cfx_expr *e, const flat *moved)
{
    bool any = moved->n || moved->c, first = true;
    put(o, e->kind == CFX_EXPR_MIN ? "min(" : "max(");
    for (size_t i = 0; i < 2 * e->n; i++) {
        cfx_dim d = e->term[i % e->n].of;
        flat f;
        if (any)
            add_moved(&f, d, moved, 1);
        if ((any ? f.n == 0 : cfx_dim_is_int(d)) != (i >= e->n))
            continue;
        put(o, first ? "" : ", ");
        first = false;
        if (any)
            put_flat(o, &f);
        else
            put_sum(o, d);
    }
    put(o, ")");
}

static void put_atom(sink *o, cfx_dim d, const flat *moved)
{
    const cfx_expr *e = cfx_expr_of(d);
    switch ((cfx_expr_kind)e->kind) {
    case CFX_EXPR_SYMBOL: put(o, e->name); return;
    case CFX_EXPR_FLOORDIV: put_quotient(o, e, moved); return;
    case CFX_EXPR_MOD:
        put_operand(o, e->term[0].of);
        put(o, " % ");
        put_operand(o, e->term[1].of);
        return;
    case CFX_EXPR_MIN:
    case CFX_EXPR_MAX: put_extremum(o, e, moved); return;
    case CFX_EXPR_PRODUCT:
    case CFX_EXPR_SUM: assert(false);
    }
}

/* A term without its sign. `signed_`: a minus precedes it, which would bind to
 * its operand. */
static void put_term(sink *o, cfx_term t, bool signed_, const flat *moved)
{
    static const flat nothing;
    int64_t k = t.k < 0 ? -t.k : t.k;
    cfx_factors f;
    cfx_factors_view(&f, t.of);
    if (k != 1) {
        put_int(o, k);
        put(o, "*");
    }
    for (size_t i = 0; i < f.n; i++) {
        const cfx_expr *e = cfx_expr_of(f.term[i].of);
        bool divides = e->kind == CFX_EXPR_FLOORDIV || e->kind == CFX_EXPR_MOD;
        bool wrap = divides &&
                    (signed_ || k != 1 || f.n > 1 || f.term[i].k > 1);
        put(o, i ? "*" : "");
        put(o, wrap ? "(" : "");
        put_atom(o, f.term[i].of, moved ? moved : &nothing);
        put(o, wrap ? ")" : "");
        if (f.term[i].k > 1) {
            put(o, "**");
            put_int(o, f.term[i].k);
        }
    }
}

static void put_signed(sink *o, bool first, bool negative)
{
    put(o, first ? negative ? "-" : "" : negative ? " - " : " + ");
}

/* Positive terms come first. `moved` goes into the term at this index. */
static void put_terms(sink *o, const cfx_sum *s, size_t at, const flat *moved)
{
    size_t lead = 0;
    while (lead < s->n && s->term[lead].k < 0)
        lead++;
    bool c_leads = s->c > 0 && lead == s->n;
    if (c_leads || !s->n)
        put_int(o, s->c);
    else if (lead < s->n)
        put_term(o, s->term[lead], false, lead == at ? moved : NULL);
    bool first = s->n && lead == s->n && !c_leads;
    for (size_t i = 0; i < s->n; i++) {
        if (i == lead)
            continue;
        put_signed(o, first, s->term[i].k < 0);
        put_term(o, s->term[i], first && s->term[i].k < 0,
                 i == at ? moved : NULL);
        first = false;
    }
    if (s->n && s->c && !c_leads) {
        put_signed(o, false, s->c < 0);
        put_int(o, s->c < 0 ? -s->c : s->c);
    }
}

static void put_sum(sink *o, cfx_dim d)
{
    cfx_sum s;
    flat moved, rest;
    cfx_sum_view(&s, d);
    size_t at = put_back(&s, &moved, &rest);
    if (moved.n || moved.c)
        s = (cfx_sum){.c = rest.c, .den = 1, .n = rest.n, .term = rest.term};
    bool wrap = s.den != 1 && (s.n > 1 || s.c);
    put(o, wrap ? "(" : "");
    put_terms(o, &s, at, &moved);
    put(o, wrap ? ")" : "");
    if (s.den != 1) {
        put(o, "/");
        put_int(o, s.den);
    }
}

size_t cfx_dim__format_from(cfx_dim d, size_t from, char *buf, size_t size)
{
    sink o = {.buf = buf, .size = size, .skip = from};
    if (cfx_dim_is_bad(d))
        put(&o, "?");
    else
        put_sum(&o, d);
    if (size)
        buf[o.len < size ? o.len : size - 1] = '\0';
    return o.len;
}

size_t cfx_dim_format(cfx_dim d, char *buf, size_t size)
{
    return cfx_dim__format_from(d, 0, buf, size);
}

void cfx_buf_dim(cfx_buf *b, cfx_dim d)
{
    size_t n = cfx_dim_format(d, NULL, 0);
    if (!cfx_buf_reserve(b, n))
        return;
    cfx_dim_format(d, b->s + b->len, n + 1);
    b->len += n;
}

/* ---- Values ---- */

typedef struct evaluation {
    bool (*value)(void *user, const char *name, int64_t *v);
    void *user;
    cfx_error *err;
} evaluation;

static cfx_status eval_sum(int64_t *out, cfx_dim d, const evaluation *ev);

static cfx_status overflow(const evaluation *ev)
{
    return cfx_fail(ev->err, CFX_EINVAL, "an extent is beyond 2^61");
}

static cfx_status eval_atom(int64_t *out, const cfx_expr *e,
                            const evaluation *ev)
{
    if (e->kind == CFX_EXPR_SYMBOL) {
        if (!ev->value || !ev->value(ev->user, e->name, out))
            return cfx_fail(ev->err, CFX_ENAME, "symbol %s has no value",
                            e->name);
        return cfx_dim_is_bad(cfx_dim_int(*out)) ? overflow(ev) : CFX_OK;
    }
    cfx_status st = eval_sum(out, e->term[0].of, ev);
    for (size_t i = 1; !st && i < e->n; i++) {
        int64_t a = *out, b;
        st = eval_sum(&b, e->term[i].of, ev);
        if (st)
            break;
        if (e->kind == CFX_EXPR_MIN || e->kind == CFX_EXPR_MAX)
            *out = (a < b) == (e->kind == CFX_EXPR_MIN) ? a : b;
        else if (b == 0)
            st = cfx_fail(ev->err, CFX_EINVAL, "an extent is divided by zero");
        else
            *out = e->kind == CFX_EXPR_FLOORDIV ? cfx_floordiv_int(a, b)
                                                : cfx_floormod_int(a, b);
    }
    return st;
}

static cfx_status eval_term(int64_t *out, cfx_term t, const evaluation *ev)
{
    cfx_factors f;
    cfx_factors_view(&f, t.of);
    *out = t.k;
    for (size_t i = 0; i < f.n; i++) {
        int64_t v;
        cfx_status st = eval_atom(&v, cfx_expr_of(f.term[i].of), ev);
        if (st)
            return st;
        for (int64_t k = 0; k < f.term[i].k; k++)
            if (__builtin_mul_overflow(*out, v, out))
                return overflow(ev);
    }
    return CFX_OK;
}

static cfx_status eval_sum(int64_t *out, cfx_dim d, const evaluation *ev)
{
    cfx_sum s;
    cfx_sum_view(&s, d);
    *out = s.c;
    for (size_t i = 0; i < s.n; i++) {
        int64_t v;
        cfx_status st = eval_term(&v, s.term[i], ev);
        if (st)
            return st;
        if (__builtin_add_overflow(*out, v, out))
            return overflow(ev);
    }
    if (*out % s.den)
        return cfx_fail(ev->err, CFX_EINVAL, "an extent is not whole");
    *out /= s.den;
    return cfx_dim_is_bad(cfx_dim_int(*out)) ? overflow(ev) : CFX_OK;
}

cfx_status cfx_dim_eval(int64_t *out, cfx_dim d,
                        bool (*value)(void *user, const char *name,
                                      int64_t *v),
                        void *user, cfx_error *err)
{
    *out = 0;
    if (cfx_dim_is_bad(d))
        return cfx_fail(err, CFX_EINVAL, "an extent is not known");
    return eval_sum(out, d, &(evaluation){value, user, err});
}
