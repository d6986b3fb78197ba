#!/bin/sh
# Every operator and module type is whole, and every parameter matters.
exec ${CFX_EMULATOR:-} "$builddir/tests/case_tests" registry \
    "$srcdir"/tests/golden/*.golden
