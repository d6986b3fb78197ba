#!/bin/sh
# Optimized models compute the same, node by node, whatever the number of
# threads, and are files like any other.
srcdir=${srcdir:-.} builddir=${builddir:-.} CFX=${CFX:-./cfx}
zoo=$(cd "$CFX_ZOO" && pwd)
. "$srcdir/tests/cli/said.sh"

input() # input MODEL [BATCH]: the argument of -i for a model of the zoo
{
    sed -n "s/^{\"input\": \[[0-9]*, \([0-9, ]*\)\].*/x=f32[${2:-1}, \1]/p" \
        "$zoo/$1.shapes.json"
}

# ---- Models ----

for model in resnet18 mobilenet_v3_small squeezenet1_1; do
    x=$(input $model)
    said "$model: its nodes are those of the original" 0 \
        '^0 of [1-9][0-9]+ nodes compared differ' "$cfx" diff \
        "$zoo/$model.fx" --random-weights 1 -i "$x" --optimize
    said "$model is written" 0 'verified' "$cfx" optimize "$zoo/$model.fx" \
        --random-weights 1 -i "$x" --verify -o fast.fx
    said "$model is read and written" 0 '' "$cfx" convert fast.fx again.fx
    sed 2d again.fx >written.fx # a note about PyTorch's text
    said "$model reads as it was written" 0 '' cmp fast.fx written.fx
    for threads in 1 2 3; do
        said "$model runs on $threads threads" 0 '' "$cfx" run fast.fx -i "$x" \
            -t $threads -O "out.$threads"
        said "$model computes the same on $threads threads" 0 '' \
            cmp out.1/output.npy "out.$threads/output.npy"
    done
done

# ---- Options ----

x=$(input resnet18)
said 'the text is printed' 0 'blocked_conv2d.*from_node.*bn1' "$cfx" optimize \
    "$zoo/resnet18.fx" --random-weights 1 -i "$x"
also 'a line for each pass' '^fuse_conv_bn +[0-9]+ nodes changed'
said 'no shapes remain' 1 '' grep -q 'tensor_meta\|Tensor "f32' fast.fx
said 'quiet' 0 '' "$cfx" optimize "$zoo/resnet18.fx" --random-weights 1 -q \
    -i "$x" -o fast.fx
said 'quiet is silent' 0 '' test ! -s out -a ! -s err
said 'the batch may be a symbol' 0 '' "$cfx" optimize "$zoo/resnet18.fx" \
    --random-weights 1 -i "$(input resnet18 N)" -o symbolic.fx
said 'it then runs with any' 0 'f32\[3, 1000\]' "$cfx" run symbolic.fx \
    -i "$(input resnet18 3)" --top 1
said 'run optimizes' 0 'output f32\[1, 1000\]' "$cfx" run "$zoo/resnet18.fx" \
    --random-weights 1 -i "$x" --optimize --top 1
said 'roofline shows the nodes that it makes' 0 'blocked_conv2d' "$cfx" \
    roofline "$zoo/resnet18.fx" --random-weights 1 -i "$x" --optimize
said 'roofline compares with the original' 0 'conv1' "$cfx" roofline \
    "$zoo/resnet18.fx" --random-weights 1 -i "$x" --optimize \
    --against "$zoo/resnet18.fx"
said 'a tolerance by the largest element' 1 'nodes compared differ' "$cfx" diff \
    "$zoo/resnet18.fx" --random-weights 1 -i "$x" --optimize --rmax 1e-9
said 'a tolerance is a number' 2 'rmax take numbers' "$cfx" diff \
    "$zoo/resnet18.fx" --rmax few

# ---- Errors ----

said 'weights are needed' 1 'no weights .*--random-weights' "$cfx" \
    optimize "$zoo/resnet18.fx" -i "$x"
said 'inputs are needed' 1 "input 'x' is missing" "$cfx" optimize "$zoo/resnet18.fx" \
    --random-weights 1
said 'a seed is for a run' 2 'seed needs --verify' "$cfx" optimize \
    "$zoo/resnet18.fx" --seed 1
tell
