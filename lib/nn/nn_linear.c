/*
 * nn_linear -- modules that multiply by a learned matrix.
 */
#include <cfx/module.h>
#include <cfx/ops.h>

#include "nn/nn_reference.h"

static cfx_status Linear_init(cfx_module *self, cfx_error *err)
{
    cfx_dim shape[] = {cfx_attr_dim(self, "out_features"),
                       cfx_attr_dim(self, "in_features")};
    cfx_status st = cfx_module_param(self, "weight", CFX_F32, 2, shape, err);
    if (st)
        return st;
    return cfx_attr_bool(self, "bias")
               ? cfx_module_param(self, "bias", CFX_F32, 1, shape, err)
               : cfx_module_no_param(self, "bias", err);
}

const cfx_module_type cfx_module__Linear = {
    .schema =
        "Linear(SymInt in_features, SymInt out_features, bool bias=True)",
    .aliases = "NonDynamicallyQuantizableLinear",
    .repr = "in_features out_features bias",
    .doc = "input times the transposed weight, plus bias.",
    .init = Linear_init,
    .forward_schema = "forward(Tensor input) -> Tensor",
    .forward = cfx_forward_operator,
    .op = "aten.linear.default",
};

/* ---- The reference module of torch.ao ---- */

static cfx_status ReferenceLinear_init(cfx_module *self, cfx_error *err)
{
    cfx_status st = Linear_init(self, err);
    return st ? st : cfx_reference__init(self, err);
}

static cfx_value ReferenceLinear_forward(cfx_scope *s, cfx_module *self,
                                         const cfx_value *in)
{
    return cfx_linear(s, in[0], cfx_reference__weight(s, self),
                      .bias = cfx_param_of(s, self, "bias"));
}

const cfx_module_type cfx_module__ReferenceLinear = {
    .schema =
        "ReferenceLinear(SymInt in_features, SymInt out_features, bool bias=True" CFX_REFERENCE_ARGS
        ")",
    .aliases = "QuantizedLinear(Reference)",
    .repr = "in_features out_features bias",
    .doc = "As Linear, with a weight that is quantized and back.",
    .init = ReferenceLinear_init,
    .forward_schema = "forward(Tensor x) -> Tensor",
    .forward = ReferenceLinear_forward,
    CFX_REFERENCE_TYPE,
};

/* ---- Bilinear ---- */

static cfx_status Bilinear_init(cfx_module *self, cfx_error *err)
{
    cfx_dim shape[] = {cfx_attr_dim(self, "out_features"),
                       cfx_attr_dim(self, "in1_features"),
                       cfx_attr_dim(self, "in2_features")};
    cfx_status st = cfx_module_param(self, "weight", CFX_F32, 3, shape, err);
    if (st)
        return st;
    return cfx_attr_bool(self, "bias")
               ? cfx_module_param(self, "bias", CFX_F32, 1, shape, err)
               : cfx_module_no_param(self, "bias", err);
}

const cfx_module_type cfx_module__Bilinear = {
    .schema =
        "Bilinear(SymInt in1_features, SymInt in2_features, SymInt out_features, bool bias=True)",
    .repr = "in1_features in2_features out_features bias",
    .doc = "A form that is linear in either of two inputs, plus b.",
    .init = Bilinear_init,
    .forward_schema = "forward(Tensor input1, Tensor input2) -> Tensor",
    .forward = cfx_forward_operator,
    .op = "aten.bilinear.default",
};
