#!/bin/sh
# Every module type, traced through, computes the same.
exec ${CFX_EMULATOR:-} "$builddir/tests/traced_test" \
    "$srcdir"/tests/golden/*.golden
