#!/bin/sh
# Every operator and module case does what its effects say, and no more.
# shellcheck disable=SC2086
exec ${CFX_EMULATOR:-} "$builddir/tests/opcases_effects_test" \
    "$srcdir"/tests/golden/*.golden
