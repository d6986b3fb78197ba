#!/bin/sh
# The same bits with any number of threads, the same results at any level of
# instructions: a few models, or, with CFX_ZOO_MODELS set to "all", the zoo.
set -eu
models="mobilenet_v3_small squeezenet1_1 regnet_x_400mf resnet18
        efficientnet_b0"
if [ "${CFX_ZOO_MODELS:-}" = all ]; then
    models=$(cd "$CFX_ZOO" && ls ./*.fx | sed 's|./||; s|\.fx$||')
fi
# shellcheck disable=SC2086
exec ${CFX_EMULATOR:-} "$builddir/tests/zoo_tests" same "$CFX_ZOO" \
    "$srcdir/tests/golden/zoo" $models
