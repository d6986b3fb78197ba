/*
 * fuse_gelu -- torch.nn.functional.gelu in place of its formula.
 *
 *     0.5 * x * (1 + erf(x / sqrt(2)))
 *     0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))
 *
 * as ONNX files before opset 20 have it, and as models write it out for the
 * approximation by tanh. Meta must show that x is a tensor of floating-point numbers.
 */
#include <cfx/ops.h>

#include "interp/rewrite/rewrite_rules.h"

static cfx_value number(cfx_scope *s, double c)
{
    return cfx_pattern_number(s, c, 1e-6);
}

/* 0.5 * x * (1 + f), in any order. */
static cfx_value gated(cfx_scope *s, cfx_value x, cfx_value f)
{
    cfx_value half = number(s, 0.5), gate = cfx_add(s, number(s, 1), f);
    return cfx_pattern_one_of(s, cfx_mul(s, cfx_mul(s, half, x), gate),
                              cfx_mul(s, half, cfx_mul(s, x, gate)),
                              cfx_mul(s, x, cfx_mul(s, half, gate)));
}

static cfx_value by_erf(cfx_scope *s, const cfx_value *in, void *user)
{
    cfx_value x = in[0];
    (void)user;
    cfx_value root = cfx_pattern_one_of(
        s, cfx_pattern__quotient(s, x, number(s, 1.4142135623730951)),
        cfx_mul(s, x, number(s, 0.7071067811865476)));
    return gated(s, x, cfx_erf(s, root));
}

static cfx_value by_tanh(cfx_scope *s, const cfx_value *in, void *user)
{
    cfx_value x = in[0];
    (void)user;
    cfx_value cube = cfx_pattern_one_of(s, cfx_pow(s, x, number(s, 3)),
                                        cfx_mul(s, cfx_mul(s, x, x), x));
    cfx_value sum = cfx_add(s, x, cfx_mul(s, number(s, 0.044715), cube));
    cfx_value inner = cfx_mul(s, number(s, 0.79788456080286536), sum);
    return gated(s, x, cfx_tanh(s, inner));
}

static cfx_value gelu(cfx_scope *s, const cfx_value *in, const cfx_match *m,
                      void *p)
{
    (void)m;
    (void)p;
    return cfx_gelu(s, in[0]);
}

static cfx_value gelu_tanh(cfx_scope *s, const cfx_value *in,
                           const cfx_match *m, void *p)
{
    (void)m;
    (void)p;
    return cfx_gelu(s, in[0], .approximate = cfx_str(s, "tanh"));
}

static const cfx_rewrite_rule rules[] = {
    {.params = "x",
     .pattern = by_erf,
     .where = cfx_match__is_float,
     .build = gelu},
    {.params = "x",
     .pattern = by_tanh,
     .where = cfx_match__is_float,
     .build = gelu_tanh},
    {0},
};

const cfx_pass cfx_pass__fuse_gelu = {
    .abi = CFX_ABI(cfx_pass),
    .schema = "fuse_gelu()",
    .doc =
        "Replace the formulas of gelu, by erf and by tanh, with gelu, where meta tensor_meta shows a floating-point type.",
    .flags = CFX_PASS_ROUNDS,
    .rules = rules,
};
