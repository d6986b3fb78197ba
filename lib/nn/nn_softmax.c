/*
 * nn_softmax -- Softmax, LogSoftmax, Softmin along one axis.
 */
#include <cfx/module.h>
#include <cfx/ops.h>

#define A(name) cfx_attr(self, name)

/* dim=None selects an axis by the rank. */
static cfx_value along(cfx_scope *s, cfx_module *self, const char *function,
                       cfx_value x)
{
    cfx_value args[] = {x, A("dim")};
    return cfx_call_function(s, function, cfx_args_of(args, 2));
}

#define SOFTMAX(name, call, doc_)                                             \
    static cfx_value name##_forward(cfx_scope *s, cfx_module *self,           \
                                    const cfx_value *in)                      \
    {                                                                         \
        return call;                                                          \
    }                                                                         \
    const cfx_module_type cfx_module__##name = {                              \
        .schema = #name "(int? dim=None)",                                    \
        .repr = "dim",                                                        \
        .doc = doc_,                                                          \
        .forward_schema = "forward(Tensor input) -> Tensor",                  \
        .forward = name##_forward,                                            \
    };

SOFTMAX(Softmax, along(s, self, "torch.nn.functional.softmax", in[0]),
        "exp(x) divided by its sum along an axis.")
SOFTMAX(LogSoftmax, along(s, self, "torch.nn.functional.log_softmax", in[0]),
        "The logarithm of softmax.")
SOFTMAX(Softmin,
        along(s, self, "torch.nn.functional.softmax", cfx_neg(s, in[0])),
        "softmax of -x.")

static cfx_value Softmax2d_forward(cfx_scope *s, cfx_module *self,
                                   const cfx_value *in)
{
    const cfx_tensor *x = cfx_meta_of(s, in[0]);
    (void)self;
    if (x && x->rank != 3 && x->rank != 4)
        return cfx_scope_fail(
            s, CFX_ESHAPE,
            "Softmax2d: expected input to be 3D or 4D, got %dD instead",
            x->rank);
    return cfx_softmax(s, in[0], cfx_int(-3));
}

const cfx_module_type cfx_module__Softmax2d = {
    .schema = "Softmax2d()",
    .repr = "",
    .doc = "softmax over the channels of each pixel.",
    .forward_schema = "forward(Tensor input) -> Tensor",
    .forward = Softmax2d_forward,
};
