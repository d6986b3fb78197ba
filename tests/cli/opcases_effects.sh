#!/bin/sh
# Every operator and module case does what its effects say, and no more.
# shellcheck disable=SC2086
exec ${CFX_EMULATOR:-} "$builddir/tests/case_tests" opcases_effects \
    "$srcdir"/tests/golden/*.golden
