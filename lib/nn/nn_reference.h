/*
 * nn_reference.h -- the weights of torch.ao's reference and quantized modules. Not
 * installed.
 */
#ifndef CFX_NN_REFERENCE_H
#define CFX_NN_REFERENCE_H

#include <cfx/module.h>

/* For their descriptors. */
#define CFX_REFERENCE_ARGS ", ScalarType weight_dtype=int8"
#define CFX_REFERENCE_TYPE                                                    \
    .lazy = "weight_dtype", .resized = "weight_scale weight_zero_point"

/* Constructors of convolutions with n spatial axes, and what a repr shows. */
#define CFX_CONV_PARAMS(n)                                                    \
    "SymInt in_channels, SymInt out_channels, SymInt[" #n "] kernel_size, "   \
    "SymInt[" #n "] stride=1, SymInt[" #n "]|str padding=0, SymInt[" #n       \
    "] dilation=1, SymInt groups=1, bool bias=True, str "                     \
    "padding_mode='zeros'"
#define CFX_CONV_REPR                                                         \
    "$in_channels $out_channels kernel_size stride ?=padding ?dilation "      \
    "?groups ?bias ?=padding_mode"
#define CFX_CONV_TRANSPOSE_PARAMS(n)                                          \
    "SymInt in_channels, SymInt out_channels, SymInt[" #n "] kernel_size, "   \
    "SymInt[" #n "] stride=1, SymInt[" #n "] padding=0, SymInt[" #n           \
    "] output_padding=0, SymInt groups=1, bool bias=True, SymInt[" #n         \
    "] dilation=1, str padding_mode='zeros'"
#define CFX_CONV_TRANSPOSE_REPR                                               \
    "$in_channels $out_channels kernel_size stride ?padding ?dilation "       \
    "?output_padding ?groups ?bias ?=padding_mode"

/* Declare weight_scale, weight_zero_point and weight_axis. */
cfx_status cfx_reference__init(cfx_module *self, cfx_error *err);
/* The weight, quantized and back; in a scope without data as it is. A weight of
 * integers is dequantized, by a scale and a zero point for each channel of axis
 * 0. */
cfx_value cfx_reference__weight(cfx_scope *s, cfx_module *self);

#endif
