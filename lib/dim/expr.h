/*
 * expr.h -- symbolic extents in canonical form. Not installed.
 *
 * An expression is a sum of an integer and terms, each an integer times a
 * product of atoms, over one integer denominator, which divides it for all
 * values of its symbols. Atoms are symbols, floor divisions, remainders,
 * minima and maxima, whose operands are again dims, but without denominators.
 * The context's table holds each once, so that equal expressions are the same
 * word. Degenerate forms do not occur: a constant sum is an integer, a sum of
 * one product with factor 1 is that product, a product of one atom is that
 * atom, and fractions are reduced.
 *
 * Depth and weight (the size as a tree) are bounded, and so are recursion and
 * the time of a walk.
 */
#ifndef CFX_EXPR_H
#define CFX_EXPR_H

#include <cfx/dim.h>

#include "base/util.h"

enum {
    CFX_EXPR_DEPTH_MAX = 100,
    CFX_EXPR_WEIGHT_MAX = 1 << 11,
    CFX_EXPR_DEGREE_MAX = 64
};

/* In the order in which atoms are printed. */
typedef enum cfx_expr_kind {
    CFX_EXPR_SYMBOL,
    CFX_EXPR_FLOORDIV, /* term[0] // term[1] */
    CFX_EXPR_MOD,      /* term[0] % term[1] */
    CFX_EXPR_MIN,      /* of two terms or more, sorted */
    CFX_EXPR_MAX,
    CFX_EXPR_PRODUCT, /* of term[i].of to the power term[i].k, sorted */
    CFX_EXPR_SUM      /* c + term[i].k * term[i].of ..., largest first, over
                          den */
} cfx_expr_kind;

typedef struct cfx_term {
    int64_t k;
    cfx_dim of;
} cfx_term;

typedef struct cfx_exprs cfx_exprs;
typedef struct cfx_expr cfx_expr;

struct cfx_expr {
    cfx_exprs *table;
    cfx_expr *next;   /* in the same bucket */
    const char *name; /* of a symbol */
    int64_t c;        /* symbol: its number; product: degree; sum: integer */
    int64_t den;      /* of a sum; otherwise 1 */
    uint64_t symbols; /* a Bloom filter: bit i for symbols of number i modulo
                         64 */
    uint32_t hash, n, weight;
    uint16_t depth;
    uint8_t kind;
    cfx_term term[];
};

CFX_INLINE const cfx_expr *cfx_expr_of(cfx_dim d)
{
    assert(!cfx_dim_is_int(d) && !cfx_dim_is_bad(d));
    return (const cfx_expr *)(uintptr_t)(d.bits - 1);
}
CFX_INLINE bool cfx_dim_is_expr(cfx_dim d)
{
    return !cfx_dim_is_int(d) && !cfx_dim_is_bad(d);
}
/* The symbols that may be in a dim, as in cfx_expr. */
CFX_INLINE uint64_t cfx_dim_symbols(cfx_dim d)
{
    return cfx_dim_is_expr(d) ? cfx_expr_of(d)->symbols : 0;
}
/* Is it an expression of that kind? */
CFX_INLINE bool cfx_dim_is_kind(cfx_dim d, cfx_expr_kind kind)
{
    return cfx_dim_is_expr(d) && cfx_expr_of(d)->kind == kind;
}

/* The table of a context; NULL on lack of memory. */
cfx_exprs *cfx_exprs_of(cfx_context *ctx);
/* The table that one of two dims lives in; NULL for integers. */
cfx_exprs *cfx_exprs_either(cfx_dim a, cfx_dim b);
/* Number of failed allocations of the table. */
uint64_t cfx_exprs_failures(const cfx_exprs *table);
/* Count a failed allocation; returns CFX_DIM_BAD. */
cfx_dim cfx_exprs_no_memory(cfx_exprs *table);

/* The symbol of a valid name. */
cfx_dim cfx_expr_symbol(cfx_exprs *table, const char *name, size_t len);
/* An atom with operands as they are. */
cfx_dim cfx_expr_atom(cfx_exprs *table, cfx_expr_kind kind,
                      const cfx_term *term, size_t n);
cfx_dim cfx_expr_product(cfx_dim a, cfx_dim b);
/* a / b for products; 1 if they are equal; CFX_DIM_BAD if b does not divide
 * a. */
cfx_dim cfx_expr_quotient(cfx_dim a, cfx_dim b);

/* A total order, independent of addresses and creation; 0 only for the same
 * word. Products by degree, the greatest first, then by atoms. */
int cfx_dim_compare(cfx_dim a, cfx_dim b);

/* ---- A dim as a sum ---- */

typedef struct cfx_sum {
    int64_t c, den;
    size_t n;
    const cfx_term *term; /* of `of`: anything but a sum or an integer */
    cfx_term only;
} cfx_sum;

/* `s` must stay where it is. */
void cfx_sum_view(cfx_sum *s, cfx_dim d);

/* den * d, which has no denominator. */
cfx_dim cfx_dim_numerator(cfx_dim d, int64_t *den);

/* The atoms of a product; an atom is a product of itself. */
typedef cfx_sum cfx_factors;
void cfx_factors_view(cfx_factors *f, cfx_dim d);

/* Is an atom of the product a minimum or maximum? */
bool cfx_product_has_extremum(cfx_dim product);

/* The greatest common divisor of the terms' factors, without the integer. */
int64_t cfx_sum_content(const cfx_sum *s);

/* ---- A sum under construction ---- */

typedef struct cfx_poly {
    cfx_exprs *table;
    bool bad;
    int64_t c, den;
    size_t n, cap;
    cfx_term *term;
    cfx_term room[12];
} cfx_poly;

void cfx_poly_init(cfx_poly *p, cfx_exprs *table);
void cfx_poly_const(cfx_poly *p, int64_t c);
/* Add k * of, where `of` is neither a sum nor an integer. */
void cfx_poly_term(cfx_poly *p, int64_t k, cfx_dim of);
/* Add k * d. */
void cfx_poly_dim(cfx_poly *p, int64_t k, cfx_dim d);
/* Divide by k > 0, which divides it. */
void cfx_poly_over(cfx_poly *p, int64_t k);
/* The sum; p is released. */
cfx_dim cfx_poly_finish(cfx_poly *p);

/* k * d + c */
cfx_dim cfx_dim_affine(int64_t k, cfx_dim d, int64_t c);
/* d / k for k > 0 that divides d. */
cfx_dim cfx_dim_over(cfx_dim d, int64_t k);

int64_t cfx_dim__gcd(int64_t a, int64_t b);
int64_t cfx_floordiv_int(int64_t a, int64_t b);
CFX_INLINE int64_t cfx_floormod_int(int64_t a, int64_t b)
{
    int64_t r = a % b;
    return r != 0 && (r ^ b) < 0 ? r + b : r;
}

#endif
