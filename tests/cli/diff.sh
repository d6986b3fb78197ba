#!/bin/sh
#
# diff.sh -- cfx diff: what it compares, what it tells, and its statuses; and
# cfx run on models with graphs in them. $CFX names the program, $srcdir the
# source tree.

cfx=${CFX:-./cfx}
src=${srcdir:-.}
case $cfx in */*) cfx=$(cd "$(dirname "$cfx")" && pwd)/$(basename "$cfx") ;; esac
src=$(cd "$src" && pwd)
dir=$(mktemp -d "${TMPDIR:-/tmp}/cfx-diff-test.XXXXXX") || exit 99
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 99

passed=0
failed=0

check()
{
    if [ "$1" = 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "not ok: $name: $2"
        sed 's/^/    /' out err
    fi
}

# gives STATUS NAME ARGUMENT...
gives()
{
    want=$1
    name=$2
    shift 2
    ${CFX_EMULATOR:-} "$cfx" "$@" >out 2>err </dev/null
    got=$?
    [ "$got" = "$want" ]
    check $? "status $got, not $want: cfx $*"
}

prints()
{
    grep -Eq -e "$1" out
    check $? "stdout lacks '$1'"
}

# One line on stderr, which matches; notes do not count.
says()
{
    grep -v '^cfx: note: ' err >errors
    [ "$(wc -l <errors)" -eq 1 ] && grep -Eq -e "$1" errors
    check $? "stderr is not the one line '$1'"
}

# model FACTOR LAST: x * FACTOR, then LAST.
model()
{
    cat <<END
graph():
    %x : [num_users=1] = placeholder[target=x]
    %mul : [num_users=2] = call_function[target=operator.mul](args = (%x, $1), kwargs = {})
    %$2 : [num_users=1] = call_method[target=$2](args = (%mul,), kwargs = {})
    %add : [num_users=1] = call_function[target=operator.add](args = (%mul, %$2), kwargs = {})
    return add
END
}

model 2 neg >a.fx
model 2 neg >same.fx
model 3 neg >three.fx
model 2 abs >abs.fx

gives 0 'a model and itself' diff a.fx -i 'f32[4]'
prints '^0 of 5 nodes compared differ$'
gives 0 'two that are equal' diff a.fx same.fx -i 'x=f32[2,3]'
gives 1 'two that differ' diff a.fx three.fx -i 'x=f32[4]'
prints '^%mul : f32\[4\] : 4 of 4 elements differ, most \[[0-3]\]: '
prints '^1 of 2 nodes compared differ; the rest was not run$'
says '^cfx: three.fx: %mul differs from that of a.fx: 4 of 4 elements differ'
gives 1 'all of them' diff a.fx three.fx -i 'x=f32[4]' --all
prints '^%neg : '
prints '^2 of 5 nodes compared differ$'
gives 0 'a tolerance' diff a.fx three.fx -i 'x=f32[4]' --rtol 0.6
gives 0 'another' diff a.fx three.fx -i 'x=f32[4]' --atol 100
gives 1 'other nodes' diff a.fx abs.fx -i 'x=f32[4]'
prints '^1 nodes are only in a.fx, 1 only in abs.fx$'
says '^cfx: abs.fx: %add differs from that of a.fx: '
gives 1 'their names' diff a.fx abs.fx -i 'x=f32[4]' --all
prints '^%neg is only in a.fx$'
prints '^%abs is only in abs.fx$'

gives 0 'equal graphs' diff a.fx same.fx --graph
gives 1 'other graphs' diff a.fx three.fx --graph
prints '^- +%mul .* 2\)'
prints '^\+ +%mul .* 3\)'
says '^cfx: three.fx: its graph differs from that of a.fx in 2 lines$'
gives 2 'graphs as JSON' diff a.fx same.fx --graph --format json

gives 1 'JSON' diff a.fx three.fx -i 'x=f32[4]' --format json --all
prints '"schema": "cfx-diff-1"'
prints '"node": "mul"'
prints '"elements_differing": 4'
prints '"nodes_compared": 5'
gives 1 'a report in a file' diff a.fx abs.fx -i 'x=f32[4]' -f json -o r.json
[ ! -s out ] && grep -q '"neg"' r.json
check $? 'the file is not the report'

# Signal-to-noise ratios: torch.ao.ns's compute_sqnr(2 * x, 3 * x) is 6.0206.
gives 0 'ratios' diff a.fx three.fx -i 'x=f32[4]' --snr
prints '^mul +f32\[4\] +6\.0  mul$'
prints '^2 of 5 nodes compared differ$'
gives 0 'ratios as JSON' diff a.fx three.fx -i 'x=f32[4]' --snr -f json
prints '"snr_db": 6\.0205999'
gives 0 'equal models have none' diff a.fx same.fx -i 'x=f32[4]' --min-snr 99
prints '^0 of 5 nodes compared differ$'
gives 0 'a ratio that is high enough' diff a.fx three.fx -i 'x=f32[4]' \
    --min-snr 6
gives 1 'a ratio that is too low' diff a.fx three.fx -i 'x=f32[4]' \
    --min-snr 6.1
says '^cfx: three.fx: %mul has .* ratio of 6\.0 dB to %mul of a.fx, less than 6.1$'
model -inf abs >inf.fx
gives 0 'equal infinities' diff inf.fx inf.fx -i 'x=f32[4]' --snr
prints '^0 of 5 nodes compared differ$'
model nan abs >nan.fx
gives 1 'NaN' diff abs.fx nan.fx -i 'x=f32[4]' --snr
prints '^mul +f32\[4\] +-  mul: 4 of 4 elements differ'
says '^cfx: nan.fx: %mul has no signal-to-noise ratio to %mul of abs.fx: 4 of 4'
model 2 argmax >argmax.fx
model -2 argmax >argmin.fx
gives 0 'integers have no ratio' diff argmax.fx argmin.fx -i 'x=f32[4]' --snr
prints '^argmax +i64\[\] +-  argmax: 1 of 1 elements differ'
model 2 flatten >flatten.fx
sed 's/operator.mul/torch.outer/; s/, 2)/, %x)/' flatten.fx >outer.fx
gives 1 'other shapes' diff flatten.fx outer.fx -i 'x=f32[4]' --snr
gives 2 'ratios and a tolerance' diff a.fx same.fx -i 'x=f32[4]' --snr --rtol 1
gives 2 'no decibels' diff a.fx same.fx -i 'x=f32[4]' --min-snr loud

gives 2 'no tolerance' diff a.fx --rtol x
gives 2 'a negative one' diff a.fx --atol -1
gives 2 'no format' diff a.fx --format xml
gives 2 'no level' diff a.fx --cpu-b fast
gives 2 'three models' diff a.fx a.fx a.fx
gives 1 'no input' diff a.fx
says '^cfx: a.fx: '
sed 's/neg\]/nonsense]/' a.fx >bad.fx
gives 1 'a model that cannot run' diff a.fx bad.fx -i 3
says "^cfx: bad.fx: unknown method 'nonsense'"

# The same model with other instructions; its weights are beside it.
d=$src/models/digits.fx
gives 0 'two levels' diff "$d" -i 'f32[3,1,8,8]' --cpu-b plain \
    --rtol 1e-4 --atol 1e-4
gives 0 'threads' diff "$d" -i 'f32[3,1,8,8]' --threads-b 3 --rtol 0
gives 1 'other weights' diff "$d" -i 'f32[3,1,8,8]' --weights-b /dev/null

# The sample inputs of one model are those of the other, which declares no types.
mlp=$src/tests/golden/pt2/mlp.pt2
"$cfx" convert "$mlp" mlp.fx
sed 's/ : Tensor "[^"]*"/ : /' mlp.fx >untyped.fx
mv mlp.safetensors untyped.safetensors
gives 0 'samples' diff "$mlp" untyped.fx
prints '^0 of [0-9]+ nodes compared differ$'
gives 0 'samples of the second' diff untyped.fx "$mlp"

# A loop that never ends, ends.
cat >endless.fx <<'END'
Net(
  (cond): <lambda>()
  (body): <lambda>()
)

graph():
    %x : [num_users=1] = placeholder[target=x]
    %cond : [num_users=1] = get_attr[target=cond]
    %body : [num_users=1] = get_attr[target=body]
    %while_loop : [num_users=1] = call_function[target=torch.ops.higher_order.while_loop](args = (%cond, %body, (%x,), ()), kwargs = {})
    return while_loop

graph cond():
    %x : [num_users=0] = placeholder[target=x]
    return True

graph body():
    %x : [num_users=1] = placeholder[target=x]
    %add : [num_users=1] = call_function[target=operator.add](args = (%x, 1), kwargs = {})
    return (add,)
END
gives 1 'an endless loop' run endless.fx -i 0 --timeout 0.2
says 'the time limit of 0.2 s is reached; While executing .*'
gives 0 'its text' print endless.fx -f cfx
prints '^graph body\(\):$'

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
