/*
 * block_pool -- pooling of blocked images, global means, and flattening of images of one
 * pixel.
 */
#include <cfx/ops.h>

#include "interp/passes/lower/block_channels.h"

/* ---- Windows ---- */

typedef struct window {
    cfx_node *x;
    bool mean;
    cfx_value kernel, stride, padding, dilation, ceil, count, divisor;
} window;

static bool is_false(cfx_value v)
{
    return cfx_value_is_none(v) || (v.kind == CFX_BOOL_VALUE && !v.u.i);
}

static bool is_literal(cfx_value v)
{
    return cfx_value_is_none(v) || v.kind == CFX_BOOL_VALUE ||
           v.kind == CFX_INT;
}

static bool find_window(window *w, cfx_lowering *b, const cfx_node *n)
{
    const cfx_pass_call *p = b->p;
    cfx_node *x = cfx_node__arg(n, 0);
    w->mean = cfx_pass__calls(p, n, "avg_pool2d");
    if ((!w->mean && !cfx_pass__calls(p, n, "max_pool2d")) || !x ||
        !cfx_block__is_image(x) || !cfx_block__is_image(n) ||
        !cfx_lower__channels(x) ||
        !is_false(cfx_lower__setting(p, n, "return_indices")))
        return false;
    w->x = cfx_block__known(b, x);
    w->kernel = cfx_lower__setting(p, n, "kernel_size");
    w->stride = cfx_lower__setting(p, n, "stride");
    w->padding = cfx_lower__setting(p, n, "padding");
    w->ceil = cfx_lower__setting(p, n, "ceil_mode");
    w->dilation = w->count = w->divisor = CFX_NOTHING;
    if (w->mean) {
        w->count = cfx_lower__setting(p, n, "count_include_pad");
        w->divisor = cfx_lower__setting(p, n, "divisor_override");
    } else {
        w->dilation = cfx_lower__setting(p, n, "dilation");
    }
    return w->x && cfx_block__is_pair(w->kernel) &&
           cfx_block__is_optional_pair(w->stride) &&
           cfx_block__is_optional_pair(w->padding) &&
           cfx_block__is_optional_pair(w->dilation) && is_literal(w->ceil) &&
           is_literal(w->count) && is_literal(w->divisor);
}

static cfx_value build_window(cfx_scope *s, const cfx_node *n, void *user)
{
    const window *w = user;
    cfx_value x = cfx_value_of_node(w->x);
    cfx_value kernel = cfx_block__pair_of(s, w->kernel);
    cfx_value stride = cfx_block__optional_pair_of(s, w->stride);
    cfx_value padding = cfx_block__optional_pair_of(s, w->padding);
    cfx_value y = w->mean
                      ? cfx_blocked_avg_pool2d(s, x, kernel, .stride = stride,
                                               .padding = padding,
                                               .ceil_mode = w->ceil,
                                               .count_include_pad = w->count,
                                               .divisor_override = w->divisor)
                      : cfx_blocked_max_pool2d(
                            s, x, kernel, .stride = stride, .padding = padding,
                            .dilation = cfx_block__optional_pair_of(
                                s, w->dilation),
                            .ceil_mode = w->ceil);
    return cfx_from_blocked(s, y, cfx_int(cfx_lower__channels(n)));
}

cfx_status cfx_block__window(cfx_lowering *b, cfx_node *n, cfx_node **next,
                             bool *done)
{
    window w;
    if (!find_window(&w, b, n))
        return CFX_OK;
    *done = true;
    return cfx_block__replace(b, n, build_window, &w, next);
}

/* ---- The mean of an image ---- */

typedef struct image {
    cfx_node *x; /* blocked */
    int64_t channels;
} image;

static cfx_value build_mean(cfx_scope *s, const cfx_node *n, void *user)
{
    const image *m = user;
    bool keeps = cfx_node__known_tensor(n)->rank == 4;
    cfx_value axes = cfx_list(s, cfx_int(2), cfx_int(3));
    cfx_value y = cfx_mean(s, cfx_value_of_node(m->x), .dim = axes,
                           .keepdim = cfx_bool(true));
    if (!keeps && m->channels % CFX_BLOCK == 0)
        return cfx_flatten(s, y, cfx_int(1));
    y = cfx_from_blocked(s, y, cfx_int(m->channels));
    return keeps ? y : cfx_flatten(s, y, cfx_int(1));
}

cfx_status cfx_block__mean(cfx_lowering *b, cfx_node *n, cfx_node **next,
                           bool *done)
{
    cfx_node *x = cfx_node__arg(n, 0);
    if (!x || !cfx_block__is_image(x) || !cfx_node__known_tensor(n) ||
        !cfx_lower__is_mean(b->p, n))
        return CFX_OK;
    image m = {cfx_block__known(b, x), cfx_lower__channels(x)};
    if (!m.x || !m.channels)
        return CFX_OK;
    *done = true;
    return cfx_block__replace(b, n, build_mean, &m, next);
}

/* ---- Single pixels ---- */

/* Does n reshape an image of one pixel to (batch, channels)? */
static bool drops_pixel(const cfx_pass_call *p, const cfx_node *n,
                        const cfx_node *x)
{
    const cfx_tensor *from = cfx_node__known_tensor(x),
                     *to = cfx_node__known_tensor(n);
    if (!cfx_pass__calls(p, n, "flatten") && !cfx_node_is(n, "view") &&
        !cfx_node_is(n, "reshape") && !cfx_node_is(n, "squeeze"))
        return false;
    return to && to->rank == 2 && cfx_dim_is(from->shape[2], 1) &&
           cfx_dim_is(from->shape[3], 1) &&
           cfx_dim_same(from->shape[0], to->shape[0]) &&
           cfx_dim_same(from->shape[1], to->shape[1]);
}

static cfx_value build_flatten(cfx_scope *s, const cfx_node *n, void *user)
{
    const image *m = user;
    (void)n;
    return cfx_flatten(s, cfx_value_of_node(m->x), cfx_int(1));
}

cfx_status cfx_block__flatten(cfx_lowering *b, cfx_node *n, cfx_node **next,
                              bool *done)
{
    cfx_node *x = cfx_node__arg(n, 0);
    if (!x || !cfx_lower__form(x) || !cfx_block__is_image(x) ||
        !drops_pixel(b->p, n, x))
        return CFX_OK;
    image m = {cfx_lower__form(x), cfx_lower__channels(x)};
    if (!m.channels || m.channels % CFX_BLOCK)
        return CFX_OK;
    *done = true;
    return cfx_block__replace(b, n, build_flatten, &m, next);
}
