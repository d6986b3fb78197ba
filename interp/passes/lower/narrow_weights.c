/*
 * narrow_weights -- packed weights in types of fewer bytes: bfloat16_weights and
 * int8_weights.
 *
 * Takes the weights of torch.ops.cfx.packed_linear, and in bfloat16 those of
 * torch.ops.cfx.blocked_conv2d for an input in blocks, unless the graph writes to
 * them. The numbers of two (four) input channels then lie side by side. Those of
 * Winograd convolutions stay float32, since their transformations would enlarge
 * the error, and so do filters of single channels and of row-major images, which
 * are small.
 *
 * A weight of int8 is symmetric, with a scale for each column: the largest
 * magnitude of the column becomes 127.
 */
#include <cfx/ops.h>
#include <string.h>

#include "interp/passes/affine.h"
#include "ops/blocked/blocked.h"

/* Weights of a type: how many lie side by side, and how they are made. */
typedef struct narrow_type {
    int together;
    const char *prefix; /* of the names of their buffers */
    cfx_value (*make)(cfx_scope *s, cfx_value w, cfx_value scale);
    cfx_value (*make_scale)(cfx_scope *s, cfx_value w); /* or NULL */
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

/* (..., in, out) as (..., in / n, out, n) */
static cfx_value side_by_side(cfx_scope *s, cfx_value w, int n)
{
    w = cfx_unflatten(s, w, cfx_int(-2), cfx_list(s, cfx_int(-1), cfx_int(n)));
    return cfx_transpose(s, w, cfx_int(-2), cfx_int(-1));
}

static cfx_value contiguous(cfx_scope *s, cfx_value v)
{
    return cfx_clone(s, v, cfx_value_of_format(CFX_CONTIGUOUS_FORMAT));
}

static cfx_value make_pairs(cfx_scope *s, cfx_value w, cfx_value scale)
{
    (void)scale;
    w = cfx_to(s, side_by_side(s, w, 2), cfx_value_of_dtype(CFX_BF16));
    return contiguous(s, w);
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
    return contiguous(s, side_by_side(s, w, 4));
}

static const narrow_type bfloat16 = {2, "_bfloat16_", make_pairs, NULL, true};
static const narrow_type int8 = {4, "_int8_", make_int8, make_scale, false};

/* ---- Weights ---- */

/* A float32 weight is (..., in, out); its rank by operator. */
static const struct form {
    const char *op;
    int rank;
    bool conv;
} forms[] = {{"packed_linear", 3, false}, {"blocked_conv2d", 6, true}};

/* The get_attr node of the weight; NULL: n is another call. */
static cfx_node *weight_of(const narrower *k, const cfx_node *n,
                           const struct form **form)
{
    for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
        *form = &forms[i];
        if ((k->type->convs || !forms[i].conv) &&
            cfx_node_is(n, forms[i].op) && n->nargs > 1 &&
            n->args[1].kind == CFX_NODE &&
            n->args[1].u.node->op == CFX_GET_ATTR)
            return n->args[1].u.node;
    }
    return NULL;
}

static bool can_narrow(const narrower *k, const cfx_tensor *w, int rank)
{
    return w->dtype == CFX_F32 && w->rank == rank &&
           cfx_tensor_size(w, rank - 2) % k->type->together == 0 &&
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
                       narrow *out)
{
    const narrow_type *type = k->type;
    cfx_value scale = type->make_scale ? type->make_scale(s, w) : CFX_NOTHING;
    if (type->make_scale && !is_finite(s, scale))
        return cfx_scope_status(s, k->p->err);
    cfx_value t = type->make(s, w, scale);
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
                              narrow **out)
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
    cfx_status st = make(k, &s, old, cfx_value_of_tensor(w), made);
    cfx_scope_release(&s);
    if (!st)
        e->v.p = *out = made;
    return st;
}

static cfx_status narrow_weight(narrower *k, cfx_node *n)
{
    const struct form *form;
    cfx_pass_call *p = k->p;
    cfx_node *old = weight_of(k, n, &form);
    narrow *made;
    cfx_tensor *w;
    if (!old)
        return CFX_OK;
    cfx_status st = cfx_pass_weight(p, old->target->text, &w);
    if (st || !can_narrow(k, w, form->rank))
        return st;
    st = find_narrow(k, old, w, &made);
    if (st || !made->weight)
        return st;
    st = cfx_node_update_arg(n, 1, cfx_value_of_node(made->weight), p->err);
    if (!st && made->scale)
        st = cfx_node_update_kwarg(n, "scale", cfx_value_of_node(made->scale),
                                   p->err);
    p->changed++;
    return st ? st : cfx_pass__drop_attrs(p, &old, 1);
}

static cfx_status run(cfx_pass_call *p, const narrow_type *type)
{
    narrower k = {.p = p, .type = type};
    cfx_map_init(&k.made, p->ctx);
    cfx_arena_init(&k.memory, p->ctx);
    cfx_status st = cfx_path_uses__init(&k.uses, p);
    for (cfx_node *n = cfx_graph_first(p->graph); n && !st && !k.uses.unknown;
         n = cfx_node_next(n))
        st = narrow_weight(&k, n);
    cfx_path_uses__release(&k.uses);
    cfx_arena_release(&k.memory);
    cfx_map_release(&k.made);
    return st;
}

static cfx_status bfloat16_weights_run(cfx_pass_call *p)
{
    return run(p, &bfloat16);
}

const cfx_pass cfx_pass__bfloat16_weights = {
    .abi = CFX_ABI(cfx_pass),
    .schema = "bfloat16_weights()",
    .doc = "Keep packed weights in bfloat16, and compute their products in it "
           "where the processor has instructions for that.",
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
    .doc = "Keep packed weights of linear layers and products in int8, with a "
           "scale for each feature.",
    .flags = CFX_PASS_NARROWS | CFX_PASS_WEIGHTS,
    .run = int8_weights_run,
};
