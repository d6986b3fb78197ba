/*
 * lp_pool -- the p-norm of each window.
 *
 * shape   that of avg_pool without padding.
 * cost    that of the operators it consists of.
 *
 * The sum of the powers keeps its sign until it is clamped at zero, as in PyTorch.
 */
#include "op/composite.h"
#include "op/infer.h"

enum { INPUT, NORM, KERNEL, STRIDE, CEIL };

static cfx_value lp_pool_build(cfx_scope *s, const cfx_call *call)
{
    static const char *const pool[] = {"", "torch.avg_pool1d",
                                       "torch.avg_pool2d", "torch.avg_pool3d"};
    const cfx_value *in = call->in;
    int spatial = call->op->code;
    double p = cfx_value_number(in[NORM]);
    cfx_value window = cfx_int(1);
    if (p == 0)
        return cfx_scope_fail(s, CFX_EINVAL,
                              "the root of norm_type 0 is not defined");
    if (cfx_call_len(call, KERNEL) != spatial)
        return cfx_scope_fail(s, CFX_EINVAL,
                              "kernel_size must be %d numbers, got %d",
                              spatial, cfx_call_len(call, KERNEL));
    for (int i = 0; i < spatial; i++)
        window = cfx_int_mul(s, window, in[KERNEL].u.seq->item[i]);
    cfx_value y = CFX_CALL(s, "torch.pow", in[INPUT], in[NORM]);
    y = CFX_CALL(s, pool[spatial], y, in[KERNEL], in[STRIDE], cfx_int(0),
                 in[CEIL]);
    cfx_value sign = CFX_CALL(s, "torch.sign", y);
    y = CFX_CALL(s, "torch.relu", CFX_CALL(s, "torch.abs", y));
    y = CFX_CALL(s, "torch.mul", sign, y);
    y = CFX_CALL(s, "torch.mul", y, window);
    return CFX_CALL(s, "torch.pow", y, cfx_float(1 / p));
}

CFX_COMPOSITE(lp_pool)

#define LP_POOL(n)                                                            \
    const cfx_op cfx_op__lp_pool##n##d = {                                    \
        .schema = "lp_pool" #n "d(Tensor input, float norm_type, SymInt[" #n  \
                  "] kernel_size, SymInt[" #n "]? stride=None, bool "         \
                  "ceil_mode=False) -> Tensor",                               \
        .aliases = "torch.nn.functional.lp_pool" #n "d",                      \
        .doc = "The p-norm of each window.",                                  \
        .code = n,                                                            \
        .infer = lp_pool_infer,                                               \
        .cost = lp_pool_cost,                                                 \
        .run = lp_pool_run,                                                   \
    };

LP_POOL(1)
LP_POOL(2)
LP_POOL(3)
