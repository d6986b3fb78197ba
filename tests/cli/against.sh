#!/bin/sh
# bench/against.sh: two builds in turns. Their programs are stand-ins here,
# which print what is asked of them; $bench/slow says how many times as long the
# new one takes.
. "$srcdir/tests/cli/said.sh"
bench=$PWD/builds
mkdir -p "$bench/old" "$bench/new"

program() # program BUILD NAME: its text is the input
{
    { echo '#!/bin/sh'; echo "build=$1 bench=$bench"; cat; } >"$bench/$1/$2"
    chmod +x "$bench/$1/$2"
}

for build in old new; do
    program $build bench-speed <<'EOF'
for rows; do :; done
echo "$build $(head -n 1 "$rows")" >>"$bench/calls"
grep -q '|' "$rows" && exit 1
grep -q 'new only' "$rows" && [ $build = old ] && exit 1
factor=1
[ $build = old ] || factor=$(cat "$bench/slow")
echo 'times in ms  cfx'
awk -v f="$factor" 'NR == 1 { printf "%-40s %10.3f\n", "a row", 8 * f }' \
    "$rows"
EOF
    program $build bench-graphs <<'EOF'
echo 'nodes  ns a node'
printf '%-24s %8s %10s\n' build 1000 20.0 parse 1000 40.0 |
    awk -v k="$4" 'k == "" || $1 == k'
EOF
    program $build bench-propagation <<'EOF'
echo zoo/resnet50.fx
echo 'x=f32[i,3,224,224]    100.0 us   least   90.0 us'
echo 'x=f32[N,3,H,W]        200.0 us   least  190.0 us'
EOF
done
cat >rows.txt <<'EOF'
# a comment

first: x=f32[2] y=f32[2] | memory 1 2
call_function[target=torch.add](args = (%x, %y), kwargs = {})

new only: x=f32[2]
zoo x.fx
EOF

against() # against NAME STATUS PATTERN ARGUMENT...
{
    name=$1 status=$2 pattern=$3
    shift 3
    said "$name" "$status" "$pattern" "$src/bench/against.sh" "$@" \
        "$bench/old" "$bench/new" rows.txt
}

echo 1 >"$bench/slow"
against 'equal builds' 0 '^first +8\.000 +8\.000 ms +1\.000$' -n 3
also 'graphs' '^parse 1000 +40\.000 +40\.000 ns +1\.000$'
also 'propagation' '^x=f32\[N,3,H,W\] +200\.000 +200\.000 us +1\.000$'
also 'a row that the old build lacks' '^new only +fails +runs$'
also 'their mean' '^geometric mean of 7 rows: 1\.0000$'
if [ "$(sed -n 's/ first.*//p' "$bench/calls" | tr '\n' ' ')" = \
    'new old old new new old ' ]
then ok; else not_ok 'the builds take turns'; fi
against 'some rows' 0 '^geometric mean of 2 rows: 1\.0000$' -n 1 -k x=
echo 1.04 >"$bench/slow"
against 'a little slower' 0 '^geometric mean of 7 rows: 1\.0056$' -n 1 -r 2
echo 1.06 >"$bench/slow"
against 'once' 0 '^first +8\.000 +8\.480 ms +1\.060  slower$' -n 1
against 'twice' 1 '^first: slower in two runs$' -n 1 -r 2
echo 1.2 >"$bench/slow"
against 'the mean' 1 '^run 1: 2\.6 % slower$' -n 1
rm "$bench/new/bench-graphs"
against 'a program that is not there' 1 'there is no .*/new/bench-graphs'
said 'no builds' 2 '^usage: ' "$src/bench/against.sh"
tell
