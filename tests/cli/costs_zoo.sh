#!/bin/sh
# Multiply-adds of all models of the zoo, as torch counts them.
exec ${CFX_EMULATOR:-} "$builddir/tests/zoo_tests" costs_zoo "$CFX_ZOO" \
    "$srcdir/tests/golden"
