#!/bin/sh
# stop.sh -- the program ends soon after its time limit and after one signal,
# and survives what happens to its files: with one line and no file left behind.
. "$srcdir/tests/cli/said.sh"

# What a machine that does other things may add, in milliseconds; CFX_STOP_SLACK,
# in seconds, where it does nothing else.
slack=$(awk "BEGIN { print 1000 * ${CFX_STOP_SLACK:-2} }")

milliseconds() { echo $(($(date +%s%N) / 1000000)); }

# soon NAME MOST: less than that many milliseconds passed since `begin`.
soon()
{
    took=$(($(milliseconds) - begin))
    [ -z "${CFX_STOP_SLACK:-}" ] || echo "$1: $took ms"
    if [ "$took" -le "$2" ]; then ok; else not_ok "$1: took $took ms"; fi
}

one_line()
{
    if [ "$(wc -l <err)" -eq 1 ]; then ok; else not_ok "$1: not one line"; fi
}

nothing_left()
{
    if [ -z "$(find . -name '*.tmp' -o -name 'half*')" ]; then ok; else
        not_ok "$1: leaves $(find . -name '*.tmp' -o -name 'half*')"
    fi
}

graph()
{
    printf '%s\n\n\n\ngraph():\n' "$1"
    printf '    %%x : [num_users=1] = placeholder[target=x]\n'
    printf '    %%y : [num_users=1] = %s(args = (%s), kwargs = {})\n' "$2" "$3"
    printf '    return y\n'
}
{
    printf 'Net(\n  (c): Conv2d(128, 128, kernel_size=(31, 31), '
    printf 'stride=(1, 1), padding=(15, 15))\n)\n'
} >tree
graph "$(cat tree)" 'call_module[target=c]' '%x,' >conv.fx
graph 'Net()' 'call_function[target=torch.matmul]' '%x, %x' >product.fx
graph 'Net()' 'call_function[target=torch.sort]' '%x,' >sort.fx
graph 'Net()' 'call_function[target=torch.cumsum]' '%x, 0' >cumsum.fx
graph 'Net()' 'call_function[target=torch.relu]' '%x,' >relu.fx

# ---- The time limit, and signals ----

# stops NAME MODEL TYPE [OPTION]...: the run takes more than 0.4 s.
stops()
{
    name=$1 model=$2 input=$3
    shift 3
    begin=$(milliseconds)
    said "$name: limit" 1 'the time limit of 0.4 s is reached' "$cfx" run "$model" \
        -t 2 -i "$input" --timeout 0.4 -o half "$@"
    soon "$name: limit" $((400 + ${slack%.*}))
    one_line "$name: limit"
    for signal in INT TERM; do
        begin=$(milliseconds)
        timeout --foreground --preserve-status -s $signal 0.4 \
            env --default-signal=$signal "$cfx" run "$model" -t 2 \
            -i "$input" -o half "$@" >out 2>err
        got=$?
        soon "$name: SIG$signal" $((400 + ${slack%.*}))
        case $signal:$got in
            INT:130 | TERM:143) ok ;;
            *) not_ok "$name: SIG$signal: status $got" ;;
        esac
    done
    nothing_left "$name"
}

if env --default-signal=INT true 2>/dev/null; then
    stops convolution conv.fx 'f32[1,128,256,256]' --random-weights 1
    stops product product.fx 'f64[4096,4096]' --cpu plain
    # With the memory that a machine, or the container, has.
    memory=$(awk '/MemAvailable/ { print int($2 / 1048576) }' /proc/meminfo)
    most=$(cat /sys/fs/cgroup/memory.max 2>/dev/null)
    case $most in
        '' | *[!0-9]*) ;;
        *) most=$((most >> 30)); [ "$most" -ge "$memory" ] || memory=$most ;;
    esac
    if [ "$memory" -ge 24 ]; then
        stops sort sort.fx 'f32[100000000]'
        stops cumsum cumsum.fx 'f32[1000000000]'
    elif [ "$memory" -ge 6 ]; then
        stops sort sort.fx 'f32[50000000]'
    fi
fi

# ---- Files ----

# A file may not grow past the limit: a failed write, of all files.
if (ulimit -f 100) 2>/dev/null; then
    for command in "run relu.fx -i f32[1000000] -O ." \
        "run relu.fx -i f32[1000000] --save y=half.npy"; do
        # shellcheck disable=SC2086
        (ulimit -f 100; exec "$cfx" $command) >out 2>err
        got=$?
        grep -q 'File too large' err && [ $got -eq 1 ] && ok ||
            not_ok "a file that may not grow: status $got: $command"
        one_line "a file that may not grow: $command"
        nothing_left "a file that may not grow: $command"
    done
fi

# Weights that become shorter while they are mapped.
weights()
{
    printf '\200\0\0\0\0\0\0\0' >lin.safetensors
    printf '%-128s' '{"l.weight":{"dtype":"F32","shape":[1000,1000],"data_offsets":[0,4000000]}}' \
        >>lin.safetensors
    truncate -s 4000136 lin.safetensors
}
graph "$(printf 'Net(\n  (l): Linear(in_features=1000, out_features=1000, bias=False)\n)')" \
    'call_module[target=l]' '%x,' >lin.fx

# until_true COMMAND...: it succeeds, or 20 seconds have passed.
until_true()
{
    for _ in $(seq 200); do
        "$@" && break
        sleep 0.1
    done
}

has_mapped() { grep -q lin.safetensors "/proc/$1/maps" 2>/dev/null; }

has_read()
{
    awk '/^rchar/ { n = $2 } END { exit n < 4000136 }' "/proc/$1/io" 2>/dev/null
}

# Ticks of the processor that it has taken; none where it has ended.
ticks() { awk '$3 != "Z" { print $14 + $15 }' "/proc/$1/stat" 2>/dev/null; }

has_ended() { [ -z "$(ticks "$1")" ]; }
has_worked() { [ "$(ticks "$1")" -gt "$2" ]; } # PID TICKS

# truncated STATUS CONDITION [OPTION]...: after the condition holds. With status
# 1 it ends by itself, else it is stopped after some work.
truncated()
{
    want=$1 condition=$2
    shift 2
    weights
    "$cfx" run lin.fx -i 'f32[1,1000]' --repeat 1000000000 -o half "$@" \
        >out 2>err &
    pid=$!
    until_true "$condition" $pid
    truncate -s 4096 lin.safetensors
    if [ "$want" = 1 ]; then
        until_true has_ended $pid
    else
        until_true has_worked $pid $(($(ticks $pid) + 20))
    fi
    kill -TERM $pid 2>/dev/null
    wait $pid
    got=$?
    if [ $got = "$want" ]; then ok; else
        not_ok "weights that become shorter: status $got, not $want: $*"
    fi
    nothing_left 'weights that become shorter'
}
truncated 1 has_mapped
also 'weights that become shorter' 'became shorter while it was read \(--no-mmap'
one_line 'weights that become shorter'
truncated 143 has_read --no-mmap

# ---- Memory ----

# The header of a safetensors file: what its parsing takes is charged before.
awk 'BEGIN {
    printf "{"
    for (i = 0; i < 60000; i++)
        printf "%s\"layer.%06d.weight\":{\"dtype\":\"F32\",\"shape\":[1]," \
            "\"data_offsets\":[%d,%d]}", i ? "," : "", i, 4 * i, 4 * i + 4
    printf "}"
}' >header
size=$(wc -c <header)
{
    # shellcheck disable=SC2059
    printf "$(printf '\\%03o\\%03o\\%03o\\0\\0\\0\\0\\0' $((size % 256)) \
        $((size / 256 % 256)) $((size / 65536)))"
    cat header
} >many.safetensors
truncate -s $((size + 8 + 240000)) many.safetensors
said 'many tensors' 1 'which the model lacks' "$cfx" run lin.fx -i 'f32[1,1000]' \
    -w many.safetensors
said 'a header beyond --max-mem' 1 'bytes of JSON may take [0-9]+ MB to parse' \
    "$cfx" run lin.fx -i 'f32[1,1000]' -w many.safetensors --max-mem 60M
one_line 'a header beyond --max-mem'

# So it is of descriptions of machines, and of reports.
awk 'BEGIN {
    printf "{\"schema\": \"cfx.machine/1\", \"threads\": ["
    for (i = 0; i < 300000; i++)
        printf "%s{}", i ? "," : ""
    printf "]}"
}' >machine.json
sed 's/machine/roofline/; s/threads/nodes/' machine.json >report.json
beyond() # NAME PATTERN OPTION...
{
    name=$1 pattern=$2
    shift 2
    said "$name" 1 "$pattern" "$cfx" roofline relu.fx -i 'f32[4]' "$@"
    said "$name beyond --max-mem" 1 'bytes of JSON may take 8[0-9] MB to parse' \
        "$cfx" roofline relu.fx -i 'f32[4]' "$@" --max-mem 60M
    one_line "$name beyond --max-mem"
}
beyond 'a machine' 'threads has to be a list' --machine machine.json
beyond 'a report' "item 0 of 'nodes' has no name" --against report.json \
    --machine "$src/shapeprop/machines/raspberry-pi-5.json"

tell
