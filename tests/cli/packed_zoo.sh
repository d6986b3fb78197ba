#!/bin/sh
# Models with packed weights of linear layers compute what they computed before.
srcdir=${srcdir:-.} builddir=${builddir:-.} CFX=${CFX:-./cfx}
zoo=$(cd "$CFX_ZOO" && pwd)
models=$(cd "$srcdir/models" && pwd)
. "$srcdir/tests/cli/said.sh"

for model in alexnet mobilenet_v3_small; do
    size=$(sed -n 's/^{"input": \[[0-9]*, \([0-9, ]*\)\].*/\1/p' \
        "$zoo/$model.shapes.json")
    said "$model with packed weights" 0 'verified: largest difference' "$cfx" \
        transform "$zoo/$model.fx" remove_dropout,pack_linear \
        --random-weights 1 -i "x=f32[3, $size]" --verify -o "$model.fx"
    said "$model has its activations in the products" 0 \
        'packed_linear.*activation' "$cfx" print "$model.fx"
done

said 'digits with packed weights' 0 'verified' "$cfx" transform \
    "$models/digits.fx" pack_linear -i 'x=f32[5, 1, 8, 8]' --verify -o digits.fx
for threads in 1 2 3; do
    said "alexnet runs on $threads threads" 0 '' "$cfx" run alexnet.fx \
        -i 'x=f32[3, 3, 224, 224]' -t $threads -O "out.$threads"
    said "alexnet computes the same on $threads threads" 0 '' \
        cmp out.1/output.npy "out.$threads/output.npy"
done
tell
