/*
 * block_cat -- blocked images concatenated along their channels: all but the last must
 * consist of whole blocks.
 */
#include <cfx/ops.h>

#include "interp/passes/lower/block_channels.h"

/* Image i of the list, if it is blocked, and whole blocks unless it is the last; or NULL. */
static cfx_node *part(cfx_lowering *b, const cfx_seq *list, size_t i)
{
    cfx_value v = list->item[i];
    if (v.kind != CFX_NODE || !cfx_block__is_image(v.u.node))
        return NULL;
    int64_t channels = cfx_lower__channels(v.u.node);
    return channels && (i + 1 == list->len || channels % CFX_BLOCK == 0)
               ? cfx_block__known(b, v.u.node)
               : NULL;
}

typedef struct parts {
    cfx_lowering *b;
    const cfx_seq *list;
} parts;

static cfx_value build_cat(cfx_scope *s, const cfx_node *n, void *user)
{
    const parts *c = user;
    cfx_value all = cfx_list_of(s, CFX_LIST, c->list->len, c->list->item);
    if (cfx_scope_failed(s))
        return all;
    for (size_t i = 0; i < c->list->len; i++)
        all.u.seq->item[i] = cfx_value_of_node(part(c->b, c->list, i));
    return cfx_from_blocked(s, cfx_cat(s, all, cfx_int(1)),
                            cfx_int(cfx_lower__channels(n)));
}

cfx_status cfx_block__cat(cfx_lowering *b, cfx_node *n, cfx_node **next,
                          bool *done)
{
    parts c = {b, cfx_lower__joined(b->p, n)};
    if (!c.list || !cfx_block__is_image(n))
        return CFX_OK;
    for (size_t i = 0; i < c.list->len; i++)
        if (!part(b, c.list, i))
            return CFX_OK;
    *done = true;
    return cfx_block__replace(b, n, build_cat, &c, next);
}
