/*
 * symbols.h -- facts about a symbol. Not installed.
 */
#ifndef CFX_SYMBOLS_H
#define CFX_SYMBOLS_H

#include "format/print.h"

/* True if the symbol equals a number or another extent. */
CFX_INLINE bool cfx_symbol__is_determined(const cfx_symbol *s)
{
    return s->min == s->max || !cfx_dim_is_bad(s->equals);
}

/* Print "N >= 1", "2 <= N <= 64" or "N == 4". */
void cfx_symbol__put(cfx_out *o, const cfx_symbol *s);

#endif
