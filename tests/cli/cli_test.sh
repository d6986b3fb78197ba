#!/bin/sh
#
# cli_test.sh -- the program: statuses, error lines, and the files it leaves.
# $CFX names the program (default: ./cfx), $srcdir the source tree.

cfx=${CFX:-./cfx}
src=${srcdir:-.}
case $cfx in */*) cfx=$(cd "$(dirname "$cfx")" && pwd)/$(basename "$cfx") ;; esac
src=$(cd "$src" && pwd)
dir=$(mktemp -d "${TMPDIR:-/tmp}/cfx-cli-test.XXXXXX") || exit 99
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 99

passed=0
failed=0

ok()
{
    passed=$((passed + 1))
}

not_ok()
{
    failed=$((failed + 1))
    echo "not ok: $*"
    [ ! -s err ] || sed 's/^/    /' err
}

# gives STATUS NAME ARGUMENT...: run the program; out and err keep its words.
gives()
{
    want=$1
    name=$2
    shift 2
    "$cfx" "$@" >out 2>err </dev/null
    got=$?
    if [ "$got" = "$want" ]; then ok; else
        not_ok "$name: status $got, not $want: cfx $*"
    fi
}

# One line on stderr, which matches.
says()
{
    if [ "$(wc -l <err)" -eq 1 ] && grep -Eq -e "$1" err; then ok; else
        not_ok "$name: stderr is not the one line '$1'"
    fi
}

prints()
{
    if grep -Eq -e "$1" out; then ok; else
        not_ok "$name: stdout lacks '$1'"
        sed 's/^/    /;20q' out
    fi
}

# yes NAME COMMAND...: the command succeeds.
yes()
{
    name=$1
    shift
    if "$@"; then ok; else not_ok "$name"; fi
}

no()
{
    name=$1
    shift
    if "$@"; then not_ok "$name"; else ok; fi
}

# ---- Models ----

cat >add.fx <<'END'
graph():
    %x : [num_users=1] = placeholder[target=x]
    %y : [num_users=1] = placeholder[target=y](default=1)
    %add : [num_users=1] = call_function[target=operator.add](args = (%x, %y), kwargs = {})
    return add
END

cat >pair.fx <<'END'
graph():
    %x : [num_users=2] = placeholder[target=x]
    %relu : [num_users=1] = call_function[target=torch.relu](args = (%x,), kwargs = {})
    %neg : [num_users=1] = call_function[target=torch.neg](args = (%x,), kwargs = {})
    return (relu, {'b': neg})
END

sed 's/operator.add/operator.truediv/; s/(%x, %y)/(%x, 0)/; s/add/div/g' \
    add.fx >inf.fx

cat >fc.fx <<'END'
M(
  (fc): Linear(in_features=2, out_features=3, bias=True)
)

graph():
    %x : [num_users=1] = placeholder[target=x]
    %fc : [num_users=1] = call_module[target=fc](args = (%x,), kwargs = {})
    return fc
END

cat >bare.fx <<'END'
graph():
    %w : [num_users=1] = get_attr[target=part.w]
    return w
END

printf 'graph():\n    %%x : [num_users=0] = nonsense[target=x]\n' >bad.fx

# ---- Bad usage ----

gives 2 'no command'
says '^cfx: .*see cfx --help'
gives 2 'unknown command' frobnicate m.fx
says "^cfx: there is no command 'frobnicate'"
gives 2 'unknown option' run --frobnicate m.fx
says '^cfx: run: option --frobnicate is unknown'
gives 2 'unknown letter' run -Z m.fx
says '^cfx: run: option -Z is unknown'
gives 2 'no value' run m.fx -i
says '^cfx: run: option -i needs a value'
gives 2 'no value of a long option' run m.fx --seed
says 'needs a value'
gives 2 'a value too many' run m.fx --no-mmap=1
says 'takes no value'
gives 2 'no model' run
says 'MODEL is missing'
gives 2 'two models' run a.fx b.fx
says "'b.fx' is one argument too many"
for value in 0 -1 x 1x 99999999999999999999; do
    gives 2 "threads $value" run m.fx -t "$value"
    says 'is not a valid N for --threads'
done
for value in 0 -1 x 1X 1KK 99999999999G; do
    gives 2 "memory $value" run m.fx --max-mem "$value"
    says 'is not a valid SIZE for --max-mem'
done
for value in 0 -1 x 1,5 inf 0x1; do
    gives 2 "timeout $value" run m.fx --timeout "$value"
    says 'is not a valid SECONDS for --timeout'
done
gives 2 'cpu' run m.fx --cpu fast
says "'fast' is not a valid LEVEL"
gives 2 'format' print m.fx --format fancy
says "'fancy' is not a valid FORMAT"
for command in ops passes machine 'run m.fx' 'diff m.fx m.fx'; do
    # shellcheck disable=SC2086
    gives 2 "format of $command" $command -f xml
    says "'xml' is not a valid FORMAT for --format"
done
gives 2 'two sources of weights' run m.fx -w a --random-weights 1
says 'exclude each other'

# ---- Help ----

gives 0 'help' --help
prints '^usage: cfx COMMAND'
for command in $(sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' out); do
    gives 0 "help of $command" "$command" --help
    prints "^usage: cfx $command"
    prints '--version'
    gives 0 "help $command" help "$command"
    prints "^usage: cfx $command"
    no "80 columns in the help of $command" grep -qE '.{81}' out
done
gives 0 'version' --version
prints '^cfx [0-9]'
gives 0 'version of a command' run --version

# ---- Bad models and inputs ----

gives 1 'no such model' run none.fx
says '^cfx: none.fx: No such file or directory$'
gives 1 'a directory' run .
says '^cfx: \./module\.py: No such file or directory$'
gives 1 'malformed model' run bad.fx
says '^cfx: bad.fx:2:[0-9]+: '
gives 1 'no weights file' run fc.fx -i 'f32[1,2]' -w none.safetensors
says '^cfx: none.safetensors: No such file'
gives 1 'no weights' run fc.fx -i 'f32[1,2]'
says '^cfx: fc.fx: no weights .*missing weight: fc.weight'
gives 1 'no weights for a bare parameter' run bare.fx
says '^cfx: bare.fx: no weights .*get_attr'
gives 1 'a bare parameter of unknown shape' run bare.fx --random-weights 0
says '^cfx: bare.fx: the text lacks the shape'
gives 1 'its shape is not known' shapes bare.fx
says '^cfx: bare.fx: the text lacks the shape'
gives 1 'nor do passes know it' transform bare.fx dead_code
says '^cfx: bare.fx: the text lacks the shape'
gives 1 'nor the roofline' roofline bare.fx --machine raspberry-pi-5
says '^cfx: bare.fx: the text lacks the shape'
gives 1 'missing input' run add.fx
says "^cfx: add.fx: the input 'x' is missing: add -i x=FILE.npy, or a type and shape as in -i 'x=f32.2,3.'$"
gives 1 'unknown input' run add.fx -i z=1
says "^cfx: add.fx: there is no input 'z'; the model has: x"
gives 1 'input given twice' run add.fx -i x=1 -i x=2
says "the input 'x' is given twice"
gives 1 'inputs too many' run add.fx -i 1 -i 2 -i 3
says "'3' is one input too many"
gives 1 'nonsense for an input' run add.fx -i x=nonsense
says "'nonsense' is not a .npy file"
gives 1 'symbols for an input' run add.fx -i 'x=f32[N]'
says 'needs extents that are numbers'
gives 1 'missing file' run add.fx -i x=none.npy
says 'none.npy: No such file'
gives 1 'huge input' run add.fx -i 'x=f32[9999999999,9999999999]'
says '^cfx: add.fx: input x: '
gives 1 'unknown node' run add.fx -i 1 --save zzz=a.npy
says "there is no node 'zzz'"
gives 1 'shapes that do not fit' run add.fx -i 'f32[2]' -i 'f32[3]'
says '^cfx: add.fx: .*While executing %add'
gives 1 'memory limit' run add.fx -i 'f32[1000000]' --max-mem 1M
says '^cfx: '
gives 1 'time limit' run add.fx -i 'f32[1000]' --repeat 100000000 --timeout 0.2
says '^cfx: '
gives 1 'unknown operator' ops frobnicate
says "there is no operator 'frobnicate'"
gives 1 'unknown module type' ops --modules frobnicate
says "there is no module type 'frobnicate'"

# ---- Running ----

gives 0 'a number' run add.fx -i x=2
prints '^output int$'
prints '^3$'
gives 0 'in any order' run -i y=2.5 add.fx -i 2
prints '^4.5$'
gives 0 'a filled input' run add.fx -i 'x=f32[2, 3]'
prints '^output f32\[2, 3\]$'
prints '^tensor\(\[\['
gives 0 'the same seed' run add.fx -i 'f32[2,3]' -o a.txt
gives 0 'the same seed again' run add.fx -i 'f32[2,3]' --seed 0 -t 1 -o b.txt
yes 'equal seeds give equal inputs' cmp -s a.txt b.txt
gives 0 'another seed' run add.fx -i 'f32[2,3]' --seed 1 -o b.txt
no 'other seeds give other inputs' cmp -s a.txt b.txt
gives 0 'random weights' run fc.fx -i 'f32[1,2]' --random-weights 0
prints '^output f32\[1, 3\]$'
gives 0 'top' run fc.fx -i 'f32[2,2]' --random-weights 0 --top 2
prints '^\[1\]$'
yes 'two rows of two' test "$(wc -l <out)" -eq 7
gives 0 'trace' run pair.fx -i 'f32[2]' --trace
yes 'a line for each node' test "$(grep -c '^%.* us$' err)" -eq 4
gives 1 'check-finite' run inf.fx -i 'f32[2]' --check-finite
says '^cfx: inf.fx: .*inf.*While executing %div'
cat >cuda.fx <<'EOF'
graph():
    %x : [num_users=2] = placeholder[target=x]
    %arange : [num_users=1] = call_function[target=torch.arange](args = (3,), kwargs = {device: cuda:0})
    %to : [num_users=1] = call_method[target=to](args = (%x, cuda:0), kwargs = {})
    %add : [num_users=1] = call_function[target=torch.add](args = (%to, %arange), kwargs = {})
    %zeros : [num_users=1] = call_function[target=torch.ops.aten.zeros.default](args = ([3],), kwargs = {dtype: torch.float32, device: mps, pin_memory: False})
    %add_1 : [num_users=1] = call_function[target=torch.add](args = (%x, %zeros), kwargs = {})
    return (add, add_1)
EOF
gives 0 'a graph prints back with its devices' print cuda.fx
yes 'devices as torch prints them' cmp -s out cuda.fx
gives 0 'another device runs on the CPU' run cuda.fx -i 'f32[3]'
says "^cfx: note: the graph asks for device 'cuda:0'; all is computed on the CPU$"
yes 'one note' test "$(wc -l <err)" -eq 1
gives 1 'strict devices' run cuda.fx -i 'f32[3]' --strict-devices
says "there is no device 'cuda:0', only 'cpu'; While executing %arange"
gives 0 'shapes of a graph on devices' shapes cuda.fx -i 'x=f32[N]'
gives 1 'shapes on two devices' shapes cuda.fx -i 'x=f32[3]cpu'
says 'found at least two devices, cpu and mps:0!; .*While executing %add_1'
gives 2 'trace and check-finite' run pair.fx --trace --check-finite
gives 0 'repeat' run add.fx -i 1 --repeat 3
prints '^3 runs: fastest [0-9.]+ ms'
gives 0 'several outputs' run pair.fx -i 'f32[2]'
prints '^output_0 f32\[2\]$'
prints '^output_1_b f32\[2\]$'
gives 0 'outputs to files' run pair.fx -i 'f32[2]' -O results
yes 'output_0.npy' test -s results/output_0.npy
yes 'output_1_b.npy' test -s results/output_1_b.npy
yes 'files instead of text' test ! -s out
gives 0 'a file as input' run add.fx -i x=results/output_0.npy -i y=0 -O again
yes 'files come back the same' cmp -s results/output_0.npy again/output.npy
gives 0 'saving nodes' run pair.fx -i 'f32[2]' --save relu=r.npy \
    --save neg=n.safetensors
yes 'the node is what came out' cmp -s r.npy results/output_0.npy
gives 0 'a key of a file' run add.fx -i n.safetensors:neg -i 0 -O again
yes 'keys name tensors' cmp -s again/output.npy results/output_1_b.npy
gives 1 'an unknown key' run add.fx -i n.safetensors:other
says "n.safetensors: has no tensor 'other'"
cp n.safetensors misnamed.npy
gives 0 'the content tells the format' run add.fx -i misnamed.npy -i 0 -O again
yes 'not the suffix' cmp -s again/output.npy results/output_1_b.npy
gives 1 'saving to no format' run pair.fx -i 'f32[2]' --save relu=r.txt
says 'r.txt: tensors are not written .* known are .npy, .npz, .safetensors, .bin;'
no 'writes nothing' test -e r.txt
gives 0 'a name without a suffix is npy' run pair.fx -i 'f32[2]' --save relu=r
yes 'as before' cmp -s r r.npy
echo words >w.txt
gives 1 'weights of no format' run fc.fx -i 'f32[4,2]' -w w.txt
says 'w.txt: is in no known format of tensors; known are .npy, .npz, '
gives 1 'weights without names' run fc.fx -i 'f32[4,2]' -w r.npy
says 'r.npy: has a tensor without a name'
for level in plain avx2 avx512; do
    "$cfx" run fc.fx -i 'f32[4,2]' --random-weights 0 --cpu $level >out 2>err &&
        prints '^output'
done

# ---- Printing ----

for format in graph tabular python readable modules model cfx c dot; do
    gives 0 "print --format $format" print fc.fx --format $format
    yes "$format is not empty" test -s out
done
gives 0 'readable, in colours, a parameter a line' \
    print fc.fx --format readable --color --expanded --stride --device \
    --meta seq_nr --meta desc
prints '^        self,$'
gives 0 'dot with parameters' print fc.fx --format dot --parameters
prints 'op_code=get_parameter'
gives 0 'the model as it was' print fc.fx --format model
yes 'model prints back the same' cmp -s out fc.fx
gives 0 'operators' ops
prints '^relu\('
gives 0 'one operator' ops torch.relu
prints 'torch.relu'
gives 0 'one method' ops relu
gives 0 'the table of operators' ops --table
prints '^relu  *PyTorch  .* f32 .*torch\.relu_ '
prints '^cond  *-  *-  *torch\.ops\.higher_order\.cond'
yes 'every operator has a row, but for the head' \
    test "$(grep -vc '^operator ' out)" -eq \
    "$("$cfx" ops --table --format json | grep -c '"signatures"')"
gives 0 'one row' ops --table torch.linalg.qr
prints '^linalg_qr '
gives 0 'as json' ops --table -f json torch.linalg.qr
prints '"cfx-ops-1"'
prints '"f64"'
gives 2 'a format without a table' ops -f json
gives 2 'a table of modules' ops --table --modules
gives 2 'another format' ops --table -f csv
gives 1 'a table of nothing' ops --table frobnicate
gives 0 'module types' ops --modules
prints '^Conv2d\('
gives 0 'one module type' ops --modules Linear
prints 'forward'

# ---- Output that fails ----

if [ -w /dev/full ]; then
    for arguments in 'ops' '--help' '--version' 'print fc.fx'; do
        name="a full disk: $arguments"
        # shellcheck disable=SC2086
        "$cfx" $arguments >/dev/full 2>err
        yes "$name" test $? -eq 1
        says '^cfx: stdout: No space left'
    done
    gives 1 'a full disk and -o' ops -o /dev/full
    says '^cfx: /dev/full: No space left'
fi
for arguments in 'ops' 'ops --table -f json' 'passes -f json' '--help' \
    'print fc.fx'
do
    name="a closed pipe: $arguments"
    # shellcheck disable=SC2086
    { sleep 0.2; "$cfx" $arguments 2>err; echo $? >status; } | :
    yes "$name" test "$(cat status)" = 141
    no "$name: says nothing" test -s err
done
gives 1 'no such directory' ops -o no/such/file
says '^cfx: no/such/file: No such file'
echo old >kept
gives 1 'a failing command' run fc.fx -i 'f32[1,2]' -o kept
yes 'keeps the older file' test "$(cat kept)" = old
gives 1 'a failing command' run fc.fx -i 'f32[1,2]' -o fresh
no 'leaves no file' test -e fresh

# ---- Files that are rewritten ----

cp fc.fx mode.fx
chmod 600 mode.fx
gives 0 'a file of mode 600 is rewritten' transform mode.fx dead_code -o mode.fx
yes 'and keeps its mode' test "$(ls -l mode.fx | cut -c1-10)" = -rw-------
gives 0 'a new file' transform fc.fx dead_code -o fresh.fx
yes 'has that of others' test "$(ls -l fresh.fx | cut -c1-10)" = \
    "$(touch other; ls -l other | cut -c1-10)"
rm fresh.fx

# A text and weights that a kill between the two renames would leave.
cat >pair.fx <<'END'
Net(
  (fc): Linear(in_features=2, out_features=2, bias=True)
)

graph():
    %x : [num_users=1] = placeholder[target=x]
    %fc : [num_users=1] = call_module[target=fc](args = (%x,), kwargs = {})
    %relu : [num_users=1] = call_function[target=torch.relu](args = (%fc,), kwargs = {})
    return relu
END
gives 0 'a pair is written' transform pair.fx dead_code -o pair.fx \
    --random-weights 1
cp pair.fx before.fx
sed 's/torch.relu/torch.tanh/' pair.fx >changed.fx
gives 0 'and written again' transform changed.fx dead_code -o pair.fx \
    --random-weights 2
gives 0 'the pair fits' run pair.fx -i x='f32[1,2]'
cp pair.fx after.fx
cp before.fx pair.fx
gives 1 'the older text with the newer weights is refused' \
    run pair.fx -i x='f32[1,2]'
says '^cfx: pair.fx: is the text before pair.safetensors was written.*-w'
gives 0 'but for -w' run pair.fx -w pair.safetensors -i x='f32[1,2]'
sed 's/torch.relu/torch.abs/' after.fx >pair.fx
gives 0 'a text that was edited is taken' run pair.fx -i x='f32[1,2]'
rm -f pair.* before.fx changed.fx after.fx mode.* other

# ---- Signals ----

name='SIGTERM'
"$cfx" run add.fx -i 'f32[1000]' --repeat 1000000000 -o endless >out 2>err &
pid=$!
sleep 0.5
kill -TERM $pid
wait $pid
yes 'SIGTERM stops it' test $? -eq 143
no 'and leaves no file' test -e endless
# A shell may have been started with SIGINT ignored, which its children inherit.
# In the foreground, timeout sends the signal once; a second would kill.
interrupted='timeout --foreground --preserve-status -k 20 -s INT 0.5 env'
interrupted="$interrupted --default-signal=INT"
if $interrupted true 2>/dev/null; then
    $interrupted "$cfx" run add.fx -i 'f32[1000]' --repeat 1000000000 \
        -o endless >out 2>err
    yes 'SIGINT stops it' test $? -eq 130
    says '^cfx: '
    no 'and leaves no file either' test -e endless
    mkfifo pipe
    $interrupted "$cfx" run pipe >out 2>err
    yes 'SIGINT stops what waits for a pipe' test $? -eq 130
fi
# shellcheck disable=SC2012
yes 'no temporary file is left' test "$(ls | grep -c '\.tmp$')" -eq 0

# ---- Plugins ----

gives 1 'no such plugin' run add.fx -i 1 --load ./none.so
says '^cfx: .*none.so'
abi=$(sed -n 's/^#define CFX_ABI_VERSION //p' "$src/lib/cfx/compiler.h")
yes 'the headers tell the ABI' test -n "$abi"
cat >fails.c <<'END'
#ifdef ABI
extern const int cfx_plugin_abi;
const int cfx_plugin_abi = ABI;
#endif
int cfx_plugin_init(void *ctx, void *err);
int cfx_plugin_init(void *ctx, void *err)
{
    (void)ctx;
    (void)err;
    return -13;
}
END
echo 'int nothing;' >empty.c
if ${CC:-cc} -DABI="$abi" -shared -fPIC -o fails.so fails.c 2>/dev/null &&
    ${CC:-cc} -DABI=0 -shared -fPIC -o old.so fails.c 2>/dev/null &&
    ${CC:-cc} -shared -fPIC -o silent.so fails.c 2>/dev/null &&
    ${CC:-cc} -shared -fPIC -o empty.so empty.c 2>/dev/null; then
    gives 1 'a plugin that fails' ops --load ./fails.so
    says '^cfx: ./fails.so: cfx_plugin_init failed'
    gives 1 'a library that is no plugin' ops --load ./empty.so
    says '^cfx: ./empty.so: has no cfx_plugin_init'
    gives 1 'a plugin of another ABI' ops --load ./old.so
    says '^cfx: ./old.so: was compiled for ABI 0, this program has [0-9]+: '
    gives 1 'a plugin that does not say its ABI' ops --load ./silent.so
    says '^cfx: ./silent.so: does not say for which ABI it was compiled: '
fi

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
