#!/bin/sh
# onnx_quantized.sh -- quantized ONNX models. Those that ONNX Runtime made
# (golden/onnx_quantized, by oracle/onnx_quantized.py) are computed with integers, with
# its results; those that cfx makes are written and read again.
srcdir=${srcdir:-.} builddir=${builddir:-.} CFX=${CFX:-./cfx}
. "$srcdir/tests/cli/said.sh"
"$cfx" convert --help | grep -q onnx || exit 77
golden=$src/tests/golden/onnx_quantized digits=$src/models/digits.fx
images=$src/models/digits_images.npy

# calls MODEL: how often a graph calls each operator of cfx and of quantizing
calls()
{
    grep -o 'target=torch\.ops\.\(cfx\|quantized_decomposed\)\.[a-z0-9_]*' "$1" |
        sed 's/.*\.//' | LC_ALL=C sort | uniq -c | awk '{ printf "%s %s, ", $2, $1 }'
    echo
}

# nodes FILE OPERATOR...: does an ONNX file call each of the operators?
nodes()
{
    file=$1
    shift
    for op; do
        grep -aq "$op" "$file" || return 1
    done
}

# lowered NAME INPUT CALLS: what optimizing makes of a file, and its results
lowered()
{
    said "$1 is optimized" 0 '' "$cfx" optimize "$golden/$1.onnx" \
        -i "x=$golden/$2.npy" -q -o "$1.fx"
    said "$1 computes with integers" 0 "^$3 \$" calls "$1.fx"
    rm -rf results
    said "$1 runs" 0 '' "$cfx" run "$1.fx" -i "x=$golden/$2.npy" -O results
    said "$1 has the results of ONNX Runtime" 0 '' cmp results/y.npy "$golden/$1.npy"
}
net='blocked_max_pool2d 1, dequantize_per_tensor 1, from_blocked 1, quantize_to_blocked 1, quantized_conv2d 4, quantized_linear 1, quantized_lookup 1, quantized_mean2d 1, uninitialized 1,'
lowered net_u8 net "$net"
lowered net_s8 net "$net"
rows='dequantize_per_tensor 5, quantize_per_tensor 4, quantized_add 1, quantized_layer_norm 1, quantized_linear 2, quantized_lookup 3,'
lowered rows_u8 rows "$rows"
lowered rows_s8 rows "$rows"

# ---- Written ----

# written HOW OPERATORS OPTION...: quantize, write, and read again
written()
{
    how=$1 ops=$2
    shift 2
    said "$how" 0 '' "$cfx" quantize "$digits" -q -o q.fx "$@"
    said "$how is written" 0 '' "$cfx" convert q.fx q.onnx \
        -i 'x=f32[N,1,8,8]'
    # shellcheck disable=SC2086
    said "$how is $ops" 0 '' nodes q.onnx $ops
    said "$how is read" 0 '' "$cfx" diff q.fx q.onnx -i "x=$images" \
        --min-snr 40
}
written static 'QuantizeLinear DequantizeLinear Gemm' --calibrate "$images"
said 'it computes with integers' 0 '' "$cfx" optimize q.onnx -i "x=$images" -q \
    -o o.fx
said 'all of them' 0 'quantized_conv2d 2, quantized_linear 1,' calls o.fx
written dynamic 'DynamicQuantizeLinear MatMulInteger' --dynamic
written rows 'ReduceMin Reciprocal' --quantizer dynamic_per_token
written int8 'DequantizeLinear MatMul' --weights-only int8
written int4 'DequantizeLinear block_size' --weights-only int4 --group 32
said 'they are optimized' 0 '' "$cfx" optimize q.onnx -i "x=$images" -q -o o.fx
said 'int4 is packed' 0 'packed_linear 1,' calls o.fx
written asymmetric 'DequantizeLinear block_size' --weights-only int4 --asymmetric
said 'zero points are optimized' 0 '' "$cfx" optimize q.onnx -i "x=$images" -q \
    -o o.fx
said 'they stay beside the weight' 0 'zero_point: %_zero_point_0' cat o.fx

# Layers of rows are MatMul in ONNX, whose weight is (in, out).
printf '# cfx 1\nNet()\n\nstate:\n    w: f32[32, 8]\n\ngraph():
    %%x : Tensor "f32[2, 3, 32]"[num_users=1] = placeholder[target=x]
    %%w : [num_users=1] = get_attr[target=w]
    %%y : [num_users=1] = call_function[target=torch.matmul](args = (%%x, %%w), kwargs = {})
    return %%y\n' >rows.fx
for how in --dynamic '--weights-only int8' '--weights-only int4 --group 32' \
    '--weights-only int4 --asymmetric'; do
    # shellcheck disable=SC2086
    said "$how of a product" 0 '^w +weight' "$cfx" quantize rows.fx $how \
        --random-weights 1 -o q.fx
    said "$how of a product is written" 0 '' "$cfx" convert q.fx q.onnx
    said "$how of a product is read" 0 '' "$cfx" diff q.fx q.onnx \
        -i 'x=f32[2,3,32]' --min-snr 40
done
tell
