/*
 * pooling -- one number for each window.
 */
#include <cfx/module.h>
#include <cfx/ops.h>

#define A(name) cfx_attr(self, name)

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
