f32[N,2]
graph():
    %a : [num_users=0] = placeholder[target=a]
    %r : [num_users=1] = call_function[target=torch.arange](args = (3,), kwargs = {})
    %t : [num_users=1] = call_function[target=torch.tensor](args = ([4611686018427387904, 1],), kwargs = {})
    %i : [num_users=1] = call_function[target=torch.index_select](args = (%r, 0, %t), kwargs = {})
    return i
