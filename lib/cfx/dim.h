/*
 * cfx/dim.h -- extents: integers, or expressions over named symbols.
 *
 * A cfx_dim is 64 bits: an integer of 62 bits and a sign, or a pointer to an
 * expression in canonical form that the context keeps, so that two equal
 * expressions are the same word. Shape rules do arithmetic and ask questions
 * only through the functions below; for integers each is a few instructions.
 *
 *     cfx_dim h = cfx_dim_symbol(env, "H", 1);
 *     cfx_dim out = cfx_dim_floordiv(env, cfx_dim_add(env, h, cfx_dim_int(1)),
 *                                    cfx_dim_int(2));
 *     cfx_dim_format(out, text, sizeof(text));              (H + 1)//2
 *     cfx_dim_le(env, out, h);                               true: it follows
 *     cfx_dim_eq(env, h, cfx_dim_int(224));                  true: now a guard
 *     cfx_dim_lt(env, h, cfx_dim_int(224));                  false
 *
 * An expression is a sum of products with integer factors over one integer
 * denominator; floor division, remainders, minima and maxima are atoms, which
 * simplify as far as is exact for all values in the symbols' ranges. What is
 * divided is always divisible: N*(N + 1)/2 is, N/2 where a guard says so.
 *
 * Overflow, division by zero and lack of memory give the word CFX_DIM_BAD,
 * which every operation passes on and which no tensor accepts as an extent.
 * So do expressions of more than 2,048 operands, 100 levels or degree 64.
 *
 * A shape environment holds what one propagation knows of its symbols: their
 * ranges, and the guards: facts that a rule needed, that do not follow, and
 * that were taken to hold. Arithmetic on integers accepts a NULL environment.
 * What is made after a guard may be simpler than what was made before it; the
 * questions below take both to be the same.
 *
 * Limits. Two expressions that are equal for all values are the same word if
 * they are polynomials, and most often otherwise; cfx_dim_known_eq says so
 * where they differ only in how symbols are rounded by integers (N//2 +
 * (N + 1)//2 is N), if their periods together have at most 256 cases, or in
 * which operand of an extremum is the largest. It may miss equalities of
 * quotients by expressions (N//M*K//N), and inequalities of products that take
 * more than ranges, a guard or two, and the ways of rounding. For the same
 * reason guards may be accepted that contradict each other only when three of
 * them are put together, in a product, by parity, or beyond 128 of them.
 */
#ifndef CFX_DIM_H
#define CFX_DIM_H

#include <assert.h>

#include <cfx/context.h>

typedef struct cfx_dim { uint64_t bits; } cfx_dim;
typedef struct cfx_shape_env cfx_shape_env;

#define CFX_DIM_MAX ((int64_t)1 << 61)
#define CFX_DIM_BAD (CFX_LITERAL(cfx_dim){3})

CFX_BEGIN_DECLS

CFX_INLINE bool cfx_dim_is_int(cfx_dim d) { return !(d.bits & 1); }
CFX_INLINE bool cfx_dim_is_bad(cfx_dim d) { return d.bits == 3; }

/* The dim of an integer; out of range it is CFX_DIM_BAD. */
CFX_INLINE cfx_dim cfx_dim_int(int64_t v)
{
    return v <= CFX_DIM_MAX && v >= -CFX_DIM_MAX
               ? CFX_LITERAL(cfx_dim){(uint64_t)v << 1} : CFX_DIM_BAD;
}

/* The integer of a dim that is one. */
CFX_INLINE int64_t cfx_dim_value(cfx_dim d)
{
    assert(cfx_dim_is_int(d));
    return (int64_t)d.bits >> 1;
}

/* Are they the same word? For "are they equal", cfx_dim_known_eq. */
CFX_INLINE bool cfx_dim_same(cfx_dim a, cfx_dim b) { return a.bits == b.bits; }
CFX_INLINE bool cfx_dim_is(cfx_dim d, int64_t v)
{
    return d.bits == (uint64_t)v << 1;
}

/* Arithmetic. Division and modulo round towards minus infinity. */
CFX_API cfx_dim cfx_dim_add_symbols(cfx_shape_env *env, cfx_dim a, cfx_dim b);
CFX_API cfx_dim cfx_dim_mul_symbols(cfx_shape_env *env, cfx_dim a, cfx_dim b);
CFX_API cfx_dim cfx_dim_floordiv(cfx_shape_env *env, cfx_dim a, cfx_dim b);
CFX_API cfx_dim cfx_dim_mod(cfx_shape_env *env, cfx_dim a, cfx_dim b);
CFX_API cfx_dim cfx_dim_min(cfx_shape_env *env, cfx_dim a, cfx_dim b);
CFX_API cfx_dim cfx_dim_max(cfx_shape_env *env, cfx_dim a, cfx_dim b);

CFX_INLINE cfx_dim cfx_dim_add(cfx_shape_env *env, cfx_dim a, cfx_dim b)
{
    if (CFX_LIKELY(!((a.bits | b.bits) & 1)))
        return cfx_dim_int(cfx_dim_value(a) + cfx_dim_value(b));
    return cfx_dim_add_symbols(env, a, b);
}

CFX_INLINE cfx_dim cfx_dim_mul(cfx_shape_env *env, cfx_dim a, cfx_dim b)
{
    if (CFX_LIKELY(!((a.bits | b.bits) & 1) && (a.bits | b.bits) >> 31 == 0))
        return cfx_dim_int(cfx_dim_value(a) * cfx_dim_value(b));
    return cfx_dim_mul_symbols(env, a, b);
}

CFX_INLINE cfx_dim cfx_dim_neg(cfx_shape_env *env, cfx_dim a)
{
    return cfx_dim_mul(env, a, cfx_dim_int(-1));
}

CFX_INLINE cfx_dim cfx_dim_sub(cfx_shape_env *env, cfx_dim a, cfx_dim b)
{
    return cfx_dim_add(env, a, cfx_dim_neg(env, b));
}

/* -((-a) // b): division that rounds up. */
CFX_API cfx_dim cfx_dim_ceildiv(cfx_shape_env *env, cfx_dim a, cfx_dim b);

/* a / b, where b has to divide a: where that does not follow it is a guard,
 * and where it cannot be, the result is CFX_DIM_BAD. */
CFX_API cfx_dim cfx_dim_exactdiv(cfx_shape_env *env, cfx_dim a, cfx_dim b);

/*
 * Questions. The answer is proved or refuted where it follows from the
 * canonical forms, ranges and guards; where it does not, the environment
 * records the relation as a guard and the answer is `true` (for ne: also
 * true). A relation that contradicts what is known, be it found only when it
 * is put together with the guards, is false and no guard. With a NULL
 * environment what does not follow is false.
 */
CFX_API bool cfx_dim_eq(cfx_shape_env *env, cfx_dim a, cfx_dim b);
CFX_API bool cfx_dim_ne(cfx_shape_env *env, cfx_dim a, cfx_dim b);
CFX_API bool cfx_dim_le(cfx_shape_env *env, cfx_dim a, cfx_dim b);
CFX_API bool cfx_dim_lt(cfx_shape_env *env, cfx_dim a, cfx_dim b);

/* Does it follow, without a guard, that the relation holds? */
CFX_API bool cfx_dim_known_eq(cfx_shape_env *env, cfx_dim a, cfx_dim b);
CFX_API bool cfx_dim_known_le(cfx_shape_env *env, cfx_dim a, cfx_dim b);

/* Environments. The context must outlive them. */
CFX_API cfx_status cfx_shape_env_new(cfx_shape_env **out, cfx_context *ctx,
                                     cfx_error *err);
CFX_API void cfx_shape_env_free(cfx_shape_env *env);

/* The symbol of that name, with values of at least `min` (1 for extents of
 * inputs); a name is [A-Za-z_][A-Za-z0-9_]*. CFX_DIM_BAD on lack of memory. */
CFX_API cfx_dim cfx_dim_symbol(cfx_shape_env *env, const char *name,
                               int64_t min);

/* A new symbol u0, u1, ... whose value only the data tells; at least 0. */
CFX_API cfx_dim cfx_dim_unbacked(cfx_shape_env *env);

/* Narrow the range of a symbol to what lies in min .. max too. Fails with
 * CFX_EINVAL where nothing would be left, CFX_ENOMEM. */
#define CFX_DIM_NO_MIN INT64_MIN
#define CFX_DIM_NO_MAX INT64_MAX
CFX_API cfx_status cfx_dim_limit(cfx_shape_env *env, cfx_dim symbol,
                                 int64_t min, int64_t max, cfx_error *err);

/* Between which values any extent lies, as far as is known. */
CFX_API void cfx_dim_bounds(cfx_shape_env *env, cfx_dim d, int64_t *min,
                            int64_t *max);

/* The symbols of an environment, in the order in which it met them. */
typedef struct cfx_symbol {
    const char *name;
    cfx_dim dim;
    int64_t min, max; /* CFX_DIM_NO_MIN, CFX_DIM_NO_MAX: none */
    bool unbacked;
    cfx_dim equals;   /* what guards say it is; CFX_DIM_BAD: nothing */
} cfx_symbol;

CFX_API size_t cfx_shape_env_symbols(const cfx_shape_env *env);
CFX_API void cfx_shape_env_symbol(const cfx_shape_env *env, size_t i,
                                  cfx_symbol *out);

/* The name of a dim that is one symbol; otherwise NULL. */
CFX_API const char *cfx_dim_symbol_name(cfx_dim d);

/* The symbols that occur in a dim, each once, in the order of their names: at
 * most `room` of them; returns how many there are. */
CFX_API size_t cfx_dim_free_symbols(cfx_dim d, cfx_dim *out, size_t room);

/* Number of guards, and the text of one ("N == M"), until the next change.
 * New ones come last; each is there once. */
CFX_API size_t cfx_shape_env_guards(const cfx_shape_env *env);
CFX_API const char *cfx_shape_env_guard(const cfx_shape_env *env, size_t i);

/* The extent in terms of the symbols that guards left free: where H == 224 is
 * one, H//16 is 14. Arithmetic leaves symbols as they are. */
CFX_API cfx_dim cfx_dim_simplify(cfx_shape_env *env, cfx_dim d);

/* The extent with some symbols replaced: `value(user, name, &v)` gives the
 * replacement, or false for a symbol that stays. */
CFX_API cfx_dim cfx_dim_subst(cfx_shape_env *env, cfx_dim d,
                              bool (*value)(void *user, const char *name,
                                            cfx_dim *v),
                              void *user);

/* Print as a person would write it ("2*N + 1", "(H + 1)//2"). As snprintf:
 * returns the length that would be needed. */
CFX_API size_t cfx_dim_format(cfx_dim d, char *buf, size_t size);

/*
 * Read such a text, making symbols of at least 1 as needed. Read are also
 * torch's and sympy's spellings of exported programs, among them
 * FloorDiv(a, b), CeilDiv, Mod, Max, ModularIndexing, CeilToInt(IntTrueDiv(a,
 * b)), floor(s0/2), Symbol('s0', integer=True), Add, Mul, Pow and Rational.
 * Division by / has to be exact, as in cfx_dim_exactdiv. Fails with CFX_EPARSE,
 * CFX_ENOMEM.
 */
CFX_API cfx_status cfx_dim_parse(cfx_dim *out, cfx_shape_env *env,
                                 const char *text, cfx_error *err);

/* The value with symbols set: `value(user, name, &v)` gives each. Fails with
 * CFX_ENAME for a symbol it does not give, CFX_EINVAL for overflow, division by
 * zero, or a quotient by / that is not whole. */
CFX_API cfx_status cfx_dim_eval(int64_t *out, cfx_dim d,
                                bool (*value)(void *user, const char *name,
                                              int64_t *v),
                                void *user, cfx_error *err);

CFX_END_DECLS

#endif
