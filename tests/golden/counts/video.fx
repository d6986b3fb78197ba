Video(
  (conv): Module()
  (bn): BatchNorm3d(4, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)
)

graph():
    %x : [num_users=1] = placeholder[target=x]
    %conv_weight : [num_users=1] = get_attr[target=conv.weight]
    %conv3d : [num_users=1] = call_function[target=torch.conv3d](args = (%x, %conv_weight, None, (1, 1, 1), (0, 0, 0), (1, 1, 1), 1), kwargs = {})
    %gamma : [num_users=1] = get_attr[target=gamma]
    %mul : [num_users=1] = call_function[target=operator.mul](args = (%conv3d, %gamma), kwargs = {})
    %bn : [num_users=1] = call_module[target=bn](args = (%mul,), kwargs = {})
    %_tensor_constant0 : [num_users=1] = get_attr[target=_tensor_constant0]
    %add : [num_users=1] = call_function[target=operator.add](args = (%bn, %_tensor_constant0), kwargs = {})
    return add
