#!/bin/sh
# Whole models in blocks of channels compute what they computed before, and images
# leave the blocks nowhere.
srcdir=${srcdir:-.} builddir=${builddir:-.} CFX=${CFX:-./cfx}
zoo=$(cd "$CFX_ZOO" && pwd)
. "$srcdir/tests/cli/said.sh"

for model in resnet18 mobilenet_v2 mobilenet_v3_small efficientnet_b0 \
    squeezenet1_1 inception_v3 regnet_x_400mf resnext50_32x4d; do
    size=$(sed -n 's/^{"input": \[[0-9]*, \([0-9, ]*\)\].*/\1/p' \
        "$zoo/$model.shapes.json")
    said "$model in blocks" 0 'verified: largest difference' "$cfx" transform \
        "$zoo/$model.fx" remove_dropout,fuse_conv_bn,block_channels \
        --random-weights 1 -i "x=f32[1, $size]" --verify -o "$model.fx"
    said "$model runs in blocks" 0 'torch.ops.cfx.blocked_conv2d' "$cfx" print \
        "$model.fx"
    "$cfx" print "$model.fx" | grep -c 'torch.ops.cfx.to_blocked' >moves
    said "$model stays in blocks" 0 '^0$' cat moves
done
tell
