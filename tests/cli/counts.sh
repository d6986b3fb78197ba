#!/bin/sh
# cfx roofline counts parameters and buffers as PyTorch does, of the whole and
# of each module, and finds the modules of exports: golden/counts, which
# tests/oracle/counts.py writes. Weights are found beside the model.
. "$srcdir/tests/cli/said.sh"
golden=$src/tests/golden/counts

report() # report MODEL INPUT ARGUMENT...
{
    model=$1 input=$2
    shift 2
    "$cfx" roofline "$golden/$model.fx" -i "$input" --machine \
        "$src/tests/golden/roofline/machine.json" -t 1 "$@" </dev/null
}

# A line is MODEL INPUT MODULE PARAMETERS, or MODEL INPUT (buffers) BYTES.
lines=0
while read -r model input module count; do
    lines=$((lines + 1))
    case $module in
    '(buffers)')
        got=$(report "$model" "$input" -f json | tr -d ' ,' |
            sed -n 's/^"buffer_bytes"://p') ;;
    *)
        got=$(report "$model" "$input" --by module -f csv \
            --columns name,parameters | sed -n "s/^$module,//p") ;;
    esac
    if [ "$got" = "$count" ]; then ok; else
        not_ok "$model: $module has '$got', by PyTorch $count"
    fi
done <"$golden/counts.txt"
if [ $lines = 32 ]; then ok; else not_ok "$lines lines of counts"; fi

# Of an export: the work is in its modules, too.
report export 'x=i64[2,4]' --by module -f csv --columns name,macs >out 2>err
if grep -q '^enc.linear1,768$' out && grep -q '^enc,[1-9]' out; then ok; else
    not_ok 'the work of an export has modules'
fi
for model in export core; do
    said "$model with a symbol" 0 '^parameters +684 ' "$cfx" roofline \
        "$golden/$model.fx" -i 'x=i64[N,4]' --machine \
        "$src/tests/golden/roofline/machine.json" -t 1
done
tell
