#!/bin/sh
# Random edits of random graphs print what torch.fx printed after the same.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
program=$builddir/tests/graph_script
passed=0 failed=0
[ -x "$program" ] || exit 77

for script in "$srcdir"/tests/golden/graphs/*.script; do
    [ -f "$script" ] || exit 77
    if ${CFX_EMULATOR:-} "$program" "$script" >"$work/out" &&
        cmp -s "$work/out" "${script%.script}.out"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "not ok: $script"
        diff "${script%.script}.out" "$work/out" | sed 10q
    fi
done
echo "$passed passed, $failed failed"
[ $failed = 0 ]
