/*
 * subst -- substitute extents for symbols, and list free symbols.
 */
#include "dim/env.h"

/* ---- Rebuilding ---- */

static cfx_dim subst_atom(cfx_subst *s, cfx_dim d)
{
    const cfx_expr *e = cfx_expr_of(d);
    if (!(e->symbols & s->mask))
        return d;
    if (e->kind == CFX_EXPR_SYMBOL)
        return s->of(s, d);
    cfx_dim r = cfx_subst_dim(s, e->term[0].of);
    for (size_t i = 1; i < e->n; i++) {
        cfx_dim x = cfx_subst_dim(s, e->term[i].of);
        r = e->kind == CFX_EXPR_FLOORDIV ? cfx_dim_floordiv(s->env, r, x)
            : e->kind == CFX_EXPR_MOD    ? cfx_dim_mod(s->env, r, x)
            : e->kind == CFX_EXPR_MIN    ? cfx_dim_min(s->env, r, x)
                                         : cfx_dim_max(s->env, r, x);
    }
    return r;
}

static cfx_dim subst_product(cfx_subst *s, cfx_dim d)
{
    cfx_factors f;
    cfx_factors_view(&f, d);
    cfx_dim r = cfx_dim_int(1);
    for (size_t i = 0; i < f.n; i++) {
        cfx_dim x = subst_atom(s, f.term[i].of);
        for (int64_t k = 0; k < f.term[i].k; k++)
            r = cfx_dim_mul(s->env, r, x);
    }
    return r;
}

cfx_dim cfx_subst_dim(cfx_subst *s, cfx_dim d)
{
    if (!(cfx_dim_symbols(d) & s->mask))
        return d;
    cfx_sum sum;
    cfx_poly p;
    cfx_sum_view(&sum, d);
    cfx_poly_init(&p, cfx_expr_of(d)->table);
    cfx_poly_const(&p, sum.c);
    for (size_t i = 0; i < sum.n; i++)
        cfx_poly_dim(&p, sum.term[i].k, subst_product(s, sum.term[i].of));
    cfx_poly_over(&p, sum.den);
    return cfx_poly_finish(&p);
}

typedef struct given {
    bool (*value)(void *user, const char *name, cfx_dim *v);
    void *user;
} given;

static cfx_dim given_of(cfx_subst *s, cfx_dim symbol)
{
    const given *g = s->user;
    cfx_dim v = symbol;
    return g->value(g->user, cfx_expr_of(symbol)->name, &v) ? v : symbol;
}

cfx_dim cfx_dim_subst(cfx_shape_env *env, cfx_dim d,
                      bool (*value)(void *user, const char *name, cfx_dim *v),
                      void *user)
{
    given g = {value, user};
    cfx_subst s = {.env = env, .mask = UINT64_MAX, .user = &g, .of = given_of};
    return cfx_subst_dim(&s, d);
}

/* ---- Symbols ---- */

const char *cfx_dim_symbol_name(cfx_dim d)
{
    return cfx_dim_is_kind(d, CFX_EXPR_SYMBOL) ? cfx_expr_of(d)->name : NULL;
}

/* The first symbol by name after `last`. */
static void list_after(const cfx_expr *e, const char *last, cfx_dim *first)
{
    if (!e->symbols)
        return;
    if (e->kind == CFX_EXPR_SYMBOL && (!last || strcmp(e->name, last) > 0) &&
        (cfx_dim_is_bad(*first) ||
         strcmp(e->name, cfx_expr_of(*first)->name) < 0))
        *first = (cfx_dim){(uint64_t)(uintptr_t)e + 1};
    for (size_t i = 0; i < e->n; i++)
        if (cfx_dim_is_expr(e->term[i].of))
            list_after(cfx_expr_of(e->term[i].of), last, first);
}

size_t cfx_dim_free_symbols(cfx_dim d, cfx_dim *out, size_t cap)
{
    size_t n = 0;
    const char *last = NULL;
    while (cfx_dim_is_expr(d)) {
        cfx_dim next = CFX_DIM_BAD;
        list_after(cfx_expr_of(d), last, &next);
        if (cfx_dim_is_bad(next))
            break;
        if (n < cap)
            out[n] = next;
        n++;
        last = cfx_expr_of(next)->name;
    }
    return n;
}
