#!/bin/sh
# cfx roofline: tables, formats, symbols, times, reports compared, bounds, and
# what it says of errors. The numbers are those of a machine of round numbers,
# golden/roofline/machine.json.
. "$srcdir/tests/cli/said.sh"
golden=$src/tests/golden/roofline

# is NAME STATUS PATTERN ARGUMENT...: a line of what cfx roofline says has the
# pattern.
is()
{
    name=$1 status=$2 pattern=$3
    shift 3
    said "$name" "$status" "$pattern" "$cfx" roofline "$@"
}

# same NAME FILE ARGUMENT...: what it prints is the golden file, to which it
# is written with $CFX_UPDATE_GOLDEN.
same()
{
    name=$1 file=$golden/$2
    shift 2
    "$cfx" roofline "$@" >out 2>err </dev/null
    [ -z "${CFX_UPDATE_GOLDEN:-}" ] || cp out "$file"
    if cmp -s out "$file"; then ok; else
        failed=$((failed + 1))
        echo "not ok: $name"
        diff out "$file" | sed 's/^/    /;20q'
    fi
}

cp "$src/models/resnet18.fx" "$src/models/digits.fx" .
cp "$src/models/digits.safetensors" .
x='x=f32[1,3,224,224]'
# Scratch memory is that of a level of instructions, so the level is fixed.
round="--machine $golden/machine.json -t 1 --cpu plain"

# ---- Tables; $round is two arguments ----
# shellcheck disable=SC2086
{
same 'a table' resnet18.txt resnet18.fx -i "$x" $round
same 'by modules' modules.txt resnet18.fx -i "$x" $round --depth 2
same 'Markdown' operators.md resnet18.fx -i "$x" $round --by operator \
    -f markdown
same 'two threads' threads.csv resnet18.fx -i "$x" --machine \
    "$golden/machine.json" -t 2 -f csv --columns name,floor,level --top 12
same 'symbols' symbols.txt digits.fx -i 'x=f32[N,1,8,8]' $round
same 'a sweep' sweep.csv resnet18.fx -i 'x=f32[N,3,224,224]' $round \
    --sweep 'N=1..64*4' -f csv
same 'a document' digits.json digits.fx -i 'x=f32[4,1,8,8]' $round -f json
same 'a graph' digits.dot digits.fx -i 'x=f32[4,1,8,8]' $round -f dot
same 'a trace' digits.trace digits.fx -i 'x=f32[4,1,8,8]' $round -f trace

is 'the multiply-adds of resnet18' 0 '^MACs +1,814,073,344 ' resnet18.fx \
    -i "$x" $round
also 'and FLOPs by name' '^FLOPs +3,6[0-9,]+ .* 2 \* MACs \+ other operations$'
mlp=$src/tests/golden/pt2/mlp.pt2
is 'reads of weights have no rows' 0 '^\(without 4 get_attr nodes' "$mlp" $round
also 'so that the table begins with the input' '^input_1 +placeholder '
grep -q '^_0_weight' out && not_ok 'a read of a weight has a row'
is 'modules of an exported program have types' 0 '^  0 +Linear ' "$mlp" \
    $round --depth 1
is 'all nodes are in CSV' 0 '^_0_weight,' "$mlp" $round -f csv
is 'with times' 0 '^op +time$' resnet18.fx --random-weights 1 -i "$x" $round \
    --measure --columns op,seconds
cp out table
said 'the slowest node comes first' 0 '^call_module ' sed -n '/^op /{n;p;}' \
    table
is 'sorted' 0 '^layer' resnet18.fx -i "$x" $round --sort floor --top 3 \
    --columns name,floor
also 'and cut' '^\(3 of 71\)$'
is 'by bound' 0 '^compute +[0-9]+ ' resnet18.fx -i "$x" $round --by bound
is 'a machine that comes with cfx' 0 '^machine   .*Raspberry' resnet18.fx \
    -i "$x" --machine raspberry-pi-5
is 'all its threads' 0 '^machine   .* 4 threads$' digits.fx \
    -i 'x=f32[1,1,8,8]' --machine raspberry-pi-5
is 'as many as are asked for' 0 '^machine   .* 2 threads$' digits.fx \
    -i 'x=f32[1,1,8,8]' --machine raspberry-pi-5 -t 2
is 'a row of a module as CSV' 0 '^layer1\.0\.conv1,Conv2d,1,' resnet18.fx \
    -i "$x" $round --by module -f csv
also 'and of all' '^\(model\),[A-Za-z]*,71,'
is 'the parameters of a bound' 0 '^compute,[1-9][0-9]*$' digits.fx \
    -i 'x=f32[64,1,8,8]' $round --by bound -f csv --columns name,parameters
is 'cut Markdown' 0 '^\(2 of 12\)$' digits.fx -i 'x=f32[1,1,8,8]' $round \
    -f markdown --top 2
also 'behind an empty line' '^$'
is 'a page' 0 '<html' resnet18.fx -i "$x" $round -f html
is 'a picture' 0 '<svg' resnet18.fx -i "$x" $round -f svg

# ---- Symbols ----

is 'where nodes turn' 0 '^fc is compute-bound for N >= [0-9]+$' resnet18.fx \
    -i 'x=f32[N,3,224,224]' $round
is 'numbers for symbols' 0 '^MACs +1,814,073,344 ' resnet18.fx \
    -i 'x=f32[N,3,H,W]' $round --set N=1 --set H=224 --set W=224
is 'several symbols' 0 'crossovers are along one symbol' resnet18.fx \
    -i 'x=f32[N,3,H,W]' $round
is 'a sweep in steps' 0 '^N=9 ' resnet18.fx -i 'x=f32[N,3,64,64]' $round \
    --sweep N=1..12:4
for bad in N N= N=1 N=1.. N=1..4x N=1..4:0 N=4..1 =1..4 'N=1..4*1' \
    N=1..99999999999999999999 'N=1.. 4' N=-1..4; do
    is "no sweep: $bad" 2 '^cfx: roofline: --sweep' none.fx --sweep "$bad"
done
is 'no sweep from 0' 2 'symbols begin at 1' none.fx --sweep N=0..4
cp "$src/models/topk.fx" .
is 'a sweep where a guard holds' 0 '^H=8 ' digits.fx -i 'x=f32[N,1,H,H]' \
    $round --set N=2 --sweep H=7..10
also 'for all such values' '^H=9 '
also 'and a note' '2 of 4 values of H are left out: H=7 violates \(H//2\)'
if grep -Eq '^H=(7|10) ' out; then not_ok 'and for no others'; else ok; fi
also 'with the guards' '^guards:  '
also 'and ranges' '^symbols: H >= 2$'
is 'guards in Markdown' 0 '^guards: `' digits.fx -i 'x=f32[N,1,H,H]' $round \
    --set N=2 -f markdown
is 'no sweep where none does' 1 'H=2 violates .*, and so do all others' \
    digits.fx -i 'x=f32[N,1,H,H]' $round --set N=2 --sweep H=2..7
is 'a sweep within a range' 0 '^N=4 ' digits.fx -i 'x=f32[N,1,8,8]' $round \
    --set N=2..4 --sweep N=1..8
if grep -Eq '^N=(1|5|8) ' out; then not_ok 'and not beyond'; else ok; fi
is 'no sweep with another symbol' 1 'symbol H has no value' digits.fx \
    -i 'x=f32[N,1,H,8]' $round --sweep N=1..2
is 'no sweep of what is too large' 1 'for N=9[0-9]* are too large' digits.fx \
    -i 'x=f32[N,1,8,8]' $round --sweep N=900000000000000000..900000000000000001
is 'a symbol that a guard settles' 0 '^MACs +100 ' topk.fx -i 'x=f32[N,4]' \
    $round
also 'with a floor' '^floor '
cat >narrow.fx <<'EOF'
Net(
  (l): Linear(in_features=10, out_features=10, bias=True)
)

graph():
    %x : [num_users=1] = placeholder[target=x]
    %l : [num_users=1] = call_module[target=l](args = (%x,), kwargs = {})
    return l
EOF
is 'a turn beyond 4096' 0 'l is .*memory-bound for N >= [0-9]{5,}$' \
    narrow.fx -i 'x=f32[N,10]' $round
is 'a peak without scratch' 0 "^peak live memory .*N +and operators' scratch" \
    digits.fx -i 'x=f32[N,1,8,8]' $round
is 'no sweep of M' 1 "^cfx: resnet18.fx: --sweep .* no symbol 'M'" \
    resnet18.fx -i 'x=f32[N,3,64,64]' $round --sweep M=1..4

# ---- Times ----

is 'measured' 0 '^whole run +.* \(median of 3 runs; efficiency ' digits.fx \
    -i 'x=f32[4,1,8,8]' $round --measure --runs 3
also 'what was reached' '^name .* time +FLOP/s +B/s +eff\. +share$'
is 'the time of nodes' 0 '^sum of nodes +' digits.fx -i 'x=f32[4,1,8,8]' \
    $round --measure --runs 3 --by module --columns name,seconds
if [ "$(awk '/^sum of nodes/ { print $4 }' out)" = \
    "$(awk '/^\(model\)/ { print $2 }' out)" ]
then ok; else not_ok 'is what the modules add up to'; fi
is 'measured from a seed' 0 '^whole run ' resnet18.fx -i 'x=f32[1,3,32,32]' \
    $round --measure --runs 1 --random-weights 1
is 'measured with numbers for symbols' 0 '^whole run ' digits.fx \
    -i 'x=f32[N,1,8,8]' --set N=2 $round --measure --runs 1
cat >nonzero.fx <<'EOF'
graph():
    %x : [num_users=1] = placeholder[target=x]
    %nonzero : [num_users=1] = call_function[target=torch.nonzero](args = (%x,), kwargs = {})
    return nonzero
EOF
is 'measured though only the data tell a size' 0 '^whole run ' nonzero.fx \
    -i 'f32[6]' $round --measure --runs 1
is 'no weights' 1 '^cfx: resnet18.fx: .*missing weight' resnet18.fx -i "$x" \
    $round --measure
is 'no numbers' 1 '^cfx: digits.fx: input x: needs extents that are numbers' \
    digits.fx -i 'x=f32[N,1,8,8]' $round --measure

# ---- Against another ----

"$cfx" roofline resnet18.fx -i "$x" $round -f json -o before.json 2>err
"$cfx" roofline digits.fx -i 'x=f32[1,1,8,8]' $round -f json -o digits.json
is 'nothing changed' 0 '^no node changed$' resnet18.fx -i "$x" $round \
    --against before.json
is 'another size' 0 '^MACs +1.81G +3.63G +\+100.0%$' resnet18.fx \
    -i 'x=f32[2,3,224,224]' $round --against before.json
is 'another model' 0 ' removed ' digits.fx -i 'x=f32[1,1,8,8]' $round \
    --against before.json
is 'formulas against numbers' 0 '^MACs +1.81G +1814073344\*N' resnet18.fx \
    -i 'x=f32[N,3,224,224]' $round --against before.json
is 'a model by its file' 0 '^no node changed$' digits.fx -i 'x=f32[1,1,8,8]' \
    $round --against digits.fx
is 'another machine' 0 '^was  resnet18.fx on Raspberry' resnet18.fx -i "$x" \
    $round --against raspberry-pi-5
is 'a machine by its file' 0 '^no node changed$' resnet18.fx -i "$x" $round \
    --against "$golden/machine.json"
is 'compared as JSON' 0 '"cfx.roofline.compared/1"' resnet18.fx -i "$x" \
    $round --against before.json -f json
is 'compared as CSV' 0 '^name,status,' resnet18.fx -i 'x=f32[2,3,224,224]' \
    $round --against before.json -f csv
also 'each number in full' \
    '^conv1,changed,118013952,236027904,.*,1(\.0)?$'
also 'and the total' '^total,total,1814073344,3628146688,'
is 'nothing changed as CSV' 0 '^total,total,' resnet18.fx -i "$x" $round \
    --against before.json -f csv
also 'below a header' '^name,status,macs_was,macs,'
is 'the total has not changed' 0 '"status": "same"' resnet18.fx -i "$x" \
    $round --against before.json -f json
is 'the total changed' 0 '"status": "changed"' digits.fx \
    -i 'x=f32[2,1,8,8]' $round --against digits.json -f json
is 'formulas have no floors' 0 '^not all floors are known$' resnet18.fx \
    -i 'x=f32[N,3,224,224]' $round --against raspberry-pi-5
is 'compared as Markdown' 0 '^\(1 of [0-9]+\)$' digits.fx \
    -i 'x=f32[2,1,8,8]' $round --against digits.json --top 1 -f markdown
if sed -n 2p out | grep -q .; then not_ok 'now and was run on'; else ok; fi
{ echo; echo; cat before.json; } >space.json
is 'space before a document' 0 '^no node changed$' resnet18.fx -i "$x" \
    $round --against space.json
while read -r words; do
    echo "{\"schema\": \"cfx.roofline/1\", $words}" >bad.json
    is "no document: $words" 1 '^cfx: bad.json: ' resnet18.fx -i "$x" $round \
        --against bad.json
done <<'EOF'
"total": {}
"nodes": 3
"nodes": [3]
"nodes": [{"name": 3}]
"nodes": [], "total": []
"nodes": [{"name": "a", "floor_seconds": -1}]
"nodes": [{"name": "a", "macs": []}]
"nodes": [], "total": {"flops": true}
EOF
mkdir folder
is 'compared with a folder' 1 '^cfx: .*folder' resnet18.fx -i "$x" $round \
    --against folder -o none.txt
is 'compared with a file that there is not' 1 '^cfx: .*none.json' \
    resnet18.fx -i "$x" $round --against ./none.json -o none.txt
if [ -e none.txt ]; then not_ok 'and no file'; else ok; fi
is 'compared with nothing' 1 "^cfx: there is no machine 'none'" resnet18.fx \
    -i "$x" $round --against none
echo '{"schema": "other"}' >other.json
is 'another document' 1 '^cfx: other.json: .*schema is "other", not' \
    resnet18.fx -i "$x" $round --against other.json
echo '{"schema": "other", "model": "cfx.machine/1"}' >other.json
is 'a document that names a schema' 1 \
    '^cfx: other.json: .*schema is "other", not "cfx.roofline' \
    resnet18.fx -i "$x" $round --against other.json
is 'no picture of two' 2 '^cfx: roofline: --against is printed as' resnet18.fx \
    -i "$x" $round --against before.json -f svg

# ---- Bounds ----

is 'FLOPs within' 0 '^FLOPs' resnet18.fx -i "$x" $round --assert-flops 3.7G \
    --assert-peak-memory 10M --assert-seconds 0.1
is 'too many FLOPs' 1 \
    '^cfx: resnet18.fx: --assert-flops: the FLOPs are 36[0-9]{8}, more than 1G$' \
    resnet18.fx -i "$x" $round --assert-flops 1G -o none.txt
also 'in one line' '^cfx'
if [ -e none.txt ]; then not_ok 'and no file'; else ok; fi
is 'too much memory' 1 '^cfx: resnet18.fx: --assert-peak-memory: .* more' \
    resnet18.fx -i "$x" $round --assert-peak-memory 1M
is 'too long' 1 "^cfx: resnet18.fx: --assert-seconds: the floor's seconds" \
    resnet18.fx -i "$x" $round --assert-seconds 1e-3
is 'a bound of nothing known' 1 '^cfx: resnet18.fx: --assert-flops: .* not known' \
    resnet18.fx -i 'x=f32[N,3,224,224]' $round --assert-flops 1G
is 'a bound of what is too large' 1 'assert-flops: .*more than 61 bits' \
    digits.fx -i 'x=f32[N,1,8,8]' --set N=100000000000000 $round \
    --assert-flops 1
for bad in '' x 1x 1Gx -1 nan inf 0x10 1e999; do
    is "no bound: '$bad'" 2 '^cfx: roofline: --assert-flops .*: should be' \
        none.fx --assert-flops "$bad"
done

# ---- Errors ----

is 'no format' 2 "^cfx: roofline: 'x' is not a valid FORMAT" resnet18.fx -i "$x" -f x
is 'no rows' 2 "^cfx: roofline: 'x' is not a valid WHAT" resnet18.fx -i "$x" --by x
is 'no column' 2 "^cfx: roofline: .*there is no column 'x'" none.fx \
    --columns name,x
is 'no column to sort by' 2 "there is no column 'x'" none.fx --sort x
is 'a column by its key' 0 '^name +read$' digits.fx -i 'x=f32[1,1,8,8]' \
    $round --columns name,bytes_read
is 'no set' 2 '^cfx: roofline: --set N: should be' none.fx --set N

# Options that would change nothing; words are split.
while read -r words; do
    is "no effect: $words" 2 '^cfx: roofline: ' none.fx $words
done <<'EOF'
--depth 2 --by operator
--depth 2 --sweep N=1..2
--by node --sweep N=1..2
--runs 3
--seed 3
-f json --columns name
-f html --sort floor
-f svg --top 3
-f dot --by module
-f trace --depth 1
-f svg --sweep N=1..2
--against none.json --columns name
--against none.json --sort name
--against none.json --by module
--against none.json --sweep N=1..2
EOF
is 'no machine' 1 "^cfx: there is no machine 'x'" resnet18.fx -i "$x" \
    --machine x
is 'shapes that do not fit' 1 'While executing %conv1' resnet18.fx \
    -i 'x=f32[1,4,8,8]' $round
}

tell
