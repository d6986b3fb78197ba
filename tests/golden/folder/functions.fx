# cfx 1
Net(
  (deep): Module(
    (lin): Linear(in_features=4, out_features=4, bias=False, training=True)
    (drop): Dropout(p=0.5, inplace=False)
  )
)

state:
deep.scale: f32[4] parameter
deep.shift: f32[4] buffer
count: i64[] buffer

graph():
    %x : [num_users=1] = placeholder[target=x]
    %size : [num_users=1] = call_function[target=builtins.getattr](args = (%x, 'shape'), kwargs = {})
    %n : [num_users=1] = call_function[target=builtins.len](args = (%size,), kwargs = {})
    %root : [num_users=1] = call_function[target=math.sqrt](args = (%n,), kwargs = {})
    %lin : [num_users=1] = call_module[target=deep.lin](args = (%x,), kwargs = {})
    %drop : [num_users=1] = call_module[target=deep.drop](args = (%lin,), kwargs = {})
    %scale : [num_users=1] = get_attr[target=deep.scale]
    %shift : [num_users=1] = get_attr[target=deep.shift]
    %count : [num_users=1] = get_attr[target=count]
    %mul : [num_users=1] = call_function[target=operator.mul](args = (%drop, %scale), kwargs = {})
    %add : [num_users=1] = call_function[target=operator.iadd](args = (%mul, %shift), kwargs = {})
    %more : [num_users=1] = call_function[target=operator.add](args = (%add, %root), kwargs = {})
    %all : [num_users=1] = call_function[target=torch.add](args = (%more, %count), kwargs = {})
    return {'y': %all}
