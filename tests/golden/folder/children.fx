# cfx 1
Net(
  (0): Module(
    (part): Module(
      (lin): Linear(in_features=4, out_features=3, bias=True)
    )
  )
  (seq): Sequential(
    (0): ReLU()
    (1): Softmax(dim=-1)
  )
)

graph():
    %x : [num_users=1] = placeholder[target=x]
    %part : [num_users=1] = call_module[target=0.part](args = (%x,), kwargs = {})
    %seq : [num_users=1] = call_module[target=seq](args = (%part,), kwargs = {})
    return %seq

graph 0.part():
    %a : [num_users=1] = placeholder[target=a]
    %lin : [num_users=1] = call_module[target=lin](args = (%a,), kwargs = {})
    return %lin
