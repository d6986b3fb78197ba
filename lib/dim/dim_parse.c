/*
 * dim_parse -- parse extents: plain arithmetic, torch's text, and sympy's
 * srepr in exported programs.
 *
 * Intermediate values are fractions: floor(N/2) and
 * CeilToInt(IntTrueDiv(N, 2)) round a quotient that is not an extent. A result
 * "N/2" needs exact division and records the guard that N is even. Nothing here
 * recurses deeper than PARSE_DEPTH_MAX.
 */
#include "dim/env.h"

enum { PARSE_DEPTH_MAX = 1000, NAME_MAX_ = 256 };

typedef struct frac {
    cfx_dim n, d;
} frac;

typedef struct parser {
    cfx_shape_env *env;
    const char *text, *p;
    cfx_error *err;
    cfx_status st;
    int depth;
} parser;

static const frac bad = {{3}, {3}};

static frac parse_sum(parser *ps);

static frac malformed(parser *ps, const char *what)
{
    if (!ps->st)
        ps->st = cfx_fail(ps->err, CFX_EPARSE,
                          "extent '%.200s': %s at character %zu", ps->text,
                          what, (size_t)(ps->p - ps->text) + 1);
    return bad;
}

/* ---- Fractions ---- */

static frac whole_frac(cfx_dim d)
{
    return (frac){d, cfx_dim_int(1)};
}

static bool is_whole(frac f)
{
    return cfx_dim_is(f.d, 1);
}

static cfx_dim whole(parser *ps, frac f)
{
    return is_whole(f) || cfx_dim_is_bad(f.n)
               ? f.n
               : cfx_dim_exactdiv(ps->env, f.n, f.d);
}

static frac add_fracs(parser *ps, frac a, frac b, int sign)
{
    cfx_shape_env *e = ps->env;
    cfx_dim k = cfx_dim_int(sign);
    if (cfx_dim_same(a.d, b.d))
        return (frac){cfx_dim_add(e, a.n, cfx_dim_mul(e, k, b.n)), a.d};
    b.n = cfx_dim_mul(e, k, cfx_dim_mul(e, b.n, a.d));
    return (frac){cfx_dim_add(e, cfx_dim_mul(e, a.n, b.d), b.n),
                  cfx_dim_mul(e, a.d, b.d)};
}

static frac mul_fracs(parser *ps, frac a, frac b)
{
    if (is_whole(a) && is_whole(b))
        return whole_frac(cfx_dim_mul(ps->env, a.n, b.n));
    return (frac){cfx_dim_mul(ps->env, a.n, b.n),
                  cfx_dim_mul(ps->env, a.d, b.d)};
}

static frac div_fracs(parser *ps, frac a, frac b)
{
    if (cfx_dim_is(b.n, 0))
        return malformed(ps, "a division by zero");
    return mul_fracs(ps, a, (frac){b.d, b.n});
}

static frac floor_frac(parser *ps, frac f)
{
    return is_whole(f) ? f : whole_frac(cfx_dim_floordiv(ps->env, f.n, f.d));
}

static frac ceil_frac(parser *ps, frac f)
{
    return is_whole(f) ? f : whole_frac(cfx_dim_ceildiv(ps->env, f.n, f.d));
}

static frac power(parser *ps, frac base, int64_t k)
{
    frac f = whole_frac(cfx_dim_int(1));
    if (k < 0 || k > CFX_EXPR_DEGREE_MAX)
        return malformed(ps, "a power that is too high");
    for (; k > 0; k--)
        f = mul_fracs(ps, f, base);
    return f;
}

/* ---- Tokens ---- */

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

/* 12, and also 2.50, which is 5/2. */
static frac parse_number(parser *ps)
{
    int64_t v = 0, den = 1;
    bool point = false;
    for (; is_digit(*ps->p) || (*ps->p == '.' && !point); ps->p++) {
        if (*ps->p == '.') {
            point = true;
            continue;
        }
        if (point && *ps->p == '0' &&
            strspn(ps->p, "0") == strspn(ps->p, "0123456789"))
            continue;
        if (__builtin_mul_overflow(v, 10, &v) ||
            __builtin_add_overflow(v, *ps->p - '0', &v) || v > CFX_DIM_MAX ||
            den > CFX_DIM_MAX / 10)
            return malformed(ps, "a number that is too large");
        den *= point ? 10 : 1;
    }
    int64_t g = cfx_dim__gcd(v, den);
    return (frac){cfx_dim_int(v / g), cfx_dim_int(den / g)};
}

static bool parse_word(parser *ps, char *name)
{
    const char *start = ps->p;
    while (is_alpha(*ps->p) || is_digit(*ps->p))
        ps->p++;
    size_t n = (size_t)(ps->p - start);
    if (n >= NAME_MAX_) {
        malformed(ps, "a name that is too long");
        return false;
    }
    memcpy(name, start, n);
    name[n] = '\0';
    return true;
}

static frac symbol(parser *ps, const char *name)
{
    if (!ps->env)
        return malformed(ps, "a symbol where only numbers can be");
    return whole_frac(cfx_dim_symbol_default(ps->env, name, strlen(name)));
}

static frac close(parser *ps, frac f)
{
    if (!ps->st && !take(ps, ")"))
        return malformed(ps, "no ')'");
    return f;
}

/* ---- Functions ---- */

typedef enum function {
    F_ABS,
    F_ADD,
    F_CEIL,
    F_CEILDIV,
    F_EXACT,
    F_FLOOR,
    F_FLOORDIV,
    F_MAX,
    F_MIN,
    F_MOD,
    F_MODULAR,
    F_MUL,
    F_POWER,
    F_SAME,
    F_TRUE_DIV,
    F_TRUNC
} function;

static const struct {
    const char *name;
    function what;
    int least, most; /* arguments */
} functions[] = {
    {"Abs", F_ABS, 1, 1},
    {"Add", F_ADD, 0, 64},
    {"CeilDiv", F_CEILDIV, 2, 2},
    {"CeilToInt", F_CEIL, 1, 1},
    {"CleanDiv", F_EXACT, 2, 2},
    {"FloatTrueDiv", F_TRUE_DIV, 2, 2},
    {"FloorDiv", F_FLOORDIV, 2, 2},
    {"FloorToInt", F_FLOOR, 1, 1},
    {"Identity", F_SAME, 1, 1},
    {"IntTrueDiv", F_TRUE_DIV, 2, 2},
    {"Integer", F_SAME, 1, 1},
    {"Max", F_MAX, 1, 64},
    {"Min", F_MIN, 1, 64},
    {"Mod", F_MOD, 2, 2},
    {"ModularIndexing", F_MODULAR, 3, 3},
    {"Mul", F_MUL, 0, 64},
    {"Pow", F_POWER, 2, 2},
    {"PowByNatural", F_POWER, 2, 2},
    {"PythonMod", F_MOD, 2, 2},
    {"Rational", F_TRUE_DIV, 2, 2},
    {"ToFloat", F_SAME, 1, 1},
    {"TruncToInt", F_TRUNC, 1, 1},
    {"ceil", F_CEIL, 1, 1},
    {"ceiling", F_CEIL, 1, 1},
    {"floor", F_FLOOR, 1, 1},
    {"max", F_MAX, 1, 64},
    {"min", F_MIN, 1, 64},
    {"sym_max", F_MAX, 1, 64},
    {"sym_min", F_MIN, 1, 64},
};

/* Truncate towards zero; only if the fraction cannot be negative. */
static frac trunc_frac(parser *ps, frac f)
{
    cfx_dim zero = cfx_dim_int(0), q = floor_frac(ps, f).n;
    if (is_whole(f))
        return f;
    if (cfx_dim_known_le(ps->env, zero, q))
        return whole_frac(q);
    if (cfx_dim_known_le(ps->env, q, zero))
        return ceil_frac(ps, f);
    return malformed(ps, "a quotient of unknown sign that is cut");
}

static frac apply_power(parser *ps, frac base, cfx_dim k)
{
    if (!cfx_dim_is_int(k))
        return malformed(ps, "a power that is not a number");
    if (cfx_dim_value(k) != -1)
        return power(ps, base, cfx_dim_value(k));
    return div_fracs(ps, whole_frac(cfx_dim_int(1)), base);
}

static frac apply(parser *ps, function what, const frac *a)
{
    cfx_shape_env *env = ps->env;
    cfx_dim x, y;
    switch (what) {
    case F_FLOOR: return floor_frac(ps, a[0]);
    case F_CEIL: return ceil_frac(ps, a[0]);
    case F_TRUNC: return trunc_frac(ps, a[0]);
    case F_TRUE_DIV: return div_fracs(ps, a[0], a[1]);
    case F_FLOORDIV: return floor_frac(ps, div_fracs(ps, a[0], a[1]));
    case F_CEILDIV: return ceil_frac(ps, div_fracs(ps, a[0], a[1]));
    case F_EXACT: return whole_frac(whole(ps, div_fracs(ps, a[0], a[1])));
    case F_POWER: return apply_power(ps, a[0], whole(ps, a[1]));
    case F_ABS:
        x = whole(ps, a[0]);
        return whole_frac(cfx_dim_max(env, x, cfx_dim_neg(env, x)));
    case F_MODULAR:
        x = floor_frac(ps, div_fracs(ps, a[0], a[1])).n;
        return whole_frac(cfx_dim_mod(env, x, whole(ps, a[2])));
    case F_MOD:
        x = whole(ps, a[0]);
        y = whole(ps, a[1]);
        return whole_frac(cfx_dim_mod(env, x, y));
    case F_ADD:
    case F_MUL:
    case F_MAX:
    case F_MIN:
    case F_SAME: break;
    }
    return a[0];
}

/* Fold one more argument of a variadic function. */
static frac gather(parser *ps, function what, frac sum, frac next)
{
    if (what == F_ADD)
        return add_fracs(ps, sum, next, 1);
    if (what == F_MUL)
        return mul_fracs(ps, sum, next);
    cfx_dim x = whole(ps, sum), y = whole(ps, next);
    return whole_frac(what == F_MIN ? cfx_dim_min(ps->env, x, y)
                                    : cfx_dim_max(ps->env, x, y));
}

static frac parse_arguments(parser *ps, size_t f)
{
    frac a[3];
    int n = 0;
    function what = functions[f].what;
    bool any = functions[f].most > 3;
    a[0] = whole_frac(cfx_dim_int(what == F_MUL));
    if (take(ps, ")"))
        return functions[f].least ? malformed(ps, "no argument") : a[0];
    do {
        if (n == functions[f].most)
            return malformed(ps, "too many arguments");
        frac x = parse_sum(ps);
        if (!any || n == 0)
            a[n] = x;
        else if (!ps->st)
            a[0] = gather(ps, what, a[0], x);
        n++;
    } while (!ps->st && take(ps, ","));
    close(ps, a[0]);
    if (!ps->st && n < functions[f].least)
        return malformed(ps, "too few arguments");
    return ps->st ? bad : apply(ps, what, a);
}

/* Symbol('s0', positive=True, integer=True), Float('2.0', precision=53) */
static frac parse_quoted(parser *ps, bool is_symbol)
{
    char name[NAME_MAX_];
    frac f;
    char quote[2] = {take(ps, "\"") ? '"' : '\'', '\0'};
    if (quote[0] == '\'' && !take(ps, quote))
        return malformed(ps, "no text in quotes");
    if (is_symbol) {
        if (!is_alpha(*ps->p))
            return malformed(ps, "no name");
        if (!parse_word(ps, name))
            return bad;
        f = symbol(ps, name);
    } else {
        f = parse_number(ps);
    }
    if (!ps->st && !take(ps, quote))
        return malformed(ps, "no end of a text in quotes");
    while (!ps->st && take(ps, ",")) {
        skip(ps);
        if (!parse_word(ps, name))
            return bad;
        if (!take(ps, "="))
            return malformed(ps, "no '='");
        skip(ps);
        parse_word(ps, name);
    }
    return close(ps, f);
}

static frac parse_name(parser *ps)
{
    char name[NAME_MAX_];
    if (!parse_word(ps, name))
        return bad;
    bool call = take(ps, "(");
    if (call && (!strcmp(name, "Symbol") || !strcmp(name, "Float")))
        return parse_quoted(ps, name[0] == 'S');
    for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
        if (!strcmp(name, functions[i].name)) {
            if (call)
                return parse_arguments(ps, i);
            if (!strcmp(name, "min") || !strcmp(name, "max"))
                return malformed(ps, "no '('");
        }
    return call ? malformed(ps, "the end of the name of no function")
                : symbol(ps, name);
}

/* ---- Operators ---- */

static frac parse_primary(parser *ps)
{
    skip(ps);
    if (is_digit(*ps->p))
        return parse_number(ps);
    if (is_alpha(*ps->p))
        return parse_name(ps);
    if (!take(ps, "("))
        return malformed(ps, *ps->p ? "no operand" : "it ends");
    return close(ps, parse_sum(ps));
}

static frac parse_power(parser *ps)
{
    frac base = parse_primary(ps);
    if (ps->st || !take(ps, "**"))
        return base;
    skip(ps);
    if (!is_digit(*ps->p))
        return malformed(ps, "no number");
    frac k = parse_number(ps);
    if (ps->st || !is_whole(k))
        return malformed(ps, "a power that is not a number");
    return power(ps, base, cfx_dim_value(k.n));
}

static frac parse_signed(parser *ps)
{
    int sign = 1;
    for (;;) {
        if (take(ps, "-"))
            sign = -sign;
        else if (!take(ps, "+"))
            break;
    }
    frac f = parse_power(ps);
    if (sign < 0)
        f.n = cfx_dim_neg(ps->env, f.n);
    return f;
}

static frac parse_term(parser *ps)
{
    frac f = parse_signed(ps);
    while (!ps->st) {
        if (take(ps, "*")) {
            f = mul_fracs(ps, f, parse_signed(ps));
        } else if (take(ps, "//")) {
            f = floor_frac(ps, div_fracs(ps, f, parse_signed(ps)));
        } else if (take(ps, "/")) {
            f = div_fracs(ps, f, parse_signed(ps));
        } else if (take(ps, "%")) {
            frac by = parse_signed(ps);
            cfx_dim x = whole(ps, f), y = whole(ps, by);
            f = whole_frac(cfx_dim_mod(ps->env, x, y));
        } else {
            break;
        }
    }
    return f;
}

static frac parse_sum(parser *ps)
{
    if (++ps->depth > PARSE_DEPTH_MAX)
        return malformed(ps, "too deep");
    frac f = parse_term(ps);
    while (!ps->st) {
        if (take(ps, "+"))
            f = add_fracs(ps, f, parse_term(ps), 1);
        else if (take(ps, "-"))
            f = add_fracs(ps, f, parse_term(ps), -1);
        else
            break;
    }
    ps->depth--;
    return f;
}

cfx_status cfx_dim_parse(cfx_dim *out, cfx_shape_env *env, const char *text,
                         cfx_error *err)
{
    parser ps = {.env = env, .text = text, .p = text, .err = err};
    uint64_t failures = env ? cfx_exprs_failures(env->table) : 0;
    *out = CFX_DIM_BAD;
    frac f = parse_sum(&ps);
    skip(&ps);
    if (!ps.st && *ps.p)
        malformed(&ps, "something that does not belong");
    if (ps.st)
        return ps.st;
    bool known = !cfx_dim_is_bad(f.n) && !cfx_dim_is_bad(f.d);
    cfx_dim d = known ? whole(&ps, f) : CFX_DIM_BAD;
    if (cfx_dim_is_bad(d)) {
        if (env && cfx_exprs_failures(env->table) != failures)
            return cfx_fail(err, CFX_ENOMEM, "no memory for an extent");
        return cfx_fail(
            err, CFX_EPARSE,
            "extent '%.200s' is too large, divides by zero, or is not whole",
            text);
    }
    *out = d;
    return CFX_OK;
}
