/*
 * block_cat -- blocked images concatenated along their channels: all but the last must
 * consist of whole blocks.
 */
#include <cfx/ops.h>

#include "interp/passes/lower/block_channels.h"

/* The list that n concatenates along axis 1; or NULL. */
static const cfx_seq *joined(const cfx_pass_call *p, const cfx_node *n)
{
    if (!cfx_node_is(n, "cat") || !cfx_block__is_image(n) || !n->nargs ||
        !cfx_value_is_seq(n->args[0]) || !n->args[0].u.seq->len)
        return NULL;
    cfx_value axis = cfx_block__setting(p, n, "dim");
    return axis.kind == CFX_INT && (axis.u.i == 1 || axis.u.i == -3)
               ? n->args[0].u.seq
               : NULL;
}

/* Image i of the list, if it is blocked, and whole blocks unless it is the last; or NULL. */
static cfx_node *part(cfx_blocker *b, const cfx_seq *list, size_t i)
{
    cfx_value v = list->item[i];
    if (v.kind != CFX_NODE || !cfx_block__is_image(v.u.node))
        return NULL;
    int64_t channels = cfx_block__channels(v.u.node);
    return channels && (i + 1 == list->len || channels % CFX_BLOCK == 0)
               ? cfx_block__known(b, v.u.node)
               : NULL;
}

typedef struct parts {
    cfx_blocker *b;
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
                            cfx_int(cfx_block__channels(n)));
}

cfx_status cfx_block__cat(cfx_blocker *b, cfx_node *n, cfx_node **next,
                          bool *done)
{
    parts c = {b, joined(b->p, n)};
    if (!c.list || !cfx_block__channels(n))
        return CFX_OK;
    for (size_t i = 0; i < c.list->len; i++)
        if (!part(b, c.list, i))
            return CFX_OK;
    *done = true;
    return cfx_block__replace(b, n, build_cat, &c, next);
}
