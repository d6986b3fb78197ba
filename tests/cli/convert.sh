#!/bin/sh
# Models of every format go to every other: the result computes the same, or one
# line tells why it cannot be. Tensors likewise.
. "$srcdir/tests/cli/said.sh"
golden=$src/tests/golden/pt2

# one_line NAME: the command before failed with one line, and left no file.
one_line()
{
    if [ "$got" = 1 ] && [ "$(wc -l <err)" = 1 ] && [ ! -e "$2" ] &&
        grep -q '^cfx: ' err; then ok; else
        not_ok "$1: status $got, $(wc -l <err) lines"
    fi
}

# numbers MODEL INPUT: what it gives, one after the other, in a file `numbers`.
numbers()
{
    rm -rf results
    "$cfx" run "$1" -i "$2" -O results >out 2>err &&
        cat results/* | tail -c +129 >numbers
}

# same NAME MODEL INPUT: it gives the numbers in `want`.
same()
{
    if numbers "$2" "$3" && cmp numbers want >out; then ok; else
        not_ok "$1: gives other numbers"
    fi
}

# target FORMAT NAME: what cfx convert is given.
target()
{
    case $1 in folder) echo "$2/" ;; *) echo "$2.$1" ;; esac
}

# all_of NAME INPUT: from a model in each format to each format. Python code has
# no modules, so that it is only read where there are none.
all_of()
{
    model=$1 input=$2 given=$(echo "$2" | sed 's/N/3/')
    numbers "$model.fx" "$given" && mv numbers want
    cp "$model.fx" "$model-fx.fx"
    [ ! -e "$model.safetensors" ] ||
        cp "$model.safetensors" "$model-fx.safetensors"
    for form in pt2 onnx; do
        "$cfx" convert "$model.fx" "$model-$form.$form" -i "$input" \
            >out 2>err </dev/null
    done
    grep -q get_attr\\\|call_module "$model.fx" ||
        "$cfx" print "$model.fx" --format python >"$model-py.py"
    for from in fx pt2 onnx py; do
        a=$model-$from.$from
        [ -e "$a" ] || continue
        for form in fx pt2 onnx folder; do
            b=$(target $form "$model-$from-$form")
            set -- -i "$input"
            case $form in fx | folder) set -- ;; esac
            "$cfx" convert "$a" "$b" "$@" >out 2>err </dev/null
            got=$?
            if [ $got != 0 ]; then
                one_line "$a to $form" "$b"
                refused="$refused $model:$from:$form"
            elif [ $form = folder ]; then
                if [ -s "$b/module.py" ]; then ok; else
                    not_ok "$a to a folder"
                fi
            else
                same "$a to $form" "$b" "$given"
            fi
        done
    done
}

cat >plain.fx <<'EOF'
graph():
    %x : [num_users=2] = placeholder[target=x]
    %softmax : [num_users=1] = call_function[target=torch.softmax](args = (%x, 1), kwargs = {})
    %getitem : [num_users=1] = call_function[target=operator.getitem](args = (%x, (slice(None, None, None), slice(1, 3, None))), kwargs = {})
    %cat : [num_users=1] = call_function[target=torch.cat](args = ([%softmax, %getitem], 1), kwargs = {})
    %mul : [num_users=1] = call_function[target=operator.mul](args = (%cat, 2), kwargs = {})
    return mul
EOF
refused=
for model in digits mymodule topk; do
    cp "$src/models/$model.fx" "$src/models/$model.safetensors" .
done
for model in mlp cond mutated; do
    "$cfx" convert "$golden/$model.pt2" $model.fx
done
all_of plain 'x=f32[N,4]'
all_of digits 'x=f32[N,1,8,8]'
all_of mymodule 'x=f32[N,4]'
all_of topk 'x=f32[5,4]'
all_of mlp 'input=f32[4,6]'
all_of cond 'x=f32[3]'
all_of mutated 'x=f32[2]'
# ONNX is written of layers without state and choices.
want=' cond:fx:onnx cond:pt2:onnx'
want="$want mutated:fx:onnx mutated:pt2:onnx"
if [ "$refused" = "$want" ]; then ok; else not_ok "refused:$refused"; fi

# A graph that is only wrapped, as by torch.no_grad(), is written in its place.
cat >wrapped.fx <<'EOF'
GraphModule(
  (submod_1): GraphModule()
)

graph():
    %x : [num_users=1] = placeholder[target=x]
    %submod_1 : [num_users=1] = get_attr[target=submod_1]
    %wrap : [num_users=2] = call_function[target=torch.ops.higher_order.wrap_with_set_grad_enabled](args = (False, %submod_1, %x), kwargs = {})
    %a : [num_users=1] = call_function[target=operator.getitem](args = (%wrap, 0), kwargs = {})
    %b : [num_users=1] = call_function[target=operator.getitem](args = (%wrap, 1), kwargs = {})
    %add : [num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%a, %b), kwargs = {})
    return add

graph submod_1():
    %y : [num_users=2] = placeholder[target=y]
    %relu : [num_users=1] = call_function[target=torch.ops.aten.relu.default](args = (%y,), kwargs = {})
    %neg : [num_users=1] = call_function[target=torch.ops.aten.neg.default](args = (%y,), kwargs = {})
    return (relu, neg)
EOF
"$cfx" run wrapped.fx -i 'x=f32[3]' | sed 1d >want
for to in pt2 onnx; do
    if "$cfx" convert wrapped.fx "wrapped.$to" -i 'x=f32[3]' >out 2>err &&
        "$cfx" run "wrapped.$to" -i 'f32[3]' >out 2>err &&
        sed 1d out | cmp - want; then ok; else
        not_ok "a wrapped graph as $to"
    fi
done

# The parts of a nested result are outputs of ONNX, in order.
cat >nested.fx <<'EOF'
graph():
    %x : [num_users=2] = placeholder[target=x]
    %relu : [num_users=1] = call_function[target=torch.relu](args = (%x,), kwargs = {})
    %neg : [num_users=1] = call_function[target=torch.neg](args = (%x,), kwargs = {})
    return {'a': relu, 'b': [neg, (relu,)]}
EOF
if "$cfx" convert nested.fx nested.onnx -i 'x=f32[3]' >out 2>err &&
    "$cfx" run nested.onnx -i 'f32[3]' >flat 2>err; then
    "$cfx" run nested.fx -i 'f32[3]' | sed 's/^[a-z_0-9]* f32/f32/' >out
    if sed 's/^[a-z_0-9]* f32/f32/' flat | cmp - out; then ok; else
        not_ok 'a nested result is something else in ONNX'
    fi
else
    not_ok 'a nested result is not written to ONNX'
fi

# ---- Tensors ----

cat >same.fx <<'EOF'
graph():
    %x : [num_users=1] = placeholder[target=x]
    return x
EOF
# saved FROM TO: a tensor of one file is written to another.
saved()
{
    said "$1 to $2" 0 '' "$cfx" run same.fx -i "x=$1" --save "x=$2"
}

# All forms of the tensors give the same array as .npy.
for type in f32 f64 i64 u8 b8 f16 c64 bf16; do
    rm -f a.* b.* c.*
    saved "$type[2,3]" a.safetensors
    a=$("$cfx" run same.fx -i x=a.safetensors:x)
    for form in npy npz safetensors; do
        for to in npy npz safetensors; do
            from=a.safetensors:x
            [ $form = npy ] && from=a.npy
            [ $form = npz ] && from=a.npz:x
            [ -e a.$form ] || "$cfx" run same.fx -i x=a.safetensors:x \
                --save x=a.$form >out 2>err
            got=$?
            if [ ! -e a.$form ]; then
                [ $type = bf16 ] || not_ok "$type as $form"
                one_line "$type as $form" a.$form
                continue
            fi
            "$cfx" run same.fx -i x=$from --save x=b.$to >out 2>err
            got=$?
            if [ $got != 0 ]; then
                [ $type = bf16 ] || not_ok "$type from $form to $to"
                one_line "$type from $form to $to" b.$to
                continue
            fi
            from=b.$to
            [ $to = npy ] || from=$from:x
            if [ "$("$cfx" run same.fx -i x=$from)" = "$a" ]; then ok; else
                not_ok "$type from $form to $to is another"
            fi
            rm -f b.*
        done
    done
done
tell
