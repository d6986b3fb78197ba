#!/bin/sh
# Every module type, traced through, computes the same.
exec ${CFX_EMULATOR:-} "$builddir/tests/case_tests" traced \
    "$srcdir"/tests/golden/*.golden
