#!/bin/sh
# The examples compile, without a warning, and do what they say. (demo.sh runs
# digits.)
. "$srcdir/tests/cli/said.sh"

# ---- Programs ----

m=$src/models
said 'run prints the result' 0 '^tensor\(\[\[' \
    "$build/run-example" "$m/digits.fx" "$m/digits_images.npy"
"$build/cfx" run "$m/digits.fx" -i "x=$m/digits_images.npy" -O results >out 2>&1
said 'run gives what cfx gives' 0 "$("$build/run-example" "$m/digits.fx" \
    "$m/digits_images.npy" | head -1 | sed 's/[][().]/\\&/g')" \
    "$build/cfx" run "$m/digits.fx" -i "x=$m/digits_images.npy"
said 'run without arguments' 2 '' "$build/run-example"
said 'run tells what is wrong' 1 '^run: none.fx: ' \
    "$build/run-example" none.fx x
# Two convolutions and one matrix, for each of 360 images:
# 8*8*16*9*1 + 8*8*32*9*16 + 512*10 multiply-adds.
said 'count_flops adds up' 0 \
    "^call_module +$((2 * 360 * (9216 + 294912 + 5120))) flops" \
    "$build/count-flops" "$m/digits.fx" "$m/digits_images.npy"
said 'count_flops needs no weights' 0 '^call_module +[1-9]' sh -c "
    cp '$m/digits.fx' here.fx &&
    '$build/count-flops' here.fx '$m/digits_images.npy'"
said 'count_flops goes into the graphs of cond' 0 '^call_function +0 flops' \
    "$build/count-flops" "$m/branch.fx" "$m/digits_images.npy"
cat >cond.fx <<'END'
# cfx 1
Net(
  (f): Net()
  (g): Net()
)

graph():
    %x : [num_users=1] = placeholder[target=x]
    %flat : [num_users=2] = call_function[target=torch.flatten](args = (%x, 1), kwargs = {})
    %p : [num_users=1] = call_function[target=torch.any](args = (%flat,), kwargs = {})
    %f : [num_users=1] = get_attr[target=f]
    %g : [num_users=1] = get_attr[target=g]
    %c : [num_users=1] = call_function[target=torch.ops.higher_order.cond](args = (%p, %f, %g, (%flat,)), kwargs = {})
    return %c

graph f():
    %x : [num_users=2] = placeholder[target=x]
    %t : [num_users=1] = call_method[target=t](args = (%x,), kwargs = {})
    %mm : [num_users=1] = call_function[target=torch.mm](args = (%x, %t), kwargs = {})
    return %mm

graph g():
    %x : [num_users=2] = placeholder[target=x]
    %t : [num_users=1] = call_method[target=t](args = (%x,), kwargs = {})
    %mm : [num_users=1] = call_method[target=mm](args = (%x, %t), kwargs = {})
    return %mm
END
for by in call_function call_method; do # 360 images of 8 by 8, in both branches
    said "count_flops counts both branches ($by)" 0 \
        "^$by +$((2 * 360 * 360 * 64)) flops" \
        "$build/count-flops" cond.fx "$m/digits_images.npy"
done
cat >softmax.fx <<'END'
graph():
    %x : [num_users=1] = placeholder[target=x]
    %softmax : [num_users=1] = call_function[target=torch.softmax](args = (%x, 1), kwargs = {})
    return softmax
END
said 'own_cost counts exps as sixteen' 0 '^torch.softmax +3[34][0-9]\*N flops' \
    "$build/own-cost" softmax.fx 'f32[N,10]'
said 'own_cost tells what is wrong' 1 '^own_cost: none.fx: ' \
    "$build/own-cost" none.fx 'f32[2]'
said 'swap calls another function' 0 '^tensor' \
    "$build/swap" "$m/mymodule.fx" operator.add operator.sub
said 'swap names what is unknown' 1 \
    "unknown function 'nope'.*While executing %add" \
    "$build/swap" "$m/mymodule.fx" operator.add nope
said 'swap_by_edit makes sums products' 0 \
    '%mul : .*target=operator.mul.\(args = \(%x, %param\)' \
    "$build/swap-by-edit" "$m/mymodule.fx"
said 'swap_by_edit leaves no sum' 1 '' sh -c "
    '$build/swap-by-edit' '$m/mymodule.fx' | grep operator.add"
said 'swap_by_edit tells what is wrong' 1 '^swap_by_edit: none.fx: ' \
    "$build/swap-by-edit" none.fx
said 'swap_by_pattern makes sums products' 0 \
    'call_function\[target=torch.mul\]' \
    "$build/swap-by-pattern" "$m/mymodule.fx"
said 'swap_by_pattern tells how many' 0 '^1 replaced$' \
    "$build/swap-by-pattern" "$m/mymodule.fx"
said 'swap_by_pattern tells what is wrong' 1 '^swap_by_pattern: none.fx: ' \
    "$build/swap-by-pattern" none.fx
said 'swap_by_transformer calls another function' 0 \
    '%mul : .*target=operator.mul.\(args = \(%x, %param\)' \
    "$build/swap-by-transformer" "$m/mymodule.fx"
said 'swap_by_transformer prints a model' 0 '' sh -c "
    '$build/swap-by-transformer' '$m/mymodule.fx' >swapped.fx &&
    '$build/cfx' print swapped.fx --format model | cmp - swapped.fx"
said 'swap_by_transformer tells what is wrong' 1 \
    '^swap_by_transformer: none.fx: ' "$build/swap-by-transformer" none.fx
said 'decompose_relu leaves none' 1 '' sh -c "
    '$build/decompose-relu' '$m/digits.fx' | grep -i relu"
cp "$m/digits.safetensors" decomposed.safetensors
"$build/decompose-relu" "$m/digits.fx" >decomposed.fx
said 'decompose_relu changes no result' 0 '' sh -c "
    '$build/cfx' run decomposed.fx -i 'x=$m/digits_images.npy' -O a &&
    '$build/cfx' run '$m/digits.fx' -i 'x=$m/digits_images.npy' -O b &&
    cmp a/output.npy b/output.npy"
said 'own_pass tells what it did' 0 '^2 nodes changed$' \
    "$build/own-pass" "$m/digits.fx"
"$build/own-pass" "$m/digits.fx" 2>errors >pooled.fx
said 'own_pass pools first' 0 'module.target=pool.\(args = \(%bn2,\)' cat pooled.fx
cp "$m/digits.safetensors" pooled.safetensors
said 'own_pass changes no result' 0 '' sh -c "
    '$build/cfx' run pooled.fx -i 'x=$m/digits_images.npy' -O a &&
    '$build/cfx' run '$m/digits.fx' -i 'x=$m/digits_images.npy' -O b &&
    cmp a/output.npy b/output.npy"
said 'shapes adds up for any size' 0 \
    '\*H\*N\*W .* bytes$' \
    "$build/shapes-example" "$m/resnet18.fx" 'f32[N,3,H,W]'
said 'shapes adds up' 0 '^[0-9]+\*N bytes$' \
    "$build/shapes-example" "$m/resnet18.fx" 'f32[N,3,224,224]'
said 'shapes names what does not fit' 1 'Conv2d of f32\[N, 1, 8, 8\] in conv1' \
    "$build/shapes-example" "$m/resnet18.fx" 'f32[N,1,8,8]'
said 'own_module runs' 0 '^eager: 2 by 4$' "$build/own-module"
said 'own_module propagates shapes' 0 '^meta: 2 by 4$' \
    "$build/own-module"
said 'own_module is traced' 0 'target=torch.mul.\(args = \(%relu, %scale\)' \
    "$build/own-module"
said 'embed needs no file' 0 '^3$' "$build/embed"
said 'digits tells what is wrong' 1 '^digits: none.fx: ' \
    "$build/digits" none.fx a b
said 'digits without arguments' 2 '^usage' "$build/digits"

cat >conv.fx <<'END'
Net(
  (conv): Conv2d(3, 4, kernel_size=(1, 1), stride=(1, 1), bias=False)
  (bn): BatchNorm2d(4, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)
)

graph():
    %x : [num_users=1] = placeholder[target=x]
    %conv : [num_users=1] = call_module[target=conv](args = (%x,), kwargs = {})
    %bn : [num_users=1] = call_module[target=bn](args = (%conv,), kwargs = {})
    return bn
END
cat >fused.fx <<'END'
Net(
  (conv): Conv2d(3, 4, kernel_size=(1, 1), stride=(1, 1))
)

graph():
    %x : [num_users=1] = placeholder[target=x]
    %conv : [num_users=1] = call_module[target=conv](args = (%x,), kwargs = {})
    return conv
END
"$build/conv-bn-fusion" conv.fx >back 2>&1
said 'conv_bn_fusion folds the norm into the convolution' 0 '' cmp back fused.fx
said 'conv_bn_fusion tells what is wrong' 1 '^conv_bn_fusion: none.fx: ' \
    "$build/conv-bn-fusion" none.fx

# ---- Plugins ----

flags="-std=c11 -O1 -Wall -Wextra -Wpedantic -Wshadow -Wconversion
       -Wstrict-prototypes -Wmissing-prototypes -Werror -shared -fPIC"
plugin()
{
    # shellcheck disable=SC2086
    said "$1.c compiles" 0 '' ${CC:-cc} $flags -I"$build/lib" -I"$src/lib" \
        -o "$1.so" "$src/examples/$1.c"
}

cat >twice.fx <<'END'
graph():
    %x : [num_users=1] = placeholder[target=x]
    %twice : [num_users=1] = call_function[target=my.twice](args = (%x,), kwargs = {})
    %twice_1 : [num_users=1] = call_method[target=twice](args = (%twice,), kwargs = {})
    return twice_1
END
cat >one.fx <<'END'
graph():
    %ones : [num_users=1] = call_function[target=torch.ones](args = (3,), kwargs = {})
    %twice : [num_users=1] = call_function[target=my.twice](args = (%ones,), kwargs = {})
    return twice
END
plugin twice
if [ -f twice.so ]; then
    said 'an operator of a plugin' 0 '^tensor\(\[2., 2., 2.\]\)' \
        "$build/cfx" run one.fx --load ./twice.so
    said 'its method' 0 '^output f32\[2, 3\]' \
        "$build/cfx" run twice.fx --load ./twice.so -i 'x=f32[2,3]'
    said 'its errors name the node' 1 \
        'takes float32 only; While executing %twice' \
        "$build/cfx" run twice.fx --load ./twice.so -i 'x=i32[2]'
    said 'its signature is checked' 1 'While executing %twice' \
        "$build/cfx" run twice.fx --load ./twice.so -i 'x=3'
    said 'its documentation' 0 'Twice each element' \
        "$build/cfx" ops my.twice --load ./twice.so
    said 'unknown without the plugin' 1 \
        "2 operators are unknown: 'my.twice' .*\(--load FILE.so registers operators\)\$" \
        "$build/cfx" run twice.fx -i 'x=f32[2,3]'
fi

cat >scale.fx <<'END'
Net(
  (scale): Scale(features=3)
)

graph():
    %x : [num_users=1] = placeholder[target=x]
    %scale : [num_users=1] = call_module[target=scale](args = (%x,), kwargs = {})
    return scale
END
plugin scale
if [ -f scale.so ]; then
    said 'a module type of a plugin' 0 '^output f32\[2, 3\]' "$build/cfx" run \
        scale.fx --load ./scale.so -i 'x=f32[2,3]' --random-weights 1
    "$build/cfx" print scale.fx --load ./scale.so --format model >back 2>&1
    said 'its model prints back' 0 '' cmp back scale.fx
    said 'its shapes are checked' 1 'While executing %scale' "$build/cfx" run \
        scale.fx --load ./scale.so -i 'x=f32[2,4]' --random-weights 1
    said 'its weights are missed' 1 'missing weight: scale.weight' \
        "$build/cfx" run scale.fx --load ./scale.so -i 'x=f32[2,3]'
    said 'its documentation' 0 'learned factor' \
        "$build/cfx" ops --modules Scale --load ./scale.so
    sed 's/features=3/features=0/' scale.fx >zero.fx
    said 'its constructor may refuse' 1 \
        '^cfx: zero.fx:2:.*at least one feature' \
        "$build/cfx" print zero.fx --load ./scale.so
    said 'unknown without the plugin' 1 'Scale is unknown' \
        "$build/cfx" run scale.fx -i 'x=f32[2,3]'
fi

# ---- Short ----

for f in "$src"/examples/*.c; do
    case $f in */digits.c | */generate.c) continue ;; esac
    n=$(awk '/^\/\*/ { c = 1 } !c && NF && !/^ *\/\*.*\*\/$/ { n++ }
             /\*\/ *$/ { c = 0 } END { print n }' "$f")
    said "${f##*/} has $n lines of code, at most 60" 0 '' test "$n" -le 60
done

tell
