#!/bin/sh
# Memory plans of all models of the zoo, and runs in the arena: of a small third
# of them, or with CFX_ZOO_MODELS=all of all.
set -eu
models="alexnet mobilenet_v2 mobilenet_v3_small mobilenet_v3_large resnet18
        resnet34 squeezenet1_1 regnet_x_400mf regnet_x_800mf vgg11 vgg11_bn
        inception_v3 efficientnet_b0 resnet50"
[ "${CFX_ZOO_MODELS:-small}" = small ] ||
    models=$(cd "$CFX_ZOO" && ls ./*.fx | sed 's|./||; s|\.fx$||')
# shellcheck disable=SC2086
exec ${CFX_EMULATOR:-} "$builddir/tests/zoo_tests" memory_zoo "$CFX_ZOO" \
    "$srcdir/tests/golden/zoo" $models
