/*
 * fuse_gelu -- torch.nn.functional.gelu in place of its formula.
 *
 *     0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))
 *
 * as models write it out for the approximation by tanh. Meta must show that x is a
 * tensor of floating-point numbers.
 */
#include <cfx/ops.h>

#include "interp/rewrite/rewrite_rules.h"

static cfx_value number(cfx_scope *s, double c)
{
    return cfx_pattern_number(s, c, 1e-6);
}

static cfx_value formula(cfx_scope *s, const cfx_value *in, void *user)
{
    cfx_value x = in[0];
    (void)user;
    cfx_value cube = cfx_pattern_one_of(s, cfx_pow(s, x, number(s, 3)),
                                        cfx_mul(s, cfx_mul(s, x, x), x));
    cfx_value sum = cfx_add(s, x, cfx_mul(s, number(s, 0.044715), cube));
    cfx_value inner = cfx_mul(s, number(s, 0.79788456080286536), sum);
    cfx_value gate = cfx_add(s, number(s, 1), cfx_tanh(s, inner));
    return cfx_mul(s, cfx_mul(s, number(s, 0.5), x), gate);
}

static bool is_float(cfx_pass_call *p, const cfx_match *m)
{
    cfx_value x = m->placeholders[0];
    (void)p;
    return x.kind == CFX_NODE && cfx_facts__is_float(x.u.node);
}

static cfx_value gelu(cfx_scope *s, const cfx_value *in, const cfx_match *m,
                      void *p)
{
    (void)m;
    (void)p;
    return cfx_gelu(s, in[0], .approximate = cfx_str(s, "tanh"));
}

static const cfx_rewrite_rule rules[] = {
    {.params = "x", .pattern = formula, .where = is_float, .build = gelu},
    {0},
};

const cfx_pass cfx_pass__fuse_gelu = {
    .abi = CFX_ABI(cfx_pass),
    .schema = "fuse_gelu()",
    .doc =
        "Replace the formula of gelu by tanh with gelu, where meta tensor_meta shows a floating-point type.",
    .flags = CFX_PASS_ROUNDS,
    .rules = rules,
};
