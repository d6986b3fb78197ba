/*
 * flash -- attention as PyTorch's decompositions spell it: with the logarithms
 * of the sums that normalize the weights.
 *
 * shape   that of the query, with the value's last axis; (N, heads, L).
 * cost    that of the operators they consist of.
 */
#include <math.h>

#include "op/composite.h"
#include "op/infer.h"

CFX_PARAMS(params, QUERY, KEY, VALUE, DROPOUT_P, IS_CAUSAL, ATTN_MASK, SCALE);

#define IN(k) cfx_call_value(call, k)
#define TORCH(name, ...) CFX_CALL(s, "torch." name, __VA_ARGS__)

/* The scores in at least float32, masked. */
static cfx_value scores(cfx_scope *s, const cfx_call *call)
{
    cfx_value q = IN(QUERY), k = IN(KEY), mask = IN(ATTN_MASK);
    cfx_dim e = q.u.tensor->shape[3];
    bool half = q.u.tensor->dtype == CFX_F16 || q.u.tensor->dtype == CFX_BF16;
    double scale = cfx_call_has(call, SCALE) ? cfx_call_double(call, SCALE)
                   : cfx_dim_is_int(e) ? 1 / sqrt((double)cfx_dim_value(e))
                                       : 1; /* only shapes are asked for */
    if (half) {
        q = CFX_CALL(s, "Tensor.to", q, cfx_value_of_dtype(CFX_F32));
        k = CFX_CALL(s, "Tensor.to", k, cfx_value_of_dtype(CFX_F32));
    }
    cfx_value z = TORCH("matmul", TORCH("mul", q, cfx_float(scale)),
                        TORCH("transpose", k, cfx_int(-2), cfx_int(-1)));
    if (cfx_call_has(call, ATTN_MASK))
        z = TORCH("add", z, mask);
    if (cfx_call_bool(call, IS_CAUSAL)) {
        cfx_value later = TORCH("triu", TORCH("ones_like", z), cfx_int(1));
        z = TORCH("masked_fill", z, TORCH("ne", later, cfx_int(0)),
                  cfx_float(-INFINITY));
    }
    return z;
}

static cfx_value flash_build(cfx_scope *s, const cfx_call *call)
{
    cfx_value args[] = {IN(QUERY),     IN(KEY),       IN(VALUE),
                        IN(ATTN_MASK), IN(DROPOUT_P), IN(IS_CAUSAL)};
    cfx_value key[] = {cfx_str(s, "scale"), IN(SCALE)};
    if (args[0].u.tensor->rank != 4)
        return cfx_scope_fail(
            s, CFX_ESHAPE,
            "expected a query of (batch, heads, length, features)");
    cfx_value y = cfx_call_function(
        s, "torch.nn.functional.scaled_dot_product_attention",
        (cfx_args){args, 6, key, 1});
    cfx_value sums = TORCH("logsumexp", scores(s, call), cfx_int(-1));
    /* In memory the heads come last. */
    sums = TORCH("transpose", sums, cfx_int(1), cfx_int(2));
    sums = CFX_CALL(s, "Tensor.contiguous", sums);
    return cfx_tuple(s, y, TORCH("transpose", sums, cfx_int(1), cfx_int(2)));
}

CFX_COMPOSITE(flash)

const cfx_op cfx_op___scaled_dot_product_flash_attention_for_cpu = {
    .schema =
        "_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor value, float dropout_p=0.0, bool is_causal=False, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor output, Tensor logsumexp)",
    .params = params,
    .aliases = "aten.",
    .doc = "Attention, and the logarithms of the sums of its weights.",
    .infer = flash_infer,
    .cost = flash_cost,
    .run = flash_run,
};
