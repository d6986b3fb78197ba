#!/bin/sh
# ATen's forward operators are known as PyTorch has them, or have a reason.
exec ${CFX_EMULATOR:-} "$builddir/tests/case_tests" aten_names \
    "$srcdir/tests/golden/aten_names.txt" \
    "$srcdir/tests/cases/aten_names.reasons"
