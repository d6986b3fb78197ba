/*
 * image_rows -- convolutions of sequences as those of images of one row, which
 * block_channels computes in blocks.
 *
 *     conv1d(x, w)  ->  squeeze(conv2d(unsqueeze(x, 2), w), 2)
 *
 * The squeeze is moved after the pointwise functions, sums and products that follow, and
 * cancels with the next unsqueeze; a convolution from which none follows stays, since
 * converting its input and result would take longer. Shapes must have been propagated.
 */
#include <cfx/ops.h>
#include <string.h>

#include "interp/passes/lower/block_channels.h"
#include "interp/passes/pass_impl.h"

/* The axis of the height. */
enum { HEIGHT = 2 };
/* Through how many functions the next convolution is looked for. */
enum { STEPS = 4 };

typedef struct conv1d {
    cfx_lowering *l;
    layer layer;
    cfx_node *x, *weight, *bias;
    cfx_value stride, padding, dilation;
} conv1d;

static bool is_sequence(const cfx_node *n)
{
    const cfx_tensor *t = n ? cfx_node__known_tensor(n) : NULL;
    return t && t->rank == 3 && t->dtype == CFX_F32;
}

/* The image that n squeezes to a sequence, if this pass made n; else NULL. */
static cfx_node *row_of(cfx_lowering *l, const cfx_node *n)
{
    cfx_value y = n ? cfx_node_map_get(&l->blocked, n) : CFX_NOTHING;
    return y.kind == CFX_NODE ? y.u.node : NULL;
}

/* A setting of the only axis as one of height and width; absent: it is no number. */
static cfx_value pair_of(cfx_scope *s, cfx_value v, int64_t height)
{
    if (cfx_value_is_seq(v))
        v = v.u.seq->item[0];
    return cfx_list(s, cfx_int(height), v);
}

static bool read_setting(const conv1d *c, const char *name, int64_t init,
                         cfx_value *out)
{
    cfx_value v = cfx_lower__setting(c->l->p, c->layer.n, name);
    *out = v.kind ? v : cfx_int(init);
    return out->kind == CFX_INT ||
           (cfx_value_is_seq(*out) && out->u.seq->len == 1 &&
            out->u.seq->item[0].kind == CFX_INT);
}

static bool pads_with_zeros(const conv1d *c)
{
    const cfx_module *m = c->layer.module;
    return !m || !strcmp(cfx_attr_str(m, "padding_mode"), "zeros");
}

/* Does block_channels take such channels? */
static bool fills_blocks(const conv1d *c)
{
    const cfx_tensor *w = c->layer.weight;
    int64_t out = cfx_tensor_size(w, 0), in = cfx_tensor_size(w, 1);
    return w->dtype == CFX_F32 && w->rank == 3 && out % CFX_BLOCK == 0 &&
           (c->layer.groups == 1 || (c->layer.groups == out && in == 1));
}

static bool is_written(const conv1d *c)
{
    const path_uses *uses = &c->l->frozen.uses;
    return cfx_path_uses__writes(uses, c->layer.weight) ||
           (c->layer.bias && cfx_path_uses__writes(uses, c->layer.bias));
}

/* Does n combine its arguments by their last axes? */
static bool is_sum_or_product(const cfx_node *n)
{
    return cfx_node_is(n, "add") || cfx_node_is(n, "mul");
}

/* Does n compute the same of rows of images as of sequences? */
static bool is_of_rows(const cfx_pass_call *p, const cfx_node *n)
{
    return is_sequence(n) &&
           (cfx_block__is_elementwise(p, n) || is_sum_or_product(n));
}

/* Does a convolution read n, or what such functions make of it? */
static bool leads_on(const conv1d *c, const cfx_node *n, int steps)
{
    for (const cfx_use *u = n->first_user; u; u = u->next) {
        layer l;
        if (cfx_layer__find(&l, c->l->p, u->user) && l.kind == LAYER_CONV &&
            l.axes == 1)
            return true;
        if (steps && is_of_rows(c->l->p, u->user) &&
            leads_on(c, u->user, steps - 1))
            return true;
    }
    return false;
}

static cfx_status find(conv1d *c, cfx_node *n, bool *found)
{
    cfx_pass_call *p = c->l->p;
    c->x = cfx_node__arg(n, 0);
    if (!cfx_layer__find(&c->layer, p, n) || c->layer.kind != LAYER_CONV ||
        c->layer.axes != 1 || !is_sequence(c->x) || !is_sequence(n) ||
        !pads_with_zeros(c) || !read_setting(c, "stride", 1, &c->stride) ||
        !read_setting(c, "padding", 0, &c->padding) ||
        !read_setting(c, "dilation", 1, &c->dilation))
        return CFX_OK;
    if (!row_of(c->l, c->x) && !leads_on(c, n, STEPS))
        return CFX_OK;
    cfx_status st = cfx_layer__load(&c->layer, p);
    *found = !st && fills_blocks(c) && !is_written(c);
    return st;
}

/* The weight as one of images, and the bias. */
static cfx_status put_weights(conv1d *c)
{
    cfx_pass_call *p = c->l->p;
    cfx_scope s;
    cfx_scope_init(&s, &cfx_eager_class, p->ctx, NULL);
    cfx_value w = cfx_unsqueeze(&s, cfx_value_of_tensor(c->layer.weight),
                                cfx_int(HEIGHT));
    cfx_status st = cfx_scope_status(&s, p->err);
    cfx_insert_point at = cfx_graph_inserting_before(p->graph, c->layer.n);
    if (!st && !(c->weight = cfx_pass_add_tensor(p, "_filters_", w.u.tensor)))
        st = p->err->code;
    if (!st && c->layer.bias &&
        !(c->bias = cfx_pass_add_tensor(p, "_bias_", c->layer.bias)))
        st = p->err->code;
    cfx_graph_restore(p->graph, at);
    cfx_scope_release(&s);
    return st;
}

static cfx_value build(cfx_scope *s, const cfx_node *n, void *user)
{
    conv1d *c = user;
    cfx_node *row = row_of(c->l, c->x);
    cfx_value x = row ? cfx_value_of_node(row)
                      : cfx_unsqueeze(s, cfx_value_of_node(c->x),
                                      cfx_int(HEIGHT));
    (void)n;
    cfx_value y = cfx_conv2d(s, x, cfx_value_of_node(c->weight),
                             .bias = c->bias ? cfx_value_of_node(c->bias)
                                             : CFX_NOTHING,
                             .stride = pair_of(s, c->stride, 1),
                             .padding = pair_of(s, c->padding, 0),
                             .dilation = pair_of(s, c->dilation, 1),
                             .groups = cfx_int(c->layer.groups));
    cfx_value z = cfx_squeeze(s, y, .dim = cfx_int(HEIGHT));
    if (z.kind == CFX_NODE && y.kind == CFX_NODE)
        cfx_node_map_set(&c->l->blocked, z.u.node, y, NULL);
    return z;
}

/* The get_attr node of a function's parameter; NULL: there is none. */
static cfx_node *attr_of(const conv1d *c, const char *name)
{
    return c->layer.module ? NULL
                           : cfx_value__node(cfx_pass__arg(
                                 c->layer.n, c->layer.schema, name));
}

static cfx_status make_image(conv1d *c, cfx_node **next)
{
    cfx_node *attr[] = {attr_of(c, "weight"), attr_of(c, "bias")};
    cfx_status st = put_weights(c);
    if (!st)
        st = cfx_block__replace(c->l, c->layer.n, build, c, next);
    for (int i = 0; i < 2 && !st; i++)
        if (attr[i])
            st = cfx_pass__drop_attrs(c->l->p, &attr[i], 1);
    return st;
}

/* The first argument, if all are rows and n computes the same of them; else NULL. */
static cfx_node *first_row(cfx_lowering *l, const cfx_node *n)
{
    cfx_node *first = NULL;
    if (!is_of_rows(l->p, n))
        return NULL;
    for (size_t i = 0; i < n->nkwargs; i++)
        if (cfx_value__node(n->kwargs[2 * i + 1]))
            return NULL;
    for (size_t i = 0; i < n->nargs; i++) {
        cfx_node *in = cfx_value__node(n->args[i]);
        if (in && !row_of(l, in))
            return NULL;
        first = first ? first : in;
    }
    return first;
}

/* A row is never written to: functionalize made the graph so, or this pass leaves it. */
static cfx_status sink(cfx_lowering *l, cfx_node *n, cfx_node *x)
{
    if (cfx_lower__is_written(l, n) || cfx_lower__is_written(l, x))
        return CFX_OK;
    cfx_status st = cfx_lower__put_after(l, n, x);
    return st ? st
              : cfx_node_map_set(&l->blocked, n->first_user->user,
                                 cfx_value_of_node(n), l->p->err);
}

static cfx_status rewrite(cfx_lowering *l, cfx_node *n, cfx_node **next)
{
    conv1d c = {.l = l};
    bool found = false;
    if (n->op == CFX_PLACEHOLDER || n->op == CFX_OUTPUT)
        return CFX_OK;
    cfx_status st = find(&c, n, &found);
    if (st || found)
        return st ? st : make_image(&c, next);
    cfx_node *x = first_row(l, n);
    return x ? sink(l, n, x) : CFX_OK;
}

/* Erase squeezes whose images are read without them. */
static cfx_status drop_unread(cfx_pass_call *p)
{
    cfx_status st = CFX_OK;
    for (cfx_node *n = cfx_graph_last(p->graph), *before; n && !st;
         n = before) {
        before = cfx_node_prev(n);
        if (!n->nusers && cfx_node_is(n, "squeeze"))
            st = cfx_graph_erase_node(p->graph, n, p->err);
    }
    return st;
}

static cfx_status image_rows_run(cfx_pass_call *p)
{
    cfx_status st = cfx_lowering__run(p, NULL, rewrite);
    if (!st && p->changed)
        st = drop_unread(p);
    if (p->changed)
        cfx_graph_module_delete_all_unused_submodules(p->gm);
    return st;
}

const cfx_pass cfx_pass__image_rows = {
    .abi = CFX_ABI(cfx_pass),
    .schema = "image_rows()",
    .doc =
        "Compute convolutions of sequences, whose channels fill blocks of 16, and what follows them as those of images of one row, for block_channels.",
    .flags = CFX_PASS_ROUNDS | CFX_PASS_WEIGHTS,
    .run = image_rows_run,
};
