/*
 * fuse_depthwise -- fuse a depthwise convolution with the one before it.
 *
 * The image between them is large, since the first convolution adds channels, and it is
 * read once. Fused, its rows stay in cache.
 */
#include <stdio.h>
#include <string.h>

#include "graph/aliases.h"
#include "interp/passes/lower/post_ops.h"
#include "interp/rewrite/affine.h"
#include "interp/rewrite/retrace.h"
#include "graph/graph_impl.h"
#include "ops/blocked/blocked_ops.h"

/* Two convolutions. */
typedef struct pair {
    cfx_node *first, *second;
} pair;

/* Argument i of a blocked convolution, its input or weight, if its shape is known; or
 * NULL. */
static const cfx_tensor *operand(const cfx_node *n, uint32_t i)
{
    if (!cfx_node_is(n, "blocked_conv2d") || n->nargs != 2 ||
        n->args[0].kind != CFX_NODE || n->args[1].kind != CFX_NODE)
        return NULL;
    return cfx_node__known_tensor(n->args[i].u.node);
}

/* Is it a dense convolution? Its weight has at least six axes for a blocked image, five for
 * a row-major one. */
static bool is_dense(const cfx_node *n)
{
    const cfx_tensor *x = operand(n, 0), *w = operand(n, 1);
    return x && w && (w->rank >= 6 || (w->rank == 5 && x->rank == 4));
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
    const cfx_tensor *w = operand(n, 1);
    if (!w || !has_kernel(n, w) || cfx_post_op__find(n, "add").kind)
        return false;
    p->second = n;
    p->first = n->args[0].u.node;
    return is_dense(p->first) && p->first->nusers == 1 &&
           !cfx_post_op__find(p->first, "add").kind;
}

/* Give y the keyword arguments of n, with a prefix. */
static cfx_status take_kwargs(cfx_node *y, const cfx_node *n,
                              const char *prefix, cfx_error *err)
{
    char name[64];
    cfx_status st = CFX_OK;
    for (uint32_t i = 0; i < n->nkwargs && !st; i++) {
        snprintf(name, sizeof(name), "%s%s", prefix,
                 n->kwargs[2 * i].u.str->text);
        st = cfx_node_update_kwarg(y, name, n->kwargs[2 * i + 1], err);
    }
    return st;
}

/* Replace the second convolution by a call that computes both. */
static cfx_status fuse(cfx_pass_call *p, const pair *both)
{
    cfx_node *first = both->first, *n = both->second;
    cfx_insert_point at = cfx_graph_inserting_before(p->graph, n);
    cfx_node *y = cfx_graph_call_function(
        p->graph, "torch.ops.cfx.blocked_conv2d_depthwise.default",
        cfx_args_of(first->args, first->nargs), p->err);
    cfx_graph_restore(p->graph, at);
    cfx_status st = y ? take_kwargs(y, first, "", p->err) : p->err->code;
    if (!st)
        st = cfx_node_update_kwarg(y, "depthwise_weight", n->args[1], p->err);
    if (!st)
        st = take_kwargs(y, n, "depthwise_", p->err);
    if (!st)
        st = cfx_node_inherit(y, first, p->err);
    if (!st)
        st = cfx_node__keep_meta(y, n, p->err);
    if (!st)
        st = cfx_node_replace_all_uses_with(n, y, NULL, NULL, p->err);
    if (!st)
        st = cfx_graph_erase_node(p->graph, n, p->err);
    if (!st)
        st = cfx_graph_erase_node(p->graph, first, p->err);
    p->changed += 2;
    return st;
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
