#!/bin/sh
# Every operator and module case while memory runs out.
exec ${CFX_EMULATOR:-} "$builddir/tests/case_tests" opcases_memory \
    "$srcdir"/tests/golden/*.golden
