/*
 * fuse_bias -- make the bias of a linear layer a column of its weight:
 * Optimum's FuseBiasInLinear.
 *
 *     W x + b  ->  [W b] [x 1]
 *
 * The column of ones is made by a call of pad with a mark in its meta, by which
 * the reverse recognizes it: the model may have such calls itself.
 */
#include "interp/passes/affine.h"

#include <cfx/ops.h>

static const char meta_key[] = "column_for_bias";
static const char pad_name[] = "torch.nn.functional.pad";

/* Find a linear module that only this node calls, and its input. */
static bool find_linear(layer *l, cfx_pass_call *p, const path_uses *u,
                        cfx_node *n)
{
    return n->op == CFX_CALL_MODULE && cfx_layer__find(l, p, n) && l->module &&
           l->kind == LAYER_LINEAR && n->nargs == 1 && !n->nkwargs &&
           n->args[0].kind == CFX_NODE &&
           !strcmp(cfx_module_class_name(l->module), "Linear") &&
           cfx_path_uses__once(u, n->target->text);
}

/* ---- Forward ---- */

/* Append a column of ones to x. */
static cfx_node *add_ones(cfx_pass_call *p, cfx_node *n)
{
    cfx_value ends[] = {cfx_int(0), cfx_int(1)};
    cfx_value args[] = {n->args[0], cfx_tuple_new(p->ctx, 2, ends),
                        cfx_str_new(p->ctx, "constant", 8), cfx_float(1)};
    cfx_node *pad = NULL;
    cfx_insert_point at = cfx_graph_inserting_before(p->graph, n);
    if (args[1].kind && args[2].kind)
        pad = cfx_graph_call_function(p->graph, pad_name, cfx_args_of(args, 4),
                                      p->err);
    else
        cfx_no_memory(p->err);
    cfx_graph_restore(p->graph, at);
    cfx_value_unref(args[1]);
    cfx_value_unref(args[2]);
    if (pad && (cfx_node_inherit(pad, n, p->err) ||
                cfx_node_set_meta(pad, meta_key, cfx_bool(true), p->err)))
        return NULL;
    return pad;
}

static cfx_status fuse(cfx_pass_call *p, path_uses *u, layer *l)
{
    cfx_scope s;
    cfx_value weight = CFX_NOTHING;
    cfx_status st = cfx_layer__load(l, p);
    if (st)
        return st;
    cfx_node *pad = add_ones(p, l->n);
    if (!pad)
        return p->err->code;
    cfx_scope_init(&s, &cfx_eager_class, p->ctx, NULL);
    cfx_value column = cfx_unsqueeze(&s, cfx_value_of_tensor(l->bias),
                                     cfx_int(1));
    weight = cfx_cat(&s, cfx_list(&s, cfx_value_of_tensor(l->weight), column),
                     cfx_int(1));
    st = cfx_scope_status(&s, p->err);
    if (!st)
        st = cfx_node_update_arg(l->n, 0, cfx_value_of_node(pad), p->err);
    if (!st)
        st = cfx_layer__store(l, p, u, weight, CFX_NOTHING);
    cfx_scope_release(&s);
    p->changed += 2;
    return st;
}

/* ---- Reverse ---- */

static bool is_ones(const cfx_node *n)
{
    const cfx_value *a = n->args;
    return n->op == CFX_CALL_FUNCTION && n->nargs == 4 && !n->nkwargs &&
           n->nusers == 1 && !strcmp(n->target->text, pad_name) &&
           cfx_node_meta(n, meta_key).kind == CFX_BOOL_VALUE &&
           a[0].kind == CFX_NODE && cfx_value_is_seq(a[1]) &&
           a[1].u.seq->len == 2 && a[1].u.seq->item[0].kind == CFX_INT &&
           a[1].u.seq->item[0].u.i == 0 &&
           a[1].u.seq->item[1].kind == CFX_INT &&
           a[1].u.seq->item[1].u.i == 1 &&
           (a[2].kind == CFX_STR || a[2].kind == CFX_NAME) &&
           !strcmp(a[2].u.str->text, "constant") && a[3].kind == CFX_FLOAT &&
           a[3].u.f == 1;
}

static cfx_status separate(cfx_pass_call *p, path_uses *u, layer *l)
{
    cfx_scope s;
    cfx_node *pad = l->n->args[0].u.node;
    cfx_status st = cfx_layer__load(l, p);
    if (st)
        return st;
    cfx_value w = cfx_value_of_tensor(l->weight);
    cfx_value last = cfx_int(cfx_tensor_size(l->weight, 1) - 1);
    cfx_scope_init(&s, &cfx_eager_class, p->ctx, NULL);
    cfx_value weight = cfx_clone(
        &s, cfx_narrow(&s, w, cfx_int(1), cfx_int(0), last),
        cfx_value_of_format(CFX_CONTIGUOUS_FORMAT));
    cfx_value bias = cfx_clone(&s, cfx_select(&s, w, cfx_int(1), last),
                               cfx_value_of_format(CFX_CONTIGUOUS_FORMAT));
    st = cfx_scope_status(&s, p->err);
    if (!st)
        st = cfx_node_update_arg(l->n, 0, pad->args[0], p->err);
    if (!st)
        st = cfx_layer__store(l, p, u, weight, bias);
    cfx_scope_release(&s);
    if (!st)
        st = cfx_graph_erase_node(p->graph, pad, p->err);
    p->changed += 2;
    return st;
}

static cfx_status fuse_bias_in_linear_run(cfx_pass_call *p)
{
    path_uses u;
    layer l;
    cfx_status st = cfx_path_uses__init(&u, p);
    for (cfx_node *n = u.written ? NULL : cfx_graph_first(p->graph); n && !st;
         n = cfx_node_next(n)) {
        if (!find_linear(&l, p, &u, n))
            continue;
        bool bias = cfx_attr_bool(l.module, "bias");
        if (!p->reverse && bias)
            st = fuse(p, &u, &l);
        else if (p->reverse && !bias && is_ones(n->args[0].u.node))
            st = separate(p, &u, &l);
    }
    cfx_path_uses__release(&u);
    return st;
}

const cfx_pass cfx_pass__fuse_bias_in_linear = {
    .abi = CFX_ABI(cfx_pass),
    .schema = "fuse_bias_in_linear()",
    .doc = "Make the bias of linear layers a column of their weights.",
    .flags = CFX_PASS_ROUNDS | CFX_PASS_WEIGHTS | CFX_PASS_REVERSIBLE,
    .run = fuse_bias_in_linear_run,
};
