#!/bin/sh
# shards.sh -- rows in batches: the same bytes however many processes share them,
# whatever ends these, and one line for a directory of another run.
. "$srcdir/tests/cli/said.sh"

digits=$src/models/digits.fx
images=x=$src/models/digits_images.npy

# rows NAME STATUS PATTERN DIR [OPTION]...: the digits, 7 at a time
rows()
{
    name=$1 status=$2 pattern=$3 dir=$4
    shift 4
    said "$name" "$status" "$pattern" "$cfx" run "$digits" -i "$images" \
        --batch 7 -O "$dir" "$@"
}

same() # same NAME DIR DIR: the same files with the same bytes
{
    if diff -r "$2" "$3" >out 2>err; then ok; else not_ok "$1"; fi
}

# ---- One process ----

rows 'in batches' 0 '' seven
said 'which give what one run gives' 0 'output is as expected' \
    "$cfx" run "$digits" -i "$images" --expect seven
said 'and the same file, for one batch' 0 '' "$cfx" run "$digits" -i "$images" \
    --batch 360 -O batch
said 'without batches' 0 '' "$cfx" run "$digits" -i "$images" -O whole
same 'header and rows' whole batch
said 'more rows than there are' 0 '' "$cfx" run "$digits" -i "$images" \
    --batch 1000 -O more
same 'are one batch' whole more

# ---- Several ----

for n in 2 3 4 9; do
    for i in $(seq $n); do
        rows "$i of $n" 0 "shard $i of $n is done" shards$n --shard $i/$n
    done
    also "$n: the last one" 'and so are all others'
    same "$n shards" seven shards$n
done
# 52 batches for 60 shards, at a time.
for i in $(seq 60); do
    "$cfx" run "$digits" -i "$images" --batch 7 -t 1 -O many --shard $i/60 \
        >/dev/null 2>>errors &
    [ $((i % 10)) != 0 ] || wait
done
wait
if [ -s errors ]; then cp errors err; not_ok 'more shards than batches'; else ok; fi
same 'more shards than batches' seven many

rows 'optimized' 0 '' fast --optimize
for i in 3 1 2; do
    rows "optimized, $i of 3" 0 '' fast3 --optimize --shard $i/3
done
same 'optimized' fast fast3

# A model that is exported for 8 rows takes 8, also where 101 are given.
sed 's/%x : /&Tensor "f32[8, 1, 8, 8][64, 64, 8, 1]cpu"/' "$digits" >eight.fx
eight() { "$cfx" run eight.fx -w "$src/models/digits.safetensors" \
    -i 'x=f32[101,1,8,8]' "$@"; }
said 'a fixed batch' 0 'shard 1 of 1 is done' eight --shard 1/1 -O fixed
for i in 2 1; do
    said "a fixed batch, $i of 2" 0 "shard $i" eight --shard $i/2 -O fixed2
done
same 'a fixed batch' fixed fixed2
said 'all rows' 0 "'shape': \(101, 10\)" head -c 128 fixed/output.npy

# Random numbers do not depend on the batches before.
cat >random.fx <<'TEXT'
graph():
    %x : [num_users=2] = placeholder[target=x]
    %noise : [num_users=1] = call_function[target=torch.rand_like](args = (%x,), kwargs = {})
    %sum : [num_users=1] = call_method[target=sum](args = (%x, 1), kwargs = {})
    return (noise, sum)
TEXT
random() { "$cfx" run random.fx -i 'x=f32[50,3]' --batch 8 "$@"; }
said 'random numbers' 0 '' random -O noise
for i in 1 2 3; do said "of shard $i" 0 '' random -O noise3 --shard $i/3; done
same 'random numbers' noise noise3

# ---- What ends a run ----

# Rows that were written before are not computed again.
long() { "$cfx" run "$digits" -i 'x=f32[40000,1,8,8]' --batch 1 -t 1 "$@"; }
said 'all of a long run' 0 '' long -O long
said 'its time is up' 1 'the time limit of 0.4 s is reached' long -O cut \
    --timeout 0.4
if grep -q '^done [1-9]' cut/shard-1-of-1 && [ ! -e cut/output.npy ]; then ok; else
    not_ok 'it keeps what is done'
fi
printf X | dd of=cut/output.npy.part bs=1 seek=130 conv=notrunc 2>/dev/null
said 'it goes on' 0 '' long -O cut
if [ "$(cmp -l long/output.npy cut/output.npy | wc -l)" = 1 ]; then ok; else
    not_ok 'after what is done'
fi
# Killed: what it did since its file was written is computed again.
long -O killed >/dev/null 2>&1 &
sleep 0.4
kill -9 $! 2>/dev/null
wait $! 2>/dev/null
said 'it was killed' 0 '' long -O killed
same 'it was killed' long killed

# ---- Another run ----

rows 'a part' 0 '1 of 3 is done, 2 to go' part --shard 1/3
other='part/shard-1-of-3: is of a run with another model'
rows 'other parts' 1 "$other" part --shard 2/4
rows 'other options' 1 "$other" part --shard 2/3 --optimize
said 'other batches' 1 "$other" "$cfx" run "$digits" -i "$images" --batch 8 \
    -O part --shard 2/3
said 'other rows' 1 "$other" "$cfx" run "$digits" -i 'x=f32[360,1,8,8]' \
    --batch 7 -O part --shard 1/3
said 'other weights' 1 "$other" "$cfx" run "$digits" -i "$images" --batch 7 \
    --random-weights 1 -O part --shard 2/3
sed 's/p=0.3/p=0.4/' "$digits" >other.fx
said 'another model' 1 "$other" "$cfx" run other.fx -i "$images" --batch 7 \
    -w "$src/models/digits.safetensors" -O part --shard 2/3
echo nonsense >part/shard-1-of-3
rows 'no file of a shard' 1 'shard-1-of-3: is no file of a shard' part \
    --shard 2/3

# ---- Models without rows ----

line() # line EXPRESSION: a graph of one function of x
{
    printf 'graph():\n    %%x : [num_users=1] = placeholder[target=x]\n'
    printf '    %%y : [num_users=1] = call_function[target=%s\n' "$1"
    printf '    return y\n'
}
line 'torch.sum](args = (%x,), kwargs = {})' >sum.fx
said 'one number' 1 'rows 0 to 1: output has 0 rows for a batch of 2' \
    "$cfx" run sum.fx -i 'x=f32[5,3]' --batch 2 -O sum
line 'torch.sum](args = (%x, 0), kwargs = {})' >sum.fx
said 'fewer rows' 1 'output has 3 rows for a batch of 2' \
    "$cfx" run sum.fx -i 'x=f32[5,3]' --batch 2 -O sum
line 'torch.relu](args = (%x,), kwargs = {})' >relu.fx
said 'no type of NumPy' 1 'NumPy has no bfloat16' \
    "$cfx" run relu.fx -i 'x=bf16[5,3]' --batch 2 -O bf16
said 'no rows' 1 'x has no rows' "$cfx" run relu.fx -i 'x=f32[0,3]' --batch 2 \
    -O none
said 'no axis' 1 'needs an input with rows' "$cfx" run relu.fx -i 'x=f32[]' \
    --batch 2 -O none
said 'a wrong axis' 1 'batch-axis x=2: it has to be NAME=AXIS' "$cfx" run relu.fx \
    -i 'x=f32[4,3]' --batch 2 --batch-axis x=2 -O none
cat >counter.fx <<'TEXT'
Net(
  (bn): BatchNorm1d(3, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)
)

graph():
    %x : [num_users=1] = placeholder[target=x]
    %m : [num_users=1] = get_attr[target=bn.running_mean]
    %add_ : [num_users=1] = call_method[target=add_](args = (%m, 1), kwargs = {})
    %add : [num_users=1] = call_function[target=torch.add](args = (%x, %add_), kwargs = {})
    return add
TEXT
said 'a model that counts' 1 'writes to its buffers' "$cfx" run counter.fx \
    --random-weights 1 -i 'x=f32[6,3]' --batch 2 -O counted

# ---- Wrong use ----

said 'no directory' 2 'need -O DIR' "$cfx" run relu.fx -i 'f32[4]' --batch 2
for shard in 0/2 3/2 1 1/2x a/b; do
    said "--shard $shard" 2 "$shard: should be I/N" "$cfx" run relu.fx \
        -i 'f32[4]' --shard $shard -O none
done
said '--parallel' 2 'tensor=2: should be data=N' "$cfx" run relu.fx -i 'f32[4]' \
    --parallel tensor=2 --comm mpi -O none
said 'no ranks' 2 'with --comm and --parallel' "$cfx" run relu.fx -i 'f32[4]' \
    --parallel data=2 -O none
said 'no batches' 2 'batch-axis goes with --batch' "$cfx" run relu.fx \
    -i 'f32[4]' --batch-axis x=0
said 'what does not go together' 2 'excludes --save' "$cfx" run relu.fx \
    -i 'f32[4]' --batch 2 -O none --top 3
if [ -e none ]; then not_ok 'wrong use leaves a directory'; else ok; fi

tell
