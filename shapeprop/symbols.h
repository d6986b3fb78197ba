/*
 * symbols.h -- what is known of a symbol, as text. Not installed.
 */
#ifndef CFX_SYMBOLS_H
#define CFX_SYMBOLS_H

#include "format/print.h"

/* "N >= 1", "2 <= N <= 64", "N == 4" */
void cfx_symbol__put(cfx_out *o, const cfx_symbol *s);

#endif
