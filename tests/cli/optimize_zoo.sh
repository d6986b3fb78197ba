#!/bin/sh
# Optimized models compute the same, node by node, whatever the number of
# threads, and are files like any other: a few models, or, with CFX_ZOO_MODELS
# set to "all", the zoo.
srcdir=${srcdir:-.} builddir=${builddir:-.} CFX=${CFX:-./cfx}
zoo=$(cd "$CFX_ZOO" && pwd)
. "$srcdir/tests/cli/said.sh"

models='resnet18 mobilenet_v3_small squeezenet1_1 regnet_x_400mf'
if [ "${CFX_ZOO_MODELS:-}" = all ]; then
    # The text of the vit's attention lacks the number of heads.
    models=$(cd "$zoo" && ls -- *.fx | sed '/^vit_/d; s/[.]fx$//')
fi
for model in $models; do
    x=$(sed -n "s/^{\"input\": \[[0-9]*, \([0-9, ]*\)\].*/x=f32[1, \1]/p" \
        "$zoo/$model.shapes.json")
    said "$model: its nodes are those of the original" 0 \
        '^0 of [1-9][0-9]+ nodes compared differ' "$cfx" diff \
        "$zoo/$model.fx" --random-weights 1 -i "$x" --optimize
    said "$model: in bfloat16, too, each on the same inputs" 0 \
        '^0 of [1-9][0-9]+ nodes compared differ' "$cfx" diff \
        "$zoo/$model.fx" --random-weights 1 -i "$x" --optimize --bfloat16 \
        --same-inputs
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
tell
