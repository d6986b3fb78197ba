/*
 * linear -- y = x w^T + b over the last axis.
 *
 * shape   x (..., in), weight (out, in) or (in), bias (out) or
 *         without axes: (..., out).
 * cost    in * out multiply-adds for each row, and an addition for the bias.
 */
#include "kernel/gemm/gemm.h"
#include "op/composite.h"
#include "op/infer.h"
#include "op/loop.h"

CFX_PARAMS(params, INPUT, WEIGHT, BIAS);

static cfx_status check(cfx_call *call, const cfx_tensor *x,
                        const cfx_tensor *w, const cfx_tensor *b)
{
    char s[128], t[128];
    if (!x->rank || w->rank < 1 || w->rank > 2)
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "input has rank %d and weight rank %d; at least 1 and 1 or 2 are needed",
            x->rank, w->rank);
    if (x->dtype != w->dtype || (b && b->dtype != x->dtype))
        return cfx_call_fail(
            call, CFX_EDTYPE,
            "expected input and weight to have the same dtype, but got %s and %s",
            cfx_dtypes[x->dtype].name,
            cfx_dtypes[b && b->dtype != x->dtype ? b->dtype : w->dtype].name);
    if (!cfx_dim_eq(call->env, x->shape[x->rank - 1], w->shape[w->rank - 1])) {
        cfx_tensor_format_type(x, s, sizeof(s));
        cfx_tensor_format_type(w, t, sizeof(t));
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "mat1 and mat2 shapes cannot be multiplied (%s and %s transposed)",
            s, t);
    }
    if (b && w->rank == 1)
        return cfx_call_fail(call, CFX_ESHAPE,
                             "a weight of one axis takes no bias");
    if (b && (b->rank > 1 ||
              (b->rank && !cfx_dim_eq(call->env, b->shape[0], w->shape[0]))))
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "the bias does not have one element for each output feature");
    return CFX_OK;
}

static cfx_status linear_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, INPUT);
    const cfx_tensor *w = cfx_call_tensor(call, WEIGHT);
    cfx_dim shape[CFX_MAX_RANK];
    cfx_status st = check(call, x, w, cfx_call_tensor(call, BIAS));
    if (st)
        return st;
    for (int i = 0; i < x->rank - 1; i++)
        shape[i] = x->shape[i];
    if (w->rank == 2)
        shape[x->rank - 1] = w->shape[0];
    return cfx_call_out(call, (cfx_dtype)x->dtype, x->rank - 2 + w->rank,
                        shape);
}

static void linear_cost(const cfx_call *call, cfx_cost *cost)
{
    const cfx_tensor *w = cfx_call_tensor(call, WEIGHT);
    cfx_dim n = cfx_cost_numel(call, call->out[0]);
    cost->macs = cfx_dim_mul(call->env, n, w->shape[w->rank - 1]);
    if (cfx_call_has(call, BIAS))
        cost->ops = n;
}

static cfx_gemm product(const cfx_call *call, const void *x, const void *w,
                        const void *b)
{
    const cfx_tensor *weight = cfx_call_tensor(call, WEIGHT);
    int64_t k = cfx_tensor_size(weight, weight->rank - 1);
    int64_t n = weight->rank == 2 ? cfx_tensor_size(weight, 0) : 1;
    const cfx_tensor *y = call->out[0];
    int64_t m = n ? cfx_tensor_numel(y) / n : 0;
    cfx_gemm g = cfx_gemm_linear((cfx_dtype)y->dtype, m, n, k, x, w, b,
                                 y->data);
    g.b_row = cfx_tensor_stride(weight, weight->rank - 1);
    if (weight->rank == 2)
        g.b_col = cfx_tensor_stride(weight, 0);
    return g;
}

static size_t linear_workspace(const cfx_call *call)
{
    cfx_gemm g = product(call, NULL, NULL, NULL);
    return cfx_gemm_workspace(call->ctx, &g);
}

/* Without gaps, one element for each output feature; NULL: no memory. */
static cfx_tensor *whole_bias(cfx_call *call, const cfx_tensor *b)
{
    const cfx_dim n = cfx_call_tensor(call, WEIGHT)->shape[0];
    const cfx_dim stride = cfx_dim_int(0);
    cfx_tensor *wide;
    if (b->rank)
        return cfx_loop_contiguous(call, b);
    if (cfx_tensor_view(&wide, b, 1, &n, &stride, b->offset, call->err))
        return NULL;
    cfx_tensor *bias = cfx_loop_contiguous(call, wide);
    cfx_tensor_unref(wide);
    return bias;
}

static cfx_status linear_run(cfx_call *call)
{
    const cfx_tensor *w = cfx_call_tensor(call, WEIGHT);
    const cfx_tensor *b = cfx_call_tensor(call, BIAS);
    const cfx_tensor *x = cfx_call_tensor(call, INPUT);
    cfx_tensor *bias = NULL;
    if (b && !(bias = whole_bias(call, b)))
        return CFX_ENOMEM;
    cfx_gemm g = product(call, x->data, w->data, bias ? bias->data : NULL);
    cfx_gemm_run(call->ctx, &g, call->work);
    cfx_tensor_unref(bias);
    return CFX_OK;
}

/* ---- Complex numbers ---- */

static cfx_value complex_linear_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value w = cfx_call_value(call, WEIGHT);
    w = CFX_CALL(s, "torch.t", w);
    cfx_value y = CFX_CALL(s, "torch.matmul", cfx_call_value(call, INPUT), w);
    return cfx_call_has(call, BIAS)
               ? CFX_CALL(s, "torch.add", y, cfx_call_value(call, BIAS))
               : y;
}

CFX_COMPLEX_COMPOSITE(linear)

static size_t any_linear_workspace(const cfx_call *call)
{
    return cfx_call_is_complex(call) ? 0 : linear_workspace(call);
}

const cfx_op cfx_op__linear = {
    .schema =
        "linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",
    .params = params,
    .aliases = "torch.nn.functional. torch._C._nn.linear aten.",
    .doc = "input times the transposed weight, plus bias.",
    .infer = any_linear_infer,
    .cost = any_linear_cost,
    .flags = CFX_OP_COPIES_FIRST_TO_CONTIGUOUS | CFX_OP_COMPLEX,
    .workspace = any_linear_workspace,
    .run = any_linear_run,
};
