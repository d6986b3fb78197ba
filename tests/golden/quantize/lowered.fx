GraphModule(
  (conv): QuantizedConv2d(3, 8, kernel_size=(3, 3), stride=(1, 1), scale=0.02957831509411335, zero_point=69, bias=False)
  (leaky): QuantizedLeakyReLU(negative_slope=0.1)
  (norm): QuantizedLayerNorm((6,), eps=1e-05, elementwise_affine=True, bias=True)
  (bn): QuantizedBNReLU2d(8, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)
  (elu): QuantizedELU(alpha=1.0)
  (swish): QuantizedHardswish()
  (drop): QuantizedDropout(p=0.1, inplace=False)
  (gate): Hardsigmoid()
  (pool): AdaptiveAvgPool2d(output_size=2)
  (fc): QuantizedLinear(in_features=5, out_features=5, scale=0.01201639138162136, zero_point=70, qscheme=torch.per_channel_affine)
)

graph():
    %x : [num_users=1] = placeholder[target=x]
    %conv_input_scale_0 : [num_users=1] = get_attr[target=conv_input_scale_0]
    %conv_input_zero_point_0 : [num_users=1] = get_attr[target=conv_input_zero_point_0]
    %quantize_per_tensor : [num_users=1] = call_function[target=torch.quantize_per_tensor](args = (%x, %conv_input_scale_0, %conv_input_zero_point_0, torch.quint8), kwargs = {})
    %conv : [num_users=1] = call_module[target=conv](args = (%quantize_per_tensor,), kwargs = {})
    %leaky : [num_users=1] = call_module[target=leaky](args = (%conv,), kwargs = {})
    %norm : [num_users=1] = call_module[target=norm](args = (%leaky,), kwargs = {})
    %bn : [num_users=1] = call_module[target=bn](args = (%norm,), kwargs = {})
    %elu : [num_users=1] = call_module[target=elu](args = (%bn,), kwargs = {})
    %_packed_weight_0 : [num_users=1] = get_attr[target=_packed_weight_0]
    %_scale_1 : [num_users=1] = get_attr[target=_scale_1]
    %_zero_point_1 : [num_users=1] = get_attr[target=_zero_point_1]
    %conv2d : [num_users=2] = call_function[target=torch.ops.quantized.conv2d](args = (%elu, %_packed_weight_0, [1, 1], [1, 1], [1, 1], 2, %_scale_1, %_zero_point_1), kwargs = {})
    %swish : [num_users=1] = call_module[target=swish](args = (%conv2d,), kwargs = {})
    %drop : [num_users=1] = call_module[target=drop](args = (%swish,), kwargs = {})
    %gate : [num_users=1] = call_module[target=gate](args = (%conv2d,), kwargs = {})
    %_scale_2 : [num_users=1] = get_attr[target=_scale_2]
    %_zero_point_2 : [num_users=1] = get_attr[target=_zero_point_2]
    %mul_2 : [num_users=1] = call_function[target=torch.ops.quantized.mul](args = (%drop, %gate, %_scale_2, %_zero_point_2), kwargs = {})
    %_scale_3 : [num_users=1] = get_attr[target=_scale_3]
    %_zero_point_3 : [num_users=1] = get_attr[target=_zero_point_3]
    %hardswish_1 : [num_users=1] = call_function[target=torch.ops.quantized.hardswish](args = (%mul_2,), kwargs = {output_scale: %_scale_3, output_zero_point: %_zero_point_3})
    %pool : [num_users=1] = call_module[target=pool](args = (%hardswish_1,), kwargs = {})
    %_packed_weight_1 : [num_users=1] = get_attr[target=_packed_weight_1]
    %_scale_5 : [num_users=1] = get_attr[target=_scale_5]
    %_zero_point_5 : [num_users=1] = get_attr[target=_zero_point_5]
    %linear : [num_users=2] = call_function[target=torch.ops.quantized.linear_relu](args = (%pool, %_packed_weight_1, %_scale_5, %_zero_point_5), kwargs = {})
    %sigmoid : [num_users=1] = call_function[target=torch.sigmoid](args = (%linear,), kwargs = {})
    %fc : [num_users=1] = call_module[target=fc](args = (%linear,), kwargs = {})
    %tanh : [num_users=1] = call_function[target=torch.tanh](args = (%fc,), kwargs = {})
    %_scale_8 : [num_users=1] = get_attr[target=_scale_8]
    %_zero_point_8 : [num_users=1] = get_attr[target=_zero_point_8]
    %mul_3 : [num_users=2] = call_function[target=torch.ops.quantized.mul](args = (%sigmoid, %tanh, %_scale_8, %_zero_point_8), kwargs = {})
    %transpose : [num_users=1] = call_method[target=transpose](args = (%mul_3, 1, 2), kwargs = {})
    %getattr_1 : [num_users=1] = call_function[target=builtins.getattr](args = (%mul_3, shape), kwargs = {})
    %getitem : [num_users=1] = call_function[target=operator.getitem](args = (%getattr_1, 0), kwargs = {})
    %reshape : [num_users=1] = call_method[target=reshape](args = (%transpose, %getitem, -1), kwargs = {})
    %dequantize_21 : [num_users=1] = call_method[target=dequantize](args = (%reshape,), kwargs = {})
    return dequantize_21
