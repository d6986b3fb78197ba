GraphModule(
  (emb): Module()
  (enc): Module(
    (self_attn): Module(
      (out_proj): Module()
    )
    (linear1): Module()
    (linear2): Module()
    (norm1): Module()
    (norm2): Module()
  )
  (unused): Module()
  (bn): Module()
  (_guards_fn): GuardsFn()
)

graph():
    %scale : [num_users=1] = get_attr[target=scale]
    %emb_weight : [num_users=1] = get_attr[target=emb.weight]
    %enc_self_attn_in_proj_weight : [num_users=1] = get_attr[target=enc.self_attn.in_proj_weight]
    %enc_self_attn_in_proj_bias : [num_users=1] = get_attr[target=enc.self_attn.in_proj_bias]
    %enc_self_attn_out_proj_weight : [num_users=1] = get_attr[target=enc.self_attn.out_proj.weight]
    %enc_self_attn_out_proj_bias : [num_users=1] = get_attr[target=enc.self_attn.out_proj.bias]
    %enc_linear1_weight : [num_users=1] = get_attr[target=enc.linear1.weight]
    %enc_linear1_bias : [num_users=1] = get_attr[target=enc.linear1.bias]
    %enc_linear2_weight : [num_users=1] = get_attr[target=enc.linear2.weight]
    %enc_linear2_bias : [num_users=1] = get_attr[target=enc.linear2.bias]
    %enc_norm1_weight : [num_users=1] = get_attr[target=enc.norm1.weight]
    %enc_norm1_bias : [num_users=1] = get_attr[target=enc.norm1.bias]
    %enc_norm2_weight : [num_users=1] = get_attr[target=enc.norm2.weight]
    %enc_norm2_bias : [num_users=1] = get_attr[target=enc.norm2.bias]
    %unused_weight : [num_users=0] = get_attr[target=unused.weight]
    %unused_bias : [num_users=0] = get_attr[target=unused.bias]
    %bn_weight : [num_users=1] = get_attr[target=bn.weight]
    %bn_bias : [num_users=1] = get_attr[target=bn.bias]
    %pos : [num_users=1] = get_attr[target=pos]
    %bn_running_mean : [num_users=1] = get_attr[target=bn.running_mean]
    %bn_running_var : [num_users=1] = get_attr[target=bn.running_var]
    %bn_num_batches_tracked : [num_users=0] = get_attr[target=bn.num_batches_tracked]
    %x : [num_users=2] = placeholder[target=x]
    %_guards_fn : [num_users=0] = call_module[target=_guards_fn](args = (%x,), kwargs = {})
    %embedding : [num_users=1] = call_function[target=torch.ops.aten.embedding.default](args = (%emb_weight, %x), kwargs = {})
    %mul : [num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%embedding, %scale), kwargs = {})
    %add : [num_users=2] = call_function[target=torch.ops.aten.add.Tensor](args = (%mul, %pos), kwargs = {})
    %transpose : [num_users=1] = call_function[target=torch.ops.aten.transpose.int](args = (%add, 1, 0), kwargs = {})
    %linear : [num_users=1] = call_function[target=torch.ops.aten.linear.default](args = (%transpose, %enc_self_attn_in_proj_weight, %enc_self_attn_in_proj_bias), kwargs = {})
    %unflatten : [num_users=1] = call_function[target=torch.ops.aten.unflatten.int](args = (%linear, -1, [3, 8]), kwargs = {})
    %unsqueeze : [num_users=1] = call_function[target=torch.ops.aten.unsqueeze.default](args = (%unflatten, 0), kwargs = {})
    %transpose_1 : [num_users=1] = call_function[target=torch.ops.aten.transpose.int](args = (%unsqueeze, 0, -2), kwargs = {})
    %squeeze : [num_users=1] = call_function[target=torch.ops.aten.squeeze.dim](args = (%transpose_1, -2), kwargs = {})
    %contiguous : [num_users=3] = call_function[target=torch.ops.aten.contiguous.default](args = (%squeeze,), kwargs = {})
    %select : [num_users=1] = call_function[target=torch.ops.aten.select.int](args = (%contiguous, 0, 0), kwargs = {})
    %select_1 : [num_users=1] = call_function[target=torch.ops.aten.select.int](args = (%contiguous, 0, 1), kwargs = {})
    %select_2 : [num_users=1] = call_function[target=torch.ops.aten.select.int](args = (%contiguous, 0, 2), kwargs = {})
    %view : [num_users=1] = call_function[target=torch.ops.aten.view.default](args = (%select, [4, 4, 4]), kwargs = {})
    %transpose_2 : [num_users=1] = call_function[target=torch.ops.aten.transpose.int](args = (%view, 0, 1), kwargs = {})
    %view_1 : [num_users=1] = call_function[target=torch.ops.aten.view.default](args = (%select_1, [4, 4, 4]), kwargs = {})
    %transpose_3 : [num_users=1] = call_function[target=torch.ops.aten.transpose.int](args = (%view_1, 0, 1), kwargs = {})
    %view_2 : [num_users=1] = call_function[target=torch.ops.aten.view.default](args = (%select_2, [4, 4, 4]), kwargs = {})
    %transpose_4 : [num_users=1] = call_function[target=torch.ops.aten.transpose.int](args = (%view_2, 0, 1), kwargs = {})
    %view_3 : [num_users=1] = call_function[target=torch.ops.aten.view.default](args = (%transpose_2, [2, 2, 4, 4]), kwargs = {})
    %view_4 : [num_users=1] = call_function[target=torch.ops.aten.view.default](args = (%transpose_3, [2, 2, 4, 4]), kwargs = {})
    %view_5 : [num_users=1] = call_function[target=torch.ops.aten.view.default](args = (%transpose_4, [2, 2, 4, 4]), kwargs = {})
    %scaled_dot_product_attention : [num_users=1] = call_function[target=torch.ops.aten.scaled_dot_product_attention.default](args = (%view_3, %view_4, %view_5), kwargs = {})
    %permute : [num_users=1] = call_function[target=torch.ops.aten.permute.default](args = (%scaled_dot_product_attention, [2, 0, 1, 3]), kwargs = {})
    %reshape : [num_users=1] = call_function[target=torch.ops.aten.reshape.default](args = (%permute, [8, 8]), kwargs = {})
    %linear_1 : [num_users=1] = call_function[target=torch.ops.aten.linear.default](args = (%reshape, %enc_self_attn_out_proj_weight, %enc_self_attn_out_proj_bias), kwargs = {})
    %view_6 : [num_users=1] = call_function[target=torch.ops.aten.view.default](args = (%linear_1, [4, 2, 8]), kwargs = {})
    %transpose_5 : [num_users=1] = call_function[target=torch.ops.aten.transpose.int](args = (%view_6, 1, 0), kwargs = {})
    %dropout : [num_users=1] = call_function[target=torch.ops.aten.dropout.default](args = (%transpose_5, 0.1, False), kwargs = {})
    %add_1 : [num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%add, %dropout), kwargs = {})
    %layer_norm : [num_users=2] = call_function[target=torch.ops.aten.layer_norm.default](args = (%add_1, [8], %enc_norm1_weight, %enc_norm1_bias, 1e-05, False), kwargs = {})
    %linear_2 : [num_users=1] = call_function[target=torch.ops.aten.linear.default](args = (%layer_norm, %enc_linear1_weight, %enc_linear1_bias), kwargs = {})
    %relu : [num_users=1] = call_function[target=torch.ops.aten.relu.default](args = (%linear_2,), kwargs = {})
    %dropout_1 : [num_users=1] = call_function[target=torch.ops.aten.dropout.default](args = (%relu, 0.1, False), kwargs = {})
    %linear_3 : [num_users=1] = call_function[target=torch.ops.aten.linear.default](args = (%dropout_1, %enc_linear2_weight, %enc_linear2_bias), kwargs = {})
    %dropout_2 : [num_users=1] = call_function[target=torch.ops.aten.dropout.default](args = (%linear_3, 0.1, False), kwargs = {})
    %add_2 : [num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%layer_norm, %dropout_2), kwargs = {})
    %layer_norm_1 : [num_users=1] = call_function[target=torch.ops.aten.layer_norm.default](args = (%add_2, [8], %enc_norm2_weight, %enc_norm2_bias, 1e-05, False), kwargs = {})
    %batch_norm : [num_users=1] = call_function[target=torch.ops.aten.batch_norm.default](args = (%layer_norm_1, %bn_weight, %bn_bias, %bn_running_mean, %bn_running_var, False, 0.1, 1e-05, False), kwargs = {})
    return (batch_norm,)
