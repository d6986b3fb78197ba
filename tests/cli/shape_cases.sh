#!/bin/sh
# What calls give on symbolic shapes. --update: write what is expected anew.
exec ${CFX_EMULATOR:-} "${builddir:-build}/tests/case_tests" shape_cases \
    "$@" "${srcdir:-.}"/tests/cases/shapes/*.test
