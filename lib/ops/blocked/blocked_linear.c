/*
 * blocked_linear -- products of matrices with packed weights.
 *
 * shape   input (..., K), weight as packed_weight.h has it for N = out_features, with
 *         its scale and zero point, bias (out_features), a tensor that is added as the
 *         result: (..., out_features).
 * cost    K multiply-adds for each element of the result; bias, 'add', each bound and
 *         the scale of each group an operation, the activation those of its
 *         operator. Zero points take an operation for each element of the input, and
 *         two for each group. Columns that fill up the last block do not count. With
 *         weights of bfloat16 the peak is that of bfloat16.
 */
#include "ops/blocked/blocked_post_ops.h"
#include "ops/blocked/blocked_packed_weight.h"

CFX_PARAMS(params, INPUT, WEIGHT, OUT_FEATURES, BIAS, POST_OPS, SCALE,
           ZERO_POINT);

static cfx_status check_weight(const cfx_call *call, const cfx_tensor *x,
                               const cfx_tensor *w, cfx_dim columns)
{
    cfx_status st = x->rank < 1 ? cfx_call_fail(call, CFX_ESHAPE,
                                                "expected an input (..., K)")
                                : cfx_packed_check(call, w, columns);
    if (!st && !cfx_dim_eq(call->env, x->shape[x->rank - 1],
                           cfx_packed_depth(call, w)))
        st = cfx_call_fail(call, CFX_ESHAPE,
                           "input and weight differ in their features");
    if (!st)
        st = cfx_packed_check_scale(call, w, cfx_call_tensor(call, SCALE));
    return st ? st
              : cfx_packed_check_zero(call, w, cfx_call_tensor(call, SCALE),
                                      cfx_call_tensor(call, ZERO_POINT));
}

static cfx_status linear_infer(cfx_call *call)
{
    cfx_post_ops *e = call->state;
    const cfx_tensor *x = cfx_call_tensor(call, INPUT);
    const cfx_tensor *w = cfx_call_tensor(call, WEIGHT);
    cfx_dim columns = cfx_value_dim(cfx_call_value(call, OUT_FEATURES));
    cfx_dim shape[CFX_MAX_RANK];
    cfx_status st = cfx_post_ops_read(call, BIAS, POST_OPS, CFX_POST_FLOATS,
                                      e);
    if (!st)
        st = cfx_post_ops_check_types(call, e, INPUT, WEIGHT,
                                      CFX_PACKED_TYPES);
    if (!st)
        st = check_weight(call, x, w, columns);
    if (st)
        return st;
    for (int i = 0; i < x->rank - 1; i++)
        shape[i] = x->shape[i];
    shape[x->rank - 1] = columns;
    st = cfx_post_ops_check_shapes(call, e, x->rank, shape);
    return st ? st : cfx_call_out(call, CFX_F32, x->rank, shape);
}

static void linear_cost(const cfx_call *call, cfx_cost *cost)
{
    cfx_dim y = cfx_cost_numel(call, call->out[0]);
    const cfx_tensor *w = cfx_call_tensor(call, WEIGHT);
    const cfx_tensor *scale = cfx_call_tensor(call, SCALE);
    cost->macs = cfx_dim_mul(call->env, y, cfx_packed_depth(call, w));
    cost->dtype = w->dtype == CFX_BF16 ? CFX_BF16 : CFX_F32;
    cfx_post_ops_cost(call, call->state, y, cost);
    if (!scale)
        return;
    bool zero = cfx_call_has(call, ZERO_POINT);
    cfx_dim groups = cfx_dim_mul(call->env, cfx_packed_groups(scale),
                                 cfx_dim_int(zero ? 3 : 1));
    cost->ops = cfx_dim_add(call->env, cost->ops,
                            cfx_dim_mul(call->env, y, groups));
    if (zero)
        cost->ops = cfx_dim_add(
            call->env, cost->ops,
            cfx_cost_numel(call, cfx_call_tensor(call, INPUT)));
}

static cfx_packed_product plan(const cfx_call *call)
{
    const cfx_tensor *w = cfx_call_tensor(call, WEIGHT), *y = call->out[0];
    int64_t columns = cfx_tensor_size(y, y->rank - 1);
    const cfx_tensor *scale = cfx_call_tensor(call, SCALE);
    return (cfx_packed_product){
        .rows = columns ? cfx_tensor_numel(y) / columns : 0,
        .columns = columns,
        .depth = cfx_dim_value(cfx_packed_depth(call, w)),
        .groups = cfx_dim_value(cfx_packed_groups(scale)),
        .type = cfx_packed_type(call, w),
        .has_zero = cfx_call_has(call, ZERO_POINT),
    };
}

static size_t linear_workspace(const cfx_call *call)
{
    const cfx_packed_product p = plan(call);
    return cfx_packed_workspace(&p);
}

static cfx_status linear_run(cfx_call *call)
{
    cfx_packed_product p = plan(call);
    p.x = cfx_call_tensor(call, INPUT)->data;
    p.w = cfx_call_tensor(call, WEIGHT)->data;
    p.end = cfx_post_ops_kernel(call, call->state);
    if (cfx_call_has(call, SCALE))
        p.end.scale = cfx_call_tensor(call, SCALE)->data;
    if (p.has_zero)
        p.end.zero = cfx_call_tensor(call, ZERO_POINT)->data;
    p.y = call->out[0]->data;
    cfx_packed_run(call->ctx, &p, call->work);
    return CFX_OK;
}

const cfx_op cfx_op__packed_linear = {
    .schema =
        "packed_linear(Tensor input, Tensor weight, SymInt out_features, Tensor? bias=None, any[] post_ops=[], Tensor? scale=None, Tensor? zero_point=None) -> Tensor",
    .params = params,
    .aliases =
        "torch.ops.cfx.packed_linear.default torch.ops.cfx.packed_linear",
    .doc =
        "input times a weight in blocks of 16 features, scaled, plus bias, and post-operations.",
    .state_size = sizeof(cfx_post_ops),
    .infer = linear_infer,
    .cost = linear_cost,
    .flags = CFX_OP_COPIES_TO_CONTIGUOUS,
    .workspace = linear_workspace,
    .run = linear_run,
};
