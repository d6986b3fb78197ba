/*
 * block_channels -- compute convolutions in blocks of 16 channels, with packed
 * weights: torch.ops.cfx.blocked_conv2d.
 *
 * A convolution becomes to_blocked, the blocked convolution, from_blocked. Then
 * from_blocked moves down: behind functions of single elements and sums, and away
 * where to_blocked follows. An activation that clamps, and a sum, become part of
 * the convolution before them. The nodes' meta must show that images are float32
 * tensors of four axes.
 */
#include "interp/passes/affine.h"

#include <cfx/ops.h>
#include <math.h>

#include "graph/aliases.h"
#include "interp/passes/lower/activation.h"
#include "interp/passes/lower/pack_winograd.h"
#include "interp/passes/retrace.h"
#include "interp/split/extract.h"
#include "ops/blocked/blocked.h"

typedef struct blocker {
    cfx_pass_call *p;
    cfx_retracer retracer;
    cfx_aliases aliases;  /* of the graph as it was */
    cfx_node_map blocked; /* to_blocked of a node */
} blocker;

/* ---- Facts about nodes ---- */

static const cfx_tensor *tensor_of(const cfx_node *n)
{
    cfx_value v = cfx_extract__known(n);
    return v.kind == CFX_TENSOR ? v.u.tensor : NULL;
}

static bool is_image(const cfx_node *n)
{
    const cfx_tensor *t = tensor_of(n);
    return t && t->rank == 4 && t->dtype == CFX_F32;
}

static bool have_same_shape(const cfx_node *a, const cfx_node *b)
{
    const cfx_tensor *x = tensor_of(a), *y = tensor_of(b);
    for (int i = 0; i < 4; i++)
        if (!cfx_dim_same(x->shape[i], y->shape[i]))
            return false;
    return true;
}

static cfx_node *node_arg(const cfx_node *n, uint32_t i)
{
    return i < n->nargs && n->args[i].kind == CFX_NODE ? n->args[i].u.node
                                                       : NULL;
}

static bool has_kwarg(const cfx_node *n, const char *name)
{
    for (uint32_t i = 0; i < n->nkwargs; i++)
        if (!strcmp(n->kwargs[2 * i].u.str->text, name))
            return true;
    return false;
}

/* The argument of from_blocked; NULL if n is another call. */
static cfx_node *blocked_form(const cfx_node *n)
{
    return cfx_node_is(n, "from_blocked") ? node_arg(n, 0) : NULL;
}

static bool is_conv(const cfx_node *n)
{
    return cfx_node_is(n, "blocked_conv2d") ||
           cfx_node_is(n, "blocked_winograd_conv2d");
}

/* x is a blocked convolution, behind which only n reads, and whose result is
 * the sum yet: return it, else NULL. */
static cfx_node *open_conv(const cfx_node *x)
{
    cfx_node *y = blocked_form(x);
    bool open = y && is_conv(y) && y->nusers == 1 && x->nusers == 1 &&
                !has_kwarg(y, "min") && !has_kwarg(y, "max") &&
                !has_kwarg(y, "activation");
    return open ? y : NULL;
}

/* ---- Elementwise functions, and writes ---- */

static bool calls(const cfx_pass_call *p, const cfx_node *n, const char *type,
                  const char *op)
{
    const cfx_module *m = n->op == CFX_CALL_MODULE
                              ? cfx_module_at(p->gm, n->target->text)
                              : NULL;
    return m ? !strcmp(cfx_module_class_name(m), type) : cfx_node_is(n, op);
}

/* True if n is a function of single elements that is finite at 0, which blocks
 * are filled up with. */
static bool is_elementwise(const cfx_pass_call *p, const cfx_node *n)
{
    cfx_activation_call a;
    return calls(p, n, "ReLU6", "relu6") || cfx_activation__find(p, n, &a);
}

/* The effects of a node that the graph had at first; the new ones have none. */
static cfx_effects effects_of(const blocker *b, const cfx_node *n)
{
    return n->id < b->aliases.life.ids ? b->aliases.effects[n->id]
                                       : (cfx_effects){0};
}

/* May n be a view? operator.add of two lists has their items, of two tensors it
 * has memory of its own. */
static bool may_view(const blocker *b, const cfx_node *n)
{
    return effects_of(b, n).input_views &&
           !(cfx_node_is(n, "add") && tensor_of(n));
}

/* An activation in place, of a value that nothing else reads. */
static bool is_last_reader(const blocker *b, const cfx_node *n)
{
    const cfx_node *x = node_arg(n, 0);
    return x && x->nusers == 1 && is_elementwise(b->p, n);
}

/* Does each read of n find the value that n computes? */
static bool is_never_written(blocker *b, const cfx_node *n)
{
    if (n->id >= b->aliases.life.ids ||
        !cfx_aliases__is_written(&b->aliases, n))
        return true;
    if (may_view(b, n) && !is_last_reader(b, n))
        return false;
    for (const cfx_use *u = n->first_user; u; u = u->next)
        if ((may_view(b, u->user) || effects_of(b, u->user).input_writes) &&
            !is_last_reader(b, u->user))
            return false;
    return true;
}

/* An image in blocks that there is already and that has the value of n; or
 * NULL. */
static cfx_node *known_blocks(blocker *b, const cfx_node *n)
{
    cfx_node *y = blocked_form(n);
    cfx_value made = cfx_node_map_get(&b->blocked, n);
    if (y || made.kind != CFX_NODE)
        return y;
    return is_never_written(b, n) ? made.u.node : NULL;
}

/* ---- Convolutions ---- */

typedef struct conv {
    blocker *b;
    layer l;
    cfx_node *x, *weight, *bias;
    cfx_value stride, padding, dilation;
    bool rows; /* a row-major input, of fewer channels than a block */
    bool winograd;
} conv;

static cfx_value setting(const layer *l, const char *name, int64_t init)
{
    cfx_value v = l->module ? cfx_attr(l->module, name)
                            : cfx_pass__arg(l->n, l->schema, name);
    return v.kind ? v : cfx_int(init);
}

/* A number for both axes, or one for each. */
static bool is_pair(cfx_value v)
{
    if (v.kind == CFX_INT)
        return true;
    return cfx_value_is_seq(v) && (v.u.seq->len == 1 || v.u.seq->len == 2) &&
           v.u.seq->item[0].kind == CFX_INT &&
           v.u.seq->item[v.u.seq->len - 1].kind == CFX_INT;
}

static cfx_value pair_of(cfx_scope *s, cfx_value v)
{
    cfx_value both[2] = {v, v};
    if (cfx_value_is_seq(v)) {
        both[0] = v.u.seq->item[0];
        both[1] = v.u.seq->item[v.u.seq->len - 1];
    }
    return cfx_list_of(s, CFX_LIST, 2, both);
}

static bool find_conv(conv *c, cfx_node *n)
{
    c->x = node_arg(n, 0);
    if (!cfx_layer__find(&c->l, c->b->p, n) || c->l.kind != LAYER_CONV ||
        (c->l.axes && c->l.axes != 2) || !c->x || !is_image(c->x) ||
        !is_image(n))
        return false;
    if (c->l.module &&
        strcmp(cfx_attr_str(c->l.module, "padding_mode"), "zeros") != 0)
        return false;
    c->stride = setting(&c->l, "stride", 1);
    c->padding = setting(&c->l, "padding", 0);
    c->dilation = setting(&c->l, "dilation", 1);
    return is_pair(c->stride) && is_pair(c->padding) && is_pair(c->dilation);
}

/* True if both numbers are `n`. */
static bool is_pair_of(cfx_value v, int64_t n)
{
    return v.kind == CFX_INT ? v.u.i == n
                             : v.u.seq->item[0].u.i == n &&
                                   v.u.seq->item[v.u.seq->len - 1].u.i == n;
}

static bool takes_winograd(const conv *c)
{
    const cfx_tensor *w = c->l.weight;
    return cfx_tensor_size(w, 2) == 3 && cfx_tensor_size(w, 3) == 3 &&
           is_pair_of(c->stride, 1) && is_pair_of(c->dilation, 1) &&
           cfx_winograd__wins(w, tensor_of(c->l.n));
}

/* Can its weight be packed? One filter a channel, or no groups. */
static bool can_pack(conv *c)
{
    const cfx_tensor *w = c->l.weight;
    if (w->dtype != CFX_F32 || w->rank != 4)
        return false;
    int64_t out = cfx_tensor_size(w, 0), in = cfx_tensor_size(w, 1);
    c->rows = c->l.groups == 1 && in < CFX_BLOCK && !blocked_form(c->x);
    c->winograd = c->l.groups == 1 && !c->rows && takes_winograd(c);
    return c->l.groups == 1 || (c->l.groups == out && in == 1);
}

/* Split an axis into whole blocks, which move to the end. */
static cfx_value in_blocks(cfx_scope *s, cfx_value x, int axis)
{
    cfx_value pads[2 * CFX_MAX_RANK];
    size_t n = 0;
    if (cfx_scope_failed(s))
        return x;
    int64_t more = -cfx_tensor_size(x.u.tensor, axis) & (CFX_BLOCK - 1);
    for (int i = x.u.tensor->rank - 1; i >= axis; i--) {
        pads[n++] = cfx_int(0);
        pads[n++] = cfx_int(i == axis ? more : 0);
    }
    if (more)
        x = cfx_pad(s, x, cfx_list_of(s, CFX_LIST, n, pads));
    x = cfx_unflatten(s, x, cfx_int(axis),
                      cfx_list(s, cfx_int(-1), cfx_int(CFX_BLOCK)));
    return cfx_movedim(s, x, cfx_int(axis + 1), cfx_int(-1));
}

/* The weight as blocked_conv2d takes it. */
static cfx_value pack_weight(cfx_scope *s, const conv *c)
{
    cfx_value w = cfx_value_of_tensor(c->l.weight);
    if (c->l.groups > 1)
        w = cfx_squeeze(s, w, .dim = cfx_int(1));
    w = in_blocks(s, w, 0);
    if (c->l.groups == 1 && !c->rows) /* (O, I, kh, kw, out, in) */
        w = cfx_transpose(s, in_blocks(s, w, 1), cfx_int(-1), cfx_int(-2));
    if (c->winograd)
        return cfx_winograd__pack(s, w);
    return cfx_clone(s, w, cfx_value_of_format(CFX_CONTIGUOUS_FORMAT));
}

static cfx_value pack_bias(cfx_scope *s, const conv *c)
{
    if (!c->l.bias)
        return cfx_none();
    return cfx_flatten(s, in_blocks(s, cfx_value_of_tensor(c->l.bias), 0));
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
    cfx_node *from = c->rows ? c->x : known_blocks(c->b, c->x);
    return from ? cfx_value_of_node(from)
                : cfx_to_blocked(s, cfx_value_of_node(c->x));
}

static cfx_value build_conv(cfx_scope *s, const cfx_node *n, void *user)
{
    conv *c = user;
    cfx_value x = blocked_input(s, c);
    cfx_value bias = c->bias ? cfx_value_of_node(c->bias) : CFX_NOTHING;
    cfx_value w = cfx_value_of_node(c->weight);
    cfx_value padding = pair_of(s, c->padding);
    cfx_value y = c->winograd ? cfx_blocked_winograd_conv2d(
                                    s, x, w, .bias = bias, .padding = padding)
                              : cfx_blocked_conv2d(
                                    s, x, w, .bias = bias,
                                    .stride = pair_of(s, c->stride),
                                    .padding = padding,
                                    .dilation = pair_of(s, c->dilation));
    (void)n;
    if (x.kind == CFX_NODE && cfx_node_is(x.u.node, "to_blocked"))
        cfx_node_map_set(&c->b->blocked, c->x, x, NULL);
    return cfx_from_blocked(s, y, cfx_int(cfx_tensor_size(c->l.weight, 0)));
}

/* Trace code in place of n, which must succeed. */
static cfx_status replace(blocker *b, cfx_node *n, cfx_retrace_fn *fn,
                          void *user, cfx_node **next)
{
    bool done;
    cfx_status st = cfx_retracer__node(&b->retracer, n, fn, user, next, &done);
    return st || done ? st : cfx_fail_from(b->p->err, &b->retracer.why);
}

/* The get_attr node that a function has for a parameter; or NULL. */
static cfx_node *attr_of(const layer *l, const char *name)
{
    cfx_value v = l->module ? CFX_NOTHING
                            : cfx_pass__arg(l->n, l->schema, name);
    return v.kind == CFX_NODE ? v.u.node : NULL;
}

/* A new to_blocked has the value of x, not of the node that it was made for. */
static cfx_status name_origin(conv *c)
{
    cfx_value made = cfx_node_map_get(&c->b->blocked, c->x);
    if (made.kind != CFX_NODE)
        return CFX_OK;
    cfx_status st = cfx_node_set_meta(made.u.node, "from_node", CFX_NOTHING,
                                      c->b->p->err);
    return st ? st : cfx_node_inherit(made.u.node, c->x, c->b->p->err);
}

static cfx_status block_conv(conv *c, cfx_node **next)
{
    cfx_status st = cfx_layer__load(&c->l, c->b->p);
    if (st || !can_pack(c))
        return st;
    cfx_node *attr[] = {attr_of(&c->l, "weight"), attr_of(&c->l, "bias")};
    st = put_weights(c);
    if (!st)
        st = replace(c->b, c->l.n, build_conv, c, next);
    if (!st)
        st = name_origin(c);
    for (int i = 0; i < 2 && !st; i++)
        if (attr[i])
            st = cfx_pass__drop_attrs(c->b->p, &attr[i], 1);
    return st;
}

/* ---- Activations and sums ---- */

/* The convolution y computes the value of n now, and x = from_blocked(y). */
static cfx_status fuse(blocker *b, cfx_node *n, cfx_node *x, cfx_node *y)
{
    cfx_status st = cfx_node_inherit(y, n, b->p->err);
    return st ? st : cfx_pass__fuse_into(b->p, n, x);
}

/* Set min and max of the convolution before an activation. */
static cfx_status clamp(blocker *b, cfx_node *n, cfx_node *x, cfx_node *y)
{
    bool six = calls(b->p, n, "ReLU6", "relu6");
    cfx_status st = cfx_node_update_kwarg(y, "min", cfx_float(0), b->p->err);
    if (!st && six)
        st = cfx_node_update_kwarg(y, "max", cfx_float(6), b->p->err);
    return st ? st : fuse(b, n, x, y);
}

/* Let the convolution before an activation apply it. */
static cfx_status activate(blocker *b, cfx_node *n, cfx_node *x, cfx_node *y,
                           const cfx_activation_call *a)
{
    cfx_status st = cfx_activation__set(b->p, y, a);
    return st ? st : fuse(b, n, x, y);
}

/* f(from_blocked(y)) becomes from_blocked(f(y)). */
static cfx_status swap(blocker *b, cfx_node *n, cfx_node *x)
{
    cfx_pass_call *p = b->p;
    cfx_value args[] = {cfx_value_of_node(n), x->args[1]};
    cfx_insert_point at = cfx_graph_inserting_after(p->graph, n);
    cfx_node *z = cfx_graph_call_function(p->graph, x->target->text,
                                          cfx_args_of(args, 2), p->err);
    cfx_graph_restore(p->graph, at);
    if (!z)
        return p->err->code;
    cfx_status st = cfx_node__keep_meta(z, n, p->err);
    if (!st)
        st = cfx_node_replace_all_uses_with(n, z, NULL, NULL, p->err);
    if (!st)
        st = cfx_node_update_arg(z, 0, args[0], p->err);
    if (!st)
        st = cfx_node_update_arg(n, 0, cfx_value_of_node(blocked_form(x)),
                                 p->err);
    if (!st)
        st = cfx_extract__forget(n, p->err);
    p->changed += 2;
    return st;
}

/* A sum of images, in blocks. */
typedef struct sum {
    cfx_node *in[2], *blocked[2];
    cfx_value channels;
} sum;

static bool find_sum(blocker *b, sum *a, const cfx_node *n)
{
    if (!cfx_node_is(n, "add") || n->nargs != 2 || n->nkwargs)
        return false;
    for (int i = 0; i < 2; i++) {
        a->in[i] = node_arg(n, (uint32_t)i);
        if (!a->in[i] || !is_image(a->in[i]))
            return false;
        a->blocked[i] = known_blocks(b, a->in[i]);
        if (!a->blocked[i])
            return false;
        if (blocked_form(a->in[i]))
            a->channels = a->in[i]->args[1];
    }
    return a->channels.kind && have_same_shape(a->in[0], a->in[1]);
}

static cfx_value build_sum(cfx_scope *s, const cfx_node *n, void *user)
{
    const sum *a = user;
    cfx_value y = cfx_add(s, cfx_value_of_node(a->blocked[0]),
                          cfx_value_of_node(a->blocked[1]));
    (void)n;
    return cfx_from_blocked(s, y, a->channels);
}

/* The other operand of a sum becomes part of the convolution that comes last. */
static cfx_status add(blocker *b, cfx_node *n, sum *a, cfx_node **next)
{
    for (int i = 0; i < 2 && a->in[0] != a->in[1]; i++) {
        cfx_node *y = open_conv(a->in[i]), *other = a->blocked[1 - i];
        if (!y || has_kwarg(y, "add") || !cfx_node_before(other, y))
            continue;
        cfx_status st = cfx_node_update_kwarg(
            y, "add", cfx_value_of_node(other), b->p->err);
        return st ? st : fuse(b, n, a->in[i], y);
    }
    return replace(b, n, build_sum, a, next);
}

/* ---- The pass ---- */

/* Erase images in either form that nothing reads. */
static cfx_status drop_unread(cfx_pass_call *p)
{
    cfx_status st = CFX_OK;
    for (cfx_node *n = cfx_graph_last(p->graph), *before; n && !st;
         n = before) {
        before = cfx_node_prev(n);
        if (!n->nusers && blocked_form(n)) {
            st = cfx_graph_erase_node(p->graph, n, p->err);
            p->changed++;
        }
    }
    return st;
}

static cfx_status block_node(blocker *b, cfx_node *n, cfx_node **next)
{
    cfx_node *x = node_arg(n, 0), *y;
    conv c = {.b = b};
    cfx_activation_call act;
    sum a = {.channels = CFX_NOTHING};
    if (n->op == CFX_PLACEHOLDER || n->op == CFX_OUTPUT ||
        !is_never_written(b, n))
        return CFX_OK;
    if (find_conv(&c, n))
        return block_conv(&c, next);
    if (find_sum(b, &a, n))
        return add(b, n, &a, next);
    if (!x || !blocked_form(x))
        return CFX_OK;
    y = open_conv(x);
    if (y &&
        (calls(b->p, n, "ReLU", "relu") || calls(b->p, n, "ReLU6", "relu6")))
        return clamp(b, n, x, y);
    if (y && cfx_activation__find(b->p, n, &act))
        return activate(b, n, x, y, &act);
    return is_elementwise(b->p, n) ? swap(b, n, x) : CFX_OK;
}

static cfx_status block_channels_run(cfx_pass_call *p)
{
    blocker b = {.p = p, .retracer.p = p};
    path_uses uses;
    cfx_node_map_init(&b.blocked, p->graph);
    cfx_status st = cfx_path_uses__init(&uses, p);
    if (!st)
        st = cfx_aliases__init(&b.aliases, p->graph, p->err);
    for (cfx_node *n = cfx_graph_first(p->graph), *next;
         n && !st && !uses.written; n = next) {
        next = cfx_node_next(n);
        if (n->id < b.aliases.life.ids) /* not a new one */
            st = block_node(&b, n, &next);
    }
    cfx_retracer__release(&b.retracer);
    cfx_path_uses__release(&uses);
    cfx_node_map_release(&b.blocked);
    cfx_aliases__release(&b.aliases);
    if (!st)
        st = drop_unread(p);
    if (p->changed)
        cfx_graph_module_delete_all_unused_submodules(p->gm);
    return st;
}

const cfx_pass cfx_pass__block_channels = {
    .abi = CFX_ABI(cfx_pass),
    .schema = "block_channels()",
    .doc =
        "Compute convolutions in blocks of 16 channels with packed weights, "
        "and what follows them, where meta tensor_meta shows the shapes.",
    .flags = CFX_PASS_ROUNDS | CFX_PASS_WEIGHTS,
    .run = block_channels_run,
};
