#!/bin/sh
# The table of costs says what the rules of operators say.
exec ${CFX_EMULATOR:-} "$builddir/tests/cost_rules_test" \
    "$srcdir/shapeprop/COSTS.md"
