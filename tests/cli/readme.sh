#!/bin/sh
# The README and the chapters show what happens: each ```console block is a command
# behind "$ " and its output, in which times and rounding errors may differ. A ```c
# block stands so in an example. Functions, types, headers and files that are named
# exist, and so do the options of each line that begins with cfx.
set -eu
top=$(cd "$srcdir" && pwd)
bin=$(cd "$builddir" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0
cd "$top"
chapters="README.md doc/models.md doc/shapes.md doc/rewriting.md doc/optimize.md
          doc/quantize.md doc/decoding.md doc/python.md doc/library.md
          doc/torch_fx.md doc/text.md"

ok() { passed=$((passed + 1)); }
not_ok() { failed=$((failed + 1)); echo "not ok: $*"; }

# The blocks of doc/models.md are models.md.1.command, models.md.1.shown, ...
for chapter in $chapters; do
    awk -v block="$work/${chapter##*/}." '
        /^```console$/ { n++; inside = 1; next }
        /^```c$/ { n++; code = 1; next }
        /^```$/ { inside = code = 0 }
        code { print >(block n ".code") }
        inside && /^\$ / { print substr($0, 3) >(block n ".command"); next }
        inside { print >(block n ".shown") }' "$chapter"
done
for command in "$work"/*.command; do
    shown=${command%.command}.shown
    touch "$shown"
    # Files in /tmp are those of this run.
    sed "s|/tmp/|$work/|g" "$command" >"$work/run"
    PATH="$bin:$PATH" sh "$work/run" 2>&1 | sed "s|$work/|/tmp/|g" >"$work/have"
    for f in "$shown" "$work/have"; do
        sed 's/[0-9.]* ms$/T ms/;s/\(largest difference\) .*/\1 E/' "$f" \
            >"$f.plain"
    done
    if diff -u "$shown.plain" "$work/have.plain"; then ok; else
        not_ok "${shown##*/} is not what happens: $(cat "$command")"
    fi
done

# The picture is what the program draws.
if PATH="$bin:$PATH" cfx roofline models/mobilenet_v3_small.fx \
    -i 'x=f32[1,3,224,224]' --machine raspberry-pi-5 -t 4 --format svg \
    2>/dev/null | cmp - doc/roofline.svg; then ok; else
    not_ok 'doc/roofline.svg is another'
fi

one_line() { cat "$@" | tr '\n' '\001'; }
for code in "$work"/*.code; do
    found=
    for f in examples/*.c; do
        one_line "$f" | grep -qF "$(one_line "$code")" && found=$f
    done
    if [ -n "$found" ]; then ok; else
        not_ok "in no example: $(cat "$code")"
    fi
done

# exists NAME COMMAND...: what is named is there
exists()
{
    name=$1
    shift
    if "$@"; then ok; else not_ok "named, but not there: $name"; fi
}

# named PATTERN: what the chapters name by it
named()
{
    # shellcheck disable=SC2086
    grep -ohE -e "$1" $chapters | sort -u
}

headers="lib/cfx/*.h interp/cfx/*.h shapeprop/cfx/*.h optimize/cfx/*.h
    $bin/lib/cfx/*.h"
for name in $(named '\bcfx_[a-z_0-9]+'); do
    # shellcheck disable=SC2086
    exists "$name" grep -qw "$name" $headers
done
for name in $(named '\bcfx/[a-z_]+\.h'); do
    exists "$name" sh -c "ls */'$name' '$bin/lib/$name' 2>/dev/null | grep -q ."
done
# Lines "NAME HEADER..." of the table from torch.fx: one of the headers has it.
awk -F'|' '/cfx_/ {
    gsub(",", " ", $4)
    gsub("cfx/", "*/cfx/", $4)
    while (match($3, /cfx_[a-z_0-9]+/)) {
        print substr($3, RSTART, RLENGTH), $4
        $3 = substr($3, RSTART + RLENGTH)
    }
}' doc/torch_fx.md >"$work/table"
while read -r name header; do
    # shellcheck disable=SC2086
    exists "$name in $header" grep -qw "$name" $header
done <"$work/table"
for name in $(named '\b(examples|models|tests|bench|doc)/[a-z_0-9./]+' |
    sed 's/\.$//'); do
    exists "$name" test -e "$name"
done
for name in common_subexpressions constant_folding functionalize reinplace normalize \
    fuse_conv_bn; do
    exists "the pass $name" sh -c "'$bin/cfx' passes $name >/dev/null"
done

# Lines "COMMAND --option" of what the chapters show, also where it is not run.
# shellcheck disable=SC2086
cat $chapters | tr '`' '\n' | awk '
    continued { $0 = "cfx " continued " " $0; continued = "" }
    { sub(/^ *\$? */, "") }
    $1 != "cfx" || $2 !~ /^[a-z]/ { next }
    {
        for (i = 3; i <= NF && $i !~ /^[|#]/; i++)
            if ($i ~ /^(--[a-z]|-[a-zA-Z]$)/)
                print $2, $i
        if (/\\$/)
            continued = $2
    }' | sort -u >"$work/options"
while read -r command option; do
    exists "cfx $command $option" sh -c "
        { '$bin/cfx' $command --help && '$bin/cfx' --help; } |
        grep -q -e '[ ,]$option\\([ ,]\\|\$\\)'"
done <"$work/options"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
