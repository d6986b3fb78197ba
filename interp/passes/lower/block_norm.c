/*
 * block_norm -- batch norms of blocked images that could not be folded into a convolution:
 * each becomes a depthwise 1x1 convolution, which can apply the activation that follows.
 */
#include <cfx/ops.h>

#include "interp/passes/lower/block_channels.h"

typedef struct scaling {
    cfx_node *x, *weight, *bias; /* x is blocked */
    int64_t channels;
} scaling;

/* y = (x - mean) * by + beta, by = gamma / sqrt(var + eps). */
static void scale_and_shift(cfx_scope *s, const norm *b, cfx_value out[2])
{
    cfx_value var = cfx_add(s, cfx_value_of_tensor(b->var), cfx_float(b->eps));
    cfx_value by = cfx_rsqrt(s, var);
    if (b->weight)
        by = cfx_mul(s, cfx_value_of_tensor(b->weight), by);
    cfx_value shift = cfx_neg(s, cfx_mul(s, cfx_value_of_tensor(b->mean), by));
    if (b->bias)
        shift = cfx_add(s, shift, cfx_value_of_tensor(b->bias));
    out[0] = by;
    out[1] = shift;
}

static cfx_status put_numbers(cfx_lowering *b, const norm *from, scaling *to)
{
    cfx_pass_call *p = b->p;
    cfx_scope s;
    cfx_value v[2];
    cfx_scope_init(&s, &cfx_eager_class, p->ctx, NULL);
    scale_and_shift(&s, from, v);
    cfx_value weight = cfx_block__split(&s, v[0], 0); /* (O, 16) */
    cfx_value one = cfx_int(1);
    weight = cfx_reshape(
        &s, weight, cfx_list(&s, cfx_int(-1), one, one, cfx_int(CFX_BLOCK)));
    cfx_value bias = cfx_flatten(&s, cfx_block__split(&s, v[1], 0));
    cfx_status st = cfx_scope_status(&s, p->err);
    cfx_insert_point at = cfx_graph_inserting_before(p->graph, from->n);
    if (!st) {
        to->weight = cfx_pass_add_tensor(p, "_packed_", weight.u.tensor);
        to->bias = to->weight
                       ? cfx_pass_add_tensor(p, "_packed_", bias.u.tensor)
                       : NULL;
        st = to->bias ? CFX_OK : p->err->code;
    }
    cfx_graph_restore(p->graph, at);
    cfx_scope_release(&s);
    return st;
}

static cfx_value build_norm(cfx_scope *s, const cfx_node *n, void *user)
{
    const scaling *c = user;
    cfx_value y = cfx_blocked_depthwise_conv2d(
        s, cfx_value_of_node(c->x), cfx_value_of_node(c->weight),
        .bias = cfx_value_of_node(c->bias));
    (void)n;
    return cfx_from_blocked(s, y, cfx_int(c->channels));
}

/* Does the norm use running statistics? If so, it could have been folded into the layer
 * before it. */
static bool has_constants(cfx_lowering *b, const norm *from)
{
    cfx_node *n = from->n, *x = cfx_node__arg(n, 0);
    layer l;
    if (from->training || !from->running)
        cfx_pass_missed(b->p, n, "it uses the statistics of its input");
    else if (!cfx_lower__form(x) && cfx_layer__find(&l, b->p, x))
        cfx_pass_missed(b->p, n, "%s cannot be computed with it", x->name);
    else if (!cfx_lower__form(x))
        cfx_pass_missed(b->p, n, "it does not follow a layer");
    return !from->training && from->running;
}

cfx_status cfx_block__norm(cfx_lowering *b, cfx_node *n, cfx_node **next,
                           bool *done)
{
    cfx_node *x = cfx_node__arg(n, 0);
    norm from;
    if (!cfx_norm__find(&from, b->p, n) || !x || !has_constants(b, &from) ||
        !cfx_block__is_image(x) || !cfx_block__is_image(n))
        return CFX_OK;
    scaling to = {.x = cfx_block__known(b, x),
                  .channels = cfx_lower__channels(x)};
    if (!to.x || !to.channels)
        return CFX_OK;
    cfx_status st = cfx_norm__load(&from, b->p);
    const cfx_tensor *const all[] = {from.weight, from.bias, from.mean,
                                     from.var};
    for (int i = 0; i < 4 && !st; i++)
        if (all[i] && (all[i]->dtype != CFX_F32 ||
                       cfx_path_uses__writes(&b->frozen.uses, all[i])))
            return CFX_OK;
    if (st)
        return st;
    *done = true;
    st = put_numbers(b, &from, &to);
    return st ? st : cfx_block__replace(b, n, build_norm, &to, next);
}
