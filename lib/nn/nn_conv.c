/*
 * nn_conv -- convolutions and their transposes, over one to three axes, and
 * torch.ao's reference modules of them.
 */
#include <string.h>

#include <cfx/module.h>
#include <cfx/ops.h>

#include "nn/nn_reference.h"

enum { MAX_AXES = 3 };

/* A list has an item for each axis of the window, or one for all. */
static cfx_status check_lists(const cfx_module *self, cfx_error *err)
{
    static const char *const names[] = {"kernel_size", "stride", "padding",
                                        "dilation"};
    uint32_t axes = cfx_attr(self, "kernel_size").u.seq->len;
    for (int i = 0; i < 4; i++) {
        cfx_value v = cfx_attr(self, names[i]);
        uint32_t n = cfx_value_is_seq(v) ? v.u.seq->len : axes;
        if (!n || n > MAX_AXES || (n != 1 && n != axes))
            return cfx_fail(
                err, CFX_EINVAL,
                "%s should have a number for each axis of kernel_size, 1 to %d, but it has %u",
                names[i], MAX_AXES, n);
    }
    return CFX_OK;
}

static cfx_value item_of(cfx_value list, uint32_t i)
{
    return list.u.seq->item[list.u.seq->len > 1 ? i : 0];
}

/* weight (out, in / groups, k...); transposed (in, out / groups, k...). */
static cfx_status declare(cfx_module *self, bool transposed, cfx_error *err)
{
    cfx_dim in = cfx_attr_dim(self, "in_channels");
    cfx_dim out = cfx_attr_dim(self, "out_channels");
    cfx_dim groups = cfx_attr_dim(self, "groups");
    cfx_value kernel = cfx_attr(self, "kernel_size");
    cfx_dim shape[2 + MAX_AXES];
    int rank = 2;
    cfx_status st = check_lists(self, err);
    if (st)
        return st;
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
    st = cfx_module_param(self, "weight", CFX_F32, rank, shape, err);
    if (st)
        return st;
    return cfx_attr_bool(self, "bias")
               ? cfx_module_param(self, "bias", CFX_F32, 1, &out, err)
               : cfx_module_no_param(self, "bias", err);
}

static bool pads_with_zeros(const cfx_module *self)
{
    return !strcmp(cfx_attr_str(self, "padding_mode"), "zeros");
}

static cfx_status Conv_init(cfx_module *self, cfx_error *err)
{
    static const char *const modes[] = {"zeros", "reflect", "replicate",
                                        "circular"};
    const char *mode = cfx_attr_str(self, "padding_mode");
    for (int i = 0; i < 4; i++)
        if (!strcmp(mode, modes[i]))
            return declare(self, false, err);
    return cfx_fail(
        err, CFX_EINVAL,
        "padding_mode must be one of zeros, reflect, replicate, circular, but got padding_mode='%s'",
        mode);
}

static cfx_status ConvTranspose_init(cfx_module *self, cfx_error *err)
{
    if (!pads_with_zeros(self))
        return cfx_fail(
            err, CFX_EINVAL,
            "Only \"zeros\" padding mode is supported for ConvTranspose");
    return declare(self, true, err);
}

static cfx_status ReferenceConv_init(cfx_module *self, cfx_error *err)
{
    cfx_status st = Conv_init(self, err);
    return st ? st : cfx_reference__init(self, err);
}

static cfx_status ReferenceConvTranspose_init(cfx_module *self, cfx_error *err)
{
    cfx_status st = ConvTranspose_init(self, err);
    return st ? st : cfx_reference__init(self, err);
}

/* The padding before and after axis i. */
static void margin(const cfx_module *self, uint32_t i, cfx_value out[2])
{
    cfx_value pad = cfx_attr(self, "padding");
    cfx_dim one = cfx_dim_int(1), two = cfx_dim_int(2);
    if (pad.kind != CFX_STR) {
        out[0] = out[1] = item_of(pad, i);
        return;
    }
    cfx_dim k = cfx_value_dim(item_of(cfx_attr(self, "kernel_size"), i));
    cfx_dim d = cfx_value_dim(item_of(cfx_attr(self, "dilation"), i));
    cfx_dim all = cfx_dim_mul(NULL, d, cfx_dim_sub(NULL, k, one));
    if (strcmp(pad.u.str->text, "same"))
        all = cfx_dim_int(0);
    cfx_dim front = cfx_dim_floordiv(NULL, all, two);
    out[0] = cfx_value_of_dim(front);
    out[1] = cfx_value_of_dim(cfx_dim_sub(NULL, all, front));
}

/* The padded input, if padding_mode is not 'zeros'. */
static cfx_value padded(cfx_scope *s, const cfx_module *self, cfx_value x)
{
    cfx_value item[2 * MAX_AXES];
    uint32_t n = cfx_attr(self, "kernel_size").u.seq->len;
    for (uint32_t i = 0; i < n; i++)
        margin(self, n - 1 - i, item + (size_t)2 * i);
    return cfx_pad(s, x, cfx_list_of(s, CFX_TUPLE, (size_t)2 * n, item),
                   .mode = cfx_attr(self, "padding_mode"));
}

#define A(name) cfx_attr(self, name)
#define P(name) cfx_param_of(s, self, name)

/* repr prints modes other than zeros unquoted. */
#define CONV_TYPE(class_, n, weight_, zeros_, more_, ...)                     \
    static cfx_value class_##_forward(cfx_scope *s, cfx_module *self,         \
                                      const cfx_value *in)                    \
    {                                                                         \
        if (!(zeros_))                                                        \
            return cfx_conv##n##d(s, padded(s, self, in[0]), weight_,         \
                                  .bias = P("bias"), .stride = A("stride"),   \
                                  .dilation = A("dilation"),                  \
                                  .groups = A("groups"));                     \
        return cfx_conv##n##d(s, in[0], weight_, .bias = P("bias"),           \
                              .stride = A("stride"), .padding = A("padding"), \
                              .dilation = A("dilation"),                      \
                              .groups = A("groups"));                         \
    }                                                                         \
    const cfx_module_type cfx_module__##class_ = {                            \
        .schema = #class_ "(" CFX_CONV_PARAMS(n) more_ ")",                   \
        .repr = CFX_CONV_REPR,                                                \
        .forward_schema = "forward(Tensor input) -> Tensor",                  \
        .forward = class_##_forward,                                          \
        __VA_ARGS__};

/* torch.ao's reference modules pad with zeros, whatever their mode. */
#define CONV(n)                                                               \
    CONV_TYPE(Conv##n##d, n, P("weight"), pads_with_zeros(self), "",          \
              .doc = "A convolution over " #n " spatial axes.",               \
              .init = Conv_init, )                                            \
    CONV_TYPE(ReferenceConv##n##d, n, cfx_reference__weight(s, self), true,   \
              CFX_REFERENCE_ARGS,                                             \
              .aliases = "QuantizedConv" #n "d(Reference)",                   \
              .doc = "A convolution over " #n                                 \
                     " spatial axes, with a weight that is quantized and "    \
                     "back.",                                                 \
              .init = ReferenceConv_init, CFX_REFERENCE_TYPE, )

CONV(1)
CONV(2)
CONV(3)

/* ---- Transposed ---- */

static int64_t attr_at(const cfx_module *self, const char *name, uint32_t i)
{
    return cfx_attr(self, name).u.seq->item[i].u.i;
}

/* The output_padding of axis i that gives it `size` elements. */
static cfx_value padding_for(cfx_scope *s, const cfx_module *self, uint32_t i,
                             cfx_value in, cfx_value size)
{
    int64_t stride = attr_at(self, "stride", i);
    int64_t padding = attr_at(self, "padding", i);
    /* Huge arguments overflow here, which is an error. */
    cfx_value reach = cfx_int_add(s, cfx_int(attr_at(self, "kernel_size", i)),
                                  cfx_int(-1));
    cfx_value window = cfx_int_mul(s, cfx_int(attr_at(self, "dilation", i)),
                                   reach);
    cfx_value least = cfx_int_add(
        s, cfx_int_mul(s, cfx_int(padding), cfx_int(-2)),
        cfx_int_mul(s, cfx_int(stride), cfx_int(-1)));
    least = cfx_int_add(s, cfx_int_add(s, window, cfx_int(1)), least);
    cfx_value n = cfx_int_add(s, cfx_int_mul(s, in, cfx_int(stride)), least);
    n = cfx_int_add(s, size, cfx_int_mul(s, n, cfx_int(-1)));
    if (n.kind != CFX_INT && n.kind != CFX_SYMINT)
        return n; /* a proxy: unknown */
    cfx_dim d = cfx_value_dim(n);
    if (cfx_dim_le(s->env, cfx_dim_int(0), d) &&
        cfx_dim_lt(s->env, d, cfx_dim_int(stride)))
        return n;
    char text[200];
    cfx_dim_format(d, text, sizeof(text));
    return cfx_scope_fail(
        s, CFX_ESHAPE,
        "the requested output_size would need an output_padding of %s on axis %u, and the stride is %lld",
        text, i, (long long)stride);
}

/* The output_padding, given or derived from output_size: the extents of the
 * last n axes, or of all. */
static cfx_value output_padding(cfx_scope *s, cfx_module *self, cfx_value x,
                                cfx_value size, uint32_t n)
{
    cfx_value pad[3];
    if (cfx_value_is_none(size))
        return cfx_attr(self, "output_padding");
    uint32_t rank = (uint32_t)cfx_rank(s, x);
    uint32_t len = (uint32_t)cfx_len(s, size);
    if (rank < n || (len != n && len != rank))
        return cfx_scope_fail(
            s, CFX_EINVAL, "output_size must have %u or %u elements (got %u)",
            n, rank, len);
    for (uint32_t i = 0; i < n; i++)
        pad[i] = padding_for(s, self, i,
                             cfx_size(s, x, (int64_t)i - (int64_t)n),
                             cfx_nth(s, size, (int64_t)len - n + i));
    return cfx_list_of(s, CFX_TUPLE, n, pad);
}

#define TRANSPOSE_TYPE(class_, n, weight_, size_, more_, ...)                 \
    static cfx_value class_##_forward(cfx_scope *s, cfx_module *self,         \
                                      const cfx_value *in)                    \
    {                                                                         \
        return cfx_conv_transpose##n##d(                                      \
            s, in[0], weight_, .bias = P("bias"), .stride = A("stride"),      \
            .padding = A("padding"),                                          \
            .output_padding = output_padding(s, self, in[0], size_, n),       \
            .groups = A("groups"), .dilation = A("dilation"));                \
    }                                                                         \
    const cfx_module_type cfx_module__##class_ = {                            \
        .schema = #class_ "(" CFX_CONV_TRANSPOSE_PARAMS(n) more_ ")",         \
        .repr = CFX_CONV_TRANSPOSE_REPR,                                      \
        .forward = class_##_forward,                                          \
        __VA_ARGS__};

/* An output_size fails in torch.ao's modules. */
#define CONV_TRANSPOSE(n)                                                     \
    TRANSPOSE_TYPE(                                                           \
        ConvTranspose##n##d, n, P("weight"), in[1], "",                       \
        .doc = "A transposed convolution over " #n " spatial axes.",          \
        .init = ConvTranspose_init,                                           \
        .forward_schema =                                                     \
            "forward(Tensor input, SymInt[]? output_size=None) -> Tensor", )  \
    TRANSPOSE_TYPE(ReferenceConvTranspose##n##d, n,                           \
                   cfx_reference__weight(s, self), cfx_none(),                \
                   CFX_REFERENCE_ARGS,                                        \
                   .aliases = "QuantizedConvTranspose" #n "d(Reference)",     \
                   .doc = "A transposed convolution over " #n                 \
                          " spatial axes, with a weight that is quantized "   \
                          "and back.",                                        \
                   .init = ReferenceConvTranspose_init,                       \
                   .forward_schema = "forward(Tensor x) -> Tensor",           \
                   CFX_REFERENCE_TYPE, )

CONV_TRANSPOSE(1)
CONV_TRANSPOSE(2)
CONV_TRANSPOSE(3)
