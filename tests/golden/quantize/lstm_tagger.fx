# cfx 1
Tagger(
  (embedding): Embedding(num_embeddings=50, embedding_dim=16, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False)
  (lstm): LSTM(input_size=16, hidden_size=12, num_layers=1, bias=True, batch_first=True, dropout=0.0, bidirectional=True, proj_size=0)
  (tags): Linear(in_features=24, out_features=7, bias=True)
)

state:
    embedding.weight: f32[50, 16] parameter
    lstm.weight_ih_l0: f32[48, 16] parameter
    lstm.weight_hh_l0: f32[48, 12] parameter
    lstm.bias_ih_l0: f32[48] parameter
    lstm.bias_hh_l0: f32[48] parameter
    lstm.weight_ih_l0_reverse: f32[48, 16] parameter
    lstm.weight_hh_l0_reverse: f32[48, 12] parameter
    lstm.bias_ih_l0_reverse: f32[48] parameter
    lstm.bias_hh_l0_reverse: f32[48] parameter
    tags.weight: f32[7, 24] parameter
    tags.bias: f32[7] parameter

graph():
    %words : [num_users=1] = placeholder[target=words]
    %embedding : [num_users=1] = call_module[target=embedding](args = (%words,), kwargs = {})
    %lstm : [num_users=2] = call_module[target=lstm](args = (%embedding,), kwargs = {})
    %getitem : [num_users=1] = call_function[target=operator.getitem](args = (%lstm, 0), kwargs = {})
    %getitem_1 : [num_users=0] = call_function[target=operator.getitem](args = (%lstm, 1), kwargs = {})
    %relu : [num_users=1] = call_function[target=torch.relu](args = (%getitem,), kwargs = {})
    %tags : [num_users=1] = call_module[target=tags](args = (%relu,), kwargs = {})
    return %tags
