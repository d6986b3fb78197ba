/*
 * block_channels -- keep images in the blocked layout from convolution to convolution,
 * with packed weights: torch.ops.cfx.blocked_conv2d.
 *
 * A convolution becomes to_blocked, the blocked convolution, from_blocked. Then
 * from_blocked is moved after the pointwise functions, sums, products, pooling and
 * concatenation that follow it, and cancels with the next to_blocked. Activations and
 * sums are fused into the convolution before them. Shapes must have been propagated:
 * images are float32 tensors of four axes.
 *
 * This file walks over the graph. Each rule has a file block_*.c.
 */
#include "interp/passes/lower/block_channels.h"

#include <cfx/ops.h>

#include "interp/passes/lower/post_ops.h"
#include "graph/graph_impl.h"

/* ---- Facts about nodes ---- */

bool cfx_block__is_image(const cfx_node *n)
{
    const cfx_tensor *t = cfx_node__known_tensor(n);
    return t && t->rank == 4 && t->dtype == CFX_F32;
}

bool cfx_block__is_conv(const cfx_node *n)
{
    return cfx_node_is(n, "blocked_conv2d") ||
           cfx_node_is(n, "blocked_row_major_conv2d") ||
           cfx_node_is(n, "blocked_depthwise_conv2d") ||
           cfx_node_is(n, "blocked_winograd_conv2d");
}

cfx_node *cfx_block__open_conv(const cfx_node *x, const char *post_op)
{
    cfx_node *y = cfx_lower__form(x);
    return y && cfx_block__is_conv(y) && y->nusers == 1 && x->nusers == 1 &&
                   cfx_post_op__fits(y, post_op)
               ? y
               : NULL;
}

bool cfx_block__is_pair(cfx_value v)
{
    if (v.kind == CFX_INT)
        return true;
    return cfx_value_is_seq(v) && (v.u.seq->len == 1 || v.u.seq->len == 2) &&
           v.u.seq->item[0].kind == CFX_INT &&
           v.u.seq->item[v.u.seq->len - 1].kind == CFX_INT;
}

cfx_value cfx_block__pair_of(cfx_scope *s, cfx_value v)
{
    cfx_value both[2] = {v, v};
    if (cfx_value_is_seq(v)) {
        both[0] = v.u.seq->item[0];
        both[1] = v.u.seq->item[v.u.seq->len - 1];
    }
    return cfx_list_of(s, CFX_LIST, 2, both);
}

bool cfx_block__is_optional_pair(cfx_value v)
{
    return cfx_value_is_none(v) || cfx_block__is_pair(v);
}

cfx_value cfx_block__optional_pair_of(cfx_scope *s, cfx_value v)
{
    return cfx_block__is_pair(v) ? cfx_block__pair_of(s, v) : CFX_NOTHING;
}

cfx_value cfx_block__split(cfx_scope *s, cfx_value x, int axis)
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

/* ---- Elementwise functions, and writes ---- */

bool cfx_block__is_elementwise(const cfx_pass_call *p, const cfx_node *n)
{
    cfx_post_op_call op;
    double lo, hi;
    return cfx_post_op__clamps(p, n, &lo, &hi) || cfx_post_op__read(p, n, &op);
}

/* The effects of a node of the original graph; new nodes have none. */
static cfx_effects effects_of(const cfx_lowering *b, const cfx_node *n)
{
    return cfx_aliases__is_later(&b->frozen.aliases, n)
               ? (cfx_effects){0}
               : *cfx_aliases__effects(&b->frozen.aliases, n);
}

/* May n be a view? operator.add and operator.mul of lists return their operands' items; of
 * tensors they allocate, as max_pool2d does, with or without indices. */
static bool may_view(const cfx_lowering *b, const cfx_node *n)
{
    bool owns = cfx_node_is(n, "add") || cfx_node_is(n, "mul") ||
                cfx_pass__calls(b->p, n, "max_pool2d");
    return effects_of(b, n).input_views &&
           !(owns && cfx_node__known_tensor(n));
}

/* Is n an activation in place, of a value that nothing else reads? */
static bool is_last_reader(const cfx_lowering *b, const cfx_node *n)
{
    const cfx_node *x = cfx_node__arg(n, 0);
    return x && x->nusers == 1 && cfx_block__is_elementwise(b->p, n);
}

/* Do all users of n read the value that n computes, before anything writes to it? */
static bool is_never_written(cfx_lowering *b, const cfx_node *n)
{
    if (cfx_aliases__is_later(&b->frozen.aliases, n) ||
        !cfx_aliases__is_written(&b->frozen.aliases, n))
        return true;
    if (may_view(b, n) && !is_last_reader(b, n))
        return false;
    for (const cfx_use *u = n->first_user; u; u = u->next)
        if ((may_view(b, u->user) || effects_of(b, u->user).input_writes) &&
            !is_last_reader(b, u->user))
            return false;
    return true;
}

cfx_node *cfx_block__known(cfx_lowering *b, const cfx_node *n)
{
    cfx_node *y = cfx_lower__form(n);
    cfx_value made = cfx_node_map_get(&b->blocked, n);
    if (y || made.kind != CFX_NODE)
        return y;
    return is_never_written(b, n) ? made.u.node : NULL;
}

cfx_status cfx_block__replace(cfx_lowering *b, cfx_node *n, cfx_retrace_fn *fn,
                              void *user, cfx_node **next)
{
    bool done;
    cfx_status st = cfx_retracer__node(&b->retracer, n, fn, user, next, &done);
    return st || done ? st : cfx_fail_from(b->p->err, &b->retracer.why);
}

/* ---- The pass ---- */

/* Tell which nodes are computed row-major between blocked images. */
static void report_conversions(cfx_pass_call *p)
{
    for (const cfx_node *n = p->missed ? cfx_graph_first(p->graph) : NULL; n;
         n = cfx_node_next(n)) {
        const cfx_node *x = cfx_node__arg(n, 0);
        const cfx_node *from = x && cfx_node_is(n, "to_blocked")
                                   ? cfx_node__arg(x, 0)
                                   : NULL;
        if (from && cfx_lower__form(from))
            cfx_pass_missed(
                p, x,
                "it has no blocked form, so its input and result are converted");
    }
}

/* Erase conversions that nothing reads, and products that were fused into the convolution
 * after them. */
static cfx_status drop_unread(cfx_pass_call *p)
{
    cfx_status st = CFX_OK;
    for (cfx_node *n = cfx_graph_last(p->graph), *before; n && !st;
         n = before) {
        before = cfx_node_prev(n);
        if (!n->nusers && (cfx_lower__form(n) || cfx_block__is_scaled(n))) {
            st = cfx_graph_erase_node(p->graph, n, p->err);
            p->changed++;
        }
    }
    return st;
}

/* The rules, in the order in which they are tried. */
static cfx_block_rule *const rules[] = {
    cfx_block__conv,       cfx_block__norm, cfx_block__pair,
    cfx_block__window,     cfx_block__mean, cfx_block__flatten,
    cfx_block__activation, cfx_block__cat,  cfx_block__part,
};
enum { RULES = sizeof(rules) / sizeof(rules[0]) };

static cfx_status block_node(cfx_lowering *b, cfx_node *n, cfx_node **next)
{
    bool done = false;
    cfx_status st = CFX_OK;
    if (n->op == CFX_PLACEHOLDER || n->op == CFX_OUTPUT ||
        !is_never_written(b, n))
        return CFX_OK;
    for (int i = 0; i < RULES && !st && !done; i++)
        st = rules[i](b, n, next, &done);
    return st;
}

static cfx_status block_channels_run(cfx_pass_call *p)
{
    cfx_status st = cfx_lowering__run(p, NULL, block_node);
    if (!st)
        st = drop_unread(p);
    if (!st)
        report_conversions(p);
    if (p->changed)
        cfx_graph_module_delete_all_unused_submodules(p->gm);
    return st;
}

const cfx_pass cfx_pass__block_channels = {
    .abi = CFX_ABI(cfx_pass),
    .schema = "block_channels(str[]? winograd=None, bool bfloat16=False)",
    .doc =
        "Compute convolutions in blocks of 16 channels with packed weights, and what follows them, where meta tensor_meta shows the shapes; winograd: names and targets of the 3x3 convolutions that Winograd's algorithm computes, * for all (default: where it should be faster); bfloat16: weights will be of that type, and those of Winograd's algorithm are, where the processor multiplies it.",
    .flags = CFX_PASS_ROUNDS | CFX_PASS_WEIGHTS,
    .run = block_channels_run,
};
