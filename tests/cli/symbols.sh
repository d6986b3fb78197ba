#!/bin/sh
# The functions of the shared library are those of the Debian package's list
# (debian/libcfx0.symbols): one that goes breaks programs, and one that comes is
# written down with the version that has it.
. "$srcdir/tests/cli/said.sh"

list=$src/debian/libcfx0.symbols
so=$build/.libs/libcfx.so
# Sanitizers add functions of theirs.
[ -e "$list" ] && [ -e "$so" ] && [ -z "${CFX_LDFLAGS-}" ] || exit 77

sed -n 's/^ \([^@]*\)@.*/\1/p' "$list" | LC_ALL=C sort >listed
nm -D --defined-only "$so" | awk '{ print $3 }' | LC_ALL=C sort >exported
LC_ALL=C comm -13 listed exported >new
LC_ALL=C comm -23 listed exported >gone
said 'all functions are in debian/libcfx0.symbols' 1 '' grep . new
said 'no function is gone' 1 '' grep . gone
tell
