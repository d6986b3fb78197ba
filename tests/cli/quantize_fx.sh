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
    said "$of is quantized" 0 '' "$cfx" quantize "$model" -q -o "$of.fx" \
        --quantizer x86_all "$@"
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

# ---- Models that torch.ao converted ----

# The text is PyTorch's: reference modules and quantized_decomposed.
ao=$golden/digits_ao images=$models/digits_images.npy
said 'a converted model runs' 0 '' "$cfx" run "$ao.fx" -i "x=$images" -O o
head -c 288 o/output.npy >first.npy
said 'with the results of PyTorch' 0 '' sh -c 'od -An -v -tf4 -w4 -j128 \
    first.npy | awk -v expected="$(cat "$0")" "
        BEGIN { n = split(expected, v, \" \") }
        { d = \$1 - v[NR + 1]; if (d * d > 1e-10) bad = 1 }
        END { exit bad || NR != n - 1 }"' "$ao.txt"
{ "$cfx" print "$ao.fx" --format modules && echo && "$cfx" print "$ao.fx"; } \
    >printed.fx
said 'its text is printed as it was' 0 '' cmp printed.fx "$ao.fx"
said 'it has shapes without weights' 0 'f32\[N, 10\]' "$cfx" shapes "$ao.fx" \
    -i 'x=f32[N,1,8,8]'
said 'its modules are inlined' 0 '' "$cfx" transform "$ao.fx" inline_modules \
    -o inlined.fx
said 'with the same results' 0 '' "$cfx" diff "$ao.fx" inlined.fx -i "x=$images"
sed 's/(in_features=512/(weight_dtype=torch.uint8, in_features=512/' \
    "$ao.fx" >typed.fx
said 'the type may be written' 0 '' "$cfx" run typed.fx -w "$ao.safetensors" \
    -i "x=$images"
cat >one.fx <<'TEXT'
GraphModule(
  (fc): QuantizedLinear(Reference)(in_features=1, out_features=1, bias=False)
)

graph():
    %x : [num_users=1] = placeholder[target=x]
    %fc : [num_users=1] = call_module[target=fc](args = (%x,), kwargs = {})
    return fc
TEXT
# A weight of 200, a scale of 1, and a zero point, of one byte in octal.
one() # one BYTE ARGUMENT...: run it
{
    header='{"fc.weight": {"dtype": "F32", "shape": [1, 1], "data_offsets": [0, 4]}, "fc.weight_axis": {"dtype": "I32", "shape": [], "data_offsets": [4, 8]}, "fc.weight_scale": {"dtype": "F32", "shape": [1], "data_offsets": [8, 12]}, "fc.weight_zero_point": {"dtype": "I64", "shape": [1], "data_offsets": [12, 20]}}'
    printf '\220\001\0\0\0\0\0\0%-400s\0\0\110\103\0\0\0\0\0\0\200\077' \
        "$header" >one.safetensors
    printf "\\$1\\0\\0\\0\\0\\0\\0\\0" >>one.safetensors
    "$cfx" run one.fx -i x=two.npy
}
printf "\223NUMPY\001\0v\0{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1), }%58s\n\0\0\0\100" '' >two.npy
said 'zero points of 0 are those of int8' 0 '254' one 0
said 'others do not tell the type' 1 'write weight_dtype=torch.int8' one 3
sed 's/bias=False/bias=False, weight_dtype=torch.uint8/' one.fx >t.fx && mv t.fx one.fx
said 'which may be written' 0 '400' one 3
cat >quint8.fx <<'TEXT'
graph():
    %x : [num_users=1] = placeholder[target=x]
    %quantize_per_tensor : [num_users=1] = call_function[target=torch.quantize_per_tensor](args = (%x, 0.1, 0, torch.quint8), kwargs = {})
    %dequantize : [num_users=1] = call_method[target=dequantize](args = (%quantize_per_tensor,), kwargs = {})
    return dequantize
TEXT
said 'quantized tensors are integers' 0 'quantize_per_tensor +call_function .* u8\[3\]' \
    "$cfx" shapes quint8.fx -i 'x=f32[3]'
said 'a bare quantize, dequantize runs' 0 'output f32\[3\]' \
    "$cfx" run quint8.fx -i 'x=f32[3]'
sed '5s/.*/    return quantize_per_tensor/' quint8.fx | sed '4d' >given.fx
said 'a quantized result is refused' 1 \
    '%output: output is a quantized tensor: convert with .* convert_to_reference_fx' \
    "$cfx" run given.fx -i 'x=f32[3]'
# behind LINES: the graph with these in place of dequantize.
behind()
{
    sed 's/return dequantize/return y/' quint8.fx | sed "4c\\$1"
}
behind '    %r : [num_users=1] = call_function[target=torch.exp](args = (%quantize_per_tensor,), kwargs = {})\
    %y : [num_users=1] = call_method[target=dequantize](args = (%r,), kwargs = {})' >exp.fx
said 'so is a call whose result has no scale' 1 \
    '^cfx: exp.fx: %r: torch.exp takes a quantized tensor, and no rule tells' \
    "$cfx" run exp.fx -i 'x=f32[3]'
for name in relu sigmoid; do
    sed "s/torch.exp/torch.$name/" exp.fx >$name.fx
done
said 'a result has the scale of the input' 0 \
    'r : .*torch.relu.*dequantize_per_tensor.default\]\(args = \(.*, 0\.1, 0, 0, 255, torch.uint8\)' \
    sh -c '"$1" print relu.fx | tr "\n" " "' sh "$cfx"
said 'or one that is fixed' 0 \
    'dequantize_per_tensor.default.*, 0\.00390625, 0, 0, 255, torch.uint8\)' \
    "$cfx" print sigmoid.fx
sed 's/torch.exp/torch.ops.quantized.mul/; s/(%quantize_per_tensor,)/(%quantize_per_tensor, 0.5)/' \
    exp.fx >half.fx
said 'a product with a number has a scale times that' 0 \
    'quantize_per_tensor.default.*\(%r, 0\.05, 0, 0, 255' "$cfx" print half.fx
sed 's/, 0\.5)/, -0.5)/' half.fx >minus.fx
sed 's/quantized.mul/quantized.add/' half.fx >plus.fx
sed 's/, 0\.5)/, %quantize_per_tensor)/' half.fx >unscaled.fx
sed 's/%quantize_per_tensor, 0\.5/%x, %x, 0.1, 0/' half.fx >float.fx
sed 's/quantized.mul/quantized.linear/; s/, 0\.5)/, 1, 0.1, 3)/' half.fx >weightless.fx
for name in minus plus unscaled; do
    said "a result without a scale is refused: $name" 1 \
        '^cfx: [a-z]*.fx: %r: torch.ops.quantized.[a-z]* has no scale of its result' \
        "$cfx" run $name.fx -i 'x=f32[3]'
done
said 'an input that is not quantized' 1 'has no quantized input' "$cfx" run \
    float.fx -i 'x=f32[3]'
said 'a weight that is no state' 1 'has no weight that the model keeps' "$cfx" \
    run weightless.fx -i 'x=f32[3]'
cat >dynamic.fx <<'TEXT'
graph():
    %x : [num_users=1] = placeholder[target=x]
    %q : [num_users=2] = call_function[target=torch.quantize_per_tensor_dynamic](args = (%x, torch.quint8, True), kwargs = {})
    %a : [num_users=1] = call_method[target=dequantize](args = (%q,), kwargs = {})
    %b : [num_users=1] = call_function[target=torch.dequantize](args = (%q,), kwargs = {})
    return (a, b)
TEXT
said 'scales may come from the data' 0 'choose_qparams.tensor\]\(args = \(%x, 0, 127,' \
    "$cfx" print dynamic.fx
said 'and the graph runs' 0 'output_1 f32\[3\]' "$cfx" run dynamic.fx \
    -i 'x=f32[3]'

# What convert_to_reference_fx makes has quantized tensors.
ref=$golden/reference
said 'a reference model runs' 0 '' "$cfx" run "$ref.fx" -i "x=$ref.npy"
cp out printed.txt
said 'with the results of PyTorch' 0 '' diff printed.txt "$ref.txt"
said 'its modules become calls with weights of integers' 0 '' "$cfx" transform \
    "$ref.fx" inline_modules constant_folding -o whole.fx
said 'with the same results' 0 '' "$cfx" run whole.fx -i "x=$ref.npy"
cp out printed.txt
said 'as before' 0 '' diff printed.txt "$ref.txt"
said 'which integers compute' 0 'quantized_linear.default' "$cfx" optimize \
    whole.fx -i 'x=f32[2,3,8,8]' -q

# What convert_fx makes computes with them: models/export.py unpacks the weights.
low=$golden/lowered
said 'a lowered model runs' 0 '' "$cfx" run "$low.fx" -i "x=$low.npy" \
    --assume-defaults
cp out printed.txt
said 'with the results of PyTorch' 0 '' diff printed.txt "$low.txt"
said 'its modules become calls with weights of integers' 0 '' "$cfx" transform \
    "$low.fx" inline_modules constant_folding --assume-defaults -o lone.fx
said 'with the same results' 0 '' "$cfx" run lone.fx -i "x=$low.npy"
cp out printed.txt
said 'as before' 0 '' diff printed.txt "$low.txt"
said 'which integers compute' 0 'quantized_conv2d.default' "$cfx" optimize \
    lone.fx -i 'x=f32[2,3,8,8]' -q
said 'it has shapes, too' 0 'f32\[N, 80\]' "$cfx" shapes "$low.fx" \
    -i 'x=f32[N,3,8,8]' --assume-defaults

tell
