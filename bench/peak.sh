#!/bin/sh
# Print the peak resident memory of `cfx run`, and the size of the weights.
#
#     bench/peak.sh [CFX]        in the source tree; CFX is the program
#
# One line per model: weights, peak, and peak without the weights.
cfx=${1:-build/cfx}
models=$(dirname "$0")/../models
measure() { # measure NAME MODEL SHAPE WEIGHTS-IN-KB
    /usr/bin/time -f %M "$cfx" run "$2" -i "$3" --random-weights 0 \
        -o /dev/null 2>/tmp/peak.$$ || cat /tmp/peak.$$
    tail -1 /tmp/peak.$$ | awk -v n="$1" -v w="$4" '{
        printf "%-28s weights %8.1f MB  peak %8.1f MB  beyond %7.1f MB\n",
            n, w / 1024, $1 / 1024, ($1 - w) / 1024 }'
    rm -f /tmp/peak.$$
}
printf 'graph():\n    %%x : [num_users=1] = placeholder[target=x]\n    return x\n' >/tmp/empty.$$
measure 'nothing' /tmp/empty.$$ 1 0
rm -f /tmp/empty.$$
measure 'resnet18 of 1' "$models/resnet18.fx" 'f32[1,3,224,224]' 45694
measure 'resnet18 of 8' "$models/resnet18.fx" 'f32[8,3,224,224]' 45694
if [ -n "${CFX_ZOO:-}" ]; then
    measure 'resnet50 of 1' "$CFX_ZOO/resnet50.fx" 'f32[1,3,224,224]' 100040
    measure 'resnet50 of 8' "$CFX_ZOO/resnet50.fx" 'f32[8,3,224,224]' 100040
fi
