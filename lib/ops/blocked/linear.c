/*
 * linear -- products of matrices with packed weights.
 *
 * shape   input (..., K), weight (ceil(out_features / 16), K, 16), or of bfloat16
 *         (ceil(out_features / 16), K / 2, 16, 2), or of int8
 *         (ceil(out_features / 16), K / 4, 16, 4), bias (out_features), add as the
 *         result: (..., out_features). Weights of int8 are multiplied by the scale
 *         of their column, (16 * ceil(out_features / 16)).
 * cost    K multiply-adds for each element of the result; bias, add, min, max and
 *         scale an operation each, the activation those of its operator. Columns
 *         that fill up the last block do not count. With weights of bfloat16 the
 *         peak is that of bfloat16.
 */
#include "kernel/blocked/packed.h"
#include "op/op_impl.h"
#include "ops/blocked/epilogue.h"

CFX_PARAMS(params, INPUT, WEIGHT, OUT_FEATURES, BIAS, ADD, MIN, MAX,
           ACTIVATION, SCALARS, ALGORITHM, SCALE);

/* The weights in 4 bytes. */
static int together(const cfx_tensor *w)
{
    return w->dtype == CFX_I8 ? 4 : w->dtype == CFX_BF16 ? 2 : 1;
}

/* The rows of the matrix that a weight holds. */
static cfx_dim depth_of(const cfx_call *call, const cfx_tensor *w)
{
    return cfx_dim_mul(call->env, w->shape[1], cfx_dim_int(together(w)));
}

static bool is_packed(const cfx_call *call, const cfx_tensor *w)
{
    int n = together(w);
    return w->rank == 3 + (n > 1) &&
           cfx_dim_eq(call->env, w->shape[2], cfx_dim_int(CFX_BLOCK)) &&
           (n == 1 || cfx_dim_eq(call->env, w->shape[3], cfx_dim_int(n)));
}

static cfx_status check_weight(const cfx_call *call, const cfx_tensor *x,
                               const cfx_tensor *w, cfx_dim columns)
{
    cfx_shape_env *env = call->env;
    char s[64], t[128];

    if (x->rank < 1 || !is_packed(call, w))
        return cfx_call_fail(call, CFX_ESHAPE,
                             "expected an input (..., K) and a weight "
                             "(N / 16, K, 16), or of bfloat16 (N / 16, K / 2, "
                             "16, 2), or of int8 (N / 16, K / 4, 16, 4), but "
                             "got ranks %d and %d",
                             x->rank, w->rank);
    if (!cfx_dim_eq(env, x->shape[x->rank - 1], depth_of(call, w)))
        return cfx_call_fail(call, CFX_ESHAPE,
                             "input and weight differ in their features");
    cfx_dim up = cfx_dim_add(env, columns, cfx_dim_int(CFX_BLOCK - 1));
    cfx_dim blocks = cfx_dim_floordiv(env, up, cfx_dim_int(CFX_BLOCK));
    if (!cfx_dim_le(env, cfx_dim_int(0), columns) ||
        !cfx_dim_eq(env, blocks, w->shape[0])) {
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

/* Weights of int8 have scales, others none. */
static cfx_status check_scale(const cfx_call *call, const cfx_tensor *w)
{
    const cfx_tensor *scale = cfx_call_tensor(call, SCALE);
    cfx_dim columns = cfx_dim_mul(call->env, w->shape[0],
                                  cfx_dim_int(CFX_BLOCK));
    if ((w->dtype == CFX_I8) != (scale != NULL))
        return cfx_call_fail(call, CFX_EINVAL, "weights of %s take %s scale",
                             cfx_dtypes[w->dtype].name, scale ? "no" : "a");
    if (scale && scale->dtype != CFX_F32)
        return cfx_call_fail(call, CFX_EDTYPE,
                             "expected a scale of float32, got %s",
                             cfx_dtypes[scale->dtype].name);
    return !scale || (scale->rank == 1 &&
                      cfx_dim_eq(call->env, scale->shape[0], columns))
               ? CFX_OK
               : cfx_call_fail(call, CFX_ESHAPE,
                               "the scale does not have one element for each "
                               "column of the weight's blocks");
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
    cfx_status st = cfx_epilogue_check_types(call, e, INPUT, WEIGHT,
                                             1u << CFX_BF16 | 1u << CFX_I8);
    if (!st)
        st = check_weight(call, x, w, columns);
    if (!st)
        st = check_scale(call, w);
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
    const cfx_tensor *w = cfx_call_tensor(call, WEIGHT);
    cost->macs = cfx_dim_mul(call->env, y, depth_of(call, w));
    cost->dtype = w->dtype == CFX_I8 ? CFX_F32 : (cfx_dtype)w->dtype;
    cfx_epilogue_cost(call, call->state, cost);
    if (cfx_call_has(call, SCALE))
        cost->ops = cfx_dim_add(call->env, cost->ops, y);
}

static cfx_packed_product plan(const cfx_call *call)
{
    const cfx_tensor *w = cfx_call_tensor(call, WEIGHT), *y = call->out[0];
    int64_t columns = cfx_tensor_size(y, y->rank - 1);
    return (cfx_packed_product){
        .rows = columns ? cfx_tensor_numel(y) / columns : 0,
        .columns = columns,
        .depth = cfx_tensor_size(w, 1) * together(w),
        .numbers = w->dtype == CFX_I8     ? CFX_BLOCKED_INT8
                   : w->dtype == CFX_BF16 ? cfx_blocked_bfloat16(call->ctx)
                                          : CFX_BLOCKED_FLOAT,
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
    p.end = cfx_epilogue_kernel(call, call->state);
    if (cfx_call_has(call, SCALE))
        p.end.scale = cfx_call_tensor(call, SCALE)->data;
    p.y = call->out[0]->data;
    cfx_packed_run(call->ctx, &p, call->work);
    return CFX_OK;
}

const cfx_op cfx_op__packed_linear = {
    .schema = "packed_linear(Tensor input, Tensor weight, SymInt "
              "out_features, Tensor? bias=None, Tensor? add=None, Scalar? "
              "min=None, Scalar? max=None, str? activation=None, float[] "
              "scalars=[], str? algorithm=None, Tensor? scale=None) -> "
              "Tensor",
    .params = params,
    .aliases =
        "torch.ops.cfx.packed_linear.default torch.ops.cfx.packed_linear",
    .doc = "input times a weight in blocks of 16 features, scaled, plus bias "
           "and a tensor, clamped, with an activation.",
    .state_size = sizeof(cfx_epilogue),
    .infer = linear_infer,
    .cost = linear_cost,
    .flags = CFX_OP_COPIES_TO_CONTIGUOUS,
    .workspace = linear_workspace,
    .run = linear_run,
};
