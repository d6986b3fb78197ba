#!/bin/sh
# Models with packed weights of linear and recurrent layers compute what they
# computed before.
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
        'packed_linear.*post_ops' "$cfx" print "$model.fx"
done

said 'digits with packed weights' 0 'verified' "$cfx" transform \
    "$models/digits.fx" pack_linear -i 'x=f32[5, 1, 8, 8]' --verify -o digits.fx
for threads in 1 2 3; do
    said "alexnet runs on $threads threads" 0 '' "$cfx" run alexnet.fx \
        -i 'x=f32[3, 3, 224, 224]' -t $threads -O "out.$threads"
    said "alexnet computes the same on $threads threads" 0 '' \
        cmp out.1/output.npy "out.$threads/output.npy"
done

# ---- Recurrent layers ----

cat >layers.fx <<'TEXT'
Layers(
  (a): LSTM(24, 70, num_layers=2, batch_first=True, bidirectional=True)
  (b): GRU(140, 200, bias=False)
)

graph():
    %x : [num_users=1] = placeholder[target=x]
    %a : [num_users=2] = call_module[target=a](args = (%x,), kwargs = {})
    %y : [num_users=1] = call_function[target=operator.getitem](args = (%a, 0), kwargs = {})
    %states : [num_users=1] = call_function[target=operator.getitem](args = (%a, 1), kwargs = {})
    %c : [num_users=1] = call_function[target=operator.getitem](args = (%states, 1), kwargs = {})
    %b : [num_users=1] = call_module[target=b](args = (%y,), kwargs = {})
    return (b, c)
TEXT
x='x=f32[3, 19, 24]'
said 'recurrent layers compute what they did' 0 '^0 of [5-7] nodes compared' \
    "$cfx" diff layers.fx --random-weights 1 -i "$x" --optimize --rmax 1e-4
said 'they are nearly the same in bfloat16' 0 '^0 of' "$cfx" diff layers.fx \
    --random-weights 1 -i "$x" --optimize --bfloat16 --rmax 2e-2
for weights in '' --bfloat16; do
    for threads in 1 2 3 5; do
        said "recurrent layers run on $threads threads" 0 '' "$cfx" run \
            layers.fx --random-weights 1 -i "$x" --optimize $weights -t $threads \
            -O "layers.$threads"
        said "recurrent layers compute the same on $threads threads" 0 '' \
            diff -r layers.1 "layers.$threads"
    done
done
said 'packed recurrent layers have costs' 0 'packed_lstm' "$cfx" roofline \
    layers.fx --random-weights 1 -i "x=f32[N, T, 24]" --optimize \
    --set N=2 --set T=5
tell
