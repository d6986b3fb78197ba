#!/bin/sh
# Pictures are well-formed for Graphviz.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0 looked=0

claim() { # claim NAME COMMAND...: it succeeds
    name=$1
    shift
    if "$@" >"$work/out" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "not ok: $name"
        sed 's/^/    /;10q' "$work/out"
    fi
}

for model in "$srcdir/models/digits.fx" "$CFX_ZOO/resnet18.fx" \
    "$CFX_ZOO/inception_v3.fx" "$CFX_ZOO/efficientnet_b0.fx"; do
    [ -f "$model" ] || continue
    looked=1
    name=$(basename "$model" .fx)
    claim "$name is written for Graphviz" \
        "$CFX" print "$model" --format dot --parameters -o "$work/a.dot"
    if command -v dot >/dev/null; then
        claim "$name is dot" dot -Tcanon -o "$work/b.dot" "$work/a.dot"
    fi
done
[ $looked = 1 ] || exit 77
echo "$passed passed, $failed failed"
[ $failed = 0 ]
