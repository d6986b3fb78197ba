/*
 * activation -- modules that are one function of their input, with the
 * constructor's arguments as the function's parameters.
 */
#include <cfx/module.h>
#include <cfx/ops.h>

/* In place where the module says so: `write` is the spelling that writes. */
#define ACTIVATION(type, signature, repr_, call, write, doc_)               \
    static cfx_value type##_forward(cfx_scope *s, cfx_module *self,         \
                                    const cfx_value *in)                    \
    {                                                                       \
        if (cfx_attr_bool(self, "inplace"))                                 \
            return write;                                                   \
        return call;                                                        \
    }                                                                       \
    const cfx_module_type cfx_module__##type = {                            \
        .schema = #type signature,                                          \
        .repr = repr_,                                                      \
        .doc = doc_,                                                        \
        .forward_schema = "forward(Tensor input) -> Tensor",                \
        .forward = type##_forward,                                          \
    };

#define A(name) cfx_attr(self, name)

ACTIVATION(ReLU, "(bool inplace=False)", "?inplace", cfx_relu(s, in[0]),
           cfx_relu_(s, in[0]), "max(x, 0).")
ACTIVATION(ReLU6, "(bool inplace=False)", "?inplace", cfx_relu6(s, in[0]),
           cfx_relu6_(s, in[0]), "min(max(x, 0), 6).")
ACTIVATION(SiLU, "(bool inplace=False)", "?inplace", cfx_silu(s, in[0]),
           cfx_silu_(s, in[0]), "x * sigmoid(x).")
ACTIVATION(Mish, "(bool inplace=False)", "?inplace", cfx_mish(s, in[0]),
           cfx_mish_(s, in[0]), "x * tanh(softplus(x)).")
ACTIVATION(Hardswish, "(bool inplace=False)", "?inplace",
           cfx_hardswish(s, in[0]), cfx_hardswish_(s, in[0]),
           "x * clamp(x + 3, 0, 6) / 6.")
ACTIVATION(Hardsigmoid, "(bool inplace=False)", "?inplace",
           cfx_hardsigmoid(s, in[0]), cfx_hardsigmoid_(s, in[0]),
           "clamp(x + 3, 0, 6) / 6.")
ACTIVATION(Sigmoid, "()", "", cfx_sigmoid(s, in[0]), cfx_none(),
           "1 / (1 + exp(-x)).")
ACTIVATION(Tanh, "()", "", cfx_tanh(s, in[0]), cfx_none(),
           "The hyperbolic tangent.")
ACTIVATION(GELU, "(str approximate='none')", "approximate",
           cfx_gelu(s, in[0], .approximate = A("approximate")), cfx_none(),
           "x times the normal distribution's cumulative probability.")
ACTIVATION(LeakyReLU, "(float negative_slope=0.01, bool inplace=False)",
           "negative_slope ?inplace",
           cfx_leaky_relu(s, in[0], .negative_slope = A("negative_slope")),
           cfx_leaky_relu_(s, in[0], .negative_slope = A("negative_slope")),
           "x, or negative_slope * x where x is negative.")
ACTIVATION(ELU, "(float alpha=1.0, bool inplace=False)", "alpha ?inplace",
           cfx_elu(s, in[0], .alpha = A("alpha")),
           cfx_elu_(s, in[0], .alpha = A("alpha")),
           "x, or alpha * (exp(x) - 1) where x is negative.")
