/*
 * nn_pooling -- reduce each window to one number.
 */
#include <cfx/module.h>
#include <cfx/ops.h>

#include "nn/module_impl.h"
#include "op/scope_impl.h"

#define A(name) cfx_attr(self, name)

/* A missing stride is printed as the kernel's size. */
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
        return cfx_max_pool##n##d(                                            \
            s, in[0], A("kernel_size"), .stride = A("stride"),                \
            .padding = A("padding"), .dilation = A("dilation"),               \
            .ceil_mode = A("ceil_mode"));                                     \
    }                                                                         \
    const cfx_module_type cfx_module__MaxPool##n##d = {                       \
        .schema = "MaxPool" #n "d(any kernel_size, any stride=None, any "     \
                  "padding=0, any dilation=1, bool return_indices=False, "    \
                  "bool ceil_mode=False)",                                    \
        .repr = "kernel_size stride padding dilation ceil_mode",              \
        .tuple_flag = "return_indices",                                       \
        .doc = "The maximum of each window.",                                 \
        .init = init,                                                         \
        .forward_schema = "forward(Tensor input) -> any",                     \
        .forward = MaxPool##n##d_forward,                                     \
        .op = "aten.max_pool" #n "d.default",                                 \
    };                                                                        \
    const cfx_module_type cfx_module__AdaptiveAvgPool##n##d = {               \
        .schema = "AdaptiveAvgPool" #n "d(any output_size)",                  \
        .repr = "output_size",                                                \
        .doc = "Means of windows that cover the input evenly.",               \
        .forward_schema = "forward(Tensor input) -> Tensor",                  \
        .forward = cfx_forward_operator,                                      \
        .op = "aten.adaptive_avg_pool" #n "d.default",                        \
    };

POOL(1)
POOL(2)
POOL(3)

/* ---- Averages; AvgPool1d has no divisor_override, and tuples of one ---- */

/* The i-th number of an argument that may be one for all axes. */
static cfx_dim number_at(const cfx_module *self, const char *name, int i)
{
    cfx_value v = A(name);
    if (!cfx_value_is_seq(v))
        return cfx_value_dim(v);
    if (!v.u.seq->len)
        return CFX_DIM_BAD;
    uint32_t last = v.u.seq->len - 1;
    return cfx_value_dim(
        v.u.seq->item[(uint32_t)i < last ? (uint32_t)i : last]);
}

/* Do the windows of axis i cover the extent, so that ceil_mode adds none? For
 * a symbol this becomes a guard. */
static bool fills(cfx_scope *s, const cfx_module *self, int i, cfx_dim extent)
{
    cfx_dim stride = number_at(self, "stride", i), two = cfx_dim_int(2);
    cfx_dim pad = number_at(self, "padding", i);
    cfx_dim room = cfx_dim_sub(
        s->env, cfx_dim_add(s->env, extent, cfx_dim_mul(s->env, two, pad)),
        number_at(self, "kernel_size", i));
    cfx_dim begin = cfx_dim_mul(s->env, stride,
                                cfx_dim_ceildiv(s->env, room, stride));
    /* A window must not begin in the padding after the input. */
    if (cfx_dim_is_int(begin) && cfx_dim_is_int(extent) &&
        cfx_dim_is_int(pad) &&
        cfx_dim_value(begin) >= cfx_dim_value(extent) + cfx_dim_value(pad))
        return true;
    return cfx_dim_eq(s->env, cfx_dim_mod(s->env, room, stride),
                      cfx_dim_int(0));
}

static cfx_value ceil_mode(cfx_scope *s, const cfx_module *self, cfx_value in,
                           int spatial)
{
    const cfx_tensor *x = cfx_meta_of(s, in);
    /* A recorded graph must work for other shapes, too. */
    bool same = x && x->rank >= spatial && !cfx_scope__records(s);
    if (!cfx_attr_is_undecided(self, "ceil_mode") || s->any_arguments)
        return A("ceil_mode");
    for (int i = 0; i < spatial && same; i++)
        same = fills(s, self, i, x->shape[x->rank - spatial + i]);
    return same ? A("ceil_mode") : cfx_attr_of(s, self, "ceil_mode");
}

static bool is_all(const cfx_module *self, const char *name, int64_t n)
{
    bool all = true;
    for (int i = 0; i < 3; i++)
        all = all && cfx_dim_is(number_at(self, name, i), n);
    return all;
}

/* With stride 1 ceil_mode has no effect; nor has count_include_pad without
 * padding. */
static void AvgPool_decide(cfx_module *self)
{
    if (is_all(self, "stride", 1))
        cfx_module_decide(self, "ceil_mode");
    if (is_all(self, "padding", 0))
        cfx_module_decide(self, "count_include_pad");
}

#define AVG_POOL(n, type_, more, divisor)                                     \
    static cfx_value AvgPool##n##d_forward(cfx_scope *s, cfx_module *self,    \
                                           const cfx_value *in)               \
    {                                                                         \
        return cfx_avg_pool##n##d(                                            \
            s, in[0], A("kernel_size"), .stride = A("stride"),                \
            .padding = A("padding"),                                          \
            .ceil_mode = ceil_mode(s, self, in[0], n),                        \
            .count_include_pad = A("count_include_pad") divisor);             \
    }                                                                         \
    const cfx_module_type cfx_module__AvgPool##n##d = {                       \
        .schema = "AvgPool" #n "d(" type_ " kernel_size, " type_              \
                  "? stride=None, " type_ " padding=0, bool "                 \
                  "ceil_mode=False, bool count_include_pad=True" more ")",    \
        .repr = "kernel_size stride padding",                                 \
        .lazy = "ceil_mode",                                                  \
        .numeric = "count_include_pad",                                       \
        .implied = "divisor_override",                                        \
        .decide = AvgPool_decide,                                             \
        .doc = "The mean of each window.",                                    \
        .init = init,                                                         \
        .forward_schema = "forward(Tensor input) -> Tensor",                  \
        .forward = AvgPool##n##d_forward,                                     \
        .op = "aten.avg_pool" #n "d.default",                                 \
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
        .tuple_flag = "return_indices",                                       \
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
        return cfx_lp_pool##n##d(                                             \
            s, in[0], cfx_float(cfx_attr_double(self, "norm_type")),          \
            A("kernel_size"), .stride = A("stride"),                          \
            .ceil_mode = A("ceil_mode"));                                     \
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

/* ---- Windows at pseudorandom places ---- */

static cfx_status fractional_init(cfx_module *self, cfx_error *err)
{
    if (cfx_value_is_none(A("output_size")) ||
        cfx_value_is_none(A("output_ratio")))
        return CFX_OK;
    return cfx_fail(err, CFX_EINVAL,
                    "only one of output_size and output_ratio may be given");
}

#define FRACTIONAL_POOL(n)                                                    \
    static cfx_value FractionalMaxPool##n##d_forward(                         \
        cfx_scope *s, cfx_module *self, const cfx_value *in)                  \
    {                                                                         \
        return cfx_call_function(                                             \
            s, "torch.nn.functional.fractional_max_pool" #n "d",              \
            CFX_ARGS(in[0], A("kernel_size"), A("output_size"),               \
                     A("output_ratio"), A("return_indices")));                \
    }                                                                         \
    const cfx_module_type cfx_module__FractionalMaxPool##n##d = {             \
        .schema = "FractionalMaxPool" #n "d(any kernel_size, any "            \
                  "output_size=None, any output_ratio=None, bool "            \
                  "return_indices=False)",                                    \
        .repr = "",                                                           \
        .tuple_flag = "return_indices",                                       \
        .doc = "The largest element of windows at pseudorandom places.",      \
        .init = fractional_init,                                              \
        .forward_schema = "forward(Tensor input) -> any",                     \
        .forward = FractionalMaxPool##n##d_forward,                           \
    };

FRACTIONAL_POOL(2)
FRACTIONAL_POOL(3)
