/*
 * symbols.h -- the symbols of an environment, one by one. Not installed.
 */
#ifndef CFX_SYMBOLS_H
#define CFX_SYMBOLS_H

#include <cfx/dim.h>

typedef struct cfx_symbol_facts {
    const char *name;
    int64_t min, max;
    bool has_min, has_max;
} cfx_symbol_facts;

/* The next symbol from *at on, which must begin as 0; false: no more. */
bool cfx_symbols__next(const cfx_shape_env *env, size_t *at,
                       cfx_symbol_facts *out);

#endif
