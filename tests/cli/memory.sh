#!/bin/sh
# cfx shapes --memory and cfx run --arena.
. "$srcdir/tests/cli/said.sh"

# is NAME STATUS PATTERN ARGUMENT...: what cfx says has a line of the pattern.
is()
{
    name=$1 status=$2 pattern=$3
    shift 3
    said "$name" "$status" "$pattern" "$cfx" "$@"
}

m=$src/models/digits.fx
is "the table tells the place of each block" 0 \
    '^ +2  result  +conv1 +bn1 +conv2d +8192 +[0-9]+$' \
    shapes "$m" -i 'f32[2,1,8,8]' --memory
is "views are aliases" 0 '^ +20  alias +19  flatten +fc +4096 +[0-9]+$' \
    shapes "$m" -i 'f32[2,1,8,8]' --memory
is "sums stand below" 0 '^arena: +[0-9]+ bytes, the largest live set' \
    shapes "$m" -i 'f32[2,1,8,8]' --memory
is "csv has a line for each block" 0 \
    '^2,result,,conv1,bn1,conv2d,8192,0,1,[0-9]+$' \
    shapes "$m" -i 'f32[2,1,8,8]' --memory -f csv
is "json tells what is live at each node" 0 \
    '"name": "relu", "live_bytes": 16384' \
    shapes "$m" -i 'f32[2,1,8,8]' --memory -f json
is "json has its schema" 0 '^\{"schema": "cfx.memory/1",$' \
    shapes "$m" -i 'f32[2,1,8,8]' --memory -f json
is "symbols give expressions" 0 '^peak: +16384\*N bytes at bn2, scratch' \
    shapes "$m" -i 'f32[N,1,8,8]' --memory
is "a format without memory is refused" 2 '--memory goes with' \
    shapes "$m" -i 'f32[N,1,8,8]' --memory -f dot
is "an error names the node" 1 'digits.fx: .*While executing %conv1' \
    shapes "$m" -i 'f32[2,3,8,8]' --memory
cat >huge.fx <<'END'
# cfx 1
Net()

graph():
    %x : [num_users=1] = placeholder[target=x]
    %e : [num_users=2] = call_method[target=expand](args = (%x, 72057594037927936), kwargs = {})
    %a : [num_users=1] = call_function[target=operator.add](args = (%e, 1), kwargs = {})
    %b : [num_users=1] = call_function[target=operator.add](args = (%e, 2), kwargs = {})
    %c : [num_users=1] = call_function[target=operator.add](args = (%a, %b), kwargs = {})
    %s : [num_users=1] = call_method[target=sum](args = (%c,), kwargs = {})
    return %s
END
is "blocks that are too large have no arena" 0 '^arena: +none, ' \
    shapes huge.fx -i 'f32[1]' --memory
is "nor do they run" 1 'note: --arena: no plan: the blocks are too large' \
    run huge.fx -i 'f32[1]' --arena
cat >parts.fx <<'END'
# cfx 1
Net()

graph():
    %x : [num_users=1] = placeholder[target=x]
    %n : [num_users=1] = call_method[target=nonzero](args = (%x,), kwargs = {})
    %u : [num_users=2] = call_method[target=unbind](args = (%n,), kwargs = {})
    return %u
END
cat >data.fx <<'END'
# cfx 1
Net()

graph():
    %x : [num_users=1] = placeholder[target=x]
    %n : [num_users=1] = call_method[target=nonzero](args = (%x,), kwargs = {})
    %s : [num_users=1] = call_method[target=sum](args = (%n,), kwargs = {})
    return %s
END
is "a sum without sizes from data says so" 0 \
    '^peak: .*, sizes from data not counted$' \
    shapes data.fx -i 'f32[4]' --memory
is "and so does json" 0 '"partial": true' \
    shapes data.fx -i 'f32[4]' --memory -f json
is "what cannot be planned runs" 0 'note: --arena: no plan: ' \
    run parts.fx -i 'f32[4]' --arena
is "weights that lack are told" 1 'missing weight|no weights' \
    run "$src/models/resnet18.fx" -i 'f32[1,3,64,64]' --arena

# same NAME ARGUMENT...: a run in the arena prints what another does.
same()
{
    name=$1
    shift
    "$cfx" run "$@" >plain 2>err && "$cfx" run "$@" --arena >arena 2>>err
    if [ $? = 0 ] && cmp -s plain arena && ! grep -q 'not in the arena' err
    then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "not ok: $name"
        sed 's/^/    /;20q' err
    fi
}

same "digits run in the arena" "$m" -i 'f32[3,1,8,8]'
same "resnet18 runs in the arena" "$src/models/resnet18.fx" \
    -i 'f32[1,3,64,64]' --random-weights 1
same "a result of a branch" "$src/models/branch.fx" -i 'f32[4,6]'
same "a result of several parts" "$src/models/topk.fx" -i 'f32[5,4]'

same "what is saved is no miss" "$m" -i 'f32[2,1,8,8]' --save relu=relu.npy

tell
