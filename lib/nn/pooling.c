/*
 * pooling -- one number for each window.
 */
#include <cfx/module.h>
#include <cfx/ops.h>

#include "nn/module_impl.h"

#define A(name) cfx_attr(self, name)

/* A stride that is not given is printed as the kernel's size. */
static cfx_status init(cfx_module *self, cfx_error *err)
{
    (void)err;
    if (cfx_value_is_none(A("stride")))
        cfx_module__set_attr_take(self, "stride",
                                  cfx_value_ref(A("kernel_size")));
    return CFX_OK;
}

#define POOL(n)                                                               \
    static cfx_value MaxPool##n##d_forward(cfx_scope *s, cfx_module *self,    \
                                           const cfx_value *in)               \
    {                                                                         \
        if (cfx_attr_bool(self, "return_indices"))                            \
            return cfx_max_pool##n##d_with_indices(                           \
                s, in[0], A("kernel_size"), .stride = A("stride"),            \
                .padding = A("padding"), .dilation = A("dilation"),           \
                .ceil_mode = A("ceil_mode"));                                 \
        return cfx_max_pool##n##d(s, in[0], A("kernel_size"),                 \
                                  .stride = A("stride"),                      \
                                  .padding = A("padding"),                    \
                                  .dilation = A("dilation"),                  \
                                  .ceil_mode = A("ceil_mode"));               \
    }                                                                         \
    const cfx_module_type cfx_module__MaxPool##n##d = {                       \
        .schema = "MaxPool" #n "d(any kernel_size, any stride=None, any "     \
                  "padding=0, any dilation=1, bool return_indices=False, "    \
                  "bool ceil_mode=False)",                                    \
        .repr = "kernel_size stride padding dilation ceil_mode",              \
        .doc = "The maximum of each window.",                                 \
        .init = init,                                                         \
        .forward_schema = "forward(Tensor input) -> any",                     \
        .forward = MaxPool##n##d_forward,                                     \
    };                                                                        \
    static cfx_value AdaptiveAvgPool##n##d_forward(                           \
        cfx_scope *s, cfx_module *self, const cfx_value *in)                  \
    {                                                                         \
        return cfx_adaptive_avg_pool##n##d(s, in[0], A("output_size"));       \
    }                                                                         \
    const cfx_module_type cfx_module__AdaptiveAvgPool##n##d = {               \
        .schema = "AdaptiveAvgPool" #n "d(any output_size)",                  \
        .repr = "output_size",                                                \
        .doc = "Means of windows that cover the input evenly.",               \
        .forward_schema = "forward(Tensor input) -> Tensor",                  \
        .forward = AdaptiveAvgPool##n##d_forward,                             \
    };

POOL(1)
POOL(2)
POOL(3)

/* ---- Averages; AvgPool1d has no divisor_override, and tuples of one ---- */

#define AVG_POOL(n, type_, more, divisor)                                     \
    static cfx_value AvgPool##n##d_forward(cfx_scope *s, cfx_module *self,    \
                                           const cfx_value *in)               \
    {                                                                         \
        return cfx_avg_pool##n##d(                                            \
            s, in[0], A("kernel_size"), .stride = A("stride"),                \
            .padding = A("padding"), .ceil_mode = A("ceil_mode"),             \
            .count_include_pad = A("count_include_pad") divisor);             \
    }                                                                         \
    const cfx_module_type cfx_module__AvgPool##n##d = {                       \
        .schema = "AvgPool" #n "d(" type_ " kernel_size, " type_              \
                  "? stride=None, " type_ " padding=0, bool "                 \
                  "ceil_mode=False, bool count_include_pad=True" more ")",    \
        .repr = "kernel_size stride padding",                                 \
        .doc = "The mean of each window.",                                    \
        .init = init,                                                         \
        .forward_schema = "forward(Tensor input) -> Tensor",                  \
        .forward = AvgPool##n##d_forward,                                     \
    };

#define DIVISOR , .divisor_override = A("divisor_override")
AVG_POOL(1, "SymInt[1]", "", )
AVG_POOL(2, "any", ", int? divisor_override=None", DIVISOR)
AVG_POOL(3, "any", ", int? divisor_override=None", DIVISOR)

/* ---- Adaptive maxima ---- */

#define ADAPTIVE_MAX_POOL(n)                                                  \
    static cfx_value AdaptiveMaxPool##n##d_forward(                           \
        cfx_scope *s, cfx_module *self, const cfx_value *in)                  \
    {                                                                         \
        cfx_value both = cfx_adaptive_max_pool##n##d(s, in[0],                \
                                                     A("output_size"));       \
        return cfx_attr_bool(self, "return_indices") ? both                   \
                                                     : cfx_nth(s, both, 0);   \
    }                                                                         \
    const cfx_module_type cfx_module__AdaptiveMaxPool##n##d = {               \
        .schema = "AdaptiveMaxPool" #n "d(any output_size, bool "             \
                  "return_indices=False)",                                    \
        .repr = "output_size",                                                \
        .doc = "The maxima of windows that cover the input evenly.",          \
        .forward_schema = "forward(Tensor input) -> any",                     \
        .forward = AdaptiveMaxPool##n##d_forward,                             \
    };

ADAPTIVE_MAX_POOL(1)
ADAPTIVE_MAX_POOL(2)
ADAPTIVE_MAX_POOL(3)

/* ---- Norms ---- */

#define LP_POOL(n)                                                            \
    static cfx_value LPPool##n##d_forward(cfx_scope *s, cfx_module *self,     \
                                          const cfx_value *in)                \
    {                                                                         \
        return cfx_lp_pool##n##d(s, in[0],                                    \
                                 cfx_num(cfx_attr_double(self, "norm_type")), \
                                 A("kernel_size"), .stride = A("stride"),     \
                                 .ceil_mode = A("ceil_mode"));                \
    }                                                                         \
    const cfx_module_type cfx_module__LPPool##n##d = {                        \
        .schema = "LPPool" #n "d(Scalar norm_type, any kernel_size, any "     \
                  "stride=None, bool ceil_mode=False)",                       \
        .repr = "norm_type kernel_size stride ceil_mode",                     \
        .doc = "The p-norm of each window.",                                  \
        .forward_schema = "forward(Tensor input) -> Tensor",                  \
        .forward = LPPool##n##d_forward,                                      \
    };

LP_POOL(1)
LP_POOL(2)
LP_POOL(3)
