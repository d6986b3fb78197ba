/*
 * blocked_table -- rows of a packed weight of integers, as an embedding reads them.
 *
 * shape   weight, scale and zero point as packed_weight.h has them for N =
 *         num_embeddings, of integers; indices (...), of int32 or int64: (..., K) of
 *         float32.
 * cost    a product for each element of the result, and a difference with zero points.
 *         Reads the rows taken.
 */
#include "op/op_cost.h"
#include "ops/blocked/blocked_packed_weight.h"

CFX_PARAMS(params, WEIGHT, INDICES, NUM_EMBEDDINGS, SCALE, ZERO_POINT);

static cfx_status check_indices(const cfx_call *call, const cfx_tensor *index)
{
    if (index->dtype != CFX_I64 && index->dtype != CFX_I32)
        return cfx_call_fail(call, CFX_EDTYPE,
                             "expected indices of int32 or int64, got %s",
                             cfx_dtypes[index->dtype].name);
    return index->rank < CFX_MAX_RANK
               ? CFX_OK
               : cfx_call_fail(call, CFX_ESHAPE, "rank %d is more than %d",
                               index->rank + 1, CFX_MAX_RANK);
}

static cfx_status packed_embedding_infer(cfx_call *call)
{
    const cfx_tensor *w = cfx_call_tensor(call, WEIGHT);
    const cfx_tensor *index = cfx_call_tensor(call, INDICES);
    cfx_dim shape[CFX_MAX_RANK];
    cfx_status st = check_indices(call, index);
    if (!st && w->dtype != CFX_I8 && w->dtype != CFX_U8)
        st = cfx_call_fail(call, CFX_EDTYPE,
                           "expected a weight of int8 or uint8, got %s",
                           cfx_dtypes[w->dtype].name);
    if (!st)
        st = cfx_packed_check(
            call, w, cfx_value_dim(cfx_call_value(call, NUM_EMBEDDINGS)));
    if (!st)
        st = cfx_packed_check_scale(call, w, cfx_call_tensor(call, SCALE));
    if (!st)
        st = cfx_packed_check_zero(call, w, cfx_call_tensor(call, SCALE),
                                   cfx_call_tensor(call, ZERO_POINT));
    if (st)
        return st;
    for (int i = 0; i < index->rank; i++)
        shape[i] = index->shape[i];
    shape[index->rank] = cfx_packed_depth(call, w);
    return cfx_call_out(call, CFX_F32, index->rank + 1, shape);
}

/* The bytes of n elements of a tensor. */
static cfx_dim bytes_of(const cfx_call *call, const cfx_tensor *t, cfx_dim n)
{
    return cfx_dim_mul(
        call->env, n,
        cfx_dim_int((int64_t)cfx_dtype_size((cfx_dtype)t->dtype)));
}

static void packed_embedding_cost(const cfx_call *call, cfx_cost *cost)
{
    cfx_shape_env *env = call->env;
    const cfx_tensor *w = cfx_call_tensor(call, WEIGHT);
    const cfx_tensor *scale = cfx_call_tensor(call, SCALE);
    const cfx_tensor *zero = cfx_call_tensor(call, ZERO_POINT);
    const cfx_tensor *index = cfx_call_tensor(call, INDICES);
    cfx_dim rows = cfx_cost_numel(call, index);
    cfx_dim words = cfx_dim_mul(env, w->shape[1], w->shape[3]);
    cost->ops = cfx_cost_numel(call, call->out[0]);
    cost->bytes_written = bytes_of(call, call->out[0], cost->ops);
    cost->bytes_read = cfx_dim_add(
        env, bytes_of(call, index, rows),
        cfx_dim_mul(
            env, rows,
            cfx_dim_add(env, bytes_of(call, w, words),
                        bytes_of(call, scale, cfx_packed_groups(scale)))));
    if (!zero)
        return;
    words = cfx_dim_mul(env, zero->shape[1], zero->shape[3]);
    cost->ops = cfx_dim_mul(env, cost->ops, cfx_dim_int(2));
    cost->bytes_read = cfx_dim_add(
        env, cost->bytes_read,
        bytes_of(call, zero, cfx_dim_mul(env, rows, words)));
}

static cfx_status packed_embedding_run(cfx_call *call)
{
    const cfx_tensor *w = cfx_call_tensor(call, WEIGHT);
    const cfx_tensor *scale = cfx_call_tensor(call, SCALE);
    const cfx_tensor *zero = cfx_call_tensor(call, ZERO_POINT);
    const cfx_tensor *index = cfx_call_tensor(call, INDICES);
    const cfx_packed_table t = {
        .rows = cfx_call_int(call, NUM_EMBEDDINGS),
        .depth = cfx_dim_value(cfx_packed_depth(call, w)),
        .groups = cfx_dim_value(cfx_packed_groups(scale)),
        .type = cfx_packed_type(call, w),
        .w = w->data,
        .scale = scale->data,
        .zero = zero ? zero->data : NULL,
    };
    int64_t bad = 0;
    return cfx_packed_rows(call->ctx, &t, call->out[0]->data,
                           (cfx_dtype)index->dtype, index->data,
                           cfx_tensor_numel(index), &bad)
               ? CFX_OK
               : cfx_call_fail(call, CFX_EINVAL,
                               "index out of range: %lld of %lld rows",
                               (long long)bad, (long long)t.rows);
}

const cfx_op cfx_op__packed_embedding = {
    .schema =
        "packed_embedding(Tensor weight, Tensor indices, SymInt num_embeddings, Tensor scale, Tensor? zero_point=None) -> Tensor",
    .params = params,
    .aliases =
        "torch.ops.cfx.packed_embedding.default torch.ops.cfx.packed_embedding",
    .doc = "Rows of a table of integers in blocks of 16 rows, scaled.",
    .infer = packed_embedding_infer,
    .cost = packed_embedding_cost,
    .flags = CFX_OP_COPIES_TO_CONTIGUOUS,
    .run = packed_embedding_run,
};
