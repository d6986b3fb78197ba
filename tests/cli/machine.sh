#!/bin/sh
#
# machine.sh -- cfx machine: what it measures, keeps and reads.
set -u
src=$(cd "$srcdir" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0

# On one processor, if that can be had: it is the faster, and the program
# which measures several is tests/machine_test.
one=
command -v taskset >/dev/null && taskset -c 0 true 2>/dev/null &&
    one='taskset -c 0'

run()
{
    # shellcheck disable=SC2086
    $one ${CFX_EMULATOR:-} "$CFX" "$@" >"$work/out" 2>"$work/all" </dev/null
    set -- $?
    grep -v 'doubtful, and kept: ' "$work/all" >"$work/err"
    return "$1"
}

# claim NAME COMMAND...: the command succeeds.
claim()
{
    what=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
        return
    fi
    failed=$((failed + 1))
    echo "not ok: $what"
    sed 's/^/    /;10q' "$work/out" "$work/err"
}

# is STATUS ARGUMENT...: cfx machine ends with it.
is()
{
    want=$1
    shift
    run machine "$@"
    [ $? = "$want" ]
}

says()
{
    [ "$(wc -l <"$work/err")" -eq 1 ] && grep -q -- "$1" "$work/err"
}

prints()
{
    grep -q -- "$1" "$work/out"
}

silent()
{
    [ ! -s "$work/err" ]
}

# ---- Measured and kept ----

XDG_CACHE_HOME=$work/cache
export XDG_CACHE_HOME
note='^cfx: note: measuring this machine, .* is kept in '
claim 'it is measured' is 0 --keep-doubtful --seconds 0.05
claim 'and says so' says "$note$work/cache/cfx/machine-"
claim 'a table of peaks' prints '^GFLOP/s .*float64 .*float32 .*bfloat16 .*int8'
claim 'of bandwidth' prints '^ *1 L1 .* KiB .*%$'
claim 'and of memory' prints '^ *1 memory .*%$'
cp "$work/out" "$work/first"
file=$(ls "$work"/cache/cfx/*.json)
claim 'one file is kept' [ -f "$file" ]
claim 'it is not measured again' is 0
claim 'and that is silent' silent
claim 'the same is told' cmp -s "$work/out" "$work/first"
claim 'nor for a time' is 0 --keep-doubtful --seconds 0.05
claim 'which is told' says 'was measured before, and is not measured again: '
claim 'unless asked' is 0 --keep-doubtful --seconds 0.05 --measure-again
claim 'which is said' says "$note"
claim 'as JSON' is 0 --format json
claim 'of the schema' prints '"schema": "cfx.machine/1"'
cp "$work/out" "$work/machine.json"
claim 'the same as is kept' cmp -s "$work/out" "$file"
claim 'which is read' is 0 --machine "$work/machine.json" -f json
claim 'and told again' cmp -s "$work/out" "$work/machine.json"
claim 'a folder of files' [ "$(ls "$work/cache/cfx" | wc -l)" = 1 ]

# ---- What contradicts itself ----

mv "$file" "$work/kept"
claim 'in a moment' is 0 --seconds 0.01
if grep -q 'doubtful, and not kept' "$work/err"; then
    claim 'what is doubtful is not kept' [ ! -e "$file" ]
else
    claim 'what is sure is kept' [ -e "$file" ]
fi
claim 'unless that is asked for' is 0 --seconds 0.01 --keep-doubtful
claim 'and then it is' [ -e "$file" ]
mv "$work/kept" "$file"

# ---- What is kept but of no use ----

again() # again NAME: after what was done to the file it is measured again
{
    claim "$1: measured again" is 0 --keep-doubtful --seconds 0.05
    claim "$1: and that is said" says "$note"
    claim "$1: and kept" is 0
    claim "$1: once" silent
}

echo '{"schema":' >"$file"
again 'a file cut short'
sed 's/"name": "/"name": "Another /' "$work/machine.json" >"$file"
again 'a file of another processor'
sed 's/"cores": /"cores": 1/' "$work/machine.json" >"$file"
again 'a file of other cores'
sed 's/measured by cfx/measured by cfx 0.0/' "$work/machine.json" >"$file"
again 'a file of another version'
rm "$file"
again 'a file that is gone'
claim 'a level of its own' is 0 --keep-doubtful --seconds 0.05 --cpu plain
claim 'which is measured' says "$note"
claim 'has a file of its own' [ "$(ls "$work/cache/cfx" | wc -l)" = 2 ]

rm "$file"
mkdir "$file"
claim 'a folder in its place' is 0 --keep-doubtful --seconds 0.05
claim 'is told' grep -q 'warning: the measurement is not kept: /' \
    "$work/err"
rmdir "$file"
echo x >"$work/file"
XDG_CACHE_HOME=$work/file is 0 --keep-doubtful --seconds 0.05
claim 'a folder that is a file' grep -q 'not kept: .*Not a directory' \
    "$work/err"
XDG_CACHE_HOME=relative HOME=$work is 0 --keep-doubtful --seconds 0.05
claim 'a relative folder is not taken, but the home' \
    says "is kept in $work/.cache/cfx/machine-"
# What is said of doubtful ones: machine_cached_test.c.
without_home() { (unset XDG_CACHE_HOME HOME; is "$@"); }
claim 'without a home it is measured' without_home 0 --keep-doubtful \
    --seconds 0.01
claim 'but not said to be kept' \
    grep -q '^cfx: note: measuring .* takes some 0.01 seconds$' "$work/err"
claim 'nor is it' without_home 0 --seconds 0.01
claim 'but measured again' grep -q '^cfx: note: measuring ' "$work/err"

# ---- Others ----

mkdir -p "$work/tree/build" "$work/tree/shapeprop"
cp -R "$src/shapeprop/machines" "$work/tree/shapeprop/machines"
cp "$CFX" "$work/tree/build/cfx"
if [ -z "${CFX_EMULATOR:-}" ] && [ "$(head -c 2 "$CFX")" != '#!' ]; then
    CFX_MACHINES= "$work/tree/build/cfx" machine -m raspberry-pi-5 \
        >"$work/out" 2>"$work/err"
    claim 'names are known where it was built' [ $? = 0 ]
fi

for m in "$CFX_MACHINES"/*.json; do
    name=$(basename "$m" .json)
    claim "$name is read" is 0 -m "$m"
    cp "$work/out" "$work/first"
    claim "$name by name" is 0 -m "$name"
    claim "$name is the same" cmp -s "$work/out" "$work/first"
    awk 'length > 80 { exit 1 }' "$work/out"
    claim "$name fits the terminal" [ $? = 0 ]
done
claim 'an unknown name' is 1 -m abacus
claim 'is told with those there are' \
    says "^cfx: there is no machine 'abacus', nor a file of that name (there "
claim 'a name of no letters' is 1 -m ''
claim 'is told too' says "^cfx: there is no machine '', nor a file of that "
CFX_MACHINES=$work/none is 1 -m abacus
claim 'a folder without machines is told' \
    says "(there are none in $work/none; CFX_MACHINES names another folder)"
claim 'a file that is not there' is 1 -m "$work/no.json"
claim 'is told' says '^cfx: .*/no.json: No such file or directory$'
sed 's/"cores": [0-9]*/"cores": 0/' "$work/machine.json" >"$work/bad.json"
claim 'a bad file' is 1 -m "$work/bad.json" -o "$work/new"
claim 'is told with its place' \
    says '^cfx: .*/bad.json: cores has to be an integer from 1 to '
claim 'and leaves no output' [ ! -e "$work/new" ]
claim 'output goes to a file' is 0 -m raspberry-pi-5 -f json -o "$work/new"
claim 'complete' cmp -s "$work/new" "$CFX_MACHINES/raspberry-pi-5.json"

# ---- Wrong usage ----

claim 'no such format' is 2 -f xml
claim 'another machine is not measured' is 2 -m nvidia-a100 --measure-again
claim 'nor for a time' is 2 -m nvidia-a100 --seconds 1
claim 'nor kept' is 2 -m nvidia-a100 --keep-doubtful
claim 'no arguments' is 2 now
claim 'time is limited' is 1 --measure-again --timeout 0.05
claim 'which is told' grep -q 'time' "$work/err"

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
