/*
 * block_part -- parts of a blocked image by its channels, as chunk and split give them:
 * views of its blocks. Each must begin with a block, and end with one or with the image.
 *
 * Blocked images have no gaps, so that the batch must be 1.
 */
#include <cfx/ops.h>

#include "interp/passes/lower/block_channels.h"

typedef struct part {
    cfx_node *blocked; /* the whole image */
    int64_t first, channels;
} part;

/* Is t, but for its channels, like the image x? */
static bool is_part_of(const cfx_tensor *t, const cfx_tensor *x)
{
    bool like = t->rank == 4 && x->rank == 4 && t->dtype == x->dtype &&
                cfx_dim_is_int(t->shape[1]);
    for (int i = 0; like && i < 4; i++)
        like = i == 1 || cfx_dim_same(t->shape[i], x->shape[i]);
    return like;
}

/* The channels before item `at` of all parts of x; -1: they are not all channels of x, in
 * their order. */
static int64_t channels_before(const cfx_seq *parts, size_t at,
                               const cfx_tensor *x)
{
    int64_t all = 0, before = 0;
    for (size_t i = 0; i < parts->len; i++) {
        const cfx_tensor *t = parts->item[i].kind == CFX_TENSOR
                                  ? parts->item[i].u.tensor
                                  : NULL;
        if (!t || !is_part_of(t, x))
            return -1;
        before = i == at ? all : before;
        all += cfx_tensor_size(t, 1);
    }
    return cfx_dim_is(x->shape[1], all) ? before : -1;
}

static bool splits(const cfx_node *n)
{
    return cfx_node_is(n, "chunk") || cfx_node_is(n, "split") ||
           cfx_node_is(n, "split_with_sizes") ||
           cfx_node_is(n, "tensor_split");
}

static bool find_part(cfx_lowering *b, const cfx_node *n, part *out)
{
    const cfx_node *of = cfx_node_is(n, "getitem") ? cfx_node__arg(n, 0)
                                                   : NULL;
    const cfx_node *x = of && splits(of) ? cfx_node__arg(of, 0) : NULL;
    const cfx_tensor *whole = x ? cfx_node__known_tensor(x) : NULL;
    if (!whole || n->nargs != 2 || n->args[1].kind != CFX_INT ||
        !cfx_block__is_image(n) || !cfx_dim_is(whole->shape[0], 1))
        return false;
    cfx_value parts = cfx_node__known(of);
    int64_t len = cfx_value_is_seq(parts) ? parts.u.seq->len : 0;
    int64_t at = n->args[1].u.i + (n->args[1].u.i < 0 ? len : 0);
    if (at < 0 || at >= len)
        return false;
    out->first = channels_before(parts.u.seq, (size_t)at, whole);
    out->channels = cfx_lower__channels(n);
    out->blocked = out->first >= 0 ? cfx_block__known(b, x) : NULL;
    int64_t end = out->first + out->channels;
    return out->blocked && out->channels > 0 && out->first % CFX_BLOCK == 0 &&
           (end % CFX_BLOCK == 0 || cfx_dim_is(whole->shape[1], end));
}

static cfx_value build_part(cfx_scope *s, const cfx_node *n, void *user)
{
    const part *a = user;
    cfx_value blocks = cfx_narrow(
        s, cfx_value_of_node(a->blocked), cfx_int(1),
        cfx_int(a->first / CFX_BLOCK),
        cfx_int((a->channels + CFX_BLOCK - 1) / CFX_BLOCK));
    (void)n;
    return cfx_from_blocked(s, blocks, cfx_int(a->channels));
}

cfx_status cfx_block__part(cfx_lowering *b, cfx_node *n, cfx_node **next,
                           bool *done)
{
    part a;
    if (!find_part(b, n, &a))
        return CFX_OK;
    *done = true;
    return cfx_block__replace(b, n, build_part, &a, next);
}
