#!/bin/sh
# Whole models, node by node: a small third of the zoo, or, with CFX_ZOO_MODELS
# set to "most" or "all", more of it.
set -eu
small="alexnet mobilenet_v2 mobilenet_v3_small mobilenet_v3_large resnet18
       resnet34 squeezenet1_1 regnet_x_400mf regnet_x_800mf vgg11 vgg11_bn
       inception_v3 efficientnet_b0 resnet50"
large="vit_h_14 vit_l_16 vit_l_32 regnet_x_32gf efficientnet_b7"
case ${CFX_ZOO_MODELS:-small} in
small) models=$small ;;
*)  models=$(cd "$CFX_ZOO" && ls ./*.fx | sed 's|./||; s|\.fx$||') ;;
esac
if [ "${CFX_ZOO_MODELS:-}" = most ]; then
    for m in $large; do
        models=$(printf '%s\n' $models | grep -vx "$m")
    done
fi
# shellcheck disable=SC2086
exec ${CFX_EMULATOR:-} "$builddir/tests/zoo_tests" zoo "$CFX_ZOO" \
    "$srcdir/tests/golden/zoo" $models
