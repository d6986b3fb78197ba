#!/bin/sh
# patches.sh -- what architecture.md promises of additions: patches that touch few
# files apply. `make check-patches` also builds them.
command -v patch >/dev/null || exit 77
exec sh "${srcdir:-.}/tests/patches/check.sh" -n "${srcdir:-.}"
