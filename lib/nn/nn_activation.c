/*
 * nn_activation -- modules that apply one operator, with the constructor's
 * arguments as its parameters.
 */
#include <cfx/module.h>

/* `...` are other members. */
#define ACTIVATION(type, signature, repr_, doc_, ...)                         \
    const cfx_module_type cfx_module__##type = {                              \
        .schema = #type signature,                                            \
        .repr = repr_,                                                        \
        .doc = doc_,                                                          \
        .forward_schema = "forward(Tensor input) -> Tensor",                  \
        .forward = cfx_forward_operator,                                      \
        __VA_ARGS__,                                                          \
    };

ACTIVATION(ReLU, "(bool inplace=False)", "?inplace", "max(x, 0).",
           .op = "aten.relu.default", .inplace_flag = "inplace")
ACTIVATION(ReLU6, "(bool inplace=False)", "?inplace", "min(max(x, 0), 6).",
           .op = "aten.relu6.default", .inplace_flag = "inplace")
ACTIVATION(SiLU, "(bool inplace=False)", "?inplace", "x * sigmoid(x).",
           .op = "aten.silu.default", .inplace_flag = "inplace")
ACTIVATION(Mish, "(bool inplace=False)", "?inplace", "x * tanh(softplus(x)).",
           .op = "aten.mish.default", .inplace_flag = "inplace")
/* These two do not print the argument. */
ACTIVATION(Hardswish, "(bool inplace=False)", "",
           "x * clamp(x + 3, 0, 6) / 6.", .op = "aten.hardswish.default",
           .inplace_flag = "inplace")
ACTIVATION(Hardsigmoid, "(bool inplace=False)", "", "clamp(x + 3, 0, 6) / 6.",
           .op = "aten.hardsigmoid.default", .inplace_flag = "inplace")
ACTIVATION(Sigmoid, "()", "", "1 / (1 + exp(-x)).",
           .op = "aten.sigmoid.default")
ACTIVATION(Tanh, "()", "", "The hyperbolic tangent.",
           .op = "aten.tanh.default")
ACTIVATION(GELU, "(str approximate='none')", "approximate",
           "x times the normal distribution's cumulative probability.",
           .op = "aten.gelu.default")
ACTIVATION(LeakyReLU, "(Scalar negative_slope=0.01, bool inplace=False)",
           "negative_slope ?inplace",
           "x, or negative_slope * x where x is negative.",
           .op = "aten.leaky_relu.default", .inplace_flag = "inplace")
ACTIVATION(ELU, "(Scalar alpha=1.0, bool inplace=False)", "alpha ?inplace",
           "x, or alpha * (exp(x) - 1) where x is negative.",
           .op = "aten.elu.default", .inplace_flag = "inplace")
ACTIVATION(CELU, "(Scalar alpha=1.0, bool inplace=False)", "alpha ?inplace",
           "max(0, x) + min(0, alpha * (exp(x / alpha) - 1)).",
           .op = "aten.celu.default", .inplace_flag = "inplace")
ACTIVATION(SELU, "(bool inplace=False)", "?inplace",
           "The scaled exponential linear unit.", .op = "aten.selu.default",
           .inplace_flag = "inplace")

static cfx_status Hardtanh_init(cfx_module *self, cfx_error *err)
{
    double least = cfx_value_number(cfx_attr(self, "min_val"));
    double most = cfx_value_number(cfx_attr(self, "max_val"));
    return most > least
               ? CFX_OK
               : cfx_fail(
                     err, CFX_EINVAL,
                     "Hardtanh: max_val (%g) must be greater than min_val (%g)",
                     most, least);
}

ACTIVATION(Hardtanh,
           "(Scalar min_val=-1.0, Scalar max_val=1.0, bool inplace=False)",
           "min_val max_val ?inplace", "x, kept between two numbers.",
           .op = "aten.hardtanh.default", .init = Hardtanh_init,
           .inplace_flag = "inplace")
ACTIVATION(Threshold, "(Scalar threshold, Scalar value, bool inplace=False)",
           "threshold value ?inplace",
           "x where it is above the threshold, else the value.",
           .op = "aten.threshold.default", .inplace_flag = "inplace")
ACTIVATION(Softplus, "(Scalar beta=1.0, Scalar threshold=20.0)",
           "beta threshold",
           "log(1 + exp(beta * x)) / beta; x itself above the threshold.",
           .op = "aten.softplus.default")
ACTIVATION(Softsign, "()", "", "x / (1 + abs(x)).",
           .op = "torch.nn.functional.softsign")
ACTIVATION(Tanhshrink, "()", "", "x - tanh(x).",
           .op = "torch.nn.functional.tanhshrink")
ACTIVATION(Hardshrink, "(Scalar lambd=0.5)", "$lambd",
           "x, or 0 where it is between -lambd and lambd.",
           .op = "aten.hardshrink.default")
ACTIVATION(Softshrink, "(Scalar lambd=0.5)", "$lambd",
           "x moved towards 0 by lambd, at most to 0.",
           .op = "aten.softshrink.default")
ACTIVATION(LogSigmoid, "()", "", "The logarithm of sigmoid(x).",
           .op = "aten.log_sigmoid.default")
ACTIVATION(GLU, "(int dim=-1)", "dim",
           "The first half along an axis times the sigmoid of the second.",
           .op = "aten.glu.default")
ACTIVATION(
    RReLU,
    "(Scalar lower=0.125, Scalar upper=0.3333333333333333, bool inplace=False)",
    "lower upper ?inplace",
    "x, or x times the mean of lower and upper where it is negative.",
    .op = "aten.rrelu.default", .inplace_flag = "inplace")

/* ---- With a parameter ---- */

static cfx_status PReLU_init(cfx_module *self, cfx_error *err)
{
    cfx_dim n = cfx_attr_dim(self, "num_parameters");
    return cfx_module_param(self, "weight", CFX_F32, 1, &n, err);
}

/* `init` is the initial value of the weight. */
const cfx_module_type cfx_module__PReLU = {
    .schema = "PReLU(SymInt num_parameters=1, float init=0.25)",
    .repr = "num_parameters",
    .implied = "init",
    .doc = "x, or x times a learned slope where it is negative.",
    .init = PReLU_init,
    .forward_schema = "forward(Tensor input) -> Tensor",
    .forward = cfx_forward_operator,
    .op = "aten.prelu.default",
};
