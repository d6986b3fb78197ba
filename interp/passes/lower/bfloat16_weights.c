/*
 * bfloat16_weights -- packed weights in bfloat16: half the bytes, and twice the
 * products where the processor multiplies pairs.
 *
 * Takes the weights of torch.ops.cfx.packed_linear, and of
 * torch.ops.cfx.blocked_conv2d for an input in blocks, unless the graph writes to
 * them. The numbers of two input channels then lie side by side. Those of
 * Winograd convolutions stay float32, since their transformations would enlarge
 * the error, and so do filters of single channels and of row-major images, which
 * are small.
 */
#include <cfx/ops.h>
#include <string.h>

#include "interp/passes/affine.h"
#include "ops/blocked/blocked.h"

/* A float32 weight is (..., in, out); its rank by operator. */
static const struct form {
    const char *op;
    int rank;
} forms[] = {{"packed_linear", 3}, {"blocked_conv2d", 6}};

typedef struct narrower {
    cfx_pass_call *p;
    path_uses uses;
    cfx_map
        made; /* the get_attr node of the pairs, by the path of the weight */
} narrower;

/* The get_attr node of the weight; NULL: n is another call. */
static cfx_node *weight_of(const cfx_node *n, const struct form **form)
{
    for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
        *form = &forms[i];
        if (cfx_node_is(n, forms[i].op) && n->nargs > 1 &&
            n->args[1].kind == CFX_NODE &&
            n->args[1].u.node->op == CFX_GET_ATTR)
            return n->args[1].u.node;
    }
    return NULL;
}

static bool can_narrow(const narrower *k, const cfx_tensor *w, int rank)
{
    return w->dtype == CFX_F32 && w->rank == rank &&
           cfx_tensor_size(w, rank - 2) % 2 == 0 &&
           !cfx_path_uses__writes(&k->uses, w);
}

/* (..., in, out) as (..., in / 2, out, 2) */
static cfx_value pairs_of(cfx_scope *s, cfx_tensor *w)
{
    cfx_value v = cfx_value_of_tensor(w);
    v = cfx_unflatten(s, v, cfx_int(-2), cfx_list(s, cfx_int(-1), cfx_int(2)));
    v = cfx_to(s, cfx_transpose(s, v, cfx_int(-2), cfx_int(-1)),
               cfx_value_of_dtype(CFX_BF16));
    return cfx_clone(s, v, cfx_value_of_format(CFX_CONTIGUOUS_FORMAT));
}

/* Make the buffer and its node before that of the float32 weight. */
static cfx_status make(narrower *k, cfx_node *old, cfx_tensor *w,
                       cfx_node **out)
{
    cfx_pass_call *p = k->p;
    cfx_scope s;
    cfx_scope_init(&s, &cfx_eager_class, p->ctx, NULL);
    cfx_value t = pairs_of(&s, w);
    cfx_status st = cfx_scope_status(&s, p->err);
    if (!st) {
        cfx_insert_point at = cfx_graph_inserting_before(p->graph, old);
        *out = cfx_pass_add_tensor(p, "_bfloat16_", t.u.tensor);
        cfx_graph_restore(p->graph, at);
        st = *out ? CFX_OK : p->err->code;
    }
    cfx_scope_release(&s);
    return st;
}

static cfx_status narrow(narrower *k, cfx_node *n)
{
    const struct form *form;
    cfx_pass_call *p = k->p;
    cfx_node *old = weight_of(n, &form), *pairs;
    cfx_tensor *w;
    if (!old)
        return CFX_OK;
    const char *path = old->target->text;
    cfx_status st = cfx_pass_weight(p, path, &w);
    if (st || !can_narrow(k, w, form->rank))
        return st;
    cfx_map_entry *e = cfx_map_put(&k->made, path, strlen(path), NULL);
    if (!e)
        return cfx_no_memory(p->err);
    if (!e->v.p) {
        st = make(k, old, w, &pairs);
        if (st)
            return st;
        e->v.p = pairs;
    }
    pairs = e->v.p;
    st = cfx_node_update_arg(n, 1, cfx_value_of_node(pairs), p->err);
    p->changed++;
    return st ? st : cfx_pass__drop_attrs(p, &old, 1);
}

static cfx_status bfloat16_weights_run(cfx_pass_call *p)
{
    narrower k = {.p = p};
    cfx_map_init(&k.made, p->ctx);
    cfx_status st = cfx_path_uses__init(&k.uses, p);
    for (cfx_node *n = cfx_graph_first(p->graph); n && !st && !k.uses.unknown;
         n = cfx_node_next(n))
        st = narrow(&k, n);
    cfx_path_uses__release(&k.uses);
    cfx_map_release(&k.made);
    return st;
}

const cfx_pass cfx_pass__bfloat16_weights = {
    .abi = CFX_ABI(cfx_pass),
    .schema = "bfloat16_weights()",
    .doc = "Keep packed weights in bfloat16, and compute their products in it "
           "where the processor has instructions for that.",
    .flags = CFX_PASS_NARROWS | CFX_PASS_WEIGHTS,
    .run = bfloat16_weights_run,
};
