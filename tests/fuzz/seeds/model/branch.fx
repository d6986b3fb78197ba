# cfx 1
Branch(
  (positive): Branch()
  (negative): Branch()
)

graph():
    %x : [num_users=2] = placeholder[target=x]
    %sum_1 : [num_users=1] = call_function[target=torch.sum](args = (%x,), kwargs = {})
    %gt : [num_users=1] = call_function[target=operator.gt](args = (%sum_1, 0), kwargs = {})
    %positive : [num_users=1] = get_attr[target=positive]
    %negative : [num_users=1] = get_attr[target=negative]
    %cond : [num_users=1] = call_function[target=torch.ops.higher_order.cond](args = (%gt, %positive, %negative, (%x,)), kwargs = {})
    %getitem : [num_users=1] = call_function[target=operator.getitem](args = (%cond, 0), kwargs = {})
    return %getitem

graph positive():
    %x : [num_users=1] = placeholder[target=x]
    %sqrt : [num_users=1] = call_method[target=sqrt](args = (%x,), kwargs = {})
    return (%sqrt,)

graph negative():
    %x : [num_users=1] = placeholder[target=x]
    %neg : [num_users=1] = call_function[target=operator.neg](args = (%x,), kwargs = {})
    return (%neg,)
