#!/bin/sh
# What the README shows is what happens: each ```console block is a command
# behind "$ " and its output, in which times and rounding errors may differ.
# Blocks that begin with another command than cfx or one of the examples are not
# run. A ```c block stands so in an example. Functions, types, headers and files
# that are named exist.
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
    cfx*|digits*|count-flops*|run-example*|swap*|decompose-relu*) ;;
    own-module*|own-cost*|shapes-example*|conv-bn-fusion*) ;;
    *) continue ;;
    esac
    want=${cmd%.cmd}.want
    touch "$want"
    # Files in /tmp are those of this run.
    sed "s|/tmp/|$work/|g" "$cmd" >"$work/run"
    (cd "$top" && PATH="$bin:$PATH" sh "$work/run") 2>&1 |
        sed "s|$work/|/tmp/|g" >"$work/have"
    for f in "$want" "$work/have"; do
        sed 's/[0-9.]* ms$/T ms/;s/\(largest difference\) .*/\1 E/' "$f" \
            >"$f.plain"
    done
    if diff -u "$want.plain" "$work/have.plain"; then
        passed=$((passed + 1))
    else
        echo "not as shown: $(cat "$cmd")"
        failed=$((failed + 1))
    fi
done

# The picture is what the program draws.
if (cd "$top" && PATH="$bin:$PATH" cfx roofline models/mobilenet_v3_small.fx \
    -i 'x=f32[1,3,224,224]' --machine raspberry-pi-5 -t 4 --format svg \
    2>/dev/null) | cmp - "$top/doc/roofline.svg"; then
    passed=$((passed + 1))
else
    echo "doc/roofline.svg is another"
    failed=$((failed + 1))
fi
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

# exists NAME COMMAND...: what the README names is there
exists()
{
    name=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
    else
        echo "named, but not there: $name"
        failed=$((failed + 1))
    fi
}
headers="$top/lib/cfx/*.h $top/interp/cfx/*.h $top/shapeprop/cfx/*.h $top/optimize/cfx/*.h
    $bin/lib/cfx/*.h"
for name in $(grep -oE '\bcfx_[a-z_0-9]+' "$top/README.md" | sort -u); do
    # shellcheck disable=SC2086
    exists "$name" grep -qw "$name" $headers
done
for name in $(grep -oE '\bcfx/[a-z_]+\.h' "$top/README.md" | sort -u); do
    exists "$name" sh -c "ls '$top'/*/'$name' '$bin'/lib/'$name' 2>/dev/null |
        grep -q ."
done
for name in $(grep -oE '\b(examples|models|tests|doc)/[a-z_0-9./]+' "$top/README.md" |
    sed 's/\.$//' | sort -u); do
    exists "$name" test -e "$top/$name"
done
for name in common_subexpressions constant_folding reinplace normalize \
    fuse_conv_bn; do
    exists "the pass $name" sh -c "'$bin/cfx' passes $name >/dev/null"
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
