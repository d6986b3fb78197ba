/*
 * symbols -- print the facts about a symbol.
 */
#include "shapeprop/shapes/symbols.h"

void cfx_symbol__put(cfx_out *o, const cfx_symbol *s)
{
    bool least = s->min != CFX_DIM_NO_MIN, most = s->max != CFX_DIM_NO_MAX;
    bool one = least && most && s->min == s->max;
    bool between = least && most && !one;
    if (between) {
        cfx_out_int(o, s->min);
        cfx_out_puts(o, " <= ");
    }
    cfx_out_puts(o, s->name);
    if (one || (least && !between)) {
        cfx_out_puts(o, one ? " == " : " >= ");
        cfx_out_int(o, s->min);
    } else if (most) {
        cfx_out_puts(o, " <= ");
        cfx_out_int(o, s->max);
    }
}
