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
    %permute : [num_users=1] = call_function[target=torch.ops.aten.permute.default](args = (%add, [1, 0, 2]), kwargs = {})
    %permute_1 : [num_users=1] = call_function[target=torch.ops.aten.permute.default](args = (%enc_self_attn_in_proj_weight, [1, 0]), kwargs = {})
    %expand : [num_users=1] = call_function[target=torch.ops.aten.expand.default](args = (%permute, [4, 2, 8]), kwargs = {})
    %view : [num_users=1] = call_function[target=torch.ops.aten.view.default](args = (%expand, [4, 2, 8]), kwargs = {})
    %expand_1 : [num_users=1] = call_function[target=torch.ops.aten.expand.default](args = (%permute_1, [4, 8, 24]), kwargs = {})
    %view_1 : [num_users=1] = call_function[target=torch.ops.aten.view.default](args = (%expand_1, [4, 8, 24]), kwargs = {})
    %bmm : [num_users=1] = call_function[target=torch.ops.aten.bmm.default](args = (%view, %view_1), kwargs = {})
    %view_2 : [num_users=1] = call_function[target=torch.ops.aten.view.default](args = (%bmm, [4, 2, 24]), kwargs = {})
    %add_1 : [num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%view_2, %enc_self_attn_in_proj_bias), kwargs = {})
    %view_3 : [num_users=1] = call_function[target=torch.ops.aten.view.default](args = (%add_1, [4, 2, 3, 8]), kwargs = {})
    %unsqueeze : [num_users=1] = call_function[target=torch.ops.aten.unsqueeze.default](args = (%view_3, 0), kwargs = {})
    %permute_2 : [num_users=1] = call_function[target=torch.ops.aten.permute.default](args = (%unsqueeze, [3, 1, 2, 0, 4]), kwargs = {})
    %squeeze : [num_users=1] = call_function[target=torch.ops.aten.squeeze.dims](args = (%permute_2, [-2]), kwargs = {})
    %clone : [num_users=3] = call_function[target=torch.ops.aten.clone.default](args = (%squeeze,), kwargs = {memory_format: torch.contiguous_format})
    %select : [num_users=1] = call_function[target=torch.ops.aten.select.int](args = (%clone, 0, 0), kwargs = {})
    %select_1 : [num_users=1] = call_function[target=torch.ops.aten.select.int](args = (%clone, 0, 1), kwargs = {})
    %select_2 : [num_users=1] = call_function[target=torch.ops.aten.select.int](args = (%clone, 0, 2), kwargs = {})
    %view_4 : [num_users=1] = call_function[target=torch.ops.aten.view.default](args = (%select, [4, 4, 4]), kwargs = {})
    %permute_3 : [num_users=1] = call_function[target=torch.ops.aten.permute.default](args = (%view_4, [1, 0, 2]), kwargs = {})
    %view_5 : [num_users=1] = call_function[target=torch.ops.aten.view.default](args = (%select_1, [4, 4, 4]), kwargs = {})
    %permute_4 : [num_users=1] = call_function[target=torch.ops.aten.permute.default](args = (%view_5, [1, 0, 2]), kwargs = {})
    %view_6 : [num_users=1] = call_function[target=torch.ops.aten.view.default](args = (%select_2, [4, 4, 4]), kwargs = {})
    %permute_5 : [num_users=1] = call_function[target=torch.ops.aten.permute.default](args = (%view_6, [1, 0, 2]), kwargs = {})
    %view_7 : [num_users=1] = call_function[target=torch.ops.aten.view.default](args = (%permute_3, [2, 2, 4, 4]), kwargs = {})
    %view_8 : [num_users=1] = call_function[target=torch.ops.aten.view.default](args = (%permute_4, [2, 2, 4, 4]), kwargs = {})
    %view_9 : [num_users=1] = call_function[target=torch.ops.aten.view.default](args = (%permute_5, [2, 2, 4, 4]), kwargs = {})
    %mul_1 : [num_users=1] = call_function[target=torch.ops.aten.mul.Scalar](args = (%view_7, 0.7071067811865476), kwargs = {})
    %permute_6 : [num_users=1] = call_function[target=torch.ops.aten.permute.default](args = (%view_8, [0, 1, 3, 2]), kwargs = {})
    %mul_2 : [num_users=1] = call_function[target=torch.ops.aten.mul.Scalar](args = (%permute_6, 0.7071067811865476), kwargs = {})
    %expand_2 : [num_users=1] = call_function[target=torch.ops.aten.expand.default](args = (%mul_1, [2, 2, 4, 4]), kwargs = {})
    %view_10 : [num_users=1] = call_function[target=torch.ops.aten.view.default](args = (%expand_2, [4, 4, 4]), kwargs = {})
    %expand_3 : [num_users=1] = call_function[target=torch.ops.aten.expand.default](args = (%mul_2, [2, 2, 4, 4]), kwargs = {})
    %view_11 : [num_users=1] = call_function[target=torch.ops.aten.view.default](args = (%expand_3, [4, 4, 4]), kwargs = {})
    %bmm_1 : [num_users=1] = call_function[target=torch.ops.aten.bmm.default](args = (%view_10, %view_11), kwargs = {})
    %view_12 : [num_users=2] = call_function[target=torch.ops.aten.view.default](args = (%bmm_1, [2, 2, 4, 4]), kwargs = {})
    %_softmax : [num_users=2] = call_function[target=torch.ops.aten._softmax.default](args = (%view_12, -1, False), kwargs = {})
    %eq : [num_users=1] = call_function[target=torch.ops.aten.eq.Scalar](args = (%view_12, -inf), kwargs = {})
    %logical_not : [num_users=1] = call_function[target=torch.ops.aten.logical_not.default](args = (%eq,), kwargs = {})
    %any_1 : [num_users=1] = call_function[target=torch.ops.aten.any.dim](args = (%logical_not, -1, True), kwargs = {})
    %logical_not_1 : [num_users=1] = call_function[target=torch.ops.aten.logical_not.default](args = (%any_1,), kwargs = {})
    %full_like : [num_users=1] = call_function[target=torch.ops.aten.full_like.default](args = (%_softmax, 0), kwargs = {pin_memory: False, memory_format: torch.preserve_format})
    %where : [num_users=1] = call_function[target=torch.ops.aten.where.self](args = (%logical_not_1, %full_like, %_softmax), kwargs = {})
    %expand_4 : [num_users=1] = call_function[target=torch.ops.aten.expand.default](args = (%where, [2, 2, 4, 4]), kwargs = {})
    %view_13 : [num_users=1] = call_function[target=torch.ops.aten.view.default](args = (%expand_4, [4, 4, 4]), kwargs = {})
    %expand_5 : [num_users=1] = call_function[target=torch.ops.aten.expand.default](args = (%view_9, [2, 2, 4, 4]), kwargs = {})
    %view_14 : [num_users=1] = call_function[target=torch.ops.aten.view.default](args = (%expand_5, [4, 4, 4]), kwargs = {})
    %bmm_2 : [num_users=1] = call_function[target=torch.ops.aten.bmm.default](args = (%view_13, %view_14), kwargs = {})
    %view_15 : [num_users=1] = call_function[target=torch.ops.aten.view.default](args = (%bmm_2, [2, 2, 4, 4]), kwargs = {})
    %permute_7 : [num_users=1] = call_function[target=torch.ops.aten.permute.default](args = (%view_15, [2, 0, 1, 3]), kwargs = {})
    %clone_1 : [num_users=1] = call_function[target=torch.ops.aten.clone.default](args = (%permute_7,), kwargs = {memory_format: torch.contiguous_format})
    %permute_8 : [num_users=1] = call_function[target=torch.ops.aten.permute.default](args = (%clone_1, [1, 2, 0, 3]), kwargs = {})
    %permute_9 : [num_users=1] = call_function[target=torch.ops.aten.permute.default](args = (%permute_8, [2, 0, 1, 3]), kwargs = {})
    %view_16 : [num_users=1] = call_function[target=torch.ops.aten.view.default](args = (%permute_9, [8, 8]), kwargs = {})
    %permute_10 : [num_users=1] = call_function[target=torch.ops.aten.permute.default](args = (%enc_self_attn_out_proj_weight, [1, 0]), kwargs = {})
    %addmm : [num_users=1] = call_function[target=torch.ops.aten.addmm.default](args = (%enc_self_attn_out_proj_bias, %view_16, %permute_10), kwargs = {})
    %view_17 : [num_users=1] = call_function[target=torch.ops.aten.view.default](args = (%addmm, [4, 2, 8]), kwargs = {})
    %permute_11 : [num_users=1] = call_function[target=torch.ops.aten.permute.default](args = (%view_17, [1, 0, 2]), kwargs = {})
    %clone_2 : [num_users=1] = call_function[target=torch.ops.aten.clone.default](args = (%permute_11,), kwargs = {})
    %add_2 : [num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%add, %clone_2), kwargs = {})
    %native_layer_norm : [num_users=1] = call_function[target=torch.ops.aten.native_layer_norm.default](args = (%add_2, [8], %enc_norm1_weight, %enc_norm1_bias, 1e-05), kwargs = {})
    %getitem : [num_users=2] = call_function[target=operator.getitem](args = (%native_layer_norm, 0), kwargs = {})
    %view_18 : [num_users=1] = call_function[target=torch.ops.aten.view.default](args = (%getitem, [8, 8]), kwargs = {})
    %permute_12 : [num_users=1] = call_function[target=torch.ops.aten.permute.default](args = (%enc_linear1_weight, [1, 0]), kwargs = {})
    %addmm_1 : [num_users=1] = call_function[target=torch.ops.aten.addmm.default](args = (%enc_linear1_bias, %view_18, %permute_12), kwargs = {})
    %view_19 : [num_users=1] = call_function[target=torch.ops.aten.view.default](args = (%addmm_1, [2, 4, 12]), kwargs = {})
    %relu : [num_users=1] = call_function[target=torch.ops.aten.relu.default](args = (%view_19,), kwargs = {})
    %clone_3 : [num_users=1] = call_function[target=torch.ops.aten.clone.default](args = (%relu,), kwargs = {})
    %view_20 : [num_users=1] = call_function[target=torch.ops.aten.view.default](args = (%clone_3, [8, 12]), kwargs = {})
    %permute_13 : [num_users=1] = call_function[target=torch.ops.aten.permute.default](args = (%enc_linear2_weight, [1, 0]), kwargs = {})
    %addmm_2 : [num_users=1] = call_function[target=torch.ops.aten.addmm.default](args = (%enc_linear2_bias, %view_20, %permute_13), kwargs = {})
    %view_21 : [num_users=1] = call_function[target=torch.ops.aten.view.default](args = (%addmm_2, [2, 4, 8]), kwargs = {})
    %clone_4 : [num_users=1] = call_function[target=torch.ops.aten.clone.default](args = (%view_21,), kwargs = {})
    %add_3 : [num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%getitem, %clone_4), kwargs = {})
    %native_layer_norm_1 : [num_users=1] = call_function[target=torch.ops.aten.native_layer_norm.default](args = (%add_3, [8], %enc_norm2_weight, %enc_norm2_bias, 1e-05), kwargs = {})
    %getitem_3 : [num_users=1] = call_function[target=operator.getitem](args = (%native_layer_norm_1, 0), kwargs = {})
    %_native_batch_norm_legit_no_training : [num_users=1] = call_function[target=torch.ops.aten._native_batch_norm_legit_no_training.default](args = (%getitem_3, %bn_weight, %bn_bias, %bn_running_mean, %bn_running_var, 0.1, 1e-05), kwargs = {})
    %getitem_6 : [num_users=1] = call_function[target=operator.getitem](args = (%_native_batch_norm_legit_no_training, 0), kwargs = {})
    return (getitem_6,)
