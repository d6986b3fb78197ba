/*
 * symbols -- the symbols of an environment, one by one.
 */
#include "shapeprop/symbols.h"

#include "base/env.h"

bool cfx_symbols__next(const cfx_shape_env *env, size_t *at,
                       cfx_symbol_facts *out)
{
    while (env && *at < env->known_cap) {
        const cfx_known *k = &env->known[(*at)++];
        if (!cfx_dim_is_expr(k->symbol))
            continue;
        *out = (cfx_symbol_facts){
            .name = cfx_expr_of(k->symbol)->name,
            .min = k->range.lo,
            .max = k->range.hi,
            .has_min = k->range.lo != -CFX_INF,
            .has_max = k->range.hi != CFX_INF,
        };
        return true;
    }
    return false;
}

bool cfx_symbols__has(const cfx_shape_env *env, const char *name, size_t len)
{
    cfx_symbol_facts s;
    for (size_t at = 0; cfx_symbols__next(env, &at, &s);)
        if (!strncmp(s.name, name, len) && !s.name[len])
            return true;
    return false;
}
