/*
 * fused_activation -- the activations that operators can apply to their results.
 */
#include "op/fused_activation.h"

#include <stdio.h>

#include "op/loop.h"
#include "op/op_cost.h"
#include "op/op_impl.h"

const cfx_target *cfx_find_activation(cfx_context *ctx, const char *name)
{
    char full[64];
    int n = snprintf(full, sizeof(full), "aten.%s.default", name);
    const cfx_target *t = n > 0 && (size_t)n < sizeof(full)
                              ? cfx_find_function(ctx, full)
                              : NULL;
    return t && t->op->flags & CFX_OP_ACTIVATION && t->op->loop ? t : NULL;
}

/* The loop and the cost of a call for one element. */
static cfx_status describe(cfx_call *call, void *user)
{
    cfx_fused_activation *a = user;
    cfx_cost cost = {.ops = cfx_dim_int(0), .transcendental = cfx_dim_int(0)};
    cfx_loop loop;
    if (!call->op->loop(call, &loop))
        return cfx_call_fail(call, CFX_EINVAL, "%s cannot be fused",
                             call->schema->name);
    if (call->op->cost)
        call->op->cost(call, &cost);
    a->code = loop.code;
    a->ops = cfx_dim_value(cost.ops);
    a->transcendental = cfx_dim_value(cost.transcendental);
    for (int i = 0; i < CFX_ACTIVATION_SCALARS; i++)
        a->params[i] = loop.params[i];
    return CFX_OK;
}

/* Read the operator's rules, by a call on a float32 tensor of one element. */
static cfx_status describe_call(const cfx_call *outer, const cfx_target *t,
                                cfx_value *in, cfx_fused_activation *out)
{
    cfx_call call = {.ctx = outer->ctx,
                     .err = outer->err,
                     .op = t->op,
                     .schema = t->schema,
                     .in = in};
    cfx_tensor *one;
    cfx_value result;
    cfx_status st = cfx_tensor_meta(&one, outer->ctx, CFX_F32, 0, NULL, NULL,
                                    outer->err);
    if (st)
        return st;
    in[0] = cfx_value_of_tensor(one);
    st = cfx_call__visit_outs(&call, describe, out, &result);
    cfx_value_unref(result);
    cfx_tensor_unref(one);
    return st;
}

cfx_status cfx_infer_activation(const cfx_call *call, int activation,
                                int scalars, int algorithm,
                                cfx_fused_activation *out)
{
    const char *name = cfx_call_str(call, activation);
    cfx_value how = cfx_call_value(call, algorithm), in[CFX_MAX_PARAMS];
    int given = cfx_call_len(call, scalars), used = 0;
    bool told = !cfx_value_is_none(how);

    *out = (cfx_fused_activation){0};
    if (!name)
        return given || told
                   ? cfx_call_fail(
                         call, CFX_EINVAL,
                         "'scalars' and 'algorithm' are those of 'activation', which is None")
                   : CFX_OK;
    const cfx_target *t = cfx_find_activation(call->ctx, name);
    for (int k = 1; t && k < t->schema->nparams; k++) {
        const cfx_param *p = &t->schema->params[k];
        in[k] = p->init;
        if (p->base == CFX_T_STR && told) {
            in[k] = how;
            told = false;
        }
        if (p->base != CFX_T_STR && used++ < given)
            in[k] = cfx_call_item(call, scalars, used - 1);
    }
    if (!t)
        return cfx_call_fail(call, CFX_EINVAL,
                             "'%s' cannot be fused as an activation", name);
    if (told)
        return cfx_call_fail(call, CFX_EINVAL, "%s has no algorithms", name);
    if (given > used)
        return cfx_call_fail(call, CFX_EINVAL,
                             "%s has %d numbers, 'scalars' has %d", name, used,
                             given);
    out->op = t->op;
    return describe_call(call, t, in, out);
}
