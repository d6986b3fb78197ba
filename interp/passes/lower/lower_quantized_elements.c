/*
 * lower_quantized_elements -- sums, pooling, means, and moves of uint8.
 */
#include <cfx/ops.h>
#include <math.h>

#include "interp/passes/lower/block_channels.h"
#include "interp/passes/lower/lower_quantized.h"
#include "interp/passes/lower/post_ops.h"

static bool have_same_shape(const cfx_node *a, const cfx_node *b)
{
    const cfx_tensor *x = cfx_node__known_tensor(a),
                     *y = cfx_node__known_tensor(b);
    bool same = x->rank == y->rank;
    for (int i = 0; same && i < x->rank; i++)
        same = cfx_dim_same(x->shape[i], y->shape[i]);
    return same;
}

/* Do all integers stand for the same number, and is none clamped? */
static bool is_same(const cfx_chain *c, const cfx_affine *from)
{
    return c->rounds && !c->clamp && from->scale == c->to.scale &&
           from->zero_point == c->to.zero_point &&
           from->least >= c->to.least && from->most <= c->to.most;
}

/* ---- Sums ---- */

typedef struct sum {
    cfx_lowering *l;
    const cfx_chain *c;
    cfx_node *in[2];
    cfx_affine from[2];
    int64_t channels; /* of both in blocks; 0: they are row-major */
    cfx_node
        *conv; /* that computes in[conv_at], and adds the other; or NULL */
    int conv_at;
} sum;

/* The rank of weights of convolutions of all channels; that of depthwise ones is
 * 4. */
enum { DENSE_RANK = 7 };

/* The convolution of all channels that computes in[i], in blocks, and that nothing
 * but this sum reads; else NULL. */
static cfx_node *own_conv(const sum *a, int i)
{
    const cfx_node *d = cfx_node__arg(a->c->from, (uint32_t)i);
    cfx_node *y = a->channels ? cfx_lower__form(a->in[i]) : NULL;
    if (!y || !cfx_node_is(y, "quantized_conv2d") || y->nusers != 1 ||
        a->in[i]->nusers != 1 || d->nusers != 1 ||
        !cfx_post_op__fits(y, "quantized_add") ||
        !cfx_post_op__find(y, "quantize").kind)
        return NULL;
    cfx_value w = cfx_lower__arg(y, "weight");
    cfx_value t = CFX_NOTHING;
    return w.kind == CFX_NODE && w.u.node->op == CFX_GET_ATTR &&
                   !cfx_module_fetch_attr(&t, a->l->p->gm,
                                          w.u.node->target->text, NULL) &&
                   t.kind == CFX_TENSOR && t.u.tensor->rank == DENSE_RANK
               ? y
               : NULL;
}

/* That convolution, which adds the other term. */
static cfx_value build_conv(cfx_scope *s, const sum *a, const double *k,
                            double bias, const cfx_result_range *e)
{
    int i = a->conv_at;
    cfx_error *err = a->l->p->err;
    const cfx_post_op_call add = {
        "quantized_add",
        {cfx_value_of_node(cfx_lower__form(a->in[!i])), cfx_float(k[i]),
         cfx_float(k[!i]), cfx_float(bias), e->zero,
         e->least.kind ? e->least : cfx_int(0),
         e->most.kind ? e->most : cfx_int(255)},
        e->least.kind || e->most.kind ? 7 : 5};
#define ARG(name) cfx_lower__arg(a->conv, #name)
    cfx_value y = cfx_quantized_conv2d(
        s, ARG(input), ARG(weight), ARG(offset), ARG(scale), .bias = ARG(bias),
        .stride = ARG(stride), .padding = ARG(padding),
        .dilation = ARG(dilation), .input_zero_point = ARG(input_zero_point),
        .groups = ARG(groups), .post_ops = ARG(post_ops));
#undef ARG
    if (y.kind == CFX_NODE && (cfx_post_op__append(a->l->p, y.u.node, &add) ||
                               cfx_node_inherit(y.u.node, a->conv, err)))
        cfx_scope_fail(s, err->code, "%s", err->text);
    return y;
}

static cfx_value build_sum(cfx_scope *s, const cfx_node *n, void *user)
{
    const sum *a = user;
    const cfx_result_range e = cfx_lower__range(a->c);
    double k[2], bias = 0;
    cfx_value x[2];
    (void)n;
    for (int i = 0; i < 2; i++) {
        k[i] = a->from[i].scale / a->c->to.scale;
        bias -= k[i] * (double)a->from[i].zero_point;
        x[i] = cfx_value_of_node(a->channels ? cfx_lower__form(a->in[i])
                                             : a->in[i]);
    }
    cfx_value y = a->conv ? build_conv(s, a, k, bias, &e)
                          : cfx_quantized_add(s, x[0], x[1], cfx_float(k[0]),
                                              cfx_float(k[1]), cfx_float(bias),
                                              e.zero, .quant_min = e.least,
                                              .quant_max = e.most);
    cfx_lower__name_origin(s, a->c, y);
    return a->channels ? cfx_from_blocked(s, y, cfx_int(a->channels)) : y;
}

/* Can all numbers of the sum be held by floats? */
static bool is_finite(const sum *a)
{
    double k = (a->from[0].scale + a->from[1].scale) / a->c->to.scale;
    return k < 0x1p100;
}

cfx_status cfx_lower__add(cfx_lowering *l, const cfx_chain *c, cfx_node **next,
                          bool *done)
{
    sum a = {.l = l, .c = c};
    const cfx_node *n = c->from;
    if (!c->rounds || !cfx_node_is(n, "add") || n->nargs != 2 || n->nkwargs)
        return CFX_OK;
    for (uint32_t i = 0; i < 2; i++) {
        a.in[i] = cfx_lower__dequantized(l, cfx_node__arg(n, i), &a.from[i]);
        if (!a.in[i])
            return CFX_OK;
    }
    if (!have_same_shape(a.in[0], a.in[1]) || !is_finite(&a))
        return CFX_OK;
    if (cfx_lower__form(a.in[0]) && cfx_lower__form(a.in[1]))
        a.channels = cfx_lower__channels(a.in[0]);
    for (int i = 0; i < 2 && !a.conv; i++) {
        a.conv = own_conv(&a, i);
        a.conv_at = i;
    }
    *done = true;
    return cfx_lower__replace(l, c, build_sum, &a, next);
}

/* ---- Pooling ---- */

typedef struct window {
    const cfx_chain *c;
    cfx_node *x;
    cfx_value kernel, stride, padding, dilation, ceil;
} window;

static bool is_absent(cfx_value v)
{
    return !v.kind || v.kind == CFX_NONE;
}

static cfx_value build_window(cfx_scope *s, const cfx_node *n, void *user)
{
    const window *w = user;
    cfx_value y = cfx_blocked_max_pool2d(
        s, cfx_value_of_node(cfx_lower__form(w->x)),
        cfx_block__pair_of(s, w->kernel),
        .stride = cfx_block__optional_pair_of(s, w->stride),
        .padding = cfx_block__optional_pair_of(s, w->padding),
        .dilation = cfx_block__optional_pair_of(s, w->dilation),
        .ceil_mode = w->ceil);
    return cfx_from_blocked(s, y, cfx_int(cfx_lower__channels(n)));
}

/* The uint8 input of a maximum; NULL: the result is quantized otherwise. */
static cfx_node *window_input(cfx_lowering *l, const cfx_chain *c)
{
    cfx_node *x = cfx_node__arg(c->from, 0);
    const cfx_tensor *t = x ? cfx_node__known_tensor(x) : NULL;
    cfx_affine from;
    if (c->n == c->from)
        return t && t->dtype == CFX_U8 && !cfx_lower__is_written(l, x) ? x
                                                                       : NULL;
    x = cfx_lower__dequantized(l, x, &from);
    return x && is_same(c, &from) ? x : NULL;
}

cfx_status cfx_lower__window(cfx_lowering *l, const cfx_chain *c,
                             cfx_node **next, bool *done)
{
    const cfx_node *n = c->from;
    window w = {.c = c};
    if (!cfx_node_is(n, "max_pool2d") || !cfx_lower__channels(c->n))
        return CFX_OK;
    w.x = window_input(l, c);
    w.kernel = cfx_lower__arg(n, "kernel_size");
    w.stride = cfx_lower__arg(n, "stride");
    w.padding = cfx_lower__arg(n, "padding");
    w.dilation = cfx_lower__arg(n, "dilation");
    w.ceil = cfx_lower__arg(n, "ceil_mode");
    bool literal = cfx_block__is_pair(w.kernel) &&
                   cfx_block__is_optional_pair(w.stride) &&
                   cfx_block__is_optional_pair(w.padding) &&
                   cfx_block__is_optional_pair(w.dilation) &&
                   (is_absent(w.ceil) || w.ceil.kind == CFX_BOOL_VALUE);
    if (!w.x || !cfx_lower__form(w.x) || !literal)
        return CFX_OK;
    *done = true;
    return cfx_lower__replace(l, c, build_window, &w, next);
}

/* ---- Means ---- */

typedef struct mean {
    const cfx_chain *c;
    cfx_node *x;
    cfx_affine from;
} mean;

static cfx_value build_mean(cfx_scope *s, const cfx_node *n, void *user)
{
    const mean *m = user;
    const cfx_result_range e = cfx_lower__range(m->c);
    double k = m->from.scale / m->c->to.scale;
    cfx_value x = cfx_value_of_node(cfx_lower__form(m->x));
    cfx_value y = cfx_quantized_mean2d(
        s, x, cfx_float(k), cfx_float(-k * (double)m->from.zero_point), e.zero,
        .quant_min = e.least, .quant_max = e.most);
    cfx_lower__name_origin(s, m->c, y);
    y = cfx_from_blocked(s, y, cfx_int(cfx_lower__channels(m->x)));
    return cfx_node__known_tensor(n)->rank == 4
               ? y
               : cfx_flatten(s, y, cfx_int(1));
}

/* Has each channel of an image so few that their sum is an int32? */
static bool has_few_pixels(const cfx_tensor *x)
{
    cfx_dim n = cfx_dim_mul(NULL, x->shape[2], x->shape[3]);
    return cfx_dim_is_int(n) && cfx_dim_value(n) > 0 &&
           cfx_dim_value(n) <= CFX_QUANTIZED_PIXELS;
}

cfx_status cfx_lower__mean(cfx_lowering *l, const cfx_chain *c,
                           cfx_node **next, bool *done)
{
    mean m = {.c = c};
    if (!c->rounds || !cfx_lower__is_mean(l->p, c->from))
        return CFX_OK;
    m.x = cfx_lower__dequantized(l, cfx_node__arg(c->from, 0), &m.from);
    if (!m.x || !cfx_lower__form(m.x) || !cfx_lower__channels(m.x) ||
        !has_few_pixels(cfx_node__known_tensor(m.x)) ||
        !(m.from.scale / c->to.scale < 0x1p100))
        return CFX_OK;
    *done = true;
    return cfx_lower__replace(l, c, build_mean, &m, next);
}

/* ---- Moves ---- */

/* view(dtype) looks at the bytes as numbers of another type. */
static bool is_reinterpreted(const cfx_node *n)
{
    return cfx_node_is(n, "view") &&
           cfx_lower__arg(n, "dtype").kind == CFX_DTYPE;
}

/* The uint8 input that n reads in place of v, or a list of them. */
static cfx_value quantized_of(cfx_lowering *l, cfx_scope *s,
                              const cfx_chain *c, cfx_value v)
{
    cfx_affine from;
    if (cfx_value_is_seq(v)) {
        cfx_value out = cfx_list_of(s, CFX_LIST, v.u.seq->len, v.u.seq->item);
        for (size_t i = 0; !cfx_scope_failed(s) && i < v.u.seq->len; i++) {
            cfx_value x = v.u.seq->item[i].kind == CFX_NODE
                              ? quantized_of(l, s, c, v.u.seq->item[i])
                              : CFX_NOTHING;
            if (!x.kind)
                return CFX_NOTHING;
            out.u.seq->item[i] = x;
        }
        return out;
    }
    cfx_node *q = v.kind == CFX_NODE
                      ? cfx_lower__dequantized(l, v.u.node, &from)
                      : NULL;
    return q && is_same(c, &from) ? cfx_value_of_node(q) : CFX_NOTHING;
}

/* Move what is of uint8 instead, under a name of its own: the value is another. */
static cfx_status move(cfx_lowering *l, const cfx_chain *c, cfx_value of)
{
    cfx_pass_call *p = l->p;
    cfx_node *n = c->from;
    const cfx_args args = {n->args, n->nargs, n->kwargs, n->nkwargs};
    cfx_insert_point at = cfx_graph_inserting_before(p->graph, c->n);
    cfx_node *y = cfx_graph_create_node(p->graph, n->op, n->target->text, args,
                                        NULL, NULL, p->err);
    cfx_graph_restore(p->graph, at);
    cfx_status st = y ? cfx_node_update_arg(y, 0, of, p->err) : p->err->code;
    if (!st)
        st = cfx_node__keep_meta(y, c->n, p->err);
    return st ? st : cfx_pass__replace(p, c->n, y);
}

/* Image i of a list in blocks, and its parameters; NULL: it is not, or it would leave a
 * gap. */
static cfx_node *part(cfx_lowering *l, const cfx_seq *list, size_t i,
                      cfx_affine *from)
{
    const cfx_node *d = list->item[i].kind == CFX_NODE ? list->item[i].u.node
                                                       : NULL;
    cfx_node *q = cfx_lower__dequantized(l, d, from);
    int64_t channels = q ? cfx_lower__channels(q) : 0;
    return channels && (i + 1 == list->len || channels % CFX_BLOCK == 0)
               ? cfx_lower__form(q)
               : NULL;
}

/* A table of bytes dequantized, and quantized with other parameters. */
static cfx_value table_of(cfx_scope *s, const cfx_affine *from,
                          const cfx_affine *to)
{
    const cfx_value u8 = cfx_value_of_dtype(CFX_U8);
    cfx_value x = cfx_arange(s, cfx_int(256), .dtype = u8);
    x = cfx_dequantize_per_tensor(s, x, cfx_float(from->scale),
                                  cfx_int(from->zero_point), cfx_int(0),
                                  cfx_int(255), u8);
    return cfx_quantize_per_tensor(s, x, cfx_float(to->scale),
                                   cfx_int(to->zero_point), cfx_int(to->least),
                                   cfx_int(to->most), u8);
}

typedef struct parts {
    cfx_lowering *l;
    const cfx_chain *c;
    const cfx_seq *list;
} parts;

/* x with the parameters of the result. */
static cfx_value requantized(cfx_scope *s, const parts *a, cfx_value x,
                             const cfx_affine *from)
{
    cfx_pass_call *p = a->l->p;
    cfx_scope eager;
    cfx_scope_init(&eager, &cfx_eager_class, p->ctx, NULL);
    cfx_value t = table_of(&eager, from, &a->c->to);
    cfx_node *table = cfx_scope_status(&eager, p->err)
                          ? NULL
                          : cfx_pass_add_tensor(p, "_table_", t.u.tensor);
    cfx_scope_release(&eager);
    return table ? cfx_quantized_lookup(s, x, cfx_value_of_node(table))
                 : cfx_scope_fail(s, p->err->code, "%s", p->err->text);
}

static cfx_value build_cat(cfx_scope *s, const cfx_node *n, void *user)
{
    const parts *a = user;
    cfx_affine from;
    cfx_value all = cfx_list_of(s, CFX_LIST, a->list->len, a->list->item);
    for (size_t i = 0; !cfx_scope_failed(s) && i < a->list->len; i++) {
        cfx_value x = cfx_value_of_node(part(a->l, a->list, i, &from));
        all.u.seq->item[i] = is_same(a->c, &from)
                                 ? x
                                 : requantized(s, a, x, &from);
    }
    return cfx_from_blocked(s, cfx_cat(s, all, cfx_int(1)),
                            cfx_int(cfx_lower__channels(n)));
}

cfx_status cfx_lower__cat(cfx_lowering *l, const cfx_chain *c, cfx_node **next,
                          bool *done)
{
    cfx_affine from;
    parts a = {l, c,
               c->rounds && !c->clamp ? cfx_lower__joined(l->p, c->from)
                                      : NULL};
    if (!a.list)
        return CFX_OK;
    for (size_t i = 0; i < a.list->len; i++)
        if (!part(l, a.list, i, &from))
            return CFX_OK;
    *done = true;
    return cfx_lower__replace(l, c, build_cat, &a, next);
}

cfx_status cfx_lower__move(cfx_lowering *l, const cfx_chain *c,
                           cfx_node **next, bool *done)
{
    cfx_scope s;
    if (!c->rounds || !c->from->nargs ||
        !cfx_node__has_flag(c->from, CFX_OP_MOVES) ||
        is_reinterpreted(c->from))
        return CFX_OK;
    cfx_scope_init(&s, &cfx_eager_class, l->p->ctx, NULL);
    cfx_value of = quantized_of(l, &s, c, c->from->args[0]);
    cfx_status st = cfx_scope_status(&s, l->p->err);
    *done = !st && of.kind;
    (void)next;
    if (*done)
        st = move(l, c, of);
    cfx_scope_release(&s);
    return st;
}
