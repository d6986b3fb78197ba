graph():
    %x : [num_users=2] = placeholder[target=x]
    %w : [num_users=1] = get_attr[target=w]
    %s : [num_users=1] = get_attr[target=s]
    %z : [num_users=1] = get_attr[target=z]
    %q : [num_users=2] = call_function[target=torch.quantize_per_channel](args = (%w, %s, %z, 0, torch.qint8), kwargs = {})
    %a : [num_users=1] = call_method[target=dequantize](args = (%q,), kwargs = {})
    %b : [num_users=1] = call_function[target=torch.dequantize](args = (%q,), kwargs = {})
    %r : [num_users=1] = call_function[target=torch.quantize_per_tensor](args = (%x, 0.1, 3, torch.quint8), kwargs = {})
    %c : [num_users=1] = call_method[target=dequantize](args = (%r,), kwargs = {})
    %t : [num_users=1] = call_function[target=torch.quantize_per_tensor_dynamic](args = (%x, torch.quint8, True), kwargs = {})
    %d : [num_users=1] = call_method[target=dequantize](args = (%t,), kwargs = {})
    return (a, b, c, d)
