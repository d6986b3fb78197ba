# cfx 1
ResNetDigits(
  (up): Upsample(size=None, scale_factor=2.0, mode='nearest', align_corners=None, recompute_scale_factor=None)
  (stem): Module(training=True
    (0): Module(training=True
      (0): Conv2d(in_channels=1, out_channels=12, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1), dilation=(1, 1), groups=1, bias=False, padding_mode='zeros')
      (1): BatchNorm2d(num_features=12, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True, bias=True)
    )
    (1): ReLU(inplace=True)
  )
  (blocks): Module(training=True
    (0): Module(training=True
      (conv1): Module(training=True
        (0): Conv2d(in_channels=12, out_channels=12, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1), dilation=(1, 1), groups=1, bias=False, padding_mode='zeros')
        (1): BatchNorm2d(num_features=12, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True, bias=True)
      )
      (relu): ReLU(inplace=True)
      (conv2): Module(training=True
        (0): Conv2d(in_channels=12, out_channels=12, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1), dilation=(1, 1), groups=1, bias=False, padding_mode='zeros')
        (1): BatchNorm2d(num_features=12, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True, bias=True)
      )
      (shortcut): Identity()
    )
    (1): Module(training=True
      (layers): Module(training=True
        (0): Module(training=True
          (0): Conv2d(in_channels=12, out_channels=36, kernel_size=(1, 1), stride=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1, bias=False, padding_mode='zeros')
          (1): BatchNorm2d(num_features=36, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True, bias=True)
        )
        (1): ReLU6(inplace=True)
        (2): Module(training=True
          (0): Conv2d(in_channels=36, out_channels=36, kernel_size=(3, 3), stride=(2, 2), padding=(1, 1), dilation=(1, 1), groups=36, bias=False, padding_mode='zeros')
          (1): BatchNorm2d(num_features=36, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True, bias=True)
        )
        (3): ReLU6(inplace=True)
        (4): Module(training=True
          (0): Conv2d(in_channels=36, out_channels=16, kernel_size=(1, 1), stride=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1, bias=False, padding_mode='zeros')
          (1): BatchNorm2d(num_features=16, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True, bias=True)
        )
      )
    )
    (2): Module(training=True
      (layers): Module(training=True
        (0): Module(training=True
          (0): Conv2d(in_channels=16, out_channels=48, kernel_size=(1, 1), stride=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1, bias=False, padding_mode='zeros')
          (1): BatchNorm2d(num_features=48, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True, bias=True)
        )
        (1): ReLU6(inplace=True)
        (2): Module(training=True
          (0): Conv2d(in_channels=48, out_channels=48, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1), dilation=(1, 1), groups=48, bias=False, padding_mode='zeros')
          (1): BatchNorm2d(num_features=48, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True, bias=True)
        )
        (3): ReLU6(inplace=True)
        (4): Module(training=True
          (0): Conv2d(in_channels=48, out_channels=16, kernel_size=(1, 1), stride=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1, bias=False, padding_mode='zeros')
          (1): BatchNorm2d(num_features=16, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True, bias=True)
        )
      )
    )
    (3): Module(training=True
      (conv1): Module(training=True
        (0): Conv2d(in_channels=16, out_channels=24, kernel_size=(3, 3), stride=(2, 2), padding=(1, 1), dilation=(1, 1), groups=1, bias=False, padding_mode='zeros')
        (1): BatchNorm2d(num_features=24, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True, bias=True)
      )
      (relu): ReLU(inplace=True)
      (conv2): Module(training=True
        (0): Conv2d(in_channels=24, out_channels=24, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1), dilation=(1, 1), groups=1, bias=False, padding_mode='zeros')
        (1): BatchNorm2d(num_features=24, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True, bias=True)
      )
      (shortcut): Module(training=True
        (0): Conv2d(in_channels=16, out_channels=24, kernel_size=(1, 1), stride=(2, 2), padding=(0, 0), dilation=(1, 1), groups=1, bias=False, padding_mode='zeros')
        (1): BatchNorm2d(num_features=24, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True, bias=True)
      )
    )
    (4): Module(training=True
      (layers): Module(training=True
        (0): Module(training=True
          (0): Conv2d(in_channels=24, out_channels=72, kernel_size=(1, 1), stride=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1, bias=False, padding_mode='zeros')
          (1): BatchNorm2d(num_features=72, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True, bias=True)
        )
        (1): ReLU6(inplace=True)
        (2): Module(training=True
          (0): Conv2d(in_channels=72, out_channels=72, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1), dilation=(1, 1), groups=72, bias=False, padding_mode='zeros')
          (1): BatchNorm2d(num_features=72, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True, bias=True)
        )
        (3): ReLU6(inplace=True)
        (4): Module(training=True
          (0): Conv2d(in_channels=72, out_channels=24, kernel_size=(1, 1), stride=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1, bias=False, padding_mode='zeros')
          (1): BatchNorm2d(num_features=24, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True, bias=True)
        )
      )
    )
  )
  (pool): AdaptiveAvgPool2d(output_size=1)
  (fc): Linear(in_features=24, out_features=10, bias=True)
)

state:
    stem.0.0.weight: f32[12, 1, 3, 3] parameter
    stem.0.1.weight: f32[12] parameter
    stem.0.1.bias: f32[12] parameter
    blocks.0.conv1.0.weight: f32[12, 12, 3, 3] parameter
    blocks.0.conv1.1.weight: f32[12] parameter
    blocks.0.conv1.1.bias: f32[12] parameter
    blocks.0.conv2.0.weight: f32[12, 12, 3, 3] parameter
    blocks.0.conv2.1.weight: f32[12] parameter
    blocks.0.conv2.1.bias: f32[12] parameter
    blocks.1.layers.0.0.weight: f32[36, 12, 1, 1] parameter
    blocks.1.layers.0.1.weight: f32[36] parameter
    blocks.1.layers.0.1.bias: f32[36] parameter
    blocks.1.layers.2.0.weight: f32[36, 1, 3, 3] parameter
    blocks.1.layers.2.1.weight: f32[36] parameter
    blocks.1.layers.2.1.bias: f32[36] parameter
    blocks.1.layers.4.0.weight: f32[16, 36, 1, 1] parameter
    blocks.1.layers.4.1.weight: f32[16] parameter
    blocks.1.layers.4.1.bias: f32[16] parameter
    blocks.2.layers.0.0.weight: f32[48, 16, 1, 1] parameter
    blocks.2.layers.0.1.weight: f32[48] parameter
    blocks.2.layers.0.1.bias: f32[48] parameter
    blocks.2.layers.2.0.weight: f32[48, 1, 3, 3] parameter
    blocks.2.layers.2.1.weight: f32[48] parameter
    blocks.2.layers.2.1.bias: f32[48] parameter
    blocks.2.layers.4.0.weight: f32[16, 48, 1, 1] parameter
    blocks.2.layers.4.1.weight: f32[16] parameter
    blocks.2.layers.4.1.bias: f32[16] parameter
    blocks.3.conv1.0.weight: f32[24, 16, 3, 3] parameter
    blocks.3.conv1.1.weight: f32[24] parameter
    blocks.3.conv1.1.bias: f32[24] parameter
    blocks.3.conv2.0.weight: f32[24, 24, 3, 3] parameter
    blocks.3.conv2.1.weight: f32[24] parameter
    blocks.3.conv2.1.bias: f32[24] parameter
    blocks.3.shortcut.0.weight: f32[24, 16, 1, 1] parameter
    blocks.3.shortcut.1.weight: f32[24] parameter
    blocks.3.shortcut.1.bias: f32[24] parameter
    blocks.4.layers.0.0.weight: f32[72, 24, 1, 1] parameter
    blocks.4.layers.0.1.weight: f32[72] parameter
    blocks.4.layers.0.1.bias: f32[72] parameter
    blocks.4.layers.2.0.weight: f32[72, 1, 3, 3] parameter
    blocks.4.layers.2.1.weight: f32[72] parameter
    blocks.4.layers.2.1.bias: f32[72] parameter
    blocks.4.layers.4.0.weight: f32[24, 72, 1, 1] parameter
    blocks.4.layers.4.1.weight: f32[24] parameter
    blocks.4.layers.4.1.bias: f32[24] parameter
    fc.weight: f32[10, 24] parameter
    fc.bias: f32[10] parameter
    stem.0.1.running_mean: f32[12] buffer
    stem.0.1.running_var: f32[12] buffer
    stem.0.1.num_batches_tracked: i64[] buffer
    blocks.0.conv1.1.running_mean: f32[12] buffer
    blocks.0.conv1.1.running_var: f32[12] buffer
    blocks.0.conv1.1.num_batches_tracked: i64[] buffer
    blocks.0.conv2.1.running_mean: f32[12] buffer
    blocks.0.conv2.1.running_var: f32[12] buffer
    blocks.0.conv2.1.num_batches_tracked: i64[] buffer
    blocks.1.layers.0.1.running_mean: f32[36] buffer
    blocks.1.layers.0.1.running_var: f32[36] buffer
    blocks.1.layers.0.1.num_batches_tracked: i64[] buffer
    blocks.1.layers.2.1.running_mean: f32[36] buffer
    blocks.1.layers.2.1.running_var: f32[36] buffer
    blocks.1.layers.2.1.num_batches_tracked: i64[] buffer
    blocks.1.layers.4.1.running_mean: f32[16] buffer
    blocks.1.layers.4.1.running_var: f32[16] buffer
    blocks.1.layers.4.1.num_batches_tracked: i64[] buffer
    blocks.2.layers.0.1.running_mean: f32[48] buffer
    blocks.2.layers.0.1.running_var: f32[48] buffer
    blocks.2.layers.0.1.num_batches_tracked: i64[] buffer
    blocks.2.layers.2.1.running_mean: f32[48] buffer
    blocks.2.layers.2.1.running_var: f32[48] buffer
    blocks.2.layers.2.1.num_batches_tracked: i64[] buffer
    blocks.2.layers.4.1.running_mean: f32[16] buffer
    blocks.2.layers.4.1.running_var: f32[16] buffer
    blocks.2.layers.4.1.num_batches_tracked: i64[] buffer
    blocks.3.conv1.1.running_mean: f32[24] buffer
    blocks.3.conv1.1.running_var: f32[24] buffer
    blocks.3.conv1.1.num_batches_tracked: i64[] buffer
    blocks.3.conv2.1.running_mean: f32[24] buffer
    blocks.3.conv2.1.running_var: f32[24] buffer
    blocks.3.conv2.1.num_batches_tracked: i64[] buffer
    blocks.3.shortcut.1.running_mean: f32[24] buffer
    blocks.3.shortcut.1.running_var: f32[24] buffer
    blocks.3.shortcut.1.num_batches_tracked: i64[] buffer
    blocks.4.layers.0.1.running_mean: f32[72] buffer
    blocks.4.layers.0.1.running_var: f32[72] buffer
    blocks.4.layers.0.1.num_batches_tracked: i64[] buffer
    blocks.4.layers.2.1.running_mean: f32[72] buffer
    blocks.4.layers.2.1.running_var: f32[72] buffer
    blocks.4.layers.2.1.num_batches_tracked: i64[] buffer
    blocks.4.layers.4.1.running_mean: f32[24] buffer
    blocks.4.layers.4.1.running_var: f32[24] buffer
    blocks.4.layers.4.1.num_batches_tracked: i64[] buffer

graph():
    %x : [num_users=1] = placeholder[target=x]
    %up : [num_users=1] = call_module[target=up](args = (%x,), kwargs = {})
    %stem_0_0 : [num_users=1] = call_module[target=stem.0.0](args = (%up,), kwargs = {})
    %stem_0_1 : [num_users=1] = call_module[target=stem.0.1](args = (%stem_0_0,), kwargs = {})
    %stem_1 : [num_users=2] = call_module[target=stem.1](args = (%stem_0_1,), kwargs = {})
    %blocks_0_conv1_0 : [num_users=1] = call_module[target=blocks.0.conv1.0](args = (%stem_1,), kwargs = {})
    %blocks_0_conv1_1 : [num_users=1] = call_module[target=blocks.0.conv1.1](args = (%blocks_0_conv1_0,), kwargs = {})
    %blocks_0_relu : [num_users=1] = call_module[target=blocks.0.relu](args = (%blocks_0_conv1_1,), kwargs = {})
    %blocks_0_conv2_0 : [num_users=1] = call_module[target=blocks.0.conv2.0](args = (%blocks_0_relu,), kwargs = {})
    %blocks_0_conv2_1 : [num_users=1] = call_module[target=blocks.0.conv2.1](args = (%blocks_0_conv2_0,), kwargs = {})
    %blocks_0_shortcut : [num_users=1] = call_module[target=blocks.0.shortcut](args = (%stem_1,), kwargs = {})
    %add : [num_users=1] = call_function[target=operator.add](args = (%blocks_0_conv2_1, %blocks_0_shortcut), kwargs = {})
    %blocks_0_relu_1 : [num_users=1] = call_module[target=blocks.0.relu](args = (%add,), kwargs = {})
    %blocks_1_layers_0_0 : [num_users=1] = call_module[target=blocks.1.layers.0.0](args = (%blocks_0_relu_1,), kwargs = {})
    %blocks_1_layers_0_1 : [num_users=1] = call_module[target=blocks.1.layers.0.1](args = (%blocks_1_layers_0_0,), kwargs = {})
    %blocks_1_layers_1 : [num_users=1] = call_module[target=blocks.1.layers.1](args = (%blocks_1_layers_0_1,), kwargs = {})
    %blocks_1_layers_2_0 : [num_users=1] = call_module[target=blocks.1.layers.2.0](args = (%blocks_1_layers_1,), kwargs = {})
    %blocks_1_layers_2_1 : [num_users=1] = call_module[target=blocks.1.layers.2.1](args = (%blocks_1_layers_2_0,), kwargs = {})
    %blocks_1_layers_3 : [num_users=1] = call_module[target=blocks.1.layers.3](args = (%blocks_1_layers_2_1,), kwargs = {})
    %blocks_1_layers_4_0 : [num_users=1] = call_module[target=blocks.1.layers.4.0](args = (%blocks_1_layers_3,), kwargs = {})
    %blocks_1_layers_4_1 : [num_users=2] = call_module[target=blocks.1.layers.4.1](args = (%blocks_1_layers_4_0,), kwargs = {})
    %blocks_2_layers_0_0 : [num_users=1] = call_module[target=blocks.2.layers.0.0](args = (%blocks_1_layers_4_1,), kwargs = {})
    %blocks_2_layers_0_1 : [num_users=1] = call_module[target=blocks.2.layers.0.1](args = (%blocks_2_layers_0_0,), kwargs = {})
    %blocks_2_layers_1 : [num_users=1] = call_module[target=blocks.2.layers.1](args = (%blocks_2_layers_0_1,), kwargs = {})
    %blocks_2_layers_2_0 : [num_users=1] = call_module[target=blocks.2.layers.2.0](args = (%blocks_2_layers_1,), kwargs = {})
    %blocks_2_layers_2_1 : [num_users=1] = call_module[target=blocks.2.layers.2.1](args = (%blocks_2_layers_2_0,), kwargs = {})
    %blocks_2_layers_3 : [num_users=1] = call_module[target=blocks.2.layers.3](args = (%blocks_2_layers_2_1,), kwargs = {})
    %blocks_2_layers_4_0 : [num_users=1] = call_module[target=blocks.2.layers.4.0](args = (%blocks_2_layers_3,), kwargs = {})
    %blocks_2_layers_4_1 : [num_users=1] = call_module[target=blocks.2.layers.4.1](args = (%blocks_2_layers_4_0,), kwargs = {})
    %add_1 : [num_users=2] = call_function[target=operator.add](args = (%blocks_1_layers_4_1, %blocks_2_layers_4_1), kwargs = {})
    %blocks_3_conv1_0 : [num_users=1] = call_module[target=blocks.3.conv1.0](args = (%add_1,), kwargs = {})
    %blocks_3_conv1_1 : [num_users=1] = call_module[target=blocks.3.conv1.1](args = (%blocks_3_conv1_0,), kwargs = {})
    %blocks_3_relu : [num_users=1] = call_module[target=blocks.3.relu](args = (%blocks_3_conv1_1,), kwargs = {})
    %blocks_3_conv2_0 : [num_users=1] = call_module[target=blocks.3.conv2.0](args = (%blocks_3_relu,), kwargs = {})
    %blocks_3_conv2_1 : [num_users=1] = call_module[target=blocks.3.conv2.1](args = (%blocks_3_conv2_0,), kwargs = {})
    %blocks_3_shortcut_0 : [num_users=1] = call_module[target=blocks.3.shortcut.0](args = (%add_1,), kwargs = {})
    %blocks_3_shortcut_1 : [num_users=1] = call_module[target=blocks.3.shortcut.1](args = (%blocks_3_shortcut_0,), kwargs = {})
    %add_2 : [num_users=1] = call_function[target=operator.add](args = (%blocks_3_conv2_1, %blocks_3_shortcut_1), kwargs = {})
    %blocks_3_relu_1 : [num_users=2] = call_module[target=blocks.3.relu](args = (%add_2,), kwargs = {})
    %blocks_4_layers_0_0 : [num_users=1] = call_module[target=blocks.4.layers.0.0](args = (%blocks_3_relu_1,), kwargs = {})
    %blocks_4_layers_0_1 : [num_users=1] = call_module[target=blocks.4.layers.0.1](args = (%blocks_4_layers_0_0,), kwargs = {})
    %blocks_4_layers_1 : [num_users=1] = call_module[target=blocks.4.layers.1](args = (%blocks_4_layers_0_1,), kwargs = {})
    %blocks_4_layers_2_0 : [num_users=1] = call_module[target=blocks.4.layers.2.0](args = (%blocks_4_layers_1,), kwargs = {})
    %blocks_4_layers_2_1 : [num_users=1] = call_module[target=blocks.4.layers.2.1](args = (%blocks_4_layers_2_0,), kwargs = {})
    %blocks_4_layers_3 : [num_users=1] = call_module[target=blocks.4.layers.3](args = (%blocks_4_layers_2_1,), kwargs = {})
    %blocks_4_layers_4_0 : [num_users=1] = call_module[target=blocks.4.layers.4.0](args = (%blocks_4_layers_3,), kwargs = {})
    %blocks_4_layers_4_1 : [num_users=1] = call_module[target=blocks.4.layers.4.1](args = (%blocks_4_layers_4_0,), kwargs = {})
    %add_3 : [num_users=1] = call_function[target=operator.add](args = (%blocks_3_relu_1, %blocks_4_layers_4_1), kwargs = {})
    %pool : [num_users=1] = call_module[target=pool](args = (%add_3,), kwargs = {})
    %flatten : [num_users=1] = call_function[target=torch.flatten](args = (%pool, 1), kwargs = {})
    %fc : [num_users=1] = call_module[target=fc](args = (%flatten,), kwargs = {})
    return %fc
