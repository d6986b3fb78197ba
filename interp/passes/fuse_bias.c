/*
 * fuse_bias -- make the bias of a linear layer a column of its weight:
 * Optimum's FuseBiasInLinear.
 *
 *     W x + b  ->  [W b] [x 1]
 *
 * The column of ones is made by a call of pad with a mark in its meta, by which
 * the reverse recognizes it: the model may have such calls itself.
 */
#include <cfx/ops.h>

#include "interp/rewrite/rewrite_rules.h"

static const char meta_key[] = "column_for_bias";

/* A linear module that only this node calls. Subclasses may do more. */
static bool is_linear(void *user, cfx_value v)
{
    cfx_pass_call *p = user;
    const path_uses *u = cfx_facts__paths(p);
    layer l;
    return u && !u->written && cfx_layer__find(&l, p, v.u.node) && l.module &&
           l.kind == LAYER_LINEAR && cfx_layer__is_plain(&l) &&
           !strcmp(cfx_module_class_name(l.module), "Linear") &&
           cfx_path_uses__once(u, v.u.node->target->text);
}

static const cfx_match_predicate linear = {"linear", is_linear, NULL};

static bool has_bias(const cfx_pass_call *p, const cfx_match *m)
{
    return cfx_attr_bool(cfx_pass__module(p, m->anchor), "bias");
}

/* Record the call of the module again, with a weight and bias computed now. */
static cfx_value call_with(cfx_scope *s, layer *l, cfx_pass_call *p,
                           cfx_scope *eager, cfx_value x, cfx_value weight,
                           cfx_value bias)
{
    return cfx_scope_status(eager, p->err)
               ? cfx_scope__fail_from(s, p->err)
               : cfx_layer__call(s, l, p, x, weight, bias);
}

/* ---- Forward ---- */

static cfx_value linear_of(cfx_scope *s, const cfx_value *in, void *user)
{
    (void)user;
    return cfx_pattern_call(s, "linear", in, 1);
}

static bool fuses(cfx_pass_call *p, const cfx_match *m)
{
    return has_bias(p, m) && m->placeholders[0].kind == CFX_NODE;
}

static cfx_value add_ones(cfx_scope *s, cfx_value x)
{
    cfx_value args[] = {x, cfx_tuple(s, cfx_int(0), cfx_int(1)),
                        cfx_str(s, "constant"), cfx_float(1)};
    cfx_value y = cfx_call_function(s, "torch.nn.functional.pad",
                                    cfx_args_of(args, 4));
    if (y.kind == CFX_NODE)
        cfx_node_set_meta(y.u.node, meta_key, cfx_bool(true), &s->error);
    return y;
}

static cfx_value fuse(cfx_scope *s, const cfx_value *in, const cfx_match *m,
                      void *p)
{
    cfx_scope e;
    layer l;
    if (!cfx_layer__find(&l, p, m->anchor) || cfx_layer__load(&l, p))
        return cfx_scope__fail_from(s, ((cfx_pass_call *)p)->err);
    cfx_scope_init(&e, &cfx_eager_class, s->ctx, NULL);
    cfx_value column = cfx_unsqueeze(&e, cfx_value_of_tensor(l.bias),
                                     cfx_int(1));
    cfx_value weight = cfx_cat(
        &e, cfx_list(&e, cfx_value_of_tensor(l.weight), column), cfx_int(1));
    cfx_value y = call_with(s, &l, p, &e, add_ones(s, in[0]), weight,
                            CFX_NOTHING);
    cfx_scope_release(&e);
    return y;
}

/* ---- Reverse ---- */

static cfx_value linear_of_ones(cfx_scope *s, const cfx_value *in, void *user)
{
    cfx_value x = cfx_named(s, "pad", add_ones(s, in[0]));
    (void)user;
    return cfx_pattern_call(s, "linear", &x, 1);
}

static bool was_fused(cfx_pass_call *p, const cfx_match *m)
{
    const cfx_node *pad = cfx_match__node(m, "pad");
    return !has_bias(p, m) && pad &&
           cfx_node_meta(pad, meta_key).kind == CFX_BOOL_VALUE;
}

static cfx_value separate(cfx_scope *s, const cfx_value *in,
                          const cfx_match *m, void *p)
{
    const cfx_value format = cfx_value_of_format(CFX_CONTIGUOUS_FORMAT);
    cfx_scope e;
    layer l;
    if (!cfx_layer__find(&l, p, m->anchor) || cfx_layer__load(&l, p))
        return cfx_scope__fail_from(s, ((cfx_pass_call *)p)->err);
    cfx_value w = cfx_value_of_tensor(l.weight);
    cfx_value last = cfx_int(cfx_tensor_size(l.weight, 1) - 1);
    cfx_scope_init(&e, &cfx_eager_class, s->ctx, NULL);
    cfx_value weight = cfx_clone(
        &e, cfx_narrow(&e, w, cfx_int(1), cfx_int(0), last), format);
    cfx_value bias = cfx_clone(&e, cfx_select(&e, w, cfx_int(1), last),
                               format);
    cfx_value y = call_with(s, &l, p, &e, in[0], weight, bias);
    cfx_scope_release(&e);
    return y;
}

static const cfx_rewrite_rule rules[] = {
    {.params = "x",
     .pattern = linear_of,
     .where = fuses,
     .build = fuse,
     .predicates = &linear,
     .npredicates = 1},
    {.params = "x",
     .pattern = linear_of_ones,
     .where = was_fused,
     .build = separate,
     .predicates = &linear,
     .npredicates = 1,
     .undo = true},
    {0},
};

const cfx_pass cfx_pass__fuse_bias_in_linear = {
    .abi = CFX_ABI(cfx_pass),
    .schema = "fuse_bias_in_linear()",
    .doc = "Make the bias of linear layers a column of their weights.",
    .flags = CFX_PASS_ROUNDS | CFX_PASS_WEIGHTS | CFX_PASS_REVERSIBLE,
    .rules = rules,
};
