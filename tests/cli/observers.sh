#!/bin/sh
# What observers choose after several batches, against PyTorch, bit for bit.
exec ${CFX_EMULATOR:-} "$builddir/tests/case_tests" observers \
    "$srcdir"/tests/golden/observers_qparams.txt
