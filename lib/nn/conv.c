/*
 * conv -- convolutions and their transposes, over one to three axes.
 */
#include <string.h>

#include <cfx/module.h>
#include <cfx/ops.h>

/* weight (out, in / groups, k...); transposed (in, out / groups, k...). */
static cfx_status declare(cfx_module *self, bool transposed, cfx_error *err)
{
    cfx_dim in = cfx_attr_dim(self, "in_channels");
    cfx_dim out = cfx_attr_dim(self, "out_channels");
    cfx_dim groups = cfx_attr_dim(self, "groups");
    cfx_value kernel = cfx_attr(self, "kernel_size");
    cfx_dim shape[8];
    int rank = 2;
    if (cfx_dim_is_int(groups) && cfx_dim_value(groups) <= 0)
        return cfx_fail(err, CFX_EINVAL, "groups must be a positive integer");
    if (!cfx_dim_is(cfx_dim_mod(NULL, in, groups), 0))
        return cfx_fail(err, CFX_EINVAL,
                        "in_channels must be divisible by groups");
    if (!cfx_dim_is(cfx_dim_mod(NULL, out, groups), 0))
        return cfx_fail(err, CFX_EINVAL,
                        "out_channels must be divisible by groups");
    shape[0] = transposed ? in : out;
    shape[1] = cfx_dim_floordiv(NULL, transposed ? out : in, groups);
    for (uint32_t i = 0; i < kernel.u.seq->len; i++)
        shape[rank++] = cfx_value_dim(kernel.u.seq->item[i]);
    cfx_status st = cfx_module_param(self, "weight", CFX_F32, rank, shape,
                                     err);
    if (st)
        return st;
    return cfx_attr_bool(self, "bias")
               ? cfx_module_param(self, "bias", CFX_F32, 1, &out, err)
               : cfx_module_no_param(self, "bias", err);
}

static cfx_status Conv_init(cfx_module *self, cfx_error *err)
{
    return declare(self, false, err);
}


#define A(name) cfx_attr(self, name)
#define P(name) cfx_param_of(s, self, name)

/* repr prints a mode other than zeros bare. */
#define CONV(n)                                                              \
    static cfx_value Conv##n##d_forward(cfx_scope *s, cfx_module *self,      \
                                        const cfx_value *in)                 \
    {                                                                        \
        if (A("padding").kind == CFX_STR)                                    \
            return cfx_conv##n##d_padding(                                   \
                s, in[0], P("weight"), .bias = P("bias"),                    \
                .stride = A("stride"), .padding = A("padding"),              \
                .dilation = A("dilation"), .groups = A("groups"));           \
        return cfx_conv##n##d(s, in[0], P("weight"), .bias = P("bias"),      \
                              .stride = A("stride"),                         \
                              .padding = A("padding"),                       \
                              .dilation = A("dilation"),                     \
                              .groups = A("groups"));                        \
    }                                                                        \
    const cfx_module_type cfx_module__Conv##n##d = {                         \
        .schema = "Conv" #n "d(SymInt in_channels, SymInt out_channels, "    \
                  "SymInt[" #n "] kernel_size, SymInt[" #n "] stride=1, "    \
                  "SymInt[" #n "]|str padding=0, SymInt[" #n                 \
                  "] dilation=1, "                                           \
                  "SymInt groups=1, bool bias=True, str "                    \
                  "padding_mode='zeros')",                                   \
        .repr = "$in_channels $out_channels kernel_size stride ?padding "    \
                "?dilation ?groups ?bias ?=padding_mode",                    \
        .doc = "A convolution over " #n " spatial axes.",                    \
        .init = Conv_init,                                                   \
        .forward_schema = "forward(Tensor input) -> Tensor",                 \
        .forward = Conv##n##d_forward,                                       \
    };

CONV(1)
CONV(2)
CONV(3)
