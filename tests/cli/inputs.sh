#!/bin/sh
# Inputs are compared with those that the model was exported for: in each format,
# by each command, and named with what to do. --any-shape runs them all the same.
. "$srcdir/tests/cli/said.sh"
golden=$src/tests/golden/pt2
"$cfx" print "$golden/baked.pt2" >/dev/null 2>&1 || exit 77
"$cfx" convert --help | grep -q onnx && formats='pt2 fx onnx' || formats='pt2 fx'
for model in baked guarded; do
    cp "$golden/$model.pt2" .
    for format in $formats; do
        [ $format = pt2 ] ||
            said "$model as $format" 0 '' "$cfx" convert $model.pt2 $model.$format
    done
done
cat >python.py <<'END'
def forward(self, x : "f32[2, 4]"):
    add : "f32[2, 4]" = torch.ops.aten.add.Tensor(x, 1);  x = None
    return add
END

# commands MODEL STATUS PATTERN OPTION...: each command ends with the status and
# the words for these inputs.
commands()
{
    file=$1 want=$2 words=$3
    shift 3
    for command in run 'run --optimize' shapes 'roofline --machine machine.json' \
        'roofline --machine machine.json --measure --runs 1' 'optimize -o o.fx' \
        'optimize -o o.fx --verify' transform \
        'diff --optimize' "diff $file"; do
        passes=
        [ "$command" != transform ] ||
            passes='remove_dropout --verify -o t.fx'
        # shellcheck disable=SC2086
        said "$file, $command, $*" "$want" "$words" \
            "$cfx" $command "$file" $passes "$@"
    done
}

cp "$src/tests/golden/roofline/machine.json" .

# ---- Shapes and types ----

again='export it with dynamic_shapes=..., or --any-shape$'
for format in $formats; do
    commands baked.$format 1 \
        "input x is f32\[3, 4\]; the model was exported for f32\[2, 4\]: $again" \
        -i 'x=f32[3,4]'
    commands baked.$format 1 \
        "input x is f64.*exported for f32.*: convert it, as x.astype.'float32'. does, or" \
        -i 'x=f64[2,4]'
    commands baked.$format 1 'for f32\[2, 4\]: give a tensor of 2 axes' \
        -i 'x=f32[2,4,1]'
    commands baked.$format 0 '' -i 'x=f32[3,4]' --any-shape
    commands baked.$format 0 '' -i 'x=f32[2,4]'
    said "quantize baked.$format" 1 "input x is f32\[3, 4\]; the model .*$again" \
        "$cfx" quantize baked.$format --calibrate 'x=f32[3,4]' --batch 3
    said "quantize baked.$format, --any-shape" 0 '' "$cfx" quantize \
        baked.$format --calibrate 'x=f32[3,4]' --batch 3 --any-shape
    said "quantize baked.$format, right" 0 '' \
        "$cfx" quantize baked.$format --calibrate 'x=f32[6,4]' --batch 2 -o q.fx
    # What is written keeps what was declared.
    for written in q o t; do
        said "$written.fx of baked.$format" 1 "f32\[2, 4\]: $again" \
            "$cfx" run $written.fx -i 'x=f32[3,4]'
    done
done
commands python.py 1 "input x is f32\[3, 6\]; the model .* f32\[2, 4\]: $again" \
    -i 'x=f32[3,6]'

# ---- Ranges and guards ----

for format in $formats; do
    commands guarded.$format 0 '' -i 'x=f32[9,6]' -i 'y=f32[9]'
    commands guarded.$format 1 \
        'input y is f32\[9\]; .* f32\[[a-zA-Z_0-9]*\], where [a-zA-Z_0-9]* is 8 by input x: make the extents equal' \
        -i 'x=f32[8,4]' -i 'y=f32[9]'
    [ $format != onnx ] || continue
    commands guarded.$format 1 "f32\[7, 4\]; .*, 8 <= s17 <= 64: $again" \
        -i 'x=f32[7,4]' -i 'y=f32[7]'
    commands guarded.$format 1 "f32\[65, 4\]; .*, 8 <= s17 <= 64: $again" \
        -i 'x=f32[65,4]' -i 'y=f32[65]'
    commands guarded.$format 1 "f32\[8, 5\]; .*, ..s27.s17. % .2.s17.. == 0: $again" \
        -i 'x=f32[8,5]' -i 'y=f32[8]'
    commands guarded.$format 0 '' -i 'x=f32[4,4]' -i 'y=f32[4]' --any-shape
    said "a symbol takes the range, $format" 0 '8 <= N <= 64' \
        "$cfx" shapes guarded.$format -i 'x=f32[N,4]' -i 'y=f32[N]'
    said "a symbol in another range, $format" 1 "8 <= s17 <= 64: $again" \
        "$cfx" shapes guarded.$format -i 'x=f32[N,4]' -i 'y=f32[N]' --set N=1..7
done
said 'a symbol for a number' 1 "input x is f32\[N, 4\]; .* f32\[2, 4\]: $again" \
    "$cfx" shapes baked.pt2 -i 'x=f32[N,4]'
tell
