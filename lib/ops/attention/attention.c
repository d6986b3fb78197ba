/*
 * attention -- softmax(q k^T * scale + mask) v.
 *
 * shape   query (..., L, E), key (..., S, E), value (..., S, Ev): (..., L, Ev);
 *         the leading axes broadcast. With enable_gqa each head of key and
 *         value serves several of query.
 * cost    L * S * (E + Ev) multiply-adds for each batch and head; a weight is
 *         scaled, its mask added where that is no bool, and softmax.
 *
 * quantized_scaled_dot_product_attention takes uint8, which stand for numbers; its
 * result is float32. `scale` has the scales of query and key in it. The zero point of
 * key makes no difference: it adds the same to all scores of a row.
 */
#include <math.h>

#include "kernel/attention_kernel.h"
#include "kernel/blocked/quantized.h"
#include "op/op_cost.h"
#include "op/infer.h"
#include "op/loop.h"

CFX_PARAMS(params, QUERY, KEY, VALUE, ATTN_MASK, DROPOUT_P, IS_CAUSAL, SCALE,
           ENABLE_GQA, QUERY_ZERO_POINT, VALUE_SCALE, VALUE_ZERO_POINT);

/* Are query, key and value uint8? */
static bool takes_bytes(const cfx_call *call)
{
    return cfx_call_has(call, VALUE_SCALE);
}

static bool is_zero_point(const cfx_call *call, int param)
{
    int64_t z = cfx_call_int(call, param);
    return z >= 0 && z <= UINT8_MAX;
}

static cfx_status check_bytes(cfx_call *call, const cfx_tensor *const in[3])
{
    cfx_dim e = in[0]->shape[in[0]->rank - 1];
    for (int i = 0; i < 3; i++)
        if (in[i]->dtype != CFX_U8)
            return cfx_call_fail(call, CFX_EDTYPE, "expected uint8, got %s",
                                 cfx_dtypes[in[i]->dtype].name);
    if (!is_zero_point(call, QUERY_ZERO_POINT) ||
        !is_zero_point(call, VALUE_ZERO_POINT))
        return cfx_call_fail(call, CFX_EINVAL,
                             "a zero point of uint8 is in 0..255");
    if (!cfx_dim_eq(call->env,
                    cfx_dim_mod(call->env, e, cfx_dim_int(CFX_QUAD)),
                    cfx_dim_int(0)) ||
        !cfx_dim_le(call->env, e, cfx_dim_int(CFX_QUANTIZED_DEPTH)))
        return cfx_call_fail(
            call, CFX_EUNSUPPORTED,
            "the last axis of query is not a multiple of %d up to %d",
            CFX_QUAD, CFX_QUANTIZED_DEPTH);
    return CFX_OK;
}

static cfx_status check_floats(cfx_call *call, const cfx_tensor *const in[3])
{
    const cfx_tensor *q = in[0], *k = in[1], *v = in[2];
    if (q->dtype != k->dtype || q->dtype != v->dtype ||
        !cfx_dtype_is_float((cfx_dtype)q->dtype))
        return cfx_call_fail(
            call, CFX_EDTYPE,
            "query, key and value must be of one float type, but are %s, %s and %s",
            cfx_dtypes[q->dtype].name, cfx_dtypes[k->dtype].name,
            cfx_dtypes[v->dtype].name);
    if (cfx_call_double(call, DROPOUT_P) != 0)
        return cfx_call_fail(call, CFX_EUNSUPPORTED,
                             "dropout_p other than 0 is not supported");
    return CFX_OK;
}

static cfx_dtype result_type(const cfx_call *call)
{
    return takes_bytes(call) ? CFX_F32
                             : (cfx_dtype)cfx_call_tensor(call, QUERY)->dtype;
}

static cfx_status check(cfx_call *call, const cfx_tensor *q,
                        const cfx_tensor *k, const cfx_tensor *v)
{
    const cfx_tensor *mask = cfx_call_tensor(call, ATTN_MASK);
    const cfx_tensor *const in[] = {q, k, v};
    bool same = k->rank == q->rank && v->rank == q->rank;
    if (q->rank < 2 || k->rank < 2 || v->rank < 2 ||
        (!same && cfx_call_bool(call, ENABLE_GQA)))
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "query, key and value must have a rank of at least 2, the same one for enable_gqa, but they have %d, %d and %d",
            q->rank, k->rank, v->rank);
    if (q->rank > 4 || k->rank > 4 || v->rank > 4)
        return cfx_call_fail(call, CFX_EUNSUPPORTED,
                             "more than 4 axes are not supported");
    cfx_status st = takes_bytes(call) ? check_bytes(call, in)
                                      : check_floats(call, in);
    if (st)
        return st;
    if (!cfx_dim_eq(call->env, q->shape[q->rank - 1], k->shape[k->rank - 1]) ||
        !cfx_dim_eq(call->env, k->shape[k->rank - 2], v->shape[v->rank - 2]))
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "the last axes of query and key, or the rows of key and value, differ");
    if (mask && cfx_call_bool(call, IS_CAUSAL))
        return cfx_call_fail(
            call, CFX_EINVAL,
            "Explicit attn_mask should not be set when is_causal=True");
    if (mask && mask->dtype != CFX_BOOL && mask->dtype != result_type(call))
        return cfx_call_fail(
            call, CFX_EDTYPE,
            "Expected attn_mask dtype to be bool or to match %s, but got %s",
            takes_bytes(call) ? "the result" : "query dtype",
            cfx_dtypes[mask->dtype].name);
    return CFX_OK;
}

/* The heads of key must divide those of query. */
static cfx_status check_groups(cfx_call *call, const cfx_tensor *q,
                               const cfx_tensor *k)
{
    int at = q->rank - 3;
    if (at < 0 ||
        !cfx_dim_eq(call->env,
                    cfx_dim_mod(call->env, q->shape[at], k->shape[at]),
                    cfx_dim_int(0)))
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "the heads of key and value must divide the heads of query");
    return CFX_OK;
}

static bool fits_batch(const cfx_call *call, cfx_dim q, cfx_dim other)
{
    return cfx_dim_is(other, 1) || cfx_dim_eq(call->env, q, other);
}

/* PyTorch's fused kernel makes a result like the query. */
static bool is_flash(const cfx_call *call, const cfx_tensor *q,
                     const cfx_tensor *k, const cfx_tensor *v)
{
    const cfx_tensor *each[] = {q, k, v};
    cfx_shape_env *env = call->env;
    bool gqa = cfx_call_bool(call, ENABLE_GQA);
    for (int i = 0; i < 3; i++) {
        const cfx_dim *shape = each[i]->shape;
        if (each[i]->rank != 4 || !cfx_dim_is(each[i]->stride[3], 1) ||
            !cfx_dim_eq(env, shape[0], q->shape[0]) ||
            (!gqa && !cfx_dim_eq(env, shape[1], q->shape[1])))
            return false;
    }
    return true;
}

static cfx_status out_flash(cfx_call *call, const cfx_tensor *q,
                            const cfx_tensor *v, const cfx_dim *shape)
{
    cfx_dtype type = result_type(call);
    cfx_dim e = q->shape[3], ev = v->shape[3];
    if (cfx_dim_known_eq(call->env, e, ev))
        return cfx_infer_like(call, q, type);
    if (cfx_tensor_is_contiguous(q) ||
        (cfx_dim_is_int(e) && cfx_dim_is_int(ev)))
        return cfx_call_out(call, type, 4, shape);
    return cfx_call_fail(
        call, CFX_EUNSUPPORTED,
        "the memory format depends on whether the last axes of query and value agree, give them one symbol or numbers");
}

static cfx_status attention_infer(cfx_call *call)
{
    const cfx_tensor *q = cfx_call_tensor(call, QUERY);
    const cfx_tensor *k = cfx_call_tensor(call, KEY);
    const cfx_tensor *v = cfx_call_tensor(call, VALUE);
    const cfx_tensor *mask = cfx_call_tensor(call, ATTN_MASK);
    cfx_dim shape[CFX_MAX_RANK], full[CFX_MAX_RANK];
    bool gqa = cfx_call_bool(call, ENABLE_GQA);
    cfx_status st = check(call, q, k, v);
    if (!st && gqa)
        st = check_groups(call, q, k);
    for (int i = 0; !st && gqa && i < q->rank - 3; i++)
        if (!fits_batch(call, q->shape[i], k->shape[i]) ||
            !fits_batch(call, q->shape[i], v->shape[i]))
            st = cfx_call_fail(call, CFX_ESHAPE,
                               "the batches of query, key and value differ");
    if (st)
        return st;
    int rank = q->rank - 2;
    for (int i = 0; i < rank; i++)
        shape[i] = q->shape[i];
    if (!gqa) {
        st = cfx_infer_broadcast(call, &rank, shape, k->rank - 2, k->shape);
        if (!st)
            st = cfx_infer_broadcast(call, &rank, shape, v->rank - 2,
                                     v->shape);
    }
    if (st)
        return st;
    shape[rank] = q->shape[q->rank - 2];
    for (int i = 0; i <= rank; i++)
        full[i] = shape[i];
    full[rank + 1] = k->shape[k->rank - 2];
    int n = rank + 2;
    if (mask)
        st = cfx_infer_broadcast(call, &n, full, mask->rank, mask->shape);
    shape[rank + 1] = v->shape[v->rank - 1];
    if (!st && is_flash(call, q, k, v))
        return out_flash(call, q, v, shape);
    return st ? st : cfx_call_out(call, result_type(call), rank + 2, shape);
}

static void attention_cost(const cfx_call *call, cfx_cost *cost)
{
    const cfx_tensor *q = cfx_call_tensor(call, QUERY);
    const cfx_tensor *v = cfx_call_tensor(call, VALUE);
    const cfx_tensor *mask = cfx_call_tensor(call, ATTN_MASK);
    const cfx_tensor *y = call->out[0];
    cfx_dim rows = cfx_infer_numel(call->env, y->rank - 1, y->shape);
    cfx_dim weights = cfx_dim_mul(call->env, rows, v->shape[v->rank - 2]);
    cost->macs = cfx_dim_mul(
        call->env, weights,
        cfx_dim_add(call->env, q->shape[q->rank - 1], v->shape[v->rank - 1]));
    bool sum = mask && mask->dtype != CFX_BOOL;
    cost->ops = cfx_cost_linear(call, 5 + sum, weights, -1, rows);
    cost->transcendental = cfx_dim_mul(call->env, weights, cfx_dim_int(2));
    if (takes_bytes(call))
        cost->dtype = CFX_I8;
}

/* ---- Running ---- */

/* Strides of batch, heads and rows; 0 where an axis is missing or spread. */
static void strides_of(const cfx_tensor *t, int64_t *stride)
{
    for (int i = 0; i < 3; i++) {
        int at = t->rank - 4 + i;
        stride[i] = at < 0 || cfx_tensor_size(t, at) == 1
                        ? 0
                        : cfx_tensor_stride(t, at);
    }
}

static int64_t extent(const cfx_tensor *t, int from_end)
{
    return t->rank < from_end ? 1 : cfx_tensor_size(t, t->rank - from_end);
}

static void plan(const cfx_call *call, cfx_tensor *const in[3],
                 cfx_attention *a)
{
    const cfx_tensor *y = call->out[0], *q = in[0], *k = in[1], *v = in[2];
    const cfx_tensor *mask = cfx_call_tensor(call, ATTN_MASK);
    *a = (cfx_attention){
        .dtype = (cfx_dtype)y->dtype,
        .batch = extent(y, 4),
        .heads = extent(y, 3),
        .l = extent(y, 2),
        .s = extent(k, 2),
        .e = extent(q, 1),
        .ev = extent(v, 1),
        .q = q->data,
        .k = k->data,
        .v = v->data,
        .y = y->data,
        .causal = cfx_call_bool(call, IS_CAUSAL),
    };
    a->scale = cfx_call_has(call, SCALE) ? cfx_call_double(call, SCALE)
                                         : 1 / sqrt((double)a->e);
    strides_of(q, a->q_stride);
    strides_of(k, a->k_stride);
    strides_of(v, a->v_stride);
    strides_of(y, a->y_stride);
    if (takes_bytes(call)) {
        a->bytes = true;
        a->q_zero = (int)cfx_call_int(call, QUERY_ZERO_POINT);
        a->v_zero = (int)cfx_call_int(call, VALUE_ZERO_POINT);
        a->v_scale = (float)cfx_call_double(call, VALUE_SCALE);
    }
    if (cfx_call_bool(call, ENABLE_GQA)) {
        int64_t heads = extent(k, 3);
        a->kv_group = heads ? a->heads / heads : 0;
    }
    if (!mask)
        return;
    a->mask = mask->data;
    a->has_mask = true;
    a->mask_bool = mask->dtype == CFX_BOOL;
    strides_of(mask, a->mask_stride);
    a->mask_stride[3] = extent(mask, 1) == 1
                            ? 0
                            : cfx_tensor_stride(mask, mask->rank - 1);
}

/* Do rows of bytes begin where numbers of four bytes may? */
static bool has_fours(const cfx_tensor *t)
{
    bool all = (uintptr_t)t->data % CFX_QUAD == 0;
    for (int i = 0; i < t->rank - 1; i++)
        all = all && cfx_tensor_stride(t, i) % CFX_QUAD == 0;
    return all;
}

/* The kernel wants the last axis of query, key and value to lie side by side, and reads
 * keys of bytes by fours. */
static bool is_ready(const cfx_tensor *t, int param)
{
    return (cfx_tensor_stride(t, t->rank - 1) == 1 || extent(t, 1) == 1) &&
           (param != KEY || t->dtype != CFX_U8 || has_fours(t));
}

/* The argument, or a copy as the kernel wants it; NULL: no memory. */
static cfx_tensor *make_ready(cfx_call *call, int param)
{
    cfx_tensor *t = cfx_call_tensor(call, param), *copy;
    if (is_ready(t, param))
        return cfx_tensor_ref(t);
    if (cfx_loop_like(call, t, &copy))
        return NULL;
    if (!cfx_tensor_copy(copy, t, call->err))
        return copy;
    cfx_tensor_unref(copy);
    return NULL;
}

/* The strides that a row-major copy of t would have. */
static void copied_strides(const cfx_tensor *t, int64_t *stride)
{
    int64_t step = extent(t, 1);
    for (int i = 2; i >= 0; i--) {
        int at = t->rank - 4 + i;
        stride[i] = at < 0 || cfx_tensor_size(t, at) == 1 ? 0 : step;
        if (at >= 0 && cfx_tensor_size(t, at))
            step *= cfx_tensor_size(t, at);
    }
}

static size_t attention_workspace(const cfx_call *call)
{
    cfx_tensor *in[3];
    cfx_attention a;
    for (int i = 0; i < 3; i++)
        in[i] = cfx_call_tensor(call, i);
    plan(call, in, &a);
    int64_t *const stride[] = {a.q_stride, a.k_stride, a.v_stride};
    for (int i = 0; i < 3; i++)
        if (!is_ready(in[i], i))
            copied_strides(in[i], stride[i]);
    return cfx_attention_workspace(call->ctx, &a);
}

static cfx_status attention_run(cfx_call *call)
{
    cfx_tensor *in[3] = {NULL};
    cfx_status st = CFX_OK;
    for (int i = 0; i < 3 && !st; i++) {
        in[i] = make_ready(call, i);
        if (!in[i])
            st = CFX_ENOMEM;
    }
    if (!st) {
        cfx_attention a;
        plan(call, in, &a);
        cfx_attention_run(call->ctx, &a, call->work);
    }
    for (int i = 0; i < 3; i++)
        cfx_tensor_unref(in[i]);
    return st;
}

const cfx_op cfx_op__scaled_dot_product_attention = {
    .schema =
        "scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0.0, bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor",
    .params = params,
    .aliases = "torch.nn.functional. aten.",
    .doc = "Attention of query over key and value.",
    .infer = attention_infer,
    .cost = attention_cost,
    .workspace = attention_workspace,
    .run = attention_run,
};

const cfx_op cfx_op__quantized_scaled_dot_product_attention = {
    .schema =
        "quantized_scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, bool is_causal=False, *, float scale, int query_zero_point, float value_scale, int value_zero_point, bool enable_gqa=False) -> Tensor",
    .params = params,
    .aliases =
        "torch.ops.cfx.quantized_scaled_dot_product_attention.default torch.ops.cfx.quantized_scaled_dot_product_attention",
    .doc =
        "Attention of query over key and value of uint8, less a zero point each.",
    .infer = attention_infer,
    .cost = attention_cost,
    .workspace = attention_workspace,
    .run = attention_run,
};
