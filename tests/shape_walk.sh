#!/bin/sh
# Every operator and module type, on arguments by chance.
exec ${CFX_EMULATOR:-} "$builddir/tests/shape_walk_test" \
    "$srcdir"/tests/golden/*.golden
