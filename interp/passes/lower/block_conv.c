/*
 * block_conv -- convolutions of blocked images, with packed weights.
 */
#include <cfx/ops.h>
#include <string.h>

#include "interp/passes/lower/block_channels.h"
#include "interp/passes/lower/pack_winograd.h"
#include "interp/passes/pass_impl.h"

typedef struct conv {
    cfx_lowering *b;
    layer l;
    cfx_node *x, *weight, *bias;
    cfx_node *scaled; /* a blocked product that computes x; or NULL */
    cfx_value stride, padding, dilation;
    bool rows; /* the input is row-major, with fewer channels than a block */
    bool depthwise; /* a filter for each channel */
    bool winograd;
    int64_t merge; /* how many groups are merged to one of whole blocks; */
    int64_t
        groups; /* of all, with empty ones in the padding of the last block */
} conv;

static cfx_value setting(const conv *c, const char *name, int64_t init)
{
    cfx_value v = cfx_lower__setting(c->b->p, c->l.n, name);
    return v.kind ? v : cfx_int(init);
}

/* Is it a convolution of images by parameters? */
static bool is_image_conv(conv *c, cfx_node *n)
{
    cfx_pass_call *p = c->b->p;
    if (!cfx_layer__find(&c->l, p, n)) {
        if (c->l.kind == LAYER_CONV)
            cfx_pass_missed(p, n, "its weight or bias is computed");
        return false;
    }
    if (c->l.kind == LAYER_CONV_TRANSPOSE)
        cfx_pass_missed(p, n, "transposed convolutions have no blocked form");
    else if (c->l.kind == LAYER_CONV && c->l.axes && c->l.axes != 2)
        cfx_pass_missed(p, n,
                        "convolutions of %d spatial axes have no blocked form",
                        c->l.axes);
    else
        return c->l.kind == LAYER_CONV;
    return false;
}

/* Is its input a float32 tensor of four axes? */
static bool has_image(const conv *c, const cfx_node *n)
{
    cfx_pass_call *p = c->b->p;
    const cfx_tensor *t = c->x ? cfx_node__known_tensor(c->x) : NULL;
    if (!t)
        cfx_pass_missed(p, n, "its input has no known shape");
    else if (t->dtype != CFX_F32)
        cfx_pass_missed(p, n, "its input is %s, not float32",
                        cfx_dtypes[t->dtype].name);
    else if (t->rank != 4)
        cfx_pass_missed(p, n, "its input has %d axes, not 4", t->rank);
    else
        return cfx_block__is_image(n);
    return false;
}

/* Are its settings pairs of numbers, and does it pad with zeros? */
static bool read_settings(conv *c, const cfx_node *n)
{
    cfx_pass_call *p = c->b->p;
    const char *mode = c->l.module ? cfx_attr_str(c->l.module, "padding_mode")
                                   : "zeros";
    c->stride = setting(c, "stride", 1);
    c->padding = setting(c, "padding", 0);
    c->dilation = setting(c, "dilation", 1);
    if (strcmp(mode, "zeros") != 0)
        cfx_pass_missed(p, n, "its padding_mode is %s, not zeros", mode);
    else if (!cfx_block__is_pair(c->stride) ||
             !cfx_block__is_pair(c->padding) ||
             !cfx_block__is_pair(c->dilation))
        cfx_pass_missed(p, n, "its stride, padding or dilation is no number");
    else
        return true;
    return false;
}

static bool find_conv(conv *c, cfx_node *n)
{
    c->x = cfx_node__arg(n, 0);
    return is_image_conv(c, n) && has_image(c, n) && read_settings(c, n);
}

/* The most groups that are merged: the zeros between them cost as much as weights. */
enum { MOST_MERGED = 4 };

/* Blocks that hold n channels. */
static int64_t blocks_of(int64_t n)
{
    return (n + CFX_BLOCK - 1) / CFX_BLOCK;
}

/* The fewest groups, of `in` and `out` channels each, that together have whole blocks; 0:
 * too many. The padding of the last block may be a group without weights. */
static int64_t groups_in_blocks(int64_t groups, int64_t in, int64_t out)
{
    for (int64_t m = 1; m <= MOST_MERGED && m <= groups; m++) {
        int64_t all = (groups + m - 1) / m * m;
        if (m * in % CFX_BLOCK == 0 && m * out % CFX_BLOCK == 0 &&
            all * in == blocks_of(groups * in) * CFX_BLOCK &&
            all * out == blocks_of(groups * out) * CFX_BLOCK)
            return m;
    }
    return 0;
}

/* Are both numbers `n`? */
static bool is_pair_of(cfx_value v, int64_t n)
{
    return v.kind == CFX_INT ? v.u.i == n
                             : v.u.seq->item[0].u.i == n &&
                                   v.u.seq->item[v.u.seq->len - 1].u.i == n;
}

static bool can_take_winograd(const conv *c)
{
    const cfx_tensor *w = c->l.weight;
    return c->l.groups == 1 && !c->rows && cfx_tensor_size(w, 2) == 3 &&
           cfx_tensor_size(w, 3) == 3 && is_pair_of(c->stride, 1) &&
           is_pair_of(c->dilation, 1);
}

/* Does the list name n, its target, or a node that n was made from? */
static bool lists(cfx_value list, const cfx_node *n)
{
    cfx_value from = cfx_node_meta(n, "from_node");
    if (cfx_pass__lists_node(&list, n))
        return true;
    if (cfx_value_is_seq(from))
        for (uint32_t i = 0; i < from.u.seq->len; i++)
            if (cfx_pass__lists(list, from.u.seq->item[i].u.str->text))
                return true;
    return false;
}

/* Will the weights be bfloat16, for vdpbf16ps? */
static bool has_pairs(const cfx_pass_call *p)
{
    return p->in[1].u.i && cfx_blocked_bfloat16(p->ctx) == CFX_BLOCKED_PAIRS;
}

static bool takes_winograd(const conv *c)
{
    const cfx_pass_call *p = c->b->p;
    cfx_value list = p->in[0];
    if (!can_take_winograd(c))
        return false;
    return cfx_value_is_none(list)
               ? cfx_winograd__wins(
                     c->l.weight, cfx_node__known_tensor(c->l.n), has_pairs(p))
               : cfx_pass__lists(list, "*") || lists(list, c->l.n);
}

/* Can its weight be packed? */
static bool can_pack(conv *c)
{
    const cfx_tensor *w = c->l.weight;
    int64_t groups = c->l.groups;
    if (w->dtype != CFX_F32)
        cfx_pass_missed(c->b->p, c->l.n, "its weight is %s, not float32",
                        cfx_dtypes[w->dtype].name);
    else if (w->rank != 4)
        cfx_pass_missed(c->b->p, c->l.n, "its weight has %d axes, not 4",
                        w->rank);
    if (w->dtype != CFX_F32 || w->rank != 4)
        return false;
    int64_t out = cfx_tensor_size(w, 0), in = cfx_tensor_size(w, 1);
    c->rows = groups == 1 && in < CFX_BLOCK && !cfx_lower__form(c->x);
    c->depthwise = groups > 1 && groups == out && in == 1;
    c->merge = c->depthwise ? groups
               : groups > 1 ? groups_in_blocks(groups, in, out / groups)
                            : 1;
    c->groups = c->merge ? (groups + c->merge - 1) / c->merge * c->merge
                         : groups;
    c->winograd = takes_winograd(c);
    if (!c->merge)
        cfx_pass_missed(
            c->b->p, c->l.n,
            "its groups of %lld and %lld channels, up to %d together, fill no blocks of %d",
            (long long)in, (long long)(out / groups), MOST_MERGED, CFX_BLOCK);
    return c->merge > 0;
}

/* The product with a single pixel that only this convolution reads, if scaling the weights
 * takes fewer multiplications than scaling x; or NULL. */
static cfx_node *scaled_input(const conv *c)
{
    const cfx_tensor *x = cfx_node__known_tensor(c->x), *w = c->l.weight;
    cfx_node *y = cfx_lower__form(c->x);
    if (!y || !cfx_aliases__is_later(&c->b->frozen.aliases, y) ||
        !cfx_block__is_scaled(y) || y->nusers != 1 || c->x->nusers != 1 ||
        c->depthwise || c->winograd || c->l.groups != 1 ||
        !cfx_dim_is_int(x->shape[2]) || !cfx_dim_is_int(x->shape[3]))
        return NULL;
    int64_t filters = cfx_tensor_size(w, 0) * cfx_tensor_size(w, 2) *
                      cfx_tensor_size(w, 3);
    return filters <= cfx_dim_value(x->shape[2]) * cfx_dim_value(x->shape[3])
               ? y
               : NULL;
}

static bool is_written(const conv *c)
{
    bool written = cfx_path_uses__writes(&c->b->frozen.uses, c->l.weight) ||
                   (c->l.bias &&
                    cfx_path_uses__writes(&c->b->frozen.uses, c->l.bias));
    if (written)
        cfx_pass_missed(c->b->p, c->l.n,
                        "the graph writes to its weight or bias");
    return written;
}

/* The weight with merged groups, zeros between them. */
static cfx_value merge_groups(cfx_scope *s, const conv *c)
{
    const cfx_tensor *w = c->l.weight;
    cfx_value m = cfx_int(c->merge), one = cfx_int(1), zero = cfx_int(0);
    int64_t per = cfx_tensor_size(w, 0) / c->l.groups;
    cfx_value in = cfx_int(cfx_tensor_size(w, 1));
    cfx_value kh = cfx_int(cfx_tensor_size(w, 2));
    cfx_value kw = cfx_int(cfx_tensor_size(w, 3));
    cfx_value y = cfx_value_of_tensor(c->l.weight);
    if (c->merge == 1)
        return y;
    cfx_value empty = cfx_int((c->groups - c->l.groups) * per);
    y = cfx_constant_pad_nd(
        s, y, cfx_list(s, zero, zero, zero, zero, zero, zero, zero, empty));
    y = cfx_reshape(
        s, y, cfx_list(s, cfx_int(-1), m, cfx_int(per), one, in, kh, kw));
    cfx_value same = cfx_reshape(s, cfx_eye(s, m),
                                 cfx_list(s, one, m, one, m, one, one, one));
    return cfx_reshape(
        s, cfx_mul(s, y, same),
        cfx_list(s, cfx_int(c->groups * per), cfx_int(-1), kh, kw));
}

/* The packed weight of blocked_conv2d. */
static cfx_value pack_weight(cfx_scope *s, const conv *c)
{
    cfx_value w = c->depthwise
                      ? cfx_squeeze(s, cfx_value_of_tensor(c->l.weight),
                                    .dim = cfx_int(1))
                      : merge_groups(s, c);
    w = cfx_block__split(s, w, 0);
    if (!c->depthwise && !c->rows) /* (O, I, kh, kw, out, in) */
        w = cfx_transpose(s, cfx_block__split(s, w, 1), cfx_int(-1),
                          cfx_int(-2));
    if (c->winograd)
        return cfx_winograd__pack(s, w, has_pairs(c->b->p));
    return cfx_clone(s, w, cfx_value_of_format(CFX_CONTIGUOUS_FORMAT));
}

static cfx_value pack_bias(cfx_scope *s, const conv *c)
{
    if (!c->l.bias)
        return cfx_none();
    return cfx_flatten(s,
                       cfx_block__split(s, cfx_value_of_tensor(c->l.bias), 0));
}

static cfx_node *put_tensor(cfx_pass_call *p, cfx_value t)
{
    return cfx_pass_add_tensor(p, "_packed_", t.u.tensor);
}

static cfx_status put_weights(conv *c)
{
    cfx_pass_call *p = c->b->p;
    cfx_scope s;
    cfx_scope_init(&s, &cfx_eager_class, p->ctx, NULL);
    cfx_value weight = pack_weight(&s, c), bias = pack_bias(&s, c);
    cfx_status st = cfx_scope_status(&s, p->err);
    cfx_insert_point at = cfx_graph_inserting_before(p->graph, c->l.n);
    if (!st && !(c->weight = put_tensor(p, weight)))
        st = p->err->code;
    if (!st && c->l.bias && !(c->bias = put_tensor(p, bias)))
        st = p->err->code;
    cfx_graph_restore(p->graph, at);
    cfx_scope_release(&s);
    return st;
}

static cfx_value blocked_input(cfx_scope *s, conv *c)
{
    if (c->scaled)
        return c->scaled->args[0];
    cfx_node *from = c->rows ? c->x : cfx_block__known(c->b, c->x);
    return from ? cfx_value_of_node(from)
                : cfx_to_blocked(s, cfx_value_of_node(c->x));
}

/* The argument in_channels: given if the last block of x has padding. */
static cfx_value in_channels(const conv *c)
{
    int64_t in = cfx_tensor_size(c->l.weight, 1);
    return c->l.groups == 1 && in % CFX_BLOCK ? cfx_int(in) : CFX_NOTHING;
}

static cfx_value build_conv(cfx_scope *s, const cfx_node *n, void *user)
{
    conv *c = user;
    cfx_value x = blocked_input(s, c);
    int64_t groups = c->groups / c->merge;
    cfx_value bias = c->bias ? cfx_value_of_node(c->bias) : CFX_NOTHING;
    cfx_value w = cfx_value_of_node(c->weight);
    cfx_value padding = cfx_block__pair_of(s, c->padding);
    cfx_value stride = cfx_block__pair_of(s, c->stride), y;
    cfx_value dilation = cfx_block__pair_of(s, c->dilation);
    if (c->winograd)
        y = cfx_blocked_winograd_conv2d(s, x, w, .bias = bias,
                                        .padding = padding);
    else if (c->rows)
        y = cfx_blocked_row_major_conv2d(s, x, w, .bias = bias,
                                         .stride = stride, .padding = padding,
                                         .dilation = dilation);
    else if (c->depthwise)
        y = cfx_blocked_depthwise_conv2d(s, x, w, .bias = bias,
                                         .stride = stride, .padding = padding,
                                         .dilation = dilation);
    else
        y = cfx_blocked_conv2d(
            s, x, w, .bias = bias, .stride = stride, .padding = padding,
            .dilation = dilation,
            .groups = groups > 1 ? cfx_int(groups) : CFX_NOTHING,
            .in_channels = in_channels(c),
            .input_scale = c->scaled ? c->scaled->args[1] : CFX_NOTHING);
    (void)n;
    if (x.kind == CFX_NODE && cfx_node_is(x.u.node, "to_blocked"))
        cfx_node_map_set(&c->b->blocked, c->x, x, NULL);
    return cfx_from_blocked(s, y, cfx_int(cfx_tensor_size(c->l.weight, 0)));
}

/* The get_attr node that a function has for a parameter; or NULL. */
static cfx_node *attr_of(const layer *l, const char *name)
{
    cfx_value v = l->module ? CFX_NOTHING
                            : cfx_pass__arg(l->n, l->schema, name);
    return v.kind == CFX_NODE ? v.u.node : NULL;
}

/* Record the origin of a new to_blocked: x, whose value it has, unless x is written to
 * later. */
static cfx_status name_origin(conv *c)
{
    cfx_value made = cfx_node_map_get(&c->b->blocked, c->x);
    if (made.kind != CFX_NODE)
        return CFX_OK;
    cfx_status st = cfx_node_set_meta(made.u.node, "from_node", CFX_NOTHING,
                                      c->b->p->err);
    if (st || cfx_block__known(c->b, c->x) != made.u.node)
        return st;
    return cfx_node_inherit(made.u.node, c->x, c->b->p->err);
}

static cfx_status block_conv(conv *c, cfx_node **next)
{
    cfx_node *attr[] = {attr_of(&c->l, "weight"), attr_of(&c->l, "bias")};
    cfx_status st = put_weights(c);
    if (!st)
        st = cfx_block__replace(c->b, c->l.n, build_conv, c, next);
    if (!st)
        st = name_origin(c);
    for (int i = 0; i < 2 && !st; i++)
        if (attr[i])
            st = cfx_pass__drop_attrs(c->b->p, &attr[i], 1);
    return st;
}

cfx_status cfx_block__conv(cfx_lowering *b, cfx_node *n, cfx_node **next,
                           bool *done)
{
    conv c = {.b = b};
    if (!find_conv(&c, n))
        return CFX_OK;
    cfx_status st = cfx_layer__load(&c.l, b->p);
    if (st || !can_pack(&c) || is_written(&c))
        return st;
    *done = true;
    c.scaled = scaled_input(&c);
    return block_conv(&c, next);
}
