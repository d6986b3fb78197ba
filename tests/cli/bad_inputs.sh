#!/bin/sh
# What must be survived: each case is one line on stderr that names the file
# and the place or node, and status 1, soon. (tests/README.md lists the rest.)
cfx=$(cd "$(dirname "${CFX:-./cfx}")" && pwd)/$(basename "${CFX:-./cfx}")
dir=$(mktemp -d "${TMPDIR:-/tmp}/cfx-bad.XXXXXX") || exit 99
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 99
passed=0 failed=0

# bad NAME PATTERN ARGUMENT...: the program refuses, in one such line.
bad()
{
    name=$1 pattern=$2
    shift 2
    timeout 60 "$cfx" "$@" >out 2>err </dev/null
    got=$?
    grep -v '^cfx: note: ' err >lines
    if [ $got = 1 ] && [ "$(wc -l <lines)" -eq 1 ] && [ ! -s out ] &&
        grep -Eq -e "^cfx: $pattern" lines; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "not ok: $name: status $got, wanted 'cfx: $pattern'"
        sed 's/^/    /;5q' err
    fi
}

# good NAME ARGUMENT...: odd, but well-defined.
good()
{
    name=$1
    shift
    if timeout 60 "$cfx" "$@" >out 2>err </dev/null; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "not ok: $name"
        sed 's/^/    /;5q' err
    fi
}

# ---- Graphs ----

# graph LINE...: a model of these lines.
graph()
{
    echo 'graph():' >m.fx
    for line; do
        printf '    %s\n' "$line" >>m.fx
    done
}

x='%x : [num_users=1] = placeholder[target=x]'
relu='call_function[target=torch.relu]'

graph "$x" "%a : [num_users=1] = $relu(args = (%b,), kwargs = {})" \
    "%b : [num_users=1] = $relu(args = (%a,), kwargs = {})" 'return b'
bad 'a cycle' 'm.fx:3:[0-9]+: .*%?b' run m.fx -i x=1
graph "$x" "%a : [num_users=1] = $relu(args = (%a,), kwargs = {})" 'return a'
bad 'a node that uses itself' 'm.fx:3:[0-9]+: .*%?a' run m.fx -i x=1
graph "$x" "%a : [num_users=1] = $relu(args = (%q,), kwargs = {})" 'return a'
bad 'a name that is not defined' 'm.fx:3:[0-9]+: .*q' run m.fx -i x=1
graph "$x" "%a : [num_users=1] = $relu(args = (%x,), kwargs = {})" \
    "%a : [num_users=1] = $relu(args = (%x,), kwargs = {})" 'return a'
bad 'a name defined twice' 'm.fx:4:[0-9]+: .*a' run m.fx -i x=1
graph "$x" 'return a'
bad 'a result that is not defined' 'm.fx:3:[0-9]+: ' run m.fx -i x=1
graph "$x"
bad 'no output' 'm.fx.*(output|return)' run m.fx -i 'x=f32[2]'
graph "$x" 'return x' 'return x'
bad 'two outputs' 'm.fx:4:[0-9]+: ' run m.fx -i 'x=f32[2]'
graph "$x" "%a : [num_users=1] = call_module[target=nn](args = (%x,), \
kwargs = {})" 'return a'
bad 'a module that is not there' 'm.fx: .*nonexistent.* nn.*%a' \
    run m.fx -i 'x=f32[2]'
graph "$x" "%a : [num_users=1] = get_attr[target=w.v]" 'return a'
bad 'a parameter that is not there' 'm.fx: .*w.*%a' run m.fx -i 'x=f32[2]'
graph "$x" "%a : [num_users=1] = call_function[target=no.such](args = (%x,), \
kwargs = {})" 'return a'
bad 'an unknown function' "m.fx: unknown function 'no.such'.*%a" \
    run m.fx -i 'x=f32[2]'
graph "$x" "%a : [num_users=1] = call_method[target=nosuch](args = (%x,), \
kwargs = {})" 'return a'
bad 'an unknown method' "m.fx: unknown method 'nosuch'.*%a" \
    run m.fx -i 'x=f32[2]'
printf 'M(\n  (a): Frobnicate(3)\n)\n\ngraph():\n    return None\n' >m.fx
bad 'an unknown module type' 'm.fx:2:[0-9]+: .*Frobnicate' run m.fx
printf 'M(\n  (a): Linear(in_features=x, out_features=2)\n)\n\ngraph():\n' >m.fx
bad 'a module with an argument of another type' 'm.fx:2:[0-9]+: ' run m.fx
printf 'M(\n  (a): Linear(in_features=1, out_features=1, nonsense=2)\n)\n\ngraph():\n    return 1\n' >m.fx
bad 'a module with an unknown argument' 'm.fx:2:[0-9]+: .*nonsense' run m.fx

graph "$x" '%y : [num_users=0] = placeholder[target=y]' \
    "%dead : [num_users=0] = $relu(args = (%x,), kwargs = {})" 'return x'
good 'an unused input, and dead code' run m.fx -i x='f32[2]' -i y=0

# A chain of 200,000 nodes is an ordinary graph.
awk 'BEGIN {
    print "graph():\n    %x : [num_users=1] = placeholder[target=x]"
    last = "x"
    for (i = 0; i < 200000; i++) {
        print "    %n" i " : [num_users=1] = call_function[target=" \
            "operator.neg](args = (%" last ",), kwargs = {})"
        last = "n" i
    }
    print "    return " last }' >m.fx
good 'a chain of 200,000 nodes' run m.fx -i x='f32[1]'

# ---- Texts ----

: >m.fx
bad 'an empty text' 'm.fx' run m.fx
printf g >m.fx
bad 'a text of one byte' 'm.fx' run m.fx
printf 'graph():\n    return \000\n' >m.fx
bad 'a NUL in a text' 'm.fx: is not the text of a model' run m.fx
printf 'graph():\n    return \377\376\n' >m.fx
bad 'bytes that are no UTF-8' 'm.fx:2:' run m.fx
printf 'PK\003\004aaaa' >m.fx
bad 'an archive for a model' 'm.fx: .*[Zz]ip' run m.fx
printf 'graph():\n    return %s1%s\n' \
    "$(awk 'BEGIN { for (i = 0; i < 100000; i++) printf "(" }')" \
    "$(awk 'BEGIN { for (i = 0; i < 100000; i++) printf ",)" }')" >m.fx
bad 'a value that nests 100,000 deep' 'm.fx:2:[0-9]+: ' run m.fx
awk 'BEGIN { print "M("; for (i = 0; i < 100000; i++) print "(a): A(" }' >m.fx
bad 'modules that nest 100,000 deep' 'm.fx:[0-9]+:[0-9]+: ' run m.fx
printf 'M(\n  (a): ModuleList(\n    (0-999999999): 1000000000 x ReLU()\n  )\n)\n' >m.fx
printf '\ngraph():\n    return 1\n' >>m.fx
bad 'a billion modules' 'm.fx:3:[0-9]+: ' run m.fx
printf '# cfx 1\nM()\n\nstate:\n    w: f32[-1]\n\ngraph():\n    return 1\n' >m.fx
bad 'state of a negative extent' 'm.fx:5:[0-9]+: ' run m.fx
printf '# cfx 1\nM()\n\nstate:\n    w: f32[4294967296, 4294967296]\n\n' >m.fx
printf 'graph():\n    return 1\n' >>m.fx
bad 'state of too many elements' 'm.fx:5:[0-9]+: ' run m.fx --random-weights 1
printf '# cfx 1\nM()\n\nstate:\n    w: f31[1]\n\ngraph():\n    return 1\n' >m.fx
bad 'state of an unknown type' 'm.fx:5:[0-9]+: ' run m.fx

# ---- Tensors in files ----

graph "$x" 'return x'

# safetensors HEADER [BYTES]: a file with that header, and zeros behind it.
safetensors()
{
    n=$(printf %s "$1" | wc -c)
    # shellcheck disable=SC2059
    printf "\\$(printf %03o $((n % 256)))\\$(printf %03o $((n / 256 % 256)))\
\\$(printf %03o $((n / 65536)))\\0\\0\\0\\0\\0" >t.safetensors
    printf %s "$1" >>t.safetensors
    head -c "${2:-0}" /dev/zero >>t.safetensors
}

t='"dtype":"F32","shape"'
while IFS='|' read -r name header size; do
    safetensors "$header" "$size"
    bad "safetensors: $name" 'm.fx: input x: t.safetensors: .' run m.fx -i x=t.safetensors:a
done <<END
no tensor of that name|{}|0
a number of 2^63|{"a":{$t:[9223372036854775808],"data_offsets":[0,4]}}|4
a number beyond double|{"a":{$t:[1e999],"data_offsets":[0,4]}}|4
a negative zero|{"a":{$t:[-0],"data_offsets":[0,4]}}|4
no number|{"a":{$t:[NaN],"data_offsets":[0,4]}}|4
half a surrogate|{"\\ud800":{$t:[1],"data_offsets":[0,4]}}|4
a NUL in a name|{"a\\u0000":{$t:[1],"data_offsets":[0,4]}}|4
a key given twice|{"a":{$t:[1],"data_offsets":[0,4]},"a":{$t:[1],"data_offsets":[4,8]}}|8
dtype twice|{"a":{"dtype":"F32",$t:[1],"data_offsets":[0,4]}}|4
an unknown dtype|{"a":{"dtype":"F33","shape":[1],"data_offsets":[0,4]}}|4
a dtype of another type|{"a":{"dtype":3,"shape":[1],"data_offsets":[0,4]}}|4
a shape of another type|{"a":{$t:{},"data_offsets":[0,4]}}|4
a shape of strings|{"a":{$t:["1"],"data_offsets":[0,4]}}|4
a shape of fractions|{"a":{$t:[1.5],"data_offsets":[0,4]}}|4
an extent of -1|{"a":{$t:[-1],"data_offsets":[0,4]}}|4
2^32 times 2^32 elements|{"a":{$t:[4294967296,4294967296],"data_offsets":[0,4]}}|4
an extent of 2^63-1|{"a":{$t:[9223372036854775807],"data_offsets":[0,4]}}|4
a rank of 65|{"a":{$t:[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1],"data_offsets":[0,4]}}|4
offsets behind the end|{"a":{$t:[1],"data_offsets":[0,4]}}|3
offsets that run back|{"a":{$t:[1],"data_offsets":[4,0]}}|4
offsets that overlap|{"a":{$t:[1],"data_offsets":[0,4]},"b":{$t:[1],"data_offsets":[2,6]}}|6
one offset|{"a":{$t:[1],"data_offsets":[0]}}|4
bytes that belong to none|{"a":{$t:[1],"data_offsets":[0,4]}}|9
an entry that is no object|{"a":[]}|0
no shape|{"a":{"dtype":"F32","data_offsets":[0,4]}}|4
a list for a header|[]|0
no JSON|{a}|0
END
bytes=$(printf '\377\376')
safetensors "{\"$bytes\":{$t:[1],\"data_offsets\":[0,4]}}" 4
bad 'safetensors: a name that is no UTF-8' 'm.fx: input x: t.safetensors: .' \
    run m.fx -i x=t.safetensors:a
printf '\377\377\377\377\377\377\377\377{}' >t.safetensors
bad 'safetensors: a header of 2^64 bytes' 'm.fx: input x: t.safetensors: .' \
    run m.fx -i x=t.safetensors:a
printf '\000\000\000\010\000\000\000\000{' >t.safetensors
bad 'safetensors: a header of 128 MB that is not there' 'm.fx: input x: t.safetensors: .' \
    run m.fx -i x=t.safetensors:a
{
    printf '\005\341\365\005\000\000\000\000{"'
    head -c 99999999 /dev/zero | tr '\0' x
    printf '":{}'
} >t.safetensors
bad 'safetensors: a name of 100 MB' 'm.fx: input x: t.safetensors: .' \
    run m.fx -i x=t.safetensors:a
{
    printf '\105\102\017\000\000\000\000\000{"a":'
    head -c 1000000 /dev/zero | tr '\0' '['
} >t.safetensors
bad 'safetensors: lists a million deep' 'm.fx: input x: t.safetensors: .' \
    run m.fx -i x=t.safetensors:a
safetensors "{\"a\":{$t:[2],\"data_offsets\":[0,8]}}" 8
good 'safetensors: a sound one' run m.fx -i x=t.safetensors:a
size=$(wc -c <t.safetensors)
cp t.safetensors whole
for n in 0 1 7 8 9 $((size / 2)) $((size - 9)) $((size - 1)); do
    head -c "$n" whole >t.safetensors
    bad "safetensors: cut after $n bytes" 'm.fx: input x: t.safetensors: .' \
        run m.fx -i x=t.safetensors:a
done
for n in 0 1 6 10 64; do
    head -c "$n" "$OLDPWD/${srcdir:-.}/models/digits_images.npy" >t.npy \
        2>/dev/null || head -c "$n" /dev/zero >t.npy
    bad "npy: cut after $n bytes" 'm.fx: input x: t.npy: .' run m.fx -i x=t.npy
done
printf '\223NUMPY\377\377\377\377%60s' '' >t.npy
bad 'npy: an unknown version' 'm.fx: input x: t.npy: .' run m.fx -i x=t.npy
printf '\223NUMPY\002\000\377\377\377\377{' >t.npy
bad 'npy: a header of 4 GB' 'm.fx: input x: t.npy: .' run m.fx -i x=t.npy
mkdir directory.npy
bad 'npy: a directory' 'm.fx: input x: directory.npy: Is a directory' \
    run m.fx -i x=directory.npy
: >t.npz
bad 'npz: an empty file' 'm.fx: input x: t.npz: .' run m.fx -i x=t.npz:a

# Files without an end are refused by their beginning.
for suffix in npy pb fx py onnx json safetensors npz pt pt2; do
    ln -s /dev/zero "endless.$suffix"
done
for suffix in npy pb; do
    bad "an endless .$suffix" "m.fx: input x: endless.$suffix: ." \
        run m.fx -i x=endless.$suffix
done
for suffix in fx py onnx pt2; do
    bad "an endless .$suffix" "endless.$suffix: ." run endless.$suffix
done
for suffix in safetensors npz pt; do
    bad "endless weights .$suffix" "(m.fx: )?endless.$suffix: ." \
        run m.fx -w endless.$suffix -i x=f32[2]
done
bad 'an endless machine' 'endless.json: .' \
    roofline m.fx -i x=f32[2] --machine endless.json
bad 'an endless report' 'endless.json: .' \
    roofline m.fx -i x=f32[2] --machine epyc-9654 --against endless.json
bad 'an endless configuration' 'endless.json: .' \
    quantize m.fx --config endless.json --calibrate x=f32[2]
{
    printf '\223NUMPY\001\000v\000'
    printf "%-117s\n" \
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }"
} >head
mkfifo pipe.npy
cat head /dev/zero >pipe.npy 2>/dev/null &
bad 'npy: a pipe that goes on after the array' \
    'm.fx: input x: pipe.npy: has [0-9]+ bytes after its end' \
    run m.fx -i x=pipe.npy
{ cat head; head -c 8 /dev/zero; } >pipe.npy &
good 'npy: a pipe' run m.fx -i x=pipe.npy

# A model is read once, so that it may come from a pipe.
cp m.fx whole.fx
mkfifo pipe.fx
for command in 'run -i x=f32[2]' info print 'shapes -i x=f32[2]' \
    'roofline -i x=f32[2] --machine epyc-9654' 'quantize --calibrate x=f32[2]'
do
    cat whole.fx >pipe.fx &
    # shellcheck disable=SC2086
    set -- $command
    command=$1
    shift
    good "a pipe to $command" "$command" pipe.fx "$@"
done
cat whole.fx >pipe.fx &
good 'a pipe to transform' transform pipe.fx dead_code

# ---- Extents on the command line ----

for shape in -1 9223372036854775807 9223372036854775808 \
    4294967296,4294967296 x '' 1,, 1e3 0x10 \
    1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1; do
    [ -n "$shape" ] || continue
    bad "an input of shape [$shape]" 'm.fx: ' run m.fx -i "x=f32[$shape]"
done
for spec in 'f31[2]' 'f32[2' 'f32]' ''; do
    bad "an input '$spec'" 'm.fx: ' run m.fx -i "x=$spec"
done

# ---- Attributes, and shapes that do not fit ----

# The node that fails is named.
while IFS='|' read -r target args kwargs spec words; do
    case $target in
    ''|'#'*) continue ;;
    F.*) target=torch.nn.functional.${target#F.} ;;
    esac
    graph "$x" "%y : [num_users=1] = call_function[target=$target](args = \
($args), kwargs = {$kwargs})" 'return y'
    bad "$target($args, $kwargs) of $spec" \
        "m.fx: .*$words.*While executing %y : " run m.fx -i "x=$spec"
done <<'END'
torch.conv2d|%x, %x|stride: 0|f32[2,2,3,3]|stride
torch.conv2d|%x, %x|stride: -1|f32[2,2,3,3]|stride
torch.conv2d|%x, %x|stride: 9223372036854775807|f32[2,2,3,3]|
torch.conv2d|%x, %x|stride: (1, 1, 1)|f32[2,2,3,3]|stride
torch.conv2d|%x, %x|stride: 1.5|f32[2,2,3,3]|stride
torch.conv1d|%x, %x|stride: (1, 1)|f32[2,2,3]|stride
torch.conv2d|%x, %x|dilation: 0|f32[2,2,3,3]|dilation
torch.conv2d|%x, %x|dilation: 4611686018427387904|f32[2,2,3,3]|
torch.conv2d|%x, %x|groups: 0|f32[2,2,3,3]|groups
torch.conv2d|%x, %x|groups: 1099511627776|f32[2,2,3,3]|groups
torch.conv2d|%x, %x|groups: 2|f32[2,2,3,3]|
torch.conv2d|%x, %x|padding: -1|f32[2,2,3,3]|padding
torch.conv2d|%x, %x|padding: nonsense|f32[2,2,3,3]|padding
torch.conv2d|%x, %x|padding: 1000000000|f32[2,2,3,3]|2\^61
torch.conv2d|%x, %x|padding: 4611686018427387904|f32[2,2,3,3]|
torch.conv_transpose2d|%x, %x|output_padding: 5|f32[2,2,3,3]|padding
F.max_pool2d|%x, 0||f32[2,2,3,3]|kernel
F.max_pool2d|%x, (2, 2, 2)||f32[2,2,3,3]|kernel_size
F.max_pool1d|%x, (2, 2)||f32[2,2,3]|kernel_size
F.max_pool2d|%x, 2|padding: 2|f32[2,2,3,3]|pad
F.max_pool2d|%x, 2|stride: 0|f32[2,2,3,3]|stride
F.max_pool2d|%x, 9223372036854775807||f32[2,2,3,3]|
F.avg_pool2d|%x, 2|stride: -2|f32[2,2,3,3]|stride
F.adaptive_avg_pool2d|%x, -1||f32[2,2,3,3]|output_size
F.adaptive_avg_pool2d|%x, (1, 1, 1)||f32[2,2,3,3]|output_size
F.adaptive_avg_pool2d|%x, 2305843009213693951||f32[2,2,3,3]|2\^61
F.unfold|%x, 0||f32[2,2,3,3]|kernel
F.pad|%x, (-4, 0)||f32[3]|-1
F.pad|%x, (1,)||f32[3]|divisible by 2
F.pad|%x, (9, 9)|mode: reflect|f32[1,3]|Padding size
F.pad|%x, (1, 1)|mode: nonsense|f32[1,3]|
F.pad|%x, (1, 1, 1, 1)||f32[3]|
F.pad|%x, (4611686018427387904, 4611686018427387904)||f32[3]|
torch.permute|%x, (0, 0)||f32[2,3]|duplicate dims
torch.permute|%x, (0, 2)||f32[2,3]|out of range
torch.permute|%x, (0,)||f32[2,3]|number of dimensions
torch.transpose|%x, 0, 5||f32[2,3]|out of range
torch.sum|%x, (0, 0)||f32[2,3]|multiple times
torch.sum|%x, 2||f32[2,3]|out of range
torch.sum|%x, -3||f32[2,3]|out of range
torch.softmax|%x, 7||f32[2,3]|out of range
torch.squeeze|%x, 4||f32[2,3]|out of range
torch.unsqueeze|%x, -9||f32[2,3]|out of range
torch.cat|[%x], 9||f32[2,3]|out of range
torch.cat|[], 0||f32[2,3]|non-empty
torch.stack|[]||f32[2,3]|non-empty
torch.flatten|%x, 1, 0||f32[2,3]|
F.interpolate|%x|scale_factor: 0|f32[1,1,3,3]|greater than 0
F.interpolate|%x|scale_factor: 1e300|f32[1,1,3,3]|scale_factor
F.interpolate|%x|scale_factor: nan|f32[1,1,3,3]|scale_factor
F.interpolate|%x|size: 0|f32[1,1,3,3]|greater than 0
F.interpolate|%x|size: (1, 1, 1)|f32[1,1,3,3]|size
F.interpolate|%x|size: 4, mode: nonsense|f32[1,1,3,3]|
F.pixel_shuffle|%x, 0||f32[1,4,3,3]|positive
F.pixel_shuffle|%x, 3||f32[1,4,3,3]|
F.pixel_unshuffle|%x, 0||f32[1,4,4,4]|positive
F.group_norm|%x, 0||f32[1,4,2]|num_groups
F.group_norm|%x, 3||f32[1,4,2]|
F.layer_norm|%x, (5,)||f32[1,4]|normalized_shape
F.layer_norm|%x, ()||f32[1,4]|
F.one_hot|%x, 3||i64[4]|Class values
F.embedding|%x, %x||i64[4]|weight
F.dropout|%x|p: 2.0|f32[4]|probability
torch.max|%x||f32[0]|reduction dim
torch.amax|%x, 0||f32[0,2]|non-zero size
torch.argmax|%x||f32[0]|
torch.reshape|%x, (-1, -1)||f32[2,3]|only one dimension
torch.reshape|%x, (4,)||f32[2,3]|invalid for input of size 6
torch.reshape|%x, (-1, 0)||f32[2,3]|ambiguous
torch.reshape|%x, (-1, 4)||f32[2,3]|
torch.reshape|%x, (-2, 3)||f32[2,3]|-2
torch.reshape|%x, (4294967296, 4294967296)||f32[2,3]|
torch.zeros|-1||f32[1]|negative dimension
torch.zeros|4294967296, 4294967296||f32[1]|2\^61
torch.zeros|9223372036854775807||f32[1]|
torch.zeros|1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1||f32[1]|rank 17
torch.zeros|1099511627776, 1024||f32[1]|
torch.slice_scatter|%x, %x, 0, 0, 1, 4611686018427387904||f32[1,4]|step is too large
torch.as_strided|%x, (2,), (-1,)||f32[4]|negative
torch.as_strided|%x, (2,), (9,)||f32[4]|leaves a storage
torch.as_strided|%x, (2,), (1,), 3||f32[4]|leaves a storage
torch.as_strided|%x, (2,), (1,), 9223372036854775807||f32[4]|offset
torch.as_strided|%x, (2,), (1, 1)||f32[4]|
torch.as_strided|%x, (1048576, 1048576, 1048576, 1048576), (0, 0, 0, 0)||f32[4]|2\^61
torch.arange|0, 10, 0||f32[4]|step must be nonzero
torch.arange|0, inf||f32[4]|
torch.arange|10, 0||f32[4]|
torch.linspace|0, 1, -1||f32[4]|number of steps
operator.floordiv|%x, 0||i32[4]|ZeroDivision
operator.mod|%x, 0||i32[4]|ZeroDivision
operator.getitem|%x, 5||f32[4]|out of bounds
operator.getitem|%x, slice(None, None, 0)||f32[4]|step
operator.getitem|%x, slice(None, None, -1)||f32[4]|step
operator.getitem|%x, (0, 0)||f32[4]|too many indices
torch.split|%x, 0||f32[4]|split_size
torch.split|%x, [1, 1]||f32[4]|
torch.chunk|%x, 0||f32[4]|chunks
torch.topk|%x, 9||f32[4]|out of range
torch.topk|%x, -1||f32[4]|out of range
torch.gather|%x, 0, %x||i64[4]|out of bounds
torch.index_select|%x, 0, %x||i64[4]|
torch.repeat_interleave|%x, -1||f32[4]|
torch.tile|%x, (4611686018427387904,)||f32[4]|
torch.bmm|%x, %x||f32[4]|rank
torch.matmul|%x, %x||f32[2,3]|cannot be multiplied
torch.add|%x||f32[2,3]|other
torch.relu|%x, %x, %x||f32[2,3]|
torch.relu|%x|nonsense: 1|f32[2,3]|nonsense
torch.relu|3||f32[2,3]|Tensor
END

# Odd, but PyTorch defines it.
while IFS='|' read -r target args kwargs spec words; do
    graph "$x" "%y : [num_users=1] = call_function[target=$target](args = \
($args), kwargs = {$kwargs})" 'return y'
    good "$target($args, $kwargs) of $spec" run m.fx -i "x=$spec"
    grep -Fq -e "$words" out || {
        failed=$((failed + 1))
        echo "not ok: $target($args) of $spec lacks '$words'"
        sed 's/^/    /;5q' out
    }
done <<'END'
torch.softmax|%x, 0||f32[0]|f32[0]
torch.sum|%x||f32[0]|tensor(0.)
torch.mean|%x||f32[0]|nan
torch.prod|%x||f32[0]|tensor(1.)
torch.sum|%x, 0||f32[0,2]|tensor([0., 0.])
torch.relu|%x||f32[]|f32[]
torch.cat|[%x, %x]||f32[0]|f32[0]
torch.reshape|%x, (0, 1000000007)||f32[0]|f32[0, 1000000007]
operator.lshift|%x, 64||i64[2]|[0, 0]
torch.roll|%x, 9223372036854775807||f32[4]|f32[4]
torch.full|(2,), 1e400||f32[4]|[inf, inf]
torch.zeros|0, 5||f32[1]|f32[0, 5]
END

# A literal that becomes the result, which outlives the graph.
while IFS='|' read -r call words; do
    graph "%y : [num_users=1] = call_function[target=$call, kwargs = {})" \
        'return y'
    good "roofline of $call" roofline m.fx --machine raspberry-pi-5
    good "run of $call" run m.fx
    [ "$(tr '\n' ' ' <out)" = "$words " ] || {
        failed=$((failed + 1))
        echo "not ok: $call is not $words"
        sed 's/^/    /;9q' out
    }
done <<'END'
builtins.slice](args = ([2.5], 5)|output slice slice([2.5], 5, None)
operator.getitem](args = ({'a': [1, (2,)]}, a)|output_0 int 1 output_1_0 int 2
operator.getitem](args = (([1], 2.5), 0)|output_0 int 1
operator.add](args = ([1, [2, (3,)]], [[4.5]])|output_0 int 1 output_1_0 int 2 output_1_1_0 int 3 output_2_0 float 4.5
operator.mul](args = ([[1], 2], 2)|output_0_0 int 1 output_1 int 2 output_2_0 int 1 output_3 int 2
END

# All arguments of a call are known, and its computation fails.
while IFS='|' read -r call words; do
    graph '%a : [num_users=1] = call_function[target=torch.arange](args = (3,), kwargs = {})' \
        '%i : [num_users=1] = call_function[target=torch.tensor](args = ([5],), kwargs = {})' \
        '%z : [num_users=1] = call_function[target=torch.zeros_like](args = (%i,), kwargs = {})' \
        "%y : [num_users=1] = call_function[target=$call, kwargs = {})" \
        'return y'
    bad "run of $call" "m.fx.*$words.*%y" run m.fx
    bad "roofline of $call" "m.fx.*$words.*%y" roofline m.fx \
        --machine raspberry-pi-5
done <<'END'
torch.index_select](args = (%a, 0, %i)|out of bounds
torch.take](args = (%a, %i)|out of
torch.gather](args = (%a, 0, %i)|out of bounds
operator.getitem](args = (%a, (%i,))|out of bounds
operator.floordiv](args = (%a, %z)|ZeroDivision
operator.mod](args = (%a, %z)|ZeroDivision
operator.floordiv](args = (7, 0)|ero
torch.ops.aten.add.out](args = (%a, %i)|'out'
torch.where](args = (2, %i, 0)|where.*'condition'
torch.masked_fill](args = (%a, True, -1)|'mask'
END

# ---- Numbers of another place ----

if LC_ALL=de_DE.UTF-8 locale 2>/dev/null | grep -q '^LC_NUMERIC="de_DE'; then
    graph "$x" 'return x'
    LC_ALL=de_DE.UTF-8 "$cfx" run m.fx -i x=1.5 >out 2>err
    grep -q '^1.5$' out && passed=$((passed + 1)) || {
        failed=$((failed + 1))
        echo 'not ok: a locale with commas'
    }
fi

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
