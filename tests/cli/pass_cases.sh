#!/bin/sh
# What passes make of graphs. --update: write what is expected anew.
exec ${CFX_EMULATOR:-} "${builddir:-build}/tests/case_tests" pass_cases \
    "$@" "${srcdir:-.}"/tests/cases/passes/*.test
