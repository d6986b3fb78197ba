#!/bin/sh
# Every operator and module type, with each kind of value for each argument.
exec ${CFX_EMULATOR:-} "$builddir/tests/case_tests" shape_walk -x \
    "$srcdir"/tests/golden/*.golden
