#!/bin/sh
# Every operator and module type, on arguments by chance.
exec ${CFX_EMULATOR:-} "$builddir/tests/case_tests" shape_walk \
    "$srcdir"/tests/golden/*.golden
