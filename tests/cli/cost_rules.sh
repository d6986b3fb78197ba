#!/bin/sh
# The table of costs says what the rules of operators say.
exec ${CFX_EMULATOR:-} "$builddir/tests/case_tests" cost_rules \
    "$srcdir/shapeprop/COSTS.md"
