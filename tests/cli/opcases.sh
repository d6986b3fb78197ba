#!/bin/sh
# Every operator and module case against PyTorch's results; those after -x must
# be equal bit for bit.
# shellcheck disable=SC2086
golden=$srcdir/tests/golden
exec ${CFX_EMULATOR:-} "$builddir/tests/case_tests" opcases \
    "$golden"/*.golden -x "$golden"/halves.golden "$golden"/quantize.golden \
    "$golden"/fake_quantize.golden "$golden"/observers.golden \
    "$golden"/quantized.golden
