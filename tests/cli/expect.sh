#!/bin/sh
# Results compared with a reference, labelled, printed as JSON, timed; raw inputs.
. "$srcdir/tests/cli/said.sh"

cat >net.fx <<'END'
graph():
    %x : [num_users=2] = placeholder[target=x]
    %relu : [num_users=1] = call_function[target=torch.relu](args = (%x,), kwargs = {})
    %argmax : [num_users=1] = call_function[target=torch.argmax](args = (%x, -1), kwargs = {})
    return (relu, argmax)
END
sed 's/return.*/return relu/' net.fx >one.fx
# 1, 2, 3; -4, 5, 6 as float32.
printf '\0\0\200\77\0\0\0\100\0\0\100\100\0\0\200\300\0\0\240\100\0\0\300\100' \
    >x.bin
x='x=x.bin:f32[2,3]'

# ---- Raw numbers ----

said 'raw numbers' 0 '^tensor\(\[\[1., 2., 3.\],$' "$cfx" run one.fx -i "$x"
also 'and their rows' '\[0., 5., 6.\]\]\)$'
said 'too many' 1 'x.bin: has 24 bytes, f32\[2, 2\] takes 16$' \
    "$cfx" run one.fx -i 'x=x.bin:f32[2,2]'
said 'too few, and no memory is taken' 1 'x.bin: has 24 bytes' \
    "$cfx" run one.fx -i 'x=x.bin:f32[1000000,1000000]'
said 'without a type' 1 'name them as in x.bin:f32\[1,3,224,224\]$' \
    "$cfx" run one.fx -i x=x.bin
said 'of no type' 1 "x.bin: 'f33\[2\]' is not a type and shape" \
    "$cfx" run one.fx -i 'x=x.bin:f33[2]'
said 'a symbol' 1 "x.bin: 'f32\[N\]' is not a type and shape" \
    "$cfx" run one.fx -i 'x=x.bin:f32[N]'
said 'no file' 1 'none.bin: No such file' "$cfx" run one.fx -i x=none.bin:f32[1]
said 'its shape' 0 '^relu .*f32\[2, 3\]$' "$cfx" shapes one.fx -i "$x"
said 'written' 0 '' "$cfx" run one.fx -i "$x" --save x=y.bin
said 'and the same' 0 '' cmp x.bin y.bin
said 'bytes' 0 '^output u8\[24\]$' "$cfx" run one.fx -i 'x=x.bin:u8[24]'

# ---- A reference ----

said 'a folder of results' 0 '' "$cfx" run net.fx -i "$x" -O results
said 'is what is expected' 0 '^output_0 is as expected: largest difference 0 of 6' \
    "$cfx" run net.fx -i "$x" --expect results
also 'all of it' '^output_1 is as expected'
said 'an array' 0 '^output is as expected' \
    "$cfx" run one.fx -i "$x" --expect results/output_0.npy
said 'raw' 1 'one.fx: output differs from x.bin:f32\[2,3\]: 1 of 6 elements' \
    "$cfx" run one.fx -i "$x" --expect 'x.bin:f32[2,3]'
also 'its first element' '\[1, 0\]'
said 'within a tolerance' 0 'largest difference 4 of 6' \
    "$cfx" run one.fx -i "$x" --expect 'x.bin:f32[2,3]' --atol 4
said 'not within another' 1 'differs' \
    "$cfx" run one.fx -i "$x" --expect 'x.bin:f32[2,3]' --atol 3.9
said 'of the largest' 0 'as expected' \
    "$cfx" run one.fx -i "$x" --expect 'x.bin:f32[2,3]' --rmax 0.7
said 'of another shape' 1 'output differs from x.bin:f32\[3,2\]: f32\[3, 2\] and f32\[2, 3\]$' \
    "$cfx" run one.fx -i "$x" --expect 'x.bin:f32[3,2]'
said 'by name' 0 '' "$cfx" run one.fx -i "$x" --save relu=r.safetensors
said 'a file of one tensor' 0 'as expected' \
    "$cfx" run one.fx -i "$x" --expect r.safetensors
said 'which is not enough' 1 "r.safetensors: has no tensor 'output_0'" \
    "$cfx" run net.fx -i "$x" --expect r.safetensors
said 'one array for two results' 1 \
    'output_0.npy: one tensor for 2 results: use an npz or a folder$' \
    "$cfx" run net.fx -i "$x" --expect results/output_0.npy
said 'a missing result' 1 'results/output.npy: No such file' \
    "$cfx" run one.fx -i "$x" --expect results
said 'no reference' 1 'none.npy' "$cfx" run one.fx -i "$x" --expect none.npy
said 'a tolerance of nothing' 2 'go with --expect' "$cfx" run one.fx --atol 1
said 'no tolerance' 2 'take numbers' \
    "$cfx" run one.fx -i "$x" --expect results --atol x

# ---- Labels, softmax ----

printf 'cat\ndog\r\nemu' >labels
said 'labels' 0 '^ +2  3  emu$' "$cfx" run one.fx -i "$x" --top 1 --labels labels
said 'without the ends of lines' 0 '^ +1  2  dog$' \
    "$cfx" run one.fx -i "$x" --top 2 --labels labels
said 'the softmax' 0 '^ +2  0.6652[0-9]+  emu$' \
    "$cfx" run one.fx -i "$x" --top 1 --labels labels --softmax
said 'of integers there is none' 0 '^tensor\(\[2, 2\]\)$' \
    "$cfx" run net.fx -i "$x" --softmax
said 'the softmax is written, too' 0 '^output is as expected' sh -c "
    '$cfx' run one.fx -i '$x' --softmax --save relu=r.npy -O soft &&
    '$cfx' run one.fx -i '$x' --softmax --expect soft"
said 'and another than its input' 1 'output differs from r.npy' \
    "$cfx" run one.fx -i "$x" --softmax --expect r.npy
said 'too few labels' 1 'labels: has 3 labels, and the rows of the result have 6' \
    "$cfx" run one.fx -i 'x=x.bin:f32[6]' --top 1 --labels labels
said 'labels of all' 2 'goes with --top' \
    "$cfx" run one.fx -i "$x" --labels labels
printf 'cat\nd\033[2Jg\nemu\n' >bad
said 'labels that a terminal acts on' 1 'bad: is not a file of labels' \
    "$cfx" run one.fx -i "$x" --top 1 --labels bad
said 'no labels' 1 'none: No such file' \
    "$cfx" run one.fx -i "$x" --top 1 --labels none

# ---- JSON ----

said 'JSON' 0 '"schema": "cfx-run-1"' "$cfx" run net.fx -i "$x" -f json
also 'numbers' '"data": \[\[1, 2, 3\], \[0, 5, 6\]\]\}'
also 'integers' '"name": "output_1", "dtype": "i64", "shape": \[2\], "data": \[2, 2\]\}'
said 'what JSON lacks' 0 '"data": \["inf", 0.1, "nan"\]' sh -c "
    sed 's/torch.relu/torch.neg/' one.fx >neg.fx
    '$cfx' run neg.fx -i 'x=[1]' -f json
    printf '\0\0\200\377\315\314\314\275\0\0\300\177' >odd.bin
    '$cfx' run neg.fx -i 'x=odd.bin:f32[3]' -f json"
said 'the largest' 0 '"top": \[\{"row": \[0\], "best": \[\{"index": 2, "label": "emu", "value": 3\}\]\}' \
    "$cfx" run one.fx -i "$x" -f json --top 1 --labels labels
said 'times' 0 '"times": \{"runs": 5, "warmup_runs": 2, "fastest_seconds": ' \
    "$cfx" run one.fx -i "$x" -f json --repeat 5 --warmup 2
also 'items' '"items": 2, "items_per_second": [0-9.e+]+\}'
if command -v python3 >/dev/null; then
    said 'it is JSON' 0 '' sh -c "'$cfx' run net.fx -i '$x' -f json --repeat 3 |
        python3 -c 'import json, sys; json.load(sys.stdin)'"
fi
said 'no format' 2 "'xml' is not a valid FORMAT" "$cfx" run one.fx -f xml

# ---- Times ----

said 'percentiles' 0 '^9 runs: fastest .* median .* 90 % in .* 99 % in .* items/s in batches of 2$' \
    "$cfx" run one.fx -i "$x" --repeat 9 -o file
said 'the results are in the file' 0 '^output f32' cat file
said 'without times' 1 '' grep runs: file
said 'a warm-up alone' 2 'goes with --repeat' "$cfx" run one.fx --warmup 3

tell
