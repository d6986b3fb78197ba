#!/bin/sh
# Whole models as C: a few, or, with CFX_ZOO_MODELS set to "all", the zoo.
set -eu
models="squeezenet1_1 mobilenet_v3_small efficientnet_b0 resnet18 inception_v3"
if [ "${CFX_ZOO_MODELS:-}" = all ]; then
    models=$(cd "$CFX_ZOO" && ls ./*.fx | sed 's|./||; s|\.fx$||')
fi
[ -z "${CFX_EMULATOR:-}" ] || exit 77
if [ -z "${CFX_CC2:-}" ] && command -v clang >/dev/null; then
    CFX_CC2=clang
    export CFX_CC2
fi
# shellcheck disable=SC2086
exec "$builddir/tests/codegen_zoo_test" "$CFX_ZOO" \
    "$srcdir/tests/golden/zoo" $models
