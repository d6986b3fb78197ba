#!/bin/sh
# Files of torch.export.save run on the sample inputs that they hold. The golden
# inputs, whose results unit tests compare with PyTorch's, are the same. Files
# that cfx writes give the same; tests/oracle/pt2_write.py loads such in PyTorch.
. "$srcdir/tests/cli/said.sh"
golden=$src/tests/golden/pt2
"$cfx" print "$golden/mlp.pt2" >/dev/null 2>&1 || exit 77

# alike NAME INPUT...: the sample inputs give what the golden ones do. INPUT is
# the name of a placeholder.
alike()
{
    model=$1 i=0
    shift
    said "$model on its samples" 0 '' \
        "$cfx" run "$golden/$model.pt2" -O sample
    for input; do
        set -- "$@" -i "$input=$golden/${model%_*}.in.safetensors:t$i"
        shift
        i=$((i + 1))
    done
    said "$model on golden inputs" 0 '' \
        "$cfx" run "$golden/$model.pt2" -O given "$@"
    if diff -r sample given >out 2>err; then ok; else
        not_ok "$model: samples give something else"
    fi
    rm -rf sample given
}

alike mlp input
alike mlp_flat input
alike dicts_schema5 pair_0 pair_1 table_k
alike dicts pair_0 pair_1 table_k
alike sizes x y
alike cond x
alike tied tokens
alike structure x
said 'a result is no tuple unless the program returns one' 0 '^output f32\[4, 3\]' \
    "$cfx" run "$golden/mlp.pt2"
names='output_boxes_corners output_boxes_scores_0 output_boxes_scores_1'
names="$names output_none output_pair_high output_pair_low output_size_0"
names="$names output_size_1 output_table_3"
"$cfx" run "$golden/structure.pt2" >out
have=$(sed -n 's/^\(output[^ ]*\) .*/\1/p' out | sort | tr '\n' ' ')
if [ "$have" = "$names " ]; then ok; else
    not_ok "the parts of a result are named $have"
fi
said 'files that are not read' 0 \
    'pt2, schema 5.3, not read: extra_files/notes.txt$' \
    "$cfx" info "$golden/dicts_schema5.pt2"
said 'other inputs' 0 'f32\[4, 3\]' \
    "$cfx" run "$golden/mlp.pt2" -i 'f32[4,6]'

said 'symbols have the ranges of the file' 0 \
    'symbols: 2 <= s77 <= 50, 2 <= s17 <= 70' "$cfx" shapes "$golden/sizes.pt2"
said 'info tells them' 0 '^  s77 +2 to 50$' "$cfx" info "$golden/sizes.pt2"
said '--set goes before them' 0 'symbols: 2 <= s77 <= 9, 2 <= s17 <= 70' \
    "$cfx" shapes "$golden/sizes.pt2" --set s77=2..9

# written NAME: what cfx writes gives what PyTorch's file gives, on the samples
# that it has kept, and is the same when it is read and written again. Arithmetic
# on extents is written anew, in another order.
written()
{
    said "$1 is written" 0 '' \
        "$cfx" convert "$golden/$1.pt2" again.pt2
    said "$1, written, on its samples" 0 '' \
        "$cfx" run again.pt2 -O sample
    said "$1 on its samples" 0 '' "$cfx" run "$golden/$1.pt2" -O given
    if diff -r sample given >out 2>err; then ok; else
        not_ok "$1: the written file gives something else"
    fi
    said "$1 is written again" 0 '' "$cfx" convert again.pt2 third.pt2
    "$cfx" print again.pt2 >a && "$cfx" print third.pt2 >b
    if [ "$1" = sizes ] || cmp a b >out 2>err; then ok; else
        not_ok "$1: another graph: $(diff a b | head -n 2 | tail -n 1)"
    fi
    said "$1 as text" 0 '' "$cfx" convert again.pt2 text.fx
    "$cfx" print text.fx >b
    if cmp a b >out 2>err; then ok; else not_ok "$1: the text differs"; fi
    rm -rf sample given
}

for model in mlp mlp_flat dicts cond tied mutated views constants sizes \
    structure; do
    written $model
done
"$cfx" convert "$golden/tied.pt2" again.pt2
if [ "$(grep -c 'again/data/weights/weight_1' again.pt2)" = 0 ]; then ok; else
    not_ok 'tied weights are written twice'
fi

# signature FILE: how the program is called, as the text has it.
signature()
{
    "$cfx" convert "$1" signature.fx &&
        grep -o "'in_spec': '[^']*', 'forward_arg_names': [^]]*" signature.fx
}

# Keywords and dicts stay what they are, while the tree fits the inputs.
"$cfx" convert "$golden/dicts.pt2" again.pt2
signature "$golden/dicts.pt2" >a
signature again.pt2 >b
if [ -s a ] && cmp a b >out 2>err; then ok; else
    not_ok "another signature: $(cat b)"
fi
said 'keywords of forward' 0 "'pair', 'table', 'flag'" cat b
said 'samples in tuples and dicts' 0 '' "$cfx" run again.pt2 -O sample
said 'samples of the file that was read' 0 '' \
    "$cfx" run "$golden/dicts.pt2" -O given
if diff -r sample given >out 2>err; then ok; else
    not_ok 'other samples'
fi
rm -rf sample given
cp signature.fx whole.fx
sed 's/"children_spec"/"other"/' whole.fx >broken.fx
said 'a tree without children is not written' 0 '' \
    "$cfx" convert broken.fx again.pt2
if signature again.pt2 >b; then not_ok "it is: $(cat b)"; else ok; fi
sed 's/"children_spec"/children/' whole.fx >broken.fx
said 'text that is no tree' 1 'in_spec: ' "$cfx" convert broken.fx again.pt2

# A traced model has modules and functions of torch, and no shapes.
cat >traced.fx <<'EOF'
M(
  (conv): Conv2d(3, 4, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))
  (fc): Linear(in_features=4, out_features=5, bias=True)
)

graph():
    %x : [num_users=2] = placeholder[target=x]
    %size : [num_users=1] = call_method[target=size](args = (%x, 0), kwargs = {})
    %conv : [num_users=1] = call_module[target=conv](args = (%x,), kwargs = {})
    %relu : [num_users=1] = call_function[target=torch.nn.functional.relu](args = (%conv,), kwargs = {inplace: True})
    %getitem : [num_users=1] = call_function[target=operator.getitem](args = (%relu, (slice(None, None, None), slice(None, None, None), slice(1, None, None), 0)), kwargs = {})
    %mean : [num_users=1] = call_method[target=mean](args = (%getitem, 2), kwargs = {})
    %view : [num_users=1] = call_method[target=view](args = (%mean, %size, -1), kwargs = {})
    %fc : [num_users=1] = call_module[target=fc](args = (%view,), kwargs = {})
    %mul : [num_users=1] = call_function[target=operator.mul](args = (2, %fc), kwargs = {})
    return (mul,)
EOF
said 'shapes are missing' 1 \
    "traced.fx: traced.pt2 has the shapes of all values, .* the input 'x' is" \
    "$cfx" convert traced.fx traced.pt2
said 'weights are missing' 1 "'conv.weight' has no data: give .* -w" \
    "$cfx" convert traced.fx traced.pt2 -i 'x=f32[N,3,8,8]'
said 'a traced model is written' 0 '' \
    "$cfx" convert traced.fx traced.pt2 -i 'x=f32[N,3,8,8]' --set N=2..64 \
    --random-weights 1
said 'ranges are written' 0 'symbols: 2 <= s0 <= 64' "$cfx" shapes traced.pt2
said 'modules are calls' 0 'torch.ops.aten.conv2d.default' \
    "$cfx" print traced.pt2
said 'symbols stay' 0 'f32\[s0, 5\]' "$cfx" shapes traced.pt2
for n in 2 5; do
    said "text, batch $n" 0 '' "$cfx" run traced.fx -i "f32[$n,3,8,8]" \
        --random-weights 1 -O sample
    said "file, batch $n" 0 '' "$cfx" run traced.pt2 -i "x=f32[$n,3,8,8]" \
        -O given
    if diff -r sample given >out 2>err; then ok; else
        not_ok "batch $n gives something else"
    fi
    rm -rf sample given
done

# A symbol that torch could have named keeps its name, wherever it stands.
cat >symbols.fx <<'EOF'
graph():
    %x : [num_users=1] = placeholder[target=x]
    %y : [num_users=1] = placeholder[target=y]
    %cat : [num_users=1] = call_function[target=torch.cat](args = ([%x, %y], 0), kwargs = {})
    return (cat,)
EOF
said 'symbols of both kinds' 0 '' \
    "$cfx" convert symbols.fx symbols.pt2 -i 'x=f32[N,3]' -i 'y=f32[s0,3]'
said 'symbols stay apart' 0 'f32\[s0 \+ s1, 3\]' "$cfx" shapes symbols.pt2

# An image of two axes has two factors.
cat >factors.fx <<'EOF'
graph():
    %x : [num_users=1] = placeholder[target=x]
    %interpolate : [num_users=1] = call_function[target=torch.nn.functional.interpolate](args = (%x,), kwargs = {scale_factor: [2.0]})
    return (interpolate,)
EOF
said 'too few factors' 1 'scale_factor has 1 numbers for 2 axes' \
    "$cfx" convert factors.fx factors.pt2 -i 'x=f32[1,2,3,3]'
sed 's/\[2.0\]/[2.0, None]/' factors.fx >two.fx
said 'a factor that is none' 1 "'scale_factor' must be float, not None" \
    "$cfx" convert two.fx two.pt2 -i 'x=f32[1,2,3,3]'
sed 's/\[2.0\]/[2.0, nan]/' factors.fx >two.fx
said 'a factor that is not known' 1 'known numbers as scale_factor: give size' \
    "$cfx" convert two.fx two.pt2 -i 'x=f32[1,2,3,3]'
sed 's/\[2.0\]/[2.0, 1.5]/' factors.fx >two.fx
said 'two factors' 0 '' "$cfx" convert two.fx two.pt2 -i 'x=f32[1,2,4,4]'
said 'two factors, written' 0 'f32\[1, 2, 8, 6\]' "$cfx" shapes two.pt2

# A list in the file has items of one kind.
cat >mixed.fx <<'EOF'
M(
  (positive): GraphModule()
  (negative): GraphModule()
)

graph():
    %x : [num_users=3] = placeholder[target=x]
    %sum_1 : [num_users=1] = call_function[target=torch.sum](args = (%x,), kwargs = {})
    %gt : [num_users=1] = call_function[target=torch.gt](args = (%sum_1, 0), kwargs = {})
    %positive : [num_users=1] = get_attr[target=positive]
    %negative : [num_users=1] = get_attr[target=negative]
    %cond : [num_users=1] = call_function[target=torch.ops.higher_order.cond](args = (%gt, %positive, %negative, [%x, 2.5]), kwargs = {})
    %getitem : [num_users=1] = call_function[target=operator.getitem](args = (%cond, 0), kwargs = {})
    return (getitem,)

graph positive():
    %x : [num_users=1] = placeholder[target=x]
    %k : [num_users=1] = placeholder[target=k]
    %mul : [num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%x, %k), kwargs = {})
    return (mul,)

graph negative():
    %x : [num_users=1] = placeholder[target=x]
    %k : [num_users=1] = placeholder[target=k]
    %add : [num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%x, %k), kwargs = {})
    return (add,)
EOF
said 'a list of a tensor and a number' 1 \
    'mixed.pt2: .* list with a float, which has no form in .pt2' \
    "$cfx" convert mixed.fx mixed.pt2 -i 'x=f32[4]'

# A line names the file once, and says the reason.
if [ -w /dev/full ]; then
    ln -s /dev/full full.pt2
    said 'a full disk' 1 '^cfx: [^ ]*/cond.pt2: full.pt2: No space left on device$' \
        "$cfx" convert "$golden/cond.pt2" full.pt2
    said 'a file that cannot be opened' 1 \
        '^cfx: [^ ]*/mlp.pt2: none/a.pt2: No such file or directory$' \
        "$cfx" convert "$golden/mlp.pt2" none/a.pt2
fi

# All operators that ATen lacks are named together.
cat >lacks.fx <<'EOF'
graph():
    %x : [num_users=2] = placeholder[target=x]
    %unique : [num_users=1] = call_function[target=torch.unique](args = (%x,), kwargs = {})
    %unique_1 : [num_users=1] = call_function[target=torch.unique_consecutive](args = (%x,), kwargs = {})
    return (unique, unique_1)
EOF
said 'operators without an overload' 1 \
    'ATen has no overload of: unique, unique_consecutive' \
    "$cfx" convert lacks.fx lacks.pt2 -i 'x=f32[4]'
if [ ! -e lacks.pt2 ]; then ok; else not_ok 'a failed command leaves a file'; fi

# Any call of the pickle that is not of a tensor is refused, as are bytes that
# do not have their checksum.
LC_ALL=C sed 's/OrderedDict/OrderedDoct/' "$golden/mlp.pt2" >bad.pt2
said 'a pickle that is broken' 1 \
    'bad.pt2: sample inputs \(data/sample_inputs/model.pt\): ' \
    "$cfx" run bad.pt2
if [ "$(wc -l <err)" = 1 ]; then ok; else not_ok 'one line'; fi
said 'other inputs need no samples' 0 '' "$cfx" run bad.pt2 -i 'f32[4,6]'
tell
