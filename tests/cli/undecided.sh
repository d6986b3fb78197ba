#!/bin/sh
# Arguments that the text of a module hides: decided by the graph, the shapes or
# the weights, or asked for with the line to write; never assumed.
. "$srcdir/tests/cli/said.sh"

# model NAME MODULE NODES: NAME.fx, with one module `m` and these nodes.
model()
{
    printf 'Net(\n  (m): %s\n)\n\ngraph():\n%s\n' "$2" "$3" >"$1.fx"
}
x='    %x : [num_users=1] = placeholder[target=x]'
m='    %m : [num_users=1] = call_module[target=m](args = (%x,), kwargs = {})'
plain="$x
$m
    return m"
relu="$x
$m
    %relu : [num_users=1] = call_function[target=torch.relu](args = (%m,), kwargs = {})
    return relu"

# silent NAME ARGUMENT...: it succeeds, and stderr is empty.
silent()
{
    name=$1
    shift
    said "$name" 0 '' "$cfx" "$@"
    if [ -s err ]; then not_ok "$name: says something"; else ok; fi
}

# asks NAME PATTERN ARGUMENT...
asks()
{
    name=$1 pattern=$2
    shift 2
    said "$name" 1 "$pattern" "$cfx" "$@"
    also "$name" '--assume-defaults'
}

# ---- Ordinary networks load without a word ----
for f in resnet18 mobilenet_v3_small; do
    silent "$f" shapes "$src/models/$f.fx" -i 'f32[N,3,224,224]'
done
silent 'digits' run "$src/models/digits.fx" -i 'f32[1,1,8,8]'

# ---- The graph decides ----
model max 'MaxPool2d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False)' "$relu"
silent 'a result that is used as a tensor has no indices' \
    run max.fx -i 'f32[1,1,4,4]'
model max1 'MaxPool2d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False)' "$plain"
asks 'a result that is only returned decides nothing' \
    '^cfx: max1.fx: .*m: the text of MaxPool2d does not tell return_indices: write it into its line, as in MaxPool2d\(\.\.\., return_indices=False\)' \
    run max1.fx -i 'f32[1,1,4,4]'
asks 'shapes depend on it too' 'does not tell return_indices' \
    shapes max1.fx -i 'f32[1,1,4,4]'
silent 'the default, if asked for' run max1.fx -i 'f32[1,1,4,4]' \
    --assume-defaults
model max2 'MaxPool2d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False, return_indices=False)' "$plain"
silent 'the line that the message shows is taken' \
    run max2.fx -i 'f32[1,1,4,4]'
model hs 'Hardswish()' "$relu"
silent 'an input that nothing else reads may be written to' \
    run hs.fx -i 'f32[4]'
model hs2 'Hardswish()' "    %x : [num_users=1] = placeholder[target=x]
    %y : [num_users=2] = call_function[target=torch.relu](args = (%x,), kwargs = {})
    %m : [num_users=1] = call_module[target=m](args = (%y,), kwargs = {})
    %add : [num_users=1] = call_function[target=torch.add](args = (%m, %y), kwargs = {})
    return add"
asks 'one that is read again' 'Hardswish does not tell inplace' \
    run hs2.fx -i 'f32[4]'

# ---- The shapes decide ----
model avg 'AvgPool2d(kernel_size=2, stride=2, padding=0)' "$plain"
silent 'windows that fill the input' run avg.fx -i 'f32[1,1,4,4]'
asks 'windows that do not' 'AvgPool2d does not tell ceil_mode' \
    run avg.fx -i 'f32[1,1,5,4]'
said 'an extent that is a symbol gets a guard' 0 'f32\[1, 1, .*H' \
    "$cfx" shapes avg.fx -i 'f32[1,1,H,4]'
also 'the guard is printed' 'H.* 2'
model avg1 'AvgPool2d(kernel_size=3, stride=1, padding=1)' "$plain"
asks 'padding that may count' 'does not tell count_include_pad' \
    run avg1.fx -i 'f32[1,1,4,4]'
silent 'shapes do not depend on it' shapes avg1.fx -i 'f32[1,1,4,4]'
model avg2 'AvgPool2d(kernel_size=3, stride=1, padding=1, count_include_pad=False)' "$plain"
silent 'once told' run avg2.fx -i 'f32[1,1,4,4]'
model up 'Upsample(scale_factor=2.0, mode='"'bilinear')" "$plain"
asks 'corners of interpolation' 'Upsample does not tell align_corners' \
    run up.fx -i 'f32[1,1,4,4]'
silent 'the shape of interpolation' shapes up.fx -i 'f32[1,1,4,4]'
model up1 'Upsample(scale_factor=2.0, mode='"'nearest')" "$plain"
silent 'nearest has no corners' run up1.fx -i 'f32[1,1,4,4]'
model up2 'Upsample(scale_factor=0.5, mode='"'nearest')" "$plain"
silent 'half of an even size' run up2.fx -i 'f32[1,1,4,4]'
asks 'half of an odd one' 'does not tell recompute_scale_factor' \
    run up2.fx -i 'f32[1,1,5,4]'

# ---- What nothing decides ----
model rnn 'RNN(3, 4)' "$x
$m
    %getitem : [num_users=1] = call_function[target=operator.getitem](args = (%m, 0), kwargs = {})
    return getitem"
asks 'the function of an RNN' 'RNN does not tell nonlinearity' \
    run rnn.fx -i 'f32[5,2,3]' --random-weights 1
printf 'Net(\n  (a): MultiheadAttention(\n    (out_proj): Linear(in_features=4, out_features=4, bias=True)\n  )\n)\n\ngraph():\n    %%x : [num_users=1] = placeholder[target=x]\n    return x\n' >mha.fx
said 'the whole line of an attention' 1 \
    'as in MultiheadAttention\(num_heads=\.\.\., dropout=0\.0, add_bias_kv=False, add_zero_attn=False, kdim=None, vdim=None, batch_first=False' \
    "$cfx" print mha.fx

# ---- Computed parameters ----
cat >norm.fx <<'END'
Net(
  (m): ParametrizedLinear(
    in_features=4, out_features=3, bias=True
    (parametrizations): ModuleDict(
      (weight): ParametrizationList(
        (0): _WeightNorm()
      )
    )
  )
)

graph():
    %x : [num_users=1] = placeholder[target=x]
    %m : [num_users=1] = call_module[target=m](args = (%x,), kwargs = {})
    return m
END
silent 'the shapes of a weight_norm' shapes norm.fx -i 'f32[2,4]'
said 'a weight_norm without its weights' 1 \
    'no weights .*missing weight: m.parametrizations.weight.original0|missing weight: m.parametrizations.weight.original0' \
    "$cfx" run norm.fx -i 'f32[2,4]'
said 'its weight is not folded' 0 '' "$cfx" transform norm.fx fuse_linear_bn \
    -o fused.fx

# ---- Texts that no PyTorch prints ----

cat >leaf.fx <<'END'
Net(
  (m): ParametrizedSigmoid()
)

graph():
    %x : [num_users=1] = placeholder[target=x]
    %m : [num_users=1] = call_module[target=m](args = (%x,), kwargs = {})
    return m
END
said 'a class of its own that is named like a parametrized one' 1 \
    'ParametrizedSigmoid is unknown' "$cfx" run leaf.fx -i 'f32[2]'
sed 's/ParametrizedSigmoid()/AvgPool2d(kernel_size=(), stride=(), padding=0)/' \
    leaf.fx >empty.fx
said 'a pooling without windows' 1 '^cfx: .+' \
    "$cfx" run empty.fx -i 'f32[1,1,4,4]'
sed 's/_WeightNorm()/TripletMarginLoss(margin=1.0)/' norm.fx >three.fx
said 'a parametrization by three tensors' 1 '^cfx: .+' \
    "$cfx" run three.fx --random-weights 1 -i 'f32[2,4]'

# A Hardswish may write to an input that the module around it was given.
cat >inside.fx <<'END'
Net(
  (seq): Sequential(
    (0): Hardswish()
  )
)

graph():
    %x : [num_users=2] = placeholder[target=x]
    %seq : [num_users=1] = call_module[target=seq](args = (%x,), kwargs = {})
    %add : [num_users=1] = call_function[target=operator.add](args = (%x, %seq), kwargs = {})
    return add
END
asks 'a call within a module' 'Hardswish does not tell inplace' \
    run inside.fx -i 'f32[2]'

# ---- What reads the model without running it ----
said 'the superset keeps what is undecided' 0 '' \
    "$cfx" convert avg.fx avg3.fx --lossless
grep -q "AvgPool2d(kernel_size=2, stride=2, padding=0, undecided=('ceil_mode',))" \
    avg3.fx && ok || { cp avg3.fx out; not_ok 'undecided is written'; }
asks 'and asks as before' 'AvgPool2d does not tell ceil_mode' \
    run avg3.fx -i 'f32[1,1,5,4]'
"$cfx" convert avg3.fx avg4.fx --lossless && cmp -s avg3.fx avg4.fx && ok ||
    not_ok 'the superset comes back'
asks 'a pass that would have to write it' 'does not tell ceil_mode' \
    transform avg.fx inline_modules -o inlined.fx
[ -e inlined.fx ] && not_ok 'a file is left' || ok
said 'a pass that need not' 0 '' \
    "$cfx" transform avg.fx dead_code -o dead.fx
asks 'a folder of Python' 'does not tell ceil_mode' \
    convert avg.fx folder/
said 'C that asks when it runs' 0 'cfx_build_undecide\(&b, "m", "ceil_mode"\)' \
    "$cfx" print avg.fx --format c
tell
