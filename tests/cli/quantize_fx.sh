#!/bin/sh
# What `cfx quantize` quantizes, call by call, against torch.ao's FX graph mode:
# the scales of golden/quantize, which oracle/quantize.py wrote. A line is a
# kind of call, `float` or a scale and zero point, and, where cfx does otherwise,
# the reason behind `#`; oracle/README.md explains the reasons.
srcdir=${srcdir:-.} builddir=${builddir:-.} CFX=${CFX:-./cfx}
. "$srcdir/tests/cli/said.sh"
golden=$src/tests/golden/quantize models=$src/models

# calls MODEL: a line for each input and call with users, like the goldens.
calls()
{
    sed -n 's/ meta = .*//; s/^    %\([^ ]*\) .*num_users=[1-9][0-9]*\] = /\1 /p' \
        "$1" | sed 's/\[target=\([^]]*\)\](args = (%*\([^,)]*\),* *\([^,]*\),* *\([^,]*\).*/ \1 \2 \3 \4/
            s/\[target=\([^]]*\)\].*/ \1/' | awk '
        $3 ~ /\.quantize_per_tensor\.default$/ { scale[$4] = $5 " " $6 }
        $2 == "get_attr" || $3 ~ /quantized_decomposed/ { next }
        { n++; node[n] = $1; kind[n] = $2 == "placeholder" ? $2 : $3 }
        END {
            for (i = 1; i <= n; i++) {
                k = kind[i]
                sub(/.*\./, "", k)
                gsub(/^_+|_+$/, "", k)
                if (k ~ /^i(add|mul)$/) k = substr(k, 2)
                if (k == "hardtanh") k = "relu6"
                if (k ~ /^(getattr|size|eq|assert)$/) continue
                print k, node[i] in scale ? scale[node[i]] : "float"
            }
        }'
}

# as_torch GOLDEN OURS: print the lines that differ without a reason.
as_torch()
{
    paste -d '|' "$1" "$2" | awk -F '|' '
        {
            split($1, theirs, " # ")
            split(theirs[1], a, " ")
            split($2, b, " ")
            near = a[2] == "float" || b[2] == "float" ? a[2] == b[2] : \
                (b[2] - a[2]) ^ 2 <= (1e-3 * a[2]) ^ 2 && \
                (b[3] - a[3]) ^ 2 <= 1
            reason = theirs[2]
            if (reason == "fused") good = b[2] == "float"
            else if (reason == "own") good = b[2] != "float" && !near
            else if (reason == "softmax") good = b[2] == 0.00390625
            else good = near && reason == ""
            if (a[1] != b[1] || !good) { print NR ": " $1 " | " $2; bad = 1 }
        }
        END { exit bad || !NR }'
}

compare() # compare NAME MODEL ARGUMENT...
{
    of=$1 model=$2
    shift 2
    said "$of is quantized" 0 '' "$cfx" quantize "$model" -q -o "$of.fx" "$@"
    calls "$of.fx" >ours
    said "$of has the scales of torch.ao" 0 '' as_torch \
        "$golden/$of.txt" ours
}

image='x=f32[2,3,64,64]'
compare digits "$models/digits.fx" --calibrate "x=$models/digits_images.npy"
compare resnet18 "$models/resnet18.fx" --random-weights 1 --calibrate "$image"
compare mobilenet_v3_small "$models/mobilenet_v3_small.fx" --random-weights 1 \
    --calibrate "$image"
if [ -f "${CFX_ZOO:-}/mobilenet_v2.fx" ]; then
    compare mobilenet_v2 "$CFX_ZOO/mobilenet_v2.fx" --random-weights 1 \
        --calibrate "$image"
fi
compare bert_layer "$golden/bert_layer.fx" --random-weights 1 \
    --calibrate 'x=f32[2,8,32]'
compare lstm_tagger "$golden/lstm_tagger.fx" --random-weights 1 \
    --calibrate 'words=i64[3,9]'

tell
