/*
 * narrow_activations -- images in blocks of bfloat16: bfloat16_activations.
 *
 * A convolution with weights of bfloat16 rounds its input to that type. If all that
 * read an image can take it in bfloat16, the convolution before them writes it so:
 * half the bytes, and nothing to convert. Pooling and concatenation pass the type on
 * from their inputs, all of which have to be of it.
 *
 * At first each image that can be bfloat16 is taken to be. Then those are removed
 * that a reader, or another input of a reader, needs as float32, until none is left.
 */
#include "interp/passes/lower/block_channels.h"
#include "interp/passes/lower/post_ops.h"
#include "interp/rewrite/affine.h"
#include "graph/graph_impl.h"
#include "ops/blocked/blocked_ops.h"

typedef enum role {
    NEITHER,
    WRITES, /* its result's type can be chosen */
    PASSES  /* its result has the type of its inputs */
} role;

typedef struct narrower {
    cfx_pass_call *p;
    uint8_t *role; /* by id; NEITHER for what stays float32 */
    uint32_t ids;
    bool changed;
} narrower;

/* ---- Facts about nodes ---- */

static bool is_image(const cfx_node *n)
{
    const cfx_tensor *t = cfx_node__known_tensor(n);
    return t && t->rank == 5 && t->dtype == CFX_F32 &&
           cfx_dim_is(t->shape[4], CFX_BLOCK);
}

/* Does n join images? */
static bool is_cat(const cfx_node *n)
{
    if (!cfx_node_is(n, "cat") || !n->nargs || !cfx_value_is_seq(n->args[0]))
        return false;
    const cfx_seq *list = n->args[0].u.seq;
    for (uint32_t i = 0; i < list->len; i++)
        if (list->item[i].kind != CFX_NODE || !is_image(list->item[i].u.node))
            return false;
    return true;
}

static role role_of(const cfx_node *n)
{
    if (!is_image(n))
        return NEITHER;
    if (cfx_block__is_conv(n))
        return cfx_post_op__fits(n, "to") ? WRITES : NEITHER;
    return cfx_node_is(n, "blocked_max_pool2d") ||
                   cfx_node_is(n, "blocked_avg_pool2d") || is_cat(n)
               ? PASSES
               : NEITHER;
}

/* ---- Readers ---- */

static bool reads(cfx_value v, const cfx_node *n)
{
    return v.kind == CFX_NODE && v.u.node == n;
}

/* Does a convolution multiply by float32 what it would have to convert first? */
static bool multiplies_floats(const cfx_node *conv)
{
    const cfx_tensor *w = conv->nargs > 1 && conv->args[1].kind == CFX_NODE
                              ? cfx_node__known_tensor(conv->args[1].u.node)
                              : NULL;
    return cfx_node_is(conv, "blocked_conv2d") && (!w || w->dtype == CFX_F32);
}

/* Does a convolution that reads n take it as its input, or add it? */
static bool conv_takes(const cfx_node *conv, const cfx_node *n)
{
    for (uint32_t i = 1; i < conv->nargs; i++)
        if (reads(conv->args[i], n))
            return false;
    for (uint32_t i = 0; i < conv->nkwargs; i++)
        if (reads(conv->kwargs[2 * i + 1], n))
            return false;
    return !conv->nargs || !reads(conv->args[0], n) ||
           !multiplies_floats(conv);
}

static bool takes(const narrower *k, const cfx_node *reader, const cfx_node *n)
{
    if (cfx_block__is_conv(reader))
        return conv_takes(reader, n);
    return k->role[reader->id] == PASSES;
}

/* ---- The types ---- */

static void keep_float(narrower *k, const cfx_node *n)
{
    if (k->role[n->id] == NEITHER)
        return;
    k->role[n->id] = NEITHER;
    k->changed = true;
}

static bool passes_float(const narrower *k, cfx_value in)
{
    if (in.kind == CFX_NODE)
        return k->role[in.u.node->id] == NEITHER;
    for (uint32_t i = 0; cfx_value_is_seq(in) && i < in.u.seq->len; i++)
        if (passes_float(k, in.u.seq->item[i]))
            return true;
    return false;
}

static void check(narrower *k, const cfx_node *n)
{
    if (k->role[n->id] == PASSES && passes_float(k, n->args[0]))
        keep_float(k, n);
    for (const cfx_use *u = n->first_user; u; u = u->next)
        if (!takes(k, u->user, n))
            keep_float(k, n);
}

/* Each round goes backward over the graph, so that most need two. */
static void find_narrow(narrower *k)
{
    for (cfx_node *n = cfx_graph_first(k->p->graph); n; n = cfx_node_next(n))
        k->role[n->id] = (uint8_t)role_of(n);
    do {
        k->changed = false;
        for (cfx_node *n = cfx_graph_last(k->p->graph); n;
             n = cfx_node_prev(n))
            check(k, n);
    } while (k->changed);
}

static cfx_status narrow_all(narrower *k)
{
    cfx_pass_call *p = k->p;
    const cfx_post_op_call to = {"to", {cfx_value_of_dtype(CFX_BF16)}, 1};
    cfx_status st = CFX_OK;
    for (cfx_node *n = cfx_graph_first(p->graph); n && !st;
         n = cfx_node_next(n)) {
        if (k->role[n->id] == WRITES) {
            st = cfx_post_op__append(p, n, &to);
            p->changed++;
        }
        if (k->role[n->id] != NEITHER && !st)
            st = cfx_node__forget_known(n, p->err);
    }
    return st;
}

static cfx_status bfloat16_activations_run(cfx_pass_call *p)
{
    narrower k = {.p = p, .ids = cfx_graph_ids(p->graph)};
    k.role = cfx_calloc(p->ctx, k.ids, sizeof(*k.role));
    if (!k.role && k.ids)
        return cfx_no_memory(p->err);
    find_narrow(&k);
    cfx_status st = narrow_all(&k);
    cfx_free(p->ctx, k.role, k.ids * sizeof(*k.role));
    return st;
}

const cfx_pass cfx_pass__bfloat16_activations = {
    .abi = CFX_ABI(cfx_pass),
    .schema = "bfloat16_activations()",
    .doc =
        "Keep images in blocks of channels in bfloat16 where all that read them take it, and meta tensor_meta shows the shapes.",
    .flags = CFX_PASS_NARROWS,
    .run = bfloat16_activations_run,
};
