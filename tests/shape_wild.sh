#!/bin/sh
# Every operator and module type, on degenerate arguments.
exec ${CFX_EMULATOR:-} "$builddir/tests/shape_walk_test" -w \
    "$srcdir"/tests/golden/*.golden
