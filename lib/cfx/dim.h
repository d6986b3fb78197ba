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
 *     cfx_dim_format(out, text, sizeof(text)); // "(H + 1)//2"
 *     cfx_dim_le(env, out, h);                 // true: it follows
 *     cfx_dim_eq(env, h, cfx_dim_int(224));    // true: now a guard
 *     cfx_dim_lt(env, h, cfx_dim_int(224));    // false
 *
 * An expression is a sum of products with integer factors over one integer
 * denominator; floor division, remainders, minima and maxima are atoms, which
 * simplify as far as is exact for all values in the symbols' ranges. Exact
 * division needs a dividend that is divisible: N*(N + 1) is by 2, N is if a
 * guard says so.
 *
 * Overflow, division by zero, lack of memory and expressions of more than
 * 2,048 operands, 100 levels or degree 64 give CFX_DIM_BAD. Every operation
 * passes it on, and no tensor accepts it as an extent.
 *
 * A shape environment holds the symbols of one propagation, their ranges and
 * the guards. A guard is a relation that a shape rule needed, that could not
 * be proved, and that is assumed from then on. Arithmetic on integers accepts
 * a NULL environment. An expression made after a guard may be simpler than an
 * equal one made before it; the queries below know that both are equal.
 *
 * Limits. Two expressions that are equal for all values are the same word if
 * they are polynomials, and most often otherwise; cfx_dim_known_eq also proves
 * equalities that need a case distinction: how integers round the symbols
 * (N//2 + (N + 1)//2 is N), in at most 256 cases, or which operand of a
 * minimum or maximum is taken. It may miss equalities of quotients by
 * expressions (N//M*K//N), and inequalities of products that need more than
 * ranges, two guards and rounding. For this reason guards may be accepted that
 * contradict each other only three at a time, in a product, by parity, or
 * beyond 128 of them.
 */
#ifndef CFX_DIM_H
#define CFX_DIM_H

#include <assert.h>

#include <cfx/context.h>

typedef struct cfx_dim {
    uint64_t bits;
} cfx_dim;
typedef struct cfx_shape_env cfx_shape_env;

#define CFX_DIM_MAX ((int64_t)1 << 61)
#define CFX_DIM_BAD (CFX_LITERAL(cfx_dim){3})

CFX_BEGIN_DECLS

CFX_INLINE bool cfx_dim_is_int(cfx_dim d)
{
    return !(d.bits & 1);
}
CFX_INLINE bool cfx_dim_is_bad(cfx_dim d)
{
    return d.bits == 3;
}

/* The dim of an integer; out of range it is CFX_DIM_BAD. */
CFX_INLINE cfx_dim cfx_dim_int(int64_t v)
{
    return v <= CFX_DIM_MAX && v >= -CFX_DIM_MAX
               ? CFX_LITERAL(cfx_dim){(uint64_t)v << 1}
               : CFX_DIM_BAD;
}

/* The integer that a dim is. */
CFX_INLINE int64_t cfx_dim_value(cfx_dim d)
{
    assert(cfx_dim_is_int(d));
    return (int64_t)d.bits >> 1;
}

/* Identical words. cfx_dim_known_eq proves equality. */
CFX_INLINE bool cfx_dim_same(cfx_dim a, cfx_dim b)
{
    return a.bits == b.bits;
}
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

/* a / b, where b has to divide a. If that cannot be proved it becomes a guard;
 * if it is false, the result is CFX_DIM_BAD. */
CFX_API cfx_dim cfx_dim_exactdiv(cfx_shape_env *env, cfx_dim a, cfx_dim b);

/*
 * Queries. A relation that canonical forms, ranges and guards prove or refute
 * gives that answer. Any other is recorded as a guard, and the answer is
 * `true` (for ne, too). A relation that contradicts the guards is false and is
 * not recorded. With a NULL environment an unproved relation is false.
 */
CFX_API bool cfx_dim_eq(cfx_shape_env *env, cfx_dim a, cfx_dim b);
CFX_API bool cfx_dim_ne(cfx_shape_env *env, cfx_dim a, cfx_dim b);
CFX_API bool cfx_dim_le(cfx_shape_env *env, cfx_dim a, cfx_dim b);
CFX_API bool cfx_dim_lt(cfx_shape_env *env, cfx_dim a, cfx_dim b);

/* Can the relation be proved, without a new guard? */
CFX_API bool cfx_dim_known_eq(cfx_shape_env *env, cfx_dim a, cfx_dim b);
CFX_API bool cfx_dim_known_le(cfx_shape_env *env, cfx_dim a, cfx_dim b);

/* Environments. The context must outlive them. */
CFX_API cfx_status cfx_shape_env_new(cfx_shape_env **out, cfx_context *ctx,
                                     cfx_error *err);
CFX_API void cfx_shape_env_free(cfx_shape_env *env);

/* The symbol called `name`, with values of at least `min` (1 for extents of
 * inputs); a name is [A-Za-z_][A-Za-z0-9_]*. Returns CFX_DIM_BAD when out of
 * memory. */
CFX_API cfx_dim cfx_dim_symbol(cfx_shape_env *env, const char *name,
                               int64_t min);

/* A new symbol u0, u1, ... that depends on data; at least 0. */
CFX_API cfx_dim cfx_dim_unbacked(cfx_shape_env *env);

/* Intersect the range of a symbol with min .. max. Fails with CFX_EINVAL if
 * the range becomes empty, CFX_ENOMEM. */
#define CFX_DIM_NO_MIN INT64_MIN
#define CFX_DIM_NO_MAX INT64_MAX
CFX_API cfx_status cfx_dim_limit(cfx_shape_env *env, cfx_dim symbol,
                                 int64_t min, int64_t max, cfx_error *err);

/* The known lower and upper bound of an extent. */
CFX_API void cfx_dim_bounds(cfx_shape_env *env, cfx_dim d, int64_t *min,
                            int64_t *max);

/* The symbols of an environment, in the order of their creation. */
typedef struct cfx_symbol {
    const char *name;
    cfx_dim dim;
    int64_t min, max; /* CFX_DIM_NO_MIN, CFX_DIM_NO_MAX: none */
    bool unbacked;
    cfx_dim equals; /* fixed by guards to this; CFX_DIM_BAD: not */
} cfx_symbol;

CFX_API size_t cfx_shape_env_symbols(const cfx_shape_env *env);
CFX_API void cfx_shape_env_symbol(const cfx_shape_env *env, size_t i,
                                  cfx_symbol *out);

/* The name of a dim that is a single symbol, else NULL. */
CFX_API const char *cfx_dim_symbol_name(cfx_dim d);

/* Store the symbols of a dim, each once, sorted by name: at most `capacity` of
 * them. Returns how many there are. */
CFX_API size_t cfx_dim_free_symbols(cfx_dim d, cfx_dim *out, size_t cap);

/* Number of guards, and the text of one ("N == M"), until the next change. New
 * guards come last; none occurs twice. */
CFX_API size_t cfx_shape_env_guards(const cfx_shape_env *env);
CFX_API const char *cfx_shape_env_guard(const cfx_shape_env *env, size_t i);

/* Substitute the symbols that guards fix: with the guard H == 224, H//16
 * becomes 14. Arithmetic does not substitute them. */
CFX_API cfx_dim cfx_dim_simplify(cfx_shape_env *env, cfx_dim d);

/* Substitute symbols: `value(user, name, &v)` sets the replacement, or returns
 * false to keep the symbol. */
CFX_API cfx_dim cfx_dim_subst(cfx_shape_env *env, cfx_dim d,
                              bool (*value)(void *user, const char *name,
                                            cfx_dim *v),
                              void *user);

/* Print as a person would write it ("2*N + 1", "(H + 1)//2"). Returns the
 * length that is needed, like snprintf. */
CFX_API size_t cfx_dim_format(cfx_dim d, char *buf, size_t size);

/*
 * Parse an expression; new symbols are at least 1. The notations of torch and
 * sympy in exported programs are accepted, too: FloorDiv(a, b), CeilDiv, Mod,
 * Max, ModularIndexing, CeilToInt(IntTrueDiv(a, b)), floor(s0/2), Symbol('s0',
 * integer=True), Add, Mul, Pow and Rational. Division by / has to be exact, as
 * in cfx_dim_exactdiv. Fails with CFX_EPARSE, CFX_ENOMEM.
 */
CFX_API cfx_status cfx_dim_parse(cfx_dim *out, cfx_shape_env *env,
                                 const char *text, cfx_error *err);

/* Evaluate: `value(user, name, &v)` sets the value of each symbol. Fails with
 * CFX_ENAME if it returns false, CFX_EINVAL for overflow, division by zero, or
 * a quotient by / that is not whole. */
CFX_API cfx_status cfx_dim_eval(int64_t *out, cfx_dim d,
                                bool (*value)(void *user, const char *name,
                                              int64_t *v),
                                void *user, cfx_error *err);

CFX_END_DECLS

#endif
