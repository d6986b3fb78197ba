/*
 * narrow_weights -- packed weights in types of fewer bytes: bfloat16_weights and
 * int8_weights.
 *
 * Takes the weights of torch.ops.cfx.packed_linear, and in bfloat16 those of packed
 * recurrent layers, of torch.ops.cfx.blocked_conv2d for an input in blocks, and if
 * asked for those for a row-major input, unless the graph writes to them. The numbers
 * of two (four) input channels then lie side by side. Those of Winograd convolutions
 * stay float32 unless block_channels made them bfloat16, since their transformations
 * would enlarge the error, and so do filters of single channels, which are small, and
 * the weights of gates.
 *
 * A weight of int8 is symmetric, with a scale for each column: the largest
 * magnitude of the column becomes 127.
 */
#include <cfx/ops.h>
#include <string.h>

#include "interp/passes/lower/post_ops.h"
#include "interp/rewrite/affine.h"
#include "interp/passes/lower/pack_weight.h"
#include "graph/graph_impl.h"
#include "ops/blocked/blocked_ops.h"

/* Weights of a type: how many lie side by side, and how they are made. */
typedef struct narrow_type {
    int together;
    const char *prefix; /* of the names of their buffers */
    cfx_value (*make)(cfx_scope *s, cfx_value w, cfx_value scale);
    cfx_value (*make_scale)(cfx_scope *s, cfx_value w); /* or NULL */
    /* Like `make`, of a weight (O, in, kh, kw, 16) whose image is row-major; or
     * NULL. */
    cfx_value (*make_rows)(cfx_scope *s, cfx_value w);
    bool convs;
} narrow_type;

/* The get_attr nodes that were made for a weight. */
typedef struct narrow {
    cfx_node *weight, *scale;
} narrow;

typedef struct narrower {
    cfx_pass_call *p;
    const narrow_type *type;
    path_uses uses;
    cfx_arena memory;
    cfx_map made; /* narrow, by the path of the weight */
} narrower;

/* ---- The types ---- */

static cfx_value make_pairs(cfx_scope *s, cfx_value w, cfx_value scale)
{
    (void)scale;
    return cfx_pack__pairs(s, w);
}

/* The scale of each column of (blocks, in, 16), as (blocks, 1, 16); 1 where all
 * weights are 0. */
static cfx_value make_scale(cfx_scope *s, cfx_value w)
{
    cfx_value in = cfx_list(s, cfx_int(1)), keep = cfx_bool(true);
    cfx_value most = cfx_maximum(s, cfx_amax(s, w, in, keep),
                                 cfx_neg(s, cfx_amin(s, w, in, keep)));
    most = cfx_where(s, cfx_eq(s, most, cfx_int(0)), cfx_int(127), most);
    return cfx_div(s, most, cfx_int(127));
}

static cfx_value make_int8(cfx_scope *s, cfx_value w, cfx_value scale)
{
    w = cfx_round(s, cfx_div(s, w, scale));
    w = cfx_to(s, w, cfx_value_of_dtype(CFX_I8));
    return cfx_pack__contiguous(s, cfx_pack__side_by_side(s, w, 4));
}

/* (O, in, kh, kw, 16) as (O, ceil(in / 2), kh, kw, 16, 2) */
static cfx_value make_pairs_of_rows(cfx_scope *s, cfx_value w)
{
    int64_t odd = cfx_scope_failed(s) ? 0 : cfx_tensor_size(w.u.tensor, 1) % 2;
    cfx_value none = cfx_int(0);
    if (odd)
        w = cfx_pad(s, w,
                    cfx_list(s, none, none, none, none, none, none, none,
                             cfx_int(odd)));
    w = cfx_unflatten(s, w, cfx_int(1), cfx_list(s, cfx_int(-1), cfx_int(2)));
    w = cfx_movedim(s, w, cfx_int(2), cfx_int(-1));
    return cfx_pack__contiguous(s, cfx_to(s, w, cfx_value_of_dtype(CFX_BF16)));
}

static const narrow_type bfloat16 = {2,    "_bfloat16_", make_pairs,
                                     NULL, NULL,         true};
static const narrow_type bfloat16_rows = {2,    "_bfloat16_",       make_pairs,
                                          NULL, make_pairs_of_rows, true};
static const narrow_type int8 = {4,          "_int8_", make_int8,
                                 make_scale, NULL,     false};

/* ---- Weights ---- */

/* A float32 weight is (..., in, out); its rank by operator. */
typedef struct form {
    const char *op;
    int rank;
    bool conv, rows; /* of a row-major input */
    bool list;       /* argument 2 is a list with the weights */
} form;

static const form forms[] = {
    {"packed_linear", 3, false, false, false},
    {"blocked_conv2d", 6, true, false, false},
    {"blocked_row_major_conv2d", 5, true, true, false},
    {"packed_lstm", 3, false, false, true},
    {"packed_gru", 3, false, false, true},
    {"packed_rnn_tanh", 3, false, false, true},
    {"packed_rnn_relu", 3, false, false, true}};

/* Does n compute gates between 0 and 1? Sums are large numbers where bfloat16 rounds
 * them by more than 1, which turns a gate from 0 to 1. */
static bool computes_gates(const cfx_node *n)
{
    return cfx_post_op__find(n, "sigmoid").kind;
}

/* Does n call the operator with operands of such a form? */
static bool has_form(const narrower *k, const cfx_node *n, const form *f)
{
    if (!cfx_node_is(n, f->op) || n->nargs < 2 ||
        (f->conv && !k->type->convs) || (f->list && k->type->make_scale))
        return false;
    if (f->list)
        return n->nargs > 2 && cfx_value_is_seq(n->args[2]);
    if (!f->conv)
        return true;
    if (computes_gates(n))
        return false;
    return !f->rows || k->type->make_rows;
}

/* The form of n; NULL: n is another call. */
static const form *form_of(const narrower *k, const cfx_node *n)
{
    for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)
        if (has_form(k, n, &forms[i]))
            return &forms[i];
    return NULL;
}

static bool can_narrow(const narrower *k, const cfx_tensor *w, const form *f)
{
    return w->dtype == CFX_F32 && w->rank == f->rank &&
           (f->rows ||
            cfx_tensor_size(w, w->rank - 2) % k->type->together == 0) &&
           !cfx_path_uses__writes(&k->uses, w);
}

/* Make a buffer of a tensor, and its node before `old`. */
static cfx_status put(narrower *k, cfx_node *old, cfx_value t,
                      const char *prefix, cfx_node **out)
{
    cfx_pass_call *p = k->p;
    cfx_insert_point at = cfx_graph_inserting_before(p->graph, old);
    *out = cfx_pass_add_tensor(p, prefix, t.u.tensor);
    cfx_graph_restore(p->graph, at);
    return *out ? CFX_OK : p->err->code;
}

/* Integers have no infinities and no NaN. */
static bool is_finite(cfx_scope *s, cfx_value t)
{
    cfx_value all = cfx_all(s, cfx_isfinite(s, t));
    return !cfx_scope_failed(s) && *(const uint8_t *)all.u.tensor->data;
}

/* Leaves *out unchanged for a weight that the type cannot hold. */
static cfx_status make(narrower *k, cfx_scope *s, cfx_node *old, cfx_value w,
                       bool rows, narrow *out)
{
    const narrow_type *type = k->type;
    cfx_value scale = type->make_scale ? type->make_scale(s, w) : CFX_NOTHING;
    if (type->make_scale && !is_finite(s, scale))
        return cfx_scope_status(s, k->p->err);
    cfx_value t = rows ? type->make_rows(s, w) : type->make(s, w, scale);
    if (type->make_scale)
        scale = cfx_flatten(s, scale);
    cfx_status st = cfx_scope_status(s, k->p->err);
    if (!st)
        st = put(k, old, t, type->prefix, &out->weight);
    if (!st && type->make_scale)
        st = put(k, old, scale, "_scale_", &out->scale);
    return st;
}

/* The nodes for the weight that `old` reads, made once. */
static cfx_status find_narrow(narrower *k, cfx_node *old, cfx_tensor *w,
                              bool rows, narrow **out)
{
    const char *path = old->target->text;
    cfx_map_entry *e = cfx_map_put(&k->made, path, strlen(path), NULL);
    cfx_scope s;
    if (!e)
        return cfx_no_memory(k->p->err);
    if ((*out = e->v.p) != NULL)
        return CFX_OK;
    narrow *made = cfx_arena_alloc(&k->memory, sizeof(*made));
    if (!made)
        return cfx_no_memory(k->p->err);
    *made = (narrow){NULL, NULL};
    cfx_scope_init(&s, &cfx_eager_class, k->p->ctx, NULL);
    cfx_status st = make(k, &s, old, cfx_value_of_tensor(w), rows, made);
    cfx_scope_release(&s);
    if (!st)
        e->v.p = *out = made;
    return st;
}

static cfx_status narrow_weight(narrower *k, cfx_node *n, const form *f,
                                cfx_value v)
{
    cfx_pass_call *p = k->p;
    cfx_node *old = v.kind == CFX_NODE ? v.u.node : NULL;
    narrow *made;
    cfx_tensor *w;
    if (!old || old->op != CFX_GET_ATTR)
        return CFX_OK;
    cfx_status st = cfx_pass_weight(p, old->target->text, &w);
    if (st || !can_narrow(k, w, f))
        return st;
    st = find_narrow(k, old, w, f->rows, &made);
    if (st || !made->weight)
        return st;
    st = cfx_node_replace_input_with(n, old, made->weight, p->err);
    if (!st && made->scale)
        st = cfx_node_update_kwarg(n, "scale", cfx_value_of_node(made->scale),
                                   p->err);
    p->changed++;
    return st ? st : cfx_pass__drop_attrs(p, &old, 1);
}

static cfx_status narrow_weights(narrower *k, cfx_node *n)
{
    const form *f = form_of(k, n);
    cfx_status st = CFX_OK;
    if (!f)
        return st;
    if (!f->list)
        return narrow_weight(k, n, f, n->args[1]);
    for (uint32_t i = 0; i < n->args[2].u.seq->len && !st; i++)
        st = narrow_weight(k, n, f, n->args[2].u.seq->item[i]);
    return st;
}

static cfx_status run(cfx_pass_call *p, const narrow_type *type)
{
    narrower k = {.p = p, .type = type};
    cfx_map_init(&k.made, p->ctx);
    cfx_arena_init(&k.memory, p->ctx);
    cfx_status st = cfx_path_uses__init(&k.uses, p);
    for (cfx_node *n = cfx_graph_first(p->graph); n && !st && !k.uses.unknown;
         n = cfx_node_next(n))
        st = narrow_weights(&k, n);
    cfx_path_uses__release(&k.uses);
    cfx_arena_release(&k.memory);
    cfx_map_release(&k.made);
    return st;
}

static cfx_status bfloat16_weights_run(cfx_pass_call *p)
{
    return run(p, p->in[0].u.i ? &bfloat16_rows : &bfloat16);
}

const cfx_pass cfx_pass__bfloat16_weights = {
    .abi = CFX_ABI(cfx_pass),
    .schema = "bfloat16_weights(bool rows=False)",
    .doc =
        "Keep packed weights in bfloat16, and compute their products in it where the processor has instructions for that; rows: also those of convolutions of row-major images.",
    .flags = CFX_PASS_NARROWS | CFX_PASS_WEIGHTS,
    .run = bfloat16_weights_run,
};

static cfx_status int8_weights_run(cfx_pass_call *p)
{
    return run(p, &int8);
}

const cfx_pass cfx_pass__int8_weights = {
    .abi = CFX_ABI(cfx_pass),
    .schema = "int8_weights()",
    .doc =
        "Keep packed weights of linear layers and products in int8, with a scale for each feature.",
    .flags = CFX_PASS_NARROWS | CFX_PASS_WEIGHTS,
    .run = int8_weights_run,
};
