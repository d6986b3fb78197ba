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

/* The blocks of a blocked image, by a from_blocked that reads it; 0: there is none. */
static int64_t blocks_of(const cfx_node *image)
{
    for (const cfx_use *u = image->first_user; u; u = u->next)
        if (cfx_lower__form(u->user) == image)
            return (u->user->args[1].u.i + CFX_BLOCK - 1) / CFX_BLOCK;
    return 0;
}

static bool is_int(cfx_value v, int64_t n)
{
    return v.kind == CFX_INT && v.u.i == n;
}

/* How many images from item i on are, one after the other, all parts of one image, *whole,
 * as cfx_block__part makes them; 0: they are not. */
static size_t count_parts(const cfx_seq *all, size_t i, cfx_node **whole)
{
    int64_t blocks = 0;
    *whole = NULL;
    for (size_t n = 0; i + n < all->len; n++) {
        const cfx_node *x = all->item[i + n].u.node;
        cfx_node *of = cfx_node_is(x, "narrow") ? cfx_node__arg(x, 0) : NULL;
        if (!of || (*whole && of != *whole) || x->nargs != 4 ||
            !is_int(x->args[1], 1) || !is_int(x->args[2], blocks) ||
            x->args[3].kind != CFX_INT)
            return 0;
        *whole = of;
        blocks += x->args[3].u.i;
        if (blocks == blocks_of(of))
            return n + 1;
    }
    return 0;
}

static cfx_value build_cat(cfx_scope *s, const cfx_node *n, void *user)
{
    const parts *c = user;
    cfx_value all = cfx_list_of(s, CFX_LIST, c->list->len, c->list->item);
    uint32_t len = 0;
    if (cfx_scope_failed(s))
        return all;
    for (size_t i = 0; i < c->list->len; i++)
        all.u.seq->item[i] = cfx_value_of_node(part(c->b, c->list, i));
    for (size_t i = 0, count; i < c->list->len; i += count ? count : 1) {
        cfx_node *whole;
        count = count_parts(all.u.seq, i, &whole);
        all.u.seq->item[len++] = count ? cfx_value_of_node(whole)
                                       : all.u.seq->item[i];
    }
    all = cfx_list_of(s, CFX_LIST, len, all.u.seq->item);
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
