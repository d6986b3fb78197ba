#!/bin/sh
# Every operator and module type is whole, and every parameter matters.
exec ${CFX_EMULATOR:-} "$builddir/tests/registry_test" \
    "$srcdir"/tests/golden/*.golden
