#!/bin/sh
# The digits are told apart, and not with another image's labels.
set -eu
m=$srcdir/models
digits() {
    ${CFX_EMULATOR:-} "$builddir/digits" "$m/digits.fx" "$m/digits_images.npy" \
        "$m/digits_labels.npy" "$@" | awk '/%$/ { print $(NF - 1) }'
}
right=$(digits)
wrong=$(digits --shuffle)
echo "accuracy $right %, with other labels $wrong %"
awk -v r="$right" -v w="$wrong" 'BEGIN {
    ok = (r >= 98) + (w < 20)
    printf "%d passed, %d failed\n", ok, 2 - ok
    exit ok != 2
}'
