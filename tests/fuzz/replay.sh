#!/bin/sh
# Seeds of the fuzz targets, and some inputs by chance that are the same each time.
seeds=$(cd "$srcdir/tests/fuzz/seeds" && pwd)
program=$(cd "$builddir" && pwd)/tests/fuzz/replay
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 99
# shellcheck disable=SC2086
${CFX_EMULATOR:-} "$program" -n "${CFX_FUZZ:-200}" "$seeds" && exit
echo "the input: (base64)"
base64 replay.input
echo "0 passed, 1 failed"
exit 1
