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
    for (int i = 0; i < CFX_ACTIVATION_ARGS; i++)
        a->params[i] = loop.params[i];
    return CFX_OK;
}

/* Read the operator's rules, by a call with the arguments `in`. */
static cfx_status describe_call(const cfx_call *outer, const cfx_target *t,
                                const cfx_value *in, cfx_fused_activation *out)
{
    cfx_call call = {.ctx = outer->ctx,
                     .err = outer->err,
                     .op = t->op,
                     .schema = t->schema,
                     .in = in};
    cfx_value result;
    out->op = t->op;
    cfx_status st = cfx_call__visit_outs(&call, describe, out, &result);
    cfx_value_unref(result);
    return st;
}

cfx_status cfx_infer_activation(const cfx_call *call, const char *name,
                                const cfx_value *args, int n,
                                cfx_fused_activation *out)
{
    const cfx_target *t = cfx_find_activation(call->ctx, name);
    cfx_value given[1 + CFX_ACTIVATION_ARGS], in[CFX_MAX_PARAMS];
    cfx_tensor *one;
    if (!t)
        return cfx_call_fail(call, CFX_EINVAL,
                             "'%s' cannot be fused as an activation", name);
    cfx_status st = cfx_tensor_meta(&one, call->ctx, CFX_F32, 0, NULL, NULL,
                                    call->err);
    if (st)
        return st;
    given[0] = cfx_value_of_tensor(one);
    for (int i = 0; i < n && i < CFX_ACTIVATION_ARGS; i++)
        given[1 + i] = args[i];
    st = n <= CFX_ACTIVATION_ARGS &&
                 cfx_bind__ordered(t, given, 1 + (size_t)n, in)
             ? describe_call(call, t, in, out)
             : cfx_call_fail(call, CFX_EINVAL,
                             "the arguments of '%s' do not match %s", name,
                             t->schema->text);
    cfx_tensor_unref(one);
    return st;
}
