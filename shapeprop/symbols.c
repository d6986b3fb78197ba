/*
 * symbols -- the symbols of an environment, one by one.
 */
#include "shapeprop/symbols.h"

bool cfx_symbols__next(const cfx_shape_env *env, size_t *at,
                       cfx_symbol_facts *out)
{
    cfx_symbol s;
    if (!env || *at >= cfx_shape_env_symbols(env))
        return false;
    cfx_shape_env_symbol(env, (*at)++, &s);
    *out = (cfx_symbol_facts){
        .name = s.name,
        .min = s.min,
        .max = s.max,
        .has_min = s.min != CFX_DIM_NO_MIN,
        .has_max = s.max != CFX_DIM_NO_MAX,
    };
    return true;
}
