#!/bin/sh
# Every operator and module case against PyTorch's results.
# shellcheck disable=SC2086
exec ${CFX_EMULATOR:-} "$builddir/tests/case_tests" opcases \
    "$srcdir"/tests/golden/*.golden -x "$srcdir"/tests/golden/halves.golden
