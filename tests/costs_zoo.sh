#!/bin/sh
# Multiply-adds of all models of the zoo, as torch counts them.
exec ${CFX_EMULATOR:-} "$builddir/tests/costs_zoo_test" "$CFX_ZOO" \
    "$srcdir/tests/golden"
