GraphModule(
  (conv1): ConvReLU2d(
    (0): QuantizedConv2d(Reference)(1, 16, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))
    (1): ReLU()
  )
  (conv2): ConvReLU2d(
    (0): QuantizedConv2d(Reference)(16, 32, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))
    (1): ReLU()
  )
  (pool): MaxPool2d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False)
  (drop): Dropout(p=0.3, inplace=False)
  (fc): QuantizedLinear(Reference)(in_features=512, out_features=10, bias=True)
)

graph():
    %x : [num_users=1] = placeholder[target=x]
    %quantize_per_tensor_default : [num_users=1] = call_function[target=torch.ops.quantized_decomposed.quantize_per_tensor.default](args = (%x, 0.003919653594493866, 0, 0, 255, torch.uint8), kwargs = {})
    %dequantize_per_tensor_default : [num_users=1] = call_function[target=torch.ops.quantized_decomposed.dequantize_per_tensor.default](args = (%quantize_per_tensor_default, 0.003919653594493866, 0, 0, 255, torch.uint8), kwargs = {})
    %conv1 : [num_users=1] = call_module[target=conv1](args = (%dequantize_per_tensor_default,), kwargs = {})
    %quantize_per_tensor_default_1 : [num_users=1] = call_function[target=torch.ops.quantized_decomposed.quantize_per_tensor.default](args = (%conv1, 0.012779795564711094, 0, 0, 255, torch.uint8), kwargs = {})
    %dequantize_per_tensor_default_1 : [num_users=1] = call_function[target=torch.ops.quantized_decomposed.dequantize_per_tensor.default](args = (%quantize_per_tensor_default_1, 0.012779795564711094, 0, 0, 255, torch.uint8), kwargs = {})
    %conv2 : [num_users=1] = call_module[target=conv2](args = (%dequantize_per_tensor_default_1,), kwargs = {})
    %quantize_per_tensor_default_2 : [num_users=1] = call_function[target=torch.ops.quantized_decomposed.quantize_per_tensor.default](args = (%conv2, 0.025092044845223427, 0, 0, 255, torch.uint8), kwargs = {})
    %dequantize_per_tensor_default_2 : [num_users=1] = call_function[target=torch.ops.quantized_decomposed.dequantize_per_tensor.default](args = (%quantize_per_tensor_default_2, 0.025092044845223427, 0, 0, 255, torch.uint8), kwargs = {})
    %pool : [num_users=1] = call_module[target=pool](args = (%dequantize_per_tensor_default_2,), kwargs = {})
    %quantize_per_tensor_default_3 : [num_users=1] = call_function[target=torch.ops.quantized_decomposed.quantize_per_tensor.default](args = (%pool, 0.025092044845223427, 0, 0, 255, torch.uint8), kwargs = {})
    %dequantize_per_tensor_default_3 : [num_users=1] = call_function[target=torch.ops.quantized_decomposed.dequantize_per_tensor.default](args = (%quantize_per_tensor_default_3, 0.025092044845223427, 0, 0, 255, torch.uint8), kwargs = {})
    %flatten : [num_users=1] = call_function[target=torch.flatten](args = (%dequantize_per_tensor_default_3, 1), kwargs = {})
    %quantize_per_tensor_default_4 : [num_users=1] = call_function[target=torch.ops.quantized_decomposed.quantize_per_tensor.default](args = (%flatten, 0.025092044845223427, 0, 0, 255, torch.uint8), kwargs = {})
    %dequantize_per_tensor_default_4 : [num_users=1] = call_function[target=torch.ops.quantized_decomposed.dequantize_per_tensor.default](args = (%quantize_per_tensor_default_4, 0.025092044845223427, 0, 0, 255, torch.uint8), kwargs = {})
    %drop : [num_users=1] = call_module[target=drop](args = (%dequantize_per_tensor_default_4,), kwargs = {})
    %quantize_per_tensor_default_5 : [num_users=1] = call_function[target=torch.ops.quantized_decomposed.quantize_per_tensor.default](args = (%drop, 0.025519201532006264, 0, 0, 255, torch.uint8), kwargs = {})
    %dequantize_per_tensor_default_5 : [num_users=1] = call_function[target=torch.ops.quantized_decomposed.dequantize_per_tensor.default](args = (%quantize_per_tensor_default_5, 0.025519201532006264, 0, 0, 255, torch.uint8), kwargs = {})
    %fc : [num_users=1] = call_module[target=fc](args = (%dequantize_per_tensor_default_5,), kwargs = {})
    %quantize_per_tensor_default_6 : [num_users=1] = call_function[target=torch.ops.quantized_decomposed.quantize_per_tensor.default](args = (%fc, 0.15543526411056519, 130, 0, 255, torch.uint8), kwargs = {})
    %dequantize_per_tensor_default_6 : [num_users=1] = call_function[target=torch.ops.quantized_decomposed.dequantize_per_tensor.default](args = (%quantize_per_tensor_default_6, 0.15543526411056519, 130, 0, 255, torch.uint8), kwargs = {})
    return dequantize_per_tensor_default_6
