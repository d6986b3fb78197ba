#!/bin/sh
# Every operator and module case while memory runs out.
exec ${CFX_EMULATOR:-} "$builddir/tests/opcases_memory_test" \
    "$srcdir"/tests/golden/*.golden
