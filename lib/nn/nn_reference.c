/*
 * nn_reference -- the weights of torch.ao's reference modules, which are kept in
 * float, and are quantized and back in each call.
 *
 * PyTorch's text hides the type of the integers. Zero points of 0 are those of
 * int8, since uint8 would lose all negative weights; for others the type has to
 * be written.
 */
#include "nn/nn_reference.h"

#include <cfx/ops.h>

#include "op/composite.h"

cfx_status cfx_reference__init(cfx_module *self, cfx_error *err)
{
    const cfx_dim one[] = {cfx_dim_int(1)};
    cfx_status st = cfx_module_buffer(self, "weight_scale", CFX_F32, 1, one,
                                      err);
    if (!st)
        st = cfx_module_buffer(self, "weight_zero_point", CFX_I64, 1, one,
                               err);
    return st ? st
              : cfx_module_buffer(self, "weight_axis", CFX_I32, 0, NULL, err);
}

/* The data of a buffer; NULL and a failure if it has none, or another type. */
static const void *data_of(cfx_scope *s, const cfx_module *self,
                           const char *name, cfx_dtype type)
{
    const cfx_state *state = cfx_module_state(self, name);
    const cfx_tensor *t = state ? state->tensor : NULL;
    if (t && t->data && t->dtype == type && cfx_tensor_is_contiguous(t))
        return t->data;
    cfx_scope_fail(s, CFX_EWEIGHT, "missing weight: %s, which has to be of %s",
                   name, cfx_dtypes[type].name);
    return NULL;
}

/* The type of the integers, in *type. */
static bool find_type(cfx_scope *s, const cfx_module *self, cfx_dtype *type)
{
    const cfx_tensor *t = cfx_module_state(self, "weight_zero_point")->tensor;
    *type = cfx_attr(self, "weight_dtype").u.dtype;
    if (!cfx_attr_is_undecided(self, "weight_dtype"))
        return true;
    const int64_t *zero = data_of(s, self, "weight_zero_point", CFX_I64);
    for (int64_t i = 0, n = zero ? cfx_tensor_numel(t) : 0; i < n; i++)
        if (zero[i]) {
            cfx_scope_fail(
                s, CFX_EUNDECIDED,
                "the text does not tell weight_dtype, and zero points are not 0: write weight_dtype=torch.int8 or torch.uint8 into the line of the module");
            return false;
        }
    return zero;
}

/* weight, whose integers have one scale for each channel. */
static cfx_value dequantized(cfx_scope *s, cfx_value w, cfx_value scale,
                             cfx_value zero, cfx_dtype type)
{
    bool is_signed = type == CFX_I8;
    return cfx_dequantize_per_channel(
        s, w, scale, zero, cfx_int(0), cfx_int(is_signed ? -128 : 0),
        cfx_int(is_signed ? 127 : 255), cfx_value_of_dtype(type));
}

cfx_value cfx_reference__weight(cfx_scope *s, cfx_module *self)
{
    cfx_value w = cfx_param_of(s, self, "weight");
    cfx_value scale = cfx_param_of(s, self, "weight_scale");
    cfx_value zero = cfx_param_of(s, self, "weight_zero_point");
    cfx_dtype type =
        (cfx_dtype)cfx_module_state(self, "weight")->tensor->dtype;
    if (!cfx_dtype_is_float(type))
        return dequantized(s, w, scale, zero, type);
    if (cfx_scope_failed(s) || (w.kind == CFX_TENSOR && !w.u.tensor->data))
        return w;
    if (!find_type(s, self, &type))
        return cfx_none();
    bool is_signed = type == CFX_I8;
    cfx_value least = cfx_int(is_signed ? -128 : 0);
    cfx_value most = cfx_int(is_signed ? 127 : 255);
    cfx_value t = cfx_value_of_dtype(type);
    const cfx_state *state = cfx_module_state(self, "weight_scale");
    if (cfx_tensor_numel(state->tensor) == 1) {
        cfx_value q = CFX_CALL(
            s, "torch.ops.quantized_decomposed.quantize_per_tensor.tensor", w,
            scale, zero, least, most, t);
        return CFX_CALL(
            s, "torch.ops.quantized_decomposed.dequantize_per_tensor.tensor",
            q, scale, zero, least, most, t);
    }
    const int32_t *axis = data_of(s, self, "weight_axis", CFX_I32);
    if (!axis)
        return cfx_none();
    cfx_value k = cfx_int(*axis);
    cfx_value q = cfx_quantize_per_channel(s, w, scale, zero, k, least, most,
                                           t);
    return cfx_dequantize_per_channel(s, q, scale, zero, k, least, most, t);
}
