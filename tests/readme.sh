#!/bin/sh
# What the README shows is what happens: each ```console block is a command
# behind "$ " and its output. Blocks that begin with another command than cfx or
# one of the examples are not run. A ```c block stands so in an example.
set -eu
top=$(cd "$srcdir" && pwd)
bin=$(cd "$builddir" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0
awk -v dir="$work" '
    /^```console$/ { n++; inside = 1; next }
    /^```c$/ { n++; code = 1; next }
    /^```$/ { inside = code = 0 }
    code { print > (dir "/" n ".code") }
    inside && /^\$ / { print substr($0, 3) > (dir "/" n ".cmd"); next }
    inside { print > (dir "/" n ".want") }' "$top/README.md"
for cmd in "$work"/*.cmd; do
    case $(cat "$cmd") in
    cfx*|digits*|count-flops*|run-example*|swap*) ;;
    *) continue ;;
    esac
    want=${cmd%.cmd}.want
    touch "$want"
    (cd "$top" && PATH="$bin:$PATH" sh "$cmd") >"$work/have" 2>&1 || :
    if diff -u "$want" "$work/have"; then
        passed=$((passed + 1))
    else
        echo "not as shown: $(cat "$cmd")"
        failed=$((failed + 1))
    fi
done
one_line() { cat "$@" | tr '\n' '\001'; }
for code in "$work"/*.code; do
    found=
    for f in "$top"/examples/*.c; do
        one_line "$f" | grep -qF "$(one_line "$code")" && found=$f
    done
    if [ -n "$found" ]; then
        passed=$((passed + 1))
    else
        echo "in no example: $(cat "$code")"
        failed=$((failed + 1))
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
