# cfx 1
BertLayer(
  (query): Linear(in_features=32, out_features=32, bias=True)
  (key): Linear(in_features=32, out_features=32, bias=True)
  (value): Linear(in_features=32, out_features=32, bias=True)
  (dense): Linear(in_features=32, out_features=32, bias=True)
  (norm): LayerNorm(normalized_shape=(32,), eps=1e-05, elementwise_affine=True, bias=True)
  (intermediate): Linear(in_features=32, out_features=128, bias=True)
  (output): Linear(in_features=128, out_features=32, bias=True)
  (output_norm): LayerNorm(normalized_shape=(32,), eps=1e-05, elementwise_affine=True, bias=True)
)

state:
    query.weight: f32[32, 32] parameter
    query.bias: f32[32] parameter
    key.weight: f32[32, 32] parameter
    key.bias: f32[32] parameter
    value.weight: f32[32, 32] parameter
    value.bias: f32[32] parameter
    dense.weight: f32[32, 32] parameter
    dense.bias: f32[32] parameter
    norm.weight: f32[32] parameter
    norm.bias: f32[32] parameter
    intermediate.weight: f32[128, 32] parameter
    intermediate.bias: f32[128] parameter
    output.weight: f32[32, 128] parameter
    output.bias: f32[32] parameter
    output_norm.weight: f32[32] parameter
    output_norm.bias: f32[32] parameter

graph():
    %x : [num_users=4] = placeholder[target=x]
    %query : [num_users=1] = call_module[target=query](args = (%x,), kwargs = {})
    %reshape : [num_users=1] = call_method[target=reshape](args = (%query, 2, 8, 4, 8), kwargs = {})
    %permute : [num_users=1] = call_method[target=permute](args = (%reshape, 0, 2, 1, 3), kwargs = {})
    %key : [num_users=1] = call_module[target=key](args = (%x,), kwargs = {})
    %reshape_1 : [num_users=1] = call_method[target=reshape](args = (%key, 2, 8, 4, 8), kwargs = {})
    %permute_1 : [num_users=1] = call_method[target=permute](args = (%reshape_1, 0, 2, 1, 3), kwargs = {})
    %value : [num_users=1] = call_module[target=value](args = (%x,), kwargs = {})
    %reshape_2 : [num_users=1] = call_method[target=reshape](args = (%value, 2, 8, 4, 8), kwargs = {})
    %permute_2 : [num_users=1] = call_method[target=permute](args = (%reshape_2, 0, 2, 1, 3), kwargs = {})
    %transpose : [num_users=1] = call_method[target=transpose](args = (%permute_1, -1, -2), kwargs = {})
    %matmul : [num_users=1] = call_function[target=torch.matmul](args = (%permute, %transpose), kwargs = {})
    %mul : [num_users=1] = call_function[target=operator.mul](args = (%matmul, 0.35), kwargs = {})
    %softmax : [num_users=1] = call_function[target=torch.softmax](args = (%mul, -1), kwargs = {})
    %matmul_1 : [num_users=1] = call_function[target=torch.matmul](args = (%softmax, %permute_2), kwargs = {})
    %permute_3 : [num_users=1] = call_method[target=permute](args = (%matmul_1, 0, 2, 1, 3), kwargs = {})
    %reshape_3 : [num_users=1] = call_method[target=reshape](args = (%permute_3, 2, 8, 32), kwargs = {})
    %dense : [num_users=1] = call_module[target=dense](args = (%reshape_3,), kwargs = {})
    %add : [num_users=1] = call_function[target=operator.add](args = (%dense, %x), kwargs = {})
    %norm : [num_users=2] = call_module[target=norm](args = (%add,), kwargs = {})
    %intermediate : [num_users=1] = call_module[target=intermediate](args = (%norm,), kwargs = {})
    %gelu : [num_users=1] = call_function[target=torch._C._nn.gelu](args = (%intermediate,), kwargs = {})
    %output : [num_users=1] = call_module[target=output](args = (%gelu,), kwargs = {})
    %add_1 : [num_users=1] = call_function[target=operator.add](args = (%output, %norm), kwargs = {})
    %output_norm : [num_users=1] = call_module[target=output_norm](args = (%add_1,), kwargs = {})
    return %output_norm
