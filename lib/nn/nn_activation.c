/*
 * nn_activation -- modules that apply one function, with the constructor's
 * arguments as its parameters.
 */
#include <cfx/module.h>
#include <cfx/ops.h>

/* In place if the module says so: `write` is the in-place function. */
#define ACTIVATION_INIT(type, init_, signature, repr_, call, write, doc_)     \
    static cfx_value type##_forward(cfx_scope *s, cfx_module *self,           \
                                    const cfx_value *in)                      \
    {                                                                         \
        if (cfx_attr_bool(self, "inplace"))                                   \
            return write;                                                     \
        return call;                                                          \
    }                                                                         \
    const cfx_module_type cfx_module__##type = {                              \
        .schema = #type signature,                                            \
        .repr = repr_,                                                        \
        .doc = doc_,                                                          \
        .init = init_,                                                        \
        .inplace_flag = "inplace",                                            \
        .forward_schema = "forward(Tensor input) -> Tensor",                  \
        .forward = type##_forward,                                            \
    };

#define ACTIVATION(type, ...) ACTIVATION_INIT(type, NULL, __VA_ARGS__)

#define A(name) cfx_attr(self, name)

ACTIVATION(ReLU, "(bool inplace=False)", "?inplace", cfx_relu(s, in[0]),
           cfx_relu_inplace(s, in[0]), "max(x, 0).")
ACTIVATION(ReLU6, "(bool inplace=False)", "?inplace", cfx_relu6(s, in[0]),
           cfx_relu6_inplace(s, in[0]), "min(max(x, 0), 6).")
ACTIVATION(SiLU, "(bool inplace=False)", "?inplace", cfx_silu(s, in[0]),
           cfx_silu_inplace(s, in[0]), "x * sigmoid(x).")
ACTIVATION(Mish, "(bool inplace=False)", "?inplace", cfx_mish(s, in[0]),
           cfx_mish_inplace(s, in[0]), "x * tanh(softplus(x)).")
/* These two do not print the argument. */
ACTIVATION(Hardswish, "(bool inplace=False)", "", cfx_hardswish(s, in[0]),
           cfx_hardswish_inplace(s, in[0]), "x * clamp(x + 3, 0, 6) / 6.")
ACTIVATION(Hardsigmoid, "(bool inplace=False)", "", cfx_hardsigmoid(s, in[0]),
           cfx_hardsigmoid_inplace(s, in[0]), "clamp(x + 3, 0, 6) / 6.")
ACTIVATION(Sigmoid, "()", "", cfx_sigmoid(s, in[0]), cfx_none(),
           "1 / (1 + exp(-x)).")
ACTIVATION(Tanh, "()", "", cfx_tanh(s, in[0]), cfx_none(),
           "The hyperbolic tangent.")
ACTIVATION(GELU, "(str approximate='none')", "approximate",
           cfx_gelu(s, in[0], .approximate = A("approximate")), cfx_none(),
           "x times the normal distribution's cumulative probability.")
ACTIVATION(LeakyReLU, "(Scalar negative_slope=0.01, bool inplace=False)",
           "negative_slope ?inplace",
           cfx_leaky_relu(s, in[0], .negative_slope = A("negative_slope")),
           cfx_leaky_relu_inplace(s, in[0],
                                  .negative_slope = A("negative_slope")),
           "x, or negative_slope * x where x is negative.")
ACTIVATION(ELU, "(Scalar alpha=1.0, bool inplace=False)", "alpha ?inplace",
           cfx_elu(s, in[0], .alpha = A("alpha")),
           cfx_elu_inplace(s, in[0], .alpha = A("alpha")),
           "x, or alpha * (exp(x) - 1) where x is negative.")

ACTIVATION(CELU, "(Scalar alpha=1.0, bool inplace=False)", "alpha ?inplace",
           cfx_celu(s, in[0], .alpha = A("alpha")),
           cfx_celu_inplace(s, in[0], .alpha = A("alpha")),
           "max(0, x) + min(0, alpha * (exp(x / alpha) - 1)).")
ACTIVATION(SELU, "(bool inplace=False)", "?inplace", cfx_selu(s, in[0]),
           cfx_selu_inplace(s, in[0]), "The scaled exponential linear unit.")
static cfx_status Hardtanh_init(cfx_module *self, cfx_error *err)
{
    double least = cfx_value_number(A("min_val"));
    double most = cfx_value_number(A("max_val"));
    return most > least
               ? CFX_OK
               : cfx_fail(
                     err, CFX_EINVAL,
                     "Hardtanh: max_val (%g) must be greater than min_val (%g)",
                     most, least);
}

ACTIVATION_INIT(
    Hardtanh, Hardtanh_init,
    "(Scalar min_val=-1.0, Scalar max_val=1.0, bool inplace=False)",
    "min_val max_val ?inplace",
    cfx_hardtanh(s, in[0], .min_val = A("min_val"), .max_val = A("max_val")),
    cfx_hardtanh_inplace(s, in[0], .min_val = A("min_val"),
                         .max_val = A("max_val")),
    "x, kept between two numbers.")
ACTIVATION(Threshold, "(Scalar threshold, Scalar value, bool inplace=False)",
           "threshold value ?inplace",
           cfx_threshold(s, in[0], A("threshold"), A("value")),
           cfx_threshold_inplace(s, in[0], A("threshold"), A("value")),
           "x where it is above the threshold, else the value.")
ACTIVATION(
    Softplus, "(Scalar beta=1.0, Scalar threshold=20.0)", "beta threshold",
    cfx_softplus(s, in[0], .beta = A("beta"), .threshold = A("threshold")),
    cfx_none(), "log(1 + exp(beta * x)) / beta; x itself above the threshold.")
ACTIVATION(Softsign, "()", "", cfx_softsign(s, in[0]), cfx_none(),
           "x / (1 + abs(x)).")
ACTIVATION(Tanhshrink, "()", "", cfx_tanhshrink(s, in[0]), cfx_none(),
           "x - tanh(x).")
ACTIVATION(Hardshrink, "(Scalar lambd=0.5)", "$lambd",
           cfx_hardshrink(s, in[0], .lambd = A("lambd")), cfx_none(),
           "x, or 0 where it is between -lambd and lambd.")
ACTIVATION(Softshrink, "(Scalar lambd=0.5)", "$lambd",
           cfx_softshrink(s, in[0], .lambd = A("lambd")), cfx_none(),
           "x moved towards 0 by lambd, at most to 0.")
ACTIVATION(LogSigmoid, "()", "", cfx_log_sigmoid(s, in[0]), cfx_none(),
           "The logarithm of sigmoid(x).")
ACTIVATION(GLU, "(int dim=-1)", "dim", cfx_glu(s, in[0], .dim = A("dim")),
           cfx_none(),
           "The first half along an axis times the sigmoid of the second.")

#define TRAINING cfx_bool(cfx_module_training(self))

ACTIVATION(
    RReLU,
    "(Scalar lower=0.125, Scalar upper=0.3333333333333333, bool inplace=False)",
    "lower upper ?inplace",
    cfx_rrelu(s, in[0], .lower = A("lower"), .upper = A("upper"),
              .training = TRAINING),
    cfx_rrelu_inplace(s, in[0], .lower = A("lower"), .upper = A("upper"),
                      .training = TRAINING),
    "x, or x times the mean of lower and upper where it is negative.")

/* ---- With a parameter ---- */

static cfx_status PReLU_init(cfx_module *self, cfx_error *err)
{
    cfx_dim n = cfx_attr_dim(self, "num_parameters");
    return cfx_module_param(self, "weight", CFX_F32, 1, &n, err);
}

static cfx_value PReLU_forward(cfx_scope *s, cfx_module *self,
                               const cfx_value *in)
{
    return cfx_prelu(s, in[0], cfx_param_of(s, self, "weight"));
}

/* `init` is the initial value of the weight. */
const cfx_module_type cfx_module__PReLU = {
    .schema = "PReLU(SymInt num_parameters=1, float init=0.25)",
    .repr = "num_parameters",
    .implied = "init",
    .doc = "x, or x times a learned slope where it is negative.",
    .init = PReLU_init,
    .forward_schema = "forward(Tensor input) -> Tensor",
    .forward = PReLU_forward,
};
