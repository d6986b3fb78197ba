#!/bin/sh
# Every operator and module type, on degenerate arguments.
exec ${CFX_EMULATOR:-} "$builddir/tests/case_tests" shape_walk -w \
    "$srcdir"/tests/golden/*.golden
