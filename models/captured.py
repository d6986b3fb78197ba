class GraphModule(torch.nn.Module):
    def forward(self, s0: "Sym(s0)", L_x_: "f32[s0, 3]", L_w_: "f32[8, 3]"):
        l_x_ = L_x_
        l_w_ = L_w_
        linear: "f32[s0, 8]" = torch._C._nn.linear(l_x_, l_w_);  l_x_ = l_w_ = None
        mul: "f32[s0, 8]" = linear * s0;  linear = s0 = None
        return (mul,)
