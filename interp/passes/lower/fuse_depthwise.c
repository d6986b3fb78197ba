/*
 * fuse_depthwise -- fuse a depthwise convolution with the one before it.
 *
 * The image between them is large, since the first convolution adds channels, and it is
 * read once. Fused, its rows stay in cache.
 */
#include "graph/aliases.h"
#include "interp/passes/lower/post_ops.h"
#include "interp/rewrite/affine.h"
#include "interp/rewrite/retrace.h"
#include "graph/graph_impl.h"
#include "ops/blocked/blocked_ops.h"

#define DEPTHWISE "blocked_depthwise_conv2d"

/* Two convolutions. */
typedef struct pair {
    cfx_node *first, *second;
} pair;

/* The weight of n, if its shape is known; or NULL. */
static const cfx_tensor *weight_of(const cfx_node *n)
{
    const cfx_node *w = cfx_node__arg(n, 1);
    return n->nargs == 2 && w ? cfx_node__known_tensor(w) : NULL;
}

/* Is it a convolution whose kernel can apply another? */
static bool is_first(const cfx_node *n)
{
    return (cfx_node_is(n, "blocked_conv2d") ||
            cfx_node_is(n, "blocked_row_major_conv2d")) &&
           n->nargs == 2 && n->nusers == 1 && cfx_node__arg(n, 0) &&
           weight_of(n) && cfx_post_op__fits(n, DEPTHWISE) &&
           !cfx_post_op__find(n, "add").kind;
}

/* Are all elements of a setting, 1 by default, from `least` to `most`? */
static bool is_within(const cfx_node *n, const char *name, int64_t least,
                      int64_t most)
{
    cfx_value v = cfx_pass__kwarg(n, name);
    if (!v.kind)
        return least <= 1;
    for (uint32_t i = 0; cfx_value_is_seq(v) && i < v.u.seq->len; i++) {
        cfx_value one = v.u.seq->item[i];
        if (one.kind != CFX_INT || one.u.i < least || one.u.i > most)
            return false;
    }
    return cfx_value_is_seq(v);
}

/* Is it 3x3 or 5x5 with stride 1 or 2, which have row kernels? */
static bool has_kernel(const cfx_node *n, const cfx_tensor *w)
{
    return w->rank == 4 &&
           (cfx_dim_is(w->shape[2], 3) || cfx_dim_is(w->shape[2], 5)) &&
           is_within(n, "stride", 1, 2) && is_within(n, "dilation", 1, 1);
}

static bool find_pair(pair *p, cfx_node *n)
{
    const cfx_tensor *w = cfx_node_is(n, DEPTHWISE) ? weight_of(n) : NULL;
    p->second = n;
    p->first = cfx_node__arg(n, 0);
    return w && p->first && has_kernel(n, w) &&
           !cfx_post_op__find(n, "add").kind && is_first(p->first);
}

/* Let the first convolution apply the second. */
static cfx_status fuse(cfx_pass_call *p, const pair *both)
{
    cfx_node *first = both->first, *n = both->second;
    const cfx_schema *schema = cfx_pass__signature(n);
    cfx_post_op_call op = {.name = DEPTHWISE};
    for (int k = 1; k < schema->nparams; k++) {
        cfx_value v = cfx_pass__arg(n, schema, schema->params[k].name);
        op.arg[op.n++] = v.kind ? v : schema->params[k].init;
    }
    while (cfx_value_equal(op.arg[op.n - 1], schema->params[op.n].init))
        op.n--;
    cfx_status st = cfx_post_op__append(p, first, &op);
    if (!st)
        st = cfx_node_prepend(n, first, p->err);
    if (!st)
        st = cfx_node__keep_meta(first, n, p->err);
    return st ? st : cfx_pass__fuse_into(p, n, first);
}

/* Walk backward, so that the input of a pair is a node that the alias analysis has seen. */
static cfx_status fuse_depthwise_run(cfx_pass_call *p)
{
    cfx_aliases aliases = {0};
    pair both;
    cfx_status st = cfx_aliases__init(&aliases, p->graph, p->err);
    for (cfx_node *n = cfx_graph_last(p->graph); n && !st;
         n = cfx_node_prev(n))
        if (find_pair(&both, n) &&
            !cfx_aliases__is_written(&aliases, both.first->args[0].u.node))
            st = fuse(p, &both);
    cfx_aliases__release(&aliases);
    return st;
}

const cfx_pass cfx_pass__fuse_depthwise = {
    .abi = CFX_ABI(cfx_pass),
    .schema = "fuse_depthwise()",
    .doc =
        "Compute a convolution in blocks of channels together with that of each channel which reads it, where meta tensor_meta shows their shapes.",
    .run = fuse_depthwise_run,
};
