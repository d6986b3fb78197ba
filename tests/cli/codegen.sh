#!/bin/sh
# The C text of a model is a program that computes what `cfx run` does.
set -u
[ -z "${CFX_EMULATOR:-}" ] || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0
model=$srcdir/models/digits
cc=${CC:-cc}

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

# shellcheck disable=SC2086
compile() {
    $cc -std=c11 -Wall -Wextra -Wpedantic -Werror -I"$srcdir/lib" \
        -I"$srcdir/interp" -I"$builddir/lib" -c "$work/digits.c" \
        -o "$work/digits.o" &&
        "$builddir/libtool" --quiet --tag=CC --mode=link $cc \
            ${CFX_LDFLAGS:-} -o "$work/digits" "$work/digits.o" \
            "$builddir/libcfx.la"
}

claim 'the text is written' \
    "$CFX" print "$model.fx" --format c -o "$work/digits.c"
claim 'it compiles and links' compile
claim 'it runs on an input from the seed' \
    "$work/digits" -w "$model.safetensors" -s 3 -o "$work/a.npy" \
    'f32[2,1,8,8]'
claim 'cfx run does' "$CFX" run "$model.fx" -w "$model.safetensors" \
    -i 'x=f32[2,1,8,8]' --seed 3 -O "$work"
claim 'both compute the same' cmp "$work/a.npy" "$work/output.npy"
claim 'without weights it fills them' "$work/digits" 'f32[1,1,8,8]'
"$work/digits" -x >"$work/out" 2>&1
claim 'bad usage has status 2' test $? = 2
"$work/digits" 'f32[1,1,8' >"$work/said" 2>&1
claim 'a bad shape has status 1' test $? = 1
claim 'and is told' grep -q "^digits: 'f32\[1,1,8' is not a shape" "$work/said"
echo "$passed passed, $failed failed"
[ $failed = 0 ]
