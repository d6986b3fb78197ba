#!/bin/sh
# run.sh [-l] [-n] [-q] [NAME]... -- do the tests notice small changes of the code?
#
#   -l     only list the mutations
#   -n     do not first run the tests on the code as it is
#   -q     run only the tests that a mutation names
#   NAME   only these mutations, patterns of the shell
#
# Each mutation of `list` is made in a copy of the tree (in build-mutants, or
# CFX_MUTANTS), what it needs is built, and the tests that it names are run, then
# the other fast ones. One that no test notices is a survivor: a test is missing,
# or the mutation changes nothing that can be seen; then its entry says so after
# `same`. One whose text is no longer in the file is stale. CC may use ccache.
set -u
here=$(cd "$(dirname "$0")" && pwd)
src=$(cd "$here/../.." && pwd)
list=${CFX_MUTANTS_LIST:-$here/list}
jobs=$(getconf _NPROCESSORS_ONLN)
# The fast tests; a program, program/suite or script each.
fast="unit_base unit_graph unit_format unit_interp unit_rewrite unit_shape
      unit_ops/op_shape unit_ops/nn unit_ops/device unit_ops/kernel_pool
      unit_ops/kernel_conv unit_ops/kernel_gemm codegen_test registry.sh opcases.sh opcases_effects.sh
      traced.sh pass_cases.sh shape_cases.sh cost_rules.sh shape_walk.sh graph_script.sh cli_test.sh
      shapes.sh roofline.sh transform_test.sh memory.sh undecided.sh
      words.sh bad_inputs.sh costs_zoo.sh unit_zoo"

only_list=0 base=1 quick=0
while getopts lnq option; do
    case $option in
    l) only_list=1 ;;
    n) base=0 ;;
    q) quick=1 ;;
    *) sed -n '2,/^$/s/^# *//p' "$0" >&2; exit 2 ;;
    esac
done
shift $((OPTIND - 1))

# field NAME FIELD: what the entry of a mutation has after that word.
field() {
    awk -v name="$1" -v field="$2" '
        /^== / { here = $2 == name }
        here && index($0, field " ") == 1 {
            print substr($0, length(field) + 2)
        }' "$list"
}

names=
for name in $(sed -n 's/^== //p' "$list"); do
    [ $# = 0 ] && names="$names $name"
    for pattern in "$@"; do
        # shellcheck disable=SC2254
        case $name in $pattern) names="$names $name"; break ;; esac
    done
done
[ -n "$names" ] || { echo "no mutation is called $*" >&2; exit 2; }
if [ $only_list = 1 ]; then
    for name in $names; do
        printf '%-36s %s\n' "$name" "$(field "$name" in)"
    done
    exit 0
fi
work=${CFX_MUTANTS:-build-mutants}
mkdir -p "$work/build/mutants" || exit 99
work=$(cd "$work" && pwd)
tree=$work
build=$work/build # compiler caches see the paths of an ordinary build
scratch=$build/mutants

# ---- The copy ----

# Files that differ are copied, so that a second time little is built.
copy_tree() {
    (cd "$src" && find . \( -name .git -o -name 'build*' -a ! -name \
        'build-aux' -o -name autom4te.cache \) -prune -o -type f -print) |
        while IFS= read -r file; do
            cmp -s "$src/$file" "$tree/$file" && continue
            mkdir -p "$tree/${file%/*}"
            cp -p "$src/$file" "$tree/$file" && touch "$tree/$file"
        done
}

configure_tree() {
    [ -e "$tree/configure" ] || (cd "$tree" && autoreconf -i) || return 1
    [ -e "$build/Makefile" ] || (cd "$build" && "$tree/configure" --quiet \
        --disable-shared CC="${CC:-gcc}")
}

# ---- Mutations ----

# mutate NAME FILE: the file with the changes of the entry. Each `-` line is a
# part of one line, and is found once; the `+` line after it takes its place.
mutate() {
    awk -v name="$1" '
        FNR == NR {
            if (/^== /)
                here = $2 == name
            else if (here && /^- /)
                from[++n] = substr($0, 3)
            else if (here && /^\+( |$)/)
                to[n] = substr($0, 3)
            next
        }
        {
            for (i = 1; i <= n; i++) {
                at = index($0, from[i])
                if (at) {
                    found[i]++
                    $0 = substr($0, 1, at - 1) to[i] \
                        substr($0, at + length(from[i]))
                }
            }
            print
        }
        END {
            for (i = 1; i <= n; i++)
                if (found[i] != 1) {
                    printf "found %d times: %s\n", found[i], from[i] \
                        >"/dev/stderr"
                    exit 1
                }
            if (!n)
                exit 1
        }' "$list" "$2"
}

# ---- Tests ----

# targets TEST: what make builds for it.
targets() {
    case $1 in
    *.sh) sed -n 's|.*builddir[^/]*/tests/\([a-z_]*\).*|tests/\1|p' \
            "$tree/tests/cli/$1"
        grep -qE 'CFX"|said\.sh' "$tree/tests/cli/$1" && echo cfx ;;
    *)  echo "tests/${1%%/*}" ;;
    esac
}

build_for() {
    made=$(for t in "$@"; do targets "$t"; done | sort -u)
    # shellcheck disable=SC2086
    make -s -C "$build" -j"$jobs" $made zoo/unpacked >"$scratch/log" 2>&1
}

# run_test TEST: does it pass? What runs without end does not.
run_test() {
    (
        cd "$build" || exit 99
        export srcdir="$tree" builddir=. CFX_ZOO=./zoo CFX=./cfx
        export CC="${CC:-gcc}" CK_TIMEOUT_MULTIPLIER=10 CK_VERBOSITY=silent
        ulimit -c 0
        case $1 in
        *.sh)  timeout 300 sh "$tree/tests/cli/$1" ;;
        */*)   timeout 300 "tests/${1%%/*}" "${1#*/}" ;;
        *)     timeout 300 "tests/$1" ;;
        esac
    ) >"$scratch/out" 2>&1 </dev/null
}

# noticed_by TEST...: the first that fails, in $who.
noticed_by() {
    for who in "$@"; do
        run_test "$who" || return 0
    done
    return 1
}

# ---- All ----

caught=0 survived=0 same=0 broken=0
try() {
    file=$tree/$(field "$1" in)
    tests=$(field "$1" tests)
    if ! mutate "$1" "$file" >"$scratch/mutated"; then
        echo "stale: $1"
        broken=$((broken + 1))
        return
    fi
    cp "$file" "$scratch/original"
    cp "$scratch/mutated" "$file"
    who=
    # shellcheck disable=SC2086
    if ! build_for $tests; then
        # A generator that is built and run may notice, too.
        if grep -m 3 ' error: ' "$scratch/log"; then
            echo "does not compile: $1"
            broken=$((broken + 1))
        else
            echo "caught: $1 by the build"
            caught=$((caught + 1))
        fi
    elif noticed_by $tests; then
        echo "caught: $1 by $who"
        caught=$((caught + 1))
    elif [ $quick = 0 ] && build_for $fast && noticed_by $fast; then
        echo "caught: $1 by $who, not by $tests"
        caught=$((caught + 1))
    elif [ -n "$(field "$1" same)" ]; then
        echo "the same: $1: $(field "$1" same)"
        same=$((same + 1))
    else
        echo "SURVIVED: $1"
        survived=$((survived + 1))
    fi
    cp "$scratch/original" "$file"
}

echo "copying to $work"
copy_tree
configure_tree || exit 99
all=$(for name in $names; do field "$name" tests; done | tr ' ' '\n' | sort -u)
echo "building"
# shellcheck disable=SC2086
build_for $all || { tail -n 20 "$scratch/log"; exit 99; }
if [ $base = 1 ]; then
    echo "testing the code as it is"
    # shellcheck disable=SC2086
    if noticed_by $all; then
        tail -n 20 "$scratch/out"
        echo "$who fails without any mutation"
        exit 99
    fi
fi
trap 'cp "$scratch/original" "$file"; exit 130' INT TERM
for name in $names; do
    try "$name"
done
echo "$survived survived, $same are the same, $broken are stale or do not" \
    "compile"
echo "$caught passed, $((survived + broken)) failed"
[ $((survived + broken)) = 0 ]
