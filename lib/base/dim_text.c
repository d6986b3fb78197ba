/*
 * dim_text -- extents as text, and their values.
 *
 * The text is Python's: `//` rounds down, `%` has the sign of the divisor.
 * Nothing here is locale's, and nothing recurses deeper than expressions are.
 */
#include "base/env.h"

#include <stdio.h>

enum { PARSE_DEPTH_MAX = 1000 };

/* ---- Writing ---- */

typedef struct sink {
    char *buf;
    size_t size, len;
} sink;

static void put(sink *o, const char *s)
{
    for (; *s; s++, o->len++)
        if (o->len + 1 < o->size)
            o->buf[o->len] = *s;
}

static void put_int(sink *o, int64_t v)
{
    char text[24];
    snprintf(text, sizeof(text), "%lld", (long long)v);
    put(o, text);
}

static void put_sum(sink *o, cfx_dim d);

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

static void put_atom(sink *o, cfx_dim d)
{
    const cfx_expr *e = cfx_expr_of(d);
    switch ((cfx_expr_kind)e->kind) {
    case CFX_EXPR_SYMBOL:
        put(o, e->name);
        return;
    case CFX_EXPR_FLOORDIV:
    case CFX_EXPR_MOD:
        put_operand(o, e->term[0].of);
        put(o, e->kind == CFX_EXPR_MOD ? " % " : "//");
        put_operand(o, e->term[1].of);
        return;
    case CFX_EXPR_MIN:
    case CFX_EXPR_MAX:
        put(o, e->kind == CFX_EXPR_MIN ? "min(" : "max(");
        for (size_t i = 0; i < e->n; i++) {
            put(o, i ? ", " : "");
            put_sum(o, e->term[i].of);
        }
        put(o, ")");
        return;
    case CFX_EXPR_PRODUCT:
    case CFX_EXPR_SUM:
        assert(false);
    }
}

/* A term without its sign. `signed_` that a minus without a number before it
 * stands there, which would be taken for the operand's. */
static void put_term(sink *o, cfx_term t, bool signed_)
{
    int64_t k = t.k < 0 ? -t.k : t.k;
    cfx_factors f;
    cfx_factors_view(&f, t.of);
    if (k != 1) {
        put_int(o, k);
        put(o, "*");
    }
    for (size_t i = 0; i < f.n; i++) {
        const cfx_expr *e = cfx_expr_of(f.term[i].of);
        bool divides = e->kind == CFX_EXPR_FLOORDIV ||
                       e->kind == CFX_EXPR_MOD;
        bool wrap = divides && (signed_ || k != 1 || f.n > 1 ||
                                f.term[i].k > 1);
        put(o, i ? "*" : "");
        put(o, wrap ? "(" : "");
        put_atom(o, f.term[i].of);
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

/* What is added comes before what is taken away, if anything is. */
static void put_sum(sink *o, cfx_dim d)
{
    cfx_sum s;
    cfx_sum_view(&s, d);
    size_t lead = 0;
    while (lead < s.n && s.term[lead].k < 0)
        lead++;
    bool c_leads = s.c > 0 && lead == s.n;
    if (c_leads || !s.n)
        put_int(o, s.c);
    else if (lead < s.n)
        put_term(o, s.term[lead], false);
    bool first = s.n && lead == s.n && !c_leads;
    for (size_t i = 0; i < s.n; i++) {
        if (i == lead)
            continue;
        put_signed(o, first, s.term[i].k < 0);
        put_term(o, s.term[i], first && s.term[i].k < 0);
        first = false;
    }
    if (s.n && s.c && !c_leads) {
        put_signed(o, false, s.c < 0);
        put_int(o, s.c < 0 ? -s.c : s.c);
    }
}

size_t cfx_dim_format(cfx_dim d, char *buf, size_t size)
{
    sink o = {buf, size, 0};
    if (cfx_dim_is_bad(d))
        put(&o, "?");
    else
        put_sum(&o, d);
    if (size)
        buf[o.len < size ? o.len : size - 1] = '\0';
    return o.len;
}

/* ---- Reading ---- */

typedef struct parser {
    cfx_shape_env *env;
    const char *text, *p;
    cfx_error *err;
    cfx_status st;
    int depth;
} parser;

static cfx_dim parse_sum(parser *ps);

static cfx_dim malformed(parser *ps, const char *what)
{
    if (!ps->st)
        ps->st = cfx_fail(ps->err, CFX_EPARSE,
                          "extent '%.200s': %s at character %zu", ps->text,
                          what, (size_t)(ps->p - ps->text) + 1);
    return CFX_DIM_BAD;
}

static void skip(parser *ps)
{
    while (*ps->p == ' ' || *ps->p == '\t')
        ps->p++;
}

static bool take(parser *ps, const char *token)
{
    size_t n = strlen(token);
    skip(ps);
    if (strncmp(ps->p, token, n))
        return false;
    ps->p += n;
    return true;
}

static bool is_alpha(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool parse_int(parser *ps, int64_t *v)
{
    *v = 0;
    skip(ps);
    for (; is_digit(*ps->p); ps->p++) {
        *v = *v * 10 + (*ps->p - '0');
        if (*v > CFX_DIM_MAX / 10 + 10) {
            malformed(ps, "a number that is too large");
            return false;
        }
    }
    return true;
}

/* The operands of min and max. */
static cfx_dim parse_call(parser *ps, bool min)
{
    cfx_dim d = parse_sum(ps);
    while (!ps->st && take(ps, ",")) {
        cfx_dim x = parse_sum(ps);
        d = min ? cfx_dim_min(ps->env, d, x) : cfx_dim_max(ps->env, d, x);
    }
    if (!ps->st && !take(ps, ")"))
        return malformed(ps, "no ')'");
    return d;
}

static cfx_dim parse_name(parser *ps)
{
    char name[256];
    const char *start = ps->p;
    while (is_alpha(*ps->p) || is_digit(*ps->p))
        ps->p++;
    size_t n = (size_t)(ps->p - start);
    if (n >= sizeof(name))
        return malformed(ps, "a name that is too long");
    memcpy(name, start, n);
    name[n] = '\0';
    bool min = !strcmp(name, "min");
    if (min || !strcmp(name, "max"))
        return take(ps, "(") ? parse_call(ps, min) : malformed(ps, "no '('");
    if (!ps->env)
        return malformed(ps, "a symbol where only numbers can be");
    return cfx_dim_symbol_default(ps->env, name, n);
}

static cfx_dim parse_primary(parser *ps)
{
    int64_t v;
    skip(ps);
    if (is_digit(*ps->p))
        return parse_int(ps, &v) ? cfx_dim_int(v) : CFX_DIM_BAD;
    if (is_alpha(*ps->p))
        return parse_name(ps);
    if (!take(ps, "("))
        return malformed(ps, *ps->p ? "no operand" : "it ends");
    cfx_dim d = parse_sum(ps);
    if (!ps->st && !take(ps, ")"))
        return malformed(ps, "no ')'");
    return d;
}

static cfx_dim parse_power(parser *ps)
{
    cfx_dim base = parse_primary(ps), d = base;
    int64_t k;
    if (ps->st || !take(ps, "**"))
        return d;
    skip(ps);
    if (!is_digit(*ps->p))
        return malformed(ps, "no number");
    if (!parse_int(ps, &k))
        return CFX_DIM_BAD;
    if (k > CFX_EXPR_DEGREE_MAX)
        return malformed(ps, "a power that is too high");
    d = cfx_dim_int(1);
    for (; k > 0; k--)
        d = cfx_dim_mul(ps->env, d, base);
    return d;
}

static cfx_dim parse_signed(parser *ps)
{
    bool negative = false;
    for (;;) {
        if (take(ps, "-"))
            negative = !negative;
        else if (!take(ps, "+"))
            break;
    }
    cfx_dim d = parse_power(ps);
    return negative ? cfx_dim_neg(ps->env, d) : d;
}

static cfx_dim parse_term(parser *ps)
{
    cfx_dim d = parse_signed(ps);
    while (!ps->st) {
        if (take(ps, "*"))
            d = cfx_dim_mul(ps->env, d, parse_signed(ps));
        else if (take(ps, "//"))
            d = cfx_dim_floordiv(ps->env, d, parse_signed(ps));
        else if (take(ps, "%"))
            d = cfx_dim_mod(ps->env, d, parse_signed(ps));
        else
            break;
    }
    return d;
}

static cfx_dim parse_sum(parser *ps)
{
    if (++ps->depth > PARSE_DEPTH_MAX)
        return malformed(ps, "too deep");
    cfx_dim d = parse_term(ps);
    while (!ps->st) {
        if (take(ps, "+"))
            d = cfx_dim_add(ps->env, d, parse_term(ps));
        else if (take(ps, "-"))
            d = cfx_dim_sub(ps->env, d, parse_term(ps));
        else
            break;
    }
    ps->depth--;
    return d;
}

cfx_status cfx_dim_parse(cfx_dim *out, cfx_shape_env *env, const char *text,
                         cfx_error *err)
{
    parser ps = {.env = env, .text = text, .p = text, .err = err};
    uint64_t failures = env ? cfx_exprs_failures(env->table) : 0;
    *out = CFX_DIM_BAD;
    cfx_dim d = parse_sum(&ps);
    skip(&ps);
    if (!ps.st && *ps.p)
        malformed(&ps, "something that does not belong");
    if (ps.st)
        return ps.st;
    if (cfx_dim_is_bad(d)) {
        if (env && cfx_exprs_failures(env->table) != failures)
            return cfx_fail(err, CFX_ENOMEM, "no memory for an extent");
        return cfx_fail(err, CFX_EPARSE,
                        "extent '%.200s' is too large, or divides by zero",
                        text);
    }
    *out = d;
    return CFX_OK;
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
            st = cfx_fail(ev->err, CFX_EINVAL,
                          "an extent is divided by zero");
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
