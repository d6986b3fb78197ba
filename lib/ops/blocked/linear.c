/*
 * linear -- products of matrices with packed weights.
 *
 * shape   input (..., K), weight (ceil(out_features / 16), K, 16), bias
 *         (out_features), add as the result: (..., out_features).
 * cost    K multiply-adds for each element of the result; bias, add, min and max
 *         an operation each, the activation those of its operator. Columns that
 *         fill up the last block do not count.
 */
#include "kernel/blocked/packed.h"
#include "op/op_impl.h"
#include "ops/blocked/epilogue.h"

CFX_PARAMS(params, INPUT, WEIGHT, OUT_FEATURES, BIAS, ADD, MIN, MAX,
           ACTIVATION, SCALARS, ALGORITHM);

static cfx_status check_weight(const cfx_call *call, const cfx_tensor *x,
                               const cfx_tensor *w, cfx_dim columns)
{
    cfx_shape_env *env = call->env;
    cfx_dim block = cfx_dim_int(CFX_BLOCK);
    char s[64], t[128];

    if (x->rank < 1 || w->rank != 3 || !cfx_dim_eq(env, w->shape[2], block))
        return cfx_call_fail(call, CFX_ESHAPE,
                             "expected an input (..., K) and a weight "
                             "(N / 16, K, 16), but got ranks %d and %d",
                             x->rank, w->rank);
    if (!cfx_dim_eq(env, x->shape[x->rank - 1], w->shape[1]))
        return cfx_call_fail(call, CFX_ESHAPE,
                             "input and weight differ in their features");
    cfx_dim up = cfx_dim_add(env, columns, cfx_dim_int(CFX_BLOCK - 1));
    if (!cfx_dim_le(env, cfx_dim_int(0), columns) ||
        !cfx_dim_eq(env, cfx_dim_floordiv(env, up, block), w->shape[0])) {
        cfx_dim_format(columns, s, sizeof(s));
        cfx_tensor_format_type(w, t, sizeof(t));
        return cfx_call_fail(call, CFX_ESHAPE,
                             "%s features do not fill the blocks of %s", s, t);
    }
    return CFX_OK;
}

static cfx_status check_added(const cfx_call *call, const cfx_tensor *bias,
                              const cfx_tensor *add, const cfx_dim *shape,
                              int rank)
{
    if (bias && (bias->rank != 1 ||
                 !cfx_dim_eq(call->env, bias->shape[0], shape[rank - 1])))
        return cfx_call_fail(call, CFX_ESHAPE,
                             "the bias does not have one element for each "
                             "output feature");
    bool same = !add || add->rank == rank;
    for (int i = 0; add && same && i < rank; i++)
        same = cfx_dim_eq(call->env, add->shape[i], shape[i]);
    return same ? CFX_OK
                : cfx_call_fail(call, CFX_ESHAPE,
                                "'add' has not the shape of the result");
}

static cfx_status linear_infer(cfx_call *call)
{
    cfx_epilogue *e = call->state;
    const cfx_tensor *x = cfx_call_tensor(call, INPUT);
    const cfx_tensor *w = cfx_call_tensor(call, WEIGHT);
    const cfx_tensor *bias = cfx_call_tensor(call, BIAS);
    const cfx_tensor *add = cfx_call_tensor(call, ADD);
    cfx_dim columns = cfx_value_dim(cfx_call_value(call, OUT_FEATURES));
    cfx_dim shape[CFX_MAX_RANK];
    *e = (cfx_epilogue){.bias = BIAS, .add = ADD, .min = MIN, .max = MAX};
    cfx_status st = cfx_epilogue_check_types(call, e, INPUT, WEIGHT);
    if (!st)
        st = check_weight(call, x, w, columns);
    if (st)
        return st;
    for (int i = 0; i < x->rank - 1; i++)
        shape[i] = x->shape[i];
    shape[x->rank - 1] = columns;
    st = cfx_infer_activation(call, ACTIVATION, SCALARS, ALGORITHM,
                              &e->activation);
    if (!st)
        st = check_added(call, bias, add, shape, x->rank);
    return st ? st : cfx_call_out(call, CFX_F32, x->rank, shape);
}

static void linear_cost(const cfx_call *call, cfx_cost *cost)
{
    cfx_dim y = cfx_cost_numel(call, call->out[0]);
    cost->macs = cfx_dim_mul(call->env, y,
                             cfx_call_tensor(call, WEIGHT)->shape[1]);
    cfx_epilogue_cost(call, call->state, cost);
}

static cfx_status linear_run(cfx_call *call)
{
    const cfx_tensor *w = cfx_call_tensor(call, WEIGHT), *y = call->out[0];
    int64_t columns = cfx_tensor_size(y, y->rank - 1);
    cfx_packed_product p = {.rows = columns ? cfx_tensor_numel(y) / columns
                                            : 0,
                            .columns = columns,
                            .depth = cfx_tensor_size(w, 1),
                            .x = cfx_call_tensor(call, INPUT)->data,
                            .w = w->data,
                            .end = cfx_epilogue_kernel(call, call->state),
                            .y = y->data};
    cfx_packed_run(call->ctx, &p);
    return CFX_OK;
}

const cfx_op cfx_op__packed_linear = {
    .schema = "packed_linear(Tensor input, Tensor weight, SymInt "
              "out_features, Tensor? bias=None, Tensor? add=None, Scalar? "
              "min=None, Scalar? max=None, str? activation=None, float[] "
              "scalars=[], str? algorithm=None) -> Tensor",
    .params = params,
    .aliases =
        "torch.ops.cfx.packed_linear.default torch.ops.cfx.packed_linear",
    .doc = "input times a weight in blocks of 16 features, plus bias and a "
           "tensor, clamped, with an activation.",
    .state_size = sizeof(cfx_epilogue),
    .infer = linear_infer,
    .cost = linear_cost,
    .flags = CFX_OP_COPIES_TO_CONTIGUOUS,
    .run = linear_run,
};
