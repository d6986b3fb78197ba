# cfx 1
A()

graph():
    %x : [num_users=1] = placeholder[target=x]
    %r : [num_users=0] = call_method[target=reshape](args = (%x, -1, 6), kwargs = {})
    %s : [num_users=0] = call_method[target=reshape](args = (%x, 2, -1), kwargs = {})
    %v : [num_users=0] = call_method[target=view](args = (%x, 3, 4), kwargs = {})
    %p : [num_users=0] = call_function[target=torch.split](args = (%x, 2), kwargs = {})
    return x
