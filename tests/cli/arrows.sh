#!/bin/sh
# arrows.sh -- no folder uses a symbol of one above it. Read from the objects of
# the build. Sub-folders of interp and shapeprop count as folders.
srcdir=$(cd "$srcdir" && pwd)
cd "$builddir" || exit 99
command -v nm >/dev/null || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Objects that an earlier build left have no source any more.
find lib interp shapeprop optimize cli -name '*.o' |
    while read -r object; do
        source=$(echo "${object%.o}.c" | sed 's:/lib[a-z0-9_]*_la-:/:;s:/cfx-:/:;s:/[.]libs/:/:')
        [ ! -e "$srcdir/$source" ] && [ ! -e "$source" ] || echo "$object"
    done >"$work/objects"
[ -s "$work/objects" ] || exit 77
xargs nm -A -g <"$work/objects" 2>/dev/null |
    awk '
    # From the bottom; a folder may use itself and those before it.
    BEGIN {
        n = split("lib/base lib/kernel lib/dim lib/tensor lib/value lib/op " \
                  "lib/ops lib/nn lib/graph lib/format interp/walk interp/trace " \
                  "interp/codegen interp/compare interp/match interp/split interp/rewrite " \
                  "interp/passes interp/quantize shapeprop/text shapeprop/shapes " \
                  "shapeprop/network shapeprop/aten shapeprop/machine shapeprop/cost shapeprop/memory " \
                  "shapeprop/roofline shapeprop/report optimize cli",
                  folder, " ")
        for (i = 1; i <= n; i++)
            level[folder[i]] = i
    }
    function part(path,   piece) {
        split(path, piece, "/")
        return piece[1] ~ /^(cli|optimize)$/ ? piece[1] : piece[1] "/" piece[2]
    }
    {
        path = $1
        sub(/:.*/, "", path)
        name = $NF
        kind = $(NF - 1)
        if (name !~ /^cfx_/)
            next
        if (kind == "U")
            used[part(path), name] = path
        else
            owner[name] = part(path)
    }
    END {
        for (pair in used) {
            split(pair, key, SUBSEP)
            if (!(key[2] in owner))
                continue
            pairs++
            if (level[key[1]] < level[owner[key[2]]])
                print used[pair] " uses " key[2] " of " owner[key[2]]
        }
        if (pairs < 1000)
            print "only " pairs + 0 " uses were seen"
    }' | sort >"$work/found"
# The registry finds the built-in operators in one table, which lists them.
grep -v 'lib/op/.*registry[^ ]* uses cfx_ops__builtin of lib/ops$' \
    "$work/found" >"$work/wrong"
if [ -s "$work/wrong" ]; then
    cat "$work/wrong"
    echo "0 passed, $(wc -l <"$work/wrong") failed"
    exit 1
fi
echo '1 passed, 0 failed'
