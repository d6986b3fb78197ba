/*
 * nn_quantized -- the modules of torch.ao.nn.quantized, intrinsic.quantized and
 * quantized.dynamic, which torch.ao's convert_fx makes.
 *
 * cfx has no type of quantized tensors: the floats stand for them that dequantize
 * makes of them. Such a module computes in float, with its weight dequantized. A
 * static one quantizes its result to uint8 and back, by its own scale and zero
 * point; a dynamic one its input, by the range that it has in the run.
 */
#include <cfx/ops.h>
#include <float.h>

#include "nn/nn_reference.h"
#include "op/composite.h"

#define DECOMPOSED "torch.ops.quantized_decomposed."

/* ---- State ---- */

static cfx_status declare_number(cfx_module *self, const char *name,
                                 cfx_dtype type, cfx_error *err)
{
    return cfx_module_buffer(self, name, type, 0, NULL, err);
}

static cfx_status declare_result(cfx_module *self, cfx_error *err)
{
    cfx_status st = declare_number(self, "scale", CFX_F32, err);
    return st ? st : declare_number(self, "zero_point", CFX_I64, err);
}

/* Let the weight be of integers, with a scale for each channel of axis 0. */
static cfx_status declare_weight(cfx_module *self, cfx_dtype type,
                                 cfx_dtype zero, cfx_error *err)
{
    const cfx_tensor *w = cfx_module_state(self, "weight")->tensor;
    cfx_dim n = w->shape[0];
    cfx_tensor *t;
    cfx_status st = cfx_tensor_meta(&t, cfx_module_context(self), type,
                                    w->rank, w->shape, NULL, err);
    if (st)
        return st;
    st = cfx_module_set(self, "weight", t, err);
    cfx_tensor_unref(t);
    if (!st)
        st = cfx_module_buffer(self, "weight_scale", CFX_F32, 1, &n, err);
    return st ? st
              : cfx_module_buffer(self, "weight_zero_point", zero, 1, &n, err);
}

static cfx_status init_float(cfx_module *self, const cfx_module_type *of,
                             cfx_error *err)
{
    return of->init ? of->init(self, err) : CFX_OK;
}

/* The state of a static module, and of one with a weight. */
static cfx_status init_static(cfx_module *self, const cfx_module_type *of,
                              cfx_error *err)
{
    cfx_status st = init_float(self, of, err);
    return st ? st : declare_result(self, err);
}

static cfx_status init_weighted(cfx_module *self, const cfx_module_type *of,
                                cfx_error *err)
{
    cfx_status st = init_static(self, of, err);
    return st ? st : declare_weight(self, CFX_I8, CFX_I64, err);
}

static cfx_status init_dynamic(cfx_module *self, const cfx_module_type *of,
                               cfx_error *err)
{
    cfx_status st = init_float(self, of, err);
    return st ? st : declare_weight(self, CFX_I8, CFX_I64, err);
}

/* Zero points of a table are no integers. */
static cfx_status init_table(cfx_module *self, const cfx_module_type *of,
                             cfx_error *err)
{
    cfx_status st = init_float(self, of, err);
    return st ? st : declare_weight(self, CFX_U8, CFX_F32, err);
}

/* ---- Values ---- */

/* x, quantized to uint8 and back. */
static cfx_value rounded(cfx_scope *s, cfx_value x, cfx_value scale,
                         cfx_value zero)
{
    cfx_value least = cfx_int(0), most = cfx_int(255);
    cfx_value type = cfx_value_of_dtype(CFX_U8);
    x = CFX_CALL(s, DECOMPOSED "quantize_per_tensor.tensor", x, scale, zero,
                 least, most, type);
    return CFX_CALL(s, DECOMPOSED "dequantize_per_tensor.tensor", x, scale,
                    zero, least, most, type);
}

static cfx_value result(cfx_scope *s, cfx_module *self, cfx_value x)
{
    return rounded(s, x, cfx_param_of(s, self, "scale"),
                   cfx_param_of(s, self, "zero_point"));
}

/* PyTorch leaves out half of the integers, so that sums of 16 bits suffice. */
static cfx_value dynamic(cfx_scope *s, cfx_value x)
{
    cfx_value both = cfx_choose_qparams(s, x, cfx_int(0), cfx_int(127),
                                        cfx_float(FLT_EPSILON),
                                        cfx_value_of_dtype(CFX_U8));
    return rounded(s, x, cfx_nth(s, both, 0), cfx_nth(s, both, 1));
}

/* ---- Types ---- */

#define MODULE(name) extern const cfx_module_type cfx_module__##name;
#include "nn/modules.def"
#undef MODULE

/* of_ has the state, and compute_ computes y in float from x, which is in_; out_
 * makes the result of `y`. */
#define QUANTIZED(class_, of_, compute_, params_, repr_, init_, in_, out_,    \
                  ...)                                                        \
    static cfx_status class_##_init(cfx_module *self, cfx_error *err)         \
    {                                                                         \
        return init_(self, &cfx_module__##of_, err);                          \
    }                                                                         \
    static cfx_value class_##_forward(cfx_scope *s, cfx_module *self,         \
                                      const cfx_value *in)                    \
    {                                                                         \
        const cfx_value x = in_;                                              \
        const cfx_value y = compute_;                                         \
        return out_;                                                          \
    }                                                                         \
    const cfx_module_type cfx_module__##class_ = {                            \
        .schema = #class_ "(" params_ ")",                                    \
        .repr = repr_,                                                        \
        .doc = "As " #of_ ", of numbers that are quantized and back.",        \
        .init = class_##_init,                                                \
        .forward_schema = "forward(Tensor input) -> Tensor",                  \
        .forward = class_##_forward,                                          \
        __VA_ARGS__};

/* A result that is quantized; a repr shows by what, if the module has a weight
 * of integers. */
#define AS(type) cfx_module__##type.forward(s, self, &x)
#define AS_IS result(s, self, y)
#define RELU result(s, self, cfx_relu(s, y))
#define SHOWN .repr_state = "scale zero_point",

#define CONV(n)                                                               \
    QUANTIZED(QuantizedConv##n##d, Conv##n##d, AS(ReferenceConv##n##d),       \
              CFX_CONV_PARAMS(n), CFX_CONV_REPR, init_weighted, in[0], AS_IS, \
              SHOWN)                                                          \
    QUANTIZED(QuantizedConvReLU##n##d, Conv##n##d, AS(ReferenceConv##n##d),   \
              CFX_CONV_PARAMS(n), CFX_CONV_REPR, init_weighted, in[0], RELU,  \
              SHOWN)                                                          \
    QUANTIZED(QuantizedConvTranspose##n##d, ConvTranspose##n##d,              \
              AS(ReferenceConvTranspose##n##d), CFX_CONV_TRANSPOSE_PARAMS(n), \
              CFX_CONV_TRANSPOSE_REPR, init_weighted, in[0], AS_IS, SHOWN)

CONV(1)
CONV(2)
CONV(3)

/* dtype and qscheme are printed for the packed weight, and have no effect. */
#define LINEAR(class_, init_, in_, out_, ...)                                 \
    QUANTIZED(class_, Linear, AS(ReferenceLinear),                            \
              "SymInt in_features, SymInt out_features, bool bias=True, any " \
              "dtype=None, any qscheme=None",                                 \
              "in_features out_features ?bias ?dtype ?qscheme", init_, in_,   \
              out_, __VA_ARGS__)

LINEAR(QuantizedLinear, init_weighted, in[0], AS_IS, SHOWN)
LINEAR(QuantizedLinearReLU, init_weighted, in[0], RELU, SHOWN)
LINEAR(DynamicQuantizedLinear, init_dynamic, dynamic(s, in[0]), y, )
LINEAR(DynamicQuantizedLinearReLU, init_dynamic, dynamic(s, in[0]),
       cfx_relu(s, y), )

QUANTIZED(QuantizedHardswish, Hardswish, cfx_hardswish(s, x), "", "",
          init_static, in[0], AS_IS, )
QUANTIZED(QuantizedELU, ELU, cfx_elu(s, x, .alpha = cfx_attr(self, "alpha")),
          "Scalar alpha=1.0", "alpha", init_static, in[0], AS_IS, )
QUANTIZED(QuantizedLeakyReLU, LeakyReLU,
          cfx_leaky_relu(s, x,
                         .negative_slope = cfx_attr(self, "negative_slope")),
          "Scalar negative_slope=0.01", "negative_slope", init_static, in[0],
          AS_IS, )
QUANTIZED(
    QuantizedLayerNorm, LayerNorm,
    cfx_layer_norm(s, x, cfx_attr(self, "normalized_shape"),
                   .weight = cfx_param_of(s, self, "weight"),
                   .bias = cfx_param_of(s, self, "bias"),
                   .eps = cfx_attr(self, "eps")),
    "SymInt[1] normalized_shape, Scalar eps=1e-05, bool elementwise_affine=True, bool bias=True",
    "$normalized_shape eps elementwise_affine bias", init_static, in[0],
    AS_IS, )

#define NORM(class_, out_)                                                    \
    QUANTIZED(class_, BatchNorm2d, AS(BatchNorm2d),                           \
              "SymInt num_features, Scalar eps=1e-05, Scalar? momentum=0.1, " \
              "bool affine=True, bool track_running_stats=True, *, bool "     \
              "bias=True",                                                    \
              "$num_features eps momentum affine bias track_running_stats",   \
              init_static, in[0], out_, )

NORM(QuantizedBatchNorm2d, AS_IS)
NORM(QuantizedBNReLU2d, RELU)

/* ---- Tables ---- */

static cfx_status QuantizedEmbedding_init(cfx_module *self, cfx_error *err)
{
    return init_table(self, &cfx_module__Embedding, err);
}

static cfx_value QuantizedEmbedding_forward(cfx_scope *s, cfx_module *self,
                                            const cfx_value *in)
{
    return cfx_embedding(s, cfx_reference__weight(s, self), in[0]);
}

const cfx_module_type cfx_module__QuantizedEmbedding = {
    .schema =
        "QuantizedEmbedding(SymInt num_embeddings, SymInt embedding_dim, any dtype=None, any qscheme=None)",
    .repr = "num_embeddings embedding_dim ?dtype ?qscheme",
    .doc = "Rows of a table of integers, as numbers.",
    .init = QuantizedEmbedding_init,
    .forward_schema = "forward(Tensor indices) -> Tensor",
    .forward = QuantizedEmbedding_forward,
};
