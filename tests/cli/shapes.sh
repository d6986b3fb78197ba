#!/bin/sh
# cfx shapes: tables, formats, symbols, assertions, and what it says of errors.
. "$srcdir/tests/cli/said.sh"

# is NAME STATUS PATTERN ARGUMENT...: a line of what cfx shapes says has the
# pattern.
is()
{
    name=$1 status=$2 pattern=$3
    shift 3
    said "$name" "$status" "$pattern" "$cfx" shapes "$@"
}

m=$src/models/resnet18.fx

# ---- Tables ----

is 'a table' 0 '^name +op +target +result$' "$m" -i 'x=f32[N,3,H,W]'
also 'symbols go through' '^layer2_0_conv1 +call_module +layer2.0.conv1 +f32\[N, 128, \(H \+ 7\)//8, \(W \+ 7\)//8\]$'
also 'the result' '^output +output +output +f32\[N, 1000\]$'
also 'ranges' '^symbols: N >= 1, H >= 1, W >= 1$'
is 'by modules' 0 '^layer4 +module +[A-Za-z]+ +f32\[2, 512, 7, 7\]$' "$m" \
    -i 'f32[2,3,224,224]' --depth 1
also 'functions stay' '^flatten +call_function'
is 'deeper' 0 '^layer4\.1 +module' "$m" -i 'f32[2,3,224,224]' --depth 2
is 'values' 0 '^conv1 .* f32\[4, 64, 112, \(W \+ 1\)//2\]$' "$m" \
    -i 'x=f32[N,3,H,W]' --set N=4 --set H=224 --set W=2..
also 'ranges that are set' '^symbols: W >= 2$'

# ---- Formats ----

is 'json' 0 '^\{"schema": "cfx.shapes/1",$' "$m" -i 'x=f32[N,3,224,224]' \
    -f json
also 'json: values' '"name": "fc", "op": "call_module", "target": "fc", "module_path": "fc", "value": \{"dtype": "float32", "shape": \["N", 1000\], "stride": \[1000, 1\]\}'
also 'json: symbols' '"symbols": \{"N": \{"min": 1, "max": null\}\}'
also 'json: where functions stem from' '"name": "add_1",.* "module_path": "layer1.1"'
is 'csv' 0 '^fc,call_module,fc,fc,float32,"\[N, 1000\]","\[1000, 1\]"$' "$m" \
    -i 'x=f32[N,3,224,224]' -f csv
is 'readable' 0 'fc: "f32\[N, 1000\]" = self.fc' "$m" \
    -i 'x=f32[N,3,224,224]' -f readable
is 'dot' 0 'shape=f32\[N, 1000\]|N, 1000' "$m" -i 'x=f32[N,3,224,224]' -f dot
is 'no such format' 2 "'x' is not a valid FORMAT" "$m" -f x

# ---- Assertions ----

is 'what is so' 0 '' "$m" -i 'x=f32[N,3,224,224]' \
    --assert 'conv1=f32[N,64,112,_]' --assert '%fc=f32[N,1000]'
is 'what is not' 1 'resnet18.fx: fc is f32\[N, 1000\], not f32\[N, 10\] as asserted$' \
    "$m" -i 'x=f32[N,3,224,224]' --assert 'fc=f32[N,10]'
is 'another type' 1 'fc is f32\[2, 1000\], not f16\[2, 1000\] as asserted$' \
    "$m" -i 'x=f32[2,3,224,224]' --assert 'fc=f16[2,1000]'
is 'symbols of its own' 0 '' "$m" -i 'x=f32[2,3,224,224]' \
    --assert 'conv1=f32[B,64,S,S]' --assert 'fc=f32[B,1000]'
is 'symbols are the same everywhere' 1 'fc is f32\[2, 1000\], not f32\[S, 1000\]' \
    "$m" -i 'x=f32[2,3,224,224]' --assert 'conv1=f32[B,64,S,S]' \
    --assert 'fc=f32[S,1000]'
is 'no such node' 1 "there is no node 'nope'" "$m" -i 'x=f32[1,3,64,64]' \
    --assert 'nope=f32[1]'

# ---- Inputs ----

cat >two.fx <<'END'
graph():
    %x : [num_users=2] = placeholder[target=x]
    %y : [num_users=1] = placeholder[target=y]
    %n : [num_users=1] = placeholder[target=n](default=2)
    %add : [num_users=1] = call_function[target=operator.add](args = (%x, %y), kwargs = {})
    %size : [num_users=1] = call_method[target=size](args = (%x, 0), kwargs = {})
    %mul : [num_users=1] = call_function[target=operator.mul](args = (%size, %n), kwargs = {})
    %zeros : [num_users=1] = call_function[target=torch.zeros](args = (%mul,), kwargs = {})
    return (add, zeros)
END
is 'one symbol is one extent' 0 '^add .* f32\[N, 3\]$' two.fx \
    -i 'x=f32[N,3]' -i 'y=f32[N,1]'
also 'sizes are symbols' '^mul .* 2\*N$'
also 'several results' '^output .* \(f32\[N, 3\], f32\[2\*N\]\)$'
is 'two symbols need to agree' 0 '^guards:  N == M$|^guards:  M == N$' two.fx \
    -i 'f32[N]' -i 'f32[M]'
is 'expressions' 0 '^zeros .* f32\[6\*N \+ 3\]$' two.fx -i 'x=f32[2*N+1]' \
    -i 'y=f32[2*N + 1]' -i n=3
is 'an int that is a symbol' 0 '^zeros .* f32\[5\*K\]$' two.fx -i 'f32[5]' \
    -i 'f32[5]' -i n=K
is 'json of ints' 0 '"name": "mul", .*"value": "2\*N"\}' two.fx -i 'f32[N]' \
    -i 'f32[N]' -f json
also 'json of sequences' '"name": "output", .*"value": \[\{"dtype": "float32", "shape": \["N"\], "stride": \[1\]\}, \{'
also 'json of inputs' '"inputs": \{"x": \{"dtype": "float32".*\}, "y": \{.*\}, "n": 2\}'
is 'csv of ints' 0 '^mul,call_function,operator.mul,,,2\*N,$' two.fx \
    -i 'f32[N]' -i 'f32[N]' -f csv
is 'types that do not fit' 1 'The size of tensor a .*; operator.add of f32\[2\], f32\[3\]; While' \
    two.fx -i 'f32[2]' -i 'f32[3]'
is 'a file tells its shape' 0 '^x .* f32\[360, 1, 8, 8\]$' \
    "$src/models/digits.fx" -i "x=$src/models/digits_images.npy"
also 'no symbols, no lines' '^output'
is 'strides that are given' 0 '^x,placeholder,x,,float32,"\[2, 3, 4, 4\]","\[48, 1, 12, 3\]"$' \
    "$m" -i 'x=f32[2,3,4,4][48,1,12,3]' -f csv
also 'strides that follow' '^conv1,.*"\[2, 64, 2, 2\]","\[256, 1, 128, 64\]"$'

# ---- What an input cannot be ----

cat >relu.fx <<'END'
graph():
    %x : [num_users=1] = placeholder[target=x]
    %relu : [num_users=1] = call_function[target=torch.relu](args = (%x,), kwargs = {})
    return relu
END
is 'an extent that is negative' 1 'input x: .*extent -N is negative' relu.fx \
    -i 'x=f32[2, -N]'
is 'an extent that may be negative' 0 '^symbols: N >= 5$' relu.fx \
    -i 'x=f32[N - 5]'
is 'an extent that is negative where it is set' 1 'extent N - 5 is negative' \
    relu.fx -i 'x=f32[N - 5]' --set N=1..4
is 'an extent that is a remainder' 0 '^guards: .*N % 3' relu.fx \
    -i 'x=f32[N % 3 - 1]'
is 'a type without a shape' 1 \
    "input x: 'f32' is not a shape such as f32\[1, 3\]$" relu.fx -i 'x=f32'
is 'a type for an extent' 1 "'int64' is not a shape" relu.fx -i 'x=f32[2, int64]'
is 'anything for an extent' 1 "input x: '_' is not a symbol$" relu.fx \
    -i 'x=f32[_, _]'
is 'a symbol with an underscore' 0 '^relu .* f32\[_n, f32_\]$' relu.fx \
    -i 'x=f32[_n, f32_]'

# ---- Numbers made of symbols ----

# call NAME TARGET ARGUMENTS: a line that calls it.
call()
{
    echo "    %$1 : [num_users=1] = call_function[target=$2](args = ($3), kwargs = {})"
}

{
    echo 'graph():'
    echo '    %x : [num_users=1] = placeholder[target=x]'
    echo '    %n : [num_users=9] = call_method[target=size](args = (%x, -1), kwargs = {})'
    call square operator.pow '%n, 2'
    call power operator.pow '%n, -0.5'
    call inverse operator.pow '%n, -1'
    call half operator.truediv '%n, 2'
    call more operator.mul '%n, 2.5'
    call up operator.lshift '%n, 2'
    call down operator.rshift '%n, 1'
    call root math.sqrt '%n'
    call float builtins.float '%n'
    call log math.log '%root, %half'
    call scaled operator.mul '%x, %power'
    call whole builtins.int '%more'
    call zeros torch.zeros '%whole, %up'
    echo '    return {"a": scaled, 3: zeros}'
} >numbers.fx
is 'powers' 0 '^square .* N\*\*2$' numbers.fx -i 'x=f32[4, N]'
also 'shifts to the left' '^up .* 4\*N$'
also 'shifts to the right' '^down .* N//2$'
also 'a power that is a fraction' '^power .* nan$'
also 'a power that is negative' '^inverse .* nan$'
also 'a quotient' '^half .* nan$'
also 'a product with a fraction' '^more .* nan$'
also 'a root' '^root .* nan$'
also 'a float' '^float .* nan$'
also 'a logarithm' '^log .* nan$'
also 'a tensor by a number' '^scaled .* f32\[4, N\]$'
also 'an int of a float' '^zeros .* f32\[u0, 4\*N\]$'
is 'numbers that are not known, in json' 0 '"name": "half", .*"value": null\}' \
    numbers.fx -i 'x=f32[4, N]' -f json
also 'keys that are no strings' '"value": \{"dict": \{"a": \{.*, "3": \{'
is 'numbers that are known' 0 '^half .* 4\.5$' numbers.fx -i 'x=f32[4, 9]'
also 'powers of numbers' '^square .* 81$'
{
    echo 'graph():'
    echo '    %x : [num_users=1] = placeholder[target=x]'
    echo '    %n : [num_users=1] = call_method[target=size](args = (%x, -1), kwargs = {})'
    call half operator.truediv '%n, 2'
    call more operator.gt '%half, 3'
    echo '    return more'
} >relation.fx
is 'a relation to what is not known' 1 'the result depends on the numbers' \
    relation.fx -i 'x=f32[4, N]'
is 'a relation to what is known' 0 '^more .* True$' relation.fx -i 'x=f32[4, 9]'

# ---- Guards ----

{
    echo 'graph():'
    echo '    %x : [num_users=1] = placeholder[target=x]'
    call rows torch.reshape '%x, (-1, 6)'
    echo '    return rows'
} >rows.fx
is 'a guard without needless factors' 0 '^guards:  N % 3 == 0$' rows.fx \
    -i 'x=f32[N, 4]'

# ---- Chunks ----

{
    echo 'graph():'
    echo '    %x : [num_users=1] = placeholder[target=x]'
    call two torch.chunk '%x, 2, 1'
    echo '    return two'
} >two_chunks.fx
sed 's/%x, 2, 1/%x, 3, 1/' two_chunks.fx >three_chunks.fx
is 'two chunks, by the range' 0 \
    '^two .* \(f32\[3, \(N \+ 1\)//2\], f32\[3, N - \(N \+ 1\)//2\]\)$' two_chunks.fx \
    -i 'x=f32[3, N]' --set N=2..
if grep -q '^guards' out; then
    failed=$((failed + 1))
    echo 'not ok: two chunks need no guard'
fi
is 'two chunks, by a guard' 0 '^symbols: N >= 2$' two_chunks.fx \
    -i 'x=f32[3, N]'
is 'one chunk of two' 0 '^two .* \(f32\[3, 1\],\)$|^two .* \(f32\[3, N\],\)$' \
    two_chunks.fx -i 'x=f32[3, N]' --set N=1..1
is 'three chunks, by the range' 0 '^two .* \(f32.*, f32.*, f32.*\)$' \
    three_chunks.fx -i 'x=f32[3, N]' --set N=5..
is 'three chunks, by a guard' 0 '^guards: .* < N$|^guards: .*N > ' \
    three_chunks.fx -i 'x=f32[3, N]' --set N=3..
is 'fewer chunks than asked for' 0 '^two .* \(f32\[[^(]*\], f32\[[^(]*\]\)$' \
    three_chunks.fx -i 'x=f32[3, 4]'

# ---- Annotated models ----

"$cfx" shapes "$m" -i 'x=f32[N,3,H,W]' -f graph -o annotated.fx 2>err
is 'an annotated model' 0 '^fc .* f32\[5, 1000\]$' annotated.fx \
    -i 'x=f32[5,3,64,96]'
is 'for other symbols' 0 '^fc .* f32\[B, 1000\]$' annotated.fx \
    -i 'x=f32[B,3,224,S]'
sed 's/"f32\[N, 1000\]/"f32[N, 100]/' annotated.fx >wrong.fx
is 'an annotation that is wrong' 1 \
    '^cfx: wrong.fx: fc is f32\[5, 1000\], not f32\[N, 100\] as asserted; While executing %fc' \
    wrong.fx -i 'x=f32[5,3,64,96]'
sed 's/"f32\[N, 1000\]/"f32[N, 1000/' annotated.fx >broken.fx
is 'an annotation that is none' 1 '^cfx: broken.fx:[0-9]+:[0-9]+: ' broken.fx \
    -i 'x=f32[5,3,64,96]'
"$cfx" print annotated.fx -f model >back 2>err
"$cfx" print "$m" -f model >plain 2>err
if cmp -s back plain; then passed=$((passed + 1)); else
    failed=$((failed + 1))
    echo 'not ok: what is annotated is the same model'
fi

# ---- Errors ----

is 'which node, on what, where' 1 \
    '^cfx: .*conv2d: .* 3 channels.*; Conv2d of f32\[N, 4, 8, 8\] in conv1; While executing %conv1 : ' \
    "$m" -i 'x=f32[N,4,8,8]'
is 'an input that is missing' 1 "the input 'x' is missing" "$m"
is 'a symbol that is not there' 1 '^cfx: .*--set M: no input has this symbol' \
    "$m" -i 'x=f32[N,3,64,64]' --set M=2
is 'a range' 0 '^symbols: 2 <= N <= 64, 1 <= H <= 224$' \
    "$m" -i 'x=f32[N,3,H,224]' --set N=2..64 --set H=..224
is 'a symbol that is set twice' 1 'N=2..: it is set already$' "$m" \
    -i 'x=f32[N,3,64,64]' --set N=1 --set N=2..
is 'a range that is none' 1 '^cfx: .*--set N=2..1: should be' "$m" \
    -i 'x=f32[N,3,64,64]' --set N=2..1
is 'a shape that is none' 1 '^cfx: .*input x: ' "$m" -i 'x=f32[N,3'

tell
