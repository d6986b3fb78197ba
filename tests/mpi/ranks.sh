#!/bin/sh
# Ranks of an MPI job exchange what they should, agree before they do, and end
# together: each run is ended by a hard limit.
. "$srcdir/tests/cli/said.sh"

# MPI itself leaks.
[ -z "${CFX_LDFLAGS-}" ] || exit 77
[ -e "$build/plugins/mpi/cfx_mpi.la" ] && command -v mpirun >/dev/null || exit 77
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_btl_vader_single_copy_mechanism=none
export CFX_PLUGINS="$build/plugins/mpi/.libs" CFX cfx work
CFX=$cfx
mpirun() { timeout -s KILL 60 mpirun -q --oversubscribe "$@"; }
mpirun -n 2 true >out 2>err || exit 77

# graph NAME LINE...: lines are `NAME OPERATOR ARGUMENTS`; the last one has the
# results.
graph()
{
    file=$1
    shift
    {
        printf 'GraphModule()\n\n\n\ngraph():\n'
        for line; do
            # shellcheck disable=SC2086
            set -- $line
            name=$1 target=$2
            shift 2
            case $name in
            return) echo "    return $target $*" ;;
            *) if [ "$target" = placeholder ]; then
                echo "    %$name : [num_users=1] = placeholder[target=$name]"
            else
                echo "    %$name : [num_users=1] = call_function[target=$target](args = ($*), kwargs = {})"
            fi ;;
            esac
        done
    } >"$file"
}
c=torch.ops._c10d_functional

graph same.fx 'x placeholder' 'return x'
for type in f32 f64 f16 i64 u8; do
    for seed in 0 1; do
        "$cfx" run same.fx -i "x=$type[4,3]" --seed $seed -O x$seed || exit 99
    done
    graph ranks.fx 'x placeholder' "a $c.all_reduce.default %x, sum, 0" \
        "b $c.all_gather_into_tensor.default %x, 2, 0" \
        "d $c.reduce_scatter_tensor.default %x, max, 2, 0" \
        "e $c.broadcast.default %x, 1, 0" \
        "f $c.all_to_all_single.default %x, [2, 2], [2, 2], 0" \
        "g $c.wait_tensor.default %a" 'return (g, b, d, e, f)'
    graph one.fx 'x placeholder' 'y placeholder' 'a torch.add %x, %y' \
        'b torch.cat [%x, %y]' 'm torch.maximum %x, %y' 'd torch.narrow %m, 0, 0, 2' \
        'x0 torch.narrow %x, 0, 0, 2' 'y0 torch.narrow %y, 0, 0, 2' \
        'f torch.cat [%x0, %y0]' 'return (a, b, d, y, f)'
    "$cfx" run one.fx -i x=x0/output.npy -i y=x1/output.npy -O want || exit 99
    for chunk in 1073741824 1 5; do
        rm -rf got
        said "$type in pieces of $chunk" 0 '' env CFX_MPI_CHUNK=$chunk \
            sh -c "timeout -s KILL 60 mpirun -q --oversubscribe -n 2 \"\$CFX\" run ranks.fx --comm mpi -i 'x=x{rank}/output.npy' -O got"
        said "$type in pieces of $chunk is right" 0 '' diff -r want got
    done
done

# bfloat16 has no npy file: it is made within the graph.
graph bf16.fx 'x placeholder' 'h torch.Tensor.to %x, torch.bfloat16' \
    "a $c.all_reduce.default %h, sum, 0" 'r torch.Tensor.to %a, torch.float32' 'return r'
graph bf16_one.fx 'x placeholder' 'y placeholder' 'h torch.Tensor.to %x, torch.bfloat16' \
    'k torch.Tensor.to %y, torch.bfloat16' 'a torch.add %h, %k' \
    'r torch.Tensor.to %a, torch.float32' 'return r'
for seed in 0 1; do
    "$cfx" run same.fx -i 'x=f32[4,3]' --seed $seed -O x$seed || exit 99
done
sed -i 's/call_function\[target=torch.Tensor.to\]/call_method[target=to]/' bf16*.fx
"$cfx" run bf16_one.fx -i x=x0/output.npy -i y=x1/output.npy -O bf16_want || exit 99
said 'bfloat16' 0 '' mpirun -n 2 "$cfx" run bf16.fx --comm mpi -i 'x=x{rank}/output.npy' \
    -O bf16_got
said 'bfloat16 is right' 0 '' diff -r bf16_want bf16_got

# Groups with another order of ranks; each rank writes its own results.
graph group.fx 'x placeholder' "a $c.all_gather_into_tensor.default %x, 2, pair" \
    'return a'
said 'groups' 0 '' mpirun -n 4 sh -c '
    odd=$((OMPI_COMM_WORLD_RANK % 2))
    exec "$CFX" run group.fx --comm mpi --group pair=$((2 + odd)),$odd \
        -i "x=x$((OMPI_COMM_WORLD_RANK / 2))/output.npy" -O "g{rank}"'
graph cat.fx 'x placeholder' 'y placeholder' 'a torch.cat [%y, %x]' 'return a'
"$cfx" run cat.fx -i x=x0/output.npy -i y=x1/output.npy -O pair_want || exit 99
for rank in 0 1 2 3; do
    said "rank $rank has the order of its group" 0 '' diff -r pair_want g$rank
done

# ---- Agreement ----

# differ NAME PATTERN GRAPH0 INPUT0 GRAPH1 INPUT1: one line names both.
differ()
{
    said "$1" 1 "$2" mpirun -n 2 "$cfx" run "$3" --comm mpi -i "x=$4" : \
        -n 1 "$cfx" run "$5" --comm mpi -i "x=$6"
    if [ "$(grep -c '^cfx: rank' err)" = 1 ]; then ok; else
        not_ok "$1: not one line"
    fi
}
one() { graph "$1" 'x placeholder' "$2" 'return a'; }
one sum.fx "a $c.all_reduce.default %x, sum, 0"
one max.fx "a $c.all_reduce.default %x, max, 0"
one gather.fx "a $c.all_gather_into_tensor.default %x, 3, 0"
one from0.fx "a $c.broadcast.default %x, 0, 0"
one from1.fx "a $c.broadcast.default %x, 1, 0"
one none.fx 'a torch.relu %x'
graph order1.fx 'x placeholder' "a $c.all_reduce.default %x, sum, 0" \
    "b $c.broadcast.default %a, 0, 0" 'return b'
graph order2.fx 'x placeholder' "b $c.broadcast.default %x, 0, 0" \
    "a $c.all_reduce.default %b, sum, 0" 'return a'
graph twice.fx 'x placeholder' "a $c.all_reduce.default %x, sum, 0" \
    "b $c.all_reduce.default %a, sum, 0" 'return b'
graph relu.fx 'x placeholder' 'r torch.relu %x' "a $c.all_reduce.default %r, sum, 0" \
    'return a'
differ 'shapes' 'rank 2 calls all_reduce of f32\[3\] by sum in %a, rank 0 calls all_reduce of f32\[2\] by sum in %a' \
    sum.fx 'f32[2]' sum.fx 'f32[3]'
differ 'ranks of tensors' 'rank 2 calls .*f32\[2, 1\].*, rank 0 calls .*f32\[2\]' \
    sum.fx 'f32[2]' sum.fx 'f32[2,1]'
differ 'types' 'rank 2 calls .*i64\[2\].*, rank 0 calls .*f32\[2\]' \
    sum.fx 'f32[2]' sum.fx 'i64[2]'
differ 'reductions' 'rank 2 calls .* by max in %a, rank 0 calls .* by sum in %a' \
    sum.fx 'f32[2]' max.fx 'f32[2]'
differ 'operators' 'rank 2 calls all_gather_into_tensor .*, rank 0 calls all_reduce' \
    sum.fx 'f32[2]' gather.fx 'f32[2]'
differ 'sources' 'from rank 1 in %a, .* from rank 0 in %a' \
    from0.fx 'f32[2]' from1.fx 'f32[2]'
differ 'a missing call' "rank 2 has graph .*, rank 0 calls all_reduce of .* in %a" \
    sum.fx 'f32[2]' none.fx 'f32[2]'
differ 'a further call' 'rank 2 calls all_reduce of .* in %b, rank 0 has graph' \
    sum.fx 'f32[2]' twice.fx 'f32[2]'
differ 'orders' 'rank 2 calls broadcast of .* in %b, rank 0 calls all_reduce of .* in %a' \
    order1.fx 'f32[2]' order2.fx 'f32[2]'
differ 'another model' 'rank 2 has graph [0-9a-f]+, rank 0 has graph [0-9a-f]+' \
    sum.fx 'f32[2]' relu.fx 'f32[2]'
said 'a group of another size' 1 'group_size is 3, but group .0. has 2 ranks' \
    mpirun -n 2 "$cfx" run gather.fx --comm mpi -i 'x=f32[2]'
said 'an unknown group' 1 "rank [01] on .*no group 'pair'" \
    mpirun -n 2 "$cfx" run group.fx --comm mpi -i 'x=f32[2]'

# ---- Failures ----

said 'a file that one rank lacks' 1 'cfx: rank 1 on .*x1/none.npy: No such file' \
    mpirun -n 2 sh -c 'exec "$CFX" run sum.fx --comm mpi -i \
        x=x$OMPI_COMM_WORLD_RANK/$([ "$OMPI_COMM_WORLD_RANK" = 0 ] && echo output || echo none).npy'
said 'a rank without memory' 1 'cfx: rank 1 on [^ ]*: ' mpirun -n 1 "$cfx" run sum.fx \
    --comm mpi -i 'x=f32[1000000]' : -n 1 "$cfx" run sum.fx --comm mpi \
    -i 'x=f32[1000000]' --max-mem 2M

# signalled SIGNAL: rank 1 gets it while both exchange.
cat >signalled.sh <<'EOF'
"$CFX" run sum.fx --comm mpi --comm-timeout $2 -i 'x=f32[64]' --repeat 1000000000 &
echo $! >>pids
[ "$OMPI_COMM_WORLD_RANK" != 1 ] || { sleep 3; kill -$1 $!; }
wait $!
EOF
said 'a rank that is stopped' 1 'rank 0 on [^ ]*: waits in all_reduce for the other ranks since 1 s' \
    mpirun -n 2 sh signalled.sh STOP 1
said 'a rank that is killed' 137 '' mpirun -n 2 sh signalled.sh KILL 30
sleep 1
left=0
for pid in $(cat pids); do
    kill -9 "$pid" 2>/dev/null && left=$((left + 1))
done
said 'no rank is left but the stopped one' 0 '' test $left -le 1

# ---- Rows of a file ----

digits=$src/models/digits.fx images=x=$src/models/digits_images.npy
"$cfx" run "$digits" -i "$images" --batch 7 -O rows_want || exit 99
for n in 2 3 4; do
    said "rows on $n ranks" 0 '' mpirun -n $n "$cfx" run "$digits" -i "$images" \
        --comm mpi --parallel data=$n --batch 7 -O rows$n
    said "rows on $n ranks are those of one" 0 '' diff -r rows_want rows$n
done
said 'another number of ranks' 1 'parallel data=3: the job has 2 ranks' mpirun -n 2 \
    "$cfx" run "$digits" -i "$images" --comm mpi --parallel data=3 -O rows

said 'libcfx knows nothing of MPI' 1 '' grep -q libmpi "$build/.libs/libcfx.so"
said 'no such communicator' 1 'cfx: .*cfx_none.so' "$cfx" run sum.fx --comm none \
    -i 'x=f32[2]'
said 'groups need a communicator' 2 'go with --comm' "$cfx" run sum.fx \
    --group a=0 -i 'x=f32[2]'
said 'a group without ranks' 1 'group a=: should be NAME=RANK' mpirun -n 1 "$cfx" \
    run sum.fx --comm mpi --group a= -i 'x=f32[2]'
tell
