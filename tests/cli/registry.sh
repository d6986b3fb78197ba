#!/bin/sh
# Every operator and module type is whole, and every parameter matters. Rules of
# operators that name their parameters read none by its place.
srcdir=${srcdir:-.}
for file in $(grep -l '\.params = ' "$srcdir"/lib/ops/*/*.c); do
    if grep -nE 'cfx_call_(value|tensor|has|int|bool|double|str|dtype|len|item|dim|out_view|out_same)\(call, [0-9]' \
        "$file"; then
        echo "$file: a parameter is read by its place, not by its name"
        exit 1
    fi
done
exec ${CFX_EMULATOR:-} "$builddir/tests/case_tests" registry \
    "$srcdir"/tests/golden/*.golden
