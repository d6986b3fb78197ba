/*
 * block_pointwise -- activations, sums and products of blocked images.
 */
#include <cfx/ops.h>

#include <math.h>

#include "interp/passes/lower/post_ops.h"
#include "interp/passes/lower/block_channels.h"
#include "graph/graph_impl.h"

/* ---- Activations ---- */

/* The convolution y applies what n computes, and x = from_blocked(y). */
static cfx_status fuse(cfx_lowering *b, cfx_node *n, cfx_node *x, cfx_node *y,
                       const cfx_post_op_call *op)
{
    cfx_status st = cfx_post_op__append(b->p, y, op);
    if (!st)
        st = cfx_node_inherit(y, n, b->p->err);
    return st ? st : cfx_pass__fuse_into(b->p, n, x);
}

/* An activation as a post-operation: clamp, for which kernels call no function, or its
 * operator. */
static bool read_activation(cfx_lowering *b, const cfx_node *n,
                            cfx_post_op_call *out)
{
    double lo, hi;
    if (!cfx_post_op__clamps(b->p, n, &lo, &hi))
        return cfx_post_op__read(b->p, n, out);
    *out = (cfx_post_op_call){"clamp",
                              {lo > -INFINITY ? cfx_float(lo) : cfx_none(),
                               hi < INFINITY ? cfx_float(hi) : cfx_none()},
                              2};
    return true;
}

cfx_status cfx_block__activation(cfx_lowering *b, cfx_node *n, cfx_node **next,
                                 bool *done)
{
    cfx_node *x = cfx_node__arg(n, 0);
    cfx_post_op_call op;
    (void)next;
    if (!x || !cfx_lower__form(x) || !cfx_block__is_elementwise(b->p, n))
        return CFX_OK;
    *done = true;
    bool known = read_activation(b, n, &op);
    cfx_node *y = known ? cfx_block__open_conv(x, op.name) : NULL;
    if (known && !y && cfx_block__is_conv(cfx_lower__form(x)))
        cfx_post_op__missed(b->p, n, x, cfx_lower__form(x));
    return y ? fuse(b, n, x, y, &op) : cfx_lower__put_after(b, n, x);
}

/* ---- Sums and products ---- */

/* A sum or product of blocked images. */
typedef struct pair {
    cfx_node *in[2], *blocked[2];
    int64_t channels;
    bool product;
    int pixel; /* the operand with a single pixel; -1: none, their extents are equal */
} pair;

static bool is_pixel(const cfx_node *n)
{
    const cfx_tensor *x = cfx_node__known_tensor(n);
    return cfx_dim_is(x->shape[2], 1) && cfx_dim_is(x->shape[3], 1);
}

static bool have_same_axes(const cfx_node *a, const cfx_node *b, int first,
                           int end)
{
    const cfx_tensor *x = cfx_node__known_tensor(a),
                     *y = cfx_node__known_tensor(b);
    for (int i = first; i < end; i++)
        if (!cfx_dim_same(x->shape[i], y->shape[i]))
            return false;
    return true;
}

/* Do two images have equal extents, or has one a single pixel? */
static bool fit(pair *a)
{
    a->pixel = -1;
    if (!have_same_axes(a->in[0], a->in[1], 0, 2))
        return false;
    if (have_same_axes(a->in[0], a->in[1], 2, 4))
        return true;
    a->pixel = is_pixel(a->in[1]);
    return is_pixel(a->in[a->pixel]);
}

static bool find_pair(cfx_lowering *b, pair *a, const cfx_node *n)
{
    a->product = cfx_node_is(n, "mul");
    if ((!a->product && !cfx_node_is(n, "add")) || n->nargs != 2 ||
        n->nkwargs || !cfx_block__is_image(n))
        return false;
    for (int i = 0; i < 2; i++) {
        a->in[i] = cfx_node__arg(n, (uint32_t)i);
        if (!a->in[i] || !cfx_block__is_image(a->in[i]))
            return false;
        a->blocked[i] = cfx_block__known(b, a->in[i]);
        if (!a->blocked[i])
            return false;
    }
    a->channels = cfx_lower__channels(n);
    return a->channels && fit(a) &&
           (cfx_lower__form(a->in[0]) || cfx_lower__form(a->in[1]));
}

bool cfx_block__is_scaled(const cfx_node *n)
{
    const cfx_node *pixel = cfx_node__arg(n, 1);
    return cfx_node_is(n, "blocked_depthwise_conv2d") && n->nargs == 2 &&
           !n->nkwargs && pixel && pixel->op == CFX_CALL_FUNCTION;
}

static cfx_value build_pair(cfx_scope *s, const cfx_node *n, void *user)
{
    const pair *a = user;
    cfx_value x = cfx_value_of_node(a->blocked[a->pixel == 0]);
    cfx_value y = cfx_value_of_node(a->blocked[a->pixel != 0]);
    (void)n;
    if (a->product && a->pixel >= 0) /* a filter for each channel */
        y = cfx_blocked_depthwise_conv2d(s, x, y);
    else
        y = a->product ? cfx_mul(s, x, y) : cfx_add(s, x, y);
    return cfx_from_blocked(s, y, cfx_int(a->channels));
}

/* Can the convolution that computes operand i of a sum add the other operand? */
static cfx_node *adding_conv(const pair *a, int i)
{
    cfx_node *y = cfx_block__open_conv(a->in[i], "add");
    return y && a->in[0] != a->in[1] && a->pixel < 0 &&
                   cfx_node_before(a->blocked[1 - i], y)
               ? y
               : NULL;
}

/* Fuse a sum into the later of the convolutions that compute its operands. */
cfx_status cfx_block__pair(cfx_lowering *b, cfx_node *n, cfx_node **next,
                           bool *done)
{
    pair a = {.channels = 0};
    if (!find_pair(b, &a, n))
        return CFX_OK;
    *done = true;
    for (int i = 0; i < 2 && !a.product; i++) {
        cfx_node *y = adding_conv(&a, i);
        if (!y)
            continue;
        const cfx_post_op_call add = {
            "add", {cfx_value_of_node(a.blocked[1 - i])}, 1};
        return fuse(b, n, a.in[i], y, &add);
    }
    return cfx_block__replace(b, n, build_pair, &a, next);
}
