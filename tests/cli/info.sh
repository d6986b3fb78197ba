#!/bin/sh
# What a model holds, told without running it; all that is not supported, at
# once.
. "$srcdir/tests/cli/said.sh"
golden=$src/tests/golden/pt2

# ---- What cfx knows ----

if "$cfx" info "$golden/mlp.pt2" >/dev/null 2>&1; then
    said 'a .pt2' 0 'mlp.pt2: pt2, schema 8\.[0-9]+, torch 2\.' \
        "$cfx" info "$golden/mlp.pt2"
    also 'its inputs' '^  input +f32\[4, 6\]$'
    also 'its outputs' '^  output +f32\[4, 3\], %relu_1$'
    also 'its operators' '^ +2  torch.ops.aten.linear.default$'
    also 'its parameters' '^parameters: 4, 83 elements, 332 bytes$'
    also 'all is supported' '^not supported: 0$'
    said 'tied weights are counted once' 0 \
        '^parameters: 1, 28 elements, 112 bytes; 1 more with the same memory$' \
        "$cfx" info "$golden/tied.pt2"
    said 'graphs within graphs' 0 '^ +1  torch.ops.aten.cos.default$' \
        "$cfx" info "$golden/cond.pt2"
    said 'extents that are symbols' 0 \
        '^  output.* +f32\[2\*s[0-9]+ \+ 2\*s[0-9]+, 2\], %mul_2$' \
        "$cfx" info "$golden/sizes.pt2"
    said 'the one value that is accepted' 0 '^  flag +False$' \
        "$cfx" info "$golden/dicts.pt2"
fi
said 'a text with modules' 0 'mymodule.fx: text$' \
    "$cfx" info "$src/models/mymodule.fx"
also 'modules count by their class' '^ +1  Linear$'
also 'methods' '^ +1  Tensor.clamp$'

said 'parameters that are None do not count' 0 '^parameters: 62, 11689512 ' \
    "$cfx" info "$src/models/resnet18.fx"
also 'nor do buffers' '^buffers: 60, 9620 elements'
cat >several.fx <<'END'
graph():
    %x : [num_users=2] = placeholder[target=x]
    %relu : [num_users=1] = call_function[target=torch.relu](args = (%x,), kwargs = {})
    %topk : [num_users=1] = call_function[target=torch.topk](args = (%x, 2), kwargs = {})
    return {'logits': relu, 'best': topk}
END
# Outputs have one name, in info, run and --save.
said 'outputs by their keys' 0 '^  output_logits +not known, %relu$' \
    "$cfx" info several.fx
also 'a node of several results' '^  output_best +not known, %topk$'
said 'run names them alike' 0 '^output_best_1 i64\[2\]$' \
    "$cfx" run several.fx -i 'f32[3]' --save output_logits=relu.npy
also 'and all' '^output_logits f32\[3\]$'
said 'a saved output' 0 '^output_logits is as expected' \
    "$cfx" run several.fx -i 'f32[3]' -O saved --expect saved
said 'by its name' 0 '' cmp relu.npy saved/output_logits.npy
said 'no such output' 1 "--save output_x=a.npy: there is no node 'output_x'" \
    "$cfx" run several.fx -i 'f32[3]' --save output_x=a.npy

# ---- What it does not know ----

cat >unknown.fx <<'END'
graph():
    %x : [num_users=1] = placeholder[target=x]
    %w : [num_users=1] = get_attr[target=w]
    %a : [num_users=1] = call_function[target=torch.rellu](args = (%x,), kwargs = {})
    %b : [num_users=1] = call_function[target=my.op](args = (%a, %w), kwargs = {})
    %c : [num_users=1] = call_function[target=my.op](args = (%b, 1), kwargs = {})
    %d : [num_users=1] = call_method[target=nosuch](args = (%c,), kwargs = {})
    return d
END
said 'what it lacks' 0 '^not supported: 3, calls: 4$' "$cfx" info unknown.fx
also 'counts' '^ +2  my.op, first in b$'
also 'near names' "^ +1  torch.rellu, first in a; did you mean 'torch.relu'\?$"
also 'methods' '^ +1  Tensor.nosuch, first in d$'
also 'state' '^parameters or buffers without a shape: 1$'
for command in run shapes; do
    said "$command names all of them" 1 "unknown.fx: 3 operators are unknown: \
'my.op' \(2 calls, the first in b\), 'nosuch' \(in d\), 'torch.rellu' \(in a; \
did you mean 'torch.relu'\?\); While executing %a " \
        "$cfx" $command unknown.fx -i 'x=f32[2]'
    if [ "$(wc -l <err)" = 1 ]; then ok; else not_ok "$command: one line"; fi
done

# A message has an end.
{
    echo 'graph():'
    echo '    %x : [num_users=1] = placeholder[target=x]'
    i=0
    while [ $i -lt 500 ]; do
        echo "    %y$i : [num_users=0] = call_function[target=my.operator$i]\
(args = (%x,), kwargs = {})"
        i=$((i + 1))
    done
    echo '    return x'
} >many.fx
said 'many unknown operators' 1 \
    '500 operators are unknown: .*operator0.* and 4[0-9]+ more; While' \
    "$cfx" run many.fx -i 'x=f32[2]'
said 'info lists them' 0 '^ +1  my.operator499, first in y499' \
    "$cfx" info many.fx

# ---- ONNX and files that are no models ----

if "$cfx" convert --help | grep -q onnx; then
    mkdir cases
    xz -dc "$src/tests/cases/onnx.tar.xz" | tar -xf - -C cases
    said 'an ONNX model' 0 'onnx, IR [0-9]+, operator set [0-9]+$' \
        "$cfx" info cases/test_relu/model.onnx
    also 'its declared inputs' '^  x +f32\[3, 4, 5\]$'
    also 'its outputs have their own names' '^  y +f32\[3, 4, 5\], %'
    said 'run prints them' 0 '^y f32\[3, 4, 5\]$' \
        "$cfx" run cases/test_relu/model.onnx -i 'f32[3,4,5]'
    said 'saves them' 0 '' "$cfx" run cases/test_relu/model.onnx -i 'f32[3,4,5]' -O names
    said 'and compares with them' 0 '^y is as expected' \
        "$cfx" run cases/test_relu/model.onnx -i 'f32[3,4,5]' --expect names
    # Nodes of ONNX: field 1 of the model's graph; x -> Foo -> Foo -> Abc.
    printf '\010\010\072\057\012\014\012\001x\022\001a\042\004Xyz1\012\014\012\001a\022\001b\042\004Xyz1\012\014\012\001b\022\001c\042\004Bar1\132\003\012\001x\102\004\012\002\020\021' >u.onnx
    said 'what ONNX lacks' 1 "u.onnx: 2 operators are unknown: 'Xyz1' \(2 \
calls, the first in a\), 'Bar1' \(in c\)" "$cfx" info u.onnx
fi
said 'no file' 1 'none.fx: ' "$cfx" info none.fx
said 'no model' 1 'none' "$cfx" info "$src/tests/cli/none.txt"
tell
