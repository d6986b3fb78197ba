#!/bin/sh
# Optimizing: options, what is printed, errors. optimize_zoo.sh has the models.
srcdir=${srcdir:-.} builddir=${builddir:-.} CFX=${CFX:-./cfx}
zoo=$(cd "$CFX_ZOO" && pwd)
models=$(cd "$srcdir/models" && pwd)
. "$srcdir/tests/cli/said.sh"

input() # input MODEL [BATCH]: the argument of -i for a model of the zoo
{
    sed -n "s/^{\"input\": \[[0-9]*, \([0-9, ]*\)\].*/x=f32[${2:-1}, \1]/p" \
        "$zoo/$1.shapes.json"
}

# ---- Writes ----

# What was read in blocks before a write has a value that is no node's at the end.
cat >writes.fx <<'TEXT'
Writes(
  (conv): Conv2d(16, 16, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))
)

graph():
    %x : [num_users=1] = placeholder[target=x]
    %y : [num_users=3] = call_function[target=torch.neg](args = (%x,), kwargs = {})
    %a : [num_users=1] = call_module[target=conv](args = (%y,), kwargs = {})
    %one : [num_users=0] = call_method[target=add_](args = (%y, 1), kwargs = {})
    %b : [num_users=1] = call_module[target=conv](args = (%y,), kwargs = {})
    %sum_1 : [num_users=1] = call_function[target=operator.add](args = (%a, %b), kwargs = {})
    return sum_1
TEXT
said 'a value that is written to' 0 '^0 of 6 nodes compared differ' "$cfx" \
    diff writes.fx --random-weights 1 -i 'x=f32[1,16,8,8]' --optimize

# A block as torch.export writes it, and as torch.fx traces it.
cat >fx.fx <<'TEXT'
Block(
  (conv1): Conv2d(16, 16, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))
  (act): ReLU6(inplace=True)
  (conv2): Conv2d(16, 16, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))
  (relu): ReLU(inplace=True)
)

graph():
    %x : [num_users=2] = placeholder[target=x]
    %conv1 : [num_users=1] = call_module[target=conv1](args = (%x,), kwargs = {})
    %act : [num_users=1] = call_module[target=act](args = (%conv1,), kwargs = {})
    %conv2 : [num_users=1] = call_module[target=conv2](args = (%act,), kwargs = {})
    %add : [num_users=1] = call_function[target=operator.add](args = (%conv2, %x), kwargs = {})
    %relu : [num_users=1] = call_module[target=relu](args = (%add,), kwargs = {})
    return relu
TEXT
sed -e '/(act)/d; /(relu)/d' \
    -e 's/call_module\[target=act\](args = (%conv1,)/call_function[target=torch.ops.aten.hardtanh_.default](args = (%conv1, 0.0, 6.0)/' \
    -e 's/operator.add/torch.ops.aten.add_.Tensor/' \
    -e 's/call_module\[target=relu\]/call_function[target=torch.ops.aten.relu_.default]/' \
    fx.fx >exported.fx
for way in fx exported; do
    said "$way is optimized" 0 '' "$cfx" optimize "$way.fx" -q \
        --random-weights 1 -i 'x=f32[1,16,8,8]' -o "fast_$way.fx"
    grep -o 'target=torch.ops[^]]*' "fast_$way.fx" >"$way.ops"
done
said 'to the same operators' 0 '' cmp fx.ops exported.ops
said 'of which none is outside of a convolution' 0 '^4 fx.ops' wc -l fx.ops

# ---- What stays slow ----

cat >slow.fx <<'TEXT'
Slow(
  (odd): Conv2d(12, 12, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1), groups=2)
  (up): ConvTranspose2d(12, 16, kernel_size=(2, 2), stride=(2, 2))
  (conv): Conv2d(16, 16, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))
  (bn): BatchNorm2d(16, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=False)
  (fc): Linear(in_features=16, out_features=16, bias=True)
)

graph():
    %x : [num_users=2] = placeholder[target=x]
    %odd : [num_users=1] = call_module[target=odd](args = (%x,), kwargs = {})
    %up : [num_users=1] = call_module[target=up](args = (%odd,), kwargs = {})
    %conv : [num_users=2] = call_module[target=conv](args = (%up,), kwargs = {})
    %relu : [num_users=1] = call_function[target=torch.relu](args = (%conv,), kwargs = {})
    %sum_1 : [num_users=1] = call_function[target=operator.add](args = (%conv, %relu), kwargs = {})
    %bn : [num_users=1] = call_module[target=bn](args = (%sum_1,), kwargs = {})
    %mean : [num_users=1] = call_method[target=mean](args = (%bn, [2, 3]), kwargs = {})
    %fc : [num_users=2] = call_module[target=fc](args = (%mean,), kwargs = {})
    %gelu : [num_users=1] = call_function[target=torch.nn.functional.gelu](args = (%fc,), kwargs = {})
    %w : [num_users=1] = call_function[target=torch.neg](args = (%gelu,), kwargs = {})
    %lin : [num_users=1] = call_function[target=torch.nn.functional.linear](args = (%fc, %w), kwargs = {})
    %add_ : [num_users=0] = call_method[target=add_](args = (%x, 1), kwargs = {})
    return lin
TEXT
said 'what has no faster form, and why' 0 '^node +pass +why it has no faster form' \
    "$cfx" optimize slow.fx --random-weights 1 -i 'x=f32[1,12,8,8]' --report -q -o s.fx
also 'an input is written to' '^add_ +functionalize +it writes to x, which is or shares memory with an input'
also 'groups' '^odd +block_channels +its groups of 6 and 6 channels.* fill no blocks of 16'
also 'a transposed convolution' '^up +block_channels +transposed convolutions have no blocked form'
also 'an activation' '^relu +block_channels +2 nodes read conv, so it is not fused into it'
also 'a norm' '^bn +block_channels +it uses the statistics of its input'
also 'an activation of a layer' '^gelu +pack_linear +2 nodes read fc, so it is not fused into it'
also 'a computed weight' '^lin +pack_linear +its weight or bias is computed'
also 'their number' '^7 nodes could be faster'
said 'nothing is slow' 0 '^0 nodes could be faster' "$cfx" optimize fx.fx \
    --random-weights 1 -i 'x=f32[1,16,8,8]' --report -q -o s.fx

# ---- Attention ----

cat >attention.fx <<'TEXT'
Attention(
  (q): Linear(in_features=16, out_features=16, bias=True)
  (k): Linear(in_features=16, out_features=16, bias=True)
)

graph():
    %x : [num_users=3] = placeholder[target=x]
    %mask : [num_users=1] = placeholder[target=mask]
    %q : [num_users=1] = call_module[target=q](args = (%x,), kwargs = {})
    %k : [num_users=1] = call_module[target=k](args = (%x,), kwargs = {})
    %t : [num_users=1] = call_method[target=transpose](args = (%k, -1, -2), kwargs = {})
    %s : [num_users=1] = call_function[target=torch.matmul](args = (%q, %t), kwargs = {})
    %d : [num_users=1] = call_function[target=operator.truediv](args = (%s, 4.0), kwargs = {})
    %m : [num_users=1] = call_function[target=operator.add](args = (%d, %mask), kwargs = {})
    %w : [num_users=1] = call_function[target=torch.softmax](args = (%m, -1), kwargs = {})
    %y : [num_users=1] = call_function[target=torch.matmul](args = (%w, %x), kwargs = {})
    return y
TEXT
said 'attention is one node' 0 'verified' "$cfx" optimize attention.fx --verify \
    --random-weights 1 -i 'x=f32[2,7,16]' -i 'mask=f32[7,7]' -o a.fx
said 'without products and softmax' 1 '' grep 'matmul\|softmax' a.fx
said 'a mask of more batches stays' 0 '^y +fuse_attention +its mask' "$cfx" \
    optimize attention.fx --random-weights 1 -i 'x=f32[1,7,16]' -i 'mask=f32[2,7,7]' \
    --report -q -o a.fx

# The module becomes the same nodes.
cat >module.fx <<'TEXT'
Net(
  (attn): MultiheadAttention(num_heads=2, dropout=0.0, add_bias_kv=False, add_zero_attn=False, kdim=None, vdim=None, batch_first=True
    (out_proj): NonDynamicallyQuantizableLinear(in_features=16, out_features=16, bias=True)
  )
)

graph():
    %x : [num_users=3] = placeholder[target=x]
    %attn : [num_users=1] = call_module[target=attn](args = (%x, %x, %x), kwargs = {})
    %y : [num_users=1] = call_function[target=operator.getitem](args = (%attn, 0), kwargs = {})
    return y
TEXT
said 'a module of attention' 0 'verified' "$cfx" optimize module.fx --verify \
    --random-weights 1 -i 'x=f32[2,7,16]' -o a.fx
said 'is attention' 0 'scaled_dot_product_attention' cat a.fx
also 'and packed layers' 'packed_linear.*packed_linear'
said 'its items are compared' 0 '^0 of [0-9]+ nodes compared differ' "$cfx" diff \
    module.fx --random-weights 1 -i 'x=f32[2,7,16]' --optimize

# ---- Options ----

x=$(input resnet18)
said 'the text is printed' 0 'blocked_conv2d.*from_node.*bn1' "$cfx" optimize \
    "$zoo/resnet18.fx" --random-weights 1 -i "$x"
also 'a line for each pass' '^fuse_conv_bn +[0-9]+ nodes changed'
said 'quiet' 0 '' "$cfx" optimize "$zoo/resnet18.fx" --random-weights 1 -q \
    -i "$x" -o fast.fx
said 'quiet is silent' 0 '' test ! -s out -a ! -s err
said 'no shapes remain' 1 '' grep -q 'tensor_meta\|Tensor "f32' fast.fx
said 'the batch may be a symbol' 0 '' "$cfx" optimize "$zoo/resnet18.fx" \
    --random-weights 1 -i "$(input resnet18 N)" -o symbolic.fx
said 'Winograd does not need it' 0 '' grep -q blocked_winograd symbolic.fx
said 'it then runs with any' 0 'f32\[3, 1000\]' "$cfx" run symbolic.fx \
    -i "$(input resnet18 3)" --top 1
said 'run optimizes' 0 'output f32\[1, 1000\]' "$cfx" run "$zoo/resnet18.fx" \
    --random-weights 1 -i "$x" --optimize --top 1
said 'roofline shows the nodes that it makes' 0 'blocked_conv2d' "$cfx" \
    roofline "$zoo/resnet18.fx" --random-weights 1 -i "$x" --optimize \
    -m raspberry-pi-5
said 'roofline compares with the original' 0 'conv1' "$cfx" roofline \
    "$zoo/resnet18.fx" --random-weights 1 -i "$x" --optimize \
    --against "$zoo/resnet18.fx" -m raspberry-pi-5
said 'a tolerance by the largest element' 1 'nodes compared differ' "$cfx" diff \
    "$zoo/resnet18.fx" --random-weights 1 -i "$x" --optimize --rmax 1e-9
said 'a tolerance is a number' 2 'rmax take numbers' "$cfx" diff \
    "$zoo/resnet18.fx" --rmax few

# ---- Tuning ----

cat >tuned.fx <<'TEXT'
Tuned(
  (a): Conv2d(32, 32, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))
  (b): Conv2d(32, 32, kernel_size=(3, 3), stride=(2, 2), padding=(1, 1))
)

graph():
    %x : [num_users=1] = placeholder[target=x]
    %a : [num_users=1] = call_module[target=a](args = (%x,), kwargs = {})
    %r : [num_users=1] = call_function[target=torch.relu](args = (%a,), kwargs = {})
    %b : [num_users=1] = call_module[target=b](args = (%r,), kwargs = {})
    return b
TEXT
x='x=f32[1,32,12,12]'
said 'the times of both algorithms' 0 '^a +direct [0-9.]+ us, Winograd.s [0-9.]+ us' \
    "$cfx" optimize tuned.fx --random-weights 1 -i "$x" --tune --verify -o chosen.fx
also 'the choice is in the list of passes' "^block_channels\(winograd=\['?a?'?\]\)"
also 'the result is verified' 'verified'
said 'the choice is in the graph' 0 'from_node.*relu|from_node.*\[.a.' cat chosen.fx
said 'what cannot be measured' 1 'symbols have no time that can be measured' "$cfx" \
    optimize tuned.fx --random-weights 1 -i 'x=f32[N,32,12,12]' --tune
for list in '[]' "['a']" "['*']" "['relu']"; do
    said "winograd=$list" 0 '' "$cfx" transform tuned.fx --random-weights 1 -i "$x" \
        "block_channels(winograd=$list)" -o listed.fx
    echo "$list $(grep -c winograd_conv2d listed.fx)" >>listed
done
said 'the listed ones that can' 0 "^\\[\\] 0.*\\['a'\\] [1-9].*\\['\\*'\\] [1-9].*\\['relu'\\] 0" \
    sh -c "tr '\n' ' ' <listed"

# ---- bfloat16 ----

x=$(input resnet18)
said 'weights of bfloat16' 0 'verified' "$cfx" optimize "$zoo/resnet18.fx" \
    --random-weights 1 -i "$x" --bfloat16 --verify -o narrow.fx
said 'they are in the file' 0 '_bfloat16_0: bf16' cat narrow.fx
for threads in 1 2 3; do
    said "$threads threads" 0 '' "$cfx" run narrow.fx -i "$x" -t $threads \
        -O "out.$threads"
    said "the same with $threads threads" 0 '' \
        cmp out.1/output.npy "out.$threads/output.npy"
done
said "nodes are near the original's" 0 '^0 of [0-9]+ nodes compared differ' \
    "$cfx" diff "$zoo/resnet18.fx" --random-weights 1 -i "$x" --optimize --bfloat16
said 'they are on every processor' 0 '^0 of 7 nodes compared differ' "$cfx" \
    --cpu plain diff "$models/digits.fx" -i 'x=f32[2,1,8,8]' --optimize --bfloat16
cat >wide.fx <<'TEXT'
Wide(
  (a): Conv2d(16, 64, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))
)

graph():
    %x : [num_users=1] = placeholder[target=x]
    %a : [num_users=1] = call_module[target=a](args = (%x,), kwargs = {})
    return a
TEXT
wins() # wins COUNT CPU...: how many convolutions Winograd's algorithm computes
{
    count=$1
    shift
    "$cfx" "$@" optimize wide.fx --random-weights 1 -i 'x=f32[1,16,55,55]' \
        --bfloat16 -q -o wide.out.fx &&
        test "$(grep -c cfx.blocked_winograd wide.out.fx)" = "$count"
}
said 'Winograd where nothing multiplies bfloat16' 0 '' wins 1 --cpu plain
has_pairs() # do the best instructions that CFX_CPU allows multiply bfloat16?
{
    case ${CFX_CPU:-avx512} in
    *-bf16* | *-fma*) return 1 ;;
    avx512* | -*) grep -qs avx512_bf16 /proc/cpuinfo ;;
    *) return 1 ;;
    esac
}
if has_pairs; then
    said 'products of pairs win' 0 '' wins 0
    said 'Winograd in bfloat16' 0 '_packed_[0-9]*: bf16\[16, ' cat narrow.fx
    said 'images are of that type, too' 0 '' \
        grep -q '(.to., torch.bfloat16)' narrow.fx
fi
for command in run roofline diff; do
    said "$command: bfloat16 without optimize" 2 '--bfloat16 needs --optimize' \
        "$cfx" $command "$zoo/resnet18.fx" -i "$x" --bfloat16
done

# ---- int8 ----

said 'weights of int8' 0 'int8_weights +1 node  changed' "$cfx" optimize \
    "$models/digits.fx" -i 'x=f32[4,1,8,8]' --int8-weights --verify -o int8.fx
said 'they are in the file' 0 '_int8_0: i8\[1, 128, 16, 4\]' cat int8.fx
for threads in 1 2 3; do
    said "$threads threads" 0 '' "$cfx" run int8.fx -i 'x=f32[5,1,8,8]' \
        -t $threads -O "int8.$threads"
    said "the same with $threads threads" 0 '' \
        cmp int8.1/output.npy "int8.$threads/output.npy"
done
for cpu in $(levels); do
    said "they are on every processor ($cpu)" 0 '^0 of 7 nodes compared differ' \
        "$cfx" --cpu $cpu diff "$models/digits.fx" -i 'x=f32[2,1,8,8]' \
        --optimize --int8-weights
done
for command in run roofline diff; do
    said "$command: int8 without optimize" 2 '--int8-weights needs --optimize' \
        "$cfx" $command "$models/digits.fx" -i 'x=f32[2,1,8,8]' --int8-weights
done

# ---- Quantized models ----

"$cfx" quantize "$models/digits.fx" --calibrate "$models/digits_images.npy" \
    -q -o reference.fx
said 'a quantized model is computed with integers' 0 \
    'lower_quantized +[1-9][0-9]* nodes changed' "$cfx" optimize reference.fx \
    -i 'x=f32[B,1,8,8]' -o quantized.fx
said 'no float stands between' 1 '' grep -q \
    'torch.*\(relu\|max_pool2d\|\.linear\|quantize_per_tensor\)\.default\](args = (%[a-p]' quantized.fx
said 'it is as the reference' 0 'verified' "$cfx" optimize reference.fx \
    -i "x=$models/digits_images.npy" --verify -o quantized.fx
for cpu in $(levels); do
    for threads in 1 2 3; do
        "$cfx" --cpu $cpu run quantized.fx -i "x=$models/digits_images.npy" \
            -t $threads -O "out.$cpu.$threads" >/dev/null
        said "the same bits: $cpu, $threads threads" 0 '' cmp \
            out.plain.1/output.npy "out.$cpu.$threads/output.npy"
    done
done
said 'roofline has int8' 0 '^peak +float32 .*, int8 [0-9.]+' "$cfx" roofline \
    reference.fx --optimize -i 'x=f32[1,1,8,8]' -m raspberry-pi-5

# ---- Errors ----

cat >far.fx <<'end'
graph():
    %x : [num_users=1] = placeholder[target=x]
    %w : [num_users=1] = placeholder[target=w]
    %o : [num_users=1] = placeholder[target=o]
    %s : [num_users=1] = placeholder[target=s]
    %y : [num_users=1] = call_function[target=torch.ops.cfx.quantized_conv2d.default](args = (%x, %w, %o, %s), kwargs = {padding: 2147483647, stride: 1431655765})
    return y
end
said 'a border that no memory holds' 1 'quantized_conv2d: out of memory' "$cfx" \
    run far.fx -i 'u8[1,1,2,2,4]' -i 'i8[1,1,1,1,1,16,4]' -i 'i32[16]' -i 'f32[16]'

said 'weights are needed' 1 'no weights .*--random-weights' "$cfx" \
    optimize "$zoo/resnet18.fx" -i "$x"
said 'inputs are needed' 1 "input 'x' is missing" "$cfx" optimize "$zoo/resnet18.fx" \
    --random-weights 1
said 'a seed is for a run' 2 'seed needs --verify' "$cfx" optimize \
    "$zoo/resnet18.fx" --seed 1
tell
