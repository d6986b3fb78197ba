#!/bin/sh
# Quantizing: what is written and printed, accuracy, calibration data that is of
# no use.
srcdir=${srcdir:-.} builddir=${builddir:-.} CFX=${CFX:-./cfx}
models=$(cd "$srcdir/models" && pwd)
. "$srcdir/tests/cli/said.sh"
digits=$models/digits.fx images=$models/digits_images.npy

quantize() # quantize ARGUMENT...
{
    "$cfx" quantize "$digits" -o q.fx "$@"
}

right() # right MODEL: the digits told apart, in hundredths of a percent
{
    ${CFX_EMULATOR:-} "$build/digits" "$1" "$images" \
        "$models/digits_labels.npy" | awk '/%$/ { print int($(NF - 1) * 100) }'
}

# ---- The result ----

said 'digits' 0 '^conv1_weight +weight +int8 .*576 -> 336$' quantize \
    --calibrate "$images"
also 'activations have a scale' '^relu_2 +value +uint8 +[0-9.]+, zero 0'
also 'pooling passes it on' '^max_pool2d +shared +uint8'
also 'the sum' '^9 tensors quantized, 0 nodes stay float'
before=$(right "$digits") after=$(right q.fx)
echo "accuracy $before before, $after after"
said 'at most half a point is lost' 0 '' \
    test $((before - after)) -le 50 -a "$after" -gt 5000
# An exported graph tells the shapes of its inputs and of nothing else.
"$cfx" transform "$digits" inline_modules -o exported.fx >/dev/null 2>&1
sed -i 's/%x : /&Tensor "f32[360, 1, 8, 8][64, 64, 8, 1]cpu"/' exported.fx
said 'norms of functions are folded, too' 0 '^9 tensors quantized, 0 nodes' \
    "$cfx" quantize exported.fx -o exported_q.fx --calibrate "$images"
said 'the weights shrink' 0 '' test \
    "$(($(wc -c <q.safetensors) * 3))" -lt "$(wc -c <"$models/digits.safetensors")"
said 'nodes are compared with those that they became' 0 \
    '^bn2 +f32\[360, 32, 8, 8\] +37\.5  conv2d_1$' "$cfx" diff "$digits" q.fx \
    -i "x=$images" --min-snr 35
also 'with their quantized values' \
    '^relu_1 +.* 35\.1  dequantize_per_tensor_default_2$'
said 'it is optimized' 0 '' "$cfx" optimize q.fx -i 'x=f32[8,1,8,8]' -q -o o.fx
said 'the report has the ceiling of int8' 0 '>int8 474[^<]*GFLOP/s<' \
    "$cfx" roofline o.fx -i 'x=f32[8,1,8,8]' --machine epyc-9654 -t 1 --format html
also 'and nodes below it' '"dtype":"int8","macs":2359296'
said 'it runs with any batch' 0 'f32\[3, 10\]' "$cfx" run q.fx \
    -i 'x=f32[3,1,8,8]'
said 'it has shapes with symbols' 0 'f32\[N, 10\]' "$cfx" shapes q.fx \
    -i 'x=f32[N,1,8,8]'
said 'quiet' 0 '' quantize --calibrate "$images" -q
said 'quiet is silent' 0 '' test ! -s out -a ! -s err
said 'the text is printed' 0 'quantize_per_tensor.default' "$cfx" quantize \
    "$digits" --calibrate "$images"
said 'batches do not matter to weights' 0 '^3 tensors quantized' quantize \
    --quantizer weights --calibrate "x=$images" --batch 7
also 'reasons' '^relu_2 +float +the quantizer has no rule for it'
said 'residual sums and relu in place' 0 \
    '^54 tensors quantized, 0 nodes stay float' "$cfx" quantize \
    "$models/resnet18.fx" --random-weights 1 -o r.fx \
    --calibrate 'x=f32[2,3,32,32]'

# ---- A network with residual and depthwise blocks ----

resnet=$src/tests/golden/quantize/resnet_digits.fx
said 'residual and depthwise blocks' 0 \
    '^39 tensors quantized, 0 nodes stay float' "$cfx" quantize "$resnet" \
    -o r.fx --calibrate "x=$images"
before=$(right "$resnet") after=$(right r.fx)
echo "accuracy $before before, $after after"
said 'at most a point is lost' 0 '' \
    test $((before - after)) -le 100 -a "$after" -gt 9800

# ---- What stays float for accuracy ----

bert=$src/tests/golden/quantize/bert_layer.fx
transformer() # transformer ARGUMENT...: quantize a layer, and compare the outputs
{
    "$cfx" convert "$bert" float.fx --random-weights 1 &&
        "$cfx" quantize float.fx --calibrate 'x=f32[2,8,32]' -o b.fx "$@" &&
        "$cfx" diff float.fx b.fx -i 'x=f32[2,8,32]' --snr
}
said 'a transformer' 0 '^layer_norm +float +it is computed in float' transformer
also 'softmax' '^softmax +float +it is computed in float'
also 'residual sums' '^add_1 +float +a node that stays float reads it'
also 'scores before softmax' '^mul +float +a node that stays float reads it'
also 'layers' '^intermediate_weight +weight +int8'
also 'a layer before a sum' '^dense .*  linear_3$'
also 'the ratio' '^output_1 .*  33\.[0-9]  output_1$'
said 'integers for all' 0 '^add_1 +value' transformer --quantizer x86_all
also 'layer_norm' '^layer_norm +value'
also 'softmax' '^softmax +value +uint8 +0.003906, zero 0'
also 'the ratio is lower' '^output_1 .*  31\.[0-9]  output_1$'
printf '{"global": "x86", "object_type": {"add": "x86_all"}}' >c.json
said 'sums of integers, by type' 0 '^linear_5 +value' transformer --config c.json
also 'norms stay' '^layer_norm +float'
printf '{"global": "x86", "object_type": {"layer_norm": null}}' >c.json
said 'sums stay with a norm that is kept' 0 '^add_1 +float +a node that stays' \
    transformer --config c.json

cat >formula.fx <<'TEXT'
# cfx 1
Net()

state:
    w: f32[16, 16]
    v: f32[4, 16]
    g: f32[16]

graph():
    %x : [num_users=1] = placeholder[target=x]
    %w : [num_users=1] = get_attr[target=w]
    %linear : [num_users=2] = call_function[target=torch.nn.functional.linear](args = (%x, %w), kwargs = {})
    %mul : [num_users=1] = call_function[target=torch.mul](args = (%linear, %linear), kwargs = {})
    %mean : [num_users=1] = call_function[target=torch.mean](args = (%mul, [-1], True), kwargs = {})
    %half : [num_users=1] = call_function[target=torch.mul](args = (%mean, 0.5), kwargs = {})
    %add : [num_users=1] = call_function[target=torch.add](args = (%half, 1e-05), kwargs = {})
    %rsqrt : [num_users=1] = call_function[target=torch.rsqrt](args = (%add,), kwargs = {})
    %by : [num_users=1] = call_function[target=torch.mul](args = (%linear, %rsqrt), kwargs = {})
    %g : [num_users=1] = get_attr[target=g]
    %scaled : [num_users=1] = call_function[target=torch.mul](args = (%by, %g), kwargs = {})
    %relu : [num_users=1] = call_function[target=torch.relu](args = (%scaled,), kwargs = {})
    %v : [num_users=1] = get_attr[target=v]
    %last : [num_users=1] = call_function[target=torch.nn.functional.linear](args = (%relu, %v), kwargs = {})
    return %last
TEXT
said 'arithmetic of variances' 0 '^add +float +a node that stays float reads it' \
    "$cfx" quantize formula.fx --random-weights 1 --calibrate 'x=f32[9,16]' -o f.fx
also 'the product with it' '^by +float +it reads a result that stays float'
also 'and the next one' '^scaled +float +it reads a result that stays float'
also 'with its activation' '^relu +float +it reads a result that stays float'
also 'squares' '^mul +float +a node that stays float reads it'
also 'layers before and after it do not' '^last +value'

# MatMul and Add are a layer; ReduceMean, Sub, Pow, ... Add a layer_norm.
cat >onnx.fx <<'TEXT'
# cfx 1
Net()

state:
    w: f32[16, 16]
    b: f32[16]
    g: f32[16]
    c: f32[16]
    v: f32[16, 4]

graph():
    %x : [num_users=1] = placeholder[target=x]
    %w : [num_users=1] = get_attr[target=w]
    %matmul : [num_users=1] = call_function[target=torch.matmul](args = (%x, %w), kwargs = {})
    %b : [num_users=1] = get_attr[target=b]
    %add : [num_users=2] = call_function[target=torch.add](args = (%matmul, %b), kwargs = {})
    %mean : [num_users=1] = call_function[target=torch.mean](args = (%add, [-1], True), kwargs = {})
    %sub : [num_users=2] = call_function[target=torch.sub](args = (%add, %mean), kwargs = {})
    %pow_1 : [num_users=1] = call_function[target=torch.pow](args = (%sub, 2.0), kwargs = {})
    %var : [num_users=1] = call_function[target=torch.mean](args = (%pow_1, [-1], True), kwargs = {})
    %add_1 : [num_users=1] = call_function[target=torch.add](args = (%var, 1e-05), kwargs = {})
    %sqrt : [num_users=1] = call_function[target=torch.sqrt](args = (%add_1,), kwargs = {})
    %div : [num_users=1] = call_function[target=torch.div](args = (%sub, %sqrt), kwargs = {})
    %g : [num_users=1] = get_attr[target=g]
    %mul : [num_users=1] = call_function[target=torch.mul](args = (%div, %g), kwargs = {})
    %c : [num_users=1] = get_attr[target=c]
    %add_2 : [num_users=2] = call_function[target=torch.add](args = (%mul, %c), kwargs = {})
    %div_1 : [num_users=1] = call_function[target=torch.div](args = (%add_2, 1.4142135381698608), kwargs = {})
    %erf : [num_users=1] = call_function[target=torch.erf](args = (%div_1,), kwargs = {})
    %add_3 : [num_users=1] = call_function[target=torch.add](args = (%erf, 1.0), kwargs = {})
    %mul_1 : [num_users=1] = call_function[target=torch.mul](args = (%add_2, %add_3), kwargs = {})
    %mul_2 : [num_users=1] = call_function[target=torch.mul](args = (%mul_1, 0.5), kwargs = {})
    %v : [num_users=1] = get_attr[target=v]
    %matmul_1 : [num_users=1] = call_function[target=torch.matmul](args = (%mul_2, %v), kwargs = {})
    return %matmul_1
TEXT
onnx() # onnx ARGUMENT...
{
    "$cfx" quantize onnx.fx --random-weights 1 -o t.fx "$@"
}
said 'chains that mean a layer or a norm' 0 '^layer_norm +float' onnx \
    --calibrate 'x=f32[9,16]'
also 'gelu' '^gelu +float'
also 'weights by output channel' '^_folded_0 +weight +int8 .*\(16\)'
also 'of a product alone' '^v +weight +int8 .*\(4\)'
also 'nothing else' '^5 tensors quantized, 2 nodes stay float'
said 'inputs of each run' 0 '^mul_2 +value +uint8 +of each run' onnx --dynamic
also 'of both layers' '^4 tensors quantized'
said 'weights only' 0 '^2 tensors quantized' onnx --weights-only int8
said 'groups have to fit' 0 '^linear +float +the channels of its weight' onnx \
    --weights-only int4

# ---- Biases, and ranges ----

ratio() # ratio ARGUMENT...: the outputs of the digits model, compared with float
{
    quantize --calibrate "$images" "$@" -q &&
        "$cfx" diff "$digits" q.fx -i "x=$images" --snr
}
said 'biases as they are' 0 '^output .* 39\.3  output$' ratio
said 'biases keep the means of results' 0 '^output .* 40\.3  output$' ratio \
    --correct-bias
said 'they take the place of others' 0 'fc_bias0' cat q.fx
said 'and are those of integers' 0 '' "$cfx" optimize q.fx -i 'x=f32[8,1,8,8]' \
    -q -o o.fx
said 'as before' 0 'quantized_linear' cat o.fx
said 'a layer without one gets one' 0 '' "$cfx" quantize formula.fx -q \
    --random-weights 1 --calibrate 'x=f32[9,16]' --correct-bias -o f.fx
said 'of its channels' 0 '_bias0: f32\[16\]' cat f.fx
said 'with weights only' 0 '^output' ratio --correct-bias --gptq --weights-only int4
said 'biases need data' 2 'calibrate FILE is missing' quantize --correct-bias \
    --weights-only int8
said 'ranges by histograms' 0 '' ratio --observer HistogramObserver
mv q.fx by.fx
for by in MinMaxObserver MovingAverageMinMaxObserver PercentileObserver \
    EntropyObserver; do
    said "ranges by $by" 0 '^output .* [34][0-9]\.' ratio --observer "$by"
    said "$by has others" 1 '' cmp -s q.fx by.fx
    mv q.fx by.fx
done
said 'no such observer' 2 'observer has to be HistogramObserver' quantize \
    --observer PlaceholderObserver
said 'an observer of nothing' 2 'is for the quantizers x86' quantize --observer \
    MinMaxObserver --quantizer weights
printf '{"global": {"quantizer": "x86", "observer": "EntropyObserver"}}' >c.json
said 'an observer by configuration' 0 '^output' ratio --config c.json
said 'is the same' 0 '' cmp q.fx by.fx
printf '{"global": "x86", "object_type": {"linear":
    {"quantizer": "x86", "observer": "MinMaxObserver"}}}' >c.json
said 'of one type' 0 '^output' ratio --config c.json
printf '{"global": {"quantizer": "x86", "observer": "MyObserver"}}' >c.json
said 'another observer' 1 "observer of 'global' has to be one of" ratio --config \
    c.json
printf '{"global": {"observer": "MinMaxObserver"}}' >c.json
said 'no quantizer' 1 "'global' has to have a quantizer" ratio --config c.json

# ---- Smoothing ----

cat >norm.fx <<'TEXT'
# cfx 1
Net()

state:
    g: f32[16]
    b: f32[16]
    v: f32[8, 16]
    w: f32[8, 16]

graph():
    %x : [num_users=1] = placeholder[target=x]
    %g : [num_users=1] = get_attr[target=g]
    %large : [num_users=1] = call_function[target=torch.pow](args = (10, %g), kwargs = {})
    %b : [num_users=1] = get_attr[target=b]
    %norm : [num_users=2] = call_function[target=torch.nn.functional.layer_norm](args = (%x, [16], %large, %b), kwargs = {})
    %v : [num_users=1] = get_attr[target=v]
    %w : [num_users=1] = get_attr[target=w]
    %left : [num_users=1] = call_function[target=torch.nn.functional.linear](args = (%norm, %v), kwargs = {})
    %right : [num_users=1] = call_function[target=torch.nn.functional.linear](args = (%norm, %w), kwargs = {})
    return (%left, %right)
TEXT
smoothed() # smoothed ARGUMENT...: quantized so, the outputs are those of the model
{
    "$cfx" convert norm.fx float.fx --random-weights 1 &&
        "$cfx" quantize float.fx --calibrate 'x=f32[99,16]' -q -o s.fx "$@" &&
        "$cfx" run float.fx -i 'x=f32[99,16]' -O floats &&
        "$cfx" run s.fx -i 'x=f32[99,16]' --expect floats --rmax 1e-6
}
printf '{"global": null}' >c.json
said 'smoothing alone changes no output' 0 '' smoothed --config c.json --smooth
said 'but the parameters' 0 'v0: f32\[8, 16\]' cat s.fx
said 'it needs data' 2 'calibrate FILE is missing' quantize --smooth \
    --weights-only int8

# ---- Without data ----

# same_values GOLDEN FILE.npy: floats of text, and those behind the header.
same_values()
{
    od -An -v -tf4 -w4 -j128 "$2" | awk -v expected="$1" '
        BEGIN { n = split(expected, v, " ") }
        { d = $1 - v[NR + 1]; if (d * d > 1e-10) bad = 1 }
        END { exit bad || NR != n - 1 }'
}
while read -r line; do
    quantizer=${line%% *}
    said "$quantizer" 0 '^fc_weight +weight +int[48] ' quantize \
        --quantizer "$quantizer"
    "$cfx" run q.fx -i "x=$images" -O o >run.out
    head -c 288 o/output.npy >first.npy
    said "$quantizer gives what PyTorch gives" 0 '' same_values "$line" \
        first.npy
done <"$src/tests/golden/quantize/without_data.txt"

said 'dynamic' 0 '^flatten +value +uint8 +of each run' quantize --dynamic
said 'it has shapes with symbols' 0 'f32\[N, 10\]' "$cfx" shapes q.fx \
    -i 'x=f32[N,1,8,8]'
said 'each row on its own' 0 '^flatten +value +int8 +of each run' quantize \
    --quantizer dynamic_per_token
said 'weights in int8' 0 '^3 tensors quantized' quantize --weights-only int8
said 'in int4' 0 '^fc_weight +weight +int4 .*20480 -> 3200$' quantize \
    --weights-only int4
also 'not those of convolutions' '^conv2d +float +the quantizer has no rule'
said 'groups of 128' 0 '20480 -> 2720$' quantize --weights-only int4 \
    --group 128
said 'with errors, if there is data' 0 '^fc_weight +weight +int4 .*9\.70 %' \
    quantize --weights-only int4 --calibrate "$images"
rounded() # rounded ARGUMENT...: weights in int4, compared with float
{
    quantize --weights-only int4 --calibrate "$images" "$@" >table &&
        "$cfx" diff "$digits" q.fx -i "x=$images" --snr
}
said 'rounded to nearest' 0 '^output .* 27\.7  output$' rounded
said 'for the inputs of the layer' 0 '^output .* 43\.9  output$' rounded --gptq
said 'farther from the weight' 0 '^fc_weight +weight +int4 .* 15\.[0-9]+ %' \
    cat table
said 'with zero points' 0 '^output .* 30\.3  output$' rounded --asymmetric
said 'and for the inputs' 0 '^output .* 45\.5  output$' rounded --asymmetric --gptq
said 'zero points take a byte' 0 '20480 -> 3360$' cat table
said 'the graph has them' 0 'fc_weight_zero_point_0: i8\[10, 16\]' cat q.fx
said 'they are packed' 0 '' "$cfx" optimize q.fx -i 'x=f32[360,1,8,8]' -q -o o.fx
said 'with the weight' 0 '_zero_point_0: u8\[1, 2, 16, 4\]' cat o.fx
said 'the result is near' 0 '^output .* 1[2-9][0-9]\.' "$cfx" diff q.fx o.fx \
    -i "x=$images" --snr
said 'in int8, too' 0 '' quantize --weights-only int8 --calibrate "$images" \
    --gptq
said 'inputs are needed' 2 'calibrate FILE is missing' quantize \
    --weights-only int4 --gptq
said 'chosen by type' 0 '^conv1_weight +weight +int8' quantize --config \
    "$src/tests/cases/quantize.json"
also 'others are of groups' '^fc_weight +weight +int4'
cat >head.fx <<'TEXT'
# cfx 1
Head(
  (words): Embedding(40, 64)
  (rnn): LSTM(64, 30, batch_first=True)
)

state:
    bias: f32[96]
    weight: f32[64, 96]
    narrow: f32[5, 30]

graph():
    %x : [num_users=1] = placeholder[target=x]
    %words : [num_users=2] = call_module[target=words](args = (%x,), kwargs = {})
    %bias : [num_users=1] = get_attr[target=bias]
    %weight : [num_users=1] = get_attr[target=weight]
    %addmm : [num_users=1] = call_function[target=torch.addmm](args = (%bias, %words, %weight), kwargs = {})
    %rnn : [num_users=1] = call_module[target=rnn](args = (%words,), kwargs = {})
    %getitem : [num_users=1] = call_function[target=operator.getitem](args = (%rnn, 0), kwargs = {})
    %narrow : [num_users=1] = get_attr[target=narrow]
    %linear : [num_users=1] = call_function[target=torch.nn.functional.linear](args = (%getitem, %narrow), kwargs = {})
    return (addmm, linear)
TEXT
head_of() # head_of ARGUMENT...: quantize it, and compare it with the float model
{
    "$cfx" convert head.fx float.fx --random-weights 1 &&
        "$cfx" quantize float.fx -o h.fx "$@" &&
        "$cfx" diff float.fx h.fx -i 'x=i64[6]' --snr
}
said 'columns of addmm by groups' 0 '^weight +weight +int4 .*24576 -> 3840$' \
    head_of --weights-only int4
also 'groups have to divide channels' \
    '^linear +float +the channels of its weight are no multiple of groups'
also 'a recurrent module' '^rnn +float +it is a module that stays whole'
also 'a table by groups of its rows' '^words_weight +weight +int4 .*10240 -> 1600$'
also 'the sum is near' '^addmm .*  19\.'
said 'columns of addmm' 0 '^weight +weight +int8 .*\(96\)' head_of --dynamic
also 'its input' '^embedding +value +uint8 +of each run'
said 'tables' 0 '^words_weight +weight +uint8 .*\(40\)' head_of \
    --quantizer embedding
also 'the sum is nearer' '^addmm .*  4[0-9]\.'
said 'x86 leaves tables' 0 '^embedding +float +it reads single rows' "$cfx" \
    quantize head.fx --random-weights 1 --calibrate 'x=i64[6]' -o h.fx

# ---- Weights that are packed ----

# A table that is the weight of the last layer too is quantized once, and packed once. Sums are scaled by group, where the reference graph
# scales each weight: results differ in their rounding.
cat >tied.fx <<'TEXT'
# cfx 1
Tied()

state:
    words: f32[300, 64]
    inner: f32[64, 64]
    bias: f32[64]

graph():
    %x : [num_users=1] = placeholder[target=x]
    %words : [num_users=1] = get_attr[target=words]
    %embedding : [num_users=1] = call_function[target=torch.nn.functional.embedding](args = (%x, %words), kwargs = {})
    %inner : [num_users=1] = get_attr[target=inner]
    %bias : [num_users=1] = get_attr[target=bias]
    %linear : [num_users=1] = call_function[target=torch.nn.functional.linear](args = (%embedding, %inner, %bias), kwargs = {})
    %tanh : [num_users=1] = call_function[target=torch.tanh](args = (%linear,), kwargs = {})
    %head : [num_users=1] = get_attr[target=words]
    %logits : [num_users=1] = call_function[target=torch.nn.functional.linear](args = (%tanh, %head), kwargs = {})
    return %logits
TEXT
"$cfx" convert tied.fx float.fx --random-weights 1
packed_of() # packed_of ARGUMENT...: quantize it, optimize it, and count its weights
{
    "$cfx" quantize float.fx -o t.fx "$@" >table &&
        "$cfx" optimize t.fx -i 'x=i64[5]' -o p.fx -q &&
        grep -E '^(head|words) ' table &&
        grep -Eo '^ +_int[48]_.*|target=torch.ops.cfx.(packed|dynamic)_[a-z_]+' p.fx |
        sort | uniq -c
}
for bits in 4 8; do
    said "tied weights of int$bits are one" 0 "^head +shared +int$bits .* -> 0$" \
        packed_of --weights-only "int$bits"
    also 'the first is quantized' "^words +weight +int$bits .*76800 -> "
    also 'the first two are packed' \
        "_int${bits}_1: [iu]8\\[4, $((64 * bits / 32)), 16, 4\\]"
    also 'both products read them' '^ +2 target=torch.ops.cfx.packed_linear'
    also 'and the table' '^ +1 target=torch.ops.cfx.packed_embedding'
    said 'no weight is dequantized' 1 '' grep -q dequantize p.fx
    said 'results differ in their rounding' 0 '' "$cfx" diff t.fx p.fx \
        -i 'x=i64[5]' --rtol 1e-5 --atol 1e-5
    for t in 1 2 3; do
        "$cfx" run p.fx -t $t -i 'x=i64[40]' -O "o$t" >run.out
    done
    said 'not by the number of threads' 0 '' cmp o1/output.npy o2/output.npy
    said 'nor by three' 0 '' cmp o1/output.npy o3/output.npy
done

# Where the inputs are quantized in each run, integers compute.
said 'inputs of each run' 0 \
    '^ +2 target=torch.ops.cfx.dynamic_quantized_linear' packed_of --dynamic
said 'results differ in their rounding' 0 '' "$cfx" diff t.fx p.fx -i 'x=i64[5]' \
    --rtol 1e-5 --atol 1e-5

# ---- Core ATen, as torch.export decomposes a model ----

cat >core.fx <<'TEXT'
# cfx 1
Core()

state:
    w: f32[4, 2, 3, 3]
    t: f32[4, 2, 3, 3]
    fc: f32[5, 98]
    b: f32[5]

graph():
    %x : [num_users=1] = placeholder[target=x]
    %w : [num_users=1] = get_attr[target=w]
    %conv : [num_users=1] = call_function[target=torch.ops.aten.convolution.default](args = (%x, %w, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1), kwargs = {})
    %t : [num_users=1] = get_attr[target=t]
    %up : [num_users=1] = call_function[target=torch.ops.aten.convolution.default](args = (%conv, %t, None, [1, 1], [0, 0], [1, 1], True, [0, 0], 1), kwargs = {})
    %clone : [num_users=1] = call_function[target=torch.ops.aten.clone.default](args = (%up,), kwargs = {})
    %view : [num_users=1] = call_function[target=torch.ops.aten.view.default](args = (%clone, [3, 98]), kwargs = {})
    %fc : [num_users=1] = get_attr[target=fc]
    %permute : [num_users=1] = call_function[target=torch.ops.aten.permute.default](args = (%fc, [1, 0]), kwargs = {})
    %b : [num_users=1] = get_attr[target=b]
    %addmm : [num_users=1] = call_function[target=torch.ops.aten.addmm.default](args = (%b, %view, %permute), kwargs = {})
    return addmm
TEXT
core() # core ARGUMENT...
{
    "$cfx" quantize core.fx --random-weights 1 -o t.fx \
        --calibrate 'x=f32[3,2,7,7]' "$@"
}
said 'Core ATen' 0 '^9 tensors quantized, 0 nodes stay float' core
also 'a convolution by channel' '^w +weight +int8 .*\(4\)'
also 'a transposed one by its output channels' '^t +weight +int8 .*\(2\)'
also 'a transposed matrix is a weight' '^fc +weight +int8 .*\(5\)'
also 'moved elements keep their scale' '^clone +shared'
said 'weights only' 0 '^3 tensors quantized' core --weights-only int8

# ---- Sensitivity ----

said 'a ranking' 0 '^conv2d, relu_2 +42\.5$' "$cfx" quantize "$digits" \
    --calibrate "$images" --batch 360 --sensitivity
also 'of all patterns' '^linear +42\.8$'
also 'the last' '^conv2d_1, relu_3 +45\.0$'
said 'by eight samples' 0 '^conv2d, relu_2 +4[3-6]\.[0-9]$' "$cfx" quantize \
    "$digits" --calibrate "$images" --sensitivity
said 'the lowest ratio comes first' 0 '' sort -c -n -k3 out
said 'it is no model' 1 '' grep -q graph out
said 'the most sensitive pattern stays float' 0 \
    '^conv2d +float +it is among the most sensitive$' quantize \
    --calibrate "$images" --batch 360 --keep-float 1
also 'with its activation' '^relu_2 +float'
said 'all but one' 0 '^conv2d_1, relu_3 +45\.0$' quantize \
    --calibrate "$images" --batch 360 --keep-float 2 --sensitivity
also 'others are marked' '^linear +[0-9.]+  float$'
said 'the ratio of one pattern is that of the model with it' 0 \
    '^output +f32\[360, 10\] +45\.0  output$' "$cfx" diff "$digits" q.fx \
    -i "x=$images" --snr

said 'enough for a ratio' 0 '^conv2d +float +it is among the most sensitive$' \
    quantize --calibrate "$images" --batch 360 --min-snr 42.5
said 'which the outputs then have' 0 '^output .* 45\.0  output$' "$cfx" diff \
    "$digits" q.fx -i "x=$images" --snr
said 'none, if it is reached' 0 ', 0 nodes stay float' quantize \
    --calibrate "$images" --min-snr 30
said 'or out of reach' 1 '--min-snr 300 is out of reach: with all patterns in float' \
    quantize --calibrate "$images" --min-snr 300
said 'no ratio' 2 'takes a number of decibels' quantize --calibrate "$images" \
    --min-snr much
said 'one way to choose' 2 'give one of them' quantize --calibrate "$images" \
    --min-snr 40 --keep-float 1

# One scale for x and a thousand times x.
cat >loss.fx <<'TEXT'
# cfx 1
Net()

state:
    w: f32[4, 16]

graph():
    %x : [num_users=2] = placeholder[target=x]
    %mul : [num_users=1] = call_function[target=torch.mul](args = (%x, 1000), kwargs = {})
    %cat : [num_users=1] = call_function[target=torch.cat](args = ([%x, %mul], 1), kwargs = {})
    %narrow : [num_users=1] = call_method[target=narrow](args = (%cat, 1, 0, 16), kwargs = {})
    %w : [num_users=1] = get_attr[target=w]
    %linear : [num_users=1] = call_function[target=torch.nn.functional.linear](args = (%narrow, %w), kwargs = {})
    return %linear
TEXT
loss() # loss ARGUMENT...
{
    "$cfx" quantize loss.fx --random-weights 1 --calibrate 'x=f32[64,16]' \
        -o t.fx "$@"
}
said 'outputs of little use are told' 0 \
    '^cfx: warning: the outputs have .* 0\.0 dB; most is lost at mul: --min-snr 15 keeps in float what it takes$' \
    loss -q
said 'as it says' 0 '^cat +float +it is among the most sensitive$' loss \
    --min-snr 15
said 'then nothing is told' 1 '' grep warning err

said 'more than there are' 1 '4 is more than the 3 patterns' quantize \
    --calibrate "$images" --keep-float 4

# ---- A configuration ----

# The sections and their order are those of torch.ao's QConfigMapping.
configured() # configured JSON ARGUMENT...
{
    printf '%s' "$1" >c.json
    shift
    quantize --calibrate "$images" --config c.json "$@"
}
said 'nothing is quantized without a rule' 0 \
    '^0 tensors quantized, 7 nodes stay float' configured '{}'
said 'a rule for all' 0 '^9 tensors quantized, 0 nodes' configured \
    '{"global": "x86"}'
said 'a type is before it' 0 '^linear +float +the configuration keeps' \
    configured '{"global": "x86", "object_type": {"torch.nn.Linear": null}}'
also 'others are not of it' '^7 tensors quantized, 1 nodes stay float'
said 'the type of a function' 0 '^conv2d_1 +float +the configuration' \
    configured '{"global": "x86", "object_type": {"torch.conv2d": null}}'
said 'an expression is before a type' 0 '^conv1_weight +weight' configured \
    '{"module_name_regex": {"conv[1]": "x86"}, "object_type": {"conv2d": null}}'
also 'it is not found within' '^conv2d_1 +float'
said 'an expression matches from the beginning' 0 \
    "^cfx: warning: c.json: module_name_regex 'onv' matches no call" configured \
    '{"module_name_regex": {"onv": null}}'
said 'a name is before an expression' 0 '^conv2_weight +weight' configured \
    '{"module_name": {"conv2": "x86"}, "module_name_regex": {"conv.*": null}}'
also 'of this module only' '^conv2d +float'
said 'the name of a node' 0 '^flatten +float +the configuration' configured \
    '{"global": "x86", "module_name": {"flatten": null}}'
said 'an activation stays with its convolution' 0 \
    '^relu_3 +float +the configuration' configured \
    '{"global": "x86", "module_name": {"conv2": null}}'
said 'weights only' 0 '^3 tensors quantized' configured \
    '{"global": "weights"}'
said 'with a ranking' 0 '^conv2d, relu_2 ' configured \
    '{"global": "x86", "module_name": {"fc": null}}' --sensitivity
also 'which has two patterns' '^conv2d_1, relu_3 '
said 'a longer path is before a shorter one' 0 '^layer1_0_conv1_weight +weight' \
    sh -c 'echo "{\"module_name\": {\"layer1.0\": \"weights\",
        \"layer1\": null}}" >l.json
    "$0" quantize "$1" --random-weights 1 -o r.fx --config l.json \
        --calibrate "x=f32[2,3,32,32]"' "$cfx" "$models/resnet18.fx"
also 'other blocks are float' '^2 tensors quantized'

echo '{"global": "x86"}' >x.json
said 'an unknown key' 1 "^cfx: c.json: the key 'globl' is unknown" configured \
    '{"globl": "x86"}'
said 'an unknown quantizer' 1 "'fc' has to be one of x86, .*or null" \
    configured '{"module_name": {"fc": "arm"}}'
said 'an unknown name' 0 "^cfx: warning: c.json: module_name 'fcx' matches no call" \
    configured '{"global": "x86", "module_name": {"fcx": null}}'
also 'the others count' '^9 tensors quantized'
said 'an expression that POSIX does not have' 1 'write a bracket expression' \
    configured '{"module_name_regex": {"conv\\d": null}}'
said 'a bad expression' 1 "the expression '\('" configured \
    '{"module_name_regex": {"(": null}}'
said 'an empty name' 1 'module_name has an empty key' configured \
    '{"module_name": {"": null}}'
said 'a section that is a list' 1 'object_type has to be an object' \
    configured '{"object_type": []}'
said 'a key twice' 1 'duplicate' configured \
    '{"global": "x86", "global": null}'
said 'no JSON' 1 '^cfx: c.json: 1:0: ' configured ''
said 'no object' 1 'it has to be an object' configured '[]'
said 'no such file' 1 'none.json: No such file' quantize --calibrate "$images" \
    --config none.json
said 'a configuration and a quantizer' 2 'give one of them' configured '{}' \
    --quantizer x86
said 'other integers' 2 'has to be int8 or int4' quantize --weights-only int2
said 'other groups' 2 'has to be 32, 64 or 128' quantize --weights-only int4 \
    --group 48
said 'groups of nothing' 2 'is for --weights-only int4' quantize --group 32
said 'ranges of nothing' 2 'asymmetric is for --weights-only int4' quantize \
    --weights-only int8 --asymmetric
said 'a configuration that needs data' 1 'has seen no data' quantize --config \
    x.json

# ---- Calibration data ----

said 'none' 2 'calibrate FILE is missing' quantize
said 'no rows' 1 'x has no rows$' quantize \
    --calibrate 'x=f32[0,1,8,8]'
said 'a wrong shape' 1 'expected input to have 1 channels' quantize \
    --calibrate 'x=f32[4,2,8,8]'
said 'a wrong type' 1 'int64' quantize --calibrate 'x=i64[4,1,8,8]'
said 'a number' 1 'must be Tensor, not int' quantize --calibrate x=3
said 'another input' 1 "there is no input 'y'" quantize \
    --calibrate 'y=f32[4,1,8,8]'
said 'no file' 1 'No such file' quantize --calibrate x=none.npy
said 'another quantizer' 2 "no quantizer 'arm'" quantize --quantizer arm \
    --calibrate "$images"
cat >two.fx <<'TEXT'
graph():
    %x : [num_users=1] = placeholder[target=x]
    %y : [num_users=1] = placeholder[target=y]
    %add : [num_users=1] = call_function[target=torch.add](args = (%x, %y), kwargs = {})
    return add
TEXT
said 'a ranking without rows' 1 'x has no rows' quantize \
    --calibrate 'x=f32[0,1,8,8]' --sensitivity
said 'a ranking of a wrong shape' 1 'expected input to have 1 channels' \
    quantize --calibrate 'x=f32[4,2,8,8]' --sensitivity
sed 's/^ *return.*/    %max : [num_users=1] = call_function[target=torch.argmax](args = (%add,), kwargs = {})\
    return max/' two.fx >int.fx
said 'a ranking of integers' 1 'outputs have no floating-point elements' \
    "$cfx" quantize int.fx --calibrate 'x=f32[6,3]' --calibrate 'y=f32[6,3]' \
    --sensitivity
said 'several inputs' 0 '^3 tensors quantized' "$cfx" quantize two.fx -o t.fx \
    --calibrate 'x=f32[6,3]' --calibrate 'y=f32[6,3]'
said 'with other numbers of rows' 1 'y has 5 rows .*has 6' "$cfx" quantize \
    two.fx -o t.fx --calibrate 'x=f32[6,3]' --calibrate 'y=f32[5,3]'
cat >state.fx <<'TEXT'
# cfx 1
Net()

graph():
    %x : [num_users=1] = placeholder[target=x]
    %h : [num_users=1] = placeholder[target=h]
    %select : [num_users=1] = call_method[target=select](args = (%h, 0, 1), kwargs = {})
    %add : [num_users=1] = call_function[target=torch.add](args = (%x, %select), kwargs = {})
    return %add
TEXT
state() # state ARGUMENT...: a state whose batch is its second axis
{
    "$cfx" quantize "$@" --calibrate 'x=f32[6,3]' --calibrate 'h=f32[2,6,3]' \
        --batch 2 -o t.fx
}
said 'a state with another axis' 1 \
    'h has 2 rows on axis 0, .* has 6: --batch-axis' state state.fx
said 'which may be given' 0 '^3 tensors quantized' state state.fx \
    --batch-axis h=1
said 'a wrong axis' 1 'batch-axis h=3: it has to be NAME=AXIS' state state.fx \
    --batch-axis h=3
said 'a wrong name' 1 'batch-axis y=0: it has to be NAME=AXIS' state state.fx \
    --batch-axis y=0
sed 's/%x : /&Tensor "f32[s0, 3][3, 1]cpu"/; s/%h : /&Tensor "f32[2, s0, 3][3*s0, 3, 1]cpu"/' \
    state.fx >symbol.fx
said 'or have the symbol of the batch' 0 '^3 tensors quantized' state symbol.fx
said 'an input is missing' 1 'y' "$cfx" quantize two.fx -o t.fx \
    --calibrate 'x=f32[6,3]'
cat >log.fx <<'TEXT'
graph():
    %x : [num_users=1] = placeholder[target=x]
    %mul : [num_users=1] = call_function[target=torch.mul](args = (%x, FACTOR), kwargs = {})
    %relu : [num_users=1] = call_function[target=torch.relu](args = (%mul,), kwargs = {})
    return relu
TEXT
sed 's/FACTOR/nan/' log.fx >nan.fx
said 'NaN' 1 'has NaN.*activation_post_process_1' "$cfx" quantize nan.fx \
    --calibrate 'x=f32[6,3]' -o t.fx
sed 's/FACTOR/0.0/' log.fx >zero.fx
said 'constant activations' 0 '^relu +value +uint8 +1.192e-07, zero 0' "$cfx" \
    quantize zero.fx --calibrate 'x=f32[6,3]' -o t.fx
cat >mask.fx <<'TEXT'
graph():
    %x : [num_users=1] = placeholder[target=x]
    %y : [num_users=2] = placeholder[target=y]
    %matmul : [num_users=1] = call_function[target=torch.matmul](args = (%x, %y), kwargs = {})
    %add : [num_users=1] = call_function[target=torch.add](args = (%matmul, -inf), kwargs = {})
    %relu6 : [num_users=1] = call_function[target=torch.nn.functional.relu6](args = (%add,), kwargs = {})
    %softmax : [num_users=1] = call_function[target=torch.softmax](args = (%relu6, -1), kwargs = {})
    %cat : [num_users=1] = call_function[target=torch.cat](args = ([%softmax, %y],), kwargs = {})
    return cat
TEXT
said 'masked scores' 0 '^relu6 +float +its elements go beyond 1e30' "$cfx" \
    quantize mask.fx --calibrate 'x=f32[3,3]' --calibrate 'y=f32[3,3]' -o t.fx \
    --quantizer x86_all
also 'what is before and after them' '^matmul +value'
also 'a result of a fixed range' '^softmax +value +uint8 +0.003906, zero 0'
said 'no weights' 1 'missing weight: ' "$cfx" quantize "$models/resnet18.fx" \
    --weights-only int8
sed "s/%permute : /%big : [num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%fc, FACTOR), kwargs = {})\\
    &/; s/(%fc, \[1/(%big, [1/" core.fx >big.fx
big() # big FACTOR: quantize with a weight times that
{
    sed "s/FACTOR/$1/" big.fx >t.fx
    "$cfx" quantize t.fx --random-weights 1 --weights-only int8 -o s.fx
}
said 'a weight' 0 '^_folded_0 +weight' big 1.0
said 'NaN in a weight' 1 '_folded_0: the observed data has NaN' big nan
said 'infinity in a weight' 1 '_folded_0: the observed data has infinite' big inf
said 'a weight of zeros' 0 '^_folded_0 +weight +int8 +<= 1.192e-07 \(5\)' \
    big 0.0
said 'no patterns' 1 'the quantizer weights marks no node' "$cfx" quantize \
    zero.fx --quantizer weights --calibrate 'x=f32[6,3]' --sensitivity
said 'a ranking of constant activations' 0 '^mul, relu +inf$' "$cfx" quantize \
    zero.fx --calibrate 'x=f32[6,3]' --sensitivity
said 'a ranking with NaN' 1 'has NaN.*activation_post_process_1' "$cfx" \
    quantize nan.fx --calibrate 'x=f32[6,3]' --sensitivity
sed 's/FACTOR/inf/' log.fx >inf.fx
said 'nothing finite' 0 '^mul +float +its elements go beyond 1e30' "$cfx" \
    quantize inf.fx --calibrate 'x=f32[6,3]' -o t.fx
also 'its activation stays with it' '^relu +float +its elements go beyond'

# ---- Norms behind linear layers ----

cat >norm.fx <<'END'
Net(
  (fc): Linear(in_features=3, out_features=3, bias=True)
  (bn): BatchNorm1d(3, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)
)

graph():
    %x : [num_users=1] = placeholder[target=x]
    %fc : [num_users=1] = call_module[target=fc](args = (%x,), kwargs = {})
    %bn : [num_users=1] = call_module[target=bn](args = (%fc,), kwargs = {})
    return bn
END
said 'a norm of rows' 0 '^linear +value' "$cfx" quantize norm.fx \
    --random-weights 1 --calibrate 'x=f32[4,3]' -o t.fx
also 'it is folded' '^3 tensors quantized'
said 'a norm of as many tokens as features' 0 '^batch_norm +value' "$cfx" \
    quantize norm.fx --random-weights 1 --calibrate 'x=f32[2,3,3]' -o t.fx
also 'it stays' '^4 tensors quantized'
said 'a norm of what is not known stays' 0 '' "$cfx" quantize norm.fx \
    --random-weights 1 --weights-only int8 -o t.fx
said 'it is in the result' 0 'batch_norm' cat t.fx

{
    printf 'Net(\n'
    printf '  (a): Conv2d(3, 16, kernel_size=(3, 3), stride=(1, 1))\n'
    printf '  (b): Conv2d(16, 8, kernel_size=(1, 1), stride=(1, 1))\n)\n\n'
    cat <<'END'
graph():
    %x : [num_users=1] = placeholder[target=x]
    %a : [num_users=1] = call_module[target=a](args = (%x,), kwargs = {})
    %f : [num_users=1] = call_function[target=torch.flip](args = (%a, [3]), kwargs = {})
    %r : [num_users=1] = call_function[target=torch.roll](args = (%f, 2, 2), kwargs = {})
    %b : [num_users=1] = call_module[target=b](args = (%r,), kwargs = {})
    return b
END
} >moved.fx
said 'elements that move keep their scale' 0 '^r +shared' "$cfx" quantize \
    moved.fx --random-weights 1 --calibrate 'x=f32[2,3,8,8]' -o moved8.fx
also 'nothing stays float' ', 0 nodes stay float'
said 'integers move' 0 '' "$cfx" optimize moved8.fx -i 'x=f32[1,3,8,8]' \
    -o lowered.fx
said 'as they are' 1 '' grep -E '(flip|roll).*dequantize' lowered.fx

# Activations in place: no shapes are known where no data are needed.
cat >inplace.fx <<'END'
Net(
  (a): Conv2d(3, 16, kernel_size=(3, 3), stride=(1, 1))
  (r): ReLU(inplace=True)
  (b): Conv2d(16, 16, kernel_size=(1, 1), stride=(1, 1))
  (s): ReLU6(inplace=True)
)

graph():
    %x : [num_users=1] = placeholder[target=x]
    %a : [num_users=1] = call_module[target=a](args = (%x,), kwargs = {})
    %r : [num_users=1] = call_module[target=r](args = (%a,), kwargs = {})
    %b : [num_users=1] = call_module[target=b](args = (%r,), kwargs = {})
    %s : [num_users=1] = call_module[target=s](args = (%b,), kwargs = {})
    return s
END
said 'weights before activations in place' 0 '^2 tensors quantized' "$cfx" \
    quantize inplace.fx --random-weights 1 --weights-only int8 -o weights.fx
said 'they are packed once' 0 '' "$cfx" optimize weights.fx \
    -i 'x=f32[1,3,8,8]' -o packed.fx
said 'not in each run' 1 '' grep dequantize packed.fx
said 'with the same results' 0 '' "$cfx" diff weights.fx packed.fx \
    -i 'x=f32[1,3,8,8]' --rtol 1e-5 --atol 1e-5

tell
