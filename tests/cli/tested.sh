#!/bin/sh
# The types of cfx ops --table are those of the cases.
exec ${CFX_EMULATOR:-} "$builddir/tests/case_tests" tested \
    "$srcdir/tests/golden/tested.def" "$srcdir"/tests/golden/*.golden
