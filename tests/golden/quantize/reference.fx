GraphModule(
  (conv): QuantizedConv2d(Reference)(3, 4, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))
  (more): QuantizedConv2d(Reference)(4, 4, kernel_size=(3, 3), stride=(1, 1))
  (fc): QuantizedLinear(Reference)(in_features=4, out_features=5, bias=True)
)

graph():
    %x : [num_users=1] = placeholder[target=x]
    %conv_input_scale_0 : [num_users=1] = get_attr[target=conv_input_scale_0]
    %conv_input_zero_point_0 : [num_users=1] = get_attr[target=conv_input_zero_point_0]
    %quantize_per_tensor : [num_users=1] = call_function[target=torch.quantize_per_tensor](args = (%x, %conv_input_scale_0, %conv_input_zero_point_0, torch.quint8), kwargs = {})
    %dequantize : [num_users=1] = call_method[target=dequantize](args = (%quantize_per_tensor,), kwargs = {})
    %conv : [num_users=1] = call_module[target=conv](args = (%dequantize,), kwargs = {})
    %conv_scale_0 : [num_users=1] = get_attr[target=conv_scale_0]
    %conv_zero_point_0 : [num_users=1] = get_attr[target=conv_zero_point_0]
    %quantize_per_tensor_1 : [num_users=1] = call_function[target=torch.quantize_per_tensor](args = (%conv, %conv_scale_0, %conv_zero_point_0, torch.quint8), kwargs = {})
    %dequantize_1 : [num_users=1] = call_method[target=dequantize](args = (%quantize_per_tensor_1,), kwargs = {})
    %relu : [num_users=2] = call_function[target=torch.relu](args = (%dequantize_1,), kwargs = {})
    %_scale_0 : [num_users=1] = get_attr[target=_scale_0]
    %_zero_point_0 : [num_users=1] = get_attr[target=_zero_point_0]
    %quantize_per_tensor_2 : [num_users=1] = call_function[target=torch.quantize_per_tensor](args = (%relu, %_scale_0, %_zero_point_0, torch.quint8), kwargs = {})
    %dequantize_2 : [num_users=1] = call_method[target=dequantize](args = (%quantize_per_tensor_2,), kwargs = {})
    %more : [num_users=1] = call_module[target=more](args = (%dequantize_2,), kwargs = {})
    %more_scale_0 : [num_users=1] = get_attr[target=more_scale_0]
    %more_zero_point_0 : [num_users=1] = get_attr[target=more_zero_point_0]
    %quantize_per_tensor_3 : [num_users=1] = call_function[target=torch.quantize_per_tensor](args = (%more, %more_scale_0, %more_zero_point_0, torch.quint8), kwargs = {})
    %dequantize_3 : [num_users=2] = call_method[target=dequantize](args = (%quantize_per_tensor_3,), kwargs = {})
    %getitem : [num_users=1] = call_function[target=operator.getitem](args = (%relu, (slice(None, None, None), slice(None, None, None), slice(1, -1, None), slice(1, -1, None))), kwargs = {})
    %_scale_1 : [num_users=1] = get_attr[target=_scale_1]
    %_zero_point_1 : [num_users=1] = get_attr[target=_zero_point_1]
    %quantize_per_tensor_4 : [num_users=1] = call_function[target=torch.quantize_per_tensor](args = (%getitem, %_scale_1, %_zero_point_1, torch.quint8), kwargs = {})
    %dequantize_4 : [num_users=1] = call_method[target=dequantize](args = (%quantize_per_tensor_4,), kwargs = {})
    %add : [num_users=1] = call_function[target=operator.add](args = (%dequantize_3, %dequantize_4), kwargs = {})
    %_scale_2 : [num_users=1] = get_attr[target=_scale_2]
    %_zero_point_2 : [num_users=1] = get_attr[target=_zero_point_2]
    %quantize_per_tensor_5 : [num_users=1] = call_function[target=torch.quantize_per_tensor](args = (%add, %_scale_2, %_zero_point_2, torch.quint8), kwargs = {})
    %dequantize_5 : [num_users=1] = call_method[target=dequantize](args = (%quantize_per_tensor_5,), kwargs = {})
    %cat : [num_users=1] = call_function[target=torch.cat](args = ([%dequantize_5, %dequantize_3], 1), kwargs = {})
    %_scale_3 : [num_users=1] = get_attr[target=_scale_3]
    %_zero_point_3 : [num_users=1] = get_attr[target=_zero_point_3]
    %quantize_per_tensor_6 : [num_users=1] = call_function[target=torch.quantize_per_tensor](args = (%cat, %_scale_3, %_zero_point_3, torch.quint8), kwargs = {})
    %dequantize_6 : [num_users=1] = call_method[target=dequantize](args = (%quantize_per_tensor_6,), kwargs = {})
    %getitem_1 : [num_users=1] = call_function[target=operator.getitem](args = (%dequantize_6, (slice(None, None, None), slice(None, 4, None))), kwargs = {})
    %_scale_4 : [num_users=1] = get_attr[target=_scale_4]
    %_zero_point_4 : [num_users=1] = get_attr[target=_zero_point_4]
    %quantize_per_tensor_7 : [num_users=1] = call_function[target=torch.quantize_per_tensor](args = (%getitem_1, %_scale_4, %_zero_point_4, torch.quint8), kwargs = {})
    %dequantize_7 : [num_users=1] = call_method[target=dequantize](args = (%quantize_per_tensor_7,), kwargs = {})
    %max_pool2d : [num_users=1] = call_function[target=torch.nn.functional.max_pool2d](args = (%dequantize_7, 2), kwargs = {stride: None, padding: 0, dilation: 1, ceil_mode: False, return_indices: False})
    %_scale_5 : [num_users=1] = get_attr[target=_scale_5]
    %_zero_point_5 : [num_users=1] = get_attr[target=_zero_point_5]
    %quantize_per_tensor_8 : [num_users=1] = call_function[target=torch.quantize_per_tensor](args = (%max_pool2d, %_scale_5, %_zero_point_5, torch.quint8), kwargs = {})
    %dequantize_8 : [num_users=1] = call_method[target=dequantize](args = (%quantize_per_tensor_8,), kwargs = {})
    %mean : [num_users=1] = call_method[target=mean](args = (%dequantize_8, (2, 3)), kwargs = {})
    %_scale_6 : [num_users=1] = get_attr[target=_scale_6]
    %_zero_point_6 : [num_users=1] = get_attr[target=_zero_point_6]
    %quantize_per_tensor_9 : [num_users=1] = call_function[target=torch.quantize_per_tensor](args = (%mean, %_scale_6, %_zero_point_6, torch.quint8), kwargs = {})
    %dequantize_9 : [num_users=1] = call_method[target=dequantize](args = (%quantize_per_tensor_9,), kwargs = {})
    %fc : [num_users=1] = call_module[target=fc](args = (%dequantize_9,), kwargs = {})
    %fc_scale_0 : [num_users=1] = get_attr[target=fc_scale_0]
    %fc_zero_point_0 : [num_users=1] = get_attr[target=fc_zero_point_0]
    %quantize_per_tensor_10 : [num_users=1] = call_function[target=torch.quantize_per_tensor](args = (%fc, %fc_scale_0, %fc_zero_point_0, torch.quint8), kwargs = {})
    %dequantize_10 : [num_users=1] = call_method[target=dequantize](args = (%quantize_per_tensor_10,), kwargs = {})
    return dequantize_10
